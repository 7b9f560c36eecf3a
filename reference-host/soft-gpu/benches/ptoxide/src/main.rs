//! Times soft-gpu beside `ptoxide`, on one thread each, over the kernels of `kernels.cu`.
//!
//! Run with `cargo run --release` in this folder. Each figure is the least of some rounds.

#![allow(
    clippy::print_stdout,
    reason = "a benchmark reports on standard output"
)]

use std::error::Error;
use std::time::{Duration, Instant};

use ptoxide::{Argument, Context, LaunchParams};
use soft_gpu::{LaunchConfig, Memory, Module, launch};

const PTX: &str = include_str!("../kernels.ptx");

/// How many times as fast soft-gpu is to be.
const BAR: f64 = 80.0;

/// A launch of `c = kernel(a, b)` over single-precision values.
struct Kernel {
    name: &'static str,
    grid: [u32; 2],
    block: [u32; 2],
    values: usize,
    n: u64,
}

fn main() -> Result<(), Box<dyn Error>> {
    println!(
        "{:<28}{:>14}{:>14}{:>9}   reach",
        "what", "soft-gpu", "ptoxide", "ratio"
    );
    for kernel in [
        Kernel {
            name: "vector_sum",
            grid: [1 << 10, 1],
            block: [256, 1],
            values: 1 << 18,
            n: 1 << 18,
        },
        Kernel {
            name: "matrix_product",
            grid: [8, 8],
            block: [16, 16],
            values: 128 * 128,
            n: 128,
        },
    ] {
        let a: Vec<f32> = (0..kernel.values).map(|i| (i % 17) as f32).collect();
        let b: Vec<f32> = (0..kernel.values).map(|i| (i % 13) as f32).collect();
        let (soft, ours) = on_soft_gpu(&kernel, &a, &b)?;
        let (peer, theirs) = on_ptoxide(&kernel, &a, &b)?;
        if ours != theirs {
            return Err(format!("{}: the results differ", kernel.name).into());
        }
        let ratio = peer.as_secs_f64() / soft.as_secs_f64();
        let verdict = if ratio >= BAR { "reached" } else { "MISSED" };
        println!(
            "{:<28}{:>14}{:>14}{:>9}   >= {BAR}x {verdict}",
            format!("{}, {} values", kernel.name, kernel.values),
            format!("{:.0} µs", soft.as_secs_f64() * 1e6),
            format!("{:.0} µs", peer.as_secs_f64() * 1e6),
            format!("{ratio:.0}x"),
        );
    }
    Ok(())
}

fn on_soft_gpu(
    kernel: &Kernel,
    a: &[f32],
    b: &[f32],
) -> Result<(Duration, Vec<f32>), Box<dyn Error>> {
    let module = Module::load(PTX.as_bytes())?;
    let entry = module.entry(kernel.name).ok_or("no such kernel")?;
    let bytes = |values: &[f32]| -> Vec<u8> {
        values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect()
    };
    let (mut a, mut b, mut c) = (bytes(a), bytes(b), vec![0; 4 * kernel.values]);
    let params: Vec<u8> = [0x1000_0000, 0x2000_0000, 0x3000_0000, kernel.n]
        .iter()
        .flat_map(|word: &u64| word.to_le_bytes())
        .collect();
    let config = LaunchConfig {
        grid: [kernel.grid[0], kernel.grid[1], 1],
        block: [kernel.block[0], kernel.block[1], 1],
        ..LaunchConfig::default()
    };
    let time = least(15, || {
        let mut memory = Memory::new();
        memory.map(0x1000_0000, &mut a)?;
        memory.map(0x2000_0000, &mut b)?;
        memory.map(0x3000_0000, &mut c)?;
        launch(
            &module,
            entry,
            &config,
            &params,
            &mut module.globals(),
            &mut memory,
        )?;
        Ok(())
    })?;
    let words = c.as_chunks::<4>().0.iter();
    Ok((time, words.map(|word| f32::from_le_bytes(*word)).collect()))
}

fn on_ptoxide(
    kernel: &Kernel,
    a: &[f32],
    b: &[f32],
) -> Result<(Duration, Vec<f32>), Box<dyn Error>> {
    let mut context = Context::new_with_module(PTX).map_err(|error| format!("{error:?}"))?;
    let [da, db, dc] = [(); 3].map(|()| context.alloc::<f32>(kernel.values));
    context.write(da, a);
    context.write(db, b);
    let time = least(3, || {
        let params = LaunchParams::func(kernel.name)
            .grid2d(kernel.grid[0], kernel.grid[1])
            .block2d(kernel.block[0], kernel.block[1]);
        let arguments = [
            Argument::ptr(da),
            Argument::ptr(db),
            Argument::ptr(dc),
            Argument::U64(kernel.n),
        ];
        context
            .run(params, &arguments)
            .map_err(|error| format!("{error:?}").into())
    })?;
    let mut c = vec![0.0; kernel.values];
    context.read(dc, &mut c);
    Ok((time, c))
}

fn least(
    rounds: usize,
    mut side: impl FnMut() -> Result<(), Box<dyn Error>>,
) -> Result<Duration, Box<dyn Error>> {
    let mut least = Duration::MAX;
    for _ in 0..rounds {
        let start = Instant::now();
        side()?;
        least = least.min(start.elapsed());
    }
    Ok(least)
}
