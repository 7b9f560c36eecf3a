//! Every kind of fault, with every part of its report, and the control beside it.

mod access;
#[path = "../semantics/harness.rs"]
#[allow(
    dead_code,
    reason = "shared with the tests of semantics, which use all of it"
)]
mod harness;
mod runtime;
mod sanitizer;
mod warps;

use soft_gpu::{Awaited, ConfigError, FaultKind, LaunchError, Nearest, Wait};

use crate::harness::Kernel;

/// Line of the kernel's first own statement in the text that [`Kernel::new`] makes.
const FIRST_LINE: u32 = 9;

/// What stands in front of every kernel here.
const VARIABLES: &str =
    ".const .u32 fixed = 1; .shared .align 8 .b8 box[64]; .global .align 8 .b8 table[24];";

/// Where a kernel of two warps and several blocks faults: in block (1, 0, 0), thread `thread`, at `instruction`.
#[track_caller]
fn faults(
    code: &str,
    kind: FaultKind,
    thread: u32,
    line: u32,
    instruction: &str,
    nearest: Option<Nearest>,
) {
    let mut kernel = Kernel::new(VARIABLES, code).block(64);
    kernel.config.grid = [2, 1, 1];
    let fault = kernel.fault(64 * 4);
    assert_eq!(fault.kind, kind, "{code}");
    assert_eq!((&*fault.kernel, &*fault.function), ("k", "k"));
    assert_eq!(
        (fault.block, fault.thread),
        ([1, 0, 0], [thread, 0, 0]),
        "{fault}"
    );
    assert_eq!(
        (fault.line, &*fault.instruction),
        (line, instruction),
        "{fault}"
    );
    assert_eq!(fault.nearest, nearest, "{fault}");
    // The same without the one thread that is chosen for it: the control.
    let mut control = Kernel::new(VARIABLES, &code.replace("%r10, 1;", "%r10, 9;")).block(64);
    control.config.grid = [2, 1, 1];
    control
        .try_run(&mut [0; 256])
        .expect("no fault without the culprit");
}

/// Lets thread `thread` of block (1, 0, 0) alone run `act`, on a line of its own.
fn only(thread: u32, act: &str) -> String {
    format!(
        "mov.u32 %r9, %ctaid.x; mov.u32 %r10, 1; setp.eq.u32 %p1, %r9, %r10; setp.eq.and.u32 %p1, %t, {thread}, %p1;\n{act}"
    )
}

const LINE: u32 = FIRST_LINE + 1;

#[test]
fn traps() {
    faults(
        &only(50, "@%p1  trap;"),
        FaultKind::Trap,
        50,
        LINE,
        "@%p1 trap",
        None,
    );
    faults(
        &only(50, "@%p1 brkpt;"),
        FaultKind::Trap,
        50,
        LINE,
        "@%p1 brkpt",
        None,
    );
    // Deep in a branch and in a call.
    faults(
        &only(
            50,
            "@!%p1 bra FINE;\nadd.u32 %r1, %r1, 1;\ntrap;\nFINE: add.u32 %r1, %r1, 1;",
        ),
        FaultKind::Trap,
        50,
        LINE + 2,
        "trap",
        None,
    );
}

#[test]
fn calls_and_branches_to_nowhere() {
    faults(
        &only(
            12,
            "P: .callprototype _ ();\nmov.u64 %u1, 0x1234; @%p1 call %u1, P;",
        ),
        FaultKind::BadTarget(0x1234),
        12,
        LINE + 1,
        "@%p1 call %u1, P",
        None,
    );
    faults(
        &only(
            12,
            "T: .branchtargets L, L;\nselp.u32 %r1, 2, 1, %p1; brx.idx %r1, T;\nL: add.u32 %r1, %r1, 1;",
        ),
        FaultKind::BadTarget(2),
        12,
        LINE + 1,
        "brx.idx %r1, T",
        None,
    );
}

#[test]
fn barriers_that_are_none() {
    faults(
        &only(0, "selp.u32 %r1, 16, 0, %p1; bar.sync %r1;"),
        FaultKind::BadBarrier {
            id: 16,
            count: u32::MAX,
        },
        0,
        LINE,
        "bar.sync %r1",
        None,
    );
    faults(
        &only(0, "selp.u32 %r1, 33, 64, %p1; bar.sync 0, %r1;"),
        FaultKind::BadBarrier { id: 0, count: 33 },
        0,
        LINE,
        "bar.sync 0, %r1",
        None,
    );
}

/// Threads that wait, and those of `warp` among them.
fn wait(warp: u32, lanes: u32, line: u32, awaited: Awaited) -> Wait {
    Wait {
        warp,
        lanes,
        line,
        awaited,
    }
}

#[test]
fn barriers_that_never_complete() {
    let mut kernel = Kernel::new(
        "",
        "setp.lt.u32 %p1, %t, 32; @%p1 bra B;\nbar.sync 1;\nB:\nbar.sync 2, 96;",
    )
    .block(64);
    let fault = kernel.fault(4);
    let waits = vec![
        wait(
            0,
            u32::MAX,
            FIRST_LINE + 3,
            Awaited::Barrier {
                id: 2,
                count: Some(96),
            },
        ),
        wait(
            1,
            u32::MAX,
            FIRST_LINE + 1,
            Awaited::Barrier { id: 1, count: None },
        ),
    ];
    assert_eq!(fault.kind, FaultKind::Deadlock { waiting: 64, waits });
    assert_eq!(
        (fault.thread, fault.line, &*fault.instruction),
        ([0, 0, 0], FIRST_LINE + 3, "bar.sync 2, 96"),
        "{fault}"
    );
    assert_eq!(
        (&*fault.kernel, fault.block, &fault.nearest),
        ("k", [0; 3], &None)
    );
    // Lanes that name members which wait elsewhere.
    let mut kernel = Kernel::new(
        "",
        "setp.lt.u32 %p1, %t, 16; @%p1 bra B;\nbar.sync 1;\nB:\nvote.sync.ballot.b32 %r1, %p1, -1;",
    )
    .block(32);
    let fault = kernel.fault(4);
    let FaultKind::Deadlock {
        waiting: 32,
        mut waits,
    } = fault.kind
    else {
        panic!("{fault}")
    };
    waits.sort_by_key(|wait| wait.lanes);
    let barrier = Awaited::Barrier { id: 1, count: None };
    assert_eq!(
        waits,
        [
            wait(0, 0xFFFF, FIRST_LINE + 3, Awaited::Lanes),
            wait(0, 0xFFFF_0000, FIRST_LINE + 1, barrier)
        ]
    );
}

#[test]
fn the_watchdog_stops_what_never_ends() {
    let mut kernel = Kernel::new(
        "",
        "setp.eq.u32 %p1, %t, 40; @!%p1 exit;\nLOOP: add.u32 %r1, %r1, 1;\nbra LOOP;",
    )
    .block(64);
    kernel.config.instruction_budget = 1_000_000;
    let fault = kernel.fault(4);
    assert_eq!(fault.kind, FaultKind::BudgetExhausted(1_000_000));
    assert_eq!(
        (fault.thread, fault.line, &*fault.instruction),
        ([40, 0, 0], FIRST_LINE + 1, "LOOP: add.u32 %r1, %r1, 1"),
        "{fault}"
    );
    // What ends in time is left alone, and the budget is one for all warps.
    let mut kernel = Kernel::new(
        "",
        "mov.u32 %r1, 0;\nLOOP: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 1000; @%p1 bra LOOP;",
    )
    .block(64);
    kernel.config.instruction_budget = 20_000;
    kernel.try_run(&mut [0; 4]).expect("enough");
    kernel.config.instruction_budget = 6_000;
    assert_eq!(kernel.fault(4).kind, FaultKind::BudgetExhausted(6_000));
}

#[test]
fn recursion_without_end() {
    for (memory, limit) in [("", 65536), (".local .b8 own[4096];", 65536)] {
        let function = format!(
            ".func down(.param .b32 n) {{\n{memory} .reg .b32 %n; ld.param.u32 %n, [n]; add.u32 %n, %n, 1;\n\
             {{ .param .b32 x; st.param.u32 [x], %n; call down, (x); }}\n}}"
        );
        let mut kernel = Kernel::new(
            &function,
            "{ .param .b32 x; st.param.u32 [x], 0; call down, (x); }",
        )
        .block(3);
        let fault = kernel.fault(4);
        assert_eq!(fault.kind, FaultKind::StackOverflow { limit });
        assert_eq!((fault.thread, fault.line), ([0, 0, 0], 6), "{fault}");
        assert_eq!(
            (&*fault.function, &*fault.instruction, &fault.nearest),
            ("down", "call down, (x)", &None)
        );
    }
}

#[test]
fn launches_that_the_device_cannot_do() {
    let refused = |change: &dyn Fn(&mut Kernel)| {
        let mut kernel = Kernel::new("", "");
        kernel
            .try_run(&mut [0; 4])
            .expect("the launch is good before the change");
        change(&mut kernel);
        match kernel.try_run(&mut [0; 4]) {
            Err(LaunchError::Config(error)) => error,
            other => panic!("expected a refusal, found {other:?}"),
        }
    };
    for grid in [
        [0, 1, 1],
        [1, 0, 1],
        [1, 1, 0],
        [1 << 31, 1, 1],
        [1, 65536, 1],
        [1, 1, 65536],
    ] {
        assert_eq!(
            refused(&|kernel| kernel.config.grid = grid),
            ConfigError::Grid { grid }
        );
    }
    for block in [
        [0, 1, 1],
        [1025, 1, 1],
        [1, 1, 65],
        [32, 33, 1],
        [1024, 1024, 64],
    ] {
        assert_eq!(
            refused(&|kernel| kernel.config.block = block),
            ConfigError::Block { block }
        );
    }
    let bytes = 227 * 1024 + 1;
    assert_eq!(
        refused(&|kernel| kernel.config.dynamic_shared_bytes = bytes),
        ConfigError::Shared {
            bytes: u64::from(bytes)
        }
    );
}

/// Work that a launch causes outside its own instructions is charged as well: each of these would run for minutes if it were not.
#[test]
fn the_watchdog_charges_for_what_a_launch_makes_the_device_do() {
    let registers: String = (0..8000)
        .map(|at| format!("add.u32 %q{at}, %q{at}, %t;\n"))
        .collect();
    let big_frame = ".func f() { .local .b8 own[60000]; ret; }";
    let big_file = format!(
        ".func f() {{ .reg .pred %p; .reg .b32 %t, %q<8000>; bra END;\n{registers}END: ret; }}"
    );
    let endless = "LOOP: call f; bra LOOP;";
    let cases = [
        (big_frame.to_owned(), endless.to_owned(), [1, 1, 1]),
        (big_file, endless.to_owned(), [1, 1, 1]),
        (
            String::new(),
            ".local .b8 own[60000]; ret;".to_owned(),
            [i32::MAX.cast_unsigned(), 1, 1],
        ),
        (
            String::new(),
            ".shared .b8 own[49152]; ret;".to_owned(),
            [i32::MAX.cast_unsigned(), 1, 1],
        ),
        (
            String::new(),
            "ret;".to_owned(),
            [i32::MAX.cast_unsigned(), 1, 1],
        ),
    ];
    for (before, code, grid) in cases {
        let mut kernel = Kernel::new(&before, &code);
        kernel.config.grid = grid;
        // Too much for some thousand calls or blocks that cost nothing, plenty for as many that are charged.
        kernel.config.instruction_budget = 2_000_000;
        assert_eq!(
            kernel.fault(4).kind,
            FaultKind::BudgetExhausted(2_000_000),
            "{code}"
        );
    }
}

/// Work whose size a kernel chooses is charged by its size: much of it runs into the watchdog where as many small pieces do not.
#[test]
fn work_is_charged_by_its_size() {
    let repeat = |times: u32, code: &str| {
        format!(
            "mov.u32 %r9, 0;\nAGAIN:\n{code}\nadd.u32 %r9, %r9, 1; setp.lt.u32 %p1, %r9, {times}; @%p1 bra AGAIN;"
        )
    };
    let malloc = |bytes: u32| {
        let before = ".extern .func (.param .b64 r) malloc(.param .b64 bytes); .extern .func free(.param .b64 address);";
        let code = format!(
            "{{ .param .b64 a; .param .b64 b; st.param.b64 [a], {bytes}; call (b), malloc, (a); ld.param.b64 %u1, [b]; }}
             {{ .param .b64 a; st.param.b64 [a], %u1; call free, (a); }}"
        );
        (before.to_owned(), repeat(100, &code))
    };
    let print = |format: &str| {
        let bytes: Vec<String> = format
            .bytes()
            .chain([0])
            .map(|byte| byte.to_string())
            .collect();
        let before = format!(
            ".extern .func (.param .b32 r) vprintf(.param .b64 format, .param .b64 values);
             .global .b8 format[] = {{{}}}; .global .f64 value = 1e-300;",
            bytes.join(", ")
        );
        let code = "{ .param .b64 a; .param .b64 b; .param .b32 c; mov.b64 %u1, format; cvta.global.u64 %u1, %u1; st.param.b64 [a], %u1;
             mov.b64 %u1, value; cvta.global.u64 %u1, %u1; st.param.b64 [b], %u1; call (c), vprintf, (a, b); }";
        (before, repeat(100, code))
    };
    let copies = |count: u32| {
        let code = format!(
            "mov.u32 %r1, to; mov.u32 %r2, 0;
             MORE: cp.async.ca.shared.global [%r1], [%data], 4; add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, {count}; @%p2 bra MORE;
             cp.async.commit_group;\n{}",
            repeat(1000, "cp.async.wait_group 1;")
        );
        (".shared .align 4 .b32 to;".to_owned(), code)
    };
    let depth = |calls: u32| {
        // Two lanes part and meet, each with all of its callers.
        let loops = format!(
            "mov.u32 %r1, %laneid; setp.eq.u32 %p2, %r1, 0; {}",
            repeat(3_000, "@%p2 bra MEET; add.u32 %r2, %r2, 1;\nMEET:")
        );
        let before = format!(
            ".func f(.param .b32 left);
             .func f(.param .b32 left) {{ .reg .b32 %r<10>; .reg .pred %p<3>; ld.param.b32 %r1, [left];
             setp.eq.u32 %p1, %r1, 0; @%p1 bra BOTTOM; sub.u32 %r1, %r1, 1;
             {{ .param .b32 a; st.param.b32 [a], %r1; call f, (a); }} ret;\nBOTTOM: {loops} ret; }}"
        );
        let code = format!("{{ .param .b32 a; st.param.b32 [a], {calls}; call f, (a); }}");
        (before, code)
    };
    for (large, small, threads) in [
        (malloc(1 << 20), malloc(16), 1),
        (print("%.4000g"), print("%.4g"), 1),
        (copies(255), copies(1), 1),
        (depth(1900), depth(1), 2),
    ] {
        let launch = |(before, code): (String, String)| {
            let mut kernel = Kernel::new(&before, &code);
            kernel.config.block = [threads, 1, 1];
            kernel.config.instruction_budget = 300_000;
            (
                kernel
                    .try_run(&mut [0; 4])
                    .map_err(|error| error.to_string()),
                code,
            )
        };
        let (outcome, code) = launch(small);
        assert_eq!(outcome, Ok(()), "{code}");
        let (outcome, code) = launch(large);
        assert!(
            outcome
                .as_ref()
                .is_err_and(|error| error.contains("watchdog")),
            "{code}: {outcome:?}"
        );
    }
}
