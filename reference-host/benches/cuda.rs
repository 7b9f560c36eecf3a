//! What the ABI costs on a CUDA device, next to the driver calls that it comes down to: `cargo bench -p wasi-cuda-host --features cuda --bench cuda`.
//!
//! Every round does the same work by the driver alone and through the ABI, one after the other. The figures are those of the fastest rounds; the
//! ratio is between them. `--json FILE` writes the figures for programs.

#![allow(clippy::print_stdout, reason = "the table is the product")]
#![allow(unsafe_code, reason = "the baseline is the driver's own functions")]

use std::error::Error;
use std::ffi::c_void;
use std::fmt::Write;
use std::ptr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cust::context::Context;
use cust::error::CudaError;
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use cust::sys;
use wasi_cuda_host::argv::{Arg, Window, encode};
use wasi_cuda_host::calls::{self, LaunchArgs};
use wasi_cuda_host::device::CudaDevice;
use wasi_cuda_host::{Host, Instance};

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let mut json = None;
    // Without `--bench` this is a test run: everything once, nothing measured.
    let mut effort = Effort::SMOKE;
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--bench" => effort = Effort::FULL,
            "--json" => json = Some(args.next().ok_or("--json needs a file")?),
            _ => return Err(format!("{arg}: write --bench, --json FILE or both").into()),
        }
    }
    let device = CudaDevice::open(0)?;
    let (name, memory_bytes) = device.describe()?;
    let gpu = cust::device::Device::get_device(0)?;
    // Current during all of the baseline's calls; the host's own contexts come and go above it.
    let _context = Context::new(gpu)?;
    let mut bench = Bench {
        guest: Guest::new(&Host::new(device)),
        raw: Raw::new(effort.copy_bytes)?,
        effort,
    };
    println!("{name}, {} MiB\n", memory_bytes >> 20);
    println!("{:34} {:>12} {:>12} {:>8}", "", "driver", "ABI", "ratio");
    let rows = [
        bench.copy_in()?,
        bench.copy_out()?,
        bench.launch()?,
        bench.window()?,
        bench.alloc()?,
    ];
    for row in &rows {
        println!("{row}");
    }
    if let Some(file) = json {
        let mut text = String::new();
        write!(
            text,
            "{{\"device\":{name:?},\"memory_bytes\":{memory_bytes},\"rows\":["
        )?;
        for (index, row) in rows.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            write!(
                text,
                "{comma}{{\"name\":{:?},\"driver_ns\":{},\"abi_ns\":{},\"ratio\":{:.4}}}",
                row.name,
                row.driver.as_nanos(),
                row.abi.as_nanos(),
                row.ratio()
            )?;
        }
        text.push_str("]}\n");
        std::fs::write(file, text)?;
    }
    Ok(())
}

#[derive(Clone, Copy)]
struct Effort {
    rounds: usize,
    copy_bytes: usize,
}

impl Effort {
    const FULL: Self = Self {
        rounds: 200,
        copy_bytes: 64 << 20,
    };
    const SMOKE: Self = Self {
        rounds: 1,
        copy_bytes: 64 << 10,
    };
}

/// One figure of the table.
struct Row {
    name: &'static str,
    bytes: usize,
    driver: Duration,
    abi: Duration,
}

impl Row {
    fn ratio(&self) -> f64 {
        self.abi.as_secs_f64() / self.driver.as_secs_f64()
    }
}

impl std::fmt::Display for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let show = |time: Duration| match self.bytes {
            0 => format!("{:.2} us", time.as_secs_f64() * 1e6),
            bytes => format!("{:.2} GB/s", bytes as f64 / time.as_secs_f64() / 1e9),
        };
        let (driver, abi) = (show(self.driver), show(self.abi));
        write!(
            f,
            "{:34} {driver:>12} {abi:>12} {:>7.2}x",
            self.name,
            self.ratio()
        )
    }
}

struct Bench {
    guest: Guest,
    raw: Raw,
    effort: Effort,
}

impl Bench {
    fn copy_in(&mut self) -> Result<Row, Box<dyn Error>> {
        let bytes = self.effort.copy_bytes;
        let handle = self.guest.alloc(bytes)?;
        let Self { guest, raw, effort } = self;
        let (driver, abi) = alternate(
            effort.rounds,
            || {
                // SAFETY: source and target have as many bytes.
                code(unsafe { sys::cuMemcpyHtoD_v2(raw.buffer, raw.host.as_ptr().cast(), bytes) })
            },
            || guest.copy(handle, bytes, Direction::In),
        )?;
        guest.free(handle)?;
        Ok(Row {
            name: "memcpy_h2d of 64 MiB",
            bytes,
            driver,
            abi,
        })
    }

    fn copy_out(&mut self) -> Result<Row, Box<dyn Error>> {
        let bytes = self.effort.copy_bytes;
        let handle = self.guest.alloc(bytes)?;
        // Both read what was copied in.
        self.guest.copy(handle, bytes, Direction::In)?;
        let Self { guest, raw, effort } = self;
        let (driver, abi) = alternate(
            effort.rounds,
            || {
                // SAFETY: source and target have as many bytes.
                code(unsafe {
                    sys::cuMemcpyDtoH_v2(raw.host.as_mut_ptr().cast(), raw.buffer, bytes)
                })
            },
            || guest.copy(handle, bytes, Direction::Out),
        )?;
        guest.free(handle)?;
        Ok(Row {
            name: "memcpy_d2h of 64 MiB",
            bytes,
            driver,
            abi,
        })
    }

    fn launch(&mut self) -> Result<Row, Box<dyn Error>> {
        let kernel = self.guest.load("nothing")?;
        let Self { guest, raw, effort } = self;
        let function = raw.module.get_function("nothing")?;
        let (driver, abi) = alternate(
            effort.rounds * MANY,
            || {
                // SAFETY: the kernel has no parameters.
                unsafe { raw.stream.launch(&function, 1, 1, 0, &[]) }?;
                raw.stream.synchronize()
            },
            || {
                guest.launch(kernel, &[])?;
                guest.sync()
            },
        )?;
        Ok(Row {
            name: "launch and sync, empty kernel",
            bytes: 0,
            driver,
            abi,
        })
    }

    fn window(&mut self) -> Result<Row, Box<dyn Error>> {
        let kernel = self.guest.load("increment")?;
        let Self { guest, raw, effort } = self;
        let function = raw.module.get_function("increment")?;
        let mut address = raw.buffer;
        let params = [ptr::from_mut(&mut address).cast::<c_void>()];
        let stream = raw.stream.as_inner();
        let target = raw.host.as_mut_ptr().cast::<c_void>();
        let source = target.cast_const();
        let (driver, abi) = alternate(
            effort.rounds * MANY,
            || {
                // SAFETY: the buffer and the host's memory are longer than the window; the kernel's parameter is its address.
                unsafe {
                    code(sys::cuMemcpyHtoDAsync_v2(
                        address,
                        source,
                        WINDOW_BYTES,
                        stream,
                    ))?;
                    raw.stream.launch(&function, 1, 32, 0, &params)?;
                    code(sys::cuMemcpyDtoHAsync_v2(
                        raw.host.as_mut_ptr().cast(),
                        address,
                        WINDOW_BYTES,
                        stream,
                    ))?;
                }
                raw.stream.synchronize()
            },
            || {
                let window = Window {
                    offset: 0,
                    len: WINDOW_BYTES as u32,
                };
                guest.launch(kernel, &[Arg::Ptr(window)])?;
                guest.sync()
            },
        )?;
        Ok(Row {
            name: "launch with a window of 64 KiB",
            bytes: 0,
            driver,
            abi,
        })
    }

    fn alloc(&mut self) -> Result<Row, Box<dyn Error>> {
        let Self { guest, effort, .. } = self;
        let (driver, abi) = alternate(
            effort.rounds * MANY,
            || {
                let mut address = 0;
                // SAFETY: `address` is the place for an address, and all of the allocation is cleared.
                unsafe {
                    code(sys::cuMemAlloc_v2(&mut address, 4096))?;
                    code(sys::cuMemsetD8_v2(address, 0, 4096))?;
                    code(sys::cuMemFree_v2(address))
                }
            },
            || {
                let handle = guest.alloc(4096)?;
                guest.free(handle)
            },
        )?;
        Ok(Row {
            name: "alloc and free of 4 KiB",
            bytes: 0,
            driver,
            abi,
        })
    }
}

/// How many more rounds small work gets.
const MANY: usize = 20;
const WINDOW_BYTES: usize = 64 << 10;

/// The fastest of `rounds` rounds of each.
fn alternate<E: Error + 'static>(
    rounds: usize,
    mut driver: impl FnMut() -> Result<(), E>,
    mut abi: impl FnMut() -> Result<(), Box<dyn Error>>,
) -> Result<(Duration, Duration), Box<dyn Error>> {
    let mut best = [Duration::MAX; 2];
    for _ in 0..rounds {
        let start = Instant::now();
        driver()?;
        let between = Instant::now();
        abi()?;
        best[0] = best[0].min(between - start);
        best[1] = best[1].min(between.elapsed());
    }
    Ok((best[0], best[1]))
}

/// A driver function's answer.
fn code(code: sys::CUresult) -> Result<(), CudaError> {
    match code {
        sys::cudaError_enum::CUDA_SUCCESS => Ok(()),
        _ => Err(CudaError::UnknownError),
    }
}

/// What the baseline works with.
struct Raw {
    module: Module,
    stream: Stream,
    buffer: sys::CUdeviceptr,
    host: Vec<u8>,
}

impl Raw {
    fn new(bytes: usize) -> Result<Self, Box<dyn Error>> {
        let mut buffer = 0;
        // SAFETY: `buffer` is the place for an address.
        code(unsafe { sys::cuMemAlloc_v2(&mut buffer, bytes) })?;
        Ok(Self {
            module: Module::from_ptx(PTX, &[])?,
            stream: Stream::new(StreamFlags::NON_BLOCKING, None)?,
            buffer,
            host: vec![1; bytes],
        })
    }
}

/// `nothing` does nothing, `increment` changes a word of its window for each thread.
const PTX: &str = "
.version 7.0
.target sm_70
.address_size 64

.visible .entry nothing()
{
    ret;
}

.visible .entry increment(.param .u64 window)
{
    .reg .b32 %word, %thread;
    .reg .b64 %at, %offset;
    ld.param.u64 %at, [window];
    mov.u32 %thread, %tid.x;
    mul.wide.u32 %offset, %thread, 4;
    add.s64 %at, %at, %offset;
    ld.global.u32 %word, [%at];
    add.u32 %word, %word, 1;
    st.global.u32 [%at], %word;
    ret;
}
";

enum Direction {
    In,
    Out,
}

/// One guest, with 80 MiB of memory.
struct Guest {
    instance: Instance,
    memory: Vec<u8>,
}

impl Guest {
    fn new(host: &Arc<Host>) -> Self {
        Self {
            instance: host.instance(),
            memory: vec![1; 80 << 20],
        }
    }

    fn check(&self, what: &str, code: i64) -> Result<i64, Box<dyn Error>> {
        if code < 0 {
            return Err(
                format!("{what} answers {code}: {}", self.instance.last_error_text()).into(),
            );
        }
        Ok(code)
    }

    fn load(&mut self, entry: &str) -> Result<i64, Box<dyn Error>> {
        self.memory[TEXT_AT..TEXT_AT + PTX.len()].copy_from_slice(PTX.as_bytes());
        self.memory[ARGS_AT..ARGS_AT + entry.len()].copy_from_slice(entry.as_bytes());
        let [ptx_at, ptx_len] = [TEXT_AT, PTX.len()].map(|value| value as i32);
        let [entry_at, entry_len] = [ARGS_AT, entry.len()].map(|value| value as i32);
        let memory = Some(&mut *self.memory);
        let id = calls::load_ptx(
            &mut self.instance,
            memory,
            ptx_at,
            ptx_len,
            entry_at,
            entry_len,
        );
        self.check("load_ptx", id)
    }

    fn launch(&mut self, kernel_id: i64, args: &[Arg]) -> Result<(), Box<dyn Error>> {
        let mut bytes = Vec::new();
        args.iter().for_each(|arg| encode(*arg, &mut bytes));
        self.memory[ARGS_AT..ARGS_AT + bytes.len()].copy_from_slice(&bytes);
        let args = LaunchArgs {
            kernel_id,
            grid: [1, 1, 1],
            block: [32, 1, 1],
            shared_mem: 0,
            args_ptr: ARGS_AT as i32,
            args_len: bytes.len() as i32,
        };
        let code = calls::launch(&mut self.instance, Some(&mut self.memory), args);
        self.check("launch", code.into()).map(drop)
    }

    fn sync(&mut self) -> Result<(), Box<dyn Error>> {
        let code = calls::sync(&mut self.instance);
        self.check("sync", code.into()).map(drop)
    }

    fn alloc(&mut self, bytes: usize) -> Result<i64, Box<dyn Error>> {
        let handle = calls::alloc(&mut self.instance, bytes as i32, 0);
        self.check("alloc", handle)
    }

    fn free(&mut self, handle: i64) -> Result<(), Box<dyn Error>> {
        let code = calls::free(&mut self.instance, handle as i32, (handle >> 32) as i32);
        self.check("free", code.into()).map(drop)
    }

    fn copy(
        &mut self,
        handle: i64,
        bytes: usize,
        direction: Direction,
    ) -> Result<(), Box<dyn Error>> {
        let (lo, hi, bytes) = (handle as i32, (handle >> 32) as i32, bytes as i32);
        let memory = Some(&mut *self.memory);
        let code = match direction {
            Direction::In => calls::memcpy_h2d(&mut self.instance, memory, lo, hi, 0, bytes),
            Direction::Out => calls::memcpy_d2h(&mut self.instance, memory, 0, lo, hi, bytes),
        };
        self.check("memcpy", code.into()).map(drop)
    }
}

const TEXT_AT: usize = 72 << 20;
const ARGS_AT: usize = 76 << 20;
