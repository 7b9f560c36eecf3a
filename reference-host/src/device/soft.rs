use std::fmt;

use bytemuck::allocation::try_zeroed_slice_box;
use soft_gpu::{Entry, Globals, LaunchConfig, Memory, Module, launch};

use crate::argv::{Arg, Window};
use crate::device::arguments::{merged, param_buffer, param_sizes};
use crate::device::{Buffer, Context, Device, DeviceError, Kernel, Shape, assemble};
use crate::sync::{Arc, Mutex};

/// The software GPU: kernels run on the CPU, within the launch call.
#[derive(Clone)]
pub struct SoftDevice {
    instruction_budget: u64,
    output: Option<Output>,
}

/// Takes what the kernels of one launch printed.
type Output = Arc<dyn Fn(&[u8]) + Send + Sync>;

impl SoftDevice {
    /// A device whose watchdog stops a kernel after a few seconds at most.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            instruction_budget: DEFAULT_INSTRUCTION_BUDGET,
            output: None,
        }
    }

    /// The same device with another watchdog: a launch that uses up more weighted warp instructions than this fails.
    ///
    /// A warp instruction serves up to 32 threads, and is weighted by how long it takes: a simple one counts as one.
    #[must_use]
    pub fn instruction_budget(self, weighted_warp_instructions: u64) -> Self {
        Self {
            instruction_budget: weighted_warp_instructions,
            ..self
        }
    }

    /// The same device with a reader of what kernels print by `vprintf`; without one, the text is dropped.
    ///
    /// `output` is called at the end of each launch that printed, also of one that failed, with at most 1 MiB: the bytes as the guest
    /// chose them, so whoever shows them must escape what steers a terminal.
    #[must_use]
    pub fn output(self, output: impl Fn(&[u8]) + Send + Sync + 'static) -> Self {
        Self {
            output: Some(Arc::new(output)),
            ..self
        }
    }
}

impl fmt::Debug for SoftDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SoftDevice")
            .field("instruction_budget", &self.instruction_budget)
            .finish_non_exhaustive()
    }
}

impl Default for SoftDevice {
    fn default() -> Self {
        Self::new()
    }
}

impl Device for SoftDevice {
    fn allocates_on_write(&self) -> bool {
        true
    }

    fn context(&self) -> Arc<dyn Context> {
        Arc::new(self.clone())
    }
}

impl Context for SoftDevice {
    fn load(&self, ptx: &[u8], entry: &str) -> Result<Arc<dyn Kernel>, DeviceError> {
        let (module, entry) = assemble(ptx, entry)?;
        Ok(Arc::new(SoftKernel {
            param_sizes: param_sizes(entry.params()),
            globals: Mutex::new(module.globals()),
            entry,
            module,
            device: self.clone(),
        }))
    }

    fn alloc(&self, len_bytes: u64) -> Result<Arc<dyn Buffer>, DeviceError> {
        Ok(Arc::new(HostBuffer {
            len_bytes,
            bytes: Mutex::new(Box::default()),
        }))
    }

    fn sync(&self) -> Result<(), DeviceError> {
        // Launches return when their kernel has ended.
        Ok(())
    }
}

/// Weighted warp instructions, each of which stands for about ten nanoseconds.
const DEFAULT_INSTRUCTION_BUDGET: u64 = 200_000_000;

/// What a kernel may allocate for itself: little, since each loaded kernel has a heap of its own.
const HEAP_BYTES: u32 = 1 << 20;

/// Where guest memory begins in the device's address space. Aligned to more than any access, so that an address
/// is as aligned as the guest offset it stands for.
const GUEST_BASE: u64 = 0x7F00_0000_0000;

/// A module with the one kernel that a load asked for, and the variables it keeps from launch to launch.
#[derive(Debug)]
struct SoftKernel {
    module: Module,
    entry: Entry,
    param_sizes: Box<[u32]>,
    globals: Mutex<Globals>,
    device: SoftDevice,
}

impl Kernel for SoftKernel {
    fn param_sizes(&self) -> &[u32] {
        &self.param_sizes
    }

    fn launch(&self, shape: &Shape, args: &[Arg], memory: &mut [u8]) -> Result<(), DeviceError> {
        let params = param_buffer(self.entry.params(), args, address)?;
        let mut windows = Memory::new();
        map_windows(args, memory, &mut windows)?;
        let config = LaunchConfig {
            grid: shape.grid,
            block: shape.block,
            dynamic_shared_bytes: shape.dynamic_shared_bytes,
            instruction_budget: self.device.instruction_budget,
            heap_bytes: HEAP_BYTES,
            ..LaunchConfig::default()
        };
        let mut globals = self.globals.lock();
        let result = launch(
            &self.module,
            &self.entry,
            &config,
            &params,
            &mut globals,
            &mut windows,
        );
        let printed = globals.take_output();
        drop(globals);
        if let Some(output) = &self.device.output
            && !printed.is_empty()
        {
            output(&printed);
        }
        result.map_err(|error| DeviceError::Launch(Box::new(error)))
    }
}

/// The address at which a kernel finds a window.
fn address(window: Window) -> u64 {
    GUEST_BASE.saturating_add(u64::from(window.offset))
}

/// Maps exactly the windows among `args`; overlapping ones share their bytes.
fn map_windows<'m>(
    args: &[Arg],
    memory: &'m mut [u8],
    device: &mut Memory<'m>,
) -> Result<(), DeviceError> {
    const BROKEN: DeviceError =
        DeviceError::Internal("a window outside guest memory reached the device");
    let mut rest = memory;
    // Guest offset of the first byte of `rest`.
    let mut rest_start = 0u64;
    for window in merged(args) {
        let before = window
            .start
            .checked_sub(rest_start)
            .and_then(|bytes| usize::try_from(bytes).ok());
        let len = window
            .end
            .checked_sub(window.start)
            .and_then(|bytes| usize::try_from(bytes).ok());
        let (before, len) = before.zip(len).ok_or(BROKEN)?;
        let (_, tail) = rest.split_at_mut_checked(before).ok_or(BROKEN)?;
        let (bytes, tail) = tail.split_at_mut_checked(len).ok_or(BROKEN)?;
        device
            .map(GUEST_BASE.saturating_add(window.start), bytes)
            .map_err(|_| BROKEN)?;
        (rest, rest_start) = (tail, window.end);
    }
    Ok(())
}

/// A buffer in the host's memory.
#[derive(Debug)]
struct HostBuffer {
    len_bytes: u64,
    /// Empty until the first write: a buffer that nobody wrote holds zeros and takes no memory.
    bytes: Mutex<Box<[u8]>>,
}

impl Buffer for HostBuffer {
    fn len_bytes(&self) -> u64 {
        self.len_bytes
    }

    fn write(&self, from: &[u8]) -> Result<(), DeviceError> {
        let mut bytes = self.bytes.lock();
        if bytes.is_empty() && !from.is_empty() {
            *bytes = zeros(self.len_bytes)?;
        }
        bytes
            .get_mut(..from.len())
            .ok_or(COPY_TOO_LONG)?
            .copy_from_slice(from);
        Ok(())
    }

    fn read(&self, to: &mut [u8]) -> Result<(), DeviceError> {
        let bytes = self.bytes.lock();
        if bytes.is_empty() {
            to.fill(0);
        } else {
            to.copy_from_slice(bytes.get(..to.len()).ok_or(COPY_TOO_LONG)?);
        }
        Ok(())
    }
}

/// Zero bytes, or an error where the host has no room for them. Pages that nobody touches take no memory.
fn zeros(len_bytes: u64) -> Result<Box<[u8]>, DeviceError> {
    usize::try_from(len_bytes)
        .ok()
        .and_then(|len| try_zeroed_slice_box(len).ok())
        .ok_or(DeviceError::OutOfMemory(len_bytes))
}

const COPY_TOO_LONG: DeviceError =
    DeviceError::Internal("a copy longer than its buffer reached the device");

#[cfg(test)]
mod tests;
