//! The device heap: what `malloc` and `free` of a kernel give and take.
//!
//! Every block is a region of its own, with a gap behind it, so that an access past its end finds nothing. A freed block is used
//! again only when there is no fresh room left, so that accesses to it are found too.

use std::collections::{BTreeMap, BTreeSet};

use crate::fault::Object;
use crate::memory::HEAP_BASE;

/// The heap's blocks and their bytes. Offsets count from [`HEAP_BASE`].
#[derive(Clone, Debug, Default)]
pub(crate) struct Heap {
    bytes: Vec<u8>,
    /// Size of each block in use, by offset.
    live: BTreeMap<u64, u64>,
    /// Size of each freed block, by offset.
    freed: BTreeMap<u64, u64>,
    /// The freed blocks by room and by the turn in which they were freed.
    spare: BTreeSet<(u64, u64, u64)>,
    /// Room of each block ever given, by offset.
    rooms: BTreeMap<u64, u64>,
    /// Where fresh room starts.
    fresh: u64,
    turn: u64,
}

/// Why a block cannot be freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BadFree {
    /// It has been freed before.
    Again,
    /// No block starts there.
    NoBlock,
}

/// Blocks start at multiples of this.
const ALIGN: u64 = 16;

/// Room behind each block that belongs to none; it also pays for what the host notes about the block.
const GAP: u64 = 64;

impl Heap {
    /// A block of `bytes` bytes within the heap's first `limit` bytes; 0 where there is no room, or for 0 bytes.
    pub(crate) fn malloc(&mut self, bytes: u64, limit: u64) -> u64 {
        let Some(room) = bytes
            .checked_next_multiple_of(ALIGN)
            .and_then(|room| room.checked_add(GAP))
            .filter(|room| bytes > 0 && *room <= limit)
        else {
            return 0;
        };
        if self.live.is_empty() && self.fresh.saturating_add(room) > limit {
            *self = Self {
                turn: self.turn,
                ..Self::default()
            };
        }
        let offset = if self.fresh.saturating_add(room) <= limit {
            let offset = self.fresh;
            self.fresh = offset.saturating_add(room);
            self.rooms.insert(offset, room);
            self.bytes
                .resize(usize::try_from(self.fresh).unwrap_or(0), 0);
            offset
        } else {
            let Some(&found) = self.spare.range((room, 0, 0)..).next() else {
                return 0;
            };
            self.spare.remove(&found);
            let (_, _, offset) = found;
            self.freed.remove(&offset);
            offset
        };
        self.live.insert(offset, bytes);
        HEAP_BASE.saturating_add(offset)
    }

    /// Gives a block back; nothing happens for a null pointer.
    pub(crate) fn free(&mut self, address: u64) -> Result<(), BadFree> {
        if address == 0 {
            return Ok(());
        }
        let offset = address.wrapping_sub(HEAP_BASE);
        let Some(bytes) = self.live.remove(&offset) else {
            return Err(if self.freed.contains_key(&offset) {
                BadFree::Again
            } else {
                BadFree::NoBlock
            });
        };
        self.turn = self.turn.saturating_add(1);
        self.freed.insert(offset, bytes);
        let room = self.rooms.get(&offset).copied().unwrap_or(0);
        self.spare.insert((room, self.turn, offset));
        Ok(())
    }

    /// The block that holds `address`: its first address and its bytes.
    pub(crate) fn block(&mut self, address: u64) -> Option<(u64, &mut [u8])> {
        let at = address.wrapping_sub(HEAP_BASE);
        let (&offset, &bytes) = self.live.range(..=at).next_back()?;
        let end = offset.checked_add(bytes).filter(|end| at < *end)?;
        let range = usize::try_from(offset).ok()?..usize::try_from(end).ok()?;
        Some((HEAP_BASE.wrapping_add(offset), self.bytes.get_mut(range)?))
    }

    /// Calls `offer` with the kind, start and size of every block.
    pub(crate) fn objects(&self, mut offer: impl FnMut(Object, u64, u64)) {
        for (&offset, &bytes) in &self.live {
            offer(Object::HeapBlock, HEAP_BASE.wrapping_add(offset), bytes);
        }
        for (&offset, &bytes) in &self.freed {
            offer(
                Object::FreedHeapBlock,
                HEAP_BASE.wrapping_add(offset),
                bytes,
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BadFree, Heap};
    use crate::memory::HEAP_BASE;

    #[test]
    fn freed_blocks_are_used_again_when_fresh_room_has_run_out() {
        let mut heap = Heap::default();
        let blocks: Vec<u64> = (0..4).map(|_| heap.malloc(17, 400)).collect();
        assert_eq!(blocks, [0, 96, 192, 288].map(|offset| HEAP_BASE + offset));
        assert_eq!(heap.malloc(1, 400), 0);
        heap.free(blocks[2]).expect("a block");
        heap.free(blocks[1]).expect("a block");
        assert_eq!(heap.free(blocks[1]), Err(BadFree::Again));
        assert!(heap.block(blocks[1]).is_none());
        assert_eq!(heap.malloc(20, 400), blocks[2], "the one freed first");
        assert_eq!(heap.malloc(33, 400), 0, "larger than any");
        assert_eq!(
            heap.block(blocks[2] + 19).map(|(_, bytes)| bytes.len()),
            Some(20)
        );
        assert!(heap.block(blocks[2] + 20).is_none());
    }

    #[test]
    fn an_empty_heap_starts_over() {
        let mut heap = Heap::default();
        for _ in 0..100 {
            let block = heap.malloc(100, 256);
            assert_ne!(block, 0);
            heap.free(block).expect("a block");
        }
        assert_ne!(heap.malloc(190, 256), 0);
        assert_eq!(heap.malloc(0, 256), 0);
        assert_eq!(heap.malloc(u64::MAX, u64::MAX), 0);
        assert_eq!(heap.free(3), Err(BadFree::NoBlock));
        assert_eq!(heap.free(0), Ok(()));
    }
}
