//! Rules that the committed fixtures and the catalogue keep.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use wasi_cuda_conformance::fixture::FixtureError;
use wasi_cuda_conformance::judge::Verdict;
use wasi_cuda_conformance::runner::{self, Options};
use wasi_cuda_conformance::runtime::reference::{Device, Reference};
use wasi_cuda_conformance::{Profile, Suite, code};
use wasi_cuda_host::abi::AbiError;

fn embedded() -> Suite {
    Suite::embedded().unwrap_or_else(|error| panic!("{error}"))
}

/// Loading from the folder also compares every embedded file with its source.
#[test]
fn the_program_holds_the_suite_of_the_checkout() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = Suite::from_folder(
        &package.join("../fixtures"),
        Some(&package.join("requirements.toml")),
    )
    .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(folder.info, embedded().info);
}

#[test]
fn the_suite_has_at_least_600_cases_on_a_device() {
    let suite = embedded();
    let count = suite
        .fixtures
        .iter()
        .flat_map(|fixture| fixture.judged(Profile::Device))
        .count();
    assert!(count >= 600, "{count}");
}

#[test]
fn every_requirement_has_a_case_on_one_of_its_profiles() {
    let suite = embedded();
    let unchecked: Vec<&str> = suite
        .catalogue
        .requirements()
        .filter(|requirement| {
            requirement
                .profiles
                .iter()
                .all(|profile| suite.cases_of(requirement, *profile).next().is_none())
        })
        .map(|requirement| requirement.id.as_str())
        .collect();
    assert!(unchecked.is_empty(), "no case checks {unchecked:?}");
}

#[test]
fn case_ids_are_unique() {
    let suite = embedded();
    let mut seen = BTreeSet::new();
    for (_, case) in suite.cases() {
        assert!(seen.insert(&case.id), "{}", case.id);
    }
}

/// Loading holds every fixture to it: a committed fixture loads, and without its controls it does not.
#[test]
fn every_refusal_has_its_control() {
    embedded();
    let without_control = |path: &str| {
        let file = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../fixtures")
            .join(path);
        let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{path}: {error}"));
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let alone = text.replace(";;! control = true\n", "");
        fs::write(folder.path().join("case.wat"), alone).unwrap_or_else(|error| panic!("{error}"));
        Suite::from_folder(folder.path(), None)
            .expect_err("a refusal without a control")
            .problems
    };
    for problem in without_control("alloc/sizes.wat") {
        assert!(
            matches!(problem.cause, FixtureError::NoControl(_)) && problem.at.is_some(),
            "{problem}"
        );
    }
    for problem in without_control("link/unknown-name.wat") {
        assert!(
            matches!(problem.cause, FixtureError::NoLinkControl(_)) && problem.at.is_some(),
            "{problem}"
        );
    }
}

#[test]
fn code_names_are_those_of_the_host() {
    assert_eq!(AbiError::ALL.len(), code::NAMES.len());
    for error in AbiError::ALL {
        assert_eq!(code::name(i64::from(error.code())), Some(error.name()));
    }
}

/// Not only conformant: no case at any level fails or is left out.
#[test]
fn the_reference_host_passes_every_case_on_every_profile() {
    let suite = embedded();
    for device in [Device::Soft, Device::None, Device::Disabled] {
        let runtime = Reference::new(device).unwrap_or_else(|error| panic!("{error}"));
        let report = runner::run(
            &suite,
            Arc::new(runtime),
            &Options::default(),
            &mut |_, _| {},
        )
        .unwrap_or_else(|error| panic!("{error}"));
        assert!(
            report
                .cases
                .iter()
                .all(|case| case.verdict == Verdict::Pass),
            "{}",
            report.to_terminal(&suite.catalogue, Default::default())
        );
    }
}
