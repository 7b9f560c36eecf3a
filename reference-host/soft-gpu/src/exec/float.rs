//! Floating-point arithmetic as the PTX ISA defines it, on the bits of one lane.
//!
//! Every function is total. A NaN result is the canonical one, so that runs are bit-identical on every machine.
//! Source: PTX ISA, "Floating Point Instructions" and "Semantics of 16-bit Code".

use super::build::Build;

/// The NaN that single-precision instructions produce.
pub(crate) const NAN32: u32 = 0x7FFF_FFFF;

/// The NaN that double-precision arithmetic produces here; the ISA does not say which operand's payload it would have.
pub(crate) const NAN64: u64 = 0x7FF8_0000_0000_0000;

/// An IEEE rounding direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounding {
    /// `.rn`
    Nearest,
    /// `.rz`
    Zero,
    /// `.rm`
    Down,
    /// `.rp`
    Up,
}

/// A single-precision value from its bits.
#[inline(always)]
pub(crate) fn f32_of(bits: u32) -> f32 {
    f32::from_bits(bits)
}

/// A double-precision value from its bits.
#[inline(always)]
pub(crate) fn f64_of(bits: u64) -> f64 {
    f64::from_bits(bits)
}

/// Bits of a single-precision result, NaN made canonical.
#[inline(always)]
pub(crate) fn bits32(value: f32) -> u32 {
    if value.is_nan() {
        NAN32
    } else {
        value.to_bits()
    }
}

/// Bits of a double-precision result, NaN made canonical.
#[inline(always)]
pub(crate) fn bits64(value: f64) -> u64 {
    if value.is_nan() {
        NAN64
    } else {
        value.to_bits()
    }
}

/// What a float-to-integer conversion gives for NaN where the source is double or the result has 64 bits: the top bit alone.
///
/// All other conversions give 0 for NaN, as a cast does.
#[inline(always)]
pub(crate) fn unless_nan<T>(value: f64, top_bit: T, f: impl Fn(f64) -> T) -> T {
    if value.is_nan() { top_bit } else { f(value) }
}

/// Lifts a function of two single-precision values to bits.
#[inline(always)]
pub(crate) fn op32(a: u32, b: u32, f: impl Fn(f32, f32) -> f32) -> u32 {
    bits32(f(f32_of(a), f32_of(b)))
}

/// Lifts a function of two double-precision values to bits.
#[inline(always)]
pub(crate) fn op64(a: u64, b: u64, f: impl Fn(f64, f64) -> f64) -> u64 {
    bits64(f(f64_of(a), f64_of(b)))
}

/// `.ftz`: a subnormal becomes a zero of the same sign.
#[inline(always)]
pub(crate) fn flush32(a: u32) -> u32 {
    if a & 0x7F80_0000 == 0 {
        a & 0x8000_0000
    } else {
        a
    }
}

/// `.sat` of a single-precision value: clamped to [0, 1], NaN to +0.
#[inline(always)]
pub(crate) fn saturate32(a: u32) -> u32 {
    let value = f32_of(a);
    // A comparison is false for NaN, which therefore takes the zero branch; so does -0.
    if value > 0.0 {
        if value < 1.0 { a } else { 1.0f32.to_bits() }
    } else {
        0
    }
}

/// `.sat` of a double-precision value, as conversions have it.
#[inline(always)]
pub(crate) fn saturate64(a: u64) -> u64 {
    let value = f64_of(a);
    if value > 0.0 {
        if value < 1.0 { a } else { 1.0f64.to_bits() }
    } else {
        0
    }
}

/// The sum of two doubles rounded to odd: exact sums stay, inexact ones get an odd last bit.
///
/// Rounding such a sum once more, to a format at least two bits narrower, gives the correctly rounded result in any direction.
#[inline(always)]
pub(super) fn add_to_odd(a: f64, b: f64) -> f64 {
    let sum = a + b;
    let b_part = sum - a;
    let a_part = sum - b_part;
    let error = (a - a_part) + (b - b_part);
    to_odd(sum, error)
}

/// Moves `value`, which is `error` short of the exact result, to its odd neighbour on the exact result's side.
#[inline(always)]
fn to_odd(value: f64, error: f64) -> f64 {
    let bits = value.to_bits();
    // False for NaN errors, which arise from infinities and NaN and need no correction.
    let inexact = error.abs() > 0.0;
    if !inexact || bits & 1 == 1 || !value.is_finite() || value == 0.0 {
        return value;
    }
    let away_from_zero = (error > 0.0) == (value > 0.0);
    f64::from_bits(if away_from_zero {
        bits.wrapping_add(1)
    } else {
        bits.wrapping_sub(1)
    })
}

/// Rounds a double to single precision in the given direction.
#[inline(always)]
fn narrow(value: f64, rounding: Rounding) -> f32 {
    let nearest = value as f32;
    if rounding == Rounding::Nearest || value.is_nan() {
        return nearest;
    }
    if value.is_infinite() {
        return nearest;
    }
    let back = f64::from(nearest);
    let too_high = back > value;
    let too_low = back < value;
    let wants_lower = match rounding {
        Rounding::Nearest => false,
        Rounding::Zero => value > 0.0,
        Rounding::Down => true,
        Rounding::Up => false,
    };
    if too_high && wants_lower {
        nearest.next_down()
    } else if too_low && !wants_lower {
        // Rounding toward zero of a negative value moves up as well.
        nearest.next_up()
    } else {
        nearest
    }
}

/// `fma.rn.f32`: one rounding, by the processor where it has that.
#[inline(always)]
pub(crate) fn fma32<B: Build>(a: u32, b: u32, c: u32) -> u32 {
    if B::FUSED {
        return bits32(f32_of(a).mul_add(f32_of(b), f32_of(c)));
    }
    let product = f64::from(f32_of(a)) * f64::from(f32_of(b));
    bits32(add_to_odd(product, f64::from(f32_of(c))) as f32)
}

/// `fma.rn.f64`.
#[inline(always)]
pub(crate) fn fma64<B: Build>(a: u64, b: u64, c: u64) -> u64 {
    bits64(f64_of(a).mul_add(f64_of(b), f64_of(c)))
}

/// Single-precision `add` in any rounding.
#[inline(always)]
pub(crate) fn add32(a: u32, b: u32, rounding: Rounding) -> u32 {
    let (x, y) = (f32_of(a), f32_of(b));
    let sum = narrow(add_to_odd(f64::from(x), f64::from(y)), rounding);
    // An exact zero from unlike signs is -0 only when rounding down.
    if sum == 0.0
        && rounding == Rounding::Down
        && (x != 0.0 || y != 0.0 || x.is_sign_negative() != y.is_sign_negative())
        && x == -y
    {
        return (-0.0f32).to_bits();
    }
    bits32(sum)
}

/// Single-precision `mul` in any rounding; the double product is exact.
#[inline(always)]
pub(crate) fn mul32(a: u32, b: u32, rounding: Rounding) -> u32 {
    bits32(narrow(
        f64::from(f32_of(a)) * f64::from(f32_of(b)),
        rounding,
    ))
}

/// Single-precision `fma` in any rounding.
#[inline(always)]
pub(crate) fn fma32_rounded(a: u32, b: u32, c: u32, rounding: Rounding) -> u32 {
    let product = f64::from(f32_of(a)) * f64::from(f32_of(b));
    let addend = f64::from(f32_of(c));
    let sum = narrow(add_to_odd(product, addend), rounding);
    if sum == 0.0
        && rounding == Rounding::Down
        && product == -addend
        && product.is_sign_negative() != addend.is_sign_negative()
    {
        return (-0.0f32).to_bits();
    }
    bits32(sum)
}

/// Single-precision `div` in any rounding.
#[inline(always)]
pub(crate) fn div32(a: u32, b: u32, rounding: Rounding) -> u32 {
    let (x, y) = (f64::from(f32_of(a)), f64::from(f32_of(b)));
    let quotient = x / y;
    // The remainder is exact and its sign, seen through the divisor's, says on which side the exact quotient lies.
    let remainder = (-quotient).mul_add(y, x);
    let error = if y < 0.0 { -remainder } else { remainder };
    bits32(narrow(to_odd(quotient, error), rounding))
}

/// Single-precision `sqrt` in any rounding.
#[inline(always)]
pub(crate) fn sqrt32(a: u32, rounding: Rounding) -> u32 {
    let x = f64::from(f32_of(a));
    let root = x.sqrt();
    bits32(narrow(to_odd(root, (-root).mul_add(root, x)), rounding))
}

/// `min` of single precision: a NaN loses against a number, -0 is below +0.
#[inline(always)]
pub(crate) fn min32(a: u32, b: u32) -> u32 {
    let (x, y) = (f32_of(a), f32_of(b));
    if x.is_nan() {
        return bits32(y);
    }
    if y.is_nan() || x < y || (x == y && x.is_sign_negative()) {
        a
    } else {
        b
    }
}

/// `max` of single precision: a NaN loses against a number, +0 is above -0.
#[inline(always)]
pub(crate) fn max32(a: u32, b: u32) -> u32 {
    let (x, y) = (f32_of(a), f32_of(b));
    if x.is_nan() {
        return bits32(y);
    }
    if y.is_nan() || x > y || (x == y && x.is_sign_positive()) {
        a
    } else {
        b
    }
}

/// `min` of double precision.
#[inline(always)]
pub(crate) fn min64(a: u64, b: u64) -> u64 {
    let (x, y) = (f64_of(a), f64_of(b));
    if x.is_nan() {
        return bits64(y);
    }
    if y.is_nan() || x < y || (x == y && x.is_sign_negative()) {
        a
    } else {
        b
    }
}

/// `max` of double precision.
#[inline(always)]
pub(crate) fn max64(a: u64, b: u64) -> u64 {
    let (x, y) = (f64_of(a), f64_of(b));
    if x.is_nan() {
        return bits64(y);
    }
    if y.is_nan() || x > y || (x == y && x.is_sign_positive()) {
        a
    } else {
        b
    }
}

/// A double rounded to an integral value (`.rni .rzi .rmi .rpi`).
#[inline(always)]
pub(crate) fn integral(value: f64, rounding: Rounding) -> f64 {
    match rounding {
        Rounding::Nearest => value.round_ties_even(),
        Rounding::Zero => value.trunc(),
        Rounding::Down => value.floor(),
        Rounding::Up => value.ceil(),
    }
}

/// A single rounded to an integral value.
#[inline(always)]
pub(crate) fn integral32(value: f32, rounding: Rounding) -> f32 {
    match rounding {
        Rounding::Nearest => value.round_ties_even(),
        Rounding::Zero => value.trunc(),
        Rounding::Down => value.floor(),
        Rounding::Up => value.ceil(),
    }
}

/// `cvt.f32.f64` in any rounding.
#[inline(always)]
pub(crate) fn narrow64(a: u64, rounding: Rounding) -> u32 {
    bits32(narrow(f64_of(a), rounding))
}

/// A signed integer to single precision; `i64` needs one rounding from the integer itself.
#[inline(always)]
pub(crate) fn int_to_f32(value: i128, rounding: Rounding) -> u32 {
    let nearest = value as f32;
    // Exact: a single-precision value of this size is an integer below 2^65.
    let back = nearest as i128;
    let adjusted = match rounding {
        Rounding::Nearest => nearest,
        Rounding::Zero if value >= 0 && back > value => nearest.next_down(),
        Rounding::Zero if value < 0 && back < value => nearest.next_up(),
        Rounding::Down if back > value => nearest.next_down(),
        Rounding::Up if back < value => nearest.next_up(),
        Rounding::Zero | Rounding::Down | Rounding::Up => nearest,
    };
    adjusted.to_bits()
}

/// A signed integer to double precision.
#[inline(always)]
pub(crate) fn int_to_f64(value: i128, rounding: Rounding) -> u64 {
    let nearest = value as f64;
    let back = nearest as i128;
    let adjusted = match rounding {
        Rounding::Nearest => nearest,
        Rounding::Zero if value >= 0 && back > value => nearest.next_down(),
        Rounding::Zero if value < 0 && back < value => nearest.next_up(),
        Rounding::Down if back > value => nearest.next_down(),
        Rounding::Up if back < value => nearest.next_up(),
        Rounding::Zero | Rounding::Down | Rounding::Up => nearest,
    };
    adjusted.to_bits()
}
