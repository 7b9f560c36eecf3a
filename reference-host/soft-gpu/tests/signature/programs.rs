//! Random programs, run: whatever memory they change must belong to a parameter that is said to be written through.

use std::cell::Cell;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use soft_gpu::{LaunchConfig, LaunchError, Memory, Module, Signature, launch};

/// Addresses of the windows that parameters point to: so far apart that no loaded word of 32 bits leads from one to another.
const WINDOWS: [u64; 3] = [0x0100_0000_0000, 0x2300_0001_0000, 0x6500_0002_0000];

const WINDOW_BYTES: usize = 256;

/// One statement: a form, and numbers for its operands.
#[derive(Clone, Copy, Debug)]
struct Statement {
    form: usize,
    operands: [u8; 3],
    offset: u8,
}

/// `D0 D1 D2` are 64-bit registers, `R0 R1 R2` 32-bit ones by number of operand, `O` is an offset.
const FORMS: &[&str] = &[
    "mov.b64 D0, D1;",
    "@p0 mov.b64 D0, D1;",
    "add.u64 D0, D1, O;",
    "add.u64 D0, D1, D2;",
    "sub.u64 D0, D1, D2;",
    // What is loaded, by way of an address that comes to nothing.
    "ld.global.u64 D2, [D1+O]; sub.u64 D0, D1, D1; add.u64 D0, D0, D2;",
    "ld.global.v2.u32 {R0, R1}, [D1+O]; mov.b64 D2, {R0, R1}; sub.u64 D0, D1, D1; add.u64 D0, D0, D2;",
    "xor.b64 D0, D1, D2;",
    "or.b64 D0, D1, D2;",
    "and.b64 D0, D1, -16;",
    "and.b64 D0, D1, D2;",
    "max.u64 D0, D1, D2;",
    "shl.b64 D0, D1, 32;",
    "shl.b64 D0, D1, 3;",
    "shr.u64 D0, D1, 32;",
    "mov.b64 {R0, R1}, D2;",
    "mov.b64 D0, {R1, R2};",
    "mov.b32 R0, R1;",
    "add.cc.u32 R0, R1, R2; addc.u32 R1, R1, 0;",
    "cvt.u64.u32 D0, R1;",
    "cvt.u32.u64 R0, D1;",
    "mul.wide.u32 D0, R1, 4;",
    "mad.wide.u32 D0, R1, 8, D2;",
    "and.b32 R0, R1, 31;",
    "selp.b64 D0, D1, D2, p0;",
    "setp.lt.u64 p0, D1, D2;",
    "ld.global.u64 D0, [D1+O];",
    "ld.global.u64 D0, [D1+O];",
    "ld.u32 R0, [D1+O];",
    "ld.global.v2.u32 {R0, R1}, [D2+O];",
    "st.global.u64 [D0+O], D1;",
    "st.u64 [D0+O], D1;",
    "st.global.u32 [D0+O], R1;",
    "@p0 st.global.u32 [D0+O], R1;",
    "st.global.v2.b64 [D0+O], {D1, D2};",
    "atom.global.add.u32 R0, [D1+O], 1;",
    "atom.global.exch.b64 D0, [D1+O], D2;",
    "red.add.u64 [D0+O], 1;",
    "st.shared.u64 [box+O], D0;",
    "st.shared.u32 [box+O], R0;",
    "ld.shared.u64 D0, [box+O];",
    "ld.shared.v2.u32 {R0, R1}, [box+O];",
    "st.local.u64 [own+O], D0;",
    "ld.local.u64 D0, [own+O];",
    "{ .param .b64 x; .param .b64 y; .param .b64 z; st.param.b64 [x], D1; st.param.b64 [y], D2; call (z), either, (x, y); ld.param.b64 D0, [z]; }",
    "{ .param .align 8 .b8 x[8]; st.param.b32 [x], R1; st.param.b32 [x+4], R2; call put, (x); }",
    "call (D0), next, (D1);",
    "cvta.to.global.u64 D0, D1;",
    "ld.param.u64 D0, [b];",
    "ld.param.u32 R0, [c]; ld.param.u32 R1, [c+4]; mov.b64 D2, {R0, R1};",
    "mov.b64 D0, s; ld.param.u64 D1, [D0+8];",
    "mov.b64 {R0, R1}, D2; shfl.sync.idx.b32 R0, R0, 0, 31, 1; mov.b64 D2, {R0, R1};",
];

const FUNCTIONS: &str = "
.func (.param .b64 r) either(.param .b64 x, .param .b64 y) {
    .reg .b64 %x, %y; .reg .pred %p;
    ld.param.b64 %x, [x]; ld.param.b64 %y, [y];
    setp.gt.u64 %p, %x, %y; selp.b64 %x, %x, %y, %p;
    st.param.b64 [r], %x; ret;
}
.func put(.param .align 8 .b8 x[8]) { .reg .b64 %x; ld.param.b64 %x, [x]; st.global.u32 [%x], 77; ret; }
.func (.reg .b64 r) next(.reg .b64 x) { add.u64 r, x, 8; ret; }
";

fn statement() -> impl Strategy<Value = Statement> {
    (0..FORMS.len(), any::<[u8; 3]>(), 0u8..4).prop_map(|(form, operands, offset)| Statement {
        form,
        operands,
        offset,
    })
}

fn text(program: &[Statement]) -> String {
    let mut text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n{FUNCTIONS}
.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .align 8 .b8 s[16]) {{
.reg .pred p0; .reg .b32 r<4>; .reg .b64 d<6>;
.shared .align 16 .b8 box[64]; .local .align 16 .b8 own[64];
ld.param.u64 d0, [a]; ld.param.u64 d1, [b]; ld.param.u64 d2, [c]; ld.param.u64 d3, [s];
mov.b64 d4, 16; mov.b64 d5, d0; mov.b32 r0, 0; mov.b32 r1, 8; mov.b32 r2, %tid.x; mov.b32 r3, 1;
setp.eq.u32 p0, r0, r3;\n"
    );
    for statement in program {
        let mut line = FORMS[statement.form].to_owned();
        for (at, operand) in statement.operands.iter().enumerate() {
            line = line.replace(&format!("D{at}"), &format!("d{}", operand % 6));
            line = line.replace(&format!("R{at}"), &format!("r{}", operand % 4));
        }
        text.push_str(&line.replace("+O]", &format!("+{}]", statement.offset * 8)));
        if text.ends_with(", O;") {
            text.truncate(text.len() - 2);
            text.push_str(&format!("{};", statement.offset * 8));
        }
        text.push('\n');
    }
    text.push_str("ret;\n}\n");
    text
}

/// What windows hold at first: small numbers, addresses of all windows, and both in halves.
fn contents() -> [Vec<u8>; 3] {
    [0u64, 1, 2].map(|number| {
        (0..WINDOW_BYTES as u64 / 8)
            .flat_map(|at| {
                let window = WINDOWS[(at + number) as usize % 3];
                match at % 3 {
                    0 => at,
                    1 => window + at % 8 * 8,
                    _ => 16,
                }
                .to_le_bytes()
            })
            .collect()
    })
}

/// What became of a program.
struct Run {
    changed: [bool; 3],
    written: Vec<bool>,
    completed: bool,
}

fn run(text: &str) -> Run {
    let signature = Signature::of(text.as_bytes(), "k")
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
        .expect("a kernel");
    let module = Module::load(text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let before = contents();
    let mut windows = contents();
    let mut memory = Memory::new();
    for (start, bytes) in WINDOWS.into_iter().zip(&mut windows) {
        memory.map(start, bytes).expect("free addresses");
    }
    let [a, b, c] = WINDOWS;
    // The structure holds a number and an address of its own.
    let params: Vec<u8> = [a, b, c, 24, c + 64]
        .into_iter()
        .flat_map(u64::to_le_bytes)
        .collect();
    let entry = module.entry("k").expect("a kernel");
    let config = LaunchConfig {
        instruction_budget: 1 << 20,
        ..LaunchConfig::default()
    };
    let outcome = launch(
        &module,
        entry,
        &config,
        &params,
        &mut module.globals(),
        &mut memory,
    );
    assert!(
        !matches!(outcome, Err(LaunchError::Config(_))),
        "{outcome:?}"
    );
    let changed = |at: usize| windows[at] != before[at];
    Run {
        changed: [0, 1, 2].map(changed),
        written: signature.written().to_vec(),
        completed: outcome.is_ok(),
    }
}

#[test]
fn what_random_programs_change_is_said_to_be_written() {
    let cases = 20_000;
    let (telling, completed, all) = (Cell::new(0), Cell::new(0), Cell::new(0));
    let config = Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    };
    let mut runner = TestRunner::new_with_rng(
        config,
        proptest::test_runner::TestRng::deterministic_rng(
            proptest::test_runner::RngAlgorithm::ChaCha,
        ),
    );
    let programs = prop::collection::vec(statement(), 1..12);
    let outcome = runner.run(&programs, |program| {
        let text = text(&program);
        let run = run(&text);
        for (at, changed) in run.changed.into_iter().enumerate() {
            // The structure leads to the third window.
            let said = run.written[at] || (at == 2 && run.written[3]);
            prop_assert!(
                !changed || said,
                "window {at} changed, flags {:?}:\n{text}",
                run.written
            );
        }
        let mut some = run.changed.into_iter().zip(&run.written);
        if run.changed.contains(&true) && some.any(|(changed, written)| !changed && !written) {
            telling.set(telling.get() + 1);
        }
        completed.set(completed.get() + u32::from(run.completed));
        all.set(all.get() + u32::from(run.written == [true; 4]));
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
    // Otherwise the programs show nothing.
    assert!(
        telling.get() > cases / 20,
        "{telling:?} of {cases} tell anything"
    );
    assert!(
        completed.get() > cases / 10,
        "{completed:?} of {cases} ran to their end"
    );
    assert!(
        all.get() > cases / 20 && all.get() < cases / 2,
        "{all:?} of {cases} may write all"
    );
}
