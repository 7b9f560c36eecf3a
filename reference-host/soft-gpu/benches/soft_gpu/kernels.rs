//! The kernels and their plain loops.

use std::hint::black_box;

use soft_gpu::{LaunchConfig, Memory, Module, launch};

use crate::Outcome;
use crate::measure::{busy, figure, paired};
use crate::workload::Workload;

const BASICS: &[u8] = include_bytes!("../../../../fixtures/kernels/bench.ptx");
const LOOPS: &[u8] = include_bytes!("../../../../fixtures/kernels/bench_loops.ptx");

/// `c = a + b` over 1M single-precision values.
pub(crate) fn vector_add() -> Workload {
    const N: usize = 1 << 20;
    let a: Vec<f32> = (0..N).map(|i| i as f32 * 0.5).collect();
    let b: Vec<f32> = (0..N).map(|i| (N - i) as f32 * 0.25).collect();
    Workload {
        what: "vector_add, 1M f32",
        ptx: BASICS,
        entry: "vector_add",
        grid: [(N as u32).div_ceil(256), 1, 1],
        block: [256, 1, 1],
        inputs: vec![bytes(&a), bytes(&b)],
        output: vec![0; N],
        scalars: vec![N as u32],
        plain: Box::new(move |out| {
            for ((c, a), b) in out.iter_mut().zip(black_box(&a)).zip(black_box(&b)) {
                *c = (a + b).to_bits();
            }
        }),
        tolerance: 0.0,
        bar: 7.0,
    }
}

/// A tiled product of two matrices; the plain loop goes row, k, column.
pub(crate) fn matmul() -> Workload {
    const N: usize = 256;
    // Small whole numbers, so that fused and separate rounding agree.
    let a: Vec<f32> = (0..N * N).map(|i| (i % 17) as f32).collect();
    let b: Vec<f32> = (0..N * N).map(|i| (i % 13) as f32).collect();
    Workload {
        what: "tiled matmul, 256 x 256 f32",
        ptx: BASICS,
        entry: "matmul_tiled",
        grid: [16, 16, 1],
        block: [16, 16, 1],
        inputs: vec![bytes(&a), bytes(&b)],
        output: vec![0; N * N],
        scalars: vec![N as u32],
        plain: Box::new(move |out| {
            let (a, b) = (black_box(&a), black_box(&b));
            out.fill(0);
            for (row, out) in out.chunks_exact_mut(N).enumerate() {
                for k in 0..N {
                    let factor = a[row * N + k];
                    for (c, b) in out.iter_mut().zip(&b[k * N..][..N]) {
                        *c = (f32::from_bits(*c) + factor * b).to_bits();
                    }
                }
            }
        }),
        tolerance: 0.0,
        bar: 10.0,
    }
}

/// 64 rounds of integer mixing of each of 32K words.
pub(crate) fn mix() -> Workload {
    const N: usize = 1 << 15;
    let input: Vec<u32> = (0..N as u32).map(|i| i.wrapping_mul(0x9E37_79B9)).collect();
    Workload {
        what: "sha-like mixing, 32K words, 64 rounds",
        ptx: LOOPS,
        entry: "mix",
        grid: [(N as u32).div_ceil(256), 1, 1],
        block: [256, 1, 1],
        inputs: vec![input.iter().copied().flat_map(u32::to_le_bytes).collect()],
        output: vec![0; N],
        scalars: vec![N as u32],
        plain: Box::new(move |out| {
            for (out, word) in out.iter_mut().zip(black_box(&input)) {
                *out = mixed(*word);
            }
        }),
        tolerance: 0.0,
        bar: 12.0,
    }
}

fn mixed(mut w: u32) -> u32 {
    let [mut a, mut b, mut c, mut d] = [0x6A09_E667u32, 0xBB67_AE85, 0x3C6E_F372, 0xA54F_F53A];
    let [mut e, mut f, mut g, mut h] = [0x510E_527Fu32, 0x9B05_688C, 0x1F83_D9AB, 0x5BE0_CD19];
    for _ in 0..64 {
        let t1 = h
            .wrapping_add(e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25))
            .wrapping_add((e & f) ^ (!e & g))
            .wrapping_add(w);
        let t2 = (a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22))
            .wrapping_add((a & b) ^ (a & c) ^ (b & c));
        (h, g, f, e) = (g, f, e, d.wrapping_add(t1));
        (d, c, b, a) = (c, b, a, t1.wrapping_add(t2));
        w = w.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
    }
    a ^ b ^ c ^ d ^ e ^ f ^ g ^ h
}

/// Steps to leave the disc; the kernel's branches part the lanes of its warps.
pub(crate) fn mandelbrot() -> Workload {
    const SIZE: usize = 256;
    const LIMIT: u32 = 256;
    Workload {
        what: "mandelbrot, 256 x 256, 256 steps",
        ptx: LOOPS,
        entry: "mandelbrot",
        grid: [SIZE as u32 / 32, SIZE as u32 / 8, 1],
        block: [32, 8, 1],
        inputs: vec![],
        output: vec![0; SIZE * SIZE],
        scalars: vec![SIZE as u32, LIMIT],
        plain: Box::new(move |out| {
            let limit = black_box(LIMIT);
            for (y, row) in out.chunks_exact_mut(SIZE).enumerate() {
                for (x, out) in row.iter_mut().enumerate() {
                    *out = escape(x as f32, y as f32, SIZE as f32, limit);
                }
            }
        }),
        tolerance: 0.0,
        bar: 12.0,
    }
}

fn escape(x: f32, y: f32, size: f32, limit: u32) -> u32 {
    let (cx, cy) = (3.0 * x / size - 2.0, 3.0 * y / size - 1.5);
    let [mut zx, mut zy, mut xx, mut yy] = [0f32; 4];
    let mut steps = 0;
    while steps < limit && xx + yy < 4.0 {
        (zx, zy) = (xx - yy + cx, 2.0 * zx * zy + cy);
        (xx, yy) = (zx * zx, zy * zy);
        steps += 1;
    }
    steps
}

/// Accelerations of 2048 bodies.
pub(crate) fn attract() -> Workload {
    const N: usize = 2048;
    let bodies: Vec<[f32; 4]> = (0..N)
        .map(|i| {
            let place = |step: usize| (i * step % 1009) as f32 / 1009.0;
            [place(7), place(31), place(101), 1.0 + place(3)]
        })
        .collect();
    Workload {
        what: "n-body, 2048 bodies, one step",
        ptx: LOOPS,
        entry: "attract",
        grid: [N as u32 / 256, 1, 1],
        block: [256, 1, 1],
        inputs: vec![bytes(bodies.as_flattened())],
        output: vec![0; 4 * N],
        scalars: vec![N as u32],
        plain: Box::new(move |out| {
            let bodies = black_box(&bodies);
            for (out, me) in out.as_chunks_mut::<4>().0.iter_mut().zip(bodies) {
                let mut sum = [0f32; 3];
                for body in bodies {
                    let [dx, dy, dz] = [body[0] - me[0], body[1] - me[1], body[2] - me[2]];
                    let inverse = 1.0 / (dx * dx + dy * dy + dz * dz + 0.01).sqrt();
                    let pull = body[3] * inverse * inverse * inverse;
                    sum = [sum[0] + dx * pull, sum[1] + dy * pull, sum[2] + dz * pull];
                }
                *out = [sum[0], sum[1], sum[2], 0.0].map(f32::to_bits);
            }
        }),
        tolerance: 1e-3,
        bar: 12.0,
    }
}

/// The sum of 1M words.
pub(crate) fn sum() -> Workload {
    const N: usize = 1 << 20;
    let input: Vec<u32> = (0..N as u32).map(|i| i.wrapping_mul(0x9E37_79B9)).collect();
    Workload {
        what: "reduction, 1M u32",
        ptx: LOOPS,
        entry: "sum",
        grid: [64, 1, 1],
        block: [256, 1, 1],
        inputs: vec![input.iter().copied().flat_map(u32::to_le_bytes).collect()],
        output: vec![0],
        scalars: vec![N as u32],
        plain: Box::new(move |out| {
            let words = black_box(&input).iter();
            out[0] = words.fold(0u32, |sum, word| sum.wrapping_add(*word));
        }),
        tolerance: 0.0,
        bar: 12.0,
    }
}

/// Launches of an empty kernel of one thread, which has ended when the launch returns.
pub(crate) fn launch_and_return(rounds: usize) -> Outcome {
    const LAUNCHES: u32 = 1000;
    let module = Module::load(BASICS)?;
    let entry = module.entry("nothing").ok_or("no nothing")?;
    let mut globals = module.globals();
    let [soft, _] = paired(rounds, busy, |other| {
        for _ in 0..if other { 0 } else { LAUNCHES } {
            launch(
                &module,
                entry,
                &LaunchConfig::default(),
                &[],
                &mut globals,
                &mut Memory::new(),
            )?;
        }
        Ok(())
    })?;
    let each = soft.as_secs_f64() * 1e6 / f64::from(LAUNCHES);
    figure(
        "launch of an empty one-thread kernel",
        &format!("{each:.2} µs"),
        "<= 2 µs",
        each <= 2.0,
    );
    Ok(())
}

fn bytes(values: &[f32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}
