//! How many blocks of a kernel fit into a multiprocessor.

use crate::device;
use crate::error::Error;
use crate::module::Kernel;

/// The blocks that fit, with so many threads and so much dynamic shared memory each; 0 where not one does.
///
/// # Errors
///
/// A block without threads.
pub(crate) fn blocks(kernel: &Kernel, threads: i32, dynamic_shared: usize) -> Result<u32, Error> {
    let threads = positive(threads)?;
    let entry = kernel.entry()?;
    let most = kernel.attributes.max_dynamic_shared_bytes(entry);
    let Some(dynamic) = u32::try_from(dynamic_shared).ok().filter(|it| *it <= most) else {
        return Ok(0);
    };
    if threads > entry.max_threads_per_block() {
        return Ok(0);
    }
    let shared = entry
        .static_shared_bytes()
        .saturating_add(dynamic)
        .saturating_add(device::RESERVED_SHARED_BYTES);
    let by_shared = device::SHARED_BYTES_PER_MULTIPROCESSOR.checked_div(shared);
    Ok(by_threads(threads).min(by_shared.unwrap_or(0)))
}

/// The block size with which most threads fit into a multiprocessor, and the grid that fills the device with such blocks.
///
/// `shared` gives the dynamic shared memory of a block of a size; `limit` is the largest size wished for, 0 for any.
///
/// # Errors
///
/// Those of [`blocks`], and `InvalidValue` where no block fits.
pub(crate) fn best(
    kernel: &Kernel,
    shared: impl Fn(i32) -> usize,
    limit: i32,
) -> Result<(i32, i32), Error> {
    let most = number(kernel.entry()?.max_threads_per_block());
    let most = if limit > 0 { most.min(limit) } else { most };
    let warp = number(device::WARP_SIZE);
    // The largest size first, then every multiple of a warp below it.
    let rounded = most.saturating_sub(1).checked_div(warp).unwrap_or(0);
    let smaller = (1..=rounded).rev().map(|warps| warps.saturating_mul(warp));
    let mut best = (0, 0, 0);
    for threads in std::iter::once(most).chain(smaller) {
        let blocks = number(blocks(kernel, threads, shared(threads))?);
        let resident = blocks.saturating_mul(threads);
        if resident > best.0 {
            best = (resident, blocks, threads);
        }
    }
    let (_, blocks, threads) = best;
    if blocks == 0 {
        return Err(Error::InvalidValue);
    }
    let grid = blocks.saturating_mul(number(device::MULTIPROCESSORS));
    Ok((grid, threads))
}

/// The dynamic shared memory that each of so many blocks can have, if they are to fit together.
///
/// # Errors
///
/// They do not fit, however little each has.
pub(crate) fn room(kernel: &Kernel, blocks: i32, threads: i32) -> Result<u32, Error> {
    let (blocks, threads) = (positive(blocks)?, positive(threads)?);
    let entry = kernel.entry()?;
    if blocks > by_threads(threads) || threads > entry.max_threads_per_block() {
        return Err(Error::InvalidValue);
    }
    let each = device::SHARED_BYTES_PER_MULTIPROCESSOR.checked_div(blocks);
    each.and_then(|bytes| bytes.checked_sub(device::RESERVED_SHARED_BYTES))
        .map(|bytes| bytes.min(device::SHARED_BYTES_OPT_IN))
        .and_then(|bytes| bytes.checked_sub(entry.static_shared_bytes()))
        .ok_or(Error::InvalidValue)
}

/// The blocks that a multiprocessor has threads for.
fn by_threads(threads: u32) -> u32 {
    let rounded = threads.next_multiple_of(device::WARP_SIZE);
    let fitting = device::MAX_THREADS_PER_MULTIPROCESSOR.checked_div(rounded);
    fitting
        .unwrap_or(0)
        .min(device::MAX_BLOCKS_PER_MULTIPROCESSOR)
}

fn positive(value: i32) -> Result<u32, Error> {
    let value = u32::try_from(value).ok().filter(|value| *value > 0);
    value.ok_or(Error::InvalidValue)
}

fn number(value: u32) -> i32 {
    i32::try_from(value).unwrap_or(i32::MAX)
}
