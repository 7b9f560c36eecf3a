//! Elementary functions of single-precision operands in double precision, by series.
//!
//! The interpreter asks the platform's library for these; the references here share nothing with that but `+ - * /`. Their own errors
//! are below 2^-44 of the value, a millionth of the finest bound that they are held against; where the library agrees to that, both
//! are right.

use std::f64::consts::{LN_2, LOG2_E};

/// 2^x
pub(crate) fn ex2(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    // Far outside the range of single precision there is nothing to tell apart.
    let x = x.clamp(-1000.0, 1000.0);
    let whole = x.round();
    let scale = f64::from_bits(((whole as i64 + 1023) as u64) << 52);
    (1.0 + exponential_less_one((x - whole) * LN_2)) * scale
}

/// The logarithm to base 2.
pub(crate) fn lg2(x: f64) -> f64 {
    if x.is_nan() || x < 0.0 {
        return f64::NAN;
    }
    if x == 0.0 {
        return f64::NEG_INFINITY;
    }
    if x.is_infinite() {
        return x;
    }
    // Subnormal operands of single precision are normal doubles.
    let bits = x.to_bits();
    let mut exponent = (bits >> 52) as i32 - 1023;
    let mut mantissa = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
    if mantissa > 4.0 / 3.0 {
        mantissa /= 2.0;
        exponent += 1;
    }
    // ln m = 2 artanh s, and s is 1/5 at most.
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let sum = (0..=14)
        .rev()
        .fold(0.0, |sum, k| sum * s * s + 1.0 / f64::from(2 * k + 1));
    f64::from(exponent) + 2.0 * s * sum / LN_2
}

/// The hyperbolic tangent.
pub(crate) fn tanh(x: f64) -> f64 {
    let twice = 2.0 * x.abs();
    let magnitude = if twice < 0.35 {
        let less_one = exponential_less_one(twice);
        less_one / (less_one + 2.0)
    } else if twice < 60.0 {
        let power = ex2(twice * LOG2_E);
        (power - 1.0) / (power + 1.0)
    } else if x.is_nan() {
        return x;
    } else {
        1.0
    };
    magnitude.copysign(x)
}

/// The sine of an operand of at most a thousand, else NaN.
pub(crate) fn sin(x: f64) -> f64 {
    match quadrant(x) {
        None => f64::NAN,
        Some(_) if x == 0.0 => x,
        Some((0, rest)) => sine(rest),
        Some((1, rest)) => cosine(rest),
        Some((2, rest)) => -sine(rest),
        Some((_, rest)) => -cosine(rest),
    }
}

/// The cosine of an operand of at most a thousand, else NaN.
pub(crate) fn cos(x: f64) -> f64 {
    match quadrant(x) {
        None => f64::NAN,
        Some((0, rest)) => cosine(rest),
        Some((1, rest)) => -sine(rest),
        Some((2, rest)) => -cosine(rest),
        Some((_, rest)) => sine(rest),
    }
}

/// How many quarter turns, modulo 4, and the angle beyond them, of an eighth of a turn at most.
///
/// A quarter turn is taken off in three parts; products with the first two are exact, and so is the first difference.
fn quadrant(x: f64) -> Option<(u32, f64)> {
    // The hexadecimal digits of pi / 2 are 1.921FB544 42D18469 898CC517 01B8…
    let parts = [
        0x1_921F_B544_u64 as f64 / 32f64.exp2(),
        0x42D1_8469_u64 as f64 / 64f64.exp2(),
        0x898C_C517_u64 as f64 / 96f64.exp2(),
    ];
    if !x.is_finite() || x.abs() > 1000.0 {
        return None;
    }
    let turns = (x / std::f64::consts::FRAC_PI_2).round();
    let rest = parts.iter().fold(x, |rest, part| rest - turns * part);
    Some(((turns as i32).rem_euclid(4).cast_unsigned(), rest))
}

fn sine(x: f64) -> f64 {
    x * alternating(x * x, 1)
}

fn cosine(x: f64) -> f64 {
    alternating(x * x, 0)
}

/// 1 - s / ((n+1)(n+2)) + s^2 / ((n+1)(n+2)(n+3)(n+4)) - …
fn alternating(square: f64, n: u32) -> f64 {
    (1..=10).rev().fold(1.0, |sum, k| {
        1.0 - sum * square / f64::from((2 * k - 1 + n) * (2 * k + n))
    })
}

/// e^x - 1, of an operand of at most 0.35.
fn exponential_less_one(x: f64) -> f64 {
    x * (2..=17)
        .rev()
        .fold(1.0, |sum, k| 1.0 + sum * x / f64::from(k))
}

/// Two routes to each function meet, so each is as exact as is said above.
#[test]
fn series_agree_with_the_library() {
    type Pair = (&'static str, fn(f64) -> f64, fn(f64) -> f64, f32);
    let pairs: [Pair; 5] = [
        ("ex2", ex2, f64::exp2, 160.0),
        ("lg2", lg2, f64::log2, f32::INFINITY),
        ("tanh", tanh, f64::tanh, f32::INFINITY),
        ("sin", sin, f64::sin, 1000.0),
        ("cos", cos, f64::cos, 1000.0),
    ];
    for (name, series, library, most) in pairs {
        let mut compared = 0;
        for bits in (0..=u32::MAX).step_by(4093) {
            let x = f32::from_bits(bits);
            let (ours, theirs) = (series(x.into()), library(x.into()));
            if x.abs() > most || theirs.is_nan() || theirs.is_infinite() {
                assert!(x.abs() > most || ours.to_bits() == theirs.to_bits() || ours.is_nan());
                continue;
            }
            let error = (ours - theirs).abs();
            assert!(
                error <= theirs.abs() * (-44f64).exp2(),
                "{name} of {x:e}: {ours:e} and {theirs:e}"
            );
            compared += 1;
        }
        assert!(compared > 200_000, "{name}: {compared}");
    }
}
