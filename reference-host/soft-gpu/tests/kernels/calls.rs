//! `calls.cu`: recursion, calls through a table, structs by value and by pointer, a large parameter.

use crate::device::{Arg, Random, Shape, assert_same, builds, bytes_of};

fn fibonacci(n: u32) -> i32 {
    (0..n).fold((0, 1), |(a, b), _| (b, a + b)).0
}

#[test]
fn calls() {
    for mut kernels in builds("calls") {
        for (blocks, threads) in [(1, 1), (1, 32), (2, 45)] {
            let shape = Shape::line(blocks, threads);
            let count = threads as usize;
            let mut args = [
                Arg::buffer(&vec![0i32; count]),
                Arg::buffer(&vec![0f32; count]),
            ];
            kernels.run("calls", shape, &mut args);
            let by_table = |i: u32| {
                if i.is_multiple_of(2) {
                    i as i32 + 1
                } else {
                    i as i32 * 3
                }
            };
            let o: Vec<i32> = (0..threads)
                .map(|i| fibonacci(i & 7) + by_table(i))
                .collect();
            let f: Vec<f32> = (0..threads).map(|i| i as f32 + 1.5 + 3.0).collect();
            assert_same(&args[0].values(), &o, (&kernels.file, shape));
            assert_same(&args[1].values(), &f, (&kernels.file, shape));
        }
    }
}

#[test]
fn bigparam() {
    let mut random = Random(14);
    for mut kernels in builds("calls") {
        for threads in [1, 20, 64, 101] {
            let shape = Shape::line(1, threads);
            let v = random.many(20, Random::i32);
            let s = random.f32();
            let mut big = bytes_of(&v);
            big.extend(s.to_le_bytes());
            let mut args = [Arg::Value(big), Arg::buffer(&vec![0i32; threads as usize])];
            kernels.run("bigparam", shape, &mut args);
            let expected: Vec<i32> = (0..threads as usize)
                .map(|thread| v[thread % 20].wrapping_add(s as i32))
                .collect();
            assert_same(&args[1].values(), &expected, (&kernels.file, shape));
        }
    }
}
