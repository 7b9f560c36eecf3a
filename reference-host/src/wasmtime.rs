//! The wasmtime binding: glue, no rules.

#[cfg(test)]
mod tests;
mod trace;

use ::wasmtime::{Caller, Extern, Linker, Memory, Result};

use crate::abi::{Import, MEMORY_EXPORT, MODULE};
use crate::calls::{self, LaunchArgs};
use crate::instance::Instance;

pub use trace::{TracedCall, add_to_linker_traced};

/// What a store holds for one guest: its [`Instance`], and its memory once it has been looked up.
///
/// One of these serves one wasm instance. Where several in one store share it all the same, each has its own memory
/// from the first load of a second one on; a copy of the second one before that would reach the first one's.
#[derive(Debug)]
pub struct GuestState {
    /// The guest's state in the host.
    pub instance: Instance,
    memory: MemoryExport,
}

impl GuestState {
    /// State for a guest that is about to be instantiated.
    #[must_use]
    pub fn new(instance: Instance) -> Self {
        Self {
            instance,
            memory: MemoryExport::Unknown,
        }
    }
}

/// What is known of the callers' memory.
#[derive(Clone, Copy, Debug)]
enum MemoryExport {
    /// No call has needed it yet.
    Unknown,
    /// The handle only, never address or size: those change when the memory grows.
    Known(Memory),
    /// Instances with different memories call: each call looks its own up.
    Several,
}

/// Defines the nine imports in `linker`; `state` finds the calling guest's state in the store's data.
///
/// # Errors
///
/// One of the names is defined already.
pub fn add_to_linker<T: 'static>(
    linker: &mut Linker<T>,
    state: impl Fn(&mut T) -> &mut GuestState + Send + Sync + Copy + 'static,
) -> Result<()> {
    linker.func_wrap(
        MODULE,
        Import::LoadPtx.name(),
        move |mut caller: Caller<'_, T>,
              ptx_ptr: i32,
              ptx_len: i32,
              entry_ptr: i32,
              entry_len: i32|
              -> i64 {
            check_memory(&mut caller, state);
            let (instance, memory) = guest(&mut caller, state);
            calls::load_ptx(instance, memory, ptx_ptr, ptx_len, entry_ptr, entry_len)
        },
    )?;
    linker.func_wrap(
        MODULE,
        Import::Launch.name(),
        move |caller: Caller<'_, T>,
              kernel_id: i64,
              grid_x: i32,
              grid_y: i32,
              grid_z: i32,
              block_x: i32,
              block_y: i32,
              block_z: i32,
              shared_mem: i32,
              args_ptr: i32,
              args_len: i32|
              -> i32 {
            // Wasmtime passes the caller in one block with the arguments. Its own place for it here, and the look-up
            // of the memory in a function of its own, leave the arguments in registers.
            let mut caller = caller;
            // A launch without arguments names no guest memory: there is nothing to look up.
            if args_len == 0 {
                let instance = &mut state(caller.data_mut()).instance;
                let args = LaunchArgs {
                    kernel_id,
                    grid: [grid_x, grid_y, grid_z],
                    block: [block_x, block_y, block_z],
                    shared_mem,
                    args_ptr,
                    args_len,
                };
                calls::launch(instance, None, args)
            } else {
                launch_with_memory(
                    &mut caller,
                    state,
                    kernel_id,
                    grid_x,
                    grid_y,
                    grid_z,
                    block_x,
                    block_y,
                    block_z,
                    shared_mem,
                    args_ptr,
                    args_len,
                )
            }
        },
    )?;
    linker.func_wrap(
        MODULE,
        Import::Sync.name(),
        move |mut caller: Caller<'_, T>| -> i32 {
            calls::sync(&mut state(caller.data_mut()).instance)
        },
    )?;
    linker.func_wrap(
        MODULE,
        Import::LastErrorLen.name(),
        move |mut caller: Caller<'_, T>| -> i32 {
            calls::last_error_len(&mut state(caller.data_mut()).instance)
        },
    )?;
    linker.func_wrap(
        MODULE,
        Import::LastErrorCopy.name(),
        move |mut caller: Caller<'_, T>, dst_ptr: i32, dst_len: i32| -> i32 {
            let (instance, memory) = guest(&mut caller, state);
            calls::last_error_copy(instance, memory, dst_ptr, dst_len)
        },
    )?;
    linker.func_wrap(
        MODULE,
        Import::Alloc.name(),
        move |mut caller: Caller<'_, T>, size_lo: i32, size_hi: i32| -> i64 {
            calls::alloc(&mut state(caller.data_mut()).instance, size_lo, size_hi)
        },
    )?;
    linker.func_wrap(
        MODULE,
        Import::Free.name(),
        move |mut caller: Caller<'_, T>, handle_lo: i32, handle_hi: i32| -> i32 {
            calls::free(&mut state(caller.data_mut()).instance, handle_lo, handle_hi)
        },
    )?;
    linker.func_wrap(
        MODULE,
        Import::MemcpyH2d.name(),
        move |mut caller: Caller<'_, T>,
              handle_lo: i32,
              handle_hi: i32,
              src_ptr: i32,
              len: i32|
              -> i32 {
            let (instance, memory) = guest(&mut caller, state);
            calls::memcpy_h2d(instance, memory, handle_lo, handle_hi, src_ptr, len)
        },
    )?;
    linker.func_wrap(
        MODULE,
        Import::MemcpyD2h.name(),
        move |mut caller: Caller<'_, T>,
              dst_ptr: i32,
              handle_lo: i32,
              handle_hi: i32,
              len: i32|
              -> i32 {
            let (instance, memory) = guest(&mut caller, state);
            calls::memcpy_d2h(instance, memory, dst_ptr, handle_lo, handle_hi, len)
        },
    )?;
    Ok(())
}

/// The calling guest's state and memory, borrowed side by side.
#[inline]
fn guest<'a, T: 'static>(
    caller: &'a mut Caller<'_, T>,
    state: impl Fn(&mut T) -> &mut GuestState,
) -> (&'a mut Instance, Option<&'a mut [u8]>) {
    let memory = match state(caller.data_mut()).memory {
        MemoryExport::Known(memory) => memory,
        _ => match find_memory(caller, &state) {
            Some(memory) => memory,
            None => return (&mut state(caller.data_mut()).instance, None),
        },
    };
    let (bytes, data) = memory.data_and_store_mut(caller);
    (&mut state(data).instance, Some(bytes))
}

/// A launch that names guest memory.
#[inline(never)]
#[allow(
    clippy::too_many_arguments,
    reason = "a struct would pass through memory"
)]
fn launch_with_memory<T: 'static>(
    caller: &mut Caller<'_, T>,
    state: impl Fn(&mut T) -> &mut GuestState,
    kernel_id: i64,
    grid_x: i32,
    grid_y: i32,
    grid_z: i32,
    block_x: i32,
    block_y: i32,
    block_z: i32,
    shared_mem: i32,
    args_ptr: i32,
    args_len: i32,
) -> i32 {
    let (instance, memory) = guest(caller, state);
    let args = LaunchArgs {
        kernel_id,
        grid: [grid_x, grid_y, grid_z],
        block: [block_x, block_y, block_z],
        shared_mem,
        args_ptr,
        args_len,
    };
    calls::launch(instance, memory, args)
}

/// Looks the memory up by name, which takes as long as many a call.
#[cold]
fn find_memory<T: 'static>(
    caller: &mut Caller<'_, T>,
    state: impl Fn(&mut T) -> &mut GuestState,
) -> Option<Memory> {
    let memory = exported_memory(caller)?;
    let known = &mut state(caller.data_mut()).memory;
    if let MemoryExport::Unknown = known {
        *known = MemoryExport::Known(memory);
    }
    Some(memory)
}

/// Finds out whether the known memory is the caller's, where there is time for it: assembling takes far longer.
///
/// Wasmtime does not say which instance calls. But no instance has a kernel to launch before it has loaded one.
fn check_memory<T: 'static>(caller: &mut Caller<'_, T>, state: impl Fn(&mut T) -> &mut GuestState) {
    let MemoryExport::Known(known) = state(caller.data_mut()).memory else {
        return;
    };
    let same = exported_memory(caller)
        .is_some_and(|memory| memory.data_ptr(&*caller) == known.data_ptr(&*caller));
    if !same {
        state(caller.data_mut()).memory = MemoryExport::Several;
    }
}

/// The caller's memory; a shared one does not count, since its bytes cannot be borrowed.
fn exported_memory<T: 'static>(caller: &mut Caller<'_, T>) -> Option<Memory> {
    match caller.get_export(MEMORY_EXPORT) {
        Some(Extern::Memory(memory)) => Some(memory),
        _ => None,
    }
}
