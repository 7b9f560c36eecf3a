//! Times the suite, in process: `cargo bench -p wasi-cuda-conformance --bench suite`.

#![allow(clippy::print_stdout, reason = "the table is the result")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use wasi_cuda_conformance::Suite;
use wasi_cuda_conformance::catalogue::Class;
use wasi_cuda_conformance::fixture::{Case, Fixture};
use wasi_cuda_conformance::runner::{self, Options};
use wasi_cuda_conformance::runtime::reference::{Device, Reference};

const ROUNDS: usize = 5;
const WHOLE_MS: f64 = 1500.0;
const CASES_PER_SECOND: f64 = 1000.0;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let load = median((0..ROUNDS).map(|_| timed(Suite::embedded).0));
    println!(
        "{:28}  {:>6}  {:>9}  {:>9}  {:>9}",
        "suite", "cases", "median ms", "worst ms", "cases/s"
    );
    println!("{:28}  {:>6}  {:>9.1}", "load", "", ms(load));
    let whole = Suite::embedded()?;
    let mut light = whole.clone();
    light.fixtures.retain(|fixture| !has_caps(&whole, fixture));
    for (name, device) in [("soft", Device::Soft), ("none", Device::None)] {
        let wall = row(&format!("reference:{name}"), &whole, device)?;
        println!(
            "{}",
            verdict(ms(wall.0) <= WHOLE_MS, &format!("{WHOLE_MS} ms at most"))
        );
        let (_, rate) = row(&format!("reference:{name} without caps"), &light, device)?;
        let target = format!("{CASES_PER_SECOND} cases/s at least");
        println!("{}", verdict(rate >= CASES_PER_SECOND, &target));
    }
    Ok(())
}

/// Whether a fixture fills something up, which is slow by nature.
fn has_caps(suite: &Suite, fixture: &Fixture) -> bool {
    let is_cap = |case: &Case| {
        let mut classes = case
            .requirements
            .iter()
            .filter_map(|id| suite.catalogue.requirement(id));
        classes.any(|requirement| requirement.class == Class::Cap)
    };
    fixture.cases().any(is_cap)
}

/// Runs the suite a few times and prints all but the end of its row; answers the median time and the cases a second.
fn row(
    name: &str,
    suite: &Suite,
    device: Device,
) -> Result<(Duration, f64), Box<dyn std::error::Error>> {
    let mut cases = 0;
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        // Setting the engine up is part of a run.
        let (wall, report) = timed(|| -> Result<_, Box<dyn std::error::Error>> {
            let runtime = Arc::new(Reference::new(device)?);
            Ok(runner::run(
                suite,
                runtime,
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
    print!(
        "{name:28}  {cases:>6}  {:>9.1}  {:>9.1}  {rate:>9.0}  ",
        ms(median),
        ms(worst)
    );
    Ok((median, rate))
}

fn verdict(reached: bool, target: &str) -> String {
    format!("{} ({target})", if reached { "reached" } else { "MISSED" })
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
