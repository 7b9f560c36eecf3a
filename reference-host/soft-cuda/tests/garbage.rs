//! Random calls with good, wrong, old and made-up handles and addresses, by several threads at once.
//!
//! No call may crash, hang, or answer that something failed which has no code of its own: that is what a mistake inside comes out as.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that panics has failed"
)]

mod own;

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use own::*;
use soft_cuda::api::graph_node::others;
use soft_cuda::api::graph_params::*;
use soft_cuda::api::managed::CUmemLocation;
use soft_cuda::api::rows::{CUDA_MEMCPY2D, CUDA_MEMCPY3D};
use soft_cuda::api::*;
use soft_cuda::*;

/// Numbers that look random and are the same each time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len() as u64) as usize]
    }
}

/// Handles and addresses that calls gave, of all kinds and all threads; some are old.
static KNOWN: Mutex<Vec<u64>> = Mutex::new(Vec::new());
static CALLED: AtomicU64 = AtomicU64::new(0);

unsafe extern "C" fn count(_data: *mut c_void) {
    CALLED.fetch_add(1, Ordering::Relaxed);
}

unsafe extern "C" fn count_result(_stream: CUstream, _result: u32, _data: *mut c_void) {
    CALLED.fetch_add(1, Ordering::Relaxed);
}

fn remember(value: u64) {
    let mut known = KNOWN.lock().unwrap();
    if known.len() >= 256 {
        let at = value as usize / 16 % 256;
        known[at] = value;
    } else {
        known.push(value);
    }
}

struct Caller {
    random: Random,
    buffer: &'static mut [u8],
    answers: BTreeMap<u32, u64>,
}

impl Caller {
    /// A handle or an address: mostly one that was given, at times one that is near it, or none at all.
    fn value(&mut self) -> u64 {
        let known = {
            let known = KNOWN.lock().unwrap();
            let at = self.random.below(known.len().max(1) as u64) as usize;
            known.get(at).copied().unwrap_or_default()
        };
        match self.random.below(16) {
            0 => self.random.next(),
            1 => self.random.of(&[0, 1, 2, 3, u64::MAX, 4096, 1 << 63]),
            2 => known ^ 1 << self.random.below(64),
            3 => known.wrapping_add(self.random.of(&[1, 2, 4, 16, 512, u64::MAX])),
            _ => known,
        }
    }

    fn handle(&mut self) -> usize {
        self.value() as usize
    }

    fn size(&mut self) -> usize {
        self.random.of(&[
            0,
            1,
            2,
            3,
            4,
            4,
            8,
            16,
            16,
            31,
            64,
            4096,
            1 << 16,
            usize::MAX,
            usize::MAX / 2,
            1 << 40,
        ])
    }

    fn small(&mut self) -> u32 {
        self.random
            .of(&[0, 0, 0, 1, 1, 2, 3, 4, 5, 8, 31, u32::MAX])
    }

    /// Memory of the program's that is good for any size that is not refused: small ones only.
    fn host(&mut self, bytes: usize) -> *mut c_void {
        if bytes > self.buffer.len() || self.random.below(8) == 0 {
            return self
                .random
                .of(&[0usize, 0x1100_0000_0000, 0x2000_0000_0000])
                as *mut c_void;
        }
        self.buffer.as_mut_ptr().cast()
    }

    fn made(&mut self, code: u32, value: u64) -> u32 {
        if code == 0 {
            remember(value);
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
        let mut out = 0u64;
        let mut outs = [0usize; 4];
        let (value, other, size, small) = (self.value(), self.value(), self.size(), self.small());
        let handle = value as usize;
        let stream = CUstream(if small == 0 { 0 } else { self.handle() });
        let host = self.host(size);
        match self.random.below(66) {
            0 | 1 => {
                let code = call!(memory::cuMemAlloc_v2(&mut out, size));
                self.made(code, out)
            }
            2 => call!(memory::cuMemFree_v2(value)),
            3 => {
                let code = call!(memory::cuMemAllocAsync(&mut out, size, stream));
                self.made(code, out)
            }
            4 => call!(memory::cuMemFreeAsync(value, stream)),
            5 => call!(copy::cuMemcpyHtoD_v2(value, host, size)),
            6 => call!(copy::cuMemcpyDtoH_v2(host, value, size)),
            7 => call!(copy::cuMemcpyDtoD_v2(value, other, size)),
            8 => call!(copy::cuMemcpyHtoDAsync_v2(value, host, size, stream)),
            9 => call!(copy::cuMemcpyDtoHAsync_v2(host, value, size, stream)),
            10 => call!(copy::cuMemcpyDtoDAsync_v2(value, other, size, stream)),
            11 => call!(fill::cuMemsetD8_v2(value, 3, size)),
            12 => call!(fill::cuMemsetD32Async(value, small, size, stream)),
            13 => call!(fill::cuMemsetD2D16Async(
                value,
                size,
                7,
                size,
                small as usize,
                stream
            )),
            14 => call!(memory::cuMemGetAddressRange_v2(
                &mut out,
                &mut outs[0],
                value
            )),
            15 => call!(memory::cuMemGetInfo_v2(&mut outs[0], &mut outs[1])),
            16 => {
                let mut made = std::ptr::null_mut();
                let size = size.min(1 << 16);
                let code = call!(host_memory::cuMemHostAlloc(&mut made, size, small));
                self.made(code, made as u64)
            }
            17 => call!(host_memory::cuMemFreeHost(handle as *mut c_void)),
            18 => {
                let at = self
                    .buffer
                    .as_mut_ptr()
                    .wrapping_add(self.random.below(64) as usize);
                let code = call!(host_memory::cuMemHostRegister_v2(
                    at.cast(),
                    size.min(512),
                    small
                ));
                self.made(code, at as u64)
            }
            19 => call!(host_memory::cuMemHostUnregister(handle as *mut c_void)),
            20 => call!(host_memory::cuMemHostGetDevicePointer_v2(
                &mut out,
                handle as *mut c_void,
                0
            )),
            21 => call!(host_memory::cuMemHostGetFlags(
                (&raw mut out).cast(),
                handle as *mut c_void
            )),
            22 => {
                let code = call!(managed::cuMemAllocManaged(
                    &mut out,
                    size.min(1 << 16),
                    small
                ));
                self.made(code, out)
            }
            23 => call!(managed::cuMemAdvise(value, size, small, small as i32 - 1)),
            24 => {
                let location = CUmemLocation {
                    kind: small as i32,
                    id: 0,
                };
                call!(managed::cuMemPrefetchAsync_v2(
                    value, size, location, 0, stream
                ))
            }
            25 => call!(managed::cuMemRangeGetAttribute(
                outs.as_mut_ptr().cast(),
                4,
                small,
                value,
                size
            )),
            26 => call!(pointer::cuPointerGetAttribute(
                (&raw mut out).cast(),
                small,
                value
            )),
            27 => {
                let code = call!(stream::cuStreamCreate((&raw mut out).cast(), small));
                self.made(code, out)
            }
            28 => call!(stream::cuStreamDestroy_v2(stream)),
            29 => call!(stream::cuStreamQuery(stream)),
            30 => call!(stream::cuStreamSynchronize(stream)),
            31 => call!(stream::cuStreamWaitEvent(stream, CUevent(handle), 0)),
            32 => call!(stream::cuStreamGetFlags(stream, (&raw mut out).cast())),
            33 => call!(stream::cuLaunchHostFunc(stream, Some(count), host)),
            34 => call!(stream::cuStreamAddCallback(
                stream,
                Some(count_result),
                host,
                0
            )),
            35 => {
                let code = call!(event::cuEventCreate((&raw mut out).cast(), small));
                self.made(code, out)
            }
            36 | 37 => call!(event::cuEventRecord(CUevent(handle), stream)),
            38 => call!(event::cuEventQuery(CUevent(handle))),
            39 => call!(event::cuEventSynchronize(CUevent(handle))),
            40 => call!(event::cuEventElapsedTime(
                (&raw mut out).cast(),
                CUevent(handle),
                CUevent(other as usize)
            )),
            41 => call!(event::cuEventDestroy_v2(CUevent(handle))),
            42 | 43 => {
                let code = call!(graph::cuGraphCreate((&raw mut out).cast(), 0));
                self.made(code, out)
            }
            44 => call!(graph::cuGraphDestroy(CUgraph(handle))),
            45 | 46 => {
                let dependency = CUgraphNode(other as usize);
                let node = (&raw mut out).cast();
                let number = usize::from(small > 2);
                let code = call!(others::cuGraphAddEmptyNode(
                    node,
                    CUgraph(handle),
                    &dependency,
                    number
                ));
                self.made(code, out)
            }
            47 => {
                let params = CUDA_MEMSET_NODE_PARAMS {
                    dst: other,
                    pitch: size,
                    value: small,
                    element_size: small,
                    width: size,
                    height: 1,
                };
                let node = (&raw mut out).cast();
                let none = std::ptr::null();
                let code = call!(graph_node::cuGraphAddMemsetNode(
                    node,
                    CUgraph(handle),
                    none,
                    0,
                    &params,
                    CUcontext(0)
                ));
                self.made(code, out)
            }
            48 => {
                let node = (&raw mut out).cast();
                let none = std::ptr::null();
                let code = call!(others::cuGraphAddChildGraphNode(
                    node,
                    CUgraph(handle),
                    none,
                    0,
                    CUgraph(other as usize)
                ));
                self.made(code, out)
            }
            49 => {
                let (from, to) = (CUgraphNode(handle), CUgraphNode(other as usize));
                call!(graph::cuGraphAddDependencies(
                    CUgraph(self.handle()),
                    &from,
                    &to,
                    1
                ))
            }
            50 => call!(graph::cuGraphDestroyNode(CUgraphNode(handle))),
            51 => {
                let code = call!(graph::cuGraphClone((&raw mut out).cast(), CUgraph(handle)));
                self.made(code, out)
            }
            52 | 53 => {
                let made = (&raw mut out).cast();
                let code = call!(graph_exec::cuGraphInstantiateWithFlags(
                    made,
                    CUgraph(handle),
                    0
                ));
                self.made(code, out)
            }
            54 => call!(graph_exec::cuGraphLaunch(CUgraphExec(handle), stream)),
            55 => call!(graph_exec::cuGraphExecDestroy(CUgraphExec(handle))),
            56 => {
                let mut info = CUgraphExecUpdateResultInfo::default();
                call!(graph_exec::cuGraphExecUpdate_v2(
                    CUgraphExec(handle),
                    CUgraph(other as usize),
                    &mut info
                ))
            }
            57 => {
                let mut nodes = [CUgraphNode(0); 4];
                outs[0] = size.min(4);
                call!(graph::cuGraphGetNodes(
                    CUgraph(handle),
                    nodes.as_mut_ptr(),
                    &mut outs[0]
                ))
            }
            58 => {
                let params = CUDA_MEMCPY2D {
                    src_memory_type: small,
                    src_device: value,
                    src_pitch: size,
                    dst_memory_type: 2,
                    dst_device: other,
                    dst_pitch: size,
                    width_in_bytes: size,
                    height: small as usize,
                    ..CUDA_MEMCPY2D::default()
                };
                call!(rows::cuMemcpy2DAsync_v2(&params, stream))
            }
            59 => {
                let params = CUDA_MEMCPY3D {
                    src_memory_type: 2,
                    src_device: value,
                    src_pitch: size,
                    src_height: small as usize,
                    dst_memory_type: 2,
                    dst_device: other,
                    dst_pitch: size,
                    dst_height: size,
                    dst_z: small as usize,
                    width_in_bytes: size.min(8),
                    height: 2,
                    depth: small as usize,
                    ..CUDA_MEMCPY3D::default()
                };
                call!(rows::cuMemcpy3D_v2(&params))
            }
            60 => {
                let (from, to) = (CUcontext(handle), CUcontext(other as usize));
                call!(copy::cuMemcpyPeer(
                    self.value(),
                    to,
                    self.value(),
                    from,
                    size
                ))
            }
            61 => {
                let code = call!(pool::cuMemAllocFromPoolAsync(
                    &mut out,
                    size,
                    CUmemoryPool(handle),
                    stream
                ));
                self.made(code, out)
            }
            62 => call!(pool::cuMemPoolDestroy(CUmemoryPool(handle))),
            63 => call!(pool::cuMemPoolGetAttribute(
                CUmemoryPool(handle),
                small,
                (&raw mut out).cast()
            )),
            64 => call!(context::cuCtxSynchronize()),
            _ => self.context_call(handle),
        }
    }

    /// Now and then a context comes or goes, the current one of this thread or another's.
    fn context_call(&mut self, handle: usize) -> u32 {
        let mut made = CUcontext::default();
        match self.random.below(8) {
            0 => call!(context::cuCtxDestroy_v2(CUcontext(handle))),
            1..4 => {
                let code = call!(context::cuCtxCreate_v2(&mut made, 0, 0));
                self.made(code, made.0 as u64)
            }
            4 => call!(context::cuCtxSetCurrent(CUcontext(handle))),
            _ => call!(context::cuCtxGetCurrent(&mut made)),
        }
    }
}

#[test]
fn nothing_is_believed() {
    let threads = 3;
    let steps: u64 =
        std::env::var("TEST_OF_SOFT_CUDA_STEPS").map_or(20_000, |steps| steps.parse().unwrap());
    let answers: Vec<_> = std::thread::scope(|scope| {
        let started: Vec<_> = (1..=threads)
            .map(|seed| {
                scope.spawn(move || {
                    remember(fresh().0 as u64);
                    let mut caller = Caller {
                        random: Random(0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(seed)),
                        // Registered memory must outlive what knows it.
                        buffer: Box::leak(vec![1; 1 << 16].into_boxed_slice()),
                        answers: BTreeMap::new(),
                    };
                    for step in 0..steps {
                        caller.step();
                        // A thread whose context is gone would only be refused from then on.
                        if step % 64 == 0 && call!(context::cuCtxSynchronize()) != 0 {
                            remember(fresh().0 as u64);
                        }
                    }
                    caller.answers
                })
            })
            .collect();
        started
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    for answers in answers {
        // Enough of it must have been right for the wrong to meet something.
        assert!(answers[&0] > steps / 20, "{answers:?}");
        assert!(
            answers[&INVALID_VALUE] > 0 && answers[&INVALID_HANDLE] > 0,
            "{answers:?}"
        );
    }
    assert!(CALLED.load(Ordering::Relaxed) > 0);
}
