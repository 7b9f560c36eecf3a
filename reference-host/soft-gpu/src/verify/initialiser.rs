//! Initial values of `.global` and `.const` variables.

use super::error::{Checked, SemanticError, fail};
use super::module::Verifier;
use super::operand::float_bits;
use super::symbols::{Resolved, Symbol};
use super::variable::Shape;
use crate::ast::{self, FloatLit, InitValue, Name, Pos, VarSpace, Variable};
use crate::memory::{CONST_BASE, function_address};
use crate::types::{Kind, Type};

impl<'a> Verifier<'a> {
    /// Writes a variable's initial bytes.
    pub(super) fn initialise(
        &mut self,
        variable: &Variable<'a>,
        init: &ast::Init<'a>,
        start: usize,
        shape: &Shape,
    ) -> Checked<()> {
        let invalid = |pos, reason| {
            fail(
                pos,
                SemanticError::InvalidInitialiser {
                    name: variable.name.text.to_owned(),
                    reason,
                },
            )
        };
        let width = shape.ty.bytes() as usize;
        // Strides of nested braces, outermost first: array dimensions, then the elements of a vector type.
        let mut extents: Vec<u64> = variable
            .dims()
            .iter()
            .map(|dim| dim.unwrap_or(u64::MAX))
            .collect();
        if variable.vector > 1 {
            extents.push(u64::from(variable.vector));
        }
        if matches!(shape.ty, Type::F16 | Type::F16x2) {
            return invalid(init.pos, "a variable of a half-precision type has none");
        }
        if init.leaves.is_empty() && variable.dims().is_empty() {
            return invalid(init.pos, "a value is missing");
        }
        // Arrays may be initialised in part, the vectors in them may not.
        let vector = usize::from(variable.vector.max(1));
        if !init.leaves.len().is_multiple_of(vector) {
            return invalid(init.pos, "a vector needs all its elements");
        }
        init.for_each_path(|at, path| {
            let Some(leaf) = init.leaves.get(at) else {
                return Ok(());
            };
            if path.len() != extents.len() {
                return invalid(leaf.pos, "braces do not match the variable's dimensions");
            }
            let place = at.checked_rem(vector).unwrap_or(0);
            if vector > 1 && path.last().is_none_or(|last| *last as usize != place) {
                return invalid(leaf.pos, "a vector needs all its elements");
            }
            let mut index = 0u64;
            for (at, extent) in extents.iter().enumerate() {
                let here = path.get(at).copied().map_or(0, u64::from);
                if here >= *extent {
                    return invalid(leaf.pos, "more values than elements");
                }
                index = if at == 0 {
                    here
                } else {
                    index.saturating_mul(*extent).saturating_add(here)
                };
            }
            let bits = match (&leaf.value, shape.ty.kind()) {
                (InitValue::Int(value), Kind::Bits | Kind::Signed | Kind::Unsigned) => *value,
                (InitValue::Int(_), _) => {
                    return invalid(leaf.pos, "an integer cannot initialise this type");
                }
                (InitValue::Single(bits), Kind::Float | Kind::Bits) => {
                    float_bits(FloatLit::Single(*bits), shape.ty)
                }
                (InitValue::Double(bits), Kind::Float | Kind::Bits) => {
                    float_bits(FloatLit::Double(*bits), shape.ty)
                }
                (InitValue::Single(_) | InitValue::Double(_), _) => {
                    return invalid(
                        leaf.pos,
                        "a floating-point value cannot initialise this type",
                    );
                }
                (InitValue::Address(value), Kind::Unsigned) => {
                    let address = self.initial_address(value.name, value.generic, value.offset)?;
                    match value.mask {
                        // `0xFF00(name)` takes the byte under the mask.
                        Some(mask) if is_byte_mask(mask) && shape.ty != Type::U16 => {
                            (address & mask) >> mask.trailing_zeros()
                        }
                        Some(_) => {
                            return invalid(leaf.pos, "a mask covers one byte: 0xFF, 0xFF00, …");
                        }
                        None if width < 4 => {
                            return invalid(leaf.pos, "an address needs 32 bits at least");
                        }
                        None => address,
                    }
                }
                (InitValue::Address(_), _) => {
                    return invalid(leaf.pos, "an address cannot initialise this type");
                }
            };
            let image = if variable.space == VarSpace::Const {
                &mut self.module.const_image
            } else {
                &mut self.module.global_image
            };
            let offset = (index as usize).saturating_mul(width);
            if offset.saturating_add(width) as u64 > shape.bytes {
                return invalid(leaf.pos, "more values than elements");
            }
            image.write(
                start,
                offset,
                bits.to_le_bytes().get(..width).unwrap_or_default(),
            );
            Ok(())
        })
    }

    fn initial_address(&mut self, name: Name<'a>, generic: bool, offset: i64) -> Checked<u64> {
        let (address, function) = match self.scopes.resolve(name.text) {
            Some(Resolved::Symbol(symbol)) => match symbol {
                Symbol::Global { address } => (address, false),
                Symbol::Const { offset } => (
                    u64::from(offset) | if generic { CONST_BASE } else { 0 },
                    false,
                ),
                Symbol::Function(function) => {
                    self.requires(name.pos, "the address of a function as a value", (2, 1), 20)?;
                    self.used.push((function, name));
                    (function_address(function), true)
                }
                other => return unfit(name.pos, other.form()),
            },
            Some(Resolved::Fresh { .. }) => return unfit(name.pos, "a register"),
            None => return fail(name.pos, SemanticError::UnknownSymbol(name.text.to_owned())),
        };
        if function && (generic || offset != 0) {
            return unfit(name.pos, "an expression on a function");
        }
        Ok(address.wrapping_add_signed(offset))
    }
}

/// What cannot be an initial value.
fn unfit<T>(pos: Pos, found: &'static str) -> Checked<T> {
    fail(
        pos,
        SemanticError::OperandForm {
            expected: "a .global or .const variable, or a function",
            found,
        },
    )
}

fn is_byte_mask(mask: u64) -> bool {
    mask != 0 && mask.trailing_zeros().is_multiple_of(8) && mask >> mask.trailing_zeros() == 0xFF
}
