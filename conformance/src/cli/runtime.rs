//! The runtime under test, as the command line chooses it.

use std::sync::Arc;

use clap::{Args, ValueEnum};
use wasi_cuda_conformance::Profile;
use wasi_cuda_conformance::runtime::Runtime;
use wasi_cuda_conformance::runtime::reference::{Device, Reference};

use super::{CliError, profile};

#[derive(Debug, Args)]
pub(super) struct RuntimeArguments {
    /// The runtime under test.
    #[arg(
        long,
        value_enum,
        default_value = "reference:soft",
        value_name = "RUNTIME"
    )]
    runtime: RuntimeChoice,
    /// Insist on this host profile: device, no-device or disabled.
    #[arg(long, value_name = "PROFILE", value_parser = profile)]
    profile: Option<Profile>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum RuntimeChoice {
    /// The reference host with the software GPU (profile device).
    #[value(name = "reference:soft")]
    Soft,
    /// The reference host without a device (profile no-device).
    #[value(name = "reference:none")]
    None,
    /// The reference host without the capability (profile disabled).
    #[value(name = "reference:disabled")]
    Disabled,
}

impl RuntimeArguments {
    /// The chosen runtime, of the profile that was insisted on.
    pub(super) fn open(&self) -> Result<Arc<dyn Runtime>, CliError> {
        let runtime = Reference::new(match self.runtime {
            RuntimeChoice::Soft => Device::Soft,
            RuntimeChoice::None => Device::None,
            RuntimeChoice::Disabled => Device::Disabled,
        })?;
        let info = runtime.info();
        if let Some(wanted) = self.profile.filter(|wanted| *wanted != info.profile) {
            return Err(CliError::Profile {
                wanted,
                runtime: info.name,
                actual: info.profile,
            });
        }
        Ok(Arc::new(runtime))
    }

    /// The options that choose the same runtime again; empty for the default.
    pub(super) fn options(&self) -> &'static str {
        match self.runtime {
            RuntimeChoice::Soft => "",
            RuntimeChoice::None => " --runtime reference:none",
            RuntimeChoice::Disabled => " --runtime reference:disabled",
        }
    }
}
