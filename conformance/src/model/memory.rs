//! The caller's memory: its kind, its size, its bytes.

use super::contents::Contents;
use super::rule::{self, Rule};

/// What an instance exports as `memory`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemoryKind {
    /// Nothing, or something that is no memory.
    Absent,
    /// An ordinary memory.
    Ordinary,
    /// A shared memory, which a host may refuse as absent.
    Shared,
    /// A memory with 64-bit addresses.
    Bits64,
}

/// Whether a region is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Region {
    /// It must be accepted.
    Inside,
    /// It must be refused with `invalid-pointer`, by this rule if not by the call's own.
    Outside(Option<&'static Rule>),
    /// It may be accepted, and may be refused with `invalid-pointer`.
    Either,
}

/// A linear memory.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    pub(super) kind: MemoryKind,
    pub(super) size_bytes: u64,
    pub(super) contents: Contents,
    strict: bool,
}

impl Memory {
    pub(super) fn new(kind: MemoryKind, pages: u64, strict: bool) -> Memory {
        Memory {
            kind,
            size_bytes: pages.saturating_mul(WASM_PAGE_BYTES),
            contents: Contents::default(),
            strict,
        }
    }

    /// Judges the region of `len` bytes at `at`, both unsigned.
    pub(super) fn region(&self, at: i32, len: u32) -> Region {
        let at = u64::from(at.cast_unsigned());
        let end = at + u64::from(len);
        if self.kind == MemoryKind::Absent {
            return Region::Outside(Some(rule::MEMORY_ABSENT));
        }
        if end > self.size_bytes {
            return Region::Outside(None);
        }
        let lenient = !self.strict;
        let tolerated = match self.kind {
            MemoryKind::Absent | MemoryKind::Shared => true,
            MemoryKind::Bits64 => lenient,
            MemoryKind::Ordinary => false,
        };
        // Hole 14: such an end does not fit 32 bits.
        if tolerated || end == 1 << 32 || (lenient && end > 1 << 31) {
            Region::Either
        } else {
            Region::Inside
        }
    }
}

const WASM_PAGE_BYTES: u64 = 65536;

#[cfg(test)]
mod tests {
    use super::*;

    fn ordinary(pages: u64) -> Memory {
        Memory::new(MemoryKind::Ordinary, pages, true)
    }

    #[test]
    fn a_region_ends_with_the_memory() {
        let memory = ordinary(1);
        for (at, len) in [(0, 0), (0, 65536), (65536, 0), (65535, 1)] {
            assert_eq!(memory.region(at, len), Region::Inside, "{at} {len}");
        }
        for (at, len) in [
            (65536, 1),
            (65537, 0),
            (-1, 0),
            (-1, 2),
            (1, u32::MAX),
            (i32::MAX, 1),
        ] {
            assert_eq!(memory.region(at, len), Region::Outside(None), "{at} {len}");
        }
    }

    #[test]
    fn kinds_and_sizes_have_their_own_answers() {
        let absent = Memory::new(MemoryKind::Absent, 1, true);
        assert_eq!(
            absent.region(0, 0),
            Region::Outside(Some(rule::MEMORY_ABSENT))
        );
        let shared = Memory::new(MemoryKind::Shared, 1, true);
        assert_eq!(shared.region(0, 1), Region::Either);
        assert_eq!(shared.region(0, 65537), Region::Outside(None));
        let full = ordinary(65536);
        assert_eq!(full.region(i32::MIN, 4), Region::Inside);
        assert_eq!(full.region(-4, 4), Region::Either);
        assert_eq!(full.region(-4, 5), Region::Outside(None));
        let lenient = Memory::new(MemoryKind::Ordinary, 65536, false);
        assert_eq!(lenient.region(i32::MIN, 4), Region::Either);
        assert_eq!(lenient.region(0, 4), Region::Inside);
    }
}
