//! What the suite needs from a host under test.
//!
//! A [`Runtime`] starts one fresh [`Host`] for each fixture; a host instantiates guests; dropping a guest ends its
//! instance, dropping the host ends the world it lived in.

pub(crate) mod engine;
pub mod reference;

pub use engine::{EngineError, NotANumber};

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use crate::profile::Profile;

/// A product that offers `wasi:cuda/host`, shared by the workers of a run.
///
/// # Example
///
/// See [the crate's front page](crate) for a complete implementation.
pub trait Runtime: Send + Sync + 'static {
    /// Who it is, and what kind of host it offers.
    fn info(&self) -> RuntimeInfo;

    /// Starts a host with nothing left over from any other one.
    ///
    /// # Errors
    ///
    /// Why no host could be started; every case of the fixture is then an `error`.
    fn start(&self) -> Result<Box<dyn Host>, String>;
}

/// One host: a world in which the instances of one fixture live together.
pub trait Host {
    /// Instantiates a module.
    ///
    /// A start function that runs longer than `limit` is stopped, and is a [`InstantiateError::Start`].
    ///
    /// # Errors
    ///
    /// Why there is no instance: a module that does not link is told apart from a start function that failed.
    fn instantiate(
        &mut self,
        wasm: &[u8],
        limit: Duration,
    ) -> Result<Box<dyn Guest>, InstantiateError>;
}

/// One instance; dropping it ends the instance.
pub trait Guest {
    /// Calls an exported function and stops the guest when it runs longer than `limit`.
    ///
    /// The arguments have the types of the export's parameters; the suite has checked that.
    fn call(&mut self, export: &str, args: &[Value], limit: Duration) -> Outcome;

    /// The text of the last error the host recorded for this instance, if the runtime can tell.
    ///
    /// Asked before each call and after a failed one, and shown with the failure when the call changed it.
    fn last_error(&mut self) -> Option<String> {
        None
    }
}

/// Who a runtime is and what it offers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RuntimeInfo {
    /// Name as the user chose it, such as `reference:soft`.
    pub name: String,
    /// Version of the product.
    pub version: String,
    /// The kind of host it is.
    pub profile: Profile,
    /// Optional abilities; a fixture that needs one that is not here is skipped.
    #[serde(skip)]
    pub offers: BTreeSet<Need>,
}

/// An optional ability of a host that some fixtures need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Need {
    /// Linear memories larger than 2 GiB.
    MemoryOver2Gib,
    /// Memories with 64-bit addresses.
    Memory64,
    /// Shared memories.
    SharedMemory,
    /// A device that really has the 4 GiB which the caps allow one instance.
    DeviceMemory4Gib,
}

impl Need {
    /// Every ability.
    pub const ALL: [Need; 4] = [
        Need::MemoryOver2Gib,
        Need::Memory64,
        Need::SharedMemory,
        Need::DeviceMemory4Gib,
    ];

    /// The word used in fixtures.
    pub fn name(self) -> &'static str {
        match self {
            Need::MemoryOver2Gib => "memory-over-2gib",
            Need::Memory64 => "memory64",
            Need::SharedMemory => "shared-memory",
            Need::DeviceMemory4Gib => "device-memory-4gib",
        }
    }
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Need {
    type Err = ();

    fn from_str(word: &str) -> Result<Need, ()> {
        Need::ALL
            .into_iter()
            .find(|need| need.name() == word)
            .ok_or(())
    }
}

/// Why a module did not become an instance.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InstantiateError {
    /// An import is not offered, or not with this signature.
    #[error("does not link: {0}")]
    Unlinkable(String),
    /// The start function trapped or ran too long.
    #[error("start function failed: {0}")]
    Start(String),
    /// The runtime could not do its work (compile the module, reserve memory).
    #[error("could not be instantiated: {0}")]
    Failed(String),
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The export returned these values.
    Returned(Vec<Value>),
    /// The guest trapped.
    Trapped(String),
    /// The guest or the host ran longer than allowed and was stopped.
    TimedOut,
    /// The host died of it: a panic, a signal, an abort.
    Crashed(String),
    /// The runtime could not make the call at all; says nothing about the host's conformance.
    Failed(String),
}

/// A number at the border of a guest. Floats are bit patterns: a NaN keeps its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    /// 32-bit integer.
    I32(i32),
    /// 64-bit integer.
    I64(i64),
    /// Bits of a 32-bit float.
    F32(u32),
    /// Bits of a 64-bit float.
    F64(u64),
}

impl Value {
    /// The wasm type of the value.
    pub fn kind(self) -> Kind {
        match self {
            Value::I32(_) => Kind::I32,
            Value::I64(_) => Kind::I64,
            Value::F32(_) => Kind::F32,
            Value::F64(_) => Kind::F64,
        }
    }

    /// The number, when it is an integer.
    pub fn as_integer(self) -> Option<i64> {
        match self {
            Value::I32(value) => Some(i64::from(value)),
            Value::I64(value) => Some(value),
            Value::F32(_) | Value::F64(_) => None,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::I32(value) => value.fmt(f),
            Value::I64(value) => value.fmt(f),
            Value::F32(bits) => write!(f, "{:?} (bits {bits:#010x})", f32::from_bits(*bits)),
            Value::F64(bits) => write!(f, "{:?} (bits {bits:#018x})", f64::from_bits(*bits)),
        }
    }
}

/// Type of a [`Value`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// 32-bit integer.
    I32,
    /// 64-bit integer.
    I64,
    /// 32-bit float.
    F32,
    /// 64-bit float.
    F64,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Kind::I32 => "i32",
            Kind::I64 => "i64",
            Kind::F32 => "f32",
            Kind::F64 => "f64",
        })
    }
}
