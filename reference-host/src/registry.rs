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

use crate::sync::{Arc, AtomicI64, AtomicU64, Mutex, Ordering};

/// A store of `T` with caps per owner and one budget for all owners together.
pub struct Registry<T: ?Sized> {
    state: Mutex<State<T>>,
    first_id: i64,
    /// Written under the lock only.
    next_id: AtomicI64,
    next_owner: AtomicU64,
    per_owner: Limits,
    budget: Limits,
}

impl<T: ?Sized> Registry<T> {
    /// An empty registry; its ids start at an unguessable point.
    #[must_use]
    pub fn new(per_owner: Limits, budget: Limits) -> Self {
        let state = State {
            total: Usage::default(),
            shelves: HashMap::default(),
        };
        let first_id = first_id();
        Self {
            state: Mutex::new(state),
            first_id,
            next_id: AtomicI64::new(first_id),
            next_owner: AtomicU64::new(0),
            per_owner,
            budget,
        }
    }

    /// A new owner, different from every other.
    pub fn owner(&self) -> Owner {
        Owner(self.next_owner.fetch_add(1, Ordering::Relaxed))
    }

    /// Stores `value`, counted as `bytes`.
    ///
    /// # Errors
    ///
    /// The cap that the entry would exceed; nothing is stored then.
    pub fn register(&self, owner: Owner, bytes: u64, value: Arc<T>) -> Result<Id<T>, OverLimit> {
        Ok(self.reserve(owner, bytes)?.commit(value))
    }

    /// Takes the quota of one entry of `bytes` before the work that makes its value.
    ///
    /// # Errors
    ///
    /// The cap that the entry would exceed; no quota is taken then.
    pub fn reserve(&self, owner: Owner, bytes: u64) -> Result<Reservation<'_, T>, OverLimit> {
        let state = &mut *self.state.lock();
        let shelf = state.shelves.entry(owner).or_default();
        let of_owner = shelf
            .used
            .plus_within(bytes, self.per_owner, "this instance")?;
        let of_all = state.total.plus_within(bytes, self.budget, "this host")?;
        shelf.used = of_owner;
        shelf.reserved = shelf.reserved.plus(bytes);
        state.total = of_all;
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
        let state = self.state.lock();
        state
            .shelves
            .get(&owner)?
            .entries
            .get(&id)
            .map(|entry| Arc::clone(&entry.value))
    }

    /// Takes the entry `id` of `owner` out and gives its quota back.
    pub fn remove(&self, owner: Owner, id: Id<T>) -> Option<Arc<T>> {
        if !self.was_given(id) {
            return None;
        }
        let state = &mut *self.state.lock();
        let shelf = state.shelves.get_mut(&owner)?;
        let entry = shelf.entries.remove(&id)?;
        shelf.used = shelf.used.minus(entry.bytes);
        state.total = state.total.minus(entry.bytes);
        Some(entry.value)
    }

    /// Takes everything of `owner` out and gives its quota back; what is only reserved stays with its
    /// [`Reservation`].
    pub fn remove_owner(&self, owner: Owner) {
        let removed = {
            let state = &mut *self.state.lock();
            let Some(mut shelf) = state.shelves.remove(&owner) else {
                return;
            };
            let removed = std::mem::take(&mut shelf.entries);
            state.total = state.total.minus_all(shelf.used.minus_all(shelf.reserved));
            if shelf.reserved != Usage::default() {
                shelf.used = shelf.reserved;
                state.shelves.insert(owner, shelf);
            }
            removed
        };
        // Values may be large or own device memory: they go after the lock is released.
        drop(removed);
    }

    /// Entries of `owner`, reserved ones included.
    #[must_use]
    pub fn len(&self, owner: Owner) -> u64 {
        self.usage_of(owner).count
    }

    /// Whether `owner` has no entry.
    #[must_use]
    pub fn is_empty(&self, owner: Owner) -> bool {
        self.len(owner) == 0
    }

    /// Bytes counted for `owner`.
    #[must_use]
    pub fn total_bytes(&self, owner: Owner) -> u64 {
        self.usage_of(owner).bytes
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
        self.state
            .lock()
            .shelves
            .get(&owner)
            .map_or_else(Usage::default, |shelf| shelf.used)
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
        let id = {
            let state = &mut *self.registry.state.lock();
            // Ids start below 2^62 and each costs a call: the sum cannot leave the positive i64.
            let number = self.registry.next_id.load(Ordering::Relaxed);
            self.registry
                .next_id
                .store(number.wrapping_add(1), Ordering::Relaxed);
            let id = Id::new(number);
            let shelf = state.shelves.entry(self.owner).or_default();
            shelf.reserved = shelf.reserved.minus(self.bytes);
            shelf.entries.insert(
                id,
                Entry {
                    bytes: self.bytes,
                    value,
                },
            );
            id
        };
        std::mem::forget(self);
        id
    }
}

impl<T: ?Sized> Drop for Reservation<'_, T> {
    fn drop(&mut self) {
        let state = &mut *self.registry.state.lock();
        if let Some(shelf) = state.shelves.get_mut(&self.owner) {
            shelf.used = shelf.used.minus(self.bytes);
            shelf.reserved = shelf.reserved.minus(self.bytes);
            state.total = state.total.minus(self.bytes);
        }
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
pub struct Owner(u64);

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
    /// This and one entry of `bytes` more.
    fn plus_within(
        self,
        bytes: u64,
        limits: Limits,
        whose: &'static str,
    ) -> Result<Self, OverLimit> {
        let count = self
            .count
            .checked_add(1)
            .filter(|count| *count <= limits.count);
        let count = count.ok_or(OverLimit::Count {
            whose,
            limit: limits.count,
        })?;
        let sum = self
            .bytes
            .checked_add(bytes)
            .filter(|sum| *sum <= limits.bytes);
        let bytes = sum.ok_or(OverLimit::Bytes {
            whose,
            limit: limits.bytes,
            used: self.bytes,
            asked: bytes,
        })?;
        Ok(Self { count, bytes })
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

struct State<T: ?Sized> {
    total: Usage,
    shelves: HashMap<Owner, Shelf<T>, foldhash::fast::RandomState>,
}

/// What one owner holds.
struct Shelf<T: ?Sized> {
    /// Entries and reservations.
    used: Usage,
    /// Reservations alone.
    reserved: Usage,
    entries: HashMap<Id<T>, Entry<T>, foldhash::fast::RandomState>,
}

impl<T: ?Sized> Default for Shelf<T> {
    fn default() -> Self {
        Self {
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
