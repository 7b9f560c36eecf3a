//! The reference host, in process under wasmtime.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use wasi_cuda_host::Host as CudaHost;
use wasi_cuda_host::device::SoftDevice;
use wasi_cuda_host::wasmtime::{GuestState, add_to_linker};
use wasmtime::{Config, Engine, Instance, Linker, Module, OptLevel, Store, Trap, Val};

use super::{Guest, Host, InstantiateError, Need, Outcome, Runtime, RuntimeInfo, Value};
use crate::profile::Profile;

/// Which device the reference host gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Device {
    /// The software GPU.
    Soft,
    /// None.
    None,
    /// Any: the guests lack the capability to use it.
    Disabled,
}

/// The reference host as a [`Runtime`].
pub struct Reference {
    device: Device,
    engine: Engine,
    linker: Arc<Linker<GuestState>>,
}

impl Reference {
    /// Prepares the engine; every fixture gets a fresh host.
    ///
    /// # Errors
    ///
    /// The engine does not support this machine.
    pub fn new(device: Device) -> Result<Reference, ReferenceError> {
        let mut config = Config::new();
        config
            .epoch_interruption(true)
            .cranelift_opt_level(OptLevel::None)
            .shared_memory(true);
        let engine = Engine::new(&config).map_err(|error| ReferenceError(format!("{error:#}")))?;
        let mut linker = Linker::new(&engine);
        add_to_linker(&mut linker, |state: &mut GuestState| state)
            .map_err(|error| ReferenceError(format!("{error:#}")))?;
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
            .map_err(|error| ReferenceError(error.to_string()))?;
        Ok(Reference {
            device,
            engine,
            linker: Arc::new(linker),
        })
    }
}

/// The reference runtime cannot be set up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the reference runtime cannot start: {0}")]
pub struct ReferenceError(String);

impl Runtime for Reference {
    fn info(&self) -> RuntimeInfo {
        let (name, profile) = match self.device {
            Device::Soft => ("reference:soft", Profile::Device),
            Device::None => ("reference:none", Profile::NoDevice),
            Device::Disabled => ("reference:disabled", Profile::Disabled),
        };
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let offers = if cfg!(target_pointer_width = "64") {
            Need::ALL.into()
        } else {
            BTreeSet::new()
        };
        RuntimeInfo {
            name: name.to_owned(),
            version,
            profile,
            offers,
        }
    }

    fn start(&self) -> Result<Box<dyn Host>, String> {
        let cuda = match self.device {
            Device::Soft => CudaHost::new(SoftDevice::new().instruction_budget(WATCHDOG_OPS)),
            Device::None | Device::Disabled => CudaHost::none(),
        };
        Ok(Box::new(World {
            granted: self.device != Device::Disabled,
            cuda,
            engine: self.engine.clone(),
            linker: Arc::clone(&self.linker),
            compiled: None,
        }))
    }
}

/// One host and the last module it compiled: the instances of a fixture share their module.
struct World {
    granted: bool,
    cuda: Arc<CudaHost>,
    engine: Engine,
    linker: Arc<Linker<GuestState>>,
    compiled: Option<(Vec<u8>, Module)>,
}

impl Host for World {
    fn instantiate(
        &mut self,
        wasm: &[u8],
        limit: Duration,
    ) -> Result<Box<dyn Guest>, InstantiateError> {
        let module = match &self.compiled {
            Some((known, module)) if known == wasm => module.clone(),
            _ => {
                let module = Module::new(&self.engine, wasm)
                    .map_err(|error| InstantiateError::Failed(format!("{error:#}")))?;
                self.compiled = Some((wasm.to_vec(), module.clone()));
                module
            }
        };
        let linked = self
            .linker
            .instantiate_pre(&module)
            .map_err(|error| InstantiateError::Unlinkable(format!("{error:#}")))?;
        let instance = if self.granted {
            self.cuda.instance()
        } else {
            self.cuda.instance_without_capability()
        };
        let mut store = Store::new(&self.engine, GuestState::new(instance));
        store.set_epoch_deadline(epochs(limit));
        let instance =
            linked
                .instantiate(&mut store)
                .map_err(|error| match error.downcast_ref::<Trap>() {
                    Some(trap) => InstantiateError::Start(trap.to_string()),
                    None => InstantiateError::Failed(format!("{error:#}")),
                })?;
        Ok(Box::new(InProcess { store, instance }))
    }
}

struct InProcess {
    store: Store<GuestState>,
    instance: Instance,
}

impl Guest for InProcess {
    fn call(&mut self, export: &str, args: &[Value], limit: Duration) -> Outcome {
        let Some(function) = self.instance.get_func(&mut self.store, export) else {
            return Outcome::Failed(format!("the module has no exported function `{export}`"));
        };
        let args: Vec<Val> = args.iter().map(|value| (*value).into()).collect();
        let mut results = vec![Val::I32(0); function.ty(&self.store).results().len()];
        self.store.set_epoch_deadline(epochs(limit));
        match function.call(&mut self.store, &args, &mut results) {
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

    fn last_error(&mut self) -> Option<String> {
        let text = self.store.data().instance.last_error_text();
        (!text.is_empty()).then(|| text.to_owned())
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

/// When the software GPU stops a kernel, in warp instructions: about a fifth of a second, a fifth of the host's own
/// default and twenty times what any fixture needs, since a fixture with a kernel that never ends waits for it.
const WATCHDOG_OPS: u64 = 20_000_000;
