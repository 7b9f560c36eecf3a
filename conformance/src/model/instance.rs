//! What the model knows of one instance.

use std::collections::{HashMap, HashSet};

use super::contents::Contents;
use super::kernel::Faults;
use super::memory::Memory;

/// One instance: memory, kernels, buffers, the recorded message, and what a sync is still to wait for.
#[derive(Clone, Debug)]
pub(super) struct Instance {
    pub(super) memory: Memory,
    pub(super) kernels: Table<Kernel>,
    pub(super) buffers: Table<Buffer>,
    /// Bytes of PTX of the live kernels.
    pub(super) ptx_bytes: u64,
    /// Bytes of the live buffers.
    pub(super) buffer_bytes: u64,
    /// Allocations that a host without a device answered with -1 and may still count: number and bytes.
    pub(super) ungranted: (u64, u64),
    pub(super) message: Message,
    pub(super) pending: Vec<Pending>,
    /// Whether a kernel has faulted that no answer has told of yet.
    pub(super) fault: Faults,
    /// Where a kernel has just stored what its module counted.
    pub(super) counted: Option<u64>,
    /// A kernel may have written anywhere: the memory is not judged any more.
    pub(super) lost: bool,
}

/// Things with ids: the live ones in a fixed order, and every id ever given out.
#[derive(Clone, Debug)]
pub(super) struct Table<T> {
    entries: Vec<(i64, T)>,
    slots: HashMap<i64, usize>,
    ever: HashSet<i64>,
    dead: Vec<i64>,
}

/// What some of the instances held that have ended, the oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Ended {
    pub(super) kernels: Vec<i64>,
    pub(super) buffers: Vec<i64>,
}

impl Ended {
    pub(super) fn add(&mut self, instance: &Instance) {
        let Ended { kernels, buffers } = self;
        kernels.extend((0..MOST_ENDED).map_while(|index| instance.kernels.at(index)));
        buffers.extend((0..MOST_ENDED).map_while(|index| instance.buffers.at(index)));
        for list in [kernels, buffers] {
            list.drain(..list.len().saturating_sub(4 * MOST_ENDED));
        }
    }
}

/// A live kernel.
#[derive(Clone, Debug)]
pub(super) struct Kernel {
    pub(super) source: Source,
}

/// What a kernel was loaded from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// A known module, by index, and the value of its variable if that is known.
    Known(usize, Option<u32>),
    /// A module that does not have the kernel: every launch fails.
    EntryMissing,
    /// A text that the model does not know.
    Unknown,
}

/// A live buffer.
#[derive(Clone, Debug)]
pub(super) struct Buffer {
    pub(super) size_bytes: u64,
    pub(super) contents: Contents,
}

/// A launch that answered 0 and whose effects need not be visible yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    /// From the first to the last byte of all its windows.
    pub(super) windows: (u64, u64),
    /// What it writes: offset and length.
    pub(super) wrote: (u64, u64),
    /// Something else has touched its windows: what it wrote is anyone's guess.
    pub(super) disturbed: bool,
}

/// The recorded message as far as it was seen.
#[derive(Clone, Debug, Default)]
pub(super) struct Message {
    /// Bounds of its length; both 0 when none is recorded.
    pub(super) low: u32,
    /// See `low`.
    pub(super) high: u32,
    /// Its first bytes.
    pub(super) seen: Vec<u8>,
    /// A copy that has just put so many bytes there, which are not known.
    pub(super) copied: Option<(u32, u32)>,
}

impl Instance {
    pub(super) fn new(memory: Memory) -> Instance {
        Instance {
            memory,
            kernels: Table::default(),
            buffers: Table::default(),
            ptx_bytes: 0,
            buffer_bytes: 0,
            ungranted: (0, 0),
            message: Message::default(),
            pending: Vec::new(),
            fault: Faults::Never,
            counted: None,
            lost: false,
        }
    }

    /// Something other than a kernel writes there.
    pub(super) fn disturb(&mut self, at: u64, len: u64) {
        for pending in &mut self.pending {
            let (start, end) = pending.windows;
            if len > 0 && at < end && at + len > start {
                pending.disturbed = true;
            }
        }
        if let Some((copied, count)) = self.message.copied
            && at < u64::from(copied) + u64::from(count)
            && at + len > u64::from(copied)
        {
            self.message.copied = None;
        }
    }

    /// Whether a launch that is not synced writes there.
    pub(super) fn in_flight(&self, at: u64, len: u64) -> bool {
        self.pending.iter().any(|pending| {
            let (start, count) = pending.wrote;
            len > 0 && at < start + count && at + len > start
        })
    }

    /// A call failed: there is a new message, of unknown text.
    pub(super) fn failed(&mut self, strict: bool) {
        let message = &mut self.message;
        (message.low, message.high) = if strict {
            (1, LONGEST_MESSAGE_BYTES)
        } else {
            (0, u32::MAX)
        };
        message.seen.clear();
        message.copied = None;
    }
}

impl<T> Default for Table<T> {
    fn default() -> Table<T> {
        Table {
            entries: Vec::new(),
            slots: HashMap::new(),
            ever: HashSet::new(),
            dead: Vec::new(),
        }
    }
}

impl<T> Table<T> {
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn get(&self, id: i64) -> Option<&T> {
        let slot = *self.slots.get(&id)?;
        self.entries.get(slot).map(|(_, entry)| entry)
    }

    pub(super) fn get_mut(&mut self, id: i64) -> Option<&mut T> {
        let slot = *self.slots.get(&id)?;
        self.entries.get_mut(slot).map(|(_, entry)| entry)
    }

    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.entries.iter_mut().map(|(_, entry)| entry)
    }

    fn at(&self, index: usize) -> Option<i64> {
        self.entries.get(index).map(|(id, _)| *id)
    }

    /// The id of a live entry, counted round.
    pub(super) fn nth(&self, index: usize) -> Option<i64> {
        let index = index.checked_rem(self.entries.len())?;
        self.entries.get(index).map(|(id, _)| *id)
    }

    /// An id that is not live any more, counted round.
    pub(super) fn nth_dead(&self, index: usize) -> Option<i64> {
        let index = index.checked_rem(self.dead.len())?;
        self.dead.get(index).copied()
    }

    pub(super) fn was_given(&self, id: i64) -> bool {
        self.ever.contains(&id)
    }

    pub(super) fn insert(&mut self, id: i64, entry: T) {
        self.slots.insert(id, self.entries.len());
        self.entries.push((id, entry));
        self.ever.insert(id);
    }

    pub(super) fn remove(&mut self, id: i64) -> Option<T> {
        let slot = self.slots.remove(&id)?;
        let (_, entry) = self.entries.swap_remove(slot);
        if let Some((moved, _)) = self.entries.get(slot) {
            self.slots.insert(*moved, slot);
        }
        self.dead.push(id);
        Some(entry)
    }
}

/// Kernels or buffers that are kept of an instance that ends.
const MOST_ENDED: usize = 4;

/// 512 bytes and the ellipsis of a message that was cut.
pub(super) const LONGEST_MESSAGE_BYTES: u32 = 515;
