//! Conformance suite.
pub mod catalogue;
pub mod code;
pub mod filter;
pub mod fixture;
pub mod judge;
mod position;
mod profile;
pub mod report;
pub mod runner;
pub mod runtime;
mod suite;
pub use position::Position;
pub use profile::{Profile, UnknownProfile};
pub use suite::{Suite, SuiteError, SuiteInfo};
