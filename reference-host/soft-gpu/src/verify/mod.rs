//! The verifier: from syntax tree to lowered code, refusing what a PTX assembler refuses.
//!
//! `module` and `variable` walk the declarations, `function` one body and `instruction` one statement of it; `isa` knows each
//! instruction; `body` holds what is being built, and `operand`, `address` and `special` what instructions are made of.

mod address;
mod alias;
mod body;
mod directives;
mod error;
mod formal;
mod function;
mod initialiser;
mod instruction;
mod isa;
mod labels;
mod modifiers;
mod module;
mod operand;
mod special;
mod symbols;
mod variable;

pub(crate) use directives::LaunchBounds;
pub(crate) use error::{Checked, fail};
pub use error::{SemanticError, Unsupported};
pub(crate) use formal::Layout;
pub(crate) use module::verify;
pub(crate) use special::is_special_name;
pub(crate) use symbols::{ParamRole, Resolved, Scopes, Symbol};
