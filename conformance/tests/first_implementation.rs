//! The model against what the first public implementation answered, measured: every answer is allowed, or stands in a list
//! with the reason why it is not.

#![expect(
    clippy::print_stdout,
    reason = "the counts are what one wants to see of this test"
)]

#[path = "first_implementation/scene.rs"]
mod scene;

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

use scene::{Row, Scene};

/// The file of answers, its fields explained in `data/first-implementation.md`.
const ROWS: &str = include_str!("data/first-implementation.json");

/// Answers that the model does not allow, and rows that are no answers.
const LIST: &str = include_str!("data/first-implementation-deviations.toml");

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    row: Vec<Entry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    #[serde(rename = "fn")]
    function: String,
    case: String,
    /// Arguments as the row has them; none for rows that are no calls.
    #[serde(default)]
    args: Vec<toml::Value>,
    about: About,
    kind: Kind,
    reason: String,
}

/// Which half of a row an entry is about.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "kebab-case")]
enum About {
    /// What the call answered.
    Answer,
    /// Whether it recorded a message.
    Message,
    /// The row tells of the host's inside, or of linking.
    NoCall,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    /// The published ABI leaves it open or says it so; the reason names the erratum.
    Erratum,
    /// The implementation breaks a requirement, which the reason names.
    Defect,
    /// The implementation does something that the ABI does not know.
    Extension,
    /// Nothing that a call could show.
    HostSide,
}

#[test]
fn every_answer_is_allowed_or_explained() {
    let rows: Vec<Value> = serde_json::from_str(ROWS).expect("the data is JSON");
    let list: List = toml::from_str(LIST).unwrap_or_else(|error| panic!("{error}"));
    let mut listed: BTreeMap<String, Entry> = BTreeMap::new();
    let mut problems = Vec::new();
    for entry in list.row {
        let args: Vec<String> = entry.args.iter().map(toml_argument).collect();
        let key = key(entry.about, &entry.function, &entry.case, &args);
        if entry.reason.trim().is_empty() {
            problems.push(format!("{key}: no reason"));
        }
        if let Some(twice) = listed.insert(key.clone(), entry) {
            problems.push(format!("{key}: listed twice, `{}`", twice.reason));
        }
    }
    let mut used = BTreeSet::new();
    let mut counts: BTreeMap<(About, Kind), usize> = BTreeMap::new();
    let (mut allowed, mut recorded) = (0, 0);
    for value in &rows {
        for finding in judge(value, &mut problems) {
            match finding {
                Finding::Allowed => allowed += 1,
                Finding::Recorded => recorded += 1,
                Finding::Deviates { about, key, why } => match listed.get(&key) {
                    Some(entry) => {
                        *counts.entry((about, entry.kind)).or_default() += 1;
                        used.insert(key);
                    }
                    None => problems.push(format!("{key}: {why}; not listed")),
                },
            }
        }
    }
    for key in listed.keys().filter(|key| !used.contains(*key)) {
        problems.push(format!("{key}: listed, and allowed or not in the data"));
    }
    println!(
        "{} rows: {allowed} answers allowed, {recorded} messages as recommended",
        rows.len()
    );
    for ((about, kind), count) in &counts {
        println!("{count} listed: {about:?}, {kind:?}");
    }
    assert!(
        problems.is_empty(),
        "{} problems:\n{}",
        problems.len(),
        problems.join("\n")
    );
    let answers: usize = counts
        .iter()
        .filter(|((about, _), _)| *about != About::Message)
        .map(|(_, count)| count)
        .sum();
    assert_eq!(allowed + answers, rows.len(), "every row is counted once");
}

enum Finding {
    Allowed,
    Recorded,
    Deviates {
        about: About,
        key: String,
        why: String,
    },
}

/// What there is to say of a row: of its answer, and of the message.
fn judge(value: &Value, problems: &mut Vec<String>) -> Vec<Finding> {
    let text = |field: &str| value.get(field).and_then(Value::as_str).unwrap_or_default();
    let (function, case) = (text("fn"), text("case"));
    let args: Vec<Value> = value
        .get("args")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    let shown: Vec<String> = args.iter().map(json_argument).collect();
    let deviates = |about, why: String| Finding::Deviates {
        about,
        key: key(about, function, case, &shown),
        why,
    };
    let result = match value.get("ret") {
        Some(Value::Number(number)) => number.as_i64(),
        Some(Value::String(text)) if text.starts_with(">=0") => Some(1_000_000),
        _ => None,
    };
    let (Some(result), true) = (result, value.get("args").is_some()) else {
        return vec![deviates(About::NoCall, "no call".to_owned())];
    };
    let row = Row {
        function,
        case,
        memory: text("guest_memory"),
        args: &args,
    };
    let (mut scene, call) = match Scene::of(&row) {
        Ok(scene) => scene,
        Err(why) => {
            problems.push(format!(
                "{function} | {case} | {shown:?}: cannot be read: {why}"
            ));
            return Vec::new();
        }
    };
    let allowed = scene.model.allowed(0, &call);
    let mut findings = Vec::new();
    if scene.model.apply(0, &call, result).is_ok() {
        findings.push(Finding::Allowed);
    } else {
        let why = format!(
            "{call} answered {result}, the model allows {allowed} ({})",
            allowed.rules
        );
        findings.push(deviates(About::Answer, why));
    }
    if scene.records(&call) {
        let set = text("last_error") == "set";
        findings.push(if set == (result < 0) {
            Finding::Recorded
        } else {
            deviates(
                About::Message,
                format!("answered {result}, message {}", text("last_error")),
            )
        });
    }
    findings
}

fn key(about: About, function: &str, case: &str, args: &[String]) -> String {
    format!("{about:?} | {function} | {case} | {}", args.join(" "))
}

fn json_argument(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

fn toml_argument(value: &toml::Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}
