//! What makes execution fast changes nothing: kernels leave the same memory, and end with the same fault, without patterns in registers;
//! kernels whose threads keep to themselves do so with every warp on its own.

mod parting;

use std::fmt::Write as _;
use std::path::Path;

use super::Means;
use crate::launch::launch_as;
use crate::{LaunchConfig, LaunchError, Memory, Module};

const BUFFER: u64 = 0x10_0000;
const BUFFER_BYTES: usize = 1 << 16;

/// Launches a kernel on a buffer of so many bytes.
fn run(
    module: &Module,
    name: &str,
    [grid, block]: [[u32; 3]; 2],
    params: &[u8],
    bytes: usize,
    means: Means,
) -> (Result<(), LaunchError>, Vec<u8>) {
    let entry = module.entry(name).unwrap();
    let config = LaunchConfig {
        grid,
        block,
        dynamic_shared_bytes: 1024,
        instruction_budget: 1 << 21,
        ..LaunchConfig::default()
    };
    let mut bytes: Vec<u8> = (0..bytes as u32 / 4)
        .flat_map(|word| (word.wrapping_mul(0x9E37_79B9) >> 20).to_le_bytes())
        .collect();
    let mut memory = Memory::new();
    memory.map(BUFFER, &mut bytes).unwrap();
    let mut globals = module.globals();
    let outcome = launch_as(
        module,
        entry,
        &config,
        params,
        &mut globals,
        &mut memory,
        means,
    );
    (outcome, bytes)
}

/// Launches a kernel with patterns and without.
fn both(module: &Module, name: &str, grid: [u32; 3], block: [u32; 3], params: &[u8]) -> bool {
    let run = |means| run(module, name, [grid, block], params, BUFFER_BYTES, means);
    let without = Means {
        patterns: false,
        ..Means::ALL
    };
    let (with, without) = (run(Means::ALL), run(without));
    assert_eq!(with.0, without.0, "{name} {grid:?} {block:?}");
    assert!(
        with.1 == without.1,
        "{name} {grid:?} {block:?}: memory differs"
    );
    with.0.is_ok()
}

const BLOCKS: [[u32; 3]; 12] = [
    [32, 1, 1],
    [256, 1, 1],
    [16, 16, 1],
    [7, 1, 1],
    [50, 1, 1],
    [8, 8, 2],
    [16, 3, 1],
    [48, 2, 2],
    [32, 9, 1],
    [64, 2, 2],
    [16, 8, 2],
    [320, 1, 1],
];

#[test]
fn kernels_of_the_fixtures() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/kernels");
    let (mut launched, mut ended) = (0, 0);
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|end| end != "ptx") {
            continue;
        }
        let source = std::fs::read_to_string(&path).unwrap();
        let module = Module::load(source.as_bytes()).unwrap();
        // What lanes that are not there bring to a matrix is anybody's guess.
        let whole_warps = source.contains("matrix.sync") || source.contains("mma.");
        for entry in module.entries() {
            for block in BLOCKS {
                if whole_warps && !block.iter().product::<u32>().is_multiple_of(32) {
                    continue;
                }
                let mut params = vec![0; entry.param_bytes() as usize];
                for (at, param) in entry.params().iter().enumerate() {
                    let value = match param.size_bytes {
                        8 => BUFFER + 4096 * (at as u64 % 8),
                        _ => 64,
                    };
                    let start = param.offset_bytes as usize;
                    let size = (param.size_bytes as usize).min(8);
                    params[start..start + size].copy_from_slice(&value.to_le_bytes()[..size]);
                }
                launched += 1;
                ended += u32::from(both(&module, entry.name(), [2, 2, 1], block, &params));
            }
        }
    }
    // Both ways of ending occur, else the comparison would say little.
    assert!(launched > 200 && ended > 100 && ended < launched);
}

/// Random numbers, the same on every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as u32) % bound
    }

    fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as u32) as usize]
    }
}

#[test]
fn random_programs() {
    let (mut ended, mut faulted) = (0, 0);
    for seed in 0..400 {
        let mut random = Random(seed);
        let source = program(&mut random, false);
        let module =
            Module::load(source.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{source}"));
        let block = random.of(&BLOCKS);
        let params = BUFFER.to_le_bytes();
        if both(&module, "k", [2, 1, 1], block, &params) {
            ended += 1;
        } else {
            faulted += 1;
        }
    }
    assert!(
        ended > 250 && faulted > 10,
        "{ended} ended, {faulted} faulted"
    );
}

/// Kinds of instructions.
const ALL_KINDS: u32 = 22;

/// Bytes of each thread that keeps to itself.
const OWN_BYTES: u32 = 2560;

#[test]
fn random_programs_of_threads_that_keep_to_themselves() {
    let (mut ended, mut faulted) = (0, 0);
    for seed in 1000..1400 {
        let mut random = Random(seed);
        let source = program(&mut random, true);
        let module =
            Module::load(source.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{source}"));
        let block: [u32; 3] = random.of(&BLOCKS);
        let bytes = 2 * block.iter().product::<u32>() * OWN_BYTES;
        let shape = [[2, 1, 1], block];
        let run = |means| {
            run(
                &module,
                "k",
                shape,
                &BUFFER.to_le_bytes(),
                bytes as usize,
                means,
            )
        };
        let alone = Means {
            squads: false,
            ..Means::ALL
        };
        let (together, alone) = (run(Means::ALL), run(alone));
        // Which of several faults comes first may differ.
        assert_eq!(together.0.is_ok(), alone.0.is_ok(), "{block:?}\n{source}");
        if together.0.is_ok() {
            ended += 1;
            assert!(together.1 == alone.1, "{block:?}: memory differs\n{source}");
        } else {
            faulted += 1;
        }
    }
    assert!(
        ended > 250 && faulted > 10,
        "{ended} ended, {faulted} faulted"
    );
}

/// A kernel of operations on indices and what was loaded, with guards, branches and all kinds of addresses. With `own`, no thread writes
/// what another accesses.
fn program(random: &mut Random, own: bool) -> String {
    let mut text = String::from(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n\
         .reg .b32 %r<16>; .reg .b64 %d<16>; .reg .pred %p<4>;\n\
         .shared .align 16 .b8 s[4096];\n\
         ld.param.u64 %d0, [p];\nmov.u32 %r0, %tid.x;\nmov.u32 %r1, %tid.y;\nmov.u32 %r2, %ctaid.x;\n\
         mov.u32 %r3, %laneid;\nmov.u32 %r4, %ntid.x;\nmad.lo.s32 %r5, %r1, %r4, %r0;\n",
    );
    if own {
        // The buffer of this thread.
        writeln!(
            text,
            "mov.u32 %r6, %ntid.y;\nmov.u32 %r7, %ntid.z;\nmov.u32 %r8, %tid.z;\nmad.lo.s32 %r8, %r8, %r6, %r1;\nmad.lo.s32 %r8, %r8, %r4, %r0;\n\
             mul.lo.s32 %r6, %r6, %r7;\nmul.lo.s32 %r6, %r6, %r4;\nmad.lo.s32 %r8, %r2, %r6, %r8;\nmad.wide.u32 %d0, %r8, {OWN_BYTES}, %d0;"
        )
        .unwrap();
    }
    for at in 6..16 {
        let value = random.of(&[0, 1, 3, 7, 16, 31, 0x7FFF_FFF8, 0xFFFF_FFF0, 0x8000_0000u32]);
        writeln!(
            text,
            "mov.u32 %r{at}, {value};\ncvt.u64.u32 %d{at}, %r{};",
            random.below(at)
        )
        .unwrap();
    }
    for at in 1..6 {
        writeln!(text, "mul.wide.u32 %d{at}, %r{at}, 4;").unwrap();
    }
    for at in 0..4 {
        writeln!(
            text,
            "setp.lt.u32 %p{at}, %r{}, %r{};",
            random.below(16),
            random.below(16)
        )
        .unwrap();
    }
    let mut label = 0;
    for _ in 0..30 + random.below(30) {
        instruction(random, &mut text, &mut label, own, ALL_KINDS);
    }
    // Everything that was computed shows.
    text.push_str(if own {
        "mov.u64 %d15, %d0;\n"
    } else {
        "and.b32 %r15, %r5, 255;\nmad.lo.s32 %r15, %r2, 256, %r15;\nmul.wide.u32 %d15, %r15, 64;\nadd.s64 %d15, %d0, %d15;\n"
    });
    for at in 0..14 {
        writeln!(text, "cvt.u32.u64 %r14, %d{at};\nxor.b32 %r14, %r14, %r{at};\nst.global.u32 [%d15+{}], %r14;", 4 * at).unwrap();
    }
    text.push_str("ret;\n}\n");
    text
}

/// One of the first so many `kinds` of instructions: the last one needs all lanes of the warp, or faults.
fn instruction(random: &mut Random, text: &mut String, label: &mut u32, own: bool, kinds: u32) {
    let guard = match random.below(4) {
        0 => format!("@{}%p{} ", random.of(&["", "!"]), random.below(4)),
        _ => String::new(),
    };
    // Registers 0 to 5 stay, so that indices remain to compute with.
    let d = 6 + random.below(8);
    let mut source = || random.below(16);
    let (a, b, c) = (source(), source(), source());
    let small = random.of(&[0, 1, 2, 4, 5, 8, 16, 31, 32, 40]);
    let wide = random.of(&["u32", "s32"]);
    match random.below(kinds) {
        0..7 => {
            let op = random.of(&[
                "add.s32", "sub.s32", "mul.lo.s32", "and.b32", "or.b32", "xor.b32", "min.s32", "max.u32",
                "div.u32", "rem.u32", "div.s32", "rem.s32", "shl.b32", "shr.u32", "shr.s32", "mul.hi.u32",
            ]);
            match random.below(2) {
                0 => writeln!(text, "{guard}{op} %r{d}, %r{a}, %r{b};"),
                _ => writeln!(text, "{guard}{op} %r{d}, %r{a}, {small};"),
            }
        }
        7 => writeln!(text, "{guard}mad.lo.s32 %r{d}, %r{a}, %r{b}, %r{c};"),
        8 => writeln!(text, "{guard}mul.wide.{wide} %d{d}, %r{a}, %r{b};"),
        9 => writeln!(text, "{guard}mad.wide.{wide} %d{d}, %r{a}, %r{b}, %d{c};"),
        10 => {
            let op = random.of(&["add.s64", "sub.s64", "mul.lo.s64", "or.b64"]);
            writeln!(text, "{guard}{op} %d{d}, %d{a}, %d{b};")
        }
        11 => writeln!(text, "{guard}cvt.{}64.{wide} %d{d}, %r{a};", &wide[..1]),
        12 => writeln!(text, "{guard}cvt.u32.u64 %r{d}, %d{a};"),
        13 | 14 => {
            let order = random.of(&["lt", "le", "gt", "ge", "eq", "ne"]);
            let p = random.below(4);
            match random.below(3) {
                0 => writeln!(
                    text,
                    "{guard}setp.{order}.{}64 %p{p}, %d{a}, %d{b};",
                    &wide[..1]
                ),
                _ => writeln!(text, "{guard}setp.{order}.{wide} %p{p}, %r{a}, %r{b};"),
            }
        }
        15 => writeln!(text, "{guard}selp.b32 %r{d}, %r{a}, %r{b}, %p{};", random.below(4)),
        16 => writeln!(text, "{guard}shl.b64 %d{d}, %d{a}, {small};"),
        17 | 18 => {
            // Within the buffer, mostly: an index of any pattern, cut to size.
            let bytes = random.of(&[4, 8, 16]);
            let index = random.of(&[0, 1, 2, 3, 5, a, b]);
            writeln!(text, "and.b32 %r14, %r{index}, {};\nmul.wide.u32 %d14, %r14, {bytes};\nadd.s64 %d14, %d14, %d0;", random.of(if own { &[15, 31, 63] } else { &[255, 63, 1023] })).unwrap();
            let offset = random.of(&[0, bytes, 64 * bytes]);
            match (bytes, random.below(2)) {
                (4, 0) => writeln!(text, "{guard}ld.global.u32 %r{d}, [%d14+{offset}];"),
                (4, _) => writeln!(text, "{guard}st.global.u32 [%d14+{offset}], %r{a};"),
                (8, 0) => writeln!(text, "{guard}ld.global.u64 %d{d}, [%d14+{offset}];"),
                (8, _) => writeln!(text, "{guard}st.global.v2.u32 [%d14+{offset}], {{%r{a}, %r{b}}};"),
                (_, 0) => writeln!(text, "{guard}ld.global.v4.u32 {{%r6, %r7, %r8, %r9}}, [%d14+{offset}];"),
                _ => writeln!(text, "{guard}st.global.v2.u64 [%d14+{offset}], {{%d{a}, %d{b}}};"),
            }
        }
        19 => {
            let index = random.of(&[0, 1, 3, 5, a]);
            writeln!(text, "and.b32 %r14, %r{index}, 255;\nshl.b32 %r14, %r14, 2;\nmov.u32 %r15, s;\nadd.s32 %r14, %r14, %r15;").unwrap();
            match random.below(if own { 1 } else { 3 }) {
                0 => writeln!(text, "{guard}ld.shared.u32 %r{d}, [%r14];"),
                1 => writeln!(text, "{guard}st.shared.u8 [%r14+1], %r{a};"),
                _ => writeln!(text, "{guard}st.shared.u32 [%r14], %r{a};"),
            }
        }
        20 => {
            // A way round an addition, which parts the lanes.
            *label += 1;
            writeln!(text, "@%p{} bra L{label};\nadd.s32 %r{d}, %r{a}, {small};\nmul.wide.u32 %d{d}, %r{b}, 4;\nL{label}:", random.below(4))
        }
        // Seldom, an address that faults for some lanes.
        _ => match random.below(12) {
            0 => writeln!(text, "mul.wide.u32 %d14, %r5, {};\nadd.s64 %d14, %d14, %d0;\nld.global.u32 %r{d}, [%d14];", random.of(if own { &[2] } else { &[2, 4096] })),
            _ => writeln!(text, "{guard}shfl.sync.idx.b32 %r{d}, %r{a}, %r{b}, 31, -1;"),
        },
    }
    .unwrap();
}
