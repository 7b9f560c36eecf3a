//! Tests that run in a process of their own.

use std::panic;
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

/// Runs `scenario` in a process with more environment, by running the test `name` of this program once more there.
///
/// In that process this does not return. `name` is the test's path within the program.
#[allow(
    clippy::print_stdout,
    reason = "by this the process that waits knows that the scenario came to its end"
)]
pub(crate) fn run(name: &str, environment: &[(&str, &str)], scenario: impl FnOnce()) -> Traced {
    if std::env::var_os(MARK).is_some() {
        // What a failure leaves is not dropped: a driver that never answers would keep it for ever.
        let tell = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            tell(info);
            std::process::exit(1);
        }));
        scenario();
        // Threads that wait for kernels without an end would keep the process.
        println!("{DONE}");
        std::process::exit(0);
    }
    let folder = tempfile::tempdir().expect("a folder for a trace");
    let trace = folder.path().join("trace");
    let program = std::env::current_exe().expect("this program's path");
    let output = Command::new(program)
        .args(["--exact", name, "--nocapture", "--test-threads", "1"])
        .env(MARK, "1")
        // What that process makes and does not come to remove goes with this folder.
        .env("TMPDIR", folder.path())
        .env("SOFT_CUDA_TRACE", &trace)
        .envs(environment.iter().copied())
        .output()
        .expect("this program runs");
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && stdout.contains(DONE),
        "{name} with {environment:?}: {}\n{stdout}\n{stderr}",
        output.status
    );
    Traced { folder, trace }
}

/// What a process did.
pub(crate) struct Traced {
    // Keeps the file.
    #[allow(dead_code, reason = "the folder ends with its value")]
    folder: TempDir,
    trace: PathBuf,
}

impl Traced {
    /// How often a function of the driver was called.
    pub(crate) fn calls(&self, function: &str) -> usize {
        let trace = std::fs::read_to_string(&self.trace).expect(
            "soft-cuda traces calls; is it the driver? scripts/with-soft-cuda.sh runs these tests with it",
        );
        trace
            .lines()
            .filter(|line| line.split_whitespace().next() == Some(function))
            .count()
    }
}

/// The variable by which a process knows what it is for.
const MARK: &str = "WASI_CUDA_HOST_TEST_CHILD";
/// What a scenario that came to its end is told by.
const DONE: &str = "the scenario is done";
