use crate::abi::{MAX_BLOCK_DIM, MAX_DYNAMIC_SHARED_BYTES, MAX_THREADS_PER_BLOCK};
use crate::argv::{self, Arg};
use crate::device::{Kernel, Shape};
use crate::error::Error;
use crate::guest::GuestMemory;
use crate::instance::Instance;
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
pub fn launch(instance: &mut Instance, memory: Option<&mut [u8]>, args: LaunchArgs) -> i32 {
    instance.answer(|instance| run(instance, memory, &args), |code| code)
}

fn run(instance: &Instance, memory: Option<&mut [u8]>, raw: &LaunchArgs) -> Result<i32, Error> {
    let memory = GuestMemory::new(memory);
    // An empty buffer is not a region: its offset means nothing.
    let argv = if raw.args_len == 0 {
        &[]
    } else {
        memory.read("kernel arguments", raw.args_ptr, raw.args_len)?
    };
    let shape = shape(raw)?;
    let kernel = instance
        .host
        .kernels
        .lookup(instance.kernels, Id::new(raw.kernel_id));
    let kernel = kernel.ok_or(Error::UnknownKernel(raw.kernel_id))?;
    let args = argv::decode(argv, memory.len_bytes())?;
    match_params(&*kernel, &args)?;
    kernel.launch(&shape, &args, memory.whole())?;
    Ok(0)
}

fn shape(raw: &LaunchArgs) -> Result<Shape, Error> {
    let positive = |axis: i32| u32::try_from(axis).ok().filter(|axis| *axis > 0);
    let grid = each(raw.grid, positive).ok_or(Error::Grid(raw.grid))?;
    let block = each(raw.block, |axis| {
        positive(axis).filter(|axis| *axis <= MAX_BLOCK_DIM)
    });
    let block = block.ok_or(Error::Block(raw.block))?;
    let threads = block
        .iter()
        .map(|axis| u64::from(*axis))
        .fold(1, u64::saturating_mul);
    if threads > MAX_THREADS_PER_BLOCK {
        return Err(Error::Threads(block));
    }
    let dynamic_shared_bytes = u32::try_from(raw.shared_mem)
        .ok()
        .filter(|bytes| *bytes <= MAX_DYNAMIC_SHARED_BYTES);
    let dynamic_shared_bytes = dynamic_shared_bytes.ok_or(Error::SharedMemory(raw.shared_mem))?;
    Ok(Shape {
        grid,
        block,
        dynamic_shared_bytes,
    })
}

fn each([x, y, z]: [i32; 3], axis: impl Fn(i32) -> Option<u32>) -> Option<[u32; 3]> {
    Some([axis(x)?, axis(y)?, axis(z)?])
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
