//! Copies of rows and slices, held against a plain loop.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that panics has failed"
)]

mod own;

use own::*;
use soft_cuda::CUstream;
use soft_cuda::api::rows::{self, CUDA_MEMCPY2D, CUDA_MEMCPY3D};

const HOST: u32 = 1;
const DEVICE: u32 = 2;
const ARRAY: u32 = 3;
const UNIFIED: u32 = 4;

#[test]
fn the_header_sizes_are_kept() {
    assert_eq!(size_of::<CUDA_MEMCPY2D>(), 128);
    assert_eq!(size_of::<CUDA_MEMCPY3D>(), 200);
}

fn image(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 7 % 251) as u8).collect()
}

#[test]
fn slices_are_copied_as_described() {
    fresh();
    let source = image(1000);
    for (to_kind, from_kind) in [
        (DEVICE, HOST),
        (DEVICE, DEVICE),
        (DEVICE, UNIFIED),
        (UNIFIED, DEVICE),
        (UNIFIED, HOST),
    ] {
        let from = upload(&source);
        let to = upload(&[0; 1000]);
        let copy = CUDA_MEMCPY3D {
            src_x_in_bytes: 2,
            src_y: 1,
            src_z: 1,
            src_memory_type: from_kind,
            src_host: source.as_ptr() as usize,
            src_device: from,
            src_pitch: 10,
            src_height: 5,
            dst_x_in_bytes: 1,
            dst_y: 2,
            dst_z: 0,
            dst_memory_type: to_kind,
            dst_device: to,
            dst_pitch: 12,
            dst_height: 7,
            width_in_bytes: 6,
            height: 3,
            depth: 4,
            ..CUDA_MEMCPY3D::default()
        };
        answers!(rows::cuMemcpy3D_v2(&copy));
        let mut expected = vec![0; 1000];
        for z in 0..4 {
            for y in 0..3 {
                for x in 0..6 {
                    expected[z * 84 + (y + 2) * 12 + x + 1] =
                        source[(z + 1) * 50 + (y + 1) * 10 + x + 2];
                }
            }
        }
        assert_eq!(download(to, 1000), expected);
    }
}

#[test]
fn rows_go_to_the_host() {
    fresh();
    let source = image(64);
    let from = upload(&source);
    let mut to = [0u8; 12];
    let copy = CUDA_MEMCPY2D {
        src_x_in_bytes: 4,
        src_memory_type: DEVICE,
        src_device: from,
        src_pitch: 16,
        dst_memory_type: HOST,
        dst_host: to.as_mut_ptr() as usize,
        dst_pitch: 3,
        width_in_bytes: 3,
        height: 4,
        ..CUDA_MEMCPY2D::default()
    };
    let expected: Vec<u8> = (0..4)
        .flat_map(|row| source[row * 16 + 4..][..3].to_vec())
        .collect();
    answers!(rows::cuMemcpy2D_v2(&copy));
    assert_eq!(to[..], expected);
    to.fill(0);
    answers!(rows::cuMemcpy2DUnaligned_v2(&copy));
    assert_eq!(to[..], expected);
    to.fill(0);
    answers!(rows::cuMemcpy2DAsync_v2(&copy, CUstream(0)));
    assert_eq!(
        to[..],
        expected,
        "memory that is not pinned is copied at once"
    );
}

#[test]
fn wrong_descriptions_are_refused() {
    fresh();
    let from = upload(&image(64));
    let to = allocate(64);
    let good = CUDA_MEMCPY2D {
        src_memory_type: DEVICE,
        src_device: from,
        src_pitch: 16,
        dst_memory_type: DEVICE,
        dst_device: to,
        dst_pitch: 16,
        width_in_bytes: 16,
        height: 4,
        ..CUDA_MEMCPY2D::default()
    };
    answers!(rows::cuMemcpy2D_v2(&good));
    let wrong = |change: fn(&mut CUDA_MEMCPY2D), code| {
        let mut copy = good;
        change(&mut copy);
        answers!(rows::cuMemcpy2D_v2(&copy), code);
    };
    wrong(|copy| copy.src_memory_type = 0, INVALID_VALUE);
    wrong(|copy| copy.dst_memory_type = 5, INVALID_VALUE);
    wrong(|copy| copy.src_memory_type = ARRAY, 801);
    wrong(|copy| copy.src_pitch = 15, INVALID_VALUE);
    wrong(|copy| copy.dst_pitch = 0, INVALID_VALUE);
    wrong(|copy| copy.dst_pitch = 1 << 31, INVALID_VALUE);
    wrong(|copy| copy.height = 5, INVALID_VALUE);
    wrong(|copy| copy.src_y = 1, INVALID_VALUE);
    wrong(|copy| copy.dst_x_in_bytes = 1, INVALID_VALUE);
    wrong(|copy| copy.dst_x_in_bytes = usize::MAX, INVALID_VALUE);
    wrong(|copy| copy.src_y = usize::MAX / 8, INVALID_VALUE);
    wrong(|copy| copy.height = usize::MAX, INVALID_VALUE);
    wrong(|copy| copy.src_device = 0, INVALID_VALUE);
    wrong(
        |copy| {
            copy.src_memory_type = HOST;
            copy.src_host = 0;
        },
        INVALID_VALUE,
    );
    wrong(
        |copy| {
            copy.src_memory_type = HOST;
            copy.src_host = copy.src_device as usize;
        },
        INVALID_VALUE,
    );
    wrong(|copy| copy.width_in_bytes = 0, 0);
    wrong(|copy| copy.height = 0, 0);
    wrong(
        |copy| {
            copy.height = 1;
            copy.src_pitch = 0;
            copy.dst_pitch = 0;
        },
        0,
    );
    answers!(rows::cuMemcpy2D_v2(std::ptr::null()), INVALID_VALUE);
    answers!(rows::cuMemcpy3D_v2(std::ptr::null()), INVALID_VALUE);
}
