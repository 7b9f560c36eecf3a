//! One function under construction: operands become registers, instructions become micro-ops.

use hashbrown::HashMap;

use super::error::{Checked, SemanticError, Unsupported, fail};
use super::modifiers::Modifiers;
use super::module::DeclaredFunction;
use super::symbols::{Resolved, Scopes, Symbol};
use crate::ast::{self, FloatLit, Name, Operand, OperandKind, Pos, Slice};
use crate::code::{Address, Axis, Code, Function, LaneOpOf, NONE, Op, Space, Special, Special64};
use crate::exec::lanes::Slots;
use crate::exec::ops::LaneOp;
use crate::memory::{CONST_BASE, FUNCTION_BASE, FUNCTION_STRIDE, SHARED_BASE};
use crate::types::{Kind, Type};

/// One instruction as the rules of `isa` see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inst<'a> {
    pub(crate) opcode: Name<'a>,
    pub(crate) modifiers: Modifiers<'a>,
    pub(crate) operands: &'a [Operand<'a>],
    pub(crate) guard: Option<ast::Guard<'a>>,
}

impl<'a> Inst<'a> {
    /// Checks the number of operands.
    pub(crate) fn arity(&self, expected: usize) -> Checked<()> {
        self.arity_between(expected, expected)
    }

    /// Checks that the number of operands is within bounds.
    pub(crate) fn arity_between(&self, least: usize, most: usize) -> Checked<()> {
        let found = self.operands.len();
        if (least..=most).contains(&found) {
            return Ok(());
        }
        let expected = if found < least { least } else { most };
        fail(
            self.opcode.pos,
            SemanticError::OperandCount {
                opcode: self.opcode.text.to_owned(),
                expected,
                found,
            },
        )
    }

    /// Operand `at`, which [`Inst::arity`] has shown to be there.
    pub(crate) fn operand(&self, at: usize) -> Checked<&'a Operand<'a>> {
        match self.operands.get(at) {
            Some(operand) => Ok(operand),
            None => {
                let found = self.operands.len();
                fail(
                    self.opcode.pos,
                    SemanticError::OperandCount {
                        opcode: self.opcode.text.to_owned(),
                        expected: at + 1,
                        found,
                    },
                )
            }
        }
    }
}

/// A function under construction.
pub(crate) struct Body<'a> {
    pub(crate) ast: &'a ast::Module<'a>,
    pub(crate) scopes: Scopes<'a>,
    pub(crate) code: Code,
    pub(crate) entry: bool,
    /// The major number of `.target sm_NN`, for instructions that need one.
    pub(crate) target: u32,
    pub(crate) function: Function,
    pub(crate) labels: Vec<Label<'a>>,
    pub(crate) prototypes: Vec<Prototype>,
    pub(crate) fixups: Fixups,
    /// Every function declared so far.
    pub(crate) declared: Vec<DeclaredFunction<'a>>,
    /// Functions called or whose address was taken.
    pub(crate) used: Vec<(u32, Name<'a>)>,
    /// Registers of `.reg`-space results, stored to the frame at each return.
    pub(crate) register_results: Vec<(u32, Type, u32)>,
    frame_cursor: u64,
    constants32: HashMap<u32, u32>,
    constants64: HashMap<u64, u32>,
    carry: Option<u32>,
    block_start: Option<usize>,
    line: LineCursor,
}

/// A label of the function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Label<'a> {
    pub(crate) name: Name<'a>,
    /// Index of the micro-op it stands at, once reached.
    pub(crate) at: Option<u32>,
}

/// Sizes of an indirect callee'a results and parameters.
#[derive(Clone, Debug, Default)]
pub(crate) struct Prototype {
    pub(crate) results: Vec<u32>,
    pub(crate) params: Vec<u32>,
}

/// Places that name labels by number until the function is complete.
#[derive(Debug, Default)]
pub(crate) struct Fixups {
    /// Micro-ops whose target is a label number.
    pub(crate) branches: Vec<u32>,
    /// Branch tables whose entries are label numbers.
    pub(crate) tables: Vec<u32>,
}

/// Turns ever-growing positions into line numbers in one pass.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LineCursor {
    pub(crate) line: u32,
    pub(crate) pos: usize,
}

impl LineCursor {
    /// The line of `pos`, which must not lie before the last one asked for; otherwise that last line stands.
    pub(crate) fn advance(&mut self, source: &[u8], pos: Pos) -> u32 {
        let to = (pos as usize).min(source.len());
        if let Some(passed) = source.get(self.pos..to) {
            let mut previous = self
                .pos
                .checked_sub(1)
                .and_then(|at| source.get(at))
                .copied();
            for &byte in passed {
                let joined = byte == b'\n' && previous == Some(b'\r');
                if matches!(byte, b'\n' | b'\r') && !joined {
                    self.line = self.line.saturating_add(1);
                }
                previous = Some(byte);
            }
            self.pos = to;
        }
        self.line
    }
}

/// Largest frame of one function, and largest stack of one thread, in bytes.
pub(crate) const MAX_FRAME_BYTES: u64 = 64 * 1024;

/// Most registers of one class that a function may really use.
const MAX_REGISTERS: u32 = 1 << 20;

impl<'a> Body<'a> {
    pub(crate) fn new(
        ast: &'a ast::Module<'a>,
        scopes: Scopes<'a>,
        code: Code,
        name: Name<'a>,
        entry: bool,
        target: u32,
        line: LineCursor,
    ) -> Self {
        let function = Function {
            name: name.text.to_owned(),
            start: NONE,
            ..Function::default()
        };
        Self {
            ast,
            scopes,
            code,
            entry,
            target,
            function,
            labels: Vec::new(),
            prototypes: Vec::new(),
            fixups: Fixups::default(),
            declared: Vec::new(),
            used: Vec::new(),
            register_results: Vec::new(),
            frame_cursor: 0,
            constants32: HashMap::new(),
            constants64: HashMap::new(),
            carry: None,
            block_start: None,
            line,
        }
    }

    // ---- micro-ops ----

    /// The line reached so far, to go on from in the next function.
    pub(crate) fn line(&self) -> LineCursor {
        self.line
    }

    /// Says where the next micro-ops come from.
    pub(crate) fn at(&mut self, source: &[u8], pos: Pos) {
        self.line.advance(source, pos);
    }

    /// Appends a micro-op.
    pub(crate) fn emit(&mut self, op: Op) {
        self.code.ops.push(op);
        self.code.lines.push(self.line.line);
    }

    /// Appends a lane operation.
    pub(crate) fn lane(&mut self, op: LaneOpOf, d: u32, a: u32, b: u32, c: u32) {
        self.emit(Op::Lane(op(Slots { d, a, b, c, e: 0 })));
    }

    /// Index of the next micro-op.
    pub(crate) fn here(&self) -> u32 {
        u32::try_from(self.code.ops.len()).unwrap_or(NONE)
    }

    /// Begins a basic block, unless one begins here already.
    pub(crate) fn begin_block(&mut self) {
        let here = self.code.ops.len();
        if self.block_start.is_some_and(|start| start + 1 == here) {
            return;
        }
        self.end_block();
        self.block_start = Some(here);
        self.emit(Op::Block { cost: 1 });
    }

    /// Settles the cost of the block that ends here.
    pub(crate) fn end_block(&mut self) {
        if let Some(start) = self.block_start.take() {
            let cost = u32::try_from(self.code.ops.len() - start).unwrap_or(u32::MAX);
            if let Some(op) = self.code.ops.get_mut(start) {
                *op = Op::Block { cost };
            }
        }
    }

    /// Appends an operand list and returns its start.
    pub(crate) fn list(&mut self, operands: &[u32]) -> u32 {
        let start = u32::try_from(self.code.lists.len()).unwrap_or(NONE);
        self.code.lists.extend_from_slice(operands);
        start
    }

    // ---- registers ----

    /// A new register able to hold a value of `ty`.
    pub(crate) fn fresh(&mut self, ty: Type, pos: Pos) -> Checked<u32> {
        let count = match ty.bytes() {
            0 => &mut self.function.registers.pred,
            1..=4 => &mut self.function.registers.r32,
            8 => &mut self.function.registers.r64,
            _ => {
                return fail(
                    pos,
                    Unsupported::Declaration(format!("register of type .{}", ty.word())),
                );
            }
        };
        if *count >= MAX_REGISTERS {
            return fail(
                pos,
                Unsupported::Limit {
                    what: "registers in use",
                    count: u64::from(*count),
                    limit: u64::from(MAX_REGISTERS),
                },
            );
        }
        let slot = *count;
        *count += 1;
        Ok(slot)
    }

    /// The register that always holds `value`.
    pub(crate) fn constant32(&mut self, value: u32, pos: Pos) -> Checked<u32> {
        if let Some(&slot) = self.constants32.get(&value) {
            return Ok(slot);
        }
        let slot = self.fresh(Type::B32, pos)?;
        self.constants32.insert(value, slot);
        self.function.constants32.push((slot, value));
        Ok(slot)
    }

    /// The 64-bit register that always holds `value`.
    pub(crate) fn constant64(&mut self, value: u64, pos: Pos) -> Checked<u32> {
        if let Some(&slot) = self.constants64.get(&value) {
            return Ok(slot);
        }
        let slot = self.fresh(Type::B64, pos)?;
        self.constants64.insert(value, slot);
        self.function.constants64.push((slot, value));
        Ok(slot)
    }

    /// The constant with `ty`'a width.
    fn constant(&mut self, bits: u64, ty: Type, pos: Pos) -> Checked<u32> {
        match ty.bytes() {
            8 => self.constant64(bits, pos),
            4 => self.constant32(bits as u32, pos),
            bytes => self.constant32(bits as u32 & ((1u32 << (8 * bytes)) - 1), pos),
        }
    }

    /// The predicate that holds each thread'a carry flag.
    pub(crate) fn carry(&mut self, pos: Pos) -> Checked<u32> {
        match self.carry {
            Some(slot) => Ok(slot),
            None => {
                let slot = self.fresh(Type::Pred, pos)?;
                self.carry = Some(slot);
                Ok(slot)
            }
        }
    }

    /// Reserves bytes of the frame.
    pub(crate) fn frame(
        &mut self,
        what: &'static str,
        bytes: u64,
        align: u64,
        pos: Pos,
    ) -> Checked<u32> {
        let start = self.frame_cursor.next_multiple_of(align.max(4));
        let end = start.saturating_add(bytes);
        if end > MAX_FRAME_BYTES {
            return fail(
                pos,
                SemanticError::TooLarge {
                    what,
                    bytes: end,
                    limit: MAX_FRAME_BYTES,
                },
            );
        }
        self.frame_cursor = end;
        self.function.frame_bytes = u32::try_from(end.next_multiple_of(16)).unwrap_or(u32::MAX);
        Ok(u32::try_from(start).unwrap_or(u32::MAX))
    }

    // ---- names ----

    /// What `name` stands for.
    pub(crate) fn symbol(&mut self, name: Name<'a>) -> Checked<Symbol> {
        match self.scopes.resolve(name.text) {
            Some(Resolved::Symbol(symbol)) => Ok(symbol),
            Some(Resolved::Fresh { range, index, ty }) => {
                let slot = self.fresh(ty, name.pos)?;
                self.scopes.assign(range, index, slot);
                Ok(Symbol::Register { slot, ty })
            }
            None => fail(name.pos, SemanticError::UnknownSymbol(name.text.to_owned())),
        }
    }

    /// The register `name` and its declared type.
    pub(crate) fn register(&mut self, name: Name<'a>) -> Checked<(u32, Type)> {
        match self.symbol(name)? {
            Symbol::Register { slot, ty } => Ok((slot, ty)),
            other => fail(
                name.pos,
                SemanticError::OperandForm {
                    expected: "a register",
                    found: other.form(),
                },
            ),
        }
    }

    /// The label `name`.
    pub(crate) fn label(&mut self, name: Name<'a>) -> Checked<u32> {
        match self.scopes.resolve(name.text) {
            Some(Resolved::Symbol(Symbol::Label(label))) => Ok(label),
            Some(Resolved::Symbol(other)) => fail(
                name.pos,
                SemanticError::OperandForm {
                    expected: "a label",
                    found: other.form(),
                },
            ),
            Some(Resolved::Fresh { .. }) => fail(
                name.pos,
                SemanticError::OperandForm {
                    expected: "a label",
                    found: "a register",
                },
            ),
            None => fail(name.pos, SemanticError::UnknownLabel(name.text.to_owned())),
        }
    }

    /// Sizes of a function'a results and parameters.
    pub(crate) fn signature(&self, function: u32) -> (Vec<u32>, Vec<u32>) {
        let declared = self.declared.get(function as usize);
        declared
            .map(|declared| (declared.results.clone(), declared.params.clone()))
            .unwrap_or_default()
    }

    fn mismatch<T>(name: Name<'a>, declared: Type, needed: Type) -> Checked<T> {
        fail(
            name.pos,
            SemanticError::TypeMismatch {
                name: name.text.to_owned(),
                declared: declared.word(),
                needed: needed.word(),
            },
        )
    }

    /// A list of nested operands.
    pub(crate) fn nested(&self, slice: Slice) -> &'a [Operand<'a>] {
        self.ast
            .operands
            .get(slice.start as usize..slice.end as usize)
            .unwrap_or_default()
    }

    // ---- operands ----

    /// A destination register of type `ty`; `_` gives one that nobody reads.
    pub(crate) fn dest(&mut self, operand: &Operand<'a>, ty: Type) -> Checked<u32> {
        match operand.kind {
            OperandKind::Name(name) => {
                let (slot, declared) = self.register(name)?;
                if ty.accepts(declared) {
                    Ok(slot)
                } else {
                    Self::mismatch(name, declared, ty)
                }
            }
            OperandKind::Sink => self.fresh(ty, operand.pos),
            ref other => fail(
                operand.pos,
                SemanticError::OperandForm {
                    expected: "a destination register",
                    found: form(other),
                },
            ),
        }
    }

    /// A destination register that may be wider than `ty`, and its declared type.
    pub(crate) fn dest_wider(&mut self, operand: &Operand<'a>, ty: Type) -> Checked<(u32, Type)> {
        match operand.kind {
            OperandKind::Name(name) => {
                let (slot, declared) = self.register(name)?;
                if ty.accepts_wider(declared) {
                    Ok((slot, declared))
                } else {
                    Self::mismatch(name, declared, ty)
                }
            }
            OperandKind::Sink => Ok((self.fresh(ty, operand.pos)?, ty)),
            ref other => fail(
                operand.pos,
                SemanticError::OperandForm {
                    expected: "a destination register",
                    found: form(other),
                },
            ),
        }
    }

    /// A source of type `ty`: a register, a literal or a special register.
    pub(crate) fn source(&mut self, operand: &Operand<'a>, ty: Type) -> Checked<u32> {
        match operand.kind {
            OperandKind::Name(name) => {
                if let Some(special) = special(name.text, None) {
                    return self.special(special, name, ty);
                }
                let (slot, declared) = self.register(name)?;
                if ty.accepts(declared) {
                    Ok(slot)
                } else {
                    Self::mismatch(name, declared, ty)
                }
            }
            OperandKind::Member(name, component) => {
                match special(name.text, Some(component.text)) {
                    Some(special) => self.special(special, name, ty),
                    None => fail(
                        name.pos,
                        SemanticError::UnknownSymbol(format!("{}.{}", name.text, component.text)),
                    ),
                }
            }
            _ => self.literal(operand, ty),
        }
    }

    /// A source whose register may be wider than `ty`, and its declared type.
    pub(crate) fn source_wider(&mut self, operand: &Operand<'a>, ty: Type) -> Checked<(u32, Type)> {
        if let OperandKind::Name(name) = operand.kind
            && special(name.text, None).is_none()
        {
            let (slot, declared) = self.register(name)?;
            return if ty.accepts_wider(declared) {
                Ok((slot, declared))
            } else {
                Self::mismatch(name, declared, ty)
            };
        }
        Ok((self.source(operand, ty)?, ty))
    }

    /// A source predicate and whether it is negated.
    pub(crate) fn predicate(&mut self, operand: &Operand<'a>) -> Checked<(u32, bool)> {
        match operand.kind {
            OperandKind::Not(name) => {
                let (slot, declared) = self.register(name)?;
                if declared == Type::Pred {
                    Ok((slot, true))
                } else {
                    Self::mismatch(name, declared, Type::Pred)
                }
            }
            _ => Ok((self.source(operand, Type::Pred)?, false)),
        }
    }

    /// A literal as a register of type `ty`.
    fn literal(&mut self, operand: &Operand<'a>, ty: Type) -> Checked<u32> {
        let bits = match (operand.kind, ty.kind()) {
            (OperandKind::Int(value), Kind::Pred) => {
                return self.constant_predicate(value != 0, operand.pos);
            }
            (OperandKind::Int(value), Kind::Bits | Kind::Signed | Kind::Unsigned) => value as u64,
            (OperandKind::Float(float), Kind::Float | Kind::Bits) => float_bits(float, ty),
            (ref other, Kind::Float) => {
                return fail(
                    operand.pos,
                    SemanticError::OperandForm {
                        expected: "a register or a floating-point literal",
                        found: form(other),
                    },
                );
            }
            (ref other, Kind::Pred) => {
                return fail(
                    operand.pos,
                    SemanticError::OperandForm {
                        expected: "a predicate",
                        found: form(other),
                    },
                );
            }
            (ref other, _) => {
                return fail(
                    operand.pos,
                    SemanticError::OperandForm {
                        expected: "a register or an integer",
                        found: form(other),
                    },
                );
            }
        };
        self.constant(bits, ty, operand.pos)
    }

    fn constant_predicate(&mut self, value: bool, pos: Pos) -> Checked<u32> {
        let slot = self.fresh(Type::Pred, pos)?;
        self.lane(LaneOp::XorPred, slot, slot, slot, 0);
        if value {
            self.lane(LaneOp::NotPred, slot, slot, slot, 0);
        }
        Ok(slot)
    }

    fn special(&mut self, register: SpecialRegister, name: Name<'a>, ty: Type) -> Checked<u32> {
        let declared = if matches!(register, SpecialRegister::Wide(_)) {
            Type::U64
        } else {
            Type::U32
        };
        let narrowed = declared == Type::U32 && matches!(ty, Type::U16 | Type::B16 | Type::S16);
        if !ty.accepts(declared) && !narrowed {
            return Self::mismatch(name, declared, ty);
        }
        let slot = self.fresh(declared, name.pos)?;
        match register {
            SpecialRegister::Narrow(register) => self.emit(Op::Special { d: slot, register }),
            SpecialRegister::Wide(register) => self.emit(Op::Special64 { d: slot, register }),
            SpecialRegister::Constant(value) => return self.constant32(value, name.pos),
        }
        if narrowed {
            self.lane(LaneOp::Low16, slot, slot, 0, 0);
        }
        Ok(slot)
    }

    /// The special register that an operand of a 32-bit type names.
    pub(crate) fn special_of(&self, operand: &Operand<'_>, ty: Type) -> Option<Special> {
        let register = match operand.kind {
            OperandKind::Name(name) => special(name.text, None),
            OperandKind::Member(name, component) => special(name.text, Some(component.text)),
            _ => None,
        };
        match register {
            Some(SpecialRegister::Narrow(register)) if ty.accepts(Type::U32) => Some(register),
            _ => None,
        }
    }

    // ---- addresses ----

    /// The space and address that `[…]` names for an access to `space`.
    pub(crate) fn address(
        &mut self,
        operand: &Operand<'a>,
        space: Space,
    ) -> Checked<(Space, Address)> {
        let OperandKind::Address { base, offset } = operand.kind else {
            return fail(
                operand.pos,
                SemanticError::OperandForm {
                    expected: "an address in brackets",
                    found: form(&operand.kind),
                },
            );
        };
        let Some(name) = base else {
            let base = self.constant64(offset.cast_unsigned(), operand.pos)?;
            return Ok((
                space,
                Address {
                    base,
                    narrow: false,
                    offset: 0,
                },
            ));
        };
        let symbol = self.symbol(name)?;
        let wrong = |declared: &'static str| {
            fail(
                name.pos,
                SemanticError::SpaceMismatch {
                    name: name.text.to_owned(),
                    declared,
                    needed: space.word(),
                },
            )
        };
        match (symbol, space) {
            (Symbol::Register { slot, ty }, _) => {
                self.register_address(name, slot, ty, space, offset)
            }
            (Symbol::Global { address }, Space::Global | Space::Generic) => {
                self.fixed(space, address, offset, name.pos)
            }
            (Symbol::Const { offset: at }, Space::Const) => {
                self.fixed(space, u64::from(at), offset, name.pos)
            }
            (Symbol::Const { offset: at }, Space::Generic) => {
                self.fixed(space, CONST_BASE + u64::from(at), offset, name.pos)
            }
            (Symbol::Shared { offset: at }, Space::Shared) => {
                self.fixed(space, u64::from(at), offset, name.pos)
            }
            (Symbol::Shared { offset: at }, Space::Generic) => {
                self.fixed(space, SHARED_BASE + u64::from(at), offset, name.pos)
            }
            (Symbol::DynamicShared, Space::Shared) => {
                let base = self.fresh(Type::B32, name.pos)?;
                self.emit(Op::DynamicShared { d: base });
                self.register_address(name, base, Type::B32, space, offset)
            }
            (Symbol::FrameLocal { offset: at }, Space::Local)
            | (Symbol::FrameParam { offset: at, .. }, Space::KernelParam) => {
                let at = i64::from(at).saturating_add(offset);
                match i32::try_from(at) {
                    Ok(offset) if offset >= 0 => Ok((
                        Space::Frame,
                        Address {
                            base: NONE,
                            narrow: false,
                            offset,
                        },
                    )),
                    _ => fail(
                        operand.pos,
                        SemanticError::OutOfRange {
                            what: "address offset",
                            value: offset.to_string(),
                        },
                    ),
                }
            }
            (Symbol::KernelParam { offset: at, .. }, Space::KernelParam) => {
                self.fixed(space, u64::from(at), offset, name.pos)
            }
            (Symbol::Global { .. }, _) => wrong("global"),
            (Symbol::Const { .. }, _) => wrong("const"),
            (Symbol::Shared { .. } | Symbol::DynamicShared, _) => wrong("shared"),
            (Symbol::FrameLocal { .. }, _) => wrong("local"),
            (Symbol::KernelParam { .. } | Symbol::FrameParam { .. }, _) => wrong("param"),
            (other, _) => fail(
                name.pos,
                SemanticError::OperandForm {
                    expected: "a register or a variable",
                    found: other.form(),
                },
            ),
        }
    }

    fn fixed(
        &mut self,
        space: Space,
        address: u64,
        offset: i64,
        pos: Pos,
    ) -> Checked<(Space, Address)> {
        let base = self.constant64(address.wrapping_add_signed(offset), pos)?;
        Ok((
            space,
            Address {
                base,
                narrow: false,
                offset: 0,
            },
        ))
    }

    fn register_address(
        &mut self,
        name: Name<'a>,
        slot: u32,
        ty: Type,
        space: Space,
        offset: i64,
    ) -> Checked<(Space, Address)> {
        let wide_only = matches!(space, Space::Generic | Space::Global);
        let narrow = match ty {
            Type::B64 | Type::U64 | Type::S64 => false,
            Type::B32 | Type::U32 | Type::S32 if !wide_only => true,
            _ => return Self::mismatch(name, ty, Type::B64),
        };
        // In a device function, a parameter'a address is one of its frame.
        let space = if space == Space::KernelParam && !self.entry {
            Space::Local
        } else {
            space
        };
        let (base, offset) = match i32::try_from(offset) {
            Ok(offset) => (slot, offset),
            Err(_) if narrow => {
                let offset = self.constant32(offset as u32, name.pos)?;
                let sum = self.fresh(Type::B32, name.pos)?;
                self.lane(LaneOp::AddI32, sum, slot, offset, 0);
                (sum, 0)
            }
            Err(_) => {
                let offset = self.constant64(offset.cast_unsigned(), name.pos)?;
                let sum = self.fresh(Type::B64, name.pos)?;
                self.lane(LaneOp::AddI64, sum, slot, offset, 0);
                (sum, 0)
            }
        };
        Ok((
            space,
            Address {
                base,
                narrow,
                offset,
            },
        ))
    }

    /// The address of a variable or function as a value of type `ty`, as `mov` gives it: within its own space.
    pub(crate) fn address_of(
        &mut self,
        name: Name<'a>,
        symbol: Symbol,
        offset: i64,
        ty: Type,
    ) -> Checked<u32> {
        let wide = match ty {
            Type::B64 | Type::U64 | Type::S64 => true,
            Type::B32 | Type::U32 | Type::S32 => false,
            _ => {
                return fail(
                    name.pos,
                    SemanticError::OperandForm {
                        expected: "a register or a literal",
                        found: symbol.form(),
                    },
                );
            }
        };
        let value = match symbol {
            Symbol::Global { address } => address,
            Symbol::Const { offset }
            | Symbol::Shared { offset }
            | Symbol::KernelParam { offset, .. } => u64::from(offset),
            Symbol::Function(function) => {
                self.used.push((function, name));
                FUNCTION_BASE + u64::from(function) * FUNCTION_STRIDE
            }
            Symbol::DynamicShared => {
                let narrow = self.fresh(Type::B32, name.pos)?;
                self.emit(Op::DynamicShared { d: narrow });
                let displacement = self.constant32(offset as u32, name.pos)?;
                self.lane(LaneOp::AddI32, narrow, narrow, displacement, 0);
                if !wide {
                    return Ok(narrow);
                }
                let slot = self.fresh(Type::B64, name.pos)?;
                self.lane(LaneOp::ZeroExtend, slot, narrow, 0, 0);
                return Ok(slot);
            }
            Symbol::FrameLocal { offset: at } | Symbol::FrameParam { offset: at, .. } => {
                let slot = self.fresh(Type::B64, name.pos)?;
                self.emit(Op::FrameAddress {
                    d: slot,
                    offset: at.wrapping_add(offset as u32),
                });
                if wide {
                    return Ok(slot);
                }
                let narrow = self.fresh(Type::B32, name.pos)?;
                self.lane(LaneOp::Low32, narrow, slot, 0, 0);
                return Ok(narrow);
            }
            other => {
                return fail(
                    name.pos,
                    SemanticError::OperandForm {
                        expected: "a variable or a function",
                        found: other.form(),
                    },
                );
            }
        };
        let value = value.wrapping_add_signed(offset);
        if wide {
            self.constant64(value, name.pos)
        } else {
            self.constant32(value as u32, name.pos)
        }
    }
}

/// Bits of a float literal in type `ty`.
pub(crate) fn float_bits(float: FloatLit, ty: Type) -> u64 {
    match (float, ty.bytes()) {
        (FloatLit::Single(bits), 8) if ty.is_float() => f64::from(f32::from_bits(bits)).to_bits(),
        (FloatLit::Single(bits), _) => u64::from(bits),
        (FloatLit::Double(bits), 8) => bits,
        (FloatLit::Double(bits), _) => u64::from((f64::from_bits(bits) as f32).to_bits()),
    }
}

/// What to call an operand in a message.
pub(crate) fn form(kind: &OperandKind<'_>) -> &'static str {
    match kind {
        OperandKind::Name(_) => "a name",
        OperandKind::Member(..) => "a vector component",
        OperandKind::Not(_) => "a negated predicate",
        OperandKind::Int(_) => "an integer",
        OperandKind::Float(_) => "a floating-point literal",
        OperandKind::NameOffset(..) => "an address expression",
        OperandKind::Address { .. } => "an address in brackets",
        OperandKind::Vector(_) => "a vector",
        OperandKind::List(_) => "a parenthesised list",
        OperandKind::Pair(..) => "a pair of destinations",
        OperandKind::Sink => "`_`",
    }
}

/// A special register by its width.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SpecialRegister {
    Narrow(Special),
    Wide(Special64),
    Constant(u32),
}

/// The special register of that name and component.
pub(crate) fn special(name: &str, component: Option<&str>) -> Option<SpecialRegister> {
    let axis = match component {
        None => None,
        Some("x") => Some(Axis::X),
        Some("y") => Some(Axis::Y),
        Some("z") => Some(Axis::Z),
        Some(_) => return None,
    };
    Some(SpecialRegister::Narrow(match (name, axis) {
        ("%tid", Some(axis)) => Special::ThreadIndex(axis),
        ("%ntid", Some(axis)) => Special::BlockSize(axis),
        ("%ctaid", Some(axis)) => Special::BlockIndex(axis),
        ("%nctaid", Some(axis)) => Special::GridSize(axis),
        ("%laneid", None) => Special::Lane,
        ("%warpid", None) => Special::Warp,
        ("%nwarpid", None) => Special::WarpCount,
        ("%lanemask_eq", None) => Special::MaskEqual,
        ("%lanemask_lt", None) => Special::MaskLess,
        ("%lanemask_le", None) => Special::MaskLessEqual,
        ("%lanemask_gt", None) => Special::MaskGreater,
        ("%lanemask_ge", None) => Special::MaskGreaterEqual,
        ("%clock", None) => Special::Clock,
        ("%clock_hi", None) => Special::ClockHigh,
        ("%smid", None) => Special::Zero,
        ("%nsmid", None) => Special::One,
        ("%dynamic_smem_size", None) => Special::DynamicSharedBytes,
        ("%total_smem_size", None) => Special::TotalSharedBytes,
        ("%globaltimer_lo", None) => Special::Clock,
        ("%globaltimer_hi", None) => Special::ClockHigh,
        ("%clock64", None) => return Some(SpecialRegister::Wide(Special64::Clock)),
        ("%globaltimer", None) => return Some(SpecialRegister::Wide(Special64::Timer)),
        ("%gridid", None) => return Some(SpecialRegister::Wide(Special64::Zero)),
        ("WARP_SZ", None) => return Some(SpecialRegister::Constant(32)),
        _ => return None,
    }))
}
