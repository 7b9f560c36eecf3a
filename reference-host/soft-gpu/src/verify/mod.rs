//! The verifier: from syntax tree to lowered code, refusing what a PTX assembler refuses.
//!
//! `module` walks the declarations, `function` one body; `isa` knows each instruction, `body` what instructions are made of.

mod body;
mod error;
mod function;
mod isa;
mod modifiers;
mod module;
mod symbols;

pub(crate) use body::MAX_FRAME_BYTES;
pub use error::{SemanticError, Unsupported};
pub(crate) use module::verify;
