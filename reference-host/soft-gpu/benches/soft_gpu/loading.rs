//! Parse, verify and lower.

use std::error::Error;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Duration;

use soft_gpu::Module;

use crate::Outcome;
use crate::measure::{busy, figure, paired};

/// Every PTX file among the fixtures, and the largest by themselves.
pub(crate) fn compilers_output(rounds: usize) -> Outcome {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/kernels");
    let mut files: Vec<(PathBuf, Vec<u8>)> = std::fs::read_dir(folder)?
        .map(|entry| Ok(entry?.path()))
        .filter(|path: &std::io::Result<PathBuf>| {
            path.as_ref()
                .is_ok_and(|path| path.extension().is_some_and(|end| end == "ptx"))
        })
        .map(|path| path.and_then(|path| Ok((path.clone(), std::fs::read(path)?))))
        .collect::<Result<_, _>>()?;
    files.sort_unstable_by_key(|(path, bytes)| (std::cmp::Reverse(bytes.len()), path.clone()));
    let all: Vec<&[u8]> = files.iter().map(|(_, bytes)| bytes.as_slice()).collect();
    rate(
        rounds,
        &format!("load all {} PTX fixtures", all.len()),
        &all,
        60.0,
    )?;
    for (path, bytes) in files.iter().take(3) {
        let name = path.file_name().unwrap_or_default().display();
        rate(
            rounds,
            &format!("load {name}, {} KB", bytes.len() / 1000),
            &[bytes.as_slice()],
            60.0,
        )?;
    }
    Ok(())
}

/// A small kernel behind 4 MB of spaces, and of comments.
pub(crate) fn padding(rounds: usize) -> Outcome {
    let kernel =
        b".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k()\n{\nret;\n}\n";
    for (what, padding) in [
        ("load 4 MB of spaces", " ".repeat(4_000_000)),
        (
            "load 4 MB of line comments",
            format!(
                "{}\n",
                "// what a generator has to say about itself ".repeat(2)
            )
            .repeat(45_000),
        ),
        (
            "load 4 MB of a block comment",
            format!("/*{}*/", "what a generator says. ".repeat(174_000)),
        ),
    ] {
        let source = [padding.as_bytes(), kernel].concat();
        rate(rounds, what, &[&source], 1000.0)?;
    }
    Ok(())
}

fn rate(rounds: usize, what: &str, sources: &[&[u8]], bar: f64) -> Result<(), Box<dyn Error>> {
    let [time, _]: [Duration; 2] = paired(rounds, busy, |other| {
        for source in sources {
            if !other {
                black_box(Module::load(black_box(source))?);
            }
        }
        Ok(())
    })?;
    let bytes: usize = sources.iter().map(|source| source.len()).sum();
    let rate = bytes as f64 / time.as_secs_f64() / 1e6;
    figure(
        what,
        &format!("{rate:.0} MB/s"),
        &format!(">= {bar} MB/s"),
        rate >= bar,
    );
    Ok(())
}
