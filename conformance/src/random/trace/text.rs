//! The text of the fixture.

use std::fmt::Write as _;

use super::{Line, Trace, peek_name};
use crate::model::MemoryKind;
use crate::profile::Profile;
use crate::random::driver;
use crate::random::session::SLOTS;
use crate::text::one_line;

impl Trace {
    /// The fixture, whose last step shows what went wrong.
    pub(in crate::random) fn fixture(
        &self,
        what: &str,
        requirements: &[&str],
        profile: Profile,
        memory: MemoryKind,
    ) -> String {
        let mut used: Vec<usize> = (0..SLOTS)
            .filter(|slot| self.slots[*slot].is_some())
            .collect();
        if used.is_empty() {
            used.push(0);
        }
        let names: Vec<String> = used.iter().map(|slot| quote(NAMES[*slot])).collect();
        let list = |ids: &[&str]| {
            ids.iter()
                .map(|id| quote(id))
                .collect::<Vec<_>>()
                .join(", ")
        };
        let mut text = String::new();
        let mut title = one_line(what).into_owned();
        let branches = self.branches.iter().map(|branch| branch.line);
        let branches: Vec<usize> = self.settled.iter().copied().chain(branches).collect();
        if !branches.is_empty() {
            let bound: Vec<String> = branches.iter().map(|line| self.step_name(*line)).collect();
            let _ = write!(
                title,
                " (judged on a host that answers {} as this one did)",
                bound.join(", ")
            );
        }
        let _ = writeln!(text, ";;! title = {}", quote(&title));
        let _ = writeln!(text, ";;! requirements = [{}]", list(requirements));
        let _ = writeln!(text, ";;! profiles = [{}]", quote(profile.name()));
        let _ = writeln!(text, ";;! instances = [{}]", names.join(", "));
        if memory == MemoryKind::Shared {
            let _ = writeln!(text, ";;! needs = [\"shared-memory\"]");
        }
        let first = used.first().map_or(NAMES[0], |slot| NAMES[*slot]);
        let ok = if profile == Profile::Disabled {
            "not-available"
        } else {
            "ok"
        };
        let _ = writeln!(
            text,
            ";;!\n;;! [[step]]\n;;! name = \"start\"\n;;! title = \"control: the host answers\"\n;;! control = true\n;;! on = \"{first}\"\n;;! call = \"sync\"\n;;! expect = \"{ok}\""
        );
        for (index, line) in self.lines.iter().enumerate() {
            let _ = writeln!(text, ";;!\n;;! [[step]]");
            match line {
                Line::Drop(slot) => {
                    let _ = writeln!(text, ";;! drop = \"{}\"", NAMES[*slot]);
                }
                Line::Instantiate(slot) => {
                    let _ = writeln!(text, ";;! instantiate = \"{}\"", NAMES[*slot]);
                }
                Line::Call(step) => {
                    let _ = writeln!(text, ";;! name = \"{}\"", self.step_name(index));
                    let _ = writeln!(text, ";;! on = \"{}\"", NAMES[step.slot]);
                    let _ = writeln!(text, ";;! call = \"{}\"", step.export);
                    if !step.args.is_empty() {
                        let _ = writeln!(text, ";;! args = [{}]", step.args.join(", "));
                    }
                    if !step.requirements.is_empty() {
                        let ids = list(&step.requirements);
                        let _ = writeln!(text, ";;! requirements = [{ids}]");
                    }
                    let words: Vec<String> =
                        step.expect.iter().map(|word| expectation(word)).collect();
                    match words.as_slice() {
                        [word] => {
                            let _ = writeln!(text, ";;! expect = {word}");
                        }
                        words => {
                            let _ = writeln!(text, ";;! expect = [{}]", words.join(", "));
                        }
                    }
                    if step.save {
                        let _ = writeln!(text, ";;! save = \"r{index}\"");
                    }
                    for at in &step.peeks {
                        let _ = writeln!(
                            text,
                            ";;!\n;;! [[step]]\n;;! name = \"byte{index}-{at}\"\n;;! on = \"{}\"\n;;! call = \"peek8\"\n;;! args = [{at}]\n;;! expect = \"any\"\n;;! save = \"{}\"",
                            NAMES[step.slot],
                            peek_name(index, *at)
                        );
                    }
                }
            }
        }
        text.push('\n');
        text.push_str(&driver::text(memory, &self.fields));
        text
    }

    fn step_name(&self, index: usize) -> String {
        match self.lines.get(index) {
            Some(Line::Call(step)) => format!("step{index}-{}", step.export),
            _ => format!("step{index}"),
        }
    }
}

/// A word of an expectation: numbers are written bare.
fn expectation(word: &str) -> String {
    if word.parse::<i64>().is_ok() {
        word.to_owned()
    } else {
        quote(word)
    }
}

/// A TOML string.
fn quote(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{escaped}\"")
}

const NAMES: [&str; SLOTS] = ["a", "b", "c"];
