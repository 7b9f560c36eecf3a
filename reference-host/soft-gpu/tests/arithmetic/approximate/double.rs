//! `rcp.approx.ftz.f64`, `rsqrt.approx.ftz.f64` and `rsqrt.approx.f64` (PTX ISA 9.7.3.14, 9.7.3.17 and 9.7.3.16).
//!
//! The ISA states no bounds for these. The first two see and give the upper words of doubles, with 20 bits of mantissa; the nearest such
//! values are off by half a unit of those, 2^-21. The third is a reciprocal of a root, each correctly rounded: off by 2^-52 at most.

use rustc_apfloat::ieee::{Double, Quad};
use rustc_apfloat::{Float, FloatConvert};

use crate::harness::Kind::F64;
use crate::harness::{Random, rows, run};
use crate::softfloat::{exact, flushed, nan};

/// The canonical NaN of the forms that work on upper words.
const UPPER_NAN: u64 = 0x7FFF_FFFF_0000_0000;

const INFINITY: u64 = 0x7FF0_0000_0000_0000;
const MINUS: u64 = 1 << 63;

#[test]
fn approximations_of_double_precision() {
    let mut random = Random(5);
    let mut operands: Vec<Vec<u64>> = (0..1 << 20).map(|_| vec![random.next()]).collect();
    operands.extend(rows(&[F64]));
    type Form = (&'static str, fn(f64) -> f64, f64, bool);
    let forms: [Form; 3] = [
        ("rcp.approx.ftz", |x| 1.0 / x, -20.999, true),
        ("rsqrt.approx.ftz", |x| 1.0 / x.sqrt(), -20.999, true),
        ("rsqrt.approx", |x| 1.0 / x.sqrt(), -52.0, false),
    ];
    for (op, f, bound, upper) in forms {
        let code = format!("{op}.f64 d, a;");
        let mut worst = 0.0f64;
        let mut measured = 0;
        for (row, found) in operands.iter().zip(run(&code, &[F64], F64, &operands)) {
            // Only the upper word is looked at: what makes a NaN in the lower one does not count.
            let operand = if upper {
                flushed(F64, row[0] >> 32 << 32)
            } else {
                row[0]
            };
            let value = f(f64::from_bits(operand));
            let place = format!("{code} of {:#x}: found {found:#x}, exact {value:e}", row[0]);
            if upper {
                assert_eq!(found & 0xFFFF_FFFF, 0, "{place}");
            }
            if value.is_nan() {
                let expected = if upper { UPPER_NAN } else { nan(F64) };
                assert_eq!(found, expected, "{place}");
            } else if value.is_infinite() || value == 0.0 {
                assert_eq!(found, value.to_bits(), "{place}");
            } else if upper && value.abs() < f64::MIN_POSITIVE {
                assert_eq!(found, value.to_bits() & MINUS, "{place}");
            } else {
                let error = relative_error(op, operand, found);
                assert!(error <= bound.exp2(), "{place}: error {error:e}");
                worst = worst.max(error);
                measured += 1;
            }
        }
        println!(
            "{code} relative error at most {worst:.4e} (2^{:.3}), bound 2^{bound}, {measured} values",
            worst.log2()
        );
        assert!(measured > 500_000, "{code}: {measured}");
    }
}

/// How far a reciprocal or the reciprocal of a root is off, in quadruple precision: 1 - x y, or half of 1 - x y^2.
fn relative_error(op: &str, x: u64, y: u64) -> f64 {
    let (x, y) = (exact(F64, x), exact(F64, y));
    let mut product = (x * y).value;
    let root = op.starts_with("rsqrt");
    if root {
        product = (product * y).value;
    }
    let error = (Quad::from_u128(1).value - product).value.abs();
    let error: Double = error.convert(&mut false).value;
    f64::from_bits(error.to_bits() as u64) / if root { 2.0 } else { 1.0 }
}

/// What the ISA tabulates.
#[test]
fn special_values_of_double_precision() {
    let (least, greatest) = (1u64, 0x000F_FFFF_FFFF_FFFF);
    // Of -infinity, -subnormals, -0, +0, +subnormals, +infinity, and NaNs.
    let flushing = [
        ("rcp", MINUS, MINUS | INFINITY),
        ("rsqrt", UPPER_NAN, MINUS | INFINITY),
    ];
    for (op, of_minus_infinity, of_minus_zero) in flushing {
        let cases = [
            (MINUS | INFINITY, of_minus_infinity),
            (MINUS | greatest, of_minus_zero),
            (MINUS | least, of_minus_zero),
            (MINUS, of_minus_zero),
            (0, INFINITY),
            (least, INFINITY),
            (greatest, INFINITY),
            (INFINITY, 0),
            (0x7FF8_0000_0000_0000, UPPER_NAN),
            (0x7FF0_0001_0000_0000, UPPER_NAN),
            (0xFFF8_0000_0000_0000, UPPER_NAN),
            // Infinities, as far as the upper word goes.
            (INFINITY | 1, 0),
            (MINUS | INFINITY | 0xFFFF_FFFF, of_minus_infinity),
        ];
        compare(&format!("{op}.approx.ftz.f64 d, a;"), &cases);
    }
    let cases = [
        (MINUS | INFINITY, nan(F64)),
        (0xBFF0_0000_0000_0000, nan(F64)),
        (MINUS | least, nan(F64)),
        (MINUS, MINUS | INFINITY),
        (0, INFINITY),
        // 2^-1074 is (2^-537)^2.
        (least, 537f64.exp2().to_bits()),
        (INFINITY, 0),
        (INFINITY | 1, nan(F64)),
    ];
    compare("rsqrt.approx.f64 d, a;", &cases);
}

fn compare(code: &str, cases: &[(u64, u64)]) {
    let operands: Vec<Vec<u64>> = cases.iter().map(|case| vec![case.0]).collect();
    for ((operand, expected), found) in cases.iter().zip(run(code, &[F64], F64, &operands)) {
        assert_eq!(found, *expected, "{code} of {operand:#x}: found {found:#x}");
    }
}
