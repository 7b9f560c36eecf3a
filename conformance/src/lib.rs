//! Conformance suite for hosts of `wasi:cuda/host@0.2.0`.
//!
//! The suite is data: a [catalogue] of requirements and WebAssembly [fixtures](fixture) that check them. The [runner]
//! carries the fixtures out on a [runtime], [judges](judge) every call and makes a [report].
//! It is both a program (`wasi-cuda-conformance`) and this library, with which a runtime written in Rust checks itself
//! under `cargo test`: implement [`Runtime`](runtime::Runtime) and call [`assert_conformant`].
//!
//! # Example
//!
//! A runtime that embeds wasmtime. Every fixture starts a fresh host, every instance has a store of its own, and the
//! engine stops guests that run too long.
//!
//! ```no_run
//! use std::time::Duration;
//! use wasi_cuda_conformance::runtime::{Guest, Host, InstantiateError, Outcome, Runtime, RuntimeInfo, Value};
//! use wasi_cuda_conformance::{Profile, assert_conformant};
//! use wasmtime::{Engine, Instance, Linker, Module, Store, Val};
//!
//! struct Product(Engine);
//! struct ProductHost(Engine);
//! struct ProductGuest(Store<()>, Instance);
//!
//! impl Runtime for Product {
//!     fn info(&self) -> RuntimeInfo {
//!         let (name, version) = ("product".to_owned(), "1.0".to_owned());
//!         RuntimeInfo { name, version, profile: Profile::NoDevice, offers: [].into() }
//!     }
//!
//!     fn start(&self) -> Result<Box<dyn Host>, String> {
//!         Ok(Box::new(ProductHost(self.0.clone())))
//!     }
//! }
//!
//! impl Host for ProductHost {
//!     fn instantiate(&mut self, wasm: &[u8], _limit: Duration) -> Result<Box<dyn Guest>, InstantiateError> {
//!         let failed = |error: wasmtime::Error| InstantiateError::Failed(error.to_string());
//!         let module = Module::new(&self.0, wasm).map_err(failed)?;
//!         let linker = Linker::new(&self.0); // and the product's nine imports
//!         let linked = linker
//!             .instantiate_pre(&module)
//!             .map_err(|error| InstantiateError::Unlinkable(error.to_string()))?;
//!         let mut store = Store::new(&self.0, ());
//!         let instance = linked.instantiate(&mut store).map_err(failed)?;
//!         Ok(Box::new(ProductGuest(store, instance)))
//!     }
//! }
//!
//! impl Guest for ProductGuest {
//!     fn call(&mut self, export: &str, args: &[Value], _limit: Duration) -> Outcome {
//!         let Some(function) = self.1.get_func(&mut self.0, export) else {
//!             return Outcome::Failed(format!("no export {export}"));
//!         };
//!         let args: Vec<Val> = args.iter().map(|value| (*value).into()).collect();
//!         let mut results = vec![Val::I32(0); function.ty(&self.0).results().len()];
//!         match function.call(&mut self.0, &args, &mut results) {
//!             Ok(()) => Outcome::Returned(results.iter().filter_map(|value| value.try_into().ok()).collect()),
//!             Err(error) => Outcome::Trapped(error.to_string()),
//!         }
//!     }
//! }
//!
//! // In a test:
//! assert_conformant(Product(Engine::default()));
//! ```

#![deny(missing_docs)]

pub mod catalogue;
pub mod code;
pub mod deviant;
pub mod filter;
pub mod fixture;
pub mod judge;
pub mod model;
mod position;
mod profile;
pub mod random;
pub mod report;
pub mod runner;
pub mod runtime;
mod suite;
pub mod text;

use std::sync::Arc;

pub use position::Position;
pub use profile::{Profile, UnknownProfile};
pub use suite::{Suite, SuiteError, SuiteInfo};

/// Runs the embedded suite on a runtime, with the default options.
///
/// # Panics
///
/// If the runtime is not conformant, with the report; if the suite cannot run, with the reason.
#[track_caller]
pub fn assert_conformant(runtime: impl runtime::Runtime) {
    let (suite, report) = run_embedded(runtime);
    assert!(
        report.is_conformant(),
        "the runtime is not conformant\n\n{}",
        report.to_terminal(&suite.catalogue, report::Style::default())
    );
}

/// Runs the embedded suite on a runtime, with the default options, and answers one line a case, free of anything that
/// differs from run to run. Kept as a snapshot, it shows a change of behaviour in review, also one from a failure to another:
///
/// ```no_run
/// # use wasi_cuda_conformance::runtime::reference::{Device, Reference};
/// # let product = Reference::new(Device::None).unwrap();
/// insta::assert_snapshot!(wasi_cuda_conformance::snapshot(product));
/// ```
///
/// # Panics
///
/// If the suite cannot run, with the reason.
#[track_caller]
pub fn snapshot(runtime: impl runtime::Runtime) -> String {
    run_embedded(runtime).1.to_canonical()
}

#[track_caller]
fn run_embedded(runtime: impl runtime::Runtime) -> (Suite, report::Report) {
    let ran = Suite::embedded()
        .map_err(|error| error.to_string())
        .and_then(|suite| {
            let (runtime, options) = (Arc::new(runtime), runner::Options::default());
            match runner::run(&suite, runtime, &options, &mut |_, _| {}) {
                Ok(report) => Ok((suite, report)),
                Err(error) => Err(error.to_string()),
            }
        });
    match ran {
        Ok(ran) => ran,
        Err(reason) => panic!("the suite could not run: {reason}"),
    }
}
