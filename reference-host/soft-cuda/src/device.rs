//! The one device: what it has, and what it says of itself.

use crate::error::Error;

/// Number of devices.
pub(crate) const COUNT: i32 = 1;
/// What it is called.
pub(crate) const NAME: &str = "soft-cuda sm_90";
/// Its identity: that of no other device, and the same everywhere.
pub(crate) const UUID: [u8; 16] = *b"soft-cuda sm_90\0";
/// Where it would sit: in a domain that no machine has.
pub(crate) const PCI_BUS_ID: &str = "FFFF:00:00.0";
/// Compute capability, major and minor.
pub(crate) const COMPUTE_CAPABILITY: (i32, i32) = (9, 0);
/// The version that `cuDriverGetVersion` gives: thousands for the major, tens for the minor one.
pub(crate) const DRIVER_VERSION: i32 = 13_050;
/// Bytes of device memory, unless the environment says otherwise.
pub(crate) const MEMORY_BYTES: u64 = 80 << 30;
/// Threads of a block.
pub(crate) const MAX_THREADS_PER_BLOCK: u32 = 1024;
/// Threads of a multiprocessor.
pub(crate) const MAX_THREADS_PER_MULTIPROCESSOR: u32 = 2048;
/// Blocks of a multiprocessor.
pub(crate) const MAX_BLOCKS_PER_MULTIPROCESSOR: u32 = 32;
/// Multiprocessors.
pub(crate) const MULTIPROCESSORS: u32 = 132;
/// Threads of a warp.
pub(crate) const WARP_SIZE: u32 = 32;
/// Blocks of a grid on each axis.
pub(crate) const MAX_GRID: [u32; 3] = [0x7FFF_FFFF, 65_535, 65_535];
/// Threads of a block on each axis.
pub(crate) const MAX_BLOCK: [u32; 3] = [1024, 1024, 64];
/// Shared memory of a block without asking for more.
pub(crate) const SHARED_BYTES: u32 = 48 << 10;
/// Shared memory of a block for functions that were allowed it.
pub(crate) const SHARED_BYTES_OPT_IN: u32 = 227 << 10;
/// Shared memory of a multiprocessor.
pub(crate) const SHARED_BYTES_PER_MULTIPROCESSOR: u32 = 228 << 10;
/// Shared memory that each block takes beside its own.
pub(crate) const RESERVED_SHARED_BYTES: u32 = 1 << 10;
/// Blocks of a cooperative launch: they run one after the other, so that one that waits for another would wait for ever.
pub(crate) const COOPERATIVE_BLOCKS: u64 = 1;
/// The value of a device attribute.
///
/// # Errors
///
/// There is no such attribute.
pub(crate) fn attribute(number: i32) -> Result<i32, Error> {
    let at = ATTRIBUTES.binary_search_by_key(&number, |(number, _, _)| *number);
    let entry = at.ok().and_then(|at| ATTRIBUTES.get(at));
    let (_, _, value) = entry.ok_or(Error::InvalidValue)?;
    Ok(*value)
}

/// Declares [`ATTRIBUTES`].
macro_rules! attributes {
    ($($number:literal $name:ident = $value:expr)*) => {
        /// The device attributes: number, name after `CU_DEVICE_ATTRIBUTE_`, value. What the device does not have is 0.
        pub(crate) const ATTRIBUTES: &[(i32, &str, i32)] = &[$(($number, stringify!($name), $value)),*];
    };
}

attributes! {
    1 MAX_THREADS_PER_BLOCK = 1024
    2 MAX_BLOCK_DIM_X = 1024
    3 MAX_BLOCK_DIM_Y = 1024
    4 MAX_BLOCK_DIM_Z = 64
    5 MAX_GRID_DIM_X = 0x7FFF_FFFF
    6 MAX_GRID_DIM_Y = 65_535
    7 MAX_GRID_DIM_Z = 65_535
    8 MAX_SHARED_MEMORY_PER_BLOCK = 48 << 10
    9 TOTAL_CONSTANT_MEMORY = 64 << 10
    10 WARP_SIZE = 32
    11 MAX_PITCH = 0x7FFF_FFFF
    12 MAX_REGISTERS_PER_BLOCK = 65_536
    13 CLOCK_RATE = 1_000_000
    14 TEXTURE_ALIGNMENT = 512
    15 GPU_OVERLAP = 1
    16 MULTIPROCESSOR_COUNT = 132
    17 KERNEL_EXEC_TIMEOUT = 0
    18 INTEGRATED = 0
    19 CAN_MAP_HOST_MEMORY = 1
    20 COMPUTE_MODE = 0
    21 MAXIMUM_TEXTURE1D_WIDTH = 0
    22 MAXIMUM_TEXTURE2D_WIDTH = 0
    23 MAXIMUM_TEXTURE2D_HEIGHT = 0
    24 MAXIMUM_TEXTURE3D_WIDTH = 0
    25 MAXIMUM_TEXTURE3D_HEIGHT = 0
    26 MAXIMUM_TEXTURE3D_DEPTH = 0
    27 MAXIMUM_TEXTURE2D_LAYERED_WIDTH = 0
    28 MAXIMUM_TEXTURE2D_LAYERED_HEIGHT = 0
    29 MAXIMUM_TEXTURE2D_LAYERED_LAYERS = 0
    30 SURFACE_ALIGNMENT = 0
    31 CONCURRENT_KERNELS = 1
    32 ECC_ENABLED = 0
    33 PCI_BUS_ID = 0
    34 PCI_DEVICE_ID = 0
    35 TCC_DRIVER = 0
    36 MEMORY_CLOCK_RATE = 1_000_000
    37 GLOBAL_MEMORY_BUS_WIDTH = 512
    38 L2_CACHE_SIZE = 1 << 20
    39 MAX_THREADS_PER_MULTIPROCESSOR = 2048
    40 ASYNC_ENGINE_COUNT = 1
    41 UNIFIED_ADDRESSING = 1
    42 MAXIMUM_TEXTURE1D_LAYERED_WIDTH = 0
    43 MAXIMUM_TEXTURE1D_LAYERED_LAYERS = 0
    44 CAN_TEX2D_GATHER = 0
    45 MAXIMUM_TEXTURE2D_GATHER_WIDTH = 0
    46 MAXIMUM_TEXTURE2D_GATHER_HEIGHT = 0
    47 MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE = 0
    48 MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE = 0
    49 MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE = 0
    50 PCI_DOMAIN_ID = 0xFFFF
    51 TEXTURE_PITCH_ALIGNMENT = 32
    52 MAXIMUM_TEXTURECUBEMAP_WIDTH = 0
    53 MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH = 0
    54 MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS = 0
    55 MAXIMUM_SURFACE1D_WIDTH = 0
    56 MAXIMUM_SURFACE2D_WIDTH = 0
    57 MAXIMUM_SURFACE2D_HEIGHT = 0
    58 MAXIMUM_SURFACE3D_WIDTH = 0
    59 MAXIMUM_SURFACE3D_HEIGHT = 0
    60 MAXIMUM_SURFACE3D_DEPTH = 0
    61 MAXIMUM_SURFACE1D_LAYERED_WIDTH = 0
    62 MAXIMUM_SURFACE1D_LAYERED_LAYERS = 0
    63 MAXIMUM_SURFACE2D_LAYERED_WIDTH = 0
    64 MAXIMUM_SURFACE2D_LAYERED_HEIGHT = 0
    65 MAXIMUM_SURFACE2D_LAYERED_LAYERS = 0
    66 MAXIMUM_SURFACECUBEMAP_WIDTH = 0
    67 MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH = 0
    68 MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS = 0
    69 MAXIMUM_TEXTURE1D_LINEAR_WIDTH = 0
    70 MAXIMUM_TEXTURE2D_LINEAR_WIDTH = 0
    71 MAXIMUM_TEXTURE2D_LINEAR_HEIGHT = 0
    72 MAXIMUM_TEXTURE2D_LINEAR_PITCH = 0
    73 MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH = 0
    74 MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT = 0
    75 COMPUTE_CAPABILITY_MAJOR = 9
    76 COMPUTE_CAPABILITY_MINOR = 0
    77 MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH = 0
    78 STREAM_PRIORITIES_SUPPORTED = 1
    79 GLOBAL_L1_CACHE_SUPPORTED = 1
    80 LOCAL_L1_CACHE_SUPPORTED = 1
    81 MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 228 << 10
    82 MAX_REGISTERS_PER_MULTIPROCESSOR = 65_536
    83 MANAGED_MEMORY = 1
    84 MULTI_GPU_BOARD = 0
    85 MULTI_GPU_BOARD_GROUP_ID = 0
    86 HOST_NATIVE_ATOMIC_SUPPORTED = 0
    87 SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO = 2
    88 PAGEABLE_MEMORY_ACCESS = 0
    89 CONCURRENT_MANAGED_ACCESS = 1
    90 COMPUTE_PREEMPTION_SUPPORTED = 1
    91 CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM = 1
    92 CAN_USE_STREAM_MEM_OPS_V1 = 0
    93 CAN_USE_64_BIT_STREAM_MEM_OPS_V1 = 0
    94 CAN_USE_STREAM_WAIT_VALUE_NOR_V1 = 0
    95 COOPERATIVE_LAUNCH = 0
    96 COOPERATIVE_MULTI_DEVICE_LAUNCH = 0
    97 MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 227 << 10
    98 CAN_FLUSH_REMOTE_WRITES = 0
    99 HOST_REGISTER_SUPPORTED = 1
    100 PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES = 0
    101 DIRECT_MANAGED_MEM_ACCESS_FROM_HOST = 0
    102 VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED = 0
    103 HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED = 0
    104 HANDLE_TYPE_WIN32_HANDLE_SUPPORTED = 0
    105 HANDLE_TYPE_WIN32_KMT_HANDLE_SUPPORTED = 0
    106 MAX_BLOCKS_PER_MULTIPROCESSOR = 32
    107 GENERIC_COMPRESSION_SUPPORTED = 0
    108 MAX_PERSISTING_L2_CACHE_SIZE = 0
    109 MAX_ACCESS_POLICY_WINDOW_SIZE = 0
    110 GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED = 0
    111 RESERVED_SHARED_MEMORY_PER_BLOCK = 1024
    112 SPARSE_CUDA_ARRAY_SUPPORTED = 0
    113 READ_ONLY_HOST_REGISTER_SUPPORTED = 0
    114 TIMELINE_SEMAPHORE_INTEROP_SUPPORTED = 0
    115 MEMORY_POOLS_SUPPORTED = 1
    116 GPU_DIRECT_RDMA_SUPPORTED = 0
    117 GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS = 0
    118 GPU_DIRECT_RDMA_WRITES_ORDERING = 0
    119 MEMPOOL_SUPPORTED_HANDLE_TYPES = 0
    120 CLUSTER_LAUNCH = 0
    121 DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED = 0
    122 CAN_USE_64_BIT_STREAM_MEM_OPS = 0
    123 CAN_USE_STREAM_WAIT_VALUE_NOR = 0
    124 DMA_BUF_SUPPORTED = 0
    125 IPC_EVENT_SUPPORTED = 0
    126 MEM_SYNC_DOMAIN_COUNT = 1
    127 TENSOR_MAP_ACCESS_SUPPORTED = 0
    128 HANDLE_TYPE_FABRIC_SUPPORTED = 0
    129 UNIFIED_FUNCTION_POINTERS = 0
    130 NUMA_CONFIG = 0
    131 NUMA_ID = -1
    132 MULTICAST_SUPPORTED = 0
    133 MPS_ENABLED = 0
    134 HOST_NUMA_ID = -1
    135 D3D12_CIG_SUPPORTED = 0
    136 MEM_DECOMPRESS_ALGORITHM_MASK = 0
    137 MEM_DECOMPRESS_MAXIMUM_LENGTH = 0
    138 VULKAN_CIG_SUPPORTED = 0
    139 GPU_PCI_DEVICE_ID = 0
    140 GPU_PCI_SUBSYSTEM_ID = 0
    141 HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = 0
    142 HOST_NUMA_MEMORY_POOLS_SUPPORTED = 0
    143 HOST_NUMA_MULTINODE_IPC_SUPPORTED = 0
    144 HOST_MEMORY_POOLS_SUPPORTED = 0
    145 HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = 0
    146 HOST_ALLOC_DMA_BUF_SUPPORTED = 0
    147 ONLY_PARTIAL_HOST_NATIVE_ATOMIC_SUPPORTED = 0
    148 ATOMIC_REDUCTION_SUPPORTED = 0
    149 LOCALITY_DOMAIN_COUNT = 0
    150 MAX_OVERSIZED_SHARED_MEMORY_PER_BLOCK = 0
    151 D3D12_CIG_STREAMS_SUPPORTED = 0
    152 DMA_BUF_MMAP_SUPPORTED = 0
    153 LOGICAL_ENDPOINT_UNICAST_SUPPORTED = 0
    154 LOGICAL_ENDPOINT_MULTICAST_SUPPORTED = 0
    155 LOGICAL_ENDPOINT_COUNTED_OPS_SUPPORTED = 0
    156 LOGICAL_ENDPOINT_UNICAST_ACCESS_ON_OWNER_DEVICE_SUPPORTED = 0
    157 LOCALITY_DOMAIN_MULTIPROCESSOR_COUNT = 0
    158 LOGICAL_ENDPOINT_SUPPORTED_HANDLE_TYPES = 0
    159 VULKAN_CIG_STREAMS_SUPPORTED = 0
    160 TENSOR_MAP_LARGE_TENSOR_MIN_SIZE = 0
    161 GPU_DIRECT_RDMA_WITH_LOCALIZED_MEMORY_SUPPORTED = 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_in_order_and_agree_with_what_the_device_does() {
        assert!(ATTRIBUTES.is_sorted_by(|one, other| one.0 < other.0));
        let [grid_x, grid_y, grid_z] = MAX_GRID;
        let [block_x, block_y, block_z] = MAX_BLOCK;
        for (number, value) in [
            (1, MAX_THREADS_PER_BLOCK),
            (2, block_x),
            (3, block_y),
            (4, block_z),
            (5, grid_x),
            (6, grid_y),
            (7, grid_z),
            (8, SHARED_BYTES),
            (10, WARP_SIZE),
            (16, MULTIPROCESSORS),
            (39, MAX_THREADS_PER_MULTIPROCESSOR),
            (75, COMPUTE_CAPABILITY.0.unsigned_abs()),
            (76, COMPUTE_CAPABILITY.1.unsigned_abs()),
            (81, SHARED_BYTES_PER_MULTIPROCESSOR),
            (97, SHARED_BYTES_OPT_IN),
            (106, MAX_BLOCKS_PER_MULTIPROCESSOR),
            (111, RESERVED_SHARED_BYTES),
        ] {
            assert_eq!(
                attribute(number).map(i32::unsigned_abs),
                Ok(value),
                "{number}"
            );
        }
    }

    #[test]
    fn what_is_no_attribute_is_refused() {
        for number in [i32::MIN, -1, 0, 162, i32::MAX] {
            assert_eq!(attribute(number), Err(Error::InvalidValue));
        }
    }
}
