//! What the loaders are given: PTX text, images that the linker made, and machine code, which this device does not run.

use std::borrow::Cow;

use soft_gpu::{LoadAtError, PtxError, PtxErrorCause, SemanticError};

use crate::error::Error;

/// The sources of a module, one or several that were linked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Image<'i> {
    pub(crate) sources: Vec<Cow<'i, [u8]>>,
}

/// Why an image is refused: the code, and what the compiler's log says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) error: Error,
    pub(crate) log: String,
}

impl<'i> Image<'i> {
    /// The same, to be kept.
    pub(crate) fn into_owned(self) -> Image<'static> {
        let sources = self.sources.into_iter();
        Image {
            sources: sources
                .map(|source| Cow::Owned(source.into_owned()))
                .collect(),
        }
    }

    /// An image that is one source.
    ///
    /// # Errors
    ///
    /// The bytes are no text, but machine code or something else that cannot be loaded.
    pub(crate) fn of_text(text: &'i [u8]) -> Result<Self, Refusal> {
        match kind(text) {
            Content::Text => Ok(Self {
                sources: vec![Cow::Borrowed(text)],
            }),
            Content::MachineCode => Err(Refusal::plain(
                Error::NoBinaryForGpu,
                "machine code cannot run here: this device takes PTX",
            )),
            Content::Other => Err(Refusal::plain(
                Error::InvalidImage,
                "the image is neither PTX nor an image of the linker",
            )),
        }
    }

    /// The bytes by which a program may keep the image and load it again.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut body = Vec::new();
        for source in &self.sources {
            body.extend_from_slice(&(source.len() as u64).to_le_bytes());
            body.extend_from_slice(source);
        }
        let mut bytes = Vec::from(MAGIC);
        let lengths = [HEADER_BYTES.saturating_add(body.len()), self.sources.len()];
        for length in lengths {
            bytes.extend_from_slice(&(length as u64).to_le_bytes());
        }
        bytes.extend_from_slice(&check(&bytes).to_le_bytes());
        bytes.extend_from_slice(&body);
        bytes
    }

    /// How long an image of the linker is that starts with these bytes; `None` where it is none.
    pub(crate) fn linked_bytes(header: &[u8; HEADER_BYTES]) -> Option<usize> {
        let (fields, sum) = header.split_last_chunk::<8>()?;
        if !fields.starts_with(MAGIC) || u64::from_le_bytes(*sum) != check(fields) {
            return None;
        }
        let (total, _) = fields.get(MAGIC.len()..)?.split_first_chunk::<8>()?;
        usize::try_from(u64::from_le_bytes(*total)).ok()
    }

    /// The image in bytes that [`Image::to_bytes`] made.
    ///
    /// # Errors
    ///
    /// They are not such bytes, or not all of them.
    pub(crate) fn of_linked(bytes: &'i [u8]) -> Result<Self, Refusal> {
        Self::parse(bytes).ok_or_else(|| {
            Refusal::plain(Error::InvalidImage, "the linker's image has been damaged")
        })
    }

    fn parse(bytes: &'i [u8]) -> Option<Self> {
        let (header, mut body) = bytes.split_first_chunk::<HEADER_BYTES>()?;
        if Self::linked_bytes(header)? != bytes.len() {
            return None;
        }
        let mut sources = Vec::new();
        while !body.is_empty() {
            let (length, rest) = body.split_first_chunk::<8>()?;
            let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
            let (source, rest) = rest.split_at_checked(length)?;
            sources.push(Cow::Borrowed(source));
            body = rest;
        }
        Some(Self { sources })
    }

    /// Whether an image of the linker may start with these bytes.
    pub(crate) fn is_linked(start: &[u8]) -> bool {
        start.starts_with(MAGIC)
    }
}

impl Refusal {
    pub(crate) fn plain(error: Error, message: &str) -> Self {
        Self {
            error,
            log: format!("error   : {message}"),
        }
    }

    /// What the loader answers to a source that soft-gpu refuses.
    pub(crate) fn of(error: &LoadAtError) -> Self {
        match error {
            LoadAtError::Ptx(error) => Self {
                error: code(&error.cause),
                log: worded(error),
            },
            other => Self::plain(Error::OutOfMemory, &other.to_string()),
        }
    }
}

/// An error of a source as PTX assemblers write it.
pub(crate) fn worded(error: &PtxError) -> String {
    let PtxError { at, cause } = error;
    format!(
        "ptxas application ptx input, line {}; error   : {cause} (column {})\nptxas fatal   : Ptx assembly aborted due to errors",
        at.line, at.column
    )
}

fn code(cause: &PtxErrorCause) -> Error {
    match cause {
        PtxErrorCause::Unsupported(_) => Error::NotSupported,
        PtxErrorCause::Semantic(SemanticError::UnsupportedVersion { major, .. }) if *major > 0 => {
            Error::UnsupportedPtxVersion
        }
        PtxErrorCause::Semantic(SemanticError::TargetTooNew { .. }) => Error::NoBinaryForGpu,
        _ => Error::InvalidPtx,
    }
}

/// What bytes look like.
enum Content {
    Text,
    MachineCode,
    Other,
}

fn kind(bytes: &[u8]) -> Content {
    if bytes.starts_with(ELF) {
        let machine = bytes.get(18..20);
        return match machine {
            Some(machine) if machine != ELF_CUDA => Content::Other,
            _ => Content::MachineCode,
        };
    }
    if FAT_BINARY.iter().any(|magic| bytes.starts_with(magic)) {
        return Content::MachineCode;
    }
    match bytes.first() {
        Some(b'\t' | b'\n' | 0x0B | 0x0C | b'\r' | b' '..=b'~') => Content::Text,
        _ => Content::Other,
    }
}

/// A sum that tells a header from one that only begins like it.
fn check(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3)
    })
}

const MAGIC: &[u8; 16] = b"\x01soft-cuda link\n";
/// Bytes of a linked image before its sources: the magic, the image's bytes, how many sources, a sum of these.
pub(crate) const HEADER_BYTES: usize = 40;
const ELF: &[u8] = b"\x7FELF";
/// The machine number of ELF files with code for NVIDIA's devices.
const ELF_CUDA: &[u8] = &[190, 0];
/// How fat binaries, and the wrappers that point to them, start.
const FAT_BINARY: [&[u8]; 2] = [&[0x50, 0xED, 0x55, 0xBA], &[0xB1, 0x43, 0x62, 0x46]];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linked_image_comes_back_whole_or_not_at_all() {
        let image = Image {
            sources: vec![b"one".as_slice().into(), b"".as_slice().into()],
        };
        let bytes = image.to_bytes();
        assert_eq!(Image::of_linked(&bytes), Ok(image));
        for end in 0..bytes.len() {
            let cut = bytes.get(..end).unwrap_or_default();
            assert!(Image::of_linked(cut).is_err(), "{end} bytes");
        }
        for at in 0..HEADER_BYTES {
            let mut changed = bytes.clone();
            if let Some(byte) = changed.get_mut(at) {
                *byte ^= 1;
            }
            assert!(Image::of_linked(&changed).is_err(), "byte {at}");
        }
    }
}
