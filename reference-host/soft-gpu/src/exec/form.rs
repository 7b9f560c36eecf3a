//! Registers whose lanes follow a pattern, so that most of a kernel's address arithmetic need not touch 32 lanes.
//!
//! Thread indices, addresses and loop counters are, over the lanes of a warp, an affine function of the lane in each half of 16: blocks
//! that are 16 wide break a warp into two rows. Such a register is known by three numbers; its lanes are only written out when
//! an operation needs them, after which both are known.

use super::lanes::LANES;

/// Lanes of a half, within which a pattern has one step.
pub(crate) const HALF: usize = LANES / 2;

/// The lanes of a register are written out.
pub(super) const IN_LANES: u32 = 1;
/// The pattern is known.
pub(super) const PATTERN: u32 = 2;
/// The pattern is known and its step is 0: one value in each half.
pub(super) const FLAT: u32 = 4;

/// The value of lane `i` is `low + step * i` in the lower half and `high + step * (i - 16)` in the upper, wrapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Form<T> {
    pub(crate) low: T,
    pub(crate) high: T,
    pub(crate) step: T,
    /// [`IN_LANES`], [`PATTERN`], [`FLAT`].
    pub(super) kind: u32,
}

/// A register: 32 lanes, or what they would be, or both.
#[derive(Clone, Debug)]
#[repr(align(32))]
pub(crate) struct Register<T> {
    pub(super) lanes: [T; LANES],
    pub(super) form: Form<T>,
}

/// The integers that registers hold.
pub(crate) trait Word: Copy + Eq + Default {
    fn of(value: u32) -> Self;
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
}

macro_rules! words {
    ($($ty:ty)*) => { $(
        impl Word for $ty {
            #[inline(always)]
            fn of(value: u32) -> Self {
                Self::from(value)
            }

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }

            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }

            #[inline(always)]
            fn or(self, other: Self) -> Self {
                self | other
            }
        }
    )* };
}

words! { u32 u64 }

impl<T: Word> Form<T> {
    /// A pattern with a step.
    #[inline(always)]
    pub(crate) fn affine(low: T, high: T, step: T) -> Self {
        let kind = if step == T::default() {
            PATTERN | FLAT
        } else {
            PATTERN
        };
        Self {
            low,
            high,
            step,
            kind,
        }
    }

    /// One value in each half.
    #[inline(always)]
    pub(crate) fn flat(low: T, high: T) -> Self {
        Self {
            low,
            high,
            step: T::default(),
            kind: PATTERN | FLAT,
        }
    }

    /// One value in all lanes.
    #[inline(always)]
    pub(crate) fn uniform(value: T) -> Self {
        Self::flat(value, value)
    }

    /// The value of all lanes, if there is one.
    #[inline(always)]
    pub(crate) fn as_uniform(&self) -> Option<T> {
        (self.is_flat() && self.low == self.high).then_some(self.low)
    }

    #[inline(always)]
    pub(crate) fn is_pattern(&self) -> bool {
        self.kind & PATTERN != 0
    }

    #[inline(always)]
    pub(crate) fn is_flat(&self) -> bool {
        self.kind & FLAT != 0
    }

    /// The pattern of 32 lanes, if they have one.
    #[inline(always)]
    pub(crate) fn of_lanes(lanes: &[T; LANES]) -> Option<Self> {
        let form = Self::affine(lanes[0], lanes[HALF], lanes[1].minus(lanes[0]));
        if lanes[2].minus(lanes[1]) != form.step {
            return None;
        }
        let mut same = true;
        for lane in 0..HALF {
            let offset = form.step.times(T::of(lane as u32));
            same &= lanes[lane] == form.low.plus(offset);
            same &= lanes[lane + HALF] == form.high.plus(offset);
        }
        same.then_some(form)
    }
}

impl<T: Word> Default for Register<T> {
    fn default() -> Self {
        Self::of(Form::uniform(T::default()))
    }
}

impl<T: Word> Register<T> {
    /// A register that holds a pattern.
    pub(crate) fn of(form: Form<T>) -> Self {
        Self {
            lanes: [T::default(); LANES],
            form,
        }
    }

    /// Holds a pattern from now on, or its lanes where patterns are not to be kept.
    #[inline(always)]
    pub(crate) fn set(&mut self, form: Form<T>, patterns: bool) {
        self.form = form;
        if !patterns {
            self.write_out();
            self.lanes_only();
        }
    }

    /// Writes the lanes out if they are not yet.
    #[inline(always)]
    pub(crate) fn spread(&mut self) {
        if self.form.kind & IN_LANES == 0 {
            self.write_out();
        }
    }

    /// Lanes from the pattern.
    #[inline(always)]
    fn write_out(&mut self) {
        let Form {
            low, high, step, ..
        } = self.form;
        let (halves, _) = self.lanes.as_chunks_mut::<HALF>();
        if let [lower, upper] = halves {
            if self.form.kind & FLAT != 0 {
                // In pieces of one vector, so that what reads them next finds whole vectors in the store buffer.
                for (lower, upper) in lower
                    .as_chunks_mut::<8>()
                    .0
                    .iter_mut()
                    .zip(upper.as_chunks_mut::<8>().0)
                {
                    *lower = [low; 8];
                    *upper = [high; 8];
                }
            } else {
                for lane in 0..HALF {
                    let offset = step.times(T::of(lane as u32));
                    lower[lane] = low.plus(offset);
                    upper[lane] = high.plus(offset);
                }
            }
        }
        self.form.kind |= IN_LANES;
    }

    /// The pattern, which is looked for in the lanes where it is not known, and then kept.
    #[inline(always)]
    pub(crate) fn pattern(&mut self) -> Option<Form<T>> {
        if !self.form.is_pattern() {
            self.form = Form::of_lanes(&self.lanes)?;
            self.form.kind |= IN_LANES;
        }
        Some(self.form)
    }

    /// One lane's value.
    #[inline(always)]
    pub(crate) fn lane(&self, lane: usize) -> T {
        if self.form.kind & IN_LANES != 0 {
            return self.lanes[lane % LANES];
        }
        let Form {
            low, high, step, ..
        } = self.form;
        let start = if lane % LANES < HALF { low } else { high };
        start.plus(step.times(T::of((lane % HALF) as u32)))
    }

    /// Only the lanes are known from now on.
    #[inline(always)]
    pub(crate) fn lanes_only(&mut self) -> &mut [T; LANES] {
        self.form.kind = IN_LANES;
        &mut self.lanes
    }

    /// Writes the active lanes of `out`.
    #[inline(always)]
    pub(crate) fn blend(&mut self, active: u32, out: &[T; LANES]) {
        self.spread();
        let lanes = self.lanes_only();
        for lane in 0..LANES {
            lanes[lane] = if active >> lane & 1 == 1 {
                out[lane]
            } else {
                lanes[lane]
            };
        }
    }
}
