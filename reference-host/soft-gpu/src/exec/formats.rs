//! The floating-point formats of less than 32 bits that memory and matrices hold, as values of wider formats.
//!
//! Source: PTX ISA, "Alternate Floating-Point Data Formats".

/// A format of 16 bits.
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
            Self::F16 => f16_value(bits),
            Self::Bf16 => f32::from_bits(bits << 16),
        }
    }

    /// The bits of the half that is nearest to a value, ties to even; the canonical NaN for NaN.
    #[inline(always)]
    pub(crate) fn nearest(self, value: f64) -> u32 {
        match self {
            Self::F16 => nearest(value, 5, 10),
            Self::Bf16 => nearest(value, 8, 7),
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
            (true, true) => CANONICAL_NAN,
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

/// The NaN that 16-bit arithmetic produces.
const CANONICAL_NAN: u32 = 0x7FFF;

#[inline(always)]
fn f16_value(bits: u32) -> f32 {
    let sign = (bits & 0x8000) << 16;
    let magnitude = bits & 0x7FFF;
    // A half's exponent and fraction moved into single precision are too small by 2^112, subnormals included.
    let scaled = f32::from_bits(magnitude << 13) * f32::from_bits(0x7780_0000);
    let special = 0x7F80_0000 | magnitude << 13;
    let unsigned = if magnitude >= 0x7C00 {
        special
    } else {
        scaled.to_bits()
    };
    f32::from_bits(unsigned | sign)
}

/// Rounds to a format with `exponent` bits of exponent and `fraction` bits of fraction, 16 together with the sign.
#[inline(always)]
fn nearest(value: f64, exponent: u32, fraction: u32) -> u32 {
    if value.is_nan() {
        return CANONICAL_NAN;
    }
    let bits = value.to_bits();
    let sign = ((bits >> 48) & 0x8000) as u32;
    let top = (1i64 << exponent) - 1;
    // The exponent as the format would have it; 0 and below for its subnormals.
    let biased = ((bits >> 52) & 0x7FF) as i64 - 1023 + (top >> 1);
    if biased >= top {
        return sign | (top as u32) << fraction;
    }
    let whole = bits & 0x000F_FFFF_FFFF_FFFF | 1 << 52;
    let shift = (i64::from(52 - fraction) + (1 - biased).max(0)).min(60) as u32;
    let (kept, lost) = (whole >> shift, whole & ((1 << shift) - 1));
    let half = 1u64 << (shift - 1);
    let up = lost > half || (lost == half && kept & 1 == 1);
    let base = if biased > 0 {
        ((biased as u64 - 1) << fraction) + kept
    } else {
        kept
    };
    // A carry out of the fraction raises the exponent, up to infinity.
    sign | (base + u64::from(up)) as u32
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
