//! Addresses: `[…]` of loads and stores, and variables and functions taken by address.

use super::body::Body;
use super::error::{Checked, SemanticError, Unsupported, fail};
use super::operand::form;
use super::symbols::{ParamRole, Resolved, Symbol};
use crate::ast::{Name, Operand, OperandKind, Pos};
use crate::code::{Address, NONE, Op, Space};
use crate::exec::ops::LaneOp;
use crate::memory::{SHARED_BASE, function_address};
use crate::types::Type;

impl<'a> Body<'a> {
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
            if space != Space::Local {
                return fail(
                    operand.pos,
                    SemanticError::OperandForm {
                        expected: "a register or a variable in brackets",
                        found: "a number, which .local accesses alone take",
                    },
                );
            }
            let base = self.constant64(offset.cast_unsigned(), operand.pos)?;
            return Ok((
                space,
                Address {
                    base,
                    narrow: false,
                    offset: 0,
                    index: NONE,
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
                            index: NONE,
                        },
                    )),
                    // ptxas lets it wrap.
                    _ => fail(
                        operand.pos,
                        Unsupported::Declaration(format!(
                            "an address {offset} bytes from a local variable"
                        )),
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

    /// As [`Self::address`], for the accesses that may call an address `.unified`: one in a register, generic or global.
    ///
    /// The word promises that host and device see one address there, which changes nothing here.
    pub(crate) fn address_or_unified(
        &mut self,
        operand: &Operand<'a>,
        space: Space,
    ) -> Checked<(Space, Address)> {
        let OperandKind::UnifiedAddress { base, offset } = operand.kind else {
            return self.address(operand, space);
        };
        let in_register = matches!(self.symbol(base)?, Symbol::Register { .. });
        if !in_register || !matches!(space, Space::Generic | Space::Global) {
            return fail(
                operand.pos,
                SemanticError::OperandForm {
                    expected: "an address",
                    found: "a .unified address, which is a register's, generic or global",
                },
            );
        }
        let base = Some(base);
        let kind = OperandKind::Address { base, offset };
        let pos = operand.pos;
        self.address(&Operand { pos, kind }, space)
    }

    /// Refuses stores to a function's parameters, loads of its results, and guarded accesses to what a call passes.
    pub(crate) fn parameter_roles(
        &mut self,
        opcode: &str,
        operands: &[Operand<'a>],
        guarded: bool,
    ) -> Checked<()> {
        let (place, forbidden) = match opcode {
            "st" => (0, ParamRole::Argument),
            "ld" => (1, ParamRole::Result),
            _ => return Ok(()),
        };
        let Some(operand) = operands.get(place) else {
            return Ok(());
        };
        if let OperandKind::Address {
            base: Some(name), ..
        } = operand.kind
            && let Some(Resolved::Symbol(Symbol::FrameParam { role, .. })) =
                self.scopes.resolve(name.text)
            && (role == forbidden || (role == ParamRole::Passed && guarded))
        {
            return fail(
                name.pos,
                SemanticError::OperandForm {
                    expected: "a parameter for this access",
                    found: match role {
                        ParamRole::Result => "a result, which is only written",
                        ParamRole::Argument => "a parameter, which is only read",
                        ParamRole::Passed => "what a call passes, in an access with a guard",
                    },
                },
            );
        }
        Ok(())
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
                index: NONE,
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
        let (slot, ty) = match ty {
            // The assembler takes addresses of 8 and 16 bits for any space.
            Type::B8 | Type::U8 | Type::S8 | Type::B16 | Type::U16 | Type::S16 => {
                let wide = self.fresh(Type::B64, name.pos)?;
                let low = self.fresh(Type::B32, name.pos)?;
                let cut = if ty.bytes() == 1 {
                    LaneOp::Low8
                } else {
                    LaneOp::Low16
                };
                self.lane(cut, low, slot, 0, 0);
                self.lane(LaneOp::ZeroExtend, wide, low, 0, 0);
                (wide, Type::B64)
            }
            _ => (slot, ty),
        };
        let narrow = match ty {
            Type::B64 | Type::U64 | Type::S64 => false,
            Type::B32 | Type::U32 | Type::S32 if !wide_only => true,
            _ => return Self::mismatch(name, ty, Type::B64),
        };
        // In a device function, a parameter's address is one of its frame.
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
                index: NONE,
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
            _ if matches!(symbol, Symbol::Function(_)) => {
                return fail(
                    name.pos,
                    Unsupported::Declaration("a function as a number".to_owned()),
                );
            }
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
                let kernel = self
                    .declared
                    .get(function as usize)
                    .is_some_and(|it| it.entry);
                let (version, target) = if kernel { ((3, 1), 35) } else { ((2, 1), 20) };
                self.requires(name.pos, "the address of a function", target, version)?;
                self.used.push((function, name));
                function_address(function)
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
            Symbol::FrameParam {
                role: ParamRole::Passed,
                ..
            } => {
                return fail(
                    name.pos,
                    SemanticError::OperandForm {
                        expected: "something that has an address",
                        found: "a .param variable of the body",
                    },
                );
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
