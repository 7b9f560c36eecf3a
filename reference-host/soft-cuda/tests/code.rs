//! Random calls about code, with good, wrong, old and made-up handles, by several threads at once.
//!
//! No call may crash, hang, or answer that something failed which has no code of its own: that is what a mistake inside comes out as.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that panics has failed"
)]

mod kernel;
mod own;

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::Mutex;

use kernel::KERNELS;
use own::{INVALID_HANDLE, INVALID_VALUE, call, fresh};
use soft_cuda::api::{
    context, copy, function, launch, library, link, memory, module, occupancy, primary,
};
use soft_cuda::{
    CUcontext, CUfunction, CUkernel, CUlibrary, CUlinkState, CUmodule, CUstream, Error,
};

/// Handles that calls gave, of all kinds and all threads; some are old.
static KNOWN: Mutex<Vec<usize>> = Mutex::new(Vec::new());

const NAMES: [&CStr; 10] = [
    c"nothing", c"add", c"count", c"store", c"trap", c"shared", c"few", c"counter", c"scale", c"",
];

struct Caller {
    state: u64,
    sources: Vec<CString>,
    answers: BTreeMap<u32, u64>,
}

impl Caller {
    /// A number that looks random and is the same each time.
    fn next(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).unwrap()
    }

    /// A handle: mostly one that was given, at times one that is near it, or none at all.
    fn handle(&mut self) -> usize {
        let (at, bit) = (self.below(64), self.below(64));
        let known = KNOWN.lock().unwrap().get(at).copied().unwrap_or(0);
        match self.below(16) {
            0 => usize::try_from(self.next()).unwrap(),
            1 => [0, 1, 2, usize::MAX][self.below(4)],
            2 => known ^ 1 << bit,
            3 => known.wrapping_add(16),
            _ => known,
        }
    }

    fn made(&mut self, code: u32, handle: usize) -> u32 {
        if code == 0 {
            let mut known = KNOWN.lock().unwrap();
            if known.len() < 64 {
                known.push(handle);
            } else {
                known[handle / 16 % 64] = handle;
            }
        }
        code
    }

    fn step(&mut self) {
        let code = self.one_call();
        assert_ne!(code, 999, "a mistake inside");
        assert!(code == 0 || Error::of(code).is_some(), "{code}");
        *self.answers.entry(code).or_default() += 1;
    }

    fn one_call(&mut self) -> u32 {
        let mut made = 0usize;
        let (mut number, mut size, mut address) = (0, 0usize, 0u64);
        let at = self.below(NAMES.len());
        let name = NAMES[at].as_ptr();
        let at = self.below(self.sources.len());
        let source: *const c_void = self.sources[at].as_ptr().cast();
        let (handle, small) = (self.handle(), self.below(20));
        let value = i32::try_from(small).unwrap() - 2;
        let small = small as u32;
        match self.below(40) {
            0..3 => {
                let code = call!(module::cuModuleLoadData((&raw mut made).cast(), source));
                self.made(code, made)
            }
            3 => call!(module::cuModuleUnload(CUmodule(handle))),
            4..8 => {
                let code = call!(module::cuModuleGetFunction(
                    (&raw mut made).cast(),
                    CUmodule(handle),
                    name
                ));
                self.made(code, made)
            }
            8 => call!(module::cuModuleGetGlobal_v2(
                &mut address,
                &mut size,
                CUmodule(handle),
                name
            )),
            9 => call!(module::cuModuleGetFunctionCount(
                &mut number,
                CUmodule(handle)
            )),
            10 => {
                let mut found = [CUfunction::default(); 4];
                call!(module::cuModuleEnumerateFunctions(
                    found.as_mut_ptr(),
                    small.min(4),
                    CUmodule(handle)
                ))
            }
            11 => call!(function::cuFuncGetAttribute(
                (&raw mut number).cast(),
                value,
                CUfunction(handle)
            )),
            12 => call!(function::cuFuncSetAttribute(
                CUfunction(handle),
                value,
                value * 1000
            )),
            13 => call!(function::cuFuncGetParamInfo(
                CUfunction(handle),
                small as usize,
                &mut size,
                null_mut()
            )),
            14 => call!(function::cuFuncGetModule(
                (&raw mut made).cast(),
                CUfunction(handle)
            )),
            15..20 => self.launch(handle),
            20..22 => {
                let code = call!(library::cuLibraryLoadData(
                    (&raw mut made).cast(),
                    source,
                    null_mut(),
                    null_mut(),
                    0,
                    null_mut(),
                    null_mut(),
                    0
                ));
                self.made(code, made)
            }
            22 => call!(library::cuLibraryUnload(CUlibrary(handle))),
            23..25 => {
                let code = call!(library::cuLibraryGetKernel(
                    (&raw mut made).cast(),
                    CUlibrary(handle),
                    name
                ));
                self.made(code, made)
            }
            25 => {
                let code = call!(library::cuLibraryGetModule(
                    (&raw mut made).cast(),
                    CUlibrary(handle)
                ));
                self.made(code, made)
            }
            26 => call!(library::cuLibraryGetGlobal(
                &mut address,
                &mut size,
                CUlibrary(handle),
                name
            )),
            27 => {
                let code = call!(library::cuKernelGetFunction(
                    (&raw mut made).cast(),
                    CUkernel(handle)
                ));
                self.made(code, made)
            }
            28 => call!(library::cuKernelSetAttribute(
                value,
                value * 1000,
                CUkernel(handle),
                0
            )),
            29 => call!(library::cuKernelGetAttribute(
                (&raw mut number).cast(),
                value,
                CUkernel(handle),
                0
            )),
            30 => {
                let code = call!(link::cuLinkCreate_v2(
                    0,
                    null_mut(),
                    null_mut(),
                    (&raw mut made).cast()
                ));
                self.made(code, made)
            }
            31..33 => call!(link::cuLinkAddData_v2(
                CUlinkState(handle),
                small % 8,
                source.cast_mut(),
                self.sources[at].as_bytes().len(),
                null(),
                0,
                null_mut(),
                null_mut()
            )),
            33 => {
                let mut image = null_mut();
                call!(link::cuLinkComplete(
                    CUlinkState(handle),
                    &mut image,
                    &mut size
                ))
            }
            34 => call!(link::cuLinkDestroy(CUlinkState(handle))),
            35 => call!(occupancy::cuOccupancyMaxPotentialBlockSize(
                (&raw mut number).cast(),
                (&raw mut size).cast::<c_int>(),
                CUfunction(handle),
                None,
                small as usize * 1000,
                value
            )),
            36 => call!(occupancy::cuOccupancyAvailableDynamicSMemPerBlock(
                &mut size,
                CUfunction(handle),
                value,
                value * 64
            )),
            37 => call!(context::cuCtxSynchronize()),
            _ => self.context_call(handle),
        }
    }

    /// A launch of whatever it is, with arguments that do for any kernel.
    fn launch(&mut self, handle: usize) -> u32 {
        let zero = [0u64; 4];
        let mut arguments = [kernel::argument(&zero); 8];
        let mut axis = || [0, 1, 1, 1, 1, 2, 64, 2048][self.below(8)];
        let (grid, block) = (axis(), axis());
        let stream = if self.below(8) == 0 { self.handle() } else { 0 };
        let shared = [0, 0, 0, 16, 1 << 17, u32::MAX][self.below(6)];
        call!(launch::cuLaunchKernel(
            CUfunction(handle),
            grid,
            1,
            1,
            block,
            1,
            1,
            shared,
            CUstream(stream),
            arguments.as_mut_ptr(),
            null_mut()
        ))
    }

    fn context_call(&mut self, handle: usize) -> u32 {
        let mut made = CUcontext::default();
        match self.below(16) {
            0 => call!(context::cuCtxDestroy_v2(CUcontext(handle))),
            1..5 => {
                let code = call!(context::cuCtxCreate_v2(&mut made, 0, 0));
                self.made(code, made.0)
            }
            5 => call!(context::cuCtxSetCurrent(CUcontext(handle))),
            6 => call!(context::cuCtxPushCurrent_v2(CUcontext(handle))),
            7 => call!(context::cuCtxPopCurrent_v2(&mut made)),
            8 | 9 => {
                let code = call!(primary::cuDevicePrimaryCtxRetain(&mut made, 0));
                self.made(code, made.0)
            }
            10 => call!(primary::cuDevicePrimaryCtxRelease_v2(0)),
            11 => call!(primary::cuDevicePrimaryCtxReset_v2(0)),
            12 => call!(context::cuCtxSetLimit(2, handle)),
            13 => {
                let mut address = 0;
                call!(memory::cuMemAlloc_v2(&mut address, 64))
            }
            14 => {
                let mut word = 0u32;
                let to = (&raw mut word).cast();
                call!(copy::cuMemcpyDtoH_v2(to, 0x4000_0000_0000, 4))
            }
            _ => call!(context::cuCtxGetCurrent(&mut made)),
        }
    }
}

#[test]
fn nothing_about_code_is_believed() {
    let steps: u64 =
        std::env::var("TEST_OF_SOFT_CUDA_STEPS").map_or(2_000, |steps| steps.parse().unwrap());
    let small = ".version 8.0\n.target sm_80\n.address_size 64\n.global .u32 counter;
        .visible .entry count() { .reg .b32 %r; atom.global.add.u32 %r, [counter], 1; }
        .visible .entry nothing() { ret; }";
    let sources = [
        KERNELS,
        small,
        small,
        ".version 8.0\n.target sm_80\nnonsense",
        "\u{7F}ELF",
        "",
    ];
    let answers: Vec<_> = std::thread::scope(|scope| {
        let start = |seed: u64| {
            let sources = sources.map(|source| CString::new(source).unwrap());
            scope.spawn(move || {
                fresh();
                let mut caller = Caller {
                    state: 0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(seed),
                    sources: sources.to_vec(),
                    answers: BTreeMap::new(),
                };
                for step in 0..steps {
                    caller.step();
                    // A thread whose context is gone or lost would only be refused from then on.
                    if step % 32 == 0 && call!(context::cuCtxSynchronize()) != 0 {
                        fresh();
                    }
                }
                caller.answers
            })
        };
        let started: Vec<_> = (1..=3).map(start).collect();
        let ended = started.into_iter().map(|thread| thread.join().unwrap());
        ended.collect()
    });
    for answers in answers {
        // Enough of it must have been right for the wrong to meet something.
        assert!(answers[&0] > steps / 20, "{answers:?}");
        assert!(answers[&INVALID_VALUE] > 0, "{answers:?}");
        assert!(answers[&INVALID_HANDLE] > 0, "{answers:?}");
    }
}
