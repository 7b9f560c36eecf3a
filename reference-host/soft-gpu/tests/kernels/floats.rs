//! Floating point: classes, conversions in every direction, and the mathematical functions within their error bounds.

use rustc_apfloat::ieee::{Double, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

use crate::device::{Arg, Random, Shape, assert_same, bits32, release};

/// Directions in the order of the kernels: nearest, towards zero, up, down.
const DIRECTIONS: [Round; 4] = [
    Round::NearestTiesToEven,
    Round::TowardZero,
    Round::TowardPositive,
    Round::TowardNegative,
];

/// One bit pattern for all that is not a number.
fn class32(values: &[f32]) -> Vec<u32> {
    values
        .iter()
        .map(|value| {
            if value.is_nan() {
                0x7FFF_FFFF
            } else {
                value.to_bits()
            }
        })
        .collect()
}

#[test]
fn classify() {
    let mut random = Random(1001);
    let mut kernels = release("classify");
    let a = random.many(1024, Random::any_f32);
    let b: Vec<f32> = a
        .iter()
        .map(|x| {
            if random.u32().is_multiple_of(4) {
                *x
            } else {
                random.any_f32()
            }
        })
        .collect();
    let mut args = [
        Arg::buffer(&a),
        Arg::buffer(&b),
        Arg::zeros::<u32>(1024),
        Arg::zeros::<f32>(7 * 1024),
    ];
    kernels.run("classify", Shape::line(1, 1024), &mut args);
    let flags: Vec<u32> = a
        .iter()
        .zip(&b)
        .map(|(x, y)| {
            let bits = [
                x.is_finite(),
                x.is_infinite(),
                !x.is_nan(),
                x.is_nan(),
                x.is_normal(),
                x.is_subnormal(),
                x.is_sign_negative(),
                false,
                x < y,
                x <= y,
                x == y,
                x != y,
                x.is_nan() || y.is_nan(),
                x.partial_cmp(y).is_none_or(std::cmp::Ordering::is_lt),
            ];
            (0..)
                .zip(bits)
                .fold(0, |flags, (at, bit)| flags | u32::from(bit) << at)
        })
        .collect();
    assert_same(&args[2].values(), &flags, "flags");
    for ((&x, &y), found) in a.iter().zip(&b).zip(args[3].values::<f32>().chunks(7)) {
        // The order of the real numbers with -0 below +0; what is not a number gives way.
        let ordered = |x: f32| (x, x.is_sign_positive());
        let less = ordered(x)
            .partial_cmp(&ordered(y))
            .is_some_and(std::cmp::Ordering::is_lt);
        let (least, greatest) = match (x.is_nan(), y.is_nan()) {
            (true, _) => (y, y),
            (_, true) => (x, x),
            _ if less => (x, y),
            _ => (y, x),
        };
        let next = match x.partial_cmp(&y) {
            None => f32::NAN,
            Some(std::cmp::Ordering::Less) => x.next_up(),
            Some(std::cmp::Ordering::Greater) => x.next_down(),
            Some(std::cmp::Ordering::Equal) => y,
        };
        let beyond = match x.partial_cmp(&y) {
            None => f32::NAN,
            Some(std::cmp::Ordering::Greater) => x - y,
            Some(_) => 0.0,
        };
        let expected = [least, greatest, x.copysign(y), next, beyond];
        assert_same(&class32(&found[..5]), &class32(&expected), (x, y));
        if x.is_finite() {
            let wide = f64::from(x);
            let exponent = if x == 0.0 {
                0
            } else {
                (wide.to_bits() >> 52 & 0x7FF) as i32 - 1022
            };
            let fraction = (wide / 2f64.powi(exponent)) as f32;
            let scaled = (f64::from(y) * 2f64.powi(exponent / 2)) as f32;
            assert_eq!(found[5].to_bits(), fraction.to_bits(), "frexp({x})");
            if !scaled.is_subnormal() {
                assert_same(&class32(&found[6..]), &class32(&[scaled]), (x, y));
            }
        }
    }
}

/// Floats about integers of every magnitude, halves among them.
fn near_integer(random: &mut Random) -> f64 {
    let integer = random.spread() as f64;
    integer + f64::from(random.u32() % 8) / 4.0 - 1.0
}

/// 512 of them in each precision.
fn near_integers(seed: u64) -> (Vec<f32>, Vec<f64>) {
    let mut random = Random(seed);
    let single = random.many(512, |random| near_integer(random) as f32);
    (single, random.many(512, near_integer))
}

#[test]
fn to_integers() {
    let mut kernels = release("conversions");
    let (a, b) = near_integers(1002);
    let mut args = [
        Arg::buffer(&a),
        Arg::buffer(&b),
        Arg::zeros::<i32>(10 * 512),
        Arg::zeros::<i64>(6 * 512),
    ];
    kernels.run("to_integers", Shape::line(1, 512), &mut args);
    let (mut narrow, mut wide) = (Vec::new(), Vec::new());
    for (a, b) in a.iter().zip(&b) {
        narrow.extend([
            a.round_ties_even() as i32,
            a.trunc() as i32,
            a.ceil() as i32,
            a.floor() as i32,
            (a.round_ties_even() as u32).cast_signed(),
            (a.floor() as u32).cast_signed(),
            b.round_ties_even() as i32,
            b.ceil() as i32,
            (b.trunc() as u32).cast_signed(),
            (b.floor() as u32).cast_signed(),
        ]);
        wide.extend([
            a.round_ties_even() as i64,
            a.floor() as i64,
            (a.trunc() as u64).cast_signed(),
            b.ceil() as i64,
            b.trunc() as i64,
            (b.round_ties_even() as u64).cast_signed(),
        ]);
    }
    assert_same(&args[2].values(), &narrow, "32 bits");
    assert_same(&args[3].values(), &wide, "64 bits");
}

fn single(value: i128, round: Round) -> f32 {
    f32::from_bits(Single::from_i128_r(value, round).value.to_bits() as u32)
}

fn double(value: i128, round: Round) -> f64 {
    f64::from_bits(Double::from_i128_r(value, round).value.to_bits() as u64)
}

#[test]
fn to_floats() {
    let mut random = Random(1003);
    let mut kernels = release("conversions");
    let a = random.many(512, |random| random.spread() as i32);
    let b = random.many(512, Random::spread);
    let c = random.many(512, |random| {
        f64::from_bits((0x3600 << 48) + random.u64() % (0x1400 << 48)) * random.f64()
    });
    let mut args = [
        Arg::buffer(&a),
        Arg::buffer(&b),
        Arg::buffer(&c),
        Arg::zeros::<f32>(12 * 512),
        Arg::zeros::<f64>(5 * 512),
    ];
    kernels.run("to_floats", Shape::line(1, 512), &mut args);
    let (mut narrow, mut wide) = (Vec::new(), Vec::new());
    for ((a, b), c) in a.iter().zip(&b).zip(&c) {
        let [nearest, zero, up, down] = DIRECTIONS;
        let (signed, unsigned) = (i128::from(*a), i128::from(a.cast_unsigned()));
        let (long, unsigned_long) = (i128::from(*b), i128::from(b.cast_unsigned()));
        narrow.extend(DIRECTIONS.map(|round| single(signed, round)));
        narrow.extend([
            single(unsigned, nearest),
            single(long, nearest),
            single(long, down),
            single(unsigned_long, up),
        ]);
        narrow.extend(DIRECTIONS.map(|round| {
            let mut loses = false;
            let narrow: Single = Double::from_bits(c.to_bits().into())
                .convert_r(round, &mut loses)
                .value;
            f32::from_bits(narrow.to_bits() as u32)
        }));
        wide.extend([
            double(signed, nearest),
            double(unsigned, nearest),
            double(long, zero),
            double(long, nearest),
            double(unsigned_long, down),
        ]);
    }
    assert_same(&bits32(&args[3].values()), &bits32(&narrow), "32 bits");
    assert_same(&args[4].values(), &wide, "64 bits");
}

#[test]
fn to_whole_floats() {
    let mut kernels = release("conversions");
    let (a, b) = near_integers(1004);
    let mut args = [
        Arg::buffer(&a),
        Arg::buffer(&b),
        Arg::zeros::<f32>(4 * 512),
        Arg::zeros::<f64>(4 * 512),
    ];
    kernels.run("to_whole_floats", Shape::line(1, 512), &mut args);
    let narrow: Vec<f32> = a
        .iter()
        .flat_map(|a| [a.floor(), a.ceil(), a.trunc(), a.round_ties_even()])
        .collect();
    let wide: Vec<f64> = b
        .iter()
        .flat_map(|b| [b.floor(), b.ceil(), b.trunc(), b.round_ties_even()])
        .collect();
    assert_same(&bits32(&args[2].values()), &bits32(&narrow), "32 bits");
    assert_same(&args[3].values(), &wide, "64 bits");
}

/// The error function by its series, for small arguments.
fn erf(x: f64) -> f64 {
    let mut term = x;
    let mut sum = x;
    for n in 1..100 {
        term *= -x * x / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    sum * std::f64::consts::FRAC_2_SQRT_PI
}

/// How far a float is from an exact value, in units of the float's last place.
fn ulps(found: f32, exact: f64) -> f64 {
    let nearest = exact as f32;
    let place = f64::from(nearest.abs().next_up()) - f64::from(nearest.abs());
    (f64::from(found) - exact).abs() / place
}

#[test]
fn functions_in_single_precision() {
    let mut random = Random(1005);
    let mut kernels = release("math-f32");
    // Arguments up to 10^30, whose reduction needs many digits of pi.
    let a = random.many(1024, |random| match random.u32() % 4 {
        0 => (random.f64() * 1e27) as f32,
        1 => random.f32() * 100.0,
        _ => random.f32() / 100.0,
    });
    let b = random.many(1024, |random| random.f32() / 350.0);
    let mut args = [
        Arg::buffer(&a),
        Arg::buffer(&b),
        Arg::zeros::<f32>(10 * 1024),
    ];
    kernels.run("math_f32", Shape::line(1, 1024), &mut args);
    // CUDA's table of maximum errors, and half a place for the comparison itself.
    let bounds = [2.0, 2.0, 2.0, 1.0, 4.0, 3.0, 2.0, 1.0, 0.0, 3.0];
    let names = [
        "sin", "cos", "exp", "log", "pow", "atan2", "erf", "cbrt", "fmod", "hypot",
    ];
    for ((&x, &y), found) in a.iter().zip(&b).zip(args[2].values::<f32>().chunks(10)) {
        let (a, b) = (f64::from(x), f64::from(y));
        let exact = [
            a.sin(),
            a.cos(),
            b.exp(),
            a.abs().ln(),
            a.abs().powf(b * 0.125),
            a.atan2(b),
            erf(b),
            a.cbrt(),
            f64::from(x % y),
            a.hypot(b),
        ];
        for (k, (found, exact)) in found.iter().zip(exact).enumerate() {
            let error = ulps(*found, exact);
            let name = names[k];
            assert!(
                error <= bounds[k] + 0.5,
                "{name}({x}, {y}) is {found}, {error} places from {exact}"
            );
        }
    }
}

#[test]
fn fast_functions() {
    let mut random = Random(1006);
    let mut kernels = release("fast-math");
    let a = random.many(1024, |random| random.f32() / 320.0);
    let b = random.many(1024, |random| random.f32() / 100.0);
    let mut args = [
        Arg::buffer(&a),
        Arg::buffer(&b),
        Arg::zeros::<f32>(12 * 1024),
    ];
    kernels.run("fast_math", Shape::line(1, 1024), &mut args);
    let names = [
        "sin", "cos", "exp", "log", "div", "sqrt", "rsqrt", "pow", "tanh", "exp2", "log10",
        "saturate",
    ];
    // Absolute and relative parts of what CUDA's table allows.
    let bounds = [
        (6e-7, 0.0),
        (6e-7, 0.0),
        (0.0, 2e-6),
        (4e-7, 4e-7),
        (0.0, 3e-7),
        (0.0, 4e-7),
        (0.0, 3e-7),
        (0.0, 4e-6),
        (0.0, 6e-4),
        (0.0, 3e-7),
        (4e-7, 4e-7),
        (0.0, 0.0),
    ];
    for ((&x, &y), found) in a.iter().zip(&b).zip(args[2].values::<f32>().chunks(12)) {
        let (a, b) = (f64::from(x), f64::from(y));
        let exact = [
            a.sin(),
            a.cos(),
            b.exp(),
            b.abs().ln(),
            a / b,
            a.abs().sqrt(),
            a.abs().sqrt().recip(),
            a.abs().powf(b * 0.25),
            b.tanh(),
            b.exp2(),
            a.abs().log10(),
            (a * 0.5).clamp(0.0, 1.0),
        ];
        for (k, (found, exact)) in found.iter().zip(exact).enumerate() {
            let (absolute, relative) = bounds[k];
            let error = (f64::from(*found) - exact).abs();
            let name = names[k];
            assert!(
                error <= absolute + relative * exact.abs(),
                "{name}({x}, {y}) is {found}, expected {exact}"
            );
        }
    }
}
