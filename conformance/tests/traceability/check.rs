//! The checks, and what they find.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use wasi_cuda_conformance::Profile;
use wasi_cuda_conformance::catalogue::Level;

use crate::frozen::Frozen;

/// Requirements, cases and deviants as far as they refer to each other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trace {
    pub(crate) requirements: Vec<RequirementRow>,
    pub(crate) cases: Vec<CaseRow>,
    pub(crate) deviants: Vec<DeviantRow>,
}

#[derive(Clone, Debug)]
pub(crate) struct RequirementRow {
    pub(crate) id: String,
    pub(crate) level: Level,
    pub(crate) profiles: Vec<Profile>,
    pub(crate) no_deviant: Option<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct CaseRow {
    pub(crate) id: String,
    pub(crate) requirements: Vec<String>,
    /// Where it is judged.
    pub(crate) profiles: Vec<Profile>,
}

#[derive(Clone, Debug)]
pub(crate) struct DeviantRow {
    pub(crate) name: String,
    pub(crate) breaks: Vec<String>,
    pub(crate) profile: Profile,
}

/// Something that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Problem {
    NoCase(String, Profile),
    NoRequirement(String),
    UnknownInCase(String, String),
    NoDeviant(String),
    NeedlessReason(String),
    BreaksNothing(String),
    UnknownInDeviant(String, String),
    NotOnProfile(String, String, Profile),
    Duplicate(&'static str, String),
    GoneRequirement(String),
    GoneCase(String),
    GoneDeviant(String),
    New(&'static str, String),
    Unsorted(&'static str, String),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const GONE: &str = "renamed or removed: ids are stable for ever";
        const UPDATE: &str =
            "`UPDATE_FROZEN=1 cargo test -p wasi-cuda-conformance --test traceability` adds it";
        match self {
            Problem::NoCase(id, profile) => {
                write!(
                    f,
                    "requirement {id} has no case on {profile}, one of its profiles"
                )
            }
            Problem::NoRequirement(id) => write!(f, "case {id} checks no requirement"),
            Problem::UnknownInCase(case, id) => {
                write!(f, "case {case}: no requirement is called {id}")
            }
            Problem::NoDeviant(id) => write!(
                f,
                "requirement {id} is a `must`: a deviant has to break it, or `no_deviant` says why none can"
            ),
            Problem::NeedlessReason(id) => {
                write!(
                    f,
                    "requirement {id} says why it has no deviant, and has one"
                )
            }
            Problem::BreaksNothing(name) => write!(f, "deviant {name} breaks no requirement"),
            Problem::UnknownInDeviant(name, id) => {
                write!(f, "deviant {name}: no requirement is called {id}")
            }
            Problem::NotOnProfile(name, id, profile) => {
                write!(
                    f,
                    "deviant {name}: {id} has no case on {profile}, so nothing could catch it"
                )
            }
            Problem::Duplicate(kind, id) => write!(f, "two {kind}s are called {id}"),
            Problem::GoneRequirement(id) => write!(f, "requirement {id}: {GONE}"),
            Problem::GoneCase(id) => write!(f, "case {id}: {GONE}"),
            Problem::GoneDeviant(id) => write!(f, "deviant {id}: {GONE}"),
            Problem::New(kind, id) => write!(f, "{kind} {id} is new: {UPDATE}"),
            Problem::Unsorted(file, id) => write!(f, "frozen/{file}: {id} is not in its place"),
        }
    }
}

/// One line each.
pub(crate) fn list(problems: &[Problem]) -> String {
    let lines: Vec<String> = problems.iter().map(Problem::to_string).collect();
    format!("{} problems\n{}", lines.len(), lines.join("\n"))
}

/// Everything that is wrong.
pub(crate) fn problems(trace: &Trace, frozen: &Frozen) -> Vec<Problem> {
    let mut problems = references(trace);
    problems.extend(duplicates(trace));
    problems.extend(gone_or_new(trace, frozen));
    problems
}

/// What refers to nothing, and what nothing refers to.
pub(crate) fn references(trace: &Trace) -> Vec<Problem> {
    let mut problems = Vec::new();
    let known: BTreeSet<&str> = trace.requirements.iter().map(|row| &*row.id).collect();
    let mut judged: BTreeMap<&str, BTreeSet<Profile>> = BTreeMap::new();
    for case in &trace.cases {
        if case.requirements.is_empty() {
            problems.push(Problem::NoRequirement(case.id.clone()));
        }
        for id in &case.requirements {
            judged.entry(id).or_default().extend(&case.profiles);
            if !known.contains(&**id) {
                problems.push(Problem::UnknownInCase(case.id.clone(), id.clone()));
            }
        }
    }
    let on = |id: &str, profile| {
        judged
            .get(id)
            .is_some_and(|profiles| profiles.contains(&profile))
    };
    let mut broken: BTreeSet<&str> = BTreeSet::new();
    for deviant in &trace.deviants {
        if deviant.breaks.is_empty() {
            problems.push(Problem::BreaksNothing(deviant.name.clone()));
        }
        for id in &deviant.breaks {
            broken.insert(id);
            let (name, id) = (deviant.name.clone(), id.clone());
            if !known.contains(&*id) {
                problems.push(Problem::UnknownInDeviant(name, id));
            } else if !on(&id, deviant.profile) {
                problems.push(Problem::NotOnProfile(name, id, deviant.profile));
            }
        }
    }
    for row in &trace.requirements {
        for profile in &row.profiles {
            if !on(&row.id, *profile) {
                problems.push(Problem::NoCase(row.id.clone(), *profile));
            }
        }
        match (&row.no_deviant, broken.contains(&*row.id)) {
            (None, false) if row.level == Level::Must => {
                problems.push(Problem::NoDeviant(row.id.clone()));
            }
            (Some(_), true) => problems.push(Problem::NeedlessReason(row.id.clone())),
            _ => {}
        }
    }
    problems
}

/// Ids that stand for two things.
pub(crate) fn duplicates(trace: &Trace) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (kind, ids) in trace.ids() {
        let mut seen = BTreeSet::new();
        for id in ids {
            if !seen.insert(id) {
                problems.push(Problem::Duplicate(kind, id.to_owned()));
            }
        }
    }
    problems
}

/// What the frozen lists have and the trace has not, and the other way round.
pub(crate) fn gone_or_new(trace: &Trace, frozen: &Frozen) -> Vec<Problem> {
    let mut problems = Vec::new();
    for ((kind, ids), (file, listed)) in trace.ids().into_iter().zip(frozen.lists()) {
        let ids: BTreeSet<&str> = ids.into_iter().collect();
        let known: BTreeSet<&str> = listed.iter().map(String::as_str).collect();
        let gone = match kind {
            "requirement" => Problem::GoneRequirement,
            "case" => Problem::GoneCase,
            _ => Problem::GoneDeviant,
        };
        problems.extend(known.difference(&ids).map(|id| gone((*id).to_owned())));
        problems.extend(
            ids.difference(&known)
                .map(|id| Problem::New(kind, (*id).to_owned())),
        );
        let misplaced = listed
            .iter()
            .zip(listed.iter().skip(1))
            .find(|(id, next)| id >= next);
        if let Some((_, id)) = misplaced {
            problems.push(Problem::Unsorted(file, id.clone()));
        }
    }
    problems
}

impl Trace {
    /// The ids by kind, in the order of the frozen lists.
    pub(crate) fn ids(&self) -> [(&'static str, Vec<&str>); 3] {
        [
            (
                "requirement",
                self.requirements.iter().map(|row| &*row.id).collect(),
            ),
            ("case", self.cases.iter().map(|row| &*row.id).collect()),
            (
                "deviant",
                self.deviants.iter().map(|row| &*row.name).collect(),
            ),
        ]
    }
}

#[test]
fn each_rule_finds_what_breaks_it() {
    let good = Trace {
        requirements: vec![requirement("a"), requirement("b")],
        cases: vec![case("f/x", &["a"]), case("f/y", &["a", "b"])],
        deviants: vec![deviant("d", &["a", "b"])],
    };
    let mut frozen = Frozen::default();
    frozen.add(&good);
    let changed = |change: &dyn Fn(&mut Trace)| {
        let mut trace = good.clone();
        change(&mut trace);
        problems(&trace, &frozen)
    };
    let name = str::to_owned;
    assert_eq!(changed(&|_| {}), []);
    type Change<'a> = &'a dyn Fn(&mut Trace);
    let table: [(Change<'_>, Problem); 16] = [
        (
            &|t| drop(t.requirements.remove(1)),
            Problem::GoneRequirement(name("b")),
        ),
        (
            &|t| drop(t.requirements.remove(1)),
            Problem::UnknownInCase(name("f/y"), name("b")),
        ),
        (
            &|t| drop(t.requirements.remove(1)),
            Problem::UnknownInDeviant(name("d"), name("b")),
        ),
        (&|t| drop(t.cases.remove(0)), Problem::GoneCase(name("f/x"))),
        (
            &|t| drop(t.cases.remove(1)),
            Problem::NoCase(name("b"), Profile::Device),
        ),
        (
            &|t| drop(t.cases.remove(1)),
            Problem::NotOnProfile(name("d"), name("b"), Profile::Device),
        ),
        (
            &|t| drop(t.deviants.remove(0)),
            Problem::GoneDeviant(name("d")),
        ),
        (
            &|t| drop(t.deviants.remove(0)),
            Problem::NoDeviant(name("a")),
        ),
        (
            &|t| t.requirements.push(requirement("c")),
            Problem::New("requirement", name("c")),
        ),
        (
            &|t| t.requirements.push(requirement("a")),
            Problem::Duplicate("requirement", name("a")),
        ),
        (
            &|t| t.cases.push(case("f/x", &["a"])),
            Problem::Duplicate("case", name("f/x")),
        ),
        (
            &|t| t.deviants.push(deviant("d", &["a"])),
            Problem::Duplicate("deviant", name("d")),
        ),
        (
            &|t| t.cases[0].requirements.clear(),
            Problem::NoRequirement(name("f/x")),
        ),
        (
            &|t| t.deviants[0].breaks.clear(),
            Problem::BreaksNothing(name("d")),
        ),
        (
            &|t| t.deviants[0].profile = Profile::Disabled,
            Problem::NotOnProfile(name("d"), name("a"), Profile::Disabled),
        ),
        (
            &|t| t.requirements[0].no_deviant = Some(name("because")),
            Problem::NeedlessReason(name("a")),
        ),
    ];
    for (change, expected) in table {
        let problems = changed(change);
        assert!(problems.contains(&expected), "{expected}: {problems:?}");
    }
    // A reason is enough where no deviant exists, and a `should` needs neither.
    let excused = changed(&|t| {
        t.deviants[0].breaks = vec![name("a")];
        t.requirements[1].no_deviant = Some(name("because"));
    });
    assert_eq!(excused, []);
    let recommended = changed(&|t| {
        t.deviants[0].breaks = vec![name("a")];
        t.requirements[1].level = Level::Should;
    });
    assert_eq!(recommended, []);
    // Renamed is gone and new.
    let renamed = changed(&|t| t.cases[0].id = name("f/z"));
    assert_eq!(
        renamed,
        [
            Problem::GoneCase(name("f/x")),
            Problem::New("case", name("f/z"))
        ]
    );
}

#[test]
fn a_list_out_of_order_is_found() {
    let trace = Trace {
        deviants: vec![deviant("d", &["a"]), deviant("e", &["a"])],
        ..Trace::default()
    };
    let frozen = Frozen {
        deviants: vec!["e".to_owned(), "d".to_owned()],
        ..Frozen::default()
    };
    let expected = [Problem::Unsorted("deviants.txt", "d".to_owned())];
    assert_eq!(gone_or_new(&trace, &frozen), expected);
}

fn requirement(id: &str) -> RequirementRow {
    RequirementRow {
        id: id.to_owned(),
        level: Level::Must,
        profiles: vec![Profile::Device],
        no_deviant: None,
    }
}

fn case(id: &str, requirements: &[&str]) -> CaseRow {
    CaseRow {
        id: id.to_owned(),
        requirements: requirements.iter().map(|id| (*id).to_owned()).collect(),
        profiles: vec![Profile::Device],
    }
}

fn deviant(name: &str, breaks: &[&str]) -> DeviantRow {
    DeviantRow {
        name: name.to_owned(),
        breaks: breaks.iter().map(|id| (*id).to_owned()).collect(),
        profile: Profile::Device,
    }
}
