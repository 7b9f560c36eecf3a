//! Host profiles: what kind of host the suite talks to (ABI section 6).

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The kind of host under test; it decides which expectation of a step applies.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// Kernels run.
    Device,
    /// Arguments are validated, then every call that needs a device is refused with -1.
    NoDevice,
    /// The embedder did not grant the capability: every call answers -1.
    Disabled,
}

impl Profile {
    /// Every profile, in the order of the documentation.
    pub const ALL: [Profile; 3] = [Profile::Device, Profile::NoDevice, Profile::Disabled];

    /// The word used in fixtures, reports and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Profile::Device => "device",
            Profile::NoDevice => "no-device",
            Profile::Disabled => "disabled",
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Profile {
    type Err = UnknownProfile;

    fn from_str(word: &str) -> Result<Profile, UnknownProfile> {
        Profile::ALL
            .into_iter()
            .find(|profile| profile.name() == word)
            .ok_or_else(|| UnknownProfile(word.to_owned()))
    }
}

/// A word that names no profile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown profile `{0}`: it is `device`, `no-device` or `disabled`")]
pub struct UnknownProfile(pub String);
