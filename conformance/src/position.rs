//! Lines and columns of a text.

use std::fmt;

/// A place in a text: both numbers start at 1, columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Finds the line and column of byte offsets in one text.
#[derive(Debug)]
pub(crate) struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(text: &'a str) -> Lines<'a> {
        let starts = std::iter::once(0)
            .chain(text.match_indices('\n').map(|(at, _)| at + 1))
            .collect();
        Lines { text, starts }
    }

    /// The position of a byte offset; an offset past the end is the end.
    pub(crate) fn position(&self, offset_bytes: usize) -> Position {
        let offset_bytes = offset_bytes.min(self.text.len());
        let line = self.starts.partition_point(|start| *start <= offset_bytes);
        let start = self
            .starts
            .get(line.saturating_sub(1))
            .copied()
            .unwrap_or(0);
        let before = self.text.get(start..offset_bytes).unwrap_or_default();
        Position {
            line,
            column: before.chars().count() + 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters() {
        let lines = Lines::new("aé\n\nx");
        let at = |offset| lines.position(offset).to_string();
        assert_eq!(
            [at(0), at(3), at(4), at(5), at(6), at(99)],
            ["1:1", "1:3", "2:1", "3:1", "3:2", "3:2"]
        );
    }
}
