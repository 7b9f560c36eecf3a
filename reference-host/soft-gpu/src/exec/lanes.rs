//! Registers of a squad and the shapes in which an operation reads and writes them.
//!
//! A register is an array of 32 lanes for each warp, so that one decoded micro-op serves a whole squad and the compiler vectorises the
//! loop over lanes, or the pattern that they follow ([`super::form`]). A predicate is one bit a lane. Registers narrower than 32 bits live
//! zero-extended in a 32-bit one. A shape computes every lane of the warps that have an active one and then writes back those: lane
//! functions must therefore be total. Lanes that have ended count as active: nobody sees their registers again.

use super::file::{FLAT, IN_LANES, Window, holds};
use super::form::{Form, HALF};
use super::mask::Mask;
use super::one_warp::OneWarp;

/// Lanes of a warp.
pub(crate) const LANES: usize = 32;

/// Lanes that are computed together: as many as make one or two wide vectors.
const GROUP: usize = 8;

/// Every lane active.
pub(crate) const FULL: u32 = u32::MAX;

/// One 32-bit value a lane.
pub(crate) type Lanes32 = [u32; LANES];

/// One 64-bit value a lane.
pub(crate) type Lanes64 = [u64; LANES];

/// Register numbers of one micro-op: destination `d`, sources `a b c e`. What each stands for depends on the operation's shape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Slots {
    pub(crate) d: u32,
    pub(crate) a: u32,
    pub(crate) b: u32,
    pub(crate) c: u32,
    pub(crate) e: u32,
}

/// How many registers of each class a function uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RegisterCount {
    pub(crate) r32: u32,
    pub(crate) r64: u32,
    pub(crate) pred: u32,
}

/// The registers that the running function sees.
pub(crate) struct Registers<'w> {
    pub(super) r32: Window<'w, u32>,
    pub(super) r64: Window<'w, u64>,
    /// A word a warp for each predicate.
    pub(super) pred: &'w mut [u32],
    pub(super) warps: usize,
    /// Lanes that have ended or never were.
    dead: Mask,
    /// The lanes that execute.
    pub(super) chosen: Mask,
    /// Lanes that lane operations write: those that execute and the dead.
    pub(super) active: Mask,
    /// The warps that have an active lane, a bit each.
    pub(super) touched: u32,
    /// All lanes of those warps are written.
    pub(super) whole: bool,
    /// All lanes of those warps are active.
    pub(super) full: bool,
}

/// The warps of `$warps`, a bit each, one after the other.
macro_rules! each_warp {
    ($warp:ident in $warps:expr => $body:block) => {
        let mut rest: u32 = $warps;
        while rest != 0 {
            let $warp = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            $body
        }
    };
}
pub(super) use each_warp;

/// Defines the shapes `name(dest <- sources)`.
///
/// Where all lanes of the warps are written, sources of one value in each half are computed twice; else a few lanes at a time go from
/// register to register, without a copy of the result in between; a destination may be a source.
macro_rules! shapes {
    ($( $name:ident: $to:ident <- $($src:ident . $file:ident : $ty:ty),+ ; $out:ty )*) => { $(
        #[inline(always)]
        pub(crate) fn $name(&mut self, s: &Slots, f: impl Fn($($ty),+) -> $out) {
            let warps = self.touched;
            let known = $( self.$file.heads[s.$src as usize].known & )+ u32::MAX;
            if self.whole && holds(known, FLAT, warps) {
                $( let $src = &self.$file.heads[s.$src as usize].form; )+
                let form = Form::flat(f($($src.low),+), f($($src.high),+));
                self.$to.put_form(s.d, warps, form);
                return;
            }
            if !holds(known, IN_LANES, warps) {
                $( self.$file.spread(s.$src, warps); )+
            }
            $( let $src = s.$src as usize * self.warps; )+
            if self.whole {
                let d = s.d as usize * self.warps;
                each_warp!(warp in warps => {
                    for group in 0..LANES / GROUP {
                        $( let $src = self.$file.rows[$src + warp].0.as_chunks::<GROUP>().0[group]; )+
                        let mut out: [$out; GROUP] = [0; GROUP];
                        for lane in 0..GROUP {
                            out[lane] = f($($src[lane]),+);
                        }
                        self.$to.rows[d + warp].0.as_chunks_mut::<GROUP>().0[group] = out;
                    }
                });
                self.$to.lanes_only(s.d, warps);
                return;
            }
            each_warp!(warp in warps => {
                $( let $src = &self.$file.rows[$src + warp].0; )+
                let mut out: [$out; LANES] = [0; LANES];
                for lane in 0..LANES {
                    out[lane] = f($($src[lane]),+);
                }
                self.$to.blend(s.d, warp, self.active.warp(warp), &out);
            });
        }
    )* };
}

/// Defines the comparison shapes: a bit a lane goes to a predicate.
macro_rules! comparisons {
    ($( $name:ident: $file:ident <- $($src:ident : $ty:ty),+; )*) => { $(
        #[inline(always)]
        pub(crate) fn $name(&mut self, s: &Slots, f: impl Fn($($ty),+) -> bool) {
            let warps = self.touched;
            let known = $( self.$file.heads[s.$src as usize].known & )+ u32::MAX;
            if holds(known, FLAT, warps) {
                $( let $src = &self.$file.heads[s.$src as usize].form; )+
                let out = halves(f($($src.low),+), f($($src.high),+));
                self.put_pred(s.d, |_| out);
                return;
            }
            if !holds(known, IN_LANES, warps) {
                $( self.$file.spread(s.$src, warps); )+
            }
            $( let $src = s.$src as usize * self.warps; )+
            each_warp!(warp in warps => {
                $( let $src = &self.$file.rows[$src + warp].0; )+
                let mut out = 0u32;
                for lane in 0..LANES {
                    out |= u32::from(f($($src[lane]),+)) << lane;
                }
                self.put_pred_of(s.d, warp, out);
            });
        }
    )* };
}

/// A bit a lane, the same in each half.
#[inline(always)]
pub(super) fn halves(low: bool, high: bool) -> u32 {
    (if low { 0xFFFF } else { 0 }) | (if high { 0xFFFF << HALF } else { 0 })
}

/// Defines `d = c ? a : b` with a predicate.
macro_rules! selects {
    ($( $name:ident: $file:ident, $ty:ty; )*) => { $(
        #[inline(always)]
        pub(crate) fn $name(&mut self, s: &Slots, _lane: ()) {
            let warps = self.touched;
            if let Some(chosen) = self.agreed(s)
                && self.whole
                && let Some(form) = self.$file.form(chosen, warps)
            {
                self.$file.put_form(s.d, warps, form);
                return;
            }
            self.$file.spread(s.a, warps);
            self.$file.spread(s.b, warps);
            each_warp!(warp in warps => {
                let choice = self.pred[s.c as usize * self.warps + warp];
                let row = |slot: u32| &self.$file.rows[slot as usize * self.warps + warp].0;
                let (a, b) = (row(s.a), row(s.b));
                let out: [$ty; LANES] = std::array::from_fn(|lane| {
                    if choice >> lane & 1 == 1 {
                        a[lane]
                    } else {
                        b[lane]
                    }
                });
                self.$file.blend(s.d, warp, self.active.warp(warp), &out);
            });
        }
    )* };
}

/// Defines additions with carry in from predicate `c` and carry out to predicate `e`.
macro_rules! carries {
    ($( $name:ident: $file:ident, $ty:ty; )*) => { $(
        #[inline(always)]
        pub(crate) fn $name(&mut self, s: &Slots, f: impl Fn($ty, $ty, bool) -> ($ty, bool)) {
            let warps = self.touched;
            self.$file.spread(s.a, warps);
            self.$file.spread(s.b, warps);
            each_warp!(warp in warps => {
                let carry_in = self.pred[s.c as usize * self.warps + warp];
                let row = |slot: u32| &self.$file.rows[slot as usize * self.warps + warp].0;
                let (a, b) = (row(s.a), row(s.b));
                let mut carry_out = 0u32;
                let out = std::array::from_fn(|lane| {
                    let (value, carry) = f(a[lane], b[lane], carry_in >> lane & 1 == 1);
                    carry_out |= u32::from(carry) << lane;
                    value
                });
                self.$file.blend(s.d, warp, self.active.warp(warp), &out);
                self.put_pred_of(s.e, warp, carry_out);
            });
        }
    )* };
}

impl<'w> Registers<'w> {
    /// The registers of a frame, for lanes of a squad of which those of `dead` have ended.
    #[inline(always)]
    pub(crate) fn new(
        r32: Window<'w, u32>,
        r64: Window<'w, u64>,
        pred: &'w mut [u32],
        dead: Mask,
    ) -> Self {
        Self {
            warps: r32.warps,
            r32,
            r64,
            pred,
            dead,
            chosen: Mask::NONE,
            active: Mask::NONE,
            touched: 0,
            whole: true,
            full: true,
        }
    }

    /// Chooses the lanes that lane operations write.
    #[inline(always)]
    pub(crate) fn activate(&mut self, chosen: Mask) {
        self.chosen = chosen;
        self.touched = chosen.touched();
        self.full = self.touched & !chosen.whole() == 0;
        self.active = chosen | self.dead;
        self.whole = self.full || self.touched & !self.active.whole() == 0;
    }

    /// The registers of one warp.
    #[inline(always)]
    pub(crate) fn of_warp(&mut self, warp: usize) -> OneWarp<'_, 'w> {
        OneWarp::new(self, warp)
    }

    /// Lanes of a warp that have ended or never were.
    #[inline(always)]
    pub(super) fn dead(&self, warp: usize) -> u32 {
        self.dead.warp(warp)
    }

    shapes! {
        r1: r32 <- a.r32: u32; u32
        r2: r32 <- a.r32: u32, b.r32: u32; u32
        r3: r32 <- a.r32: u32, b.r32: u32, c.r32: u32; u32
        r4: r32 <- a.r32: u32, b.r32: u32, c.r32: u32, e.r32: u32; u32
        d1: r64 <- a.r64: u64; u64
        d2: r64 <- a.r64: u64, b.r64: u64; u64
        d3: r64 <- a.r64: u64, b.r64: u64, c.r64: u64; u64
        // 64-bit values with 32-bit counts: shifts and bit fields.
        d1r1: r64 <- a.r64: u64, b.r32: u32; u64
        d1r2: r64 <- a.r64: u64, b.r32: u32, c.r32: u32; u64
        d2r1: r64 <- a.r64: u64, b.r64: u64, c.r32: u32; u64
        d2r2: r64 <- a.r64: u64, b.r64: u64, c.r32: u32, e.r32: u32; u64
        // Widening and narrowing.
        widen1: r64 <- a.r32: u32; u64
        widen2: r64 <- a.r32: u32, b.r32: u32; u64
        widen3: r64 <- a.r32: u32, b.r32: u32, c.r64: u64; u64
        narrow1: r32 <- a.r64: u64; u32
    }

    comparisons! {
        cmp32: r32 <- a: u32, b: u32;
        cmp64: r64 <- a: u64, b: u64;
        test32: r32 <- a: u32;
        test64: r64 <- a: u64;
    }

    selects! {
        select32: r32, u32;
        select64: r64, u64;
    }

    carries! {
        carry32: r32, u32;
        carry64: r64, u64;
    }

    /// The source that all living lanes choose in a selection, if they agree.
    #[inline(always)]
    fn agreed(&self, s: &Slots) -> Option<u32> {
        let (mut all, mut none) = (true, true);
        each_warp!(warp in self.touched => {
            let choice = self.pred[s.c as usize * self.warps + warp];
            all &= choice | self.dead.warp(warp) == FULL;
            none &= choice & !self.dead.warp(warp) == 0;
        });
        if all {
            Some(s.a)
        } else if none {
            Some(s.b)
        } else {
            None
        }
    }

    /// A bitwise operation on whole predicates.
    #[inline(always)]
    pub(crate) fn predicates(&mut self, s: &Slots, f: impl Fn(u32, u32) -> u32) {
        each_warp!(warp in self.touched => {
            let bits = |slot: u32| self.pred[slot as usize * self.warps + warp];
            let out = f(bits(s.a), bits(s.b));
            self.put_pred_of(s.d, warp, out);
        });
    }

    /// A value made from one predicate bit a lane.
    #[inline(always)]
    pub(crate) fn of_pred(&mut self, s: &Slots, f: impl Fn(bool) -> u32) {
        each_warp!(warp in self.touched => {
            let bits = self.pred[s.a as usize * self.warps + warp];
            let out = std::array::from_fn(|lane| f(bits >> lane & 1 == 1));
            self.r32.blend(s.d, warp, self.active.warp(warp), &out);
        });
    }

    /// A predicate of all warps.
    #[inline(always)]
    pub(crate) fn pred_mask(&self, slot: u32) -> Mask {
        let words = &self.pred[slot as usize * self.warps..][..self.warps];
        Mask::by_warp(|warp| words.get(warp).copied().unwrap_or(0))
    }

    /// Writes the active lanes' bits of what `out` gives for each warp.
    #[inline(always)]
    pub(super) fn put_pred(&mut self, d: u32, out: impl Fn(usize) -> u32) {
        each_warp!(warp in self.touched => {
            self.put_pred_of(d, warp, out(warp));
        });
    }

    /// Writes the active lanes' bits of one warp.
    #[inline(always)]
    pub(super) fn put_pred_of(&mut self, d: u32, warp: usize, out: u32) {
        let active = self.active.warp(warp);
        let d = &mut self.pred[d as usize * self.warps + warp];
        *d = (*d & !active) | (out & active);
    }

    /// Writes the active lanes of a pattern.
    #[inline(always)]
    pub(crate) fn put_form32(&mut self, d: u32, form: Form<u32>) {
        if self.whole {
            return self.r32.put_form(d, self.touched, form);
        }
        each_warp!(warp in self.touched => {
            let mut lanes = [0; LANES];
            form.of_warp(warp).write(&mut lanes);
            self.r32.blend(d, warp, self.active.warp(warp), &lanes);
        });
    }

    /// Writes the active lanes of a pattern.
    #[inline(always)]
    pub(crate) fn put_form64(&mut self, d: u32, form: Form<u64>) {
        if self.whole {
            return self.r64.put_form(d, self.touched, form);
        }
        each_warp!(warp in self.touched => {
            let mut lanes = [0; LANES];
            form.of_warp(warp).write(&mut lanes);
            self.r64.blend(d, warp, self.active.warp(warp), &lanes);
        });
    }

    /// One lane of a 32-bit register.
    #[inline(always)]
    pub(crate) fn lane32(&self, slot: u32, lane: usize) -> u32 {
        self.r32.lane(slot, lane / LANES, lane % LANES)
    }

    /// One lane of a 64-bit register.
    #[inline(always)]
    pub(crate) fn lane64(&self, slot: u32, lane: usize) -> u64 {
        self.r64.lane(slot, lane / LANES, lane % LANES)
    }
}
