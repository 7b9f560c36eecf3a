//! A deviant as a [`Runtime`]: wasmtime, and imports that go through the deviant to the reference host.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use wasi_cuda_host::Host as CudaHost;
use wasi_cuda_host::abi::{Import, MEMORY_EXPORT, MODULE, ValueType};
use wasi_cuda_host::device::SoftDevice;
use wasmtime::{
    Caller, Engine, Extern, ExternType, FuncType, Instance, Linker, Memory, Module, Store, Val,
    ValType,
};

use super::call::{Call, Exported};
use super::world::World;
use super::{Deviant, Flaw, Linking, MemoryChoice};
use crate::profile::Profile;
use crate::runtime::engine::{self, EngineError, Modules};
use crate::runtime::reference::WATCHDOG_OPS;
use crate::runtime::{Guest, Host, InstantiateError, Need, Outcome, Runtime, RuntimeInfo, Value};

/// An engine and the modules it has compiled, for any number of deviants: the same fixtures run on all of them.
#[derive(Clone)]
pub struct Bench {
    engine: Engine,
    modules: Modules,
}

impl Bench {
    /// Prepares the engine.
    ///
    /// # Errors
    ///
    /// The engine does not support this machine.
    pub fn new() -> Result<Bench, EngineError> {
        Ok(Bench {
            engine: engine::start()?,
            modules: Modules::default(),
        })
    }

    /// A deviant as a runtime.
    ///
    /// # Errors
    ///
    /// The imports cannot be defined.
    pub fn host(&self, deviant: &'static Deviant) -> Result<DeviantHost, EngineError> {
        DeviantHost::new(self.clone(), deviant)
    }

    /// The layer of the deviants without any mistake: it must be as good as the reference host itself.
    ///
    /// # Errors
    ///
    /// The imports cannot be defined.
    pub fn undisturbed(&self, profile: Profile) -> Result<DeviantHost, EngineError> {
        static DEVICE: Deviant = Deviant::none(Profile::Device);
        static NO_DEVICE: Deviant = Deviant::none(Profile::NoDevice);
        static DISABLED: Deviant = Deviant::none(Profile::Disabled);
        self.host(match profile {
            Profile::Device => &DEVICE,
            Profile::NoDevice => &NO_DEVICE,
            Profile::Disabled => &DISABLED,
        })
    }
}

/// A deviant as a [`Runtime`].
pub struct DeviantHost {
    bench: Bench,
    deviant: &'static Deviant,
    linker: Arc<Linker<State>>,
}

impl DeviantHost {
    fn new(bench: Bench, deviant: &'static Deviant) -> Result<DeviantHost, EngineError> {
        let mut linker = Linker::new(&bench.engine);
        for import in Import::ALL {
            if matches!(deviant.flaw, Flaw::Linking(Linking::Without(missing)) if missing == *import)
            {
                continue;
            }
            linker
                .func_new(
                    MODULE,
                    import.name(),
                    signature(&bench.engine, *import),
                    move |caller, args, results| enter(*import, caller, args, results),
                )
                .map_err(|error| EngineError::new(&error))?;
        }
        Ok(DeviantHost {
            bench,
            deviant,
            linker: Arc::new(linker),
        })
    }
}

impl Runtime for DeviantHost {
    fn info(&self) -> RuntimeInfo {
        RuntimeInfo {
            name: format!("deviant:{}", self.deviant.name),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            profile: self.deviant.profile,
            offers: if cfg!(target_pointer_width = "64") {
                Need::ALL.into()
            } else {
                [].into()
            },
        }
    }

    fn start(&self) -> Result<Box<dyn Host>, String> {
        let host = || match self.deviant.profile {
            Profile::Device => CudaHost::new(SoftDevice::new().instruction_budget(WATCHDOG_OPS)),
            Profile::NoDevice | Profile::Disabled => CudaHost::none(),
        };
        let granted = self.deviant.profile != Profile::Disabled;
        Ok(Box::new(Started {
            bench: self.bench.clone(),
            deviant: self.deviant,
            linker: Arc::clone(&self.linker),
            world: Arc::new(Mutex::new(World::new(host(), host(), granted))),
        }))
    }
}

struct Started {
    bench: Bench,
    deviant: &'static Deviant,
    linker: Arc<Linker<State>>,
    world: Arc<Mutex<World>>,
}

impl Host for Started {
    fn instantiate(
        &mut self,
        wasm: &[u8],
        limit: Duration,
    ) -> Result<Box<dyn Guest>, InstantiateError> {
        let module = self.bench.modules.compile(&self.bench.engine, wasm)?;
        let linked = self
            .linker_for(&module)
            .and_then(|linker| linker.instantiate_pre(&module))
            .map_err(|error| InstantiateError::Unlinkable(format!("{error:#}")))?;
        let guest = lock(&self.world).enter();
        let state = State {
            deviant: self.deviant,
            world: Arc::clone(&self.world),
            guest,
            first_memory: None,
        };
        let mut store = Store::new(&self.bench.engine, state);
        let instance = engine::instantiate(&mut store, &linked, limit)?;
        let first = instance
            .exports(&mut store)
            .find_map(|export| export.into_memory());
        store.data_mut().first_memory = first;
        Ok(Box::new(Running { store, instance }))
    }
}

impl Started {
    /// The imports as this module finds them.
    fn linker_for(&self, module: &Module) -> wasmtime::Result<Linker<State>> {
        let mut linker = (*self.linker).clone();
        let Flaw::Linking(linking) = self.deviant.flaw else {
            return Ok(linker);
        };
        linker.allow_shadowing(true);
        for import in module.imports() {
            let known = Import::from_name(import.name());
            let lenient = match linking {
                Linking::AnyType(import) => known == Some(import),
                Linking::Extra(name) => import.name() == name,
                Linking::AnyName => known.is_none(),
                Linking::Without(_) => false,
            };
            let ExternType::Func(ty) = import.ty() else {
                continue;
            };
            let exact =
                known.is_some_and(|known| FuncType::eq(&signature(module.engine(), known), &ty));
            if import.module() == MODULE && lenient && !exact {
                let zeros: Vec<Val> = ty
                    .results()
                    .filter_map(|ty| Val::default_for_ty(&ty))
                    .collect();
                linker.func_new(MODULE, import.name(), ty, move |_, _, results| {
                    results.clone_from_slice(&zeros);
                    Ok(())
                })?;
            }
        }
        Ok(linker)
    }
}

/// What a store holds for its guest.
struct State {
    deviant: &'static Deviant,
    world: Arc<Mutex<World>>,
    guest: usize,
    first_memory: Option<Memory>,
}

struct Running {
    store: Store<State>,
    instance: Instance,
}

impl Guest for Running {
    fn call(&mut self, export: &str, args: &[Value], limit: Duration) -> Outcome {
        engine::call(&mut self.store, &self.instance, export, args, limit)
    }

    fn last_error(&mut self) -> Option<String> {
        let state = self.store.data();
        let world = lock(&state.world);
        let instance = world.guests.get(state.guest)?.instance.as_ref()?;
        let text = instance.last_error_text();
        (!text.is_empty()).then(|| text.to_owned())
    }
}

impl Drop for State {
    fn drop(&mut self) {
        lock(&self.world).leave(self.guest);
    }
}

/// A guest's call of an import.
fn enter(
    import: Import,
    mut caller: Caller<'_, State>,
    args: &[Val],
    results: &mut [Val],
) -> wasmtime::Result<()> {
    let deviant = caller.data().deviant;
    let (memory, exported) = memory_of(&mut caller, deviant);
    let (bytes, state) = match memory {
        Some(memory) => {
            let (bytes, state) = memory.data_and_store_mut(&mut caller);
            (Some(bytes), state)
        }
        None => (None, caller.data_mut()),
    };
    let args = args.iter().map(|arg| match arg {
        Val::I32(value) => i64::from(*value),
        Val::I64(value) => *value,
        _ => unreachable!("imports take integers"),
    });
    let mut call = Call {
        import,
        args: args.collect(),
        memory: bytes,
        exported,
        world: &mut lock(&state.world),
        me: state.guest,
        trap: false,
    };
    let answer = deviant.answer(&mut call);
    if call.trap {
        return Err(wasmtime::Error::msg("the deviant traps"));
    }
    for result in results {
        *result = match import.result() {
            ValueType::I32 => Val::I32(super::world::low_half(answer)),
            ValueType::I64 => Val::I64(answer),
        };
    }
    Ok(())
}

/// What the deviant takes for the caller's memory, and what the caller exports under that name.
fn memory_of(caller: &mut Caller<'_, State>, deviant: &Deviant) -> (Option<Memory>, Exported) {
    let (memory, exported) = match caller.get_export(MEMORY_EXPORT) {
        None => (None, Exported::Nothing),
        Some(Extern::Memory(memory)) if memory.ty(&*caller).is_64() => {
            (Some(memory), Exported::Memory64)
        }
        Some(Extern::Memory(memory)) => (Some(memory), Exported::Memory),
        Some(Extern::SharedMemory(_)) => (None, Exported::SharedMemory),
        Some(_) => (None, Exported::Other),
    };
    match deviant.flaw {
        Flaw::Memory(MemoryChoice::First, _) => (memory.or(caller.data().first_memory), exported),
        _ => (memory, exported),
    }
}

fn signature(engine: &Engine, import: Import) -> FuncType {
    let of = |ty: ValueType| match ty {
        ValueType::I32 => ValType::I32,
        ValueType::I64 => ValType::I64,
    };
    FuncType::new(
        engine,
        import.params().iter().map(|(_, ty)| of(*ty)),
        [of(import.result())],
    )
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
