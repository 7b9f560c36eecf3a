//! `tanh.approx` and `ex2.approx` of 16-bit types (PTX ISA 9.7.4.9 and 9.7.4.10), over every value.

use super::{Absolute, Bound, Relative};
use crate::elementary;
use crate::harness::Kind::{self, Bf16, Bf16x2, F16, F16x2};
use crate::harness::run;
use crate::softfloat::{exact, flushed, is_nan, nan, rounded};

struct Form {
    op: &'static str,
    kind: Kind,
    pair: Kind,
    exact: fn(f64) -> f64,
    bound: Bound,
}

fn forms() -> [Form; 4] {
    let form = |op, kind, pair, exact, bound| Form {
        op,
        kind,
        pair,
        exact,
        bound,
    };
    let (ex2, tanh) = (elementary::ex2, elementary::tanh);
    [
        form("ex2.approx", F16, F16x2, ex2, Relative(-9.9)),
        form("ex2.approx.ftz", Bf16, Bf16x2, ex2, Relative(-7.0)),
        form("tanh.approx", F16, F16x2, tanh, Absolute(-10.987)),
        form("tanh.approx", Bf16, Bf16x2, tanh, Absolute(-8.0)),
    ]
}

#[test]
fn functions_of_halves_stay_within_their_bounds() {
    let rows: Vec<Vec<u64>> = (0..0x1_0000u64).map(|bits| vec![bits]).collect();
    for Form {
        op,
        kind,
        pair,
        exact: function,
        bound,
    } in forms()
    {
        let code = format!("{op}.{} d, a;", kind.word());
        let flush = op.ends_with("ftz");
        let results = run(&code, &[kind], kind, &rows);
        // The least normal value and what rounds to an infinity.
        let (least, most) = if kind == F16 {
            ((-14f64).exp2(), 65_520.0)
        } else {
            ((-126f64).exp2(), f64::from(f32::MAX))
        };
        let mut worst = 0.0f64;
        let mut measured = 0;
        for (row, found) in rows.iter().zip(&results) {
            let operand = if flush { flushed(kind, row[0]) } else { row[0] };
            let exact = function(double(kind, operand));
            let place = format!("{code} of {:#x}: found {found:#x}, exact {exact:e}", row[0]);
            if exact.is_nan() {
                assert_eq!(*found, nan(kind), "{place}");
                continue;
            }
            assert!(!is_nan(kind, *found), "{place}");
            let value = double(kind, *found);
            if exact >= most {
                assert!(value == f64::INFINITY, "{place}");
                continue;
            }
            if flush && exact < least {
                assert!(
                    *found == 0 || (value == least && exact > least * 0.99),
                    "{place}"
                );
                continue;
            }
            let off = (value - exact).abs();
            let (error, most) = match bound {
                Relative(power) => (off / exact, power.exp2()),
                Absolute(power) => (off, power.exp2()),
                Bound::Units(_) => unreachable!("no such bound here"),
            };
            // Below the normal range neighbours are further apart than the bound: the nearest of them is meant.
            if matches!(bound, Relative(_)) && exact < least {
                assert!(off <= (-25f64).exp2(), "{place}");
                continue;
            }
            assert!(error <= most, "{place}: error {error:e}, bound {most:e}");
            worst = worst.max(error);
            measured += 1;
        }
        println!(
            "{code}: error at most {worst:.4e} (2^{:.3}), bound {bound:?}, {measured} values",
            worst.log2()
        );
        assert!(measured > 25_000, "{code}: {measured}");
        nearest(&code, kind, &rows, &results, function, flush);
        pairs(op, pair, &results);
    }
}

/// Results are the exact ones rounded to the nearest, which the bounds leave room beside.
fn nearest(
    code: &str,
    kind: Kind,
    rows: &[Vec<u64>],
    results: &[u64],
    function: fn(f64) -> f64,
    flush: bool,
) {
    use rustc_apfloat::{Float, FloatConvert, ieee::Double};
    for (row, found) in rows.iter().zip(results) {
        let operand = if flush { flushed(kind, row[0]) } else { row[0] };
        let exact = function(double(kind, operand));
        let wide = Double::from_bits(exact.to_bits().into())
            .convert(&mut false)
            .value;
        let mut expected = rounded(kind, wide, crate::softfloat::NEAREST);
        if flush {
            expected = flushed(kind, expected);
        }
        assert_eq!(*found, expected, "{code} of {:#x}, exact {exact:e}", row[0]);
    }
}

/// A pair is two single values.
fn pairs(op: &str, pair: Kind, results: &[u64]) {
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

/// What the ISA tabulates, and subnormals: those of `.bf16` count as zeros in `ex2.approx.ftz`.
#[test]
fn special_values_of_halves() {
    for Form {
        op, kind, pair: _, ..
    } in forms()
    {
        let (one, infinity) = if kind == F16 {
            (0x3C00, 0x7C00)
        } else {
            (0x3F80, 0x7F80)
        };
        let minus = 0x8000u64;
        let mut rows = vec![
            (0x7FFF, nan(kind)),
            (infinity + 1, nan(kind)),
            (0xFFFF, nan(kind)),
        ];
        if op.starts_with("tanh") {
            rows.extend([
                (infinity | minus, one | minus),
                (minus, minus),
                (0, 0),
                (infinity, one),
                // The least subnormals are their own tangents.
                (1, 1),
                (1 | minus, 1 | minus),
            ]);
        } else {
            rows.extend([
                (infinity | minus, 0),
                (minus, one),
                (0, one),
                (infinity, infinity),
                (1, one),
                (1 | minus, one),
            ]);
        }
        let code = format!("{op}.{} d, a;", kind.word());
        let operands: Vec<Vec<u64>> = rows.iter().map(|row| vec![row.0]).collect();
        for ((operand, expected), found) in rows.iter().zip(run(&code, &[kind], kind, &operands)) {
            assert_eq!(found, *expected, "{code} of {operand:#x}");
        }
    }
}

fn double(kind: Kind, bits: u64) -> f64 {
    use rustc_apfloat::{Float, FloatConvert, ieee::Double};
    let value: Double = exact(kind, bits).convert(&mut false).value;
    f64::from_bits(value.to_bits() as u64)
}
