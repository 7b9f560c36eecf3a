//! 16-bit floats: `half.cu`, `half-functions.cu`, `bfloat.cu`, and 8-bit ones in `fp8.cu`.

use rustc_apfloat::ieee::{BFloat, Float8E4M3FN, Float8E5M2, Half, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

use crate::device::{Arg, Random, Shape, assert_same, release};

/// One bit pattern for all that is not a number.
fn class<F: Float>(value: F) -> u16 {
    if value.is_nan() {
        0x7FFF
    } else {
        value.to_bits() as u16
    }
}

fn bits<F: Float>(bits: u16) -> F {
    F::from_bits(bits.into())
}

fn classes<F: Float>(words: &[u16]) -> Vec<u16> {
    words.iter().map(|word| class(bits::<F>(*word))).collect()
}

fn single(x: f32) -> Single {
    Single::from_bits(x.to_bits().into())
}

fn narrowed<F: Float>(x: f32, round: Round) -> F
where
    Single: FloatConvert<F>,
{
    single(x).convert_r(round, &mut false).value
}

fn widened<F: Float + FloatConvert<Single>>(x: F) -> f32 {
    let wide: Single = x.convert(&mut false).value;
    f32::from_bits(wide.to_bits() as u32)
}

fn minimum<F: Float>(x: F, y: F) -> F {
    match (x.is_nan(), y.is_nan()) {
        (true, _) => y,
        (_, true) => x,
        _ if x < y || x == y && x.is_negative() => x,
        _ => y,
    }
}

fn maximum<F: Float>(x: F, y: F) -> F {
    -minimum(-x, -y)
}

/// Clamped to 0 and 1; what is not a number becomes 0.
fn saturated<F: Float>(x: F) -> F {
    let one = F::from_u128(1).value;
    if x.is_nan() || x.is_negative() {
        F::ZERO
    } else if x > one {
        one
    } else {
        x
    }
}

/// Numbers of moderate size, special ones among them.
fn half(random: &mut Random) -> u16 {
    const SPECIAL: [u16; 10] = [
        0, 0x8000, 1, 0x83FF, 0x0400, 0x3C00, 0xBC01, 0x7BFF, 0x7C00, 0x7E00,
    ];
    match random.u32() % 6 {
        0 => SPECIAL[random.u32() as usize % SPECIAL.len()],
        1 => random.u32() as u16,
        _ => narrowed::<Half>(random.f32() / 100.0, Round::NearestTiesToEven).to_bits() as u16,
    }
}

fn bfloat(random: &mut Random) -> u16 {
    const SPECIAL: [u16; 10] = [
        0, 0x8000, 1, 0x807F, 0x0080, 0x3F80, 0xBF81, 0x7F7F, 0x7F80, 0x7FC0,
    ];
    match random.u32() % 6 {
        0 => SPECIAL[random.u32() as usize % SPECIAL.len()],
        1 => random.u32() as u16,
        _ => (random.f32().to_bits() >> 16) as u16,
    }
}

const N: usize = 512;

#[test]
fn halves() {
    let mut random = Random(1301);
    let mut kernels = release("half");
    let [a, b, c] = [0; 3].map(|_: i32| random.many(N, half));
    let mut args = [
        Arg::buffer(&a),
        Arg::buffer(&b),
        Arg::buffer(&c),
        Arg::zeros::<u16>(8 * N),
    ];
    kernels.run("halves", Shape::line(1, N as u32), &mut args);
    let expected: Vec<u16> = (0..N)
        .flat_map(|i| {
            let (x, y, z): (Half, Half, Half) = (bits(a[i]), bits(b[i]), bits(c[i]));
            let chosen = if x > y {
                x
            } else if x == z {
                y
            } else {
                z
            };
            [
                (x + y).value,
                (x - y).value,
                (x * y).value,
                x.mul_add(y, z).value,
                saturated((x + y).value),
                -x,
                x.abs(),
                chosen,
            ]
            .map(class)
        })
        .collect();
    assert_same(
        &classes::<Half>(&args[3].values::<u16>()),
        &expected,
        "halves",
    );
}

#[test]
fn half_pairs() {
    let mut random = Random(1302);
    let mut kernels = release("half");
    let [a, b, c] = [0; 3].map(|_: i32| random.many(2 * N, half));
    let mut args = [
        Arg::buffer(&a),
        Arg::buffer(&b),
        Arg::buffer(&c),
        Arg::zeros::<u16>(12 * N),
        Arg::zeros::<u32>(N),
    ];
    kernels.run("half_pairs", Shape::line(1, N as u32), &mut args);
    let (mut pairs, mut flags) = (Vec::new(), Vec::new());
    for i in 0..N {
        let pair = |words: &[u16]| -> [Half; 2] { [bits(words[2 * i]), bits(words[2 * i + 1])] };
        let (x, y, z) = (pair(&a), pair(&b), pair(&c));
        let each = |f: &dyn Fn(usize) -> Half| [f(0), f(1)].map(class);
        pairs.extend(
            [
                each(&|k| (x[k] + y[k]).value),
                each(&|k| saturated((x[k] * y[k]).value)),
                each(&|k| x[k].mul_add(y[k], z[k]).value),
                each(&|k| {
                    if x[k] < y[k] {
                        Half::from_u128(1).value
                    } else {
                        Half::ZERO
                    }
                }),
                each(&|k| x[1 - k]),
                [y[1], z[0]].map(class),
            ]
            .concat(),
        );
        let equal = x.iter().all(|x| !x.is_nan());
        let greater = (0..2).all(|k| {
            x[k].partial_cmp(&y[k])
                .is_none_or(std::cmp::Ordering::is_gt)
        });
        flags.push(u32::from(equal) | u32::from(greater) << 1 | u32::from(x[0].is_nan()) << 2);
    }
    assert_same(&classes::<Half>(&args[3].values::<u16>()), &pairs, "pairs");
    assert_same(&args[4].values(), &flags, "flags");
}

#[test]
fn half_conversions() {
    let mut random = Random(1303);
    let mut kernels = release("half");
    let a = random.many(N, |random| {
        random.f32() * 10f32.powi((random.u32() % 9).cast_signed() - 5)
    });
    let n = random.many(N, |random| random.spread() as i32);
    let mut args = [
        Arg::buffer(&a),
        Arg::buffer(&n),
        Arg::zeros::<u16>(7 * N),
        Arg::zeros::<f32>(N),
    ];
    kernels.run("half_conversions", Shape::line(1, N as u32), &mut args);
    let (mut words, mut back) = (Vec::new(), Vec::new());
    for (i, (a, n)) in a.iter().zip(&n).enumerate() {
        let directions = [
            Round::NearestTiesToEven,
            Round::TowardZero,
            Round::TowardPositive,
            Round::TowardNegative,
        ];
        words.extend(directions.map(|round| narrowed::<Half>(*a, round).to_bits() as u16));
        words.push(Half::from_i128((*n).into()).value.to_bits() as u16);
        words.push(words[7 * i]);
        let wide = widened(bits::<Half>(*n as u16));
        words.push(wide as i32 as u16);
        back.push(if wide.is_nan() { f32::NAN } else { wide });
    }
    assert_same(&args[2].values(), &words, "halves");
    for (found, expected) in args[3].values::<f32>().iter().zip(&back) {
        assert!(
            found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan(),
            "{found} for {expected}"
        );
    }
}

#[test]
fn half_functions() {
    let mut random = Random(1304);
    let mut kernels = release("half-functions");
    let [a, b, c] = [0; 3].map(|_: i32| random.many(N, half));
    let mut args = [
        Arg::buffer(&a),
        Arg::buffer(&b),
        Arg::buffer(&c),
        Arg::zeros::<u16>(10 * N),
    ];
    kernels.run("half_functions", Shape::line(1, N as u32), &mut args);
    for (i, found) in args[3].values::<u16>().chunks(10).enumerate() {
        let (x, y, z): (Half, Half, Half) = (bits(a[i]), bits(b[i]), bits(c[i]));
        let both = |value: Half| {
            if x.is_nan() || y.is_nan() {
                Half::NAN
            } else {
                value
            }
        };
        let fused = x.mul_add(y, z).value;
        let exact = [
            minimum(x, y),
            maximum(x, y),
            both(minimum(x, y)),
            // A negative zero may stay or become positive.
            if fused.is_negative() && !fused.is_nan() {
                Half::ZERO
            } else {
                fused
            },
        ];
        for (k, exact) in exact.into_iter().enumerate() {
            let same = class(exact) == class(bits::<Half>(found[k]))
                || k == 3 && found[k] == 0x8000 && exact.is_zero();
            assert!(
                same,
                "{k} of {x}, {y}, {z}: found {:#x}, expected {exact}",
                found[k]
            );
        }
        assert_eq!(
            class(bits::<Half>(found[9])),
            class(x.round_to_integral(Round::NearestTiesToEven).value),
            "rint of {x}"
        );
        let (wide_x, wide_y) = (f64::from(widened(x)), f64::from(widened(y)));
        let approximate = [
            ("sqrt", wide_x.abs().sqrt(), 1),
            ("rcp", wide_x.recip(), 1),
            ("exp2", wide_y.exp2(), 1),
            ("log2", wide_x.abs().log2(), 1),
            ("tanh", wide_y.tanh(), 2),
        ];
        for (k, (name, exact, places)) in approximate.into_iter().enumerate() {
            let found: Half = bits(found[4 + k]);
            let nearest: Half = narrowed(exact as f32, Round::NearestTiesToEven);
            let error = (f64::from(widened(found)) - exact).abs();
            let distance = class(found).abs_diff(class(nearest));
            // Logarithms near 1 have an absolute bound.
            assert!(
                distance <= places || error < 5e-4 && k != 1 && k != 2,
                "{name} of {x} or {y}: found {found}, expected {nearest}"
            );
        }
    }
}

#[test]
fn bfloats() {
    let mut random = Random(1305);
    for name in ["bfloat", "bfloat-sm90"] {
        let mut kernels = release(name);
        let [a, b, c] = [0; 3].map(|_: i32| random.many(N, bfloat));
        let mut args = [
            Arg::buffer(&a),
            Arg::buffer(&b),
            Arg::buffer(&c),
            Arg::zeros::<u16>(7 * N),
        ];
        kernels.run("bfloats", Shape::line(1, N as u32), &mut args);
        let expected: Vec<u16> = (0..N)
            .flat_map(|i| {
                let (x, y, z): (BFloat, BFloat, BFloat) = (bits(a[i]), bits(b[i]), bits(c[i]));
                [
                    (x + y).value,
                    (x * y).value,
                    x.mul_add(y, z).value,
                    minimum(x, y),
                    if x.is_nan() || y.is_nan() {
                        BFloat::NAN
                    } else {
                        maximum(x, y)
                    },
                    -x,
                    if x < y { x } else { z },
                ]
                .map(class)
            })
            .collect();
        assert_same(
            &classes::<BFloat>(&args[3].values::<u16>()),
            &expected,
            name,
        );
    }
}

#[test]
fn bfloat_pairs() {
    let mut random = Random(1306);
    for name in ["bfloat", "bfloat-sm90"] {
        let mut kernels = release(name);
        let [a, b] = [0; 2].map(|_: i32| random.many(2 * N, bfloat));
        let mut args = [
            Arg::buffer(&a),
            Arg::buffer(&b),
            Arg::zeros::<u16>(8 * N),
            Arg::zeros::<f32>(2 * N),
        ];
        kernels.run("bfloat_pairs", Shape::line(1, N as u32), &mut args);
        let mut pairs = Vec::new();
        for i in 0..N {
            let pair =
                |words: &[u16]| -> [BFloat; 2] { [bits(words[2 * i]), bits(words[2 * i + 1])] };
            let (x, y) = (pair(&a), pair(&b));
            let scaled = [widened(x[0]) * 3.0, widened(y[1]) / 3.0]
                .map(|wide| narrowed::<BFloat>(wide, Round::NearestTiesToEven));
            pairs.extend([0, 1].map(|k| class((x[k] + y[k]).value)));
            pairs.extend([0, 1].map(|k| class((x[k] * y[k]).value)));
            pairs.extend([0, 1].map(|k| class(maximum(x[k], y[k]))));
            pairs.extend(scaled.map(class));
        }
        assert_same(&classes::<BFloat>(&args[2].values::<u16>()), &pairs, name);
        // A brain float is the upper half of a float.
        for (found, word) in args[3].values::<f32>().iter().zip(&a) {
            let expected = f32::from_bits(u32::from(*word) << 16);
            assert!(
                found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan(),
                "{found} for {expected}"
            );
        }
    }
}

/// A float of eight bits: the nearest one, or the greatest in place of what lies beyond.
fn eight_bits<F: Float>(x: f32, greatest: u8) -> u8
where
    Single: FloatConvert<F>,
{
    let narrow: F = narrowed(x, Round::NearestTiesToEven);
    if x.is_nan() {
        0x7F
    } else if narrow.is_finite() {
        narrow.to_bits() as u8
    } else {
        greatest | u8::from(x.is_sign_negative()) << 7
    }
}

#[test]
fn floats_of_eight_bits() {
    let mut random = Random(1307);
    let mut kernels = release("fp8");
    let a = random.many(2 * N, |random| match random.u32() % 4 {
        0 => random.any_f32(),
        _ => random.f32() * 2f32.powi((random.u32() % 26).cast_signed() - 18),
    });
    let mut args = [
        Arg::buffer(&a),
        Arg::zeros::<u8>(2 * N),
        Arg::zeros::<u8>(2 * N),
        Arg::zeros::<u16>(4 * N),
    ];
    kernels.run("fp8", Shape::line(1, N as u32), &mut args);
    let narrow: Vec<u8> = a
        .iter()
        .map(|x| eight_bits::<Float8E4M3FN>(*x, 0x7E))
        .collect();
    let wide: Vec<u8> = a
        .iter()
        .map(|x| eight_bits::<Float8E5M2>(*x, 0x7B))
        .collect();
    assert_same(&args[1].values(), &narrow, "e4m3");
    assert_same(&args[2].values(), &wide, "e5m2");
    let half = |narrow: Half| class(narrow);
    let back: Vec<u16> = narrow
        .chunks(2)
        .zip(wide.chunks(2))
        .flat_map(|(narrow, wide)| {
            let narrow = [0, 1].map(|k| {
                half(
                    Float8E4M3FN::from_bits(narrow[k].into())
                        .convert(&mut false)
                        .value,
                )
            });
            let wide = [0, 1].map(|k| {
                half(
                    Float8E5M2::from_bits(wide[k].into())
                        .convert(&mut false)
                        .value,
                )
            });
            [narrow, wide].concat()
        })
        .collect();
    assert_same(&classes::<Half>(&args[3].values::<u16>()), &back, "halves");
}
