//! Error codes as a set that costs nothing.

use std::fmt;

use crate::code;

/// An error code of the ABI, -1 to -11.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Code(u8);

impl Code {
    pub(super) const NOT_AVAILABLE: Code = Code(1);
    pub(super) const INVALID_POINTER: Code = Code(2);
    pub(super) const INVALID_KERNEL: Code = Code(3);
    pub(super) const MALFORMED_PTX: Code = Code(4);
    pub(super) const LAUNCH_FAILED: Code = Code(5);
    pub(super) const QUOTA_EXCEEDED: Code = Code(6);
    pub(super) const INTERNAL: Code = Code(7);
    pub(super) const INVALID_DIMENSIONS: Code = Code(8);
    pub(super) const INVALID_ARGS: Code = Code(9);
    pub(super) const KERNEL_ARGS_UNSUPPORTED: Code = Code(10);
    pub(super) const INVALID_HANDLE: Code = Code(11);

    /// The code of a result, if it is one.
    pub fn of_result(result: i64) -> Option<Code> {
        code::name(result)?;
        u8::try_from(result.checked_neg()?).ok().map(Code)
    }

    /// The number a call answers.
    pub fn number(self) -> i64 {
        -i64::from(self.0)
    }

    /// The name that fixtures and reports use.
    pub fn name(self) -> &'static str {
        code::name(self.number()).unwrap_or("unknown")
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name(), self.number())
    }
}

/// A set of error codes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CodeSet(u16);

impl CodeSet {
    /// Whether the code is in the set.
    pub fn contains(self, code: Code) -> bool {
        self.0 & (1 << code.0) != 0
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The codes, from -1 down.
    pub fn iter(self) -> impl Iterator<Item = Code> {
        (1..=11).map(Code).filter(move |code| self.contains(*code))
    }

    pub(super) fn add(&mut self, code: Code) {
        self.0 |= 1 << code.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_codes_or_not() {
        assert_eq!(Code::of_result(-2), Some(Code::INVALID_POINTER));
        assert_eq!(Code::INVALID_HANDLE.number(), -11);
        assert_eq!(Code::INVALID_HANDLE.name(), "invalid-handle");
        for result in [0, 1, -12, i64::MIN, i64::MAX, 0xFFFF_FFFF] {
            assert_eq!(Code::of_result(result), None, "{result}");
        }
    }

    #[test]
    fn a_set_holds_what_was_added() {
        let mut set = CodeSet::default();
        assert!(set.is_empty());
        set.add(Code::INVALID_HANDLE);
        set.add(Code::NOT_AVAILABLE);
        let numbers: Vec<i64> = set.iter().map(Code::number).collect();
        assert_eq!(numbers, [-1, -11]);
        assert!(!set.contains(Code::INTERNAL));
    }
}
