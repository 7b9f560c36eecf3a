//! Random calls, in a process of their own: it must end well, and leave nothing.
//!
//! The example of the same name does the same for as long as is asked.

#![allow(
    missing_docs,
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that panics has failed, and it prints what it did"
)]

#[path = "../examples/random_calls/body/mod.rs"]
mod body;

use std::process::Command;

use body::table::CALLS;
use body::threads::{Plan, run};

fn main() {
    if std::env::var_os(INSIDE).is_some() {
        inside();
        return;
    }
    every_function_is_called();
    for (threads, sequences) in [(1, 1500), (3, 500)] {
        let own = std::env::current_exe().expect("a test knows its own path");
        let folder = tempfile::tempdir().expect("a folder for the report");
        let leaks = folder.path().join("leaks");
        let output = Command::new(own)
            .env(INSIDE, format!("{threads} {sequences}"))
            .env("SOFT_CUDA_MEMORY", "268435456")
            .env("SOFT_CUDA_INSTRUCTION_BUDGET", "100000")
            .env("SOFT_CUDA_LEAKS", &leaks)
            .output()
            .expect("a test can run itself");
        let words = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "{}: {words}{errors}",
            output.status
        );
        let leaked = std::fs::read_to_string(&leaks).expect("the library says what leaked");
        assert_eq!(leaked, "soft-cuda: leaked: none\n");
        print!("{words}");
    }
}

/// The table names what the library exports, but for what answers the same whatever it is given.
fn every_function_is_called() {
    let exported = include_str!("../src/api/surface.txt");
    let exported: Vec<_> = exported
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter(|(name, chapter)| *chapter != "absent" && !NOT_CALLED.contains(name))
        .map(|(name, _)| name)
        .collect();
    let of_table = |name: &&&str| !CALLS.iter().any(|call| call.name == **name);
    let missing: Vec<_> = exported.iter().filter(of_table).collect();
    assert!(missing.is_empty(), "not called at random: {missing:?}");
    let unknown = CALLS.iter().filter(|call| !exported.contains(&call.name));
    let unknown: Vec<_> = unknown.map(|call| call.name).collect();
    assert!(unknown.is_empty(), "not exported: {unknown:?}");
}

fn inside() {
    let plan = std::env::var(INSIDE).expect("threads and sequences");
    let mut numbers = plan.split(' ').map(|word| word.parse().expect("a number"));
    let plan = Plan {
        threads: numbers.next().expect("threads"),
        seed: 1,
        sequences: numbers.next().expect("sequences"),
        until: None,
    };
    let tally = run(plan).unwrap_or_else(|violation| panic!("{}", violation.0));
    let [calls, successes] = tally
        .counts
        .iter()
        .fold([0, 0], |sum, count| [sum[0] + count[0], sum[1] + count[1]]);
    let reached = tally.counts.iter().filter(|count| count[1] > 0).count();
    // Calls that all fail, or all succeed, would test little.
    assert!(
        successes * 10 > calls * 4 && successes * 10 < calls * 9,
        "{successes} of {calls}"
    );
    assert!(
        reached * 10 > CALLS.len() * 8,
        "{reached} functions of {} did something",
        CALLS.len()
    );
    assert!(tally.called > 0, "no function of the test's was called");
    println!(
        "{calls} random calls, {successes} with success, {reached} functions of {}",
        CALLS.len()
    );
}

/// These count uses of a context, so that it cannot be told when it ends.
const NOT_CALLED: &[&str] = &["cuCtxAttach", "cuCtxDetach"];
/// Says to a process what it is to do, and that it is the inner one.
const INSIDE: &str = "TEST_OF_SOFT_CUDA_CALLS";
