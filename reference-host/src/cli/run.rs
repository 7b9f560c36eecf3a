//! `run`: one guest, one call.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use clap::{Args, ValueEnum};
use wasi_cuda_host::Host;
use wasi_cuda_host::wasmtime::{GuestState, TracedCall, add_to_linker, add_to_linker_traced};
use wasmtime::{
    Config, Engine, Func, Instance, Linker, Module, Store, Trap, Val, ValType, WasmBacktrace,
};

use super::{Failure, print, wasm};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  wasi-cuda-host run guest.wat                       call its `_start`
  wasi-cuda-host run guest.wat --invoke add 1 0x10   call `add` and print its results
  wasi-cuda-host run guest.wasm --trace              and show each ABI call on standard error")]
pub(crate) struct Arguments {
    /// The guest, as text or binary
    guest: PathBuf,
    /// The exported function to call; its arguments follow
    #[arg(long, value_name = "EXPORT")]
    invoke: Option<String>,
    /// Arguments of the function: decimal or 0x integers, decimal floats, by its parameter types
    #[arg(requires = "invoke", allow_negative_numbers = true)]
    args: Vec<String>,
    /// What kernels run on
    #[arg(long, value_enum, default_value_t = Device::Soft)]
    device: Device,
    /// Print one line for each ABI call to standard error: arguments, result, microseconds
    #[arg(long)]
    trace: bool,
    /// Stop the guest after this time
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    timeout: u64,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Device {
    /// The software GPU
    Soft,
    /// No device: calls are validated and then refused
    None,
}

/// Runs the guest; prints one line per result.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let file = arguments.guest.as_path();
    let fail = |error: wasmtime::Error| explain(file, arguments.timeout, &error);
    let engine = Engine::new(Config::new().epoch_interruption(true)).map_err(fail)?;
    let module = wasm::module(&engine, file)?;
    let mut linker = Linker::new(&engine);
    if arguments.trace {
        add_to_linker_traced(&mut linker, |state| state, show).map_err(fail)?;
    } else {
        add_to_linker(&mut linker, |state| state).map_err(fail)?;
    }
    let host = match arguments.device {
        Device::Soft => Host::soft(),
        Device::None => Host::none(),
    };
    let mut store = Store::new(&engine, GuestState::new(host.instance()));
    wasm::check_imports(file, &module, &linker, &mut store)?;
    store.set_epoch_deadline(1);
    let timeout = Duration::from_secs(arguments.timeout);
    // Left behind when the guest ends first: it holds nothing, and the process ends with it.
    thread::spawn(move || {
        thread::sleep(timeout);
        engine.increment_epoch();
    });
    let instance = linker.instantiate(&mut store, &module).map_err(fail)?;
    let (name, function) = function(arguments, &module, instance, &mut store)?;
    let params = params(file, name, &function, &store, &arguments.args)?;
    let mut results = vec![Val::I32(0); function.ty(&store).results().len()];
    function
        .call(&mut store, &params, &mut results)
        .map_err(fail)?;
    results
        .iter()
        .try_for_each(|result| print(show_value(result)))
}

/// The function to call: the one named, or `_start`.
fn function<'a>(
    arguments: &'a Arguments,
    module: &Module,
    instance: Instance,
    store: &mut Store<GuestState>,
) -> Result<(&'a str, Func), Failure> {
    let name = arguments.invoke.as_deref().unwrap_or("_start");
    if let Some(function) = instance.get_func(&mut *store, name) {
        return Ok((name, function));
    }
    let functions = module
        .exports()
        .filter(|export| export.ty().func().is_some());
    let names: Vec<_> = functions.map(|export| export.name().to_owned()).collect();
    let offer = if names.is_empty() {
        "it exports none".to_owned()
    } else {
        format!("it exports {}", names.join(", "))
    };
    Err(Failure::new(
        &arguments.guest,
        format_args!("no exported function `{name}`; {offer}"),
    ))
}

/// The arguments as the function's parameter types read them.
fn params(
    file: &Path,
    name: &str,
    function: &Func,
    store: &Store<GuestState>,
    args: &[String],
) -> Result<Vec<Val>, Failure> {
    let ty = function.ty(store);
    if ty.params().len() != args.len() {
        let problem = format!(
            "`{name}` takes {} arguments, {} were given",
            ty.params().len(),
            args.len()
        );
        return Err(Failure::new(file, problem));
    }
    let parsed = ty
        .params()
        .zip(args)
        .enumerate()
        .map(|(position, (ty, text))| {
            value(&ty, text).ok_or_else(|| {
                let position = position.saturating_add(1);
                Failure::new(
                    file,
                    format_args!("`{name}`: argument {position} `{text}` is not of type {ty}"),
                )
            })
        });
    parsed.collect()
}

fn value(ty: &ValType, text: &str) -> Option<Val> {
    Some(match ty {
        // Both readings of the bits are accepted: -1 and 4294967295 are the same argument.
        ValType::I32 => {
            let value = integer(text)?;
            Val::I32(
                i32::try_from(value)
                    .ok()
                    .or_else(|| u32::try_from(value).ok().map(u32::cast_signed))?,
            )
        }
        ValType::I64 => {
            let value = integer(text)?;
            Val::I64(
                i64::try_from(value)
                    .ok()
                    .or_else(|| u64::try_from(value).ok().map(u64::cast_signed))?,
            )
        }
        ValType::F32 => Val::F32(text.parse::<f32>().ok()?.to_bits()),
        ValType::F64 => Val::F64(text.parse::<f64>().ok()?.to_bits()),
        _ => return None,
    })
}

fn integer(text: &str) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let magnitude = match digits
        .strip_prefix("0x")
        .or_else(|| digits.strip_prefix("0X"))
    {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => digits.parse::<u64>(),
    };
    let magnitude = i128::from(magnitude.ok()?);
    Some(if negative {
        magnitude.wrapping_neg()
    } else {
        magnitude
    })
}

fn show_value(value: &Val) -> String {
    match value {
        Val::I32(value) => value.to_string(),
        Val::I64(value) => value.to_string(),
        Val::F32(bits) => f32::from_bits(*bits).to_string(),
        Val::F64(bits) => f64::from_bits(*bits).to_string(),
        other => format!("{other:?}"),
    }
}

fn show(call: &TracedCall<'_>) {
    // A trace that cannot be written must not change what the guest sees.
    let _ = writeln!(io::stderr(), "{call}");
}

/// What stopped the guest, and where.
fn explain(file: &Path, timeout: u64, error: &wasmtime::Error) -> Failure {
    let Some(trap) = error.downcast_ref::<Trap>() else {
        return Failure::new(file, format_args!("{error:#}"));
    };
    let frame = error
        .downcast_ref::<WasmBacktrace>()
        .and_then(|backtrace| backtrace.frames().first());
    let place = frame.map_or_else(String::new, |frame| {
        let name = frame.func_name().map_or_else(
            || format!("function {}", frame.func_index()),
            |name| format!("`{name}`"),
        );
        frame.module_offset().map_or_else(
            || format!(" in {name}"),
            |offset| format!(" in {name} at byte {offset:#x}"),
        )
    });
    match trap {
        Trap::Interrupt => Failure::new(file, format_args!("stopped after {timeout} s{place}")),
        trap => Failure::new(file, format_args!("trapped{place}: {trap}")),
    }
}
