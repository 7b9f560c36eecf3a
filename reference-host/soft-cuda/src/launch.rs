//! A kernel launch: what is kept from the call, and how it is carried out.

use std::io::Write;

use soft_gpu::{FaultKind, LaunchConfig, LaunchError};

use crate::call::Done;
use crate::context::State;
use crate::device;
use crate::environment;
use crate::error::Error;
use crate::memory::SharedMemory;
use crate::module::Kernel;

/// A launch whose arguments have been checked and copied.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    kernel: Kernel,
    shape: Shape,
    params: Vec<u8>,
}

/// Grid, block and shared memory of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) dynamic_shared_bytes: u32,
}

impl Launch {
    /// A launch of `kernel`, checked, with its parameter block.
    ///
    /// # Errors
    ///
    /// A shape that the device or the kernel does not take, or a parameter block of another size than the kernel's.
    pub(crate) fn new(kernel: Kernel, shape: Shape, params: Vec<u8>) -> Result<Self, Error> {
        shape.check(&kernel)?;
        if params.len() != kernel.entry()?.param_bytes() as usize {
            return Err(Error::InvalidValue);
        }
        Ok(Self {
            kernel,
            shape,
            params,
        })
    }

    /// Whether its kernel is still loaded.
    pub(crate) fn is_live(&self, state: &State) -> bool {
        let module = state.modules.module(self.kernel.module);
        module.is_ok_and(|module| {
            let part = module.parts.get(self.kernel.part);
            part.is_some_and(|part| std::sync::Arc::ptr_eq(&part.code, &self.kernel.code))
        })
    }
}

impl Shape {
    /// How many blocks there are.
    pub(crate) fn blocks(&self) -> u64 {
        let axes = self.grid.iter().copied().map(u64::from);
        axes.fold(1, u64::saturating_mul)
    }

    /// Checks it against device and kernel.
    ///
    /// # Errors
    ///
    /// An axis of 0 or over its limit, too many threads, threads against the kernel's launch bounds, more shared memory than the function may have.
    pub(crate) fn check(&self, kernel: &Kernel) -> Done {
        let entry = kernel.entry()?;
        let within = |axes: [u32; 3], limits: [u32; 3]| {
            let mut pairs = axes.iter().zip(limits);
            pairs.all(|(axis, limit)| (1..=limit).contains(axis))
        };
        let threads = self.block.iter().copied().fold(1, u32::saturating_mul);
        let fits = within(self.grid, device::MAX_GRID)
            && within(self.block, device::MAX_BLOCK)
            && threads
                <= entry
                    .max_threads_per_block()
                    .min(device::MAX_THREADS_PER_BLOCK)
            && entry
                .required_block()
                .is_none_or(|block| block == self.block)
            && self.dynamic_shared_bytes <= kernel.attributes.max_dynamic_shared_bytes(entry)
            && self.shared_fits(entry);
        if fits {
            Ok(())
        } else {
            Err(Error::InvalidValue)
        }
    }
}

impl Shape {
    /// Whether dynamic shared memory fits behind what the kernel has itself, where it begins aligned.
    fn shared_fits(&self, entry: &soft_gpu::Entry) -> bool {
        let fixed = entry.static_shared_bytes();
        let fixed = match self.dynamic_shared_bytes {
            0 => Some(fixed),
            _ => fixed.checked_next_multiple_of(DYNAMIC_SHARED_ALIGN),
        };
        let bytes = fixed.and_then(|fixed| fixed.checked_add(self.dynamic_shared_bytes));
        bytes.is_some_and(|bytes| bytes <= device::SHARED_BYTES_OPT_IN)
    }
}

/// Where dynamic shared memory begins, at least.
const DYNAMIC_SHARED_ALIGN: u32 = 16;

/// Runs a kernel to its end.
///
/// # Errors
///
/// The error that a kernel's fault leaves the context with.
pub(crate) fn run(state: &mut State, launch: &Launch) -> Done {
    if !launch.is_live(state) {
        return Err(Error::LaunchFailed);
    }
    let State {
        modules,
        memory,
        settings,
        ..
    } = state;
    let module = modules.module_mut(launch.kernel.module)?;
    let part = module.parts.get_mut(launch.kernel.part);
    let part = part.ok_or(Error::Unknown)?;
    memory.read_variables(part.constants_start(), part.globals.constants_mut())?;
    let mut shared = SharedMemory::hold();
    let mut mapped = soft_gpu::Memory::new();
    memory.map(&mut mapped)?;
    shared.map(&mut mapped)?;
    let config = LaunchConfig {
        grid: launch.shape.grid,
        block: launch.shape.block,
        dynamic_shared_bytes: launch.shape.dynamic_shared_bytes,
        heap_bytes: u32::try_from(settings.heap_bytes).unwrap_or(u32::MAX),
        instruction_budget: environment::settings().instruction_budget,
        ..LaunchConfig::default()
    };
    let outcome = soft_gpu::launch(
        &launch.kernel.code,
        launch.kernel.entry()?,
        &config,
        &launch.params,
        &mut part.globals,
        &mut mapped,
    );
    print(&part.globals.take_output());
    outcome.map_err(|error| match error {
        LaunchError::Config(_) => Error::LaunchOutOfResources,
        LaunchError::Fault(fault) => code(&fault.kind),
        _ => Error::LaunchFailed,
    })
}

/// Writes what a kernel printed to the standard output.
#[allow(clippy::print_stdout, reason = "a kernel's printf goes there")]
fn print(text: &[u8]) {
    if text.is_empty() {
        return;
    }
    let mut out = std::io::stdout().lock();
    // A program that closed its output wants nothing printed.
    let _ = out.write_all(text).and_then(|()| out.flush());
}

/// The code that a fault leaves a context with.
fn code(kind: &FaultKind) -> Error {
    match kind {
        FaultKind::Null { .. }
        | FaultKind::OutOfBounds { .. }
        | FaultKind::UseAfterFree { .. }
        | FaultKind::ReadOnly { .. } => Error::IllegalAddress,
        FaultKind::Misaligned { .. } => Error::MisalignedAddress,
        FaultKind::WrongSpace { .. } => Error::InvalidAddressSpace,
        FaultKind::Assert { .. } => Error::Assert,
        FaultKind::BudgetExhausted(_) | FaultKind::Deadlock { .. } => Error::LaunchTimeout,
        FaultKind::StackOverflow { .. } => Error::HardwareStackError,
        FaultKind::BadTarget(_) => Error::InvalidPc,
        FaultKind::BadBarrier { .. } => Error::IllegalInstruction,
        _ => Error::LaunchFailed,
    }
}
