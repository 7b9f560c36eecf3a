//! Memory that program and device share: pinned, managed, and registered memory.

use std::collections::BTreeSet;
use std::sync::Mutex;

use rustix::mm::{MapFlags, MsyncFlags, ProtFlags, mmap_anonymous, msync, munmap};

use crate::error::Error;
use crate::memory::space;

/// Host memory that the device reaches too. It stays for as long as somebody holds this.
#[derive(Debug)]
pub(crate) struct Pages {
    address: usize,
    len: usize,
    origin: PagesOrigin,
    /// The flags that the program gave.
    pub(crate) flags: u32,
    /// The context that was current.
    pub(crate) context: u32,
    /// What the program said of its use.
    pub(crate) advice: Mutex<Advice>,
}

/// What a program said of the use of managed memory; it is kept and means nothing here.
#[derive(Clone, Debug, Default)]
pub(crate) struct Advice {
    pub(crate) read_mostly: bool,
    pub(crate) preferred: Option<Location>,
    pub(crate) accessed_by: BTreeSet<i32>,
    pub(crate) prefetched: Option<Location>,
}

/// Where memory is to be: the kind of place and its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    pub(crate) kind: i32,
    pub(crate) id: i32,
}

/// Where host memory comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PagesOrigin {
    /// Made as pinned memory.
    Pinned,
    /// Made as managed memory.
    Managed,
    /// The program's own.
    Registered,
}

impl Pages {
    /// Makes memory, filled with zeros.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`] where the system gives none.
    pub(crate) fn make(
        len_bytes: u64,
        origin: PagesOrigin,
        flags: u32,
        context: u32,
    ) -> Result<Self, Error> {
        let len = usize::try_from(len_bytes).map_err(|_| Error::OutOfMemory)?;
        loop {
            let hint = space::next_shared(len_bytes).ok_or(Error::OutOfMemory)?;
            let hint = std::ptr::without_provenance_mut(hint as usize);
            // SAFETY: new memory, at a place where there is nothing, else the system refuses it.
            let mapped = unsafe {
                mmap_anonymous(
                    hint,
                    len,
                    ProtFlags::READ | ProtFlags::WRITE,
                    MapFlags::PRIVATE | MapFlags::FIXED_NOREPLACE | MapFlags::NORESERVE,
                )
            };
            match mapped {
                Ok(at) => {
                    return Ok(Self {
                        address: at.expose_provenance(),
                        len,
                        origin,
                        flags,
                        context,
                        advice: Mutex::default(),
                    });
                }
                Err(rustix::io::Errno::EXIST) => {}
                Err(_) => return Err(Error::OutOfMemory),
            }
        }
    }

    /// Memory of the program's own.
    pub(crate) fn register(address: usize, len: usize, flags: u32, context: u32) -> Self {
        Self {
            address,
            len,
            origin: PagesOrigin::Registered,
            flags,
            context,
            advice: Mutex::default(),
        }
    }

    /// The first host address.
    pub(crate) fn address(&self) -> u64 {
        self.address as u64
    }

    /// Its size.
    pub(crate) fn len_bytes(&self) -> u64 {
        self.len as u64
    }

    /// Where it comes from.
    pub(crate) fn origin(&self) -> PagesOrigin {
        self.origin
    }

    /// The bytes, for a kernel to work on.
    ///
    /// # Safety
    ///
    /// Nobody else of this library makes a slice of these bytes meanwhile.
    #[allow(
        clippy::mut_from_ref,
        reason = "the bytes are not part of this value, which only says where they are"
    )]
    pub(crate) unsafe fn bytes(&self) -> &mut [u8] {
        let start = std::ptr::with_exposed_provenance_mut(self.address);
        // SAFETY: the memory is there for as long as this value, made here or promised by the program; nobody else has a slice by this
        // function's own terms, and that the program does not touch it while the device does is its promise.
        unsafe { std::slice::from_raw_parts_mut(start, self.len) }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        if self.origin != PagesOrigin::Registered {
            let start = std::ptr::with_exposed_provenance_mut(self.address);
            // SAFETY: mapped by `make`, and this was the last to know it.
            let _ = unsafe { munmap(start, self.len) };
        }
    }
}

/// A range of host memory that the program gave to be read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HostRange {
    address: usize,
    len: usize,
}

impl HostRange {
    /// The range of `len` bytes at `address`.
    ///
    /// # Safety
    ///
    /// It is memory, good for reads and writes as what uses it does them, until the last use of this value.
    pub(crate) unsafe fn promised(address: usize, len: usize) -> Self {
        Self { address, len }
    }

    /// Copies the bytes from `at` on.
    ///
    /// # Errors
    ///
    /// They are not within the range.
    pub(crate) fn read(self, at: u64, into: &mut [u8]) -> Result<(), Error> {
        let from = self.place(at, into.len())?;
        // SAFETY: within memory that whoever made this promised to be there; `copy` allows any overlap.
        unsafe { std::ptr::copy(from.cast_const(), into.as_mut_ptr(), into.len()) };
        Ok(())
    }

    /// Writes the bytes from `at` on.
    ///
    /// # Errors
    ///
    /// They are not within the range.
    pub(crate) fn write(self, at: u64, bytes: &[u8]) -> Result<(), Error> {
        let to = self.place(at, bytes.len())?;
        // SAFETY: as for `read`.
        unsafe { std::ptr::copy(bytes.as_ptr(), to, bytes.len()) };
        Ok(())
    }

    /// Copies between two ranges, which may overlap.
    ///
    /// # Errors
    ///
    /// The bytes are not within both ranges.
    pub(crate) fn copy_to(self, at: u64, to: Self, to_at: u64, len: u64) -> Result<(), Error> {
        let len = usize::try_from(len).map_err(|_| Error::InvalidValue)?;
        let (from, to) = (self.place(at, len)?, to.place(to_at, len)?);
        // SAFETY: as for `read`.
        unsafe { std::ptr::copy(from.cast_const(), to, len) };
        Ok(())
    }

    /// Writes `pattern` over and over from `at` on.
    ///
    /// # Errors
    ///
    /// The bytes are not within the range.
    pub(crate) fn fill(self, at: u64, len: u64, pattern: &[u8]) -> Result<(), Error> {
        let len = usize::try_from(len).map_err(|_| Error::InvalidValue)?;
        let to = self.place(at, len)?;
        if let [byte] = pattern {
            // SAFETY: as for `read`.
            unsafe { to.write_bytes(*byte, len) };
            return Ok(());
        }
        let mut done = 0;
        while pattern.len() <= len.saturating_sub(done) && !pattern.is_empty() {
            self.write(at.saturating_add(done as u64), pattern)?;
            done = done.saturating_add(pattern.len());
        }
        Ok(())
    }

    fn place(self, at: u64, len: usize) -> Result<*mut u8, Error> {
        let at = usize::try_from(at).map_err(|_| Error::InvalidValue)?;
        let end = at.checked_add(len).ok_or(Error::InvalidValue)?;
        let address = self.address.checked_add(at).ok_or(Error::InvalidValue)?;
        if end > self.len {
            return Err(Error::InvalidValue);
        }
        Ok(std::ptr::with_exposed_provenance_mut(address))
    }
}

/// Whether the system knows memory at all addresses from one to before another.
pub(crate) fn is_mapped(start: usize, end: usize) -> bool {
    let page_start = start & !(PAGE - 1);
    let len = end.saturating_sub(page_start);
    // The system rounds lengths up to pages, and one near the largest number to none at all.
    if len > isize::MAX as usize {
        return false;
    }
    let page_start = std::ptr::with_exposed_provenance_mut(page_start);
    // SAFETY: with this flag the system only looks whether the pages are there.
    unsafe { msync(page_start, len, MsyncFlags::ASYNC) }.is_ok()
}

/// Pages of the system are multiples of this.
const PAGE: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_no_process_can_have_is_not_there() {
        let own = vec![1u8; 3 * PAGE];
        let start = own.as_ptr().expose_provenance();
        assert!(is_mapped(start, start + own.len()));
        let limit = isize::MAX as usize;
        for start in [0, 1, PAGE - 1, PAGE, start] {
            for end in [
                usize::MAX,
                usize::MAX - 1,
                usize::MAX - PAGE + 1,
                usize::MAX - PAGE,
                limit,
                limit + 1,
                limit + start,
                limit + start + PAGE,
            ] {
                assert!(!is_mapped(start, end), "{start:#x}..{end:#x}");
            }
        }
    }
}
