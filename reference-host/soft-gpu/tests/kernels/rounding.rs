//! `rounding.cu` and `math-f64.cu`: the basic operations rounded in each direction, and the double-precision library.

use rustc_apfloat::ieee::{Double, Single};
use rustc_apfloat::{Float, Round};

use crate::device::{Arg, Random, Shape, release};

/// Directions in the order of the kernels: nearest, towards zero, up, down.
const DIRECTIONS: [Round; 4] = [
    Round::NearestTiesToEven,
    Round::TowardZero,
    Round::TowardPositive,
    Round::TowardNegative,
];

/// A square root: the nearest one by the host, then one step where an exact comparison of the square says so.
macro_rules! root {
    ($name:ident, $float:ty, $residue:expr) => {
        fn $name(x: $float, round: Round) -> $float {
            let nearest = x.sqrt();
            if !x.is_normal() {
                return nearest;
            }
            let residue: fn($float, $float) -> f64 = $residue;
            let residue = residue(nearest, x);
            match round {
                Round::TowardZero | Round::TowardNegative if residue > 0.0 => nearest.next_down(),
                Round::TowardPositive if residue < 0.0 => nearest.next_up(),
                _ => nearest,
            }
        }
    };
}
root!(root32, f32, |root, x| f64::from(root) * f64::from(root)
    - f64::from(x));
root!(root64, f64, |root, x| root.mul_add(root, -x));

macro_rules! rounded {
    ($test:ident, $entry:literal, $float:ty, $bits:ty, $soft:ty, $root:ident, $any_bits:path, $any:path, $seed:literal) => {
        #[test]
        fn $test() {
            let mut random = Random($seed);
            let mut kernels = release("rounding");
            let special = [
                0.0,
                -0.0,
                1.0,
                -1.0,
                3.0,
                <$float>::MAX,
                <$float>::MIN_POSITIVE,
                <$float>::INFINITY,
                <$float>::NAN,
            ];
            let number = |random: &mut Random| match random.u32() % 8 {
                0 => special[random.u32() as usize % special.len()],
                1 => <$float>::from_bits($any_bits(random)),
                _ => $any(random),
            };
            let [a, b, c] = [0; 3].map(|_: i32| random.many(1024, number));
            let mut args = [
                Arg::buffer(&a),
                Arg::buffer(&b),
                Arg::buffer(&c),
                Arg::zeros::<$float>(28 * 1024),
            ];
            kernels.run($entry, Shape::line(1, 1024), &mut args);
            let names = ["add", "sub", "mul", "fma", "div", "rcp", "sqrt"];
            for (i, found) in args[3].values::<$float>().chunks(28).enumerate() {
                let soft = |x: $float| <$soft>::from_bits(x.to_bits().into());
                let hard = |x: $soft| {
                    <$float>::from_bits(<$bits>::try_from(x.to_bits()).expect("as wide"))
                };
                let (x, y, z) = (soft(a[i]), soft(b[i]), soft(c[i]));
                for (k, found) in found.iter().enumerate() {
                    let round = DIRECTIONS[k % 4];
                    let expected = match k / 4 {
                        0 => hard(x.add_r(y, round).value),
                        1 => hard(x.sub_r(y, round).value),
                        2 => hard(x.mul_r(y, round).value),
                        3 => hard(x.mul_add_r(y, z, round).value),
                        4 => hard(x.div_r(y, round).value),
                        5 => hard(soft(1.0).div_r(x, round).value),
                        _ => $root(a[i].abs(), round),
                    };
                    assert!(
                        found.to_bits() == expected.to_bits()
                            || found.is_nan() && expected.is_nan(),
                        "{} {round:?} of {:e}, {:e}, {:e}: found {found:e}, expected {expected:e}",
                        names[k / 4],
                        a[i],
                        b[i],
                        c[i]
                    );
                }
            }
        }
    };
}
rounded!(
    rounding_f32,
    "rounding_f32",
    f32,
    u32,
    Single,
    root32,
    Random::u32,
    Random::f32,
    1201
);
rounded!(
    rounding_f64,
    "rounding_f64",
    f64,
    u64,
    Double,
    root64,
    Random::u64,
    Random::f64,
    1202
);

#[test]
fn functions_in_double_precision() {
    let mut random = Random(1203);
    let mut kernels = release("math-f64");
    let a = random.many(512, |random| match random.u32() % 3 {
        0 => random.f64() * 1e30,
        _ => random.f64() / 50.0,
    });
    let b = random.many(512, |random| random.f64() / 100.0);
    let mut args = [Arg::buffer(&a), Arg::buffer(&b), Arg::zeros::<f64>(8 * 512)];
    kernels.run("math_f64", Shape::line(1, 512), &mut args);
    let names = ["sin", "exp", "log", "div", "rsqrt", "cbrt", "atan", "fmod"];
    // CUDA's table of maximum errors, and one place for the host's own.
    let bounds = [3, 2, 2, 0, 2, 2, 3, 0];
    for ((&x, &y), found) in a.iter().zip(&b).zip(args[2].values::<f64>().chunks(8)) {
        let exact = [
            x.sin(),
            y.exp(),
            x.abs().ln(),
            x / y,
            x.abs().sqrt().recip(),
            x.cbrt(),
            y.atan(),
            x % y,
        ];
        for (k, (found, exact)) in found.iter().zip(exact).enumerate() {
            let places = found.to_bits().abs_diff(exact.to_bits());
            let name = names[k];
            assert!(
                places <= bounds[k],
                "{name}({x:e}, {y:e}) is {found:e}, {places} places from {exact:e}"
            );
        }
    }
}
