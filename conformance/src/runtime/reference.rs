//! The reference host, in process under wasmtime.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use wasi_cuda_host::Host as CudaHost;
#[cfg(feature = "cuda")]
use wasi_cuda_host::device::CudaDevice;
use wasi_cuda_host::device::SoftDevice;
use wasi_cuda_host::wasmtime::{GuestState, add_to_linker};
use wasmtime::{Engine, Instance, Linker, Store};

use super::engine::{self, EngineError, Modules};
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
    /// The NVIDIA GPU of this ordinal.
    #[cfg(feature = "cuda")]
    Cuda(u32),
}

/// The reference host as a [`Runtime`].
pub struct Reference {
    device: Device,
    #[cfg(feature = "cuda")]
    gpu: Option<CudaDevice>,
    engine: Engine,
    linker: Arc<Linker<GuestState>>,
    modules: Modules,
}

impl Reference {
    /// Prepares the engine; every fixture gets a fresh host.
    ///
    /// # Errors
    ///
    /// The engine does not support this machine, or there is no such device.
    pub fn new(device: Device) -> Result<Reference, EngineError> {
        let engine = engine::start()?;
        let mut linker = Linker::new(&engine);
        add_to_linker(&mut linker, |state: &mut GuestState| state)
            .map_err(|error| EngineError::new(&error))?;
        Ok(Reference {
            device,
            #[cfg(feature = "cuda")]
            gpu: match device {
                Device::Cuda(ordinal) => Some(
                    CudaDevice::open(ordinal)
                        .map_err(EngineError::without)?
                        .watchdog(GPU_WATCHDOG),
                ),
                _ => None,
            },
            engine,
            linker: Arc::new(linker),
            modules: Modules::default(),
        })
    }
}

impl Runtime for Reference {
    fn info(&self) -> RuntimeInfo {
        let (name, profile) = match self.device {
            Device::Soft => ("reference:soft", Profile::Device),
            Device::None => ("reference:none", Profile::NoDevice),
            Device::Disabled => ("reference:disabled", Profile::Disabled),
            #[cfg(feature = "cuda")]
            Device::Cuda(0) => ("reference:cuda", Profile::Device),
            #[cfg(feature = "cuda")]
            Device::Cuda(ordinal) => (&*format!("reference:cuda:{ordinal}"), Profile::Device),
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
            #[cfg(feature = "cuda")]
            Device::Cuda(_) => match &self.gpu {
                Some(gpu) => CudaHost::new(gpu.clone()),
                None => CudaHost::none(),
            },
        };
        Ok(Box::new(World {
            granted: self.device != Device::Disabled,
            cuda,
            engine: self.engine.clone(),
            linker: Arc::clone(&self.linker),
            modules: self.modules.clone(),
        }))
    }
}

/// One host.
struct World {
    granted: bool,
    cuda: Arc<CudaHost>,
    engine: Engine,
    linker: Arc<Linker<GuestState>>,
    modules: Modules,
}

impl Host for World {
    fn instantiate(
        &mut self,
        wasm: &[u8],
        limit: Duration,
    ) -> Result<Box<dyn Guest>, InstantiateError> {
        let module = self.modules.compile(&self.engine, wasm)?;
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
        let instance = engine::instantiate(&mut store, &linked, limit)?;
        Ok(Box::new(InProcess { store, instance }))
    }
}

struct InProcess {
    store: Store<GuestState>,
    instance: Instance,
}

impl Guest for InProcess {
    fn call(&mut self, export: &str, args: &[Value], limit: Duration) -> Outcome {
        engine::call(&mut self.store, &self.instance, export, args, limit)
    }

    fn last_error(&mut self) -> Option<String> {
        let text = self.store.data().instance.last_error_text();
        (!text.is_empty()).then(|| text.to_owned())
    }
}

/// When the software GPU stops a kernel, in warp instructions: about a fifth of a second, a fifth of the host's own
/// default and twenty times what any fixture needs, since a fixture with a kernel that never ends waits for it.
pub(crate) const WATCHDOG_OPS: u64 = 20_000_000;

/// The same on a GPU, which may be busy with something else.
#[cfg(feature = "cuda")]
const GPU_WATCHDOG: Duration = Duration::from_secs(1);
