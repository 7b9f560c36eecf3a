//! The last steps of a fixture: what went wrong, said in a way that holds for every host.

use super::{Line, Origin, Trace, any, peek_name};
use crate::model::{Allowed, Call, Code, Deviation, Success, What};

impl Trace {
    /// The answer to the last call is not allowed: says so in a way that holds for other hosts.
    pub(in crate::random) fn deviation(&mut self, slot: usize, deviation: &Deviation) {
        match &*deviation.what {
            What::IdAgain { id, .. } => {
                let mut bearers = self.ids.iter().filter(|(known, _)| known == id);
                if let (Some((_, first)), Some((_, last))) = (bearers.next(), bearers.next_back()) {
                    let (first, last) = (*first, *last);
                    let args = [first, last].map(|origin| self.name(origin, *id)).into();
                    self.judged(slot, "different", args);
                }
            }
            What::Answer { expected, .. } => self.wrong_answer(slot, expected),
            _ => {}
        }
    }

    fn wrong_answer(&mut self, slot: usize, expected: &Allowed) {
        let line = self.lines.len().saturating_sub(1);
        let told = self.told[slot].iter().filter(|told| told.line != line);
        let whole = told.clone().find(|told| told.whole);
        let longest = whole.or(told.max_by_key(|told| told.answer)).copied();
        let relative = matches!(expected.success, Success::Bytes { .. });
        if self.branches.is_empty() && !relative {
            // The call's own step says it.
            return;
        }
        let wide = self.is_wide(line);
        if let Some(Line::Call(step)) = self.lines.get_mut(line) {
            step.expect = any();
        }
        let answer = self.name(Origin::Line(line), 0);
        let codes = expected.codes.iter().map(Code::number);
        let codes: i64 = codes.map(|code| 1 << code.unsigned_abs()).sum();
        let room = match self.under_way {
            Some((_, Call::LastErrorCopy { dst_len, .. }, _)) => dst_len,
            _ => -1,
        };
        let (low, high) = match expected.success {
            Success::Never => (1, 0),
            Success::Zero => (0, 0),
            Success::Id if wide => (0, i64::MAX),
            Success::Id => (0, i64::from(i32::MAX)),
            Success::Bytes { low, high } => (
                i64::from(low),
                i64::from(high.min(i32::MAX.cast_unsigned())),
            ),
        };
        match longest {
            Some(told) if relative => {
                let shorter = told.answer.min(i64::from(room.cast_unsigned()));
                let told_answer = self.name(Origin::Line(told.line), 0);
                let mut args = vec![answer, codes.to_string(), told_answer, room.to_string()];
                if told.whole && low == high && low == shorter {
                    return self.judged(slot, "cut", args);
                }
                if low == shorter {
                    args.push(high.to_string());
                    return self.judged(slot, "reaches", args);
                }
                args.drain(2..);
                args.extend([low.to_string(), high.to_string()]);
                self.judged(slot, "judge", args);
            }
            _ => {
                let export = if wide { "judge_id" } else { "judge" };
                let args = vec![answer, codes.to_string(), low.to_string(), high.to_string()];
                self.judged(slot, export, args);
            }
        }
    }

    /// A byte of memory is not what it should be.
    pub(in crate::random) fn byte(&mut self, slot: usize, at: u64, expected: u8) {
        let line = self.lines.len().saturating_sub(1);
        // It was copied just now, out of a message that was seen before.
        let copied = self.learned.iter().rev().find(|it| {
            it.message && it.slot == slot && it.line == line && it.range().contains(&at)
        });
        if let Some(copied) = copied {
            let index = at - copied.at;
            return self.message_byte(slot, index, at);
        }
        // It was looked at before.
        let seen = self
            .learned
            .iter()
            .rev()
            .find(|it| it.slot == slot && it.range().contains(&at));
        match seen.map(|seen| (seen.byte(at), seen.line, seen.message, at - seen.at)) {
            Some((Some(byte), line, message, index)) if byte == expected => {
                self.compare(slot, (line, at, message), (None, at), index);
            }
            _ if self.branches.is_empty() => self.push(
                slot,
                "peek8",
                vec![at.to_string()],
                vec![expected.to_string()],
            ),
            _ => {
                let byte = self.peek_now(slot, at);
                let expected = expected.to_string();
                self.judged(slot, "between", vec![byte, expected.clone(), expected]);
            }
        }
    }

    /// A copied message is not what it should be.
    pub(in crate::random) fn message(&mut self, slot: usize, deviation: &Deviation) {
        match *deviation.what {
            What::MessageChanged { index, at, .. } => {
                self.message_byte(slot, index as u64, u64::from(at));
            }
            What::MessageNotText { index, at, actual } => {
                let line = self.lines.len().saturating_sub(1);
                let byte = self.peek_now(slot, u64::from(at));
                let most = match actual {
                    0 => 255,
                    // Occurs in no UTF-8 at all.
                    245.. => 244,
                    _ => 127,
                };
                self.given_more(slot, line, index as u64);
                self.judged(
                    slot,
                    "between",
                    vec![byte, "1".to_owned(), most.to_string()],
                );
            }
            _ => {}
        }
    }

    /// A byte of the message that was just copied to `at` differs from what was seen before.
    fn message_byte(&mut self, slot: usize, index: u64, at: u64) {
        let line = self.lines.len().saturating_sub(1);
        let before = self.learned.iter().rev().find(|it| {
            let long = it.bytes.len() as u64 > index;
            it.message && it.current && it.slot == slot && it.line != line && long
        });
        if let Some((before, from)) = before.map(|it| (it.line, it.at + index)) {
            self.compare(slot, (before, from, true), (Some(line), at), index);
        }
    }

    /// A byte as it was after a line, and a byte now, are to be the same, provided that messages were that long.
    fn compare(
        &mut self,
        slot: usize,
        (line, from, message): (usize, u64, bool),
        (copy, at): (Option<usize>, u64),
        index: u64,
    ) {
        let Some(Line::Call(step)) = self.lines.get_mut(line) else {
            return;
        };
        if !step.peeks.contains(&from) {
            step.peeks.push(from);
        }
        let before = format!("\"${}\"", peek_name(line, from));
        let now = self.peek_now(slot, at);
        if message {
            self.given_more(slot, line, index);
        }
        if let Some(copy) = copy {
            self.given_more(slot, copy, index);
        }
        self.judged(slot, "same", vec![before, now]);
    }

    fn peek_now(&mut self, slot: usize, at: u64) -> String {
        self.push(slot, "peek8", vec![at.to_string()], any());
        self.name(Origin::Line(self.lines.len() - 1), 0)
    }

    /// What is judged next counts only where this line answered more than that.
    fn given_more(&mut self, slot: usize, line: usize, than: u64) {
        let args = vec![self.name(Origin::Line(line), 0), than.to_string()];
        self.push(slot, "given_more", args, any());
    }

    /// The last step: what this export answers is 1 on a host that does right.
    pub(super) fn judged(&mut self, slot: usize, export: &str, args: Vec<String>) {
        for branch in std::mem::take(&mut self.branches) {
            let export = if branch.wide { "given_id" } else { "given" };
            let answer = self.name(Origin::Line(branch.line), 0);
            self.push(slot, export, vec![answer, branch.class.to_string()], any());
            self.settled.push(branch.line);
        }
        self.push(slot, export, args, vec!["1".to_owned()]);
    }
}
