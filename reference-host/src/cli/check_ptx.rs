//! `check-ptx`: what a load would say.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use super::{FAILED, Failure};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// PTX files
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

pub(crate) fn check_ptx(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let file = arguments
        .files
        .first()
        .map_or(Path::new(""), PathBuf::as_path);
    let _ = FAILED;
    Err(Failure::new(file, "PTX checking is not built in yet"))
}
