//! `run`: one guest, one call.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use clap::Args;
use wasi_cuda_host::Host;
#[cfg(feature = "cuda")]
use wasi_cuda_host::device::CudaDevice;
use wasi_cuda_host::device::SoftDevice;
use wasi_cuda_host::wasmtime::{GuestState, TracedCall, add_to_linker, add_to_linker_traced};
use wasmtime::{
    Config, Engine, Func, Instance, Linker, Module, Store, StoreLimits, StoreLimitsBuilder, Trap,
    Val, ValType, WasmBacktrace,
};

use super::output::{brief, few, print, tell};
use super::{Failure, wasm};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  wasi-cuda-host run guest.wat                       call its `_start`
  wasi-cuda-host run guest.wat --invoke add 1 0x10   call `add` and print its results
  wasi-cuda-host run guest.wasm --trace              and show each ABI call on standard error")]
pub(crate) struct Arguments {
    /// The guest, as text or binary; what its kernels print goes to standard error, a `kernel: ` before each line
    guest: PathBuf,
    /// The exported function to call; its arguments follow
    #[arg(long, value_name = "EXPORT")]
    invoke: Option<String>,
    /// Arguments of the function: decimal or 0x integers, decimal floats, by its parameter types
    #[arg(requires = "invoke", allow_negative_numbers = true)]
    args: Vec<String>,
    /// What kernels run on
    ///
    /// - soft  the software GPU
    /// - none  no device: calls are validated and then refused
    /// - cuda  NVIDIA hardware, the first device; cuda:1 is the second (in builds with the feature `cuda`)
    #[arg(long, value_name = "DEVICE", default_value = "soft", value_parser = device, verbatim_doc_comment)]
    device: Device,
    /// Print one line for each ABI call to standard error: arguments, result, microseconds
    #[arg(long)]
    trace: bool,
    /// Stop the guest after this time, whatever it does
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds, allow_hyphen_values = true)]
    timeout: Duration,
    /// Fail a launch whose kernel runs more than N weighted warp instructions
    ///
    /// A warp instruction is one instruction for up to 32 threads; what takes the software GPU longer than a simple
    /// one counts as several. The guest gets launch-failed and goes on. NVIDIA hardware does not count: there a kernel may
    /// run as long as the guest.
    #[arg(long, value_name = "N", default_value_t = WATCHDOG, value_parser = budget, allow_hyphen_values = true)]
    watchdog: u64,
}

#[derive(Clone, Copy, Debug)]
enum Device {
    Soft,
    None,
    #[cfg(feature = "cuda")]
    Cuda(u32),
}

fn device(word: &str) -> Result<Device, String> {
    match word {
        "soft" => Ok(Device::Soft),
        "none" => Ok(Device::None),
        #[cfg(feature = "cuda")]
        "cuda" => Ok(Device::Cuda(0)),
        #[cfg(feature = "cuda")]
        _ => word
            .strip_prefix("cuda:")
            .and_then(|ordinal| ordinal.parse().ok())
            .map(Device::Cuda)
            .ok_or_else(|| "write soft, none, cuda, or cuda:1 for the second GPU".to_owned()),
        #[cfg(not(feature = "cuda"))]
        _ if word == "cuda" || word.starts_with("cuda:") => {
            Err("this program was built without CUDA: build it with `--features cuda`".to_owned())
        }
        #[cfg(not(feature = "cuda"))]
        _ => Err("write soft or none".to_owned()),
    }
}

/// Long enough for kernels that do real work; the guest's time ends what takes longer.
const WATCHDOG: u64 = 20_000_000_000;

fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(number) if number > MAX_TIMEOUT.as_secs_f64() => Err(format!(
            "write at most {} seconds, which is a year",
            MAX_TIMEOUT.as_secs()
        )),
        // A time that rounds to nothing is none.
        Ok(number) if !number.is_nan() => Duration::try_from_secs_f64(number)
            .ok()
            .filter(|limit| !limit.is_zero())
            .ok_or_else(|| "write a number of seconds above 0, such as 10 or 0.5".to_owned()),
        _ => Err("write a number of seconds, such as 10 or 0.5".to_owned()),
    }
}

const MAX_TIMEOUT: Duration = Duration::from_secs(365 * 24 * 60 * 60);

fn budget(text: &str) -> Result<u64, String> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| format!("write a whole number from 1 to {}", u64::MAX))
}

/// Runs the guest; prints one line per result.
pub(crate) fn run(arguments: Arguments) -> Result<(), Failure> {
    let file = arguments.guest.clone();
    let timeout = arguments.timeout;
    let engine = Engine::new(Config::new().epoch_interruption(true))
        .map_err(|error| explain(&file, timeout, &error))?;
    let host = match arguments.device {
        Device::Soft => Host::new(
            SoftDevice::new()
                .instruction_budget(arguments.watchdog)
                .output(|text| {
                    for line in String::from_utf8_lossy(text).lines() {
                        tell(format_args!("kernel: {line}"));
                    }
                }),
        ),
        Device::None => Host::none(),
        #[cfg(feature = "cuda")]
        Device::Cuda(ordinal) => Host::new(
            CudaDevice::open(ordinal)
                .map_err(Failure::Device)?
                .watchdog(arguments.timeout),
        ),
    };
    let mut store = Store::new(&engine, Guest::new(GuestState::new(host.instance())));
    store.limiter(|guest| &mut guest.limits);
    // Before the clock starts: a guest can then not miss the end of its time.
    store.set_epoch_deadline(1);

    // The guest has a thread of its own, which is left behind if it does not end: neither the compiler nor a kernel
    // can be interrupted from outside.
    let (outcome, finished) = mpsc::channel();
    let compiling = Arc::new(AtomicBool::new(true));
    let compiled = Arc::clone(&compiling);
    thread::Builder::new()
        .stack_size(GUEST_STACK_BYTES)
        .spawn(move || {
            let results = compile_and_call(&arguments, store, &compiled);
            // Nobody waits any more once the time is up.
            let _ = outcome.send(results);
        })
        .map_err(|error| Failure::new(&file, format_args!("cannot start a thread: {error}")))?;
    let results = match finished.recv_timeout(timeout) {
        Err(RecvTimeoutError::Timeout) => {
            engine.increment_epoch();
            finished.recv_timeout(TIME_TO_STOP)
        }
        in_time => in_time,
    };
    let results = results.unwrap_or_else(|error| {
        let timeout = timeout.as_secs_f64();
        let problem = match error {
            RecvTimeoutError::Timeout if compiling.load(Ordering::Relaxed) => {
                format!("stopped after {timeout} s while it was compiled")
            }
            RecvTimeoutError::Timeout => {
                format!("stopped after {timeout} s within a call of the host, such as a launch")
            }
            RecvTimeoutError::Disconnected => "the host failed".to_owned(),
        };
        Err(Failure::new(&file, problem))
    });
    results?.iter().try_for_each(print)
}

/// What the store holds.
struct Guest {
    state: GuestState,
    limits: StoreLimits,
}

impl Guest {
    fn new(state: GuestState) -> Self {
        let limits = StoreLimitsBuilder::new().table_elements(MAX_TABLE_ELEMENTS);
        Self {
            state,
            limits: limits.build(),
        }
    }

    fn state(&mut self) -> &mut GuestState {
        &mut self.state
    }
}

/// Far more than a guest needs; the engine has memory for them without asking the system for more than it has.
const MAX_TABLE_ELEMENTS: usize = 10_000_000;

/// The engine gives a guest a part of it and the host's calls the rest.
const GUEST_STACK_BYTES: usize = 8 << 20;

/// A guest whose time is up notices at its next turn of a loop or call of its own.
const TIME_TO_STOP: Duration = Duration::from_secs(1);

/// Calls the guest's function; returns its results as text.
fn compile_and_call(
    arguments: &Arguments,
    mut store: Store<Guest>,
    compiling: &AtomicBool,
) -> Result<Vec<String>, Failure> {
    let file = arguments.guest.as_path();
    let fail = |error: wasmtime::Error| explain(file, arguments.timeout, &error);
    let module = wasm::module(store.engine(), file)?;
    let mut linker = Linker::new(store.engine());
    if arguments.trace {
        add_to_linker_traced(&mut linker, Guest::state, show).map_err(fail)?;
    } else {
        add_to_linker(&mut linker, Guest::state).map_err(fail)?;
    }
    wasm::check_imports(file, &module, &linker, &mut store)?;
    compiling.store(false, Ordering::Relaxed);
    let instance = linker.instantiate(&mut store, &module).map_err(fail)?;
    let (name, function) = function(arguments, &module, instance, &mut store)?;
    let params = params(file, name, &function, &store, &arguments.args)?;
    let mut results = vec![Val::I32(0); function.ty(&store).results().len()];
    function
        .call(&mut store, &params, &mut results)
        .map_err(fail)?;
    Ok(results.iter().map(show_value).collect())
}

/// The function to call: the one named, or `_start`.
fn function<'a>(
    arguments: &'a Arguments,
    module: &Module,
    instance: Instance,
    store: &mut Store<Guest>,
) -> Result<(&'a str, Func), Failure> {
    let name = arguments.invoke.as_deref().unwrap_or("_start");
    if let Some(function) = instance.get_func(&mut *store, name) {
        return Ok((name, function));
    }
    let exports: Vec<_> = module.exports().collect();
    let functions = exports
        .iter()
        .filter(|export| export.ty().func().is_some())
        .map(|export| export.name());
    let offer = few(functions).unwrap_or_else(|| "none".to_owned());
    Err(Failure::new(
        &arguments.guest,
        format_args!("no exported function `{}`; it exports {offer}", brief(name)),
    ))
}

/// The arguments as the function's parameter types read them.
fn params(
    file: &Path,
    name: &str,
    function: &Func,
    store: &Store<Guest>,
    args: &[String],
) -> Result<Vec<Val>, Failure> {
    let ty = function.ty(store);
    let name = brief(name);
    if ty.params().len() != args.len() {
        let takes = match ty.params().len() {
            0 => "no arguments".to_owned(),
            1 => "1 argument".to_owned(),
            count => format!("{count} arguments"),
        };
        let given = match args.len() {
            0 => "none were".to_owned(),
            1 => "1 was".to_owned(),
            count => format!("{count} were"),
        };
        let problem = format!("`{name}` takes {takes}, {given} given");
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
    tell(call);
}

/// What stopped the guest, and where.
fn explain(file: &Path, timeout: Duration, error: &wasmtime::Error) -> Failure {
    let Some(trap) = error.downcast_ref::<Trap>() else {
        return Failure::in_lines(file, format_args!("{error:#}"));
    };
    let frame = error
        .downcast_ref::<WasmBacktrace>()
        .and_then(|backtrace| backtrace.frames().first());
    let place = frame.map_or_else(String::new, |frame| {
        let name = frame.func_name().map_or_else(
            || format!("function {}", frame.func_index()),
            |name| format!("`{}`", brief(name)),
        );
        frame.module_offset().map_or_else(
            || format!(" in {name}"),
            |offset| format!(" in {name} at byte {offset:#x}"),
        )
    });
    match trap {
        Trap::Interrupt => {
            let timeout = timeout.as_secs_f64();
            Failure::new(file, format_args!("stopped after {timeout} s{place}"))
        }
        trap => Failure::new(file, format_args!("trapped{place}: {trap}")),
    }
}
