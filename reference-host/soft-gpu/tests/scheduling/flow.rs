//! Random programs, run by warps and by a model that runs one thread at a time.
//!
//! A program is a few functions of basic blocks. A block changes the thread's state, may call a function further down the list, and goes on
//! by a branch, an indexed branch, a return or an exit. Blocks may lead anywhere, so most graphs are irreducible.

use crate::harness::{Kernel, Random};

const FUNCTIONS: usize = 3;
const MAX_STEPS: u32 = 150;

struct Block {
    factor: u32,
    addend: u32,
    /// The function called before the block goes on.
    call: Option<usize>,
    end: End,
}

enum End {
    Jump(usize),
    /// On a bit of the state: where to if it is set, where to if not.
    Branch(u32, usize, usize),
    /// On two bits of the state.
    Table(u32, [usize; 4]),
    /// A return under a guard on a bit, else a jump.
    ReturnIf(u32, usize),
    /// The thread ends if three bits of its state are set, else a jump.
    ExitIf(u32, usize),
}

/// Functions as lists of blocks; the place behind the last block of a function is its end.
type Program = Vec<Vec<Block>>;

fn program(random: &mut Random) -> Program {
    (0..FUNCTIONS)
        .map(|function| {
            let blocks = 2 + random.next() as usize % 5;
            (0..blocks)
                .map(|_| {
                    let bit = random.next() as u32 % 29;
                    let mut place = || random.next() as usize % (blocks + 1);
                    let places = [place(), place(), place(), place()];
                    let end = match random.next() % 8 {
                        0 => End::Jump(places[0]),
                        1..=3 => End::Branch(bit, places[0], places[1]),
                        4 | 5 => End::Table(bit, places),
                        6 => End::ReturnIf(bit, places[0]),
                        _ => End::ExitIf(bit, places[0]),
                    };
                    let callee = function + 1 + random.next() as usize % FUNCTIONS;
                    Block {
                        factor: random.next() as u32 | 1,
                        addend: random.next() as u32,
                        call: (callee < FUNCTIONS && random.next().is_multiple_of(2))
                            .then_some(callee),
                        end,
                    }
                })
                .collect()
        })
        .collect()
}

/// The statements of one function, on registers `%s` (the state) and `%n` (steps done); `leave` ends it.
fn body(number: usize, blocks: &[Block], leave: &str) -> String {
    let mut text = String::new();
    let label = |at: usize| format!("F{number}B{at}");
    for (at, block) in blocks.iter().enumerate() {
        text.push_str(&format!(
            "{}: mad.lo.u32 %s, %s, {}, {}; add.u32 %n, %n, 1; setp.ge.u32 %q, %n, {MAX_STEPS}; @%q bra {};\n",
            label(at),
            block.factor,
            block.addend,
            label(blocks.len())
        ));
        if let Some(callee) = block.call {
            text.push_str(&format!(
                "{{ .param .b64 a; .param .b64 b; mov.b64 %w, {{%s, %n}}; st.param.b64 [a], %w; call (b), f{callee}, (a); ld.param.b64 %w, [b]; mov.b64 {{%s, %n}}, %w; }}\n"
            ));
        }
        text.push_str(&match &block.end {
            End::Jump(to) => format!("bra {};\n", label(*to)),
            End::Branch(bit, yes, no) => format!(
                "bfe.u32 %x, %s, {bit}, 1; setp.ne.u32 %q, %x, 0; @%q bra {}; bra {};\n",
                label(*yes),
                label(*no)
            ),
            End::Table(bit, places) => format!(
                "T{at}: .branchtargets {};\nbfe.u32 %x, %s, {bit}, 2; brx.idx %x, T{at};\n",
                places.map(label).join(", ")
            ),
            End::ReturnIf(bit, to) => format!(
                "bfe.u32 %x, %s, {bit}, 1; setp.ne.u32 %q, %x, 0; @%q bra {}; bra {};\n",
                label(blocks.len()),
                label(*to)
            ),
            End::ExitIf(bit, to) => format!(
                "bfe.u32 %x, %s, {bit}, 3; setp.eq.u32 %q, %x, 7; @%q st.global.u32 [%o], %s; @%q exit; bra {};\n",
                label(*to)
            ),
        });
    }
    text.push_str(&format!("{}: {leave}\n", label(blocks.len())));
    text
}

fn kernel(program: &Program) -> Kernel {
    const REGISTERS: &str = ".reg .pred %q; .reg .b32 %s, %n, %x; .reg .b64 %w, %o;";
    let mut text =
        ".version 8.0\n.target sm_90\n.address_size 64\n.global .u64 outputs;\n".to_owned();
    for number in 1..FUNCTIONS {
        text.push_str(&format!(
            ".func (.param .b64 r) f{number}(.param .b64 p);\n"
        ));
    }
    for (number, blocks) in program.iter().enumerate().skip(1) {
        let leave = "mov.b64 %w, {%s, %n}; st.param.b64 [r], %w; ret;";
        text.push_str(&format!(
            ".func (.param .b64 r) f{number}(.param .b64 p)\n{{\n{REGISTERS} ld.param.b64 %w, [p]; mov.b64 {{%s, %n}}, %w;\n\
             ld.global.u64 %o, [outputs]; mov.u32 %x, %tid.x; mad.wide.u32 %o, %x, 4, %o;\n{}}}\n",
            body(number, blocks, leave)
        ));
    }
    let leave = "xor.b32 %s, %s, %n; st.global.u32 [%o], %s; ret;";
    text.push_str(&format!(
        ".visible .entry k(.param .u64 data)\n{{\n{REGISTERS} ld.param.u64 %o, [data]; st.global.u64 [outputs], %o;\n\
         mov.u32 %x, %tid.x; mad.wide.u32 %o, %x, 4, %o; mul.lo.u32 %s, %x, 0x9E3779B9; mov.u32 %n, 0;\n{}}}\n",
        body(0, &program[0], leave)
    ));
    Kernel::of_text(&text)
}

/// What one thread does alone: its last state, or `Err` with the state in which it exits.
fn run(program: &Program, function: usize, state: &mut u32, steps: &mut u32) -> Result<(), u32> {
    let blocks = &program[function];
    let mut at = 0;
    while let Some(block) = blocks.get(at) {
        *state = state.wrapping_mul(block.factor).wrapping_add(block.addend);
        *steps += 1;
        if *steps >= MAX_STEPS {
            break;
        }
        if let Some(callee) = block.call {
            run(program, callee, state, steps)?;
        }
        at = match block.end {
            End::Jump(to) => to,
            End::Branch(bit, yes, no) => {
                if *state >> bit & 1 == 1 {
                    yes
                } else {
                    no
                }
            }
            End::Table(bit, places) => places[(*state >> bit & 3) as usize],
            End::ReturnIf(bit, to) => {
                if *state >> bit & 1 == 1 {
                    break;
                }
                to
            }
            End::ExitIf(bit, to) => {
                if *state >> bit & 7 == 7 {
                    return Err(*state);
                }
                to
            }
        };
    }
    Ok(())
}

#[test]
fn random_programs_do_what_each_thread_would_do_alone() {
    const THREADS: u32 = 80;
    let (mut exits, mut calls) = (0, 0);
    for seed in 0..400 {
        let program = program(&mut Random(seed));
        let expected: Vec<u32> = (0..THREADS)
            .map(|thread| {
                let (mut state, mut steps) = (thread.wrapping_mul(0x9E37_79B9), 0);
                match run(&program, 0, &mut state, &mut steps) {
                    Ok(()) => state ^ steps,
                    Err(state) => {
                        exits += 1;
                        state
                    }
                }
            })
            .collect();
        calls += program
            .iter()
            .flatten()
            .filter(|block| block.call.is_some())
            .count();
        let found = kernel(&program).block(THREADS).run(THREADS as usize);
        assert_eq!(found, expected, "seed {seed}");
    }
    assert!(
        exits > 1000 && calls > 400,
        "the programs have what they are to show: {exits} {calls}"
    );
}
