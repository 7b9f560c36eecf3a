//! Mistakes about a launch's kernel and argument buffer, and about launches that are refused.

use wasi_cuda_host::abi::AbiError;
use wasi_cuda_host::abi::AbiError::{
    Internal, InvalidArgs, InvalidDimensions, InvalidHandle, InvalidKernel, InvalidPointer,
    KernelArgsUnsupported, LaunchFailed, QuotaExceeded,
};
use wasi_cuda_host::abi::Import::{Launch, Sync};
use wasi_cuda_host::abi::MAX_KERNEL_ARGS_BYTES;

use super::call::Call;
use super::load::wrapping;
use super::{Act, Deviant, code};

pub(super) const DEVIANTS: &[Deviant] = &[
    launch(
        "refused-spoils-next",
        &["launch.refused-is-harmless"],
        "fails the launch that follows a refused one",
        |c| {
            let spoilt = std::mem::take(&mut c.notes().flag);
            let answer = c.pass();
            c.notes().flag = answer < 0;
            if spoilt && answer == 0 {
                code(LaunchFailed)
            } else {
                answer
            }
        },
    ),
    launch(
        "kernel-unknown-silent",
        &["launch.kernel-id"],
        "answers 0 to a launch of an unknown kernel",
        |c| match known_to_anyone(c) {
            true => c.pass(),
            false => c.instead(InvalidKernel, 0),
        },
    ),
    launch(
        "kernel-unknown-code",
        &["launch.kernel-id"],
        "answers invalid-handle to an unknown kernel",
        |c| c.recode(InvalidKernel, InvalidHandle),
    ),
    launch(
        "kernel-zero-accepted",
        &["launch.kernel-id"],
        "takes the id 0 for a kernel that does nothing",
        |c| match c.id() {
            0 => 0,
            _ => c.pass(),
        },
    ),
    launch(
        "kernel-negative-code",
        &["launch.kernel-id"],
        "answers invalid-args to a negative id",
        |c| match c.id() < 0 {
            true => c.recode(InvalidKernel, InvalidArgs),
            false => c.pass(),
        },
    ),
    launch(
        "kernel-foreign-runs",
        &["launch.foreign"],
        "launches kernels of other instances",
        |c| match c.pass() {
            refused if refused == code(InvalidKernel) => {
                let others = c.others();
                let answers: Vec<i64> = others.into_iter().map(|other| c.pass_as(other)).collect();
                answers
                    .into_iter()
                    .find(|answer| *answer != refused)
                    .unwrap_or(refused)
            }
            answer => answer,
        },
    ),
    launch(
        "kernel-foreign-silent",
        &["launch.foreign"],
        "answers 0 to a launch of another instance's kernel",
        |c| match known_to_anyone(c) {
            true => c.instead(InvalidKernel, 0),
            false => c.pass(),
        },
    ),
    launch(
        "kernel-ended-runs",
        &["launch.foreign"],
        "keeps the kernels of instances that have ended for anyone",
        |c| {
            let id = c.id();
            let ended = c.world.guests.iter().any(|guest| {
                guest.instance.is_none() && guest.kernels.iter().any(|(kernel, _)| *kernel == id)
            });
            match ended {
                true => c.instead(InvalidKernel, 0),
                false => c.pass(),
            }
        },
    ),
    launch(
        "kernel-id-low-half",
        &["launch.kernel-id-is-64-bit"],
        "looks at the low half of a kernel id only",
        |c| masked(c, 0xFFFF_FFFF),
    ),
    launch(
        "kernel-id-high-half",
        &["launch.kernel-id-is-64-bit"],
        "looks at the high half of a kernel id only",
        |c| masked(c, !0xFFFF_FFFF),
    ),
    launch(
        "kernel-id-48-bits",
        &["launch.kernel-id-is-64-bit"],
        "looks at 48 bits of a kernel id",
        |c| masked(c, (1 << 48) - 1),
    ),
    launch(
        "kernel-id-without-sign",
        &["launch.kernel-id-is-64-bit"],
        "ignores the sign of a kernel id",
        |c| masked(c, i64::MAX),
    ),
    launch(
        "args-region-one-more",
        &["launch.args.region"],
        "reads one byte of arguments behind the memory's end",
        |c| match c.end("args_ptr", "args_len") == c.memory_len() + 1 {
            true => {
                let mut memory = c.memory_with_room(1);
                let answer = c.pass_on(&mut memory);
                c.take_back(&memory);
                answer
            }
            false => c.pass(),
        },
    ),
    launch(
        "args-region-wraps",
        &["launch.args.region"],
        "adds pointer and length of the arguments in 32 bits",
        |c| wrapping(c, "args_ptr", "args_len"),
    ),
    launch(
        "args-region-code",
        &["launch.args.region"],
        "answers invalid-args to arguments outside the memory",
        |c| match c.outside("args_ptr", "args_len") {
            true => c.recode(InvalidPointer, InvalidArgs),
            false => c.pass(),
        },
    ),
    launch(
        "args-cap-before-region",
        &["launch.args.region"],
        "compares the length with its cap before it looks at the region",
        |c| {
            let wrong = c.unsigned("args_len") > u64::from(MAX_KERNEL_ARGS_BYTES)
                && c.outside("args_ptr", "args_len");
            c.refuse_if(wrong, KernelArgsUnsupported)
        },
    ),
    launch(
        "args-last-byte-refused",
        &["launch.args.region"],
        "refuses arguments that end with the memory",
        |c| {
            let wrong = c.arg("args_len") > 0 && c.end("args_ptr", "args_len") == c.memory_len();
            c.refuse_if(wrong, InvalidPointer)
        },
    ),
    launch(
        "args-empty-checked",
        &["launch.args.empty"],
        "wants an empty argument buffer to lie inside the memory",
        |c| {
            let wrong = c.arg("args_len") == 0 && c.outside("args_ptr", "args_len");
            c.refuse_if(wrong, InvalidPointer)
        },
    ),
    launch(
        "args-empty-at-end-refused",
        &["launch.args.empty"],
        "refuses an empty argument buffer at the memory's end",
        |c| {
            let wrong = c.arg("args_len") == 0 && c.unsigned("args_ptr") == c.memory_len();
            c.refuse_if(wrong, InvalidPointer)
        },
    ),
    launch(
        "args-empty-only-at-zero",
        &["launch.args.empty"],
        "wants the pointer of an empty argument buffer to be 0",
        |c| {
            let wrong = c.arg("args_len") == 0 && c.arg("args_ptr") != 0;
            c.refuse_if(wrong, InvalidArgs)
        },
    ),
    launch(
        "args-empty-code",
        &["launch.args.empty"],
        "takes a launch without arguments for one over a cap",
        |c| {
            let wrong = c.arg("args_len") == 0;
            c.refuse_if(wrong, QuotaExceeded)
        },
    ),
    launch(
        "args-aligned-only",
        &["argv.unaligned"],
        "wants an argument buffer at a multiple of four",
        |c| {
            let wrong = c.arg("args_len") > 0 && c.arg("args_ptr") % 4 != 0;
            c.refuse_if(wrong, InvalidArgs)
        },
    ),
    launch(
        "args-aligned-down",
        &["argv.unaligned"],
        "reads arguments from the multiple of eight before the pointer",
        |c| {
            let aligned = c.arg("args_ptr") & !7;
            if c.arg("args_len") > 0 {
                c.set("args_ptr", aligned);
            }
            c.pass()
        },
    ),
    Deviant::new(
        "args-read-at-sync",
        &["launch.args.read-at-call"],
        "reads the arguments when it runs a kernel, at the next sync",
        &[Launch, Sync],
        |c| {
            if c.import == Launch {
                let mut copy = c.memory_with_room(0);
                let answer = c.pass_on(&mut copy);
                if answer == 0 {
                    let (number, args) = (c.notes().calls.len() as i64, c.args.clone());
                    c.notes().calls.insert(number, args);
                }
                return answer;
            }
            for args in std::mem::take(&mut c.notes().calls).into_values() {
                let failed = c.also_here(Launch, &args);
                if failed != 0 {
                    return failed;
                }
            }
            c.pass()
        },
    ),
    launch(
        "refused-grid-runs",
        &["launch.refused-runs-nothing"],
        "runs a block before it notices an empty grid",
        |c| {
            let wrong = c.axes("grid").contains(&0);
            let axes = c.axes("grid").map(|axis| if axis == 0 { 1 } else { axis });
            runs_then_refuses(c, wrong, "grid", axes, InvalidDimensions)
        },
    ),
    launch(
        "refused-block-runs",
        &["launch.refused-runs-nothing"],
        "runs a full block before it notices that more was asked for",
        |c| {
            let axes = c.axes("block");
            let wrong = axes.into_iter().all(|axis| axis > 0)
                && axes.into_iter().fold(1, i64::saturating_mul) > 1024;
            runs_then_refuses(c, wrong, "block", [1024, 1, 1], InvalidDimensions)
        },
    ),
    launch(
        "refused-device-limit-runs",
        &["launch.refused-runs-nothing"],
        "runs the blocks that the device takes and fails then",
        |c| {
            let [x, y, z] = c.axes("grid");
            let wrong = y > 65535 || z > 65535;
            runs_then_refuses(c, wrong, "grid", [x, 1, 1], LaunchFailed)
        },
    ),
    launch(
        "two-faults-internal",
        &["launch.two-faults"],
        "answers internal when both kernel and dimensions are wrong",
        |c| {
            let dimensions = c
                .axes("grid")
                .into_iter()
                .chain(c.axes("block"))
                .any(|axis| axis <= 0);
            let wrong = dimensions && !known_to_anyone(c);
            c.refuse_if(wrong, Internal)
        },
    ),
    launch(
        "two-faults-in-arguments-internal",
        &["launch.two-faults"],
        "answers internal when both dimensions and arguments are wrong",
        |c| {
            let dimensions = c
                .axes("grid")
                .into_iter()
                .chain(c.axes("block"))
                .any(|axis| axis <= 0);
            let wrong = dimensions && c.arg("args_len") != 0 && c.outside("args_ptr", "args_len");
            c.refuse_if(wrong, Internal)
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

/// Runs another shape where the one asked for is wrong, and refuses it all the same.
fn runs_then_refuses(
    c: &mut Call<'_>,
    wrong: bool,
    shape: &str,
    axes: [i64; 3],
    error: AbiError,
) -> i64 {
    if wrong {
        c.set_axes(shape, axes).pass();
        return code(error);
    }
    c.pass()
}

fn known_to_anyone(c: &Call<'_>) -> bool {
    let id = c.id();
    c.world
        .guests
        .iter()
        .any(|guest| guest.kernels.iter().any(|(kernel, _)| *kernel == id))
}

/// Finds the kernel by some of its id's bits.
fn masked(c: &mut Call<'_>, mask: i64) -> i64 {
    let id = c.id();
    let kernels = &c.guest().kernels;
    let alike = kernels
        .iter()
        .map(|(kernel, _)| *kernel)
        .find(|kernel| kernel & mask == id & mask);
    if let Some(kernel) = alike {
        c.set_id(kernel);
    }
    c.pass()
}
