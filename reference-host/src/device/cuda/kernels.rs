//! Guests' kernels: a context for each instance, modules in it, and launches.

use std::ffi::{CString, c_void};
use std::ptr;
use std::time::{Duration, Instant};

use cust::sys::{CUdeviceptr, CUfunction, CUmodule, CUstream};
use soft_gpu::Signature;

use super::CudaDevice;
use super::context::OwnContext;
use super::driver::{self, DriverError, code};
use super::windows::Layout;
use crate::argv::Arg;
use crate::device::arguments::{param_buffer, param_sizes};
use crate::device::{Buffer, Context, DeviceError, Kernel, Shape, refused};
use crate::sync::{Arc, Mutex, Ordering};

/// What one instance has of a GPU: a context for its kernels, made when the first one is loaded and again after each fault.
#[derive(Clone, Debug)]
pub(super) struct KernelContext {
    device: CudaDevice,
    live: Arc<Mutex<Option<Arc<Live>>>>,
}

impl KernelContext {
    pub(super) fn new(device: CudaDevice) -> Self {
        Self {
            device,
            live: Arc::new(Mutex::new(None)),
        }
    }

    /// The context, made now if there is none.
    fn live(&self) -> Result<Arc<Live>, DeviceError> {
        if !self.device.gpu.has_room() {
            return Err(DeviceError::Occupied(super::MAX_ABANDONED));
        }
        let mut live = self.live.lock();
        if let Some(live) = live.as_ref().filter(|live| !live.context.is_lost()) {
            return Ok(Arc::clone(live));
        }
        // The last one's modules go before its successor's come.
        *live = None;
        Ok(Arc::clone(
            live.insert(Arc::new(Live::create(self.device.gpu.device)?)),
        ))
    }

    /// Has the driver assemble a text of which nothing is wanted.
    fn assemble(&self, image: &[u8]) -> Result<(), DeviceError> {
        let live = self.live()?;
        let module = Loaded::module(&live, image)?;
        // SAFETY: the module was made here, and nothing of it was asked for.
        live.context
            .release(|| unsafe { driver::module_unload(module) });
        Ok(())
    }

    /// What a launch that did not succeed leaves behind.
    fn stopped(&self, live: &Live, stop: Stop) -> DeviceError {
        match stop {
            Stop::Never(error) => error,
            Stop::Refused(error) => {
                live.context.lose_if_broken(error);
                error.into()
            }
            Stop::Failed(error) => {
                live.context.lose(error);
                DeviceError::LostContext(error)
            }
            Stop::Endless => {
                let gpu = Arc::clone(&self.device.gpu);
                gpu.abandoned.fetch_add(1, Ordering::Relaxed);
                live.context.abandon(ENDLESS, move || {
                    gpu.abandoned.fetch_sub(1, Ordering::Relaxed);
                });
                DeviceError::Watchdog(self.device.watchdog)
            }
        }
    }
}

impl Context for KernelContext {
    fn load(&self, ptx: &[u8], entry: &str) -> Result<Arc<dyn Kernel>, DeviceError> {
        // What is not PTX never reaches the driver, which would take other images too; and without the parameters' sizes no argument could be checked.
        let signature = Signature::of(ptx, entry).map_err(refused)?;
        // Blanks at the end mean nothing, and need not be kept.
        let text = ptx.trim_ascii_end();
        let mut image = Vec::with_capacity(text.len().saturating_add(1));
        image.extend_from_slice(text);
        image.push(0);
        let name = CString::new(entry).ok();
        let Some((signature, name)) = signature.zip(name) else {
            // That it does not assemble comes first: without that there is nothing to look for a name in.
            self.assemble(&image)?;
            return Err(DeviceError::NoSuchEntry(entry.into()));
        };
        let kernel = CudaKernel {
            owner: self.clone(),
            image: image.into(),
            name,
            param_sizes: param_sizes(signature.params()),
            signature,
            loaded: Mutex::new(None),
        };
        kernel.function(&self.live()?)?;
        Ok(Arc::new(kernel))
    }

    fn alloc(&self, len_bytes: u64) -> Result<Arc<dyn Buffer>, DeviceError> {
        self.device.gpu.buffers.alloc(len_bytes)
    }

    fn sync(&self) -> Result<(), DeviceError> {
        // Launches return when their kernel has ended.
        Ok(())
    }
}

/// A context with what belongs to it alone.
#[derive(Debug)]
struct Live {
    context: OwnContext,
    stream: Stream,
    /// Held during a launch: one after the other.
    windows: Mutex<WindowMemory>,
}

impl Live {
    fn create(device: cust::sys::CUdevice) -> Result<Self, DeviceError> {
        let context = OwnContext::create(device)?;
        let mut stream = ptr::null_mut();
        let entered = context.enter()?;
        // SAFETY: `stream` is the place for a handle.
        let made = unsafe { driver::stream_create(&mut stream, BLOCKING) };
        drop(entered);
        made?;
        Ok(Self {
            context,
            stream: Stream(stream),
            windows: Mutex::new(WindowMemory::default()),
        })
    }
}

/// A stream that waits for the default one, in which copies and fills go.
const BLOCKING: u32 = 0;

/// The driver's handle of a stream, which ends with its context.
#[derive(Clone, Copy, Debug)]
struct Stream(CUstream);

// SAFETY: the driver allows a stream to be used on any thread.
unsafe impl Send for Stream {}
// SAFETY: as above.
unsafe impl Sync for Stream {}

/// Device memory for the windows of one launch, kept for the next.
#[derive(Debug, Default)]
struct WindowMemory {
    address: CUdeviceptr,
    len_bytes: u64,
}

impl WindowMemory {
    /// Makes room for so many bytes; the context is current.
    ///
    /// New memory is cleared first: a kernel may read beyond its windows as far as the allocation goes, and the driver promises nothing about what was
    /// there, be it another guest's.
    fn reserve(&mut self, len_bytes: u64) -> Result<CUdeviceptr, DriverError> {
        if len_bytes > self.len_bytes {
            self.release();
            let len_bytes = len_bytes.max(LEAST_WINDOW_BYTES);
            let bytes = usize::try_from(len_bytes)
                .map_err(|_| DriverError::unnamed("cuMemAlloc_v2", code::OUT_OF_MEMORY))?;
            // SAFETY: the field is the place for an address.
            unsafe { driver::mem_alloc(&mut self.address, bytes) }?;
            self.len_bytes = len_bytes;
            // SAFETY: all of the new allocation, and nothing else.
            let cleared = unsafe { driver::memset(self.address, 0, bytes) };
            if let Err(error) = cleared {
                self.release();
                return Err(error);
            }
        }
        Ok(self.address)
    }

    /// Gives back what is not worth keeping; the context is current.
    fn trim(&mut self) {
        if self.len_bytes > MOST_KEPT_BYTES {
            self.release();
        }
    }

    fn release(&mut self) {
        let address = self.address;
        if self.len_bytes > 0 {
            *self = Self::default();
            // SAFETY: the allocation is this one's, and no kernel runs.
            driver::release(|| unsafe { driver::mem_free(address) });
        }
    }
}

/// What the first launch with windows allocates at least.
const LEAST_WINDOW_BYTES: u64 = 1 << 16;
/// Beyond this, memory for windows is given back after the launch.
const MOST_KEPT_BYTES: u64 = 64 << 20;

/// A kernel of a guest. It outlives contexts: where the present one has no module of it, the module is loaded again.
#[derive(Debug)]
struct CudaKernel {
    owner: KernelContext,
    /// The PTX, with a zero at its end.
    image: Box<[u8]>,
    name: CString,
    signature: Signature,
    param_sizes: Box<[u32]>,
    loaded: Mutex<Option<Loaded>>,
}

/// A kernel in a context.
#[derive(Debug)]
struct Loaded {
    live: Arc<Live>,
    module: CUmodule,
    function: CUfunction,
    /// What launches have asked for so far.
    dynamic_shared_bytes: u32,
}

// SAFETY: the driver allows modules and functions to be used on any thread.
unsafe impl Send for Loaded {}

impl Loaded {
    /// Loads a module into a context.
    fn module(live: &Live, image: &[u8]) -> Result<CUmodule, DeviceError> {
        let entered = live.context.enter()?;
        let mut log = Log::default();
        let module = log.load(image);
        drop(entered);
        module.map_err(|error| {
            live.context.lose_if_broken(error);
            log.refusal(error)
        })
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // SAFETY: the module is this one's, and none of its kernels runs.
        self.live
            .context
            .release(|| unsafe { driver::module_unload(self.module) });
    }
}

impl CudaKernel {
    /// The kernel in `live`.
    fn function(&self, live: &Arc<Live>) -> Result<Function, DeviceError> {
        let mut loaded = self.loaded.lock();
        if let Some(loaded) = loaded
            .as_ref()
            .filter(|loaded| Arc::ptr_eq(&loaded.live, live))
        {
            return Ok(Function(loaded.function));
        }
        *loaded = None;
        let module = Loaded::module(live, &self.image)?;
        // Owned from here on: an error below unloads it.
        let mut made = Loaded {
            live: Arc::clone(live),
            module,
            function: ptr::null_mut(),
            dynamic_shared_bytes: 0,
        };
        let entered = live.context.enter()?;
        // SAFETY: `function` is the place for a handle, and the name ends with a zero.
        let found =
            unsafe { driver::module_function(&mut made.function, made.module, self.name.as_ptr()) };
        drop(entered);
        found.map_err(|error| {
            live.context.lose_if_broken(error);
            match error.code {
                code::NOT_FOUND => DeviceError::NoSuchEntry(self.name.to_string_lossy().into()),
                _ => error.into(),
            }
        })?;
        Ok(Function(loaded.insert(made).function))
    }

    /// Lets the kernel have so much dynamic shared memory. How much it may have without asking depends on how much it declares itself, which only the
    /// driver knows.
    fn allow_shared(&self, function: Function, bytes: u32) -> Result<(), Stop> {
        let mut loaded = self.loaded.lock();
        let Some(loaded) = loaded.as_mut() else {
            return Err(Stop::Never(UNLOADED));
        };
        if bytes <= loaded.dynamic_shared_bytes {
            return Ok(());
        }
        let value = i32::try_from(bytes).unwrap_or(i32::MAX);
        // SAFETY: the function is live; any value may be passed.
        unsafe { driver::function_set_attribute(function.0, MAX_DYNAMIC_SHARED_BYTES, value) }
            .map_err(Stop::Refused)?;
        loaded.dynamic_shared_bytes = bytes;
        Ok(())
    }

    /// Runs the kernel to its end; its context is current.
    fn run(
        &self,
        live: &Live,
        function: Function,
        shape: &Shape,
        args: &[Arg],
        memory: &mut [u8],
    ) -> Result<(), Stop> {
        let stream = live.stream.0;
        let watchdog = self.owner.device.watchdog;
        let mut windows = live.windows.lock();
        let layout = Layout::new(args);
        let base = windows.reserve(layout.len_bytes).map_err(Stop::Refused)?;
        let params = param_buffer(self.signature.params(), args, |window| {
            layout.address(base, window)
        })
        .map_err(Stop::Never)?;
        let mut pointers: Vec<*mut c_void> = Vec::with_capacity(args.len());
        for param in self.signature.params() {
            let at = usize::try_from(param.offset_bytes).map_err(|_| Stop::Never(BROKEN))?;
            let from = params.get(at..).ok_or(Stop::Never(BROKEN))?;
            pointers.push(from.as_ptr().cast_mut().cast());
        }
        self.allow_shared(function, shape.dynamic_shared_bytes)?;
        for piece in layout.pieces() {
            let bytes = guest_range(&piece.guest)
                .and_then(|range| memory.get(range))
                .ok_or(Stop::Never(BROKEN))?;
            // The source is not needed any more when the call returns, whatever kind of memory it is; the stream waits for what then is still under way.
            // SAFETY: the piece lies within what was reserved.
            unsafe {
                driver::copy_to_device(
                    base.saturating_add(piece.at),
                    bytes.as_ptr().cast(),
                    bytes.len(),
                )
            }
            .map_err(Stop::Refused)?;
        }
        let [grid, block] = [shape.grid, shape.block];
        let [grid_x, grid_y, grid_z] = grid;
        let [block_x, block_y, block_z] = block;
        // SAFETY: the pointers are to as many bytes as the kernel's parameters have, each of its size: the argument list was compared with them.
        let launched = unsafe {
            driver::launch(
                function.0,
                grid_x,
                grid_y,
                grid_z,
                block_x,
                block_y,
                block_z,
                shape.dynamic_shared_bytes,
                stream,
                pointers.as_mut_ptr(),
                ptr::null_mut(),
            )
        };
        launched.map_err(Stop::Refused)?;
        wait(stream, watchdog)?;
        for piece in layout.written(args, self.signature.written()) {
            let bytes = guest_range(&piece.guest)
                .and_then(|range| memory.get_mut(range))
                .ok_or(Stop::Never(BROKEN))?;
            // Nothing is outstanding, and this copy waits for itself: no watchdog may leave while a device writes to guest memory.
            // SAFETY: the piece lies within what was reserved, and the target is borrowed for writing.
            unsafe {
                driver::copy_from_device(
                    bytes.as_mut_ptr().cast(),
                    base.saturating_add(piece.at),
                    bytes.len(),
                )
            }
            .map_err(Stop::Failed)?;
        }
        windows.trim();
        Ok(())
    }
}

impl Kernel for CudaKernel {
    fn param_sizes(&self) -> &[u32] {
        &self.param_sizes
    }

    fn launch(&self, shape: &Shape, args: &[Arg], memory: &mut [u8]) -> Result<(), DeviceError> {
        let live = self.owner.live()?;
        let function = self.function(&live)?;
        let entered = live.context.enter()?;
        let outcome = self.run(&live, function, shape, args, memory);
        drop(entered);
        outcome.map_err(|stop| self.owner.stopped(&live, stop))
    }
}

/// Why a launch did not succeed.
enum Stop {
    /// It never reached the driver.
    Never(DeviceError),
    /// The driver did not take it.
    Refused(DriverError),
    /// It was taken, and something failed then.
    Failed(DriverError),
    /// It does not end.
    Endless,
}

const BROKEN: DeviceError =
    DeviceError::Internal("a window outside guest memory reached the device");
const UNLOADED: DeviceError = DeviceError::Internal("a kernel is launched that is not loaded");

/// Why a context with a kernel that does not end is given up, in the driver's terms.
const ENDLESS: DriverError = DriverError::unnamed("cuStreamQuery", code::NOT_READY);

fn guest_range(range: &std::ops::Range<u64>) -> Option<std::ops::Range<usize>> {
    Some(usize::try_from(range.start).ok()?..usize::try_from(range.end).ok()?)
}

/// Waits until a stream has nothing outstanding, or time is up.
///
/// It asks again and again, at first without a pause: the driver's own wait would have no end where a kernel has none.
fn wait(stream: CUstream, limit: Duration) -> Result<(), Stop> {
    let started = Instant::now();
    loop {
        // Read before the question: what ends while it is asked has ended in time.
        let waited = started.elapsed();
        // SAFETY: the stream is of the current context.
        match unsafe { driver::stream_query(stream) } {
            Ok(()) => return Ok(()),
            Err(error) if error.code == code::NOT_READY => {}
            Err(error) => return Err(Stop::Failed(error)),
        }
        if waited > limit {
            return Err(Stop::Endless);
        }
        if waited > WITHOUT_PAUSE {
            let pause = waited.checked_div(16).unwrap_or(LONGEST_PAUSE);
            std::thread::sleep(pause.min(LONGEST_PAUSE));
        } else {
            std::hint::spin_loop();
        }
    }
}

const WITHOUT_PAUSE: Duration = Duration::from_micros(500);
const LONGEST_PAUSE: Duration = Duration::from_millis(2);

/// The driver's handle of a kernel, while its module is loaded.
#[derive(Clone, Copy)]
struct Function(CUfunction);

/// The attribute's number.
const MAX_DYNAMIC_SHARED_BYTES: u32 = 8;

/// What the driver's assembler has to say.
struct Log {
    text: [u8; 1024],
}

impl Default for Log {
    fn default() -> Self {
        Self { text: [0; 1024] }
    }
}

impl Log {
    /// Loads a module into the current context.
    fn load(&mut self, image: &[u8]) -> Result<CUmodule, DriverError> {
        let mut module = ptr::null_mut();
        let mut options = [ERROR_LOG_BUFFER, ERROR_LOG_BUFFER_BYTES];
        let room = self.text.len().saturating_sub(1);
        let mut values = [
            self.text.as_mut_ptr().cast::<c_void>(),
            ptr::without_provenance_mut(room),
        ];
        // SAFETY: `module` is the place for a handle, the image ends with a zero, and the log's buffer is as long as it says.
        unsafe {
            driver::module_load(
                &mut module,
                image.as_ptr().cast(),
                2,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        }?;
        Ok(module)
    }

    /// Why a module could not be loaded.
    fn refusal(&self, error: DriverError) -> DeviceError {
        let end = self.text.iter().position(|byte| *byte == 0);
        let text = self.text.get(..end.unwrap_or(0)).unwrap_or_default();
        DeviceError::NotAssembled {
            error,
            log: String::from_utf8_lossy(text).trim().into(),
        }
    }
}

const ERROR_LOG_BUFFER: u32 = 5;
const ERROR_LOG_BUFFER_BYTES: u32 = 6;
