//! The command `random` as its users start it.

use std::process::{Command, Output};

use serde_json::Value as Json;

fn random(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_wasi-cuda-conformance"))
        .arg("random")
        .args(args)
        .output()
        .expect("the program starts")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

#[test]
fn nothing_found_gives_status_0_and_says_what_was_done() {
    let output = random(&["--runtime", "reference:none", "--runs", "8", "--seed", "4"]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(text.contains("seed 4"), "{text}");
    assert!(text.contains("8 sequences of 60 operations"), "{text}");
    assert!(text.contains("memcpy_d2h"), "{text}");
    assert!(text.ends_with("nothing found\n"), "{text}");
}

#[test]
fn the_report_for_programs_has_the_same_numbers_for_the_same_seed() {
    let args = [
        "--runtime",
        "reference:none",
        "--runs",
        "8",
        "--ops",
        "20",
        "--seed",
        "4",
    ];
    let args = [&args[..], &["--format", "json"]].concat();
    let json = || -> Json {
        let output = random(&args);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        serde_json::from_str(&stdout(&output)).expect("JSON")
    };
    let (first, again) = (json(), json());
    assert_eq!(first["runtime"]["name"], "reference:none");
    assert_eq!(first["operations"], 160);
    assert_eq!(first["found"], Json::Null);
    assert_eq!(first["calls"], again["calls"]);
}

#[test]
fn bad_arguments_give_status_2() {
    for args in [
        &["--runs", "0"][..],
        &["--ops", "0"],
        &["--ops", "-1"],
        &["--seed", "x"],
        &["--timeout", "0"],
        &["--runtime", "nothing"],
        &["--output", "/nowhere/at/all.wat"],
    ] {
        let output = random(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {output:?}");
        assert!(output.stdout.is_empty(), "{args:?}");
        assert!(!output.stderr.is_empty(), "{args:?}");
    }
}

#[test]
fn a_recommendation_is_a_finding_that_says_what_it_is() {
    let args = [
        "--runtime",
        "deviant:message-never",
        "--runs",
        "50",
        "--seed",
        "1",
    ];
    let output = random(&args);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(
        text.contains(" (a recommendation; --lenient does not judge these)\n"),
        "{text}"
    );
    let lenient = random(&[&args[..], &["--lenient"]].concat());
    assert_eq!(lenient.status.code(), Some(0), "{lenient:?}");
    let must = random(&[
        "--runtime",
        "deviant:alloc-size-cap-one-more",
        "--runs",
        "50",
        "--seed",
        "1",
    ]);
    assert_eq!(must.status.code(), Some(1), "{must:?}");
    assert!(!stdout(&must).contains("a recommendation"), "{must:?}");
}

#[test]
fn one_is_singular_and_lines_are_short() {
    let args = ["--runtime", "reference:none", "--seed", "4"];
    let one = stdout(&random(
        &[&args[..], &["--runs", "1", "--ops", "1"]].concat(),
    ));
    assert!(one.contains("1 sequence of 1 operation, "), "{one}");
    let many = stdout(&random(&[&args[..], &["--runs", "40"]].concat()));
    assert!(many.lines().all(|line| line.len() <= 100), "{many}");
}
