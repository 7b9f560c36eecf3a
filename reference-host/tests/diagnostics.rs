//! What a guest reads about PTX that does not load, kept as a snapshot: the words are for people, and a change shows in review.
//!
//! `INSTA_UPDATE=always cargo test -p wasi-cuda-host --test diagnostics` writes it anew.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use wasi_cuda_host::{Host, calls};

const ENTRY: &[u8] = b"kernel";

#[test]
fn refused_modules() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("soft-gpu/tests/refused");
    let mut files: Vec<PathBuf> = fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{error}"))
        .map(|entry| entry.unwrap_or_else(|error| panic!("{error}")).path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "ptx"))
        .collect();
    files.sort();
    assert!(files.len() >= 20, "{} files", files.len());

    let mut text = String::new();
    for file in files {
        let ptx = fs::read(&file).unwrap_or_else(|error| panic!("{error}"));
        let ptx_len = i32::try_from(ptx.len()).unwrap_or_else(|error| panic!("{error}"));
        let entry_len = i32::try_from(ENTRY.len()).unwrap_or_else(|error| panic!("{error}"));
        let mut memory = [&ptx, ENTRY].concat();
        let mut instance = Host::soft().instance();
        let answer = calls::load_ptx(
            &mut instance,
            Some(&mut memory),
            0,
            ptx_len,
            ptx_len,
            entry_len,
        );
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let said = instance.last_error_text();
        writeln!(text, "{name}: {answer}\n    {said}").unwrap_or_else(|error| panic!("{error}"));
    }
    insta::assert_snapshot!(text);
}
