//! Operations on registers that hold patterns, by rules: the part of an operation that needs no vectors.

use super::file::{FLAT, PATTERN, holds};
use super::form::Form;
use super::lanes::{LANES, Registers, Slots, each_warp, halves};

/// Registers to which an operation is to be applied by a rule of [`super::linear`].
///
/// Each shape says whether it has done the operation.
pub(crate) struct Known<'k, 'w>(pub(crate) &'k mut Registers<'w>);

macro_rules! known_shapes {
    ($( $name:ident: $to:ident <- $($src:ident . $file:ident : $ty:ty),+ ; $out:ty )*) => { $(
        #[inline(always)]
        pub(crate) fn $name(
            self,
            s: &Slots,
            f: impl Fn($($ty),+) -> $out,
            rule: impl Fn(($(Form<$ty>,)+), usize) -> Option<Form<$out>>,
        ) -> bool {
            let registers = self.0;
            let warps = registers.touched;
            $( let $src = &registers.$file.heads[s.$src as usize]; )+
            let known = $( $src.known & )+ u32::MAX;
            if !holds(known, PATTERN, warps) || !registers.whole {
                return false;
            }
            let form = if holds(known, FLAT, warps) {
                Form::flat(f($($src.form.low),+), f($($src.form.high),+))
            } else if let Some(form) = rule(($($src.form,)+), registers.warps) {
                form
            } else {
                return false;
            };
            registers.$to.put_form(s.d, warps, form);
            true
        }
    )* };
}

macro_rules! known_comparisons {
    ($( $name:ident: $file:ident <- $($src:ident : $ty:ty),+; )*) => { $(
        #[inline(always)]
        pub(crate) fn $name(
            self,
            s: &Slots,
            f: impl Fn($($ty),+) -> bool,
            rule: impl Fn(($(Form<$ty>,)+), usize) -> Option<u32>,
        ) -> bool {
            let registers = self.0;
            let warps = registers.touched;
            $( let $src = &registers.$file.heads[s.$src as usize]; )+
            let known = $( $src.known & )+ u32::MAX;
            if !holds(known, PATTERN, warps) {
                return false;
            }
            $( let $src = $src.form; )+
            if holds(known, FLAT, warps) {
                let out = halves(f($($src.low),+), f($($src.high),+));
                registers.put_pred(s.d, |_| out);
            } else if let Some(out) = rule(($($src,)+), registers.warps) {
                registers.put_pred(s.d, |_| out);
            } else {
                each_warp!(warp in warps => {
                    $( let $src = $src.of_warp(warp); )+
                    let out = rule(($($src,)+), 1).unwrap_or_else(|| {
                        (0..LANES).fold(0, |out, lane| {
                            out | u32::from(f($($src.lane(lane)),+)) << lane
                        })
                    });
                    registers.put_pred_of(s.d, warp, out);
                });
            }
            true
        }
    )* };
}

impl Known<'_, '_> {
    known_shapes! {
        r1: r32 <- a.r32: u32; u32
        r2: r32 <- a.r32: u32, b.r32: u32; u32
        r3: r32 <- a.r32: u32, b.r32: u32, c.r32: u32; u32
        d1: r64 <- a.r64: u64; u64
        d2: r64 <- a.r64: u64, b.r64: u64; u64
        d3: r64 <- a.r64: u64, b.r64: u64, c.r64: u64; u64
        d1r1: r64 <- a.r64: u64, b.r32: u32; u64
        widen1: r64 <- a.r32: u32; u64
        widen2: r64 <- a.r32: u32, b.r32: u32; u64
        widen3: r64 <- a.r32: u32, b.r32: u32, c.r64: u64; u64
        narrow1: r32 <- a.r64: u64; u32
    }

    known_comparisons! {
        cmp32: r32 <- a: u32, b: u32;
        cmp64: r64 <- a: u64, b: u64;
    }
}
