//! Why a PTX source is refused, and where.

use thiserror::Error;

pub use crate::parser::SyntaxError;
pub use crate::verify::{SemanticError, Unsupported};

/// A refused PTX source: the first thing wrong with it and its place.
///
/// Displays as `line:column: message`.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{}:{}: {cause}", at.line, at.column)]
pub struct PtxError {
    /// Where the offending text starts.
    pub at: Location,
    /// What is wrong with it.
    pub cause: PtxErrorCause,
}

/// What is wrong with a PTX source.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum PtxErrorCause {
    /// The text is not PTX: an assembler's lexer or parser stops here.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// The text parses, but names, types or modifiers do not fit.
    #[error(transparent)]
    Semantic(#[from] SemanticError),
    /// Good PTX that this software GPU does not implement.
    #[error("not implemented by the software GPU: {0}")]
    Unsupported(#[from] Unsupported),
}

/// A place in a source text, counted from 1; a column counts bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Location {
    /// Line number, from 1. `\n`, `\r\n` and a lone `\r` each end a line once.
    pub line: u32,
    /// Byte column, from 1.
    pub column: u32,
}

impl Location {
    /// The place of byte `offset` of `source`; an offset past the end gives the end.
    #[must_use]
    pub fn of(source: &[u8], offset: u32) -> Self {
        let before = source.get(..offset as usize).unwrap_or(source);
        let (mut line, mut start) = (1u32, 0usize);
        let mut bytes = before.iter().enumerate().peekable();
        while let Some((at, byte)) = bytes.next() {
            let ends_line = match byte {
                b'\n' => true,
                b'\r' => {
                    bytes.peek().is_some_and(|(_, next)| **next != b'\n')
                        || at.saturating_add(1) == before.len()
                }
                _ => false,
            };
            if ends_line {
                line = line.saturating_add(1);
                start = at.saturating_add(1);
            }
        }
        let column = u32::try_from(before.len().saturating_sub(start))
            .unwrap_or(u32::MAX)
            .saturating_add(1);
        Self { line, column }
    }
}
