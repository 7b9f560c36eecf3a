//! Special registers: which there are, and reading one as an operand.
//!
//! A block is a cluster of its own here, nothing of shared memory is reserved, and what a driver or a profiler would set reads as 0.
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
        self.requires_special(name)?;
        let register = match register {
            // `%gridid` once had 16 bits and then 32, and may still be read so.
            SpecialRegister::Wide(_) if name.text == "%gridid" && ty.bytes() < 8 => {
                SpecialRegister::Narrow(Special::Zero)
            }
            other => other,
        };
        let declared = match register {
            SpecialRegister::Wide(_) => Type::U64,
            SpecialRegister::Predicate(_) => Type::Pred,
            SpecialRegister::Narrow(_) | SpecialRegister::Constant(_) => Type::U32,
        };
        let narrowed = has_halves(name.text) && matches!(ty, Type::U16 | Type::B16 | Type::S16);
        if !ty.accepts(declared) && !narrowed {
            return Self::mismatch(name, declared, ty);
        }
        match register {
            SpecialRegister::Constant(value) => return self.constant32(value, name.pos),
            SpecialRegister::Predicate(value) => return self.constant_predicate(value, name.pos),
            SpecialRegister::Narrow(_) | SpecialRegister::Wide(_) => {}
        }
        let slot = self.fresh(declared, name.pos)?;
        self.emit_special(slot, register);
        if narrowed {
            self.lane(LaneOp::Low16, slot, slot, 0, 0);
        }
        Ok(slot)
    }

    /// A special register that an operand names, in a register of its own width, and its type.
    pub(super) fn special_whole(&mut self, operand: &Operand<'a>) -> Checked<Option<(u32, Type)>> {
        let (name, register) = match operand.kind {
            OperandKind::Name(name) => (name, special(name.text, None)),
            OperandKind::Member(name, component) => {
                (name, special(name.text, Some(component.text)))
            }
            _ => return Ok(None),
        };
        let ty = match register {
            Some(SpecialRegister::Narrow(_)) => Type::U32,
            Some(SpecialRegister::Wide(_)) => Type::U64,
            _ => return Ok(None),
        };
        match register {
            Some(register) => Ok(Some((self.special(register, name, ty)?, ty))),
            None => Ok(None),
        }
    }

    /// Reads all four components of a vector special register into registers of type `ty`.
    pub(super) fn special_vector(
        &mut self,
        name: Name<'a>,
        targets: &[u32],
        ty: Type,
    ) -> Checked<()> {
        self.requires_special(name)?;
        for (&d, component) in targets.iter().zip(["x", "y", "z", "w"]) {
            if let Some(register) = special(name.text, Some(component)) {
                self.emit_special(d, register);
                if ty.bytes() == 2 {
                    self.lane(LaneOp::Low16, d, d, 0, 0);
                }
            }
        }
        Ok(())
    }

    fn emit_special(&mut self, d: u32, register: SpecialRegister) {
        match register {
            SpecialRegister::Narrow(register) => self.emit(Op::Special { d, register }),
            SpecialRegister::Wide(register) => self.emit(Op::Special64 { d, register }),
            SpecialRegister::Constant(_) | SpecialRegister::Predicate(_) => {}
        }
    }

    /// Checks that the version and the target have a special register.
    fn requires_special(&self, name: Name<'_>) -> Checked<()> {
        let (target, version) = floor(name.text);
        self.requires(name.pos, name.text, target, version)
    }

    /// The special register that an operand of a 32-bit type names.
    pub(crate) fn special_of(&self, operand: &Operand<'_>, ty: Type) -> Option<Special> {
        let (name, register) = match operand.kind {
            OperandKind::Name(name) => (name, special(name.text, None)),
            OperandKind::Member(name, component) => {
                (name, special(name.text, Some(component.text)))
            }
            _ => return None,
        };
        match register {
            Some(SpecialRegister::Narrow(register))
                if ty.accepts(Type::U32) && self.requires_special(name).is_ok() =>
            {
                Some(register)
            }
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
    Predicate(bool),
}

/// The special register of that name and component.
pub(crate) fn special(name: &str, component: Option<&str>) -> Option<SpecialRegister> {
    if let Some(component) = component {
        return component_of(name, component).map(SpecialRegister::Narrow);
    }
    Some(SpecialRegister::Narrow(match name {
        "%laneid" => Special::Lane,
        "%warpid" => Special::Warp,
        "%nwarpid" => Special::WarpCount,
        "%lanemask_eq" => Special::MaskEqual,
        "%lanemask_lt" => Special::MaskLess,
        "%lanemask_le" => Special::MaskLessEqual,
        "%lanemask_gt" => Special::MaskGreater,
        "%lanemask_ge" => Special::MaskGreaterEqual,
        "%clock" | "%globaltimer_lo" => Special::Clock,
        "%clock_hi" | "%globaltimer_hi" => Special::ClockHigh,
        "%smid" | "%cluster_ctarank" => Special::Zero,
        "%nsmid" | "%cluster_nctarank" => Special::One,
        "%dynamic_smem_size" => Special::DynamicSharedBytes,
        "%total_smem_size" | "%aggr_smem_size" => Special::TotalSharedBytes,
        "%clock64" => return Some(SpecialRegister::Wide(Special64::Clock)),
        "%globaltimer" => return Some(SpecialRegister::Wide(Special64::Timer)),
        "%gridid" | "%current_graph_exec" => return Some(SpecialRegister::Wide(Special64::Zero)),
        "%is_explicit_cluster" => return Some(SpecialRegister::Predicate(false)),
        "WARP_SZ" => return Some(SpecialRegister::Constant(32)),
        _ => return numbered(name),
    }))
}

/// Registers that a driver sets, that count for a profiler, or that tell where reserved shared memory lies.
fn numbered(name: &str) -> Option<SpecialRegister> {
    let below = |digits: &str, limit: u32| {
        let plain = digits.len() == 1 || !digits.starts_with('0');
        plain && digits.parse::<u32>().is_ok_and(|number| number < limit)
    };
    if let Some(which) = name.strip_prefix("%envreg") {
        return below(which, 32).then_some(SpecialRegister::Narrow(Special::Zero));
    }
    if let Some(which) = name.strip_prefix("%reserved_smem_offset_") {
        return matches!(which, "begin" | "end" | "cap" | "0" | "1")
            .then_some(SpecialRegister::Narrow(Special::Zero));
    }
    let which = name.strip_prefix("%pm")?;
    match which.strip_suffix("_64") {
        Some(which) => below(which, 8).then_some(SpecialRegister::Wide(Special64::Zero)),
        None => below(which, 8).then_some(SpecialRegister::Narrow(Special::Zero)),
    }
}

/// A component of a vector special register. The fourth is always 0.
fn component_of(name: &str, component: &str) -> Option<Special> {
    let axis = match component {
        "x" => Some(Axis::X),
        "y" => Some(Axis::Y),
        "z" => Some(Axis::Z),
        "w" => None,
        _ => return None,
    };
    let of: fn(Axis) -> Special = match name {
        "%tid" => Special::ThreadIndex,
        "%ntid" => Special::BlockSize,
        "%ctaid" | "%clusterid" => Special::BlockIndex,
        "%nctaid" | "%nclusterid" => Special::GridSize,
        "%cluster_ctaid" => |_| Special::Zero,
        "%cluster_nctaid" => |_| Special::One,
        _ => return None,
    };
    Some(axis.map_or(Special::Zero, of))
}

/// Whether a register's halves may be read as 16-bit values.
fn has_halves(name: &str) -> bool {
    matches!(name, "%tid" | "%ntid" | "%ctaid" | "%nctaid" | "%gridid")
}

/// The least target and version that have a special register.
fn floor(name: &str) -> (u32, (u32, u32)) {
    match name {
        "%aggr_smem_size" => (90, (8, 1)),
        "%current_graph_exec" => (50, (8, 0)),
        "%lanemask_eq" | "%lanemask_lt" | "%lanemask_le" | "%lanemask_gt" | "%lanemask_ge"
        | "%nwarpid" | "%nsmid" | "%clock64" => (20, (2, 0)),
        "%clock_hi" => (20, (5, 0)),
        "%dynamic_smem_size" | "%total_smem_size" => (20, (4, 1)),
        "%globaltimer" | "%globaltimer_lo" | "%globaltimer_hi" => (30, (3, 1)),
        "%pm4" | "%pm5" | "%pm6" | "%pm7" => (20, (3, 0)),
        _ if name.starts_with("%pm") && name.ends_with("_64") => (50, (4, 0)),
        _ if name.starts_with("%reserved_smem_offset_") => (80, (7, 6)),
        _ if name.contains("cluster") => (90, (7, 8)),
        _ => (0, (0, 0)),
    }
}

/// Whether a name is that of a special register with components.
pub(super) fn is_vector(name: &str) -> bool {
    component_of(name, "x").is_some()
}

/// Whether nothing at module level may take the name.
pub(crate) fn is_special_name(name: &str) -> bool {
    is_vector(name) || special(name, None).is_some()
}
