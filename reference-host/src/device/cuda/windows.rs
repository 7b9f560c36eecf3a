//! Where the windows of a launch lie in device memory.

use std::ops::Range;

use cust::sys::CUdeviceptr;
use smallvec::SmallVec;

use crate::argv::{Arg, Window};
use crate::device::arguments::merged;

/// A place in device memory for everything that the windows of a launch cover.
///
/// Windows that overlap are one piece, so that they alias. Each piece lies at an address that is as aligned as its guest offset, and pieces are apart from
/// each other.
#[derive(Debug)]
pub(super) struct Layout {
    pieces: SmallVec<[Piece; 16]>,
    /// Bytes that the whole takes, from an address that is a multiple of [`ALIGN_BYTES`].
    pub(super) len_bytes: u64,
}

/// Guest memory that lies in device memory as one piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Which guest memory.
    pub(super) guest: Range<u64>,
    /// Where it starts, from the start of the whole.
    pub(super) at: u64,
}

impl Layout {
    /// Plans the windows among `args`.
    pub(super) fn new(args: &[Arg]) -> Self {
        let mut end = 0u64;
        let pieces = merged(args)
            .into_iter()
            .map(|guest| {
                // As far from a multiple of the alignment as the guest's own offset is.
                let skip = guest.start.wrapping_sub(end) % ALIGN_BYTES;
                let at = end.saturating_add(skip);
                let len = guest.end.saturating_sub(guest.start);
                end = at.saturating_add(len).saturating_add(GAP_BYTES);
                Piece { guest, at }
            })
            .collect();
        Self {
            pieces,
            len_bytes: end,
        }
    }

    /// All pieces, by guest offset.
    pub(super) fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// The address of a window in a whole that starts at `base`; 0, where nothing can be reached, for one of no bytes.
    pub(super) fn address(&self, base: CUdeviceptr, window: Window) -> CUdeviceptr {
        self.place(window).map_or(0, |at| base.saturating_add(at))
    }

    /// What is to be copied back: the pieces that hold a window which may be written.
    ///
    /// The whole piece: where windows overlap, an address that was passed for one of them can reach all.
    pub(super) fn written<'l>(
        &'l self,
        args: &'l [Arg],
        written: &'l [bool],
    ) -> impl Iterator<Item = &'l Piece> {
        self.pieces.iter().filter(move |piece| {
            args.iter().zip(written).any(|(arg, written)| match arg {
                Arg::Ptr(window) => {
                    *written && window.len > 0 && piece.guest.contains(&window.offset.into())
                }
                _ => false,
            })
        })
    }

    fn place(&self, window: Window) -> Option<u64> {
        (window.len > 0).then(|| self.at(window.offset.into()))?
    }

    /// Where a byte of guest memory lies.
    fn at(&self, offset: u64) -> Option<u64> {
        let piece = self
            .pieces
            .iter()
            .find(|piece| piece.guest.contains(&offset))?;
        piece.at.checked_add(offset.checked_sub(piece.guest.start)?)
    }
}

/// The alignment of what the driver allocates, at least.
const ALIGN_BYTES: u64 = 256;

/// What is left free between pieces.
const GAP_BYTES: u64 = 256;

#[cfg(test)]
mod tests {
    use super::*;

    fn ptr(offset: u32, len: u32) -> Arg {
        Arg::Ptr(Window { offset, len })
    }

    #[test]
    fn pieces_are_as_aligned_as_the_guest_offsets_and_apart() {
        let args = [
            ptr(4099, 10),
            Arg::U32(1),
            ptr(100, 28),
            ptr(8192, 4),
            ptr(120, 50),
            ptr(7, 0),
        ];
        let layout = Layout::new(&args);
        let guests: Vec<_> = layout
            .pieces()
            .iter()
            .map(|piece| piece.guest.clone())
            .collect();
        assert_eq!(guests, [100..170, 4099..4109, 8192..8196]);
        let mut free = 0;
        for piece in layout.pieces() {
            assert_eq!(piece.at % ALIGN_BYTES, piece.guest.start % ALIGN_BYTES);
            assert!(piece.at >= free);
            free = piece.at + (piece.guest.end - piece.guest.start) + GAP_BYTES;
        }
        assert_eq!(layout.len_bytes, free);
        let of = |offset, len| layout.address(1 << 20, Window { offset, len });
        assert_eq!(of(120, 50) - of(100, 28), 20);
        assert_eq!(of(7, 0), 0);
        assert_eq!(of(100, 28) % ALIGN_BYTES, 100);
    }

    #[test]
    fn only_what_may_be_written_comes_back() {
        let args = [ptr(0, 64), ptr(32, 64), ptr(512, 8), ptr(600, 0)];
        let layout = Layout::new(&args);
        let back = |written: &[bool]| -> Vec<_> {
            let pieces = layout.written(&args, written);
            pieces.map(|piece| piece.guest.clone()).collect()
        };
        assert_eq!(back(&[false; 4]), []);
        let only = |range| vec![range];
        assert_eq!(back(&[false, true, false, true]), only(0..96));
        assert_eq!(back(&[false, false, true, false]), only(512..520));
        assert_eq!(back(&[true; 4]), [0..96, 512..520]);
    }

    #[test]
    fn the_whole_of_a_4_gib_memory_has_a_place() {
        let layout = Layout::new(&[ptr(0, u32::MAX), ptr(u32::MAX, 1)]);
        assert_eq!(layout.pieces().len(), 2);
        assert!(layout.len_bytes > 1 << 32);
    }
}
