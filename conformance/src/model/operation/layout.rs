//! Where things lie in the memory of a guest that operations run in.

use std::sync::LazyLock;

use crate::model::kernel::{known, rejected};

/// The texts in guest memory, and where they are.
#[derive(Debug)]
pub struct Layout {
    /// What memory holds at the start: offset and bytes.
    pub segments: Vec<(u32, Vec<u8>)>,
    /// Of each known module, its text and its entry name: offset and length.
    pub known: Vec<[(u32, u32); 2]>,
    /// Of each rejected text, offset and length.
    pub rejected: Vec<(u32, u32)>,
    /// Bytes that are not UTF-8: offset and length.
    pub not_text: (u32, u32),
    /// Letters: offset and the most there are.
    pub letters: (u32, u32),
}

/// The one layout.
pub fn layout() -> &'static Layout {
    static LAYOUT: LazyLock<Layout> = LazyLock::new(|| {
        let mut layout = Layout {
            segments: Vec::new(),
            known: Vec::new(),
            rejected: Vec::new(),
            not_text: (0, 0),
            letters: (0, 0),
        };
        let mut next = TEXTS_AT;
        let mut put = |segments: &mut Vec<(u32, Vec<u8>)>, bytes: &[u8]| {
            let len = u32::try_from(bytes.len()).unwrap_or(0);
            let at = next;
            if len > 0 {
                segments.push((at, bytes.to_vec()));
            }
            next = (at + len).next_multiple_of(16);
            (at, len)
        };
        for module in known() {
            let text = put(&mut layout.segments, module.text.as_bytes());
            let entry = put(&mut layout.segments, module.entry.as_bytes());
            layout.known.push([text, entry]);
        }
        for text in rejected() {
            let place = put(&mut layout.segments, text.as_bytes());
            layout.rejected.push(place);
        }
        layout.not_text = put(&mut layout.segments, b"st\xC3re");
        layout.letters = put(&mut layout.segments, &[b'x'; 300]);
        layout
    });
    &LAYOUT
}

/// Pages of a guest's memory at the start.
pub const PAGES: u32 = 2;

/// Where argument buffers usually lie.
pub const ARGV_AT: u32 = 1024;

/// Where the middle starts that [`Place`](super::Place)s are in.
pub const PLAY_AT: u32 = 32768;

/// How long it is.
pub(super) const PLAY_BYTES: u32 = 32768;

/// Where the ids of many loads or allocations are put, eight bytes each.
pub const BULK_AT: u32 = 65536;

const TEXTS_AT: u32 = 8192;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_texts_end_before_the_middle_starts() {
        let (at, bytes) = layout().segments.last().expect("texts");
        assert!(*at as usize + bytes.len() <= PLAY_AT as usize);
    }
}
