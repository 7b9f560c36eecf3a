//! Special registers: which there are, and reading one as an operand.
//!
//! Source: PTX ISA, "Special Registers".

use super::body::Body;
use super::error::Checked;
use crate::ast::{Name, Operand, OperandKind};
use crate::code::{Axis, Op, Special, Special64};
use crate::exec::ops::LaneOp;
use crate::types::Type;

impl<'a> Body<'a> {
    /// A special register's value in a register of type `ty`.
    pub(super) fn special(
        &mut self,
        register: SpecialRegister,
        name: Name<'a>,
        ty: Type,
    ) -> Checked<u32> {
        let declared = if matches!(register, SpecialRegister::Wide(_)) {
            Type::U64
        } else {
            Type::U32
        };
        let narrowed = declared == Type::U32 && matches!(ty, Type::U16 | Type::B16 | Type::S16);
        if !ty.accepts(declared) && !narrowed {
            return Self::mismatch(name, declared, ty);
        }
        let slot = self.fresh(declared, name.pos)?;
        match register {
            SpecialRegister::Narrow(register) => self.emit(Op::Special { d: slot, register }),
            SpecialRegister::Wide(register) => self.emit(Op::Special64 { d: slot, register }),
            SpecialRegister::Constant(value) => return self.constant32(value, name.pos),
        }
        if narrowed {
            self.lane(LaneOp::Low16, slot, slot, 0, 0);
        }
        Ok(slot)
    }

    /// The special register that an operand of a 32-bit type names.
    pub(crate) fn special_of(&self, operand: &Operand<'_>, ty: Type) -> Option<Special> {
        let register = match operand.kind {
            OperandKind::Name(name) => special(name.text, None),
            OperandKind::Member(name, component) => special(name.text, Some(component.text)),
            _ => None,
        };
        match register {
            Some(SpecialRegister::Narrow(register)) if ty.accepts(Type::U32) => Some(register),
            _ => None,
        }
    }
}

/// A special register by its width.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SpecialRegister {
    Narrow(Special),
    Wide(Special64),
    Constant(u32),
}

/// The special register of that name and component.
pub(crate) fn special(name: &str, component: Option<&str>) -> Option<SpecialRegister> {
    let axis = match component {
        None => None,
        Some("x") => Some(Axis::X),
        Some("y") => Some(Axis::Y),
        Some("z") => Some(Axis::Z),
        Some(_) => return None,
    };
    Some(SpecialRegister::Narrow(match (name, axis) {
        ("%tid", Some(axis)) => Special::ThreadIndex(axis),
        ("%ntid", Some(axis)) => Special::BlockSize(axis),
        ("%ctaid", Some(axis)) => Special::BlockIndex(axis),
        ("%nctaid", Some(axis)) => Special::GridSize(axis),
        ("%laneid", None) => Special::Lane,
        ("%warpid", None) => Special::Warp,
        ("%nwarpid", None) => Special::WarpCount,
        ("%lanemask_eq", None) => Special::MaskEqual,
        ("%lanemask_lt", None) => Special::MaskLess,
        ("%lanemask_le", None) => Special::MaskLessEqual,
        ("%lanemask_gt", None) => Special::MaskGreater,
        ("%lanemask_ge", None) => Special::MaskGreaterEqual,
        ("%clock", None) => Special::Clock,
        ("%clock_hi", None) => Special::ClockHigh,
        ("%smid", None) => Special::Zero,
        ("%nsmid", None) => Special::One,
        ("%dynamic_smem_size", None) => Special::DynamicSharedBytes,
        ("%total_smem_size", None) => Special::TotalSharedBytes,
        ("%globaltimer_lo", None) => Special::Clock,
        ("%globaltimer_hi", None) => Special::ClockHigh,
        ("%clock64", None) => return Some(SpecialRegister::Wide(Special64::Clock)),
        ("%globaltimer", None) => return Some(SpecialRegister::Wide(Special64::Timer)),
        ("%gridid", None) => return Some(SpecialRegister::Wide(Special64::Zero)),
        ("WARP_SZ", None) => return Some(SpecialRegister::Constant(32)),
        _ => return None,
    }))
}

/// Whether nothing at module level may take the name.
pub(super) fn is_special_name(name: &str) -> bool {
    matches!(name, "%tid" | "%ntid" | "%ctaid" | "%nctaid") || special(name, None).is_some()
}
