//! Control flow.
//!
//! Source: PTX ISA, "Control Flow Instructions" and "Miscellaneous Instructions".

use super::super::body::{Body, Prototype, sizes};
use super::super::error::{Checked, SemanticError, fail};
use super::super::instruction::Inst;
use super::super::module::Formal;
use super::super::operand::form;
use super::super::symbols::{ParamRole, Symbol};
use crate::ast::{Name, Operand, OperandKind};
use crate::code::{Access, Address, CallSite, Element, NONE, Op, Passing, Space};
use crate::exec::ops::LaneOp;
use crate::types::Type;

/// The name that an operand is.
fn name_of<'a>(operand: &Operand<'a>, expected: &'static str) -> Checked<Name<'a>> {
    match operand.kind {
        OperandKind::Name(name) => Ok(name),
        ref other => fail(
            operand.pos,
            SemanticError::OperandForm {
                expected,
                found: form(other),
            },
        ),
    }
}

pub(super) fn bra<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    inst.modifiers.take("uni");
    inst.modifiers.end()?;
    inst.arity(1)?;
    let label = body.label(name_of(inst.operand(0)?, "a label")?)?;
    let here = body.here();
    body.fixups.branches.push(here);
    match inst.guard {
        None => body.emit(Op::Branch { target: label }),
        Some(guard) => {
            let pred = body.guard_register(guard)?;
            body.emit(Op::BranchIf {
                pred,
                negated: guard.negated,
                target: label,
            });
        }
    }
    body.begin_block();
    Ok(())
}

pub(super) fn brx<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    inst.modifiers.need_one(&["idx"], ".idx")?;
    inst.modifiers.take("uni");
    inst.modifiers.end()?;
    inst.arity(2)?;
    let index = body.count(inst.operand(0)?)?;
    let name = name_of(inst.operand(1)?, "a branch target list")?;
    let table = match body.symbol(name)? {
        Symbol::BranchTable(table) => table,
        other => {
            return fail(
                name.pos,
                SemanticError::OperandForm {
                    expected: "a branch target list",
                    found: other.form(),
                },
            );
        }
    };
    body.emit(Op::BranchIndex { index, table });
    body.begin_block();
    Ok(())
}

pub(super) fn ret<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    inst.modifiers.take("uni");
    inst.modifiers.end()?;
    inst.arity(0)?;
    emit_return(body);
    body.begin_block();
    Ok(())
}

/// Stores register results to the frame and returns.
pub(crate) fn emit_return(body: &mut Body<'_>) {
    for (slot, ty, offset) in body.register_results.clone() {
        store_to_frame(body, slot, ty, offset);
    }
    body.emit(Op::Return);
}

fn store_to_frame(body: &mut Body<'_>, slot: u32, ty: Type, offset: u32) {
    let Some(element) = Element::of(ty) else {
        return;
    };
    let list = body.list(&[slot]);
    let address = Address {
        base: NONE,
        narrow: false,
        offset: offset.cast_signed(),
        index: NONE,
    };
    body.emit(Op::Store(Access {
        space: Space::Frame,
        element,
        count: 1,
        list,
        address,
    }));
}

fn load_from_frame(body: &mut Body<'_>, slot: u32, ty: Type, offset: u32) {
    let Some(element) = Element::of(ty) else {
        return;
    };
    let list = body.list(&[slot]);
    let address = Address {
        base: NONE,
        narrow: false,
        offset: offset.cast_signed(),
        index: NONE,
    };
    body.emit(Op::Load(Access {
        space: Space::Frame,
        element,
        count: 1,
        list,
        address,
    }));
}

/// Loads a `.reg` parameter from the frame, at a function's start.
pub(crate) fn load_register_param(body: &mut Body<'_>, slot: u32, ty: Type, offset: u32) {
    load_from_frame(body, slot, ty, offset);
}

pub(super) fn exit<'a>(body: &mut Body<'a>, inst: Inst<'a>) -> Checked<()> {
    inst.modifiers.end()?;
    inst.arity(0)?;
    body.emit(Op::Exit);
    body.begin_block();
    Ok(())
}

pub(super) fn trap<'a>(body: &mut Body<'a>, inst: Inst<'a>) -> Checked<()> {
    inst.modifiers.end()?;
    inst.arity(0)?;
    body.emit(Op::Trap);
    Ok(())
}

pub(super) fn nanosleep<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    inst.modifiers.type_of(&[Type::U32])?;
    inst.modifiers.end()?;
    inst.arity(1)?;
    body.count(inst.operand(0)?)?;
    Ok(())
}

pub(super) fn pmevent<'a>(_: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    let most = if inst.modifiers.take("mask") {
        0xFFFF
    } else {
        15
    };
    inst.modifiers.end()?;
    inst.arity(1)?;
    let event = inst.operand(0)?;
    if !matches!(event.kind, OperandKind::Int(_)) {
        return fail(
            event.pos,
            SemanticError::OperandForm {
                expected: "an integer",
                found: form(&event.kind),
            },
        );
    }
    Body::within(event, "number or mask of events", 0..=most)
}

/// The parts of a call: `{(results),} callee {, (arguments)} {, prototype}`.
struct CallParts<'a> {
    results: &'a [Operand<'a>],
    callee: &'a Operand<'a>,
    arguments: &'a [Operand<'a>],
    prototype: Option<Name<'a>>,
}

fn parts<'a>(body: &Body<'a>, inst: &Inst<'a>) -> Checked<CallParts<'a>> {
    let mut operands = inst.operands;
    let take_list = |operands: &mut &'a [Operand<'a>]| -> &'a [Operand<'a>] {
        if let Some((first, rest)) = operands.split_first()
            && let OperandKind::List(list) = first.kind
        {
            *operands = rest;
            return body.nested(list);
        }
        &[]
    };
    let results = take_list(&mut operands);
    let Some((callee, rest)) = operands.split_first() else {
        return inst
            .arity(1)
            .and_then(|()| inst.operand(1))
            .and_then(|_| inst.modifiers.missing("a function"));
    };
    operands = rest;
    let arguments = take_list(&mut operands);
    let prototype = match operands {
        [] => None,
        [prototype] => Some(name_of(prototype, "a call prototype")?),
        [_, extra, ..] => {
            return fail(
                extra.pos,
                SemanticError::OperandForm {
                    expected: "the end of the call",
                    found: form(&extra.kind),
                },
            );
        }
    };
    Ok(CallParts {
        results,
        callee,
        arguments,
        prototype,
    })
}

pub(super) fn call<'a>(body: &mut Body<'a>, mut inst: Inst<'a>) -> Checked<()> {
    inst.modifiers.take("uni");
    inst.modifiers.end()?;
    let parts = parts(body, &inst)?;
    let callee_name = name_of(parts.callee, "a function or a register")?;
    let (callee, results, params) = match body.symbol(callee_name)? {
        Symbol::Function(index) => {
            if let Some(prototype) = parts.prototype {
                return fail(
                    prototype.pos,
                    SemanticError::CallMismatch {
                        name: callee_name.text.to_owned(),
                        reason: "a call by name has no prototype",
                    },
                );
            }
            let called = body.declared.get(index as usize);
            if called.is_some_and(|called| called.entry) {
                return fail(
                    callee_name.pos,
                    SemanticError::OperandForm {
                        expected: "a device function",
                        found: "a kernel",
                    },
                );
            }
            body.used.push((index, callee_name));
            let (results, params) = body.signature(index);
            (Callee::Direct(index), results, params)
        }
        Symbol::Register { slot, ty } if matches!(ty.bytes(), 4 | 8) && !ty.is_float() => {
            // An assembler takes addresses of 32 bits too; no function has one.
            let slot = if ty.bytes() == 8 {
                slot
            } else {
                let wide = body.fresh(Type::B64, callee_name.pos)?;
                body.lane(LaneOp::ZeroExtend, wide, slot, 0, 0);
                wide
            };
            let Some(name) = parts.prototype else {
                return fail(
                    callee_name.pos,
                    SemanticError::CallMismatch {
                        name: callee_name.text.to_owned(),
                        reason: "an indirect call needs a prototype",
                    },
                );
            };
            match body.symbol(name)? {
                Symbol::Prototype(index) => {
                    let Prototype { results, params } = body
                        .prototypes
                        .get(index as usize)
                        .cloned()
                        .unwrap_or_default();
                    (Callee::Indirect(slot), results, params)
                }
                Symbol::CallTargets(function) => {
                    let (results, params) = body.signature(function);
                    (Callee::Indirect(slot), results, params)
                }
                other => {
                    return fail(
                        name.pos,
                        SemanticError::OperandForm {
                            expected: "a call prototype",
                            found: other.form(),
                        },
                    );
                }
            }
        }
        other => {
            return fail(
                callee_name.pos,
                SemanticError::OperandForm {
                    expected: "a function",
                    found: other.form(),
                },
            );
        }
    };
    let mismatch = |reason| {
        fail(
            callee_name.pos,
            SemanticError::CallMismatch {
                name: callee_name.text.to_owned(),
                reason,
            },
        )
    };
    if parts.arguments.len() != params.len() {
        return mismatch("the number of arguments differs");
    }
    if parts.results.len() != results.len() {
        return mismatch("the number of results differs");
    }
    let mut site = CallSite {
        callee: NONE,
        arguments: Vec::new(),
        results: Vec::new(),
    };
    let (param_offsets, result_offsets) = frame_layout(&sizes(&params), &sizes(&results));
    for ((operand, formal), callee_offset) in parts.arguments.iter().zip(&params).zip(param_offsets)
    {
        let caller_offset = argument(body, operand, formal)?;
        site.arguments.push(Passing {
            caller_offset,
            callee_offset,
            bytes: formal.bytes,
        });
    }
    let mut loads = Vec::new();
    for ((operand, formal), callee_offset) in parts.results.iter().zip(&results).zip(result_offsets)
    {
        let caller_offset = result(body, operand, formal, &mut loads)?;
        site.results.push(Passing {
            caller_offset,
            callee_offset,
            bytes: formal.bytes,
        });
    }
    let index = u32::try_from(body.code.sites.len()).unwrap_or(NONE);
    match callee {
        Callee::Direct(function) => {
            site.callee = function;
            body.emit(Op::Call { site: index });
        }
        Callee::Indirect(address) => body.emit(Op::CallIndirect {
            address,
            site: index,
        }),
    }
    body.code.sites.push(site);
    body.begin_block();
    for (slot, ty, offset) in loads {
        load_from_frame(body, slot, ty, offset);
    }
    Ok(())
}

enum Callee {
    Direct(u32),
    Indirect(u32),
}

/// Where a callee's parameters and results lie at the bottom of its frame: each at a multiple of 16, in order.
///
/// Caller and callee, which may be compiled apart, agree by both using this layout.
pub(crate) fn frame_layout(params: &[u32], results: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let mut next = 0u32;
    let mut place = |bytes: &u32| {
        let at = next;
        next = next.saturating_add(bytes.next_multiple_of(16));
        at
    };
    let params = params.iter().map(&mut place).collect();
    let results = results.iter().map(&mut place).collect();
    (params, results)
}

/// Where the caller's frame holds an operand that is a `.param` variable, which must be like the formal one.
fn passed_variable<'a>(
    body: &mut Body<'a>,
    operand: &Operand<'a>,
    formal: &Formal,
) -> Checked<Option<u32>> {
    let OperandKind::Name(name) = operand.kind else {
        return Ok(None);
    };
    let (reason, found) = match body.symbol(name)? {
        Symbol::FrameParam {
            offset,
            bytes,
            ty,
            array,
            align,
            role,
        } => {
            if !formal.takes(ty, bytes, array) {
                ("its type or size differs from the parameter's", None)
            } else if role == ParamRole::Passed
                && 1u64.checked_shl(align.into()) != Some(formal.align)
            {
                ("its alignment differs from the parameter's", None)
            } else {
                return Ok(Some(offset));
            }
        }
        Symbol::Register { ty, .. } if !formal.takes(ty, ty.bytes(), false) => {
            ("its type or size differs from the parameter's", Some(ty))
        }
        _ => return Ok(None),
    };
    match found {
        Some(ty) if ty.bytes() == formal.bytes && !formal.array => {
            Body::mismatch(name, ty, formal.ty)
        }
        _ => fail(
            operand.pos,
            SemanticError::CallMismatch {
                name: name.text.to_owned(),
                reason,
            },
        ),
    }
}

/// Room in the caller's frame for a value passed by register.
fn passed_register<'a>(body: &mut Body<'a>, operand: &Operand<'a>, bytes: u32) -> Checked<u32> {
    let size = u64::from(bytes);
    body.frame("bytes of a function's frame", size, size, operand.pos)
}

/// An actual argument as bytes of the caller's frame.
fn argument<'a>(body: &mut Body<'a>, operand: &Operand<'a>, formal: &Formal) -> Checked<u32> {
    if let Some(offset) = passed_variable(body, operand, formal)? {
        return Ok(offset);
    }
    let bytes = formal.bytes;
    let ty = word_of(operand, bytes)?;
    let slot = body.source(operand, ty)?;
    let offset = passed_register(body, operand, bytes)?;
    store_to_frame(body, slot, ty, offset);
    Ok(offset)
}

/// An actual result as bytes of the caller's frame; a register is loaded from them after the call.
fn result<'a>(
    body: &mut Body<'a>,
    operand: &Operand<'a>,
    formal: &Formal,
    loads: &mut Vec<(u32, Type, u32)>,
) -> Checked<u32> {
    if let Some(offset) = passed_variable(body, operand, formal)? {
        return Ok(offset);
    }
    let bytes = formal.bytes;
    let ty = word_of(operand, bytes)?;
    let slot = body.dest(operand, ty)?;
    let offset = passed_register(body, operand, bytes)?;
    loads.push((slot, ty, offset));
    Ok(offset)
}

/// The bit type of a value passed by register.
fn word_of(operand: &Operand<'_>, bytes: u32) -> Checked<Type> {
    match bytes {
        2 => Ok(Type::B16),
        4 => Ok(Type::B32),
        8 => Ok(Type::B64),
        _ => fail(
            operand.pos,
            SemanticError::OperandForm {
                expected: "a .param variable",
                found: form(&operand.kind),
            },
        ),
    }
}
