//! Registers of one warp and the shapes in which an operation reads and writes them.
//!
//! A register is an array of 32 lanes, so that one decoded micro-op serves a whole warp and the compiler vectorises the
//! loop over lanes, or the pattern that they follow ([`super::form`]). A predicate is one bit a lane. Registers narrower than 32 bits live
//! zero-extended in a 32-bit one. A shape computes every lane and then writes back the active ones: lane functions must
//! therefore be total. Lanes that have ended count as active: nobody sees their registers again.

use super::form::{FLAT, Form, HALF, IN_LANES, PATTERN, Register};

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

/// The registers that the running function sees, as windows of its warp's register file.
pub(crate) struct Registers<'w> {
    r32: &'w mut [Register<u32>],
    r64: &'w mut [Register<u64>],
    pred: &'w mut [u32],
    /// Lanes that have ended or never were.
    dead: u32,
    /// Lanes that lane operations write: the active ones and the dead.
    active: u32,
    /// Values may be kept as patterns. Only a test turns it off.
    patterns: bool,
}

/// Defines the shapes `name(dest <- sources)`.
///
/// With every lane active, sources of one value in each half are computed twice; else a few lanes at a time go from register to register,
/// without a copy of the result in between; a destination may be a source.
macro_rules! shapes {
    ($( $name:ident: $to:ident <- $($src:ident . $file:ident : $ty:ty),+ ; $out:ty )*) => { $(
        #[inline(always)]
        pub(crate) fn $name(&mut self, s: &Slots, f: impl Fn($($ty),+) -> $out) {
            let active = self.active;
            $( let $src = self.$file[s.$src as usize].form.kind; )+
            let kinds = $( $src & )+ u32::MAX;
            if active == FULL && kinds & FLAT != 0 {
                $( let $src = &self.$file[s.$src as usize].form; )+
                let form = Form::flat(f($($src.low),+), f($($src.high),+));
                self.$to[s.d as usize].form = form;
                return;
            }
            if kinds & IN_LANES == 0 {
                $( self.$file[s.$src as usize].spread(); )+
            }
            if active == FULL {
                for group in 0..LANES / GROUP {
                    $( let $src = self.$file[s.$src as usize].lanes.as_chunks::<GROUP>().0[group]; )+
                    let mut out: [$out; GROUP] = [0; GROUP];
                    for lane in 0..GROUP {
                        out[lane] = f($($src[lane]),+);
                    }
                    self.$to[s.d as usize].lanes.as_chunks_mut::<GROUP>().0[group] = out;
                }
                self.$to[s.d as usize].lanes_only();
                return;
            }
            $( let $src = &self.$file[s.$src as usize].lanes; )+
            let mut out: [$out; LANES] = [0; LANES];
            for lane in 0..LANES {
                out[lane] = f($($src[lane]),+);
            }
            self.$to[s.d as usize].blend(active, &out);
        }
    )* };
}

/// Defines the comparison shapes: a bit a lane goes to a predicate.
macro_rules! comparisons {
    ($( $name:ident: $file:ident <- $($src:ident : $ty:ty),+; )*) => { $(
        #[inline(always)]
        pub(crate) fn $name(&mut self, s: &Slots, f: impl Fn($($ty),+) -> bool) {
            $( let $src = &self.$file[s.$src as usize].form; )+
            let out = if $( $src.kind & )+ FLAT != 0 {
                halves(f($($src.low),+), f($($src.high),+))
            } else {
                $( self.$file[s.$src as usize].spread(); )+
                $( let $src = &self.$file[s.$src as usize].lanes; )+
                let mut out = 0u32;
                for lane in 0..LANES {
                    out |= u32::from(f($($src[lane]),+)) << lane;
                }
                out
            };
            self.put_pred(s.d, self.active, out);
        }
    )* };
}

/// A bit a lane, the same in each half.
#[inline(always)]
fn halves(low: bool, high: bool) -> u32 {
    (if low { 0xFFFF } else { 0 }) | (if high { 0xFFFF << HALF } else { 0 })
}

/// Operations on registers that hold patterns, by rules: the part of an operation that needs no vectors.
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
            rule: impl Fn(($(Form<$ty>,)+)) -> Option<Form<$out>>,
        ) -> bool {
            let registers = self.0;
            $( let $src = &registers.$file[s.$src as usize].form; )+
            let kinds = $( $src.kind & )+ u32::MAX;
            if kinds & PATTERN == 0 || registers.active != FULL {
                return false;
            }
            let form = if kinds & FLAT != 0 {
                Form::flat(f($($src.low),+), f($($src.high),+))
            } else if let Some(form) = rule(($(*$src,)+)) {
                form
            } else {
                return false;
            };
            registers.$to[s.d as usize].form = form;
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
            rule: impl Fn(($(Form<$ty>,)+)) -> Option<u32>,
        ) -> bool {
            let registers = self.0;
            $( let $src = &registers.$file[s.$src as usize].form; )+
            let kinds = $( $src.kind & )+ u32::MAX;
            let out = if kinds & FLAT != 0 {
                halves(f($($src.low),+), f($($src.high),+))
            } else if kinds & PATTERN != 0
                && let Some(out) = rule(($(*$src,)+))
            {
                out
            } else {
                return false;
            };
            registers.put_pred(s.d, registers.active, out);
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

impl<'w> Registers<'w> {
    /// The windows of a frame, for lanes of a warp of which those of `dead` have ended.
    #[inline(always)]
    pub(crate) fn new(
        r32: &'w mut [Register<u32>],
        r64: &'w mut [Register<u64>],
        pred: &'w mut [u32],
        dead: u32,
        patterns: bool,
    ) -> Self {
        Self {
            r32,
            r64,
            pred,
            dead,
            active: 0,
            patterns,
        }
    }

    /// Chooses the lanes that lane operations write.
    #[inline(always)]
    pub(crate) fn activate(&mut self, active: u32) {
        self.active = active | self.dead;
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

    /// `d = c ? a : b` with a predicate, 32-bit.
    #[inline(always)]
    pub(crate) fn select32(&mut self, s: &Slots, _lane: ()) {
        let choice = self.pred[s.c as usize];
        if let Some(chosen) = self.agreed(choice, s) {
            let form = self.r32[chosen as usize].form;
            if self.active == FULL && form.is_pattern() {
                self.r32[s.d as usize].form = Form::affine(form.low, form.high, form.step);
                return;
            }
        }
        self.r32[s.a as usize].spread();
        self.r32[s.b as usize].spread();
        let (a, b) = (&self.r32[s.a as usize].lanes, &self.r32[s.b as usize].lanes);
        let out = std::array::from_fn(|lane| {
            if choice >> lane & 1 == 1 {
                a[lane]
            } else {
                b[lane]
            }
        });
        self.put32(s.d, self.active, &out);
    }

    /// `d = c ? a : b` with a predicate, 64-bit.
    #[inline(always)]
    pub(crate) fn select64(&mut self, s: &Slots, _lane: ()) {
        let choice = self.pred[s.c as usize];
        if let Some(chosen) = self.agreed(choice, s) {
            let form = self.r64[chosen as usize].form;
            if self.active == FULL && form.is_pattern() {
                self.r64[s.d as usize].form = Form::affine(form.low, form.high, form.step);
                return;
            }
        }
        self.r64[s.a as usize].spread();
        self.r64[s.b as usize].spread();
        let (a, b) = (&self.r64[s.a as usize].lanes, &self.r64[s.b as usize].lanes);
        let out = std::array::from_fn(|lane| {
            if choice >> lane & 1 == 1 {
                a[lane]
            } else {
                b[lane]
            }
        });
        self.put64(s.d, self.active, &out);
    }

    /// The source that all living lanes choose, if they agree.
    #[inline(always)]
    fn agreed(&self, choice: u32, s: &Slots) -> Option<u32> {
        if choice | self.dead == FULL {
            Some(s.a)
        } else if choice & !self.dead == 0 {
            Some(s.b)
        } else {
            None
        }
    }

    /// A bitwise operation on whole predicates.
    #[inline(always)]
    pub(crate) fn predicates(&mut self, s: &Slots, f: impl Fn(u32, u32) -> u32) {
        let out = f(self.pred[s.a as usize], self.pred[s.b as usize]);
        self.put_pred(s.d, self.active, out);
    }

    /// A value made from one predicate bit a lane.
    #[inline(always)]
    pub(crate) fn of_pred(&mut self, s: &Slots, f: impl Fn(bool) -> u32) {
        let bits = self.pred[s.a as usize];
        let out = std::array::from_fn(|lane| f(bits >> lane & 1 == 1));
        self.put32(s.d, self.active, &out);
    }

    /// 32-bit addition with carry in from predicate `c` and carry out to predicate `e`.
    #[inline(always)]
    pub(crate) fn carry32(&mut self, s: &Slots, f: impl Fn(u32, u32, bool) -> (u32, bool)) {
        let (a, b) = (self.lanes32(s.a), self.lanes32(s.b));
        let carry_in = self.pred[s.c as usize];
        let mut carry_out = 0u32;
        let out = std::array::from_fn(|lane| {
            let (value, carry) = f(a[lane], b[lane], carry_in >> lane & 1 == 1);
            carry_out |= u32::from(carry) << lane;
            value
        });
        self.put32(s.d, self.active, &out);
        self.put_pred(s.e, self.active, carry_out);
    }

    /// 64-bit addition with carry in from predicate `c` and carry out to predicate `e`.
    #[inline(always)]
    pub(crate) fn carry64(&mut self, s: &Slots, f: impl Fn(u64, u64, bool) -> (u64, bool)) {
        let (a, b) = (self.lanes64(s.a), self.lanes64(s.b));
        let carry_in = self.pred[s.c as usize];
        let mut carry_out = 0u32;
        let out = std::array::from_fn(|lane| {
            let (value, carry) = f(a[lane], b[lane], carry_in >> lane & 1 == 1);
            carry_out |= u32::from(carry) << lane;
            value
        });
        self.put64(s.d, self.active, &out);
        self.put_pred(s.e, self.active, carry_out);
    }

    /// All lanes of a 32-bit register.
    #[inline(always)]
    pub(crate) fn lanes32(&mut self, slot: u32) -> Lanes32 {
        *self.view32(slot)
    }

    /// All lanes of a 64-bit register.
    #[inline(always)]
    pub(crate) fn lanes64(&mut self, slot: u32) -> Lanes64 {
        *self.view64(slot)
    }

    /// All lanes of a 32-bit register, in place.
    #[inline(always)]
    pub(crate) fn view32(&mut self, slot: u32) -> &Lanes32 {
        let register = &mut self.r32[slot as usize];
        register.spread();
        &register.lanes
    }

    /// All lanes of a 64-bit register, in place.
    #[inline(always)]
    pub(crate) fn view64(&mut self, slot: u32) -> &Lanes64 {
        let register = &mut self.r64[slot as usize];
        register.spread();
        &register.lanes
    }

    /// One lane of a 32-bit register.
    #[inline(always)]
    pub(crate) fn lane32(&self, slot: u32, lane: usize) -> u32 {
        self.r32[slot as usize].lane(lane)
    }

    /// One lane of a 64-bit register.
    #[inline(always)]
    pub(crate) fn lane64(&self, slot: u32, lane: usize) -> u64 {
        self.r64[slot as usize].lane(lane)
    }

    /// The pattern of a 32-bit register, which is looked for in its lanes where it is not known.
    #[inline(always)]
    pub(crate) fn pattern32(&mut self, slot: u32) -> Option<Form<u32>> {
        self.r32[slot as usize].pattern()
    }

    /// The pattern of a 64-bit register, which is looked for in its lanes where it is not known.
    #[inline(always)]
    pub(crate) fn pattern64(&mut self, slot: u32) -> Option<Form<u64>> {
        self.r64[slot as usize].pattern()
    }

    /// A predicate's bits, lane 0 the lowest.
    #[inline(always)]
    pub(crate) fn pred_bits(&mut self, slot: u32) -> u32 {
        self.pred[slot as usize]
    }

    /// Whether writing the lanes of `active` leaves no living lane out.
    #[inline(always)]
    pub(crate) fn covers(&self, active: u32) -> bool {
        active | self.dead == FULL
    }

    /// All lanes of a 32-bit register, to be written whole.
    #[inline(always)]
    pub(crate) fn whole32(&mut self, d: u32) -> &mut Lanes32 {
        self.r32[d as usize].lanes_only()
    }

    /// All lanes of a 64-bit register, to be written whole.
    #[inline(always)]
    pub(crate) fn whole64(&mut self, d: u32) -> &mut Lanes64 {
        self.r64[d as usize].lanes_only()
    }

    /// Writes the active lanes of a pattern.
    #[inline(always)]
    pub(crate) fn put_form32(&mut self, d: u32, active: u32, form: Form<u32>) {
        if self.covers(active) && self.patterns {
            self.r32[d as usize].form = form;
            return;
        }
        let mut register = Register::of(form);
        register.spread();
        self.put32(d, active, &register.lanes);
    }

    /// Writes the active lanes of a pattern.
    #[inline(always)]
    pub(crate) fn put_form64(&mut self, d: u32, active: u32, form: Form<u64>) {
        if self.covers(active) && self.patterns {
            self.r64[d as usize].form = form;
            return;
        }
        let mut register = Register::of(form);
        register.spread();
        self.put64(d, active, &register.lanes);
    }

    /// Writes the active lanes of `out`.
    #[inline(always)]
    pub(crate) fn put32(&mut self, d: u32, active: u32, out: &Lanes32) {
        if self.covers(active) {
            *self.whole32(d) = *out;
        } else {
            self.r32[d as usize].blend(active, out);
        }
    }

    /// Writes the active lanes of `out`.
    #[inline(always)]
    pub(crate) fn put64(&mut self, d: u32, active: u32, out: &Lanes64) {
        if self.covers(active) {
            *self.whole64(d) = *out;
        } else {
            self.r64[d as usize].blend(active, out);
        }
    }

    /// Writes the active lanes' bits of `out`.
    #[inline(always)]
    pub(crate) fn put_pred(&mut self, d: u32, active: u32, out: u32) {
        let d = &mut self.pred[d as usize];
        *d = (*d & !active) | (out & active);
    }
}
