//! The reference host of `wasi:cuda/host@0.2.0`: what a guest's nine calls mean, on a CPU or without a device.
//!
//! The core knows no engine. [`calls`] holds one function per import; each takes the calling guest's [`Instance`],
//! its memory as a plain slice, and raw arguments. [`wasmtime`] binds them to wasmtime; another engine binds them
//! in as many lines. A [`Host`] is what the instances of one process share: a [`device`] and the budgets.
//!
//! A call travels like this: the binding finds the instance and the memory; the call's file turns raw numbers into
//! checked regions ([`guest`]), arguments ([`argv`]) and handles ([`registry`]); the device does the work. Whatever
//! fails is an [`Error`] kept in the instance, a code of [`abi::AbiError`] for the guest, and never a trap.
//!
//! # Examples
//!
//! A guest that allocates nothing gets a code, and may ask what was wrong:
//!
//! ```
//! use wasi_cuda_host::Host;
//! use wasi_cuda_host::wasmtime::{GuestState, add_to_linker};
//! use wasmtime::{Engine, Linker, Module, Store};
//!
//! let engine = Engine::default();
//! let mut linker = Linker::new(&engine);
//! add_to_linker(&mut linker, |state| state)?;
//!
//! let guest = r#"(module
//!     (import "wasi:cuda/host@0.2.0" "wasi_cuda_alloc" (func $alloc (param i32 i32) (result i64)))
//!     (func (export "nothing") (result i64) (call $alloc (i32.const 0) (i32.const 0))))"#;
//! let module = Module::new(&engine, wat::parse_str(guest)?)?;
//! let mut store = Store::new(&engine, GuestState::new(Host::soft().instance()));
//! let instance = linker.instantiate(&mut store, &module)?;
//! let nothing = instance.get_typed_func::<(), i64>(&mut store, "nothing")?;
//!
//! assert_eq!(nothing.call(&mut store, ())?, -9);
//! assert_eq!(store.data().instance.last_error_text(), "alloc of 0 bytes: the size must be at least 1");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![deny(missing_docs)]
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

pub use error::{Error, Refusal};
pub use host::Host;
pub use instance::Instance;
