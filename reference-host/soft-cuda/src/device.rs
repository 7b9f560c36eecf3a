//! The one device: what it has, and what it says of itself.

/// Number of devices.
pub(crate) const COUNT: i32 = 1;
/// Compute capability, major and minor.
pub(crate) const COMPUTE_CAPABILITY: (i32, i32) = (9, 0);
/// The version that `cuDriverGetVersion` gives: thousands for the major, tens for the minor one.
pub(crate) const DRIVER_VERSION: i32 = 13_050;
/// Bytes of device memory, unless the environment says otherwise.
pub(crate) const MEMORY_BYTES: u64 = 80 << 30;
/// Threads of a block.
pub(crate) const MAX_THREADS_PER_BLOCK: u32 = 1024;
/// Blocks of a grid on each axis.
pub(crate) const MAX_GRID: [u32; 3] = [0x7FFF_FFFF, 65_535, 65_535];
/// Threads of a block on each axis.
pub(crate) const MAX_BLOCK: [u32; 3] = [1024, 1024, 64];
/// Shared memory of a block without asking for more.
pub(crate) const SHARED_BYTES: u32 = 48 << 10;
/// Shared memory of a block for functions that were allowed it.
pub(crate) const SHARED_BYTES_OPT_IN: u32 = 227 << 10;
/// Blocks of a cooperative launch: they run one after the other, so that one that waits for another would wait for ever.
pub(crate) const COOPERATIVE_BLOCKS: u32 = 1;
/// The priorities of streams, where less is more.
pub(crate) const LEAST_PRIORITY: i32 = 0;
/// The priority of the most urgent streams.
pub(crate) const GREATEST_PRIORITY: i32 = -5;
