//! Hosts that pass a kernel more or less than it has parameters for.

use wasi_cuda_host::Refusal;
use wasi_cuda_host::abi::AbiError::{
    InvalidArgs, InvalidPointer, KernelArgsUnsupported, LaunchFailed,
};
use wasi_cuda_host::abi::Import;

use super::call::Call;
use super::{Deviant, code};

pub(super) const DEVIANTS: &[Deviant] = &[
    launch(
        "params-missing-ignored",
        &["launch.params.missing"],
        "launches with fewer records than parameters",
        |c| silently(c, is_missing, 0),
    ),
    launch(
        "params-missing-code",
        &["launch.params.missing"],
        "answers kernel-args-unsupported to fewer records than parameters",
        |c| silently(c, is_missing, code(KernelArgsUnsupported)),
    ),
    launch(
        "params-all-missing-ignored",
        &["launch.params.missing"],
        "launches without any records, whatever the kernel's parameters",
        |c| {
            silently(
                c,
                |refusal| matches!(refusal, Refusal::ParamCount { passed: 0, .. }),
                0,
            )
        },
    ),
    launch(
        "params-last-missing-ignored",
        &["launch.params.missing"],
        "launches with one record too few",
        |c| {
            silently(
                c,
                |refusal| matches!(refusal, Refusal::ParamCount { passed, declared } if *passed + 1 == *declared),
                0,
            )
        },
    ),
    launch(
        "params-narrower-ignored",
        &["launch.params.narrower"],
        "launches with records narrower than their parameters",
        |c| silently(c, is_narrower, 0),
    ),
    launch(
        "params-narrower-code",
        &["launch.params.narrower"],
        "answers launch-failed to a record narrower than its parameter",
        |c| silently(c, is_narrower, code(LaunchFailed)),
    ),
    launch(
        "params-narrower-last-ignored",
        &["launch.params.narrower"],
        "does not check the size of the third record and those behind it",
        |c| {
            silently(
                c,
                |refusal| matches!(refusal, Refusal::ParamSize { index, .. } if *index >= 2),
                0,
            )
        },
    ),
    launch(
        "params-narrower-after-99-ignored",
        &["launch.params.narrower"],
        "does not check that records behind the hundredth are wide enough",
        |c| silently(c, |refusal| is_narrower(refusal) && is_late(refusal), 0),
    ),
    launch(
        "params-block-as-pointer",
        &["launch.params.narrower"],
        "takes eight bytes for a parameter of any size over that",
        |c| {
            silently(
                c,
                |refusal| matches!(refusal, Refusal::ParamSize { passed_bytes: 8, declared_bytes, .. } if *declared_bytes > 8),
                0,
            )
        },
    ),
    launch(
        "params-wider-ignored",
        &["launch.params.wider"],
        "cuts records wider than their parameters",
        |c| silently(c, is_wider, 0),
    ),
    launch(
        "params-wider-after-99-ignored",
        &["launch.params.wider"],
        "cuts records behind the hundredth that are wider than their parameters",
        |c| silently(c, |refusal| is_wider(refusal) && is_late(refusal), 0),
    ),
    launch(
        "params-wider-code",
        &["launch.params.wider"],
        "answers invalid-pointer to a record wider than its parameter",
        |c| silently(c, is_wider, code(InvalidPointer)),
    ),
    launch(
        "params-more-ignored",
        &["launch.params.more"],
        "ignores records that no parameter takes",
        |c| silently(c, is_more, 0),
    ),
    launch(
        "params-more-code",
        &["launch.params.more"],
        "answers kernel-args-unsupported to more records than parameters",
        |c| silently(c, is_more, code(KernelArgsUnsupported)),
    ),
    launch(
        "params-more-than-none-ignored",
        &["launch.params.more"],
        "ignores the records for a kernel without parameters",
        |c| {
            silently(
                c,
                |refusal| matches!(refusal, Refusal::ParamCount { declared: 0, .. }),
                0,
            )
        },
    ),
];

const fn launch(
    name: &'static str,
    breaks: &'static [&'static str],
    wrong: &'static str,
    act: super::Act,
) -> Deviant {
    Deviant::new(name, breaks, wrong, &[Import::Launch], act)
}

/// Answers `instead` where the reference host refuses for such a reason.
fn silently(c: &mut Call<'_>, forgiven: fn(&Refusal) -> bool, instead: i64) -> i64 {
    match c.pass() {
        refused
            if refused == code(InvalidArgs)
                && c.refusal().is_some_and(|refusal| forgiven(&refusal)) =>
        {
            instead
        }
        answer => answer,
    }
}

fn is_missing(refusal: &Refusal) -> bool {
    matches!(refusal, Refusal::ParamCount { passed, declared } if passed < declared)
}

fn is_more(refusal: &Refusal) -> bool {
    matches!(refusal, Refusal::ParamCount { passed, declared } if passed > declared)
}

fn is_narrower(refusal: &Refusal) -> bool {
    matches!(refusal, Refusal::ParamSize { passed_bytes, declared_bytes, .. } if passed_bytes < declared_bytes)
}

fn is_wider(refusal: &Refusal) -> bool {
    matches!(refusal, Refusal::ParamSize { passed_bytes, declared_bytes, .. } if passed_bytes > declared_bytes)
}

fn is_late(refusal: &Refusal) -> bool {
    matches!(refusal, Refusal::ParamSize { index, .. } if *index >= 100)
}
