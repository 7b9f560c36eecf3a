//! One function under construction: operands become registers, instructions become micro-ops.

use hashbrown::HashMap;

use super::error::{Checked, SemanticError, Unsupported, fail};
use super::module::{DeclaredFunction, Formal};
use super::symbols::{Resolved, Scopes, Symbol};
use crate::ast::{self, Name, Operand, Pos, Slice};
use crate::code::{Code, Function, NONE, Op};
use crate::exec::cost;
use crate::exec::lanes::Slots;
use crate::limits::{MAX_FRAME_BYTES, MAX_REGISTERS};
use crate::pool;
use crate::types::Type;

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
    /// Where the next micro-ops come from.
    place: Pos,
}

/// A label of the function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Label<'a> {
    pub(crate) name: Name<'a>,
    /// Index of the micro-op it stands at, or [`NONE`] until it is reached.
    pub(crate) at: u32,
    /// Number of the next label of its scope, or [`NONE`].
    pub(crate) next: u32,
}

/// An indirect callee's results and parameters.
#[derive(Clone, Debug, Default)]
pub(crate) struct Prototype {
    pub(crate) results: Vec<Formal>,
    pub(crate) params: Vec<Formal>,
}

/// Places that name labels by number until the function is complete.
#[derive(Debug, Default)]
pub(crate) struct Fixups {
    /// Micro-ops whose target is a label number.
    pub(crate) branches: Vec<u32>,
    /// Branch tables whose entries are label numbers.
    pub(crate) tables: Vec<u32>,
}

impl<'a> Body<'a> {
    pub(crate) fn new(
        ast: &'a ast::Module<'a>,
        scopes: Scopes<'a>,
        code: Code,
        entry: bool,
        target: u32,
    ) -> Self {
        let function = Function {
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
            place: 0,
        }
    }

    /// Says where the next micro-ops come from.
    pub(crate) fn at(&mut self, pos: Pos) {
        self.place = pos;
    }

    /// Appends a micro-op.
    pub(crate) fn emit(&mut self, op: Op) {
        pool::push(&mut self.code.ops, op);
        self.code.places.push(self.place);
    }

    /// Appends a lane operation.
    pub(crate) fn lane<O: Into<Op>>(
        &mut self,
        op: impl FnOnce(Slots) -> O,
        d: u32,
        a: u32,
        b: u32,
        c: u32,
    ) {
        self.emit(op(Slots { d, a, b, c, e: 0 }).into());
    }

    /// Index of the next micro-op.
    pub(crate) fn here(&self) -> u32 {
        u32::try_from(self.code.ops.len()).unwrap_or(NONE)
    }

    /// Begins a basic block, unless one begins here already.
    pub(crate) fn begin_block(&mut self) {
        let here = self.code.ops.len();
        if self
            .block_start
            .is_some_and(|start| start.saturating_add(1) == here)
        {
            // What begins here is the later of the two.
            if let Some(place) = self.code.places.last_mut() {
                *place = self.place;
            }
            return;
        }
        self.end_block();
        self.block_start = Some(here);
        self.emit(Op::Block { cost: 1 });
    }

    /// Settles the cost of the block that ends here.
    pub(crate) fn end_block(&mut self) {
        if let Some(start) = self.block_start.take() {
            let ops = self.code.ops.get(start..).unwrap_or_default();
            let cost = ops.iter().map(cost::of).fold(0, u32::saturating_add);
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

    /// A new register able to hold a value of `ty`; for a 128-bit value, the first of two in a row.
    pub(crate) fn fresh(&mut self, ty: Type, pos: Pos) -> Checked<u32> {
        let (count, taken) = match ty.bytes() {
            0 => (&mut self.function.registers.pred, 1u32),
            1..=4 => (&mut self.function.registers.r32, 1),
            8 => (&mut self.function.registers.r64, 1),
            _ => (&mut self.function.registers.r64, 2),
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
        *count = count.saturating_add(taken);
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
    pub(super) fn constant(&mut self, bits: u64, ty: Type, pos: Pos) -> Checked<u32> {
        match ty.bytes() {
            8 => self.constant64(bits, pos),
            4 => self.constant32(bits as u32, pos),
            bytes => self.constant32(bits as u32 & if bytes == 1 { 0xFF } else { 0xFFFF }, pos),
        }
    }

    /// The predicate that holds each thread's carry flag.
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

    /// Where the frame ends so far.
    pub(crate) fn frame_end(&self) -> u64 {
        self.frame_cursor
    }

    /// Gives back what was reserved since [`Body::frame_end`] said `end`: the scope that it was for has ended.
    pub(crate) fn shrink_frame(&mut self, end: u64) {
        self.frame_cursor = end;
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
                Unsupported::Limit {
                    what,
                    count: end,
                    limit: MAX_FRAME_BYTES,
                },
            );
        }
        self.frame_cursor = end;
        let frame_bytes = u32::try_from(end.next_multiple_of(16)).unwrap_or(u32::MAX);
        self.function.frame_bytes = self.function.frame_bytes.max(frame_bytes);
        Ok(u32::try_from(start).unwrap_or(u32::MAX))
    }

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

    /// A function that has the signature of all those of a `.calltargets` list.
    pub(crate) fn call_targets(&mut self, targets: &[Name<'a>]) -> Checked<u32> {
        let mut first: Option<u32> = None;
        for &name in targets {
            let index = match self.symbol(name)? {
                Symbol::Function(index) => index,
                other => {
                    return fail(
                        name.pos,
                        SemanticError::OperandForm {
                            expected: "a device function",
                            found: other.form(),
                        },
                    );
                }
            };
            let first = *first.get_or_insert(index);
            if index != first && !self.have_one_signature(index, first) {
                return fail(
                    name.pos,
                    Unsupported::Declaration(
                        ".calltargets of functions with different parameters".to_owned(),
                    ),
                );
            }
        }
        Ok(first.unwrap_or(NONE))
    }

    fn have_one_signature(&self, one: u32, other: u32) -> bool {
        let [one, other] = [one, other].map(|index| self.declared.get(index as usize));
        one.zip(other)
            .is_some_and(|(one, other)| one.params == other.params && one.results == other.results)
    }

    /// Sizes of a function's results and parameters.
    pub(crate) fn signature(&self, function: u32) -> (Vec<Formal>, Vec<Formal>) {
        let declared = self.declared.get(function as usize);
        declared
            .map(|declared| (declared.results.clone(), declared.params.clone()))
            .unwrap_or_default()
    }

    pub(super) fn mismatch<T>(name: Name<'a>, declared: Type, needed: Type) -> Checked<T> {
        if (declared, needed) == (Type::F16x2, Type::Pred) {
            // ptxas takes it; what it then is stands nowhere.
            return fail(
                name.pos,
                Unsupported::Declaration("a pair of halves as a predicate".to_owned()),
            );
        }
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
}

/// Bytes of each formal parameter or result.
pub(super) fn sizes(formals: &[Formal]) -> Vec<u32> {
    formals.iter().map(|formal| formal.bytes).collect()
}
