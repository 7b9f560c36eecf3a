//! Makes the graph of a kernel and of the functions that it may call.

use super::flow::{ANY, Bits, Builds, FIRST_PARAM, Flow, PLAIN, VARIABLE};
use crate::ast::{
    Function, Item, Module as Ast, Name, Operand, OperandKind, Slice, Stmt, VarSpace,
};
use crate::ast::{Param as Formal, Variable};
use crate::code::NONE;
use crate::module::Param;
use crate::types::Type;
use crate::verify::{ParamRole, Resolved, Scopes, Symbol, is_special_name};

/// A flag for each parameter: whether the kernel may write through it.
pub(super) fn written<'a>(
    ast: &'a Ast<'a>,
    kernel: &'a Function<'a>,
    params: &'a [Param],
) -> Vec<bool> {
    let mut walk = Walk {
        ast,
        params,
        flow: Flow::new(params.len()),
        scopes: Scopes::default(),
        callees: Vec::new(),
        pending: Vec::new(),
    };
    let written = match walk.kernel(kernel) {
        Ok(()) => walk.flow.written(),
        Err(WritesAll) => None,
    };
    written.unwrap_or_else(|| vec![true; params.len()])
}

/// Something may write anywhere: there is nothing more to learn.
#[derive(Clone, Copy, Debug)]
pub(super) struct WritesAll;

pub(super) type Followed<T> = Result<T, WritesAll>;

pub(super) struct Walk<'a> {
    pub(super) ast: &'a Ast<'a>,
    params: &'a [Param],
    pub(super) flow: Flow,
    scopes: Scopes<'a>,
    callees: Vec<Callee<'a>>,
    /// Callees whose bodies are still to be walked.
    pending: Vec<usize>,
}

/// A function of the module.
struct Callee<'a> {
    /// Its definition; `None` of one that is not defined here, or twice.
    definition: Option<&'a Function<'a>>,
    /// The node of its first result, behind which those of other results and of parameters follow; [`NONE`] until it is called.
    formals: u32,
}

/// What a name stands for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Thing {
    /// A register.
    Register(u32),
    /// A `.param` variable, parameter or result of a device function.
    Passed {
        node: u32,
        /// It has room for more than 32 bits.
        wide: bool,
    },
    /// A parameter of the kernel, at an offset.
    KernelParam(u32),
    /// A variable in memory.
    Variable,
    /// A device function, by its number.
    Function(usize),
    /// What has no value that an address could be made of.
    Other,
}

impl<'a> Walk<'a> {
    fn kernel(&mut self, kernel: &'a Function<'a>) -> Followed<()> {
        for item in &self.ast.items {
            match item {
                // Again: an .extern variable and its definition, which are one.
                Item::Variable(variable) => drop(
                    self.scopes
                        .declare(variable.name, Symbol::Global { address: 0 }),
                ),
                Item::Function(function) => self.callee(function),
                Item::Alias(_) => {}
            }
        }
        self.scopes.open();
        self.scopes.forget_registers();
        for (formal, param) in kernel.params.iter().zip(self.params) {
            let symbol = Symbol::KernelParam {
                offset: param.offset_bytes,
                bytes: param.size_bytes,
            };
            self.declare(formal.name, symbol)?;
        }
        self.statements(kernel)?;
        self.scopes.close();
        while let Some(number) = self.pending.pop() {
            self.device_function(number)?;
        }
        Ok(())
    }

    /// Notes a function of the module.
    fn callee(&mut self, function: &'a Function<'a>) {
        let defined = function.body.is_some() && !function.entry;
        let definition = defined.then_some(function);
        if let Some(Resolved::Symbol(Symbol::Function(number))) =
            self.scopes.resolve(function.name.text)
        {
            if let Some(known) = self.callees.get_mut(number as usize)
                && function.body.is_some()
            {
                known.definition = match known.definition {
                    None => definition,
                    Some(_) => None,
                };
            }
            return;
        }
        let number = u32::try_from(self.callees.len()).unwrap_or(NONE);
        let formals = NONE;
        self.callees.push(Callee {
            definition,
            formals,
        });
        // A name that something else has calls nothing.
        drop(self.scopes.declare(function.name, Symbol::Function(number)));
    }

    /// The body of a function that is called.
    fn device_function(&mut self, number: usize) -> Followed<()> {
        let callee = self.callees.get(number).ok_or(WritesAll)?;
        let function = callee.definition.ok_or(WritesAll)?;
        let mut node = callee.formals;
        self.scopes.open();
        self.scopes.forget_registers();
        for formal in function.returns.iter().chain(&function.params) {
            self.formal(formal, node)?;
            node = node.saturating_add(1);
        }
        self.statements(function)?;
        self.scopes.close();
        Ok(())
    }

    fn formal(&mut self, formal: &'a Formal<'a>, node: u32) -> Followed<()> {
        self.declare(
            formal.name,
            if formal.space == VarSpace::Reg {
                register(node)
            } else {
                passed(node, formal.ty, !formal.dims.is_empty())
            },
        )
    }

    fn statements(&mut self, function: &'a Function<'a>) -> Followed<()> {
        let ast = self.ast;
        for stmt in ast.body(function) {
            match stmt {
                Stmt::Open => self.scopes.open(),
                Stmt::Close => self.scopes.close(),
                Stmt::Variable(variable) => self.variable(variable)?,
                Stmt::Instr(instr) => {
                    let instr = ast.instrs.get(*instr as usize).ok_or(WritesAll)?;
                    self.instruction(instr)?;
                }
                Stmt::Label(label) => {
                    // It hides what has its name outside.
                    let name = ast.labels.get(*label as usize).ok_or(WritesAll)?;
                    self.declare(*name, Symbol::Label(0))?;
                }
                Stmt::CallPrototype(prototype) => {
                    self.declare(prototype.name, Symbol::Prototype(0))?
                }
                Stmt::BranchTargets(list) => self.declare(list.name, Symbol::BranchTable(0))?,
                Stmt::CallTargets(list) => self.declare(list.name, Symbol::CallTargets(0))?,
            }
        }
        Ok(())
    }

    fn variable(&mut self, variable: &'a Variable<'a>) -> Followed<()> {
        let symbol = match variable.space {
            VarSpace::Reg => {
                if let Some(count) = variable.count() {
                    let declared = self.scopes.declare_range(variable.name, count, Type::B64);
                    return declared.map_err(|_| WritesAll);
                }
                register(self.flow.node())
            }
            VarSpace::Param => {
                let several = variable.vector > 1 || !variable.dims().is_empty();
                passed(self.flow.node(), variable.ty, several)
            }
            VarSpace::Shared | VarSpace::Local | VarSpace::Global | VarSpace::Const => {
                Symbol::Global { address: 0 }
            }
        };
        if variable.count().is_some() {
            return Err(WritesAll);
        }
        self.declare(variable.name, symbol)
    }

    fn declare(&mut self, name: Name<'a>, symbol: Symbol) -> Followed<()> {
        self.scopes.declare(name, symbol).map_err(|_| WritesAll)
    }

    /// What a name stands for.
    pub(super) fn thing(&mut self, name: Name<'a>) -> Followed<Thing> {
        Ok(match self.scopes.resolve(name.text) {
            Some(Resolved::Symbol(symbol)) => match symbol {
                Symbol::Register { slot, .. } => Thing::Register(slot),
                Symbol::FrameParam { offset, bytes, .. } => Thing::Passed {
                    node: offset,
                    wide: bytes > 4,
                },
                Symbol::KernelParam { offset, .. } => Thing::KernelParam(offset),
                Symbol::Global { .. } => Thing::Variable,
                Symbol::Function(number) => Thing::Function(number as usize),
                _ => Thing::Other,
            },
            Some(Resolved::Fresh { range, index, .. }) => {
                let node = self.flow.node();
                self.scopes.assign(range, index, node);
                Thing::Register(node)
            }
            None if is_special_name(name.text) => Thing::Other,
            None => return Err(WritesAll),
        })
    }

    /// Adds the nodes that an operand reads.
    pub(super) fn sources(&mut self, operand: &Operand<'a>, nodes: &mut Vec<u32>) -> Followed<()> {
        match operand.kind {
            OperandKind::Name(name)
            | OperandKind::Member(name, _)
            | OperandKind::Not(name)
            | OperandKind::NameOffset(name, _) => nodes.push(match self.thing(name)? {
                Thing::Register(node) => node,
                // Their addresses: what is read from there is looked at where it is read.
                Thing::Passed { .. } | Thing::KernelParam(_) | Thing::Variable => VARIABLE,
                Thing::Function(_) | Thing::Other => PLAIN,
            }),
            OperandKind::Int(_) | OperandKind::Float(_) => nodes.push(PLAIN),
            OperandKind::Vector(list) | OperandKind::List(list) => {
                for element in self.elements(list) {
                    self.sources(element, nodes)?;
                }
            }
            OperandKind::Pair(first, second) => {
                for place in [first, second] {
                    self.sources(self.operand(place)?, nodes)?;
                }
            }
            OperandKind::Sink => {}
            OperandKind::Address { .. } | OperandKind::UnifiedAddress { .. } => {
                return Err(WritesAll);
            }
        }
        Ok(())
    }

    /// Adds the nodes that an operand writes.
    pub(super) fn targets(&mut self, operand: &Operand<'a>, nodes: &mut Vec<u32>) -> Followed<()> {
        match operand.kind {
            OperandKind::Name(name) | OperandKind::Member(name, _) => match self.thing(name)? {
                Thing::Register(node) => nodes.push(node),
                _ => return Err(WritesAll),
            },
            OperandKind::Vector(list) => {
                for element in self.elements(list) {
                    self.targets(element, nodes)?;
                }
            }
            OperandKind::Pair(first, second) => {
                for place in [first, second] {
                    self.targets(self.operand(place)?, nodes)?;
                }
            }
            OperandKind::Sink => {}
            _ => return Err(WritesAll),
        }
        Ok(())
    }

    pub(super) fn elements(&self, list: Slice) -> &'a [Operand<'a>] {
        let operands = &self.ast.operands;
        operands
            .get(list.start as usize..list.end as usize)
            .unwrap_or_default()
    }

    fn operand(&self, place: u32) -> Followed<&'a Operand<'a>> {
        self.ast.operands.get(place as usize).ok_or(WritesAll)
    }

    /// Adds the kernel parameters that lie in `bytes` bytes at `start`; any address where bytes lie outside.
    pub(super) fn params_at(&self, start: i64, bytes: i64, nodes: &mut Vec<u32>) {
        let end = start.saturating_add(bytes);
        let first = self.params.partition_point(|param| end_of(param) <= start);
        let there = self.params.iter().skip(first);
        let there = there.take_while(|param| i64::from(param.offset_bytes) < end);
        let count = nodes.len();
        nodes.extend((first..).zip(there).map(|(number, _)| {
            u32::try_from(number).map_or(ANY, |number| FIRST_PARAM.saturating_add(number))
        }));
        let last = self.params.last().map_or(0, end_of);
        if nodes.len() == count || start < 0 || end > last {
            nodes.push(ANY);
        }
    }

    /// A call of a function of the module: results and arguments are its own nodes.
    pub(super) fn call(
        &mut self,
        number: usize,
        results: &'a [Operand<'a>],
        arguments: &'a [Operand<'a>],
    ) -> Followed<()> {
        let callee = self.callees.get_mut(number).ok_or(WritesAll)?;
        let function = callee.definition.ok_or(WritesAll)?;
        if (function.returns.len(), function.params.len()) != (results.len(), arguments.len()) {
            return Err(WritesAll);
        }
        if callee.formals == NONE {
            let formals = function.returns.iter().chain(&function.params);
            let mut formals = formals.map(|_| self.flow.node());
            let first = formals.next();
            formals.for_each(drop);
            callee.formals = first.unwrap_or(0);
            self.pending.push(number);
        }
        let mut formal = callee.formals;
        for result in results {
            let mut nodes = Vec::new();
            match self.passed(result)? {
                Some(node) => nodes.push(node),
                None => self.targets(result, &mut nodes)?,
            }
            self.flow
                .define(&nodes, &[formal], &[], Builds::OnOne, Bits::Stay);
            formal = formal.saturating_add(1);
        }
        for argument in arguments {
            let mut nodes = Vec::new();
            match self.passed(argument)? {
                Some(node) => nodes.push(node),
                None => self.sources(argument, &mut nodes)?,
            }
            self.flow
                .define(&[formal], &nodes, &[], Builds::OnOne, Bits::Stay);
            formal = formal.saturating_add(1);
        }
        Ok(())
    }

    /// The node of a `.param` variable as an argument or result.
    fn passed(&mut self, operand: &Operand<'a>) -> Followed<Option<u32>> {
        let OperandKind::Name(name) = operand.kind else {
            return Ok(None);
        };
        match self.thing(name)? {
            Thing::Passed { node, .. } => Ok(Some(node)),
            Thing::KernelParam(_) => Err(WritesAll),
            _ => Ok(None),
        }
    }
}

fn end_of(param: &Param) -> i64 {
    i64::from(param.offset_bytes).saturating_add(i64::from(param.size_bytes))
}

fn register(slot: u32) -> Symbol {
    Symbol::Register {
        slot,
        ty: Type::B64,
    }
}

/// A `.param` variable: the node stands where the verifier has its offset.
fn passed(node: u32, ty: Name<'_>, several: bool) -> Symbol {
    let scalar = Type::of_word(ty.text).filter(|_| !several);
    Symbol::FrameParam {
        offset: node,
        bytes: scalar.map_or(u32::MAX, Type::bytes),
        role: ParamRole::Passed,
        ty: Type::B64,
        array: false,
        align: 0,
    }
}
