//! That every opcode, directive and special register of the PTX ISA that compute code uses is tested, or refused as not implemented.
//!
//! `coverage.toml` beside this file says which test shows what; the table in README.md is made of it (`UPDATE_README=1` rewrites it).

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use soft_gpu::{Module, PtxErrorCause, SemanticError};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    group: Vec<Group>,
}

/// One opcode with some of its forms, and what becomes of them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    /// The opcode, the directive with its dot, or the special register with its percent sign.
    opcode: String,
    /// Modifiers and types of the group, for the reader.
    forms: String,
    /// Test functions as `target::module::function`.
    #[serde(default)]
    tests: Vec<String>,
    /// What is not implemented.
    refused: Option<String>,
    /// Statements of a kernel, or a whole module, that are good PTX and refused.
    example: Option<String>,
}

#[test]
fn every_name_is_in_the_table() {
    let table = table();
    let have: BTreeSet<&str> = table.iter().map(|group| group.opcode.as_str()).collect();
    let missing: Vec<&str> = REQUIRED
        .iter()
        .flat_map(|line| line.split_whitespace())
        .filter(|name| !have.contains(name))
        .collect();
    assert!(missing.is_empty(), "not in coverage.toml: {missing:?}");
}

#[test]
fn every_group_is_tested_or_refused() {
    let mut wrong = Vec::new();
    for group in table() {
        let name = format!("{} ({})", group.opcode, group.forms);
        match (&group.refused, &group.example) {
            (None, None) if !group.tests.is_empty() => {}
            (Some(_), Some(_)) if group.tests.is_empty() => {}
            _ => wrong.push(format!(
                "{name}: needs `tests`, or `refused` and `example`, and not both"
            )),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_tests_named_exist_and_name_what_they_test() {
    let mut wrong = Vec::new();
    for group in table() {
        for test in &group.tests {
            let message = match sources_of(test) {
                Ok(text) if mentions(&text, &group.opcode) => continue,
                Ok(_) => "does not mention it".to_owned(),
                Err(message) => message,
            };
            wrong.push(format!(
                "{} ({}): {test}: {message}",
                group.opcode, group.forms
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_refused_is_refused_as_not_implemented() {
    let mut wrong = Vec::new();
    for group in table() {
        let Some(example) = &group.example else {
            continue;
        };
        if !mentions(example, &group.opcode) {
            wrong.push(format!("{}: its example has no such thing", group.opcode));
        }
        match Module::load(module(example).as_bytes()) {
            Ok(_) => wrong.push(format!(
                "{} ({}): taken: `{example}`",
                group.opcode, group.forms
            )),
            Err(error) if is_beyond(&error.cause) => {}
            Err(error) => wrong.push(format!(
                "{} ({}): {error}: `{example}`",
                group.opcode, group.forms
            )),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Not implemented, or of a newer device.
fn is_beyond(cause: &PtxErrorCause) -> bool {
    matches!(
        cause,
        PtxErrorCause::Unsupported(_) | PtxErrorCause::Semantic(SemanticError::TargetTooNew { .. })
    )
}

#[test]
fn the_readme_has_the_table() {
    let path = package().join("README.md");
    let text = fs::read_to_string(&path).expect("a readable README.md");
    let (before, rest) = text.split_once(BEGIN).expect("the table's first marker");
    let (_, after) = rest.split_once(END).expect("the table's last marker");
    let expected = format!("{before}{BEGIN}\n{}{END}{after}", rendered());
    if std::env::var_os("UPDATE_README").is_some() {
        fs::write(&path, expected).expect("a writable README.md");
        return;
    }
    assert!(
        text == expected,
        "README.md and coverage.toml differ: run UPDATE_README=1 cargo test -p soft-gpu --test coverage"
    );
}

fn table() -> Vec<Group> {
    let text = fs::read_to_string(package().join("tests/coverage.toml")).expect("coverage.toml");
    let table: Table = toml::from_str(&text).unwrap_or_else(|error| panic!("{error}"));
    table.group
}

/// The text in which a test's subject must be named: the test, what it names of its own file, and the PTX that it reads.
fn sources_of(test: &str) -> Result<String, String> {
    let parts: Vec<&str> = test.split("::").collect();
    let (Some(target), Some(function)) = (parts.first(), parts.last()) else {
        return Err("not a path".to_owned());
    };
    let tests = package().join("tests");
    let inner = parts.get(1..parts.len() - 1).unwrap_or_default();
    let file = match inner {
        [] if tests.join(target).is_dir() => tests.join(target).join("main.rs"),
        [] => tests.join(format!("{target}.rs")),
        inner => tests.join(target).join(format!("{}.rs", inner.join("/"))),
    };
    let whole = fs::read_to_string(&file).map_err(|_| format!("no {}", file.display()))?;
    let Some((before, _)) = whole.split_once(&format!("fn {function}(")) else {
        return Err(format!("no such function in {}", file.display()));
    };
    let attributes = before
        .rsplit('\n')
        .skip(1)
        .take_while(|line| line.starts_with("#["));
    if !attributes
        .into_iter()
        .any(|line| line.starts_with("#[test]"))
    {
        return Err("that function is no test".to_owned());
    }
    // Only what stands in quotes can be PTX: `min` may be a method of Rust.
    let mut text = quoted(&reached(&whole, function));
    // The oracle reads every source of its folder, a kernel's test those whose name it gives.
    let (folder, all) = match *target {
        "oracle" => (tests.join("accepted"), true),
        "kernels" => (package().join("../../fixtures/kernels"), false),
        _ => return Ok(text),
    };
    let named = text.clone();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let stem = file.split('.').next().unwrap_or_default();
        let read = all || mentions(&named, stem);
        if read && path.extension().is_some_and(|end| end == "ptx") {
            text.push_str(&fs::read_to_string(&path).unwrap_or_default());
        }
    }
    Ok(text)
}

/// The items of a file that `start` reaches: itself, those that it names, those that they name, and so on.
fn reached(file: &str, start: &str) -> String {
    let items = items(file);
    let mut wanted = vec![start];
    let mut seen = BTreeSet::new();
    let mut text = String::new();
    while let Some(name) = wanted.pop() {
        if !seen.insert(name) {
            continue;
        }
        for (_, item) in items.iter().filter(|(item, _)| *item == name) {
            // What comments say is no test.
            let lines = item.split_inclusive('\n');
            let code: String = lines
                .filter(|line| !line.trim_start().starts_with("//"))
                .collect();
            let names = items.iter().map(|(name, _)| *name);
            wanted.extend(names.filter(|name| mentions(&code, name)));
            text.push_str(&code);
        }
    }
    text
}

/// What stands in quotes in Rust, one string a line.
fn quoted(code: &str) -> String {
    let mut text = String::new();
    let mut chars = code.chars();
    while let Some(c) = chars.next() {
        match c {
            // A character literal may hold a quote.
            '\'' if chars.as_str().starts_with("\"'") => {
                chars.nth(1);
            }
            '"' => {
                while let Some(c) = chars.next() {
                    match c {
                        '"' => break,
                        '\\' => {
                            chars.next();
                            text.push(' ');
                        }
                        c => text.push(c),
                    }
                }
                text.push('\n');
            }
            _ => {}
        }
    }
    text
}

/// The functions, constants and macros of a file, each with its name and its text.
fn items(file: &str) -> Vec<(&str, &str)> {
    let mut starts = Vec::new();
    let mut at = 0;
    for line in file.split_inclusive('\n') {
        let words = line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let mut words = words.filter(|word| !matches!(*word, "pub" | "crate" | ""));
        let kind = words.next().unwrap_or_default();
        let indented = line.starts_with(char::is_whitespace);
        if !indented && matches!(kind, "fn" | "const" | "static" | "macro_rules") {
            starts.push((words.next().unwrap_or_default(), at));
        }
        at += line.len();
    }
    let ends = starts.iter().skip(1).map(|(_, at)| *at);
    let ends: Vec<usize> = ends.chain([file.len()]).collect();
    let items = starts.into_iter().zip(ends);
    items
        .map(|((name, at), end)| (name, &file[at..end]))
        .collect()
}

/// Whether a name stands in a text and is not a part of a longer word.
fn mentions(text: &str, name: &str) -> bool {
    let word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    text.match_indices(name).any(|(at, _)| {
        let bytes = text.as_bytes();
        let before = at.checked_sub(1).and_then(|at| bytes.get(at));
        let after = bytes.get(at + name.len());
        (!name.as_bytes().first().is_some_and(word) || !before.is_some_and(word))
            && !after.is_some_and(word)
    })
}

/// An example as a module.
fn module(example: &str) -> String {
    if example.trim_start().starts_with(".version") {
        return example.to_owned();
    }
    format!(
        ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry example()\n{{\n\
         .reg .pred p, q; .reg .b16 h<8>; .reg .b32 r<40>; .reg .b64 d<8>; .reg .f32 f<16>; .reg .f64 g<8>;\n\
         {example}\nret;\n}}\n"
    )
}

/// The table as Markdown.
fn rendered() -> String {
    let mut out = "| what | forms | shown by, or why refused |\n|---|---|---|\n".to_owned();
    for group in table() {
        let evidence = match &group.refused {
            Some(reason) => format!("not implemented: {reason}"),
            None => group
                .tests
                .iter()
                .map(|test| format!("`{test}`"))
                .collect::<Vec<_>>()
                .join(", "),
        };
        let forms = group.forms.replace('|', "\\|");
        let _ = writeln!(out, "| `{}` | {forms} | {evidence} |", group.opcode);
    }
    out
}

fn package() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_path_buf()
}

const BEGIN: &str = "<!-- coverage -->";
const END: &str = "<!-- /coverage -->";

/// What compute code for sm_50 to sm_90 is made of.
const REQUIRED: &[&str] = &[
    "add sub mul mul24 mad mad24 madc addc subc sad div rem abs neg min max popc clz bfind fns brev bfe bfi szext dp4a dp2a vabsdiff2 vabsdiff4",
    "and or xor not cnot lop3 shf shl shr prmt",
    "fma rcp sqrt rsqrt sin cos lg2 ex2 tanh copysign testp set setp selp slct",
    "mov cvt cvta ld ldu st prefetch isspacep mapa",
    "bra brx.idx call ret exit trap brkpt nanosleep",
    "bar barrier bar.warp.sync membar fence atom red vote match shfl redux activemask elect",
    "cp.async mma wmma ldmatrix movmatrix",
    "%tid %ntid %ctaid %nctaid %laneid %warpid %lanemask_lt %clock %clock64 %globaltimer %smid %dynamic_smem_size %total_smem_size %envreg0",
    ".maxntid .reqntid .minnctapersm .maxnreg .pragma .weak .visible .extern .func .callprototype .branchtargets .global .const .align .section .loc .file .alias",
    "vprintf malloc free __assertfail",
    "tex suld barrier.cluster cp.async.bulk wgmma tcgen05",
];
