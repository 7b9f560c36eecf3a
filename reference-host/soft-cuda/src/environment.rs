//! What the environment asks for, read once.
//! The crate's documentation has the list.

use std::ffi::OsString;
use std::fs::File;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use crate::api::EXPORTS;
use crate::device;
use crate::error::Error;

/// The environment's wishes.
#[derive(Debug)]
pub(crate) struct Settings {
    /// Bytes of device memory.
    pub(crate) memory_bytes: u64,
    /// Weighted warp instructions that a launch may take.
    pub(crate) instruction_budget: u64,
    pub(crate) failures: Vec<Failure>,
    pub(crate) delays: Vec<(Function, Duration)>,
    pub(crate) trace: Option<Output>,
    pub(crate) leaks: Option<Output>,
    /// Whether `CUDA_VISIBLE_DEVICES` leaves the device to be seen.
    pub(crate) visible: bool,
    /// What is wrong with the wishes.
    pub(crate) mistakes: Vec<String>,
}

/// A call that is to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) function: Function,
    /// Which call, from 1; `None` for each.
    pub(crate) number: Option<u64>,
    pub(crate) error: Error,
}

/// A function of this library, or any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    Any,
    Named(&'static str),
}

impl Function {
    /// Whether a call is of this function.
    pub(crate) fn matches(self, name: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Named(own) => own == name,
        }
    }

    fn parse(text: &str) -> Option<Self> {
        if text == "*" {
            return Some(Self::Any);
        }
        let mut exports = EXPORTS.iter().flat_map(|(_, chapter)| chapter.iter());
        let export = exports.find(|export| export.name == text)?;
        Some(Self::Named(export.name))
    }
}

/// Where a report goes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Output {
    StandardError,
    File(PathBuf),
}

/// The environment's wishes.
pub(crate) fn settings() -> &'static Settings {
    static SETTINGS: OnceLock<Settings> = OnceLock::new();
    SETTINGS.get_or_init(|| {
        let mut settings = Settings::read(|name| std::env::var_os(name));
        let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
        settings.mistakes.extend(unknown(names));
        settings
    })
}

/// What is wrong with variables of ours that this library does not know.
fn unknown(names: impl Iterator<Item = String>) -> impl Iterator<Item = String> {
    names
        .filter(|name| name.starts_with(OURS) && !KNOWN.contains(&name.as_str()))
        .map(|name| format!("{name} is none of {}", KNOWN.join(", ")))
}

impl Settings {
    fn read(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let mut mistakes = Vec::new();
        let mut text = |name: &str| {
            let value = variable(name)?.into_string();
            value
                .inspect_err(|_| mistakes.push(format!("{name} is not UTF-8")))
                .ok()
        };
        let [memory, budget, failures, delays] = [MEMORY, BUDGET, FAIL, DELAY].map(&mut text);
        let mut settings = Self {
            memory_bytes: device::MEMORY_BYTES,
            instruction_budget: INSTRUCTION_BUDGET,
            failures: Vec::new(),
            delays: Vec::new(),
            trace: variable(TRACE).map(Output::from),
            leaks: variable(LEAKS).map(Output::from),
            visible: variable(VISIBLE).is_none_or(|list| shows_first(&list.to_string_lossy())),
            mistakes,
        };
        for (name, output) in [(TRACE, &settings.trace), (LEAKS, &settings.leaks)] {
            if let Some(Output::File(path)) = output
                && let Err(error) = File::options().append(true).create(true).open(path)
            {
                let mistake = format!("{name} is {}: {error}", path.display());
                settings.mistakes.push(mistake);
            }
        }
        for (name, value, place) in [
            (MEMORY, memory, &mut settings.memory_bytes),
            (BUDGET, budget, &mut settings.instruction_budget),
        ] {
            match value.as_deref().map(str::parse) {
                Some(Ok(number)) => *place = number,
                Some(Err(_)) => {
                    let value = value.unwrap_or_default();
                    let mistake = format!("{name} is `{value}`, which is not a number");
                    settings.mistakes.push(mistake);
                }
                None => {}
            }
        }
        let (failed, delayed) = (failures.unwrap_or_default(), delays.unwrap_or_default());
        for item in items(&failed) {
            match failure(item) {
                Some(failure) => settings.failures.push(failure),
                None => settings.mistakes.push(format!(
                    "{FAIL} has `{item}`, which is not FUNCTION:K=CODE with what this library knows"
                )),
            }
        }
        for item in items(&delayed) {
            match delay(item) {
                Some(delay) => settings.delays.push(delay),
                None => settings.mistakes.push(format!(
                    "{DELAY} has `{item}`, which is not FUNCTION=MICROSECONDS with what this library knows"
                )),
            }
        }
        settings
    }
}

/// Whether a list of devices, which ends before the first that is not there, has this one.
fn shows_first(list: &str) -> bool {
    let first = list.split(',').next().unwrap_or_default().trim();
    first == "0" || first.starts_with("GPU-")
}

impl From<OsString> for Output {
    fn from(value: OsString) -> Self {
        if value == "-" {
            Self::StandardError
        } else {
            Self::File(value.into())
        }
    }
}

/// The parts of a list; an empty value is an empty list.
fn items(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').filter(move |_| !list.is_empty())
}

fn failure(item: &str) -> Option<Failure> {
    let (call, code) = item.split_once('=')?;
    let (function, number) = call.split_once(':')?;
    let number = match number {
        "*" => None,
        number => Some(number.parse().ok().filter(|number| *number != 0)?),
    };
    let error = match code.parse() {
        Ok(number) => Error::of(number)?,
        Err(_) => {
            let named = |error: &&Error| error.name().to_bytes() == code.as_bytes();
            *Error::ALL.iter().find(named)?
        }
    };
    Some(Failure {
        function: Function::parse(function)?,
        number,
        error,
    })
}

fn delay(item: &str) -> Option<(Function, Duration)> {
    let (function, microseconds) = item.split_once('=')?;
    let delay = Duration::from_micros(microseconds.parse().ok()?);
    Some((Function::parse(function)?, delay))
}

const MEMORY: &str = "SOFT_CUDA_MEMORY";
const BUDGET: &str = "SOFT_CUDA_INSTRUCTION_BUDGET";
const FAIL: &str = "SOFT_CUDA_FAIL";
const DELAY: &str = "SOFT_CUDA_DELAY";
const TRACE: &str = "SOFT_CUDA_TRACE";
const LEAKS: &str = "SOFT_CUDA_LEAKS";
const VISIBLE: &str = "CUDA_VISIBLE_DEVICES";
/// How the names of this library's own variables begin.
const OURS: &str = "SOFT_CUDA_";
const KNOWN: [&str; 6] = [MEMORY, BUDGET, FAIL, DELAY, TRACE, LEAKS];
/// A few seconds of a kernel that does not end.
const INSTRUCTION_BUDGET: u64 = 200_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Settings {
        Settings::read(|name| {
            let pair = pairs.iter().find(|pair| pair.0 == name)?;
            Some(pair.1.into())
        })
    }

    #[test]
    fn names_that_are_not_known_and_files_that_cannot_be_are_mistakes() {
        let names = ["SOFT_CUDA_FAIL", "SOFT_CUDA_FIAL", "PATH"].map(str::to_owned);
        let mistakes: Vec<_> = unknown(names.into_iter()).collect();
        assert_eq!(mistakes.len(), 1);
        assert!(mistakes.concat().contains("SOFT_CUDA_FIAL"));
        for name in [TRACE, LEAKS] {
            assert_eq!(
                read(&[(name, "/nowhere/at/all")]).mistakes.len(),
                1,
                "{name}"
            );
            assert!(read(&[(name, "-")]).mistakes.is_empty(), "{name}");
        }
    }

    #[test]
    fn a_list_of_devices_may_leave_this_one_out() {
        assert!(read(&[]).visible);
        for (list, visible) in [
            ("0", true),
            ("0,1", true),
            ("", false),
            ("1", false),
            ("-1", false),
            ("3,0", false),
        ] {
            assert_eq!(read(&[(VISIBLE, list)]).visible, visible, "{list:?}");
        }
    }

    #[test]
    fn nothing_is_asked_for_unless_it_is() {
        for settings in [read(&[]), read(&[(FAIL, ""), (DELAY, "")])] {
            assert_eq!(settings.memory_bytes, device::MEMORY_BYTES);
            assert_eq!(settings.instruction_budget, INSTRUCTION_BUDGET);
            assert!(settings.failures.is_empty() && settings.delays.is_empty());
            assert!(settings.mistakes.is_empty());
            assert_eq!((settings.trace, settings.leaks), (None, None));
        }
    }

    #[test]
    fn values_are_understood() {
        let settings = read(&[
            (MEMORY, "4096"),
            (BUDGET, "7"),
            (
                FAIL,
                "cuInit:1=100,*:3=CUDA_ERROR_OUT_OF_MEMORY,cuMemAlloc_v2:*=2",
            ),
            (DELAY, "cuInit=5,*=1"),
            (TRACE, "-"),
            (LEAKS, "/somewhere"),
        ]);
        assert!(settings.mistakes.is_empty());
        assert_eq!(
            (settings.memory_bytes, settings.instruction_budget),
            (4096, 7)
        );
        let failure = |function, number, error| Failure {
            function,
            number,
            error,
        };
        assert_eq!(
            settings.failures,
            [
                failure(Function::Named("cuInit"), Some(1), Error::NoDevice),
                failure(Function::Any, Some(3), Error::OutOfMemory),
                failure(Function::Named("cuMemAlloc_v2"), None, Error::OutOfMemory),
            ]
        );
        let delays = [("cuInit", 5), ("*", 1)].map(|(function, microseconds)| {
            let delay = Duration::from_micros(microseconds);
            (Function::parse(function), delay)
        });
        assert_eq!(settings.delays.len(), 2);
        for ((function, delay), expected) in settings.delays.iter().zip(delays) {
            assert_eq!((Some(*function), *delay), expected);
        }
        assert_eq!(settings.trace, Some(Output::StandardError));
        assert_eq!(settings.leaks, Some(Output::File("/somewhere".into())));
    }

    #[test]
    fn what_is_not_understood_is_a_mistake() {
        for (name, value) in [
            (MEMORY, ""),
            (MEMORY, "80G"),
            (MEMORY, "-1"),
            (BUDGET, "lots"),
            (FAIL, "cuInit"),
            (FAIL, "cuInit=1"),
            (FAIL, "cuInit:1"),
            (FAIL, "cuInit:0=1"),
            (FAIL, "cuInit:1=0"),
            (FAIL, "cuInit:1=123456"),
            (FAIL, "cuInit:1=CUDA_SUCCESS"),
            (FAIL, "cuNoSuchThing:1=1"),
            (FAIL, "cuInit:1=1,"),
            (FAIL, "cuInit:1=1,,cuInit:2=1"),
            (DELAY, "cuInit"),
            (DELAY, "cuInit=soon"),
            (DELAY, "cuNoSuchThing=1"),
        ] {
            let settings = read(&[(name, value)]);
            assert_eq!(settings.mistakes.len(), 1, "{name}={value}");
        }
    }
}
