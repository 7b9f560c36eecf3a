//! The approximate instructions whose results the ISA bends away from the correctly rounded ones.
//!
//! Source: PTX ISA, "Floating Point Instructions": div, rcp and rsqrt.

use super::float::bits32;

/// `div.approx.f32`: a divisor beyond 2^126 has a reciprocal too small to be kept.
pub(crate) fn div_approximate(a: u32, b: u32) -> u32 {
    let (x, y) = (f32::from_bits(a), f32::from_bits(b));
    if y.is_finite() && y.abs() > f32::from_bits((127 + 126) << 23) {
        let zero = f32::from_bits(b & 0x8000_0000);
        return bits32(x * zero);
    }
    bits32(x / y)
}

/// `rcp.approx.ftz.f64` and `rsqrt.approx.ftz.f64`: upper words in, upper words out.
///
/// A NaN whose payload is in the lower word only is an infinity here, as it is to the processor, which is not given that word.
#[inline(always)]
pub(crate) fn approximate_upper(a: u64, f: impl Fn(f64) -> f64) -> u64 {
    const EXPONENT: u64 = 0x7FF0_0000_0000_0000;
    const LOWER: u64 = 0xFFFF_FFFF;
    let flush = |bits: u64| {
        if bits & EXPONENT == 0 {
            bits & 1 << 63
        } else {
            bits
        }
    };
    let result = f(f64::from_bits(flush(a & !LOWER)));
    if result.is_nan() {
        return 0x7FFF_FFFF_0000_0000;
    }
    // To the nearest of the values whose lower word is zero; a carry runs into the exponent as it should.
    let bits = flush(result.to_bits());
    if bits & !(1 << 63) < EXPONENT {
        bits.wrapping_add(0x8000_0000) & !LOWER
    } else {
        bits
    }
}
