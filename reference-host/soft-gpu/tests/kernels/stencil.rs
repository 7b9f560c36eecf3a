//! `stencil.cu`: a 3 by 3 stencil through a shared tile, with coefficients in constant memory.

use crate::device::{Arg, Random, Shape, assert_same, bits32, builds};

/// One block of `stencil2d`, halo reads outside the picture included.
fn block(
    input: &[f32],
    out: &mut [f32],
    [w, h]: [usize; 2],
    [bx, by]: [usize; 2],
    coef: &[f32],
    fused: bool,
) {
    let mut tile = [[0f32; 18]; 18];
    for ty in 0..16 {
        for tx in 0..16 {
            let (x, y) = (bx * 16 + tx, by * 16 + ty);
            tile[ty + 1][tx + 1] = if x < w && y < h {
                input[y * w + x]
            } else {
                0.0
            };
            if tx == 0 {
                tile[ty + 1][0] = if x > 0 { input[y * w + x - 1] } else { 0.0 };
            }
            if tx == 15 {
                tile[ty + 1][17] = if x + 1 < w { input[y * w + x + 1] } else { 0.0 };
            }
            if ty == 0 {
                tile[0][tx + 1] = if y > 0 { input[(y - 1) * w + x] } else { 0.0 };
            }
            if ty == 15 {
                tile[17][tx + 1] = if y + 1 < h {
                    input[(y + 1) * w + x]
                } else {
                    0.0
                };
            }
        }
    }
    for ty in 0..16 {
        for tx in 0..16 {
            let (x, y) = (bx * 16 + tx, by * 16 + ty);
            if x < w && y < h {
                let taps = (0..9).map(|tap| (coef[tap], tile[ty + tap / 3][tx + tap % 3]));
                out[y * w + x] = taps.fold(0.0, |sum, (coef, value)| {
                    if fused {
                        coef.mul_add(value, sum)
                    } else {
                        sum + coef * value
                    }
                });
            }
        }
    }
}

#[test]
fn stencil2d() {
    let mut random = Random(8);
    for mut kernels in builds("stencil") {
        for ([w, h], [more_x, more_y]) in [
            ([1, 1], [0, 0]),
            ([16, 16], [0, 0]),
            ([33, 17], [0, 0]),
            ([20, 50], [1, 0]),
            ([64, 48], [0, 1]),
        ] {
            let grid = [
                (w as u32).div_ceil(16) + more_x,
                (h as u32).div_ceil(16) + more_y,
            ];
            let shape = Shape::plane(grid, [16, 16]);
            let coef = random.many(9, Random::f32);
            kernels.set("coef", &coef);
            // Nobody writes the corners of the tile: the software GPU's shared memory starts as zeros, and so does
            // the reference. The halo is read past the last row: the buffer goes on there.
            let rows = grid[1] as usize * 16 + 2;
            let input = random.many(rows * w + grid[0] as usize * 16, Random::f32);
            let mut args = [
                Arg::buffer(&input),
                Arg::buffer(&vec![7f32; w * h]),
                Arg::value(w as i32),
                Arg::value(h as i32),
            ];
            kernels.run("stencil2d", shape, &mut args);

            let mut expected = vec![7f32; w * h];
            for by in 0..grid[1] as usize {
                for bx in 0..grid[0] as usize {
                    block(
                        &input,
                        &mut expected,
                        [w, h],
                        [bx, by],
                        &coef,
                        !kernels.debug,
                    );
                }
            }
            let found: Vec<f32> = args[1].values();
            assert_same(
                &bits32(&found),
                &bits32(&expected),
                (&kernels.file, shape, w, h),
            );
        }
    }
}
