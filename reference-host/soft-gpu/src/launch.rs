//! Launching a kernel.

use thiserror::Error;

use crate::exec::{Budget, Grid, Means, Watch, can_share, run_grid, run_on_threads};
use crate::fault::Fault;
use crate::globals::Globals;
use crate::limits::MAX_THREADS;
use crate::memory::{Memory, Spaces};
use crate::module::{Entry, Module};

/// Shape and limits of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchConfig {
    /// Blocks along x, y and z: up to 2^31-1, 65535 and 65535.
    pub grid: [u32; 3],
    /// Threads of a block along x, y and z: up to 1024, 1024 and 64, and 1024 together.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub dynamic_shared_bytes: u32,
    /// Bytes that `malloc` may give out, with the gaps around its blocks.
    pub heap_bytes: u32,
    /// Checks that cost time and are off unless asked for.
    pub checks: Checks,
    /// Micro-ops that the launch's warps may execute together before the watchdog stops it.
    pub instruction_budget: u64,
    /// Threads of the host that run blocks side by side. With more than one, blocks see each other's effects in no fixed
    /// order, as on a device: a launch whose result depends on that differs from run to run. A kernel of a module that prints
    /// or allocates, or that uses instructions which cannot share memory yet, runs on one, as does a launch with checks.
    pub threads: u32,
}

impl Default for LaunchConfig {
    /// One thread, no dynamic shared memory, a heap of 8 MiB, a budget of 2^40.
    fn default() -> Self {
        Self {
            grid: [1; 3],
            block: [1; 3],
            dynamic_shared_bytes: 0,
            heap_bytes: 8 << 20,
            checks: Checks::default(),
            instruction_budget: 1 << 40,
            threads: 1,
        }
    }
}

/// Checks of shared memory that a launch may ask for. A launch with any of them is many times slower.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checks {
    /// Reads of bytes that no thread of the block has written are faults.
    pub uninitialised_shared: bool,
    /// Accesses by two threads of which at least one writes, and which no barrier and no atomic orders, are faults.
    ///
    /// Two plain stores of the same value are let pass, and so are accesses of which each is atomic or has an ordering.
    pub shared_races: bool,
}

/// Why a launch did not complete.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum LaunchError {
    /// The launch asks for what the device does not have; nothing ran.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A thread faulted; what ran before it may have changed memory.
    #[error(transparent)]
    Fault(#[from] Box<Fault>),
}

/// What a launch asks for and the device does not have.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// A grid axis of 0 or over the device's limit.
    #[error("grid ({}, {}, {}) is outside 1..=({}, {}, {})", grid[0], grid[1], grid[2], MAX_GRID[0], MAX_GRID[1], MAX_GRID[2])]
    Grid {
        /// The grid asked for.
        grid: [u32; 3],
    },
    /// A block axis of 0 or over the device's limit, or too many threads together.
    #[error("block ({}, {}, {}) is outside 1..=({}, {}, {}) or over {MAX_THREADS} threads", block[0], block[1], block[2], MAX_BLOCK[0], MAX_BLOCK[1], MAX_BLOCK[2])]
    Block {
        /// The block asked for.
        block: [u32; 3],
    },
    /// A block that the kernel's `.reqntid` or `.maxntid` does not allow.
    #[error("block ({}, {}, {}) contradicts the kernel's launch bounds ({}, {}, {})", block[0], block[1], block[2], bounds[0], bounds[1], bounds[2])]
    LaunchBounds {
        /// The block asked for.
        block: [u32; 3],
        /// What the kernel declares.
        bounds: [u32; 3],
    },
    /// More shared memory than a block has.
    #[error("{bytes} bytes of shared memory exceed the {MAX_SHARED_BYTES} that a block has")]
    Shared {
        /// Static and dynamic bytes together.
        bytes: u64,
    },
    /// A parameter buffer of another size than the kernel's.
    #[error("the parameter buffer has {found} bytes, the kernel takes {expected}")]
    Params {
        /// Bytes that the kernel takes.
        expected: u32,
        /// Bytes given.
        found: usize,
    },
}

/// Largest grid.
const MAX_GRID: [u32; 3] = [0x7FFF_FFFF, 65535, 65535];
/// Largest block along each axis.
const MAX_BLOCK: [u32; 3] = [1024, 1024, 64];
/// Bytes of a cache line.
const LINE: usize = 64;
/// Most shared memory of a block, static and dynamic: what a device of the sm_90 class grants.
const MAX_SHARED_BYTES: u64 = 227 * 1024;

/// Runs kernel `entry` of `module` to its end.
///
/// `params` is the parameter buffer: each value little-endian at its [`offset_bytes`](crate::Param::offset_bytes), in all
/// [`Entry::param_bytes`]. Blocks run one after the other, x fastest.
///
/// # Errors
///
/// [`LaunchError::Config`] before anything ran, [`LaunchError::Fault`] for the first fault in the fixed order of execution.
pub fn launch(
    module: &Module,
    entry: &Entry,
    config: &LaunchConfig,
    params: &[u8],
    globals: &mut Globals,
    memory: &mut Memory<'_>,
) -> Result<(), LaunchError> {
    launch_as(module, entry, config, params, globals, memory, Means::ALL)
}

/// A launch by means that may be less than all: a test shows that they make no difference.
pub(crate) fn launch_as(
    module: &Module,
    entry: &Entry,
    config: &LaunchConfig,
    params: &[u8],
    globals: &mut Globals,
    memory: &mut Memory<'_>,
    means: Means,
) -> Result<(), LaunchError> {
    let shared_bytes = check(module, entry, config, params)?;
    let uses_heap = || {
        let mut used = false;
        globals.heap.objects(|_, _, _| used = true);
        used
    };
    let checked = config.checks != Checks::default();
    if config.threads > 1 && !checked && can_share(&module.code) && !uses_heap() {
        let freed = memory.freed_only();
        let mut together = memory.together(&mut globals.global);
        let outcome = run_on_threads(
            module,
            entry,
            config,
            (&together, &freed),
            &globals.constant,
            params,
            shared_bytes,
        );
        std::mem::take(&mut together).finish();
        return Ok(outcome?);
    }
    let mut params = params.to_vec();
    let mut shared = vec![0; shared_bytes.saturating_add(LINE)];
    let spaces = Spaces {
        memory,
        globals: &mut globals.global,
        constants: &mut globals.constant,
        params: &mut params,
        shared: lined_up(&mut shared, shared_bytes),
        heap: &mut globals.heap,
        output: &mut globals.output,
        together: None,
    };
    let watch = (config.checks != Checks::default())
        .then(|| Box::new(Watch::new(config.checks, config.block, shared_bytes)));
    let watched = watch.is_some().then(|| module.watched());
    let grid = Grid {
        module,
        code: watched.as_ref().unwrap_or(&module.code),
        entry,
        config,
        budget: Budget::new(config.instruction_budget),
        means,
    };
    Ok(run_grid(grid, spaces, watch)?)
}

/// The `bytes` bytes from the first start of a cache line on, so that vectors do not straddle lines needlessly.
fn lined_up(buffer: &mut [u8], bytes: usize) -> &mut [u8] {
    let start = buffer.as_ptr().align_offset(LINE).min(LINE);
    buffer
        .get_mut(start..)
        .and_then(|rest| rest.get_mut(..bytes))
        .unwrap_or_default()
}

/// Checks a launch against the device; returns the bytes of shared memory of a block.
fn check(
    module: &Module,
    entry: &Entry,
    config: &LaunchConfig,
    params: &[u8],
) -> Result<usize, ConfigError> {
    let LaunchConfig { grid, block, .. } = *config;
    let within = |value: [u32; 3], limit: [u32; 3]| {
        value
            .iter()
            .zip(limit)
            .all(|(value, limit)| (1..=limit).contains(value))
    };
    if !within(grid, MAX_GRID) {
        return Err(ConfigError::Grid { grid });
    }
    let threads = |block: [u32; 3]| {
        block
            .iter()
            .fold(1u32, |product, axis| product.saturating_mul(*axis))
    };
    if !within(block, MAX_BLOCK) || threads(block) > MAX_THREADS {
        return Err(ConfigError::Block { block });
    }
    if let Some(bounds) = entry.bounds.required_block
        && bounds != block
    {
        return Err(ConfigError::LaunchBounds { block, bounds });
    }
    if let Some(bounds) = entry.bounds.max_block
        && threads(block) > threads(bounds)
    {
        return Err(ConfigError::LaunchBounds { block, bounds });
    }
    let fixed = if config.dynamic_shared_bytes == 0 {
        entry.static_shared_bytes
    } else {
        entry
            .static_shared_bytes
            .next_multiple_of(module.dynamic_shared_align)
    };
    let bytes = u64::from(fixed).saturating_add(u64::from(config.dynamic_shared_bytes));
    if bytes > MAX_SHARED_BYTES {
        return Err(ConfigError::Shared { bytes });
    }
    if params.len() != entry.param_bytes as usize {
        return Err(ConfigError::Params {
            expected: entry.param_bytes,
            found: params.len(),
        });
    }
    Ok(bytes as usize)
}
