//! Vectors of registers in braces: which types may stand side by side, as ptxas has it.

use super::super::body::Body;
use super::super::error::{Checked, Unsupported, fail};
use super::super::special::special;
use super::super::symbols::Symbol;
use crate::ast::{Name, Operand, OperandKind};
use crate::types::{Kind, Type};

/// Checks that the registers of a vector go together, each with the one before it, and says whether they count as bits: they do where
/// they are not all of one type, and then any instruction of their width takes them.
pub(super) fn are_bits<'a>(body: &mut Body<'a>, parts: &[Operand<'a>]) -> Checked<bool> {
    let mut previous: Option<Type> = None;
    let mut mixed = false;
    let mut predicate = None;
    for part in parts {
        let Some((name, ty)) = register(body, part)? else {
            continue;
        };
        if ty == Type::Pred {
            predicate = Some(name);
        }
        if let Some(previous) = previous
            && previous != ty
        {
            if !go_together(previous, ty) {
                return Body::mismatch(name, ty, previous);
            }
            mixed = true;
        }
        previous = Some(ty);
    }
    match predicate {
        Some(name) if mixed => fail(
            name.pos,
            Unsupported::Declaration("a predicate in a vector".to_owned()),
        ),
        _ => Ok(mixed),
    }
}

/// The same of a vector that is loaded or stored, where integers pass for floats too.
pub(super) fn are_bits_in_memory<'a>(
    body: &mut Body<'a>,
    parts: &[Operand<'a>],
    ty: Type,
) -> Checked<bool> {
    if are_bits(body, parts)? {
        return Ok(true);
    }
    if parts.len() < 2 || !ty.is_float() {
        return Ok(false);
    }
    for part in parts {
        if let Some((_, declared)) = register(body, part)?
            && !(declared.is_integer() && declared.bytes() == ty.bytes())
        {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The type that a part of a vector of type `ty` is checked against.
pub(super) fn part_type(ty: Type, bits: bool, part: &Operand<'_>) -> Type {
    match part.kind {
        OperandKind::Name(_) if bits => ty.as_bits(),
        _ => ty,
    }
}

/// The register that a part of a vector is.
fn register<'a>(body: &mut Body<'a>, part: &Operand<'a>) -> Checked<Option<(Name<'a>, Type)>> {
    let OperandKind::Name(name) = part.kind else {
        return Ok(None);
    };
    if special(name.text, None).is_some() {
        return Ok(None);
    }
    Ok(match body.symbol(name)? {
        Symbol::Register { ty, .. } => Some((name, ty)),
        symbol if symbol.form() == "a variable" => {
            // ptxas takes it; what it then is stands nowhere.
            return fail(
                name.pos,
                Unsupported::Declaration("a variable of memory in a vector".to_owned()),
            );
        }
        _ => None,
    })
}

/// Whether registers of two types may stand side by side.
fn go_together(one: Type, other: Type) -> bool {
    // A predicate stands beside 32 bits.
    let bytes = |ty: Type| if ty == Type::Pred { 4 } else { ty.bytes() };
    let bits = one.kind() == Kind::Bits || other.kind() == Kind::Bits;
    bytes(one) == bytes(other) && (bits || (one.is_integer() && other.is_integer()))
}
