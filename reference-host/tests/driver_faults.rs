//! Every call of the driver that a guest's work leads to fails once, in turn: the guest gets the documented code and a message, nothing leaks, and the
//! next attempt works.
//!
//! soft-cuda lets calls fail, by its environment; so each run of the scenario is a process of its own, this program with another argument.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program: it reports to whoever runs it"
)]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;

use wasi_cuda_host::argv::{Arg, Window, encode};
use wasi_cuda_host::calls::{self, LaunchArgs};
use wasi_cuda_host::{Host, Instance};

fn main() -> ExitCode {
    let outcome = match std::env::args().nth(1).as_deref() {
        Some(SCENARIO) => scenario().map(|report| format!("{report}done\n")),
        _ => sweep(),
    };
    match outcome {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

/// The argument that asks for one run of the scenario.
const SCENARIO: &str = "--scenario";

/// The codes that each call fails with, and the ABI code that they become: a guest can do something about the device's failures, and nothing about a
/// mistake of the host's.
const CODES: &[(u32, &str, i64)] = &[
    (1, "CUDA_ERROR_INVALID_VALUE", -5),
    (2, "CUDA_ERROR_OUT_OF_MEMORY", -5),
    (201, "CUDA_ERROR_INVALID_CONTEXT", -7),
    (700, "CUDA_ERROR_ILLEGAL_ADDRESS", -5),
    (999, "CUDA_ERROR_UNKNOWN", -5),
];

/// Runs the scenario once for each driver call and code.
fn sweep() -> Result<String, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let trace = folder.path().join("trace");
    let clean = run(
        folder.path(),
        &[("SOFT_CUDA_TRACE", &trace.to_string_lossy())],
    )?;
    if clean != "done\n" {
        return Err(format!("without a failure the scenario reports\n{clean}"));
    }
    let trace = std::fs::read_to_string(&trace)
        .map_err(|error| format!("no trace of the driver calls: {error}. Is the driver soft-cuda? scripts/with-soft-cuda.sh runs this test with it"))?;
    let mut calls: BTreeMap<&str, u32> = BTreeMap::new();
    for line in trace.lines() {
        let function = line.split([' ', '(']).next().unwrap_or(line);
        *calls.entry(function).or_default() += 1;
    }
    let total: u32 = calls.values().sum();
    let mut problems = String::new();
    let mut told = 0;
    for (function, count) in &calls {
        for call in 1..=*count {
            for (code, name, expected) in CODES {
                let fault = format!("{function}:{call}={code}");
                let report = run(folder.path(), &[("SOFT_CUDA_FAIL", &fault)]);
                match report.and_then(|report| judge(&report, function, name, *expected)) {
                    Ok(failed) => told += u32::from(failed),
                    Err(problem) => {
                        let _ = writeln!(problems, "{fault}: {problem}");
                    }
                }
            }
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    Ok(format!(
        "{total} driver calls of {} functions, each failed once with {} codes: 0 wrong codes, 0 leaks, 0 crashes; {told} failures were told to the guest\n",
        calls.len(),
        CODES.len(),
    ))
}

/// Runs the scenario in a process of its own; what it reports.
fn run(folder: &Path, environment: &[(&str, &str)]) -> Result<String, String> {
    let leaks = folder.join("leaks");
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let output = Command::new(program)
        .arg(SCENARIO)
        .env("SOFT_CUDA_LEAKS", &leaks)
        // Not enough for two instances: what one does not give back the next one lacks.
        .env("SOFT_CUDA_MEMORY", (3 << 20).to_string())
        .envs(environment.iter().copied())
        .output()
        .map_err(|error| error.to_string())?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{}: {}", output.status, stderr.trim()));
    }
    let leaks =
        std::fs::read_to_string(&leaks).map_err(|error| format!("no report of leaks: {error}"))?;
    if leaks.trim() != "soft-cuda: leaked: none" {
        return Err(leaks.trim().to_owned());
    }
    String::from_utf8(output.stdout).map_err(|error| error.to_string())
}

/// Whether a report of a run with one failure is right, and whether the failure reached the guest.
fn judge(report: &str, function: &str, name: &str, expected: i64) -> Result<bool, String> {
    let lines: Vec<_> = report.lines().collect();
    match *lines {
        ["done"] => Ok(false),
        [failure, "done"] => {
            let (code, words) = failure.split_once(' ').ok_or(failure)?;
            if code == "absent" {
                // The driver did not start: there is no device, and each call says so.
                return Ok(true);
            }
            if code != expected.to_string() {
                return Err(format!("{expected} is right, not {failure}"));
            }
            let named = words.contains(function) && words.contains(name);
            if !named && !words.contains("has no room") {
                return Err(format!(
                    "the message names neither call nor code: {failure}"
                ));
            }
            Ok(true)
        }
        _ => Err(format!("more than one call failed: {report}")),
    }
}

/// Everything that a guest can have a host do, twice: in an instance, and in another after it. What fails is reported and tried once more.
fn scenario() -> Result<String, String> {
    let mut report = String::new();
    let mut host = Host::cuda(0);
    if Guest::new(&host).alloc(16) == NOT_AVAILABLE {
        let mut guest = Guest::new(&host);
        let codes = [
            guest.load("add"),
            guest.alloc(1),
            guest.copy_in(1, 4),
            guest.free(1),
        ];
        // Without a device PTX may be taken, since its arguments can then be checked.
        if codes[0] != NOT_AVAILABLE && codes[0] < 0
            || codes[1..].iter().any(|code| *code != NOT_AVAILABLE)
        {
            return Err(format!("without a device: {codes:?}"));
        }
        let _ = writeln!(report, "absent {}", guest.instance.last_error_text());
        host = Host::cuda(0);
    }
    for _ in 0..2 {
        let mut guest = Guest::new(&host);
        work(&mut guest, &mut report)?;
        let usage = (guest.instance.kernel_usage(), guest.instance.buffer_usage());
        drop(guest);
        let left = (host.kernel_usage(), host.buffer_usage());
        if left.0.count != 0 || left.1.count != 0 || left.1.bytes != 0 {
            return Err(format!("an instance that had {usage:?} left {left:?}"));
        }
    }
    Ok(report)
}

fn work(guest: &mut Guest, report: &mut String) -> Result<(), String> {
    let mut step = |name: &str,
                    guest: &mut Guest,
                    attempt: &mut dyn FnMut(&mut Guest) -> i64,
                    right: fn(i64) -> bool| {
        for _ in 0..2 {
            let code = attempt(guest);
            if right(code) {
                return Ok(code);
            }
            if code >= 0 {
                return Err(format!("{name} answers {code}"));
            }
            let _ = writeln!(report, "{code} {}", guest.instance.last_error_text());
        }
        Err(format!("{name} failed twice: {report}"))
    };
    let id: fn(i64) -> bool = |code| code > 0;
    let ok: fn(i64) -> bool = |code| code == 0;
    let add = step("load", guest, &mut |guest| guest.load("add"), id)?;
    let wide = step("load", guest, &mut |guest| guest.load("wide"), id)?;
    let stop = step("load", guest, &mut |guest| guest.load("stop"), id)?;
    step(
        "a load of no entry",
        guest,
        &mut |guest| guest.load("absent"),
        |code| code == -9,
    )?;
    step(
        "a load of what is no PTX",
        guest,
        &mut |guest| guest.load_text("add r1, r2;", "add"),
        |code| code == -4,
    )?;
    step(
        "a load of what does not assemble",
        guest,
        &mut |guest| guest.load_text(&PTX.replace("%sum,", "%absent,"), "add"),
        |code| code == -4,
    )?;
    step(
        "a load of no entry in what does not assemble",
        guest,
        &mut |guest| guest.load_text(&PTX.replace("%sum,", "%absent,"), "absent"),
        |code| code == -4,
    )?;
    let buffer = step("alloc", guest, &mut |guest| guest.alloc(64), id)?;
    guest.memory[..64].fill(0xEE);
    step(
        "a copy of what was never written",
        guest,
        &mut |guest| guest.copy_out(buffer, 64),
        ok,
    )?;
    same("a new buffer", &guest.memory[..64], &[0; 64])?;
    guest.memory[..8].copy_from_slice(b"contents");
    step(
        "a copy in",
        guest,
        &mut |guest| guest.copy_in(buffer, 8),
        ok,
    )?;
    for round in 0..2 {
        for (word, value) in [1u32, 2, 3, 40, 50, 60].into_iter().enumerate() {
            guest.put(1024 + 4 * word, value + round);
        }
        let windows = [window(1024, 12), window(1036, 12), window(2048, 12)];
        step(
            "a launch",
            guest,
            &mut |guest| guest.launch(add, [1, 1, 1], 3, 0, &windows),
            ok,
        )?;
        let sums: Vec<u32> = (0..3).map(|word| guest.word(2048 + 4 * word)).collect();
        same(
            "the sums",
            &*sums,
            &[41 + 2 * round, 52 + 2 * round, 63 + 2 * round],
        )?;
        same("what was only read", &guest.word(1024), &(1 + round))?;
        step(
            "a launch with much shared memory",
            guest,
            &mut |guest| guest.launch(wide, [1, 1, 1], 32, 64 << 10, &[]),
            ok,
        )?;
        step(
            "a launch that faults",
            guest,
            &mut |guest| guest.launch(stop, [1, 1, 1], 1, 0, &[]),
            |code| code == -5,
        )?;
        step(
            "a launch of no shape that a device takes",
            guest,
            &mut |guest| guest.launch(wide, [1, 70_000, 1], 1, 0, &[]),
            |code| code == -5,
        )?;
        step("sync", guest, &mut |guest| guest.sync(), ok)?;
    }
    guest.memory[..8].fill(0);
    step(
        "a copy out",
        guest,
        &mut |guest| guest.copy_out(buffer, 8),
        ok,
    )?;
    same("what the buffer holds", &guest.memory[..8], b"contents")?;
    step("free", guest, &mut |guest| guest.free(buffer), ok)?;
    step(
        "a second free",
        guest,
        &mut |guest| guest.free(buffer),
        |code| code == -11,
    )?;
    let rest = step("alloc", guest, &mut |guest| guest.alloc(2 << 20), id)?;
    // What is left here goes with the instance.
    step("a copy in", guest, &mut |guest| guest.copy_in(rest, 16), ok)?;
    Ok(())
}

fn same<T: PartialEq + std::fmt::Debug + ?Sized>(
    what: &str,
    is: &T,
    should_be: &T,
) -> Result<(), String> {
    if is == should_be {
        Ok(())
    } else {
        Err(format!("{what}: {is:?} instead of {should_be:?}"))
    }
}

const NOT_AVAILABLE: i64 = -1;

fn window(offset: u32, len: u32) -> Arg {
    Arg::Ptr(Window { offset, len })
}

/// `add` sums words, `wide` uses the end of 64 KiB of shared memory, `stop` traps.
const PTX: &str = "
.version 7.0
.target sm_70
.address_size 64
.extern .shared .align 4 .b8 room[];

.visible .entry add(.param .u64 left, .param .u64 right, .param .u64 sums)
{
    .reg .b32 %left, %right, %sum, %word;
    .reg .b64 %from, %to, %offset;
    mov.u32 %word, %tid.x;
    mul.wide.u32 %offset, %word, 4;
    ld.param.u64 %from, [left];
    add.s64 %from, %from, %offset;
    ld.global.u32 %left, [%from];
    ld.param.u64 %from, [right];
    add.s64 %from, %from, %offset;
    ld.global.u32 %right, [%from];
    add.u32 %sum, %left, %right;
    ld.param.u64 %to, [sums];
    add.s64 %to, %to, %offset;
    st.global.u32 [%to], %sum;
    ret;
}

.visible .entry wide()
{
    .reg .b32 %at, %word;
    mov.u32 %at, room;
    mov.u32 %word, %tid.x;
    st.shared.u32 [%at+65532], %word;
    ret;
}

.visible .entry stop()
{
    trap;
}
";

struct Guest {
    instance: Instance,
    memory: Vec<u8>,
}

impl Guest {
    fn new(host: &Arc<Host>) -> Self {
        Self {
            instance: host.instance(),
            memory: vec![0; 65_536],
        }
    }

    fn load(&mut self, entry: &str) -> i64 {
        self.load_text(PTX, entry)
    }

    fn load_text(&mut self, ptx: &str, entry: &str) -> i64 {
        self.memory[TEXT_AT..TEXT_AT + ptx.len()].copy_from_slice(ptx.as_bytes());
        self.memory[ARGS_AT..ARGS_AT + entry.len()].copy_from_slice(entry.as_bytes());
        let [ptx_at, ptx_len] = [TEXT_AT, ptx.len()].map(|value| value as i32);
        let [entry_at, entry_len] = [ARGS_AT, entry.len()].map(|value| value as i32);
        let memory = Some(&mut *self.memory);
        calls::load_ptx(
            &mut self.instance,
            memory,
            ptx_at,
            ptx_len,
            entry_at,
            entry_len,
        )
    }

    fn launch(
        &mut self,
        kernel_id: i64,
        grid: [i32; 3],
        threads: i32,
        shared_mem: i32,
        args: &[Arg],
    ) -> i64 {
        let mut bytes = Vec::new();
        args.iter().for_each(|arg| encode(*arg, &mut bytes));
        self.memory[ARGS_AT..ARGS_AT + bytes.len()].copy_from_slice(&bytes);
        let args = LaunchArgs {
            kernel_id,
            grid,
            block: [threads, 1, 1],
            shared_mem,
            args_ptr: ARGS_AT as i32,
            args_len: bytes.len() as i32,
        };
        calls::launch(&mut self.instance, Some(&mut self.memory), args).into()
    }

    fn sync(&mut self) -> i64 {
        calls::sync(&mut self.instance).into()
    }

    fn alloc(&mut self, bytes: i32) -> i64 {
        calls::alloc(&mut self.instance, bytes, 0)
    }

    fn free(&mut self, handle: i64) -> i64 {
        let (lo, hi) = halves(handle);
        calls::free(&mut self.instance, lo, hi).into()
    }

    fn copy_in(&mut self, handle: i64, len: i32) -> i64 {
        let (lo, hi) = halves(handle);
        calls::memcpy_h2d(&mut self.instance, Some(&mut self.memory), lo, hi, 0, len).into()
    }

    fn copy_out(&mut self, handle: i64, len: i32) -> i64 {
        let (lo, hi) = halves(handle);
        calls::memcpy_d2h(&mut self.instance, Some(&mut self.memory), 0, lo, hi, len).into()
    }

    fn put(&mut self, at: usize, value: u32) {
        self.memory[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }

    fn word(&self, at: usize) -> u32 {
        let bytes = self.memory[at..at + 4].try_into().unwrap_or_default();
        u32::from_le_bytes(bytes)
    }
}

fn halves(handle: i64) -> (i32, i32) {
    (handle as i32, (handle >> 32) as i32)
}

const TEXT_AT: usize = 16_384;
const ARGS_AT: usize = 60_000;
