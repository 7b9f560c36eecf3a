//! Reads of special registers.

use super::bits_of;
use super::block::Block;
use super::file::File;
use super::form::{Form, HALF};
use super::lanes::{LANES, Lanes32, Registers};
use crate::code::{Special, Special64};

impl Block<'_, '_> {
    /// A special register of 32 bits into the active lanes; `thread` is each lane's thread index, a register an axis.
    #[inline]
    pub(super) fn special(
        &mut self,
        registers: &mut Registers<'_>,
        (index, thread): (u32, &File<u32>),
        (d, register): (u32, Special),
    ) {
        let form = match register {
            Special::ThreadIndex(axis) => {
                let axis = axis.index() as u32;
                match thread.form(axis) {
                    Some(form) => form,
                    None => {
                        let lane = |warp, lane| thread.lane(axis, warp, lane);
                        return put_lanes(registers, d, lane);
                    }
                }
            }
            Special::Lane => Form::affine(0, HALF as u32, 1),
            Special::Warp => Form {
                along: 1,
                ..Form::uniform(index)
            },
            Special::MaskEqual => return put_lanes(registers, d, |_, lane| 1 << lane),
            Special::MaskLess => return put_lanes(registers, d, |_, lane| (1 << lane) - 1),
            Special::MaskLessEqual => {
                return put_lanes(registers, d, |_, lane| u32::MAX >> (31 - lane));
            }
            Special::MaskGreater => {
                return put_lanes(registers, d, |_, lane| !(u32::MAX >> (31 - lane)));
            }
            Special::MaskGreaterEqual => {
                return put_lanes(registers, d, |_, lane| u32::MAX << lane);
            }
            uniform => {
                if uniform == Special::Clock {
                    self.grid.budget.charge_roughly(1);
                }
                Form::uniform(self.uniform_special(uniform))
            }
        };
        registers.put_form32(d, form);
    }

    /// A special register of 64 bits, which is the same in all lanes.
    pub(super) fn special64(
        &mut self,
        registers: &mut Registers<'_>,
        (d, register): (u32, Special64),
    ) {
        let value = match register {
            Special64::Clock | Special64::Timer => self.grid.budget.clock(),
            Special64::Zero => 0,
        };
        registers.put_form64(d, Form::uniform(value));
    }

    /// Where dynamic shared memory starts.
    pub(super) fn dynamic_shared_offset(&self) -> u32 {
        self.grid
            .entry
            .static_shared_bytes
            .next_multiple_of(self.grid.module.dynamic_shared_align)
    }

    /// A special register that is the same in all lanes.
    fn uniform_special(&self, register: Special) -> u32 {
        let config = self.grid.config;
        match register {
            Special::BlockSize(axis) => config.block[axis.index()],
            Special::BlockIndex(axis) => self.index[axis.index()],
            Special::GridSize(axis) => config.grid[axis.index()],
            Special::WarpCount => config.block.iter().product::<u32>().div_ceil(LANES as u32),
            Special::Clock => self.grid.budget.used() as u32,
            Special::ClockHigh => (self.grid.budget.used() >> 32) as u32,
            Special::DynamicSharedBytes => config.dynamic_shared_bytes,
            Special::TotalSharedBytes => self.spaces.shared.len() as u32,
            Special::One => 1,
            Special::Zero
            | Special::ThreadIndex(_)
            | Special::Lane
            | Special::Warp
            | Special::MaskEqual
            | Special::MaskLess
            | Special::MaskLessEqual
            | Special::MaskGreater
            | Special::MaskGreaterEqual => 0,
        }
    }
}

/// Writes what `value` gives for each active lane of each warp.
fn put_lanes(registers: &mut Registers<'_>, d: u32, value: impl Fn(usize, usize) -> u32) {
    for warp in bits_of(registers.touched) {
        let lanes: Lanes32 = std::array::from_fn(|lane| value(warp, lane));
        let active = registers.active.warp(warp);
        registers.of_warp(warp).put32(d, active, &lanes);
    }
}
