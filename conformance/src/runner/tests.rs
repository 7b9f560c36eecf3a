//! A runtime that misbehaves on demand: the name of the export says how.

use std::collections::BTreeMap;
use std::sync::Condvar;

use super::*;
use crate::runtime::{Guest, Host, InstantiateError, Outcome, Value};

static RELEASED: (Mutex<bool>, Condvar) = (Mutex::new(false), Condvar::new());

struct Fake;
struct FakeHost;

/// Records the same message for every failure, and keeps it.
#[derive(Default)]
struct FakeGuest {
    last_error: Option<String>,
}

impl Runtime for Fake {
    fn info(&self) -> RuntimeInfo {
        RuntimeInfo {
            name: "fake".into(),
            version: "1".into(),
            profile: Profile::Device,
            offers: [].into(),
        }
    }

    fn start(&self) -> Result<Box<dyn Host>, String> {
        Ok(Box::new(FakeHost))
    }
}

impl Host for FakeHost {
    fn instantiate(
        &mut self,
        wasm: &[u8],
        _limit: Duration,
    ) -> Result<Box<dyn Guest>, InstantiateError> {
        // The name of an import in the module says how instantiating it goes.
        let has = |name: &str| {
            wasm.windows(name.len())
                .any(|window| window == name.as_bytes())
        };
        match () {
            () if has("unlinkable") => Err(InstantiateError::Unlinkable("no such import".into())),
            () if has("broken_start") => Err(InstantiateError::Start("unreachable".into())),
            () if has("panicking_start") => panic!("on purpose"),
            () => Ok(Box::<FakeGuest>::default()),
        }
    }
}

impl Guest for FakeGuest {
    fn call(&mut self, export: &str, args: &[Value], _limit: Duration) -> Outcome {
        match export {
            "zero" => Outcome::Returned(vec![Value::I32(0)]),
            "wrong" => {
                self.last_error = Some("kernel 7 is unknown".into());
                Outcome::Returned(vec![Value::I32(-3)])
            }
            "silent" => Outcome::Returned(vec![Value::I32(-3)]),
            "echo" => Outcome::Returned(args.to_vec()),
            "trap" => Outcome::Trapped("unreachable".into()),
            "spin" => Outcome::TimedOut,
            "panic" => panic!("on purpose"),
            // Comes back once another guest has called `release`.
            "late" => {
                let mut released = RELEASED.0.lock().unwrap_or_else(PoisonError::into_inner);
                while !*released {
                    released = RELEASED
                        .1
                        .wait(released)
                        .unwrap_or_else(PoisonError::into_inner);
                }
                Outcome::Returned(vec![Value::I32(0)])
            }
            "release" => {
                *RELEASED.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
                RELEASED.1.notify_all();
                Outcome::Returned(vec![Value::I32(0)])
            }
            // A call that never comes back.
            _ => loop {
                thread::park();
            },
        }
    }

    fn last_error(&mut self) -> Option<String> {
        self.last_error.clone()
    }
}

fn suite(files: &[(&str, &str, &str)]) -> Suite {
    let catalogue = "[[requirement]]\nid = \"r\"\nlevel = \"must\"\nclass = \"cap\"\nstatement = \"s\"\nsource = \"t\"\n\
                     [[requirement]]\nid = \"weak\"\nlevel = \"should\"\nclass = \"cap\"\nstatement = \"s\"\nsource = \"t\"\n";
    let exports: String = [
        "zero", "wrong", "silent", "trap", "spin", "panic", "hang", "late", "release",
    ]
    .iter()
    .map(|name| format!("(func (export \"{name}\") (result i32) i32.const 0)"))
    .collect();
    let files: BTreeMap<String, Vec<u8>> = files
        .iter()
        .map(|(path, front, import)| {
            let front: String = front.lines().map(|line| format!(";;! {line}\n")).collect();
            let import = if import.is_empty() { String::new() } else { format!("(import \"m\" \"{import}\" (func))") };
            let echo = "(func (export \"echo\") (param i32) (result i32) local.get 0)";
            let text = format!(";;! title = \"t\"\n;;! requirements = [\"r\"]\n{front}(module {import}{exports}{echo})");
            ((*path).to_owned(), text.into_bytes())
        })
        .collect();
    Suite::load(
        "requirements.toml",
        catalogue.as_bytes(),
        "fixtures",
        &files,
        None,
    )
    .expect("suite")
}

fn steps(calls: &[&str]) -> String {
    calls
        .iter()
        .map(|call| format!("[[step]]\ncall = \"{call}\"\nexpect = \"ok\"\n"))
        .collect()
}

fn run_with(suite: &Suite, options: &Options) -> Report {
    run(suite, Arc::new(Fake), options, &mut |_, _| {}).expect("report")
}

fn verdicts(report: &Report) -> Vec<(&str, Verdict)> {
    report
        .cases
        .iter()
        .map(|case| (case.id.as_str(), case.verdict))
        .collect()
}

/// For hosts that panic and do not hang: the report of a panic may take longer than `quick` allows on a busy machine.
fn patient() -> Options {
    Options::default()
}

fn quick() -> Options {
    Options {
        limit: Duration::from_millis(50),
        ..Options::default()
    }
}

#[test]
fn each_way_to_end_has_its_verdict() {
    let suite = suite(&[("a.wat", &steps(&["zero", "wrong", "trap", "spin"]), "")]);
    let report = run_with(&suite, &quick());
    let expected = [
        ("a/zero", Verdict::Pass),
        ("a/wrong", Verdict::Fail),
        ("a/trap", Verdict::Fail),
        ("a/spin", Verdict::Timeout),
    ];
    assert_eq!(verdicts(&report), expected);
    assert_eq!(report.cases[1].actual, "invalid-kernel (-3)");
    assert_eq!(
        report.cases[1].last_error.as_deref(),
        Some("kernel 7 is unknown")
    );
    assert_eq!(report.cases[0].last_error, None);
    assert!(!report.is_conformant());
}

#[test]
fn a_message_of_an_earlier_call_is_not_quoted() {
    let suite = suite(&[
        ("a.wat", &steps(&["silent", "wrong", "trap"]), ""),
        ("b.wat", &steps(&["wrong", "silent"]), ""),
    ]);
    let report = run_with(&suite, &quick());
    let quoted: Vec<_> = report
        .cases
        .iter()
        .map(|case| (case.id.as_str(), case.last_error.is_some()))
        .collect();
    let expected = [
        ("a/silent", false),
        ("a/wrong", true),
        ("a/trap", false),
        ("b/wrong", true),
        ("b/silent", false),
    ];
    assert_eq!(quoted, expected);
}

#[test]
fn a_panic_is_a_crash_and_the_rest_goes_on() {
    let suite = suite(&[
        ("a.wat", &steps(&["zero", "panic", "wrong"]), ""),
        ("b.wat", &steps(&["zero"]), ""),
    ]);
    let one_worker = Options {
        jobs: NonZeroUsize::MIN,
        ..patient()
    };
    let expected = [
        ("a/zero", Verdict::Pass),
        ("a/panic", Verdict::Crash),
        ("a/wrong", Verdict::Error),
        ("b/zero", Verdict::Pass),
    ];
    assert_eq!(verdicts(&run_with(&suite, &one_worker)), expected);
}

#[test]
fn a_host_that_does_not_come_back_is_left_behind() {
    let files = [
        ("a.wat", &*steps(&["zero", "hang", "wrong"]), ""),
        ("b.wat", &*steps(&["zero"]), ""),
    ];
    let suite = suite(&files);
    let one_worker = Options {
        jobs: NonZeroUsize::MIN,
        ..quick()
    };
    let expected = [
        ("a/zero", Verdict::Pass),
        ("a/hang", Verdict::Timeout),
        ("a/wrong", Verdict::Error),
        ("b/zero", Verdict::Pass),
    ];
    assert_eq!(verdicts(&run_with(&suite, &one_worker)), expected);
}

#[test]
fn a_worker_that_comes_back_too_late_changes_nothing() {
    let mut files = vec![
        ("a.wat", steps(&["late", "zero"]), ""),
        ("b.wat", steps(&["release", "zero"]), ""),
    ];
    files.extend(["c.wat", "d.wat", "e.wat"].map(|path| (path, steps(&["wrong"]), "")));
    let files: Vec<_> = files
        .iter()
        .map(|(path, front, import)| (*path, &**front, *import))
        .collect();
    let suite = suite(&files);
    let one_worker = Options {
        jobs: NonZeroUsize::MIN,
        ..quick()
    };
    let expected = [
        ("a/late", Verdict::Timeout),
        ("a/zero", Verdict::Error),
        ("b/release", Verdict::Pass),
        ("b/zero", Verdict::Pass),
        ("c/wrong", Verdict::Fail),
        ("d/wrong", Verdict::Fail),
        ("e/wrong", Verdict::Fail),
    ];
    assert_eq!(verdicts(&run_with(&suite, &one_worker)), expected);
}

#[test]
fn linking_is_judged_and_a_broken_start_is_no_refusal() {
    let suite = suite(&[
        ("accepts.wat", "link = \"refused\"", "fine"),
        ("lacks.wat", "link = \"ok\"", "unlinkable"),
        ("links.wat", "link = \"ok\"", "fine"),
        ("panics.wat", "link = \"refused\"", "panicking_start"),
        ("refuses.wat", "link = \"refused\"", "unlinkable"),
        ("starts.wat", "link = \"refused\"", "broken_start"),
        ("steps.wat", &steps(&["zero"]), "unlinkable"),
    ]);
    let expected = [
        ("accepts/link", Verdict::Fail),
        ("lacks/link", Verdict::Fail),
        ("links/link", Verdict::Pass),
        ("panics/link", Verdict::Crash),
        ("refuses/link", Verdict::Pass),
        ("starts/link", Verdict::Error),
        ("steps/zero", Verdict::Error),
    ];
    assert_eq!(verdicts(&run_with(&suite, &patient())), expected);
}

#[test]
fn a_failed_save_makes_its_users_errors() {
    let front = |call: &str| {
        format!(
            "[[step]]\ncall = \"{call}\"\nexpect = \"ok\"\nsave = \"k\"\n[[step]]\ncall = \"echo\"\nargs = [\"$k\"]\nexpect = 0\n"
        )
    };
    let suite = suite(&[
        ("bad.wat", &front("wrong"), ""),
        ("good.wat", &front("zero"), ""),
    ]);
    let expected = [
        ("bad/wrong", Verdict::Fail),
        ("bad/echo", Verdict::Error),
        ("good/zero", Verdict::Pass),
        ("good/echo", Verdict::Pass),
    ];
    assert_eq!(verdicts(&run_with(&suite, &quick())), expected);
}

#[test]
fn a_step_that_is_not_judged_is_reported_when_it_does_not_return() {
    let silent = |call: &str| {
        format!(
            "[[step]]\ncall = \"{call}\"\nexpect.no-device = \"ok\"\n[[step]]\ncall = \"zero\"\nexpect = 0\n"
        )
    };
    let suite = suite(&[
        ("a.wat", &silent("wrong"), ""),
        ("b.wat", &silent("trap"), ""),
        ("c.wat", &silent("panic"), ""),
    ]);
    let expected = [
        ("a/zero", Verdict::Pass),
        ("b/trap", Verdict::Fail),
        ("b/zero", Verdict::Pass),
        ("c/panic", Verdict::Crash),
        ("c/zero", Verdict::Error),
    ];
    assert_eq!(verdicts(&run_with(&suite, &patient())), expected);
}

#[test]
fn a_missing_ability_skips_and_a_broken_should_does_not_fail() {
    let weak = "[[step]]\nrequirements = [\"weak\"]\ncall = \"wrong\"\nexpect = 0\n";
    let suite = suite(&[
        (
            "a.wat",
            &format!("needs = [\"memory64\"]\n{}", steps(&["hang"])),
            "",
        ),
        ("b.wat", weak, ""),
    ]);
    let report = run_with(&suite, &quick());
    assert_eq!(
        verdicts(&report),
        [("a/hang", Verdict::Skip), ("b/wrong", Verdict::Fail)]
    );
    assert!(report.is_conformant());
}

#[test]
fn the_order_of_results_does_not_depend_on_the_number_of_workers() {
    let names: Vec<String> = (0..40).map(|number| format!("f{number:02}.wat")).collect();
    let front = steps(&["zero", "wrong", "trap"]);
    let files: Vec<(&str, &str, &str)> = names
        .iter()
        .map(|name| (name.as_str(), front.as_str(), ""))
        .collect();
    let suite = suite(&files);
    let ids = |jobs: usize| -> Vec<(String, Verdict)> {
        let options = Options {
            jobs: NonZeroUsize::new(jobs).unwrap_or(NonZeroUsize::MIN),
            ..quick()
        };
        run_with(&suite, &options)
            .cases
            .into_iter()
            .map(|case| (case.id, case.verdict))
            .collect()
    };
    assert_eq!(ids(1), ids(8));
    assert_eq!(ids(1).len(), 120);
}

#[test]
fn a_filter_runs_what_its_cases_need_and_reports_them_alone() {
    let front = "[[step]]\ncall = \"zero\"\nexpect = 0\nsave = \"k\"\n[[step]]\ncall = \"echo\"\nargs = [\"$k\"]\nexpect = 0\n\
                 [[step]]\ncall = \"hang\"\nexpect = 0\n";
    let suite = suite(&[("a.wat", front, ""), ("b.wat", front, "")]);
    let filtered = |filter: &str| Options {
        filter: Some(filter.into()),
        ..quick()
    };
    assert_eq!(
        verdicts(&run_with(&suite, &filtered("a/echo"))),
        [("a/echo", Verdict::Pass)]
    );
    assert_eq!(
        verdicts(&run_with(&suite, &filtered("*/zero"))),
        [("a/zero", Verdict::Pass), ("b/zero", Verdict::Pass)]
    );
    let nothing = run(&suite, Arc::new(Fake), &filtered("c/*"), &mut |_, _| {});
    assert!(matches!(
        nothing,
        Err(RunError::Filter(FilterError::NothingMatches(_)))
    ));
}

#[test]
fn a_run_can_be_held_to_some_requirements() {
    let front = "[[step]]\nname = \"first\"\ncall = \"zero\"\nexpect = 0\nsave = \"k\"\n\
                 [[step]]\nrequirements = [\"weak\"]\ncall = \"echo\"\nargs = [\"$k\"]\nexpect = 0\n\
                 [[step]]\ncall = \"hang\"\nexpect = 0\n";
    let suite = suite(&[("a.wat", front, ""), ("b.wat", &steps(&["zero"]), "")]);
    let held_to = |requirements: &[&str]| Options {
        requirements: requirements.iter().map(|id| (*id).to_owned()).collect(),
        filter: Some("*/[!h]*".into()),
        ..quick()
    };
    assert_eq!(
        verdicts(&run_with(&suite, &held_to(&["weak"]))),
        [("a/echo", Verdict::Pass)]
    );
    assert_eq!(
        verdicts(&run_with(&suite, &held_to(&["r"]))),
        [("a/first", Verdict::Pass), ("b/zero", Verdict::Pass)]
    );
    assert_eq!(run_with(&suite, &held_to(&[])).cases.len(), 3);
    let nothing = run(
        &suite,
        Arc::new(Fake),
        &held_to(&["unknown"]),
        &mut |_, _| {},
    );
    assert!(matches!(nothing, Err(RunError::NoCases(Profile::Device))));
}

#[test]
fn an_interrupted_run_has_no_report() {
    let suite = suite(&[("a.wat", &steps(&["hang"]), "")]);
    let options = Options {
        interrupt: Some(Arc::new(AtomicBool::new(true))),
        ..Options::default()
    };
    let interrupted = run(&suite, Arc::new(Fake), &options, &mut |_, _| {});
    assert!(matches!(
        interrupted,
        Err(RunError::Interrupted { done: 0, total: 1 })
    ));
}
