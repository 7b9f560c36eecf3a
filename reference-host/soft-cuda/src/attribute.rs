//! Attributes of functions: what programs may ask about a kernel and change.
//!
//! Source: CUDA driver API, `CUfunction_attribute`.

use crate::device;
use crate::error::Error;

/// The attributes that a program has set for a function, or for a kernel of a library.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Attributes([Option<i32>; SETTABLE.len()]);

impl Attributes {
    /// Sets an attribute.
    ///
    /// # Errors
    ///
    /// There is no such attribute, it cannot be set, or not to that.
    pub(crate) fn set(
        &mut self,
        entry: &soft_gpu::Entry,
        attribute: i32,
        value: i32,
    ) -> Result<(), Error> {
        let values = match attribute {
            MAX_DYNAMIC_SHARED_SIZE_BYTES => {
                let most = device::SHARED_BYTES_OPT_IN.saturating_sub(entry.static_shared_bytes());
                0..=number(most)
            }
            PREFERRED_SHARED_MEMORY_CARVEOUT => -1..=100,
            CLUSTER_SCHEDULING_POLICY_PREFERENCE => 0..=2,
            // A cluster of more than one block is what this device does not have.
            _ => 0..=1,
        };
        let place = index(attribute).and_then(|index| self.0.get_mut(index));
        let place = place.ok_or(Error::InvalidValue)?;
        if !values.contains(&value) {
            return Err(Error::InvalidValue);
        }
        *place = Some(value);
        Ok(())
    }

    /// These, and what `others` have where nothing is set here.
    pub(crate) fn over(self, others: Self) -> Self {
        let mut both = self.0.iter().zip(others.0);
        Self(std::array::from_fn(|_| {
            let (own, other) = both.next()?;
            own.or(other)
        }))
    }

    /// The value of an attribute of a kernel for which these are set.
    ///
    /// # Errors
    ///
    /// There is no such attribute.
    pub(crate) fn value(
        &self,
        code: &soft_gpu::Module,
        entry: &soft_gpu::Entry,
        attribute: i32,
    ) -> Result<i32, Error> {
        let (major, minor) = code.ptx_version();
        Ok(match attribute {
            MAX_THREADS_PER_BLOCK => number(entry.max_threads_per_block()),
            SHARED_SIZE_BYTES => number(entry.static_shared_bytes()),
            CONST_SIZE_BYTES => i32::try_from(code.constant_bytes()).unwrap_or(i32::MAX),
            LOCAL_SIZE_BYTES => number(entry.local_bytes()),
            NUM_REGS => REGISTERS,
            PTX_VERSION => tens((i32::from(major), i32::from(minor))),
            BINARY_VERSION => tens(device::COMPUTE_CAPABILITY),
            CACHE_MODE_CA
            | CLUSTER_SIZE_MUST_BE_SET
            | DEVICE_NODE_UPDATE_SUPPORTED
            | SHARED_MEMORY_MODE => 0,
            attribute => {
                let place = index(attribute).and_then(|index| self.0.get(index));
                place
                    .ok_or(Error::InvalidValue)?
                    .unwrap_or_else(|| unset(entry, attribute))
            }
        })
    }

    /// The most dynamic shared memory that a launch may ask for.
    pub(crate) fn max_dynamic_shared_bytes(&self, entry: &soft_gpu::Entry) -> u32 {
        let [set, ..] = self.0;
        let bytes = set.unwrap_or_else(|| unset(entry, MAX_DYNAMIC_SHARED_SIZE_BYTES));
        u32::try_from(bytes).unwrap_or(0)
    }
}

/// What an attribute is until somebody sets it.
fn unset(entry: &soft_gpu::Entry, attribute: i32) -> i32 {
    match attribute {
        MAX_DYNAMIC_SHARED_SIZE_BYTES => {
            number(device::SHARED_BYTES.saturating_sub(entry.static_shared_bytes()))
        }
        PREFERRED_SHARED_MEMORY_CARVEOUT => -1,
        _ => 0,
    }
}

fn index(attribute: i32) -> Option<usize> {
    SETTABLE.iter().position(|settable| *settable == attribute)
}

fn number(value: u32) -> i32 {
    i32::try_from(value).unwrap_or(i32::MAX)
}

/// A version as one number.
fn tens((major, minor): (i32, i32)) -> i32 {
    major.saturating_mul(10).saturating_add(minor)
}

/// Registers of a thread: this device has no fixed number, and with these as many blocks fit as shared memory and threads allow.
const REGISTERS: i32 = 32;

/// The attributes that can be set.
const SETTABLE: [i32; 7] = [
    MAX_DYNAMIC_SHARED_SIZE_BYTES,
    PREFERRED_SHARED_MEMORY_CARVEOUT,
    REQUIRED_CLUSTER_WIDTH,
    REQUIRED_CLUSTER_HEIGHT,
    REQUIRED_CLUSTER_DEPTH,
    NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
    CLUSTER_SCHEDULING_POLICY_PREFERENCE,
];

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
const REQUIRED_CLUSTER_HEIGHT: i32 = 12;
const REQUIRED_CLUSTER_DEPTH: i32 = 13;
const NON_PORTABLE_CLUSTER_SIZE_ALLOWED: i32 = 14;
const CLUSTER_SCHEDULING_POLICY_PREFERENCE: i32 = 15;
const DEVICE_NODE_UPDATE_SUPPORTED: i32 = 16;
const SHARED_MEMORY_MODE: i32 = 17;
