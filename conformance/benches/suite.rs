//! Times the whole suite, in process: `cargo bench --bench suite`.

#![allow(clippy::print_stdout, reason = "the table is the result")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use wasi_cuda_conformance::Suite;
use wasi_cuda_conformance::runner::{self, Options};
use wasi_cuda_conformance::runtime::reference::{Device, Reference};

const ROUNDS: usize = 5;
const TARGET_MS: f64 = 2000.0;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let load = median((0..ROUNDS).map(|_| timed(Suite::embedded).0));
    println!(
        "{:16}  {:>6}  {:>9}  {:>9}  {:>9}  {:>9}",
        "suite", "cases", "median ms", "worst ms", "cases/s", "target ms"
    );
    println!("{:16}  {:>6}  {:>9.1}", "load", "", ms(load));
    let suite = Suite::embedded()?;
    for (name, device) in [
        ("reference:soft", Device::Soft),
        ("reference:none", Device::None),
    ] {
        let mut cases = 0;
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS {
            // Setting the engine up is part of a run.
            let (wall, report) = timed(|| -> Result<_, Box<dyn std::error::Error>> {
                Ok(runner::run(
                    &suite,
                    Arc::new(Reference::new(device)?),
                    &Options::default(),
                    &mut |_, _| {},
                )?)
            });
            cases = report?.cases.len();
            rounds.push(wall);
        }
        let worst = rounds.iter().max().copied().unwrap_or_default();
        let median = median(rounds.into_iter());
        #[allow(
            clippy::cast_precision_loss,
            reason = "a count of cases is far below 2^52"
        )]
        let rate = cases as f64 / median.as_secs_f64();
        let verdict = if ms(median) <= TARGET_MS {
            "reached"
        } else {
            "MISSED"
        };
        println!(
            "{name:16}  {cases:>6}  {:>9.1}  {:>9.1}  {rate:>9.0}  {TARGET_MS:>9.0}  {verdict}",
            ms(median),
            ms(worst)
        );
    }
    Ok(())
}

fn timed<R>(work: impl FnOnce() -> R) -> (Duration, R) {
    let started = Instant::now();
    let result = work();
    (started.elapsed(), result)
}

fn median(rounds: impl Iterator<Item = Duration>) -> Duration {
    let mut rounds: Vec<Duration> = rounds.collect();
    rounds.sort();
    rounds.get(rounds.len() / 2).copied().unwrap_or_default()
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
