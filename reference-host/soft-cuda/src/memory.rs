//! Memory that kernels reach: where it is, whose it is, and its bytes.
//!
//! Addresses are numbers of our own and never those of host memory, so that a program which follows one crashes as it would with a GPU. The
//! exception is memory that program and device share, which both know by the same address.

use std::collections::BTreeMap;

use crate::error::Error;

/// The device memory of a context.
#[derive(Debug, Default)]
pub(crate) struct DeviceMemory {
    allocations: BTreeMap<u64, Allocation>,
}

/// A piece of device memory.
#[derive(Debug)]
pub(crate) struct Allocation {
    pub(crate) len_bytes: u64,
    pub(crate) bytes: Bytes,
}

/// The bytes of an allocation.
#[derive(Debug)]
pub(crate) enum Bytes {
    /// Each byte is this one; nothing is held until that changes.
    Filled(u8),
    /// Held.
    Held(Box<[u8]>),
}

impl DeviceMemory {
    /// Everything in it, for a kernel to work on.
    pub(crate) fn map<'m>(&'m mut self, memory: &mut soft_gpu::Memory<'m>) -> Result<(), Error> {
        for (start, allocation) in &mut self.allocations {
            let bytes = allocation.held()?;
            memory.map(*start, bytes).map_err(|_| Error::OutOfMemory)?;
        }
        Ok(())
    }
}

impl Allocation {
    fn held(&mut self) -> Result<&mut [u8], Error> {
        if let Bytes::Filled(byte) = self.bytes {
            let len = usize::try_from(self.len_bytes).map_err(|_| Error::OutOfMemory)?;
            self.bytes = Bytes::Held(vec![byte; len].into_boxed_slice());
        }
        match &mut self.bytes {
            Bytes::Held(bytes) => Ok(bytes),
            Bytes::Filled(_) => Err(Error::Unknown),
        }
    }
}
