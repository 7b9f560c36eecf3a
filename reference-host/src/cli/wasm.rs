//! From a guest file to a module, with the place of whatever is wrong with it.

use std::path::Path;

use wasi_cuda_host::abi::{MODULE, RESERVED_IMPORT};
use wasmtime::{Engine, Linker, Module, Store};

use super::output::brief;
use super::{Failure, read};

/// Reads a `.wasm` or `.wat` file and compiles it.
pub(super) fn module(engine: &Engine, file: &Path) -> Result<Module, Failure> {
    let bytes = read(file)?;
    let binary = if bytes.starts_with(b"\0asm") {
        bytes
    } else {
        assemble(file, &bytes)?
    };
    Module::new(engine, binary).map_err(|error| Failure::in_lines(file, format_args!("{error:#}")))
}

fn assemble(file: &Path, bytes: &[u8]) -> Result<Vec<u8>, Failure> {
    let text = std::str::from_utf8(bytes).map_err(|_| {
        Failure::new(
            file,
            "not WebAssembly: neither a binary module nor UTF-8 text",
        )
    })?;
    let at = |error: &wast::Error| {
        let (line, column) = error.span().linecol_in(text);
        let place = format!(
            "{}:{}:{}",
            file.display(),
            line.saturating_add(1),
            column.saturating_add(1)
        );
        Failure::in_lines(Path::new(&place), error.message())
    };
    let buffer = wast::parser::ParseBuffer::new(text).map_err(|error| at(&error))?;
    let mut wat = wast::parser::parse::<wast::Wat<'_>>(&buffer).map_err(|error| at(&error))?;
    wat.encode().map_err(|error| at(&error))
}

/// Refuses a module that asks for what this host does not define.
pub(super) fn check_imports<T: 'static>(
    file: &Path,
    module: &Module,
    linker: &Linker<T>,
    store: &mut Store<T>,
) -> Result<(), Failure> {
    for import in module.imports() {
        let (from, name) = (import.module(), import.name());
        if linker.get(&mut *store, from, name).is_ok() {
            continue;
        }
        let why = if from == MODULE && name == RESERVED_IMPORT {
            "the name is reserved and no host defines it; use wasi_cuda_last_error_len and wasi_cuda_last_error_copy"
        } else {
            "this host does not define it"
        };
        return Err(Failure::new(
            file,
            format_args!("imports `{}` from `{}`: {why}", brief(name), brief(from)),
        ));
    }
    Ok(())
}
