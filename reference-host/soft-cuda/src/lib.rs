//! A `libcuda.so.1` for machines that have none: the CUDA driver API over the software GPU.
//!
//! A call enters in [`api`], a file for each chapter of the driver API; [`call`](crate::call) wraps each one: fault injection, initialisation,
//! panics. Handles are numbers that are looked up and never followed ([`handle`](crate::handle)), so that a dangling one is an error and not a
//! crash. A [`context`](crate::context) owns everything: memory ([`memory`](crate::memory)), modules, streams, events. Work is put in one queue
//! a context ([`queue`](crate::queue)) and carried out, in the order of the calls, when somebody waits for it: what a program does not wait for
//! it does not see.
//!
//! The names, codes and handle rules are those of the CUDA driver API; what is not there answers `CUDA_ERROR_NOT_SUPPORTED`.

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
mod handle;
mod image;
mod inject;
mod jit;
mod launch;
mod memory;
mod module;
mod pool;
mod primary;
mod queue;
mod settings;
mod stream;
mod types;

pub use error::Error;
pub use types::*;
