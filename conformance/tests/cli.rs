//! The program as its users start it: arguments, exit status, files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value as Json;

#[test]
fn good_cases_give_status_0_and_a_summary() {
    let output = on_data(&["run", "--runtime", "reference:none", "--filter", "sync"]);
    assert_status(&output, 0);
    let text = stdout(&output);
    assert!(text.contains("conformant: 9 of 9 cases passed"), "{text}");
    assert!(text.contains("profile no-device"), "{text}");
    assert!(!text.contains('\u{1b}'), "colours in a pipe");
}

#[test]
fn each_bad_outcome_is_told_apart_and_gives_status_1() {
    let output = on_data(&[
        "run",
        "--runtime",
        "reference:none",
        "--timeout",
        "0.2",
        "--format",
        "json",
        "--filter",
        "misbehave",
    ]);
    assert_status(&output, 1);
    let json: Json = serde_json::from_str(&stdout(&output)).expect("JSON");
    let cases: Vec<(&str, &str)> = json["cases"]
        .as_array()
        .expect("cases")
        .iter()
        .map(|case| {
            (
                case["id"].as_str().expect("id"),
                case["outcome"].as_str().expect("outcome"),
            )
        })
        .collect();
    let expected = [
        ("misbehave/guest/fine", "pass"),
        ("misbehave/guest/wrong", "fail"),
        ("misbehave/guest/trap", "fail"),
        ("misbehave/guest/spin", "timeout"),
        ("misbehave/guest/after", "pass"),
        ("misbehave/weak/answer", "fail"),
    ];
    assert_eq!(cases, expected);
}

#[test]
fn a_broken_should_is_shown_and_gives_status_0() {
    let output = on_data(&[
        "run",
        "--runtime",
        "reference:none",
        "--filter",
        "misbehave/weak",
    ]);
    assert_status(&output, 0);
    assert!(
        stdout(&output).starts_with("FAIL misbehave/weak/answer  (should)\n"),
        "{}",
        stdout(&output)
    );
}

#[test]
fn the_rerun_line_reruns_the_case() {
    let failing = stdout(&on_data(&[
        "run",
        "--runtime",
        "reference:none",
        "--filter",
        "misbehave/guest/wrong",
    ]));
    let line = failing
        .lines()
        .find_map(|line| line.strip_prefix("  rerun     cargo conformance "))
        .expect("a rerun line");
    let arguments: Vec<String> = line
        .split(' ')
        .map(|word| word.trim_matches('\'').to_owned())
        .collect();
    let again = program(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    assert_status(&again, 1);
    assert!(
        stdout(&again).contains("0 of 1 cases passed"),
        "{}",
        stdout(&again)
    );
}

#[test]
fn bad_arguments_give_status_2_and_say_why() {
    let table: [(&[&str], &str); 21] = [
        (&["run", "--runtime", "reference:gpu"], "reference:gpu"),
        (&["run", "--frobnicate"], "--frobnicate"),
        (&["run", "--jobs", "0"], "no work is done by 0 threads"),
        (&["run", "--jobs", "-1"], "no work is done by -1 threads"),
        (&["run", "--jobs", "1.5"], "a whole number of threads"),
        (&["run", "--jobs", "99999999999999999999999"], "too large"),
        (&["run", "--timeout", "0"], "no case ends within that time"),
        (&["run", "--timeout", "-1"], "no case ends within that time"),
        (
            &["run", "--timeout", "1e-30"],
            "no case ends within that time",
        ),
        (&["run", "--timeout", "1e30"], "too large"),
        (&["run", "--timeout", "inf"], "too large"),
        (&["run", "--timeout", "18446744073709551615"], "too large"),
        (&["run", "--timeout", "nan"], "a number of seconds above 0"),
        (&["run", "--timeout", "soon"], "a number of seconds above 0"),
        (&["run", "--filter", "a\n\u{1b}[31mb"], r"a\n\u{1b}[31mb"),
        (&["run", "--runtime", "a\n\u{1b}[31mb"], r"a\n\u{1b}[31mb"),
        (&["run", "--profile", "phone"], "phone"),
        (
            &["run", "--runtime", "reference:none", "--profile", "device"],
            "no-device",
        ),
        (
            &["run", "--filter", "nothing/like/this"],
            "nothing/like/this",
        ),
        (&["run", "--filter", "a[b"], "a[b"),
        (&["explain", "no.such.thing"], "no.such.thing"),
    ];
    for (arguments, piece) in table {
        let output = on_data(arguments);
        assert_status(&output, 2);
        assert!(
            stderr(&output).contains(piece),
            "{arguments:?}: {}",
            stderr(&output)
        );
        assert_eq!(stdout(&output), "", "{arguments:?}");
        assert!(!stderr(&output).contains('\u{1b}'), "{arguments:?}");
    }
}

#[test]
fn text_of_a_hostile_fixture_cannot_move_the_cursor_or_forge_a_line() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let good = fs::read_to_string(data().join("fixtures/misbehave/weak.wat")).expect("fixture");
    let title = r#"title = "a\u001b[31m\nFAIL forged\u007f""#;
    let file = folder.path().join("case.wat");
    fs::write(
        &file,
        good.replace("title = \"a broken recommendation\"", title),
    )
    .expect("write");
    let reports: [&[&str]; 3] = [
        &["run", "--runtime", "reference:none"],
        &["list"],
        &["explain", "case/answer"],
    ];
    for arguments in reports {
        let output = on(folder.path(), arguments);
        assert_status(&output, 0);
        let text = stdout(&output);
        assert!(
            !text.contains(['\u{1b}', '\u{7f}']),
            "{arguments:?}: {text}"
        );
        assert!(!text.contains("\nFAIL forged"), "{arguments:?}: {text}");
    }
    // Three hostile names in one file are three lines.
    let bad = good
        .replace("(export \"answer\")", "(export \"an\\1b[2J\\0aswer\")")
        .replace("\"error.recorded\"", r#""\u001b[1m", "x\ny""#);
    fs::write(&file, bad).expect("write");
    let text = stderr(&on(folder.path(), &["list"]));
    assert_eq!(text.lines().count(), 3, "{text}");
    let place = format!("error: {}:", file.display());
    assert!(text.lines().all(|line| line.starts_with(&place)), "{text}");
    assert!(!text.contains('\u{1b}'), "{text}");
}

#[test]
fn a_malformed_suite_gives_status_2_and_the_place() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let file = folder.path().join("bad.wat");
    let good = fs::read_to_string(data().join("fixtures/sync/idle.wat")).expect("fixture");
    let table = [
        (good.replace("title =", "titel ="), "bad.wat:1:5: "),
        (
            good.replace("sync.idle", "sync.idel"),
            "bad.wat:2:21: unknown requirement `sync.idel`",
        ),
        (
            good.replace("call = \"sync\"", "call = \"sink\""),
            "bad.wat:5:12: unknown call `sink`",
        ),
        (
            good.replace("expect = \"ok\"", "expect = \"ok\"\n;;! save = \"k\""),
            "bad.wat:8:12: `save` in a step of 2 expansions",
        ),
        (
            good.replace("(memory", "(memery"),
            "bad.wat:12:4: invalid WAT",
        ),
        (
            "\0asm\u{1}\0\0\0".to_owned(),
            "bad.wat:1:1: no front matter",
        ),
    ];
    for (text, piece) in table {
        fs::write(&file, &text).expect("write");
        let output = on(folder.path(), &["list"]);
        assert_status(&output, 2);
        let place = format!("error: {}:", file.display());
        assert!(
            stderr(&output).lines().all(|line| line.starts_with(&place)),
            "{}",
            stderr(&output)
        );
        assert!(stderr(&output).contains(piece), "{}", stderr(&output));
    }
    fs::write(&file, b";;! title = \"\xFF\"\n").expect("write");
    assert!(stderr(&on(folder.path(), &["run"])).contains("bad.wat:1:14: is not UTF-8 text"));
}

#[test]
fn folders_that_cannot_be_read_or_are_empty_give_status_2() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let missing = folder.path().join("missing");
    for (path, piece) in [
        (missing.as_path(), "missing: cannot be read"),
        (folder.path(), "holds no `.wat` fixture"),
    ] {
        let output = on(path, &["run"]);
        assert_status(&output, 2);
        assert!(stderr(&output).contains(piece), "{}", stderr(&output));
    }
    let output = program(&[
        "list",
        "--fixtures",
        &data().join("fixtures").to_string_lossy(),
        "--catalogue",
        &missing.to_string_lossy(),
    ]);
    assert_status(&output, 2);
    assert!(
        stderr(&output).contains("missing: cannot be read"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_report_is_written_whole() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let file = folder.path().join("report.json");
    fs::write(&file, "old").expect("write");
    let path = file.to_string_lossy().into_owned();
    let output = on_data(&[
        "run",
        "--runtime",
        "reference:none",
        "--filter",
        "sync",
        "--format",
        "json",
        "--output",
        &path,
    ]);
    assert_status(&output, 0);
    assert_eq!(stdout(&output), "");
    let json: Json =
        serde_json::from_str(&fs::read_to_string(&file).expect("report")).expect("JSON");
    assert_eq!(json["summary"]["must"]["passed"], 8);
    assert_eq!(
        fs::read_dir(folder.path()).expect("folder").count(),
        1,
        "a temporary file is left"
    );
}

#[test]
fn an_output_that_cannot_be_written_gives_status_2_and_leaves_nothing() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let missing = folder
        .path()
        .join("missing/report")
        .to_string_lossy()
        .into_owned();
    let itself = folder.path().to_string_lossy().into_owned();
    for path in [missing.as_str(), itself.as_str()] {
        let output = on_data(&["run", "--filter", "sync", "--output", path]);
        assert_status(&output, 2);
        assert!(
            stderr(&output).contains(&format!("cannot write {path}")),
            "{}",
            stderr(&output)
        );
        // The name of the temporary file beside it says nothing to the user.
        assert!(!stderr(&output).contains(".report-"), "{}", stderr(&output));
    }
    assert_eq!(fs::read_dir(folder.path()).expect("folder").count(), 0);
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_gives_status_2() {
    let output = on_data(&[
        "run",
        "--runtime",
        "reference:none",
        "--filter",
        "sync",
        "--output",
        "/dev/full",
    ]);
    assert_status(&output, 2);
    assert!(
        stderr(&output).contains("cannot write /dev/full"),
        "{}",
        stderr(&output)
    );
    let commands: [&[&str]; 5] = [
        &["list"],
        &["explain", "sync.idle"],
        &["run", "--filter", "sync", "--runtime", "reference:none"],
        &["--help"],
        &["--version"],
    ];
    for arguments in commands {
        let full = fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .expect("/dev/full");
        let output = command(arguments).stdout(full).output().expect("start");
        assert_status(&output, 2);
        let text = stderr(&output);
        assert!(
            text.starts_with("error: cannot write to standard output: ")
                && text.lines().count() == 1,
            "{arguments:?}: {text}"
        );
    }
}

#[test]
#[cfg(unix)]
fn a_reader_that_goes_away_is_no_error() {
    for arguments in [&["list"][..], &["--help"]] {
        let (reader, writer) = std::io::pipe().expect("pipe");
        drop(reader);
        let output = command(arguments).stdout(writer).output().expect("start");
        assert_status(&output, 0);
        assert_eq!(stderr(&output), "", "{arguments:?}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn ctrl_c_gives_status_2_one_line_and_no_file() {
    use std::io::Read;
    use std::process::Stdio;

    let folder = tempfile::tempdir().expect("temporary folder");
    let report = folder.path().join("report").to_string_lossy().into_owned();
    let fixtures = data().join("fixtures").to_string_lossy().into_owned();
    let catalogue = data()
        .join("requirements.toml")
        .to_string_lossy()
        .into_owned();
    let mut child = command(&[
        "run",
        "--runtime",
        "reference:none",
        "--timeout",
        "600",
        "--filter",
        "misbehave/guest/spin",
        "--output",
        &report,
        "--fixtures",
        &fixtures,
        "--catalogue",
        &catalogue,
    ])
    .stderr(Stdio::piped())
    .spawn()
    .expect("start");
    // The guest spins for ten minutes; interrupt again and again until the handler is in place and has been heard.
    let status = loop {
        if let Some(status) = child.try_wait().expect("wait") {
            break status;
        }
        if handles_interrupts(child.id()) {
            let sent = Command::new("kill")
                .args(["-INT", &child.id().to_string()])
                .status()
                .expect("kill");
            assert!(sent.success() || child.try_wait().expect("wait").is_some());
        }
        std::thread::yield_now();
    };
    let mut text = String::new();
    child
        .stderr
        .take()
        .expect("pipe")
        .read_to_string(&mut text)
        .expect("read");
    assert_eq!(status.code(), Some(2), "{text}");
    assert_eq!(
        text,
        "error: interrupted after 0 of 1 cases; nothing was written\n"
    );
    assert_eq!(fs::read_dir(folder.path()).expect("folder").count(), 0);
}

/// Whether the process has a handler for SIGINT; before that the signal would simply end it.
#[cfg(target_os = "linux")]
fn handles_interrupts(process: u32) -> bool {
    const SIGINT_BIT: u64 = 1 << 1;
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let caught = status
        .lines()
        .find_map(|line| line.strip_prefix("SigCgt:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    caught.is_some_and(|mask| mask & SIGINT_BIT != 0)
}

#[test]
fn lists_and_explanations_name_ids() {
    let cases = stdout(&on_data(&["list"]));
    assert!(
        cases.contains("must   sync/idle/sync[again=2]  (device, no-device)\n"),
        "{cases}"
    );
    assert_eq!(cases.lines().count(), 15);
    let chosen = stdout(&on_data(&[
        "list",
        "--filter",
        "sync/idle",
        "--profile",
        "device",
    ]));
    assert_eq!(
        chosen,
        "must   sync/idle/sync[again=1]  (device)\nmust   sync/idle/sync[again=2]  (device)\n"
    );
    let requirements = stdout(&on_data(&["list", "--requirements"]));
    let row = requirements
        .lines()
        .find(|line| line.starts_with("error.recorded"))
        .expect("a row");
    assert_eq!(
        row.split_whitespace().take(7).collect::<Vec<_>>(),
        ["error.recorded", "should", "diagnostic", "2", "2", "0", "0"]
    );
    let total = requirements.lines().last().expect("a line");
    assert!(
        total.starts_with("total: 3 requirements (2 must, 1 should, 0 may); cases: "),
        "{total}"
    );
    let requirement = stdout(&on_data(&["explain", "sync.idle"]));
    assert!(
        requirement.contains("sync answers 0 when nothing is outstanding.\n"),
        "{requirement}"
    );
    assert!(
        requirement.contains("  sync/idle/sync[again=1]\n    device: ok\n"),
        "{requirement}"
    );
    assert_eq!(requirement.matches("\nsync/idle.wat:\n").count(), 1);
    assert!(
        requirement.contains("  sync-once: a host that fails the second of two syncs\n"),
        "{requirement}"
    );
    let case = stdout(&on_data(&["explain", "sync/idle/sync[again=1]"]));
    assert!(
        case.contains("expected on device: ok\n") && case.contains("(module\n"),
        "{case}"
    );
}

#[test]
fn deviants_are_listed_explained_and_run() {
    let listed = stdout(&program(&["list", "--deviants"]));
    assert!(listed.lines().count() >= 100, "{listed}");
    let disabled = stdout(&program(&["list", "--deviants", "--profile", "disabled"]));
    assert!(
        !disabled.is_empty()
            && disabled
                .lines()
                .all(|line| line.contains("profile.disabled")),
        "{disabled}"
    );
    let explained = stdout(&program(&["explain", "sync-once"]));
    assert!(
        explained.contains("a host that fails the second of two syncs\n")
            && explained.contains("sync.idle (must, "),
        "{explained}"
    );
    let run = program(&[
        "run",
        "--runtime",
        "deviant:sync-once",
        "--filter",
        "sync/idle",
    ]);
    assert_status(&run, 1);
    assert!(
        stdout(&run).contains("--runtime deviant:sync-once --filter"),
        "{}",
        stdout(&run)
    );
    let unknown = program(&["run", "--runtime", "deviant:sync-twice"]);
    assert_status(&unknown, 2);
    assert!(
        stderr(&unknown).contains("no deviant is called `sync-twice` (there is `sync-"),
        "{}",
        stderr(&unknown)
    );
}

#[test]
fn line_ends_and_a_byte_order_mark_change_nothing() {
    let folder = tempfile::tempdir().expect("temporary folder");
    for (mark, ends) in [("", "\r\n"), ("\u{FEFF}", "\n"), ("\u{FEFF}", "\r\n")] {
        for path in [
            "sync/idle.wat",
            "sync/error.wat",
            "sync/reserved.wat",
            "misbehave/guest.wat",
            "misbehave/weak.wat",
        ] {
            let text = fs::read_to_string(data().join("fixtures").join(path)).expect("fixture");
            let target = folder.path().join(path);
            fs::create_dir_all(target.parent().expect("folder")).expect("create");
            fs::write(target, format!("{mark}{}", text.replace('\n', ends))).expect("write");
        }
        let run = |fixtures: &Path| -> Json {
            let output = on(
                fixtures,
                &[
                    "run",
                    "--runtime",
                    "reference:none",
                    "--filter",
                    "sync",
                    "--format",
                    "json",
                ],
            );
            let mut json: Json = serde_json::from_str(&stdout(&output)).expect("JSON");
            for case in json["cases"].as_array_mut().expect("cases") {
                case["ms"] = Json::Null;
            }
            json
        };
        assert_eq!(
            run(folder.path()),
            run(&data().join("fixtures")),
            "{mark:?} {ends:?}"
        );
    }
}

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wasi-cuda-conformance"));
    command.args(arguments);
    command
}

fn program(arguments: &[&str]) -> Output {
    command(arguments).output().expect("the program starts")
}

/// Runs the program on a folder of fixtures, with the test catalogue.
fn on(fixtures: &Path, arguments: &[&str]) -> Output {
    let catalogue = data().join("requirements.toml");
    let mut all = arguments.to_vec();
    let (fixtures, catalogue) = (fixtures.to_string_lossy(), catalogue.to_string_lossy());
    all.extend(["--fixtures", &*fixtures, "--catalogue", &*catalogue]);
    program(&all)
}

fn on_data(arguments: &[&str]) -> Output {
    on(&data().join("fixtures"), arguments)
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

#[track_caller]
fn assert_status(output: &Output, status: i32) {
    assert_eq!(
        output.status.code(),
        Some(status),
        "{}{}",
        stdout(output),
        stderr(output)
    );
}
