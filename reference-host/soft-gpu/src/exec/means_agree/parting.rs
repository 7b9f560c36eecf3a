//! Programs whose lanes part and meet: loops of different lengths, exchanges among those that are there, calls, barriers of some warps.

use std::fmt::Write as _;

use super::super::Means;
use super::{BUFFER, OWN_BYTES, Random, instruction};
use crate::launch::launch_as;
use crate::{LaunchConfig, Memory, Module};

/// Kinds of instructions that a lane can execute whoever else is there.
const LONE_KINDS: u32 = 21;

/// Nesting of branches and loops.
const DEPTH: u32 = 3;

#[test]
fn random_programs_whose_lanes_part() {
    programs(0..150);
}

/// Each program by every means, and on four threads.
fn programs(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let mut random = Random(seed);
        let block = shape(&mut random);
        let source = Source::kernel(&mut random, block);
        let module =
            Module::load(source.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{source}"));
        let skew = random.below(9) as usize;
        let run = |means, threads| run(&module, block, means, threads, skew);
        let expected = run(
            Means {
                patterns: false,
                squads: false,
            },
            1,
        );
        for (patterns, squads, threads) in [
            (true, false, 1),
            (false, true, 1),
            (true, true, 1),
            (true, true, 4),
        ] {
            let means = Means { patterns, squads };
            assert!(
                run(means, threads) == expected,
                "seed {seed}, {block:?}, {means:?}, {threads} threads: memory differs\n{source}"
            );
        }
    }
}

/// A block of any shape.
fn shape(random: &mut Random) -> [u32; 3] {
    match random.below(3) {
        0 => [1 + random.below(320), 1, 1],
        1 => [
            random.of(&[16, 32, 48, 64]),
            1 + random.below(5),
            1 + random.below(2),
        ],
        _ => [
            1 + random.below(40),
            1 + random.below(4),
            1 + random.below(3),
        ],
    }
}

/// What the kernel leaves in its buffer, whose bytes lie `skew` bytes off.
fn run(module: &Module, block: [u32; 3], means: Means, threads: u32, skew: usize) -> Vec<u8> {
    let config = LaunchConfig {
        grid: [BLOCKS, 1, 1],
        block,
        instruction_budget: 1 << 28,
        threads,
        ..LaunchConfig::default()
    };
    let bytes = (BLOCKS * block.iter().product::<u32>() * OWN_BYTES) as usize;
    let mut bytes: Vec<u8> = (0..(bytes + skew) as u32)
        .map(|at| (at.wrapping_sub(skew as u32).wrapping_mul(0x9E37_79B9) >> 24) as u8)
        .collect();
    let mut memory = Memory::new();
    memory.map(BUFFER, &mut bytes[skew..]).unwrap();
    let entry = module.entry("k").unwrap();
    let params = BUFFER.to_le_bytes();
    let outcome = launch_as(
        module,
        entry,
        &config,
        &params,
        &mut module.globals(),
        &mut memory,
        means,
    );
    outcome.unwrap_or_else(|error| panic!("{block:?}, {means:?}, {threads} threads: {error}"));
    bytes
}

const BLOCKS: u32 = 3;

/// A kernel in the making.
struct Source<'r> {
    random: &'r mut Random,
    text: String,
    label: u32,
    threads: u32,
    exits: bool,
}

/// Functions that kernels call: one that calls itself, as often as its argument says, and two with the same parameters.
const FUNCTIONS: &str = "
.func (.param .b32 out) deep(.param .b32 in) {
    .reg .b32 %a, %b; .reg .pred %p;
    ld.param.b32 %a, [in]; and.b32 %b, %a, 3; setp.eq.u32 %p, %b, 0; @%p bra END; shr.u32 %a, %a, 1;
    { .param .b32 x; .param .b32 y; st.param.b32 [x], %a; call (y), deep, (x); ld.param.b32 %b, [y]; }
    mad.lo.u32 %a, %b, 7, %a;
END: st.param.b32 [out], %a; ret;
}
.func (.param .b32 out) one(.param .b32 in) {
    .reg .b32 %a; .reg .pred %p;
    ld.param.b32 %a, [in]; mul.lo.u32 %a, %a, 5; st.param.b32 [out], %a; ret;
}
.func (.param .b32 out) two(.param .b32 in) {
    .reg .b32 %a, %b; .reg .pred %p;
    ld.param.b32 %a, [in]; mov.u32 %b, 0;
AGAIN: add.u32 %a, %a, %b; add.u32 %b, %b, 1; and.b32 %a, %a, 0xFFFF; setp.lt.u32 %p, %b, 3; @%p bra AGAIN;
    st.param.b32 [out], %a; ret;
}
";

impl<'r> Source<'r> {
    fn kernel(random: &'r mut Random, block: [u32; 3]) -> String {
        let threads = block.iter().product();
        let mut source = Self {
            exits: random.below(3) == 0,
            random,
            text: String::new(),
            label: 0,
            threads,
        };
        source.begin();
        let masks: Vec<String> = (0..=DEPTH)
            .map(|at| format!("mov.u32 %m{at}, -1;"))
            .collect();
        source.line(&masks.join(" "));
        for _ in 0..3 {
            source.region(0);
            source.meet();
        }
        source.end();
        source.text
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn begin(&mut self) {
        let shared = 4 * self.threads.next_multiple_of(32);
        write!(
            self.text,
            ".version 8.0\n.target sm_80\n.address_size 64\n{FUNCTIONS}.visible .entry k(.param .u64 p)\n{{\n\
             .reg .b32 %r<16>, %m<8>, %e<8>, %l<8>, %n<8>, %t<8>; .reg .b64 %d<16>, %f<4>; .reg .pred %p<4>, %q<8>;\n\
             .shared .align 16 .b8 s[4096]; .shared .b32 total; .shared .align 128 .b8 cells[{shared}]; .local .align 4 .b8 own[64];\n\
             P: .callprototype (.param .b32 _) _ (.param .b32 _);\n\
             ld.param.u64 %d0, [p]; mov.u32 %r0, %tid.x; mov.u32 %r1, %tid.y; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %laneid; mov.u32 %r4, %ntid.x;\n\
             mov.u32 %r5, %tid.z; mov.u32 %t1, %ntid.y; mad.lo.u32 %t0, %r5, %t1, %r1; mad.lo.u32 %t0, %t0, %r4, %r0;\n\
             mad.lo.u32 %t1, %r2, {}, %t0; mad.wide.u32 %d0, %t1, {OWN_BYTES}, %d0;\n\
             mov.u32 %t1, cells; mad.lo.u32 %t1, %t0, 4, %t1; shr.u32 %t2, %t0, 5;\n",
            self.threads
        )
        .unwrap();
        for at in 6..16 {
            let value =
                self.random
                    .of(&[0, 1, 3, 7, 16, 31, 0x7FFF_FFF8, 0xFFFF_FFF0, 0x8000_0000u32]);
            let from = self.random.below(6);
            self.line(&format!(
                "mov.u32 %r{at}, {value}; cvt.u64.u32 %d{at}, %r{from};"
            ));
        }
        for at in 1..6 {
            self.line(&format!("mul.wide.u32 %d{at}, %r{at}, 4;"));
        }
        for at in 0..4 {
            let (a, b) = (self.random.below(6), self.random.below(16));
            self.line(&format!("setp.lt.u32 %p{at}, %r{a}, %r{b};"));
        }
    }

    /// Everything that was computed shows.
    fn end(&mut self) {
        for at in 0..14 {
            self.line(&format!(
                "cvt.u32.u64 %r14, %d{at}; xor.b32 %r14, %r14, %r{at}; st.global.u32 [%d0+{}], %r14;",
                4 * at
            ));
        }
        for at in 0..4 {
            self.line(&format!(
                "selp.u32 %r14, 1, 0, %p{at}; st.global.u32 [%d0+{}], %r14;",
                64 + 4 * at
            ));
        }
        self.line("ret;\n}");
    }

    /// Statements for the lanes of `%m{depth}`, which are all here.
    fn region(&mut self, depth: u32) {
        for _ in 0..2 + self.random.below(6) {
            match self.random.below(12) {
                0 | 1 if depth < DEPTH => self.branch(depth),
                2 | 3 if depth < DEPTH => self.repeat(depth),
                4 | 5 => self.exchange(depth),
                6 => self.call(),
                7 => self.local(),
                8 if self.exits && depth < 2 && self.random.below(4) == 0 => {
                    let bits = self.random.of(&["3", "7", "31"]);
                    let (a, value) = (self.random.below(14), self.random.below(4));
                    self.line(&format!(
                        "and.b32 %r14, %r{a}, {bits}; setp.eq.u32 %q7, %r14, {value}; @%q7 exit;"
                    ));
                }
                _ => instruction(
                    self.random,
                    &mut self.text,
                    &mut self.label,
                    true,
                    LONE_KINDS,
                ),
            }
        }
    }

    fn labels<const N: usize>(&mut self) -> [u32; N] {
        std::array::from_fn(|_| {
            self.label += 1;
            self.label
        })
    }

    fn branch(&mut self, depth: u32) {
        let (p, deeper) = (self.random.below(4), depth + 1);
        let [other, end] = self.labels();
        self.line(&format!(
            "vote.sync.ballot.b32 %m{deeper}, %p{p}, %m{depth}; not.b32 %e{deeper}, %m{deeper}; and.b32 %e{deeper}, %e{deeper}, %m{depth}; @!%p{p} bra L{other};"
        ));
        self.region(deeper);
        self.line(&format!(
            "bra L{end};\nL{other}: mov.u32 %m{deeper}, %e{deeper};"
        ));
        self.region(deeper);
        self.line(&format!("L{end}:"));
    }

    /// A loop that lanes leave one by one.
    fn repeat(&mut self, depth: u32) {
        let (a, deeper) = (self.random.below(14), depth + 1);
        let [head, end] = self.labels();
        let trips = self.random.of(&[1, 3, 7]);
        self.line(&format!(
            "and.b32 %n{deeper}, %r{a}, {trips}; mov.u32 %l{deeper}, %m{depth};\n\
             L{head}: setp.gt.s32 %q{deeper}, %n{deeper}, 0; vote.sync.ballot.b32 %m{deeper}, %q{deeper}, %l{deeper}; @!%q{deeper} bra L{end};\n\
             mov.u32 %l{deeper}, %m{deeper}; sub.s32 %n{deeper}, %n{deeper}, 1;"
        ));
        self.region(deeper);
        self.line(&format!("bra L{head};\nL{end}:"));
    }

    fn exchange(&mut self, depth: u32) {
        let (d, p) = (6 + self.random.below(8), self.random.below(4));
        let (a, b, c) = (
            self.random.below(14),
            self.random.below(14),
            self.random.below(4),
        );
        let text = match self.random.below(7) {
            0 => format!("shfl.sync.idx.b32 %r{d}|%p{p}, %r{a}, %r{b}, 31, %m{depth};"),
            1 => format!(
                "shfl.sync.down.b32 %r{d}, %r{a}, {}, 0x1F, %m{depth};",
                1 << c
            ),
            2 => format!(
                "shfl.sync.up.b32 %r{d}|%p{p}, %r{a}, {}, 0, %m{depth};",
                1 << c
            ),
            3 => format!(
                "shfl.sync.bfly.b32 %r{d}, %r{a}, {}, 0x181F, %m{depth};",
                1 << c
            ),
            4 => {
                let mode = self.random.of(&["any", "all", "uni"]);
                format!("vote.sync.{mode}.pred %p{p}, %p{c}, %m{depth};")
            }
            5 => {
                let op = self.random.of(&["add.s32", "min.u32", "xor.b32"]);
                format!("redux.sync.{op} %r{d}, %r{a}, %m{depth};")
            }
            _ => format!("match.any.sync.b32 %r{d}, %r{a}, %m{depth}; bar.warp.sync %m{depth};"),
        };
        self.line(&text);
    }

    fn call(&mut self) {
        let (d, a, p) = (
            6 + self.random.below(8),
            self.random.below(14),
            self.random.below(4),
        );
        let call = match self.random.below(3) {
            0 => "call (y), deep, (x);".to_owned(),
            1 => "call (y), two, (x);".to_owned(),
            _ => format!(
                "mov.u64 %f0, one; mov.u64 %f1, two; selp.b64 %f0, %f0, %f1, %p{p}; call (y), %f0, (x), P;"
            ),
        };
        self.line(&format!(
            "{{ .param .b32 x; .param .b32 y; st.param.b32 [x], %r{a}; {call} ld.param.b32 %r{d}, [y]; }}"
        ));
    }

    /// Local memory at an address of each lane's.
    fn local(&mut self) {
        let (d, a, b) = (
            6 + self.random.below(8),
            self.random.below(14),
            self.random.below(14),
        );
        self.line(&format!(
            "and.b32 %r14, %r{a}, 15; mul.wide.u32 %d14, %r14, 4; mov.u64 %d15, own; add.s64 %d14, %d14, %d15;"
        ));
        let text = match self.random.below(2) {
            0 => format!("st.local.u32 [%d14], %r{b};"),
            _ => format!("ld.local.u32 %r{d}, [%d14];"),
        };
        self.line(&text);
    }

    /// What all threads of the block do together.
    fn meet(&mut self) {
        let (d, a, p) = (
            6 + self.random.below(8),
            self.random.below(14),
            self.random.below(4),
        );
        let other = self.random.of(&[1, 31, 33, 64, 100]);
        // The cell of another thread, or one's own where there is none.
        let neighbour = format!(
            "add.u32 %t3, %t0, {other}; setp.ge.u32 %q0, %t3, {}; selp.u32 %t3, %t0, %t3, %q0; mov.u32 %t4, cells; mad.lo.u32 %t3, %t3, 4, %t4;",
            self.threads
        );
        match self.random.below(5) {
            0 => self.line(&format!(
                "st.shared.u32 [%t1], %r{a}; bar.sync 0; {neighbour} ld.shared.u32 %r{d}, [%t3]; bar.sync 0;"
            )),
            1 => {
                let op = self.random.of(&["and.pred", "or.pred"]);
                self.line(&format!("barrier.red.{op} %p{p}, 3, %p{};", (p + 1) % 4));
            }
            2 => self.line(&format!(
                "bar.red.popc.u32 %r{d}, 2, !%p{p}; red.shared.add.u32 [total], %r{a}; bar.sync 2; ld.shared.u32 %r{d}, [total]; bar.sync 2;"
            )),
            3 => self.line(&format!(
                "st.shared.u32 [%t1], %r{a}; bar.warp.sync -1; xor.b32 %t3, %t1, 4; ld.shared.u32 %r{d}, [%t3]; bar.warp.sync -1;"
            )),
            // Even and odd warps, each at a barrier of their own, the even ones twice. Threads that have ended would be missed.
            _ if !self.exits => {
                let warps = self.threads.div_ceil(32);
                let (even, odd) = (32 * warps.div_ceil(2), 32 * (warps / 2).max(1));
                let [other, end] = self.labels();
                self.line(&format!(
                    "st.shared.u32 [%t1], %r{a}; bar.sync 0; and.b32 %t3, %t2, 1; setp.ne.u32 %q0, %t3, 0; @%q0 bra L{other};\n\
                     bar.sync 4, {even}; add.u32 %r{d}, %r{d}, 3; bar.sync 4, {even}; bra L{end};\n\
                     L{other}: bar.red.popc.u32 %r{d}, 5, {odd}, %p{p};\nL{end}: bar.sync 0;"
                ));
            }
            _ => self.line("bar.sync 0;"),
        }
    }
}
