//! What an operation makes of patterns without going through the lanes, where it is exact.
//!
//! A rule gets forms that all are patterns and gives the result's form, or nothing where the result is no pattern or is
//! not easily known to be. Operations whose sources are all flat need no rule.

use super::form::{Form, HALF, Word};

type F32 = Form<u32>;
type F64 = Form<u64>;

/// `mov`.
#[inline(always)]
pub(crate) fn copy<T: Word>((a,): (Form<T>,)) -> Option<Form<T>> {
    Some(Form::affine(a.low, a.high, a.step))
}

/// `neg`.
#[inline(always)]
pub(crate) fn negate<T: Word>((a,): (Form<T>,)) -> Option<Form<T>> {
    sub((Form::uniform(T::default()), a))
}

/// `add`.
#[inline(always)]
pub(crate) fn add<T: Word>((a, b): (Form<T>, Form<T>)) -> Option<Form<T>> {
    Some(Form::affine(
        a.low.plus(b.low),
        a.high.plus(b.high),
        a.step.plus(b.step),
    ))
}

/// `sub`.
#[inline(always)]
pub(crate) fn sub<T: Word>((a, b): (Form<T>, Form<T>)) -> Option<Form<T>> {
    Some(Form::affine(
        a.low.minus(b.low),
        a.high.minus(b.high),
        a.step.minus(b.step),
    ))
}

/// `mul.lo`: by the same factor in all lanes.
#[inline(always)]
pub(crate) fn mul<T: Word>((a, b): (Form<T>, Form<T>)) -> Option<Form<T>> {
    let (a, factor) = match (a.as_uniform(), b.as_uniform()) {
        (_, Some(factor)) => (a, factor),
        (Some(factor), None) => (b, factor),
        (None, None) => return None,
    };
    Some(scaled(&a, factor))
}

/// `mad.lo`.
#[inline(always)]
pub(crate) fn mad<T: Word>((a, b, c): (Form<T>, Form<T>, Form<T>)) -> Option<Form<T>> {
    add((product(a, b)?, c))
}

/// A product of which both factors may be flat, or one uniform.
#[inline(always)]
fn product<T: Word>(a: Form<T>, b: Form<T>) -> Option<Form<T>> {
    if a.is_flat() && b.is_flat() {
        return Some(Form::flat(a.low.times(b.low), a.high.times(b.high)));
    }
    mul((a, b))
}

#[inline(always)]
fn scaled<T: Word>(a: &Form<T>, factor: T) -> Form<T> {
    Form::affine(
        a.low.times(factor),
        a.high.times(factor),
        a.step.times(factor),
    )
}

/// `shl.b32`: by the same count in all lanes.
#[inline(always)]
pub(crate) fn shl32((a, count): (F32, F32)) -> Option<F32> {
    let count = count.as_uniform()?;
    Some(scaled(&a, 1u32.checked_shl(count).unwrap_or(0)))
}

/// `shl.b64`.
#[inline(always)]
pub(crate) fn shl64((a, count): (F64, F32)) -> Option<F64> {
    let count = count.as_uniform()?;
    Some(scaled(&a, 1u64.checked_shl(count).unwrap_or(0)))
}

/// `shr.u32` where all lanes of a half give the same.
#[inline(always)]
pub(crate) fn shr32((a, count): (F32, F32)) -> Option<F32> {
    let count = count.as_uniform()?;
    let ends = unsigned_ends(&a)?;
    let [low, low_end, high, high_end] = ends.map(|end| end.checked_shr(count).unwrap_or(0));
    (low == low_end && high == high_end).then(|| Form::flat(low, high))
}

/// `shr.s32` where all lanes of a half give the same.
#[inline(always)]
pub(crate) fn sar32((a, count): (F32, F32)) -> Option<F32> {
    let count = count.as_uniform()?.min(31);
    let ends = signed_ends(&a)?;
    let [low, low_end, high, high_end] = ends.map(|end| (end >> count).cast_unsigned());
    (low == low_end && high == high_end).then(|| Form::flat(low, high))
}

/// `and` with the low bits, of lanes that differ in those only.
#[inline(always)]
pub(crate) fn and32((a, b): (F32, F32)) -> Option<F32> {
    let (a, mask) = match (a.as_uniform(), b.as_uniform()) {
        (_, Some(mask)) => (a, mask),
        (Some(mask), None) => (b, mask),
        (None, None) => return None,
    };
    let ends = unsigned_ends(&a)?;
    let [low, low_end, high, high_end] = ends.map(|end| end & !mask);
    (mask & mask.wrapping_add(1) == 0 && low == low_end && high == high_end)
        .then(|| Form::affine(a.low & mask, a.high & mask, a.step))
}

/// `or` with bits that are clear in every lane: an addition.
#[inline(always)]
pub(crate) fn or<T: Word + Into<u64>>((a, b): (Form<T>, Form<T>)) -> Option<Form<T>> {
    let disjoint = |a: &Form<T>, b: &Form<T>| {
        let set: u64 = a.low.or(a.high).or(a.step).into();
        let other: u64 = b.low.or(b.high).into();
        b.is_flat() && other.checked_shr(set.trailing_zeros()).unwrap_or(0) == 0
    };
    if disjoint(&a, &b) || disjoint(&b, &a) {
        add((a, b))
    } else {
        None
    }
}

/// `div.u32` by the same divisor, where all lanes of a half give the same.
#[inline(always)]
pub(crate) fn div_u32((a, b): (F32, F32)) -> Option<F32> {
    let divisor = b.as_uniform()?;
    let [low, low_end, high, high_end] = unsigned_ends(&a)?;
    let low_quotient = low.checked_div(divisor)?;
    let high_quotient = high.checked_div(divisor)?;
    (low_quotient == low_end / divisor && high_quotient == high_end / divisor)
        .then(|| Form::flat(low_quotient, high_quotient))
}

/// `rem.u32` by the same divisor, where all lanes of a half have the same quotient.
#[inline(always)]
pub(crate) fn rem_u32((a, b): (F32, F32)) -> Option<F32> {
    let quotients = div_u32((a, b))?;
    sub((a, product(quotients, b)?))
}

/// `div.s32` of what is not negative.
#[inline(always)]
pub(crate) fn div_s32((a, b): (F32, F32)) -> Option<F32> {
    not_negative(&a, &b)?;
    div_u32((a, b))
}

/// `rem.s32` of what is not negative.
#[inline(always)]
pub(crate) fn rem_s32((a, b): (F32, F32)) -> Option<F32> {
    not_negative(&a, &b)?;
    rem_u32((a, b))
}

fn not_negative(a: &F32, b: &F32) -> Option<()> {
    let divisor = b.as_uniform()?.cast_signed();
    (divisor > 0 && signed_ends(a)?.into_iter().all(|end| end >= 0)).then_some(())
}

/// `cvt` to the low half of a 64-bit register.
#[inline(always)]
pub(crate) fn low32((a,): (F64,)) -> Option<F32> {
    Some(Form::affine(a.low as u32, a.high as u32, a.step as u32))
}

/// Zero extension of lanes that do not wrap.
#[inline(always)]
pub(crate) fn zero_extend((a,): (F32,)) -> Option<F64> {
    unsigned_ends(&a)?;
    Some(Form::affine(
        u64::from(a.low),
        u64::from(a.high),
        sign_extended(a.step),
    ))
}

/// Sign extension of lanes that do not wrap.
#[inline(always)]
pub(crate) fn sign_extend((a,): (F32,)) -> Option<F64> {
    signed_ends(&a)?;
    Some(Form::affine(
        sign_extended(a.low),
        sign_extended(a.high),
        sign_extended(a.step),
    ))
}

/// `mul.wide.u32`.
#[inline(always)]
pub(crate) fn mul_wide_u32((a, b): (F32, F32)) -> Option<F64> {
    product(zero_extend((a,))?, zero_extend((b,))?)
}

/// `mul.wide.s32`.
#[inline(always)]
pub(crate) fn mul_wide_s32((a, b): (F32, F32)) -> Option<F64> {
    product(sign_extend((a,))?, sign_extend((b,))?)
}

/// `mad.wide.u32`.
#[inline(always)]
pub(crate) fn mad_wide_u32((a, b, c): (F32, F32, F64)) -> Option<F64> {
    add((mul_wide_u32((a, b))?, c))
}

/// `mad.wide.s32`.
#[inline(always)]
pub(crate) fn mad_wide_s32((a, b, c): (F32, F32, F64)) -> Option<F64> {
    add((mul_wide_s32((a, b))?, c))
}

/// `setp.lt.u32`, where all lanes of a half agree.
#[inline(always)]
pub(crate) fn lt_u32((a, b): (F32, F32)) -> Option<u32> {
    let (a, b) = (unsigned_ends(&a)?, unsigned_ends(&b)?);
    agreed(
        a.map(i64::from),
        b.map(i64::from),
        |a, b| a < b,
        |a, b| a >= b,
    )
}

/// `setp.le.u32`, where all lanes of a half agree.
#[inline(always)]
pub(crate) fn le_u32((a, b): (F32, F32)) -> Option<u32> {
    let (a, b) = (unsigned_ends(&a)?, unsigned_ends(&b)?);
    agreed(
        a.map(i64::from),
        b.map(i64::from),
        |a, b| a <= b,
        |a, b| a > b,
    )
}

/// `setp.lt.s32`, where all lanes of a half agree.
#[inline(always)]
pub(crate) fn lt_s32((a, b): (F32, F32)) -> Option<u32> {
    let (a, b) = (signed_ends(&a)?, signed_ends(&b)?);
    agreed(
        a.map(i64::from),
        b.map(i64::from),
        |a, b| a < b,
        |a, b| a >= b,
    )
}

/// `setp.le.s32`, where all lanes of a half agree.
#[inline(always)]
pub(crate) fn le_s32((a, b): (F32, F32)) -> Option<u32> {
    let (a, b) = (signed_ends(&a)?, signed_ends(&b)?);
    agreed(
        a.map(i64::from),
        b.map(i64::from),
        |a, b| a <= b,
        |a, b| a > b,
    )
}

/// `setp.lt.u64`, where all lanes of a half agree.
#[inline(always)]
pub(crate) fn lt_u64((a, b): (F64, F64)) -> Option<u32> {
    let small = |a: &F64| small_ends(a).filter(|ends| ends.iter().all(|end| *end >= 0));
    agreed(small(&a)?, small(&b)?, |a, b| a < b, |a, b| a >= b)
}

/// `setp.le.u64`, where all lanes of a half agree.
#[inline(always)]
pub(crate) fn le_u64((a, b): (F64, F64)) -> Option<u32> {
    let small = |a: &F64| small_ends(a).filter(|ends| ends.iter().all(|end| *end >= 0));
    agreed(small(&a)?, small(&b)?, |a, b| a <= b, |a, b| a > b)
}

/// `setp.lt.s64`, where all lanes of a half agree.
#[inline(always)]
pub(crate) fn lt_s64((a, b): (F64, F64)) -> Option<u32> {
    agreed(
        small_ends(&a)?,
        small_ends(&b)?,
        |a, b| a < b,
        |a, b| a >= b,
    )
}

/// `setp.le.s64`, where all lanes of a half agree.
#[inline(always)]
pub(crate) fn le_s64((a, b): (F64, F64)) -> Option<u32> {
    agreed(
        small_ends(&a)?,
        small_ends(&b)?,
        |a, b| a <= b,
        |a, b| a > b,
    )
}

/// First and last value of each half of signed 64-bit lanes, where no lane between wraps.
#[inline(always)]
fn small_ends(a: &F64) -> Option<[i64; 4]> {
    let way = a.step.cast_signed().checked_mul(HALF as i64 - 1)?;
    let (low, high) = (a.low.cast_signed(), a.high.cast_signed());
    Some([low, low.checked_add(way)?, high, high.checked_add(way)?])
}

/// The result of an order of two lines that do not wrap: as their difference is a line too, the ends of a half decide for all of it
/// when they agree.
#[inline(always)]
fn agreed(
    a: [i64; 4],
    b: [i64; 4],
    yes: impl Fn(i64, i64) -> bool,
    no: impl Fn(i64, i64) -> bool,
) -> Option<u32> {
    let half = |first: usize, second: usize| {
        if yes(a[first], b[first]) && yes(a[second], b[second]) {
            Some(0xFFFF)
        } else if no(a[first], b[first]) && no(a[second], b[second]) {
            Some(0)
        } else {
            None
        }
    };
    Some(half(0, 1)? | half(2, 3)? << HALF)
}

/// First and last value of each half, where no lane between wraps as an unsigned number.
#[inline(always)]
fn unsigned_ends(a: &F32) -> Option<[u32; 4]> {
    let step = i64::from(a.step.cast_signed());
    let end = |first: u32| u32::try_from(i64::from(first) + (HALF as i64 - 1) * step).ok();
    Some([a.low, end(a.low)?, a.high, end(a.high)?])
}

/// First and last value of each half, where no lane between wraps as a signed number.
#[inline(always)]
fn signed_ends(a: &F32) -> Option<[i32; 4]> {
    let step = i64::from(a.step.cast_signed());
    let end = |first: i32| i32::try_from(i64::from(first) + (HALF as i64 - 1) * step).ok();
    let (low, high) = (a.low.cast_signed(), a.high.cast_signed());
    Some([low, end(low)?, high, end(high)?])
}

#[inline(always)]
fn sign_extended(value: u32) -> u64 {
    i64::from(value.cast_signed()).cast_unsigned()
}
