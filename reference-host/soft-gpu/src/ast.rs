//! The syntax tree of one PTX source: what was written, with no judgement about what it means.
//!
//! The tree borrows its names from the source. Lists of modifiers and operands live in pools owned by
//! [`Module`], so that an instruction is a small fixed-size record and memory stays proportional to the source.
//! Nesting of blocks is kept flat ([`Stmt::Open`] and [`Stmt::Close`]), so no input can exhaust the stack.
//!
//! Source: PTX ISA, chapters "Syntax", "Directives" and "Instruction Statements".

use crate::parser::Features;

/// A byte offset into the source; [`crate::error::Location`] turns it into a line and a column.
pub(crate) type Pos = u32;

/// A half-open index range into one of the pools of [`Module`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Slice {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

/// A name as written, with the place where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Name<'s> {
    pub(crate) text: &'s str,
    pub(crate) pos: Pos,
}

/// A whole PTX module.
#[derive(Debug)]
pub(crate) struct Module<'s> {
    /// `.version major.minor`.
    pub(crate) version: (u32, u32),
    pub(crate) version_pos: Pos,
    /// `.target` specifiers in the order written, for example `sm_75`, `debug`.
    pub(crate) target: Vec<Name<'s>>,
    /// `.address_size`, where given.
    pub(crate) address_size: Option<(u64, Pos)>,
    /// Whether there is a `.section .debug_…`.
    pub(crate) debug_section: bool,
    /// Whether nothing stands behind the header.
    pub(crate) only_header: bool,
    /// What it uses beside instructions that not every version and target has.
    pub(crate) features: Features,
    pub(crate) items: Vec<Item<'s>>,
    /// Pool for [`Instr::modifiers`] and [`Instr::operands`], and the nested lists of [`Operand`].
    pub(crate) modifiers: Vec<Name<'s>>,
    pub(crate) operands: Vec<Operand<'s>>,
    /// Pool for [`Function::body`].
    pub(crate) stmts: Vec<Stmt<'s>>,
    /// Pools for [`Stmt::Instr`] and [`Stmt::Label`]: there are many statements, and few of them need as much room as those.
    pub(crate) instrs: Vec<Instr<'s>>,
    pub(crate) labels: Vec<Name<'s>>,
    /// Pool for [`Instr::guard`].
    pub(crate) guards: Vec<Guard<'s>>,
}

impl<'s> Module<'s> {
    /// The statements of a function; none of one that is only declared.
    pub(crate) fn body(&self, function: &Function<'s>) -> &[Stmt<'s>] {
        let range = function.body.unwrap_or_default();
        let stmts = self.stmts.get(range.start as usize..range.end as usize);
        stmts.unwrap_or_default()
    }
}

/// One top-level directive.
#[derive(Debug)]
pub(crate) enum Item<'s> {
    Variable(Box<Variable<'s>>),
    Function(Box<Function<'s>>),
    /// `.alias new, old;`
    Alias(Box<[Name<'s>; 2]>),
}

/// Linkage directive in front of a variable or function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Linkage {
    Internal,
    Visible,
    Extern,
    Weak,
    Common,
}

/// State space of a variable or parameter (`.reg`, `.param`, `.shared`, `.local`, `.global`, `.const`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VarSpace {
    Reg,
    Param,
    Shared,
    Local,
    Global,
    Const,
}

/// A declaration of one variable. `.reg .b32 a, b<4>;` becomes two of these.
#[derive(Debug)]
pub(crate) struct Variable<'s> {
    pub(crate) linkage: Linkage,
    pub(crate) space: VarSpace,
    /// Element count of a vector type: 1, 2 or 4 (`.v2`, `.v4`).
    pub(crate) vector: u8,
    /// The type's word without its dot, for example `b32`, `pred`; not yet checked.
    pub(crate) ty: Name<'s>,
    pub(crate) name: Name<'s>,
    /// Apart, since of many variables few have any of it.
    pub(crate) extras: Option<Box<VariableExtras<'s>>>,
}

/// What a declaration may say of its variable besides.
#[derive(Debug, Default)]
pub(crate) struct VariableExtras<'s> {
    /// `.align N`, as written.
    pub(crate) align: Option<u64>,
    /// `name<N>` declares `name0 … name(N-1)`.
    pub(crate) count: Option<u64>,
    /// Array dimensions; `None` inside is an unsized `[]`. Empty for a scalar.
    pub(crate) dims: Vec<Option<u64>>,
    pub(crate) init: Option<Init<'s>>,
}

impl<'s> Variable<'s> {
    pub(crate) fn align(&self) -> Option<u64> {
        self.extras.as_ref()?.align
    }

    pub(crate) fn count(&self) -> Option<u64> {
        self.extras.as_ref()?.count
    }

    pub(crate) fn dims(&self) -> &[Option<u64>] {
        self.extras.as_ref().map_or(&[], |extras| &extras.dims)
    }

    pub(crate) fn init(&self) -> Option<&Init<'s>> {
        self.extras.as_ref()?.init.as_ref()
    }
}

/// An initialiser of a `.global` or `.const` variable: a flat list of leaves in source order.
/// Each leaf carries its brace depth (0 for a bare scalar, 1 for `{…}`, and so on) and whether a nested list begins there.
#[derive(Debug)]
pub(crate) struct Init<'s> {
    pub(crate) pos: Pos,
    /// Brace nesting of the whole initialiser: 0 scalar, 1 one-dimensional, …
    pub(crate) leaves: Vec<InitLeaf<'s>>,
}

/// One value of an initialiser, with the index path of braces that leads to it
/// (`{{1,2},{3}}` gives paths `[0,0]`, `[0,1]`, `[1,0]`). A bare scalar has an empty path.
#[derive(Debug)]
pub(crate) struct InitLeaf<'s> {
    /// `None` for the path of the leaf before with its last index one higher, which most leaves have.
    #[expect(
        clippy::box_collection,
        reason = "one word for each of the many leaves that have none"
    )]
    pub(crate) path: Option<Box<Vec<u32>>>,
    pub(crate) pos: Pos,
    pub(crate) value: InitValue<'s>,
}

/// The value of one initialiser leaf.
#[derive(Debug)]
pub(crate) enum InitValue<'s> {
    /// The low 64 bits.
    Int(u64),
    /// Bits of a [`FloatLit::Single`].
    Single(u32),
    /// Bits of a [`FloatLit::Double`]; narrowed later if the variable's type is narrower.
    Double(u64),
    /// `name`, `name+8`, `generic(name)+8`, or `0xFF00(name)` as a byte mask of the address.
    Address(Box<InitAddress<'s>>),
}

/// An address as an initial value.
#[derive(Debug)]
pub(crate) struct InitAddress<'s> {
    pub(crate) name: Name<'s>,
    pub(crate) generic: bool,
    pub(crate) offset: i64,
    pub(crate) mask: Option<u64>,
}

impl Init<'_> {
    /// Goes through the paths of all leaves, in order.
    pub(crate) fn for_each_path<E>(
        &self,
        mut each: impl FnMut(usize, &[u32]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut path: Vec<u32> = Vec::new();
        for (at, leaf) in self.leaves.iter().enumerate() {
            match &leaf.path {
                Some(new) => path.clone_from(new),
                None => {
                    if let Some(last) = path.last_mut() {
                        *last = last.saturating_add(1);
                    }
                }
            }
            each(at, &path)?;
        }
        Ok(())
    }
}

/// A floating-point literal as written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum FloatLit {
    /// `0fXXXXXXXX`: exact single-precision bits.
    Single(u32),
    /// `0dXXXXXXXXXXXXXXXX` or a decimal such as `1.5e3`: double-precision bits.
    Double(u64),
}

/// `.entry` or `.func`, with or without a body.
#[derive(Debug)]
pub(crate) struct Function<'s> {
    pub(crate) linkage: Linkage,
    pub(crate) entry: bool,
    pub(crate) name: Name<'s>,
    /// Return parameters (`.func (.param .b32 r) f (…)`); their space is `.param` or `.reg`.
    pub(crate) returns: Vec<Param<'s>>,
    pub(crate) params: Vec<Param<'s>>,
    /// `.maxntid 128, 1, 1`, `.reqntid`, `.minnctapersm`, `.maxnreg`, `.maxnctapersm`, `.noreturn`, `.pragma "…"`, …:
    /// the directive's word without its dot, and its numbers.
    pub(crate) directives: Vec<(Name<'s>, Vec<u64>)>,
    /// Statements between the outer braces, as a range of [`Module::stmts`]; `None` for a declaration.
    pub(crate) body: Option<Slice>,
    /// Where the closing brace stands (the name's place for a declaration).
    pub(crate) end_pos: Pos,
}

/// One formal parameter.
#[derive(Debug)]
pub(crate) struct Param<'s> {
    /// [`VarSpace::Param`] or [`VarSpace::Reg`].
    pub(crate) space: VarSpace,
    pub(crate) align: Option<u64>,
    pub(crate) ty: Name<'s>,
    /// The name; `_` in a prototype.
    pub(crate) name: Name<'s>,
    pub(crate) dims: Vec<Option<u64>>,
    /// `.ptr [.space] [.align N]` was written on it.
    pub(crate) ptr: bool,
}

/// One statement of a function body.
#[derive(Debug)]
pub(crate) enum Stmt<'s> {
    /// `{` begins a scope.
    Open,
    /// `}` ends a scope. Opens and closes balance.
    Close,
    Variable(Box<Variable<'s>>),
    /// A place in [`Module::labels`].
    Label(u32),
    /// A place in [`Module::instrs`].
    Instr(u32),
    /// `name: .callprototype (…) _ (…);`
    CallPrototype(Box<Prototype<'s>>),
    /// `name: .branchtargets L1, L2;`
    BranchTargets(Box<Targets<'s>>),
    /// `name: .calltargets f1, f2;`
    CallTargets(Box<Targets<'s>>),
}

impl Stmt<'_> {
    /// Whether it brings a variable or a label into scope.
    pub(crate) fn declares(&self) -> bool {
        matches!(self, Self::Variable(_) | Self::Label(_))
    }
}

/// A named list of labels or functions.
#[derive(Debug)]
pub(crate) struct Targets<'s> {
    pub(crate) name: Name<'s>,
    pub(crate) targets: Vec<Name<'s>>,
}

/// The signature behind an indirect call.
#[derive(Debug)]
pub(crate) struct Prototype<'s> {
    pub(crate) name: Name<'s>,
    pub(crate) returns: Vec<Param<'s>>,
    pub(crate) params: Vec<Param<'s>>,
    /// As [`Function::directives`].
    pub(crate) directives: Vec<(Name<'s>, Vec<u64>)>,
}

/// `@!p opcode.mod.mod a, b;`
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instr<'s> {
    /// A place in [`Module::guards`]; none there is no guard.
    pub(crate) guard: u32,
    pub(crate) opcode: Name<'s>,
    /// Modifiers without their dots, a range of [`Module::modifiers`]. `::` joins stay in one word (`shared::cta`).
    pub(crate) modifiers: Slice,
    /// Top-level operands, a range of [`Module::operands`].
    pub(crate) operands: Slice,
}

/// `@p` or `@!p`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guard<'s> {
    pub(crate) negated: bool,
    pub(crate) predicate: Name<'s>,
}

/// One operand and its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operand<'s> {
    pub(crate) pos: Pos,
    pub(crate) kind: OperandKind<'s>,
}

/// An integer in as few bytes as it needs: aligned to 16 it would make every operand larger.
#[derive(Clone, Copy, Debug)]
#[repr(Rust, packed(8))]
pub(crate) struct Wide(pub(crate) i128);

impl Wide {
    pub(crate) fn get(self) -> i128 {
        self.0
    }
}

/// What an operand can look like.
#[derive(Clone, Copy, Debug)]
pub(crate) enum OperandKind<'s> {
    /// A register, variable, label, function or special register: `%r1`, `tmp`, `%tid` (see [`OperandKind::Member`]).
    Name(Name<'s>),
    /// `%tid.x`, `v.y`, `v.r`: a name and the component's word.
    Member(Name<'s>, Name<'s>),
    /// `!%p1`.
    Not(Name<'s>),
    /// An integer constant expression, already evaluated.
    Int(Wide),
    Float(FloatLit),
    /// `tmp+4` outside brackets.
    NameOffset(Name<'s>, i64),
    /// `[base]`, `[base+4]`, `[base+-4]`; a bare `[16]` has no base.
    Address {
        base: Option<Name<'s>>,
        offset: i64,
    },
    /// `[base+4].unified`.
    UnifiedAddress {
        base: Name<'s>,
        offset: i64,
    },
    /// `{a, b}`: a range of [`Module::operands`].
    Vector(Slice),
    /// `(a, b)` of a call: a range of [`Module::operands`].
    List(Slice),
    /// `d|p`, both given by their places in [`Module::operands`].
    Pair(u32, u32),
    /// `_`: the result is not wanted.
    Sink,
}
