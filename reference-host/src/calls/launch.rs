use crate::abi::{AbiError, MAX_BLOCK_DIM, MAX_DYNAMIC_SHARED_BYTES, MAX_THREADS_PER_BLOCK};
use crate::argv::{self, Args, Records};
use crate::calls::raw;
use crate::device::{Kernel, Shape};
use crate::error::Error;
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
// Inlined up to the shape: the ten arguments then stay in registers instead of passing through a struct.
#[inline]
pub fn launch(instance: &mut Instance, memory: Option<&mut [u8]>, args: LaunchArgs) -> i32 {
    raw(instance, |held, last_error| {
        let memory = GuestMemory::new(memory);
        // An empty buffer is not a region: its offset means nothing.
        if args.args_len != 0 {
            memory
                .read(ARGUMENTS, args.args_ptr, args.args_len)
                .or_record(last_error)?;
        }
        let shape = shape(&args, last_error)?;
        run(
            held,
            last_error,
            memory,
            args.kernel_id,
            &shape,
            args.args_ptr,
            args.args_len,
        )?;
        Ok(0)
    })
}

const ARGUMENTS: &str = "kernel arguments";

fn run(
    held: &mut Held,
    last_error: &mut LastError,
    memory: GuestMemory<'_>,
    kernel_id: i64,
    shape: &Shape,
    args_ptr: i32,
    args_len: i32,
) -> Result<(), AbiError> {
    let has_device = held.host.has_device;
    let kernel = held
        .kernel(Id::new(kernel_id))
        .ok_or(Error::UnknownKernel(kernel_id))
        .or_record(last_error)?;
    let argv = if args_len == 0 {
        &[]
    } else {
        memory
            .read(ARGUMENTS, args_ptr, args_len)
            .or_record(last_error)?
    };
    let records = argv::parse(argv, memory.len_bytes()).or_record(last_error)?;
    match_params(kernel, records.clone()).or_record(last_error)?;
    if !has_device {
        return Err(last_error.record(Error::NotAvailable));
    }
    // Copied out of the guest's memory, which the kernel may write to.
    let args: Args = records.collect();
    kernel
        .launch(shape, &args, memory.whole())
        .or_record(last_error)?;
    held.outstanding = true;
    Ok(())
}

#[inline]
fn shape(args: &LaunchArgs, last_error: &mut LastError) -> Result<Shape, AbiError> {
    let [x, y, z] = args.grid;
    if !(x > 0 && y > 0 && z > 0) {
        return Err(bad_grid(last_error, x, y, z));
    }
    let fits = |axis: i32| axis > 0 && axis.cast_unsigned() <= MAX_BLOCK_DIM;
    let [x, y, z] = args.block;
    if !(fits(x) && fits(y) && fits(z)) {
        return Err(bad_block(last_error, x, y, z));
    }
    let threads = args.block.iter().fold(1, |product: u64, axis| {
        product.saturating_mul(u64::from(axis.cast_unsigned()))
    });
    if threads > MAX_THREADS_PER_BLOCK {
        return Err(too_many_threads(last_error, x, y, z));
    }
    let dynamic_shared_bytes = args.shared_mem.cast_unsigned();
    if dynamic_shared_bytes > MAX_DYNAMIC_SHARED_BYTES {
        return Err(last_error.record(Error::SharedMemory(args.shared_mem)));
    }
    Ok(Shape {
        grid: args.grid.map(i32::cast_unsigned),
        block: args.block.map(i32::cast_unsigned),
        dynamic_shared_bytes,
    })
}

// A refusal of dimensions in a function of its own keeps them in registers on their way into the record.

#[cold]
#[inline(never)]
fn bad_grid(last_error: &mut LastError, x: i32, y: i32, z: i32) -> AbiError {
    last_error.record_with(|| Error::Grid([x, y, z]))
}

#[cold]
#[inline(never)]
fn bad_block(last_error: &mut LastError, x: i32, y: i32, z: i32) -> AbiError {
    last_error.record_with(|| Error::Block([x, y, z]))
}

#[cold]
#[inline(never)]
fn too_many_threads(last_error: &mut LastError, x: i32, y: i32, z: i32) -> AbiError {
    last_error.record_with(|| Error::Threads([x, y, z]))
}

/// Compares the records with the kernel's parameters: a device would otherwise read past the records it was given.
fn match_params(kernel: &dyn Kernel, records: Records<'_>) -> Result<(), Error> {
    let sizes = kernel.param_sizes();
    if sizes.len() != records.len() {
        return Err(Error::ParamCount {
            passed: records.len(),
            declared: sizes.len(),
        });
    }
    for (index, (arg, declared_bytes)) in records.zip(sizes).enumerate() {
        if arg.param_bytes() != *declared_bytes {
            return Err(Error::ParamSize {
                index,
                passed_bytes: arg.param_bytes(),
                declared_bytes: *declared_bytes,
            });
        }
    }
    Ok(())
}
