//! Kernel launches: arguments are read and copied here, so that a program may reuse its memory at once.

use std::ffi::{c_uint, c_void};

use crate::api::function;
use crate::call::{Done, api, take};
use crate::device::COOPERATIVE_BLOCKS;
use crate::error::Error;
use crate::launch::{Launch, Shape};
use crate::queue::{Task, Work};
use crate::stream::Target;
use crate::types::{CUfunction, CUstream};

api! {
    /// Launches a kernel.
    ready fn cuLaunchKernel(
        function: CUfunction,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        dynamic_shared_bytes: c_uint,
        stream: CUstream,
        params: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) {
        let shape = Shape {
            grid: [grid_x, grid_y, grid_z],
            block: [block_x, block_y, block_z],
            dynamic_shared_bytes,
        };
        // SAFETY: the program's arguments, as the kernel takes them.
        unsafe { launch(function, shape, stream, params, extra, false) }
    }

    /// Launches a kernel whose blocks may wait for each other.
    ready fn cuLaunchCooperativeKernel(
        function: CUfunction,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        dynamic_shared_bytes: c_uint,
        stream: CUstream,
        params: *mut *mut c_void,
    ) {
        let shape = Shape {
            grid: [grid_x, grid_y, grid_z],
            block: [block_x, block_y, block_z],
            dynamic_shared_bytes,
        };
        // SAFETY: the program's arguments, as the kernel takes them.
        unsafe { launch(function, shape, stream, params, std::ptr::null_mut(), true) }
    }

    /// Launches a kernel with attributes.
    ready fn cuLaunchKernelEx(
        config: *const LaunchConfig,
        function: CUfunction,
        params: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) {
        // SAFETY: null, or the program's configuration; any bits are one.
        let config = unsafe { take(config) }?;
        // SAFETY: the program's list of attributes, as long as it says.
        let cooperative = unsafe { attributes(&config) }?;
        let shape = Shape {
            grid: config.grid,
            block: config.block,
            dynamic_shared_bytes: config.dynamic_shared_bytes,
        };
        // SAFETY: the program's arguments, as the kernel takes them.
        unsafe { launch(function, shape, config.stream, params, extra, cooperative) }
    }
}

/// `CUlaunchConfig`: the shape of a launch and its attributes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct LaunchConfig {
    /// Blocks along each axis.
    pub grid: [c_uint; 3],
    /// Threads of a block along each axis.
    pub block: [c_uint; 3],
    /// Bytes of dynamic shared memory.
    pub dynamic_shared_bytes: c_uint,
    /// Where it is launched.
    pub stream: CUstream,
    /// Attributes; null where there are none.
    pub attributes: *const LaunchAttribute,
    /// How many.
    pub attribute_count: c_uint,
}

/// `CUlaunchAttribute`: an attribute of a launch, a stream or a node.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct LaunchAttribute {
    /// Which one.
    pub id: c_uint,
    /// Nothing.
    pub padding: c_uint,
    /// Its value, of a type that depends on the attribute.
    pub value: [u64; 8],
}

/// Launches a kernel in a stream.
///
/// # Safety
///
/// As for [`arguments`].
unsafe fn launch(
    function: CUfunction,
    shape: Shape,
    stream: CUstream,
    params: *mut *mut c_void,
    extra: *mut *mut c_void,
    cooperative: bool,
) -> Done {
    let target = Target::of(stream)?;
    let kernel = function::kernel(&target.context, function)?;
    // SAFETY: this function's own terms.
    let params = unsafe { arguments(kernel.entry()?, params, extra) };
    let launch = Launch::new(kernel, shape, params?)?;
    // Blocks run one after the other, so that only one can take part in a wait for all.
    if cooperative && shape.blocks() > COOPERATIVE_BLOCKS {
        return Err(Error::CooperativeLaunchTooLarge);
    }
    target.context.open()?.queue.push(Task {
        stream: target.stream,
        work: Work::Launch(Box::new(launch)),
    });
    Ok(())
}

/// A kernel's parameter block, made from an array of pointers to arguments or from `extra`.
///
/// # Errors
///
/// Both were given, or neither where the kernel has parameters; a null entry; a block of another size than the kernel's.
///
/// # Safety
///
/// `params` is null or has a pointer for each parameter, null or good for a read of its size. `extra` is null or a list as the driver API has it.
pub(crate) unsafe fn arguments(
    entry: &soft_gpu::Entry,
    params: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> Result<Vec<u8>, Error> {
    let mut block = vec![0; entry.param_bytes() as usize];
    if !extra.is_null() {
        if !params.is_null() {
            return Err(Error::InvalidValue);
        }
        // SAFETY: not null: a list as the driver API has it.
        unsafe { from_extra(&mut block, extra) }?;
        return Ok(block);
    }
    if entry.params().is_empty() {
        return Ok(block);
    }
    for (index, param) in entry.params().iter().enumerate() {
        if params.is_null() {
            return Err(Error::InvalidValue);
        }
        // SAFETY: not null, and there is a pointer for each parameter.
        let argument = unsafe { params.add(index).read_unaligned() };
        if argument.is_null() {
            return Err(Error::InvalidValue);
        }
        let start = param.offset_bytes as usize;
        let end = start.saturating_add(param.size_bytes as usize);
        let place = block.get_mut(start..end).ok_or(Error::Unknown)?;
        // SAFETY: the argument has the parameter's size, which is that of `place`, a vector of our own.
        unsafe {
            argument
                .cast::<u8>()
                .copy_to_nonoverlapping(place.as_mut_ptr(), place.len())
        };
    }
    Ok(block)
}

/// Fills the parameter block from the buffer that a list of `extra` names.
///
/// # Safety
///
/// `extra` is a list as the driver API has it: pairs of a name and a pointer up to an end.
unsafe fn from_extra(block: &mut [u8], extra: *mut *mut c_void) -> Done {
    let (mut buffer, mut size) = (None, None);
    let mut ended = false;
    for index in 0..MOST_EXTRA {
        // SAFETY: no end of the list has been seen, so that it goes on.
        let name = unsafe { extra.add(index.saturating_mul(2)).read_unaligned() };
        if name.addr() == EXTRA_END {
            ended = true;
            break;
        }
        // SAFETY: a name that is not the end has a value behind it.
        let value = unsafe {
            extra
                .add(index.saturating_mul(2).saturating_add(1))
                .read_unaligned()
        };
        match name.addr() {
            EXTRA_BUFFER_POINTER => buffer = Some(value),
            EXTRA_BUFFER_SIZE => {
                // SAFETY: null, or the program's size.
                size = Some(unsafe { take(value.cast::<usize>()) }?);
            }
            _ => return Err(Error::InvalidValue),
        }
    }
    let bytes = size.unwrap_or(0);
    // Programs round the size of the block up to what aligns it.
    let rounded = block.len().checked_next_multiple_of(EXTRA_ALIGN);
    if !ended || bytes < block.len() || Some(bytes) > rounded {
        return Err(Error::InvalidValue);
    }
    if block.is_empty() {
        return Ok(());
    }
    let buffer = buffer.ok_or(Error::InvalidValue)?;
    if buffer.is_null() {
        return Err(Error::InvalidValue);
    }
    // SAFETY: the buffer has as many bytes as the program says, and the block no more.
    unsafe {
        buffer
            .cast::<u8>()
            .copy_to_nonoverlapping(block.as_mut_ptr(), block.len())
    };
    Ok(())
}

/// Reads the attributes of a launch; whether its blocks may wait for each other.
///
/// # Errors
///
/// There is no such attribute for launches, or it asks for what is not there.
///
/// # Safety
///
/// The list is null or as long as the configuration says.
unsafe fn attributes(config: &LaunchConfig) -> Result<bool, Error> {
    let mut cooperative = false;
    for index in 0..config.attribute_count as usize {
        if config.attributes.is_null() || index >= MOST_ATTRIBUTES {
            return Err(Error::InvalidValue);
        }
        // SAFETY: not null, and `index` is below the list's length.
        let attribute = unsafe { config.attributes.add(index).read_unaligned() };
        let [first, second, ..] = attribute.value;
        match attribute.id {
            ATTRIBUTE_COOPERATIVE => cooperative = first & 0xFFFF_FFFF != 0,
            ATTRIBUTE_CLUSTER_DIMENSION | ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION => {
                // Three numbers of 32 bits; a cluster of one block is what all are.
                let (x, y, z) = (first & 0xFFFF_FFFF, first >> 32, second & 0xFFFF_FFFF);
                match (x, y, z) {
                    (1, 1, 1) => {}
                    (0, _, _) | (_, 0, _) | (_, _, 0) => return Err(Error::InvalidValue),
                    _ => return Err(Error::InvalidClusterSize),
                }
            }
            // Events of programmatic launches, and nodes that the device updates.
            7 | 12 | 13 => return Err(Error::NotSupported),
            // Hints about caches, scheduling, priorities and memory domains.
            0 | 1 | 5 | 6 | 8 | 9 | 10 | 14 | 16 | 17 | 18 => {}
            _ => return Err(Error::InvalidValue),
        }
    }
    Ok(cooperative)
}

/// `CU_LAUNCH_PARAM_END`
const EXTRA_END: usize = 0;
/// `CU_LAUNCH_PARAM_BUFFER_POINTER`
const EXTRA_BUFFER_POINTER: usize = 1;
/// `CU_LAUNCH_PARAM_BUFFER_SIZE`
const EXTRA_BUFFER_SIZE: usize = 2;
/// Entries of a list of `extra` beyond which it counts as one without an end.
const MOST_EXTRA: usize = 64;
/// What the size of a buffer of parameters may be rounded up to.
const EXTRA_ALIGN: usize = 16;
const ATTRIBUTE_COOPERATIVE: c_uint = 2;
const ATTRIBUTE_CLUSTER_DIMENSION: c_uint = 4;
const ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION: c_uint = 11;
/// Attributes beyond which a list is not believed.
const MOST_ATTRIBUTES: usize = 1024;
