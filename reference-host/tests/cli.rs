//! The command line: what it prints, on which stream, and how it exits.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A folder of guests for one test, removed with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Leftovers do no harm: the next run writes over them.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn run(args: &[&str]) -> (i32, String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = Command::new(env!("CARGO_BIN_EXE_wasi-cuda-host"))
        .args(args)
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code().unwrap(), text(stdout), text(stderr))
}

const GUEST: &str = r#"(module
  (import "wasi:cuda/host@0.2.0" "wasi_cuda_alloc" (func $alloc (param i32 i32) (result i64)))
  (memory (export "memory") 1)
  (func (export "add") (param i32 i64) (result i64) (i64.add (i64.extend_i32_s (local.get 0)) (local.get 1)))
  (func (export "half") (param f64) (result f64) (f64.div (local.get 0) (f64.const 2)))
  (func (export "alloc") (param i32) (result i64) (call $alloc (local.get 0) (i32.const 0)))
  (func $spin (export "spin") (loop (br 0)))
  (func $inner unreachable)
  (func (export "trap") (call $inner)))"#;

#[test]
fn results_are_printed_one_a_line() {
    let folder = Folder::new("results");
    let guest = folder.file("guest.wat", GUEST);
    for (args, expected) in [
        (&["add", "0x10", "-3"][..], "13\n"),
        (&["add", "4294967295", "0xffffffffffffffff"], "-2\n"),
        (&["half", "3"], "1.5\n"),
        (&["alloc", "0"], "-9\n"),
    ] {
        let (status, stdout, stderr) = run(&[&["run", &guest, "--invoke"], args].concat());
        assert_eq!(
            (status, stdout.as_str(), stderr.as_str()),
            (0, expected, ""),
            "{args:?}"
        );
    }
    let (_, stdout, _) = run(&["run", &guest, "--device", "none", "--invoke", "alloc", "16"]);
    assert_eq!(stdout, "-1\n");
}

#[test]
fn a_trace_has_one_line_per_call_on_standard_error() {
    let folder = Folder::new("trace");
    let guest = folder.file("guest.wat", GUEST);
    let (status, stdout, stderr) = run(&["run", &guest, "--trace", "--invoke", "alloc", "0"]);
    assert_eq!(
        (status, stdout.as_str(), stderr.lines().count()),
        (0, "-9\n", 1)
    );
    assert!(
        stderr.starts_with("wasi_cuda_alloc(size_lo=0, size_hi=0) = -9 (invalid-args) "),
        "{stderr}"
    );
}

/// A guest that is out of time at once may not have reached a function that could be named.
const STOPPED: &str = "stopped after 0.001 s";

#[test]
fn whatever_stops_a_guest_is_one_line_with_file_and_place() {
    let folder = Folder::new("stops");
    let import = |module: &str, name: &str, ty: &str| {
        format!(r#"(module (import "{module}" "{name}" (func {ty})))"#)
    };
    let guest = folder.file("guest.wat", GUEST);
    let table: Vec<(String, &[&str], &str)> = vec![
        (guest.clone(), &["--invoke", "trap"], "`inner`"),
        (
            guest.clone(),
            &["--invoke", "spin", "--timeout", "0.001"],
            STOPPED,
        ),
        (guest.clone(), &["--invoke", "nope"], "`nope`"),
        (guest.clone(), &[], "`_start`"),
        (
            guest.clone(),
            &["--invoke", "add", "1"],
            "`add` takes 2 arguments, 1 was given",
        ),
        (
            guest.clone(),
            &["--invoke", "half"],
            "`half` takes 1 argument, none were given",
        ),
        (
            guest.clone(),
            &["--invoke", "spin", "1", "2"],
            "`spin` takes no arguments, 2 were given",
        ),
        (guest, &["--invoke", "add", "1", "x"], "argument 2"),
        (
            folder.file("syntax.wat", "(module\n  (func (resul i32)))"),
            &[],
            ":2:10: ",
        ),
        (
            folder.file("invalid.wat", "(module (func (result i32)))"),
            &[],
            "type mismatch",
        ),
        (folder.file("short.wasm", b"\0asm"), &[], "short.wasm"),
        (
            folder.file("junk.wasm", b"\xff\xfe"),
            &[],
            "not WebAssembly",
        ),
        (
            folder.0.join("absent.wat").to_str().unwrap().to_owned(),
            &[],
            "cannot read",
        ),
        (
            folder.file("unknown.wat", import("env", "abort", "")),
            &[],
            "`abort` from `env`",
        ),
        (
            folder.file(
                "reserved.wat",
                import(
                    "wasi:cuda/host@0.2.0",
                    "wasi_cuda_last_error_ptr",
                    "(result i32)",
                ),
            ),
            &[],
            "reserved",
        ),
        (
            folder.file(
                "other.wat",
                import("wasi:cuda/host@0.2.0", "wasi_cuda_sync", "(result i64)"),
            ),
            &[],
            "wasi_cuda_sync",
        ),
        (
            folder.file("start.wat", "(module (func $s (loop (br 0))) (start $s))"),
            &["--timeout", "0.001"],
            STOPPED,
        ),
    ];
    for (file, args, expected) in &table {
        let (status, stdout, stderr) = run(&[&["run", file.as_str()], *args].concat());
        assert_eq!(
            (status, stdout.as_str()),
            (2, ""),
            "{file} {args:?}: {stderr}"
        );
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
        assert!(
            stderr.starts_with(&format!("error: {file}:")) && stderr.contains(expected),
            "{expected}: {stderr}"
        );
    }
}

/// A guest that launches a kernel without end, and returns what the launch did.
fn endless_kernel() -> String {
    let ptx = ".version 7.0 .target sm_52 .address_size 64 .entry k() { L: bra L; }";
    format!(
        r#"(module
  (import "wasi:cuda/host@0.2.0" "wasi_cuda_load_ptx" (func $load (param i32 i32 i32 i32) (result i64)))
  (import "wasi:cuda/host@0.2.0" "wasi_cuda_launch"
    (func $launch (param i64 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "{ptx}")
  (data (i32.const 1024) "k")
  (func (export "_start") (result i32)
    (call $launch (call $load (i32.const 0) (i32.const {}) (i32.const 1024) (i32.const 1))
      (i32.const 1) (i32.const 1) (i32.const 1) (i32.const 1) (i32.const 1) (i32.const 1)
      (i32.const 0) (i32.const 0) (i32.const 0))))"#,
        ptx.len()
    )
}

#[test]
fn a_kernel_without_end_is_stopped_by_the_watchdog_or_with_the_whole_run() {
    let folder = Folder::new("kernels");
    let guest = folder.file("endless.wat", endless_kernel());
    let (status, stdout, stderr) = run(&["run", &guest, "--watchdog", "1000"]);
    assert_eq!((status, stdout.as_str(), stderr.as_str()), (0, "-5\n", ""));
    let (status, stdout, stderr) = run(&[
        "run",
        &guest,
        "--watchdog",
        "18446744073709551615",
        "--timeout",
        "0.001",
    ]);
    assert_eq!((status, stdout.as_str()), (2, ""));
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(
        stderr.starts_with(&format!("error: {guest}: {STOPPED}")),
        "{stderr}"
    );
}

#[test]
fn a_limit_that_is_none_is_refused_with_what_would_be_one() {
    let folder = Folder::new("limits");
    let guest = folder.file("guest.wat", GUEST);
    let call = |option, value| run(&["run", &guest, option, value, "--invoke", "half", "3"]);
    let seconds = "write a number of seconds";
    for (option, value, expected) in [
        ("--timeout", "0", seconds),
        ("--timeout", "1e-12", seconds),
        ("--timeout", "-1", seconds),
        ("--timeout", "-inf", seconds),
        ("--timeout", "nan", seconds),
        ("--timeout", "soon", seconds),
        ("--timeout", "", seconds),
        ("--timeout", "inf", "at most 31536000 seconds"),
        ("--timeout", "31536001", "at most 31536000 seconds"),
        ("--timeout", "1e300", "at most 31536000 seconds"),
        ("--watchdog", "0", "a whole number from 1"),
        ("--watchdog", "-5", "a whole number from 1"),
        ("--watchdog", "1.5", "a whole number from 1"),
        (
            "--watchdog",
            "18446744073709551616",
            "a whole number from 1",
        ),
    ] {
        let (status, stdout, stderr) = call(option, value);
        assert_eq!((status, stdout.as_str()), (2, ""), "{option} {value}");
        assert!(stderr.contains(expected), "{option} {value}: {stderr}");
    }
    for (option, value) in [
        ("--timeout", "31536000"),
        ("--timeout", "59.5"),
        ("--watchdog", "1"),
        ("--watchdog", "18446744073709551615"),
    ] {
        assert_eq!(call(option, value), (0, "1.5\n".to_owned(), String::new()));
    }
}

#[test]
fn hostile_guests_are_one_line_and_never_a_crash() {
    let folder = Folder::new("hostile");
    let wasi_cuda = |item: &str| {
        format!(
            r#"(module (import "wasi:cuda/host@0.2.0" "wasi_cuda_sync" {item}) (func (export "_start")))"#
        )
    };
    let parameters = |count| {
        format!(
            "(module (func (export \"_start\") (param {})))",
            "i32 ".repeat(count)
        )
    };
    let table = [
        (
            "endless.wat",
            r#"(module (func $deeper (export "_start") (call $deeper)))"#.to_owned(),
            "call stack exhausted",
        ),
        (
            "pages.wat",
            r#"(module (memory i64 281474976710656) (func (export "_start")))"#.to_owned(),
            "memory",
        ),
        (
            "elements.wat",
            r#"(module (table 4294967295 funcref) (func (export "_start")))"#.to_owned(),
            "table",
        ),
        ("memory.wat", wasi_cuda("(memory 1)"), "wasi_cuda_sync"),
        (
            "signature.wat",
            wasi_cuda("(func (param f64))"),
            "wasi_cuda_sync",
        ),
        (
            "start.wat",
            "(module (func $first unreachable) (start $first))".to_owned(),
            "`first`",
        ),
        ("parameters.wat", parameters(1000), "takes 1000 arguments"),
        ("too_many_parameters.wat", parameters(1001), "params"),
        ("parentheses.wat", "(".repeat(1 << 20), ":1:2: "),
        (
            "import.wat",
            r#"(module (import "a\nb" "\1b[31mc" (func)))"#.to_owned(),
            r"`\u{1b}[31mc` from `a\nb`",
        ),
        (
            "exports.wat",
            r#"(module (func (export "a\nb\07")))"#.to_owned(),
            r"it exports a\nb\u{7}",
        ),
        (
            "trap.wat",
            r#"(module (func $"f\1b[31m" unreachable) (func (export "_start") call $"f\1b[31m"))"#
                .to_owned(),
            r"in `f\u{1b}[31m` at byte",
        ),
        (
            "name.wat",
            format!(r#"(module (import "{}" "f" (func)))"#, "m".repeat(99_999)),
            "mmm…mmm",
        ),
        (
            "two\nlines.wat",
            "(module (func (unknown)))".to_owned(),
            r"two\nlines.wat:1:",
        ),
    ];
    for (name, text, expected) in table {
        let (status, stdout, stderr) = run(&["run", &folder.file(name, text)]);
        assert_eq!((status, stdout.as_str()), (2, ""), "{name}: {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
        assert!(stderr.contains(expected), "{expected}: {stderr}");
        assert!(!stderr.trim_end().contains(char::is_control), "{stderr:?}");
        assert!(stderr.len() < 1000, "{stderr}");
    }
    // What a guest may ask for and does not get is its own business.
    for body in [
        "(memory.grow (i32.const 65536))",
        "(table.grow (ref.null func) (i32.const 0x7fffffff))",
    ] {
        let guest = folder.file(
            "grows.wat",
            format!(r#"(module (memory 1) (table 1 funcref) (func (export "_start") (result i32) {body}))"#),
        );
        assert_eq!(
            run(&["run", &guest]),
            (0, "-1\n".to_owned(), String::new()),
            "{body}"
        );
    }
}

#[test]
fn ptx_is_accepted_with_its_entries_or_refused_with_a_place() {
    let folder = Folder::new("ptx");
    let header = ".version 7.0\n.target sm_52\n.address_size 64\n";
    let good = folder.file(
        "good.ptx",
        format!("{header}.visible .entry a()\n{{\n ret;\n}}\n.entry b()\n{{\n ret;\n}}\n"),
    );
    let bad = folder.file(
        "bad.ptx",
        format!("{header}.visible .entry a()\n{{\n frobnicate;\n}}\n"),
    );
    let absent = folder.0.join("absent.ptx").to_str().unwrap().to_owned();

    let (status, stdout, _) = run(&["check-ptx", &good]);
    assert_eq!(
        (status, stdout),
        (0, format!("{good}: accepted (entries: a, b)\n"))
    );

    // A bad file does not hide the next one, and a file that cannot be read outweighs one that is refused.
    let (status, stdout, stderr) = run(&["check-ptx", &bad, &good]);
    assert_eq!(
        (status, stdout.lines().count(), stderr.as_str()),
        (1, 2, "")
    );
    assert!(stdout.starts_with(&format!("{bad}:6:2: ")), "{stdout}");
    let (status, stdout, stderr) = run(&["check-ptx", &absent, &bad, &good]);
    assert_eq!((status, stdout.lines().count()), (2, 2));
    assert!(
        stderr.starts_with(&format!("error: {absent}: cannot read: ")),
        "{stderr}"
    );
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
}

#[test]
fn what_a_ptx_file_holds_is_shown_in_a_line_of_bounded_length() {
    let folder = Folder::new("long");
    let header = ".version 7.0 .target sm_52 .address_size 64 ";
    let long = "x".repeat(1 << 20);
    let entries = |names: &mut dyn Iterator<Item = String>| {
        names.fold(header.to_owned(), |text, name| {
            text + &format!(".entry {name}() {{ ret; }}\n")
        })
    };
    for (name, text, status, expected) in [
        (
            "none.ptx",
            header.to_owned(),
            0,
            ": accepted (no entries)\n",
        ),
        (
            "many.ptx",
            entries(&mut (0..2000).map(|number| format!("k{number}"))),
            0,
            ": accepted (entries: k0, k1, k2, k3, k4, k5, k6, k7 and 1992 more)\n",
        ),
        (
            "instruction.ptx",
            format!("{header}.entry k() {{ {long}; }}"),
            1,
            ":1:",
        ),
        (
            "register.ptx",
            format!("{header}.entry k() {{ mov.u32 %{long}, 0; }}"),
            1,
            ":1:",
        ),
        ("directive.ptx", format!("{header}.{long}"), 1, ":1:"),
        (
            "steering.ptx",
            format!("{header}.file 1 \"\x1b[31m\" \x1b[31m"),
            1,
            ":1:",
        ),
    ] {
        let file = folder.file(name, text);
        let (actual, stdout, stderr) = run(&["check-ptx", &file]);
        assert_eq!((actual, stderr.as_str()), (status, ""), "{name}: {stdout}");
        let told = stdout.strip_prefix(file.as_str()).unwrap();
        assert!(told.starts_with(expected), "{name}: {told}");
        assert!(told.len() < 1000, "{name}: {told}");
        assert_eq!(stdout.lines().count(), 1, "{name}: {stdout}");
        assert!(!stdout.trim_end().contains(char::is_control), "{stdout:?}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let folder = Folder::new("pipe");
    let good = folder.file(
        "good.ptx",
        ".version 7.0 .target sm_52 .address_size 64 .entry a() { ret; }",
    );
    let guest = folder.file("guest.wat", GUEST);
    for args in [
        &["check-ptx", good.as_str()][..],
        &["run", &guest, "--invoke", "half", "3"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = Command::new(env!("CARGO_BIN_EXE_wasi-cuda-host"))
            .args(args)
            .stdout(writer)
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(
            (output.status.code(), stderr.as_str()),
            (Some(0), ""),
            "{args:?}"
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_result_that_cannot_be_written_is_an_error() {
    let folder = Folder::new("full");
    let guest = folder.file("guest.wat", GUEST);
    let output = Command::new(env!("CARGO_BIN_EXE_wasi-cuda-host"))
        .args(["run", &guest, "--invoke", "half", "3"])
        .stdout(std::fs::File::create("/dev/full").unwrap())
        .output()
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr.starts_with("error: cannot write to standard output: "),
        "{stderr}"
    );
}
