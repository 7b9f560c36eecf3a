//! Bytes of a memory or buffer that may be huge, mostly zero, and partly unknown.

use std::collections::BTreeMap;

/// Bytes by offset. What was never written is zero and takes no room; single bytes may be unknown.
#[derive(Clone, Debug, Default)]
pub(super) struct Contents {
    pages: BTreeMap<u32, Box<Page>>,
}

/// Bytes in one page; also the unit of digests.
pub(super) const PAGE: usize = 4096;

#[derive(Clone, Debug)]
struct Page {
    bytes: [u8; PAGE],
    /// A bit for each byte that is not known.
    unknown: Option<Box<[u64; PAGE / 64]>>,
    /// Of `bytes`, as long as they do not change.
    digest: Option<u64>,
}

impl Contents {
    /// The byte, unless it is unknown.
    pub(super) fn byte(&self, at: u64) -> Option<u8> {
        let (page, offset) = split(at);
        match self.pages.get(&page) {
            None => Some(0),
            Some(page) if page.is_unknown(offset) => None,
            Some(page) => page.bytes.get(offset).copied(),
        }
    }

    /// Reads bytes; false when one of them is unknown.
    pub(super) fn read(&self, at: u64, into: &mut [u8]) -> bool {
        let mut known = true;
        let mut done = 0;
        while done < into.len() {
            let (page, offset) = split(at + done as u64);
            let len = (PAGE - offset).min(into.len() - done);
            let target = &mut into[done..done + len];
            match self.pages.get(&page) {
                None => target.fill(0),
                Some(page) => {
                    target.copy_from_slice(&page.bytes[offset..offset + len]);
                    known &= page.all_known(offset, len);
                }
            }
            done += len;
        }
        known
    }

    /// Writes bytes, which are known from now on.
    pub(super) fn write(&mut self, at: u64, bytes: &[u8]) {
        let mut done = 0;
        while done < bytes.len() {
            let (index, offset) = split(at + done as u64);
            let len = (PAGE - offset).min(bytes.len() - done);
            let page = self.page(index);
            page.bytes[offset..offset + len].copy_from_slice(&bytes[done..done + len]);
            page.set_unknown(offset, len, false);
            page.digest = None;
            done += len;
        }
    }

    /// Makes bytes unknown.
    pub(super) fn forget(&mut self, at: u64, len: u64) {
        let mut done = 0;
        while done < len {
            let (index, offset) = split(at + done);
            let part = ((PAGE - offset) as u64).min(len - done);
            let page = self.page(index);
            page.set_unknown(offset, part as usize, true);
            done += part;
        }
    }

    /// Copies bytes from another memory, known or not.
    pub(super) fn copy_from(&mut self, at: u64, source: &Contents, from: u64, len: u64) {
        let mut done = 0;
        while done < len {
            let (source_index, source_offset) = split(from + done);
            let (index, offset) = split(at + done);
            let part = ((PAGE - offset.max(source_offset)) as u64).min(len - done);
            match source.pages.get(&source_index) {
                None if !self.pages.contains_key(&index) => {}
                None => self.write(at + done, &ZEROS[..part as usize]),
                Some(page) => {
                    let part = part as usize;
                    self.write(at + done, &page.bytes[source_offset..source_offset + part]);
                    if !page.all_known(source_offset, part) {
                        let target = self.page(index);
                        for step in 0..part {
                            if page.is_unknown(source_offset + step) {
                                target.set_unknown(offset + step, 1, true);
                            }
                        }
                    }
                }
            }
            done += part;
        }
    }

    /// Whether these bytes are there; `None` when the unknown ones decide.
    pub(super) fn equals(&self, at: u64, bytes: &[u8]) -> Option<bool> {
        let mut sure = true;
        let mut done = 0;
        while done < bytes.len() {
            let (index, offset) = split(at + done as u64);
            let len = (PAGE - offset).min(bytes.len() - done);
            let wanted = &bytes[done..done + len];
            match self.pages.get(&index) {
                None if wanted.iter().any(|byte| *byte != 0) => return Some(false),
                None => {}
                Some(page)
                    if page.all_known(offset, len)
                        && page.bytes[offset..offset + len] != *wanted =>
                {
                    return Some(false);
                }
                Some(page) if page.all_known(offset, len) => {}
                Some(page) => {
                    for (step, byte) in wanted.iter().enumerate() {
                        if page.is_unknown(offset + step) {
                            sure = false;
                        } else if page.bytes[offset + step] != *byte {
                            return Some(false);
                        }
                    }
                }
            }
            done += len;
        }
        sure.then_some(true)
    }

    /// The first unknown byte below `end`, and how many follow it without a gap.
    pub(super) fn unknown(&self, end: u64) -> Option<(u64, u64)> {
        let (index, page) = self.pages.iter().find(|(_, page)| page.unknown.is_some())?;
        let first = (0..PAGE).find(|offset| page.is_unknown(*offset))?;
        let at = u64::from(*index) * PAGE as u64 + first as u64;
        if at >= end {
            return None;
        }
        let len = (first..PAGE)
            .take_while(|offset| page.is_unknown(*offset))
            .count() as u64;
        Some((at, len.min(end - at)))
    }

    /// The digest of a page, `None` if one of its bytes is unknown.
    pub(super) fn digest(&mut self, page: u32) -> Option<u64> {
        match self.pages.get_mut(&page) {
            None => Some(ZERO_DIGEST),
            Some(page) if page.unknown.is_some() => None,
            Some(page) => {
                let bytes = &page.bytes;
                Some(*page.digest.get_or_insert_with(|| digest(bytes)))
            }
        }
    }

    fn page(&mut self, index: u32) -> &mut Page {
        self.pages.entry(index).or_insert_with(|| {
            Box::new(Page {
                bytes: [0; PAGE],
                unknown: None,
                digest: None,
            })
        })
    }
}

impl Page {
    fn is_unknown(&self, offset: usize) -> bool {
        self.unknown
            .as_ref()
            .is_some_and(|bits| bits[offset / 64] >> (offset % 64) & 1 != 0)
    }

    fn all_known(&self, offset: usize, len: usize) -> bool {
        self.unknown.is_none() || (offset..offset + len).all(|at| !self.is_unknown(at))
    }

    fn set_unknown(&mut self, offset: usize, len: usize, unknown: bool) {
        if self.unknown.is_none() && !unknown {
            return;
        }
        let bits = self.unknown.get_or_insert_with(|| Box::new([0; PAGE / 64]));
        for at in offset..offset + len {
            let bit = 1 << (at % 64);
            if unknown {
                bits[at / 64] |= bit;
            } else {
                bits[at / 64] &= !bit;
            }
        }
        if bits.iter().all(|word| *word == 0) {
            self.unknown = None;
        }
    }
}

/// The digest of a page, over four lanes of 64-bit words; the driver guest computes the same.
pub(super) const fn digest(bytes: &[u8; PAGE]) -> u64 {
    let mut lanes = LANES;
    let mut at = 0;
    while at < PAGE {
        let mut lane = 0;
        while lane < 4 {
            let mut word = [0; 8];
            let mut index = 0;
            while index < 8 {
                word[index] = bytes[at + lane * 8 + index];
                index += 1;
            }
            lanes[lane] = (lanes[lane] ^ u64::from_le_bytes(word))
                .wrapping_mul(PRIME)
                .rotate_left(29);
            lane += 1;
        }
        at += 32;
    }
    let mut whole = lanes[0];
    let mut lane = 1;
    while lane < 4 {
        whole = (whole ^ lanes[lane]).wrapping_mul(PRIME).rotate_left(29);
        lane += 1;
    }
    whole
}

fn split(at: u64) -> (u32, usize) {
    ((at / PAGE as u64) as u32, (at % PAGE as u64) as usize)
}

/// Where the lanes of a digest start.
pub(super) const LANES: [u64; 4] = [1, 2, 3, 4];

/// What a digest multiplies with: odd, and with bits all over.
pub(super) const PRIME: u64 = 0x9E37_79B9_7F4A_7C15;

const ZEROS: [u8; PAGE] = [0; PAGE];
const ZERO_DIGEST: u64 = digest(&ZEROS);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_never_written_is_zero() {
        let contents = Contents::default();
        let mut bytes = [1; 9000];
        assert!(contents.read(u64::from(u32::MAX) - 10_000, &mut bytes));
        assert!(bytes.iter().all(|byte| *byte == 0));
        assert_eq!(contents.equals(5, &[0; 5000]), Some(true));
        assert_eq!(contents.equals(5, b"a"), Some(false));
    }

    #[test]
    fn writes_cross_pages() {
        let mut contents = Contents::default();
        contents.write(4094, b"abcd");
        assert_eq!(contents.equals(4094, b"abcd"), Some(true));
        assert_eq!(contents.byte(4097), Some(b'd'));
        assert_eq!(contents.byte(4098), Some(0));
    }

    #[test]
    fn unknown_bytes_travel_and_go_away() {
        let mut contents = Contents::default();
        contents.write(0, b"abcdef");
        contents.forget(2, 2);
        assert_eq!(contents.byte(2), None);
        assert_eq!(contents.equals(0, b"abxxef"), None);
        assert_eq!(contents.equals(0, b"abxxeg"), Some(false));
        assert_eq!(contents.unknown(100), Some((2, 2)));
        assert_eq!(contents.digest(0), None);
        let mut copy = Contents::default();
        copy.copy_from(4095, &contents, 1, 4);
        assert_eq!(copy.byte(4095), Some(b'b'));
        assert_eq!(copy.byte(4096), None);
        assert_eq!(copy.byte(4097), None);
        assert_eq!(copy.byte(4098), Some(b'e'));
        contents.write(2, b"cd");
        assert_eq!(contents.unknown(100), None);
        assert!(contents.digest(0).is_some());
    }

    #[test]
    fn digests_tell_pages_apart() {
        let mut contents = Contents::default();
        let empty = contents.digest(7);
        contents.write(7 * PAGE as u64 + 4095, &[1]);
        let one = contents.digest(7);
        assert_ne!(empty, one);
        contents.write(7 * PAGE as u64 + 4095, &[0]);
        assert_eq!(contents.digest(7), empty);
    }
}
