//! `reduce.cu`: sums by shared memory and by shuffles, minimum and maximum by atomics.

use crate::device::{Arg, Random, Shape, assert_same, builds};

/// What one block of `reduce_f32` adds to the result.
fn block_sum(data: &[f32], shape: Shape, block: usize) -> f32 {
    let (blocks, threads) = (shape.grid[0] as usize, shape.block[0] as usize);
    let mut shared: Vec<f32> = (0..threads)
        .map(|thread| {
            let own = data
                .iter()
                .skip(block * threads + thread)
                .step_by(blocks * threads);
            own.fold(0.0, |sum, value| sum + value)
        })
        .collect();
    let mut half = threads / 2;
    while half > 0 {
        for thread in 0..half {
            shared[thread] += shared[thread + half];
        }
        half /= 2;
    }
    shared[0]
}

#[test]
fn reduce_f32() {
    let mut random = Random(1);
    for mut kernels in builds("reduce") {
        for (blocks, threads) in [
            (1, 1),
            (1, 2),
            (1, 32),
            (1, 96),
            (1, 256),
            (2, 64),
            (3, 128),
            (7, 50),
        ] {
            for n in [0, 1, 31, 255, 1000, 4097] {
                let shape = Shape::line(blocks, threads);
                // Blocks may add in any order, so several blocks get multiples of 1/8 whose sums are exact.
                let data = random.many(n, |random| {
                    if blocks == 1 {
                        random.f32()
                    } else {
                        random.f32().round() / 8.0
                    }
                });
                let start = 0.5;
                let mut args = [
                    Arg::buffer(&data),
                    Arg::buffer(&[start]),
                    Arg::value(n as i32),
                ];
                kernels.run("reduce_f32", shape, &mut args);
                let sum = (0..blocks as usize)
                    .fold(start, |sum, block| sum + block_sum(&data, shape, block));
                assert_eq!(
                    args[1].values::<f32>()[0].to_bits(),
                    sum.to_bits(),
                    "{} {shape:?} n={n}",
                    kernels.file
                );
            }
        }
    }
}

#[test]
fn minmax_i32() {
    let mut random = Random(2);
    for mut kernels in builds("reduce") {
        for (blocks, threads, n) in [
            (1, 1, 1),
            (1, 64, 64),
            (3, 100, 257),
            (5, 256, 1280),
            (2, 33, 0),
            (4, 32, 127),
        ] {
            let shape = Shape::line(blocks, threads);
            let data = random.many(n, Random::i32);
            let (least, greatest, count) = (5, -5, u64::from(u32::MAX) - 3);
            let mut args = [
                Arg::buffer(&data),
                Arg::buffer(&[least]),
                Arg::buffer(&[greatest]),
                Arg::buffer(&[count]),
                Arg::value(n as i32),
            ];
            kernels.run("minmax_i32", shape, &mut args);
            let what = (&kernels.file, shape, n);
            assert_same(
                &args[1].values(),
                &[data.iter().copied().fold(least, i32::min)],
                what,
            );
            assert_same(
                &args[2].values(),
                &[data.iter().copied().fold(greatest, i32::max)],
                what,
            );
            assert_same(&args[3].values(), &[count + n as u64], what);
        }
    }
}

/// What one warp of `reduce_f64` adds to the result.
fn warp_sum(data: &[f64], threads: usize, warp: usize) -> f64 {
    let mut lanes: Vec<f64> = (0..32)
        .map(|lane| {
            data.iter()
                .skip(warp * 32 + lane)
                .step_by(threads)
                .fold(0.0, |sum, value| sum + value)
        })
        .collect();
    for distance in [16, 8, 4, 2, 1] {
        lanes = (0..32)
            .map(|lane| lanes[lane] + lanes[lane ^ distance])
            .collect();
    }
    lanes[0]
}

#[test]
fn reduce_f64() {
    let mut random = Random(3);
    for mut kernels in builds("reduce") {
        for (blocks, threads) in [(1, 32), (1, 64), (1, 256), (3, 96)] {
            for n in [0, 1, 100, 1025] {
                let shape = Shape::line(blocks, threads);
                let one_warp = blocks == 1 && threads == 32;
                let data = random.many(n, |random| {
                    if one_warp {
                        random.f64()
                    } else {
                        random.f64().round() / 8.0
                    }
                });
                let start = 0.25;
                let mut args = [
                    Arg::buffer(&data),
                    Arg::buffer(&[start]),
                    Arg::value(n as i32),
                ];
                kernels.run("reduce_f64", shape, &mut args);
                let threads = threads as usize;
                let warps = (0..blocks).flat_map(|_| 0..threads / 32);
                let sum = warps.fold(start, |sum, warp| sum + warp_sum(&data, threads, warp));
                assert_eq!(
                    args[1].values::<f64>()[0].to_bits(),
                    sum.to_bits(),
                    "{} {shape:?} n={n}",
                    kernels.file
                );
            }
        }
    }
}
