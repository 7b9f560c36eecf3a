//! The report for people.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use anstyle::{AnsiColor, Style as Ansi};

use super::{CaseResult, Counts, Report};
use crate::catalogue::{Catalogue, Level};
use crate::judge::Verdict;
use crate::text::one_line;

/// How to print for people.
#[derive(Clone, Debug, Default)]
pub struct Style {
    /// Whether to use colours.
    pub colour: bool,
    /// The command line that a case id in quotes completes to one that runs the case alone; no such line when `None`.
    pub rerun: Option<String>,
}

pub(super) fn render(report: &Report, catalogue: &Catalogue, style: Style) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = Writer {
        out: &mut out,
        catalogue,
        style: &style,
    }
    .report(report);
    out
}

struct Writer<'a> {
    out: &'a mut String,
    catalogue: &'a Catalogue,
    style: &'a Style,
}

impl Writer<'_> {
    fn report(&mut self, report: &Report) -> fmt::Result {
        for case in report.cases.iter().filter(|case| case.verdict.is_bad()) {
            self.bad(case)?;
        }
        self.skips(report)?;
        self.summary(report)
    }

    fn bad(&mut self, case: &CaseResult) -> fmt::Result {
        let word = case.verdict.name().to_uppercase();
        let word = self.paint(
            if case.breaks_conformance() {
                RED
            } else {
                YELLOW
            },
            &word,
        );
        let id = self.paint(BOLD, &one_line(&case.id));
        let weak = match case.level {
            Level::Must => String::new(),
            level => format!("  ({level})"),
        };
        writeln!(self.out, "{word} {id}{weak}\n  {}", one_line(&case.title))?;
        for id in &case.requirements {
            let requirement = self.catalogue.requirement(id);
            let level = requirement.map_or("", |requirement| requirement.level.name());
            let statement = requirement.map_or("", |requirement| requirement.statement.as_str());
            writeln!(
                self.out,
                "  requires  {} ({level}): {}",
                one_line(id),
                one_line(statement)
            )?;
        }
        writeln!(self.out, "  expected  {}", one_line(&case.expected))?;
        for (label, text) in [
            ("actual   ", Some(&case.actual)),
            ("message  ", case.message.as_ref()),
            ("host said", case.last_error.as_ref()),
        ] {
            if let Some(text) = text.filter(|text| !text.is_empty()) {
                writeln!(self.out, "  {label} {}", one_line(text))?;
            }
        }
        if let Some(rerun) = &self.style.rerun {
            writeln!(
                self.out,
                "  rerun     {} --filter '{}'",
                one_line(rerun),
                one_line(&case.id)
            )?;
        }
        writeln!(self.out)
    }

    fn skips(&mut self, report: &Report) -> fmt::Result {
        let mut reasons = BTreeMap::<&str, usize>::new();
        for case in report
            .cases
            .iter()
            .filter(|case| case.verdict == Verdict::Skip)
        {
            *reasons
                .entry(case.message.as_deref().unwrap_or_default())
                .or_default() += 1;
        }
        for (reason, count) in &reasons {
            let word = self.paint(YELLOW, "SKIP");
            writeln!(self.out, "{word} {count} case(s): {}", one_line(reason))?;
        }
        if reasons.is_empty() {
            Ok(())
        } else {
            writeln!(self.out)
        }
    }

    fn summary(&mut self, report: &Report) -> fmt::Result {
        let runtime = &report.runtime;
        let digest = report
            .suite
            .digest
            .get(..19)
            .unwrap_or(&report.suite.digest);
        writeln!(
            self.out,
            "{} {}, profile {}, suite {} ({digest})\n",
            one_line(&runtime.name),
            one_line(&runtime.version),
            runtime.profile,
            report.suite.version
        )?;
        let mut folders = BTreeMap::<&str, Vec<&CaseResult>>::new();
        for case in &report.cases {
            let folder = case.id.split('/').next().unwrap_or_default();
            folders.entry(folder).or_default().push(case);
        }
        let width = folders
            .keys()
            .map(|folder| folder.len())
            .max()
            .unwrap_or(0)
            .max("should".len());
        let header = format!(
            "{:width$}  {:>6}  {:>6}  {:>7}  {:>7}",
            "", "passed", "failed", "errored", "skipped"
        );
        let header = self.paint(BOLD, header.trim_end());
        writeln!(self.out, "{header}")?;
        for (folder, cases) in folders {
            self.row(&one_line(folder), width, Counts::of(cases))?;
        }
        writeln!(self.out)?;
        for level in Level::ALL {
            let counts = report.counts(level);
            if counts.total() > 0 {
                self.row(level.name(), width, counts)?;
            }
        }
        let total = Counts::of(&report.cases);
        let seconds = report.wall.as_secs_f64();
        let verdict = if report.is_conformant() {
            self.paint(GREEN, "conformant")
        } else {
            self.paint(RED, "NOT conformant")
        };
        writeln!(
            self.out,
            "\n{verdict}: {} of {} cases passed in {seconds:.2} s",
            total.passed,
            total.total()
        )
    }

    fn row(&mut self, name: &str, width: usize, counts: Counts) -> fmt::Result {
        let cell = |count: usize, width: usize, style: Ansi| {
            let text = format!("{count:>width$}");
            if count == 0 {
                text
            } else {
                self.paint(style, &text)
            }
        };
        let (passed, failed) = (cell(counts.passed, 6, GREEN), cell(counts.failed, 6, RED));
        let (errored, skipped) = (
            cell(counts.errored, 7, RED),
            cell(counts.skipped, 7, YELLOW),
        );
        writeln!(
            self.out,
            "{name:width$}  {passed}  {failed}  {errored}  {skipped}"
        )
    }

    fn paint(&self, style: Ansi, text: &str) -> String {
        if self.style.colour {
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }
}

const BOLD: Ansi = Ansi::new().bold();
const RED: Ansi = AnsiColor::Red.on_default().bold();
const GREEN: Ansi = AnsiColor::Green.on_default();
const YELLOW: Ansi = AnsiColor::Yellow.on_default();
