//! What is refused and what is taken, and that NVIDIA's own assembler agrees.
//!
//! `tests/refused/*.ptx` are broken in one way each and `positions.txt` beside them says where; `tests/accepted/*.ptx`
//! are good in unusual ways. Without the assembler those tests say so and, where `CI` is set, fail.

mod ptxas;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use ptxas::{Verdict, assemble, package, ptx_files, ptxas, repository};
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
        let verdict = assemble(&ptxas, &path);
        assert!(
            matches!(verdict, Verdict::Refused(_)),
            "{}: {verdict:?}",
            path.display()
        );
    }
}

#[test]
fn ptxas_takes_the_same_good_sources() {
    let Some(ptxas) = ptxas() else { return };
    for path in sources("tests/accepted").into_iter().chain(kernels()) {
        let verdict = assemble(&ptxas, &path);
        assert_eq!(verdict, Verdict::Taken, "{}", path.display());
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
    some(&repository().join("fixtures/kernels"))
}

fn sources(folder: &str) -> Vec<PathBuf> {
    some(&package().join(folder))
}

fn some(folder: &Path) -> Vec<PathBuf> {
    let files = ptx_files(folder);
    assert!(!files.is_empty(), "{} holds no source", folder.display());
    files
}

fn stem(path: &Path) -> String {
    path.file_stem()
        .expect("a file name")
        .to_string_lossy()
        .into_owned()
}
