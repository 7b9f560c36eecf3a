//! `hist.cu`: atomics of every kind, in shared and in global memory.

use crate::device::{Arg, Random, Shape, assert_same, builds};

#[test]
fn hist256() {
    let mut random = Random(6);
    for mut kernels in builds("hist") {
        for (blocks, threads) in [(1, 1), (1, 32), (3, 100), (2, 256), (4, 300)] {
            for n in [0, 1, 1000, 4099] {
                let shape = Shape::line(blocks, threads);
                let data = random.many(n, |random| random.u32() as u8 & random.u32() as u8);
                let before = random.many(256, Random::u32);
                let mut args = [
                    Arg::buffer(&data),
                    Arg::buffer(&before),
                    Arg::value(n as i32),
                ];
                kernels.run("hist256", shape, &mut args);
                let mut counts = before;
                for byte in data {
                    let count = &mut counts[usize::from(byte)];
                    *count = count.wrapping_add(1);
                }
                assert_same(&args[1].values(), &counts, (&kernels.file, shape, n));
            }
        }
    }
}

#[test]
fn casmax() {
    let mut random = Random(7);
    for mut kernels in builds("hist") {
        for (blocks, threads) in [(1, 1), (1, 31), (1, 32), (1, 100), (3, 33), (2, 256)] {
            let shape = Shape::line(blocks, threads);
            let data = random.many(threads as usize, Random::f32);
            let first = random.f32();
            let words = random.many(5, Random::u32);
            let mut cells = vec![first.to_bits()];
            cells.extend(&words[..4]);
            cells.push(words[4] % 64);
            let mut args = [Arg::buffer(&cells), Arg::buffer(&data)];
            kernels.run("casmax", shape, &mut args);

            let all = shape.threads();
            let greatest = data.iter().copied().fold(first, f32::max);
            let counter = (0..all).fold(cells[5], |old, _| if old >= 31 { 0 } else { old + 1 });
            let flipped = if all % 2 == 1 { cells[3] ^ 5 } else { cells[3] };
            let expected = [
                greatest.to_bits(),
                7,
                cells[2] | 3,
                flipped,
                cells[4] & 9,
                counter,
            ];
            assert_same(&args[0].values(), &expected, (&kernels.file, shape));
        }
    }
}
