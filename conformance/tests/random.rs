//! Random testing finds nothing wrong with the reference host, finds what is planted, and shows it with a fixture.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use wasi_cuda_conformance::deviant::{self, Bench};
use wasi_cuda_conformance::model::Import;
use wasi_cuda_conformance::random::{Found, Options, Report, run};
use wasi_cuda_conformance::report::Report as CaseReport;
use wasi_cuda_conformance::runner;
use wasi_cuda_conformance::runtime::reference::{Device, Reference};
use wasi_cuda_conformance::runtime::{
    Guest, Host, InstantiateError, Outcome, Runtime, RuntimeInfo, Value,
};
use wasi_cuda_conformance::{Profile, Suite};

#[test]
fn the_reference_host_does_what_the_model_says() {
    for (device, runs) in [
        (Device::Soft, 60),
        (Device::None, 100),
        (Device::Disabled, 40),
    ] {
        let report = random(Arc::new(reference(device)), runs, 11);
        assert!(report.found.is_none(), "{}", report.to_terminal(None));
        assert_eq!(report.runs, runs);
        if device == Device::Soft {
            // A run in which next to nothing succeeds, or nothing is refused, has tested nothing.
            for import in Import::ALL {
                let successes = report.stats.successes(import);
                assert!(
                    successes > 20,
                    "{}\n{}",
                    import.name(),
                    report.stats.table()
                );
            }
            let codes: BTreeSet<&str> = report
                .stats
                .shares()
                .iter()
                .map(|share| share.outcome)
                .collect();
            assert!(codes.len() >= 9, "{codes:?}");
        }
    }
}

#[test]
fn a_seed_gives_the_same_sequences_again() {
    let first = random(Arc::new(reference(Device::None)), 20, 5);
    let again = random(Arc::new(reference(Device::None)), 20, 5);
    let other = random(Arc::new(reference(Device::None)), 20, 6);
    assert_eq!(first.stats, again.stats);
    assert_ne!(first.stats, other.stats);
}

#[test]
fn a_wrong_code_at_a_bound_is_found() {
    finds(Plant::WrongCodeForHugeSizes, &["alloc.size-is-64-bit"]);
}

#[test]
fn a_handle_that_is_given_out_again_is_found() {
    finds(Plant::HandleAgain, &["alloc.handle-not-reused"]);
}

#[test]
fn a_write_past_the_window_is_found() {
    finds(Plant::WritePastWindow, &["launch.window.isolation"]);
}

#[test]
fn a_buffer_that_is_not_cleared_is_found() {
    finds(Plant::NotCleared, &["alloc.zeroed"]);
}

#[test]
fn a_foreign_handle_that_is_accepted_is_found() {
    finds(Plant::ForeignHandle, &["free.foreign"]);
}

#[test]
fn a_message_that_is_lost_is_found() {
    finds(Plant::NoMessage, &["last-error.recorded"]);
}

#[test]
fn a_panic_is_found() {
    finds(Plant::Panic, &["call.no-trap"]);
}

#[test]
fn a_trap_is_found() {
    finds(Plant::Trap, &["call.no-trap"]);
}

#[test]
fn a_hang_is_found() {
    let found = find(Plant::Hang);
    assert!(found.what.contains("did not come back"), "{}", found.what);
    assert!(found.operations.len() <= 8, "{:?}", found.operations);
}

// Each is found soon with the seed that is given, and the fixture that shows it passes on the reference host: what a
// host chose, or answered where several answers are allowed, is never written down as what every host must do.

#[test]
fn deviant_messages_are_shown_by_comparing_them() {
    shows_deviants(&[
        ("message-outside-clipped", 1),
        ("message-first-kept", 1),
        ("message-length-with-zero", 1),
        ("message-length-rounded", 1),
        ("message-cut-from-end", 1),
        ("message-before-any", 1),
        ("message-gone-once-read", 1),
        ("message-gone-after-sync", 1),
        ("message-copy-answers-zero", 1),
        ("message-ended-by-zero", 2),
    ]);
}

#[test]
fn deviant_faults_are_shown_on_hosts_that_answer_alike() {
    shows_deviants(&[
        ("fault-trap-ignored", 1),
        ("fault-wild-store-ignored", 3),
        ("fault-null-store-ignored", 1),
        ("fault-code", 1),
        ("alloc-size-cap-one-more", 1),
        ("d2h-one-byte-more", 4),
        ("trap-alloc-huge", 1),
        ("load-kernel-cap-one-less", 5),
        ("panic-launch-overflow", 1),
    ]);
}

#[test]
fn deviant_instances_are_shown_by_what_ended_ones_held() {
    shows_deviants(&[
        ("instance-inherits-buffers", 2),
        ("instance-inherits-kernels", 1),
        ("kernel-ended-runs", 1),
        ("alloc-recycled-foreign", 3),
    ]);
}

/// Deviants, and the seed that finds them soon.
fn shows_deviants(deviants: &[(&str, u64)]) {
    let bench = Bench::new().expect("the engine works here");
    let mut missed = Vec::new();
    for (name, seed) in deviants {
        let deviant = deviant::named(name).unwrap_or_else(|| panic!("no deviant {name}"));
        let host = Arc::new(bench.host(deviant).expect("the imports are defined"));
        let device = match deviant.profile {
            Profile::Device => Device::Soft,
            Profile::NoDevice => Device::None,
            Profile::Disabled => Device::Disabled,
        };
        let report = random(Arc::clone(&host) as Arc<dyn Runtime>, SOON, *seed);
        let Some(found) = report.found else {
            missed.push(*name);
            continue;
        };
        let context = format!("{name}: {}\n{}", found.what, found.fixture);
        assert!(
            found.operations.len() <= 8,
            "{:?}\n{context}",
            found.operations
        );
        shows(&found, host, reference(device), &context);
    }
    assert!(missed.is_empty(), "not found: {missed:?}");
}

/// Sequences within which a deviant is found.
const SOON: u64 = 25;

/// What a host does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plant {
    WrongCodeForHugeSizes,
    HandleAgain,
    WritePastWindow,
    NotCleared,
    ForeignHandle,
    NoMessage,
    Panic,
    Trap,
    Hang,
}

fn reference(device: Device) -> Reference {
    Reference::new(device).expect("the engine works here")
}

fn random(runtime: Arc<dyn Runtime>, runs: u64, seed: u64) -> Report {
    let options = Options {
        runs,
        seed,
        limit: Duration::from_secs(5),
        ..Options::default()
    };
    run(runtime, &options, &mut |_, _| {}).expect("the runtime works")
}

fn find(plant: Plant) -> Found {
    let runtime = Arc::new(Planted {
        reference: reference(Device::Soft),
        plant,
    });
    let options = Options {
        runs: 200,
        seed: 3,
        limit: if plant == Plant::Hang {
            Duration::from_millis(200)
        } else {
            Duration::from_secs(5)
        },
        ..Options::default()
    };
    let report = run(runtime, &options, &mut |_, _| {}).expect("the runtime works");
    let text = report.to_terminal(None);
    *report
        .found
        .unwrap_or_else(|| panic!("{plant:?} was not found\n{text}"))
}

/// The fault is found, cut down, and shown by a fixture that passes where the fault is not.
fn finds(plant: Plant, requirements: &[&str]) {
    let found = find(plant);
    let context = format!("{plant:?}: {}\n{}", found.what, found.fixture);
    assert!(
        found.operations.len() <= 8,
        "{:?}\n{context}",
        found.operations
    );
    assert!(found.repeats, "{context}");
    for id in requirements {
        assert!(found.requirements.contains(id), "{context}");
    }
    let planted = Planted {
        reference: reference(Device::Soft),
        plant,
    };
    shows(&found, Arc::new(planted), reference(Device::Soft), &context);
}

/// The fixture fails at its last step, and only there, on the host it was found on, and passes on the reference host.
fn shows(found: &Found, host: Arc<dyn Runtime>, reference: Reference, context: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let write = std::fs::write(folder.path().join("found.wat"), &found.fixture);
    write.expect("the fixture is written");
    let suite = Suite::from_folder(folder.path(), None)
        .unwrap_or_else(|error| panic!("{error:?}\n{context}"));
    let judge = |runtime: Arc<dyn Runtime>| {
        runner::run(&suite, runtime, &runner::Options::default(), &mut |_, _| {})
            .unwrap_or_else(|error| panic!("{error}\n{context}"))
    };
    let bad = |report: &CaseReport| -> Vec<String> {
        let cases = report.cases.iter().filter(|case| case.verdict.is_bad());
        cases
            .map(|case| format!("{} {}", case.id, case.verdict.name()))
            .collect()
    };
    let on_reference = judge(Arc::new(reference));
    assert!(
        bad(&on_reference).is_empty(),
        "{:?}\n{context}",
        bad(&on_reference)
    );
    let on_host = judge(host);
    let last = on_host.cases.last().expect("there are cases");
    assert!(last.verdict.is_bad(), "{context}");
    assert_eq!(bad(&on_host).len(), 1, "{:?}\n{context}", bad(&on_host));
}

/// The reference host with a fault, put in between the driver guest and who calls it.
struct Planted {
    reference: Reference,
    plant: Plant,
}

struct PlantedHost {
    host: Box<dyn Host>,
    plant: Plant,
    handles: Arc<Mutex<Vec<(usize, i64)>>>,
    guests: usize,
}

struct PlantedGuest {
    guest: Box<dyn Guest>,
    plant: Plant,
    number: usize,
    /// Handles given out, by the guest that has them.
    handles: Arc<Mutex<Vec<(usize, i64)>>>,
    freed: Option<i64>,
    written: BTreeSet<i64>,
}

impl Runtime for Planted {
    fn info(&self) -> RuntimeInfo {
        RuntimeInfo {
            name: "planted".to_owned(),
            profile: Profile::Device,
            ..self.reference.info()
        }
    }

    fn start(&self) -> Result<Box<dyn Host>, String> {
        Ok(Box::new(PlantedHost {
            host: self.reference.start()?,
            plant: self.plant,
            handles: Arc::default(),
            guests: 0,
        }))
    }
}

impl Host for PlantedHost {
    fn instantiate(
        &mut self,
        wasm: &[u8],
        limit: Duration,
    ) -> Result<Box<dyn Guest>, InstantiateError> {
        self.guests += 1;
        Ok(Box::new(PlantedGuest {
            guest: self.host.instantiate(wasm, limit)?,
            plant: self.plant,
            number: self.guests,
            handles: Arc::clone(&self.handles),
            freed: None,
            written: BTreeSet::new(),
        }))
    }
}

impl Guest for PlantedGuest {
    fn call(&mut self, export: &str, args: &[Value], limit: Duration) -> Outcome {
        let number = |index: usize| args.get(index).and_then(|value| value.as_integer());
        let arg = |index: usize| number(index).unwrap_or(0);
        match (self.plant, export) {
            (Plant::Panic, "last_error_copy") if arg(1) == 0 => panic!("planted"),
            (Plant::Trap, "memcpy_h2d") if arg(3) < 0 => {
                return Outcome::Trapped("planted".to_owned());
            }
            (Plant::Hang, "last_error_len") => {
                // Longer than the limit and what a host is given beyond it.
                std::thread::park_timeout(Duration::from_secs(20));
                return Outcome::TimedOut;
            }
            _ => {}
        }
        let outcome = self.guest.call(export, args, limit);
        let Outcome::Returned(values) = &outcome else {
            return outcome;
        };
        let answer = values.first().and_then(|value| value.as_integer());
        let answer = answer.unwrap_or(0);
        let said = |value| Outcome::Returned(vec![value]);
        let mut handles = self.handles.lock().expect("no test panics with it");
        match (self.plant, export) {
            (Plant::WrongCodeForHugeSizes, "alloc") if arg(1) != 0 => return said(Value::I64(-9)),
            (Plant::HandleAgain, "free") if answer == 0 => self.freed = Some(arg(0)),
            (Plant::HandleAgain, "alloc") if answer >= 0 => {
                if let Some(freed) = self.freed.take() {
                    return said(Value::I64(freed));
                }
            }
            (Plant::WritePastWindow, "launch") if answer == 0 => {
                let at = Value::I32(60_000);
                self.guest.call("poke8", &[at, Value::I32(0x55)], limit);
            }
            (Plant::NotCleared, "memcpy_h2d") if answer == 0 => {
                self.written.insert(arg(0));
            }
            (Plant::NotCleared, "memcpy_d2h")
                if answer == 0 && arg(3) > 0 && !self.written.contains(&arg(1)) =>
            {
                let args = [args[0], Value::I32(0xAA)];
                self.guest.call("poke8", &args, limit);
            }
            (Plant::ForeignHandle, "alloc") if answer >= 0 => handles.push((self.number, answer)),
            (Plant::ForeignHandle, "free") if answer == -11 => {
                let (wanted, own) = (arg(0) ^ arg(1), self.number);
                if handles
                    .iter()
                    .any(|(owner, handle)| *handle == wanted && *owner != own)
                {
                    return said(Value::I32(0));
                }
            }
            (Plant::NoMessage, "last_error_len" | "last_error_copy") => return said(Value::I32(0)),
            _ => {}
        }
        outcome
    }
}
