//! Handles as numbers, and the tables that they are looked up in.

use std::collections::BTreeMap;

/// What a handle names. A handle of one kind is never taken for one of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    Context = 1,
    Module,
    Function,
    Library,
    Kernel,
    Link,
    Stream,
    Event,
    Graph,
    GraphNode,
    GraphExec,
    Pool,
}

/// A handle in parts.
///
/// As a number it holds its kind from bit 56 on, its context from bit 32 on and its own number from bit 4 on, which makes it look like a pointer
/// to nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Handle {
    /// The context that owns the object; 0 for what belongs to none.
    pub(crate) context: u32,
    /// The object's own number, from 1.
    pub(crate) serial: u32,
}

impl Handle {
    /// The number that a program sees.
    pub(crate) fn bits(self, kind: Kind) -> usize {
        (kind as usize) << 56
            | (self.context as usize & CONTEXT_MASK) << 32
            | (self.serial as usize & SERIAL_MASK) << 4
    }

    /// The handle in `bits`, if it is one of this kind.
    pub(crate) fn parse(bits: usize, kind: Kind) -> Option<Self> {
        let handle = Self {
            context: u32::try_from(bits >> 32 & CONTEXT_MASK).ok()?,
            serial: u32::try_from(bits >> 4 & SERIAL_MASK).ok()?,
        };
        (handle.bits(kind) == bits && handle.serial != 0).then_some(handle)
    }

    /// The handle in `bits`, if it is one of this kind and belongs to no context.
    pub(crate) fn parse_unowned(bits: usize, kind: Kind) -> Option<Self> {
        Self::parse(bits, kind).filter(|handle| handle.context == 0)
    }
}

const CONTEXT_MASK: usize = 0xFF_FFFF;
const SERIAL_MASK: usize = 0xFFF_FFFF;

/// Objects by their own number. A number is not used again before all others were.
#[derive(Debug)]
pub(crate) struct Table<T> {
    last: u32,
    entries: BTreeMap<u32, T>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Table<T> {
    /// A table without objects.
    pub(crate) const fn new() -> Self {
        Self {
            last: 0,
            entries: BTreeMap::new(),
        }
    }

    /// Keeps `entry` under a number of its own; `None` when there is none left.
    pub(crate) fn insert(&mut self, entry: T) -> Option<u32> {
        let limit = SERIAL_MASK as u32;
        if self.entries.len() >= SERIAL_MASK {
            return None;
        }
        loop {
            self.last = if self.last >= limit {
                1
            } else {
                self.last.saturating_add(1)
            };
            if !self.entries.contains_key(&self.last) {
                self.entries.insert(self.last, entry);
                return Some(self.last);
            }
        }
    }

    pub(crate) fn entry(&self, serial: u32) -> Option<&T> {
        self.entries.get(&serial)
    }

    pub(crate) fn entry_mut(&mut self, serial: u32) -> Option<&mut T> {
        self.entries.get_mut(&serial)
    }

    pub(crate) fn remove(&mut self, serial: u32) -> Option<T> {
        self.entries.remove(&serial)
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.entries.iter().map(|(serial, entry)| (*serial, entry))
    }
}
