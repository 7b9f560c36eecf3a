//! Rules that the committed fixtures and the catalogue keep.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use wasi_cuda_conformance::fixture::{Accept, Action, Plan};
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
fn the_suite_has_at_least_150_cases_on_a_device() {
    let suite = embedded();
    let count = suite
        .fixtures
        .iter()
        .flat_map(|fixture| fixture.judged(Profile::Device))
        .count();
    assert!(count >= 150, "{count}");
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

/// On a device, a fixture that expects a refusal also shows a control: a call of the same export that succeeds, or a
/// step that says it is one. A module that must not link has one in its folder that must.
#[test]
fn every_refusal_has_its_control() {
    let suite = embedded();
    let mut lacking = Vec::new();
    let mut linking_folders = BTreeSet::new();
    let mut refusing_folders = BTreeMap::new();
    for fixture in &suite.fixtures {
        let folder = fixture
            .path
            .rsplit_once('/')
            .map_or("", |(folder, _)| folder);
        let actions = match &fixture.plan {
            Plan::Link(case) if case.control => {
                linking_folders.insert(folder);
                continue;
            }
            Plan::Link(case) => {
                refusing_folders.insert(folder, &case.id);
                continue;
            }
            Plan::Steps(actions) => actions,
        };
        linking_folders.insert(folder);
        let calls = || {
            actions.iter().filter_map(|action| match action {
                Action::Call(call) => Some((call, call.case.expectation.under(Profile::Device)?)),
                Action::Drop(_) | Action::Instantiate(_) => None,
            })
        };
        let refusals = calls().filter(|(call, accepted)| {
            !call.case.control && accepted.iter().all(|accept| accept.is_refusal())
        });
        for (refusal, _) in refusals {
            let has_control = calls().any(|(other, accepted)| {
                let succeeds = accepted
                    .iter()
                    .all(|accept| !accept.is_refusal() && *accept != Accept::Any);
                other.case.control || (other.export == refusal.export && succeeds)
            });
            if !has_control {
                lacking.push(refusal.case.id.as_str());
            }
        }
    }
    let alone = refusing_folders
        .iter()
        .filter(|(folder, _)| !linking_folders.contains(*folder));
    lacking.extend(alone.map(|(_, id)| id.as_str()));
    assert!(lacking.is_empty(), "no control for {lacking:#?}");
}

#[test]
fn code_names_are_those_of_the_host() {
    assert_eq!(AbiError::ALL.len(), code::NAMES.len());
    for error in AbiError::ALL {
        assert_eq!(code::name(i64::from(error.code())), Some(error.name()));
    }
}

#[test]
fn the_reference_host_is_conformant_on_every_profile() {
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
            report.is_conformant(),
            "{}",
            report.to_terminal(&suite.catalogue, Default::default())
        );
    }
}
