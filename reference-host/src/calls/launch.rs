use crate::abi::{AbiError, MAX_BLOCK_DIM, MAX_DYNAMIC_SHARED_BYTES, MAX_THREADS_PER_BLOCK};
use crate::argv::{self, Args, Records};
use crate::calls::raw;
use crate::device::{Kernel, Shape};
use crate::error::Refusal;
use crate::guest::GuestMemory;
use crate::instance::{Held, Instance, LastError, OrRecord};
use crate::registry::Id;

/// The raw arguments of a launch.
#[derive(Clone, Copy, Debug)]
pub struct LaunchArgs {
    /// What `load_ptx` returned.
    pub kernel_id: i64,
    /// Blocks on each axis.
    pub grid: [i32; 3],
    /// Threads of a block on each axis.
    pub block: [i32; 3],
    /// Dynamic shared memory of a block, in bytes.
    pub shared_mem: i32,
    /// Where the argument buffer starts; of no meaning when it is empty.
    pub args_ptr: i32,
    /// Length of the argument buffer.
    pub args_len: i32,
}

/// Runs a kernel; returns 0.
///
/// The rules apply in this order: the region of the argument buffer, the dimensions, dynamic shared memory, the
/// kernel id, the records, their number and sizes against the kernel's parameters, then the device.
///
/// # Errors
///
/// -2 for a region or a window outside memory, -8 for dimensions or dynamic shared memory out of range, -3 for
/// an id that is not the caller's, -9 for records that are malformed or do not fit the parameters, -10 for
/// records over the caps, -5 for a shape the device refuses or a kernel that faults, -1 without a device.
// Inlined up to the dimensions, and each argument read once: they then stay in registers from the guest to the record
// of a refusal.
#[inline(always)]
pub fn launch(instance: &mut Instance, memory: Option<&mut [u8]>, args: LaunchArgs) -> i32 {
    let LaunchArgs {
        kernel_id,
        grid: [grid_x, grid_y, grid_z],
        block: [block_x, block_y, block_z],
        shared_mem,
        args_ptr,
        args_len,
    } = args;
    raw(instance, |held, last_error| {
        let memory = GuestMemory::new(memory);
        // An empty buffer is not a region: its offset means nothing.
        if args_len != 0 {
            check_region(&memory, last_error, args_ptr, args_len)?;
        }
        if !(grid_x > 0 && grid_y > 0 && grid_z > 0) {
            bad_grid(last_error, grid_x, grid_y, grid_z);
            return Err(AbiError::InvalidDimensions);
        }
        let fits = |axis: i32| axis > 0 && axis.cast_unsigned() <= MAX_BLOCK_DIM;
        if !(fits(block_x) && fits(block_y) && fits(block_z)) {
            bad_block(last_error, block_x, block_y, block_z);
            return Err(AbiError::InvalidDimensions);
        }
        let args = LaunchArgs {
            kernel_id,
            grid: [grid_x, grid_y, grid_z],
            block: [block_x, block_y, block_z],
            shared_mem,
            args_ptr,
            args_len,
        };
        run(held, last_error, memory, &args)?;
        Ok(0)
    })
}

const ARGUMENTS: &str = "kernel arguments";

/// The rest of a launch whose argument region and axes are in range.
#[inline(never)]
fn run(
    held: &mut Held,
    last_error: &mut LastError,
    memory: GuestMemory<'_>,
    args: &LaunchArgs,
) -> Result<(), AbiError> {
    let shape = shape(args).or_record(last_error)?;
    let absence = held.host.absence;
    let Some(kernel) = held.kernel(Id::new(args.kernel_id)) else {
        return Err(last_error.record(Refusal::UnknownKernel(args.kernel_id)));
    };
    let argv = if args.args_len == 0 {
        &[]
    } else {
        memory
            .read(ARGUMENTS, args.args_ptr, args.args_len)
            .or_record(last_error)?
    };
    let records = argv::parse(argv, memory.len_bytes()).or_record(last_error)?;
    match_params(kernel, records.clone()).or_record(last_error)?;
    if let Some(absence) = absence {
        return Err(last_error.record(Refusal::NotAvailable(absence)));
    }
    // Copied out of the guest's memory, which the kernel may write to.
    let args: Args = records.collect();
    kernel
        .launch(&shape, &args, memory.whole())
        .or_record(last_error)?;
    held.outstanding = true;
    Ok(())
}

#[inline(never)]
fn check_region(
    memory: &GuestMemory<'_>,
    last_error: &mut LastError,
    args_ptr: i32,
    args_len: i32,
) -> Result<(), AbiError> {
    memory
        .read(ARGUMENTS, args_ptr, args_len)
        .or_record(last_error)?;
    Ok(())
}

/// Checks what is left of a shape whose every axis is in range.
#[inline]
fn shape(args: &LaunchArgs) -> Result<Shape, Refusal> {
    let block = args.block.map(i32::cast_unsigned);
    let [x, y, z] = block.map(u64::from);
    // Each axis is at most 1024: the product fits.
    if x.saturating_mul(y).saturating_mul(z) > MAX_THREADS_PER_BLOCK {
        return Err(Refusal::Threads(args.block));
    }
    let dynamic_shared_bytes = args.shared_mem.cast_unsigned();
    if dynamic_shared_bytes > MAX_DYNAMIC_SHARED_BYTES {
        return Err(Refusal::SharedMemory(args.shared_mem));
    }
    Ok(Shape {
        grid: args.grid.map(i32::cast_unsigned),
        block,
        dynamic_shared_bytes,
    })
}

// A refusal of dimensions in a function of its own keeps them in registers on their way into the record.

#[cold]
#[inline(never)]
fn bad_grid(last_error: &mut LastError, x: i32, y: i32, z: i32) {
    last_error.record_with(|| Refusal::Grid([x, y, z]));
}

#[cold]
#[inline(never)]
fn bad_block(last_error: &mut LastError, x: i32, y: i32, z: i32) {
    last_error.record_with(|| Refusal::Block([x, y, z]));
}

/// Compares the records with the kernel's parameters: a device would otherwise read past the records it was given.
fn match_params(kernel: &dyn Kernel, records: Records<'_>) -> Result<(), Refusal> {
    let sizes = kernel.param_sizes();
    if sizes.len() != records.len() {
        return Err(Refusal::ParamCount {
            passed: records.len(),
            declared: sizes.len(),
        });
    }
    for (index, (arg, declared_bytes)) in records.zip(sizes).enumerate() {
        if arg.param_bytes() != *declared_bytes {
            return Err(Refusal::ParamSize {
                index,
                passed_bytes: arg.param_bytes(),
                declared_bytes: *declared_bytes,
            });
        }
    }
    Ok(())
}
