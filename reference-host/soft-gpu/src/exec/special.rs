//! Reads of special registers.

use super::block::Block;
use super::form::{Form, HALF, Register};
use super::lanes::{LANES, Registers};
use crate::code::{Special, Special64};

impl Block<'_, '_> {
    /// A special register of 32 bits into the lanes of `active`; `thread` is each lane's thread index by axis.
    #[inline]
    pub(super) fn special(
        &mut self,
        registers: &mut Registers<'_>,
        (index, thread): (u32, &[Register<u32>; 3]),
        (d, register): (u32, Special),
        active: u32,
    ) {
        let mask =
            |of: fn(u32) -> u32| -> [u32; LANES] { std::array::from_fn(|lane| of(lane as u32)) };
        let lanes = match register {
            Special::ThreadIndex(axis) => {
                let thread = &thread[axis.index()];
                if thread.form.is_pattern() {
                    return registers.put_form32(d, active, thread.form);
                }
                thread.lanes
            }
            Special::Lane => {
                return registers.put_form32(d, active, Form::affine(0, HALF as u32, 1));
            }
            Special::MaskEqual => mask(|lane| 1 << lane),
            Special::MaskLess => mask(|lane| (1 << lane) - 1),
            Special::MaskLessEqual => mask(|lane| u32::MAX >> (31 - lane)),
            Special::MaskGreater => mask(|lane| !(u32::MAX >> (31 - lane))),
            Special::MaskGreaterEqual => mask(|lane| u32::MAX << lane),
            uniform => {
                if uniform == Special::Clock {
                    self.grid.budget.charge_roughly(1);
                }
                let value = self.uniform_special(uniform, index);
                return registers.put_form32(d, active, Form::uniform(value));
            }
        };
        registers.put32(d, active, &lanes);
    }

    /// A special register of 64 bits, which is the same in all lanes.
    pub(super) fn special64(
        &mut self,
        registers: &mut Registers<'_>,
        (d, register): (u32, Special64),
        active: u32,
    ) {
        let value = match register {
            Special64::Clock | Special64::Timer => self.grid.budget.clock(),
            Special64::Zero => 0,
        };
        registers.put_form64(d, active, Form::uniform(value));
    }

    /// Where dynamic shared memory starts.
    pub(super) fn dynamic_shared_offset(&self) -> u32 {
        self.grid
            .entry
            .static_shared_bytes
            .next_multiple_of(self.grid.module.dynamic_shared_align)
    }

    /// A special register that is the same in all lanes.
    fn uniform_special(&self, register: Special, warp: u32) -> u32 {
        let config = self.grid.config;
        match register {
            Special::BlockSize(axis) => config.block[axis.index()],
            Special::BlockIndex(axis) => self.index[axis.index()],
            Special::GridSize(axis) => config.grid[axis.index()],
            Special::Warp => warp,
            Special::WarpCount => config.block.iter().product::<u32>().div_ceil(LANES as u32),
            Special::Clock => self.grid.budget.used() as u32,
            Special::ClockHigh => (self.grid.budget.used() >> 32) as u32,
            Special::DynamicSharedBytes => config.dynamic_shared_bytes,
            Special::TotalSharedBytes => self.spaces.shared.len() as u32,
            Special::One => 1,
            Special::Zero
            | Special::ThreadIndex(_)
            | Special::Lane
            | Special::MaskEqual
            | Special::MaskLess
            | Special::MaskLessEqual
            | Special::MaskGreater
            | Special::MaskGreaterEqual => 0,
        }
    }
}
