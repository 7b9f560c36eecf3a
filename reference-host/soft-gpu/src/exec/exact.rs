//! Double-precision arithmetic in the directed roundings, on integers wide enough for every intermediate result.
//!
//! The host's processor rounds to nearest only; changing that needs `unsafe`, and a correction afterwards would need error terms that
//! underflow. Operands that are zero, infinite or NaN go the host's way: those results are exact, but for the sign of a zero sum.

use std::cmp::Ordering;

use super::float::{Rounding, bits64, f64_of};

/// A nonzero finite value: `significand * 2^exponent`, the significand's highest bit at [`TOP`].
#[derive(Clone, Copy)]
struct Wide {
    negative: bool,
    exponent: i32,
    significand: u128,
}

/// Where significands have their highest bit: the sum of two fits, and a product has guard bits below.
const TOP: u32 = 125;

const INFINITY: u64 = 0x7FF0_0000_0000_0000;
const SIGN: u64 = 1 << 63;

/// `add.f64`
pub(crate) fn add(a: u64, b: u64, rounding: Rounding) -> u64 {
    let (x, y) = (f64_of(a), f64_of(b));
    if !x.is_finite() || !y.is_finite() {
        return bits64(x + y);
    }
    match (x == 0.0, y == 0.0) {
        (true, true) => zero_sum(a & SIGN != 0, b & SIGN != 0, rounding),
        (true, false) => b,
        (false, true) => a,
        (false, false) => sum(wide(a), wide(b), rounding),
    }
}

/// `mul.f64`
pub(crate) fn mul(a: u64, b: u64, rounding: Rounding) -> u64 {
    let (x, y) = (f64_of(a), f64_of(b));
    if !x.is_finite() || !y.is_finite() || x == 0.0 || y == 0.0 {
        return bits64(x * y);
    }
    let product = product(a, b);
    pack(product, false, rounding)
}

/// `fma.f64`
pub(crate) fn fma(a: u64, b: u64, c: u64, rounding: Rounding) -> u64 {
    let (x, y, z) = (f64_of(a), f64_of(b), f64_of(c));
    if !x.is_finite() || !y.is_finite() || !z.is_finite() {
        return bits64(x.mul_add(y, z));
    }
    let negative = (a ^ b) & SIGN != 0;
    match (x == 0.0 || y == 0.0, z == 0.0) {
        (true, true) => zero_sum(negative, c & SIGN != 0, rounding),
        (true, false) => c,
        (false, true) => pack(product(a, b), false, rounding),
        (false, false) => sum(product(a, b), wide(c), rounding),
    }
}

/// `div.f64`
pub(crate) fn div(a: u64, b: u64, rounding: Rounding) -> u64 {
    let (x, y) = (f64_of(a), f64_of(b));
    if !x.is_finite() || !y.is_finite() || x == 0.0 || y == 0.0 {
        return bits64(x / y);
    }
    let (n, d) = (wide(a), wide(b));
    let divisor = d.significand >> (TOP - 52);
    let quotient = n.significand / divisor;
    let rest = n.significand % divisor;
    let exponent = n.exponent - d.exponent - (TOP - 52) as i32;
    let exact = normalised(n.negative != d.negative, exponent, quotient);
    pack(exact, rest != 0, rounding)
}

/// `sqrt.f64`
pub(crate) fn sqrt(a: u64, rounding: Rounding) -> u64 {
    let x = f64_of(a);
    if !x.is_finite() || x <= 0.0 {
        return bits64(x.sqrt());
    }
    // Roots are normal: the nearest one is the wanted one or beside it, as its square, which is exact here, shows.
    let nearest = x.sqrt().to_bits();
    let (square, value) = (product(nearest, nearest), wide(a));
    let order = (square.exponent, square.significand).cmp(&(value.exponent, value.significand));
    match (order, rounding) {
        (Ordering::Greater, Rounding::Zero | Rounding::Down) => nearest - 1,
        (Ordering::Less, Rounding::Up) => nearest + 1,
        _ => nearest,
    }
}

/// Parts of a nonzero finite value.
fn wide(bits: u64) -> Wide {
    let exponent = (bits >> 52 & 0x7FF) as i32;
    let fraction = u128::from(bits & ((1 << 52) - 1));
    let (exponent, significand) = if exponent == 0 {
        (-1074, fraction)
    } else {
        (exponent - 1075, fraction | 1 << 52)
    };
    normalised(bits & SIGN != 0, exponent, significand)
}

fn normalised(negative: bool, exponent: i32, significand: u128) -> Wide {
    let lift = significand.leading_zeros() as i32 - (127 - TOP as i32);
    let significand = if lift >= 0 {
        significand << lift
    } else {
        significand >> -lift
    };
    Wide {
        negative,
        exponent: exponent - lift,
        significand,
    }
}

/// The exact product of nonzero finite values: at most 106 bits.
fn product(a: u64, b: u64) -> Wide {
    let (x, y) = (wide(a), wide(b));
    let down = TOP - 52;
    normalised(
        x.negative != y.negative,
        x.exponent + y.exponent + 2 * down as i32,
        (x.significand >> down) * (y.significand >> down),
    )
}

/// The sum of zeros, or of values that cancel: -0 from unlike signs only when rounding down.
fn zero_sum(a_negative: bool, b_negative: bool, rounding: Rounding) -> u64 {
    let negative = if a_negative == b_negative {
        a_negative
    } else {
        rounding == Rounding::Down
    };
    if negative { SIGN } else { 0 }
}

/// The rounded sum of nonzero values of which each is exact in 106 bits.
fn sum(x: Wide, y: Wide, rounding: Rounding) -> u64 {
    let key = |value: &Wide| (value.exponent, value.significand);
    let (high, low) = if key(&x) >= key(&y) { (x, y) } else { (y, x) };
    // What falls off below is remembered as one bit; it can fall off only where at most one bit can cancel at the top.
    let distance = high.exponent.abs_diff(low.exponent);
    let (aligned, lost) = if distance > TOP {
        (0, true)
    } else {
        let aligned = low.significand >> distance;
        (aligned, aligned << distance != low.significand)
    };
    let significand = if high.negative == low.negative {
        high.significand + aligned
    } else {
        high.significand - aligned - u128::from(lost)
    };
    if significand == 0 && !lost {
        return zero_sum(x.negative, y.negative, rounding);
    }
    let lift = significand.leading_zeros() < 127 - TOP;
    // A carry to the bit above would shift out the last one, which is zero or above a lost part.
    let lost = lost || (lift && significand & 1 == 1);
    pack(
        normalised(high.negative, high.exponent, significand),
        lost,
        rounding,
    )
}

/// Rounds; `more` says that the value is a little larger in magnitude than it stands there.
fn pack(value: Wide, more: bool, rounding: Rounding) -> u64 {
    let sign = if value.negative { SIGN } else { 0 };
    let top = value.exponent + TOP as i32;
    let last = (top - 52).max(-1074);
    let shift = last.abs_diff(value.exponent);
    let (kept, rest) = if shift > TOP + 1 {
        (0, true)
    } else {
        let kept = value.significand >> shift;
        (kept as u64, kept << shift != value.significand)
    };
    let inexact = rest || more;
    let half = 1u128 << (shift.min(TOP + 2) - 1);
    let below_mask = half - 1;
    let up = match rounding {
        Rounding::Zero => false,
        Rounding::Down => value.negative && inexact,
        Rounding::Up => !value.negative && inexact,
        Rounding::Nearest => {
            shift <= TOP + 1
                && value.significand & half != 0
                && (value.significand & below_mask != 0 || more || kept & 1 == 1)
        }
    };
    let kept = kept + u64::from(up);
    // The leading bit of a normal value adds one to the exponent's field.
    let field = (last + 1074) as u64;
    let away = match rounding {
        Rounding::Nearest => true,
        Rounding::Zero => false,
        Rounding::Down => value.negative,
        Rounding::Up => !value.negative,
    };
    if field > 2045 || (field << 52) + kept >= INFINITY {
        return sign | if away { INFINITY } else { INFINITY - 1 };
    }
    sign | ((field << 52) + kept)
}
