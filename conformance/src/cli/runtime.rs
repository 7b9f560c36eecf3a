//! The runtime under test, as the command line chooses it.

use std::cmp::Reverse;
use std::sync::Arc;

use clap::Args;
use wasi_cuda_conformance::Profile;
use wasi_cuda_conformance::deviant::{self, Bench, Deviant};
use wasi_cuda_conformance::runtime::Runtime;
use wasi_cuda_conformance::runtime::reference::{Device, Reference};

use super::{CliError, profile};

#[derive(Debug, Args)]
pub(super) struct RuntimeArguments {
    /// The runtime under test:
    ///
    /// - reference:soft      the reference host with the software GPU (profile device)
    /// - reference:none      the reference host without a device (profile no-device)
    /// - reference:disabled  the reference host without the capability (profile disabled)
    /// - reference:cuda      the reference host with an NVIDIA GPU (profile device), reference:cuda:1 for the second; feature `cuda`
    /// - deviant:NAME        the reference host with one mistake, to see what catches it; `list --deviants` prints the names
    #[arg(
        long,
        default_value = "reference:soft",
        value_name = "RUNTIME",
        value_parser = choice,
        verbatim_doc_comment
    )]
    runtime: RuntimeChoice,
    /// Insist on this host profile: device, no-device or disabled.
    #[arg(long, value_name = "PROFILE", value_parser = profile)]
    profile: Option<Profile>,
}

#[derive(Clone, Copy, Debug)]
enum RuntimeChoice {
    Reference(Device),
    Deviant(&'static Deviant),
}

impl RuntimeArguments {
    /// The chosen runtime, of the profile that was insisted on.
    pub(super) fn open(&self) -> Result<Arc<dyn Runtime>, CliError> {
        let runtime: Arc<dyn Runtime> = match self.runtime {
            RuntimeChoice::Reference(device) => Arc::new(Reference::new(device)?),
            RuntimeChoice::Deviant(deviant) => Arc::new(Bench::new()?.host(deviant)?),
        };
        let info = runtime.info();
        if let Some(wanted) = self.profile.filter(|wanted| *wanted != info.profile) {
            return Err(CliError::Profile {
                wanted,
                runtime: info.name,
                actual: info.profile,
            });
        }
        Ok(runtime)
    }

    /// The options that choose the same runtime again; empty for the default.
    pub(super) fn options(&self) -> String {
        match self.runtime {
            RuntimeChoice::Reference(Device::Soft) => String::new(),
            RuntimeChoice::Reference(Device::None) => " --runtime reference:none".to_owned(),
            RuntimeChoice::Reference(Device::Disabled) => {
                " --runtime reference:disabled".to_owned()
            }
            #[cfg(feature = "cuda")]
            RuntimeChoice::Reference(Device::Cuda(0)) => " --runtime reference:cuda".to_owned(),
            #[cfg(feature = "cuda")]
            RuntimeChoice::Reference(Device::Cuda(ordinal)) => {
                format!(" --runtime reference:cuda:{ordinal}")
            }
            RuntimeChoice::Deviant(deviant) => format!(" --runtime deviant:{}", deviant.name),
        }
    }
}

fn choice(word: &str) -> Result<RuntimeChoice, String> {
    match word {
        "reference:soft" => Ok(RuntimeChoice::Reference(Device::Soft)),
        "reference:none" => Ok(RuntimeChoice::Reference(Device::None)),
        "reference:disabled" => Ok(RuntimeChoice::Reference(Device::Disabled)),
        "reference:cuda" => gpu("0"),
        _ if word.starts_with(GPU) => gpu(&word[GPU.len()..]),
        _ => match word.strip_prefix("deviant:") {
            Some(name) => deviant::named(name)
                .map(RuntimeChoice::Deviant)
                .ok_or_else(|| {
                    format!(
                        "no deviant is called `{name}`{}; `list --deviants` prints the names",
                        similar(name)
                    )
                }),
            None => Err(
                "write reference:soft, reference:cuda, reference:none, reference:disabled or deviant:NAME"
                    .to_owned(),
            ),
        },
    }
}

const GPU: &str = "reference:cuda:";

#[cfg(feature = "cuda")]
fn gpu(ordinal: &str) -> Result<RuntimeChoice, String> {
    match ordinal.parse() {
        Ok(ordinal) => Ok(RuntimeChoice::Reference(Device::Cuda(ordinal))),
        Err(_) => Err("write the GPU's ordinal as a number: reference:cuda:0".to_owned()),
    }
}

#[cfg(not(feature = "cuda"))]
fn gpu(_ordinal: &str) -> Result<RuntimeChoice, String> {
    Err("this program was built without CUDA: build it with `--features cuda`".to_owned())
}

/// A hint at the deviant whose name starts most alike, then shares most words.
fn similar(name: &str) -> String {
    let alike = |deviant: &&Deviant| {
        let letters = name.chars().zip(deviant.name.chars());
        let start = letters.take_while(|(given, known)| given == known).count();
        let words = name.split('-').filter(|word| word.len() > 2);
        let shared = words.filter(|word| deviant.name.contains(word)).count();
        (start, shared)
    };
    // The first of those that are most alike, if that is much: half of the letters, or half of the words.
    let best = deviant::all().min_by_key(|deviant| Reverse(alike(deviant)));
    let much = |best: &&Deviant| {
        let (start, shared) = alike(best);
        start >= 3.max(name.len().div_ceil(2))
            || (shared > 0 && shared * 2 >= name.split('-').count())
    };
    match best.filter(much) {
        Some(deviant) => format!(" (there is `{}`)", deviant.name),
        None => String::new(),
    }
}
