mod alloc;
mod instances;
mod last_error;
mod launch;
mod load_ptx;
mod memcpy;

use super::*;
use crate::argv::Arg;
use crate::device::{Context, Device, DeviceError, Kernel, Shape};
use crate::host::Host;
use crate::sync::Arc;

/// A device without rules: takes any PTX, runs nothing, and fails on demand.
#[derive(Clone, Debug, Default)]
struct Fake {
    params: Vec<u32>,
    refuses: bool,
    allocates_on_write: bool,
}

#[derive(Debug)]
struct FakeKernel(Vec<u32>);

impl Device for Fake {
    fn allocates_on_write(&self) -> bool {
        self.allocates_on_write
    }

    fn context(&self) -> Arc<dyn Context> {
        Arc::new(self.clone())
    }
}

impl Context for Fake {
    fn load(&self, _: &[u8], entry: &str) -> Result<Arc<dyn Kernel>, DeviceError> {
        if self.refuses || entry == "missing" {
            return Err(DeviceError::NoSuchEntry(entry.into()));
        }
        Ok(Arc::new(FakeKernel(self.params.clone())))
    }

    fn alloc(&self, len_bytes: u64) -> Result<Arc<dyn Buffer>, DeviceError> {
        if self.refuses {
            return Err(DeviceError::OutOfMemory(len_bytes));
        }
        Ok(Arc::new(FakeBuffer(len_bytes)))
    }

    fn sync(&self) -> Result<(), DeviceError> {
        Ok(())
    }
}

impl Kernel for FakeKernel {
    fn param_sizes(&self) -> &[u32] {
        &self.0
    }

    fn launch(&self, _: &Shape, _: &[Arg], _: &mut [u8]) -> Result<(), DeviceError> {
        Ok(())
    }
}

#[derive(Debug)]
struct FakeBuffer(u64);

impl Buffer for FakeBuffer {
    fn len_bytes(&self) -> u64 {
        self.0
    }

    fn write(&self, _: &[u8]) -> Result<(), DeviceError> {
        Ok(())
    }

    fn read(&self, to: &mut [u8]) -> Result<(), DeviceError> {
        to.fill(0xaa);
        Ok(())
    }
}

const PAGE: usize = 65536;

/// One guest with one page of memory on a fake device.
struct Guest {
    instance: Instance,
    memory: Vec<u8>,
}

impl Guest {
    fn new(device: Fake) -> Self {
        Self::of(&Host::new(device))
    }

    fn of(host: &Arc<Host>) -> Self {
        Self {
            instance: host.instance(),
            memory: vec![0; PAGE],
        }
    }

    fn load(&mut self, ptx_ptr: i32, ptx_len: i32, entry_ptr: i32, entry_len: i32) -> i64 {
        load_ptx(
            &mut self.instance,
            Some(&mut self.memory),
            ptx_ptr,
            ptx_len,
            entry_ptr,
            entry_len,
        )
    }

    fn launch(&mut self, args: LaunchArgs) -> i32 {
        launch(&mut self.instance, Some(&mut self.memory), args)
    }

    fn alloc(&mut self, size_bytes: u64) -> i64 {
        let size = size_bytes.cast_signed();
        alloc(&mut self.instance, size as i32, (size >> 32) as i32)
    }

    fn free(&mut self, handle: i64) -> i32 {
        free(&mut self.instance, handle as i32, (handle >> 32) as i32)
    }

    fn h2d(&mut self, handle: i64, src_ptr: i32, len: i32) -> i32 {
        memcpy_h2d(
            &mut self.instance,
            Some(&mut self.memory),
            handle as i32,
            (handle >> 32) as i32,
            src_ptr,
            len,
        )
    }

    fn d2h(&mut self, dst_ptr: i32, handle: i64, len: i32) -> i32 {
        memcpy_d2h(
            &mut self.instance,
            Some(&mut self.memory),
            dst_ptr,
            handle as i32,
            (handle >> 32) as i32,
            len,
        )
    }
}

/// A launch of one thread without arguments.
fn one_thread(kernel_id: i64) -> LaunchArgs {
    LaunchArgs {
        kernel_id,
        grid: [1; 3],
        block: [1; 3],
        shared_mem: 0,
        args_ptr: 0,
        args_len: 0,
    }
}

const OVER: i64 = AbiError::QuotaExceeded.code() as i64;
