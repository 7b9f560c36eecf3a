//! `scan.cu`: prefix sums in shared memory of dynamic size, and by shuffles.

use crate::device::{Arg, Random, Shape, assert_same, builds};

#[test]
fn scan_block() {
    let mut random = Random(4);
    for mut kernels in builds("scan") {
        // The kernel itself asks for a power of two and whole blocks.
        for (blocks, threads) in [(1, 1), (1, 2), (3, 16), (2, 32), (5, 64), (2, 512)] {
            let per_block = 2 * threads as usize;
            let shape = Shape {
                dynamic_shared_bytes: per_block as u32 * 4,
                ..Shape::line(blocks, threads)
            };
            let data = random.many(per_block * blocks as usize, Random::i32);
            let mut args = [
                Arg::buffer(&data),
                Arg::buffer(&vec![-1; data.len()]),
                Arg::buffer(&vec![-1; blocks as usize]),
            ];
            kernels.run("scan_block", shape, &mut args);

            let mut prefixes = Vec::new();
            let mut sums = Vec::new();
            for block in data.chunks_exact(per_block) {
                let mut sum = 0i32;
                for value in block {
                    prefixes.push(sum);
                    sum = sum.wrapping_add(*value);
                }
                sums.push(sum);
            }
            assert_same(&args[1].values(), &prefixes, (&kernels.file, shape));
            assert_same(&args[2].values(), &sums, (&kernels.file, shape));
        }
    }
}

#[test]
fn scan_warp() {
    let mut random = Random(5);
    for mut kernels in builds("scan") {
        for (blocks, threads) in [(1, 32), (3, 64), (2, 224)] {
            let shape = Shape::line(blocks, threads);
            let data = random.many(shape.threads(), Random::i32);
            let mut args = [Arg::buffer(&data), Arg::buffer(&vec![-1; data.len()])];
            kernels.run("scan_warp", shape, &mut args);
            let mut expected = data.clone();
            for warp in expected.chunks_exact_mut(32) {
                for lane in 1..32 {
                    warp[lane] = warp[lane].wrapping_add(warp[lane - 1]);
                }
            }
            assert_same(&args[1].values(), &expected, (&kernels.file, shape));
        }
    }
}
