//! What the environment asks for, read once.

use std::sync::OnceLock;

use crate::device;

/// The environment's wishes.
#[derive(Debug)]
pub(crate) struct Settings {
    /// Bytes of device memory.
    pub(crate) memory_bytes: u64,
    /// Weighted warp instructions that a launch may take.
    pub(crate) instruction_budget: u64,
}

/// The environment's wishes.
pub(crate) fn settings() -> &'static Settings {
    static SETTINGS: OnceLock<Settings> = OnceLock::new();
    SETTINGS.get_or_init(|| Settings {
        memory_bytes: device::MEMORY_BYTES,
        instruction_budget: 200_000_000,
    })
}
