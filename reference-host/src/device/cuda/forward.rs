//! The driver's functions, found when they are first needed.
//!
//! `cust` links against `libcuda.so.1`, and a program that does so does not start where there is no driver. So each function that `cust` or this
//! host uses is defined here as a jump through a table, which the linker then prefers, and [`load`] fills the table from the driver that it finds. Until
//! then, and where the driver lacks a function, the place in the table is one of two functions that answer a code.

use std::arch::global_asm;
use std::ffi::CString;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use libloading::Library;

/// Finds the driver's functions, once for the process; `false` where there is no driver.
pub(super) fn load() -> bool {
    *LOADED.get_or_init(|| {
        // SAFETY: the driver's library is made to be loaded into any process; its initialisers ask for nothing.
        let Ok(driver) = (unsafe { Library::new(DRIVER) }) else {
            return false;
        };
        for (name, slot) in NAMES.iter().zip(&SLOTS) {
            let symbol = CString::new(*name).ok().and_then(|name| {
                // SAFETY: only the address is taken; it is called with the signature that the driver API gives the name.
                unsafe { driver.get::<*mut ()>(name).ok().map(|symbol| *symbol) }
            });
            slot.store(symbol.unwrap_or(lacking as *mut ()), Ordering::Release);
        }
        // Functions of it stay in use as long as the process lives.
        std::mem::forget(driver);
        true
    })
}

/// The name under which every driver can be found.
const DRIVER: &str = "libcuda.so.1";

static LOADED: OnceLock<bool> = OnceLock::new();

/// Answers for a function that the driver does not have.
extern "C" fn lacking() -> u32 {
    CALL_REQUIRES_NEWER_DRIVER
}

/// Answers before [`load`].
extern "C" fn not_loaded() -> u32 {
    NOT_INITIALIZED
}

const NOT_INITIALIZED: u32 = 3;
const CALL_REQUIRES_NEWER_DRIVER: u32 = 36;

/// Defines the functions: a symbol that jumps to where its place in the table points.
macro_rules! forward {
    ($($name:ident)*) => {
        const NAMES: &[&str] = &[$(stringify!($name)),*];

        static SLOTS: [AtomicPtr<()>; NAMES.len()] =
            [const { AtomicPtr::new(not_loaded as *mut ()) }; NAMES.len()];

        #[cfg(target_arch = "x86_64")]
        global_asm!(
            ".set wasi_cuda_host_slot, 0",
            $(concat!(
                ".pushsection .text\n",
                ".globl ", stringify!($name), "\n",
                ".hidden ", stringify!($name), "\n",
                ".type ", stringify!($name), ", @function\n",
                stringify!($name), ":\n",
                "jmp qword ptr [rip + {slots} + wasi_cuda_host_slot]\n",
                ".popsection\n",
                ".set wasi_cuda_host_slot, wasi_cuda_host_slot + 8",
            ),)*
            slots = sym SLOTS,
        );

        #[cfg(target_arch = "aarch64")]
        global_asm!(
            ".set wasi_cuda_host_slot, 0",
            $(concat!(
                ".pushsection .text\n",
                ".globl ", stringify!($name), "\n",
                ".hidden ", stringify!($name), "\n",
                ".type ", stringify!($name), ", %function\n",
                stringify!($name), ":\n",
                "adrp x16, {slots} + wasi_cuda_host_slot\n",
                "ldr x16, [x16, :lo12:{slots} + wasi_cuda_host_slot]\n",
                "br x16\n",
                ".popsection\n",
                ".set wasi_cuda_host_slot, wasi_cuda_host_slot + 8",
            ),)*
            slots = sym SLOTS,
        );
    };
}

forward! {
    cuArray3DCreate_v2 cuArray3DGetDescriptor_v2 cuArrayDestroy cuCtxCreate_v2 cuCtxDestroy_v2 cuCtxGetApiVersion
    cuCtxGetCacheConfig cuCtxGetCurrent cuCtxGetDevice cuCtxGetFlags cuCtxGetLimit cuCtxGetSharedMemConfig
    cuCtxGetStreamPriorityRange cuCtxPopCurrent_v2 cuCtxPushCurrent_v2 cuCtxSetCacheConfig cuCtxSetCurrent
    cuCtxSetLimit cuCtxSetSharedMemConfig cuCtxSynchronize cuDestroyExternalMemory cuDeviceGet cuDeviceGetAttribute
    cuDeviceGetCount cuDeviceGetName cuDevicePrimaryCtxRelease_v2 cuDevicePrimaryCtxReset_v2 cuDevicePrimaryCtxRetain
    cuDevicePrimaryCtxSetFlags_v2 cuDeviceTotalMem_v2 cuDriverGetVersion cuEventCreate cuEventDestroy_v2
    cuEventElapsedTime cuEventQuery cuEventRecord cuEventSynchronize cuExternalMemoryGetMappedBuffer
    cuFuncGetAttribute cuFuncSetAttribute cuFuncSetCacheConfig cuFuncSetSharedMemConfig cuGetErrorName
    cuGetErrorString cuGraphAddKernelNode cuGraphCreate cuGraphDebugDotPrint cuGraphDestroy cuGraphGetEdges
    cuGraphGetNodes cuGraphKernelNodeGetParams cuGraphNodeGetType cuImportExternalMemory cuInit cuLaunchHostFunc
    cuLaunchKernel cuLinkAddData_v2 cuLinkComplete cuLinkCreate_v2 cuLinkDestroy cuMemAdvise cuMemAlloc_v2
    cuMemAllocAsync cuMemAllocHost_v2 cuMemAllocManaged cuMemcpy2D_v2 cuMemcpyAtoH_v2 cuMemcpyDtoD_v2
    cuMemcpyDtoDAsync_v2 cuMemcpyDtoH_v2 cuMemcpyDtoHAsync_v2 cuMemcpyHtoA_v2 cuMemcpyHtoD_v2 cuMemcpyHtoDAsync_v2
    cuMemFree_v2 cuMemFreeAsync cuMemFreeHost cuMemGetInfo_v2 cuMemPrefetchAsync cuMemsetD16_v2 cuMemsetD16Async
    cuMemsetD32_v2 cuMemsetD32Async cuMemsetD8_v2 cuMemsetD8Async cuModuleGetFunction cuModuleGetGlobal_v2
    cuModuleLoad cuModuleLoadData cuModuleLoadDataEx cuModuleUnload cuOccupancyAvailableDynamicSMemPerBlock
    cuOccupancyMaxActiveBlocksPerMultiprocessor cuOccupancyMaxPotentialBlockSize cuStreamCreate
    cuStreamCreateWithPriority cuStreamDestroy_v2 cuStreamGetFlags cuStreamGetPriority cuStreamQuery
    cuStreamSynchronize cuStreamWaitEvent cuSurfObjectCreate cuSurfObjectDestroy cuSurfObjectGetResourceDesc
    cuTexObjectCreate cuTexObjectDestroy cuTexObjectGetResourceDesc cuTexObjectGetResourceViewDesc
}
