//! The order in which threads run: any control flow gives what each thread would do alone, threads that wait for each other get on, and
//! every run of a launch is like any other.

mod flow;
#[path = "../semantics/harness.rs"]
#[allow(
    dead_code,
    reason = "shared with the tests of semantics, which use all of it"
)]
mod harness;
mod progress;
mod repetition;
