//! One instruction as the rules of `isa` see it, and its way through its guard.

use super::body::Body;
use super::error::{Checked, SemanticError, Unsupported, fail};
use super::isa::{self, Guarding, Rule};
use super::modifiers::Modifiers;
use crate::ast::{Guard, Instr, Name, Operand, Pos};
use crate::code::{NONE, Op};
use crate::types::Type;

/// One instruction as the rules of `isa` see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inst<'a> {
    pub(crate) opcode: Name<'a>,
    pub(crate) modifiers: Modifiers<'a>,
    pub(crate) operands: &'a [Operand<'a>],
    pub(crate) guard: Option<Guard<'a>>,
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

    /// Fails unless the source is of this `.version` or a later one, and for this `.target` or a higher one; `what` says what of
    /// the instruction needs it, the opcode itself where it is empty.
    pub(crate) fn requires(
        &self,
        body: &Body<'a>,
        what: &str,
        version: (u32, u32),
        target: u32,
    ) -> Checked<()> {
        let named = || {
            let blank = if what.is_empty() { "" } else { " " };
            format!("`{}`{blank}{what}", self.opcode.text)
        };
        if !has_come(body.ast.version, version) {
            let (major, minor) = version;
            return fail(
                self.opcode.pos,
                SemanticError::RequiresVersion {
                    what: named(),
                    major,
                    minor,
                },
            );
        }
        if body.target < target {
            return fail(
                self.opcode.pos,
                SemanticError::RequiresTarget {
                    what: named(),
                    target,
                },
            );
        }
        Ok(())
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
                        expected: at.saturating_add(1),
                        found,
                    },
                )
            }
        }
    }
}

/// Whether a source of version `have` has what came with version `since`: ptxas takes 5.1 for what became 6.0.
pub(crate) fn has_come(have: (u32, u32), since: (u32, u32)) -> bool {
    have >= since || (since == (6, 0) && have == (5, 1))
}

/// Checks one instruction and emits its micro-ops, under its guard.
pub(super) fn instruction<'a>(body: &mut Body<'a>, instr: &'a Instr<'a>) -> Checked<()> {
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
    let guard = body.ast.guards.get(instr.guard as usize).copied();
    let inst = Inst {
        opcode,
        modifiers: Modifiers::new(opcode, words),
        operands: body.nested(instr.operands),
        guard,
    };
    isa::since::check(body, &inst)?;
    body.parameter_roles(opcode.text, inst.operands, guard.is_some())?;
    for word in words {
        // What names a part of a space came with later versions than the spaces.
        let version = match word.text {
            "shared::cta" if opcode.text == "cp" => continue,
            "shared::cta" | "shared::cluster" => (7, 8),
            "param::entry" | "param::func" => (8, 3),
            _ => continue,
        };
        inst.requires(body, word.text, version, 0)?;
    }
    emit(body, inst, rule, guarding)?;
    isa::since::check_precision(body, &inst)
}

/// Emits an instruction's micro-ops, under its guard.
fn emit<'a>(body: &mut Body<'a>, inst: Inst<'a>, rule: Rule, guarding: Guarding) -> Checked<()> {
    let Some(guard) = inst.guard else {
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
            let skip = u32::try_from(body.code.ops.len().saturating_sub(at).saturating_sub(1))
                .unwrap_or(NONE);
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
            let target = body.here().saturating_sub(1);
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

/// Checks that a source of some version and target has `what`, which came with others.
pub(super) fn requires(
    (have_version, have_target): ((u32, u32), u32),
    pos: Pos,
    what: &str,
    (version, target): ((u32, u32), u32),
) -> Checked<()> {
    let cause = if !has_come(have_version, version) {
        let (major, minor) = version;
        SemanticError::RequiresVersion {
            what: what.to_owned(),
            major,
            minor,
        }
    } else if have_target < target {
        SemanticError::RequiresTarget {
            what: what.to_owned(),
            target,
        }
    } else {
        return Ok(());
    };
    fail(pos, cause)
}

impl<'a> Body<'a> {
    /// Checks that the module's target and version have `what`.
    pub(crate) fn requires(
        &self,
        pos: Pos,
        what: &str,
        target: u32,
        version: (u32, u32),
    ) -> Checked<()> {
        requires(
            (self.ast.version, self.target),
            pos,
            what,
            (version, target),
        )
    }

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
}
