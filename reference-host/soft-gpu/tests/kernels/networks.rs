//! Layers of neural networks, within tolerances: `softmax.cu`, `attention.cu`.

use crate::device::{Arg, Random, Shape, release};

/// Compares with a reference in double precision; the tolerance is relative for numbers over 1.
#[track_caller]
fn assert_close(found: &[f32], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
        let error = (f64::from(*found) - expected).abs();
        assert!(
            error <= tolerance * expected.abs().max(1.0),
            "{what}, element {index}: found {found}, expected {expected}"
        );
    }
}

fn softmax(scores: &[f64]) -> Vec<f64> {
    let greatest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = scores
        .iter()
        .map(|score| (score - greatest).exp())
        .collect();
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / sum).collect()
}

fn doubles(values: &[f32]) -> Vec<f64> {
    values.iter().map(|value| f64::from(*value)).collect()
}

#[test]
fn softmax_of_rows() {
    let mut random = Random(801);
    for name in ["softmax", "softmax-fast"] {
        let mut kernels = release(name);
        for (rows, n, threads) in [(1, 1, 32), (3, 100, 64), (2, 777, 256)] {
            let data = random.many(rows * n, |random| random.f32() / 100.0);
            let mut args = [
                Arg::buffer(&data),
                Arg::zeros::<f32>(data.len()),
                Arg::value(n as i32),
            ];
            kernels.run("softmax", Shape::line(rows as u32, threads), &mut args);
            let expected: Vec<f64> = data
                .chunks(n)
                .flat_map(|row| softmax(&doubles(row)))
                .collect();
            assert_close(&args[1].values(), &expected, 1e-6, name);
        }
    }
}

#[test]
fn layer_norm() {
    let mut random = Random(802);
    for name in ["softmax", "softmax-fast"] {
        let mut kernels = release(name);
        let (rows, n) = (3, 333);
        let data = random.many(rows * n, |random| random.f32() / 100.0);
        let scale = random.many(n, |random| random.f32() / 1000.0);
        let shift = random.many(n, |random| random.f32() / 1000.0);
        let mut args = [
            Arg::buffer(&data),
            Arg::buffer(&scale),
            Arg::buffer(&shift),
            Arg::zeros::<f32>(data.len()),
            Arg::value(n as i32),
            Arg::value(1e-5f32),
        ];
        kernels.run("layer_norm", Shape::line(rows as u32, 128), &mut args);
        let expected: Vec<f64> = data
            .chunks(n)
            .flat_map(|row| {
                let row = doubles(row);
                let mean = row.iter().sum::<f64>() / n as f64;
                let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n as f64;
                let inverse = (variance + 1e-5).sqrt().recip();
                let normal = row.into_iter().map(move |x| (x - mean) * inverse);
                normal
                    .zip(scale.iter().zip(&shift))
                    .map(|(x, (scale, shift))| x * f64::from(*scale) + f64::from(*shift))
                    .collect::<Vec<_>>()
            })
            .collect();
        assert_close(&args[3].values(), &expected, 5e-6, name);
    }
}

#[test]
fn attention() {
    let mut random = Random(803);
    let mut kernels = release("attention");
    for causal in [0, 1] {
        let n = 128usize;
        let [queries, keys, values] =
            [0; 3].map(|_: i32| random.many(16 * n, |random| random.f32() / 500.0));
        let mut args = [
            Arg::buffer(&queries),
            Arg::buffer(&keys),
            Arg::buffer(&values),
            Arg::zeros::<f32>(16 * n),
            Arg::value(n as i32),
            Arg::value(causal),
        ];
        kernels.run("attention", Shape::line(2, 64), &mut args);
        let expected: Vec<f64> = queries
            .chunks(16)
            .enumerate()
            .flat_map(|(query, q)| {
                let seen = if causal == 1 { query + 1 } else { n };
                let scores: Vec<f64> = keys
                    .chunks(16)
                    .take(seen)
                    .map(|k| {
                        q.iter()
                            .zip(k)
                            .map(|(q, k)| f64::from(*q) * f64::from(*k))
                            .sum::<f64>()
                            * 0.25
                    })
                    .collect();
                let weights = softmax(&scores);
                (0..16)
                    .map(|f| {
                        weights
                            .iter()
                            .zip(values.chunks(16))
                            .map(|(weight, v)| weight * f64::from(v[f]))
                            .sum()
                    })
                    .collect::<Vec<f64>>()
            })
            .collect();
        assert_close(&args[3].values(), &expected, 1e-5, "attention");
    }
}
