//! What a run was made of: calls by import and by how they ended.

use std::fmt::Write as _;

use serde::Serialize;

use crate::model::{Code, Import};

/// Counts of calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Operations carried out.
    pub operations: u64,
    /// By import in the order of [`Import::ALL`]: successes, then the codes from -1 down.
    calls: [[u64; 12]; 9],
}

/// The calls of one import that ended in one way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Share {
    /// The import, without `wasi_cuda_`.
    pub import: &'static str,
    /// `success`, or the name of the code.
    pub outcome: &'static str,
    /// How many.
    pub calls: u64,
}

impl Stats {
    pub(super) fn count(&mut self, import: Import, answer: i64) {
        let column = Code::of_result(answer).map_or(0, |code| code.number().unsigned_abs());
        let row = Import::ALL.iter().position(|other| *other == import);
        let cell = row
            .and_then(|row| self.calls.get_mut(row))
            .and_then(|row| row.get_mut(usize::try_from(column).unwrap_or(0)));
        if let Some(cell) = cell {
            *cell += 1;
        }
    }

    pub(super) fn add(&mut self, other: &Stats) {
        self.operations += other.operations;
        for (row, more) in self.calls.iter_mut().zip(&other.calls) {
            for (cell, more) in row.iter_mut().zip(more) {
                *cell += more;
            }
        }
    }

    /// The ends that occurred, import by import.
    pub fn shares(&self) -> Vec<Share> {
        let mut shares = Vec::new();
        for (import, row) in Import::ALL.iter().zip(&self.calls) {
            for (column, calls) in (0..).zip(row).filter(|(_, calls)| **calls > 0) {
                let outcome = Code::of_result(-column).map_or("success", Code::name);
                shares.push(Share {
                    import: import.name(),
                    outcome,
                    calls: *calls,
                });
            }
        }
        shares
    }

    /// All calls.
    pub fn calls(&self) -> u64 {
        self.calls.iter().flatten().sum()
    }

    /// The calls of this import that succeeded.
    pub fn successes(&self, import: Import) -> u64 {
        Import::ALL
            .iter()
            .position(|other| *other == import)
            .and_then(|row| self.calls.get(row))
            .and_then(|row| row.first())
            .copied()
            .unwrap_or(0)
    }

    /// A paragraph for each import, of lines that are not too long.
    pub fn table(&self) -> String {
        let mut text = String::new();
        for import in Import::ALL {
            let shares: Vec<String> = self
                .shares()
                .into_iter()
                .filter(|share| share.import == import.name())
                .map(|share| format!("{} {}", share.calls, share.outcome))
                .collect();
            let mut line = format!("  {:<16}", import.name());
            for (index, share) in shares.iter().enumerate() {
                let comma = if index + 1 < shares.len() { "," } else { "" };
                if line.len() + 1 + share.len() + comma.len() > WIDTH {
                    let _ = writeln!(text, "{line}");
                    line = format!("  {:<16}", "");
                }
                let _ = write!(line, " {share}{comma}");
            }
            let _ = writeln!(text, "{}", line.trim_end());
        }
        text
    }
}

/// Columns of the table.
const WIDTH: usize = 96;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_every_outcome_stays_narrow_and_loses_none() {
        let mut stats = Stats::default();
        for import in Import::ALL {
            for answer in -11..=0 {
                for _ in 0..1000 {
                    stats.count(import, answer);
                }
            }
        }
        let table = stats.table();
        assert!(table.lines().all(|line| line.len() <= WIDTH), "{table}");
        assert!(table.lines().all(|line| line == line.trim_end()), "{table}");
        assert_eq!(table.matches("1000 ").count(), 12 * Import::ALL.len());
    }
}
