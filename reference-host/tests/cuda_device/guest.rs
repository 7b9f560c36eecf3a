//! A guest: an instance, a memory, and the calls that they lead to.

use std::sync::Arc;

use wasi_cuda_host::argv::{Arg, Window, encode};
use wasi_cuda_host::calls::{self, LaunchArgs};
use wasi_cuda_host::device::{CudaDevice, DeviceError};

use wasi_cuda_host::{Error, Host, Instance};

pub(crate) struct Guest {
    pub(crate) instance: Instance,
    pub(crate) memory: Vec<u8>,
}

/// The host that the tests of this program share.
pub(crate) fn host() -> Arc<Host> {
    let device = CudaDevice::open(0).unwrap_or_else(|absence| panic!("{absence}"));
    Host::new(device)
}

/// A window's argument.
pub(crate) fn window(offset: usize, len: usize) -> Arg {
    Arg::Ptr(Window {
        offset: offset as u32,
        len: len as u32,
    })
}

impl Guest {
    pub(crate) fn new(host: &Arc<Host>) -> Self {
        Self {
            instance: host.instance(),
            memory: vec![0; MEMORY_BYTES],
        }
    }

    /// Loads a kernel; fails the test if that fails.
    pub(crate) fn kernel(&mut self, ptx: &str, entry: &str) -> i64 {
        let id = self.load(ptx.as_bytes(), entry.as_bytes());
        assert!(id > 0, "{entry}: {id} {}", self.words());
        id
    }

    pub(crate) fn load(&mut self, image: &[u8], entry: &[u8]) -> i64 {
        let [image_at, image_len] = [TEXT_AT, image.len()];
        self.memory[image_at..][..image_len].copy_from_slice(image);
        self.memory[ARGS_AT..][..entry.len()].copy_from_slice(entry);
        calls::load_ptx(
            &mut self.instance,
            Some(&mut self.memory),
            image_at as i32,
            image_len as i32,
            ARGS_AT as i32,
            entry.len() as i32,
        )
    }

    /// Launches one block of `threads`.
    pub(crate) fn launch(&mut self, kernel: i64, threads: i32, args: &[Arg]) -> i32 {
        self.launch_as(kernel, [1; 3], [threads, 1, 1], 0, args)
    }

    pub(crate) fn launch_as(
        &mut self,
        kernel_id: i64,
        grid: [i32; 3],
        block: [i32; 3],
        shared_mem: i32,
        args: &[Arg],
    ) -> i32 {
        let mut bytes = Vec::new();
        args.iter().for_each(|arg| encode(*arg, &mut bytes));
        self.memory[ARGS_AT..][..bytes.len()].copy_from_slice(&bytes);
        let args = LaunchArgs {
            kernel_id,
            grid,
            block,
            shared_mem,
            args_ptr: ARGS_AT as i32,
            args_len: bytes.len() as i32,
        };
        calls::launch(&mut self.instance, Some(&mut self.memory), args)
    }

    pub(crate) fn sync(&mut self) -> i32 {
        calls::sync(&mut self.instance)
    }

    pub(crate) fn alloc(&mut self, bytes: usize) -> i64 {
        calls::alloc(&mut self.instance, bytes as i32, 0)
    }

    pub(crate) fn free(&mut self, handle: i64) -> i32 {
        let (lo, hi) = halves(handle);
        calls::free(&mut self.instance, lo, hi)
    }

    /// A buffer that holds `bytes`.
    pub(crate) fn buffer(&mut self, bytes: &[u8]) -> i64 {
        let handle = self.alloc(bytes.len());
        assert!(handle > 0, "{handle} {}", self.words());
        assert_eq!(self.write(handle, bytes), 0, "{}", self.words());
        handle
    }

    pub(crate) fn write(&mut self, handle: i64, bytes: &[u8]) -> i32 {
        self.memory[COPY_AT..][..bytes.len()].copy_from_slice(bytes);
        let (lo, hi) = halves(handle);
        calls::memcpy_h2d(
            &mut self.instance,
            Some(&mut self.memory),
            lo,
            hi,
            COPY_AT as i32,
            bytes.len() as i32,
        )
    }

    pub(crate) fn read(&mut self, handle: i64, len: usize) -> Result<Vec<u8>, i32> {
        let (lo, hi) = halves(handle);
        let code = calls::memcpy_d2h(
            &mut self.instance,
            Some(&mut self.memory),
            COPY_AT as i32,
            lo,
            hi,
            len as i32,
        );
        match code {
            0 => Ok(self.memory[COPY_AT..][..len].to_vec()),
            code => Err(code),
        }
    }

    pub(crate) fn put(&mut self, at: usize, words: &[u32]) {
        for (word, value) in words.iter().enumerate() {
            self.memory[at + 4 * word..][..4].copy_from_slice(&value.to_le_bytes());
        }
    }

    pub(crate) fn word(&self, at: usize) -> u32 {
        u32::from_le_bytes(*self.memory[at..].first_chunk().expect("a word"))
    }

    /// What the device found wrong last.
    pub(crate) fn error(&self) -> Option<&DeviceError> {
        match self.instance.last_error() {
            Some(Error::Device(error)) => Some(error),
            _ => None,
        }
    }

    pub(crate) fn words(&self) -> String {
        self.instance.last_error_text().to_owned()
    }
}

fn halves(handle: i64) -> (i32, i32) {
    (handle as i32, (handle >> 32) as i32)
}

/// Two pages.
pub(crate) const MEMORY_BYTES: usize = 2 << 16;

// The first 48 KiB are the tests' own, and so is the second page from its middle on.
const COPY_AT: usize = 48 << 10;
const TEXT_AT: usize = 64 << 10;
const ARGS_AT: usize = 56 << 10;

/// The head of a PTX module.
pub(crate) const HEAD: &str = ".version 7.0\n.target sm_70\n.address_size 64\n";

/// A module with one kernel.
pub(crate) fn module(params: &str, body: &str) -> String {
    format!(
        "{HEAD}.visible .entry k({params})
{{
.reg .pred %p;
.reg .b32 %r<9>;
.reg .b64 %d<9>;
{body}
ret;
}}
"
    )
}

/// A kernel `k` of one window, into whose first word it writes 42.
pub(crate) fn answer() -> String {
    module(
        ".param .u64 to",
        "ld.param.u64 %d1, [to];\nst.global.u32 [%d1], 42;",
    )
}
