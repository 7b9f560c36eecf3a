//! What users see, kept as snapshots: a change shows in review.
//!
//! `INSTA_UPDATE=always cargo test -p wasi-cuda-conformance --test snapshots` writes them anew.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use wasi_cuda_conformance::report::{Report, Style, json_schema};
use wasi_cuda_conformance::runner::{self, Options};
use wasi_cuda_conformance::runtime::reference::{Device, Reference};
use wasi_cuda_conformance::{Suite, snapshot};

fn reference(device: Device) -> Reference {
    Reference::new(device).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn results_on_the_software_gpu() {
    insta::assert_snapshot!(snapshot(reference(Device::Soft)));
}

#[test]
fn results_without_a_device() {
    insta::assert_snapshot!(snapshot(reference(Device::None)));
}

#[test]
fn results_without_the_capability() {
    insta::assert_snapshot!(snapshot(reference(Device::Disabled)));
}

#[test]
fn schema_of_the_json_report() {
    insta::assert_snapshot!(json_schema());
}

/// Runs one committed fixture with one expected code changed, and takes everything out that differs from run to run.
fn run_with_a_wrong_expectation() -> (Suite, Report) {
    let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/alloc/sizes.wat");
    let text = fs::read_to_string(committed).unwrap_or_else(|error| panic!("{error}"));
    let changed = text.replacen(
        "expect = \"invalid-args\"",
        "expect = \"quota-exceeded\"",
        1,
    );
    assert_ne!(text, changed);
    let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
    let file = folder.path().join("alloc/sizes.wat");
    fs::create_dir(folder.path().join("alloc"))
        .and_then(|()| fs::write(file, changed))
        .unwrap_or_else(|error| panic!("{error}"));
    let suite = Suite::from_folder(folder.path(), None).unwrap_or_else(|error| panic!("{error}"));
    let runtime = Arc::new(reference(Device::Soft));
    let mut report = runner::run(&suite, runtime, &Options::default(), &mut |_, _| {})
        .unwrap_or_else(|error| panic!("{error}"));
    report.wall = Duration::from_millis(1234);
    report.suite.digest = format!("sha256:{}", "0".repeat(64));
    for case in &mut report.cases {
        case.duration = Duration::from_micros(1500);
        case.actual.clone_from(&case.stable);
    }
    (suite, report)
}

#[test]
fn terminal_report() {
    let (suite, report) = run_with_a_wrong_expectation();
    let style = Style {
        colour: false,
        rerun: Some("cargo conformance run --fixtures DIR".to_owned()),
    };
    insta::assert_snapshot!(report.to_terminal(&suite.catalogue, style));
}

#[test]
fn json_report() {
    insta::assert_snapshot!(run_with_a_wrong_expectation().1.to_json());
}

#[test]
fn explanations() {
    let explain = |id: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_wasi-cuda-conformance"))
            .args(["explain", id])
            .output()
            .unwrap_or_else(|error| panic!("{error}"));
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap_or_else(|error| panic!("{error}"))
    };
    insta::assert_snapshot!("requirement", explain("launch.grid.positive"));
    insta::assert_snapshot!("case", explain("alloc/sizes/zero"));
}
