//! How much a source may ask for.
//!
//! What is beyond a limit is refused with the limit's name. Besides, whatever a source holds, loading it takes time in proportion to
//! its length and at most 64 bytes of memory for each of its bytes beside 256 KiB (`tests/hostile`).

/// Deepest nesting of parentheses, prefix operators and `? :` in a constant expression.
pub(crate) const MAX_DEPTH: u32 = 64;
/// Deepest braces of an initial value.
pub(crate) const MAX_BRACES: u32 = 16;
/// Deepest nesting of braces in a body.
pub(crate) const MAX_SCOPES: u32 = 1024;
/// Most operands of an instruction; those of a vector or of a call's list count as one.
pub(crate) const MAX_OPERANDS: usize = 64;
/// Most parameters of a function; each takes 16 bytes of its frame.
pub(crate) const MAX_FORMALS: usize = 4096;
/// Most elements of a vector or of a call's list: as many as a function may have parameters.
pub(crate) const MAX_ELEMENTS: usize = MAX_FORMALS;
/// Most bytes of kernel parameters.
pub(crate) const MAX_PARAM_BYTES: u64 = 32764;
/// Most registers of one class that a function may really use; a declared range costs nothing.
pub(crate) const MAX_REGISTERS: u32 = 1 << 15;
/// Largest frame of one function, and largest stack of one thread, in bytes.
pub(crate) const MAX_FRAME_BYTES: u64 = 64 * 1024;
/// Most bytes of static shared memory in a kernel.
pub(crate) const MAX_STATIC_SHARED_BYTES: u64 = 48 * 1024;
/// Most bytes of `.const` variables in a module.
pub(crate) const MAX_CONST_BYTES: u64 = 64 * 1024;
/// Most bytes of `.global` variables in a module.
pub(crate) const MAX_GLOBAL_BYTES: u64 = 16 * 1024 * 1024;
/// Most threads of a block.
pub(crate) const MAX_THREADS: u32 = 1024;
/// Largest alignment that a variable may ask for.
pub(crate) const MAX_ALIGN: u64 = 1 << 30;
/// Most bytes of a function's name that stand in front of its variables' names.
pub(crate) const MAX_OWNER_BYTES: usize = 64;
