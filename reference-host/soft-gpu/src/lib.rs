//! A software GPU: parses PTX, verifies it as an assembler does, and executes it on the CPU.
//!
//! It knows nothing of WebAssembly. [`Module::load`] takes a PTX source, [`launch`] runs one of its kernels over a grid of
//! blocks, on [`Memory`] that the caller maps. Warps of 32 lanes run in lockstep in one fixed order, so that every run of the
//! same launch gives the same bits and the same fault. Every memory access is checked.
//!
//! A source passes through `lexer` and `parser` to the syntax tree (`ast`), through `verify` to micro-ops (`code`), which
//! `exec` runs.
//!
//! # Examples
//!
//! ```
//! use soft_gpu::{LaunchConfig, Memory, Module, launch};
//!
//! let ptx = br#"
//!     .version 7.0
//!     .target sm_75
//!     .address_size 64
//!     .visible .entry double(.param .u64 data)
//!     {
//!         .reg .b32 %r<3>;
//!         .reg .b64 %rd<4>;
//!         ld.param.u64 %rd1, [data];
//!         mov.u32 %r1, %tid.x;
//!         mul.wide.u32 %rd2, %r1, 4;
//!         add.s64 %rd3, %rd1, %rd2;
//!         ld.global.u32 %r2, [%rd3];
//!         add.u32 %r2, %r2, %r2;
//!         st.global.u32 [%rd3], %r2;
//!         ret;
//!     }
//! "#;
//! let module = Module::load(ptx)?;
//! let entry = module.entry("double").ok_or("no such kernel")?;
//! let mut data: Vec<u8> = [1u32, 2, 3].iter().flat_map(|value| value.to_le_bytes()).collect();
//! let mut memory = Memory::new();
//! memory.map(0x1000, &mut data)?;
//! let config = LaunchConfig { grid: [1, 1, 1], block: [3, 1, 1], ..LaunchConfig::default() };
//! launch(&module, entry, &config, &0x1000u64.to_le_bytes(), &mut module.globals(), &mut memory)?;
//! assert_eq!(data[8..], 6u32.to_le_bytes());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![deny(missing_docs)]
#![deny(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]
#![cfg_attr(
    test,
    allow(
        clippy::arithmetic_side_effects,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::panic,
        clippy::unwrap_used,
        reason = "a test that panics has failed"
    )
)]

mod ast;
mod code;
mod dump;
mod error;
#[allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "register numbers and frames come from the verifier and lanes are below 32; what a kernel computes wraps explicitly"
)]
mod exec;
mod fault;
mod fuse;
mod globals;
mod heap;
mod launch;
mod lexer;
mod limits;
#[allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "it counts and moves entries of lists that it holds itself"
)]
mod lower;
mod memory;
mod module;
mod output;
mod parser;
mod pool;
mod signature;
mod types;
mod verify;

pub use error::{Location, PtxError, PtxErrorCause, SemanticError, SyntaxError, Unsupported};
pub use fault::{Awaited, Fault, FaultKind, Nearest, Object, OtherAccess, Wait};
pub use globals::{Globals, Variable, VariableSpace};
pub use launch::{Checks, ConfigError, LaunchConfig, LaunchError, launch};
pub use memory::{MapError, Memory};
pub use module::{Entry, LoadAtError, Module, Param};
pub use signature::Signature;
