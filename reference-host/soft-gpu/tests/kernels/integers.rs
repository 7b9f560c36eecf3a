//! Integers: wide ones and their carries, small ones, bit fields of structs.

use crate::device::{Arg, Random, Shape, assert_same, builds, release};

fn wide(random: &mut Random) -> u128 {
    (u128::from(random.u64()) << 64 | u128::from(random.u64())) >> (random.u32() % 128)
}

#[test]
fn wide_integers() {
    let mut random = Random(101);
    for mut kernels in builds("wide-integers") {
        for threads in [1, 64, 200] {
            let shape = Shape::line(1, threads);
            let a = random.many(threads as usize, wide);
            let b = random.many(threads as usize, wide);
            let mut args = [
                Arg::buffer(&a),
                Arg::buffer(&b),
                Arg::zeros::<u128>(6 * a.len()),
            ];
            kernels.run("wide_integers", shape, &mut args);
            let expected: Vec<u128> = a
                .iter()
                .zip(&b)
                .flat_map(|(a, b)| {
                    let shift = *b as u32 & 127;
                    [
                        a.wrapping_add(*b),
                        a.wrapping_sub(*b),
                        a.wrapping_mul(*b),
                        a << shift,
                        (a.cast_signed() >> shift).cast_unsigned(),
                        u128::from(a < b) + 2 * u128::from(a.cast_signed() < b.cast_signed()),
                    ]
                })
                .collect();
            assert_same(&args[2].values(), &expected, (&kernels.file, shape));
        }
    }
}

#[test]
fn high_halves() {
    let mut random = Random(102);
    for mut kernels in builds("wide-integers") {
        let shape = Shape::line(1, 100);
        let a = random.many(100, Random::spread);
        let b = random.many(100, Random::spread);
        let mut args = [Arg::buffer(&a), Arg::buffer(&b), Arg::zeros::<i64>(400)];
        kernels.run("high_halves", shape, &mut args);
        let expected: Vec<i64> = a
            .iter()
            .zip(&b)
            .flat_map(|(&a, &b)| {
                let (low_a, low_b) = (a as i32, b as i32);
                let unsigned = u128::from(a.cast_unsigned()) * u128::from(b.cast_unsigned());
                [
                    ((i128::from(a) * i128::from(b)) >> 64) as i64,
                    (unsigned >> 64) as i64,
                    (i64::from(low_a) * i64::from(low_b)) >> 32,
                    ((u64::from(low_a.cast_unsigned()) * u64::from(low_b.cast_unsigned())) >> 32)
                        as i64,
                ]
            })
            .collect();
        assert_same(&args[2].values(), &expected, &kernels.file);
    }
}

/// A product by the method of school, in limbs of 64 bits: another size than the kernel's.
fn schoolbook(a: &[u32], b: &[u32]) -> Vec<u32> {
    let pairs = |limbs: &[u32]| -> Vec<u64> {
        limbs
            .chunks(2)
            .map(|pair| u64::from(pair[1]) << 32 | u64::from(pair[0]))
            .collect()
    };
    let (a, b) = (pairs(a), pairs(b));
    let mut product = vec![0u64; a.len() + b.len()];
    for (i, a) in a.iter().enumerate() {
        let mut carry = 0;
        for (j, b) in b.iter().enumerate() {
            let sum = u128::from(*a) * u128::from(*b) + u128::from(product[i + j]) + carry;
            product[i + j] = sum as u64;
            carry = sum >> 64;
        }
        product[i + b.len()] = carry as u64;
    }
    product
        .iter()
        .flat_map(|limb| [*limb as u32, (limb >> 32) as u32])
        .collect()
}

#[test]
fn big_multiply() {
    let mut random = Random(103);
    let mut kernels = release("big-multiply");
    let shape = Shape::line(1, 70);
    // Limbs of all ones and of zeros make the longest carries.
    let limb = |random: &mut Random| match random.u32() % 4 {
        0 => u32::MAX,
        1 => 0,
        _ => random.u32(),
    };
    let a = random.many(70 * 8, limb);
    let b = random.many(70 * 8, limb);
    let mut args = [Arg::buffer(&a), Arg::buffer(&b), Arg::zeros::<u32>(70 * 16)];
    kernels.run("big_multiply", shape, &mut args);
    let expected: Vec<u32> = a
        .chunks(8)
        .zip(b.chunks(8))
        .flat_map(|(a, b)| schoolbook(a, b))
        .collect();
    assert_same(&args[2].values(), &expected, &kernels.file);
}

#[test]
fn carries() {
    let mut random = Random(104);
    let mut kernels = release("big-multiply");
    let shape = Shape::line(1, 96);
    let a = random.many(96, wide);
    // Neighbours and complements of `a` make carries through all words.
    let b: Vec<u128> = a
        .iter()
        .map(|a| match random.u32() % 3 {
            0 => !a,
            1 => a.wrapping_add(1),
            _ => wide(&mut random),
        })
        .collect();
    let mut args = [
        Arg::buffer(&a),
        Arg::buffer(&b),
        Arg::zeros::<u128>(96),
        Arg::zeros::<u128>(96),
    ];
    kernels.run("carries", shape, &mut args);
    let pairs = || a.iter().zip(&b);
    let sums: Vec<u128> = pairs().map(|(a, b)| a.wrapping_add(*b)).collect();
    let differences: Vec<u128> = pairs().map(|(a, b)| a.wrapping_sub(*b)).collect();
    assert_same(&args[2].values(), &sums, "sums");
    assert_same(&args[3].values(), &differences, "differences");
}

#[test]
fn small_integers() {
    let mut random = Random(105);
    for mut kernels in builds("small-integers") {
        let shape = Shape::line(1, 128);
        let a = random.many(128, |random| random.u32() as i8);
        let b = random.many(128, |random| random.u32() as i16);
        let c = random.many(128, |random| random.u32() as u8);
        let mut args = [
            Arg::buffer(&a),
            Arg::buffer(&b),
            Arg::buffer(&c),
            Arg::zeros::<i16>(7 * 128),
            Arg::zeros::<i8>(2 * 128),
        ];
        kernels.run("small_integers", shape, &mut args);
        let mut shorts: Vec<i16> = Vec::new();
        let mut bytes: Vec<i8> = Vec::new();
        for ((&x, &y), &z) in a.iter().zip(&b).zip(&c) {
            let (wide_x, wide_y, wide_z) = (i32::from(x), i32::from(y), i32::from(z));
            shorts.extend([
                (wide_x * wide_y) as i16,
                (wide_y / (wide_z | 1)) as i16,
                (wide_y % (wide_x | 1)) as i16,
                y >> (z & 15),
                (y.cast_unsigned() >> (z & 15)).cast_signed(),
                y.min(i16::from(x)),
                y.cast_unsigned().max(u16::from(z)).cast_signed(),
            ]);
            bytes.extend([(wide_x + wide_z) as i8, (wide_y << 3) as i8]);
        }
        assert_same(&args[3].values(), &shorts, &kernels.file);
        assert_same(&args[4].values(), &bytes, &kernels.file);
    }
}

#[test]
fn fields() {
    let mut random = Random(106);
    for mut kernels in builds("small-integers") {
        let all = random.many(64, Random::u32);
        let add = random.many(64, Random::i32);
        let mut args = [Arg::buffer(&all), Arg::buffer(&add)];
        kernels.run("fields", Shape::line(1, 64), &mut args);
        let expected: Vec<u32> = all
            .iter()
            .zip(&add)
            .map(|(word, add)| {
                let low = (word & 31).wrapping_add(add.cast_unsigned()) & 31;
                let middle = (word >> 5 & 0x1FFF).wrapping_sub(add.cast_unsigned()) & 0x1FFF;
                // The signed field widens with its sign before it meets the 14 bits of the last one.
                let signed = (middle << 19).cast_signed() >> 19;
                let high = (word >> 18 ^ signed.cast_unsigned()) & 0x3FFF;
                low | middle << 5 | high << 18
            })
            .collect();
        assert_same(&args[0].values(), &expected, &kernels.file);
    }
}

fn per_byte(x: u32, y: u32, f: impl Fn(u8, u8) -> u8) -> u32 {
    let (x, y) = (x.to_le_bytes(), y.to_le_bytes());
    u32::from_le_bytes([0, 1, 2, 3].map(|k| f(x[k], y[k])))
}

fn per_half(x: u32, y: u32, f: impl Fn(u16, u16) -> u16) -> u32 {
    let halves = |word: u32| [word as u16, (word >> 16) as u16];
    let (x, y) = (halves(x), halves(y));
    u32::from(f(x[0], y[0])) | u32::from(f(x[1], y[1])) << 16
}

#[test]
fn packed_bytes() {
    let mut random = Random(107);
    for name in ["packed-bytes", "packed-bytes.nvrtc"] {
        let mut kernels = release(name);
        let a = random.many(256, Random::u32);
        let b = random.many(256, |random| random.u32() >> (random.u32() % 20));
        let mut args = [
            Arg::buffer(&a),
            Arg::buffer(&b),
            Arg::zeros::<u32>(12 * 256),
        ];
        kernels.run("packed_bytes", Shape::line(1, 256), &mut args);
        let expected: Vec<u32> = a
            .iter()
            .zip(&b)
            .flat_map(|(&x, &y)| {
                let bytes = per_byte(x, y, u8::abs_diff);
                let halves = per_half(x, y, u16::abs_diff);
                let signed = |f: fn(i16, i16) -> i16| {
                    per_half(x, y, |x, y| {
                        f(x.cast_signed(), y.cast_signed()).cast_unsigned()
                    })
                };
                [
                    bytes,
                    halves,
                    bytes.to_le_bytes().into_iter().map(u32::from).sum(),
                    (halves & 0xFFFF) + (halves >> 16),
                    per_byte(x, y, u8::wrapping_add),
                    signed(i16::saturating_sub),
                    per_byte(x, y, |x, y| u16::midpoint(u16::from(x) + 1, y.into()) as u8),
                    per_byte(x, y, |x, y| if x > y { 255 } else { 0 }),
                    signed(i16::max),
                    per_byte(x, y, u8::min),
                    signed(|x, _| x.wrapping_neg()),
                    per_byte(x, y, u8::saturating_add),
                ]
            })
            .collect();
        assert_same(&args[2].values(), &expected, &kernels.file);
    }
}
