//! Approximate instructions over dense sweeps: special values as the ISA tabulates them, and errors within the bounds that it states.
//!
//! The largest error of each is printed (`cargo test -p soft-gpu --test arithmetic approximate -- --nocapture`).
#![allow(clippy::print_stdout, reason = "the errors found are a result")]

use crate::harness::Kind::{self, Bf16, Bf16x2, F16, F16x2, F32, F64};
use crate::harness::{Random, check, run};
use crate::softfloat::{exact, flushed, nan};

/// How an error is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Measure {
    /// |found - exact| / |exact|
    Relative,
    /// |found - exact|
    Absolute,
    /// |found - exact| in units of the last place of the exact value.
    Units,
}

struct Function {
    op: &'static str,
    f: fn(f64) -> f64,
    measure: Measure,
    /// The bound, as a power of two or as units.
    bound: f64,
    /// Where the bound holds.
    from: f64,
    to: f64,
}

const EVERYWHERE: f64 = f64::INFINITY;

fn functions() -> Vec<Function> {
    let tau = 2.0 * std::f64::consts::PI;
    let function = |op, f, measure, bound, from, to| Function {
        op,
        f,
        measure,
        bound,
        from,
        to,
    };
    vec![
        function(
            "rcp",
            |x| 1.0 / x,
            Measure::Relative,
            -23.0,
            -EVERYWHERE,
            EVERYWHERE,
        ),
        function("sqrt", f64::sqrt, Measure::Relative, -23.0, 0.0, EVERYWHERE),
        function(
            "rsqrt",
            |x| 1.0 / x.sqrt(),
            Measure::Relative,
            -22.9,
            0.0,
            EVERYWHERE,
        ),
        function("sin", f64::sin, Measure::Absolute, -20.5, -tau, tau),
        function("cos", f64::cos, Measure::Absolute, -20.5, -tau, tau),
        function("lg2", f64::log2, Measure::Absolute, -22.0, 0.5, 2.0),
        function("lg2", f64::log2, Measure::Relative, -22.0, 2.0, EVERYWHERE),
        function(
            "ex2",
            f64::exp2,
            Measure::Units,
            2.0,
            -EVERYWHERE,
            EVERYWHERE,
        ),
        function(
            "tanh",
            f64::tanh,
            Measure::Relative,
            -11.0,
            -EVERYWHERE,
            EVERYWHERE,
        ),
    ]
}

/// Every 4093rd value of single precision, whole binades in steps, and all edges.
fn sweep() -> Vec<Vec<u64>> {
    let mut values: Vec<u64> = (0..=u64::from(u32::MAX)).step_by(65_521).collect();
    // Densely where most bounds are stated: from -8 to 8.
    for at in 0..60_000u32 {
        let value = (f64::from(at) / 60_000.0 * 16.0 - 8.0) as f32;
        values.push(u64::from(value.to_bits()));
    }
    values.extend(F32.edges());
    values.into_iter().map(|bits| vec![bits]).collect()
}

fn single(bits: u64) -> f64 {
    f64::from(f32::from_bits(bits as u32))
}

/// A unit in the last place of a single-precision value, as a subnormal's at least.
fn unit(value: f64) -> f64 {
    let exponent = value.abs().log2().floor().max(-126.0);
    (exponent - 23.0).exp2()
}

#[test]
fn functions_of_single_precision_stay_within_their_bounds() {
    let rows = sweep();
    for function in functions() {
        let code = format!("{}.approx.f32 d, a;", function.op);
        let mut worst = (0.0f64, 0.0f64);
        let mut measured = 0;
        for (row, found) in rows.iter().zip(run(&code, &[F32], F32, &rows)) {
            let x = single(row[0]);
            if !(function.from..=function.to).contains(&x) {
                continue;
            }
            let (exact, found) = ((function.f)(x), single(found));
            if exact.is_nan() || !(exact as f32).is_finite() || exact == 0.0 {
                assert!(
                    found == f64::from(exact as f32) || (found.is_nan() && exact.is_nan()),
                    "{code} of {x:e}: found {found:e}, exact {exact:e}"
                );
                continue;
            }
            // Results below the normal range are known to an absolute error only.
            if exact.abs() < f64::from(f32::MIN_POSITIVE) {
                assert!(
                    (found - exact).abs() <= 2.0 * unit(exact),
                    "{code} of {x:e}"
                );
                continue;
            }
            let error = match function.measure {
                Measure::Relative => ((found - exact) / exact).abs(),
                Measure::Absolute => (found - exact).abs(),
                Measure::Units => (found - exact).abs() / unit(exact),
            };
            measured += 1;
            if error > worst.0 {
                worst = (error, x);
            }
        }
        let bound = match function.measure {
            Measure::Units => function.bound,
            _ => function.bound.exp2(),
        };
        println!(
            "{code:24} {:?} error at most {:.3e} (2^{:.2}) at {:e}, bound {bound:.3e}, {measured} values",
            function.measure,
            worst.0,
            worst.0.log2(),
            worst.1
        );
        assert!(measured > 5_000, "{code}: only {measured} values");
        assert!(
            worst.0 <= bound,
            "{code} of {:e}: error {:e}, bound {bound:e}",
            worst.1,
            worst.0
        );
    }
}

/// Zeros, infinities and NaNs; with `.ftz`, subnormal operands count as zeros.
#[test]
fn special_values() {
    let one = 1.0f32.to_bits().into();
    let (infinity, negative_infinity, negative_zero) = (0x7F80_0000, 0xFF80_0000, 0x8000_0000u64);
    let nan32 = nan(F32);
    let tables: [(&str, [u64; 4]); 8] = [
        // Of -infinity, -0, +0, +infinity.
        ("rcp", [negative_zero, negative_infinity, infinity, 0]),
        ("sqrt", [nan32, negative_zero, 0, infinity]),
        ("rsqrt", [nan32, negative_infinity, infinity, 0]),
        ("sin", [nan32, negative_zero, 0, nan32]),
        ("cos", [nan32, one, one, nan32]),
        (
            "lg2",
            [nan32, negative_infinity, negative_infinity, infinity],
        ),
        ("ex2", [0, one, one, infinity]),
        ("tanh", [0xBF80_0000, negative_zero, 0, one]),
    ];
    for (op, [of_negative_infinity, of_negative_zero, of_zero, of_infinity]) in tables {
        for ftz in ["", ".ftz"] {
            if op == "tanh" && !ftz.is_empty() {
                continue;
            }
            let code = format!("{op}.approx{ftz}.f32 d, a;");
            let mut rows = vec![
                (negative_infinity, of_negative_infinity),
                (negative_zero, of_negative_zero),
                (0, of_zero),
                (infinity, of_infinity),
                (0x7FC0_0000, nan32),
                (0xFF80_0001, nan32),
            ];
            if !ftz.is_empty() {
                rows.extend([
                    (1, of_zero),
                    (0x8000_0001, of_negative_zero),
                    (0x007F_FFFF, of_zero),
                ]);
            }
            let operands: Vec<Vec<u64>> = rows.iter().map(|row| vec![row.0]).collect();
            for ((operand, expected), found) in rows.iter().zip(run(&code, &[F32], F32, &operands))
            {
                assert_eq!(found, *expected, "{code} of {operand:#x}");
            }
        }
    }
}

/// At most 2 units off; beyond 2^126 the approximate quotient's divisor has no reciprocal, and the quotient is zero.
#[test]
fn quotients_of_single_precision() {
    let mut random = Random(99);
    let mut rows: Vec<Vec<u64>> = (0..200_000)
        .map(|_| vec![random.next() & 0xFFFF_FFFF, random.next() & 0xFFFF_FFFF])
        .collect();
    rows.extend(crate::harness::rows(&[F32, F32]));
    for (form, approximate) in [
        ("approx", true),
        ("full", false),
        ("approx.ftz", true),
        ("full.ftz", false),
    ] {
        let code = format!("div.{form}.f32 d, a, b;");
        let ftz = form.ends_with("ftz");
        let mut worst = 0.0f64;
        for (row, found) in rows.iter().zip(run(&code, &[F32, F32], F32, &rows)) {
            let flush = |bits: u64| if ftz { flushed(F32, bits) } else { bits };
            let (x, y) = (single(flush(row[0])), single(flush(row[1])));
            let found_value = single(found);
            let place = format!("{code} of {x:e}, {y:e}: found {found_value:e}");
            if approximate && y.is_finite() && y.abs() > 126f64.exp2() {
                if x.is_infinite() || x.is_nan() {
                    assert!(found_value.is_nan(), "{place}");
                } else {
                    assert!(found_value == 0.0, "{place}");
                }
                continue;
            }
            let exact = x / y;
            if exact.is_nan() || exact.is_infinite() || exact == 0.0 {
                let same = found_value == exact
                    && found_value.is_sign_negative() == exact.is_sign_negative();
                assert!(same || (exact.is_nan() && found == nan(F32)), "{place}");
                continue;
            }
            if ftz && exact.abs() < f64::from(f32::MIN_POSITIVE) {
                assert!(
                    found_value == 0.0 || found_value.abs() == f64::from(f32::MIN_POSITIVE),
                    "{place}"
                );
                continue;
            }
            let error = if found_value.is_infinite() {
                assert!(!(exact as f32).is_finite(), "{place}");
                0.0
            } else {
                (found_value - exact).abs() / unit(exact)
            };
            worst = worst.max(error);
        }
        println!("{code:24} error at most {worst:.3} units, bound 2");
        assert!(worst <= 2.0, "{code}: {worst} units");
    }
}

/// Every value of the 16-bit types.
#[test]
fn functions_of_halves_stay_within_their_bounds() {
    let rows: Vec<Vec<u64>> = (0..0x1_0000u64).map(|bits| vec![bits]).collect();
    type Table = (&'static str, Kind, Kind, fn(f64) -> f64, Measure, f64);
    let tables: [Table; 4] = [
        ("ex2.approx", F16, F16x2, f64::exp2, Measure::Relative, -9.9),
        (
            "ex2.approx.ftz",
            Bf16,
            Bf16x2,
            f64::exp2,
            Measure::Relative,
            -7.0,
        ),
        (
            "tanh.approx",
            F16,
            F16x2,
            f64::tanh,
            Measure::Absolute,
            -10.987,
        ),
        (
            "tanh.approx",
            Bf16,
            Bf16x2,
            f64::tanh,
            Measure::Absolute,
            -8.0,
        ),
    ];
    for (op, kind, pair, f, measure, bound) in tables {
        let code = format!("{op}.{} d, a;", kind.word());
        let results = run(&code, &[kind], kind, &rows);
        let mut worst = 0.0f64;
        for (row, found) in rows.iter().zip(&results) {
            let ftz = op.ends_with("ftz");
            let operand = if ftz { flushed(kind, row[0]) } else { row[0] };
            let (x, found_value) = (double(kind, operand), double(kind, *found));
            let exact_value = f(x);
            if exact_value.is_nan() {
                assert_eq!(*found, nan(kind), "{code} of {x:e}");
                continue;
            }
            let (least, most) = if kind == F16 {
                (-14.0f64, 65_520.0)
            } else {
                (-126.0, f64::from(f32::MAX))
            };
            if exact_value >= most {
                assert!(
                    found_value.is_infinite(),
                    "{code} of {x:e}: {found_value:e}"
                );
                continue;
            }
            if measure == Measure::Relative && exact_value < least.exp2() {
                // Below the normal range: within one subnormal unit, or flushed.
                let mantissa = if kind == F16 { 10.0 } else { 7.0 };
                let unit = if ftz {
                    least.exp2()
                } else {
                    (least - mantissa).exp2()
                };
                assert!((found_value - exact_value).abs() <= unit, "{code} of {x:e}");
                continue;
            }
            let error = (found_value - exact_value).abs();
            worst = worst.max(if measure == Measure::Relative {
                error / exact_value
            } else {
                error
            });
        }
        println!(
            "{code:24} {measure:?} error at most {worst:.3e} (2^{:.2}), bound 2^{bound}",
            worst.log2()
        );
        assert!(worst <= bound.exp2(), "{code}: {worst:e}");
        // A pair is two single values.
        let code = format!("{op}.{} d, a;", pair.word());
        let other = |bits: u64| bits.wrapping_mul(40_503) & 0xFFFF;
        let pairs: Vec<Vec<u64>> = (0..0x1_0000u64)
            .map(|bits| vec![bits | other(bits) << 16])
            .collect();
        for (at, found) in run(&code, &[pair], pair, &pairs).iter().enumerate() {
            let expected = results[at] | results[other(at as u64) as usize] << 16;
            assert_eq!(*found, expected, "{code} of {:#x}", pairs[at][0]);
        }
    }
}

fn double(kind: Kind, bits: u64) -> f64 {
    use rustc_apfloat::{Float, FloatConvert, ieee::Double};
    let value: Double = exact(kind, bits).convert(&mut false).value;
    f64::from_bits(value.to_bits() as u64)
}

/// The gross approximations of double precision look at the upper words only; the other root is as exact as double precision.
#[test]
fn approximations_of_double_precision() {
    let mut random = Random(5);
    let mut rows: Vec<Vec<u64>> = (0..100_000).map(|_| vec![random.next()]).collect();
    rows.extend(crate::harness::rows(&[F64]));
    type Form = (&'static str, fn(f64) -> f64, f64, bool);
    let forms: [Form; 3] = [
        ("rcp.approx.ftz", |x| 1.0 / x, -20.0, true),
        ("rsqrt.approx.ftz", |x| 1.0 / x.sqrt(), -20.0, true),
        ("rsqrt.approx", |x| 1.0 / x.sqrt(), -51.0, false),
    ];
    for (op, f, bound, upper) in forms {
        let code = format!("{op}.f64 d, a;");
        let mut worst = 0.0f64;
        for (row, found) in rows.iter().zip(run(&code, &[F64], F64, &rows)) {
            let operand = if upper { flushed(F64, row[0]) } else { row[0] };
            // Clearing the lower word must not make an infinity of a NaN.
            let x = f64::from_bits(operand);
            let exact = f(if upper && !x.is_nan() {
                f64::from_bits(operand >> 32 << 32)
            } else {
                x
            });
            let place = format!("{code} of {x:e}: found {found:#x}, exact {exact:e}");
            if upper {
                assert_eq!(found & 0xFFFF_FFFF, 0, "{place}");
            }
            if exact.is_nan() {
                let expected = if upper {
                    0x7FFF_FFFF_0000_0000
                } else {
                    nan(F64)
                };
                assert_eq!(found, expected, "{place}");
            } else if exact.is_infinite() || exact == 0.0 {
                assert_eq!(found, exact.to_bits(), "{place}");
            } else if upper && exact.abs() < f64::MIN_POSITIVE {
                assert_eq!(f64::from_bits(found), 0.0, "{place}");
            } else {
                let operand = if upper { operand >> 32 << 32 } else { operand };
                worst = worst.max(relative_error(op, operand, found));
            }
        }
        println!(
            "{code:24} relative error at most {worst:.3e} (2^{:.2}), bound 2^{bound}",
            worst.log2()
        );
        assert!(worst <= bound.exp2(), "{code}: {worst:e}");
    }
}

/// How far a reciprocal or the reciprocal of a root is off, in quadruple precision: 1 - x y, or half of 1 - x y^2.
fn relative_error(op: &str, x: u64, y: u64) -> f64 {
    use rustc_apfloat::ieee::{Double, Quad};
    use rustc_apfloat::{Float, FloatConvert};
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

/// `.ftz` of results: what would be subnormal is a zero of its sign.
#[test]
fn flushed_results() {
    for (op, f) in [("ex2", f64::exp2 as fn(f64) -> f64), ("rcp", |x| 1.0 / x)] {
        check(&format!("{op}.approx.ftz.f32 d, a;"), &[F32], F32, |row| {
            let value = f(single(flushed(F32, row[0]))) as f32;
            if value.is_nan() {
                nan(F32)
            } else {
                flushed(F32, value.to_bits().into())
            }
        });
    }
}
