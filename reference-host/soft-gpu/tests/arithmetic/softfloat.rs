//! The softfloat as a reference for one lane, by the kind of its operands.

use rustc_apfloat::ieee::{BFloat, Double, Half, Quad, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

use crate::harness::Kind::{self, Bf16, Bf16x2, F16, F16x2, F32, F64};
use crate::harness::check;

/// The roundings by modifier.
pub(crate) const ROUNDINGS: [(&str, Round); 4] = [
    ("rn", Round::NearestTiesToEven),
    ("rz", Round::TowardZero),
    ("rm", Round::TowardNegative),
    ("rp", Round::TowardPositive),
];

pub(crate) const NEAREST: Round = Round::NearestTiesToEven;

/// Every type of floats, single ones.
pub(crate) const FLOATS: [Kind; 4] = [F16, Bf16, F32, F64];

/// What is computed exactly and rounded once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exact {
    Add,
    Sub,
    Mul,
    Div,
    Fma,
    Reciprocal,
    Root,
}

/// Checks opcodes of two operands without a rounding, which is then to nearest.
pub(crate) fn check_to_nearest(kind: Kind, opcodes: &[(&str, Exact)]) {
    for &(op, exact) in opcodes {
        let code = format!("{op}.{} d, a, b;", kind.word());
        check(&code, &[kind; 2], kind, |row| {
            compute(kind, exact, row, NEAREST)
        });
    }
}

/// One rounded operation on values of a kind; of pairs, on their halves.
pub(crate) fn compute(kind: Kind, op: Exact, operands: &[u64], round: Round) -> u64 {
    match kind {
        F16 => computed::<Half>(op, operands, round, kind),
        Bf16 => computed::<BFloat>(op, operands, round, kind),
        F32 => computed::<Single>(op, operands, round, kind),
        F64 => computed::<Double>(op, operands, round, kind),
        F16x2 | Bf16x2 => halves(operands, |half| compute(single(kind), op, half, round)),
        _ => panic!("not a float: {kind:?}"),
    }
}

fn computed<F: Float + FloatConvert<Quad>>(
    op: Exact,
    operands: &[u64],
    round: Round,
    kind: Kind,
) -> u64 {
    let value = |at: usize| F::from_bits(operands[at].into());
    let one = F::from_u128(1).value;
    let result = match op {
        Exact::Add => value(0).add_r(value(1), round),
        Exact::Sub => value(0).sub_r(value(1), round),
        Exact::Mul => value(0).mul_r(value(1), round),
        Exact::Div => value(0).div_r(value(1), round),
        Exact::Reciprocal => one.div_r(value(0), round),
        Exact::Fma => value(0).mul_add_r(value(1), value(2), round),
        Exact::Root => return root(operands[0], round, kind),
    };
    bits(result.value, kind)
}

/// The bits of a result, every NaN as the canonical one.
pub(crate) fn bits<F: Float>(value: F, kind: Kind) -> u64 {
    if value.is_nan() {
        nan(kind)
    } else {
        value.to_bits() as u64
    }
}

pub(crate) fn nan(kind: Kind) -> u64 {
    match kind {
        F16 | Bf16 => 0x7FFF,
        F32 => 0x7FFF_FFFF,
        _ => 0x7FF8_0000_0000_0000,
    }
}

/// The root by its definition: the largest value whose square does not exceed the operand, or its upper neighbour. Squares of values and of
/// the midpoints between them are exact in quadruple precision.
fn root(x: u64, round: Round, kind: Kind) -> u64 {
    let wide = |bits: u64| match kind {
        F32 => convert(Single::from_bits(bits.into())),
        _ => convert(Double::from_bits(bits.into())),
    };
    let operand: Quad = wide(x);
    if operand.is_zero() {
        return x;
    }
    if operand.is_nan() || operand.is_negative() {
        return nan(kind);
    }
    if operand.is_infinite() {
        return x;
    }
    let square = |value: Quad| value.mul_r(value, NEAREST).value;
    let guess = match kind {
        F32 => u64::from(f32::from_bits(x as u32).sqrt().to_bits()),
        _ => f64::from_bits(x).sqrt().to_bits(),
    };
    let below = if square(wide(guess)) <= operand {
        guess
    } else {
        guess - 1
    };
    let above = below + 1;
    assert!(square(wide(below)) <= operand && square(wide(above)) > operand);
    let exact = square(wide(below)) == operand;
    let middle = (wide(below) + wide(above)).value.scalbn(-1);
    let up = match round {
        Round::TowardPositive => !exact,
        Round::NearestTiesToEven => square(middle) < operand,
        _ => false,
    };
    if up { above } else { below }
}

fn convert<F: Float + FloatConvert<Quad>>(value: F) -> Quad {
    value.convert(&mut false).value
}

/// The kind of a pair's halves.
pub(crate) fn single(kind: Kind) -> Kind {
    match kind {
        F16x2 => F16,
        Bf16x2 => Bf16,
        other => other,
    }
}

/// Applies a function to the lower and the upper halves of words.
pub(crate) fn halves(words: &[u64], f: impl Fn(&[u64]) -> u64) -> u64 {
    let lower: Vec<u64> = words.iter().map(|word| word & 0xFFFF).collect();
    let upper: Vec<u64> = words.iter().map(|word| word >> 16 & 0xFFFF).collect();
    f(&lower) | f(&upper) << 16
}

/// Applies a function to each single value of a kind.
pub(crate) fn each(kind: Kind, words: &[u64], f: impl Fn(&[u64]) -> u64) -> u64 {
    if kind == single(kind) {
        f(words)
    } else {
        halves(words, f)
    }
}

/// A value of a single kind, exactly.
pub(crate) fn exact(kind: Kind, value: u64) -> Quad {
    match kind {
        F16 => convert(Half::from_bits(value.into())),
        Bf16 => convert(BFloat::from_bits(value.into())),
        F32 => convert(Single::from_bits(value.into())),
        F64 => convert(Double::from_bits(value.into())),
        _ => panic!("not a single float: {kind:?}"),
    }
}

/// An exact value rounded to a single kind.
pub(crate) fn rounded(kind: Kind, value: Quad, round: Round) -> u64 {
    fn to<F: Float>(value: Quad, round: Round, kind: Kind) -> u64
    where
        Quad: FloatConvert<F>,
    {
        let value: F = value.convert_r(round, &mut false).value;
        bits(value, kind)
    }
    match kind {
        F16 => to::<Half>(value, round, kind),
        Bf16 => to::<BFloat>(value, round, kind),
        F32 => to::<Single>(value, round, kind),
        F64 => to::<Double>(value, round, kind),
        _ => panic!("not a single float: {kind:?}"),
    }
}

/// `.ftz`
pub(crate) fn flushed(kind: Kind, value: u64) -> u64 {
    let (sign, exponent) = fields(kind);
    if value & exponent == 0 {
        value & sign
    } else {
        value
    }
}

/// The sign's bit and the exponent's, which are an infinity's.
pub(crate) fn fields(kind: Kind) -> (u64, u64) {
    match kind {
        F16 => (0x8000, 0x7C00),
        Bf16 => (0x8000, 0x7F80),
        F32 => (0x8000_0000, 0x7F80_0000),
        _ => (1 << 63, 0x7FF0_0000_0000_0000),
    }
}

pub(crate) fn is_nan(kind: Kind, value: u64) -> bool {
    let (sign, infinity) = fields(kind);
    value & !sign > infinity
}

/// `.sat`: into [0, 1], NaN to +0.
pub(crate) fn saturated(kind: Kind, value: u64) -> u64 {
    let one = rounded(kind, Quad::from_u128(1).value, NEAREST);
    let exact = exact(kind, value);
    if exact.is_nan() || exact.is_negative() {
        0
    } else {
        value.min(one)
    }
}

/// `.relu`: NaN is the canonical one, what is negative +0.
pub(crate) fn relu(kind: Kind, value: u64) -> u64 {
    if is_nan(kind, value) {
        nan(kind)
    } else if value & fields(kind).0 != 0 {
        0
    } else {
        value
    }
}
