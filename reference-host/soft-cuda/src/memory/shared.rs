//! The memory that program and device share, all of it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::call::Done;
use crate::context::{self, Context};
use crate::error::Error;
use crate::memory::host::{self, Pages, PagesOrigin};
use crate::memory::space::{self, Owner, Piece, Reservation};
use crate::queue::{Until, finish};

/// Memory that program and device share, held for a kernel to work on.
pub(crate) struct SharedMemory {
    pieces: Vec<(u64, Arc<Pages>)>,
    /// Nobody needs to wait for those who hold nothing: kernels of several contexts then run at the same time.
    _exclusive: Option<MutexGuard<'static, ()>>,
}

impl SharedMemory {
    /// All there is now. Whoever else wants it waits.
    pub(crate) fn hold() -> Self {
        static EXCLUSIVE: Mutex<()> = Mutex::new(());
        if space::host_pieces().is_empty() {
            return Self {
                pieces: Vec::new(),
                _exclusive: None,
            };
        }
        let exclusive = EXCLUSIVE.lock().unwrap_or_else(PoisonError::into_inner);
        let pages = |piece: Piece| match piece.owner {
            Owner::Host(pages) => Some((piece.start, pages)),
            Owner::Context(_) => None,
        };
        Self {
            pieces: space::host_pieces().into_iter().filter_map(pages).collect(),
            _exclusive: Some(exclusive),
        }
    }

    /// Maps it.
    ///
    /// # Errors
    ///
    /// Never: pieces do not overlap, and none is at addresses where kernels see other things.
    pub(crate) fn map<'m>(&'m mut self, memory: &mut soft_gpu::Memory<'m>) -> Done {
        for (start, pages) in &mut self.pieces {
            // SAFETY: only this function makes slices of shared memory, and only one value of this type that has any is there at a time.
            let bytes = unsafe { pages.bytes() };
            memory.map(*start, bytes).map_err(|_| Error::OutOfMemory)?;
        }
        Ok(())
    }
}

/// Makes memory that program and device share and gives its address.
///
/// # Errors
///
/// [`Error::OutOfMemory`].
pub(crate) fn make(
    context: &Context,
    len_bytes: u64,
    origin: PagesOrigin,
    flags: u32,
) -> Result<u64, Error> {
    if kept().len() >= MOST_PIECES {
        return Err(Error::OutOfMemory);
    }
    let pages = Arc::new(Pages::make(len_bytes, origin, flags, context.serial)?);
    let reservation = Reservation::of_host(&pages)?;
    keep(context, pages.address(), reservation)?;
    Ok(pages.address())
}

/// Makes memory of the program's known to the device.
///
/// # Errors
///
/// [`Error::InvalidValue`] where there is no memory, [`Error::HostMemoryAlreadyRegistered`] where part of it is known already.
pub(crate) fn register(context: &Context, address: usize, len: usize, flags: u32) -> Done {
    let end = address.checked_add(len).ok_or(Error::InvalidValue)?;
    if address < LEAST_ADDRESS || len == 0 {
        return Err(Error::InvalidValue);
    }
    let pages = Arc::new(Pages::register(address, len, flags, context.serial));
    let known = space::find_host(address as u64).is_some();
    if !known && (space::is_ours(address as u64) || !host::is_mapped(address, end)) {
        return Err(Error::InvalidValue);
    }
    let reservation = Reservation::of_host(&pages)?;
    keep(context, pages.address(), reservation)
}

/// Ends all that was made or registered in a context, which is gone.
pub(crate) fn free_of(context: u32) {
    for piece in space::host_pieces() {
        let address = piece.host_start();
        let mut kept = kept();
        let now = space::find_host(address);
        if now.is_some_and(|now| now.is_of(context) && now.serial == piece.serial) {
            let reservation = kept.remove(&address);
            drop(kept);
            drop(reservation);
        }
    }
}

/// Ends what [`make`] or [`register`] made, of one of these origins, at the address where the program knows it, after work that may use it.
///
/// # Errors
///
/// [`Error::InvalidValue`] where there is no such memory.
pub(crate) fn free(address: u64, origins: &[PagesOrigin]) -> Done {
    let found = || {
        space::find_host(address)
            .filter(|piece| piece.host_start() == address)
            .filter(|piece| match &piece.owner {
                Owner::Host(pages) => origins.contains(&pages.origin()),
                Owner::Context(_) => false,
            })
    };
    let piece = found().ok_or(Error::InvalidValue)?;
    let Owner::Host(pages) = &piece.owner else {
        return Err(Error::InvalidValue);
    };
    for context in context::all() {
        let reaches = context.state().queue.reaches(pages);
        if reaches {
            // A context that has failed does nothing with this memory any more.
            let _ = finish(&context, Until::Empty);
        }
    }
    let mut kept = kept();
    // Another thread may have been as fast, and something else may be there now.
    if found().is_none_or(|now| now.serial != piece.serial) {
        return Err(Error::InvalidValue);
    }
    let reservation = kept.remove(&address);
    drop(kept);
    reservation.map(drop).ok_or(Error::InvalidValue)
}

/// Keeps what was made, unless its context ended meanwhile.
fn keep(context: &Context, address: u64, reservation: Reservation) -> Done {
    kept().insert(address, reservation);
    // Whoever ends the context looks for its memory after this fails.
    context.open().map(|_| ()).inspect_err(|_| {
        let reservation = kept().remove(&address);
        drop(reservation);
    })
}

/// Number and bytes of what programs made and have not freed; what they registered counts too.
pub(crate) fn count() -> (usize, u64) {
    let pieces = space::host_pieces();
    let bytes = pieces
        .iter()
        .fold(0u64, |sum, piece| sum.saturating_add(piece.len_bytes));
    (pieces.len(), bytes)
}

fn kept() -> MutexGuard<'static, BTreeMap<u64, Reservation>> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What keeps each piece, by host address.
static KEPT: Mutex<BTreeMap<u64, Reservation>> = Mutex::new(BTreeMap::new());
/// Systems have a limit of 65,530 mappings a process, behind which not even a thread can be started.
const MOST_PIECES: usize = 1 << 15;
/// No memory is below this address.
const LEAST_ADDRESS: usize = 4096;
