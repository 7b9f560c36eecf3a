//! What is refused and what is taken, and that NVIDIA's own assembler agrees.
//!
//! `tests/refused/*.ptx` are broken in one way each and `positions.txt` beside them says where; `tests/accepted/*.ptx`
//! are good in unusual ways. The assembler is found through `PTXAS` or in the repository's `.venv`
//! (`scripts/ptxas.sh` puts it there). Without it those tests say so and, where `CI` is set, fail.
#![allow(clippy::print_stderr, reason = "a skipped comparison must be seen")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use soft_gpu::Module;

#[test]
fn every_broken_source_is_refused_where_it_is_broken() {
    let mut positions = positions();
    let mut wrong = Vec::new();
    for path in sources("tests/refused") {
        let name = stem(&path);
        let Some(expected) = positions.remove(&name) else {
            wrong.push(format!("{name}: not in positions.txt"));
            continue;
        };
        match Module::load(&fs::read(&path).expect("a readable source")) {
            Ok(_) => wrong.push(format!("{name}: taken, expected a refusal at {expected}")),
            Err(error) => {
                let at = format!("{}:{}", error.at.line, error.at.column);
                if at != expected {
                    wrong.push(format!("{name}: expected {expected}, found {error}"));
                }
            }
        }
    }
    wrong.extend(
        positions
            .keys()
            .map(|name| format!("{name}: in positions.txt, but there is no such source")),
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_kind_of_line_end_changes_nothing() {
    let broken = sources("tests/refused").into_iter();
    for path in broken.chain(sources("tests/accepted")).chain(kernels()) {
        let source = fs::read(&path).expect("a readable source");
        if source.contains(&b'\r') {
            continue;
        }
        let crlf: Vec<u8> = source
            .iter()
            .flat_map(|byte| match byte {
                b'\n' => b"\r\n".to_vec(),
                other => vec![*other],
            })
            .collect();
        let place = |source: &[u8]| Module::load(source).map(drop).map_err(|error| error.at);
        assert_eq!(place(&crlf), place(&source), "{}", path.display());
    }
}

#[test]
fn every_good_source_is_taken() {
    let mut wrong = Vec::new();
    for path in sources("tests/accepted").into_iter().chain(kernels()) {
        if let Err(error) = Module::load(&fs::read(&path).expect("a readable source")) {
            wrong.push(format!("{}:{error}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn ptxas_refuses_the_same_broken_sources() {
    let Some(ptxas) = ptxas() else { return };
    for path in sources("tests/refused") {
        assert!(
            assemble(&ptxas, &path).is_err(),
            "ptxas takes {}",
            path.display()
        );
    }
}

#[test]
fn ptxas_takes_the_same_good_sources() {
    let Some(ptxas) = ptxas() else { return };
    for path in sources("tests/accepted").into_iter().chain(kernels()) {
        if let Err(message) = assemble(&ptxas, &path) {
            panic!("ptxas refuses {}: {message}", path.display());
        }
    }
}

/// The assembler, or `None` after saying that it is missing.
fn ptxas() -> Option<PathBuf> {
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

/// Assembles one source; the error is what the assembler printed.
fn assemble(ptxas: &Path, source: &Path) -> Result<(), String> {
    let object = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}.cubin", stem(source)));
    let output = Command::new(ptxas)
        .args(["-arch", "sm_90"])
        .arg(source)
        .arg("-o")
        .arg(&object)
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| panic!("{} does not run: {error}", ptxas.display()));
    match output.status.code() {
        Some(0) => Ok(()),
        Some(_) => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        None => panic!("ptxas crashed on {}", source.display()),
    }
}

/// `name line:column` for each broken source.
fn positions() -> BTreeMap<String, String> {
    let text = fs::read_to_string(package().join("tests/refused/positions.txt"))
        .expect("the table of positions");
    text.lines()
        .map(|line| {
            let (name, position) = line.split_once(' ').expect("a name and a position");
            (name.to_owned(), position.to_owned())
        })
        .collect()
}

fn kernels() -> Vec<PathBuf> {
    ptx_files(&repository().join("fixtures/kernels"))
}

fn sources(folder: &str) -> Vec<PathBuf> {
    ptx_files(&package().join(folder))
}

fn ptx_files(folder: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = entries
        .map(|entry| entry.expect("a folder entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "ptx"))
        .collect();
    assert!(!files.is_empty(), "{} holds no source", folder.display());
    files.sort();
    files
}

fn stem(path: &Path) -> String {
    path.file_stem()
        .expect("a file name")
        .to_string_lossy()
        .into_owned()
}

fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn repository() -> PathBuf {
    package().join("../..")
}
