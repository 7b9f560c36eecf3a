//! Times kernels on the software GPU beside plain single-threaded Rust loops, in one run, and prints the ratios.
//!
//! Run with `cargo bench -p soft-gpu`. Every figure is the median of several rounds in which both sides take turns.

#![allow(
    clippy::print_stdout,
    reason = "a benchmark reports on standard output"
)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use soft_gpu::{LaunchConfig, Memory, Module, launch};

const PTX: &[u8] = include_bytes!("../../../fixtures/kernels/bench.ptx");

/// Runs so many rounds of one measurement and prints its row.
type Benchmark = fn(&Module, usize) -> Result<(), Box<dyn std::error::Error>>;

/// Rounds of each measurement.
const ROUNDS: usize = 15;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // `cargo test` builds and runs benchmarks too, without this argument: then one round shows that they work.
    let rounds = if std::env::args().any(|arg| arg == "--bench") {
        ROUNDS
    } else {
        1
    };
    let module = Module::load(PTX)?;
    println!(
        "{:<34}{:>14}{:>14}{:>9}   reach",
        "what", "soft-gpu", "plain Rust", "ratio"
    );
    // A word on the command line picks the benchmarks whose names contain it.
    let word = std::env::args()
        .skip(1)
        .find(|arg| !arg.starts_with('-'))
        .unwrap_or_default();
    let benchmarks: [(&str, Benchmark); 4] = [
        ("vector_add", vector_add),
        ("matmul", matmul),
        ("launch", launch_and_return),
        ("load", load),
    ];
    for (name, run) in benchmarks {
        if name.contains(&word) {
            run(&module, rounds)?;
        }
    }
    Ok(())
}

/// `c = a + b` over 1M single-precision values.
fn vector_add(module: &Module, rounds: usize) -> Result<(), Box<dyn std::error::Error>> {
    const N: usize = 1 << 20;
    let a: Vec<f32> = (0..N).map(|i| i as f32 * 0.5).collect();
    let b: Vec<f32> = (0..N).map(|i| (N - i) as f32 * 0.25).collect();
    let (mut a_bytes, mut b_bytes, mut c_bytes) = (bytes(&a), bytes(&b), vec![0u8; 4 * N]);
    let mut plain = vec![0f32; N];
    let config = LaunchConfig {
        grid: [(N as u32).div_ceil(256), 1, 1],
        block: [256, 1, 1],
        ..LaunchConfig::default()
    };
    let entry = module.entry("vector_add").ok_or("no vector_add")?;
    let params = params(&[0x10_0000, 0x1000_0000, 0x2000_0000], N as u32);
    let [soft, rust] = paired(rounds, |plain_turn| {
        if plain_turn {
            for ((c, a), b) in plain.iter_mut().zip(black_box(&a)).zip(black_box(&b)) {
                *c = a + b;
            }
            black_box(&plain);
        } else {
            let mut memory = Memory::new();
            memory.map(0x10_0000, &mut a_bytes)?;
            memory.map(0x1000_0000, &mut b_bytes)?;
            memory.map(0x2000_0000, &mut c_bytes)?;
            launch(
                module,
                entry,
                &config,
                &params,
                &mut module.globals(),
                &mut memory,
            )?;
        }
        Ok(())
    })?;
    if c_bytes != bytes(&plain) {
        return Err("vector_add: the results differ".into());
    }
    row("vector_add, 1M f32", soft, Some(rust), "<= 15x");
    Ok(())
}

/// A tiled product of two 256 by 256 matrices.
fn matmul(module: &Module, rounds: usize) -> Result<(), Box<dyn std::error::Error>> {
    const N: usize = 256;
    let a: Vec<f32> = (0..N * N).map(|i| (i % 17) as f32).collect();
    let b: Vec<f32> = (0..N * N).map(|i| (i % 13) as f32).collect();
    let (mut a_bytes, mut b_bytes, mut c_bytes) = (bytes(&a), bytes(&b), vec![0u8; 4 * N * N]);
    let mut plain = vec![0f32; N * N];
    let config = LaunchConfig {
        grid: [16, 16, 1],
        block: [16, 16, 1],
        ..LaunchConfig::default()
    };
    let entry = module.entry("matmul_tiled").ok_or("no matmul_tiled")?;
    let params = params(&[0x10_0000, 0x1000_0000, 0x2000_0000], N as u32);
    let [soft, rust] = paired(rounds, |plain_turn| {
        if plain_turn {
            let (a, b) = (black_box(&a), black_box(&b));
            plain.fill(0.0);
            for (row, out) in plain.chunks_exact_mut(N).enumerate() {
                for k in 0..N {
                    let factor = a[row * N + k];
                    for (c, b) in out.iter_mut().zip(&b[k * N..][..N]) {
                        *c += factor * b;
                    }
                }
            }
            black_box(&plain);
        } else {
            let mut memory = Memory::new();
            memory.map(0x10_0000, &mut a_bytes)?;
            memory.map(0x1000_0000, &mut b_bytes)?;
            memory.map(0x2000_0000, &mut c_bytes)?;
            launch(
                module,
                entry,
                &config,
                &params,
                &mut module.globals(),
                &mut memory,
            )?;
        }
        Ok(())
    })?;
    // The factors are small whole numbers, so that fused and separate rounding agree.
    if c_bytes != bytes(&plain) {
        return Err("matmul: the results differ".into());
    }
    row("tiled matmul, 256 x 256 f32", soft, Some(rust), "later 10x");
    Ok(())
}

/// An empty kernel of one thread.
fn launch_and_return(module: &Module, rounds: usize) -> Result<(), Box<dyn std::error::Error>> {
    const LAUNCHES: u32 = 1000;
    let entry = module.entry("nothing").ok_or("no nothing")?;
    let mut globals = module.globals();
    let [soft, _] = paired(rounds, |plain_turn| {
        for _ in 0..if plain_turn { 0 } else { LAUNCHES } {
            launch(
                module,
                entry,
                &LaunchConfig::default(),
                &[],
                &mut globals,
                &mut Memory::new(),
            )?;
        }
        Ok(())
    })?;
    row(
        "launch of an empty one-thread kernel",
        soft / LAUNCHES,
        None,
        "<= 5 µs",
    );
    Ok(())
}

/// Parse, verify and lower nvcc's output.
fn load(_: &Module, rounds: usize) -> Result<(), Box<dyn std::error::Error>> {
    let source = include_bytes!("../../../fixtures/kernels/sha.ptx");
    let [soft, _] = paired(rounds, |plain_turn| {
        if !plain_turn {
            black_box(Module::load(black_box(source))?);
        }
        Ok(())
    })?;
    let rate = source.len() as f64 / soft.as_secs_f64() / 1e6;
    println!(
        "{:<34}{:>14}{:>14}{:>9}   later 60 MB/s",
        "parse + verify + lower sha.ptx",
        format!("{rate:.0} MB/s"),
        "",
        ""
    );
    Ok(())
}

/// Times both sides in turn and returns the median of each: first the kernel's, then the plain loop's.
fn paired(
    rounds: usize,
    mut side: impl FnMut(bool) -> Result<(), Box<dyn std::error::Error>>,
) -> Result<[Duration; 2], Box<dyn std::error::Error>> {
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..=rounds {
        for (times, plain_turn) in times.iter_mut().zip([false, true]) {
            let start = Clock::start();
            side(plain_turn)?;
            times.push(start.elapsed());
        }
    }
    Ok(times.map(|mut times| {
        // The first round warms up.
        let mut times = times.split_off(1);
        times.sort_unstable();
        times[times.len() / 2]
    }))
}

/// Time that this thread was on a processor, where the system tells, so that a busy machine disturbs less; else time that passed.
struct Clock {
    passed: Instant,
    running: Option<Duration>,
}

impl Clock {
    fn start() -> Self {
        Self {
            passed: Instant::now(),
            running: running(),
        }
    }

    fn elapsed(&self) -> Duration {
        match (self.running, running()) {
            (Some(start), Some(end)) => end.saturating_sub(start),
            _ => self.passed.elapsed(),
        }
    }
}

/// How long this thread has run.
#[cfg(target_os = "linux")]
fn running() -> Option<Duration> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).ok()
}

#[cfg(not(target_os = "linux"))]
fn running() -> Option<Duration> {
    None
}

fn row(what: &str, soft: Duration, rust: Option<Duration>, reach: &str) {
    let ratio = rust.map(|rust| format!("{:.1}x", soft.as_secs_f64() / rust.as_secs_f64()));
    let rust = rust.map(|rust| format!("{:.1} µs", rust.as_secs_f64() * 1e6));
    let soft = format!("{:.2} µs", soft.as_secs_f64() * 1e6);
    println!(
        "{what:<34}{soft:>14}{:>14}{:>9}   {reach}",
        rust.unwrap_or_default(),
        ratio.unwrap_or_default()
    );
}

fn bytes(values: &[f32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

fn params(pointers: &[u64], n: u32) -> Vec<u8> {
    let mut buffer: Vec<u8> = pointers
        .iter()
        .flat_map(|pointer| pointer.to_le_bytes())
        .collect();
    buffer.extend(n.to_le_bytes());
    buffer
}
