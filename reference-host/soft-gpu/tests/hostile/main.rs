//! Hostile PTX costs time and memory in proportion to its length.
//!
//! Each shape is loaded, and its signature asked for, at 8 MiB, where anything that takes quadratic time does not end and is given up, and the memory in use at the
//! worst moment is held against the length of the source; so are all kernels of the fixtures. What is over a limit is
//! refused with the limit's name. `cargo bench -p soft-gpu -- hostile` prints the time of each byte.

#![allow(
    clippy::print_stdout,
    reason = "the cost of each shape is worth seeing"
)]

mod allocator;
mod shapes;

use std::fs;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use allocator::peak_during;
use shapes::SHAPES;
use soft_gpu::{Module, Signature};

/// Most bytes of memory for each byte of source.
const BYTES_PER_BYTE: usize = 64;

/// Long enough for quadratic time to show, and for rounding not to.
const LARGE_BYTES: usize = 1 << 23;

/// What even an empty source may take.
const FIXED_BYTES: usize = 256 * 1024;

fn is_bounded(what: &str, source: &[u8]) -> Result<(), String> {
    let (peak_of_signature, _) = peak_during(|| Signature::of(source, "k").map(drop));
    let (peak, loaded) = peak_during(|| Module::load(source).map(drop));
    let peak = peak.max(peak_of_signature);
    println!(
        "{:8.2}  {what}: {}",
        peak as f64 / source.len() as f64,
        match loaded {
            Ok(()) => "taken".to_owned(),
            Err(error) => error.to_string().chars().take(120).collect(),
        }
    );
    let most = FIXED_BYTES + BYTES_PER_BYTE * source.len();
    if peak <= most {
        return Ok(());
    }
    Err(format!(
        "{what}: {peak} bytes of memory for {} bytes of source, {:.1} each",
        source.len(),
        peak as f64 / source.len() as f64
    ))
}

/// What is done in a second at most where time is linear, and where it is quadratic not within hours.
const PATIENCE: Duration = Duration::from_secs(300);

#[test]
fn time_and_memory_are_bounded() {
    let mut wrong = Vec::new();
    for shape in SHAPES {
        for bytes in [1 << 12, LARGE_BYTES] {
            let (done, outcome) = mpsc::channel();
            std::thread::spawn(move || {
                let source = (shape.make)(bytes);
                done.send(is_bounded(shape.name, source.as_bytes()))
            });
            match outcome.recv_timeout(PATIENCE) {
                Ok(outcome) => wrong.extend(outcome.err()),
                Err(error) => panic!("{} of {bytes} bytes: no end ({error})", shape.name),
            }
        }
    }
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/kernels");
    for entry in fs::read_dir(&kernels).expect("the kernels") {
        let path = entry.expect("a file").path();
        if path.extension().is_some_and(|extension| extension == "ptx") {
            let source = fs::read(&path).expect("a kernel");
            wrong.extend(is_bounded(&path.display().to_string(), &source).err());
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
