//! Mistakes about a launch's grid, block and dynamic shared memory.

use wasi_cuda_host::abi::AbiError::{InvalidArgs, InvalidDimensions, LaunchFailed};
use wasi_cuda_host::abi::Import::Launch;
use wasi_cuda_host::abi::MAX_DYNAMIC_SHARED_BYTES;

use super::call::Call;
use super::{Act, Deviant};

pub(super) const DEVIANTS: &[Deviant] = &[
    launch(
        "grid-x-zero-is-one",
        &["launch.grid.positive"],
        "takes 0 blocks in x for 1",
        |c| at_least_one(c, "grid_x"),
    ),
    launch(
        "grid-y-zero-is-one",
        &["launch.grid.positive"],
        "takes 0 blocks in y for 1",
        |c| at_least_one(c, "grid_y"),
    ),
    launch(
        "grid-z-zero-is-one",
        &["launch.grid.positive"],
        "takes 0 blocks in z for 1",
        |c| at_least_one(c, "grid_z"),
    ),
    launch(
        "grid-empty-does-nothing",
        &["launch.grid.positive"],
        "launches an empty grid and does nothing",
        |c| match c.axes("grid").contains(&0) {
            true => 0,
            false => c.pass(),
        },
    ),
    launch(
        "grid-sign-dropped",
        &["launch.grid.positive"],
        "takes -1 blocks for 1",
        |c| {
            let axes = c.axes("grid").map(|axis| if axis == -1 { 1 } else { axis });
            c.set_axes("grid", axes).pass()
        },
    ),
    launch(
        "grid-code",
        &["launch.grid.positive"],
        "answers invalid-args to a grid that is not positive",
        |c| match c.axes("grid").into_iter().any(|axis| axis <= 0) {
            true => c.recode(InvalidDimensions, InvalidArgs),
            false => c.pass(),
        },
    ),
    launch(
        "block-x-zero-is-one",
        &["launch.block.positive"],
        "takes 0 threads in x for 1",
        |c| at_least_one(c, "block_x"),
    ),
    launch(
        "block-y-zero-is-one",
        &["launch.block.positive"],
        "takes 0 threads in y for 1",
        |c| at_least_one(c, "block_y"),
    ),
    launch(
        "block-z-zero-is-one",
        &["launch.block.positive"],
        "takes 0 threads in z for 1",
        |c| at_least_one(c, "block_z"),
    ),
    launch(
        "block-sign-dropped",
        &["launch.block.positive"],
        "takes -1 threads for 1",
        |c| {
            let axes = c
                .axes("block")
                .map(|axis| if axis == -1 { 1 } else { axis });
            c.set_axes("block", axes).pass()
        },
    ),
    launch(
        "block-code",
        &["launch.block.positive"],
        "answers invalid-args to a block that is not positive",
        |c| match c.axes("block").into_iter().any(|axis| axis <= 0) {
            true => c.recode(InvalidDimensions, InvalidArgs),
            false => c.pass(),
        },
    ),
    launch(
        "grid-cap-65534",
        &["launch.grid.cap"],
        "refuses a grid of 65535 blocks on an axis",
        |c| {
            let wrong = c.axes("grid").contains(&65535);
            c.refuse_if(wrong, InvalidDimensions)
        },
    ),
    launch(
        "grid-x-cap-65535",
        &["launch.grid.cap"],
        "holds the grid's x to the cap of y and z",
        |c| {
            let wrong = c.arg("grid_x") > 65535;
            c.refuse_if(wrong, InvalidDimensions)
        },
    ),
    launch(
        "grid-x-cap-one-less",
        &["launch.grid.cap"],
        "refuses a grid of 2^31 - 1 blocks in x",
        |c| {
            let wrong = c.arg("grid_x") == i64::from(i32::MAX);
            c.refuse_if(wrong, InvalidDimensions)
        },
    ),
    launch(
        "grid-x-unsigned",
        &["launch.grid.cap"],
        "reads a grid's x as unsigned",
        |c| {
            if c.arg("grid_x") == i64::from(i32::MIN) {
                c.set("grid_x", i64::from(i32::MAX));
            }
            c.pass()
        },
    ),
    launch(
        "block-x-cap-one-more",
        &["launch.block.axis-cap"],
        "takes blocks of 1025 threads in x",
        |c| one_more_thread(c, "block_x", 1024),
    ),
    launch(
        "block-y-cap-one-more",
        &["launch.block.axis-cap"],
        "takes blocks of 1025 threads in y",
        |c| one_more_thread(c, "block_y", 1024),
    ),
    launch(
        "block-z-cap-one-more",
        &["launch.block.axis-cap"],
        "takes blocks of 1025 threads in z",
        |c| one_more_thread(c, "block_z", 64),
    ),
    launch(
        "block-x-cap-one-less",
        &["launch.block.axis-cap"],
        "refuses blocks of 1024 threads in x",
        |c| {
            let wrong = c.arg("block_x") == 1024;
            c.refuse_if(wrong, InvalidDimensions)
        },
    ),
    launch(
        "block-y-cap-one-less",
        &["launch.block.axis-cap"],
        "refuses blocks of 1024 threads in y",
        |c| {
            let wrong = c.arg("block_y") == 1024;
            c.refuse_if(wrong, InvalidDimensions)
        },
    ),
    launch(
        "block-z-cap-63",
        &["launch.block.axis-cap"],
        "refuses blocks of 64 threads in z",
        |c| {
            let wrong = c.arg("block_z") == 64;
            c.refuse_if(wrong, InvalidDimensions)
        },
    ),
    launch(
        "block-axis-code",
        &["launch.block.axis-cap"],
        "answers launch-failed to a block axis over its cap",
        |c| match c.axes("block").into_iter().any(|axis| axis > 1024) {
            true => c.recode(InvalidDimensions, LaunchFailed),
            false => c.pass(),
        },
    ),
    launch(
        "threads-cap-one-more",
        &["launch.block.threads-cap"],
        "takes blocks of 1025 threads",
        |c| {
            if threads(c) == 1025 && c.axes("block").into_iter().all(|axis| axis <= 1024) {
                c.set_axes("block", [1024, 1, 1]);
            }
            c.pass()
        },
    ),
    launch(
        "threads-cap-one-less",
        &["launch.block.threads-cap"],
        "refuses blocks of 1024 threads over several axes",
        |c| {
            let wrong = threads(c) == 1024 && !c.axes("block").contains(&1024);
            c.refuse_if(wrong, InvalidDimensions)
        },
    ),
    launch(
        "threads-cap-without-y",
        &["launch.block.threads-cap"],
        "leaves y out when it counts threads",
        |c| {
            let [x, _, z] = c.axes("block");
            uncounted(c, x * z)
        },
    ),
    launch(
        "threads-cap-without-z",
        &["launch.block.threads-cap"],
        "leaves z out when it counts threads",
        |c| {
            let [x, y, _] = c.axes("block");
            uncounted(c, x * y)
        },
    ),
    launch(
        "threads-cap-by-sum",
        &["launch.block.threads-cap"],
        "adds the axes where it should multiply",
        |c| {
            let [x, y, z] = c.axes("block");
            uncounted(c, x + y + z)
        },
    ),
    launch(
        "threads-product-wraps",
        &["launch.block.threads-cap"],
        "multiplies the axes in 32 bits and checks the product alone",
        |c| {
            let product = c.axes("block").into_iter().fold(1_i32, |product, axis| {
                product.wrapping_mul(super::world::low_half(axis))
            });
            if product == 0 && c.axes("block").into_iter().all(|axis| axis > 0) {
                c.set_axes("block", [1, 1, 1]);
            }
            c.pass()
        },
    ),
    launch(
        "device-grid-y-clamped",
        &["launch.device-limits"],
        "clamps a grid's y to what the device takes",
        |c| clamp(c, "grid_y", 65535),
    ),
    launch(
        "device-grid-z-clamped",
        &["launch.device-limits"],
        "clamps a grid's z to what the device takes",
        |c| clamp(c, "grid_z", 65535),
    ),
    launch(
        "device-block-z-clamped",
        &["launch.device-limits"],
        "clamps a block's z to what the device takes",
        |c| match c.arg("block_z") <= 1024 {
            true => clamp(c, "block_z", 64),
            false => c.pass(),
        },
    ),
    launch(
        "device-limits-silent",
        &["launch.device-limits"],
        "does nothing and answers 0 when the device refuses a shape",
        |c| {
            let beyond =
                c.arg("grid_y") > 65535 || c.arg("grid_z") > 65535 || c.arg("block_z") > 64;
            match beyond {
                true => c.instead(LaunchFailed, 0),
                false => c.pass(),
            }
        },
    ),
    launch(
        "shared-memory-none",
        &["launch.shared-memory"],
        "gives kernels no dynamic shared memory",
        |c| c.set("shared_mem", 0).pass(),
    ),
    launch(
        "shared-memory-one-word-less",
        &["launch.shared-memory"],
        "gives kernels a word less than asked for",
        |c| {
            let less = c.arg("shared_mem") - 4;
            if less >= 0 {
                c.set("shared_mem", less);
            }
            c.pass()
        },
    ),
    launch(
        "shared-memory-48k-refused",
        &["launch.shared-memory"],
        "refuses 48 KiB of dynamic shared memory",
        |c| {
            let wrong = c.arg("shared_mem") == 49152;
            c.refuse_if(wrong, InvalidDimensions)
        },
    ),
    launch(
        "shared-memory-cap-one-more",
        &["launch.shared-memory.cap"],
        "takes one byte over 228 KiB",
        |c| {
            if c.unsigned("shared_mem") == u64::from(MAX_DYNAMIC_SHARED_BYTES) + 1 {
                c.set("shared_mem", i64::from(MAX_DYNAMIC_SHARED_BYTES));
            }
            c.pass()
        },
    ),
    launch(
        "shared-memory-negative-is-none",
        &["launch.shared-memory.cap"],
        "takes a negative size for 0",
        |c| {
            let size = c.arg("shared_mem").max(0);
            c.set("shared_mem", size).pass()
        },
    ),
];

const fn launch(
    name: &'static str,
    breaks: &'static [&'static str],
    wrong: &'static str,
    act: Act,
) -> Deviant {
    Deviant::new(name, breaks, wrong, &[Launch], act)
}

fn at_least_one(c: &mut Call<'_>, axis: &str) -> i64 {
    if c.arg(axis) == 0 {
        c.set(axis, 1);
    }
    c.pass()
}

/// Takes one thread over the cap, and gives the device what it can run.
fn one_more_thread(c: &mut Call<'_>, axis: &str, runs: i64) -> i64 {
    if c.arg(axis) == 1025 {
        c.set(axis, runs);
    }
    c.pass()
}

fn threads(c: &Call<'_>) -> i64 {
    c.axes("block").into_iter().fold(1, i64::saturating_mul)
}

/// Launches a block that passes for one of `counted` threads, with a shape that the device can run.
fn uncounted(c: &mut Call<'_>, counted: i64) -> i64 {
    let axes = c.axes("block");
    if threads(c) > 1024
        && counted <= 1024
        && axes.into_iter().all(|axis| (1..=1024).contains(&axis))
    {
        c.set_axes("block", [1, 1, 1]);
    }
    c.pass()
}

fn clamp(c: &mut Call<'_>, axis: &str, most: i64) -> i64 {
    let value = c.arg(axis).min(most);
    c.set(axis, value).pass()
}
