//! Parse, verify and lower.

use std::error::Error;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Duration;

use soft_gpu::Module;

use crate::Outcome;
use crate::measure::{busy, figure, paired};
use crate::shapes::SHAPES;

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

/// The sources that are as bad as their length allows: whether the time of a byte grows with the length.
pub(crate) fn hostile(rounds: usize) -> Outcome {
    let mut slowest = [("", Duration::ZERO); 2];
    let mut steepest = ("", 0.0);
    for shape in SHAPES {
        let sources = [MIB, 8 * MIB].map(|bytes| (shape.make)(bytes));
        // The short one eight times, so that both sides load as many bytes.
        let [short, long] = paired(rounds.min(3), busy, |long| {
            let (source, times) = if long {
                (&sources[1], 1)
            } else {
                (&sources[0], 8)
            };
            for _ in 0..times {
                // Most are refused, at whatever place; what counts is how long that takes.
                black_box(Module::load(black_box(source.as_bytes())).is_ok());
            }
            Ok(())
        })?;
        for (slowest, time) in slowest.iter_mut().zip([short, long]) {
            if time > slowest.1 {
                *slowest = (shape.name, time);
            }
        }
        let growth = long.as_secs_f64() / short.as_secs_f64();
        // What takes no time grows by chance.
        if long > Duration::from_millis(5) && growth > steepest.1 {
            steepest = (shape.name, growth);
        }
    }
    let rate = |time: Duration| 8.0 * MIB as f64 / time.as_secs_f64() / 1e6;
    println!(
        "load {} hostile shapes: the slowest at 8 MiB ({}) {:.0} MB/s, at 1 MiB ({}) {:.0} MB/s",
        SHAPES.len(),
        slowest[1].0,
        rate(slowest[1].1),
        slowest[0].0,
        rate(slowest[0].1),
    );
    println!(
        "    steepest from 1 to 8 MiB, time of a byte: {:.2}x ({})",
        steepest.1, steepest.0
    );
    Ok(())
}

const MIB: usize = 1 << 20;

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
