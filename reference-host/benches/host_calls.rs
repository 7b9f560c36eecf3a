//! What each ABI call costs, next to a host call that does nothing: `cargo bench -p wasi-cuda-host`.
//!
//! The guest loops, so that a figure holds the crossing into the host and the call, and none of the engine's entry
//! cost. Every round times the empty call and the row one after the other. Rounds are short and many, and the figures
//! are of the fastest: whatever else runs on the machine only ever adds time.

#![allow(clippy::print_stdout, reason = "the table is the product")]

use std::error::Error;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use wasi_cuda_host::Host;
use wasi_cuda_host::argv::{self, Arg};
use wasi_cuda_host::wasmtime::{GuestState, add_to_linker};
use wasmtime::{Engine, Instance, Linker, Module, Store, TypedFunc};

fn main() -> Result<(), Box<dyn Error>> {
    // Without `--bench` this is a test run: everything once, nothing measured.
    let effort = if std::env::args().any(|arg| arg == "--bench") {
        Effort::FULL
    } else {
        Effort::SMOKE
    };
    // `cargo bench -p wasi-cuda-host -- TEXT` measures only the calls whose row has TEXT in its name.
    let only = std::env::args().skip(1).find(|arg| !arg.starts_with('-'));
    calls(effort, only.as_deref().unwrap_or_default())?;
    if only.is_some() {
        return Ok(());
    }
    println!();
    copies(effort)?;
    println!();
    kernel(effort)?;
    Ok(())
}

#[derive(Clone, Copy)]
struct Effort {
    rounds: usize,
    copies: usize,
    round_time: Duration,
    copy_bytes: usize,
}

impl Effort {
    const FULL: Self = Self {
        rounds: 300,
        copies: 31,
        round_time: Duration::from_micros(300),
        copy_bytes: 64 << 20,
    };
    const SMOKE: Self = Self {
        rounds: 1,
        copies: 1,
        round_time: Duration::ZERO,
        copy_bytes: 64 << 10,
    };
}

/// One row: the WAT of a loop body, which may use `$kernel` and `$buffer`, and the ratio to reach.
struct Row {
    name: &'static str,
    device: fn() -> Arc<Host>,
    body: &'static str,
    target: Option<f64>,
}

const ROWS: &[Row] = &[
    // The floor of a launch: what ten arguments cost by themselves.
    Row {
        name: "empty call with launch's parameters",
        device: Host::none,
        body: "(drop (call $empty_10 (global.get $kernel) (i32.const 1) (i32.const 1) (i32.const 1) (i32.const 1025)
            (i32.const 1) (i32.const 1) (i32.const 0) (i32.const 1024) (i32.const 0)))",
        target: None,
    },
    Row { name: "sync", device: Host::none, body: "(drop (call $sync))", target: Some(1.8) },
    Row {
        name: "last_error_len, message recorded",
        device: Host::none,
        body: "(drop (call $last_error_len))",
        target: Some(2.5),
    },
    Row {
        name: "last_error_copy, message recorded",
        device: Host::none,
        body: "(drop (call $last_error_copy (i32.const 4096) (i32.const 512)))",
        target: None,
    },
    Row {
        name: "launch, refused for dimensions",
        device: Host::none,
        body: "(drop (call $launch (global.get $kernel) (i32.const 1) (i32.const 1) (i32.const 1) (i32.const 1025)
            (i32.const 1) (i32.const 1) (i32.const 0) (i32.const 1024) (i32.const 0)))",
        target: Some(5.0),
    },
    Row {
        name: "launch, 8 arguments, no device",
        device: Host::none,
        body: "(drop (call $launch (global.get $kernel) (i32.const 1) (i32.const 1) (i32.const 1) (i32.const 1)
            (i32.const 1) (i32.const 1) (i32.const 0) (i32.const 1024) (i32.const 56)))",
        target: Some(16.0),
    },
    Row {
        name: "memcpy_h2d, unknown handle",
        device: Host::soft,
        body: "(drop (call $memcpy_h2d (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 4)))",
        target: Some(5.0),
    },
    Row {
        name: "memcpy_d2h, unknown handle",
        device: Host::soft,
        body: "(drop (call $memcpy_d2h (i32.const 0) (i32.const 1) (i32.const 0) (i32.const 4)))",
        target: None,
    },
    Row {
        name: "memcpy_h2d, 4 bytes",
        device: Host::soft,
        body: "(drop (call $memcpy_h2d (global.get $buffer_lo) (global.get $buffer_hi) (i32.const 0) (i32.const 4)))",
        target: None,
    },
    Row {
        name: "memcpy_d2h, 4 bytes",
        device: Host::soft,
        body: "(drop (call $memcpy_d2h (i32.const 0) (global.get $buffer_lo) (global.get $buffer_hi) (i32.const 4)))",
        target: None,
    },
    Row {
        name: "alloc + free, 16 bytes",
        device: Host::soft,
        body: "(local.set $handle (call $alloc (i32.const 16) (i32.const 0)))
            (drop (call $free (i32.wrap_i64 (local.get $handle))
                (i32.wrap_i64 (i64.shr_u (local.get $handle) (i64.const 32)))))",
        target: Some(30.0),
    },
    Row {
        name: "free, unknown handle",
        device: Host::soft,
        body: "(drop (call $free (i32.const 1) (i32.const 0)))",
        target: None,
    },
    Row {
        name: "load_ptx, refused for length",
        device: Host::soft,
        body: "(drop (call $load_ptx (i32.const 0) (i32.const 8388609) (i32.const 0) (i32.const 1)))",
        target: None,
    },
];

fn calls(effort: Effort, only: &str) -> Result<(), Box<dyn Error>> {
    println!(
        "{:<36} {:>10} {:>8} {:>8}",
        "call", "ns/call", "ratio", "reach"
    );
    let mut shown_empty = false;
    for row in ROWS.iter().filter(|row| row.name.contains(only)) {
        let mut empty = Guest::new(&(row.device)(), "(drop (call $empty))")?;
        let mut guest = Guest::new(&(row.device)(), row.body)?;
        let (mut empty_ns, mut row_ns) = (Vec::new(), Vec::new());
        let (empty_calls, row_calls) = (empty.calibrate(effort)?, guest.calibrate(effort)?);
        for _ in 0..effort.rounds {
            empty_ns.push(empty.ns_per_call(empty_calls)?);
            row_ns.push(guest.ns_per_call(row_calls)?);
        }
        let (empty_ns, row_ns) = (fastest(empty_ns), fastest(row_ns));
        if !shown_empty {
            println!("{:<36} {empty_ns:>10.1} {:>8.2}", "empty host call", 1.0);
            shown_empty = true;
        }
        println!(
            "{:<36} {row_ns:>10.1} {:>8.2} {:>8}",
            row.name,
            row_ns / empty_ns,
            show_target(row.target)
        );
    }
    Ok(())
}

fn copies(effort: Effort) -> Result<(), Box<dyn Error>> {
    let (name, len) = (
        format!("{} KiB copy", effort.copy_bytes >> 10),
        effort.copy_bytes,
    );
    println!("{name:<36} {:>10} {:>8} {:>8}", "ms", "ratio", "reach");
    let mut guest = Guest::new(&Host::soft(), "")?;
    let (mut source, mut target) = (vec![1u8; len], vec![2u8; len]);
    let to_device: TypedFunc<(i32, i32), i32> =
        guest.instance.get_typed_func(&mut guest.store, "h2d")?;
    let from_device: TypedFunc<(i32, i32), i32> =
        guest.instance.get_typed_func(&mut guest.store, "d2h")?;
    let args = (65_536, i32::try_from(len)?);
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..effort.copies {
        times[0].push(time(|| {
            target.copy_from_slice(black_box(&source));
            std::mem::swap(&mut source, &mut target);
            Ok(())
        })?);
        for (function, times) in [&to_device, &from_device].into_iter().zip(&mut times[1..]) {
            times.push(time(|| match function.call(&mut guest.store, args)? {
                0 => Ok(()),
                code => Err(format!("a copy failed with {code}").into()),
            })?);
        }
    }
    let [plain, h2d, d2h] = times.map(fastest);
    println!("{:<36} {:>10.2} {:>8.2}", "plain copy", plain / 1e6, 1.0);
    println!(
        "{:<36} {:>10.2} {:>8.2} {:>8}",
        "memcpy_h2d",
        h2d / 1e6,
        h2d / plain,
        show_target(Some(1.15))
    );
    println!(
        "{:<36} {:>10.2} {:>8.2} {:>8}",
        "memcpy_d2h",
        d2h / 1e6,
        d2h / plain,
        show_target(Some(1.15))
    );
    Ok(())
}

fn kernel(effort: Effort) -> Result<(), Box<dyn Error>> {
    println!(
        "{:<36} {:>10} {:>8} {:>8}",
        "one-thread kernel, soft", "µs", "", "reach"
    );
    let body = "(if (i32.or
            (call $launch (global.get $kernel) (i32.const 1) (i32.const 1) (i32.const 1) (i32.const 1)
                (i32.const 1) (i32.const 1) (i32.const 0) (i32.const 1024) (i32.const 56))
            (call $sync))
        (then unreachable))";
    let mut guest = Guest::new(&Host::soft(), body)?;
    let calls = guest.calibrate(effort)?;
    let ns = (0..effort.rounds)
        .map(|_| guest.ns_per_call(calls))
        .collect::<Result<Vec<_>, _>>()?;
    println!(
        "{:<36} {:>10.2} {:>8} {:>8}",
        "launch + sync, 8 arguments",
        fastest(ns) / 1e3,
        "",
        "<= 5"
    );
    Ok(())
}

/// A guest that runs one loop body.
struct Guest {
    store: Store<GuestState>,
    instance: Instance,
    run: TypedFunc<i32, ()>,
}

impl Guest {
    fn new(host: &Arc<Host>, body: &str) -> Result<Self, Box<dyn Error>> {
        let engine = Engine::default();
        let mut linker = Linker::new(&engine);
        add_to_linker(&mut linker, |state| state)?;
        linker.func_wrap("bench", "empty", || 0i32)?;
        #[rustfmt::skip]
        linker.func_wrap(
            "bench",
            "empty_10",
            |id: i64, a: i32, b: i32, c: i32, d: i32, e: i32, f: i32, g: i32, h: i32, i: i32| {
                black_box((id, a, b, c, d, e, f, g, h, i));
                0i32
            },
        )?;
        let module = Module::new(&engine, wat::parse_str(GUEST.replace("BODY", body))?)?;
        let mut store = Store::new(&engine, GuestState::new(host.instance()));
        let instance = linker.instantiate(&mut store, &module)?;
        let memory = instance
            .get_memory(&mut store, "memory")
            .ok_or("the guest has no memory")?;
        let mut args = Vec::new();
        for arg in [1u64, 2, 3, 4]
            .map(Arg::U64)
            .into_iter()
            .chain([5, 6, 7, 8].map(Arg::U32))
        {
            argv::encode(arg, &mut args);
        }
        memory.write(&mut store, 1024, &args)?;
        memory.write(&mut store, 8192, PTX.as_bytes())?;
        let setup: TypedFunc<i32, i64> = instance.get_typed_func(&mut store, "setup")?;
        let kernel = setup.call(&mut store, i32::try_from(PTX.len())?)?;
        if kernel < 0 {
            return Err(format!(
                "the kernel does not load: {}",
                store.data().instance.last_error_text()
            )
            .into());
        }
        // A message is on record for the rows that read it.
        instance
            .get_typed_func::<(), ()>(&mut store, "fail")?
            .call(&mut store, ())?;
        let run = instance.get_typed_func(&mut store, "run")?;
        Ok(Self {
            store,
            instance,
            run,
        })
    }

    /// How many calls fill a round.
    fn calibrate(&mut self, effort: Effort) -> Result<i32, Box<dyn Error>> {
        let mut calls = 1i32;
        while time(|| Ok(self.run.call(&mut self.store, calls)?))?
            < effort.round_time.as_secs_f64() * 1e9
        {
            calls = calls.saturating_mul(2);
        }
        Ok(calls)
    }

    fn ns_per_call(&mut self, calls: i32) -> Result<f64, Box<dyn Error>> {
        Ok(time(|| Ok(self.run.call(&mut self.store, calls)?))? / f64::from(calls))
    }
}

fn time(work: impl FnOnce() -> Result<(), Box<dyn Error>>) -> Result<f64, Box<dyn Error>> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed().as_secs_f64() * 1e9)
}

fn fastest(rounds: impl IntoIterator<Item = f64>) -> f64 {
    rounds.into_iter().fold(f64::INFINITY, f64::min)
}

fn show_target(target: Option<f64>) -> String {
    target.map_or_else(|| "-".to_owned(), |target| format!("<= {target}"))
}

const PTX: &str = "\
.version 8.0
.target sm_52
.address_size 64
.visible .entry eight(
    .param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d,
    .param .u32 e, .param .u32 f, .param .u32 g, .param .u32 h
)
{
    ret;
}
";

const GUEST: &str = r#"(module
    (import "bench" "empty" (func $empty (result i32)))
    (import "bench" "empty_10" (func $empty_10 (param i64 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)))
    (import "wasi:cuda/host@0.2.0" "wasi_cuda_load_ptx" (func $load_ptx (param i32 i32 i32 i32) (result i64)))
    (import "wasi:cuda/host@0.2.0" "wasi_cuda_launch"
        (func $launch (param i64 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)))
    (import "wasi:cuda/host@0.2.0" "wasi_cuda_sync" (func $sync (result i32)))
    (import "wasi:cuda/host@0.2.0" "wasi_cuda_last_error_len" (func $last_error_len (result i32)))
    (import "wasi:cuda/host@0.2.0" "wasi_cuda_last_error_copy"
        (func $last_error_copy (param i32 i32) (result i32)))
    (import "wasi:cuda/host@0.2.0" "wasi_cuda_alloc" (func $alloc (param i32 i32) (result i64)))
    (import "wasi:cuda/host@0.2.0" "wasi_cuda_free" (func $free (param i32 i32) (result i32)))
    (import "wasi:cuda/host@0.2.0" "wasi_cuda_memcpy_h2d"
        (func $memcpy_h2d (param i32 i32 i32 i32) (result i32)))
    (import "wasi:cuda/host@0.2.0" "wasi_cuda_memcpy_d2h"
        (func $memcpy_d2h (param i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 1026)
    (data (i32.const 0) "eight")
    (global $kernel (mut i64) (i64.const 0))
    (global $buffer_lo (mut i32) (i32.const 0))
    (global $buffer_hi (mut i32) (i32.const 0))
    (func (export "setup") (param $ptx_len i32) (result i64)
        (local $handle i64)
        (local.set $handle (call $alloc (i32.const 67108864) (i32.const 0)))
        (global.set $buffer_lo (i32.wrap_i64 (local.get $handle)))
        (global.set $buffer_hi (i32.wrap_i64 (i64.shr_u (local.get $handle) (i64.const 32))))
        (global.set $kernel (call $load_ptx (i32.const 8192) (local.get $ptx_len) (i32.const 0) (i32.const 5)))
        (global.get $kernel))
    (func (export "fail") (drop (call $alloc (i32.const 0) (i32.const 0))))
    (func (export "h2d") (param $ptr i32) (param $len i32) (result i32)
        (call $memcpy_h2d (global.get $buffer_lo) (global.get $buffer_hi) (local.get $ptr) (local.get $len)))
    (func (export "d2h") (param $ptr i32) (param $len i32) (result i32)
        (call $memcpy_d2h (local.get $ptr) (global.get $buffer_lo) (global.get $buffer_hi) (local.get $len)))
    (func (export "run") (param $calls i32)
        (local $handle i64)
        (loop $again
            BODY
            (br_if $again (local.tee $calls (i32.sub (local.get $calls) (i32.const 1)))))))"#;
