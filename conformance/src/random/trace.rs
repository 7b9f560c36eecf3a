//! What a session did, as a fixture.
//!
//! A fixture is to fail on the host it was found on and to pass on every host that does what the ABI says, whichever of
//! several allowed answers that one gives. So nothing that was learned from this host's answers is written down as a
//! number: ids, lengths of messages, bytes of messages are saved results that are compared with each other. Where an
//! answer was one of several that lead to different states, later steps accept anything, and what is judged at the end
//! counts only on a host that answered the same.

mod judged;
mod text;

use std::fmt::Write as _;

use super::arguments::arguments;
use super::driver;
use super::session::SLOTS;
use crate::model::operation::{BULK_AT, Id};
use crate::model::{Allowed, Call, Deviation, Import, Success, What};
use crate::runtime::Value;

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
    /// What each instance has told of the length of its present message.
    told: [Vec<Told>; SLOTS],
    /// Answers that were one of several.
    branches: Vec<Branch>,
    /// Branches that what is judged already depends on.
    settled: Vec<usize>,
    /// Bytes of memory that were looked at, since they could not be known.
    learned: Vec<Learned>,
    /// The call under way: instance, call, and what it may answer.
    under_way: Option<(usize, Call, Allowed)>,
}

/// An answer that tells a length.
#[derive(Clone, Copy, Debug)]
struct Told {
    line: usize,
    answer: i64,
    /// Whether it is the whole length; else that is no less.
    whole: bool,
}

/// An answer that was one of several that lead to different states.
#[derive(Clone, Copy, Debug)]
struct Branch {
    line: usize,
    class: i64,
    wide: bool,
}

#[derive(Clone, Debug)]
struct Learned {
    slot: usize,
    /// They were there after this line.
    line: usize,
    at: u64,
    bytes: Vec<u8>,
    /// They are a copied message, as long as the line's answer says.
    message: bool,
    /// They are the message that is recorded now.
    current: bool,
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
    /// Bytes of memory that later steps compare with others: looked at and saved after the step.
    peeks: Vec<u64>,
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
        self.forget_message(slot);
        self.learned.retain(|it| it.slot != slot);
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
        let of_message = matches!(call.import(), Import::LastErrorLen | Import::LastErrorCopy);
        if let Success::Bytes { low, high } = allowed.success
            && (low != high || (high > 0 && !self.told[slot].is_empty()))
            && of_message
        {
            // Another host's message has another length.
            expect.pop();
            expect.push("id".to_owned());
        }
        self.push(slot, call.import().name(), args, expect);
        self.under_way = Some((slot, *call, *allowed));
        let conditional = !self.branches.is_empty();
        if let Some(Line::Call(step)) = self.lines.last_mut() {
            if conditional {
                step.expect = any();
            } else {
                step.requirements = allowed.rules.iter().map(|rule| rule.id).collect();
            }
        }
    }

    pub(super) fn answered(&mut self, slot: usize, call: &Call, answer: i64) {
        let line = self.lines.len().saturating_sub(1);
        if let Some((_, _, allowed)) = self.under_way {
            self.branch(&allowed, answer, line);
        }
        match call {
            // What is not allowed is judged by what was told before.
            _ if self
                .under_way
                .is_some_and(|(_, _, allowed)| !allowed.accepts(answer)) => {}
            // A failure records another message.
            _ if answer < 0 => self.forget_message(slot),
            Call::LastErrorLen => self.told[slot].push(Told {
                line,
                answer,
                whole: true,
            }),
            Call::LastErrorCopy { dst_ptr, dst_len } => {
                self.told[slot].push(Told {
                    line,
                    answer,
                    whole: answer < i64::from(dst_len.cast_unsigned()),
                });
                self.copied(slot, line, u64::from(dst_ptr.cast_unsigned()), answer);
            }
            Call::MemcpyD2h { dst_ptr, len, .. } => self.overwritten(
                slot,
                u64::from(dst_ptr.cast_unsigned()),
                u64::from(len.cast_unsigned()),
            ),
            _ => {}
        }
        if answer >= 0 && matches!(call.import(), Import::Alloc | Import::LoadPtx) {
            self.ids.push((answer, Origin::Line(line)));
        }
    }

    /// Bytes of memory that nobody could know were looked at.
    pub(super) fn learned(&mut self, slot: usize, at: u64, bytes: &[u8]) {
        let line = self.lines.len().saturating_sub(1);
        let copy = self
            .learned
            .iter_mut()
            .find(|it| it.message && it.line == line && it.slot == slot && it.at == at);
        match copy {
            Some(copy) => copy.bytes = bytes.to_vec(),
            None => self.learned.push(Learned {
                slot,
                line,
                at,
                bytes: bytes.to_vec(),
                message: false,
                current: false,
            }),
        }
    }

    /// Many loads or allocations are about to be made; gives the line's index.
    pub(super) fn many(&mut self, slot: usize, export: &str, args: &[Value]) -> usize {
        let args = args.iter().map(Value::to_string).collect();
        self.push(slot, export, args, any());
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
            _ => self.granted(slot, granted),
        }
    }

    /// So many were granted.
    pub(super) fn granted(&mut self, slot: usize, count: usize) {
        let line = self.lines.len().saturating_sub(1);
        if !self.branches.is_empty() {
            let granted = self.name(Origin::Line(line), 0);
            let count = count.to_string();
            self.judged(slot, "between", vec![granted, count.clone(), count]);
        } else if let Some(Line::Call(step)) = self.lines.last_mut() {
            step.expect = vec![count.to_string()];
        }
    }

    /// All of them were, and none too many.
    pub(super) fn granted_all(&mut self, count: usize) {
        if self.branches.is_empty()
            && let Some(Line::Call(step)) = self.lines.last_mut()
        {
            step.expect = vec![count.to_string()];
        }
    }

    /// After so many were granted, one was refused.
    pub(super) fn refused(
        &mut self,
        slot: usize,
        count: usize,
        (call, allowed): (&Call, &Allowed),
        answer: i64,
    ) {
        if self.branches.is_empty() && !allowed.accepts(0) {
            self.granted(slot, count);
        }
        if !allowed.accepts(answer)
            && let Some(Line::Call(step)) = self.lines.last_mut()
            && let Some(asked) = step.args.first_mut()
        {
            // A host that grants this one is not to be asked for more, which it may refuse.
            *asked = (count + 1).to_string();
        }
        let expect = if self.branches.is_empty() {
            allowed.words()
        } else {
            any()
        };
        self.push(slot, "refusal", Vec::new(), expect);
        self.under_way = Some((slot, *call, *allowed));
        let line = self.lines.len().saturating_sub(1);
        self.branch(allowed, answer, line);
        self.forget_message(slot);
    }

    pub(super) fn grow(&mut self, slot: usize) {
        self.push(slot, "grow", Vec::new(), any());
    }

    /// The guest writes to its memory.
    pub(super) fn poke(&mut self, slot: usize, at: u32, bytes: &[u8]) {
        self.overwritten(slot, u64::from(at), bytes.len() as u64);
        if let Ok(word) = <[u8; 8]>::try_from(bytes) {
            let args = vec![at.to_string(), i64::from_le_bytes(word).to_string()];
            return self.push(slot, "poke", args, any());
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
        self.push(slot, &format!("bytes{index}"), Vec::new(), any());
    }

    /// Whether the state depends on which of the allowed answers this one was; then it is a condition of what follows.
    fn branch(&mut self, allowed: &Allowed, answer: i64, line: usize) {
        let mut classes: Vec<i64> = allowed
            .codes
            .iter()
            .map(|code| class(code.number()))
            .collect();
        if allowed.success != Success::Never {
            classes.push(0);
        }
        classes.dedup();
        if classes.iter().any(|other| *other != classes[0]) && allowed.accepts(answer) {
            self.branches.push(Branch {
                line,
                class: class(answer),
                wide: self.is_wide(line),
            });
        }
    }

    /// Whether a line answers 64 bits.
    fn is_wide(&self, line: usize) -> bool {
        match self.lines.get(line) {
            Some(Line::Call(step)) => matches!(&*step.export, "alloc" | "load_ptx" | "refusal"),
            _ => false,
        }
    }

    fn forget_message(&mut self, slot: usize) {
        self.told[slot].clear();
        for seen in self.learned.iter_mut().filter(|seen| seen.slot == slot) {
            seen.current = false;
        }
    }

    /// A message was copied; its bytes are those seen before, as long as they are not looked at.
    fn copied(&mut self, slot: usize, line: usize, at: u64, answer: i64) {
        let count = usize::try_from(answer).unwrap_or(0);
        let before = self
            .learned
            .iter()
            .rev()
            .find(|it| it.message && it.current && it.slot == slot && it.bytes.len() >= count);
        let bytes = before.and_then(|it| it.bytes.get(..count));
        let bytes = bytes.unwrap_or_default().to_vec();
        self.overwritten(slot, at, count as u64);
        self.learned.push(Learned {
            slot,
            line,
            at,
            bytes,
            message: true,
            current: true,
        });
    }

    /// What was looked at there is no longer there; a message was still seen.
    fn overwritten(&mut self, slot: usize, at: u64, len: u64) {
        self.learned.retain(|it| {
            it.slot != slot || it.current || it.range().end <= at || at + len <= it.at
        });
    }

    fn push(&mut self, slot: usize, export: &str, args: Vec<String>, expect: Vec<String>) {
        self.lines.push(Line::Call(Step {
            slot,
            export: export.to_owned(),
            args,
            expect,
            requirements: Vec::new(),
            save: false,
            peeks: Vec::new(),
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
                self.push(slot, "peek", vec![at.to_string()], any());
                self.lines.len() - 1
            }
        };
        if let Some(Line::Call(step)) = self.lines.get_mut(line) {
            step.save = true;
        }
        format!("\"$r{line}\"")
    }
}

impl Learned {
    fn range(&self) -> std::ops::Range<u64> {
        self.at..self.at + self.bytes.len() as u64
    }

    fn byte(&self, at: u64) -> Option<u8> {
        let index = usize::try_from(at.checked_sub(self.at)?).ok()?;
        self.bytes.get(index).copied()
    }
}

/// Answers of one class lead to the same state, but for what is saved of them.
fn class(answer: i64) -> i64 {
    match answer {
        NOT_AVAILABLE | LAUNCH_FAILED => answer,
        ..0 => OTHER_REFUSAL,
        _ => 0,
    }
}

fn any() -> Vec<String> {
    vec!["any".to_owned()]
}

/// The name of a byte that was looked at after a line.
fn peek_name(line: usize, at: u64) -> String {
    format!("byte{line}x{at}")
}

const NOT_AVAILABLE: i64 = -1;

/// A launch that failed may have run for a while.
const LAUNCH_FAILED: i64 = -5;

/// Stands for all other codes, as `given` in the driver knows.
const OTHER_REFUSAL: i64 = -12;
