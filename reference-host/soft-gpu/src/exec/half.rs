//! Values of 16 bits and fewer: `.f16`, `.bf16`, their pairs, `.tf32` and the 8-bit formats.
//!
//! Arithmetic is done in double precision, where sums are rounded to odd, and rounded once more to the format, which gives the
//! correctly rounded result. Every function is total; NaN results are the canonical ones, but where `.bf16` becomes single precision.
//! Source: PTX ISA, "Half Precision Floating Point Instructions" and "Alternate Floating-Point Data Formats".

use super::float::{Rounding, add_to_odd, bits32};

/// A format of 16 bits.
pub(crate) trait Half {
    const MANTISSA_BITS: u32;
    /// The bits of an infinity.
    const INFINITY: u32;

    /// The value as single precision, exactly.
    fn widen(bits: u32) -> f32;

    /// `cvt.f32` of the type.
    fn to_f32(bits: u32) -> u32;
}

/// `.f16`: 5 bits of exponent, 10 of mantissa.
pub(crate) struct F16;

/// `.bf16`: the upper half of single precision.
pub(crate) struct Bf16;

impl Half for F16 {
    const MANTISSA_BITS: u32 = 10;
    const INFINITY: u32 = 0x7C00;

    #[inline(always)]
    fn widen(bits: u32) -> f32 {
        let magnitude = bits & 0x7FFF;
        let fields = magnitude << 13;
        let widened = if magnitude >= Self::INFINITY {
            0x7F80_0000 | fields
        } else if magnitude >= 0x400 {
            fields + (112 << 23)
        } else {
            // A subnormal counts units of 2^-24.
            (magnitude as f32 * f32::from_bits((127 - 24) << 23)).to_bits()
        };
        f32::from_bits(widened | (bits & 0x8000) << 16)
    }

    #[inline(always)]
    fn to_f32(bits: u32) -> u32 {
        bits32(Self::widen(bits))
    }
}

impl Half for Bf16 {
    const MANTISSA_BITS: u32 = 7;
    const INFINITY: u32 = 0x7F80;

    #[inline(always)]
    fn widen(bits: u32) -> f32 {
        f32::from_bits(bits << 16)
    }

    /// The ISA leaves open which NaN a NaN becomes. Assemblers make a shift of it, which keeps the payload.
    #[inline(always)]
    fn to_f32(bits: u32) -> u32 {
        bits << 16
    }
}

/// The canonical NaN of both formats.
pub(crate) const NAN16: u32 = 0x7FFF;

/// Rounds a double to a format.
#[inline(always)]
pub(crate) fn narrow<T: Half>(value: f64, rounding: Rounding) -> u32 {
    if value.is_nan() {
        return NAN16;
    }
    let negative = value.is_sign_negative();
    let sign = if negative { 0x8000 } else { 0 };
    if value.is_infinite() {
        return sign | T::INFINITY;
    }
    let exponent_bits = 15 - T::MANTISSA_BITS;
    let magnitude = magnitude(
        value,
        T::MANTISSA_BITS,
        2 - (1 << (exponent_bits - 1)),
        rounding,
    );
    if magnitude < T::INFINITY {
        return sign | magnitude;
    }
    let away = match rounding {
        Rounding::Nearest => true,
        Rounding::Zero => false,
        Rounding::Down => negative,
        Rounding::Up => !negative,
    };
    sign | (T::INFINITY - u32::from(!away))
}

/// The bits, without a sign, of a finite value rounded to a format of `mantissa_bits` whose least normal exponent is `least`,
/// as if exponents had no upper bound.
#[inline(always)]
fn magnitude(value: f64, mantissa_bits: u32, least: i32, rounding: Rounding) -> u32 {
    let bits = value.to_bits();
    // Doubles too small to be normal are far below any format here: what they lack in exponent does not matter.
    let exponent = (bits >> 52 & 0x7FF) as i32 - 1023;
    let significand = bits & ((1 << 52) - 1) | u64::from(exponent > -1023) << 52;
    let below = least.saturating_sub(exponent).max(0).cast_unsigned();
    let shift = (52 - mantissa_bits + below).min(63);
    let kept = significand >> shift;
    let rest = significand & ((1 << shift) - 1);
    let half = 1u64 << (shift - 1);
    let up = match rounding {
        Rounding::Nearest => rest > half || (rest == half && kept & 1 == 1),
        Rounding::Zero => false,
        Rounding::Down => value.is_sign_negative() && rest != 0,
        Rounding::Up => !value.is_sign_negative() && rest != 0,
    };
    let field = (exponent - least).max(0).cast_unsigned();
    (field << mantissa_bits).wrapping_add(kept as u32 + u32::from(up))
}

/// Applies a function to the lower and the upper half of one word.
#[inline(always)]
pub(crate) fn each(a: u32, f: impl Fn(u32) -> u32) -> u32 {
    f(a & 0xFFFF) | f(a >> 16) << 16
}

/// Applies a function to the lower and the upper halves of two words.
#[inline(always)]
pub(crate) fn each2(a: u32, b: u32, f: impl Fn(u32, u32) -> u32) -> u32 {
    f(a & 0xFFFF, b & 0xFFFF) | f(a >> 16, b >> 16) << 16
}

/// Applies a function to the lower and the upper halves of three words.
#[inline(always)]
pub(crate) fn each3(a: u32, b: u32, c: u32, f: impl Fn(u32, u32, u32) -> u32) -> u32 {
    f(a & 0xFFFF, b & 0xFFFF, c & 0xFFFF) | f(a >> 16, b >> 16, c >> 16) << 16
}

#[inline(always)]
fn double<T: Half>(bits: u32) -> f64 {
    f64::from(T::widen(bits))
}

#[inline(always)]
pub(crate) fn add<T: Half>(a: u32, b: u32) -> u32 {
    narrow::<T>(
        add_to_odd(double::<T>(a), double::<T>(b)),
        Rounding::Nearest,
    )
}

#[inline(always)]
pub(crate) fn sub<T: Half>(a: u32, b: u32) -> u32 {
    narrow::<T>(
        add_to_odd(double::<T>(a), -double::<T>(b)),
        Rounding::Nearest,
    )
}

/// The double product is exact.
#[inline(always)]
pub(crate) fn mul<T: Half>(a: u32, b: u32) -> u32 {
    narrow::<T>(double::<T>(a) * double::<T>(b), Rounding::Nearest)
}

#[inline(always)]
pub(crate) fn fma<T: Half>(a: u32, b: u32, c: u32) -> u32 {
    let product = double::<T>(a) * double::<T>(b);
    narrow::<T>(add_to_odd(product, double::<T>(c)), Rounding::Nearest)
}

/// `ex2.approx`, computed to the nearest.
#[inline(always)]
pub(crate) fn ex2<T: Half>(a: u32) -> u32 {
    narrow::<T>(double::<T>(a).exp2(), Rounding::Nearest)
}

/// `tanh.approx`, computed to the nearest.
#[inline(always)]
pub(crate) fn tanh<T: Half>(a: u32) -> u32 {
    narrow::<T>(double::<T>(a).tanh(), Rounding::Nearest)
}

#[inline(always)]
fn is_nan<T: Half>(bits: u32) -> bool {
    bits & 0x7FFF > T::INFINITY
}

#[inline(always)]
pub(crate) fn neg<T: Half>(a: u32) -> u32 {
    if is_nan::<T>(a) { NAN16 } else { a ^ 0x8000 }
}

#[inline(always)]
pub(crate) fn abs<T: Half>(a: u32) -> u32 {
    if is_nan::<T>(a) { NAN16 } else { a & 0x7FFF }
}

/// `.ftz`
#[inline(always)]
pub(crate) fn flush<T: Half>(a: u32) -> u32 {
    if a & T::INFINITY == 0 { a & 0x8000 } else { a }
}

/// `.relu`: what is negative becomes +0.
#[inline(always)]
pub(crate) fn relu<T: Half>(a: u32) -> u32 {
    if is_nan::<T>(a) {
        NAN16
    } else if a & 0x8000 != 0 {
        0
    } else {
        a
    }
}

/// `.sat` of `.f16`: clamped to [0, 1], NaN to +0.
#[inline(always)]
pub(crate) fn saturate(a: u32) -> u32 {
    const ONE: u32 = 0x3C00;
    if is_nan::<F16>(a) || a & 0x8000 != 0 {
        0
    } else {
        a.min(ONE)
    }
}

/// `.satfinite`: an infinity becomes the largest finite value.
#[inline(always)]
pub(crate) fn finite<T: Half>(a: u32) -> u32 {
    if a & 0x7FFF == T::INFINITY { a - 1 } else { a }
}

/// `min` and `max`: -0 is below +0; a NaN loses against a number unless `nan_wins`.
#[inline(always)]
pub(crate) fn extreme<T: Half>(a: u32, b: u32, least: bool, nan_wins: bool) -> u32 {
    match (is_nan::<T>(a), is_nan::<T>(b)) {
        (false, false) => {
            // Magnitudes in order, negative ones reversed and below.
            let key = |bits: u32| {
                if bits & 0x8000 == 0 {
                    bits | 0x8000
                } else {
                    !bits & 0xFFFF
                }
            };
            if (key(a) < key(b)) == least { a } else { b }
        }
        (true, true) => NAN16,
        _ if nan_wins => NAN16,
        (true, false) => b,
        (false, true) => a,
    }
}

/// `.xorsign`: the result `d` of magnitudes takes the product's sign.
#[inline(always)]
pub(crate) fn xor_sign<T: Half>(d: u32, a: u32, b: u32) -> u32 {
    if is_nan::<T>(d) {
        NAN16
    } else {
        (d & 0x7FFF) | ((a ^ b) & 0x8000)
    }
}

/// A 16-bit float to single precision.
#[inline(always)]
pub(crate) fn to_f32<T: Half>(a: u32) -> u32 {
    T::to_f32(a)
}

/// Single precision to a 16-bit float.
#[inline(always)]
pub(crate) fn of_f32<T: Half>(a: u32, rounding: Rounding) -> u32 {
    narrow::<T>(f64::from(f32::from_bits(a)), rounding)
}

/// The integer as a double that rounds to any format here as the integer itself does: the last bit stands for all that was lost.
#[inline(always)]
pub(crate) fn int_to_odd(negative: bool, magnitude: u64) -> u64 {
    let over = 11 - magnitude.leading_zeros().min(11);
    let kept = magnitude >> over;
    let lost = kept << over != magnitude;
    let odd = ((kept | u64::from(lost)) << over) as f64;
    (if negative { -odd } else { odd }).to_bits()
}

/// How `.tf32` is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tf32Rounding {
    /// `.rna`: ties away from zero.
    Away,
    /// `.rn`
    Even,
    /// `.rz`
    Zero,
}

/// Single precision to `.tf32`: the 13 lowest bits of the mantissa are rounded off.
#[inline(always)]
pub(crate) fn tf32(a: u32, rounding: Tf32Rounding) -> u32 {
    if f32::from_bits(a).is_nan() {
        return super::float::NAN32;
    }
    let magnitude = a & 0x7FFF_FFFF;
    if magnitude == 0x7F80_0000 {
        return a;
    }
    let added = match rounding {
        Tf32Rounding::Away => 0x1000,
        Tf32Rounding::Even => 0xFFF + (magnitude >> 13 & 1),
        Tf32Rounding::Zero => 0,
    };
    (a & 0x8000_0000) | ((magnitude + added) & !0x1FFF)
}

/// `.satfinite` of `.tf32`.
#[inline(always)]
pub(crate) fn tf32_finite(a: u32) -> u32 {
    if a & 0x7FFF_FFFF == 0x7F80_0000 {
        a - 0x2000
    } else {
        a
    }
}

/// `.relu` of single precision and `.tf32`.
#[inline(always)]
pub(crate) fn relu32(a: u32) -> u32 {
    if f32::from_bits(a).is_nan() {
        super::float::NAN32
    } else if a >> 31 == 1 {
        0
    } else {
        a
    }
}

/// Single precision to `.e4m3`, to the nearest and to the largest finite value beyond that.
#[inline(always)]
pub(crate) fn to_e4m3(a: u32) -> u32 {
    to_eight_bits(a, 3, -6, 0x7E)
}

/// Single precision to `.e5m2`, to the nearest and to the largest finite value beyond that.
#[inline(always)]
pub(crate) fn to_e5m2(a: u32) -> u32 {
    to_eight_bits(a, 2, -14, 0x7B)
}

#[inline(always)]
fn to_eight_bits(a: u32, mantissa_bits: u32, least: i32, largest: u32) -> u32 {
    let value = f32::from_bits(a);
    if value.is_nan() {
        return 0x7F;
    }
    let sign = a >> 24 & 0x80;
    if value.is_infinite() {
        return sign | largest;
    }
    let magnitude = magnitude(f64::from(value), mantissa_bits, least, Rounding::Nearest);
    sign | magnitude.min(largest)
}

/// A value of `.e4m3` as `.f16`, exactly.
#[inline(always)]
pub(crate) fn of_e4m3(a: u32) -> u32 {
    if a & 0x7F == 0x7F {
        return NAN16;
    }
    let magnitude = if a & 0x78 == 0 {
        // A subnormal counts units of 2^-9.
        (a & 7) as f32 * f32::from_bits((127 - 9) << 23)
    } else {
        f32::from_bits(((a & 0x7F) << 20) + (120 << 23))
    };
    (a & 0x80) << 8 | narrow::<F16>(f64::from(magnitude), Rounding::Nearest)
}

/// A value of `.e5m2` as `.f16`, of which it is the upper byte.
#[inline(always)]
pub(crate) fn of_e5m2(a: u32) -> u32 {
    if a & 0x7F > 0x7C {
        NAN16
    } else {
        (a & 0xFF) << 8
    }
}

/// `ex2.approx.ftz.bf16`
#[inline(always)]
pub(crate) fn ex2_flushed(a: u32) -> u32 {
    flush::<Bf16>(ex2::<Bf16>(flush::<Bf16>(a)))
}
