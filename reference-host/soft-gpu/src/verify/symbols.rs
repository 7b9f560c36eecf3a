//! Names in scope. One table with an undo log serves all scopes, so that a lookup costs the same however deep the nesting.

use hashbrown::HashMap;

use super::error::{Checked, SemanticError, fail};
use crate::ast::Name;
use crate::pool;
use crate::types::Type;

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Symbol {
    Register {
        slot: u32,
        ty: Type,
    },
    /// A vector register: as many registers in a row as it has elements.
    Vector {
        first: u32,
        count: u8,
        ty: Type,
    },
    /// `.global` variable at a device address.
    Global {
        address: u64,
    },
    /// `.const` variable at an offset of the constant bank.
    Const {
        offset: u32,
    },
    /// `.shared` variable at an offset of the block's shared memory.
    Shared {
        offset: u32,
    },
    /// `.extern .shared` array: starts where static shared memory ends.
    DynamicShared,
    /// Parameter of the running kernel.
    KernelParam {
        offset: u32,
        bytes: u32,
    },
    /// `.local` variable in the running function's frame.
    FrameLocal {
        offset: u32,
    },
    /// `.param` variable, formal parameter or result in the running function's frame.
    FrameParam {
        offset: u32,
        bytes: u32,
        role: ParamRole,
        ty: Type,
        array: bool,
        /// The alignment as a power of two.
        align: u8,
    },
    /// Index into the module's functions.
    Function(u32),
    /// Index into the running function's labels.
    Label(u32),
    /// Index into the running function's prototypes.
    Prototype(u32),
    /// `.calltargets` list: a function that has the signature of all of them.
    CallTargets(u32),
    /// Index into the code's branch tables.
    BranchTable(u32),
}

/// What a `.param` variable of a device function is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParamRole {
    /// A formal parameter: only read.
    Argument,
    /// A formal result: only written.
    Result,
    /// A variable of the body, to call with: without an address.
    Passed,
}

impl Symbol {
    /// What to call it in a message.
    pub(crate) fn form(&self) -> &'static str {
        match self {
            Self::Register { .. } => "a register",
            Self::Vector { .. } => "a vector register",
            Self::Global { .. }
            | Self::Const { .. }
            | Self::Shared { .. }
            | Self::DynamicShared
            | Self::FrameLocal { .. } => "a variable",
            Self::KernelParam { .. } | Self::FrameParam { .. } => "a parameter",
            Self::Function(_) => "a function",
            Self::Label(_) => "a label",
            Self::Prototype(_) => "a call prototype",
            Self::CallTargets(_) => "a call target list",
            Self::BranchTable(_) => "a branch target list",
        }
    }
}

/// All names in scope.
#[derive(Debug, Default)]
pub(crate) struct Scopes<'a> {
    names: HashMap<&'a str, Entry<Symbol>>,
    /// Register ranges `%r<N>` by prefix.
    ranges: HashMap<&'a str, Entry<Range>>,
    /// Registers of ranges that have been used, so that a huge range costs nothing.
    members: HashMap<(u32, u32), u32>,
    /// Of names that end in digits and are declared one by one: the least number behind each beginning.
    numbered: HashMap<&'a str, Numbered>,
    /// How many scopes have been opened, and the numbers of those that are open.
    opened: u64,
    open_scopes: Vec<u64>,
    next_range: u32,
    undo: Vec<Undo<'a>>,
    marks: Vec<usize>,
}

/// A range of registers `prefix0 … prefix(count-1)`.
#[derive(Clone, Copy, Debug)]
struct Range {
    id: u32,
    count: u64,
    ty: Type,
}

/// The least of the numbers behind a beginning, and the scope of its name.
#[derive(Clone, Copy, Debug)]
struct Numbered {
    least: u64,
    scope: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry<T> {
    value: T,
    depth: usize,
}

#[derive(Debug)]
enum Undo<'a> {
    Name(&'a str, Option<Box<Entry<Symbol>>>),
    Range(&'a str, Option<Box<Entry<Range>>>),
}

/// What a name resolved to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Resolved {
    Symbol(Symbol),
    /// A member of a register range that no register has been given to yet.
    Fresh {
        range: u32,
        index: u32,
        ty: Type,
    },
}

impl<'a> Scopes<'a> {
    /// Begins a scope.
    pub(crate) fn open(&mut self) {
        self.marks.push(self.undo.len());
        self.opened = self.opened.saturating_add(1);
        self.open_scopes.push(self.opened);
    }

    /// Makes room for so many names at once: a table that doubles holds the old one beside the new.
    pub(crate) fn expect(&mut self, names: usize) {
        self.names.reserve(names);
        if !self.marks.is_empty() {
            self.undo.reserve_exact(names);
        }
    }

    /// Ends the innermost scope.
    pub(crate) fn close(&mut self) {
        let mark = self.marks.pop().unwrap_or(0);
        self.open_scopes.pop();
        while self.undo.len() > mark {
            match self.undo.pop() {
                Some(Undo::Name(name, Some(entry))) => {
                    self.names.insert(name, *entry);
                }
                Some(Undo::Name(name, None)) => {
                    self.names.remove(name);
                }
                Some(Undo::Range(name, Some(entry))) => {
                    self.ranges.insert(name, *entry);
                }
                Some(Undo::Range(name, None)) => {
                    self.ranges.remove(name);
                }
                None => break,
            }
        }
    }

    /// Forgets which members of ranges have registers: those belong to one function.
    pub(crate) fn forget_registers(&mut self) {
        self.members.clear();
    }

    /// Declares `name` in the innermost scope.
    pub(crate) fn declare(&mut self, name: Name<'a>, symbol: Symbol) -> Checked<()> {
        let depth = self.marks.len();
        let taken = self
            .names
            .get(name.text)
            .is_some_and(|entry| entry.depth == depth)
            || self
                .range_of(name.text)
                .is_some_and(|(range_depth, ..)| range_depth == depth);
        if taken {
            return fail(name.pos, SemanticError::Duplicate(name.text.to_owned()));
        }
        self.note_number(name.text);
        let old = self.names.insert(
            name.text,
            Entry {
                value: symbol,
                depth,
            },
        );
        if depth > 0 {
            // Few names hide another.
            pool::push(&mut self.undo, Undo::Name(name.text, old.map(Box::new)));
        }
        Ok(())
    }

    /// Declares `name0 … name(count-1)` as registers.
    pub(crate) fn declare_range(&mut self, name: Name<'a>, count: u64, ty: Type) -> Checked<()> {
        let depth = self.marks.len();
        if self
            .ranges
            .get(name.text)
            .is_some_and(|entry| entry.depth == depth)
        {
            return fail(name.pos, SemanticError::Duplicate(name.text.to_owned()));
        }
        if u32::try_from(count).is_err() {
            return fail(
                name.pos,
                SemanticError::OutOfRange {
                    what: "the number of registers",
                    value: count.to_string(),
                },
            );
        }
        if self.has_member(name.text, count) {
            return fail(name.pos, SemanticError::Duplicate(name.text.to_owned()));
        }
        let id = self.next_range;
        self.next_range = self.next_range.wrapping_add(1);
        let old = self.ranges.insert(
            name.text,
            Entry {
                value: Range { id, count, ty },
                depth,
            },
        );
        pool::push(&mut self.undo, Undo::Range(name.text, old.map(Box::new)));
        Ok(())
    }

    /// Notes a name of the innermost scope that a range could declare too.
    fn note_number(&mut self, name: &'a str) {
        let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
        let Some(&scope) = self.open_scopes.last() else {
            return;
        };
        if digits == 0 || digits > 10 {
            return;
        }
        let (prefix, index) = name.split_at(name.len().saturating_sub(digits));
        let Ok(least) = index.parse::<u64>() else {
            return;
        };
        let new = Numbered { least, scope };
        let entry = self.numbered.entry(prefix).or_insert(new);
        if entry.scope != scope || entry.least > least {
            *entry = new;
        }
    }

    /// Whether the innermost scope already has a name that a range of `count` registers named `prefix` would declare.
    fn has_member(&self, prefix: &str, count: u64) -> bool {
        self.numbered.get(prefix).is_some_and(|entry| {
            entry.least < count && self.open_scopes.last() == Some(&entry.scope)
        })
    }

    /// Looks a name up, innermost scope first.
    pub(crate) fn resolve(&self, name: &str) -> Option<Resolved> {
        let plain = self.names.get(name);
        let ranged = self.range_of(name);
        match (plain, ranged) {
            (Some(entry), Some((depth, ..))) if entry.depth >= depth => {
                Some(Resolved::Symbol(entry.value))
            }
            (_, Some((_, range, index, ty))) => Some(match self.members.get(&(range, index)) {
                Some(&slot) => Resolved::Symbol(Symbol::Register { slot, ty }),
                None => Resolved::Fresh { range, index, ty },
            }),
            (Some(entry), None) => Some(Resolved::Symbol(entry.value)),
            (None, None) => None,
        }
    }

    /// Gives a member of a range its register.
    pub(crate) fn assign(&mut self, range: u32, index: u32, slot: u32) {
        self.members.insert((range, index), slot);
    }

    /// The innermost register range that `name` is a member of: depth, id, index and type.
    fn range_of(&self, name: &str) -> Option<(usize, u32, u32, Type)> {
        // An index has ten digits at most, however many a name ends in.
        let digits = name
            .bytes()
            .rev()
            .take(10)
            .take_while(u8::is_ascii_digit)
            .count();
        // The split may fall anywhere within the digits: `%r1<10>` declares `%r15`. Indices have no leading zeros.
        let first = name.len().saturating_sub(digits);
        for at in first..name.len() {
            let (prefix, index) = name.split_at(at);
            if index.len() > 1 && index.starts_with('0') {
                continue;
            }
            let Some(entry) = self.ranges.get(prefix) else {
                continue;
            };
            let Ok(index) = index.parse::<u32>() else {
                continue;
            };
            if u64::from(index) < entry.value.count {
                return Some((entry.depth, entry.value.id, index, entry.value.ty));
            }
        }
        None
    }
}
