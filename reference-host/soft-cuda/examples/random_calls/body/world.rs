//! What the driver has given out so far, as far as the random calls of all threads know it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a handle names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Context,
    Module,
    Function,
    Library,
    Kernel,
    Link,
    Stream,
    Event,
    Graph,
    Node,
    Exec,
    Pool,
}

/// Every kind.
pub(crate) const KINDS: [Kind; 12] = [
    Kind::Context,
    Kind::Module,
    Kind::Function,
    Kind::Library,
    Kind::Kernel,
    Kind::Link,
    Kind::Stream,
    Kind::Event,
    Kind::Graph,
    Kind::Node,
    Kind::Exec,
    Kind::Pool,
];

/// A piece of memory that calls may use at will.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scratch {
    pub(crate) address: u64,
    pub(crate) bytes: usize,
    /// The context that owns it.
    pub(crate) context: usize,
}

/// Memory of the host that the driver knows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pinned {
    pub(crate) address: usize,
    pub(crate) bytes: usize,
    pub(crate) is_registered: bool,
    pub(crate) sequence: u64,
}

/// All of it, behind one lock that is never held during a call.
#[derive(Default)]
pub(crate) struct World {
    known: Mutex<Known>,
}

/// What is known.
#[derive(Default)]
pub(crate) struct Known {
    live: BTreeMap<(Kind, usize), Object>,
    dead: BTreeSet<(Kind, usize)>,
    dead_in_order: VecDeque<(Kind, usize)>,
    /// Contexts that somebody is about to destroy, or has destroyed.
    doomed: BTreeSet<usize>,
    pub(crate) scratch: Vec<Scratch>,
    pub(crate) freed: VecDeque<u64>,
    pub(crate) pinned: Vec<Pinned>,
}

#[derive(Clone, Copy)]
struct Object {
    /// What it ends with: a handle of one of these kinds, or 0.
    parent: usize,
    sequence: u64,
}

impl World {
    pub(crate) fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    /// Notes a new handle; false if the driver had given it out before, it has ended since, and what it belongs to has not.
    pub(crate) fn made(&mut self, kind: Kind, bits: usize, parent: usize, sequence: u64) -> bool {
        if self.dead.contains(&(kind, bits)) {
            // Another thread may have ended the owner since the call.
            return parent != 0 && !KINDS.iter().any(|kind| self.is_live(*kind, parent));
        }
        self.live
            .entry((kind, bits))
            .or_insert(Object { parent, sequence });
        true
    }

    /// Notes that a context is about to be destroyed.
    pub(crate) fn doomed(&mut self, context: usize) {
        self.doomed.insert(context);
    }

    pub(crate) fn is_doomed(&self, context: usize) -> bool {
        self.doomed.contains(&context)
    }

    /// Forgets contexts that nobody will ask for again.
    pub(crate) fn forget_doomed(&mut self, contexts: &[usize]) {
        self.doomed.retain(|one| !contexts.contains(one));
    }

    /// Notes that a handle has ended, with all that it owned.
    pub(crate) fn ended(&mut self, kind: Kind, bits: usize) {
        if self.live.remove(&(kind, bits)).is_none() {
            return;
        }
        self.dead.insert((kind, bits));
        self.dead_in_order.push_back((kind, bits));
        if self.dead_in_order.len() > MOST_DEAD
            && let Some(oldest) = self.dead_in_order.pop_front()
        {
            self.dead.remove(&oldest);
        }
        if kind == Kind::Context {
            self.scratch.retain(|scratch| scratch.context != bits);
        }
        let owned = |(_, object): &(&(Kind, usize), &Object)| object.parent == bits;
        let children: Vec<_> = self
            .live
            .iter()
            .filter(owned)
            .map(|(key, _)| *key)
            .collect();
        for (kind, bits) in children {
            self.ended(kind, bits);
        }
    }

    /// Whether the driver gave this handle out and it has not ended.
    pub(crate) fn is_live(&self, kind: Kind, bits: usize) -> bool {
        self.live.contains_key(&(kind, bits))
    }

    /// The live handles of a kind: of one owner, or of all.
    pub(crate) fn live(&self, kind: Kind, of: Option<usize>) -> Vec<usize> {
        self.live
            .range((kind, 0)..=(kind, usize::MAX))
            .filter(|(_, object)| of.is_none_or(|owner| object.parent == owner))
            .map(|((_, bits), _)| *bits)
            .collect()
    }

    /// Handles of a kind that have ended.
    pub(crate) fn dead(&self, kind: Kind) -> Vec<usize> {
        let of_kind = self.dead.range((kind, 0)..=(kind, usize::MAX));
        of_kind.map(|(_, bits)| *bits).collect()
    }

    /// The live handles that a sequence made.
    pub(crate) fn of_sequence(&self, kind: Kind, sequence: u64) -> Vec<usize> {
        self.live
            .range((kind, 0)..=(kind, usize::MAX))
            .filter(|(_, object)| object.sequence == sequence)
            .map(|((_, bits), _)| *bits)
            .collect()
    }

    /// Notes that memory was freed by a call that had it freed at once.
    pub(crate) fn freed(&mut self, address: u64) {
        self.freed.push_back(address);
        if self.freed.len() > MOST_FREED {
            self.freed.pop_front();
        }
    }
}

/// Handles that have ended are forgotten beyond this number.
const MOST_DEAD: usize = 2000;
const MOST_FREED: usize = 200;
