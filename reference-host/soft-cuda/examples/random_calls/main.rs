//! Calls the driver at random for as long as is asked, and says what it came to.
//!
//! ```sh
//! cargo run --release -p soft-cuda --example random_calls -- --seconds 600 --threads 2 --seed 1
//! ```
//!
//! Status: 0 where nothing was found, 1 where the driver did what it may not do, 2 for arguments that are none.

#![allow(
    missing_docs,
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program that tests: a panic is a finding, and it prints what it found"
)]

mod body;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use body::table::CALLS;
use body::threads::{Plan, Tally, run};

fn main() -> ExitCode {
    let Some(plan) = plan() else {
        eprintln!("usage: random_calls [--seconds N | --sequences N] [--threads N] [--seed N]");
        return ExitCode::from(2);
    };
    match run(plan) {
        Ok(tally) => {
            report(&tally);
            ExitCode::SUCCESS
        }
        Err(violation) => {
            eprintln!("{}", violation.0);
            ExitCode::FAILURE
        }
    }
}

fn plan() -> Option<Plan> {
    let mut plan = Plan {
        threads: 2,
        seed: 1,
        sequences: 1000,
        until: None,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let number: u64 = words.next()?.parse().ok()?;
        match word.as_str() {
            "--seconds" => {
                plan.until = Instant::now().checked_add(Duration::from_secs(number));
                plan.sequences = u64::MAX / 1_000_000;
            }
            "--sequences" => plan.sequences = number,
            "--threads" if number > 0 => plan.threads = number,
            "--seed" => plan.seed = number,
            _ => return None,
        }
    }
    Some(plan)
}

fn report(tally: &Tally) {
    let calls: u64 = tally.counts.iter().map(|count| count[0]).sum();
    let successes: u64 = tally.counts.iter().map(|count| count[1]).sum();
    let reached = tally.counts.iter().filter(|count| count[1] > 0).count();
    println!(
        "{} sequences ({:.0} a second), {calls} calls ({:.0} a second), {:.1} % of them succeeded",
        tally.sequences,
        tally.sequences as f64 / tally.seconds,
        calls as f64 / tally.seconds,
        100.0 * successes as f64 / calls as f64,
    );
    println!(
        "{} functions, {reached} of them with success; {} calls back",
        CALLS.len(),
        tally.called
    );
    let never = CALLS
        .iter()
        .zip(&tally.counts)
        .filter(|(_, count)| count[1] == 0);
    let never: Vec<_> = never.map(|(call, _)| call.name).collect();
    if !never.is_empty() {
        println!("never with success: {}", never.join(", "));
    }
}
