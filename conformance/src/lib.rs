//! Conformance suite.
pub mod catalogue;
pub mod code;
pub mod fixture;
mod position;
mod profile;
pub mod runtime;
mod suite;
pub use position::Position;
pub use profile::{Profile, UnknownProfile};
pub use suite::{Suite, SuiteError, SuiteInfo};
