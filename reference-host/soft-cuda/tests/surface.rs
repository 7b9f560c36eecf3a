//! The shared object exports what is written down, and nothing else of the driver's.

#![allow(clippy::expect_used, reason = "a test that panics has failed")]

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

/// The shared object that was built with this test.
fn shared_object() -> PathBuf {
    let test = std::env::current_exe().expect("a path");
    let folder = test.parent().expect("a folder");
    let object = folder.join("libsoft_cuda.so");
    assert!(object.exists(), "{} is not there", object.display());
    object
}

#[test]
fn the_shared_object_exports_the_written_surface() {
    let output = Command::new("nm")
        .args(["-D", "--defined-only", "--format=just-symbols"])
        .arg(shared_object())
        .output()
        .expect("nm, of binutils, runs");
    assert!(output.status.success());
    let symbols = String::from_utf8(output.stdout).expect("text");
    let exported: BTreeSet<&str> = symbols.lines().collect();
    let written = include_str!("../src/api/surface.txt").lines();
    let written: BTreeSet<&str> = written.filter_map(|line| line.split(' ').next()).collect();
    assert!(written.len() > 400);
    let missing: Vec<_> = written.difference(&exported).collect();
    assert!(missing.is_empty(), "not exported: {missing:?}");
    let unknown: Vec<_> = exported.difference(&written).collect();
    assert!(unknown.is_empty(), "not written down: {unknown:?}");
}
