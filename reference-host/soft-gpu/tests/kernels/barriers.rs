//! Threads that wait for each other: `barriers.cu`, and for copies: `pipeline.cu`.

use crate::device::{Arg, Random, Shape, assert_same, release};

#[test]
fn barriers_that_count() {
    let mut random = Random(1501);
    let mut kernels = release("barriers");
    for threads in [1, 32, 45, 200] {
        for (low, high) in [(-5, 5), (-1000, 3), (77, 78), (1, 2)] {
            let a = random.many(threads, |random| random.i32().rem_euclid(high - low) + low);
            let mut args = [Arg::buffer(&a), Arg::zeros::<i32>(threads)];
            kernels.run("counted", Shape::line(1, threads as u32), &mut args);
            let positive = a.iter().filter(|x| **x > 0).count() as i32;
            let all = i32::from(a.iter().all(|x| *x > -1000));
            let any = i32::from(a.contains(&77));
            assert_same(
                &args[1].values(),
                &vec![positive * 4 + all * 2 + any; threads],
                (threads, low),
            );
        }
    }
}

#[test]
fn producers_and_consumers() {
    let mut random = Random(1502);
    let mut kernels = release("barriers");
    for rounds in [1, 2, 9] {
        let a = random.many(64 * rounds, Random::i32);
        let mut args = [
            Arg::buffer(&a),
            Arg::zeros::<i32>(64),
            Arg::value(rounds as i32),
        ];
        kernels.run("producers", Shape::line(1, 128), &mut args);
        let expected: Vec<i32> = (0..64)
            .map(|i| {
                (1..).zip(a.chunks(64)).fold(0i32, |sum, (k, round)| {
                    sum.wrapping_mul(3)
                        .wrapping_add(round[63 - i].wrapping_mul(k))
                })
            })
            .collect();
        assert_same(&args[1].values(), &expected, rounds);
    }
}

#[test]
fn barriers_of_a_warp() {
    let mut random = Random(1503);
    let mut kernels = release("barriers");
    let a = random.many(128, |random| random.i32() / 16);
    let mut args = [Arg::buffer(&a), Arg::zeros::<i32>(128)];
    kernels.run("warp_barriers", Shape::line(1, 128), &mut args);
    // Values move down a lane in each of five rounds and grow by the rounds they have moved.
    let expected: Vec<i32> = (0..128)
        .map(|i| {
            (0..5)
                .map(|k| a[i / 32 * 32 + (i + 1 + k) % 32] + (0..k as i32).sum::<i32>())
                .sum()
        })
        .collect();
    assert_same(&args[1].values(), &expected, "sums");
}

#[test]
fn asynchronous_copies() {
    let mut random = Random(1504);
    let mut kernels = release("pipeline");
    for steps in [1, 2, 7] {
        let wide = random.many(4 * 64 * steps, Random::i32);
        let pair = random.many(2 * 64 * steps, Random::i32);
        let one = random.many(64 * steps, Random::i32);
        let mut args = [
            Arg::buffer(&wide),
            Arg::buffer(&pair),
            Arg::buffer(&one),
            Arg::zeros::<i32>(64),
            Arg::value(steps as i32),
        ];
        kernels.run("pipelined", Shape::line(1, 64), &mut args);
        let expected: Vec<i32> = (0..64)
            .map(|i| {
                (0..steps).fold(0i32, |sum, step| {
                    let w = &wide[4 * (64 * step + 63 - i)..][..4];
                    let other = (i + 1) & 63;
                    // Odd elements are filled with zeros in place of a copy.
                    let single = if other % 2 == 1 {
                        0
                    } else {
                        one[64 * step + other]
                    };
                    sum.wrapping_mul(5)
                        .wrapping_add(w[0])
                        .wrapping_sub(w[3])
                        .wrapping_add(pair[2 * (64 * step + (i ^ 5)) + 1])
                        .wrapping_add(single)
                })
            })
            .collect();
        assert_same(&args[3].values(), &expected, steps);
    }
}

#[test]
fn barrier_objects() {
    let mut random = Random(1505);
    let mut kernels = release("barrier-objects");
    for rounds in [1, 2, 5] {
        let mut x = random.many(64, Random::i32);
        let mut args = [Arg::buffer(&x), Arg::zeros::<i32>(64), Arg::value(rounds)];
        kernels.run("barrier_objects", Shape::line(1, 64), &mut args);
        for _ in 0..rounds {
            x = (0..64)
                .map(|i| x[i].wrapping_mul(3).wrapping_add(x[(i + 1) & 63]))
                .collect();
        }
        assert_same(&args[1].values(), &x, rounds);
    }
}

#[test]
fn cluster_of_one_block() {
    let mut random = Random(1506);
    let mut kernels = release("cluster");
    let a = random.many(64, Random::i32);
    let mut args = [Arg::buffer(&a), Arg::zeros::<i32>(128)];
    kernels.run("cluster", Shape::line(1, 64), &mut args);
    let expected: Vec<i32> = a.iter().rev().flat_map(|x| [*x, 1000]).collect();
    assert_same(&args[1].values(), &expected, "cells and ranks");
}
