//! A `libcuda.so.1` for machines that have none: the CUDA driver API over the software GPU.
//!
//! A call enters in [`api`], a file for each chapter of the driver API; `call` wraps each one: fault injection, initialisation,
//! panics. Handles are numbers that are looked up and never followed (`handle`), so that a dangling one is an error and not a
//! crash. A `context` owns everything: memory (`memory`), modules, streams, events. Work is put in one queue
//! a context (`queue`) and carried out, in the order of the calls, when somebody waits for it: what a program does not wait for
//! it does not see.
//!
//! The names, codes and handle rules are those of the CUDA driver API; what is not there answers `CUDA_ERROR_NOT_SUPPORTED`.
//!
//! # Environment
//!
//! | variable | value | what it does |
//! |---|---|---|
//! | `SOFT_CUDA_MEMORY` | bytes | how much memory the device has |
//! | `SOFT_CUDA_INSTRUCTION_BUDGET` | number | weighted warp instructions that a launch may take |
//! | `SOFT_CUDA_FAIL` | `FUNCTION:K=CODE,…` | the K-th call of the function, from 1, answers the code and does nothing |
//! | `SOFT_CUDA_DELAY` | `FUNCTION=MICROSECONDS,…` | each call of the function begins that much later |
//! | `SOFT_CUDA_TRACE` | a file, or `-` for standard error | a line for each call: its name and its result |
//! | `SOFT_CUDA_LEAKS` | a file, or `-` for standard error | a line at the end of the process: which objects are still there |
//!
//! `CUDA_VISIBLE_DEVICES` may leave the device out, as for NVIDIA's driver: `cuInit` then answers `CUDA_ERROR_NO_DEVICE`. A file is written anew by each process. `FUNCTION` is a symbol of this library, or `*` for any: `*:K` counts all calls together. `K` may be
//! `*` for each call. `CODE` is a number or a name of the driver API's. A value that is none of these, a file that cannot be written, or another name that begins with `SOFT_CUDA_` is told on standard error, and `cuInit`
//! answers `CUDA_ERROR_INVALID_VALUE`.

#![allow(
    clippy::missing_safety_doc,
    reason = "the safety of each export is that of the driver API's function of the same name: pointers are null or good for what is read and written"
)]

pub mod api;
mod attribute;
mod call;
mod context;
mod device;
mod environment;
mod error;
mod event;
mod graph;
mod handle;
mod image;
mod inject;
mod jit;
mod launch;
mod leaks;
mod library;
mod link;
mod memory;
mod module;
mod occupancy;
mod pool;
mod primary;
mod queue;
mod settings;
mod stream;
mod types;

pub use error::Error;
pub use types::*;
