//! The 16-bit formats as values: what atomics and matrices, which choose the format when they run, do with them.
//!
//! Source: PTX ISA, "Alternate Floating-Point Data Formats".

use super::float::Rounding;
use super::half::{Bf16, F16, Half as _, NAN16, narrow};

/// A format of 16 bits, known when a kernel runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Half {
    /// IEEE half precision: 5 bits of exponent, 10 of fraction.
    F16,
    /// The upper half of single precision: 8 bits of exponent, 7 of fraction.
    Bf16,
}

impl Half {
    /// The value of a half's bits, exact.
    #[inline(always)]
    pub(crate) fn value(self, bits: u32) -> f32 {
        match self {
            Self::F16 => F16::widen(bits),
            Self::Bf16 => Bf16::widen(bits),
        }
    }

    /// The bits of the half that is nearest to a value, ties to even; the canonical NaN for NaN.
    #[inline(always)]
    pub(crate) fn nearest(self, value: f64) -> u32 {
        match self {
            Self::F16 => narrow::<F16>(value, Rounding::Nearest),
            Self::Bf16 => narrow::<Bf16>(value, Rounding::Nearest),
        }
    }

    /// The sum of two halves, rounded once.
    ///
    /// Double precision holds every sum of which a rounding to 16 bits could depend on the lost bits.
    #[inline(always)]
    pub(crate) fn sum(self, a: u32, b: u32) -> u32 {
        self.nearest(f64::from(self.value(a)) + f64::from(self.value(b)))
    }

    /// The lesser of two halves: a NaN loses against a number, -0 is below +0.
    #[inline(always)]
    pub(crate) fn least(self, a: u32, b: u32) -> u32 {
        self.choose(a, b, self.order(a) <= self.order(b))
    }

    /// The greater of two halves.
    #[inline(always)]
    pub(crate) fn greatest(self, a: u32, b: u32) -> u32 {
        self.choose(a, b, self.order(a) >= self.order(b))
    }

    fn choose(self, a: u32, b: u32, first: bool) -> u32 {
        match (self.value(a).is_nan(), self.value(b).is_nan()) {
            (true, true) => NAN16,
            (true, false) => b,
            (false, true) => a,
            (false, false) if first => a,
            (false, false) => b,
        }
    }

    /// A number that orders bits of halves as their values, with -0 below +0.
    fn order(self, bits: u32) -> i32 {
        let magnitude = (bits & 0x7FFF).cast_signed();
        if bits & 0x8000 == 0 {
            magnitude
        } else {
            -1 - magnitude
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Half;

    #[test]
    fn every_half_survives_a_round_trip() {
        for half in [Half::F16, Half::Bf16] {
            for bits in 0..=0xFFFFu32 {
                let value = half.value(bits);
                let back = half.nearest(f64::from(value));
                if value.is_nan() {
                    assert_eq!(back, 0x7FFF);
                } else {
                    assert_eq!(back, bits, "{half:?} {bits:#x}");
                }
            }
        }
    }

    #[test]
    fn values_are_those_of_the_formats() {
        assert_eq!(Half::F16.value(0x3C00), 1.0);
        assert_eq!(Half::F16.value(0xC580), -5.5);
        assert_eq!(Half::F16.value(1), 2f32.powi(-24));
        assert_eq!(Half::F16.value(0x7BFF), 65504.0);
        assert_eq!(Half::F16.value(0xFC00), f32::NEG_INFINITY);
        assert_eq!(Half::Bf16.value(0x4049), 3.140625);
    }

    #[test]
    fn ties_go_to_even_and_too_much_to_infinity() {
        assert_eq!(Half::F16.nearest(2049.0), 0x6800);
        assert_eq!(Half::F16.nearest(2051.0), 0x6802);
        assert_eq!(Half::F16.nearest(65519.0), 0x7BFF);
        assert_eq!(Half::F16.nearest(65520.0), 0x7C00);
        assert_eq!(Half::F16.nearest(-2f64.powi(-25)), 0x8000);
        assert_eq!(Half::F16.nearest(2f64.powi(-25) * 1.01), 1);
        assert_eq!(Half::Bf16.nearest(257.0), 0x4380);
        assert_eq!(Half::Bf16.nearest(259.0), 0x4382);
        assert_eq!(Half::Bf16.nearest(1e300), 0x7F80);
    }
}
