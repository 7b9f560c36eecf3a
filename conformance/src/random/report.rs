//! What random testing found.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use super::stats::{Share, Stats};
use crate::model::operation::Operation;
use crate::runtime::RuntimeInfo;
use crate::text::one_line;

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Report {
    /// The runtime.
    pub runtime: RuntimeInfo,
    /// What the sequences were made from.
    pub seed: u64,
    /// Sequences run.
    pub runs: u64,
    /// Operations in each.
    pub operations: usize,
    /// The calls that were made, not counting those for shrinking.
    pub stats: Stats,
    /// How long it took.
    pub wall: Duration,
    /// The failure, if there was one.
    pub found: Option<Box<Found>>,
}

/// A failure, shrunk.
#[derive(Clone, Debug)]
pub struct Found {
    /// Number of the sequence that failed, from 0.
    pub run: u64,
    /// What was wrong with it as it was drawn.
    pub first: String,
    /// What is wrong with what is left.
    pub what: String,
    /// The requirements that it breaks.
    pub requirements: Vec<&'static str>,
    /// Whether these are recommendations only.
    pub recommendation: bool,
    /// What is left.
    pub operations: Vec<Operation>,
    /// How many operations there were.
    pub from_operations: usize,
    /// Sequences run to shrink it.
    pub tried: usize,
    /// Whether it failed once more when it was run again.
    pub repeats: bool,
    /// A fixture that shows it.
    pub fixture: String,
}

impl Report {
    /// The report for people.
    ///
    /// `saved` is where the fixture of a finding went; without it the text ends with the fixture itself.
    pub fn to_terminal(&self, saved: Option<&Path>) -> String {
        let mut text = String::new();
        let info = &self.runtime;
        let _ = writeln!(
            text,
            "{} {}, profile {}, seed {}",
            one_line(&info.name),
            one_line(&info.version),
            info.profile,
            self.seed
        );
        let seconds = self.wall.as_secs_f64();
        let _ = writeln!(
            text,
            "{} of {}, {} in {seconds:.2} s ({:.0} operations a second)\n\n{}",
            counted(self.runs, "sequence", "sequences"),
            counted(self.operations as u64, "operation", "operations"),
            counted(self.stats.calls(), "call", "calls"),
            self.stats.operations as f64 / seconds.max(1e-9),
            self.stats.table(),
        );
        match &self.found {
            None => text.push_str("nothing found\n"),
            Some(found) => {
                let _ = writeln!(
                    text,
                    "found in sequence {}: {}{}",
                    found.run,
                    one_line(&found.what),
                    if found.recommendation {
                        " (a recommendation; --lenient does not judge these)"
                    } else {
                        ""
                    }
                );
                let _ = writeln!(
                    text,
                    "shrunk from {} to {} in {}{}\n",
                    counted(found.from_operations as u64, "operation", "operations"),
                    counted(found.operations.len() as u64, "operation", "operations"),
                    counted(found.tried as u64, "try", "tries"),
                    if found.repeats {
                        ""
                    } else {
                        "; it did not fail again when repeated"
                    }
                );
                match saved {
                    Some(path) => {
                        let path = path.display().to_string();
                        let _ = writeln!(text, "the fixture that shows it: {}", one_line(&path));
                    }
                    None => text.push_str(&found.fixture),
                }
            }
        }
        text
    }

    /// The report for programs.
    pub fn to_json(&self) -> String {
        let json = Json {
            runtime: &self.runtime,
            seed: self.seed,
            runs: self.runs,
            operations: self.stats.operations,
            calls: self.stats.shares(),
            ms: self.wall.as_secs_f64() * 1e3,
            found: self.found.as_ref().map(|found| JsonFound {
                run: found.run,
                what: &found.what,
                requirements: &found.requirements,
                recommendation: found.recommendation,
                operations: found.operations.len(),
                repeats: found.repeats,
                fixture: &found.fixture,
            }),
        };
        // Strings and numbers only: nothing that JSON cannot hold.
        let mut text = serde_json::to_string_pretty(&json).unwrap_or_default();
        text.push('\n');
        text
    }
}

fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

#[derive(Serialize)]
struct Json<'a> {
    runtime: &'a RuntimeInfo,
    seed: u64,
    runs: u64,
    operations: u64,
    calls: Vec<Share>,
    ms: f64,
    found: Option<JsonFound<'a>>,
}

#[derive(Serialize)]
struct JsonFound<'a> {
    run: u64,
    what: &'a str,
    requirements: &'a [&'static str],
    recommendation: bool,
    operations: usize,
    repeats: bool,
    fixture: &'a str,
}
