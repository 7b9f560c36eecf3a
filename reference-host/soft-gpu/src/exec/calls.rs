//! Calls of device functions.

use super::LaneFault;
use super::block::Block;
use super::cost;
use super::file::all;
use super::lanes::FULL;
use super::mask::Mask;
use super::squad::{Fragment, Frame, Squad};
use crate::code::NONE;
use crate::fault::FaultKind;
use crate::limits::MAX_FRAME_BYTES;

impl Block<'_, '_> {
    /// Enters `callee`; returns where it starts.
    pub(super) fn call(
        &mut self,
        squad: &mut Squad,
        fragment: &mut Fragment,
        callee: u32,
        site: u32,
    ) -> Result<u32, LaneFault> {
        let code = self.grid.code;
        let callee = code.behind(callee);
        let lane = fragment.mask.first() as u32;
        let (Some(function), Some(caller)) = (
            code.functions.get(callee as usize),
            code.functions.get(fragment.frame.function as usize),
        ) else {
            return Err(LaneFault {
                kind: FaultKind::BadTarget(u64::from(callee)),
                lane,
            });
        };
        if function.start == NONE {
            return Err(LaneFault {
                kind: FaultKind::BadTarget(u64::from(callee)),
                lane,
            });
        }
        let outer = fragment.frame;
        let frame = Frame {
            function: callee,
            r32: outer.r32 + caller.registers.r32,
            r64: outer.r64 + caller.registers.r64,
            pred: outer.pred + caller.registers.pred,
            local: outer.local + caller.frame_bytes,
        };
        let too_deep = fragment.callers.len() >= MAX_CALLS
            || u64::from(frame.local + function.frame_bytes) > MAX_FRAME_BYTES
            || [
                frame.r32 + function.registers.r32,
                frame.r64 + function.registers.r64,
                frame.pred + function.registers.pred,
            ]
            .iter()
            .any(|count| *count > MAX_WARP_REGISTERS);
        if too_deep {
            return Err(LaneFault {
                kind: FaultKind::StackOverflow {
                    limit: MAX_FRAME_BYTES,
                },
                lane,
            });
        }
        // Lanes that have ended are cleared too where that is cheaper.
        let mask = if squad.fragments.is_empty() {
            Mask::of_warps(all(squad.warps), FULL)
        } else {
            fragment.mask
        };
        if !self.grid.budget.charge(cost::of_entering(function, &mask)) {
            let kind = FaultKind::BudgetExhausted(self.grid.budget.total);
            return Err(LaneFault { kind, lane });
        }
        squad.enter(frame, function, mask);
        if let Some(site) = code.sites.get(site as usize) {
            for (warp, local) in squad.local.iter_mut().enumerate() {
                local.pass_all(
                    &site.arguments,
                    outer.local,
                    frame.local,
                    fragment.mask.warp(warp),
                    false,
                );
            }
        }
        fragment.enter(fragment.pc + 1, site, frame);
        Ok(function.start)
    }
}

/// Most calls in progress in one thread.
const MAX_CALLS: usize = 4096;

/// Most registers of one class that a squad's calls may take together.
const MAX_WARP_REGISTERS: u32 = 1 << 15;
