//! What a program may set for a context: limits and wishes.
//!
//! Source: CUDA driver API, `CUlimit`.

use crate::error::Error;

/// The settings of a context.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    stack_bytes: u64,
    printf_bytes: u64,
    /// What `malloc` of kernels may give out, for each module.
    pub(crate) heap_bytes: u64,
    pending_launches: u64,
    fetch_granularity: u64,
    persisting_bytes: u64,
    block_bytes: u64,
    pub(crate) cache_config: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            stack_bytes: 1024,
            printf_bytes: 1 << 20,
            heap_bytes: 8 << 20,
            pending_launches: 2048,
            fetch_granularity: 64,
            persisting_bytes: 0,
            block_bytes: 0,
            cache_config: 0,
        }
    }
}

impl Settings {
    /// The value of a limit.
    ///
    /// # Errors
    ///
    /// `UnsupportedLimit` for what this device does not have, `InvalidValue` for what is no limit.
    pub(crate) fn limit(&self, limit: u32) -> Result<u64, Error> {
        Ok(match limit {
            STACK_SIZE => self.stack_bytes,
            PRINTF_FIFO_SIZE => self.printf_bytes,
            MALLOC_HEAP_SIZE => self.heap_bytes,
            PENDING_LAUNCH_COUNT => self.pending_launches,
            MAX_L2_FETCH_GRANULARITY => self.fetch_granularity,
            PERSISTING_L2_CACHE_SIZE => self.persisting_bytes,
            PER_BLOCK_MEMORY_SIZE => self.block_bytes,
            SHARED_MEMORY_OF_GRAPHICS | GRAPHICS | GRAPHICS_FALLBACK => 0,
            SYNC_DEPTH => return Err(Error::UnsupportedLimit),
            _ => return Err(Error::InvalidValue),
        })
    }

    /// Sets a limit, or what of the value the device can do.
    ///
    /// # Errors
    ///
    /// As for [`Settings::limit`]; `InvalidValue` also for limits that cannot be set.
    pub(crate) fn set_limit(&mut self, limit: u32, value: u64) -> Result<(), Error> {
        let (place, most) = match limit {
            STACK_SIZE => (&mut self.stack_bytes, 512 << 10),
            PRINTF_FIFO_SIZE => (&mut self.printf_bytes, 1 << 32),
            MALLOC_HEAP_SIZE => (&mut self.heap_bytes, u64::from(u32::MAX)),
            PENDING_LAUNCH_COUNT => (&mut self.pending_launches, 1 << 20),
            MAX_L2_FETCH_GRANULARITY => (&mut self.fetch_granularity, 128),
            PERSISTING_L2_CACHE_SIZE => (&mut self.persisting_bytes, 0),
            PER_BLOCK_MEMORY_SIZE => (&mut self.block_bytes, 0),
            SYNC_DEPTH | GRAPHICS_FALLBACK => return Err(Error::UnsupportedLimit),
            _ => return Err(Error::InvalidValue),
        };
        *place = value.min(most);
        Ok(())
    }
}

const STACK_SIZE: u32 = 0;
const PRINTF_FIFO_SIZE: u32 = 1;
const MALLOC_HEAP_SIZE: u32 = 2;
const SYNC_DEPTH: u32 = 3;
const PENDING_LAUNCH_COUNT: u32 = 4;
const MAX_L2_FETCH_GRANULARITY: u32 = 5;
const PERSISTING_L2_CACHE_SIZE: u32 = 6;
const SHARED_MEMORY_OF_GRAPHICS: u32 = 7;
const GRAPHICS: u32 = 8;
const GRAPHICS_FALLBACK: u32 = 9;
const PER_BLOCK_MEMORY_SIZE: u32 = 10;
