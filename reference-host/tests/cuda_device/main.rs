//! The CUDA device through the calls that any engine's binding makes: what reaches the driver, what comes back, and what is left when it fails.
//!
//! These tests run over soft-cuda (`scripts/with-soft-cuda.sh`). Those that need a driver in an evil mood ask its environment for that, which is the
//! process's: such a test runs itself once more, in a process of its own ([`child`]).

#![allow(
    unsafe_code,
    reason = "an embedder's own driver calls, one of which `cust` makes unsafe"
)]

mod absence;
mod child;
mod embedder;
mod faults;
mod guest;
mod loading;
mod lost;
mod shapes;
mod watchdog;
mod windows;
