//! The C types of the driver API, as far as this library reads them.
//!
//! Enumerations are plain integers here: a program may pass any value.

use std::ffi::{c_int, c_uint};

/// What each function returns: 0, or the number of an [`Error`](crate::Error).
pub type CUresult = c_uint;
/// A device ordinal.
pub type CUdevice = c_int;
/// An address in device memory.
pub type CUdeviceptr = u64;

/// Handles: numbers of the width of a pointer that are never followed.
macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[repr(transparent)]
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub struct $name(pub usize);
    )*};
}

handles! {
    /// A context.
    CUcontext
    /// A module.
    CUmodule
    /// A kernel of a module, or a kernel of a library where one is taken for the other.
    CUfunction
    /// A library, a module that belongs to no context.
    CUlibrary
    /// A kernel of a library.
    CUkernel
    /// A linker under way.
    CUlinkState
    /// A stream; 0 is the default stream, 1 the legacy one, 2 the calling thread's.
    CUstream
    /// An event.
    CUevent
    /// A graph.
    CUgraph
    /// A node of a graph.
    CUgraphNode
    /// A graph made ready to launch.
    CUgraphExec
    /// A pool of memory for stream-ordered allocation.
    CUmemoryPool
}
