//! What a call may answer, and what is said when it answers something else.

use std::fmt;

use super::call::Call;
use super::codes::{Code, CodeSet};
use super::rule::{Rule, Rules};
use crate::catalogue::Level;
use crate::code;

/// The outcomes that the ABI allows one call in one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowed {
    /// The refusals.
    pub codes: CodeSet,
    /// The successes.
    pub success: Success,
    /// The requirements that say so.
    pub rules: Rules,
    strict: bool,
}

/// What a success answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Success {
    /// The call must not succeed.
    Never,
    /// 0.
    Zero,
    /// 0 or more: a kernel id or a device handle.
    Id,
    /// A count of bytes, within these bounds.
    Bytes {
        /// Smallest.
        low: u32,
        /// Largest.
        high: u32,
    },
}

impl Allowed {
    /// Starts from a call with nothing wrong: it must succeed, by this rule.
    pub(super) fn success(success: Success, rule: &'static Rule, strict: bool) -> Allowed {
        Allowed {
            codes: CodeSet::default(),
            success,
            rules: Rules::one(rule),
            strict,
        }
    }

    /// Starts from a call that must be refused like this.
    pub(super) fn refusal(code: Code, rule: &'static Rule, strict: bool) -> Allowed {
        let mut allowed = Allowed::success(Success::Never, rule, strict);
        allowed.codes.add(code);
        allowed
    }

    /// A fault is present: success is ruled out and this code is one of those that fit. A fault that only a
    /// recommendation knows excuses success where recommendations are not judged.
    pub(super) fn fault(&mut self, code: Code, rule: &'static Rule) {
        self.codes.add(code);
        if rule.level == Level::Must || self.strict {
            self.must_fail(rule);
        }
    }

    /// Success is ruled out.
    pub(super) fn must_fail(&mut self, rule: &'static Rule) {
        if self.success != Success::Never {
            self.success = Success::Never;
            self.rules = Rules::default();
        }
        self.rules.add(rule);
    }

    /// A refusal that the ABI tolerates beside what else is allowed.
    pub(super) fn may(&mut self, code: Code) {
        self.codes.add(code);
    }

    /// Whether no fault has ruled out success.
    pub(super) fn can_succeed(&self) -> bool {
        self.success != Success::Never
    }

    /// Whether this result is one of the allowed outcomes.
    pub fn accepts(&self, result: i64) -> bool {
        match Code::of_result(result) {
            Some(code) => self.codes.contains(code),
            None => match self.success {
                Success::Never => false,
                Success::Zero => result == 0,
                Success::Id => result >= 0,
                Success::Bytes { low, high } => {
                    (i64::from(low)..=i64::from(high)).contains(&result)
                }
            },
        }
    }

    /// The outcomes in the words of a fixture's `expect`; a range of counts becomes `id`.
    pub fn words(&self) -> Vec<String> {
        let mut words: Vec<String> = self
            .codes
            .iter()
            .map(|code| code.name().to_owned())
            .collect();
        match self.success {
            Success::Never => {}
            Success::Zero => words.push("ok".to_owned()),
            Success::Bytes { low, high } if low == high => words.push(low.to_string()),
            Success::Id | Success::Bytes { .. } => words.push("id".to_owned()),
        }
        words
    }
}

impl fmt::Display for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words: Vec<String> = self.codes.iter().map(|code| code.to_string()).collect();
        match self.success {
            Success::Never => {}
            Success::Zero => words.push("0".to_owned()),
            Success::Id => words.push("an id".to_owned()),
            Success::Bytes { low, high } if low == high => words.push(low.to_string()),
            Success::Bytes { low, high } => words.push(format!("{low} to {high}")),
        }
        f.write_str(&words.join(" or "))
    }
}

/// A host did something that the ABI does not allow.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}; requirements: {rules}")]
pub struct Deviation {
    /// What was expected, and what came.
    pub what: Box<What>,
    /// The requirements that were broken, or one of which was.
    pub rules: Rules,
}

/// The ways to deviate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A call answered something that is not allowed.
    Answer {
        /// The call.
        call: Call,
        /// What it may answer.
        expected: Allowed,
        /// What it answered.
        actual: i64,
    },
    /// An id or handle was given out that was given out before.
    IdAgain {
        /// The call.
        call: Call,
        /// The id.
        id: i64,
        /// Whether its first bearer is still alive.
        live: bool,
    },
    /// A byte of guest memory is not what it should be.
    Memory {
        /// The instance.
        instance: usize,
        /// Its offset.
        at: u32,
        /// The byte it should be.
        expected: u8,
        /// The byte it is.
        actual: u8,
    },
    /// The recorded message differs from what it was, at this byte.
    MessageChanged {
        /// Index into the message.
        index: usize,
        /// Where the copy put it.
        at: u32,
        /// The byte it was.
        expected: u8,
        /// The byte it is.
        actual: u8,
    },
    /// The recorded message is not UTF-8, or holds a zero byte.
    MessageNotText {
        /// Index of the first bad byte.
        index: usize,
        /// Where the copy put it.
        at: u32,
        /// The byte.
        actual: u8,
    },
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            What::Answer {
                call,
                expected,
                actual,
            } => {
                write!(f, "{call} answered {actual}")?;
                if let Some(name) = code::name(*actual) {
                    write!(f, " ({name})")?;
                }
                write!(f, ", expected {expected}")
            }
            What::IdAgain { call, id, live } => {
                let bearer = if *live {
                    "that is still live"
                } else {
                    "that was given out before"
                };
                write!(
                    f,
                    "{call} answered {id}, expected an id other than one {bearer}"
                )
            }
            What::Memory {
                instance,
                at,
                expected,
                actual,
            } => write!(
                f,
                "byte {at} of the memory of instance {instance} is {actual:#04x}, expected {expected:#04x}"
            ),
            What::MessageChanged {
                index,
                expected,
                actual,
                ..
            } => write!(
                f,
                "byte {index} of the recorded message is {actual:#04x} and was {expected:#04x}, without a failure in between"
            ),
            What::MessageNotText { index, actual, .. } => write!(
                f,
                "byte {index} of the recorded message, {actual:#04x}, is no UTF-8 or is zero"
            ),
        }
    }
}

impl Deviation {
    pub(super) fn new(what: What, rules: Rules) -> Deviation {
        Deviation {
            what: Box::new(what),
            rules,
        }
    }
}
