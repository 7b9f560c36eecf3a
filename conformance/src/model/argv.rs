//! Argument buffers, read from the ABI page.

/// One record of an argument buffer that is well formed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Record {
    /// Four bytes, bit for bit.
    Four(u32),
    /// Eight bytes, bit for bit.
    Eight(u64),
    /// A window of guest memory.
    Window {
        /// Guest offset.
        at: u32,
        /// Length in bytes.
        len: u32,
    },
}

/// The first thing wrong with a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// No such tag.
    Tag,
    /// The buffer ends within a record.
    Truncated,
    /// There is a 129th record.
    TooMany,
}

/// The records up to the end or the first fault.
#[derive(Clone, Copy)]
pub(super) struct Argv {
    records: [Record; MAX_RECORDS],
    len: usize,
    pub(super) fault: Option<Fault>,
}

impl Argv {
    pub(super) fn parse(mut bytes: &[u8]) -> Argv {
        let mut argv = Argv {
            records: [Record::Four(0); MAX_RECORDS],
            len: 0,
            fault: None,
        };
        while let Some((tag, rest)) = bytes.split_first() {
            if argv.len == MAX_RECORDS {
                argv.fault = Some(Fault::TooMany);
                break;
            }
            let taken = match tag {
                1 | 3 | 5 => rest
                    .split_first_chunk()
                    .map(|(value, rest)| (Record::Four(u32::from_le_bytes(*value)), rest)),
                2 | 4 | 6 => rest
                    .split_first_chunk()
                    .map(|(value, rest)| (Record::Eight(u64::from_le_bytes(*value)), rest)),
                7 => rest.split_first_chunk::<8>().map(|(value, rest)| {
                    let [a, b, c, d, e, f, g, h] = *value;
                    let (at, len) = (
                        u32::from_le_bytes([a, b, c, d]),
                        u32::from_le_bytes([e, f, g, h]),
                    );
                    (Record::Window { at, len }, rest)
                }),
                _ => {
                    argv.fault = Some(Fault::Tag);
                    break;
                }
            };
            let Some((record, rest)) = taken else {
                argv.fault = Some(Fault::Truncated);
                break;
            };
            argv.records[argv.len] = record;
            argv.len += 1;
            bytes = rest;
        }
        argv
    }

    pub(super) fn records(&self) -> &[Record] {
        &self.records[..self.len]
    }
}

impl Record {
    /// Bytes that the parameter gets.
    pub(super) fn width_bytes(self) -> u32 {
        match self {
            Record::Four(_) => 4,
            Record::Eight(_) | Record::Window { .. } => 8,
        }
    }
}

/// Longest buffer that is read.
pub(super) const MAX_BYTES: usize = 4096;

/// Most records.
pub(super) const MAX_RECORDS: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_in_order() {
        let argv = Argv::parse(b"\x01\x01\0\0\0\x06\x02\0\0\0\0\0\0\x80\x07\x03\0\0\0\x04\0\0\0");
        assert_eq!(argv.fault, None);
        assert_eq!(
            argv.records(),
            [
                Record::Four(1),
                Record::Eight(0x8000_0000_0000_0002),
                Record::Window { at: 3, len: 4 }
            ]
        );
    }

    #[test]
    fn every_tag_and_every_truncation() {
        for tag in 0..=255u8 {
            let width = match tag {
                1 | 3 | 5 => 4,
                2 | 4 | 6 | 7 => 8,
                _ => {
                    assert_eq!(Argv::parse(&[tag, 0, 0, 0, 0]).fault, Some(Fault::Tag));
                    assert_eq!(Argv::parse(&[tag]).fault, Some(Fault::Tag));
                    continue;
                }
            };
            for len in 0..=width {
                let mut bytes = vec![tag];
                bytes.resize(1 + len, 0);
                let expected = (len < width).then_some(Fault::Truncated);
                assert_eq!(Argv::parse(&bytes).fault, expected, "{tag} {len}");
            }
        }
    }

    #[test]
    fn the_129th_record_is_too_many_whatever_it_is_unless_an_earlier_one_is_bad() {
        let good = [1, 0, 0, 0, 0].repeat(128);
        assert_eq!(Argv::parse(&good).fault, None);
        for tail in [&[1, 0, 0, 0, 0][..], &[1], &[0], &[9, 9]] {
            let bytes = [&good, tail].concat();
            assert_eq!(Argv::parse(&bytes).fault, Some(Fault::TooMany));
        }
        let mut bad = [&good[..], &[1, 0, 0, 0, 0]].concat();
        bad[127 * 5] = 0;
        assert_eq!(Argv::parse(&bad).fault, Some(Fault::Tag));
    }
}
