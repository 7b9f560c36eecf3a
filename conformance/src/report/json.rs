//! The JSON report.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Counts, Report};
use crate::catalogue::Level;
use crate::judge::Verdict;
use crate::runtime::RuntimeInfo;
use crate::suite::SuiteInfo;

pub(super) fn render(report: &Report) -> String {
    let file = File {
        suite: &report.suite,
        runtime: &report.runtime,
        summary: Summary {
            must: report.counts(Level::Must),
            should: report.counts(Level::Should),
        },
        cases: report
            .cases
            .iter()
            .map(|case| Case {
                id: &case.id,
                requirements: &case.requirements,
                level: case.level,
                outcome: case.verdict,
                expected: &case.expected,
                actual: &case.actual,
                message: message(case.message.as_deref(), case.last_error.as_deref()),
                // Microseconds are more than a clock promises and keep the number short.
                ms: (case.duration.as_secs_f64() * 1e6).round() / 1e3,
            })
            .collect(),
    };
    // Maps with string keys and finite numbers always serialise.
    let mut text = serde_json::to_string_pretty(&file).unwrap_or_default();
    text.push('\n');
    text
}

/// The JSON Schema of the report, pretty-printed, ending in a line feed.
pub(super) fn schema() -> String {
    let schema = schemars::schema_for!(File<'_>);
    // A schema is a map with string keys, which always serialises.
    let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text.push('\n');
    text
}

fn message(message: Option<&str>, last_error: Option<&str>) -> Option<String> {
    match (message, last_error) {
        (None, None) => None,
        (Some(message), None) => Some(message.to_owned()),
        (None, Some(error)) => Some(format!("last error: {error}")),
        (Some(message), Some(error)) => Some(format!("{message}; last error: {error}")),
    }
}

/// The results of one run of the suite on one runtime.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Report")]
struct File<'a> {
    /// Which suite was run.
    suite: &'a SuiteInfo,
    /// The runtime under test.
    runtime: &'a RuntimeInfo,
    /// Counts of results by the level of their cases.
    summary: Summary,
    /// Every judged case, in the suite's order.
    cases: Vec<Case<'a>>,
}

/// Counts of results by the level of their cases.
#[derive(Serialize, JsonSchema)]
struct Summary {
    /// Cases whose most binding requirement is a `must`.
    must: Counts,
    /// Cases whose most binding requirement is a `should`.
    should: Counts,
}

/// The result of one case.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Case")]
struct Case<'a> {
    /// Stable id: the fixture's path, the step, its parameters.
    id: &'a str,
    /// Ids of the requirements it checks.
    requirements: &'a [String],
    /// The most binding level among them.
    level: Level,
    /// How it ended.
    outcome: Verdict,
    /// What is accepted, in words.
    expected: &'a str,
    /// What happened, in words; empty when the case did not run.
    actual: &'a str,
    /// More about it, if there is more to say.
    message: Option<String>,
    /// How long the call took, in milliseconds.
    ms: f64,
}
