//! Options of the PTX compiler and the linker.
//!
//! Source: CUDA driver API, `CUjit_option`.

use crate::error::Error;
use crate::image::Refusal;

/// The options of a call that mean something here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) info: Log,
    pub(crate) error: Log,
    /// Which option wants the time that compiling took.
    pub(crate) wall_time: Option<usize>,
    /// A newer device than this one was asked for.
    too_new: bool,
}

/// A buffer for messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Log {
    /// Where it is; 0 for nowhere.
    pub(crate) address: usize,
    pub(crate) size_bytes: usize,
    /// Which option gave the size and takes how much was written.
    pub(crate) size_option: Option<usize>,
}

impl Options {
    /// Reads options: each its number and the word of its value.
    ///
    /// # Errors
    ///
    /// An unknown option, a value that its option does not have, or options that exclude each other: `InvalidValue`. Options for what is not there:
    /// `NotSupported`.
    pub(crate) fn parse(options: &[(u32, usize)]) -> Result<Self, Error> {
        let mut parsed = Self::default();
        let (mut targeted, mut sized) = (false, false);
        for (index, (number, word)) in options.iter().enumerate() {
            // Options that are integers have the width of `unsigned int`, whatever stands above it.
            let value = (*word & 0xFFFF_FFFF) as u32;
            let at_most = |most: u32| {
                if value <= most {
                    Ok(())
                } else {
                    Err(Error::InvalidValue)
                }
            };
            match *number {
                THREADS_PER_BLOCK => sized = true,
                WALL_TIME => parsed.wall_time = Some(index),
                INFO_LOG_BUFFER => parsed.info.address = *word,
                INFO_LOG_BUFFER_SIZE_BYTES => parsed.info.sized(index, value),
                ERROR_LOG_BUFFER => parsed.error.address = *word,
                ERROR_LOG_BUFFER_SIZE_BYTES => parsed.error.sized(index, value),
                OPTIMIZATION_LEVEL => at_most(4)?,
                TARGET => {
                    targeted = true;
                    if !TARGETS.contains(&(value & 0xFFFF)) || value >> 16 > 2 {
                        return Err(Error::InvalidValue);
                    }
                    parsed.too_new = value & 0xFFFF > NEWEST_TARGET;
                }
                FALLBACK_STRATEGY => at_most(1)?,
                CACHE_MODE => at_most(2)?,
                GLOBAL_SYMBOL_COUNT if value > 0 => return Err(Error::NotSupported),
                // They ask for other machine code that does the same.
                number if number < OPTION_COUNT => {}
                _ => return Err(Error::InvalidValue),
            }
        }
        if targeted && sized {
            return Err(Error::InvalidValue);
        }
        Ok(parsed)
    }

    /// Refuses to compile for a device that is not there.
    pub(crate) fn target(&self) -> Result<(), Refusal> {
        if self.too_new {
            return Err(Refusal::plain(
                Error::NoBinaryForGpu,
                "the target is newer than this device",
            ));
        }
        Ok(())
    }
}

impl Log {
    fn sized(&mut self, index: usize, bytes: u32) {
        self.size_bytes = bytes as usize;
        self.size_option = Some(index);
    }

    /// As much of `message` as fits before the end of the string.
    pub(crate) fn fitting<'m>(&self, message: &'m str) -> &'m [u8] {
        let room = self.size_bytes.saturating_sub(1);
        let bytes = message.as_bytes();
        bytes.get(..room).unwrap_or(bytes)
    }
}

const THREADS_PER_BLOCK: u32 = 1;
const WALL_TIME: u32 = 2;
const INFO_LOG_BUFFER: u32 = 3;
const INFO_LOG_BUFFER_SIZE_BYTES: u32 = 4;
const ERROR_LOG_BUFFER: u32 = 5;
const ERROR_LOG_BUFFER_SIZE_BYTES: u32 = 6;
const OPTIMIZATION_LEVEL: u32 = 7;
const TARGET: u32 = 9;
const FALLBACK_STRATEGY: u32 = 10;
const CACHE_MODE: u32 = 14;
const GLOBAL_SYMBOL_COUNT: u32 = 19;
/// Options from this number on are none.
const OPTION_COUNT: u32 = 36;
/// Compute capabilities that may be compiled for, without their families.
const TARGETS: [u32; 24] = [
    30, 32, 35, 37, 50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90, 100, 103, 107, 110,
    120, 121,
];
const NEWEST_TARGET: u32 = 90;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_of_the_header_is_known_and_no_other() {
        for number in 0..OPTION_COUNT {
            let value = if number == TARGET { 90 } else { 0 };
            assert!(Options::parse(&[(number, value)]).is_ok(), "{number}");
        }
        for number in [OPTION_COUNT, 1000, u32::MAX] {
            assert_eq!(Options::parse(&[(number, 0)]), Err(Error::InvalidValue));
        }
    }

    #[test]
    fn values_are_held_to_their_options() {
        for (number, good, bad) in [
            (OPTIMIZATION_LEVEL, 4, 5),
            (TARGET, 0x1_005A, 91),
            (TARGET, 80, 0x3_0050),
            (FALLBACK_STRATEGY, 1, 2),
            (CACHE_MODE, 2, 3),
        ] {
            assert!(Options::parse(&[(number, good)]).is_ok(), "{number}");
            assert_eq!(Options::parse(&[(number, bad)]), Err(Error::InvalidValue));
        }
        assert!(Options::parse(&[(THREADS_PER_BLOCK, 32)]).is_ok());
        assert_eq!(
            Options::parse(&[(THREADS_PER_BLOCK, 32), (TARGET, 90)]),
            Err(Error::InvalidValue)
        );
        assert_eq!(
            Options::parse(&[(GLOBAL_SYMBOL_COUNT, 1)]),
            Err(Error::NotSupported)
        );
        let newer = Options::parse(&[(TARGET, 100)]);
        assert!(newer.is_ok_and(|options| options.target().is_err()));
    }
}
