//! Approximate functions of single precision over dense sweeps: special values as the ISA tabulates them, and errors within its bounds.
//!
//! Bounds and tables are those of PTX ISA 9.4, whose sections are named at each function. Versions 9.1 and 9.2 give the same, but for
//! the cosine: there 2^-20.5 up to two pi, which is kept as the stricter, where 9.4 says 2^-20.4. Beyond the bounds, results here are
//! the exact ones rounded to the nearest, which is checked as well, where the ISA bounds nothing too.
//!
//! The largest error of each is printed (`cargo test -p soft-gpu --test arithmetic approximate -- --nocapture`).
#![allow(clippy::print_stdout, reason = "the errors found are a result")]

mod double;
mod half;
mod quotient;

use crate::elementary;
use crate::harness::Kind::F32;
use crate::harness::{Random, check, run};
use crate::softfloat::{flushed, nan};

/// How far a result may be off.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Bound {
    /// |found - exact| / |exact|, as a power of two.
    Relative(f64),
    /// |found - exact|, as a power of two.
    Absolute(f64),
    /// |found - exact| in units of the last place of the exact value.
    Units(f64),
}

use Bound::{Absolute, Relative, Units};

struct Function {
    op: &'static str,
    exact: fn(f64) -> f64,
    /// Each bound with the least and the greatest operand for which it holds.
    bounds: Vec<(Bound, f32, f32)>,
}

fn functions() -> Vec<Function> {
    let (least, most) = (f32::from_bits(1), f32::MAX);
    let (turn, many) = (
        below(2.0 * std::f64::consts::PI),
        below(100.0 * std::f64::consts::PI),
    );
    let function = |op, exact, bounds| Function { op, exact, bounds };
    vec![
        // Divisions and roots of double precision are correctly rounded by IEEE 754, and so off by 2^-53 at most each.
        // PTX ISA 9.7.3.13, rcp
        function("rcp", |x| 1.0 / x, vec![(Units(1.0), -most, most)]),
        // PTX ISA 9.7.3.15, sqrt
        function("sqrt", f64::sqrt, vec![(Relative(-23.0), least, most)]),
        // PTX ISA 9.7.3.16, rsqrt
        function(
            "rsqrt",
            |x| {
                if x == 0.0 { 1.0 / x } else { (1.0 / x).sqrt() }
            },
            vec![(Relative(-22.9), least, most)],
        ),
        // PTX ISA 9.7.3.18, sin
        function(
            "sin",
            elementary::sin,
            vec![
                (Absolute(-20.5), -turn, turn),
                (Absolute(-14.7), -many, many),
            ],
        ),
        // PTX ISA 9.7.3.19, cos
        function(
            "cos",
            elementary::cos,
            vec![
                (Absolute(-20.5), -turn, turn),
                (Absolute(-14.7), -many, many),
            ],
        ),
        // PTX ISA 9.7.3.20, lg2: an absolute bound between 0.5 and 2, both excluded.
        function(
            "lg2",
            elementary::lg2,
            vec![
                (Absolute(-22.0), 0.5f32.next_up(), 2.0f32.next_down()),
                (Relative(-22.0), least, 0.5),
                (Relative(-22.0), 2.0, most),
            ],
        ),
        // PTX ISA 9.7.3.21, ex2: 2 units from the correctly rounded result, which 2 units from the exact one are within.
        // Where results are neither infinite nor zero, and everywhere.
        function(
            "ex2",
            elementary::ex2,
            vec![(Units(2.0), -151.0, 128.0), (Units(2.0), -most, most)],
        ),
        // PTX ISA 9.7.3.22, tanh
        function(
            "tanh",
            elementary::tanh,
            vec![(Relative(-11.0), -most, most)],
        ),
    ]
}

/// The greatest value of single precision that is not above.
fn below(limit: f64) -> f32 {
    let nearest = limit as f32;
    if f64::from(nearest) > limit {
        nearest.next_down()
    } else {
        nearest
    }
}

#[test]
fn reciprocals_stay_within_their_bounds() {
    sweep("rcp");
}

#[test]
fn roots_stay_within_their_bounds() {
    sweep("sqrt");
}

#[test]
fn reciprocal_roots_stay_within_their_bounds() {
    sweep("rsqrt");
}

#[test]
fn sines_stay_within_their_bounds() {
    sweep("sin");
}

#[test]
fn cosines_stay_within_their_bounds() {
    sweep("cos");
}

#[test]
fn logarithms_stay_within_their_bounds() {
    sweep("lg2");
}

#[test]
fn exponentials_stay_within_their_bounds() {
    sweep("ex2");
}

#[test]
fn hyperbolic_tangents_stay_within_their_bounds() {
    sweep("tanh");
}

/// Every bound of a function over the whole of its range, with and without `.ftz`.
fn sweep(op: &str) {
    let mut functions = functions().into_iter();
    let function = functions.find(|function| function.op == op).expect(op);
    for (bound, from, to) in function.bounds {
        let rows = dense(from, to);
        assert!(rows.len() >= POINTS);
        for flush in [false, true] {
            if flush && op == "tanh" {
                continue;
            }
            let code = format!("{op}.approx{}.f32 d, a;", if flush { ".ftz" } else { "" });
            let mut worst = Worst::default();
            for (row, found) in rows.iter().zip(run(&code, &[F32], F32, &rows)) {
                let operand = if flush { flushed(F32, row[0]) } else { row[0] };
                let place = || format!("{code} of {:e}", single(row[0]));
                let exact = (function.exact)(single(operand));
                worst.judge(exact, found, bound, flush, &place);
            }
            worst.print(&format!("{code} from {from:e} to {to:e}"), bound);
            // Others overflow, or are flushed.
            assert!(worst.measured > POINTS / 5);
        }
    }
}

const POINTS: usize = 1 << 20;

/// Operands from `from` to `to`: half of them near evenly spaced, half near evenly spaced among the bit patterns, so that each binade has
/// its share; the ends and the edges between them.
fn dense(from: f32, to: f32) -> Vec<Vec<u64>> {
    let mut random = Random(0xA99);
    let (low, high) = (rank(from), rank(to));
    let step = (high - low) / (POINTS as i64 / 2);
    let mut values: Vec<f32> = Vec::with_capacity(POINTS + 400);
    for at in 0..POINTS as i64 / 2 {
        let jitter = (random.next() >> 1) as i64 % step.max(1);
        values.push(of_rank((low + at * step + jitter).min(high)));
        let fraction =
            (at as f64 + (random.next() >> 11) as f64 / 53f64.exp2()) / (POINTS / 2) as f64;
        let even = f64::from(from) + (f64::from(to) - f64::from(from)) * fraction;
        values.push((even as f32).clamp(from, to));
    }
    values.extend([from, to]);
    let edges = F32
        .edges()
        .into_iter()
        .map(|bits| f32::from_bits(bits as u32));
    values.extend(edges.filter(|edge| (from..=to).contains(edge)));
    values
        .into_iter()
        .map(|value| vec![u64::from(value.to_bits())])
        .collect()
}

/// The place of a number among all, zero's being 0.
fn rank(value: f32) -> i64 {
    let magnitude = i64::from(value.to_bits() & 0x7FFF_FFFF);
    if value.is_sign_negative() {
        -magnitude
    } else {
        magnitude
    }
}

fn of_rank(rank: i64) -> f32 {
    let magnitude = f32::from_bits(rank.unsigned_abs() as u32);
    if rank < 0 { -magnitude } else { magnitude }
}

/// The largest errors seen.
#[derive(Debug, Default)]
struct Worst {
    /// As the bound measures.
    error: f64,
    /// In units of the last place.
    units: f64,
    measured: usize,
}

impl Worst {
    /// Judges one result of single precision against the exact value, which is NaN or infinite where the result has to be.
    fn judge(
        &mut self,
        exact: f64,
        found: u64,
        bound: Bound,
        flush: bool,
        place: &dyn Fn() -> String,
    ) {
        let nearest = exact as f32;
        let value = single(found);
        let fail = |what: &str| panic!("{}: found {value:e}, exact {exact:e}: {what}", place());
        let same = || found == u64::from(nearest.to_bits());
        let least = f64::from(f32::MIN_POSITIVE);
        if exact.is_nan() {
            if found != nan(F32) {
                fail("not the canonical NaN");
            }
            return;
        }
        if nearest.is_infinite() || exact == 0.0 {
            if !same() {
                fail("not the only result");
            }
            return;
        }
        if flush && exact.abs() < least {
            // What an error within any bound may have lifted to the least normal value is not flushed.
            let signed = value.is_sign_negative() == exact.is_sign_negative();
            let lifted = value.abs() == least && exact.abs() > least * (1.0 - (-22f64).exp2());
            if !signed || (value != 0.0 && !lifted) {
                fail("not flushed to a zero of its sign");
            }
            return;
        }
        let off = (value - exact).abs();
        let units = off / unit(exact);
        let (error, most) = match bound {
            Relative(power) => (off / exact.abs(), power.exp2()),
            Absolute(power) => (off, power.exp2()),
            Units(units) => (off / unit(exact), units),
        };
        // A relative error means nothing where neighbours are further apart than it.
        let coarse = exact.abs() < least && units <= 1.0;
        let within = error <= most || coarse;
        if !within {
            fail(&format!("an error of {error:e}, bound {most:e}"));
        }
        // The exact value is known well enough to tell it from a tie to this.
        if units > 0.5 + (-16f64).exp2() {
            fail(&format!("{units} units, not the nearest"));
        }
        if !coarse {
            self.error = self.error.max(error);
        }
        self.units = self.units.max(units);
        self.measured += 1;
    }

    fn print(&self, what: &str, bound: Bound) {
        println!(
            "{what}: error at most {:.4e} (2^{:.2}), {:.4} units; bound {bound:?}; {} values",
            self.error,
            self.error.log2(),
            self.units,
            self.measured
        );
    }
}

fn single(bits: u64) -> f64 {
    f64::from(f32::from_bits(bits as u32))
}

/// A unit in the last place of a single-precision value, as a subnormal's at least.
fn unit(value: f64) -> f64 {
    let exponent = (value.to_bits() >> 52 & 0x7FF) as i64 - 1023;
    f64::from_bits(((exponent.max(-126) - 23 + 1023) as u64) << 52)
}

/// Zeros, infinities, NaNs, negative numbers, and subnormals, which `.ftz` makes zeros of their sign.
#[test]
fn special_values() {
    let one = 1.0f32.to_bits().into();
    let (infinity, minus_infinity, minus_zero) = (0x7F80_0000, 0xFF80_0000, 0x8000_0000u64);
    let (least, minus_least) = (1, 0x8000_0001);
    let nan32 = nan(F32);
    // Of -infinity, -0, +0, +infinity, then of the least subnormals, where `.ftz` is not said.
    let tables: [(&str, [u64; 4], [u64; 2]); 8] = [
        (
            "rcp",
            [minus_zero, minus_infinity, infinity, 0],
            [minus_infinity, infinity],
        ),
        // 2^-149 is 2 * (2^-75)^2.
        (
            "sqrt",
            [nan32, minus_zero, 0, infinity],
            [nan32, 0x1A35_04F3],
        ),
        (
            "rsqrt",
            [nan32, minus_infinity, infinity, 0],
            [nan32, 0x64B5_04F3],
        ),
        ("sin", [nan32, minus_zero, 0, nan32], [minus_least, least]),
        ("cos", [nan32, one, one, nan32], [one, one]),
        (
            "lg2",
            [nan32, minus_infinity, minus_infinity, infinity],
            [nan32, (-149.0f32).to_bits().into()],
        ),
        ("ex2", [0, one, one, infinity], [one, one]),
        (
            "tanh",
            [0xBF80_0000, minus_zero, 0, one],
            [minus_least, least],
        ),
    ];
    for (op, [of_minus_infinity, of_minus_zero, of_zero, of_infinity], of_least) in tables {
        for flush in [false, true] {
            if op == "tanh" && flush {
                continue;
            }
            let code = format!("{op}.approx{}.f32 d, a;", if flush { ".ftz" } else { "" });
            let mut rows = vec![
                (minus_infinity, of_minus_infinity),
                (minus_zero, of_minus_zero),
                (0, of_zero),
                (infinity, of_infinity),
                (0x7FC0_0000, nan32),
                (0x7F80_0001, nan32),
                (0xFF80_0001, nan32),
                (0xFFFF_FFFF, nan32),
            ];
            if flush {
                rows.extend([
                    (least, of_zero),
                    (0x007F_FFFF, of_zero),
                    (minus_least, of_minus_zero),
                    (0x807F_FFFF, of_minus_zero),
                ]);
            } else {
                rows.extend([(minus_least, of_least[0]), (least, of_least[1])]);
            }
            if ["sqrt", "rsqrt", "lg2"].contains(&op) {
                rows.extend([0xBF80_0000, 0x8080_0000, 0xFF7F_FFFF].map(|below| (below, nan32)));
            }
            let operands: Vec<Vec<u64>> = rows.iter().map(|row| vec![row.0]).collect();
            for ((operand, expected), found) in rows.iter().zip(run(&code, &[F32], F32, &operands))
            {
                assert_eq!(found, *expected, "{code} of {operand:#x}");
            }
        }
    }
}

/// Angles beyond a hundred pi have no bound in the ISA: any sine will do, but it is one.
#[test]
fn large_angles_have_sines() {
    let many = below(100.0 * std::f64::consts::PI);
    for (from, to) in [(many, f32::MAX), (-f32::MAX, -many)] {
        let rows = dense(from, to);
        for op in ["sin", "cos"] {
            let code = format!("{op}.approx.f32 d, a;");
            for (row, found) in rows.iter().zip(run(&code, &[F32], F32, &rows)) {
                let found = single(found);
                assert!(
                    found.abs() <= 1.0,
                    "{code} of {:e}: {found}",
                    single(row[0])
                );
            }
        }
    }
}

/// Under a guard, too, and over what the other tests of arithmetic use as operands.
#[test]
fn flushed_results() {
    for (op, f) in [
        ("ex2", elementary::ex2 as fn(f64) -> f64),
        ("rcp", |x| 1.0 / x),
    ] {
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
