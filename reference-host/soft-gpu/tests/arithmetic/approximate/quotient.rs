//! `div.approx.f32` and `div.full.f32` (PTX ISA 9.7.3.8).

use super::{POINTS, Units, Worst, dense, single};
use crate::harness::Kind::F32;
use crate::harness::{Random, rows, run};
use crate::softfloat::{flushed, nan};

/// At most 2 units off for any divisor.
#[test]
fn full_quotients_stay_within_their_bound() {
    for flush in [false, true] {
        sweep("full", flush, -f32::MAX, f32::MAX);
    }
}

/// At most 2 units off for a divisor from 2^-126 to 2^126.
#[test]
fn approximate_quotients_stay_within_their_bound() {
    let greatest = 126f32.exp2();
    for flush in [false, true] {
        sweep("approx", flush, f32::MIN_POSITIVE, greatest);
        sweep("approx", flush, -greatest, -f32::MIN_POSITIVE);
        // No bound is stated for smaller divisors; the quotient is the nearest here.
        sweep("approx", flush, -f32::MIN_POSITIVE, f32::MIN_POSITIVE);
    }
}

/// Dividends of all kinds over divisors from `from` to `to`.
fn sweep(form: &str, flush: bool, from: f32, to: f32) {
    let mut random = Random(99);
    let mut operands: Vec<Vec<u64>> = dense(from, to)
        .into_iter()
        .map(|row| {
            let any = random.next();
            // Half of the dividends near the divisor, so that quotients are neither infinite nor zero.
            let dividend = if any >> 63 == 0 {
                any & 0xFFFF_FFFF
            } else {
                row[0] ^ any & 0x83FF_FFFF
            };
            vec![dividend, row[0]]
        })
        .collect();
    let divisors = from..=to;
    let edges = rows(&[F32, F32]).into_iter();
    operands.extend(edges.filter(|row| divisors.contains(&(single(row[1]) as f32))));
    let code = format!("div.{form}{}.f32 d, a, b;", if flush { ".ftz" } else { "" });
    let mut worst = Worst::default();
    for (row, found) in operands.iter().zip(run(&code, &[F32, F32], F32, &operands)) {
        let operand = |at: usize| {
            single(if flush {
                flushed(F32, row[at])
            } else {
                row[at]
            })
        };
        let place = || format!("{code} of {:e}, {:e}", single(row[0]), single(row[1]));
        // The quotient of double precision is correctly rounded, and so off by 2^-53 of itself at most.
        let exact = operand(0) / operand(1);
        worst.judge(exact, found, Units(2.0), flush, &place);
    }
    worst.print(
        &format!("{code} for divisors from {from:e} to {to:e}"),
        Units(2.0),
    );
    assert!(worst.measured > POINTS / 4 || (flush && to == f32::MIN_POSITIVE));
}

/// Beyond 2^126 the divisor has no reciprocal: an infinite dividend gives NaN, any other a zero of the quotient's sign.
#[test]
fn divisors_beyond_the_greatest_power() {
    let above = 126f32.exp2().next_up();
    let mut random = Random(7);
    let mut operands: Vec<Vec<u64>> = dense(above, f32::MAX)
        .into_iter()
        .step_by(8)
        .map(|row| {
            let any = random.next();
            vec![any & 0xFFFF_FFFF, row[0] | any >> 63 << 31]
        })
        .collect();
    for divisor in [above, -above, f32::MAX, -f32::MAX] {
        for dividend in F32.edges() {
            operands.push(vec![dividend, divisor.to_bits().into()]);
        }
    }
    for code in ["div.approx.f32 d, a, b;", "div.approx.ftz.f32 d, a, b;"] {
        for (row, found) in operands.iter().zip(run(code, &[F32, F32], F32, &operands)) {
            let dividend = single(row[0]);
            let expected = if dividend.is_finite() {
                (row[0] ^ row[1]) & 0x8000_0000
            } else {
                nan(F32)
            };
            assert_eq!(found, expected, "{code} of {:#x}, {:#x}", row[0], row[1]);
        }
    }
}

/// Quotients of zeros, infinities and NaNs are those of IEEE 754.
#[test]
fn special_quotients() {
    let (one, infinity, any_nan) = (0x3F80_0000u64, 0x7F80_0000u64, 0x7FC0_0001u64);
    let minus = 0x8000_0000u64;
    let cases = [
        (0, 0, nan(F32)),
        (infinity, infinity, nan(F32)),
        (one, 0, infinity),
        (0, one, 0),
        (infinity, one, infinity),
        (infinity, 0, infinity),
        (one, infinity, 0),
        (0, infinity, 0),
    ];
    for form in ["approx", "approx.ftz", "full", "full.ftz"] {
        let code = format!("div.{form}.f32 d, a, b;");
        let mut operands = vec![
            vec![any_nan, one],
            vec![one, any_nan],
            vec![any_nan | minus, 0],
            vec![infinity, any_nan],
        ];
        let mut expected = vec![nan(F32); 4];
        for (dividend, divisor, quotient) in cases {
            for signs in 0..4u64 {
                let (first, second) = ((signs & 1) << 31, (signs >> 1) << 31);
                operands.push(vec![dividend | first, divisor | second]);
                expected.push(if quotient == nan(F32) {
                    quotient
                } else {
                    quotient | first ^ second
                });
            }
        }
        for ((row, found), expected) in operands
            .iter()
            .zip(run(&code, &[F32, F32], F32, &operands))
            .zip(expected)
        {
            assert_eq!(found, expected, "{code} of {:#x}, {:#x}", row[0], row[1]);
        }
    }
}
