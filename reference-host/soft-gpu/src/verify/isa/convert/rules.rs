//! Which modifiers a conversion between scalar types takes, needs and allows together, and where.

use super::super::super::body::Body;
use super::super::super::error::{Checked, SemanticError, fail};
use super::super::super::instruction::Inst;
use super::super::float::only_f32;
use super::Form;
use super::integers::is_superset;
use crate::exec::float::Rounding;
use crate::types::Type;

/// Whether a conversion may, must or cannot have a rounding to a float.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Need {
    Required,
    Allowed,
    None,
}

pub(super) fn check<'a>(
    body: &Body<'a>,
    inst: &Inst<'a>,
    form: Form,
    to: Type,
    from: Type,
) -> Checked<()> {
    let modifiers = &inst.modifiers;
    modifiers.refuse(&["rna"])?;
    only_f32(modifiers, form.flush && to != Type::F32, from)?;
    roundings(inst, form, to, from)?;
    let brain = to == Type::Bf16 || from == Type::Bf16;
    if brain {
        modifiers.refuse(&["sat"])?;
        for byte in [Type::U8, Type::S8] {
            if to == byte || from == byte {
                modifiers.check_type(byte, &[])?;
            }
        }
        match (to, from) {
            (Type::Bf16, Type::F32) => inst.requires(body, "bf16", (7, 0), 80)?,
            (Type::F32, Type::Bf16) if !form.flush => inst.requires(body, "bf16", (7, 1), 80)?,
            _ => inst.requires(body, "bf16", (7, 8), 90)?,
        }
    }
    if form.saturate && !to.is_float() && !from.is_float() && is_superset(to, from) {
        modifiers.refuse(&["sat"])?;
    }
    if form.relu || form.finite {
        let halves = matches!(to, Type::F16 | Type::Bf16) && from == Type::F32;
        clamps(body, inst, form, halves)?;
    }
    Ok(())
}

/// `.relu` and `.satfinite`, of a conversion that has them where `possible`.
pub(super) fn clamps<'a>(
    body: &Body<'a>,
    inst: &Inst<'a>,
    form: Form,
    possible: bool,
) -> Checked<()> {
    let either = matches!(form.rounding, Some(Rounding::Nearest | Rounding::Zero));
    if !possible || !either || form.flush || form.saturate {
        return inst.modifiers.refuse(&["relu", "satfinite"]);
    }
    if form.relu {
        inst.requires(body, "relu", (7, 0), 80)?;
    }
    if form.finite {
        inst.requires(body, "satfinite", (8, 1), 70)?;
    }
    Ok(())
}

fn roundings<'a>(inst: &Inst<'a>, form: Form, to: Type, from: Type) -> Checked<()> {
    let needs_integral = from.is_float() && !to.is_float();
    let takes_integral = needs_integral || (to.is_float() && to == from);
    let need = rounding_need(to, from);
    if needs_integral && form.integral.is_none() {
        return inst.modifiers.missing("one of .rni, .rzi, .rmi, .rpi");
    }
    if need == Need::Required && form.rounding.is_none() {
        return inst.modifiers.missing("one of .rn, .rz, .rm, .rp");
    }
    if (form.integral.is_some() && !takes_integral)
        || (form.rounding.is_some() && need == Need::None)
    {
        return fail(
            inst.opcode.pos,
            SemanticError::UnexpectedModifier {
                opcode: inst.opcode.text.to_owned(),
                modifier: "rounding".to_owned(),
            },
        );
    }
    Ok(())
}

fn rounding_need(to: Type, from: Type) -> Need {
    match (to.is_float(), from.is_float()) {
        (true, false) => Need::Required,
        (true, true) => match (to, from) {
            (Type::F32 | Type::F16 | Type::Bf16, Type::F64) => Need::Required,
            (Type::F16 | Type::Bf16, Type::F32) => Need::Required,
            (Type::Bf16, Type::Bf16) => Need::None,
            (Type::Bf16, _) | (_, Type::Bf16) => Need::Allowed,
            _ => Need::None,
        },
        _ => Need::None,
    }
}
