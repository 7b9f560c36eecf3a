//! Global memory on which several threads work at once.
//!
//! Every access is an atomic one of the 64-bit word around it, so that whatever a guest does is no data race here, a value of up to
//! 8 bytes never tears, and atomics of all widths agree. [`zerocopy`] sees the mapped bytes as such words in place; regions that do
//! not lie on 8-byte boundaries are copied and copied back.

use std::sync::atomic::{AtomicU64, Ordering};

use zerocopy::FromBytes;

/// All of a launch's global memory.
#[derive(Debug, Default)]
pub(crate) struct Together<'a> {
    /// Sorted by address, disjoint.
    regions: Vec<Region<'a>>,
}

#[derive(Debug)]
struct Region<'a> {
    start: u64,
    bytes: u64,
    /// End of what was mapped as one, of which this may be the beginning only.
    mapped_end: u64,
    words: Words<'a>,
}

#[derive(Debug)]
enum Words<'a> {
    /// The bytes themselves.
    InPlace(&'a [AtomicU64]),
    /// Copies, from the boundary below the first byte on, and where they go back to.
    Copied(Vec<AtomicU64>, &'a mut [u8]),
}

/// Bytes of a word.
const WORD: u64 = 8;

impl<'a> Together<'a> {
    /// Takes in a region; regions come in the order of their addresses.
    pub(crate) fn push(&mut self, start: u64, bytes: &'a mut [u8]) {
        let whole = (bytes.len() as u64 / WORD * WORD) as usize;
        let (body, rest) = bytes.split_at_mut(whole);
        let in_place = start.is_multiple_of(WORD) && body.as_ptr().addr().is_multiple_of(8);
        let rest_start = start + whole as u64;
        let mapped_end = rest_start + rest.len() as u64;
        if in_place && !body.is_empty() {
            let bytes = whole as u64;
            if let Ok(words) = <[AtomicU64]>::mut_from_bytes(body) {
                self.regions.push(Region {
                    start,
                    bytes,
                    mapped_end,
                    words: Words::InPlace(words),
                });
            }
        } else if !body.is_empty() {
            self.push_copied(start, body, mapped_end);
        }
        if !rest.is_empty() {
            self.push_copied(rest_start, rest, mapped_end);
        }
    }

    fn push_copied(&mut self, start: u64, bytes: &'a mut [u8], mapped_end: u64) {
        let skew = (start % WORD) as usize;
        let mut words = Vec::with_capacity(bytes.len() / 8 + 2);
        let mut padded = std::iter::repeat_n(0, skew).chain(bytes.iter().copied());
        for _ in 0..(skew + bytes.len()).div_ceil(8) {
            let word = std::array::from_fn(|_| padded.next().unwrap_or(0));
            words.push(AtomicU64::new(u64::from_ne_bytes(word)));
        }
        self.regions.push(Region {
            start,
            bytes: bytes.len() as u64,
            mapped_end,
            words: Words::Copied(words, bytes),
        });
    }

    /// Puts copies back where they came from.
    pub(crate) fn finish(self) {
        for region in self.regions {
            if let Words::Copied(words, home) = region.words {
                let skew = (region.start % WORD) as usize;
                let bytes = words
                    .into_iter()
                    .flat_map(|word| word.into_inner().to_ne_bytes());
                for (byte, value) in home.iter_mut().zip(bytes.skip(skew)) {
                    *byte = value;
                }
            }
        }
    }

    /// Whether `bytes` bytes at `address` lie within one region as it was mapped.
    pub(crate) fn contains(&self, address: u64, bytes: u64) -> bool {
        self.region(address)
            .is_some_and(|region| bytes <= region.mapped_end - address)
    }

    /// The `bytes` (1, 2, 4 or 8) bytes at an aligned `address`.
    pub(crate) fn load(&self, address: u64, bytes: u32) -> Option<u64> {
        let word = u64::from_le(self.word(address, bytes)?.load(Ordering::Acquire));
        Some(word >> shift(address) & mask(bytes))
    }

    /// Writes the low `bytes` (1, 2, 4 or 8) bytes of `value` to an aligned `address`.
    pub(crate) fn store(&self, address: u64, bytes: u32, value: u64) -> Option<()> {
        let word = self.word(address, bytes)?;
        if u64::from(bytes) == WORD {
            word.store(value.to_le(), Ordering::Release);
        } else {
            self.update(address, bytes, |_| value)?;
        }
        Some(())
    }

    /// Replaces what stands at an aligned `address` by a function of it, in one step; returns what stood there.
    pub(crate) fn update(&self, address: u64, bytes: u32, f: impl Fn(u64) -> u64) -> Option<u64> {
        let word = self.word(address, bytes)?;
        let (shift, mask) = (shift(address), mask(bytes));
        let old = word
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |word| {
                let word = u64::from_le(word);
                let new = f(word >> shift & mask) & mask;
                Some(((word & !(mask << shift)) | new << shift).to_le())
            })
            .unwrap_or_else(|word| word);
        Some(u64::from_le(old) >> shift & mask)
    }

    /// Loads the words of consecutive lanes from an address that is a multiple of 8. Where it cannot, `out` is not asked for.
    #[inline(always)]
    pub(crate) fn load32s<'o, const N: usize>(
        &self,
        address: u64,
        out: impl FnOnce() -> &'o mut [u32; N],
    ) -> bool {
        let Some(words) = self.words(address, N / 2) else {
            return false;
        };
        for (pair, word) in out().as_chunks_mut::<2>().0.iter_mut().zip(words) {
            let word = u64::from_le(word.load(Ordering::Acquire));
            *pair = [word as u32, (word >> 32) as u32];
        }
        true
    }

    /// Loads the double words of consecutive lanes. Where it cannot, `out` is not asked for.
    #[inline(always)]
    pub(crate) fn load64s<'o, const N: usize>(
        &self,
        address: u64,
        out: impl FnOnce() -> &'o mut [u64; N],
    ) -> bool {
        let Some(words) = self.words(address, N) else {
            return false;
        };
        for (out, word) in out().iter_mut().zip(words) {
            *out = u64::from_le(word.load(Ordering::Acquire));
        }
        true
    }

    /// Stores the words of consecutive lanes.
    #[inline(always)]
    pub(crate) fn store32s<const N: usize>(&self, address: u64, lanes: &[u32; N]) -> bool {
        let Some(words) = self.words(address, N / 2) else {
            return false;
        };
        for (&[low, high], word) in lanes.as_chunks::<2>().0.iter().zip(words) {
            let pair = u64::from(high) << 32 | u64::from(low);
            word.store(pair.to_le(), Ordering::Release);
        }
        true
    }

    /// Stores the double words of consecutive lanes.
    #[inline(always)]
    pub(crate) fn store64s<const N: usize>(&self, address: u64, lanes: &[u64; N]) -> bool {
        let Some(words) = self.words(address, N) else {
            return false;
        };
        for (&lane, word) in lanes.iter().zip(words) {
            word.store(lane.to_le(), Ordering::Release);
        }
        true
    }

    /// Consecutive whole words that were mapped.
    #[inline(always)]
    fn words(&self, address: u64, count: usize) -> Option<&[AtomicU64]> {
        let region = self.region(address)?;
        if !address.is_multiple_of(WORD) {
            return None;
        }
        let Words::InPlace(words) = region.words else {
            return None;
        };
        let first = ((address - region.start) / WORD) as usize;
        words.get(first..first.checked_add(count)?)
    }

    /// Calls `offer` with the start and size of every region as it was mapped.
    pub(crate) fn objects(&self, mut offer: impl FnMut(u64, u64)) {
        let mut end = 0;
        for region in &self.regions {
            if region.mapped_end != end {
                offer(region.start, region.mapped_end - region.start);
            }
            end = region.mapped_end;
        }
    }

    fn word(&self, address: u64, bytes: u32) -> Option<&AtomicU64> {
        let region = self.region(address)?;
        if address - region.start + u64::from(bytes) > region.bytes {
            return None;
        }
        let at = ((address - region.start / WORD * WORD) / WORD) as usize;
        match &region.words {
            Words::InPlace(words) => words.get(at),
            Words::Copied(words, _) => words.get(at),
        }
    }

    #[inline(always)]
    fn region(&self, address: u64) -> Option<&Region<'a>> {
        let before = |region: &Region<'_>| region.start <= address;
        let after = if self.regions.len() <= 8 {
            self.regions.iter().rposition(before)? + 1
        } else {
            self.regions.partition_point(before)
        };
        let region = self.regions.get(after.checked_sub(1)?)?;
        (address - region.start < region.bytes).then_some(region)
    }
}

fn shift(address: u64) -> u32 {
    8 * (address % WORD) as u32
}

fn mask(bytes: u32) -> u64 {
    match bytes {
        1 => 0xFF,
        2 => 0xFFFF,
        4 => 0xFFFF_FFFF,
        _ => u64::MAX,
    }
}
