//! From each requirement to its cases and deviants, and back: nothing is missing, and no id ever goes away.
//!
//! The checks are functions over plain rows. They are held to the real catalogue, suite and deviants; to the same with
//! any one requirement, case or deviant removed, which must be noticed each time; and to small made-up ones.

mod check;
mod frozen;

use std::collections::BTreeMap;

use wasi_cuda_conformance::Suite;
use wasi_cuda_conformance::catalogue::Level;
use wasi_cuda_conformance::{Profile, deviant};

use check::{CaseRow, DeviantRow, Problem, RequirementRow, Trace};
use frozen::Frozen;

/// With `UPDATE_FROZEN` set, new ids are added to the committed lists first. None is ever taken out.
#[test]
fn everything_is_traced() {
    let trace = real();
    let mut frozen = Frozen::read();
    if std::env::var_os("UPDATE_FROZEN").is_some() {
        frozen.add(&trace);
        frozen.write();
    }
    let problems = check::problems(&trace, &frozen);
    assert!(problems.is_empty(), "{}", check::list(&problems));
}

#[test]
fn deviants_are_named_and_described_as_the_others() {
    for deviant in deviant::all() {
        let words = deviant.name.split('-');
        let plain = |word: &str| {
            let mut letters = word.bytes();
            !word.is_empty()
                && letters.all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit())
        };
        assert!(
            words.clone().count() > 1 && words.clone().all(plain),
            "{}",
            deviant.name
        );
        // It is read after "a host that".
        let wrong = deviant.wrong;
        let begins_small = wrong.starts_with(|letter: char| letter.is_ascii_lowercase());
        assert!(
            begins_small && !wrong.ends_with('.'),
            "{}: {wrong}",
            deviant.name
        );
    }
}

#[test]
fn a_removed_requirement_is_noticed() {
    let (mut trace, mut frozen) = (real(), Frozen::read());
    assert_eq!(check::references(&trace), []);
    // The ids of cases have a test of their own.
    frozen.cases.clear();
    for index in 0..trace.requirements.len() {
        let gone = trace.requirements.remove(index);
        // The cases that claim it are left with an id that nothing knows.
        let loose = check::references(&trace);
        let claims =
            |problem: &Problem| matches!(problem, Problem::UnknownInCase(_, id) if *id == gone.id);
        assert!(loose.iter().any(claims), "{}", gone.id);
        let ids = Trace {
            requirements: trace.requirements.clone(),
            deviants: trace.deviants.clone(),
            cases: Vec::new(),
        };
        let expected = [Problem::GoneRequirement(gone.id.clone())];
        assert_eq!(check::gone_or_new(&ids, &frozen), expected);
        trace.requirements.insert(index, gone);
    }
}

/// A fixture at a time: the check looks at each id alone, and over all of some thousand cases at once it would take
/// minutes to remove each.
#[test]
fn a_removed_case_is_noticed() {
    let (trace, frozen) = (real(), Frozen::read());
    let fixture = |id: &str| id.rsplit_once('/').map(|(path, _)| path.to_owned());
    let mut fixtures: BTreeMap<Option<String>, (Trace, Frozen)> = BTreeMap::new();
    for case in &trace.cases {
        let (part, _) = fixtures.entry(fixture(&case.id)).or_default();
        part.cases.push(case.clone());
    }
    for id in &frozen.cases {
        let (_, part) = fixtures.entry(fixture(id)).or_default();
        part.cases.push(id.clone());
    }
    let mut removed = 0;
    for (trace, frozen) in fixtures.into_values() {
        assert_eq!(check::gone_or_new(&trace, &frozen), []);
        for index in 0..trace.cases.len() {
            let mut less = trace.clone();
            let gone = less.cases.remove(index);
            let expected = [Problem::GoneCase(gone.id)];
            assert_eq!(check::gone_or_new(&less, &frozen), expected);
            removed += 1;
        }
    }
    assert_eq!(removed, trace.cases.len());
}

#[test]
fn a_removed_deviant_is_noticed() {
    let (mut trace, mut frozen) = (real(), Frozen::read());
    trace.cases.clear();
    frozen.cases.clear();
    for index in 0..trace.deviants.len() {
        let gone = trace.deviants.remove(index);
        let expected = [Problem::GoneDeviant(gone.name.clone())];
        assert_eq!(check::gone_or_new(&trace, &frozen), expected);
        trace.deviants.insert(index, gone);
    }
}

/// Without its cases on a profile, or without its deviants, a requirement is a promise that nobody keeps.
#[test]
fn a_requirement_whose_checks_are_removed_is_noticed() {
    let trace = real();
    for requirement in &trace.requirements {
        for profile in &requirement.profiles {
            let mut less = trace.clone();
            less.cases.retain(|case| {
                !(case.requirements.contains(&requirement.id) && case.profiles.contains(profile))
            });
            let expected = Problem::NoCase(requirement.id.clone(), *profile);
            let problems = check::references(&less);
            assert!(problems.contains(&expected), "{expected}");
        }
        if requirement.level == Level::Must && requirement.no_deviant.is_none() {
            let mut less = trace.clone();
            less.deviants
                .retain(|deviant| !deviant.breaks.contains(&requirement.id));
            let expected = Problem::NoDeviant(requirement.id.clone());
            let problems = check::references(&less);
            assert!(problems.contains(&expected), "{expected}");
        }
    }
}

/// The real rows.
fn real() -> Trace {
    let suite = Suite::embedded().unwrap_or_else(|error| panic!("{error}"));
    let requirements = suite
        .catalogue
        .requirements()
        .map(|requirement| RequirementRow {
            id: requirement.id.clone(),
            level: requirement.level,
            profiles: requirement.profiles.clone(),
            no_deviant: requirement.no_deviant.clone(),
        });
    let cases = suite.cases().map(|(fixture, case)| CaseRow {
        id: case.id.clone(),
        requirements: case.requirements.clone(),
        profiles: Profile::ALL
            .into_iter()
            .filter(|profile| {
                fixture.profiles.contains(profile) && case.expectation.under(*profile).is_some()
            })
            .collect(),
    });
    let deviants = deviant::all().map(|deviant| DeviantRow {
        name: deviant.name.to_owned(),
        breaks: deviant.breaks.iter().map(|id| (*id).to_owned()).collect(),
        profile: deviant.profile,
    });
    Trace {
        requirements: requirements.collect(),
        cases: cases.collect(),
        deviants: deviants.collect(),
    }
}
