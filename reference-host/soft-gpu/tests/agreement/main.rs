//! The verifier's verdicts on broken PTX are those of NVIDIA's assembler.
//!
//! Every source at hand is changed in one small way, many times over, and both are asked whether they take the result.
//! `scripts/ptxas-agreement.sh` runs it at length; by itself it makes a few hundred mutants of one seed. Every kind of
//! disagreement that remains stands in `known.txt` with its reason; a new kind fails. Environment: `AGREEMENT_MUTANTS`,
//! `AGREEMENT_SEED`, `AGREEMENT_JOBS`.
#![allow(
    clippy::print_stdout,
    reason = "the table is what the script is run for"
)]

mod mutate;
#[path = "../ptxas/mod.rs"]
mod ptxas;
mod random;
mod reduce;
mod report;
mod shrink;
mod source;
mod verdicts;
mod words;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use mutate::{KINDS, Source};
use ptxas::{Verdict, package, ptx_files, ptxas as find_ptxas, repository};
use random::Random;
use report::{Case, Report};
use source::{Token, text, tokens};
use verdicts::{Assembler, load};

#[test]
fn the_verifier_agrees_with_ptxas_on_mutants() {
    let Some(ptxas) = find_ptxas() else { return };
    let mutants = setting("AGREEMENT_MUTANTS", 300);
    let seed = setting("AGREEMENT_SEED", 1) as u64;
    let jobs = setting("AGREEMENT_JOBS", 2);
    let folder = repository().join("target/agreement");
    fs::create_dir_all(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let folder = folder.canonicalize().expect("a folder just made");
    let assembler = Assembler::new(ptxas, &folder);

    let sources = sources();
    let next = AtomicUsize::new(0);
    let mut cases: Vec<(usize, Case)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs.max(1))
            .map(|worker| {
                let (assembler, sources, next) = (&assembler, &sources, &next);
                scope.spawn(move || {
                    let mut cases = Vec::new();
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        if index >= mutants {
                            return cases;
                        }
                        cases.push((index, case(assembler, sources, seed, index, worker)));
                    }
                })
            })
            .collect();
        let joined = workers.into_iter().map(|worker| worker.join());
        joined
            .flat_map(|cases| cases.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    cases.sort_by_key(|(index, _)| *index);

    let report = Report::new(cases.into_iter().map(|(_, case)| case).collect());
    let known = fs::read_to_string(package().join("tests/agreement/known.txt"))
        .expect("the list of known disagreements");
    let new = report.print(&known, &assembler, &folder);
    assert!(
        report.agreement() >= LEAST_AGREEMENT,
        "{:.2} % agree, fewer than {LEAST_AGREEMENT} %",
        report.agreement()
    );
    assert!(
        new.is_empty(),
        "kinds of disagreement that known.txt does not have:\n{}",
        new.join("\n")
    );
}

/// Both judges must say the same of this many mutants, in per cent.
const LEAST_AGREEMENT: f64 = 99.0;

/// Most statements of a body that is mutated.
const WINDOW: usize = 24;

/// Makes mutant `index` and asks both.
fn case(
    assembler: &Assembler,
    sources: &[(PathBuf, Vec<Vec<Token>>)],
    seed: u64,
    index: usize,
    worker: usize,
) -> Case {
    let random = &mut Random::of(seed, index as u64);
    let kind = index % KINDS.len();
    let (name, mutation) = KINDS[kind];
    loop {
        let (path, kernels) = chosen(sources, random);
        let kernel = random.pick(kernels).expect("every file has a source");
        let mut mutant = Source::new(shrink::window(kernel, WINDOW, random));
        let Some(at) = mutation(&mut mutant, random) else {
            continue;
        };
        let mutant = Source::new(mutant.tokens);
        let opcode = mutant.opcode_at(at);
        let text = text(&mutant.tokens);
        let theirs = assembler.judge(&text, worker);
        let ours = load(&text);
        return Case {
            kind: name,
            file: path.clone(),
            opcode,
            text,
            theirs,
            ours,
        };
    }
}

/// The source that wins a draw in which each has a number of its own, so that a new source takes over few mutants and the
/// others stay as they were.
fn chosen<'a>(
    sources: &'a [(PathBuf, Vec<Vec<Token>>)],
    random: &mut Random,
) -> &'a (PathBuf, Vec<Vec<Token>>) {
    let draw = random.next();
    let number = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default();
        let bytes = name.as_encoded_bytes().iter();
        let digest = bytes.fold(draw, |digest, byte| {
            (digest ^ u64::from(*byte)).wrapping_mul(0x100_0000_01B3)
        });
        Random::of(digest, 0).next()
    };
    sources
        .iter()
        .max_by_key(|(path, _)| number(path))
        .expect("sources")
}

#[test]
fn the_sources_are_taken_before_they_are_changed() {
    let Some(ptxas) = find_ptxas() else { return };
    let folder = repository().join("target/agreement");
    fs::create_dir_all(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let assembler = Assembler::new(ptxas, &folder);
    let random = &mut Random::of(0, 0);
    let mut wrong = Vec::new();
    for (path, kernels) in sources() {
        for kernel in kernels {
            let source = text(&shrink::window(&kernel, WINDOW, random));
            let (theirs, ours) = (assembler.judge(&source, 99), load(&source));
            if theirs != Verdict::Taken || matches!(ours, verdicts::Ours::Refused(_)) {
                wrong.push(format!("{}: {theirs:?}, {ours:?}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// All PTX at hand, cut into kernels.
fn sources() -> Vec<(PathBuf, Vec<Vec<Token>>)> {
    let mut files = ptx_files(&package().join("tests/accepted"));
    files.extend(ptx_files(&repository().join("fixtures/kernels")));
    files.extend(ptx_files(&repository().join("../shared/ptx")));
    assert!(!files.is_empty(), "no sources");
    files.into_iter().filter_map(|path| cut(&path)).collect()
}

fn cut(path: &Path) -> Option<(PathBuf, Vec<Vec<Token>>)> {
    let text =
        fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut kernels = shrink::kernels(&tokens(&text));
    kernels.retain(|kernel| !kernel.is_empty());
    (!kernels.is_empty()).then(|| (path.to_owned(), kernels))
}

fn setting(name: &str, otherwise: usize) -> usize {
    match std::env::var(name) {
        Ok(value) => value
            .parse()
            .unwrap_or_else(|_| panic!("{name}={value} is no number")),
        Err(_) => otherwise,
    }
}
