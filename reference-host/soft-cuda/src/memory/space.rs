//! Where memory lies: the addresses of the whole process, and what is at them.
//!
//! Addresses are given out upwards with a gap after each piece, and only found again when all were used once: what a program still does with
//! memory that it has freed is noticed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::environment;
use crate::error::Error;
use crate::memory::host::Pages;

/// A piece of the address space.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    /// Its device address.
    pub(crate) start: u64,
    pub(crate) len_bytes: u64,
    pub(crate) owner: Owner,
    /// Its number, from 1; no two pieces ever have the same one.
    pub(crate) serial: u64,
}

impl Piece {
    /// The address that the program knows it by; for device memory the device address.
    pub(crate) fn host_start(&self) -> u64 {
        match &self.owner {
            Owner::Context(_) => self.start,
            Owner::Host(pages) => pages.address(),
        }
    }

    /// Whether it ends with the context of this number.
    pub(crate) fn is_of(&self, context: u32) -> bool {
        match &self.owner {
            Owner::Context(owner) => *owner == context,
            Owner::Host(pages) => pages.context == context,
        }
    }
}

/// Where the bytes of a piece are.
#[derive(Clone, Debug)]
pub(crate) enum Owner {
    /// In the memory of the context with this number.
    Context(u32),
    /// In memory that the program reaches too.
    Host(Arc<Pages>),
}

/// A piece of the address space that is free again when this is dropped.
#[derive(Debug)]
pub(crate) struct Reservation {
    start: u64,
    charged_bytes: u64,
}

impl Reservation {
    /// Takes `len_bytes` of device memory, charged against what the device has.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`] where the device has not as much left.
    pub(crate) fn of_device(len_bytes: u64, context: u32) -> Result<Self, Error> {
        let mut space = lock();
        let used_bytes = space.with(len_bytes)?;
        let start = space.hole(len_bytes).ok_or(Error::OutOfMemory)?;
        space.used_bytes = used_bytes;
        Ok(space.put(start, len_bytes, Owner::Context(context), len_bytes))
    }

    /// Takes `len_bytes` of device memory at an address within [`VARIABLES`] that the caller knows to be free.
    ///
    /// # Errors
    ///
    /// As for [`Self::of_device`].
    pub(crate) fn of_variables(start: u64, len_bytes: u64, context: u32) -> Result<Self, Error> {
        let mut space = lock();
        space.used_bytes = space.with(len_bytes)?;
        Ok(space.put(start, len_bytes, Owner::Context(context), len_bytes))
    }

    /// Makes memory of the program's known, at the address where the program has it if `same` and that is free, else at one of its own.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`] where there is no address left, [`Error::HostMemoryAlreadyRegistered`] where memory there is known already.
    pub(crate) fn of_host(pages: &Arc<Pages>) -> Result<Self, Error> {
        let mut space = lock();
        let (host, len) = (pages.address(), pages.len_bytes());
        let end = host.saturating_add(len);
        let known = space.by_host_address.range(..end).next_back();
        if known.is_some_and(|(start, piece)| {
            let piece_end = space.live.get(piece).map(|piece| piece.len_bytes);
            start.saturating_add(piece_end.unwrap_or_default()) > host
        }) {
            return Err(Error::HostMemoryAlreadyRegistered);
        }
        let start = if host < KERNELS_OWN.end && end > KERNELS_OWN.start {
            space.hole(len).ok_or(Error::OutOfMemory)?
        } else {
            host
        };
        space.by_host_address.insert(host, start);
        Ok(space.put(start, len, Owner::Host(Arc::clone(pages)), 0))
    }

    /// The first address.
    pub(crate) fn start(&self) -> u64 {
        self.start
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut space = lock();
        space.used_bytes = space.used_bytes.saturating_sub(self.charged_bytes);
        let piece = space.live.remove(&self.start);
        if let Some(Owner::Host(pages)) = piece.map(|piece| piece.owner) {
            space.by_host_address.remove(&pages.address());
            // The pages may be given back to the system by this, which nobody needs to wait for.
            drop(space);
        }
    }
}

/// The live piece that holds a device address.
pub(crate) fn find(address: u64) -> Option<Piece> {
    let space = lock();
    let (_, piece) = space.live.range(..=address).next_back()?;
    (address.checked_sub(piece.start)? < piece.len_bytes).then(|| piece.clone())
}

/// The live piece of host memory that holds a host address.
pub(crate) fn find_host(address: u64) -> Option<Piece> {
    let space = lock();
    let (start, device) = space.by_host_address.range(..=address).next_back()?;
    let piece = space.live.get(device)?;
    (address.checked_sub(*start)? < piece.len_bytes).then(|| piece.clone())
}

/// Whether no host memory can ever be at an address, since it is among those of device memory, or among those kept for memory that is shared
/// with the program and was given out here.
pub(crate) fn is_ours(address: u64) -> bool {
    [DEVICE, SHARED, VARIABLES]
        .iter()
        .any(|range| range.contains(&address))
}

/// All live pieces of memory that the program reaches too.
pub(crate) fn host_pieces() -> Vec<Piece> {
    let space = lock();
    let pieces = space.by_host_address.values();
    pieces
        .filter_map(|start| space.live.get(start).cloned())
        .collect()
}

/// Bytes of device memory in use.
pub(crate) fn used_bytes() -> u64 {
    lock().used_bytes
}

/// An address to ask the system for when memory is made that program and device share.
pub(crate) fn next_shared(len_bytes: u64) -> Option<u64> {
    let mut space = lock();
    let start = space.next_shared;
    let next = start
        .checked_add(len_bytes)?
        .checked_add(2 * PAGE - 1)?
        .checked_div(PAGE)?
        .checked_mul(PAGE)?;
    if next > SHARED.end {
        return None;
    }
    space.next_shared = next;
    Some(start)
}

/// Addresses that kernels see other things at, such as shared memory.
const KERNELS_OWN: std::ops::Range<u64> = 0x7800_0000_0000..0x7F00_0000_0000;
/// Addresses of device memory; operating systems put nothing there.
const DEVICE: std::ops::Range<u64> = 0x1100_0000_0000..0x2000_0000_0000;
/// Addresses of memory that program and device share.
const SHARED: std::ops::Range<u64> = 0x2000_0000_0000..0x4000_0000_0000;
/// Addresses of modules' variables.
pub(crate) const VARIABLES: std::ops::Range<u64> = 0x4000_0000_0000..0x4400_0000_0000;
/// Device memory begins at multiples of this.
const ALIGNMENT: u64 = 512;
/// Addresses after each piece at which nothing is.
const GAP: u64 = 4096;
/// Shared memory begins at multiples of this.
const PAGE: u64 = 1 << 16;

#[derive(Debug)]
struct Space {
    next: u64,
    next_shared: u64,
    last_serial: u64,
    used_bytes: u64,
    /// By device address.
    live: BTreeMap<u64, Piece>,
    /// Device address by host address, of what the program reaches too.
    by_host_address: BTreeMap<u64, u64>,
}

impl Space {
    /// The next free addresses for that many bytes.
    fn hole(&mut self, len_bytes: u64) -> Option<u64> {
        let need = len_bytes.max(1).checked_add(GAP)?;
        let mut at = self.next;
        let mut again = false;
        loop {
            let Some(end) = at.checked_add(need).filter(|end| *end <= DEVICE.end) else {
                if again {
                    return None;
                }
                again = true;
                at = DEVICE.start;
                continue;
            };
            // The last piece that begins before the end: if it is in the way, the search goes on behind it.
            let in_the_way = self.live.range(..end).next_back().and_then(|(_, piece)| {
                let piece_end = piece.start.saturating_add(piece.len_bytes);
                (piece_end.saturating_add(GAP) > at).then_some(piece_end)
            });
            match in_the_way {
                Some(piece_end) => at = aligned(piece_end.checked_add(GAP)?)?,
                None => {
                    self.next = aligned(end)?;
                    return Some(at);
                }
            }
        }
    }

    /// Bytes of device memory in use with so many more.
    fn with(&self, len_bytes: u64) -> Result<u64, Error> {
        let used_bytes = self.used_bytes.saturating_add(len_bytes);
        if used_bytes > environment::settings().memory_bytes {
            return Err(Error::OutOfMemory);
        }
        Ok(used_bytes)
    }

    fn put(&mut self, start: u64, len_bytes: u64, owner: Owner, charged_bytes: u64) -> Reservation {
        self.last_serial = self.last_serial.saturating_add(1);
        let piece = Piece {
            start,
            len_bytes,
            owner,
            serial: self.last_serial,
        };
        self.live.insert(start, piece);
        Reservation {
            start,
            charged_bytes,
        }
    }
}

fn aligned(address: u64) -> Option<u64> {
    address.checked_next_multiple_of(ALIGNMENT)
}

fn lock() -> MutexGuard<'static, Space> {
    SPACE.lock().unwrap_or_else(PoisonError::into_inner)
}

static SPACE: Mutex<Space> = Mutex::new(Space {
    next: DEVICE.start,
    next_shared: SHARED.start,
    last_serial: 0,
    used_bytes: 0,
    live: BTreeMap::new(),
    by_host_address: BTreeMap::new(),
});

#[cfg(test)]
#[allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that panics has failed"
)]
mod tests {
    use super::*;

    fn empty() -> Space {
        Space {
            next: DEVICE.start,
            next_shared: SHARED.start,
            last_serial: 0,
            used_bytes: 0,
            live: BTreeMap::new(),
            by_host_address: BTreeMap::new(),
        }
    }

    /// Takes addresses; the reservation is forgotten, since it is none of the process's space.
    fn take(space: &mut Space, len_bytes: u64) -> Option<u64> {
        let start = space.hole(len_bytes)?;
        std::mem::forget(space.put(start, len_bytes, Owner::Context(1), 0));
        Some(start)
    }

    fn check(space: &Space) {
        let mut free = DEVICE.start;
        for piece in space.live.values() {
            assert!(piece.start >= free, "{piece:?} begins before {free:#x}");
            assert_eq!(piece.start % ALIGNMENT, 0);
            free = piece.start + piece.len_bytes + GAP;
        }
        assert!(free <= DEVICE.end + GAP);
    }

    #[test]
    fn addresses_are_new_until_all_were_used() {
        let mut space = empty();
        let first = take(&mut space, 100).unwrap();
        space.live.remove(&first);
        let second = take(&mut space, 100).unwrap();
        assert!(second > first);
        check(&space);
    }

    #[test]
    fn addresses_are_found_again_between_what_is_there() {
        let mut space = empty();
        let quarter = (DEVICE.end - DEVICE.start) / 4 - 2 * GAP;
        let pieces: Vec<u64> = (0..4).map(|_| take(&mut space, quarter).unwrap()).collect();
        assert_eq!(take(&mut space, quarter), None);
        space.live.remove(&pieces[2]);
        assert_eq!(
            take(&mut space, quarter + 2 * GAP),
            None,
            "there is no hole as large"
        );
        let again = take(&mut space, quarter).unwrap();
        assert!(again >= pieces[1] + quarter && again < pieces[3]);
        check(&space);
    }

    #[test]
    fn any_sequence_leaves_gaps() {
        let mut space = empty();
        // Close to the end, so that the search begins anew at once.
        space.next = DEVICE.end - (1 << 20);
        let mut random = 7u64;
        for _ in 0..10_000 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let len_bytes = 1 << (random >> 59);
            if random >> 32 & 1 == 0 || take(&mut space, len_bytes).is_none() {
                let at = random as usize % space.live.len().max(1);
                let start = space.live.keys().nth(at).copied();
                start.and_then(|start| space.live.remove(&start));
            }
        }
        assert!(space.live.len() > 10);
        check(&space);
    }

    #[test]
    fn impossible_sizes_find_nothing() {
        let mut space = empty();
        for len_bytes in [
            u64::MAX,
            u64::MAX - GAP,
            DEVICE.end,
            DEVICE.end - DEVICE.start,
        ] {
            assert_eq!(space.hole(len_bytes), None);
        }
        assert!(space.hole(0).is_some());
    }
}
