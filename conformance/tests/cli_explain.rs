//! The command `explain`, and hints at names, as their users see them.

use std::process::{Command, Output};

fn program(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_wasi-cuda-conformance"))
        .args(args)
        .output()
        .expect("the program starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

#[test]
fn a_fixture_is_explained_by_its_path() {
    for path in ["launch/args-empty", "launch/args-empty.wat"] {
        let output = program(&["explain", path]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let text = text(&output.stdout);
        assert!(text.starts_with("launch/args-empty ("), "{text}");
        assert!(text.contains(" case(s):\n"), "{text}");
        assert!(text.contains("\n  launch/args-empty/"), "{text}");
        assert!(text.contains("    checks launch."), "{text}");
        assert!(text.contains("    device: "), "{text}");
        assert_eq!(text.matches("\nlaunch/args-empty.wat:\n").count(), 1);
        assert!(text.contains("(module"), "{text}");
    }
    let unknown = program(&["explain", "launch/args-emptied"]);
    assert_eq!(unknown.status.code(), Some(2), "{unknown:?}");
    let text = text(&unknown.stderr);
    assert!(
        text.contains("no requirement, fixture, case or deviant"),
        "{text}"
    );
}

#[test]
fn only_a_similar_deviant_is_hinted_at() {
    for (name, hint) in [
        ("sync-twice", true),
        ("alloc-size-cap", true),
        ("message-outside", true),
        ("s", false),
        ("something-else", false),
        ("quux", false),
    ] {
        let runtime = format!("deviant:{name}");
        let output = program(&["run", "--runtime", &runtime]);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let text = text(&output.stderr);
        assert!(
            text.contains(&format!("no deviant is called `{name}`")),
            "{text}"
        );
        assert_eq!(text.contains("(there is `"), hint, "{text}");
    }
}
