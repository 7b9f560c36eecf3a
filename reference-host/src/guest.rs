//! The caller's memory: the only place that turns an offset and a length into bytes.
//!
//! Offsets are unsigned, so a negative `i32` is an offset at or above 2 GiB; sums are 64-bit, so none wraps. A
//! region of no bytes is in bounds up to and including the memory's size. Nothing here allocates.

use crate::error::Refusal;

/// The linear memory that the calling guest exports, if it exports one.
#[derive(Debug)]
pub struct GuestMemory<'a>(Option<&'a mut [u8]>);

impl<'a> GuestMemory<'a> {
    /// Wraps the memory for the time of one call; `None` when the guest exports none.
    #[must_use]
    pub fn new(memory: Option<&'a mut [u8]>) -> Self {
        Self(memory)
    }

    /// The bytes of a region that the call only reads.
    ///
    /// # Errors
    ///
    /// [`Refusal::NoMemory`], [`Refusal::NegativeLength`] or [`Refusal::OutOfBounds`], all `invalid-pointer`.
    pub fn read(&self, region: &'static str, offset: i32, len: i32) -> Result<&[u8], Refusal> {
        let memory = self.0.as_deref().ok_or(Refusal::NoMemory)?;
        let (start, end) = bounds(region, offset, len)?;
        memory
            .get(start..end)
            .ok_or_else(|| out_of_bounds(region, offset, len, memory.len()))
    }

    /// The bytes of a region that the call writes.
    ///
    /// # Errors
    ///
    /// As [`GuestMemory::read`].
    pub fn write(
        &mut self,
        region: &'static str,
        offset: i32,
        len: i32,
    ) -> Result<&mut [u8], Refusal> {
        let memory = self.0.as_deref_mut().ok_or(Refusal::NoMemory)?;
        let (start, end) = bounds(region, offset, len)?;
        let memory_len = memory.len();
        memory
            .get_mut(start..end)
            .ok_or_else(|| out_of_bounds(region, offset, len, memory_len))
    }

    /// Size of the memory in bytes, 0 when there is none.
    #[must_use]
    pub fn len_bytes(&self) -> u64 {
        self.0.as_deref().map_or(0, |memory| memory.len() as u64)
    }

    /// The whole memory, empty when there is none.
    #[must_use]
    pub fn whole(self) -> &'a mut [u8] {
        self.0.unwrap_or_default()
    }
}

/// Start and end of a region, not yet compared with a memory's size.
fn bounds(region: &'static str, offset: i32, len: i32) -> Result<(usize, usize), Refusal> {
    let start = u64::from(offset.cast_unsigned());
    let len_bytes = u64::try_from(len).map_err(|_| Refusal::NegativeLength { region, len })?;
    let end = start.saturating_add(len_bytes);
    // On a 32-bit host an end that `usize` cannot hold is past any memory.
    Ok((
        usize::try_from(start).unwrap_or(usize::MAX),
        usize::try_from(end).unwrap_or(usize::MAX),
    ))
}

#[cold]
fn out_of_bounds(region: &'static str, offset: i32, len: i32, memory_len: usize) -> Refusal {
    Refusal::OutOfBounds {
        region,
        offset: offset.cast_unsigned(),
        len: len.cast_unsigned(),
        memory_bytes: memory_len as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::AbiError;

    #[test]
    fn regions_of_one_page() {
        const IN: bool = true;
        const OUT: bool = false;
        let table: &[(i32, i32, bool)] = &[
            (0, 0, IN),
            (0, 65536, IN),
            (65535, 1, IN),
            (65536, 0, IN),
            (65537, 0, OUT),
            (65536, 1, OUT),
            (0, 65537, OUT),
            (-1, 0, OUT),
            (-1, 1, OUT),
            (-1, 2, OUT),
            (-8, 16, OUT),
            (0, -1, OUT),
            (i32::MAX, i32::MAX, OUT),
            (i32::MIN, i32::MAX, OUT),
            (1, i32::MIN, OUT),
        ];
        let mut bytes = vec![0; 65536];
        for (offset, len, inside) in table {
            let mut memory = GuestMemory::new(Some(&mut bytes));
            let read = memory.read("test", *offset, *len).map(<[u8]>::len);
            let code = read.as_ref().map_err(Refusal::code).copied();
            let expected = if *inside {
                Ok(*len as usize)
            } else {
                Err(AbiError::InvalidPointer)
            };
            assert_eq!(code, expected, "read of ({offset}, {len})");
            let written = memory
                .write("test", *offset, *len)
                .map(|bytes| bytes.len())
                .map_err(|error| error.code());
            assert_eq!(written, expected, "write of ({offset}, {len})");
        }
    }

    #[test]
    fn an_empty_memory_holds_the_empty_region_at_its_start_only() {
        let memory = GuestMemory::new(Some(&mut []));
        assert!(memory.read("test", 0, 0).is_ok());
        assert!(memory.read("test", 1, 0).is_err());
        assert!(matches!(
            GuestMemory::new(None).read("test", 0, 0),
            Err(Refusal::NoMemory)
        ));
    }
}
