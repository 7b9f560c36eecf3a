//! NVIDIA's assembler as an oracle: where it is, and what it says of a source.
//!
//! It is found through `PTXAS` or in the repository's `.venv` (`scripts/ptxas.sh` puts it there).
#![allow(clippy::print_stderr, reason = "a skipped comparison must be seen")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The assembler, or `None` after saying that it is missing; fails instead where `CI` is set.
pub(crate) fn ptxas() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("PTXAS") {
        return Some(path.into());
    }
    let pattern = repository().join(".venv/lib");
    let pythons = fs::read_dir(pattern).into_iter().flatten().flatten();
    let packages =
        pythons.filter_map(|python| fs::read_dir(python.path().join("site-packages/nvidia")).ok());
    let found = packages
        .flatten()
        .flatten()
        .map(|package| package.path().join("bin/ptxas"))
        .find(|path| path.is_file());
    if found.is_none() {
        let message =
            "ptxas is not here, so nothing was compared with it: run scripts/ptxas.sh or set PTXAS";
        assert!(std::env::var_os("CI").is_none(), "{message}");
        eprintln!("SKIPPED: {message}");
    }
    found
}

/// What the assembler says of a source for a device of the sm_90 class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Taken,
    /// With what it printed.
    Refused(String),
    /// It ended by a signal, or ran into the limit on its time or memory.
    Crashed,
}

/// Assembles one source for [`architecture`] and throws the result away.
///
/// A shell sets the limits, since some sources make it take all the memory there is.
pub(crate) fn assemble(ptxas: &Path, source: &Path) -> Verdict {
    let text =
        fs::read_to_string(source).unwrap_or_else(|error| panic!("{}: {error}", source.display()));
    let limited =
        format!("ulimit -v {MOST_MEMORY_KIB}; ulimit -t {MOST_SECONDS}; exec \"$0\" \"$@\"");
    let output = Command::new("sh")
        .args(["-c", &limited])
        .arg(ptxas)
        .args(["-arch", architecture(&text)])
        .arg(source)
        .args(["-o", "/dev/null"])
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| panic!("no shell to run {}: {error}", ptxas.display()));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    match output.status.code() {
        Some(0) => Verdict::Taken,
        Some(CANNOT_RUN | NOT_FOUND) => panic!("{} does not run: {message}", ptxas.display()),
        Some(_) if message.contains("Memory allocation failure") => Verdict::Crashed,
        Some(_) => Verdict::Refused(message),
        None => Verdict::Crashed,
    }
}

const MOST_MEMORY_KIB: u64 = 4 << 20;
const MOST_SECONDS: u64 = 20;
/// What a shell ends with where `exec` fails.
const CANNOT_RUN: i32 = 126;
const NOT_FOUND: i32 = 127;

/// What to assemble a source for: a device of the sm_90 class takes sources of its own family too, the assembler only if told so.
pub(crate) fn architecture(text: &str) -> &'static str {
    if text.contains(".target sm_90a") {
        "sm_90a"
    } else {
        "sm_90"
    }
}

/// Files of `folder` that end in `.ptx`, in the order of their names; empty where there is no such folder.
pub(crate) fn ptx_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut files: Vec<_> = entries
        .map(|entry| entry.expect("a folder entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "ptx"))
        .collect();
    files.sort();
    files
}

pub(crate) fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub(crate) fn repository() -> PathBuf {
    package().join("../..")
}
