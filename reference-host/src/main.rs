//! The command line of the reference host: runs a guest, checks PTX.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
