//! Operands of instructions: registers, literals, predicates.

use super::body::Body;
use super::error::{Checked, SemanticError, Unsupported, fail};
use super::special::{SpecialRegister, special};
use super::symbols::Symbol;
use crate::ast::{FloatLit, Name, Operand, OperandKind, Pos, Wide};
use crate::code::LaneOpOf;
use crate::exec::ops::LaneOp;
use crate::types::{Kind, Type};

impl<'a> Body<'a> {
    /// A destination register of type `ty`, or `_`, which gives one that nobody reads.
    pub(crate) fn dest_or_sink(&mut self, operand: &Operand<'a>, ty: Type) -> Checked<u32> {
        match operand.kind {
            OperandKind::Sink => self.fresh(ty, operand.pos),
            _ => self.dest(operand, ty),
        }
    }

    /// A destination register of type `ty`.
    pub(crate) fn dest(&mut self, operand: &Operand<'a>, ty: Type) -> Checked<u32> {
        match operand.kind {
            OperandKind::Name(name) | OperandKind::Member(name, _) => {
                let (slot, declared) = self.register_of(operand, name)?;
                if ty.accepts(declared) {
                    Ok(slot)
                } else {
                    Self::mismatch(name, declared, ty)
                }
            }
            ref other => fail(
                operand.pos,
                SemanticError::OperandForm {
                    expected: "a destination register",
                    found: form(other),
                },
            ),
        }
    }

    /// The register that an operand is: `name`, or one component of it.
    fn register_of(&mut self, operand: &Operand<'a>, name: Name<'a>) -> Checked<(u32, Type)> {
        let OperandKind::Member(_, component) = operand.kind else {
            return self.register(name);
        };
        let place = ["xr", "yg", "zb", "wa"]
            .iter()
            .position(|words| component.text.len() == 1 && words.contains(component.text));
        match (self.symbol(name)?, place) {
            (Symbol::Vector { first, count, ty }, Some(place)) if place < usize::from(count) => {
                let place = u32::try_from(place).unwrap_or(0);
                return Ok((first.saturating_add(place), ty));
            }
            (symbol, Some(_)) if symbol.form() == "a variable" => {
                return fail(
                    name.pos,
                    Unsupported::Declaration("a component of a variable in memory".to_owned()),
                );
            }
            _ => {}
        }
        fail(
            name.pos,
            SemanticError::UnknownSymbol(format!("{}.{}", name.text, component.text)),
        )
    }

    /// A destination register that may be wider than `ty`, and its declared type.
    pub(crate) fn dest_wider(&mut self, operand: &Operand<'a>, ty: Type) -> Checked<(u32, Type)> {
        match operand.kind {
            OperandKind::Name(name) | OperandKind::Member(name, _) => {
                let (slot, declared) = self.register_of(operand, name)?;
                if ty.accepts_wider(declared) {
                    Ok((slot, plain(declared, ty)))
                } else {
                    Self::mismatch(name, declared, ty)
                }
            }
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
        let name = match operand.kind {
            OperandKind::Name(name) => name,
            OperandKind::Member(name, _) => name,
            OperandKind::NameOffset(name, offset) => {
                return self.sum(operand, name, offset, ty);
            }
            _ => return self.literal(operand, ty),
        };
        match self.special_register(operand) {
            Some(SpecialRegister::Constant(value)) => self.constant32(value, name.pos),
            Some(_) => fail(
                name.pos,
                SemanticError::OperandForm {
                    expected: "a register or a literal",
                    found: "a special register, which only `mov` takes",
                },
            ),
            None => self.plain_source(operand, name, ty),
        }
    }

    /// `%r1+4` as a source: the ISA has it in addresses alone, but the assembler adds the number to the register of whatever integer
    /// instruction.
    fn sum(
        &mut self,
        operand: &Operand<'a>,
        name: Name<'a>,
        offset: i64,
        ty: Type,
    ) -> Checked<u32> {
        if special(name.text, None).is_some() {
            return fail(
                operand.pos,
                Unsupported::Declaration("a special register plus a number".to_owned()),
            );
        }
        let Symbol::Register { ty: declared, .. } = self.symbol(name)? else {
            return self.literal(operand, ty);
        };
        if ty.is_float() || !matches!(ty.bytes(), 4 | 8) || !ty.accepts(declared) {
            // Of other types ptxas takes it too, and says nowhere what it is.
            return fail(
                operand.pos,
                Unsupported::Declaration(format!(
                    "a register plus a number where type .{} is needed",
                    ty.word()
                )),
            );
        }
        let register = self.plain_source(operand, name, ty)?;
        let offset = self.constant(offset.cast_unsigned(), ty, operand.pos)?;
        let sum = self.fresh(ty, operand.pos)?;
        let op: LaneOpOf = if ty.bytes() == 8 {
            LaneOp::AddI64
        } else {
            LaneOp::AddI32
        };
        self.lane(op, sum, register, offset, 0);
        Ok(sum)
    }

    /// A source of 32 bits that counts something: an integer or bits, no float of any kind.
    pub(crate) fn count(&mut self, operand: &Operand<'a>) -> Checked<u32> {
        self.no_floats(std::slice::from_ref(operand))?;
        self.source(operand, Type::U32)
    }

    /// Refuses registers of floats, even of the right width, and literals of floats.
    pub(crate) fn no_floats(&mut self, operands: &[Operand<'a>]) -> Checked<()> {
        for operand in operands {
            match operand.kind {
                OperandKind::Name(name) if self.special_register(operand).is_none() => {
                    if let Symbol::Register { ty, .. } = self.symbol(name)?
                        && ty.is_float()
                    {
                        let integer = if ty.bytes() == 8 {
                            Type::U64
                        } else {
                            Type::U32
                        };
                        return Self::mismatch(name, ty, integer);
                    }
                }
                OperandKind::Float(_) => {
                    return fail(
                        operand.pos,
                        SemanticError::OperandForm {
                            expected: "a register or an integer",
                            found: form(&operand.kind),
                        },
                    );
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Refuses an integer that is not between two others; registers may hold what they will.
    pub(crate) fn within(
        operand: &Operand<'a>,
        what: &'static str,
        range: std::ops::RangeInclusive<i128>,
    ) -> Checked<()> {
        match operand.kind {
            OperandKind::Int(value) if !range.contains(&value.get()) => fail(
                operand.pos,
                SemanticError::OutOfRange {
                    what,
                    value: value.get().to_string(),
                },
            ),
            _ => Ok(()),
        }
    }

    /// What `mov` may read: also a special register.
    pub(crate) fn movable(&mut self, operand: &Operand<'a>, ty: Type) -> Checked<u32> {
        match (operand.kind, self.special_register(operand)) {
            (OperandKind::Name(name) | OperandKind::Member(name, _), Some(special)) => {
                self.special(special, name, ty)
            }
            _ => self.source(operand, ty),
        }
    }

    fn special_register(&self, operand: &Operand<'_>) -> Option<SpecialRegister> {
        match operand.kind {
            OperandKind::Name(name) => special(name.text, None),
            OperandKind::Member(name, component) => special(name.text, Some(component.text)),
            _ => None,
        }
    }

    fn plain_source(&mut self, operand: &Operand<'a>, name: Name<'a>, ty: Type) -> Checked<u32> {
        if matches!(self.symbol(name)?, Symbol::Function(_)) {
            // ptxas takes it for a number of any type.
            return fail(
                name.pos,
                Unsupported::Declaration("a function as a number".to_owned()),
            );
        }
        let (slot, declared) = self.register_of(operand, name)?;
        if ty.accepts(declared) {
            Ok(slot)
        } else {
            Self::mismatch(name, declared, ty)
        }
    }

    /// A source whose register may be wider than `ty`, and its declared type.
    pub(crate) fn source_wider(&mut self, operand: &Operand<'a>, ty: Type) -> Checked<(u32, Type)> {
        if let OperandKind::Name(name) | OperandKind::Member(name, _) = operand.kind
            && self.special_register(operand).is_none()
        {
            let (slot, declared) = self.register_of(operand, name)?;
            return if ty.accepts_wider(declared) {
                Ok((slot, plain(declared, ty)))
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
        if matches!(ty, Type::F16 | Type::F16x2 | Type::Bf16 | Type::Bf16x2) {
            return fail(
                operand.pos,
                SemanticError::OperandForm {
                    expected: "a register",
                    found: form(&operand.kind),
                },
            );
        }
        let bits = match (operand.kind, ty.kind()) {
            (OperandKind::Int(Wide(value)), Kind::Pred) => {
                return self.constant_predicate(value != 0, operand.pos);
            }
            (OperandKind::Int(Wide(value)), Kind::Bits | Kind::Signed | Kind::Unsigned) => {
                value as u64
            }
            (OperandKind::Float(float), Kind::Float) if ty.bytes() >= 4 => float_bits(float, ty),
            (OperandKind::Float(FloatLit::Single(bits)), Kind::Bits) if ty.bytes() == 4 => {
                u64::from(bits)
            }
            (OperandKind::Float(FloatLit::Double(bits)), Kind::Bits) if ty.bytes() == 8 => bits,
            (OperandKind::Float(_), Kind::Bits) if ty.bytes() >= 4 => {
                return fail(
                    operand.pos,
                    SemanticError::OperandForm {
                        expected: "a register or a literal of the operand's width",
                        found: "a floating-point literal of another width",
                    },
                );
            }
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

    /// A predicate that holds `value` in every lane.
    pub(super) fn constant_predicate(&mut self, value: bool, pos: Pos) -> Checked<u32> {
        let slot = self.fresh(Type::Pred, pos)?;
        self.lane(LaneOp::XorPred, slot, slot, slot, 0);
        if value {
            self.lane(LaneOp::NotPred, slot, slot, slot, 0);
        }
        Ok(slot)
    }
}

/// The declared type of a register that stands for an integer of type `ty`: a pair of halves counts as bits.
fn plain(declared: Type, ty: Type) -> Type {
    if declared == Type::F16x2 && ty.is_integer() {
        Type::B32
    } else {
        declared
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
        OperandKind::UnifiedAddress { .. } => "a .unified address",
        OperandKind::Vector(_) => "a vector",
        OperandKind::List(_) => "a parenthesised list",
        OperandKind::Pair(..) => "a pair of destinations",
        OperandKind::Sink => "`_`",
    }
}
