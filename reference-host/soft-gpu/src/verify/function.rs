//! One `.entry` or `.func`: parameters, statements, labels.

use super::body::{Body, Prototype, sizes};
use super::directives::LaunchBounds;
use super::error::{Checked, SemanticError, Unsupported, fail};
use super::formal::{Layout, formals};
use super::instruction::instruction;
use super::isa;
use super::labels::{Chain, Labels, declare_labels, resolve_labels};
use super::module::{DeclaredFunction, Verifier};
use super::special::is_special_name;
use super::symbols::{ParamRole, Symbol};
use super::variable::{declared_type, no_initialiser, parameter_type, shape_of, valid_alignment};
use crate::ast::{self, Linkage, Param, Stmt, VarSpace, Variable};
use crate::code::{FormalParam, Function, NONE};
use crate::limits::MAX_FRAME_BYTES;
use crate::module::Entry;
use crate::pool;
use crate::types::Type;

impl<'a> Verifier<'a> {
    /// A function's declaration or definition.
    pub(crate) fn function(&mut self, function: &'a ast::Function<'a>) -> Checked<()> {
        let index = self.declare_function(function)?;
        let bounds = self.directives(function)?;
        if function.body.is_none() {
            return Ok(());
        }
        if let Some(declared) = self.declared.get_mut(index as usize) {
            declared.defined = true;
        }
        let stmts = self.ast.body(function);
        self.running = index;
        self.scopes.open();
        self.scopes
            .expect(stmts.iter().filter(|s| s.declares()).count());
        self.scopes.forget_registers();
        self.module.kernel_shared_cursor = self.common_shared_bytes;
        let mut lowered = self.body(function, stmts)?;
        self.scopes.close();
        if function.entry {
            let entry = self.entry(function, index, lowered.frame_bytes, bounds)?;
            crate::lower::hoist(self.code(), &mut lowered, entry.param_bytes);
            self.add_entry(entry);
        }
        if let Some(place) = self.code().functions.get_mut(index as usize) {
            *place = lowered;
        }
        Ok(())
    }

    /// Declares the function's name, or checks it against its earlier declaration.
    fn declare_function(&mut self, function: &'a ast::Function<'a>) -> Checked<u32> {
        let name = function.name;
        if is_special_name(name.text) {
            return fail(name.pos, SemanticError::Duplicate(name.text.to_owned()));
        }
        let new = DeclaredFunction {
            name,
            entry: function.entry,
            linkage: function.linkage,
            noreturn: function
                .directives
                .iter()
                .any(|(name, _)| name.text == "noreturn"),
            defined: false,
            params: formals(&function.params, self.ast.version, self.target)?,
            results: formals(&function.returns, self.ast.version, self.target)?,
        };
        self.parameter_forms(function)?;
        if new.linkage == Linkage::Extern && function.body.is_some() {
            return fail(
                name.pos,
                SemanticError::InvalidDeclaration {
                    name: name.text.to_owned(),
                    reason: "an .extern function is defined elsewhere",
                },
            );
        }
        if !function.entry
            && let Some(param) = function.params.iter().find(|param| param.ptr)
        {
            return fail(
                param.ty.pos,
                SemanticError::InvalidDeclaration {
                    name: param.name.text.to_owned(),
                    reason: ".ptr stands on parameters of kernels only",
                },
            );
        }
        if let Some(super::symbols::Resolved::Symbol(Symbol::Function(index))) =
            self.scopes.resolve(name.text)
            && let Some(old) = self.declared.get(index as usize)
        {
            if old.defined {
                return fail(name.pos, SemanticError::Duplicate(name.text.to_owned()));
            }
            // A function declared .visible or .weak stays so where its definition does not repeat it.
            let linked = old.linkage == new.linkage
                || (matches!(old.linkage, Linkage::Visible | Linkage::Weak)
                    && new.linkage == Linkage::Internal);
            if !linked
                || old.noreturn != new.noreturn
                || old.entry != new.entry
                || old.params != new.params
                || old.results != new.results
            {
                return fail(
                    name.pos,
                    SemanticError::DeclarationMismatch(name.text.to_owned()),
                );
            }
            return Ok(index);
        }
        let index = u32::try_from(self.declared.len()).unwrap_or(NONE);
        self.scopes.declare(name, Symbol::Function(index))?;
        pool::push(&mut self.declared, new);
        pool::push(&mut self.code().names, name.text.to_owned());
        let empty = Function {
            start: NONE,
            ..Function::default()
        };
        pool::push(&mut self.code().functions, empty);
        Ok(index)
    }

    /// Checks what parameters and results of a function alone must not be.
    fn parameter_forms(&self, function: &ast::Function<'a>) -> Checked<()> {
        let invalid = |param: &Param<'a>, reason| {
            fail(
                param.name.pos,
                SemanticError::InvalidDeclaration {
                    name: param.name.text.to_owned(),
                    reason,
                },
            )
        };
        for param in function.returns.iter().chain(&function.params) {
            if param.name.text == "_" {
                return invalid(param, "only a prototype's parameters have no names");
            }
            if param.dims.contains(&None) {
                if function.entry {
                    return invalid(param, "a kernel's parameter needs a size");
                }
                self.requires(param.name.pos, "a parameter without a size", (6, 0), 30)?;
            }
            if self.target < 20 && !function.entry && param.space == VarSpace::Param {
                return invalid(param, "functions take registers alone below sm_20");
            }
        }
        if let [_, second, ..] = function.returns.as_slice()
            && function
                .returns
                .iter()
                .any(|result| result.space == VarSpace::Param)
        {
            return invalid(second, "several results are in .reg space");
        }
        match function
            .returns
            .iter()
            .find(|result| result.dims.contains(&None))
        {
            Some(result) => invalid(result, "a result needs a size"),
            None => Ok(()),
        }
    }

    /// Lays out a kernel's parameters.
    fn entry(
        &self,
        function: &ast::Function<'a>,
        index: u32,
        local_bytes: u32,
        bounds: LaunchBounds,
    ) -> Checked<Entry> {
        let mut layout = Layout::default();
        let params = function.params.iter().map(|param| layout.place(param));
        let params = params.collect::<Checked<Vec<_>>>()?;
        Ok(Entry {
            name: function.name.text.to_owned(),
            function: index,
            params,
            param_bytes: layout.bytes(),
            static_shared_bytes: self.module.kernel_shared_cursor as u32,
            local_bytes,
            bounds,
        })
    }

    /// Lowers a body and returns the function it makes.
    fn body(
        &mut self,
        function: &'a ast::Function<'a>,
        stmts: &'a [Stmt<'a>],
    ) -> Checked<Function> {
        let labels = Labels::collect(&self.ast.labels, stmts);
        let code = std::mem::take(&mut self.module.code);
        let scopes = std::mem::take(&mut self.scopes);
        let mut body = Body::new(self.ast, scopes, code, function.entry, self.target);
        body.labels = labels.all;
        body.declared = std::mem::take(&mut self.declared);
        body.at(function.name.pos);
        let result = self.statements(&mut body, function, stmts, &labels.of_scopes);
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
        labels: &[Chain],
    ) -> Checked<()> {
        body.function.start = body.here();
        body.begin_block();
        self.parameters(body, function)?;
        let mut next_scope = 1usize;
        let mut frame_ends = Vec::new();
        declare_labels(body, labels.first())?;
        for stmt in stmts {
            match stmt {
                Stmt::Open => {
                    body.scopes.open();
                    frame_ends.push(body.frame_end());
                    declare_labels(body, labels.get(next_scope))?;
                    next_scope = next_scope.saturating_add(1);
                }
                Stmt::Close => {
                    body.scopes.close();
                    if let Some(end) = frame_ends.pop() {
                        body.shrink_frame(end);
                    }
                }
                Stmt::Variable(variable) => self.local_variable(body, function, variable)?,
                Stmt::Label(label) => {
                    let Some(&name) = self.ast.labels.get(*label as usize) else {
                        continue;
                    };
                    body.at(name.pos);
                    body.begin_block();
                    let label = body.label(name)?;
                    let here = body.here().saturating_sub(1);
                    if let Some(label) = body.labels.get_mut(label as usize) {
                        label.at = here;
                    }
                }
                Stmt::Instr(instr) => {
                    let Some(instr) = self.ast.instrs.get(*instr as usize) else {
                        continue;
                    };
                    body.at(instr.opcode.pos);
                    instruction(body, instr)?;
                }
                Stmt::CallPrototype(prototype) => {
                    for (name, _) in &prototype.directives {
                        self.directive_exists(*name)?;
                    }
                    let version = self.ast.version;
                    let lowered = Prototype {
                        params: formals(&prototype.params, version, self.target)?,
                        results: formals(&prototype.returns, version, self.target)?,
                    };
                    let index = u32::try_from(body.prototypes.len()).unwrap_or(NONE);
                    body.prototypes.push(lowered);
                    body.scopes
                        .declare(prototype.name, Symbol::Prototype(index))?;
                }
                Stmt::BranchTargets(list) => {
                    let mut table = Vec::with_capacity(list.targets.len());
                    for target in &list.targets {
                        table.push(body.label(*target)?);
                    }
                    let index = u32::try_from(body.code.tables.len()).unwrap_or(NONE);
                    body.code.tables.push(table);
                    body.fixups.tables.push(index);
                    body.scopes.declare(list.name, Symbol::BranchTable(index))?;
                }
                Stmt::CallTargets(list) => {
                    let function = body.call_targets(&list.targets)?;
                    body.scopes
                        .declare(list.name, Symbol::CallTargets(function))?;
                }
            }
        }
        // Control that reaches the closing brace returns.
        body.at(function.end_pos);
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
        let version = self.ast.version;
        let params = sizes(&formals(&function.params, version, self.target)?);
        let results = sizes(&formals(&function.returns, version, self.target)?);
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
        body.frame("bytes of a function's frame", bytes, 16, function.name.pos)?;
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
                    role: if result {
                        ParamRole::Result
                    } else {
                        ParamRole::Argument
                    },
                    ty: declared_type(param.ty)?,
                    array: !param.dims.is_empty(),
                    align: 0,
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
        let mut layout = Layout::default();
        for param in &function.params {
            let placed = layout.place(param)?;
            body.scopes.declare(
                param.name,
                Symbol::KernelParam {
                    offset: placed.offset_bytes,
                    bytes: placed.size_bytes,
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
        self.type_has_come(variable)?;
        match variable.space {
            VarSpace::Reg => {
                no_initialiser(variable)?;
                let ty = declared_type(variable.ty)?;
                if let Some(align) = variable.align() {
                    valid_alignment(align, name.pos)?;
                }
                if !variable.dims().is_empty() {
                    return fail(
                        name.pos,
                        SemanticError::InvalidDeclaration {
                            name: name.text.to_owned(),
                            reason: "there are no arrays of registers",
                        },
                    );
                }
                if variable.vector > 1 {
                    return vector_register(body, variable, ty);
                }
                match variable.count() {
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
                if variable.space == VarSpace::Param {
                    self.requires(name.pos, "a .param variable of a body", (2, 0), 0)?;
                    parameter_type(variable.ty)?;
                }
                let shape = shape_of(variable)?;
                let what = "bytes of a function's frame";
                if variable.dims().iter().any(Option::is_none) {
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
                        role: ParamRole::Passed,
                        ty: shape.ty,
                        array: !variable.dims().is_empty(),
                        align: shape.align.trailing_zeros() as u8,
                    },
                };
                body.scopes.declare(name, symbol)
            }
            VarSpace::Shared => {
                let symbol = self.shared(variable, !function.entry)?;
                body.scopes.declare(name, symbol)
            }
            VarSpace::Global | VarSpace::Const => {
                std::mem::swap(&mut self.scopes, &mut body.scopes);
                let result = self.initialised(variable, Some(function.name.text));
                std::mem::swap(&mut self.scopes, &mut body.scopes);
                result
            }
        }
    }
}

/// `.reg .v4 .f32 v;`
fn vector_register<'a>(body: &mut Body<'a>, variable: &'a Variable<'a>, ty: Type) -> Checked<()> {
    let name = variable.name;
    let reason = if ty == Type::Pred {
        "there are no vectors of predicates"
    } else if ty.bytes().saturating_mul(u32::from(variable.vector)) > 16 {
        "a vector has 128 bits at most"
    } else if variable.count().is_some() {
        return fail(
            name.pos,
            Unsupported::Declaration("ranges of vector registers".to_owned()),
        );
    } else {
        // Registers are given out in a row.
        let first = body.fresh(ty, name.pos)?;
        for _ in 1..variable.vector {
            body.fresh(ty, name.pos)?;
        }
        let count = variable.vector;
        return body
            .scopes
            .declare(name, Symbol::Vector { first, count, ty });
    };
    fail(
        name.pos,
        SemanticError::InvalidDeclaration {
            name: name.text.to_owned(),
            reason,
        },
    )
}
