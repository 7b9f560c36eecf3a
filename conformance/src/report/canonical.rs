//! The canonical text: what a host does, and nothing that differs between two runs of the same host.
//!
//! No times, no ids, no versions, no messages. A line changes only when a case comes, goes, or ends differently.

use std::fmt::Write as _;

use super::Report;
use crate::text::one_line;

pub(super) fn render(report: &Report) -> String {
    let mut text = format!("profile {}\n\n", report.runtime.profile);
    for case in &report.cases {
        let line = format!(
            "{:8}{}  {}",
            case.verdict.name(),
            one_line(&case.id),
            one_line(&case.stable)
        );
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}
