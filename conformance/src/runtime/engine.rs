//! What runtimes that embed wasmtime share: an engine with a clock, and calls under a time limit.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use wasmtime::{Config, Engine, Instance, InstancePre, Module, OptLevel, Store, Trap, Val};

use super::{InstantiateError, Outcome, Value};

/// An engine whose clock ticks as long as the engine lives.
pub(crate) fn start() -> Result<Engine, EngineError> {
    let mut config = Config::new();
    config
        .epoch_interruption(true)
        .cranelift_opt_level(OptLevel::None)
        .shared_memory(true);
    let engine = Engine::new(&config).map_err(|error| EngineError::new(&error))?;
    let weak = engine.weak();
    thread::Builder::new()
        .name("epoch".to_owned())
        .spawn(move || {
            while let Some(engine) = weak.upgrade() {
                engine.increment_epoch();
                drop(engine);
                thread::sleep(EPOCH);
            }
        })
        .map_err(|error| EngineError(error.to_string()))?;
    Ok(engine)
}

/// Modules by their bytes, each compiled once: the instances of a fixture share theirs, and so do all hosts that run one
/// guest again and again.
#[derive(Clone, Default)]
pub(crate) struct Modules(Arc<Mutex<HashMap<Box<[u8]>, Module>>>);

impl Modules {
    pub(crate) fn compile(&self, engine: &Engine, wasm: &[u8]) -> Result<Module, InstantiateError> {
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(module) = known().get(wasm) {
            return Ok(module.clone());
        }
        let module = Module::new(engine, wasm)
            .map_err(|error| InstantiateError::Failed(format!("{error:#}")))?;
        known().insert(wasm.into(), module.clone());
        Ok(module)
    }
}

/// A runtime inside this program cannot be set up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the runtime cannot start: {0}")]
pub struct EngineError(String);

impl EngineError {
    pub(crate) fn new(error: &wasmtime::Error) -> EngineError {
        EngineError(format!("{error:#}"))
    }

    /// The device of the runtime is not there.
    #[cfg(feature = "cuda")]
    pub(crate) fn without(absence: wasi_cuda_host::device::Absence) -> EngineError {
        EngineError(absence.to_string())
    }
}

/// Makes an instance of a linked module; a start function is stopped after `limit`.
pub(crate) fn instantiate<T: 'static>(
    store: &mut Store<T>,
    linked: &InstancePre<T>,
    limit: Duration,
) -> Result<Instance, InstantiateError> {
    store.set_epoch_deadline(epochs(limit));
    linked
        .instantiate(store)
        .map_err(|error| match error.downcast_ref::<Trap>() {
            Some(trap) => InstantiateError::Start(trap.to_string()),
            None => InstantiateError::Failed(format!("{error:#}")),
        })
}

/// Calls an export and stops it after `limit`.
pub(crate) fn call<T>(
    store: &mut Store<T>,
    instance: &Instance,
    export: &str,
    args: &[Value],
    limit: Duration,
) -> Outcome {
    let Some(function) = instance.get_func(&mut *store, export) else {
        return Outcome::Failed(format!("the module has no exported function `{export}`"));
    };
    let args: Vec<Val> = args.iter().map(|value| (*value).into()).collect();
    let mut results = vec![Val::I32(0); function.ty(&*store).results().len()];
    store.set_epoch_deadline(epochs(limit));
    match function.call(&mut *store, &args, &mut results) {
        Ok(()) => match results.iter().map(Value::try_from).collect() {
            Ok(values) => Outcome::Returned(values),
            Err(error) => Outcome::Failed(format!("result of `{export}`: {error}")),
        },
        Err(error) => match error.downcast_ref::<Trap>() {
            Some(Trap::Interrupt) => Outcome::TimedOut,
            Some(trap) => Outcome::Trapped(trap.to_string()),
            // An import that returns an error to the engine looks like a trap to the guest.
            None => Outcome::Trapped(format!("{error:#}")),
        },
    }
}

impl From<Value> for Val {
    fn from(value: Value) -> Val {
        match value {
            Value::I32(value) => Val::I32(value),
            Value::I64(value) => Val::I64(value),
            Value::F32(bits) => Val::F32(bits),
            Value::F64(bits) => Val::F64(bits),
        }
    }
}

impl TryFrom<&Val> for Value {
    type Error = NotANumber;

    fn try_from(value: &Val) -> Result<Value, NotANumber> {
        match value {
            Val::I32(value) => Ok(Value::I32(*value)),
            Val::I64(value) => Ok(Value::I64(*value)),
            Val::F32(bits) => Ok(Value::F32(*bits)),
            Val::F64(bits) => Ok(Value::F64(*bits)),
            _ => Err(NotANumber),
        }
    }
}

/// A wasmtime value that is a vector or a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a number: the suite exchanges i32, i64, f32 and f64")]
pub struct NotANumber;

/// How many ticks a guest may run; one more, since the current tick is already under way.
fn epochs(limit: Duration) -> u64 {
    u64::try_from(limit.as_nanos().div_ceil(EPOCH.as_nanos()))
        .unwrap_or(u64::MAX / 2)
        .saturating_add(1)
        .min(u64::MAX / 2)
}

/// How often running guests look whether their time is up.
const EPOCH: Duration = Duration::from_millis(10);
