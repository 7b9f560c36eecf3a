use crate::abi::{AbiError, MAX_BLOCK_DIM, MAX_DYNAMIC_SHARED_BYTES, MAX_THREADS_PER_BLOCK};
use crate::argv::{self, Arg};
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
    let args = argv::decode(argv, memory.len_bytes()).or_record(last_error)?;
    match_params(kernel, &args).or_record(last_error)?;
    if !has_device {
        return Err(last_error.record(Error::NotAvailable));
    }
    kernel
        .launch(shape, &args, memory.whole())
        .or_record(last_error)?;
    held.outstanding = true;
    Ok(())
}

#[inline]
fn shape(args: &LaunchArgs, last_error: &mut LastError) -> Result<Shape, AbiError> {
    let positive = |axis: i32| axis > 0;
    let [grid_x, grid_y, grid_z] = args.grid;
    if !(positive(grid_x) && positive(grid_y) && positive(grid_z)) {
        return Err(last_error.record(Error::Grid(args.grid)));
    }
    let fits = |axis: i32| axis > 0 && axis.cast_unsigned() <= MAX_BLOCK_DIM;
    let [block_x, block_y, block_z] = args.block;
    if !(fits(block_x) && fits(block_y) && fits(block_z)) {
        return Err(last_error.record(Error::Block(args.block)));
    }
    let block = args.block.map(i32::cast_unsigned);
    if block.iter().fold(1, |product: u64, axis| {
        product.saturating_mul(u64::from(*axis))
    }) > MAX_THREADS_PER_BLOCK
    {
        return Err(last_error.record(Error::Threads(block)));
    }
    let dynamic_shared_bytes = args.shared_mem.cast_unsigned();
    if dynamic_shared_bytes > MAX_DYNAMIC_SHARED_BYTES {
        return Err(last_error.record(Error::SharedMemory(args.shared_mem)));
    }
    Ok(Shape {
        grid: args.grid.map(i32::cast_unsigned),
        block,
        dynamic_shared_bytes,
    })
}

/// Compares the records with the kernel's parameters: a device would otherwise read past the records it was given.
fn match_params(kernel: &dyn Kernel, args: &[Arg]) -> Result<(), Error> {
    let sizes = kernel.param_sizes();
    if sizes.len() != args.len() {
        return Err(Error::ParamCount {
            passed: args.len(),
            declared: sizes.len(),
        });
    }
    for (index, (arg, declared_bytes)) in args.iter().zip(sizes).enumerate() {
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
