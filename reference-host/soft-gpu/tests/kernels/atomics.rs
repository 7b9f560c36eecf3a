//! Atomic operations of all kinds: `atomics.cu`, `atomic-floats.cu`, `cas-loops.cu`, `atomic-scopes.cu`, `atomic-ref.cu`.
//!
//! Only what no order of the threads changes is compared.

use std::collections::BTreeSet;

use crate::device::{Arg, Random, Shape, assert_same, bits32, release};

#[test]
fn atomics() {
    let mut random = Random(1401);
    let mut kernels = release("atomics");
    for (blocks, threads) in [(1, 1), (2, 50), (3, 256)] {
        let shape = Shape::line(blocks, threads);
        let values = random.many(shape.threads(), |random| random.spread() as i32);
        let u = [5u32, u32::MAX, 7, u32::MAX, 0, 0xF00F, 3, 40];
        let w = [9u64, u64::MAX, 1 << 63, u64::MAX, 0, 77];
        let mut args = [
            Arg::buffer(&values),
            Arg::buffer(&[1, 2, i32::MAX, i32::MIN]),
            Arg::buffer(&u),
            Arg::buffer(&w),
            Arg::zeros::<u32>(2 * values.len()),
        ];
        kernels.run("atomics", shape, &mut args);
        let sum = values
            .iter()
            .fold(0i32, |sum, value| sum.wrapping_add(*value));
        let least = *values.iter().min().expect("a thread");
        let greatest = *values.iter().max().expect("a thread");
        assert_same(
            &args[1].values(),
            &[sum.wrapping_add(1), 2i32.wrapping_sub(sum), least, greatest],
            shape,
        );

        let x: Vec<u32> = values.iter().map(|value| value.cast_unsigned()).collect();
        // One thread after the other: any order gives the same set of old values.
        let (mut up, mut down) = (u[6], u[7]);
        let (mut olds_up, mut olds_down) = (Vec::new(), Vec::new());
        for _ in &x {
            olds_up.push(up);
            olds_down.push(down);
            up = if up >= 49 { 0 } else { up + 1 };
            down = if down == 0 || down > 30 { 30 } else { down - 1 };
        }
        let expected = [
            x.iter().fold(u[0], |sum, x| sum.wrapping_add(*x)),
            x.iter().fold(u[1], |least, x| least.min(*x)),
            x.iter().fold(u[2], |greatest, x| greatest.max(*x)),
            x.iter().fold(u[3], |bits, x| bits & (x | 0xFF)),
            x.iter().fold(u[4], |bits, x| bits | x & 0xF0F0),
            x.iter().fold(u[5], |bits, x| bits ^ x),
            up,
            down,
        ];
        assert_same(&args[2].values(), &expected, shape);
        let old: Vec<u32> = args[4].values();
        for (at, mut expected) in [olds_up, olds_down].into_iter().enumerate() {
            let mut found: Vec<u32> = old.iter().copied().skip(at).step_by(2).collect();
            found.sort_unstable();
            expected.sort_unstable();
            assert_same(&found, &expected, (shape, at));
        }

        let wide = || x.iter().map(|x| u64::from(*x) << 20);
        let signed = |wide: u64| wide.cast_signed() - (1 << 50);
        let expected = [
            wide().fold(w[0], u64::wrapping_add),
            wide().fold(w[1], u64::min),
            wide().map(signed).fold(i64::MIN, i64::max).cast_unsigned(),
            (0..x.len()).fold(w[3], |bits, i| bits & !(1 << (i & 63))),
            x.iter().fold(w[4], |bits, x| bits | 1 << (x & 63)),
            wide().fold(w[5], |bits, wide| bits ^ wide),
        ];
        assert_same(&args[3].values(), &expected, shape);
    }
}

#[test]
fn slots() {
    let mut random = Random(1402);
    let mut kernels = release("atomics");
    let shape = Shape::line(2, 96);
    let keys = random.many(192, |random| random.u32() % 120 + 1);
    let mut args = [
        Arg::buffer(&keys),
        Arg::zeros::<u32>(256),
        Arg::value(255u32),
        Arg::zeros::<u32>(1),
        Arg::zeros::<u32>(192),
    ];
    kernels.run("slots", shape, &mut args);
    let table: Vec<u32> = args[1].values();
    let found: Vec<u32> = table.iter().copied().filter(|key| *key != 0).collect();
    let distinct: BTreeSet<u32> = keys.iter().copied().collect();
    assert_eq!(found.len(), distinct.len(), "no key twice");
    assert_eq!(found.iter().copied().collect::<BTreeSet<_>>(), distinct);
    for key in distinct {
        let start = (key.wrapping_mul(2_654_435_761) >> 16) & 255;
        let probes = (0..256).map(|step| table[(start + step) as usize & 255]);
        assert!(
            probes.take_while(|slot| *slot != 0).any(|slot| slot == key),
            "key {key}"
        );
    }
    // Exchanges make one chain through all threads.
    let (mut at, next) = (args[3].values::<u32>()[0], args[4].values::<u32>());
    let mut seen = BTreeSet::new();
    while at != 0 {
        assert!(seen.insert(at), "thread {at} twice");
        at = next[at as usize - 1];
    }
    assert_eq!(seen.len(), 192);
}

/// The float that a half is, for whole numbers of moderate size.
fn half(word: u16) -> f32 {
    match word & 0x7FFF {
        0 => 0.0,
        _ => {
            let magnitude = ((u32::from(word) & 0x7FFF) << 13) + (112 << 23);
            f32::from_bits((u32::from(word) & 0x8000) << 16 | magnitude)
        }
    }
}

#[test]
fn sums_of_floats() {
    let mut random = Random(1403);
    let mut kernels = release("atomic-floats");
    let shape = Shape::line(2, 64);
    // Small whole numbers, whose sums are exact in all formats and orders.
    let a = random.many(128, |random| (random.u32() % 5) as f32 - 1.0);
    let mut args = [
        Arg::buffer(&a),
        Arg::buffer(&[0.5f32, 1.0, 2.0, 3.0]),
        Arg::buffer(&[0.25f64, -1.0]),
        Arg::zeros::<u16>(4),
        Arg::zeros::<u16>(2),
        Arg::zeros::<u16>(1),
    ];
    kernels.run("float_sums", shape, &mut args);
    let sum: f32 = a.iter().sum();
    let every = |start: usize, step: usize| -> f32 { a.iter().skip(start).step_by(step).sum() };
    let floats = [
        0.5 + sum,
        1.0 + every(0, 3),
        2.0 + every(1, 3),
        3.0 + every(2, 3),
    ];
    assert_same(&bits32(&args[1].values()), &bits32(&floats), "f32");
    let total = f64::from(sum);
    assert_same(&args[2].values(), &[0.25 + total * 0.5, total - 1.0], "f64");
    let halves: Vec<f32> = args[3].values::<u16>().into_iter().map(half).collect();
    let (even, odd) = (every(0, 2), every(1, 2));
    assert_same(&halves, &[even, -even, odd, -odd], "pairs of halves");
    let brains: Vec<f32> = args[4]
        .values::<u16>()
        .iter()
        .map(|word| f32::from_bits(u32::from(*word) << 16))
        .collect();
    assert_same(&brains, &[sum, 128.0], "brain floats");
    assert_same(&[half(args[5].values::<u16>()[0])], &[sum], "half");
}

#[test]
fn sums_of_vectors() {
    let mut random = Random(1404);
    let mut kernels = release("atomic-floats");
    let a = random.many(4 * 64, |random| (random.u32() % 100) as f32 - 50.0);
    let mut args = [
        Arg::buffer(&a),
        Arg::buffer(&[1f32, 2.0, 3.0, 4.0]),
        Arg::zeros::<f32>(8),
        Arg::zeros::<f32>(128),
    ];
    kernels.run("vector_sums", Shape::line(1, 64), &mut args);
    let column = |k: usize| -> f32 { a.iter().skip(k).step_by(4).sum() };
    let sums: Vec<f32> = (0..4).map(|k| k as f32 + 1.0 + column(k)).collect();
    assert_same(&args[1].values(), &sums, "sums");
    let pairs: Vec<f32> = (0..4)
        .flat_map(|k| [a.iter().skip(4 * k).step_by(16).sum(), 16.0])
        .collect();
    assert_same(&args[2].values(), &pairs, "pairs");
    let old: Vec<f32> = args[3].values();
    for k in 0..4 {
        let mut counts: Vec<f32> = old.iter().copied().skip(2 * k + 1).step_by(8).collect();
        counts.sort_by(f32::total_cmp);
        assert_same(&counts, &(0..16u8).map(f32::from).collect::<Vec<_>>(), k);
    }
}

#[test]
fn loops_of_compare_and_swap() {
    let mut random = Random(1405);
    let mut kernels = release("cas-loops");
    let a = random.many(150, |random| random.f32().abs());
    let mut args = [
        Arg::buffer(&a),
        Arg::buffer(&[0.5f32]),
        Arg::buffer(&[3u64]),
        Arg::buffer(&[65_000u16, 1, 2, 3]),
    ];
    kernels.run("cas_loops", Shape::line(2, 75), &mut args);
    assert_same(
        &args[1].values(),
        &[a.iter().copied().fold(0.5f32, f32::max)],
        "maximum",
    );
    assert_same(
        &args[2].values(),
        &[(0..150u64).fold(3u64, |product, i| product.wrapping_mul(2 * i + 3))],
        "product",
    );
    let mut halves = [65_000u16, 1, 2, 3];
    for i in 0..150u16 {
        halves[usize::from(i & 3)] = halves[usize::from(i & 3)].wrapping_add(i);
    }
    assert_same(&args[3].values(), &halves, "halves");
}

#[test]
fn lock() {
    let mut kernels = release("cas-loops");
    for (blocks, threads, n) in [(1, 32, 3), (2, 70, 2)] {
        let shape = Shape::line(blocks, threads);
        let mut args = [Arg::zeros::<i32>(1), Arg::zeros::<i32>(2), Arg::value(n)];
        kernels.run("locked", shape, &mut args);
        let turns = shape.threads() as i32 * n;
        assert_same(&args[0].values(), &[0], "the lock is free");
        assert_same(&args[1].values(), &[turns, turns * (turns - 1) / 2], shape);
    }
}

#[test]
fn scopes() {
    let mut kernels = release("atomic-scopes");
    let threads = 96u32;
    let mut args = [
        Arg::zeros::<i32>(4),
        Arg::buffer(&[0u32, 0, 5, 0xFF]),
        Arg::zeros::<u64>(2),
    ];
    kernels.run("scopes", Shape::line(1, threads), &mut args);
    let last = threads as i32 - 1;
    assert_same(
        &args[0].values(),
        &[
            threads as i32,
            2 * threads as i32,
            last,
            last * (last + 1) / 2,
        ],
        "cells",
    );
    // Three warps turn each bit three times.
    assert_same(&args[1].values(), &[u32::MAX, 77, 6, !0xFFu32], "flags");
    assert_same(
        &args[2].values(),
        &[3 * u64::from(threads), 5 * u64::from(threads)],
        "wide",
    );
}

#[test]
fn handed_from_block_to_block() {
    let mut kernels = release("atomic-scopes");
    let blocks = 9;
    let mut args = [
        Arg::zeros::<u32>(9),
        Arg::zeros::<i32>(9),
        Arg::value(blocks),
    ];
    kernels.run("handed_on", Shape::line(9, 32), &mut args);
    let expected: Vec<i32> = (0..blocks)
        .scan(0, |got, _| {
            *got = *got * 3 + 1;
            Some(*got)
        })
        .collect();
    assert_same(&args[1].values(), &expected, "data");
}

#[test]
fn atomics_of_the_library() {
    let mut random = Random(1406);
    let mut kernels = release("atomic-ref");
    let values = random.many(128, |random| (random.u32() % 2000).cast_signed() - 1000);
    let mut args = [
        Arg::buffer(&[10i32, 20, 30]),
        Arg::buffer(&[0u32, 7]),
        Arg::buffer(&[0.5f32]),
        Arg::buffer(&values),
    ];
    kernels.run("atomic_refs", Shape::line(2, 64), &mut args);
    let sum: i32 = values.iter().sum();
    let least = values.iter().copied().fold(20, i32::min);
    assert_same(&args[0].values(), &[10 - sum, least, 30 + sum], "integers");
    let bits = values
        .iter()
        .fold(0u32, |bits, value| bits | 1 << (value & 31));
    assert_same(
        &args[1].values(),
        &[bits, 7u32.wrapping_mul(3u32.wrapping_pow(128))],
        "bits",
    );
    let total: i32 = values.iter().map(|value| value & 7).sum();
    assert_same(&args[2].values(), &[0.5 + total as f32], "floats");
}
