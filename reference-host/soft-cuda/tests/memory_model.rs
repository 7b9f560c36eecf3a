//! Random copies and fills, overlapping ones too, held against plain arrays.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "a test that panics has failed"
)]

mod own;

use own::*;
use soft_cuda::CUstream;
use soft_cuda::api::rows::{self, CUDA_MEMCPY3D};
use soft_cuda::api::{copy, fill, host_memory};

const PIECES: usize = 4;
const LEN: usize = 512;

/// Numbers that look random and are the same each time.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }

    /// A range of a piece; often all of it, since whole pieces are held otherwise.
    fn range(&mut self) -> (usize, usize) {
        if self.below(4) == 0 {
            return (0, LEN);
        }
        let start = self.below(LEN);
        (start, self.below(LEN - start + 1))
    }
}

/// Memory as it should be: device pieces first, then one of pinned memory.
struct Model {
    bytes: Vec<[u8; LEN]>,
    addresses: Vec<u64>,
}

impl Model {
    fn place(&self, random: &mut Random) -> usize {
        random.below(self.addresses.len())
    }

    fn copy(&mut self, to: (usize, usize), from: (usize, usize), len: usize) {
        let moved = self.bytes[from.0][from.1..from.1 + len].to_vec();
        self.bytes[to.0][to.1..to.1 + len].copy_from_slice(&moved);
    }

    fn at(&self, (piece, offset): (usize, usize)) -> u64 {
        self.addresses[piece] + offset as u64
    }

    fn step(&mut self, random: &mut Random) {
        let (piece, other) = (self.place(random), self.place(random));
        let (start, len) = random.range();
        let to = (piece, start);
        let value = random.below(1 << 16) as u32 * 0x1_0001;
        match random.below(8) {
            0 => {
                let bytes: Vec<u8> = (0..len).map(|_| random.below(256) as u8).collect();
                answers!(copy::cuMemcpyHtoD_v2(
                    self.at(to),
                    bytes.as_ptr().cast(),
                    len
                ));
                self.bytes[piece][start..start + len].copy_from_slice(&bytes);
            }
            1 => assert_eq!(
                download(self.at(to), len),
                self.bytes[piece][start..start + len]
            ),
            2 | 3 => {
                let from = (other, random.below(LEN - len + 1));
                answers!(copy::cuMemcpyDtoDAsync_v2(
                    self.at(to),
                    self.at(from),
                    len,
                    CUstream(2)
                ));
                self.copy(to, from, len);
            }
            4 => {
                answers!(fill::cuMemsetD8Async(
                    self.at(to),
                    value as u8,
                    len,
                    CUstream(0)
                ));
                self.bytes[piece][start..start + len].fill(value as u8);
            }
            5 => {
                let (start, words) = (start / 4 * 4, len / 4);
                answers!(fill::cuMemsetD32_v2(self.at((piece, start)), value, words));
                let bytes = &mut self.bytes[piece][start..start + words * 4];
                for word in bytes.chunks_exact_mut(4) {
                    word.copy_from_slice(&value.to_le_bytes());
                }
            }
            6 => {
                let (start, pitch) = (random.below(64) * 2, 2 * (1 + random.below(24)));
                let (width, height) = (random.below(pitch / 2 + 1), random.below(8));
                let at = self.at((piece, start));
                answers!(fill::cuMemsetD2D16_v2(
                    at,
                    pitch,
                    value as u16,
                    width,
                    height
                ));
                for row in 0..height {
                    let row = &mut self.bytes[piece][start + row * pitch..][..width * 2];
                    for half in row.chunks_exact_mut(2) {
                        half.copy_from_slice(&(value as u16).to_le_bytes());
                    }
                }
            }
            _ => self.copy_box(random, piece, other),
        }
    }

    /// Copies slices of rows between two pieces.
    fn copy_box(&mut self, random: &mut Random, piece: usize, other: usize) {
        if piece == other {
            return;
        }
        let (width, height, depth) = (random.below(6), random.below(4), random.below(4));
        let mut side = || {
            let (pitch, rows) = (6 + random.below(4) + 3, 4 + random.below(3));
            (
                random.below(4),
                random.below(2),
                random.below(2),
                pitch,
                rows + 1,
            )
        };
        let (to, from) = (side(), side());
        let params = CUDA_MEMCPY3D {
            src_x_in_bytes: from.0,
            src_y: from.1,
            src_z: from.2,
            src_memory_type: 2,
            src_device: self.addresses[other],
            src_pitch: from.3,
            src_height: from.4,
            dst_x_in_bytes: to.0,
            dst_y: to.1,
            dst_z: to.2,
            dst_memory_type: 4,
            dst_device: self.addresses[piece],
            dst_pitch: to.3,
            dst_height: to.4,
            width_in_bytes: width,
            height,
            depth,
            ..CUDA_MEMCPY3D::default()
        };
        answers!(rows::cuMemcpy3DAsync_v2(&params, CUstream(0)));
        for slice in 0..depth {
            for row in 0..height {
                let at = |(x, y, z, pitch, rows): (usize, usize, usize, usize, usize)| {
                    ((z + slice) * rows + y + row) * pitch + x
                };
                self.copy((piece, at(to)), (other, at(from)), width);
            }
        }
    }
}

#[test]
fn memory_is_what_was_put_there() {
    fresh();
    let mut pinned = std::ptr::null_mut();
    answers!(host_memory::cuMemAllocHost_v2(&mut pinned, LEN));
    let mut model = Model {
        bytes: vec![[0; LEN]; PIECES + 1],
        addresses: (0..PIECES)
            .map(|_| allocate(LEN))
            .chain([pinned as u64])
            .collect(),
    };
    for address in &model.addresses {
        answers!(fill::cuMemsetD8_v2(*address, 0, LEN));
    }
    let mut random = Random(0x2545_F491_4F6C_DD1D);
    for _ in 0..20_000 {
        model.step(&mut random);
    }
    for (address, bytes) in model.addresses.iter().zip(&model.bytes) {
        assert_eq!(download(*address, LEN), bytes);
    }
}
