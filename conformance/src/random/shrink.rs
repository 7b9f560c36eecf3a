//! Makes a failing sequence short, and its operations simple.

use proptest::strategy::ValueTree;

use super::session::{Failure, Fault, Sequence};
use super::{Executor, RandomError};
use crate::model::operation::Operation;
use crate::model::{MemoryKind, What};

/// An operation, and how to make it simpler.
pub(super) type Tree = Box<dyn ValueTree<Value = Operation>>;

/// What is left of a failing sequence.
pub(super) struct Shrunk {
    pub(super) sequence: Sequence,
    pub(super) failure: Failure,
    /// How many sequences were run for it.
    pub(super) tried: usize,
}

/// Shrinks: operations are removed, then made simpler, as long as the failure stays of its kind.
pub(super) fn shrink(
    executor: &mut Executor<'_>,
    trees: Vec<Tree>,
    memory: MemoryKind,
    failure: Failure,
) -> Result<Shrunk, RandomError> {
    let most = match failure.what {
        // Each that hangs costs a second.
        Fault::Hang { .. } => 60,
        _ => MOST_TRIES,
    };
    let mut search = Search {
        executor,
        items: trees
            .into_iter()
            .map(|tree| Item {
                value: tree.current(),
                tree: Some(tree),
            })
            .collect(),
        memory,
        failure,
        tried: 0,
        most,
    };
    search.cut_tail();
    loop {
        let before = search.tried;
        let mut changed = search.remove()?;
        changed |= search.simplify()?;
        changed |= search.merge()?;
        changed |= search.plain_memory()?;
        if !changed {
            changed = search.remove_pairs()?;
        }
        if !changed || search.tried >= search.most || search.tried == before {
            break;
        }
    }
    Ok(Shrunk {
        sequence: search.sequence(),
        failure: search.failure,
        tried: search.tried,
    })
}

struct Item {
    /// What is run: of all that was tried, the last that failed.
    value: Operation,
    /// How to make it simpler, as long as that is not used up.
    tree: Option<Tree>,
}

struct Search<'a, 'b> {
    executor: &'a mut Executor<'b>,
    items: Vec<Item>,
    memory: MemoryKind,
    failure: Failure,
    tried: usize,
    most: usize,
}

impl Search<'_, '_> {
    fn sequence(&self) -> Sequence {
        Sequence {
            memory: self.memory,
            operations: self.items.iter().map(|item| item.value).collect(),
        }
    }

    /// What comes after the failure is not needed.
    fn cut_tail(&mut self) {
        self.items.truncate(self.failure.at.saturating_add(1));
    }

    /// Whether the sequence as it is now fails in the same way; if so, its failure is the new one.
    fn fails(&mut self) -> Result<bool, RandomError> {
        if self.tried >= self.most {
            return Ok(false);
        }
        self.tried += 1;
        match self.executor.execute(&self.sequence())? {
            Some(failure) if alike(&failure.what, &self.failure.what) => {
                self.failure = failure;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    fn remove(&mut self) -> Result<bool, RandomError> {
        let mut changed = false;
        let mut size = self.items.len().div_ceil(2);
        while size > 0 {
            let mut end = self.items.len();
            while end > 0 {
                let start = end.saturating_sub(size);
                let removed: Vec<Item> = self.items.drain(start..end).collect();
                if self.fails()? {
                    changed = true;
                    self.cut_tail();
                } else {
                    self.items.splice(start..start, removed);
                }
                end = start.min(self.items.len());
            }
            size /= 2;
        }
        Ok(changed)
    }

    /// Of two operations that undo each other neither can go alone.
    fn remove_pairs(&mut self) -> Result<bool, RandomError> {
        let mut changed = false;
        let mut last = self.items.len();
        while last > 1 {
            last = (last - 1).min(self.items.len().saturating_sub(1));
            for first in (0..last).rev() {
                let second = self.items.remove(last);
                let removed = self.items.remove(first);
                if self.fails()? {
                    changed = true;
                    self.cut_tail();
                    break;
                }
                self.items.insert(first, removed);
                self.items.insert(last, second);
            }
        }
        Ok(changed)
    }

    fn simplify(&mut self) -> Result<bool, RandomError> {
        let mut changed = false;
        for index in 0..self.items.len() {
            // The whole of what a tree has been through may not fail any more: its steps are taken from the value.
            let Some(mut tree) = self.items.get_mut(index).and_then(|item| item.tree.take()) else {
                continue;
            };
            let mut more = tree.simplify();
            for _ in 0..MOST_STEPS {
                let Some(item) = self.items.get_mut(index).filter(|_| more) else {
                    break;
                };
                let simpler = tree.current();
                let last = std::mem::replace(&mut item.value, simpler);
                if simpler == last {
                    more = tree.simplify();
                } else if self.fails()? {
                    changed = true;
                    more = tree.simplify();
                } else {
                    if let Some(item) = self.items.get_mut(index) {
                        item.value = last;
                    }
                    more = tree.complicate();
                }
            }
        }
        Ok(changed)
    }

    /// Moves operations to the first instance.
    fn merge(&mut self) -> Result<bool, RandomError> {
        let mut changed = false;
        for index in 0..self.items.len() {
            let Some(item) = self.items.get_mut(index) else {
                break;
            };
            let instance = std::mem::replace(&mut item.value.instance, 0);
            if instance != 0 {
                if self.fails()? {
                    changed = true;
                } else if let Some(item) = self.items.get_mut(index) {
                    item.value.instance = instance;
                }
            }
        }
        Ok(changed)
    }

    fn plain_memory(&mut self) -> Result<bool, RandomError> {
        let kind = std::mem::replace(&mut self.memory, MemoryKind::Ordinary);
        if kind == MemoryKind::Ordinary {
            return Ok(false);
        }
        if self.fails()? {
            return Ok(true);
        }
        self.memory = kind;
        Ok(false)
    }
}

/// Whether two failures are of one kind, so that shrinking does not wander off to another.
fn alike(a: &Fault, b: &Fault) -> bool {
    match (a, b) {
        (Fault::Deviation(a), Fault::Deviation(b)) => match (&*a.what, &*b.what) {
            (What::Answer { call: a, .. }, What::Answer { call: b, .. }) => {
                a.import() == b.import()
            }
            (a, b) => std::mem::discriminant(a) == std::mem::discriminant(b),
        },
        (a, b) => std::mem::discriminant(a) == std::mem::discriminant(b),
    }
}

/// Most sequences to run for one failure.
const MOST_TRIES: usize = 3000;

/// Most steps of simplification of one operation in a round.
const MOST_STEPS: usize = 60;
