//! An owner-scoped, capped store that hands out handles.
//!
//! One lock guards the entries and every count, so that a cap cannot be passed between the check and the insert.
//! An entry is invisible to everyone but its owner. What [`Registry::lookup`] returns lives as long as its
//! holder wants, whatever happens to the entry.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::marker::PhantomData;

use thiserror::Error;

use crate::sync::{Arc, AtomicI64, Mutex, Ordering};

/// A store of `T` with caps per owner and one budget for all owners together.
pub struct Registry<T: ?Sized> {
    state: Mutex<State<T>>,
    first_id: i64,
    /// Written under the lock only.
    next_id: AtomicI64,
    per_owner: Limits,
    budget: Limits,
}

impl<T: ?Sized> Registry<T> {
    /// An empty registry; its ids start at an unguessable point.
    #[must_use]
    pub fn new(per_owner: Limits, budget: Limits) -> Self {
        let first_id = first_id();
        Self {
            state: Mutex::new(State::default()),
            first_id,
            next_id: AtomicI64::new(first_id),
            per_owner,
            budget,
        }
    }

    /// A new owner, different from every other that lives; it ends with [`Registry::remove_owner`].
    pub fn owner(&self) -> Owner {
        self.state.lock().new_owner()
    }

    /// Stores `value`, counted as `bytes`, and takes its quota in the same step.
    ///
    /// # Errors
    ///
    /// The cap that the entry would exceed; nothing is stored then.
    #[inline]
    pub fn register(&self, owner: Owner, bytes: u64, value: Arc<T>) -> Result<Id<T>, OverLimit> {
        let mut state = self.state.lock();
        self.take_quota(&mut state, owner, bytes)?;
        Ok(self.insert(&mut state, owner, Entry { bytes, value }))
    }

    /// Takes the quota of one entry of `bytes` before the work that makes its value.
    ///
    /// # Errors
    ///
    /// The cap that the entry would exceed; no quota is taken then.
    pub fn reserve(&self, owner: Owner, bytes: u64) -> Result<Reservation<'_, T>, OverLimit> {
        let mut state = self.state.lock();
        self.take_quota(&mut state, owner, bytes)?;
        if let Some(shelf) = state.shelf(owner) {
            shelf.reserved = shelf.reserved.plus(bytes);
        }
        Ok(Reservation {
            registry: self,
            owner,
            bytes,
        })
    }

    /// The entry `id` of `owner`.
    #[must_use]
    pub fn lookup(&self, owner: Owner, id: Id<T>) -> Option<Arc<T>> {
        if !self.was_given(id) {
            return None;
        }
        let mut state = self.state.lock();
        let entry = state.shelf(owner)?.entries.get(&id)?;
        Some(Arc::clone(&entry.value))
    }

    /// Takes the entry `id` of `owner` out and gives its quota back.
    #[inline]
    pub fn remove(&self, owner: Owner, id: Id<T>) -> Option<Arc<T>> {
        if !self.was_given(id) {
            return None;
        }
        let state = &mut *self.state.lock();
        let shelf = state.shelf(owner)?;
        let entry = shelf.entries.remove(&id)?;
        shelf.used = shelf.used.minus(entry.bytes);
        state.total = state.total.minus(entry.bytes);
        Some(entry.value)
    }

    /// Ends `owner`: takes everything of it out and gives its quota back. What is only reserved stays with its
    /// [`Reservation`]; an owner that has ended may hold nothing new.
    pub fn remove_owner(&self, owner: Owner) {
        let removed = self.state.lock().end_owner(owner);
        // Values may be large or own device memory: they go after the lock is released.
        drop(removed);
    }

    /// What all owners together use.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.state.lock().total
    }

    /// Whether any entry ever had this id; one that none had needs no lock to be refused.
    ///
    /// Relaxed is enough: who holds an id got it after the store that made it count.
    #[inline]
    fn was_given(&self, id: Id<T>) -> bool {
        id.0 >= self.first_id && id.0 < self.next_id.load(Ordering::Relaxed)
    }

    /// What `owner` uses, reserved entries included.
    #[must_use]
    pub fn usage_of(&self, owner: Owner) -> Usage {
        let mut state = self.state.lock();
        state
            .shelf(owner)
            .map_or_else(Usage::default, |shelf| shelf.used)
    }

    /// Checks the caps and counts one entry of `bytes`, under the lock that `state` stands for.
    #[inline]
    fn take_quota(&self, state: &mut State<T>, owner: Owner, bytes: u64) -> Result<(), OverLimit> {
        let total = state.total;
        let shelf = state.shelf(owner).ok_or(OverLimit::ENDED)?;
        let Some(of_owner) = shelf.used.plus_within(bytes, self.per_owner) else {
            return Err(shelf.used.over(bytes, self.per_owner, "this instance"));
        };
        let Some(of_all) = total.plus_within(bytes, self.budget) else {
            return Err(total.over(bytes, self.budget, "this host"));
        };
        shelf.used = of_owner;
        state.total = of_all;
        Ok(())
    }

    /// Stores an entry whose quota is taken under the next id.
    #[inline]
    fn insert(&self, state: &mut State<T>, owner: Owner, entry: Entry<T>) -> Id<T> {
        // Ids start below 2^62 and each costs a call: the sum cannot leave the positive i64.
        let number = self.next_id.load(Ordering::Relaxed);
        self.next_id
            .store(number.wrapping_add(1), Ordering::Relaxed);
        let id = Id::new(number);
        match state.shelf(owner) {
            Some(shelf) => {
                shelf.entries.insert(id, entry);
            }
            // The owner ended while the value was made: nobody could ask for it or give it back.
            None => state.total = state.total.minus(entry.bytes),
        }
        id
    }
}

impl<T: ?Sized> fmt::Debug for Registry<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry")
            .field("usage", &self.usage())
            .finish_non_exhaustive()
    }
}

/// Quota taken for an entry whose value does not exist yet; dropped without a value, it gives the quota back.
#[must_use = "dropping a reservation gives its quota back"]
pub struct Reservation<'a, T: ?Sized> {
    registry: &'a Registry<T>,
    owner: Owner,
    bytes: u64,
}

impl<T: ?Sized> Reservation<'_, T> {
    /// Stores `value` under the next id.
    pub fn commit(self, value: Arc<T>) -> Id<T> {
        let (registry, owner, bytes) = (self.registry, self.owner, self.bytes);
        // The entry takes the quota over.
        std::mem::forget(self);
        // Where the owner has ended meanwhile, the value goes after the lock is released.
        let _last = Arc::clone(&value);
        let state = &mut *registry.state.lock();
        if let Some(shelf) = state.shelf(owner) {
            shelf.reserved = shelf.reserved.minus(bytes);
        }
        registry.insert(state, owner, Entry { bytes, value })
    }
}

impl<T: ?Sized> Drop for Reservation<'_, T> {
    fn drop(&mut self) {
        let state = &mut *self.registry.state.lock();
        if let Some(shelf) = state.shelf(self.owner) {
            shelf.used = shelf.used.minus(self.bytes);
            shelf.reserved = shelf.reserved.minus(self.bytes);
        }
        state.total = state.total.minus(self.bytes);
    }
}

impl<T: ?Sized> fmt::Debug for Reservation<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reservation")
            .field("owner", &self.owner)
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

/// Who an entry belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Owner {
    /// Its place among the shelves, used again once the owner has ended.
    place: usize,
    /// Tells the owners of one place apart.
    generation: u64,
}

/// Names an entry of a [`Registry`] of `T`; positive as an `i64`, and never used twice by one registry.
pub struct Id<T: ?Sized>(i64, PhantomData<fn(&T)>);

impl<T: ?Sized> Id<T> {
    /// The id with this number, whether or not an entry has it.
    #[must_use]
    pub const fn new(number: i64) -> Self {
        Self(number, PhantomData)
    }

    /// The number that a guest sees.
    #[must_use]
    pub const fn number(self) -> i64 {
        self.0
    }
}

impl<T: ?Sized> Clone for Id<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: ?Sized> Copy for Id<T> {}

impl<T: ?Sized> PartialEq for Id<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<T: ?Sized> Eq for Id<T> {}

impl<T: ?Sized> Hash for Id<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl<T: ?Sized> fmt::Debug for Id<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Id({})", self.0)
    }
}

/// A cap on entries and a cap on their bytes; both are allowed values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most entries.
    pub count: u64,
    /// Most bytes.
    pub bytes: u64,
}

impl Limits {
    /// No cap.
    pub const NONE: Self = Self {
        count: u64::MAX,
        bytes: u64::MAX,
    };
}

/// Entries and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Entries.
    pub count: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Usage {
    /// This and one entry of `bytes` more, when that is within `limits`.
    #[inline]
    fn plus_within(self, bytes: u64, limits: Limits) -> Option<Self> {
        let count = self.count.checked_add(1)?;
        let bytes = self.bytes.checked_add(bytes)?;
        (count <= limits.count && bytes <= limits.bytes).then_some(Self { count, bytes })
    }

    /// Which of `limits` one entry of `bytes` more would exceed.
    #[cold]
    fn over(self, bytes: u64, limits: Limits, whose: &'static str) -> OverLimit {
        if self.count >= limits.count {
            OverLimit::Count {
                whose,
                limit: limits.count,
            }
        } else {
            OverLimit::Bytes {
                whose,
                limit: limits.bytes,
                used: self.bytes,
                asked: bytes,
            }
        }
    }

    fn plus(self, bytes: u64) -> Self {
        Self {
            count: self.count.saturating_add(1),
            bytes: self.bytes.saturating_add(bytes),
        }
    }

    /// This without one entry of `bytes` that it counts.
    fn minus(self, bytes: u64) -> Self {
        self.minus_all(Self { count: 1, bytes })
    }

    fn minus_all(self, other: Self) -> Self {
        debug_assert!(
            other.count <= self.count && other.bytes <= self.bytes,
            "{other:?} was never added to {self:?}"
        );
        Self {
            count: self.count.saturating_sub(other.count),
            bytes: self.bytes.saturating_sub(other.bytes),
        }
    }
}

/// A cap that one more entry would exceed.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum OverLimit {
    /// The cap on entries.
    #[error("{whose} already holds its {limit} entries")]
    Count {
        /// Whose cap it is.
        whose: &'static str,
        /// The cap.
        limit: u64,
    },
    /// The cap on bytes.
    #[error("{asked} bytes more than the {used} in use exceed the {limit} bytes of {whose}")]
    Bytes {
        /// Whose cap it is.
        whose: &'static str,
        /// The cap.
        limit: u64,
        /// Bytes in use.
        used: u64,
        /// Bytes asked for.
        asked: u64,
    },
}

impl OverLimit {
    /// An owner that has ended may hold nothing.
    const ENDED: Self = Self::Count {
        whose: "an instance that has ended",
        limit: 0,
    };
}

struct State<T: ?Sized> {
    total: Usage,
    shelves: Vec<Shelf<T>>,
    /// Places whose owner has ended.
    vacant: Vec<usize>,
}

impl<T: ?Sized> Default for State<T> {
    fn default() -> Self {
        Self {
            total: Usage::default(),
            shelves: Vec::new(),
            vacant: Vec::new(),
        }
    }
}

impl<T: ?Sized> State<T> {
    fn new_owner(&mut self) -> Owner {
        if let Some(place) = self.vacant.pop()
            && let Some(shelf) = self.shelves.get(place)
        {
            let generation = shelf.generation;
            return Owner { place, generation };
        }
        let place = self.shelves.len();
        self.shelves.push(Shelf::new(0));
        Owner {
            place,
            generation: 0,
        }
    }

    /// The shelf of an owner that has not ended.
    #[inline]
    fn shelf(&mut self, owner: Owner) -> Option<&mut Shelf<T>> {
        self.shelves
            .get_mut(owner.place)
            .filter(|shelf| shelf.generation == owner.generation)
    }

    fn end_owner(&mut self, owner: Owner) -> Option<Shelf<T>> {
        let shelf = self.shelf(owner)?;
        // Nobody has this generation until the place is given away again.
        let ended = std::mem::replace(shelf, Shelf::new(owner.generation.wrapping_add(1)));
        self.vacant.push(owner.place);
        self.total = self.total.minus_all(ended.used.minus_all(ended.reserved));
        Some(ended)
    }
}

/// What one owner holds.
struct Shelf<T: ?Sized> {
    generation: u64,
    /// Entries and reservations.
    used: Usage,
    /// Reservations alone.
    reserved: Usage,
    entries: HashMap<Id<T>, Entry<T>, foldhash::fast::RandomState>,
}

impl<T: ?Sized> Shelf<T> {
    fn new(generation: u64) -> Self {
        Self {
            generation,
            used: Usage::default(),
            reserved: Usage::default(),
            entries: HashMap::default(),
        }
    }
}

struct Entry<T: ?Sized> {
    bytes: u64,
    value: Arc<T>,
}

/// A random start in 2^32..2^62: no small number is ever an id, and both 32-bit halves always count.
fn first_id() -> i64 {
    let random = RandomState::new().hash_one(0u8);
    ((random >> 2) | (1 << 32)).cast_signed()
}

#[cfg(test)]
mod tests;
