//! What wit/ERRATA.md says about cases is true of the fixtures, and what the catalogue says about errata of that page.

use std::collections::{BTreeMap, BTreeSet};

use wasi_cuda_conformance::Suite;

/// An entry's number and the fixtures that it names.
type Errata = BTreeMap<usize, BTreeSet<String>>;

fn suite() -> Suite {
    Suite::embedded().unwrap_or_else(|error| panic!("{error}"))
}

/// Every numbered entry; its fixtures are the words in backquotes with a slash, behind `Cases:`.
fn errata() -> Errata {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../wit/ERRATA.md");
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let (entries, _) = text
        .split_once("\n## ")
        .expect("a heading behind the entries");
    let mut found = Errata::new();
    let mut number = 0;
    let mut entry = String::new();
    // A line that starts another entry ends the one before it; the empty one at the end does so for the last.
    for line in entries.lines().chain(["0. **"]) {
        let start = line
            .split_once(". **")
            .and_then(|(number, _)| number.parse::<usize>().ok());
        if let Some(next) = start {
            if number > 0 {
                assert!(found.insert(number, cases(number, &entry)).is_none());
            }
            number = next;
            entry.clear();
        }
        entry.push_str(line.trim_start());
        entry.push(' ');
    }
    found
}

fn cases(number: usize, entry: &str) -> BTreeSet<String> {
    let (_, cases) = entry
        .split_once(" Cases: ")
        .unwrap_or_else(|| panic!("entry {number} does not say which cases it concerns"));
    let named: BTreeSet<String> = cases
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|word| word.contains('/'))
        .map(str::to_owned)
        .collect();
    assert!(
        named.is_empty() == cases.starts_with("none: "),
        "entry {number}: name fixtures, or write `none:` and the reason: {cases}"
    );
    named
}

#[test]
fn entries_are_numbered_in_order() {
    let numbers: Vec<usize> = errata().into_keys().collect();
    assert!(!numbers.is_empty());
    assert_eq!(numbers, (1..=numbers.len()).collect::<Vec<usize>>());
}

#[test]
fn every_fixture_that_an_entry_names_exists() {
    let suite = suite();
    let paths: BTreeSet<&str> = suite
        .fixtures
        .iter()
        .map(|fixture| fixture.path.as_str())
        .collect();
    for (number, named) in errata() {
        for path in named {
            assert!(
                paths.contains(path.as_str()),
                "entry {number} names {path}, which is no fixture"
            );
        }
    }
}

/// A requirement that cites an entry is checked by a fixture that the entry names.
#[test]
fn what_the_catalogue_cites_is_there() {
    let suite = suite();
    let errata = errata();
    let mut cited = 0;
    for requirement in suite.catalogue.requirements() {
        let Some(number) = ["Erratum ", "ABI hole "]
            .iter()
            .find_map(|word| requirement.source.strip_prefix(word))
        else {
            continue;
        };
        let number: usize = number
            .parse()
            .unwrap_or_else(|_| panic!("{}: {}", requirement.id, requirement.source));
        let named = errata
            .get(&number)
            .unwrap_or_else(|| panic!("{} cites entry {number}", requirement.id));
        let checked = suite.fixtures.iter().any(|fixture| {
            named.contains(&fixture.path)
                && fixture
                    .cases()
                    .any(|case| case.requirements.contains(&requirement.id))
        });
        assert!(
            checked,
            "{} cites entry {number}, and no fixture named there checks it",
            requirement.id
        );
        cited += 1;
    }
    assert!(cited > 20, "{cited}");
}
