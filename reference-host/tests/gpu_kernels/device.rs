//! A small host over `cust`: modules from the fixtures, buffers, launches.

use std::cell::OnceCell;
use std::ffi::{CString, c_void};
use std::path::{Path, PathBuf};

use cust::context::Context;
use cust::error::CudaResult;
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use wasi_cuda_host::device::CudaDevice;

pub(crate) use crate::values::{Arg, Random, Shape, Value, assert_same, bits32, bytes_of};

/// One build of one file of kernels.
pub(crate) struct Kernels {
    module: Module,
    stream: Stream,
    /// `scan.ptx` or `scan.debug.ptx`, for messages.
    pub(crate) file: String,
    pub(crate) debug: bool,
}

/// Both builds that nvcc made of one `.cu` file.
pub(crate) fn builds(name: &str) -> [Kernels; 2] {
    [
        release(name),
        Kernels::load(format!("{name}.debug.ptx"), true),
    ]
}

/// One build alone: the release build for `scan`, another one for `scan.nvrtc`.
pub(crate) fn release(name: &str) -> Kernels {
    Kernels::load(format!("{name}.ptx"), false)
}

impl Kernels {
    fn load(file: String, debug: bool) -> Self {
        enter();
        let path = fixtures().join(&file);
        let source = std::fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let module =
            Module::from_ptx(source, &[]).unwrap_or_else(|error| panic!("{file}: {error}"));
        let stream = Stream::new(StreamFlags::NON_BLOCKING, None)
            .unwrap_or_else(|error| panic!("a stream: {error}"));
        Self {
            module,
            stream,
            file,
            debug,
        }
    }

    /// Writes a `.const` or `.global` variable from its first byte on.
    pub(crate) fn set<T: Value>(&mut self, variable: &str, values: &[T]) {
        let name = CString::new(variable).expect("a name without a zero");
        let bytes = bytes_of(values);
        // `cust` takes a variable for a value of a type, whose size must be the variable's.
        macro_rules! copy {
            ($($len:literal)*) => {
                match bytes.len() {
                    $($len => self.module.get_global::<[u8; $len]>(&name).and_then(|mut symbol| {
                        symbol.copy_from(bytes.first_chunk().expect("as long as matched"))
                    }),)*
                    len => panic!("{variable}: a size of {len} bytes to be listed here"),
                }
            };
        }
        copy!(16 36 48 100 256)
            .unwrap_or_else(|error| panic!("{}: {variable}: {error}", self.file));
    }

    /// Runs one kernel to its end; a failure fails the test.
    pub(crate) fn run(&mut self, entry: &str, shape: Shape, args: &mut [Arg]) {
        if let Err(error) = self.launch(entry, shape, args) {
            panic!("{} {entry} {shape:?}: {error}", self.file);
        }
    }

    fn launch(&mut self, entry: &str, shape: Shape, args: &mut [Arg]) -> CudaResult<()> {
        let function = self.module.get_function(entry)?;
        let mut buffers = Vec::new();
        // A pointer's or a value's bytes, each in an allocation that is as aligned as any parameter.
        let mut values: Vec<Vec<u128>> = Vec::new();
        for arg in &*args {
            values.push(match arg {
                Arg::Buffer(bytes) => {
                    let buffer = DeviceBuffer::from_slice(bytes)?;
                    let address = buffer.as_device_ptr().as_raw();
                    buffers.push(Some(buffer));
                    vec![address.into()]
                }
                Arg::Value(bytes) => {
                    buffers.push(None);
                    aligned(bytes)
                }
            });
        }
        let params: Vec<*mut c_void> = values
            .iter_mut()
            .map(|value| value.as_mut_ptr().cast())
            .collect();
        let [x, y, z] = shape.grid;
        let [bx, by, bz] = shape.block;
        // SAFETY: the parameters are those of the kernel, as its reference in plain Rust has them.
        unsafe {
            self.stream.launch(
                &function,
                (x, y, z),
                (bx, by, bz),
                shape.dynamic_shared_bytes,
                &params,
            )?;
        }
        self.stream.synchronize()?;
        for (arg, buffer) in args.iter_mut().zip(&buffers) {
            if let (Arg::Buffer(bytes), Some(buffer)) = (arg, buffer) {
                buffer.copy_to(&mut bytes[..])?;
            }
        }
        Ok(())
    }
}

/// The same bytes where any type may start.
fn aligned(bytes: &[u8]) -> Vec<u128> {
    bytes
        .chunks(16)
        .map(|chunk| {
            let mut word = [0; 16];
            word[..chunk.len()].copy_from_slice(chunk);
            u128::from_ne_bytes(word)
        })
        .collect()
}

/// Makes the device's primary context current on this thread.
fn enter() {
    thread_local! {
        static CONTEXT: OnceCell<Context> = const { OnceCell::new() };
    }
    CONTEXT.with(|context| {
        context.get_or_init(|| {
            // The host finds the driver's functions, for `cust` too.
            CudaDevice::open(0).unwrap_or_else(|absence| panic!("{absence}"));
            let device =
                cust::device::Device::get_device(0).unwrap_or_else(|error| panic!("{error}"));
            Context::new(device).unwrap_or_else(|error| panic!("a context: {error}"))
        });
    });
}

/// Where the kernels are: beside this source, or where the environment says, on a machine without it.
fn fixtures() -> PathBuf {
    match std::env::var_os("WASI_CUDA_FIXTURES") {
        Some(folder) => Path::new(&folder).join("kernels"),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/kernels"),
    }
}
