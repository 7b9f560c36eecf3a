//! `mandel.cu`: loops whose length differs from lane to lane, in single and double precision.

use crate::device::{Arg, Random, Shape, assert_same, builds};

macro_rules! escape_time {
    ($name:ident, $float:ty) => {
        /// Turns until the orbit of `c` leaves the circle of radius 2, at most `limit`.
        fn $name([cr, ci]: [$float; 2], limit: i32, fused: bool) -> i32 {
            let (mut a, mut b, mut turns): ($float, $float, i32) = (0.0, 0.0, 0);
            while a * a + b * b < 4.0 && turns < limit {
                let t = a * a - b * b + cr;
                b = if fused {
                    (2.0 * a).mul_add(b, ci)
                } else {
                    2.0 * a * b + ci
                };
                a = t;
                turns += 1;
            }
            turns
        }
    };
}
escape_time!(escape_time_f32, f32);
escape_time!(escape_time_f64, f64);

#[test]
fn mandel() {
    let mut random = Random(9);
    for mut kernels in builds("mandel") {
        for (block, [w, h], limit) in [
            ([16, 16], [16, 16], 50),
            ([8, 4], [50, 21], 300),
            ([32, 1], [33, 3], 17),
            ([7, 5], [40, 23], 64),
            ([1, 1], [3, 2], 9),
            ([16, 16], [20, 20], 0),
        ] {
            let grid = [
                (w as u32).div_ceil(block[0]),
                (h as u32).div_ceil(block[1]) + 1,
            ];
            let shape = Shape::plane(grid, block);
            let x0 = -2.0 + random.f32() / 10_000.0;
            let y0 = -1.2 + random.f32() / 10_000.0;
            let d = 2.4 / w as f32;
            let mut args = [
                Arg::buffer(&vec![99u8; w * h]),
                Arg::value(w as i32),
                Arg::value(h as i32),
                Arg::value(x0),
                Arg::value(y0),
                Arg::value(d),
                Arg::value(limit),
            ];
            kernels.run("mandel", shape, &mut args);
            let fused = !kernels.debug;
            let at = |start: f32, steps: usize| {
                if fused {
                    (steps as f32).mul_add(d, start)
                } else {
                    start + steps as f32 * d
                }
            };
            let expected: Vec<u8> = (0..w * h)
                .map(|index| {
                    escape_time_f32([at(x0, index % w), at(y0, index / w)], limit, fused) as u8
                })
                .collect();
            assert_same(&args[0].values(), &expected, (&kernels.file, shape, w, h));
        }
    }
}

#[test]
fn mandel64() {
    for mut kernels in builds("mandel") {
        for (blocks, threads, limit) in [
            (1, 1, 10),
            (1, 32, 100),
            (3, 50, 500),
            (2, 256, 64),
            (1, 32, 0),
        ] {
            let shape = Shape::line(blocks, threads);
            let count = shape.threads();
            let d = 2.7 / count as f64;
            let mut args = [
                Arg::buffer(&vec![-1; count]),
                Arg::value(count as i32),
                Arg::value(d),
                Arg::value(limit),
            ];
            kernels.run("mandel64", shape, &mut args);
            let fused = !kernels.debug;
            let expected: Vec<i32> = (0..count)
                .map(|x| {
                    let cr = if fused {
                        (x as f64).mul_add(d, -2.0)
                    } else {
                        x as f64 * d - 2.0
                    };
                    escape_time_f64([cr, 0.3], limit, fused)
                })
                .collect();
            assert_same(&args[0].values(), &expected, (&kernels.file, shape));
        }
    }
}
