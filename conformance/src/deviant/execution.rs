//! Mistakes in running kernels, made by loading a text that does what the wrong device would.

use wasi_cuda_host::abi::Import::{Launch, LoadPtx};

use super::call::Call;
use super::{Act, Deviant, Flaw};

pub(super) const DEVIANTS: &[Deviant] = &[
    launch(
        "threads-last-block-missing",
        "does not run the last block in x",
        |c| {
            let blocks = c.arg("grid_x");
            if blocks > 1 {
                c.set("grid_x", blocks - 1);
            }
            c.pass()
        },
    ),
    launch("threads-grid-y-ignored", "runs one row of blocks", |c| {
        c.set("grid_y", 1).pass()
    }),
    launch("threads-grid-z-ignored", "runs one layer of blocks", |c| {
        c.set("grid_z", 1).pass()
    }),
    launch("threads-whole-warps-only", "runs whole warps only", |c| {
        let threads = c.arg("block_x");
        if threads > 32 {
            c.set("block_x", threads - threads % 32);
        }
        c.pass()
    }),
    launch("threads-run-twice", "runs each kernel twice", |c| {
        match c.pass() {
            0 => c.pass(),
            refused => refused,
        }
    }),
    launch(
        "threads-axes-exchanged",
        "exchanges a block's x and z",
        |c| {
            let [x, y, z] = c.axes("block");
            c.set_axes("block", [z, y, x]).pass()
        },
    ),
    launch(
        "threads-grid-cut-at-4096",
        "runs at most 4096 blocks in x",
        |c| clamped(c, "grid_x", 4096),
    ),
    launch(
        "threads-grid-cut-at-30000",
        "runs at most 30000 blocks in x",
        |c| clamped(c, "grid_x", 30000),
    ),
    launch(
        "threads-grid-y-cut-at-4096",
        "runs at most 4096 blocks in y",
        |c| clamped(c, "grid_y", 4096),
    ),
    launch(
        "threads-grid-z-cut-at-4096",
        "runs at most 4096 blocks in z",
        |c| clamped(c, "grid_z", 4096),
    ),
    launch(
        "threads-grid-16-bits",
        "counts blocks in x in 16 bits",
        |c| {
            let low = c.arg("grid_x") & 0xFFFF;
            if c.arg("grid_x") > 0 && low > 0 {
                c.set("grid_x", low);
            }
            c.pass()
        },
    ),
    rewriting(
        "threads-tid-y-for-z",
        &["launch.threads"],
        "gives a thread its y where it asks for its z",
        &[("%tid.z", "%tid.y")],
    ),
    rewriting(
        "threads-ctaid-one-based",
        &["launch.threads"],
        "counts the blocks in y from where x is",
        &[("%ctaid.y", "%ctaid.x")],
    ),
    rewriting(
        "threads-nctaid-is-one",
        &["launch.threads"],
        "says that the grid is one block wide",
        &[("%nctaid.x", "%nctaid.z")],
    ),
    text(
        "barrier-ignored",
        &["launch.block.barrier"],
        "does not wait at barriers",
        |c| altered(c, |line| drop_instruction(line, "bar.sync")),
    ),
    text(
        "barrier-guarded-ignored",
        &["launch.block.barrier"],
        "does not wait at barriers behind a guard",
        |c| {
            altered(c, |line| {
                (line.trim_start().starts_with('@') && line.contains("bar.sync"))
                    .then(|| "\n".to_owned())
            })
        },
    ),
    text(
        "barrier-named-ignored",
        &["launch.block.barrier"],
        "does not wait at barriers for a part of the block",
        |c| altered(c, |line| drop_instruction(line, "bar.sync 1")),
    ),
    text(
        "barrier-within-warp",
        &["launch.block.barrier"],
        "lets a warp wait for itself only",
        |c| {
            altered(c, |line| {
                line.contains("bar.sync 0")
                    .then(|| line.replace("bar.sync 0", "bar.warp.sync 0xffffffff"))
            })
        },
    ),
    text(
        "atomics-not-atomic",
        &["launch.atomics"],
        "loads, adds and stores where it should add atomically",
        |c| altered(c, |line| unrolled_addition(line, "atom.global.add.u32")),
    ),
    rewriting(
        "atomics-exchange",
        &["launch.atomics"],
        "stores where it should add atomically",
        &[("atom.global.add.u32", "atom.global.exch.b32")],
    ),
    rewriting(
        "atomics-add-once",
        &["launch.atomics"],
        "keeps the largest of what threads add",
        &[("atom.global.add.u32", "atom.global.max.u32")],
    ),
    text(
        "divergence-together",
        &["launch.divergence"],
        "sends a whole warp down a path that one thread takes",
        |c| altered(c, |line| voted(line, "any")),
    ),
    text(
        "divergence-unanimous",
        &["launch.divergence"],
        "takes a branch only when the whole warp does",
        |c| altered(c, |line| voted(line, "all")),
    ),
    text(
        "guards-ignored",
        &["launch.divergence"],
        "carries out guarded instructions in every lane",
        |c| {
            altered(c, |line| {
                let (guard, instruction) = line.trim_start().split_once(' ')?;
                let plain = guard.starts_with('@') && instruction.starts_with("add.");
                plain.then(|| format!("  {instruction}"))
            })
        },
    ),
    text(
        "exit-ignored",
        &["launch.divergence"],
        "goes on with lanes that have ended",
        |c| {
            altered(c, |line| {
                (line.trim_start().starts_with('@') && line.contains("exit;"))
                    .then(|| "\n".to_owned())
            })
        },
    ),
    rewriting(
        "bfe-signed-as-unsigned",
        &["launch.instructions"],
        "extracts signed fields without their sign",
        &[("bfe.s32", "bfe.u32")],
    ),
    rewriting(
        "shf-clamp-as-wrap",
        &["launch.instructions"],
        "wraps the counts of clamped funnel shifts",
        &[("shf.l.clamp", "shf.l.wrap"), ("shf.r.clamp", "shf.r.wrap")],
    ),
    rewriting(
        "shf-wrap-as-clamp",
        &["launch.instructions"],
        "clamps the counts of wrapped funnel shifts",
        &[("shf.l.wrap", "shf.l.clamp"), ("shf.r.wrap", "shf.r.clamp")],
    ),
    rewriting(
        "mad-hi-as-lo",
        &["launch.instructions"],
        "takes the lower half of a product where the upper is asked for",
        &[("mad.hi.", "mad.lo.")],
    ),
    rewriting(
        "prmt-mode-ignored",
        &["launch.instructions"],
        "reads a selector's sign bit as nothing",
        &[("0xba98", "0x3210")],
    ),
    rewriting(
        "carry-lost",
        &["launch.instructions"],
        "forgets the carry",
        &[("addc.u32", "add.u32"), ("madc.hi.u32", "mad.hi.u32")],
    ),
    rewriting(
        "shr-signed-as-unsigned",
        &["launch.instructions"],
        "shifts zeros into signed numbers",
        &[("shr.s32", "shr.u32")],
    ),
    rewriting(
        "cvt-rounds-to-nearest",
        &["launch.instructions"],
        "rounds to nearest where towards zero is asked for",
        &[("cvt.rz.f32", "cvt.rn.f32")],
    ),
    rewriting(
        "atom-inc-as-add",
        &["launch.instructions"],
        "takes a wrapping increment for an addition",
        &[("atom.global.inc.u32", "atom.global.add.u32")],
    ),
    rewriting(
        "atom-dec-as-min",
        &["launch.instructions"],
        "takes a wrapping decrement for a minimum",
        &[("atom.global.dec.u32", "atom.global.min.u32")],
    ),
    text(
        "fma-rounds-twice",
        &["launch.instructions"],
        "rounds a fused product before it adds",
        |c| altered(c, |line| unfused(line, "fma.rn.f32")),
    ),
    rewriting(
        "subnormals-always-flushed",
        &["launch.instructions"],
        "flushes subnormal numbers unasked",
        &[("add.f32", "add.ftz.f32"), ("add.rn.f32", "add.rn.ftz.f32")],
    ),
    rewriting(
        "max-signed-as-unsigned",
        &["launch.instructions"],
        "compares signed numbers as unsigned",
        &[("max.s32", "max.u32"), ("min.s32", "min.u32")],
    ),
    rewriting(
        "redux-signed-as-unsigned",
        &["launch.instructions"],
        "reduces signed numbers as unsigned ones",
        &[
            ("redux.sync.min.s32", "redux.sync.min.u32"),
            ("redux.sync.max.s32", "redux.sync.max.u32"),
        ],
    ),
    rewriting(
        "nvcc-shift-wraps",
        &["launch.nvcc.integers"],
        "rotates the wrong way",
        &[("shf.l.wrap.b32", "shf.r.wrap.b32")],
    ),
    rewriting(
        "nvcc-shuffle-down",
        &["launch.nvcc.integers"],
        "shuffles down where it should shuffle up",
        &[("shfl.sync.up.b32", "shfl.sync.down.b32")],
    ),
    rewriting(
        "nvcc-rem-as-div",
        &["launch.nvcc.integers"],
        "answers the quotient where the remainder is asked for",
        &[
            ("rem.u64", "div.u64"),
            ("rem.u32", "div.u32"),
            ("rem.s64", "div.s64"),
        ],
    ),
    rewriting(
        "nvcc-popcount-of-half",
        &["launch.nvcc.integers"],
        "counts leading zeros where bits are to be counted",
        &[("popc.b32", "clz.b32")],
    ),
    rewriting(
        "nvcc-fma-truncates",
        &["launch.nvcc.floats"],
        "rounds fused products up",
        &[("fma.rn.f32", "fma.rp.f32")],
    ),
    rewriting(
        "nvcc-add-truncates",
        &["launch.nvcc.floats"],
        "subtracts doubles where it should add",
        &[("add.f64", "sub.f64")],
    ),
    rewriting(
        "nvcc-shuffle-idle",
        &["launch.nvcc.floats"],
        "gives a lane its own value in a butterfly",
        &[("shfl.sync.bfly.b32", "shfl.sync.up.b32")],
    ),
];

const fn launch(name: &'static str, wrong: &'static str, act: Act) -> Deviant {
    Deviant::new(name, &["launch.threads"], wrong, &[Launch], act)
}

const fn text(
    name: &'static str,
    breaks: &'static [&'static str],
    wrong: &'static str,
    act: Act,
) -> Deviant {
    Deviant::new(name, breaks, wrong, &[LoadPtx], act)
}

const fn rewriting(
    name: &'static str,
    breaks: &'static [&'static str],
    wrong: &'static str,
    pairs: &'static [(&'static str, &'static str)],
) -> Deviant {
    Deviant::with(name, breaks, wrong, Flaw::Text(pairs))
}

/// Loads the text with lines replaced where that still is a text that loads.
fn altered(c: &mut Call<'_>, rewrite: fn(&str) -> Option<String>) -> i64 {
    c.load_altered(|text| {
        text.split_inclusive('\n')
            .map(|line| rewrite(line).unwrap_or_else(|| line.to_owned()))
            .collect()
    })
}

/// The line without an instruction; a guard goes with it.
fn drop_instruction(line: &str, instruction: &str) -> Option<String> {
    line.contains(instruction).then(|| "\n".to_owned())
}

/// A load, an addition and a store in place of `opcode d, [a], v;`.
fn unrolled_addition(line: &str, opcode: &str) -> Option<String> {
    let (guard, operands) = line.split_once(opcode)?;
    if guard.contains('@') {
        return None;
    }
    let (old, rest) = operands.split_once(',')?;
    let (address, value) = rest.split_once(',')?;
    let value = value.trim().strip_suffix(';')?;
    Some(format!(
        "ld.global.u32 {old}, {address}; add.u32 {old}, {old}, {value}; st.global.u32 {address}, {old};\n"
    ))
}

/// A product and a sum in place of `opcode d, a, b, c;`.
fn unfused(line: &str, opcode: &str) -> Option<String> {
    let (guard, operands) = line.split_once(opcode)?;
    if guard.contains('@') {
        return None;
    }
    let (product, addend) = operands.rsplit_once(',')?;
    let result = product.split(',').next()?;
    let addend = addend.trim().strip_suffix(';')?;
    Some(format!(
        "mul.rn.f32 {product}; add.rn.f32 {result}, {result}, {addend};\n"
    ))
}

/// A guarded branch that the whole warp takes together, as a vote decides.
fn voted(line: &str, vote: &str) -> Option<String> {
    let (guard, rest) = line.trim_start().split_once(' ')?;
    let predicate = guard
        .strip_prefix('@')
        .filter(|name| !name.starts_with('!'))?;
    rest.trim_start()
        .starts_with("bra ")
        .then(|| format!("  vote.sync.{vote}.pred {predicate}, {predicate}, 0xffffffff;\n{line}"))
}

/// Launches with an axis cut to as many blocks.
fn clamped(c: &mut Call<'_>, axis: &str, most: i64) -> i64 {
    let blocks = c.arg(axis).min(most);
    c.set(axis, blocks).pass()
}
