//! `check-ptx`: what a load would say.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use super::output::{few, print, readable, tell};
use super::{FAILED, Failure, read};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// PTX files
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Print what each accepted file is lowered to: functions, micro-ops, registers and PTX lines
    #[arg(long)]
    dump: bool,
}

/// Checks every file, and goes on after a bad one.
pub(crate) fn check_ptx(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let mut status = ACCEPTED;
    for file in &arguments.files {
        status = status.max(check(file, arguments.dump)?);
    }
    Ok(ExitCode::from(status))
}

fn check(file: &Path, dump: bool) -> Result<u8, Failure> {
    let source = match read(file) {
        Ok(source) => source,
        Err(failure) => {
            tell(format_args!("error: {failure}"));
            return Ok(FAILED);
        }
    };
    let place = file.display();
    match soft_gpu::Module::load(&source) {
        Ok(module) => {
            let entries = few(module.entries().map(|entry| entry.name())).map_or_else(
                || "no entries".to_owned(),
                |names| format!("entries: {names}"),
            );
            print(format_args!("{place}: accepted ({entries})"))?;
            if dump {
                for line in module.dump().lines() {
                    print(line)?;
                }
            }
            Ok(ACCEPTED)
        }
        Err(error) => {
            print(format_args!("{place}:{}", readable(&error.to_string())))?;
            Ok(REFUSED)
        }
    }
}

const ACCEPTED: u8 = 0;
const REFUSED: u8 = 1;
