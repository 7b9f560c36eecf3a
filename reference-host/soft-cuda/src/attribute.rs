//! Attributes of functions: what programs may ask about a kernel and change.
//!
//! Source: CUDA driver API, `CUfunction_attribute`.

use crate::device;
use crate::error::Error;
use crate::module::{Function, Kernel};

impl Function {
    /// The value of an attribute.
    ///
    /// # Errors
    ///
    /// There is no such attribute.
    pub(crate) fn attribute(&self, kernel: &Kernel, attribute: i32) -> Result<i32, Error> {
        let entry = kernel.entry()?;
        let (major, minor) = kernel.code.ptx_version();
        let value = |number: u32| i32::try_from(number).unwrap_or(i32::MAX);
        Ok(match attribute {
            MAX_THREADS_PER_BLOCK => value(entry.max_threads_per_block()),
            SHARED_SIZE_BYTES => value(entry.static_shared_bytes()),
            CONST_SIZE_BYTES => i32::try_from(kernel.code.constant_bytes()).unwrap_or(i32::MAX),
            LOCAL_SIZE_BYTES => value(entry.local_bytes()),
            NUM_REGS => REGISTERS,
            PTX_VERSION => i32::from(major)
                .saturating_mul(10)
                .saturating_add(i32::from(minor)),
            BINARY_VERSION => {
                let (major, minor) = device::COMPUTE_CAPABILITY;
                major.saturating_mul(10).saturating_add(minor)
            }
            MAX_DYNAMIC_SHARED_SIZE_BYTES => value(self.max_dynamic_shared_bytes),
            PREFERRED_SHARED_MEMORY_CARVEOUT => self.carveout,
            CACHE_MODE_CA
            | CLUSTER_SIZE_MUST_BE_SET
            | DEVICE_NODE_UPDATE_SUPPORTED
            | SHARED_MEMORY_MODE => 0,
            attribute => *self
                .cluster
                .get(cluster_index(attribute)?)
                .ok_or(Error::InvalidValue)?,
        })
    }

    /// Changes an attribute.
    ///
    /// # Errors
    ///
    /// There is no such attribute, it cannot be changed, or not to that.
    pub(crate) fn set_attribute(
        &mut self,
        kernel: &Kernel,
        attribute: i32,
        value: i32,
    ) -> Result<(), Error> {
        match attribute {
            MAX_DYNAMIC_SHARED_SIZE_BYTES => {
                let fixed = kernel.entry()?.static_shared_bytes();
                let most = device::SHARED_BYTES_OPT_IN.saturating_sub(fixed);
                self.max_dynamic_shared_bytes = u32::try_from(value)
                    .ok()
                    .filter(|bytes| *bytes <= most)
                    .ok_or(Error::InvalidValue)?;
            }
            PREFERRED_SHARED_MEMORY_CARVEOUT => {
                if !(-1..=100).contains(&value) {
                    return Err(Error::InvalidValue);
                }
                self.carveout = value;
            }
            attribute => {
                let index = cluster_index(attribute)?;
                let most = match attribute {
                    NON_PORTABLE_CLUSTER_SIZE_ALLOWED => 1,
                    CLUSTER_SCHEDULING_POLICY_PREFERENCE => 2,
                    // A cluster of more than one block is what this device does not have.
                    _ => 1,
                };
                let place = self.cluster.get_mut(index).ok_or(Error::InvalidValue)?;
                if !(0..=most).contains(&value) {
                    return Err(Error::InvalidValue);
                }
                *place = value;
            }
        }
        Ok(())
    }
}

/// Where the attributes of clusters are kept.
fn cluster_index(attribute: i32) -> Result<usize, Error> {
    match attribute {
        REQUIRED_CLUSTER_WIDTH..=CLUSTER_SCHEDULING_POLICY_PREFERENCE => {
            usize::try_from(attribute.saturating_sub(REQUIRED_CLUSTER_WIDTH))
                .map_err(|_| Error::InvalidValue)
        }
        _ => Err(Error::InvalidValue),
    }
}

/// Registers of a thread: this device has no fixed number, and with these as many blocks fit as shared memory and threads allow.
pub(crate) const REGISTERS: i32 = 32;

const MAX_THREADS_PER_BLOCK: i32 = 0;
const SHARED_SIZE_BYTES: i32 = 1;
const CONST_SIZE_BYTES: i32 = 2;
const LOCAL_SIZE_BYTES: i32 = 3;
const NUM_REGS: i32 = 4;
const PTX_VERSION: i32 = 5;
const BINARY_VERSION: i32 = 6;
const CACHE_MODE_CA: i32 = 7;
const MAX_DYNAMIC_SHARED_SIZE_BYTES: i32 = 8;
const PREFERRED_SHARED_MEMORY_CARVEOUT: i32 = 9;
const CLUSTER_SIZE_MUST_BE_SET: i32 = 10;
const REQUIRED_CLUSTER_WIDTH: i32 = 11;
const NON_PORTABLE_CLUSTER_SIZE_ALLOWED: i32 = 14;
const CLUSTER_SCHEDULING_POLICY_PREFERENCE: i32 = 15;
const DEVICE_NODE_UPDATE_SUPPORTED: i32 = 16;
const SHARED_MEMORY_MODE: i32 = 17;
