use serde_json::Value as Json;

use super::*;

fn report() -> (Report, Catalogue) {
    let catalogue = Catalogue::parse(
        "[[requirement]]\nid = \"launch.id\"\nlevel = \"must\"\nclass = \"argument\"\nstatement = \"An unknown id is refused.\"\nsource = \"s\"\n",
    )
    .expect("catalogue");
    let case = |id: &str, level, verdict, actual: &str| CaseResult {
        id: id.into(),
        title: "ids".into(),
        requirements: vec!["launch.id".into()],
        level,
        verdict,
        expected: "invalid-kernel (-3)".into(),
        actual: actual.into(),
        stable: actual.into(),
        message: None,
        last_error: None,
        duration: Duration::from_micros(1500),
        extra: false,
    };
    let mut cases = vec![
        case("launch/id/good", Level::Must, Verdict::Pass, "0"),
        case("launch/id/bad[id=-1]", Level::Must, Verdict::Fail, "0"),
        case(
            "sync/idle/hang",
            Level::Should,
            Verdict::Timeout,
            "ran longer than allowed",
        ),
        case("sync/big/skip", Level::May, Verdict::Skip, ""),
    ];
    cases[1].last_error = Some("line\u{1b}[31m\nFAIL forged".into());
    cases[3].message = Some("the runtime does not offer memory64".into());
    let suite = SuiteInfo {
        version: "1.0".into(),
        digest: format!("sha256:{}", "ab".repeat(32)),
    };
    let runtime = RuntimeInfo {
        name: "fake".into(),
        version: "2.0".into(),
        profile: Profile::Device,
        offers: [].into(),
    };
    (
        Report {
            suite,
            runtime,
            cases,
            wall: Duration::from_millis(1230),
        },
        catalogue,
    )
}

#[test]
fn the_terminal_report_starts_with_what_is_wrong() {
    let (report, catalogue) = report();
    let style = Style {
        colour: false,
        rerun: Some("suite run".into()),
    };
    let expected = r"FAIL launch/id/bad[id=-1]
  ids
  requires  launch.id (must): An unknown id is refused.
  expected  invalid-kernel (-3)
  actual    0
  host said line\u{1b}[31m\nFAIL forged
  rerun     suite run --filter 'launch/id/bad[id=-1]'

TIMEOUT sync/idle/hang  (should)
  ids
  requires  launch.id (must): An unknown id is refused.
  expected  invalid-kernel (-3)
  actual    ran longer than allowed
  rerun     suite run --filter 'sync/idle/hang'

SKIP 1 case(s): the runtime does not offer memory64

fake 2.0, profile device, suite 1.0 (sha256:abababababab)

        passed  failed  errored  skipped
launch       1       1        0        0
sync         0       0        1        1

must         1       1        0        0
should       0       0        1        0
may          0       0        0        1

NOT conformant: 1 of 4 cases passed in 1.23 s
";
    assert_eq!(report.to_terminal(&catalogue, style), expected);
}

#[test]
fn colours_change_nothing_but_colours() {
    let (report, catalogue) = report();
    let coloured = report.to_terminal(
        &catalogue,
        Style {
            colour: true,
            rerun: None,
        },
    );
    assert!(coloured.contains('\u{1b}'));
    let mut plain = String::new();
    let mut rest = coloured.as_str();
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        plain.push_str(before);
        rest = after.split_once('m').map_or("", |(_, rest)| rest);
    }
    plain.push_str(rest);
    assert_eq!(plain, report.to_terminal(&catalogue, Style::default()));
}

#[test]
fn the_json_report_has_the_fields_of_the_contract_and_no_others() {
    fn keys(value: &Json) -> Vec<&str> {
        value
            .as_object()
            .expect("an object")
            .keys()
            .map(String::as_str)
            .collect()
    }
    let (report, _) = report();
    let text = report.to_json();
    assert!(text.ends_with("}\n"));
    let json: Json = serde_json::from_str(&text).expect("JSON");
    assert_eq!(keys(&json), ["cases", "runtime", "suite", "summary"]);
    assert_eq!(keys(&json["suite"]), ["digest", "version"]);
    assert_eq!(keys(&json["runtime"]), ["name", "profile", "version"]);
    assert_eq!(keys(&json["summary"]), ["must", "should"]);
    assert_eq!(
        json["summary"]["must"],
        serde_json::json!({"passed": 1, "failed": 1, "errored": 0, "skipped": 0})
    );
    assert_eq!(
        json["summary"]["should"],
        serde_json::json!({"passed": 0, "failed": 0, "errored": 1, "skipped": 0})
    );
    assert_eq!(json["runtime"]["profile"], "device");
    assert_eq!(
        json["cases"][1],
        serde_json::json!({
            "id": "launch/id/bad[id=-1]",
            "requirements": ["launch.id"],
            "level": "must",
            "outcome": "fail",
            "expected": "invalid-kernel (-3)",
            "actual": "0",
            "message": "last error: line\u{1b}[31m\nFAIL forged",
            "ms": 1.5,
        })
    );
    assert_eq!(json["cases"][0]["message"], Json::Null);
    let outcomes: Vec<&str> = json["cases"]
        .as_array()
        .expect("cases")
        .iter()
        .filter_map(|case| case["outcome"].as_str())
        .collect();
    assert_eq!(outcomes, ["pass", "fail", "timeout", "skip"]);
}

#[test]
fn a_should_breaks_conformance_only_by_crash_or_hang() {
    let (report, _) = report();
    let broken: Vec<bool> = [
        Verdict::Pass,
        Verdict::Fail,
        Verdict::Crash,
        Verdict::Timeout,
        Verdict::Error,
        Verdict::Skip,
    ]
    .into_iter()
    .flat_map(|verdict| {
        Level::ALL.map(|level| {
            CaseResult {
                level,
                verdict,
                ..report.cases[0].clone()
            }
            .breaks_conformance()
        })
    })
    .collect();
    let (yes, no) = (true, false);
    assert_eq!(
        broken,
        [
            no, no, no, yes, no, no, yes, yes, yes, yes, yes, yes, yes, no, no, no, no, no
        ]
    );
}
