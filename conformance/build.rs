//! Lists the catalogue and the fixtures so that they become part of the program.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let package = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let catalogue = package.join("requirements.toml");
    let fixtures = package.join("../fixtures").canonicalize()?;
    println!("cargo::rerun-if-changed={}", catalogue.display());
    println!("cargo::rerun-if-changed={}", fixtures.display());
    let mut files = Vec::new();
    collect(&fixtures, &mut files)?;
    files.sort();
    let mut code = format!("pub(super) const CATALOGUE: &[u8] = include_bytes!({catalogue:?});\n");
    code.push_str("pub(super) const FIXTURES: &[(&str, &[u8])] = &[\n");
    for file in files {
        let parts: Vec<_> = file
            .strip_prefix(&fixtures)?
            .iter()
            .map(|part| part.to_string_lossy())
            .collect();
        writeln!(
            code,
            "    ({:?}, include_bytes!({file:?})),",
            parts.join("/")
        )?;
    }
    code.push_str("];\n");
    fs::write(PathBuf::from(env::var("OUT_DIR")?).join("suite.rs"), code)?;
    Ok(())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with('.'))
        {
            continue;
        }
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "wat") {
            files.push(path);
        }
    }
    Ok(())
}
