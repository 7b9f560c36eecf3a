//! What README.md claims about the suite is true of the suite.

use std::process::Command;

/// The whole of a command's standard output.
fn output(args: &[&str]) -> String {
    let program = env!("CARGO_BIN_EXE_wasi-cuda-conformance");
    let output = Command::new(program)
        .args(args)
        .output()
        .expect("the program starts");
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn readme() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md");
    std::fs::read_to_string(path).expect("README.md is readable")
}

/// The count may lag behind, so that a new fixture needs no edit here; it must never promise more than there is.
#[test]
fn the_sample_run_promises_no_more_cases_than_there_are() {
    let readme = readme();
    let line = readme
        .lines()
        .find(|line| line.starts_with("conformant: "))
        .expect("a sample run");
    let numbers: Vec<usize> = line
        .split(' ')
        .filter_map(|word| word.parse().ok())
        .collect();
    let [passed, of] = numbers[..] else {
        panic!("{line}")
    };
    assert_eq!(passed, of, "{line}");
    let cases = output(&["list"])
        .lines()
        .filter(|line| line.contains("(device"))
        .count();
    assert!(
        of <= cases && of * 5 >= cases * 4,
        "README.md says {of} cases, there are {cases}"
    );
    let level = |name: &str| -> usize {
        let line = readme
            .lines()
            .find(|line| line.starts_with(name))
            .expect("a line of the level");
        line.split_whitespace()
            .nth(1)
            .and_then(|word| word.parse().ok())
            .expect("a count")
    };
    assert_eq!(level("must ") + level("should ") + level("may "), of);
}

/// Every `cargo conformance …` line of the README is understood by the program.
#[test]
fn the_commands_of_the_readme_exist() {
    for line in readme()
        .lines()
        .filter_map(|line| line.strip_prefix("cargo conformance "))
    {
        let command = line.split('#').next().unwrap_or_default();
        let words: Vec<String> = command
            .split_whitespace()
            .map(|word| word.trim_matches('\'').to_owned())
            .collect();
        let mut args: Vec<&str> = words.iter().map(String::as_str).collect();
        if let Some(at) = args.iter().position(|arg| *arg == "--runs") {
            // One sequence shows that the arguments are understood; finding things is another test's work.
            args[at + 1] = "1";
        }
        if args.first() == Some(&"run") {
            // Running everything is another test's work; here the arguments count, and one case is enough.
            args.retain(|arg| !arg.starts_with("launch/"));
            if let Some(at) = args.iter().position(|arg| *arg == "--filter") {
                args.remove(at);
            }
            args.extend(["--filter", "sync/idle/first"]);
            if let Some(at) = args.iter().position(|arg| *arg == "--output") {
                args.drain(at..at + 2);
            }
        }
        output(&args);
    }
}
