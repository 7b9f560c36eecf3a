//! The registers of one warp of a squad, for operations that warps do each for themselves.

use super::form::Form;
use super::lanes::{FULL, Lanes32, Lanes64, Registers};

/// One warp's lanes of a squad's registers.
pub(crate) struct OneWarp<'r, 'w> {
    registers: &'r mut Registers<'w>,
    warp: usize,
}

macro_rules! widths {
    ($( $file:ident, $ty:ty, $lanes:ty: $all:ident $view:ident $lane:ident $pattern:ident $whole:ident $put_form:ident $put:ident; )*) => { $(
        /// All lanes of a register.
        #[inline(always)]
        pub(crate) fn $all(&mut self, slot: u32) -> $lanes {
            *self.$view(slot)
        }

        /// All lanes of a register, in place.
        #[inline(always)]
        pub(crate) fn $view(&mut self, slot: u32) -> &$lanes {
            let file = &mut self.registers.$file;
            file.spread(slot, 1 << self.warp);
            file.row(slot, self.warp)
        }

        /// One lane of a register.
        #[inline(always)]
        pub(crate) fn $lane(&self, slot: u32, lane: usize) -> $ty {
            self.registers.$file.lane(slot, self.warp, lane)
        }

        /// The pattern of a register, which is looked for in its lanes where it is not known.
        #[inline(always)]
        pub(crate) fn $pattern(&mut self, slot: u32) -> Option<Form<$ty>> {
            let form = self.registers.$file.pattern(slot, 1 << self.warp)?;
            Some(form.of_warp(self.warp))
        }

        /// All lanes of a register, to be written whole.
        #[inline(always)]
        pub(crate) fn $whole(&mut self, d: u32) -> &mut $lanes {
            let file = &mut self.registers.$file;
            file.lanes_only(d, 1 << self.warp);
            file.row(d, self.warp)
        }

        /// Writes the active lanes of a pattern.
        #[inline(always)]
        pub(crate) fn $put_form(&mut self, d: u32, active: u32, form: Form<$ty>) {
            if !self.covers(active) {
                let mut lanes = [0; 32];
                form.write(&mut lanes);
                self.$put(d, active, &lanes);
            } else if self.registers.warps == 1 {
                self.registers.$file.put_form(d, 1, form);
            } else {
                // A pattern of one warp would drive out that of the others.
                form.write(self.$whole(d));
            }
        }

        /// Writes the active lanes of `out`.
        #[inline(always)]
        pub(crate) fn $put(&mut self, d: u32, active: u32, out: &$lanes) {
            if self.covers(active) {
                *self.$whole(d) = *out;
            } else {
                self.registers.$file.blend(d, self.warp, active, out);
            }
        }
    )* };
}

impl<'r, 'w> OneWarp<'r, 'w> {
    #[inline(always)]
    pub(super) fn new(registers: &'r mut Registers<'w>, warp: usize) -> Self {
        Self { registers, warp }
    }

    widths! {
        r32, u32, Lanes32: lanes32 view32 lane32 pattern32 whole32 put_form32 put32;
        r64, u64, Lanes64: lanes64 view64 lane64 pattern64 whole64 put_form64 put64;
    }

    /// Whether writing the lanes of `active` leaves no living lane out.
    #[inline(always)]
    pub(crate) fn covers(&self, active: u32) -> bool {
        active | self.registers.dead(self.warp) == FULL
    }

    /// A predicate's bits, lane 0 the lowest.
    #[inline(always)]
    pub(crate) fn pred_bits(&self, slot: u32) -> u32 {
        self.registers.pred[slot as usize * self.registers.warps + self.warp]
    }

    /// Writes the active lanes' bits of `out`.
    #[inline(always)]
    pub(crate) fn put_pred(&mut self, d: u32, active: u32, out: u32) {
        let d = &mut self.registers.pred[d as usize * self.registers.warps + self.warp];
        *d = (*d & !active) | (out & active);
    }
}
