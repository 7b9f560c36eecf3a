//! Times kernels on the software GPU beside plain single-threaded Rust loops, in one run, and prints the ratios.
//!
//! Run with `cargo bench -p soft-gpu`, or with a word behind `--` to run the rows whose names contain it. Every figure is the
//! median of several rounds in which both sides take turns.

#![allow(
    clippy::print_stdout,
    reason = "a benchmark reports on standard output"
)]

mod kernels;
mod loading;
mod measure;
#[path = "../../tests/hostile/shapes.rs"]
mod shapes;
mod workload;

use std::error::Error;

/// What a row may fail with: a kernel's fault, or a result that differs from the plain loop's.
type Outcome = Result<(), Box<dyn Error>>;

/// Rounds of each measurement.
const ROUNDS: usize = 15;

fn main() -> Outcome {
    // `cargo test` builds and runs benchmarks too, without this argument: then one round shows that they work.
    let rounds = if std::env::args().any(|arg| arg == "--bench") {
        ROUNDS
    } else {
        1
    };
    let word = std::env::args()
        .skip(1)
        .find(|arg| !arg.starts_with('-'))
        .unwrap_or_default();
    println!(
        "{:<44}{:>12}{:>14}{:>9}   reach",
        "what", "soft-gpu", "beside it", "ratio"
    );
    for workload in [
        kernels::vector_add as fn() -> workload::Workload,
        kernels::matmul,
        kernels::mix,
        kernels::mandelbrot,
        kernels::attract,
        kernels::sum,
    ] {
        let mut workload = workload();
        if workload.what.contains(&word) {
            workload.time(rounds)?;
        }
    }
    for (name, run) in [
        ("launch", kernels::launch_and_return as fn(usize) -> Outcome),
        ("load", loading::compilers_output),
        ("padding", loading::padding),
        ("hostile", loading::hostile),
    ] {
        if name.contains(&word) {
            run(rounds)?;
        }
    }
    Ok(())
}
