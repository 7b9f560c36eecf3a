//! Registers of one warp and the shapes in which an operation reads and writes them.
//!
//! A register is an array of 32 lanes, so that one decoded micro-op serves a whole warp and the compiler vectorises the
//! loop over lanes. A predicate is one bit a lane. Registers narrower than 32 bits live zero-extended in a 32-bit one.
//! A shape computes every lane and then writes back the active ones: lane functions must therefore be total.

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
    pub(crate) r32: &'w mut [Lanes32],
    pub(crate) r64: &'w mut [Lanes64],
    pub(crate) pred: &'w mut [u32],
}

/// Defines the shapes `name(dest <- sources)`.
///
/// With every lane active, a few lanes at a time go from register to register, without a copy of the result in between; a
/// destination may be a source.
macro_rules! shapes {
    ($( $name:ident: $put:ident($to:ident) <- $($src:ident . $file:ident : $ty:ty),+ ; $out:ty )*) => { $(
        #[inline(always)]
        pub(crate) fn $name(&mut self, s: Slots, active: u32, f: impl Fn($($ty),+) -> $out) {
            if active == FULL {
                for group in 0..LANES / GROUP {
                    $( let $src = self.$file[s.$src as usize].as_chunks::<GROUP>().0[group]; )+
                    let mut out: [$out; GROUP] = [0; GROUP];
                    for lane in 0..GROUP {
                        out[lane] = f($($src[lane]),+);
                    }
                    self.$to[s.d as usize].as_chunks_mut::<GROUP>().0[group] = out;
                }
                return;
            }
            $( let $src = &self.$file[s.$src as usize]; )+
            let mut out: [$out; LANES] = [0; LANES];
            for lane in 0..LANES {
                out[lane] = f($($src[lane]),+);
            }
            self.$put(s.d, active, &out);
        }
    )* };
}

/// Defines the comparison shapes: a bit a lane goes to a predicate.
macro_rules! comparisons {
    ($( $name:ident: $file:ident : $ty:ty )*) => { $(
        #[inline(always)]
        pub(crate) fn $name(&mut self, s: Slots, active: u32, f: impl Fn($ty, $ty) -> bool) {
            let (a, b) = (&self.$file[s.a as usize], &self.$file[s.b as usize]);
            let mut out = 0u32;
            for lane in 0..LANES {
                out |= u32::from(f(a[lane], b[lane])) << lane;
            }
            self.put_pred(s.d, active, out);
        }
    )* };
}

impl Registers<'_> {
    shapes! {
        r1: put32(r32) <- a.r32: u32; u32
        r2: put32(r32) <- a.r32: u32, b.r32: u32; u32
        r3: put32(r32) <- a.r32: u32, b.r32: u32, c.r32: u32; u32
        r4: put32(r32) <- a.r32: u32, b.r32: u32, c.r32: u32, e.r32: u32; u32
        d1: put64(r64) <- a.r64: u64; u64
        d2: put64(r64) <- a.r64: u64, b.r64: u64; u64
        d3: put64(r64) <- a.r64: u64, b.r64: u64, c.r64: u64; u64
        // 64-bit values with 32-bit counts: shifts and bit fields.
        d1r1: put64(r64) <- a.r64: u64, b.r32: u32; u64
        d1r2: put64(r64) <- a.r64: u64, b.r32: u32, c.r32: u32; u64
        d2r1: put64(r64) <- a.r64: u64, b.r64: u64, c.r32: u32; u64
        d2r2: put64(r64) <- a.r64: u64, b.r64: u64, c.r32: u32, e.r32: u32; u64
        // Widening and narrowing.
        widen1: put64(r64) <- a.r32: u32; u64
        widen2: put64(r64) <- a.r32: u32, b.r32: u32; u64
        widen3: put64(r64) <- a.r32: u32, b.r32: u32, c.r64: u64; u64
        narrow1: put32(r32) <- a.r64: u64; u32
    }

    comparisons! {
        cmp32: r32: u32
        cmp64: r64: u64
    }

    /// `d = c ? a : b` with a predicate, 32-bit.
    #[inline(always)]
    pub(crate) fn select32(&mut self, s: Slots, active: u32, _lane: ()) {
        let (a, b) = (&self.r32[s.a as usize], &self.r32[s.b as usize]);
        let choice = self.pred[s.c as usize];
        let out = std::array::from_fn(|lane| {
            if choice >> lane & 1 == 1 {
                a[lane]
            } else {
                b[lane]
            }
        });
        self.put32(s.d, active, &out);
    }

    /// `d = c ? a : b` with a predicate, 64-bit.
    #[inline(always)]
    pub(crate) fn select64(&mut self, s: Slots, active: u32, _lane: ()) {
        let (a, b) = (&self.r64[s.a as usize], &self.r64[s.b as usize]);
        let choice = self.pred[s.c as usize];
        let out = std::array::from_fn(|lane| {
            if choice >> lane & 1 == 1 {
                a[lane]
            } else {
                b[lane]
            }
        });
        self.put64(s.d, active, &out);
    }

    /// A bitwise operation on whole predicates.
    #[inline(always)]
    pub(crate) fn predicates(&mut self, s: Slots, active: u32, f: impl Fn(u32, u32) -> u32) {
        let out = f(self.pred[s.a as usize], self.pred[s.b as usize]);
        self.put_pred(s.d, active, out);
    }

    /// A test of one 32-bit value a lane.
    #[inline(always)]
    pub(crate) fn test32(&mut self, s: Slots, active: u32, f: impl Fn(u32) -> bool) {
        let a = &self.r32[s.a as usize];
        let out = (0..LANES).fold(0u32, |bits, lane| bits | u32::from(f(a[lane])) << lane);
        self.put_pred(s.d, active, out);
    }

    /// A test of one 64-bit value a lane.
    #[inline(always)]
    pub(crate) fn test64(&mut self, s: Slots, active: u32, f: impl Fn(u64) -> bool) {
        let a = &self.r64[s.a as usize];
        let out = (0..LANES).fold(0u32, |bits, lane| bits | u32::from(f(a[lane])) << lane);
        self.put_pred(s.d, active, out);
    }

    /// A value made from one predicate bit a lane.
    #[inline(always)]
    pub(crate) fn of_pred(&mut self, s: Slots, active: u32, f: impl Fn(bool) -> u32) {
        let bits = self.pred[s.a as usize];
        let out = std::array::from_fn(|lane| f(bits >> lane & 1 == 1));
        self.put32(s.d, active, &out);
    }

    /// 32-bit addition with carry in from predicate `c` and carry out to predicate `e`.
    #[inline(always)]
    pub(crate) fn carry32(
        &mut self,
        s: Slots,
        active: u32,
        f: impl Fn(u32, u32, bool) -> (u32, bool),
    ) {
        let (a, b) = (&self.r32[s.a as usize], &self.r32[s.b as usize]);
        let carry_in = self.pred[s.c as usize];
        let mut carry_out = 0u32;
        let out = std::array::from_fn(|lane| {
            let (value, carry) = f(a[lane], b[lane], carry_in >> lane & 1 == 1);
            carry_out |= u32::from(carry) << lane;
            value
        });
        self.put32(s.d, active, &out);
        self.put_pred(s.e, active, carry_out);
    }

    /// 64-bit addition with carry in from predicate `c` and carry out to predicate `e`.
    #[inline(always)]
    pub(crate) fn carry64(
        &mut self,
        s: Slots,
        active: u32,
        f: impl Fn(u64, u64, bool) -> (u64, bool),
    ) {
        let (a, b) = (&self.r64[s.a as usize], &self.r64[s.b as usize]);
        let carry_in = self.pred[s.c as usize];
        let mut carry_out = 0u32;
        let out = std::array::from_fn(|lane| {
            let (value, carry) = f(a[lane], b[lane], carry_in >> lane & 1 == 1);
            carry_out |= u32::from(carry) << lane;
            value
        });
        self.put64(s.d, active, &out);
        self.put_pred(s.e, active, carry_out);
    }

    /// All lanes of a 32-bit register.
    #[inline(always)]
    pub(crate) fn lanes32(&mut self, slot: u32) -> Lanes32 {
        self.r32[slot as usize]
    }

    /// All lanes of a 64-bit register.
    #[inline(always)]
    pub(crate) fn lanes64(&mut self, slot: u32) -> Lanes64 {
        self.r64[slot as usize]
    }

    /// A predicate's bits, lane 0 the lowest.
    #[inline(always)]
    pub(crate) fn pred_bits(&mut self, slot: u32) -> u32 {
        self.pred[slot as usize]
    }

    /// Writes the active lanes of `out`.
    #[inline(always)]
    pub(crate) fn put32(&mut self, d: u32, active: u32, out: &Lanes32) {
        let d = &mut self.r32[d as usize];
        if active == FULL {
            *d = *out;
        } else {
            for lane in 0..LANES {
                d[lane] = if active >> lane & 1 == 1 {
                    out[lane]
                } else {
                    d[lane]
                };
            }
        }
    }

    /// Writes the active lanes of `out`.
    #[inline(always)]
    pub(crate) fn put64(&mut self, d: u32, active: u32, out: &Lanes64) {
        let d = &mut self.r64[d as usize];
        if active == FULL {
            *d = *out;
        } else {
            for lane in 0..LANES {
                d[lane] = if active >> lane & 1 == 1 {
                    out[lane]
                } else {
                    d[lane]
                };
            }
        }
    }

    /// Writes the active lanes' bits of `out`.
    #[inline(always)]
    pub(crate) fn put_pred(&mut self, d: u32, active: u32, out: u32) {
        let d = &mut self.pred[d as usize];
        *d = (*d & !active) | (out & active);
    }
}
