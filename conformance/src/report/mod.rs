//! Results and their formats.

mod canonical;
mod json;
mod terminal;
#[cfg(test)]
mod tests;

use std::time::Duration;

pub use terminal::Style;

use crate::catalogue::{Catalogue, Level};
use crate::fixture::{Case, list};
use crate::judge::Verdict;
use crate::profile::Profile;
use crate::runtime::RuntimeInfo;
use crate::suite::SuiteInfo;

/// The results of one run.
#[derive(Clone, Debug)]
pub struct Report {
    /// Which suite was run.
    pub suite: SuiteInfo,
    /// On which runtime.
    pub runtime: RuntimeInfo,
    /// Every judged case, in the suite's order.
    pub cases: Vec<CaseResult>,
    /// How long the run took.
    pub wall: Duration,
}

/// The result of one case.
#[derive(Clone, Debug)]
pub struct CaseResult {
    /// Case id.
    pub id: String,
    /// What the case shows.
    pub title: String,
    /// Requirements it checks.
    pub requirements: Vec<String>,
    /// Most binding level among them.
    pub level: Level,
    /// The judgement.
    pub verdict: Verdict,
    /// What is accepted, in words.
    pub expected: String,
    /// What happened, in words; empty when the case did not run.
    pub actual: String,
    /// What happened, without what may differ from run to run: ids, the words of a trap.
    pub stable: String,
    /// More about it, if there is more to say.
    pub message: Option<String>,
    /// Text of the error that the host recorded in this very call, if the runtime can tell.
    pub last_error: Option<String>,
    /// How long the call took.
    pub duration: Duration,
    /// A step that is not judged under this profile, or was not chosen, and went so wrong that it is reported anyway.
    pub(crate) extra: bool,
}

impl CaseResult {
    /// A result to be filled in.
    pub(crate) fn new(case: &Case, profile: Profile) -> CaseResult {
        CaseResult {
            id: case.id.clone(),
            title: case.title.clone(),
            requirements: case.requirements.clone(),
            level: case.level,
            verdict: Verdict::Error,
            expected: case.expectation.under(profile).map_or_else(
                || "any result (not judged under this profile)".to_owned(),
                list,
            ),
            actual: String::new(),
            stable: String::new(),
            message: None,
            last_error: None,
            duration: Duration::ZERO,
            extra: false,
        }
    }

    /// Whether a host with this result is not conformant: a `must` that is broken or could not be judged, or a crash
    /// or hang at any level.
    pub fn breaks_conformance(&self) -> bool {
        match self.verdict {
            Verdict::Pass | Verdict::Skip => false,
            Verdict::Fail | Verdict::Error => self.level == Level::Must,
            Verdict::Crash | Verdict::Timeout => true,
        }
    }
}

/// Counts of results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct Counts {
    /// Passed.
    pub passed: usize,
    /// Failed.
    pub failed: usize,
    /// Crashed, timed out or could not be judged.
    pub errored: usize,
    /// Skipped.
    pub skipped: usize,
}

impl Counts {
    /// Counts results.
    pub fn of<'a>(results: impl IntoIterator<Item = &'a CaseResult>) -> Counts {
        let mut counts = Counts::default();
        for result in results {
            let slot = match result.verdict {
                Verdict::Pass => &mut counts.passed,
                Verdict::Fail => &mut counts.failed,
                Verdict::Crash | Verdict::Timeout | Verdict::Error => &mut counts.errored,
                Verdict::Skip => &mut counts.skipped,
            };
            *slot += 1;
        }
        counts
    }

    /// All of them together.
    pub fn total(self) -> usize {
        self.passed + self.failed + self.errored + self.skipped
    }
}

/// The JSON Schema of [`Report::to_json`].
pub fn json_schema() -> String {
    json::schema()
}

impl Report {
    /// Whether every `must` case passed or was skipped, and nothing crashed or hung.
    pub fn is_conformant(&self) -> bool {
        !self.cases.iter().any(CaseResult::breaks_conformance)
    }

    /// Counts of the cases of one level.
    pub fn counts(&self, level: Level) -> Counts {
        Counts::of(self.cases.iter().filter(|case| case.level == level))
    }

    /// The report for people: failures first, then the summary.
    pub fn to_terminal(&self, catalogue: &Catalogue, style: Style) -> String {
        terminal::render(self, catalogue, style)
    }

    /// One line a case, the same in every run of a host that behaves the same: for snapshot tests.
    pub fn to_canonical(&self) -> String {
        canonical::render(self)
    }

    /// The report for programs; one object, ending in a line feed.
    pub fn to_json(&self) -> String {
        json::render(self)
    }
}
