//! The reference host of `wasi:cuda/host@0.2.0`.

#![cfg_attr(
    not(test),
    deny(
        clippy::arithmetic_side_effects,
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic
    )
)]

pub mod abi;
pub mod argv;
pub mod calls;
pub mod device;
pub mod guest;
pub mod registry;
pub mod wasmtime;

mod error;
mod host;
mod instance;
mod sync;

pub use error::Error;
pub use host::Host;
pub use instance::Instance;
