//! One `.entry` or `.func`: parameters, statements, labels.

use super::body::{Body, Label, MAX_FRAME_BYTES, Prototype};
use super::error::{Checked, SemanticError, Unsupported, fail};
use super::isa::{self, Guarding};
use super::modifiers::Modifiers;
use super::module::{DeclaredFunction, Verifier, declared_type, no_initialiser, shape, shape_of};
use super::symbols::Symbol;
use crate::ast::{self, Guard, Instr, Name, Param, Stmt, VarSpace, Variable};
use crate::code::{FormalParam, Function, NONE, Op};
use crate::module::{Entry, Param as EntryParam};
use crate::types::Type;

/// Most bytes of kernel parameters.
const MAX_PARAM_BYTES: u64 = 32764;

impl<'a> Verifier<'a> {
    /// A function'a declaration or definition.
    pub(crate) fn function(&mut self, function: &'a ast::Function<'a>) -> Checked<()> {
        let index = self.declare_function(function)?;
        let Some(range) = function.body else {
            return Ok(());
        };
        if let Some(declared) = self.declared.get_mut(index as usize) {
            declared.defined = true;
        }
        let stmts = self
            .ast
            .stmts
            .get(range.start as usize..range.end as usize)
            .unwrap_or_default();
        self.scopes.open();
        self.scopes.forget_registers();
        self.module.kernel_shared_cursor = self.common_shared_bytes;
        let mut lowered = self.body(function, stmts)?;
        self.scopes.close();
        if function.entry {
            let entry = self.entry(function, index)?;
            crate::lower::hoist(self.code(), &mut lowered, entry.param_bytes);
            self.add_entry(entry);
        }
        if let Some(place) = self.code().functions.get_mut(index as usize) {
            *place = lowered;
        }
        Ok(())
    }

    /// Declares the function'a name, or checks it against its earlier declaration.
    fn declare_function(&mut self, function: &'a ast::Function<'a>) -> Checked<u32> {
        let mut params = Vec::with_capacity(function.params.len());
        for param in &function.params {
            params.push(param_bytes(param)?);
        }
        let mut results = Vec::with_capacity(function.returns.len());
        for param in &function.returns {
            results.push(param_bytes(param)?);
        }
        let name = function.name;
        let new = DeclaredFunction {
            name,
            entry: function.entry,
            defined: false,
            params,
            results,
        };
        if let Some(super::symbols::Resolved::Symbol(Symbol::Function(index))) =
            self.scopes.resolve(name.text)
            && let Some(old) = self.declared.get(index as usize)
        {
            if old.defined && function.body.is_some() {
                return fail(name.pos, SemanticError::Duplicate(name.text.to_owned()));
            }
            if old.entry != new.entry || old.params != new.params || old.results != new.results {
                return fail(
                    name.pos,
                    SemanticError::DeclarationMismatch(name.text.to_owned()),
                );
            }
            return Ok(index);
        }
        let index = u32::try_from(self.declared.len()).unwrap_or(NONE);
        self.scopes.declare(name, Symbol::Function(index))?;
        self.declared.push(new);
        self.code().functions.push(Function {
            start: NONE,
            ..Function::default()
        });
        Ok(index)
    }

    /// Lays out a kernel'a parameters and notes its launch bounds.
    fn entry(&self, function: &ast::Function<'a>, index: u32) -> Checked<Entry> {
        let mut params = Vec::with_capacity(function.params.len());
        let mut end = 0u64;
        for param in &function.params {
            let shape = shape(param.ty, param.name, param.align, 1, &param.dims)?;
            let offset = end.next_multiple_of(shape.align);
            end = offset.saturating_add(shape.bytes);
            params.push(EntryParam {
                name: param.name.text.to_owned(),
                offset_bytes: offset as u32,
                size_bytes: shape.bytes as u32,
                align_bytes: shape.align as u32,
            });
        }
        let bound = |word: &str| {
            function
                .directives
                .iter()
                .find(|(name, _)| name.text == word)
                .map(|(_, numbers)| {
                    let mut axes = [1u32; 3];
                    for (axis, number) in axes.iter_mut().zip(numbers) {
                        *axis = u32::try_from(*number).unwrap_or(u32::MAX);
                    }
                    axes
                })
        };
        Ok(Entry {
            name: function.name.text.to_owned(),
            function: index,
            params,
            param_bytes: end as u32,
            static_shared_bytes: self.module.kernel_shared_cursor as u32,
            max_block: bound("maxntid"),
            required_block: bound("reqntid"),
        })
    }

    /// Lowers a body and returns the function it makes.
    fn body(
        &mut self,
        function: &'a ast::Function<'a>,
        stmts: &'a [Stmt<'a>],
    ) -> Checked<Function> {
        let source = self.source;
        let labels = Labels::collect(stmts);
        let code = std::mem::take(&mut self.module.code);
        let scopes = std::mem::take(&mut self.scopes);
        let mut body = Body::new(
            self.ast,
            scopes,
            code,
            function.name,
            function.entry,
            self.target,
            self.line,
        );
        body.labels = labels.all;
        body.declared = std::mem::take(&mut self.declared);
        body.at(source, function.name.pos);
        let result = self.statements(&mut body, function, stmts, &labels.scopes);
        self.line = body.line();
        self.used.append(&mut body.used);
        self.declared = std::mem::take(&mut body.declared);
        let lowered = std::mem::take(&mut body.function);
        self.module.code = body.code;
        self.scopes = body.scopes;
        result.map(|()| lowered)
    }

    fn statements(
        &mut self,
        body: &mut Body<'a>,
        function: &'a ast::Function<'a>,
        stmts: &'a [Stmt<'a>],
        scopes: &[Vec<u32>],
    ) -> Checked<()> {
        body.function.start = body.here();
        body.begin_block();
        self.parameters(body, function)?;
        let mut next_scope = 1usize;
        declare_labels(body, scopes.first())?;
        for stmt in stmts {
            match stmt {
                Stmt::Open(_) => {
                    body.scopes.open();
                    declare_labels(body, scopes.get(next_scope))?;
                    next_scope += 1;
                }
                Stmt::Close(_) => body.scopes.close(),
                Stmt::Variable(variable) => self.local_variable(body, function, variable)?,
                Stmt::Label(name) => {
                    body.at(self.source, name.pos);
                    body.begin_block();
                    let label = body.label(*name)?;
                    let here = body.here() - 1;
                    if let Some(label) = body.labels.get_mut(label as usize) {
                        label.at = Some(here);
                    }
                }
                Stmt::Instr(instr) => {
                    body.at(self.source, instr.opcode.pos);
                    instruction(body, instr)?;
                }
                Stmt::CallPrototype(prototype) => {
                    let mut lowered = Prototype::default();
                    for param in &prototype.params {
                        lowered.params.push(param_bytes(param)?);
                    }
                    for param in &prototype.returns {
                        lowered.results.push(param_bytes(param)?);
                    }
                    let index = u32::try_from(body.prototypes.len()).unwrap_or(NONE);
                    body.prototypes.push(lowered);
                    body.scopes
                        .declare(prototype.name, Symbol::Prototype(index))?;
                }
                Stmt::BranchTargets { name, targets } => {
                    let mut table = Vec::with_capacity(targets.len());
                    for target in targets {
                        table.push(body.label(*target)?);
                    }
                    let index = u32::try_from(body.code.tables.len()).unwrap_or(NONE);
                    body.code.tables.push(table);
                    body.fixups.tables.push(index);
                    body.scopes.declare(*name, Symbol::BranchTable(index))?;
                }
                Stmt::CallTargets { name, .. } => {
                    body.scopes.declare(*name, Symbol::CallTargets)?
                }
            }
        }
        // Control that reaches the closing brace returns.
        body.at(self.source, function.end_pos);
        isa::emit_return(body);
        body.end_block();
        resolve_labels(body);
        Ok(())
    }

    /// Gives the parameters their places.
    fn parameters(&mut self, body: &mut Body<'a>, function: &'a ast::Function<'a>) -> Checked<()> {
        if function.entry {
            if let Some(result) = function.returns.first() {
                return fail(
                    result.name.pos,
                    SemanticError::InvalidDeclaration {
                        name: function.name.text.to_owned(),
                        reason: "a kernel returns nothing",
                    },
                );
            }
            return self.kernel_parameters(body, function);
        }
        let (params, results) = body.signature_of(function)?;
        let (param_offsets, result_offsets) = isa::frame_layout(&params, &results);
        let formal = |offsets: &[u32], sizes: &[u32]| -> Vec<FormalParam> {
            offsets
                .iter()
                .zip(sizes)
                .map(|(&offset, &bytes)| FormalParam { offset, bytes })
                .collect()
        };
        body.function.params = formal(&param_offsets, &params);
        body.function.results = formal(&result_offsets, &results);
        let bytes: u64 = params
            .iter()
            .chain(&results)
            .map(|bytes| u64::from(bytes.next_multiple_of(16)))
            .sum();
        body.frame("a function'a parameters", bytes, 16, function.name.pos)?;
        for ((param, &offset), &bytes) in function.params.iter().zip(&param_offsets).zip(&params) {
            self.formal(body, param, offset, bytes, false)?;
        }
        for ((param, &offset), &bytes) in function.returns.iter().zip(&result_offsets).zip(&results)
        {
            self.formal(body, param, offset, bytes, true)?;
        }
        Ok(())
    }

    fn formal(
        &mut self,
        body: &mut Body<'a>,
        param: &Param<'a>,
        offset: u32,
        bytes: u32,
        result: bool,
    ) -> Checked<()> {
        if param.space == VarSpace::Param {
            return body.scopes.declare(
                param.name,
                Symbol::FrameParam {
                    offset,
                    bytes,
                    written: result,
                },
            );
        }
        let ty = declared_type(param.ty)?;
        let slot = body.fresh(ty, param.name.pos)?;
        body.scopes
            .declare(param.name, Symbol::Register { slot, ty })?;
        if result {
            body.register_results.push((slot, ty, offset));
        } else {
            isa::load_register_param(body, slot, ty, offset);
        }
        Ok(())
    }

    fn kernel_parameters(
        &mut self,
        body: &mut Body<'a>,
        function: &'a ast::Function<'a>,
    ) -> Checked<()> {
        let mut end = 0u64;
        for param in &function.params {
            if param.space != VarSpace::Param {
                return fail(
                    param.name.pos,
                    SemanticError::InvalidDeclaration {
                        name: param.name.text.to_owned(),
                        reason: "a kernel'a parameters are in .param space",
                    },
                );
            }
            let shape = shape(param.ty, param.name, param.align, 1, &param.dims)?;
            let offset = end.next_multiple_of(shape.align);
            end = offset.saturating_add(shape.bytes);
            if end > MAX_PARAM_BYTES {
                return fail(
                    param.name.pos,
                    SemanticError::TooLarge {
                        what: "the kernel'a parameters",
                        bytes: end,
                        limit: MAX_PARAM_BYTES,
                    },
                );
            }
            body.scopes.declare(
                param.name,
                Symbol::KernelParam {
                    offset: offset as u32,
                    bytes: shape.bytes as u32,
                },
            )?;
        }
        Ok(())
    }

    /// A declaration inside a body.
    fn local_variable(
        &mut self,
        body: &mut Body<'a>,
        function: &ast::Function<'a>,
        variable: &'a Variable<'a>,
    ) -> Checked<()> {
        let name = variable.name;
        match variable.space {
            VarSpace::Reg => {
                no_initialiser(variable)?;
                let ty = declared_type(variable.ty)?;
                if variable.vector > 1 {
                    return fail(
                        name.pos,
                        Unsupported::Declaration("vector registers".to_owned()),
                    );
                }
                if ty == Type::B8 || ty == Type::U8 || ty == Type::S8 {
                    return fail(
                        name.pos,
                        SemanticError::InvalidDeclaration {
                            name: name.text.to_owned(),
                            reason: "registers have 16 bits at least",
                        },
                    );
                }
                match variable.count {
                    Some(count) => body.scopes.declare_range(name, count, ty),
                    None => {
                        let slot = if ty == Type::B128 {
                            NONE
                        } else {
                            body.fresh(ty, name.pos)?
                        };
                        body.scopes.declare(name, Symbol::Register { slot, ty })
                    }
                }
            }
            VarSpace::Local | VarSpace::Param => {
                no_initialiser(variable)?;
                let shape = shape_of(variable)?;
                let what = if variable.space == VarSpace::Local {
                    "local memory"
                } else {
                    "a function'a parameters"
                };
                if variable.dims.iter().any(Option::is_none) {
                    return fail(
                        name.pos,
                        SemanticError::InvalidDeclaration {
                            name: name.text.to_owned(),
                            reason: "an array needs a size",
                        },
                    );
                }
                if shape.bytes > MAX_FRAME_BYTES && variable.space == VarSpace::Local {
                    return fail(
                        name.pos,
                        Unsupported::Limit {
                            what: "bytes of local memory",
                            count: shape.bytes,
                            limit: MAX_FRAME_BYTES,
                        },
                    );
                }
                let offset = body.frame(what, shape.bytes, shape.align.max(8), name.pos)?;
                let symbol = match variable.space {
                    VarSpace::Local => Symbol::FrameLocal { offset },
                    _ => Symbol::FrameParam {
                        offset,
                        bytes: shape.bytes as u32,
                        written: true,
                    },
                };
                body.scopes.declare(name, symbol)
            }
            VarSpace::Shared => {
                let symbol = self.shared(variable, !function.entry)?;
                body.scopes.declare(name, symbol)
            }
            VarSpace::Global | VarSpace::Const => fail(
                name.pos,
                Unsupported::Declaration(
                    ".global and .const variables inside a function".to_owned(),
                ),
            ),
        }
    }
}

/// Bytes of one formal parameter.
fn param_bytes(param: &Param<'_>) -> Checked<u32> {
    if param.space == VarSpace::Reg && declared_type(param.ty)? == Type::Pred {
        return fail(
            param.ty.pos,
            Unsupported::Declaration("predicate parameters".to_owned()),
        );
    }
    let shape = shape(param.ty, param.name, param.align, 1, &param.dims)?;
    if shape.bytes > MAX_PARAM_BYTES {
        return fail(
            param.name.pos,
            SemanticError::TooLarge {
                what: "a parameter",
                bytes: shape.bytes,
                limit: MAX_PARAM_BYTES,
            },
        );
    }
    Ok(shape.bytes as u32)
}

/// The labels of a body, by scope.
struct Labels<'a> {
    all: Vec<Label<'a>>,
    /// Label numbers of each scope, scopes in the order in which they open; the first is the body itself.
    scopes: Vec<Vec<u32>>,
}

impl<'a> Labels<'a> {
    fn collect(stmts: &[Stmt<'a>]) -> Self {
        let mut labels = Self {
            all: Vec::new(),
            scopes: vec![Vec::new()],
        };
        let mut open = vec![0usize];
        for stmt in stmts {
            match stmt {
                Stmt::Open(_) => {
                    open.push(labels.scopes.len());
                    labels.scopes.push(Vec::new());
                }
                Stmt::Close(_) => {
                    open.pop();
                }
                Stmt::Label(name) => {
                    let number = u32::try_from(labels.all.len()).unwrap_or(NONE);
                    labels.all.push(Label {
                        name: *name,
                        at: None,
                    });
                    if let Some(scope) = open.last().and_then(|scope| labels.scopes.get_mut(*scope))
                    {
                        scope.push(number);
                    }
                }
                _ => {}
            }
        }
        labels
    }
}

fn declare_labels(body: &mut Body<'_>, labels: Option<&Vec<u32>>) -> Checked<()> {
    for &number in labels.into_iter().flatten() {
        if let Some(label) = body.labels.get(number as usize).copied() {
            body.scopes.declare(label.name, Symbol::Label(number))?;
        }
    }
    Ok(())
}

/// Turns label numbers into micro-op indices.
fn resolve_labels(body: &mut Body<'_>) {
    let at = |labels: &[Label<'_>], number: u32| {
        labels
            .get(number as usize)
            .and_then(|label| label.at)
            .unwrap_or(NONE)
    };
    for &branch in &body.fixups.branches {
        if let Some(Op::Branch { target } | Op::BranchIf { target, .. }) =
            body.code.ops.get_mut(branch as usize)
        {
            *target = at(&body.labels, *target);
        }
    }
    for &table in &body.fixups.tables {
        for target in body
            .code
            .tables
            .get_mut(table as usize)
            .into_iter()
            .flatten()
        {
            *target = at(&body.labels, *target);
        }
    }
}

impl<'a> Body<'a> {
    /// The predicate of a guard.
    pub(crate) fn guard_register(&mut self, guard: Guard<'a>) -> Checked<u32> {
        let (slot, ty) = self.register(guard.predicate)?;
        if ty == Type::Pred {
            return Ok(slot);
        }
        let name: Name<'_> = guard.predicate;
        fail(
            name.pos,
            SemanticError::TypeMismatch {
                name: name.text.to_owned(),
                declared: ty.word(),
                needed: "pred",
            },
        )
    }

    /// Sizes of a function'a parameters and results.
    pub(crate) fn signature_of(
        &self,
        function: &ast::Function<'_>,
    ) -> Checked<(Vec<u32>, Vec<u32>)> {
        let mut params = Vec::new();
        for param in &function.params {
            params.push(param_bytes(param)?);
        }
        let mut results = Vec::new();
        for param in &function.returns {
            results.push(param_bytes(param)?);
        }
        Ok((params, results))
    }
}

/// Checks one instruction and emits its micro-ops, under its guard.
fn instruction<'a>(body: &mut Body<'a>, instr: &'a Instr<'a>) -> Checked<()> {
    let opcode = instr.opcode;
    let Some((rule, guarding)) = isa::find(opcode.text) else {
        return if isa::is_unimplemented(opcode.text) {
            fail(opcode.pos, Unsupported::Instruction(opcode.text.to_owned()))
        } else {
            fail(
                opcode.pos,
                SemanticError::UnknownInstruction(opcode.text.to_owned()),
            )
        };
    };
    let words = body
        .ast
        .modifiers
        .get(instr.modifiers.start as usize..instr.modifiers.end as usize)
        .unwrap_or_default();
    let inst = super::body::Inst {
        opcode,
        modifiers: Modifiers::new(opcode, words),
        operands: body.nested(instr.operands),
        guard: instr.guard,
    };
    let Some(guard) = instr.guard else {
        return rule(body, inst);
    };
    let pred = body.guard_register(guard)?;
    match guarding {
        Guarding::Own => rule(body, inst),
        Guarding::Mask => {
            let at = body.code.ops.len();
            body.emit(Op::Guard {
                pred,
                negated: guard.negated,
                skip: 0,
            });
            rule(body, inst)?;
            body.emit(Op::Unguard);
            let skip = u32::try_from(body.code.ops.len() - at - 1).unwrap_or(NONE);
            if let Some(op) = body.code.ops.get_mut(at) {
                *op = Op::Guard {
                    pred,
                    negated: guard.negated,
                    skip,
                };
            }
            Ok(())
        }
        Guarding::Branch => {
            let at = body.code.ops.len();
            body.emit(Op::BranchIf {
                pred,
                negated: !guard.negated,
                target: NONE,
            });
            body.begin_block();
            rule(body, inst)?;
            body.begin_block();
            let target = body.here() - 1;
            if let Some(op) = body.code.ops.get_mut(at) {
                *op = Op::BranchIf {
                    pred,
                    negated: !guard.negated,
                    target,
                };
            }
            Ok(())
        }
    }
}
