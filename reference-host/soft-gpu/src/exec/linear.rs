//! What an operation makes of patterns without going through the lanes, where it is exact.
//!
//! A rule gets forms that all are patterns and the number of warps that may follow them, and gives the result's form, or nothing where the
//! result is no pattern or is not easily known to be. Operations whose sources are all flat need no rule.

use super::form::{Form, HALF, Word};

type F32 = Form<u32>;
type F64 = Form<u64>;

/// `mov`.
#[inline(always)]
pub(crate) fn copy<T: Word>((a,): (Form<T>,), _: usize) -> Option<Form<T>> {
    Some(a)
}

/// `neg`.
#[inline(always)]
pub(crate) fn negate<T: Word>((a,): (Form<T>,), warps: usize) -> Option<Form<T>> {
    sub((Form::uniform(T::default()), a), warps)
}

/// `add`.
#[inline(always)]
pub(crate) fn add<T: Word>((a, b): (Form<T>, Form<T>), _: usize) -> Option<Form<T>> {
    Some(a.plus(b))
}

/// `sub`.
#[inline(always)]
pub(crate) fn sub<T: Word>((a, b): (Form<T>, Form<T>), _: usize) -> Option<Form<T>> {
    Some(a.plus(b.map(|number| T::default().minus(number))))
}

/// `mul.lo`: by the same factor in all lanes.
#[inline(always)]
pub(crate) fn mul<T: Word>((a, b): (Form<T>, Form<T>), _: usize) -> Option<Form<T>> {
    let (a, factor) = match (a.as_uniform(), b.as_uniform()) {
        (_, Some(factor)) => (a, factor),
        (Some(factor), None) => (b, factor),
        (None, None) => return None,
    };
    Some(a.map(|number| number.times(factor)))
}

/// `mad.lo`.
#[inline(always)]
pub(crate) fn mad<T: Word>(
    (a, b, c): (Form<T>, Form<T>, Form<T>),
    warps: usize,
) -> Option<Form<T>> {
    Some(product(a, b, warps)?.plus(c))
}

/// A product of which both factors may be flat, or one uniform.
#[inline(always)]
fn product<T: Word>(a: Form<T>, b: Form<T>, warps: usize) -> Option<Form<T>> {
    if a.is_flat() && b.is_flat() {
        return Some(Form::flat(a.low.times(b.low), a.high.times(b.high)));
    }
    mul((a, b), warps)
}

/// `shl.b32`: by the same count in all lanes.
#[inline(always)]
pub(crate) fn shl32((a, count): (F32, F32), _: usize) -> Option<F32> {
    let factor = 1u32.checked_shl(count.as_uniform()?).unwrap_or(0);
    Some(a.map(|number| number.wrapping_mul(factor)))
}

/// `shl.b64`.
#[inline(always)]
pub(crate) fn shl64((a, count): (F64, F32), _: usize) -> Option<F64> {
    let factor = 1u64.checked_shl(count.as_uniform()?).unwrap_or(0);
    Some(a.map(|number| number.wrapping_mul(factor)))
}

/// `shr.u32` where all lanes of a half give the same.
#[inline(always)]
pub(crate) fn shr32((a, count): (F32, F32), warps: usize) -> Option<F32> {
    let divisor = 1i64 << count.as_uniform()?.min(32);
    floored(&a, &unsigned_ends(&a, warps)?, divisor)
}

/// `shr.s32` where all lanes of a half give the same.
#[inline(always)]
pub(crate) fn sar32((a, count): (F32, F32), warps: usize) -> Option<F32> {
    let divisor = 1i64 << count.as_uniform()?.min(31);
    floored(&a, &signed_ends(&a, warps)?, divisor)
}

/// The quotient, rounded down, by a positive divisor, where all lanes of a half have the same and the warps' lie on a line.
#[inline(always)]
fn floored(a: &F32, ends: &Ends, divisor: i64) -> Option<F32> {
    let quotient = |corner: usize| ends.0[corner].div_euclid(divisor);
    let (low, high) = (quotient(0), quotient(2));
    if low != quotient(1) || high != quotient(3) {
        return None;
    }
    let same =
        low == quotient(4) && low == quotient(5) && high == quotient(6) && high == quotient(7);
    let along = i64::from(a.along.cast_signed());
    let steady = along % divisor == 0;
    (same || steady).then(|| Form {
        low: low as u32,
        high: high as u32,
        step: 0,
        along: if same { 0 } else { (along / divisor) as u32 },
    })
}

/// `and` with the low bits, of lanes that differ in those only.
#[inline(always)]
pub(crate) fn and32((a, b): (F32, F32), warps: usize) -> Option<F32> {
    let (a, mask) = match (a.as_uniform(), b.as_uniform()) {
        (_, Some(mask)) => (a, mask),
        (Some(mask), None) => (b, mask),
        (None, None) => return None,
    };
    if mask & mask.wrapping_add(1) != 0 {
        return None;
    }
    remainder(&a, &unsigned_ends(&a, warps)?, i64::from(mask) + 1)
}

/// What is left after taking away the multiples of `divisor`, where [`floored`] has a result.
#[inline(always)]
fn remainder(a: &F32, ends: &Ends, divisor: i64) -> Option<F32> {
    let taken = floored(a, ends, divisor)?.map(|number| number.wrapping_mul(divisor as u32));
    Some(a.plus(taken.map(u32::wrapping_neg)))
}

/// `or` with bits that are clear in every lane: an addition.
#[inline(always)]
pub(crate) fn or<T: Word + Into<u64>>((a, b): (Form<T>, Form<T>), _: usize) -> Option<Form<T>> {
    let disjoint = |a: &Form<T>, b: &Form<T>| {
        let set: u64 = a.low.or(a.high).or(a.step).or(a.along).into();
        let other: u64 = b.low.or(b.high).into();
        b.is_flat() && other.checked_shr(set.trailing_zeros()).unwrap_or(0) == 0
    };
    (disjoint(&a, &b) || disjoint(&b, &a)).then(|| a.plus(b))
}

/// `div.u32` by the same divisor, where all lanes of a half give the same.
#[inline(always)]
pub(crate) fn div_u32((a, b): (F32, F32), warps: usize) -> Option<F32> {
    let divisor = b.as_uniform().filter(|divisor| *divisor != 0)?;
    floored(&a, &unsigned_ends(&a, warps)?, i64::from(divisor))
}

/// `rem.u32` by the same divisor, where all lanes of a half have the same quotient.
#[inline(always)]
pub(crate) fn rem_u32((a, b): (F32, F32), warps: usize) -> Option<F32> {
    let divisor = b.as_uniform().filter(|divisor| *divisor != 0)?;
    remainder(&a, &unsigned_ends(&a, warps)?, i64::from(divisor))
}

/// `div.s32` of what is not negative.
#[inline(always)]
pub(crate) fn div_s32((a, b): (F32, F32), warps: usize) -> Option<F32> {
    not_negative(&a, &b, warps)?;
    div_u32((a, b), warps)
}

/// `rem.s32` of what is not negative.
#[inline(always)]
pub(crate) fn rem_s32((a, b): (F32, F32), warps: usize) -> Option<F32> {
    not_negative(&a, &b, warps)?;
    rem_u32((a, b), warps)
}

fn not_negative(a: &F32, b: &F32, warps: usize) -> Option<()> {
    let divisor = b.as_uniform()?.cast_signed();
    (divisor > 0 && signed_ends(a, warps)?.0.into_iter().all(|end| end >= 0)).then_some(())
}

/// `cvt` to the low half of a 64-bit register.
#[inline(always)]
pub(crate) fn low32((a,): (F64,), _: usize) -> Option<F32> {
    Some(a.map(|number| number as u32))
}

/// Zero extension of lanes that do not wrap.
#[inline(always)]
pub(crate) fn zero_extend((a,): (F32,), warps: usize) -> Option<F64> {
    unsigned_ends(&a, warps)?;
    Some(Form {
        low: u64::from(a.low),
        high: u64::from(a.high),
        step: sign_extended(a.step),
        along: sign_extended(a.along),
    })
}

/// Sign extension of lanes that do not wrap.
#[inline(always)]
pub(crate) fn sign_extend((a,): (F32,), warps: usize) -> Option<F64> {
    signed_ends(&a, warps)?;
    Some(a.map(sign_extended))
}

/// `mul.wide.u32`.
#[inline(always)]
pub(crate) fn mul_wide_u32((a, b): (F32, F32), warps: usize) -> Option<F64> {
    product(zero_extend((a,), warps)?, zero_extend((b,), warps)?, warps)
}

/// `mul.wide.s32`.
#[inline(always)]
pub(crate) fn mul_wide_s32((a, b): (F32, F32), warps: usize) -> Option<F64> {
    product(sign_extend((a,), warps)?, sign_extend((b,), warps)?, warps)
}

/// `mad.wide.u32`.
#[inline(always)]
pub(crate) fn mad_wide_u32((a, b, c): (F32, F32, F64), warps: usize) -> Option<F64> {
    Some(mul_wide_u32((a, b), warps)?.plus(c))
}

/// `mad.wide.s32`.
#[inline(always)]
pub(crate) fn mad_wide_s32((a, b, c): (F32, F32, F64), warps: usize) -> Option<F64> {
    Some(mul_wide_s32((a, b), warps)?.plus(c))
}

/// `setp.lt.u32`, where all lanes of the lower halves agree, and all of the upper.
#[inline(always)]
pub(crate) fn lt_u32((a, b): (F32, F32), warps: usize) -> Option<u32> {
    less(&unsigned_ends(&a, warps)?, &unsigned_ends(&b, warps)?)
}

/// `setp.le.u32`, likewise.
#[inline(always)]
pub(crate) fn le_u32((a, b): (F32, F32), warps: usize) -> Option<u32> {
    less_or_equal(&unsigned_ends(&a, warps)?, &unsigned_ends(&b, warps)?)
}

/// `setp.lt.s32`, likewise.
#[inline(always)]
pub(crate) fn lt_s32((a, b): (F32, F32), warps: usize) -> Option<u32> {
    less(&signed_ends(&a, warps)?, &signed_ends(&b, warps)?)
}

/// `setp.le.s32`, likewise.
#[inline(always)]
pub(crate) fn le_s32((a, b): (F32, F32), warps: usize) -> Option<u32> {
    less_or_equal(&signed_ends(&a, warps)?, &signed_ends(&b, warps)?)
}

/// `setp.lt.u64`, likewise.
#[inline(always)]
pub(crate) fn lt_u64((a, b): (F64, F64), warps: usize) -> Option<u32> {
    less(&small_ends(&a, warps)?, &small_ends(&b, warps)?)
}

/// `setp.le.u64`, likewise.
#[inline(always)]
pub(crate) fn le_u64((a, b): (F64, F64), warps: usize) -> Option<u32> {
    less_or_equal(&small_ends(&a, warps)?, &small_ends(&b, warps)?)
}

/// `setp.lt.s64`, likewise.
#[inline(always)]
pub(crate) fn lt_s64((a, b): (F64, F64), warps: usize) -> Option<u32> {
    less(&ends64(&a, warps)?, &ends64(&b, warps)?)
}

/// `setp.le.s64`, likewise.
#[inline(always)]
pub(crate) fn le_s64((a, b): (F64, F64), warps: usize) -> Option<u32> {
    less_or_equal(&ends64(&a, warps)?, &ends64(&b, warps)?)
}

/// The outermost values of a pattern that does not wrap, as numbers: first and last lane of the lower half, of the upper half, both in the
/// first warp, then the same in the last.
struct Ends([i64; 8]);

/// Ends of unsigned 32-bit lanes.
#[inline(always)]
fn unsigned_ends(a: &F32, warps: usize) -> Option<Ends> {
    let ends = ends32(a, i64::from(a.low), i64::from(a.high), warps);
    // Bits above the lower 32 are set in what is too small or too large.
    let all = ends.0.iter().fold(0, |all, end| all | end);
    (all >> 32 == 0).then_some(ends)
}

/// Ends of signed 32-bit lanes.
#[inline(always)]
fn signed_ends(a: &F32, warps: usize) -> Option<Ends> {
    let number = |value: u32| i64::from(value.cast_signed());
    let ends = ends32(a, number(a.low), number(a.high), warps);
    let fits = |end: i64| end + (1 << 31);
    let all = ends.0.iter().fold(0, |all, end| all | fits(*end));
    (all >> 32 == 0).then_some(ends)
}

#[inline(always)]
fn ends32(a: &F32, low: i64, high: i64, warps: usize) -> Ends {
    let across = i64::from(a.step.cast_signed()) * (HALF as i64 - 1);
    let along = i64::from(a.along.cast_signed()) * (warps as i64 - 1);
    let [low_last, high_last] = [low + along, high + along];
    Ends([
        low,
        low + across,
        high,
        high + across,
        low_last,
        low_last + across,
        high_last,
        high_last + across,
    ])
}

/// Ends of signed 64-bit lanes.
#[inline(always)]
fn ends64(a: &F64, warps: usize) -> Option<Ends> {
    let across = a.step.cast_signed().checked_mul(HALF as i64 - 1)?;
    let along = a.along.cast_signed().checked_mul(warps as i64 - 1)?;
    let (low, high) = (a.low.cast_signed(), a.high.cast_signed());
    let (low_last, high_last) = (low.checked_add(along)?, high.checked_add(along)?);
    Some(Ends([
        low,
        low.checked_add(across)?,
        high,
        high.checked_add(across)?,
        low_last,
        low_last.checked_add(across)?,
        high_last,
        high_last.checked_add(across)?,
    ]))
}

/// Ends of 64-bit lanes that are the same number signed and unsigned.
#[inline(always)]
fn small_ends(a: &F64, warps: usize) -> Option<Ends> {
    let ends = ends64(a, warps)?;
    (ends.0.iter().fold(0, |all, end| all | end) >= 0).then_some(ends)
}

#[inline(always)]
fn less(a: &Ends, b: &Ends) -> Option<u32> {
    agreed(a, b, |a, b| a < b)
}

#[inline(always)]
fn less_or_equal(a: &Ends, b: &Ends) -> Option<u32> {
    agreed(a, b, |a, b| a <= b)
}

/// The result of an order of two patterns that do not wrap: as their difference is a pattern too, its ends decide for all lanes
/// between them when they agree.
#[inline(always)]
fn agreed(a: &Ends, b: &Ends, order: impl Fn(i64, i64) -> bool) -> Option<u32> {
    let mut corners = 0u32;
    for corner in 0..8 {
        corners |= u32::from(order(a.0[corner], b.0[corner])) << corner;
    }
    let half = |of: u32| match corners & of {
        0 => Some(0),
        all if all == of => Some(0xFFFF),
        _ => None,
    };
    Some(half(0b0011_0011)? | half(0b1100_1100)? << HALF)
}

#[inline(always)]
fn sign_extended(value: u32) -> u64 {
    i64::from(value.cast_signed()).cast_unsigned()
}
