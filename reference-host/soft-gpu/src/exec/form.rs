//! Patterns that the lanes of a register follow, so that most of a kernel's address arithmetic need not touch lanes.
//!
//! Thread indices, addresses and loop counters are, over the lanes of a squad, an affine function of the lane in each half of 16 (blocks
//! that are 16 wide break a warp into two rows) and of the warp. Such a register is known by four numbers.

use super::lanes::LANES;

/// Lanes of a half, within which a pattern has one step.
pub(crate) const HALF: usize = LANES / 2;

/// The value of lane `i` of warp `w` is `low + step * i + along * w` in the lower half and `high + step * (i - 16) + along * w` in the
/// upper, wrapping.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Form<T> {
    pub(crate) low: T,
    pub(crate) high: T,
    pub(crate) step: T,
    pub(crate) along: T,
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
    /// A pattern with a step within halves, the same in each warp.
    #[inline(always)]
    pub(crate) fn affine(low: T, high: T, step: T) -> Self {
        Self {
            low,
            high,
            step,
            along: T::default(),
        }
    }

    /// One value in each half, the same in each warp.
    #[inline(always)]
    pub(crate) fn flat(low: T, high: T) -> Self {
        Self::affine(low, high, T::default())
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

    /// One value in each half, the same in each warp.
    #[inline(always)]
    pub(crate) fn is_flat(&self) -> bool {
        self.step.or(self.along) == T::default()
    }

    /// Each number through `f`.
    #[inline(always)]
    pub(crate) fn map<U>(self, f: impl Fn(T) -> U) -> Form<U> {
        Form {
            low: f(self.low),
            high: f(self.high),
            step: f(self.step),
            along: f(self.along),
        }
    }

    /// The sum, lane by lane.
    #[inline(always)]
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            low: self.low.plus(other.low),
            high: self.high.plus(other.high),
            step: self.step.plus(other.step),
            along: self.along.plus(other.along),
        }
    }

    /// The pattern of one warp's lanes.
    #[inline(always)]
    pub(crate) fn of_warp(&self, warp: usize) -> Self {
        let offset = self.along.times(T::of(warp as u32));
        Self::affine(self.low.plus(offset), self.high.plus(offset), self.step)
    }

    /// One lane's value in the first warp.
    #[inline(always)]
    pub(crate) fn lane(&self, lane: usize) -> T {
        let start = if lane % LANES < HALF {
            self.low
        } else {
            self.high
        };
        start.plus(self.step.times(T::of((lane % HALF) as u32)))
    }

    /// Writes the lanes of the first warp.
    #[inline(always)]
    pub(crate) fn write(&self, lanes: &mut [T; LANES]) {
        let Self {
            low, high, step, ..
        } = *self;
        let (halves, _) = lanes.as_chunks_mut::<HALF>();
        if let [lower, upper] = halves {
            if step == T::default() {
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
    }

    /// The pattern of the lanes of one warp, if they have one.
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
