//! `check-ptx`: what a load would say.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use super::{FAILED, Failure, on_one_line, print, read};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// PTX files
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

/// Checks every file, and goes on after a bad one.
pub(crate) fn check_ptx(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let mut status = ACCEPTED;
    for file in &arguments.files {
        status = status.max(check(file)?);
    }
    Ok(ExitCode::from(status))
}

fn check(file: &Path) -> Result<u8, Failure> {
    let source = match read(file) {
        Ok(source) => source,
        Err(failure) => {
            print(failure)?;
            return Ok(FAILED);
        }
    };
    match soft_gpu::Module::load(&source) {
        Ok(module) => {
            let entries: Vec<_> = module.entries().map(|entry| entry.name()).collect();
            print(format_args!(
                "{}: accepted (entries: {})",
                on_one_line(&file.to_string_lossy()),
                entries.join(", ")
            ))?;
            Ok(ACCEPTED)
        }
        Err(error) => {
            let place = on_one_line(&file.to_string_lossy());
            print(format_args!("{place}:{}", on_one_line(&error.to_string())))?;
            Ok(REFUSED)
        }
    }
}

const ACCEPTED: u8 = 0;
const REFUSED: u8 = 1;
