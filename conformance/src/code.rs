//! Result codes by name, as fixtures and reports write them.
//!
//! The suite keeps its own table: a host whose table is wrong must not be judged by that very table.

/// The name of an error code, or `None` when the ABI gives the value no meaning.
pub fn name(code: i64) -> Option<&'static str> {
    let index = usize::try_from(code.checked_neg()?).ok()?.checked_sub(1)?;
    NAMES.get(index).copied()
}

/// The error code of a name such as `invalid-pointer`.
pub fn from_name(name: &str) -> Option<i64> {
    NAMES
        .iter()
        .zip(1..)
        .find(|(candidate, _)| **candidate == name)
        .map(|(_, code)| -code)
}

/// Error names; the first is -1, the next -2, and so on.
pub const NAMES: [&str; 11] = [
    "not-available",
    "invalid-pointer",
    "invalid-kernel",
    "malformed-ptx",
    "launch-failed",
    "quota-exceeded",
    "internal",
    "invalid-dimensions",
    "invalid-args",
    "kernel-args-unsupported",
    "invalid-handle",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_codes_are_inverse() {
        assert_eq!(name(-1), Some("not-available"));
        assert_eq!(name(-11), Some("invalid-handle"));
        for code in [0, 1, -12, i64::MIN, i64::MAX] {
            assert_eq!(name(code), None, "{code}");
        }
        for text in NAMES {
            assert_eq!(from_name(text).and_then(name), Some(text));
        }
        assert_eq!(from_name("ok"), None);
    }
}
