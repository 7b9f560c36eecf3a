//! What came of the mutants: the share that agrees, and each kind that does not.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::ptxas::Verdict;
use crate::reduce::reduce;
use crate::verdicts::{Assembler, Ours, kind_of, load};

/// One mutant and both answers.
pub(crate) struct Case {
    /// What was done to the source.
    pub(crate) kind: &'static str,
    pub(crate) file: PathBuf,
    /// The instruction or directive that was touched.
    pub(crate) opcode: String,
    pub(crate) text: String,
    pub(crate) theirs: Verdict,
    pub(crate) ours: Ours,
}

/// What two answers make together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    BothTake,
    BothRefuse,
    /// ptxas takes it, and so would the verifier if the instruction were implemented.
    UnsupportedTaken,
    /// ptxas refuses it, and what is not implemented is not looked at closely.
    UnsupportedRefused,
    /// The verifier takes what ptxas refuses.
    Lenient,
    /// The verifier calls malformed what ptxas takes.
    Strict,
    /// ptxas ended by a signal: nothing to compare with.
    NoAnswer,
}

impl Outcome {
    const ALL: [Self; 7] = [
        Self::BothTake,
        Self::BothRefuse,
        Self::UnsupportedTaken,
        Self::UnsupportedRefused,
        Self::Lenient,
        Self::Strict,
        Self::NoAnswer,
    ];

    fn of(theirs: &Verdict, ours: &Ours) -> Self {
        match (theirs, ours) {
            (Verdict::Crashed, _) => Self::NoAnswer,
            (Verdict::Taken, Ours::Taken) => Self::BothTake,
            (Verdict::Refused(_), Ours::Refused(_)) => Self::BothRefuse,
            (Verdict::Taken, Ours::Unsupported(_)) => Self::UnsupportedTaken,
            (Verdict::Refused(_), Ours::Unsupported(_)) => Self::UnsupportedRefused,
            (Verdict::Refused(_), Ours::Taken) => Self::Lenient,
            (Verdict::Taken, Ours::Refused(_)) => Self::Strict,
        }
    }

    fn disagrees(self) -> bool {
        matches!(self, Self::Lenient | Self::Strict)
    }
}

impl Case {
    fn outcome(&self) -> Outcome {
        Outcome::of(&self.theirs, &self.ours)
    }

    /// One line for all disagreements that have one cause: direction, instruction, and the refusing side's words.
    fn group(&self) -> String {
        match (&self.theirs, &self.ours) {
            (Verdict::Refused(message), Ours::Taken) => {
                format!("lenient | {} | {}", self.opcode, kind_of(message))
            }
            (_, Ours::Refused(message)) => {
                format!("strict | {} | {}", self.opcode, kind_of(message))
            }
            (_, Ours::Unsupported(what)) => format!("unsupported | {}", kind_of(what)),
            _ => String::new(),
        }
    }
}

pub(crate) struct Report {
    cases: Vec<Case>,
}

impl Report {
    pub(crate) fn new(cases: Vec<Case>) -> Self {
        Self { cases }
    }

    /// Per cent of the mutants that had an answer on which both sides agree.
    pub(crate) fn agreement(&self) -> f64 {
        let with_answer = self
            .cases
            .iter()
            .filter(|case| case.outcome() != Outcome::NoAnswer);
        let (mut all, mut agreeing) = (0u32, 0u32);
        for case in with_answer {
            all += 1;
            agreeing += u32::from(!case.outcome().disagrees());
        }
        f64::from(agreeing) * 100.0 / f64::from(all.max(1))
    }

    /// Prints the tables and writes a small source for each disagreement; gives the kinds that `known` does not list.
    pub(crate) fn print(&self, known: &str, assembler: &Assembler, folder: &Path) -> Vec<String> {
        self.print_outcomes();
        self.print_unsupported();
        let known: Vec<&str> = known
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with(['#', ' ']))
            .collect();
        let mut groups: BTreeMap<String, Vec<&Case>> = BTreeMap::new();
        for case in self.cases.iter().filter(|case| case.outcome().disagrees()) {
            groups.entry(case.group()).or_default().push(case);
        }
        let mut new = Vec::new();
        println!("\ndisagreements: {} kinds", groups.len());
        for (number, (group, cases)) in groups.iter().enumerate() {
            let listed = known.iter().any(|known| covers(known, group));
            println!(
                "{:5}  {group}{}",
                cases.len(),
                if listed { "  (known)" } else { "" }
            );
            if listed {
                continue;
            }
            new.push(group.clone());
            let Some(case) = cases.iter().min_by_key(|case| case.text.len()) else {
                continue;
            };
            let path = folder.join(format!("disagreement-{number}.ptx"));
            let source = smallest(case, assembler);
            println!(
                "       {} ({}, {})",
                path.display(),
                case.kind,
                case.file.file_name().unwrap_or_default().display()
            );
            let text = format!(
                "// {group}\n// {:?}\n// {:?}\n{source}",
                case.theirs, case.ours
            );
            fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        }
        println!(
            "\nagreement: {:.2} % of {} mutants",
            self.agreement(),
            self.cases.len()
        );
        new
    }

    fn print_outcomes(&self) {
        let mut table: BTreeMap<&str, BTreeMap<Outcome, u32>> = BTreeMap::new();
        for case in &self.cases {
            for row in [case.kind, "all"] {
                *table
                    .entry(row)
                    .or_default()
                    .entry(case.outcome())
                    .or_default() += 1;
            }
        }
        println!(
            "{:34}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}",
            "mutation", "take", "refuse", "no-impl+", "no-impl-", "lenient", "strict", "crash"
        );
        for (kind, outcomes) in table {
            let counts = Outcome::ALL.map(|outcome| {
                let count = outcomes.get(&outcome).copied().unwrap_or(0);
                format!("{count:9}")
            });
            println!("{kind:34}{}", counts.concat());
        }
    }

    /// What was refused as not implemented, by whether ptxas takes it.
    fn print_unsupported(&self) {
        let mut table: BTreeMap<String, [u32; 2]> = BTreeMap::new();
        for case in &self.cases {
            let column = match case.outcome() {
                Outcome::UnsupportedTaken => 0,
                Outcome::UnsupportedRefused => 1,
                _ => continue,
            };
            let group = match &case.ours {
                Ours::Unsupported(what) => what.clone(),
                _ => continue,
            };
            table.entry(group).or_default()[column] += 1;
        }
        println!("\nnot implemented: taken by ptxas, refused by ptxas");
        for (group, [taken, refused]) in table {
            println!("{taken:5}{refused:5}  {group}");
        }
    }
}

/// Whether a line of the list is of this kind: part by part the same, or `*` for any.
fn covers(known: &str, group: &str) -> bool {
    let (known, group): (Vec<_>, Vec<_>) =
        (known.split(" | ").collect(), group.split(" | ").collect());
    known.len() == group.len()
        && known
            .iter()
            .zip(&group)
            .all(|(known, part)| *known == "*" || known == part)
}

/// A smaller source on which both sides still say what they said of `case`.
fn smallest(case: &Case, assembler: &Assembler) -> String {
    let wanted = case.group();
    reduce(&case.text, |text| {
        let smaller = Case {
            kind: case.kind,
            file: case.file.clone(),
            opcode: case.opcode.clone(),
            text: text.to_owned(),
            ours: load(text),
            theirs: Verdict::Taken,
        };
        // The cheap judge first.
        let ours_same = match (&smaller.ours, &case.ours) {
            (Ours::Taken, Ours::Taken) => true,
            (Ours::Refused(one), Ours::Refused(other)) => kind_of(one) == kind_of(other),
            _ => false,
        };
        ours_same && {
            let theirs = assembler.judge(text, 98);
            let smaller = Case { theirs, ..smaller };
            smaller.outcome() == case.outcome() && smaller.group() == wanted
        }
    })
}
