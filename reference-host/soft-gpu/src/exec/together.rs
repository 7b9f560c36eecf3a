//! Global memory on which several threads work at once.
//!
//! Memory is cut into chunks. As long as threads only read a chunk they read its bytes as they are, and so may one thread write that has it to
//! itself. Where a thread wants what another holds, the chunk turns into words: from then on every
//! access is an atomic one of the 64-bit word around it, so that whatever a guest does is no data race here, a value of up to
//! 8 bytes never tears, and atomics of all widths agree. [`zerocopy`] sees the mapped bytes as such words in place; what does
//! not lie on 8-byte boundaries is copied and copied back.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{OnceLock, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError};

use zerocopy::FromBytes;

use super::file::Row;
use super::lanes::LANES;

/// All of a launch's global memory.
#[derive(Debug, Default)]
pub(crate) struct Together<'a> {
    /// Sorted by address, disjoint.
    regions: Vec<Region>,
    /// The chunks of all regions, in the order of their addresses.
    chunks: Vec<Chunk<'a>>,
    /// How many threads wait for others to let go of a chunk.
    waiting: AtomicU32,
}

#[derive(Debug)]
struct Region {
    start: u64,
    bytes: u64,
    /// Its chunks end where addresses are multiples of two to this power.
    shift: u32,
    /// The number of its first chunk.
    first: usize,
}

#[derive(Debug)]
struct Chunk<'a> {
    start: u64,
    /// Somebody waits for others to let go of it.
    wanted: AtomicBool,
    /// The chunk as it is, until it becomes words.
    plain: RwLock<Option<&'a mut [u8]>>,
    words: OnceLock<Parts<'a>>,
}

/// A chunk as words, in at most three parts, none of which ends within a word that goes on in the next.
type Parts<'a> = Vec<Part<'a>>;

#[derive(Debug)]
struct Part<'a> {
    start: u64,
    bytes: u64,
    words: Words<'a>,
}

#[derive(Debug)]
enum Words<'a> {
    /// The bytes themselves.
    InPlace(&'a [AtomicU64]),
    /// Copies, from the boundary below the first byte on, and where they go back to.
    Copied(Vec<AtomicU64>, &'a mut [u8]),
}

/// One thread's access to memory that threads share.
#[derive(Debug)]
pub(crate) struct Sharing<'l, 'a> {
    pub(crate) together: &'l Together<'a>,
    /// What this thread holds of each chunk.
    held: Vec<Held<'l, 'a>>,
    /// Chunks of which it may hold something: there may be many more that it does not.
    holding: Vec<usize>,
}

/// What keeps a chunk from becoming words.
#[derive(Debug)]
enum Held<'l, 'a> {
    Nothing,
    Shared(RwLockReadGuard<'l, Option<&'a mut [u8]>>),
    Alone(RwLockWriteGuard<'l, Option<&'a mut [u8]>>),
}

/// Bytes of a word.
const WORD: u64 = 8;

/// Most chunks of a region, about.
const MOST_CHUNKS: u64 = 64;

/// Least bytes of a chunk, as a power of two.
const LEAST_SHIFT: u32 = 16;

impl<'l, 'a> Sharing<'l, 'a> {
    pub(crate) fn new(together: &'l Together<'a>) -> Self {
        let held = together.chunks.iter().map(|_| Held::Nothing).collect();
        Self {
            together,
            held,
            holding: Vec::new(),
        }
    }

    /// The chunk around an address, if it may be read as it is: its first address and its bytes.
    #[inline(always)]
    pub(crate) fn plain(&mut self, address: u64) -> Option<(u64, &[u8])> {
        let at = self.together.chunk(address)?;
        if matches!(self.held[at], Held::Nothing) {
            self.hold(at, false);
        }
        let bytes = match &self.held[at] {
            Held::Nothing => return None,
            Held::Shared(bytes) => bytes.as_deref()?,
            Held::Alone(bytes) => bytes.as_deref()?,
        };
        Some((self.together.chunks[at].start, bytes))
    }

    /// The chunk around an address, if it may be written as it is.
    #[inline(always)]
    pub(crate) fn plain_mut(&mut self, address: u64) -> Option<(u64, &mut [u8])> {
        let at = self.together.chunk(address)?;
        if !matches!(self.held[at], Held::Alone(_)) {
            self.hold(at, true);
        }
        match &mut self.held[at] {
            Held::Alone(bytes) => Some((self.together.chunks[at].start, bytes.as_deref_mut()?)),
            _ => None,
        }
    }

    /// Holds a chunk, to write to it or only to read, unless it is words. It becomes words where others hold it.
    #[cold]
    fn hold(&mut self, at: usize, write: bool) {
        let chunk = &self.together.chunks[at];
        if chunk.words.get().is_some() {
            return;
        }
        // What it has now may be what is in the way.
        self.held[at] = Held::Nothing;
        if chunk.wanted.load(Ordering::Relaxed) {
            // Others would wait on and on while it is had again and again.
            return self.make_words(at);
        }
        let held = if write {
            chunk.plain.try_write().ok().map(Held::Alone)
        } else {
            chunk.plain.try_read().ok().map(Held::Shared)
        };
        let Some(held) = held else {
            return self.make_words(at);
        };
        let there = match &held {
            Held::Nothing => false,
            Held::Shared(bytes) => bytes.is_some(),
            Held::Alone(bytes) => bytes.is_some(),
        };
        if there {
            self.held[at] = held;
            self.holding.push(at);
        }
    }

    /// Makes words of a chunk as soon as others have let go of it.
    #[cold]
    fn make_words(&mut self, at: usize) {
        let together = self.together;
        let chunk = &together.chunks[at];
        chunk.wanted.store(true, Ordering::Relaxed);
        together.waiting.fetch_add(1, Ordering::Relaxed);
        while chunk.words.get().is_none() {
            match chunk.plain.try_write() {
                Ok(mut plain) => {
                    if let Some(bytes) = plain.take() {
                        chunk.words.get_or_init(|| parts(chunk.start, bytes));
                    }
                }
                Err(TryLockError::WouldBlock) => {
                    // Those whom this thread waits for may wait for it.
                    self.let_go();
                    std::thread::yield_now();
                }
                Err(TryLockError::Poisoned(_)) => break,
            }
        }
        together.waiting.fetch_sub(1, Ordering::Relaxed);
    }

    /// Lets go of what others wait for, if any does.
    #[inline(always)]
    pub(crate) fn give_way(&mut self) {
        if self.together.waiting.load(Ordering::Relaxed) != 0 {
            self.let_go();
        }
    }

    #[cold]
    fn let_go(&mut self) {
        let Self {
            together,
            held,
            holding,
        } = self;
        holding.retain(|&at| {
            let keep = !together.chunks[at].wanted.load(Ordering::Relaxed);
            if !keep {
                held[at] = Held::Nothing;
            }
            keep
        });
    }
}

/// A chunk as words: those that lie in place as a whole, and copies of what is before and behind them; else all copied.
fn parts(start: u64, bytes: &mut [u8]) -> Parts<'_> {
    let before = (start.wrapping_neg() % WORD) as usize;
    let in_place = bytes.as_ptr().addr().wrapping_add(before).is_multiple_of(8);
    let before = if in_place { before } else { bytes.len() };
    let (head, rest) = bytes.split_at_mut(before.min(bytes.len()));
    let (body, tail) = rest.split_at_mut(rest.len() / WORD as usize * WORD as usize);
    let body_start = start + head.len() as u64;
    let tail_start = body_start + body.len() as u64;
    let mut parts = Vec::new();
    if !head.is_empty() {
        parts.push(Part::copied(start, head));
    }
    if !body.is_empty() {
        let bytes = body.len() as u64;
        if let Ok(words) = <[AtomicU64]>::mut_from_bytes(body) {
            parts.push(Part {
                start: body_start,
                bytes,
                words: Words::InPlace(words),
            });
        }
    }
    if !tail.is_empty() {
        parts.push(Part::copied(tail_start, tail));
    }
    parts
}

impl<'a> Part<'a> {
    fn copied(start: u64, bytes: &'a mut [u8]) -> Self {
        let skew = (start % WORD) as usize;
        let mut words = Vec::with_capacity(bytes.len() / 8 + 2);
        let mut padded = std::iter::repeat_n(0, skew).chain(bytes.iter().copied());
        for _ in 0..(skew + bytes.len()).div_ceil(8) {
            let word = std::array::from_fn(|_| padded.next().unwrap_or(0));
            words.push(AtomicU64::new(u64::from_ne_bytes(word)));
        }
        Self {
            start,
            bytes: bytes.len() as u64,
            words: Words::Copied(words, bytes),
        }
    }
}

impl<'a> Together<'a> {
    /// Takes in a region; regions come in the order of their addresses.
    pub(crate) fn push(&mut self, start: u64, mut bytes: &'a mut [u8]) {
        let size = bytes.len() as u64;
        if size == 0 {
            return;
        }
        let shift = (size / MOST_CHUNKS)
            .next_power_of_two()
            .trailing_zeros()
            .max(LEAST_SHIFT);
        self.regions.push(Region {
            start,
            bytes: size,
            shift,
            first: self.chunks.len(),
        });
        let mut at = start;
        while !bytes.is_empty() {
            // Up to the next multiple, so that no access of a power of two lies across.
            let room = (1 << shift) - (at & ((1 << shift) - 1));
            let (chunk, rest) = bytes.split_at_mut((room as usize).min(bytes.len()));
            self.chunks.push(Chunk {
                start: at,
                wanted: AtomicBool::new(false),
                plain: RwLock::new(Some(chunk)),
                words: OnceLock::new(),
            });
            at = at.wrapping_add(room);
            bytes = rest;
        }
    }

    /// Puts copies back where they came from.
    pub(crate) fn finish(self) {
        for chunk in self.chunks {
            for part in chunk.words.into_inner().unwrap_or_default() {
                if let Words::Copied(words, home) = part.words {
                    let skew = (part.start % WORD) as usize;
                    let bytes = words
                        .into_iter()
                        .flat_map(|word| word.into_inner().to_ne_bytes());
                    for (byte, value) in home.iter_mut().zip(bytes.skip(skew)) {
                        *byte = value;
                    }
                }
            }
        }
    }

    /// Whether `bytes` bytes at `address` lie within one region as it was mapped.
    pub(crate) fn contains(&self, address: u64, bytes: u64) -> bool {
        self.region(address)
            .is_some_and(|region| bytes <= region.start + region.bytes - address)
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

    /// Loads the words of consecutive lanes of several warps; whether it could.
    #[inline(always)]
    pub(crate) fn load_rows(&self, address: u64, rows: &mut [Row<u32>]) -> bool {
        let Some(words) = self.words(address, rows.len() * LANES / 2) else {
            return false;
        };
        let words = words.as_chunks::<{ LANES / 2 }>().0;
        for (row, words) in rows.iter_mut().zip(words) {
            for (pair, word) in row.0.as_chunks_mut::<2>().0.iter_mut().zip(words) {
                let word = u64::from_le(word.load(Ordering::Acquire));
                *pair = [word as u32, (word >> 32) as u32];
            }
        }
        true
    }

    /// Loads the words of consecutive lanes; whether it could.
    #[inline(always)]
    pub(crate) fn load32s<const N: usize>(&self, address: u64, lanes: &mut [u32; N]) -> bool {
        let Some(words) = self.words(address, N / 2) else {
            return false;
        };
        for (pair, word) in lanes.as_chunks_mut::<2>().0.iter_mut().zip(words) {
            let word = u64::from_le(word.load(Ordering::Acquire));
            *pair = [word as u32, (word >> 32) as u32];
        }
        true
    }

    /// Stores the words of consecutive lanes of several warps; whether it could.
    #[inline(always)]
    pub(crate) fn store_rows(&self, address: u64, rows: &[Row<u32>]) -> bool {
        let Some(words) = self.words(address, rows.len() * LANES / 2) else {
            return false;
        };
        let words = words.as_chunks::<{ LANES / 2 }>().0;
        for (row, words) in rows.iter().zip(words) {
            for (&[low, high], word) in row.0.as_chunks::<2>().0.iter().zip(words) {
                let pair = u64::from(high) << 32 | u64::from(low);
                word.store(pair.to_le(), Ordering::Release);
            }
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

    /// Consecutive whole words that lie in place.
    #[inline(always)]
    fn words(&self, address: u64, count: usize) -> Option<&[AtomicU64]> {
        let part = self.part(address)?;
        if !address.is_multiple_of(WORD) {
            return None;
        }
        let Words::InPlace(words) = part.words else {
            return None;
        };
        let first = ((address - part.start) / WORD) as usize;
        words.get(first..first.checked_add(count)?)
    }

    /// Calls `offer` with the start and size of every region.
    pub(crate) fn objects(&self, mut offer: impl FnMut(u64, u64)) {
        for region in &self.regions {
            offer(region.start, region.bytes);
        }
    }

    fn word(&self, address: u64, bytes: u32) -> Option<&AtomicU64> {
        let part = self.part(address)?;
        if address - part.start + u64::from(bytes) > part.bytes {
            return None;
        }
        let at = ((address - part.start / WORD * WORD) / WORD) as usize;
        match &part.words {
            Words::InPlace(words) => words.get(at),
            Words::Copied(words, _) => words.get(at),
        }
    }

    /// The words around an address.
    #[inline(always)]
    fn part(&self, address: u64) -> Option<&Part<'a>> {
        let parts = self.chunks[self.chunk(address)?].words.get()?;
        parts
            .iter()
            .find(|part| address.wrapping_sub(part.start) < part.bytes)
    }

    #[inline(always)]
    fn region(&self, address: u64) -> Option<&Region> {
        let before = |region: &Region| region.start <= address;
        let at = if self.regions.len() <= 8 {
            self.regions.iter().rposition(before)?
        } else {
            self.regions.partition_point(before).checked_sub(1)?
        };
        let region = &self.regions[at];
        (address - region.start < region.bytes).then_some(region)
    }

    /// The number of the chunk that holds an address.
    #[inline(always)]
    fn chunk(&self, address: u64) -> Option<usize> {
        let region = self.region(address)?;
        let number = (address >> region.shift) - (region.start >> region.shift);
        Some(region.first + number as usize)
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

#[cfg(test)]
mod tests {
    use std::sync::{OnceLock, RwLock};

    use super::{AtomicBool, Chunk, Region, Together, parts};

    /// Every aligned access of a chunk of any size, at any address, whose bytes lie anywhere, finds its bytes, and what is written goes back.
    #[test]
    fn words_are_whole_wherever_a_chunk_begins_and_ends() {
        let mut buffer = [0u64; 8];
        for start in 0x1000..0x1008u64 {
            for skew in 0..8 {
                for size in 1..40usize {
                    let bytes = &mut zerocopy::IntoBytes::as_mut_bytes(&mut buffer)[skew..][..size];
                    for (at, byte) in (0..).zip(bytes.iter_mut()) {
                        *byte = at;
                    }
                    let mut expected = bytes.to_vec();
                    let together = Together {
                        regions: vec![Region {
                            start,
                            bytes: size as u64,
                            shift: 12,
                            first: 0,
                        }],
                        chunks: vec![Chunk {
                            start,
                            wanted: AtomicBool::new(false),
                            plain: RwLock::new(None),
                            words: OnceLock::from(parts(start, bytes)),
                        }],
                        ..Together::default()
                    };
                    for width in [1, 2, 4, 8u32] {
                        for address in start - 8..start + size as u64 + 8 {
                            if !address.is_multiple_of(u64::from(width)) {
                                continue;
                            }
                            let offset = address.wrapping_sub(start) as usize;
                            let there = offset
                                .checked_add(width as usize)
                                .and_then(|end| expected.get_mut(offset..end));
                            let was = there.as_deref().map(|bytes| {
                                bytes
                                    .iter()
                                    .rev()
                                    .fold(0, |value, byte| value << 8 | u64::from(*byte))
                            });
                            let what = format!("{width} at {address:#x} of {size} from {start:#x}");
                            assert_eq!(together.load(address, width), was, "{what}");
                            let new = 0x0102_0304_0506_0708u64.wrapping_mul(offset as u64 | 1);
                            assert_eq!(
                                together.store(address, width, new).is_some(),
                                was.is_some()
                            );
                            if let Some(bytes) = there {
                                bytes.copy_from_slice(&new.to_le_bytes()[..width as usize]);
                            }
                        }
                    }
                    together.finish();
                    let bytes = &zerocopy::IntoBytes::as_bytes(&buffer)[skew..][..size];
                    assert_eq!(bytes, expected);
                }
            }
        }
    }
}
