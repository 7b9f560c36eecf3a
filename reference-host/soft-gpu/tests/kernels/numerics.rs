//! Numerical kernels: `fft.cu`, `gemm.cu`, `sparse.cu`, `lu.cu`, `heat.cu`, `quaternions.cu`, `convolution.cu`,
//! `ray-marcher.cu`. Where a kernel rounds in a known order the results are equal bit for bit.

use std::f64::consts::PI;

use crate::device::{Arg, Random, Shape, assert_same, bits32, builds, release};

#[test]
fn fft() {
    let mut random = Random(701);
    let mut kernels = release("fft");
    let data = random.many(2 * 256 * 2, |random| random.f32() / 1000.0);
    let mut args = [Arg::buffer(&data), Arg::value(-1.0f32)];
    kernels.run("fft", Shape::line(2, 128), &mut args);
    let found: Vec<f32> = args[0].values();
    for (found, data) in found.chunks(512).zip(data.chunks(512)) {
        for (k, found) in found.chunks(2).enumerate() {
            let (mut re, mut im) = (0.0, 0.0);
            for (i, point) in data.chunks(2).enumerate() {
                let (s, c) = (-2.0 * PI * (i * k % 256) as f64 / 256.0).sin_cos();
                let (x, y) = (f64::from(point[0]), f64::from(point[1]));
                re += x * c - y * s;
                im += x * s + y * c;
            }
            let error = (f64::from(found[0]) - re)
                .abs()
                .max((f64::from(found[1]) - im).abs());
            assert!(
                error < 2e-5,
                "frequency {k}: {found:?}, expected {re} and {im}"
            );
        }
    }
    // There and back again.
    args[1] = Arg::value(1.0f32);
    kernels.run("fft", Shape::line(2, 128), &mut args);
    for (found, start) in args[0].values::<f32>().iter().zip(&data) {
        assert!((found / 256.0 - start).abs() < 2e-6, "{found} of {start}");
    }
}

#[test]
fn gemm() {
    let mut random = Random(702);
    let mut kernels = release("gemm");
    for (m, n, k) in [(32, 32, 8), (64, 96, 40)] {
        let a = random.many(m * k, Random::f32);
        let b = random.many(k * n, Random::f32);
        let c = random.many(m * n, Random::f32);
        let (alpha, beta) = (random.f32(), random.f32());
        let mut args = [
            Arg::buffer(&a),
            Arg::buffer(&b),
            Arg::buffer(&c),
            Arg::value(m as i32),
            Arg::value(n as i32),
            Arg::value(k as i32),
            Arg::value(alpha),
            Arg::value(beta),
        ];
        let shape = Shape::plane([n as u32 / 32, m as u32 / 32], [128, 1]);
        kernels.run("gemm", shape, &mut args);
        let expected: Vec<f32> = (0..m * n)
            .map(|at| {
                let (row, column) = (at / n, at % n);
                let sum = (0..k).fold(0.0f32, |sum, d| {
                    a[row * k + d].mul_add(b[d * n + column], sum)
                });
                alpha.mul_add(sum, beta * c[at])
            })
            .collect();
        assert_same(&bits32(&args[2].values()), &bits32(&expected), (m, n, k));
    }
}

#[test]
fn sparse() {
    let mut random = Random(703);
    let mut kernels = release("sparse");
    let (rows, columns) = (70usize, 300u32);
    let (mut starts, mut indices, mut values) = (vec![0i32], Vec::new(), Vec::new());
    for row in 0..rows {
        for _ in 0..(if row % 10 == 3 { 0 } else { random.u32() % 120 }) {
            indices.push((random.u32() % columns) as i32);
            // Multiples of 1/8, so that every order of the sum is exact.
            values.push(random.f64().round() / 8.0);
        }
        starts.push(indices.len() as i32);
    }
    let x = random.many(columns as usize, |random| random.f64().round());
    let mut args = [
        Arg::buffer(&starts),
        Arg::buffer(&indices),
        Arg::buffer(&values),
        Arg::buffer(&x),
        Arg::buffer(&vec![-1.0f64; rows]),
        Arg::value(rows as i32),
    ];
    kernels.run("sparse", Shape::line(18, 128), &mut args);
    let expected: Vec<f64> = starts
        .windows(2)
        .map(|range| {
            (range[0] as usize..range[1] as usize)
                .map(|at| values[at] * x[indices[at] as usize])
                .sum::<f64>()
                + 0.0
        })
        .collect();
    assert_same(&args[4].values(), &expected, "rows");
}

/// Rows of `n` numbers as `lu` leaves them, with its pivots.
fn lu(matrix: &mut [f64], n: usize) -> Vec<i32> {
    (0..n)
        .map(|k| {
            let mut pivot = k;
            for row in k + 1..n {
                if matrix[row * n + k].abs() > matrix[pivot * n + k].abs() {
                    pivot = row;
                }
            }
            for column in 0..n {
                matrix.swap(k * n + column, pivot * n + column);
            }
            for row in k + 1..n {
                let factor = matrix[row * n + k] / matrix[k * n + k];
                matrix[row * n + k] = factor;
                for column in k + 1..n {
                    matrix[row * n + column] -= factor * matrix[k * n + column];
                }
            }
            pivot as i32
        })
        .collect()
}

#[test]
fn lu_decomposition() {
    let mut random = Random(704);
    let mut kernels = release("lu");
    let n = 24;
    let matrices = random.many(3 * n * n, Random::f64);
    let mut args = [Arg::buffer(&matrices), Arg::zeros::<i32>(3 * n)];
    kernels.run("lu", Shape::line(3, n as u32), &mut args);
    let mut expected = matrices.clone();
    let pivots: Vec<i32> = expected
        .chunks_mut(n * n)
        .flat_map(|matrix| lu(matrix, n))
        .collect();
    let found: Vec<f64> = args[0].values();
    assert_same(&args[1].values(), &pivots, "pivots");
    assert_same(&found, &expected, "factors");
    // The factors multiply to the matrix with its rows exchanged.
    for ((found, matrix), pivots) in found
        .chunks(n * n)
        .zip(matrices.chunks(n * n))
        .zip(pivots.chunks(n))
    {
        let mut rows: Vec<usize> = (0..n).collect();
        for (k, pivot) in pivots.iter().enumerate() {
            rows.swap(k, *pivot as usize);
        }
        for (at, row) in rows.iter().enumerate() {
            for column in 0..n {
                let product: f64 = (0..=at.min(column))
                    .map(|k| if k == at { 1.0 } else { found[at * n + k] } * found[k * n + column])
                    .sum();
                assert!(
                    (product - matrix[row * n + column]).abs() < 1e-9,
                    "row {row}, column {column}"
                );
            }
        }
    }
}

#[test]
fn heat() {
    let mut random = Random(705);
    let mut kernels = release("heat");
    for (threads, steps) in [(1, 3), (64, 50), (200, 21)] {
        let mut shape = Shape::line(2, threads);
        shape.dynamic_shared_bytes = 16 * threads;
        let mut rods = random.many(shape.threads(), Random::f64);
        let mut args = [Arg::buffer(&rods), Arg::value(steps), Arg::value(0.23f64)];
        kernels.run("heat", shape, &mut args);
        for rod in rods.chunks_mut(threads as usize) {
            for _ in 0..steps {
                let now = rod.to_vec();
                for (i, cell) in rod.iter_mut().enumerate() {
                    let left = now[i.saturating_sub(1)];
                    let right = now[(i + 1).min(now.len() - 1)];
                    *cell = now[i] + 0.23 * (left - 2.0 * now[i] + right);
                }
            }
        }
        assert_same(&args[0].values(), &rods, shape);
    }
}

macro_rules! complex {
    ($multiplied:ident, $divided:ident, $float:ty) => {
        fn $multiplied(a: [$float; 2], b: [$float; 2]) -> [$float; 2] {
            [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]]
        }

        fn $divided(a: [$float; 2], b: [$float; 2]) -> [$float; 2] {
            let n = b[0] * b[0] + b[1] * b[1];
            [
                (a[0] * b[0] + a[1] * b[1]) / n,
                (a[1] * b[0] - a[0] * b[1]) / n,
            ]
        }
    };
}
complex!(multiplied64, divided64, f64);
complex!(multiplied32, divided32, f32);

fn turned(a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
    let ([w, x, y, z], [ow, ox, oy, oz]) = (a, b);
    [
        w * ow - x * ox - y * oy - z * oz,
        w * ox + x * ow + y * oz - z * oy,
        w * oy - x * oz + y * ow + z * ox,
        w * oz + x * oy - y * ox + z * ow,
    ]
}

#[test]
fn quaternions() {
    let mut random = Random(706);
    let mut kernels = release("quaternions");
    let n = 64;
    let a = random.many(n, |random| [random.f64(), random.f64()]);
    let b = random.many(n, |random| [random.f32(), random.f32()]);
    let q = random.many(n, |random| [0; 4].map(|_: i32| random.f32()));
    let mut args = [
        Arg::buffer(&a.concat()),
        Arg::buffer(&b.concat()),
        Arg::buffer(&q.concat()),
        Arg::zeros::<f64>(2 * n),
        Arg::zeros::<f32>(2 * n),
        Arg::zeros::<f32>(4 * n),
    ];
    kernels.run("numbers", Shape::line(1, n as u32), &mut args);
    let wide: Vec<f64> = (0..n)
        .flat_map(|i| {
            divided64(
                (1..5).fold(a[i], |power, _| multiplied64(power, a[i])),
                a[i ^ 1],
            )
        })
        .collect();
    let narrow: Vec<f32> = (0..n)
        .flat_map(|i| {
            divided32(
                (0..i % 4).fold(b[i], |power, _| multiplied32(power, b[i])),
                b[i ^ 1],
            )
        })
        .collect();
    let quaternions: Vec<f32> = q.iter().flat_map(|q| turned(turned(*q, *q), *q)).collect();
    assert_same(&args[3].values(), &wide, "complex doubles");
    assert_same(
        &bits32(&args[4].values()),
        &bits32(&narrow),
        "complex floats",
    );
    assert_same(
        &bits32(&args[5].values()),
        &bits32(&quaternions),
        "quaternions",
    );
}

#[test]
fn convolution() {
    let mut random = Random(707);
    for mut kernels in builds("convolution") {
        let taps = random.many(25, Random::f32);
        kernels.set("taps", &taps);
        for (width, height) in [(1usize, 1usize), (16, 16), (37, 21)] {
            let image = random.many(width * height, Random::f32);
            let mut args = [
                Arg::buffer(&image),
                Arg::zeros::<f32>(image.len()),
                Arg::value(width as i32),
                Arg::value(height as i32),
            ];
            let shape = Shape::plane(
                [width.div_ceil(16) as u32, height.div_ceil(16) as u32],
                [16, 16],
            );
            kernels.run("convolution", shape, &mut args);
            let expected: Vec<f32> = (0..width * height)
                .map(|at| {
                    (0..25).fold(0.0, |sum, k| {
                        let y = (at / width + k / 5).saturating_sub(2).min(height - 1);
                        let x = (at % width + k % 5).saturating_sub(2).min(width - 1);
                        image[y * width + x].mul_add(taps[k], sum)
                    })
                })
                .collect();
            assert_same(
                &bits32(&args[1].values()),
                &bits32(&expected),
                (&kernels.file, width, height),
            );
        }
    }
}

type Vector = [f32; 3];

fn plus(a: Vector, b: Vector) -> Vector {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

fn times(a: Vector, f: f32) -> Vector {
    a.map(|x| x * f)
}

fn dot(a: Vector, b: Vector) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn length(a: Vector) -> f32 {
    dot(a, a).sqrt()
}

/// What `ray_marcher` gives for one pixel, in the kernel's order of operations.
fn pixel(spheres: &[[f32; 4]], x: f32, y: f32, width: f32, height: f32) -> f32 {
    let distance = |at: Vector| {
        spheres.iter().fold(at[1] + 1.0, |least, s| {
            least.min(length([at[0] - s[0], at[1] - s[1], at[2] - s[2]]) - s[3])
        })
    };
    let ray = [
        (x + 0.5) / width * 2.0 - 1.0,
        1.0 - (y + 0.5) / height * 2.0,
        1.5,
    ];
    let ray = times(ray, 1.0 / length(ray));
    let (mut along, mut steps) = (0.0, 0);
    while steps < 60 && along < 30.0 {
        let at = plus([0.0, 0.5, -4.0], times(ray, along));
        let d = distance(at);
        if d < 0.001 {
            let e = 0.01;
            let normal = [[e, 0.0, 0.0], [0.0, e, 0.0], [0.0, 0.0, e]]
                .map(|step| distance(plus(at, step)) - d);
            return (dot(normal, [0.5, 0.7, -0.5]) / length(normal)).max(0.05);
        }
        along += d;
        steps += 1;
    }
    0.0
}

#[test]
fn ray_marcher() {
    let mut kernels = release("ray-marcher");
    let spheres = [
        [0.0f32, 0.0, 0.0, 1.0],
        [1.4, -0.3, -0.5, 0.6],
        [-1.5, 0.2, 1.0, 0.8],
    ];
    kernels.set("spheres", &spheres.concat());
    let (width, height) = (50, 30);
    let mut args = [
        Arg::zeros::<f32>(width * height),
        Arg::value(width as i32),
        Arg::value(height as i32),
    ];
    kernels.run("ray_marcher", Shape::plane([4, 4], [16, 8]), &mut args);
    let expected: Vec<f32> = (0..width * height)
        .map(|at| {
            pixel(
                &spheres,
                (at % width) as f32,
                (at / width) as f32,
                width as f32,
                height as f32,
            )
        })
        .collect();
    assert!(
        expected.iter().filter(|shade| **shade > 0.05).count() > 300,
        "the spheres are in the image"
    );
    assert_same(&bits32(&args[0].values()), &bits32(&expected), "image");
}
