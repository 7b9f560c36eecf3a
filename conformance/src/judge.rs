//! From what happened to a verdict.

use schemars::JsonSchema;
use serde::Serialize;

use crate::code;
use crate::fixture::Accept;
use crate::runtime::{Outcome, Value};

/// How a case ended, as reports write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Verdict {
    /// The outcome is one of those accepted.
    Pass,
    /// The outcome is none of those accepted.
    Fail,
    /// The host died.
    Crash,
    /// The guest or the host ran longer than allowed.
    Timeout,
    /// The case could not be judged: the runtime failed, or an earlier step did not give what this one needs.
    Error,
    /// The runtime does not offer what the fixture needs.
    Skip,
}

impl Verdict {
    /// The word in reports.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Pass => "pass",
            Verdict::Fail => "fail",
            Verdict::Crash => "crash",
            Verdict::Timeout => "timeout",
            Verdict::Error => "error",
            Verdict::Skip => "skip",
        }
    }

    /// Whether something is wrong: everything but a pass and a skip.
    pub fn is_bad(self) -> bool {
        !matches!(self, Verdict::Pass | Verdict::Skip)
    }
}

/// Judges an outcome by what a case accepts.
pub fn judge(accepted: &[Accept], outcome: &Outcome) -> Verdict {
    match outcome {
        Outcome::TimedOut => Verdict::Timeout,
        Outcome::Crashed(_) => Verdict::Crash,
        Outcome::Failed(_) => Verdict::Error,
        Outcome::Returned(_) | Outcome::Trapped(_)
            if accepted.iter().any(|accept| accept.accepts(outcome)) =>
        {
            Verdict::Pass
        }
        Outcome::Returned(_) | Outcome::Trapped(_) => Verdict::Fail,
    }
}

/// An outcome as reports write it, error codes by name.
pub fn describe(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Returned(values) if values.is_empty() => "returned".to_owned(),
        Outcome::Returned(values) => values
            .iter()
            .map(describe_value)
            .collect::<Vec<_>>()
            .join(", "),
        Outcome::Trapped(text) => format!("trap: {text}"),
        Outcome::TimedOut => "ran longer than allowed".to_owned(),
        Outcome::Crashed(text) => format!("crash: {text}"),
        Outcome::Failed(text) => format!("no call: {text}"),
    }
}

/// An outcome without what may differ from run to run: an id where one is accepted, the words of a trap or crash.
pub fn describe_stably(accepted: &[Accept], outcome: &Outcome) -> String {
    match outcome {
        Outcome::Returned(_) if accepted.contains(&Accept::Id) && Accept::Id.accepts(outcome) => {
            Accept::Id.to_string()
        }
        Outcome::Returned(_) => describe(outcome),
        Outcome::Trapped(_) => "trap".to_owned(),
        Outcome::TimedOut => "timeout".to_owned(),
        Outcome::Crashed(_) => "crash".to_owned(),
        Outcome::Failed(_) => "no call".to_owned(),
    }
}

fn describe_value(value: &Value) -> String {
    match value.as_integer().and_then(code::name) {
        Some(name) => format!("{name} ({value})"),
        None => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn returned(value: Value) -> Outcome {
        Outcome::Returned(vec![value])
    }

    #[test]
    fn words_accept_exactly_their_results() {
        let words = ["ok", "id", "negative", "any", "invalid-args", "trap"];
        let table = [
            (
                returned(Value::I32(0)),
                [true, true, false, true, false, false],
            ),
            (
                returned(Value::I64(0)),
                [true, true, false, true, false, false],
            ),
            (
                returned(Value::I32(1)),
                [false, true, false, true, false, false],
            ),
            (
                returned(Value::I64(1 << 40)),
                [false, true, false, true, false, false],
            ),
            (
                returned(Value::I32(-9)),
                [false, false, true, true, true, false],
            ),
            (
                returned(Value::I64(-9)),
                [false, false, true, true, true, false],
            ),
            // The low half of this 64-bit result alone would be -9.
            (
                returned(Value::I64(0x1_FFFF_FFF7)),
                [false, true, false, true, false, false],
            ),
            (
                returned(Value::I32(-8)),
                [false, false, true, true, false, false],
            ),
            (
                returned(Value::F32(0)),
                [false, false, false, true, false, false],
            ),
            (
                Outcome::Returned(vec![]),
                [false, false, false, true, false, false],
            ),
            (
                Outcome::Trapped(String::new()),
                [false, false, false, false, false, true],
            ),
        ];
        for (outcome, expected) in table {
            for (word, expected) in words.iter().zip(expected) {
                let accept = Accept::from_word(word).expect(word);
                let verdict = judge(&[accept], &outcome);
                assert_eq!(verdict == Verdict::Pass, expected, "{word} {outcome:?}");
                assert!(matches!(verdict, Verdict::Pass | Verdict::Fail));
            }
        }
    }

    #[test]
    fn hangs_and_crashes_pass_nothing() {
        let everything = [
            Accept::Any,
            Accept::Negative,
            Accept::Id,
            Accept::Trap,
            Accept::Ok,
        ];
        assert_eq!(judge(&everything, &Outcome::TimedOut), Verdict::Timeout);
        assert_eq!(
            judge(&everything, &Outcome::Crashed("x".into())),
            Verdict::Crash
        );
        assert_eq!(
            judge(&everything, &Outcome::Failed("x".into())),
            Verdict::Error
        );
    }

    #[test]
    fn alternatives_are_alternatives() {
        let accepted = [Accept::Integer(-2), Accept::Ok];
        for (value, verdict) in [
            (0, Verdict::Pass),
            (-2, Verdict::Pass),
            (-3, Verdict::Fail),
            (2, Verdict::Fail),
        ] {
            assert_eq!(
                judge(&accepted, &returned(Value::I32(value))),
                verdict,
                "{value}"
            );
        }
    }

    #[test]
    fn floats_compare_by_bits() {
        let accept = |number: f64| [Accept::Float(number.to_bits())];
        assert_eq!(
            judge(&accept(0.5), &returned(Value::F32(0.5_f32.to_bits()))),
            Verdict::Pass
        );
        assert_eq!(
            judge(&accept(0.0), &returned(Value::F64((-0.0_f64).to_bits()))),
            Verdict::Fail
        );
        assert_eq!(judge(&accept(1.0), &returned(Value::I32(1))), Verdict::Fail);
    }

    #[test]
    fn codes_are_shown_by_name() {
        assert_eq!(describe(&returned(Value::I64(-11))), "invalid-handle (-11)");
        assert_eq!(
            describe(&Outcome::Returned(vec![Value::I32(7), Value::I32(-1)])),
            "7, not-available (-1)"
        );
    }
}
