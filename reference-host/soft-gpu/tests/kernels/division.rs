//! `div64.cu`: division in all widths, and conversions between most types.

use crate::device::{Arg, Random, Shape, assert_same, builds};

/// Numbers of all magnitudes.
fn spread(random: &mut Random) -> i64 {
    random.u64().cast_signed() >> (random.u32() % 64)
}

#[test]
fn div64() {
    let mut random = Random(12);
    for mut kernels in builds("div64") {
        for (blocks, threads) in [(1, 1), (1, 32), (2, 77), (1, 256)] {
            let shape = Shape::line(blocks, threads);
            let count = threads as usize;
            let a = random.many(count, spread);
            // Division by zero and the one overflow are undefined in CUDA.
            let b = random.many(count, |random| match spread(random) {
                0 | -1 => 3,
                divisor => divisor,
            });
            let mut args = [
                Arg::buffer(&a),
                Arg::buffer(&b),
                Arg::buffer(&vec![0i64; count]),
                Arg::buffer(&vec![0u64; count]),
            ];
            kernels.run("div64", shape, &mut args);
            let pairs = || a.iter().copied().zip(b.iter().copied());
            let quotients: Vec<i64> = pairs().map(|(a, b)| a / b).collect();
            let rests: Vec<u64> = pairs()
                .map(|(a, b)| a.cast_unsigned() % b.cast_unsigned())
                .collect();
            assert_same(&args[2].values(), &quotients, (&kernels.file, shape));
            assert_same(&args[3].values(), &rests, (&kernels.file, shape));
        }
    }
}

/// All that `f` of one thread of `div32` may become: the approximate quotient has an error of up to 2 ulp.
fn possible_f(f: f32, a: i32, b: i32, new_d: f64) -> Vec<f32> {
    let quotient = f / b as f32;
    let third = (quotient / 3.0).to_bits().cast_signed();
    let wide = i64::from(a).cast_unsigned() as f32;
    let approximations =
        (-2..=2).map(|ulp| f32::from_bits(third.wrapping_add(ulp).cast_unsigned()));
    approximations
        .map(|third| quotient + (wide + third + new_d as f32))
        .collect()
}

/// What `q` of one thread becomes, given what `f` and `d` became.
fn new_q(a: i32, b: i32, f: f32, d: f64) -> i32 {
    let unsigned = (a.cast_unsigned() / b.cast_unsigned()).cast_signed();
    [
        a / b,
        a % 7,
        unsigned,
        f as i32,
        f.round_ties_even() as i32,
        i32::from(a as i16),
        i32::from(b as i8),
        f.floor() as i32,
        d as i32,
        (f as u32).cast_signed(),
    ]
    .into_iter()
    .fold(0, i32::wrapping_add)
}

#[test]
fn div32() {
    let mut random = Random(13);
    for mut kernels in builds("div64") {
        for threads in [1, 31, 32, 100, 256] {
            let shape = Shape::line(1, threads);
            let count = threads as usize;
            let a = random.many(count, |random| match (spread(random) >> 32) as i32 {
                0 => 11,
                other => other,
            });
            let b = random.many(count, |random| match (spread(random) >> 32) as i32 {
                0 | -1 => 5,
                other => other,
            });
            let f = random.many(count, Random::f32);
            let d = random.many(count, |random| random.f64().abs() * 1e4);
            let mut args = [
                Arg::buffer(&a),
                Arg::buffer(&b),
                Arg::buffer(&vec![0i32; count]),
                Arg::buffer(&f),
                Arg::buffer(&d),
            ];
            kernels.run("div32", shape, &mut args);
            let q_found: Vec<i32> = args[2].values();
            let f_found: Vec<f32> = args[3].values();
            let d_found: Vec<f64> = args[4].values();
            for i in 0..count {
                let what = format!("{} {shape:?} thread {i}", kernels.file);
                let new_d = d[i] / f64::from(a[i]) + d[i].sqrt() + d[i] as i64 as f64;
                assert_eq!(d_found[i].to_bits(), new_d.to_bits(), "{what}: d");
                let possible = possible_f(f[i], a[i], b[i], new_d);
                assert!(
                    possible.contains(&f_found[i]),
                    "{what}: f is {}, not of {possible:?}",
                    f_found[i]
                );
                assert_eq!(
                    q_found[i],
                    new_q(a[i], b[i], f_found[i], new_d),
                    "{what}: q"
                );
            }
        }
    }
}
