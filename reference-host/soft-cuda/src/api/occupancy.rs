//! Occupancy: how kernels fill the device, as if it had multiprocessors.

use std::ffi::{c_int, c_uint};

use crate::api::function;
use crate::api::launch::LaunchConfig;
use crate::call::{Done, api, put};
use crate::error::Error;
use crate::module::Kernel;
use crate::occupancy;
use crate::types::CUfunction;

api! {
    /// The blocks of a kernel that fit into a multiprocessor.
    ready fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: *mut c_int,
        function: CUfunction,
        threads: c_int,
        dynamic_shared_bytes: usize,
    ) {
        // SAFETY: null, or the program's place for an `int`.
        unsafe { most_blocks(blocks, function, threads, dynamic_shared_bytes, 0) }
    }

    /// The blocks of a kernel that fit into a multiprocessor; the flag about caches means nothing here.
    ready fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks: *mut c_int,
        function: CUfunction,
        threads: c_int,
        dynamic_shared_bytes: usize,
        flags: c_uint,
    ) {
        // SAFETY: null, or the program's place for an `int`.
        unsafe { most_blocks(blocks, function, threads, dynamic_shared_bytes, flags) }
    }

    /// The block size with which most threads fit, and the grid that fills the device.
    ready fn cuOccupancyMaxPotentialBlockSize(
        grid: *mut c_int,
        block: *mut c_int,
        function: CUfunction,
        shared_of: Option<SharedOf>,
        dynamic_shared_bytes: usize,
        limit: c_int,
    ) {
        let wish = (shared_of, dynamic_shared_bytes);
        // SAFETY: null, or the program's places for an `int`, and a function of its own.
        unsafe { best(grid, block, function, wish, limit, 0) }
    }

    /// The block size with which most threads fit; the flag about caches means nothing here.
    ready fn cuOccupancyMaxPotentialBlockSizeWithFlags(
        grid: *mut c_int,
        block: *mut c_int,
        function: CUfunction,
        shared_of: Option<SharedOf>,
        dynamic_shared_bytes: usize,
        limit: c_int,
        flags: c_uint,
    ) {
        let wish = (shared_of, dynamic_shared_bytes);
        // SAFETY: null, or the program's places for an `int`, and a function of its own.
        unsafe { best(grid, block, function, wish, limit, flags) }
    }

    /// The dynamic shared memory that each of so many blocks on a multiprocessor can have.
    ready fn cuOccupancyAvailableDynamicSMemPerBlock(
        bytes: *mut usize,
        function: CUfunction,
        blocks: c_int,
        threads: c_int,
    ) {
        if bytes.is_null() {
            return Err(Error::InvalidValue);
        }
        let room = occupancy::room(&kernel(function)?, blocks, threads)?;
        // SAFETY: not null: the program's place for a size.
        unsafe { put(bytes, room as usize) }
    }

    /// The largest cluster: the device has none.
    ready fn cuOccupancyMaxPotentialClusterSize(
        size: *mut c_int,
        function: CUfunction,
        config: *const LaunchConfig,
    ) {
        if size.is_null() || config.is_null() {
            return Err(Error::InvalidValue);
        }
        kernel(function)?;
        Err(Error::NotSupported)
    }

    /// The clusters that fit: the device has none.
    ready fn cuOccupancyMaxActiveClusters(
        clusters: *mut c_int,
        function: CUfunction,
        config: *const LaunchConfig,
    ) {
        if clusters.is_null() || config.is_null() {
            return Err(Error::InvalidValue);
        }
        kernel(function)?;
        Err(Error::NotSupported)
    }
}

/// A program's function that says how much dynamic shared memory a block of a size needs.
pub type SharedOf = unsafe extern "C" fn(c_int) -> usize;

/// Writes how many blocks fit.
///
/// # Safety
///
/// `blocks` is null or good for a write.
unsafe fn most_blocks(
    blocks: *mut c_int,
    function: CUfunction,
    threads: c_int,
    dynamic_shared_bytes: usize,
    flags: c_uint,
) -> Done {
    if blocks.is_null() || flags > 1 {
        return Err(Error::InvalidValue);
    }
    let found = occupancy::blocks(&kernel(function)?, threads, dynamic_shared_bytes)?;
    // SAFETY: not null: the program's place for an `int`.
    unsafe { put(blocks, c_int::try_from(found).map_err(|_| Error::Unknown)?) }
}

/// Writes the best block size and grid.
///
/// # Safety
///
/// `grid` and `block` are null or good for a write; the function, if there is one, may be called with any size.
unsafe fn best(
    grid: *mut c_int,
    block: *mut c_int,
    function: CUfunction,
    (shared_of, bytes): (Option<SharedOf>, usize),
    limit: c_int,
    flags: c_uint,
) -> Done {
    if grid.is_null() || block.is_null() || flags > 1 || limit < 0 {
        return Err(Error::InvalidValue);
    }
    let shared = |threads| match shared_of {
        // SAFETY: the program gave this function to be called with block sizes.
        Some(shared_of) => unsafe { shared_of(threads) },
        None => bytes,
    };
    let (blocks, threads) = occupancy::best(&kernel(function)?, shared, limit)?;
    // SAFETY: not null: the program's place for an `int`.
    unsafe { put(grid, blocks) }?;
    // SAFETY: not null: the program's place for an `int`.
    unsafe { put(block, threads) }
}

/// The kernel that is asked about.
fn kernel(handle: CUfunction) -> Result<Kernel, Error> {
    let (context, serial) = function::find(handle)?;
    context.open()?.modules.kernel(serial)
}
