//! Proof that the suite bites: each deviant host is caught by cases that claim what it breaks.
//!
//! A trial for each deviant runs the cases that claim its requirements, and those only; every requirement must have a
//! case that ends as the deviant's mistake shows. The layer without a mistake must pass everything, as the reference
//! host does. At the end the matrix: how many cases caught which deviant, by requirement.

#![allow(
    clippy::print_stdout,
    reason = "the matrix is what this test is for, next to its verdict"
)]

use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::panic;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use libtest_mimic::{Arguments, Failed, FormatSetting, Trial};
use wasi_cuda_conformance::deviant::{self, Bench, Deviant};
use wasi_cuda_conformance::judge::Verdict;
use wasi_cuda_conformance::report::Report;
use wasi_cuda_conformance::runner::{self, Options};
use wasi_cuda_conformance::runtime::Runtime;
use wasi_cuda_conformance::runtime::reference::{Device, Reference};
use wasi_cuda_conformance::{Profile, Suite};

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // One line for each of some hundred trials would bury the matrix.
    arguments.format.get_or_insert(FormatSetting::Terse);
    silence_caught_panics();
    let suite = Arc::new(Suite::embedded().unwrap_or_else(|error| panic!("{error}")));
    let bench = Bench::new().unwrap_or_else(|error| panic!("{error}"));
    let rows = Arc::new(Mutex::new(Vec::new()));
    let mut trials = Vec::new();
    for profile in Profile::ALL {
        let (suite, bench) = (Arc::clone(&suite), bench.clone());
        trials.push(Trial::test(
            format!("reference_host:{profile}"),
            move || undisturbed(&suite, &bench, profile),
        ));
    }
    for deviant in deviant::all() {
        let (suite, bench, rows) = (Arc::clone(&suite), bench.clone(), Arc::clone(&rows));
        trials.push(Trial::test(deviant.name, move || {
            let row = try_out(&suite, &bench, deviant)?;
            let missed = row.missed();
            rows.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(row);
            missed
        }));
    }
    let listed = arguments.list;
    let conclusion = libtest_mimic::run(&arguments, trials);
    let mut rows = rows.lock().unwrap_or_else(PoisonError::into_inner);
    if !listed && !rows.is_empty() {
        rows.sort_by_key(|row| row.deviant.name);
        println!("{}", matrix(&rows));
    }
    conclusion.exit_code()
}

/// What the cases found of one deviant.
struct Row {
    deviant: &'static Deviant,
    /// For each requirement that the deviant breaks: cases that caught it, and cases in all.
    cells: Vec<(usize, usize)>,
}

impl Row {
    fn is_caught(&self) -> bool {
        self.cells.iter().all(|(caught, _)| *caught > 0)
    }

    fn missed(&self) -> Result<(), Failed> {
        let missed: Vec<&str> = (self.deviant.breaks.iter().zip(&self.cells))
            .filter(|(_, (caught, _))| *caught == 0)
            .map(|(id, _)| *id)
            .collect();
        if missed.is_empty() {
            return Ok(());
        }
        Err(format!(
            "a host that {} passes every case of {}: the suite has a hole",
            self.deviant.wrong,
            missed.join(", ")
        )
        .into())
    }
}

fn try_out(suite: &Suite, bench: &Bench, deviant: &'static Deviant) -> Result<Row, Failed> {
    let host = bench.host(deviant)?;
    let options = Options {
        jobs: NonZeroUsize::MIN,
        requirements: deviant.breaks.iter().map(|id| (*id).to_owned()).collect(),
        limit: match deviant.shows_as {
            Verdict::Timeout => HANGING,
            _ => PATIENT,
        },
        ..Options::default()
    };
    let report = runner::run(suite, Arc::new(host), &options, &mut |_, _| {})?;
    if deviant.shows_as == Verdict::Fail
        && let Some(case) = report
            .cases
            .iter()
            .find(|case| matches!(case.verdict, Verdict::Crash | Verdict::Timeout))
    {
        let (id, actual) = (&case.id, &case.actual);
        return Err(format!("it is to answer wrongly, and {id} ends otherwise: {actual}").into());
    }
    let cells = deviant.breaks.iter().map(|id| {
        let cases = report
            .cases
            .iter()
            .filter(|case| case.requirements.iter().any(|claimed| claimed == id));
        let (caught, all): (Vec<_>, Vec<_>) =
            cases.partition(|case| case.verdict == deviant.shows_as);
        (caught.len(), caught.len() + all.len())
    });
    Ok(Row {
        deviant,
        cells: cells.collect(),
    })
}

/// Holds the layer without a mistake to the results of the reference host.
fn undisturbed(suite: &Suite, bench: &Bench, profile: Profile) -> Result<(), Failed> {
    let reference = Reference::new(match profile {
        Profile::Device => Device::Soft,
        Profile::NoDevice => Device::None,
        Profile::Disabled => Device::Disabled,
    })?;
    let all = |runtime: Arc<dyn Runtime>| -> Result<Report, Failed> {
        let options = Options {
            limit: PATIENT,
            ..Options::default()
        };
        Ok(runner::run(suite, runtime, &options, &mut |_, _| {})?)
    };
    let layer = all(Arc::new(bench.undisturbed(profile)?))?;
    let plain = all(Arc::new(reference))?;
    let results = |report: &Report| -> Vec<(String, Verdict, String)> {
        let cases = report.cases.iter();
        cases
            .map(|case| (case.id.clone(), case.verdict, case.actual.clone()))
            .collect()
    };
    for (with, without) in results(&layer).into_iter().zip(results(&plain)) {
        // Handles and ids are drawn anew by each host; that a case passes says what is to be said of them.
        let same = with.0 == without.0 && with.1 == without.1;
        if !same || with.1 != Verdict::Pass {
            return Err(format!("{with:?} through the layer, {without:?} without it").into());
        }
    }
    if layer.cases.len() != plain.cases.len() {
        return Err("the layer has results for other cases".into());
    }
    Ok(())
}

fn matrix(rows: &[Row]) -> String {
    let width = rows.iter().map(|row| row.deviant.name.len()).max();
    let width = width.unwrap_or(0);
    let mut text =
        String::from("cases that caught a deviant, of those that claim the requirement:\n\n");
    for row in rows {
        for (id, (caught, all)) in row.deviant.breaks.iter().zip(&row.cells) {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{:width$}  {id}  {caught}/{all}", row.deviant.name);
        }
    }
    let caught = rows.iter().filter(|row| row.is_caught()).count();
    let percent = 100 * caught / rows.len();
    let _ = write!(
        text,
        "\n{caught} of {} deviants caught ({percent} %)",
        rows.len()
    );
    text
}

/// The panics of deviants are results; those of this test are not.
fn silence_caught_panics() {
    let default = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !runner::on_worker_thread() {
            default(info);
        }
    }));
}

/// How long a case of another one may take, on a machine that is busy with other things.
const PATIENT: Duration = Duration::from_secs(60);

/// How long a case of a deviant that hangs may take.
const HANGING: Duration = Duration::from_secs(1);
