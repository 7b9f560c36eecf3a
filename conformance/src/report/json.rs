//! The JSON report.

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

fn message(message: Option<&str>, last_error: Option<&str>) -> Option<String> {
    match (message, last_error) {
        (None, None) => None,
        (Some(message), None) => Some(message.to_owned()),
        (None, Some(error)) => Some(format!("last error: {error}")),
        (Some(message), Some(error)) => Some(format!("{message}; last error: {error}")),
    }
}

#[derive(Serialize)]
struct File<'a> {
    suite: &'a SuiteInfo,
    runtime: &'a RuntimeInfo,
    summary: Summary,
    cases: Vec<Case<'a>>,
}

#[derive(Serialize)]
struct Summary {
    must: Counts,
    should: Counts,
}

#[derive(Serialize)]
struct Case<'a> {
    id: &'a str,
    requirements: &'a [String],
    level: Level,
    outcome: Verdict,
    expected: &'a str,
    actual: &'a str,
    message: Option<String>,
    ms: f64,
}
