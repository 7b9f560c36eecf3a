//! Packed and partial words: `dot-products.cu` and `bit-fields.cu`.

use crate::device::{Arg, Random, Shape, assert_same, release};

fn bytes(word: u32) -> [u8; 4] {
    word.to_le_bytes()
}

/// The low 24 bits with their sign.
fn signed24(word: u32) -> i64 {
    i64::from((word << 8).cast_signed() >> 8)
}

fn unsigned24(word: u32) -> u64 {
    u64::from(word & 0xFF_FFFF)
}

#[test]
fn dot_products() {
    let mut random = Random(1101);
    let mut kernels = release("dot-products");
    let [a, b, c] = [0; 3].map(|_: i32| random.many(128, |random| random.spread() as u32));
    let mut args = [
        Arg::buffer(&a),
        Arg::buffer(&b),
        Arg::buffer(&c),
        Arg::zeros::<u32>(14 * 128),
    ];
    kernels.run("dot_products", Shape::line(1, 128), &mut args);
    let mut expected: Vec<u32> = Vec::new();
    for ((&x, &y), &z) in a.iter().zip(&b).zip(&c) {
        let signed = |byte: u8| i64::from(byte.cast_signed());
        let unsigned = |byte: u8| i64::from(byte);
        let halves = [x as u16, (x >> 16) as u16];
        let dot4 = |first: fn(u8) -> i64, second: fn(u8) -> i64| -> i64 {
            bytes(x)
                .into_iter()
                .zip(bytes(y))
                .map(|(x, y)| first(x) * second(y))
                .sum()
        };
        let dot2 = |high: usize, with_sign: bool| -> i64 {
            (0..2)
                .map(|k| {
                    let byte = bytes(y)[high + k];
                    if with_sign {
                        i64::from(halves[k].cast_signed()) * signed(byte)
                    } else {
                        i64::from(halves[k]) * unsigned(byte)
                    }
                })
                .sum()
        };
        let plus_z = |sum: i64| (sum as u32).wrapping_add(z);
        expected.extend([
            plus_z(dot4(signed, signed)),
            plus_z(dot4(unsigned, unsigned)),
            plus_z(dot2(0, true)),
            plus_z(dot2(0, false)),
            plus_z(dot2(2, true)),
            plus_z(dot2(2, false)),
            (signed24(x) * signed24(y)) as u32,
            (unsigned24(x) * unsigned24(y)) as u32,
            x.cast_signed().abs_diff(y.cast_signed()).wrapping_add(z),
            x.abs_diff(y).wrapping_add(z),
            plus_z(dot4(signed, unsigned)),
            ((signed24(x) * signed24(y)) >> 16) as u32,
            ((unsigned24(x) * unsigned24(y)) as u32).wrapping_add(z),
            x.cast_signed().abs_diff(y.cast_signed()).wrapping_add(z),
        ]);
    }
    assert_same(&args[3].values(), &expected, &kernels.file);
}

/// `len` bits of `x` from bit `pos` on, by way of a list of bits; bits past the top are the sign or zero.
fn field(x: u32, pos: u32, len: u32, signed: bool) -> u32 {
    let bit = |at: u32| {
        if at > 31 {
            u32::from(signed) & (x >> 31)
        } else {
            x >> at & 1
        }
    };
    let top = if signed && len > 0 {
        bit((pos + len - 1).min(31))
    } else {
        0
    };
    (0..32).fold(0, |field, k| {
        field | (if k < len { bit(pos + k) } else { top }) << k
    })
}

#[test]
fn bit_fields() {
    let mut random = Random(1102);
    let mut kernels = release("bit-fields");
    let a = random.many(256, |random| random.spread() as u32);
    let b = random.many(256, |random| random.spread() as u32);
    let mut args = [
        Arg::buffer(&a),
        Arg::buffer(&b),
        Arg::zeros::<u32>(18 * 256),
    ];
    kernels.run("bit_fields", Shape::line(1, 256), &mut args);
    let mut expected: Vec<u32> = Vec::new();
    for (&x, &y) in a.iter().zip(&b) {
        let wide = u64::from(x) << 32 | u64::from(y);
        let first = |x: u64| if x == 0 { 0 } else { x.trailing_zeros() + 1 };
        let pool = [bytes(x), bytes(y)].concat();
        let selector = y ^ x >> 3;
        let permuted =
            u32::from_le_bytes([0, 4, 8, 12].map(|at| pool[(selector >> at & 7) as usize]));
        // The pair of words with `y` above `x`.
        let pair = u64::from(y) << 32 | u64::from(x);
        let clamped = (y & 63).min(32);
        let (pos, len) = (y & 31, y >> 8 & 31);
        let inserted = (0..len).filter(|k| pos + k < 32).fold(y, |word, k| {
            word & !(1 << (pos + k)) | (x >> k & 1) << (pos + k)
        });
        let significant = if x.cast_signed() < 0 { !x } else { x };
        expected.extend([
            x.count_ones() + 100 * wide.count_ones(),
            x.leading_zeros() + 100 * wide.leading_zeros(),
            first(x.into()) + 100 * first(wide),
            x.reverse_bits(),
            (wide.reverse_bits() >> 16) as u32,
            permuted,
            ((pair << (x & 31)) >> 32) as u32,
            (pair >> (x & 31)) as u32,
            ((u128::from(pair) << clamped) >> 32) as u32,
            (u128::from(pair) >> clamped) as u32,
            field(x, pos, len, false),
            field(x, pos, len, true),
            inserted,
            x.checked_ilog2().unwrap_or(u32::MAX),
            significant.checked_ilog2().map_or(u32::MAX, |bit| 31 - bit),
            u32::from(x & y & 1 == 0),
            x & y | y & x.wrapping_mul(5) | x & x.wrapping_mul(5),
            x & y | !x & x.wrapping_mul(3),
        ]);
    }
    assert_same(&args[2].values(), &expected, &kernels.file);
}

#[test]
fn bit_masks() {
    let mut random = Random(1103);
    let mut kernels = release("bit-fields");
    let a = random.many(256, Random::u32);
    let b = random.many(256, Random::u32);
    let mut args = [Arg::buffer(&a), Arg::buffer(&b), Arg::zeros::<u32>(5 * 256)];
    kernels.run("bit_masks", Shape::line(1, 256), &mut args);
    let mut expected: Vec<u32> = Vec::new();
    for (&x, &y) in a.iter().zip(&b) {
        let (base, offset) = (y & 31, (y >> 5 & 15).cast_signed() - 7);
        let set = |bit: &u32| x >> bit & 1 == 1;
        let nth = match offset {
            0 => Some(base).filter(set),
            1.. => (base..32).filter(set).nth(offset as usize - 1),
            _ => (0..=base).rev().filter(set).nth(-offset as usize - 1),
        };
        let ones = |from: u32, count: u32| {
            (from..(from + count).min(32)).fold(0, |mask, bit| mask | 1 << bit)
        };
        let (from, count) = (y & 63, y >> 8 & 63);
        let extended = match from.min(32) {
            0 => 0,
            n => ((x << (32 - n)).cast_signed() >> (32 - n)).cast_unsigned(),
        };
        expected.extend([
            nth.unwrap_or(u32::MAX),
            ones(from.min(32), count.min(32)),
            ones(from & 31, count & 31),
            extended,
            x & ones(0, from & 31),
        ]);
    }
    assert_same(&args[2].values(), &expected, &kernels.file);
}
