//! `sha.cu`: the SHA-256 compression function, and a sum of bit tricks.
//!
//! nvcc cannot inline `__dp4a` without optimising: the debug build leaves that term out (`-DNODP`).

use crate::device::{Arg, Kernels, Random, Shape, assert_same, builds};

const INITIAL: [u32; 8] = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];

/// The first 32 bits of the fractions of the cube roots of the first 64 primes (FIPS 180-4, 4.2.2).
fn round_constants() -> Vec<u32> {
    let is_prime = |n: &u128| {
        (2..*n)
            .take_while(|d| d * d <= *n)
            .all(|d| !n.is_multiple_of(d))
    };
    (2u128..)
        .filter(is_prime)
        .take(64)
        .map(|prime| {
            let cube = prime << 96;
            let root = (0..36).rev().fold(0u128, |root, bit| {
                let next = root | 1 << bit;
                if next * next * next <= cube {
                    next
                } else {
                    root
                }
            });
            root as u32
        })
        .collect()
}

/// The state after the 64 rounds, before the initial state is added. `message` is in the byte order of memory.
fn compress(message: &[u32], k: &[u32]) -> [u32; 8] {
    let mut w: Vec<u32> = message.iter().map(|word| word.swap_bytes()).collect();
    for t in 16..64 {
        let (x, y) = (w[t - 15], w[t - 2]);
        let s0 = x.rotate_right(7) ^ x.rotate_right(18) ^ (x >> 3);
        let s1 = y.rotate_right(17) ^ y.rotate_right(19) ^ (y >> 10);
        w.push(
            w[t - 16]
                .wrapping_add(s0)
                .wrapping_add(w[t - 7])
                .wrapping_add(s1),
        );
    }
    let mut state = INITIAL;
    for t in 0..64 {
        let [a, b, c, d, e, f, g, h] = state;
        let t1 = h
            .wrapping_add(e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25))
            .wrapping_add((e & f) ^ (!e & g))
            .wrapping_add(k[t])
            .wrapping_add(w[t]);
        let t2 = (a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22))
            .wrapping_add((a & b) ^ (a & c) ^ (b & c));
        state = [t1.wrapping_add(t2), a, b, c, d.wrapping_add(t1), e, f, g];
    }
    state
}

#[test]
fn sha256c() {
    for kernels in builds("sha") {
        compress_random_blocks(kernels);
    }
}

fn compress_random_blocks(mut kernels: Kernels) {
    let mut random = Random(10);
    let k = round_constants();
    kernels.set("K", &k);
    for (blocks, threads) in [(1, 1), (1, 32), (3, 50), (2, 64)] {
        let shape = Shape::line(blocks, threads);
        let messages = random.many(shape.threads() * 16, Random::u32);
        let mut args = [
            Arg::buffer(&messages),
            Arg::buffer(&vec![0u32; shape.threads() * 8]),
        ];
        kernels.run("sha256c", shape, &mut args);
        let expected: Vec<u32> = messages
            .chunks_exact(16)
            .flat_map(|message| compress(message, &k))
            .collect();
        assert_same(&args[1].values(), &expected, (&kernels.file, shape));
    }
}

#[test]
fn sha256c_of_abc_is_the_published_digest() {
    builds("sha").into_iter().for_each(compress_abc);
}

fn compress_abc(mut kernels: Kernels) {
    kernels.set("K", &round_constants());
    let mut block = [0u8; 64];
    block[..4].copy_from_slice(b"abc\x80");
    block[63] = 24;
    let mut args = [Arg::buffer(&block), Arg::buffer(&[0u32; 8])];
    kernels.run("sha256c", Shape::line(1, 1), &mut args);
    let state: Vec<u32> = args[1].values();
    let digest: Vec<u32> = state
        .iter()
        .zip(INITIAL)
        .map(|(word, initial)| word.wrapping_add(initial))
        .collect();
    let published = [
        0xba78_16bf,
        0x8f01_cfea,
        0x4141_40de,
        0x5dae_2223,
        0xb003_61a3,
        0x9617_7a9c,
        0xb410_ff61,
        0xf200_15ad,
    ];
    assert_same(&digest, &published, &kernels.file);
}

/// What `bits` stores for one thread.
fn bit_tricks(v: u32, i: u32, with_dot: bool) -> u32 {
    let bytes = |word: u32| word.to_le_bytes();
    let dot: i32 = bytes(v)
        .iter()
        .zip(bytes(i))
        .map(|(a, b)| i32::from(*a as i8) * i32::from(b as i8))
        .sum();
    let mut sums = [0; 4];
    for (sum, (a, b)) in sums.iter_mut().zip(bytes(v).into_iter().zip(bytes(i))) {
        *sum = a.wrapping_add(b);
    }
    let wide = u128::from((u64::from(v) << 31) | 7) * 0x1234_5678_9abc;
    let both = (u64::from(v.wrapping_add(1)) << 32) | u64::from(v);
    let terms = [
        v.count_ones(),
        v.leading_zeros(),
        if v == 0 { 0 } else { v.trailing_zeros() + 1 },
        v.reverse_bits(),
        ((u64::from(v) * 0x9e37_79b9) >> 32) as u32,
        ((both << (i & 31)) >> 32) as u32,
        v.cast_signed().abs_diff(i.cast_signed()).wrapping_add(3),
        (u64::from(v) << 7).count_ones(),
        u64::from(v).leading_zeros(),
        u64::from(v).reverse_bits() as u32,
        (v & 0xff_ffff).wrapping_mul(i & 0xff_ffff),
        ((i64::from(v.cast_signed()) * 77) >> 32) as u32,
        (wide >> 64) as u32,
        u32::from_le_bytes(sums),
        if with_dot {
            dot.wrapping_add(3).cast_unsigned()
        } else {
            0
        },
    ];
    terms.into_iter().fold(0, u32::wrapping_add)
}

#[test]
fn bits() {
    builds("sha").into_iter().for_each(sum_bit_tricks);
}

fn sum_bit_tricks(mut kernels: Kernels) {
    let mut random = Random(11);
    for (blocks, threads) in [(1, 1), (1, 32), (2, 100), (1, 512)] {
        let shape = Shape::line(blocks, threads);
        let mut data = random.many(threads as usize, |random| {
            random.u32() >> (random.u32() % 32)
        });
        data[0] = 0;
        let mut args = [Arg::buffer(&data), Arg::buffer(&vec![0u32; data.len()])];
        kernels.run("bits", shape, &mut args);
        let expected: Vec<u32> = data
            .iter()
            .zip(0..)
            .map(|(v, i)| bit_tricks(*v, i, !kernels.debug))
            .collect();
        assert_same(&args[1].values(), &expected, (&kernels.file, shape));
    }
}
