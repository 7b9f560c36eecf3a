//! Vectors of registers in braces: which types may stand side by side, as ptxas has it.

use super::super::body::Body;
use super::super::error::{Checked, Unsupported, fail};
use super::super::special::special;
use super::super::symbols::Symbol;
use crate::ast::{Name, Operand, OperandKind};
use crate::types::{Kind, Type};

/// Checks that the registers of a vector go together, and says whether they count as bits: one register of bits among them
/// makes them so, whatever the others are, so that any instruction of their width takes them.
pub(super) fn are_bits<'a>(body: &mut Body<'a>, parts: &[Operand<'a>]) -> Checked<bool> {
    let mut common: Option<Type> = None;
    let mut mixed = false;
    let mut predicate = None;
    for part in parts {
        let Some((name, ty)) = register(body, part)? else {
            continue;
        };
        if ty == Type::Pred {
            predicate = Some(name);
        }
        let Some(first) = common else {
            common = Some(ty);
            continue;
        };
        mixed |= first != ty;
        common = Some(match together(first, ty) {
            Some(together) => together,
            None => return Body::mismatch(name, ty, first),
        });
    }
    if !mixed || common.is_none_or(|common| common.kind() != Kind::Bits) {
        return Ok(false);
    }
    match predicate {
        Some(name) => fail(
            name.pos,
            Unsupported::Declaration("a predicate in a vector".to_owned()),
        ),
        None => Ok(true),
    }
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
        _ => None,
    })
}

/// What two types of registers are together.
fn together(one: Type, other: Type) -> Option<Type> {
    // A predicate stands beside 32 bits.
    let bytes = |ty: Type| if ty == Type::Pred { 4 } else { ty.bytes() };
    if bytes(one) != bytes(other) {
        return None;
    }
    match (one.kind(), other.kind()) {
        (Kind::Bits, _) => Some(one),
        (_, Kind::Bits) => Some(other),
        (Kind::Signed | Kind::Unsigned, Kind::Signed | Kind::Unsigned) => Some(one),
        _ if one == other => Some(one),
        _ => None,
    }
}
