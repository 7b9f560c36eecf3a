//! Kernels over the headers that come with CUDA: `cub-blocks.cu`, `library.cu`.

use crate::device::{Arg, Random, Shape, assert_same, release};

#[test]
fn sums_and_scans_of_blocks() {
    let mut random = Random(1801);
    let mut kernels = release("cub-blocks");
    let data = random.many(192, |random| random.i32() / 256);
    let mut args = [
        Arg::buffer(&data),
        Arg::zeros::<i32>(3),
        Arg::zeros::<i32>(6),
        Arg::zeros::<i32>(192),
    ];
    kernels.run("cub_sums", Shape::line(3, 64), &mut args);
    let sums: Vec<i32> = data.chunks(64).map(|block| block.iter().sum()).collect();
    let greatest: Vec<i32> = data
        .chunks(32)
        .map(|warp| *warp.iter().max().expect("32 lanes"))
        .collect();
    let scanned: Vec<i32> = data
        .chunks(64)
        .flat_map(|block| (0..64).map(|i| block[..i].iter().sum()))
        .collect();
    assert_same(&args[1].values(), &sums, "sums");
    assert_same(&args[2].values(), &greatest, "greatest");
    assert_same(&args[3].values(), &scanned, "scanned");
}

#[test]
fn sort_of_a_block() {
    let mut random = Random(1802);
    let mut kernels = release("cub-blocks");
    let keys = random.many(64, |random| random.u32() & 0xF0F);
    let values = random.many(64, Random::f32);
    let mut args = [Arg::buffer(&keys), Arg::buffer(&values)];
    kernels.run("cub_sort", Shape::line(1, 32), &mut args);
    let mut pairs: Vec<(u32, f32)> = keys.into_iter().zip(values).collect();
    // Only eight bits are sorted by, and those with equal ones stay in order.
    pairs.sort_by_key(|pair| pair.0 & 0xFF);
    let (keys, values): (Vec<u32>, Vec<f32>) = pairs.into_iter().unzip();
    assert_same(&args[0].values(), &keys, "keys");
    assert_same(&args[1].values(), &values, "values");
}

#[test]
fn standard_library() {
    let mut random = Random(1803);
    let mut kernels = release("library");
    let a = random.many(128, |random| random.spread() as u32);
    // Small whole numbers, so that contraction to fused operations changes nothing.
    let z = random.many(256, |random| random.f64().round());
    let mut args = [Arg::buffer(&a), Arg::zeros::<u32>(384), Arg::buffer(&z)];
    kernels.run("library", Shape::line(1, 128), &mut args);
    let words: Vec<u32> = (0u32..)
        .zip(&a)
        .flat_map(|(i, x)| {
            let low = x & 0xFFFF;
            let turned = [
                x.rotate_left(3),
                x.rotate_right(5),
                x.leading_zeros(),
                low.next_power_of_two(),
            ];
            let sum = turned
                .iter()
                .fold(0u32, |sum, item| sum.wrapping_mul(31).wrapping_add(*item));
            let root = i.isqrt();
            let found = if root * root == i {
                root
            } else {
                low ^ x >> 16
            };
            [sum, found, (low as f32).to_bits()]
        })
        .collect();
    let complex: Vec<f64> = z
        .chunks(2)
        .flat_map(|z| {
            [
                z[0] * 0.5 + z[1] * 2.0 + z[0],
                z[1] * 0.5 - z[0] * 2.0 - z[1],
            ]
        })
        .collect();
    assert_same(&args[1].values(), &words, "words");
    assert_same(&args[2].values(), &complex, "complex numbers");
}
