//! What a session did, as a fixture.

use std::fmt::Write as _;

use super::arguments::arguments;
use super::driver;
use super::session::SLOTS;
use crate::model::operation::{BULK_AT, Id};
use crate::model::{Allowed, Call, Deviation, Import, MemoryKind, Success, What};
use crate::profile::Profile;
use crate::runtime::Value;
use crate::text::one_line;

/// An argument of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Argument {
    /// A number.
    Value(Value),
    /// An id that an earlier step may have got.
    Id(i64),
}

/// The steps so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Trace {
    lines: Vec<Line>,
    /// Module fields that steps use: bytes to write.
    fields: String,
    written: Vec<(u32, Vec<u8>)>,
    /// Instances that were used, and whether they live.
    slots: [Option<bool>; SLOTS],
    /// Where ids came from.
    ids: Vec<(i64, Origin)>,
    /// Where each instance last told the whole length of its message, and the length.
    lengths: [Option<(usize, i64)>; SLOTS],
}

#[derive(Clone, Debug)]
enum Line {
    Call(Step),
    Drop(usize),
    Instantiate(usize),
}

#[derive(Clone, Debug)]
struct Step {
    slot: usize,
    export: String,
    args: Vec<String>,
    expect: Vec<String>,
    requirements: Vec<&'static str>,
    save: bool,
}

#[derive(Clone, Copy, Debug)]
enum Origin {
    /// The result of the line with this index.
    Line(usize),
    /// One of many: instance and number.
    Many(usize, usize),
}

impl Trace {
    pub(super) fn instantiate(&mut self, slot: usize) {
        if self.slots[slot] == Some(false) {
            self.lines.push(Line::Instantiate(slot));
        }
        self.slots[slot] = Some(true);
    }

    pub(super) fn end(&mut self, slot: usize) {
        self.lines.push(Line::Drop(slot));
        self.slots[slot] = Some(false);
    }

    /// A call of the host is about to be made.
    pub(super) fn call(&mut self, slot: usize, call: &Call, id: Option<Id>, allowed: &Allowed) {
        let args = arguments(call, id)
            .into_iter()
            .map(|argument| match argument {
                Argument::Value(value) => value.to_string(),
                Argument::Id(id) => self.reference(id),
            })
            .collect();
        let mut expect = allowed.words();
        if let (Import::LastErrorLen | Import::LastErrorCopy, Success::Bytes { high, .. }) =
            (call.import(), allowed.success)
            && high > 1
        {
            // Another host's message has another length.
            expect.pop();
            expect.push("id".to_owned());
        }
        self.push(slot, call.import().name(), args, expect);
        if let Some(Line::Call(step)) = self.lines.last_mut() {
            step.requirements = allowed.rules.iter().map(|rule| rule.id).collect();
        }
    }

    pub(super) fn answered(&mut self, slot: usize, call: &Call, answer: i64) {
        let line = self.lines.len().saturating_sub(1);
        match call {
            // The first to tell is the one that later answers are held to.
            Call::LastErrorLen if answer > 0 => {
                self.lengths[slot].get_or_insert((line, answer));
            }
            Call::LastErrorCopy { dst_len, .. } if answer > 0 && answer < i64::from(*dst_len) => {
                self.lengths[slot].get_or_insert((line, answer));
            }
            Call::LastErrorLen | Call::LastErrorCopy { .. } => {}
            // A failure records another message.
            _ if answer < 0 => self.lengths[slot] = None,
            _ => {}
        }
        if answer >= 0 && matches!(call.import(), Import::Alloc | Import::LoadPtx) {
            self.ids
                .push((answer, Origin::Line(self.lines.len().saturating_sub(1))));
        }
    }

    /// The answer to the last call is not allowed: says so where its expectation does not.
    pub(super) fn deviation(&mut self, slot: usize, deviation: &Deviation) {
        match &*deviation.what {
            What::IdAgain { id, .. } => {
                let mut bearers = self.ids.iter().filter(|(known, _)| known == id);
                if let (Some((_, first)), Some((_, last))) = (bearers.next(), bearers.next_back()) {
                    let (first, last) = (*first, *last);
                    let args = [first, last].map(|origin| self.name(origin, *id)).into();
                    self.push(slot, "different", args, vec!["1".to_owned()]);
                }
            }
            What::Answer { expected, .. } if expected.codes.is_empty() => {
                if let Success::Bytes { low, high } = expected.success {
                    let value = self.name(Origin::Line(self.lines.len().saturating_sub(1)), 0);
                    let high = high.min(i32::MAX.cast_unsigned());
                    // Another host's message has another length: what counts is that two answers agree.
                    let args = match self.lengths[slot] {
                        Some((line, told)) if low == high && i64::from(low) == told => {
                            let told = self.name(Origin::Line(line), 0);
                            vec![value, told.clone(), told]
                        }
                        _ => vec![value, low.to_string(), high.to_string()],
                    };
                    self.push(slot, "between", args, vec!["1".to_owned()]);
                }
            }
            _ => {}
        }
    }

    /// Many loads or allocations are about to be made; gives the line's index.
    pub(super) fn many(&mut self, slot: usize, export: &str, args: &[Value]) -> usize {
        let args = args.iter().map(Value::to_string).collect();
        self.push(slot, export, args, vec!["any".to_owned()]);
        self.lines.len() - 1
    }

    pub(super) fn many_ids(&mut self, line: usize, ids: &[i64]) {
        if let Some(Line::Call(step)) = self.lines.get(line) {
            let slot = step.slot;
            let ids = ids.iter().enumerate();
            self.ids
                .extend(ids.map(|(index, id)| (*id, Origin::Many(slot, index))));
        }
    }

    /// One of many was not allowed to be granted.
    pub(super) fn one_too_many(&mut self, slot: usize, granted: usize, deviation: &Deviation) {
        match &*deviation.what {
            What::IdAgain { .. } => self.deviation(slot, deviation),
            _ => self.granted(granted),
        }
    }

    /// So many were granted.
    pub(super) fn granted(&mut self, count: usize) {
        if let Some(Line::Call(step)) = self.lines.last_mut() {
            step.expect = vec![count.to_string()];
        }
    }

    /// After so many were granted, one was refused.
    pub(super) fn refused(&mut self, slot: usize, count: usize, allowed: &Allowed) {
        self.granted(count);
        self.push(slot, "refusal", Vec::new(), allowed.words());
    }

    pub(super) fn grow(&mut self, slot: usize) {
        self.push(slot, "grow", Vec::new(), vec!["any".to_owned()]);
    }

    /// The guest writes to its memory.
    pub(super) fn poke(&mut self, slot: usize, at: u32, bytes: &[u8]) {
        if let Ok(word) = <[u8; 8]>::try_from(bytes) {
            let args = vec![at.to_string(), i64::from_le_bytes(word).to_string()];
            return self.push(slot, "poke", args, vec!["any".to_owned()]);
        }
        let same = |(place, known): &(u32, Vec<u8>)| *place == at && known == bytes;
        let index = self.written.iter().position(same).unwrap_or_else(|| {
            let index = self.written.len();
            self.written.push((at, bytes.to_vec()));
            let _ = writeln!(
                self.fields,
                "  (data $bytes{index}\n    {})\n  (func (export \"bytes{index}\")\n    (memory.init $bytes{index} (i32.const {at}) (i32.const 0) (i32.const {})))",
                driver::quoted(bytes),
                bytes.len(),
            );
            index
        });
        self.push(
            slot,
            &format!("bytes{index}"),
            Vec::new(),
            vec!["any".to_owned()],
        );
    }

    /// A byte of memory is not what it should be.
    pub(super) fn byte(&mut self, slot: usize, at: u64, expected: u8) {
        self.push(
            slot,
            "peek8",
            vec![at.to_string()],
            vec![expected.to_string()],
        );
    }

    /// A copied message is not what it should be.
    pub(super) fn message(&mut self, slot: usize, deviation: &Deviation) {
        match *deviation.what {
            What::MessageChanged { at, expected, .. } => self.byte(slot, u64::from(at), expected),
            What::MessageNotText { at, .. } => {
                self.push(slot, "peek8", vec![at.to_string()], vec!["any".to_owned()]);
                let value = self.name(Origin::Line(self.lines.len() - 1), 0);
                let args = vec![value, "1".to_owned(), "127".to_owned()];
                self.push(slot, "between", args, vec!["1".to_owned()]);
            }
            _ => {}
        }
    }

    /// The fixture, whose last step shows what went wrong.
    pub(super) fn fixture(
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
        let _ = writeln!(text, ";;! title = {}", quote(&one_line(what)));
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
                    let _ = writeln!(text, ";;! name = \"step{index}-{}\"", step.export);
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
                }
            }
        }
        text.push('\n');
        text.push_str(&driver::text(memory, &self.fields));
        text
    }

    fn push(&mut self, slot: usize, export: &str, args: Vec<String>, expect: Vec<String>) {
        self.lines.push(Line::Call(Step {
            slot,
            export: export.to_owned(),
            args,
            expect,
            requirements: Vec::new(),
            save: false,
        }));
    }

    /// How a step names an id: by the step that got it, or, for one that nobody got, as the number.
    fn reference(&mut self, id: i64) -> String {
        let origin = self.ids.iter().rev().find(|(known, _)| *known == id);
        match origin {
            Some((_, origin)) => self.name(*origin, id),
            None => id.to_string(),
        }
    }

    fn name(&mut self, origin: Origin, id: i64) -> String {
        let line = match origin {
            Origin::Line(line) => line,
            Origin::Many(slot, _) if self.slots[slot] != Some(true) => return id.to_string(),
            Origin::Many(slot, index) => {
                let at = u64::from(BULK_AT) + index as u64 * 8;
                self.push(slot, "peek", vec![at.to_string()], vec!["any".to_owned()]);
                self.lines.len() - 1
            }
        };
        if let Some(Line::Call(step)) = self.lines.get_mut(line) {
            step.save = true;
        }
        format!("\"$r{line}\"")
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
