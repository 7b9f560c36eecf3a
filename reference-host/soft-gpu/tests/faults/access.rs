//! Accesses to memory that is not there, no longer there, not aligned or not to be written.

use soft_gpu::{FaultKind, LaunchError, Memory, Nearest, Object, launch};

use crate::harness::{IN, Kernel};
use crate::{LINE, faults, only};

fn out_of_bounds(space: &'static str, address: u64, bytes: u32, write: bool) -> FaultKind {
    FaultKind::OutOfBounds {
        space,
        address,
        bytes,
        write,
    }
}

fn near(object: Object, start: u64, bytes: u64, offset: i64) -> Option<Nearest> {
    Some(Nearest {
        object,
        start,
        bytes,
        offset,
    })
}

fn variable(name: &str) -> Object {
    Object::Variable(name.to_owned())
}

/// The region that the kernel's buffer is, and how far behind its start an access lies.
fn buffer(offset: i64) -> Option<Nearest> {
    near(Object::Region, IN, 256, offset)
}

/// One thread's access.
#[track_caller]
fn access(thread: u32, before: &str, instruction: &str, kind: FaultKind, nearest: Option<Nearest>) {
    let code = only(thread, &format!("{before} @%p1 {instruction};"));
    let shown = format!("@%p1 {instruction}");
    faults(&code, kind, thread, LINE, &shown, nearest);
}

#[test]
fn accesses_out_of_bounds() {
    let end = IN + 256;
    access(
        37,
        "",
        "ld.global.u32 %r1, [%data+256]",
        out_of_bounds("global", end, 4, false),
        buffer(256),
    );
    access(
        5,
        "",
        "st.global.u32 [%data+260], %r1",
        out_of_bounds("global", end + 4, 4, true),
        buffer(260),
    );
    access(
        5,
        "",
        "ld.global.v2.u64 {%u1, %u2}, [%data+256]",
        out_of_bounds("global", end, 16, false),
        buffer(256),
    );
    access(
        5,
        "",
        "ld.u8 %r1, [%data+-1]",
        out_of_bounds("generic", IN - 1, 1, false),
        buffer(-1),
    );
    access(
        63,
        "",
        "atom.global.add.u32 %r1, [%data+256], 1",
        out_of_bounds("global", end, 4, true),
        buffer(256),
    );
    access(
        0,
        "",
        "st.shared.u32 [box+64], 1",
        out_of_bounds("shared", 64, 4, true),
        near(variable("box"), 0, 64, 64),
    );
    access(
        0,
        "mov.u64 %u1, box; cvta.shared.u64 %u1, %u1;",
        "st.u32 [%u1+72], 1",
        out_of_bounds("generic", 0x7B00_0000_0048, 4, true),
        near(variable("box"), 0x7B00_0000_0000, 64, 72),
    );
    access(
        9,
        "",
        "ld.const.u32 %r1, [fixed+4]",
        out_of_bounds("const", 4, 4, false),
        near(variable("fixed"), 0, 4, 4),
    );
    access(
        9,
        "mov.u64 %u1, table;",
        "ld.global.u64 %u1, [%u1+24]",
        out_of_bounds("global", 0x7E00_0000_0018, 8, false),
        near(variable("table"), 0x7E00_0000_0000, 24, 24),
    );
    access(
        9,
        ".local .b8 own[16]; mov.u64 %u1, own;",
        "st.local.u32 [%u1+400000], 1",
        out_of_bounds("local", 400_000, 4, true),
        near(Object::Stack, 0, 16, 400_000),
    );
    access(
        9,
        "",
        "ld.param.u32 %r1, [data+8]",
        out_of_bounds("param", 8, 4, false),
        near(Object::Parameter("data".to_owned()), 0, 8, 8),
    );
}

#[test]
fn null_pointers() {
    let null = |space, address, bytes, write| FaultKind::Null {
        space,
        address,
        bytes,
        write,
    };
    let far = |address: u64| buffer(address.wrapping_sub(IN).cast_signed());
    access(
        9,
        "mov.u64 %u1, 0;",
        "ld.global.u32 %r1, [%u1]",
        null("global", 0, 4, false),
        far(0),
    );
    access(
        9,
        "mov.u64 %u1, 0;",
        "st.u8 [%u1+4095], %r1",
        null("generic", 4095, 1, true),
        far(4095),
    );
    access(
        9,
        "mov.u64 %u1, 0;",
        "st.u8 [%u1+4096], %r1",
        out_of_bounds("generic", 4096, 1, true),
        far(4096),
    );
}

/// The whole warp reads beyond the end: the first thread outside is named.
#[test]
fn the_first_lane_outside_is_named() {
    let mut kernel = Kernel::new("", "ld.global.u32 %r1, [%mine+64];").block(32);
    let fault = kernel.fault(128);
    assert_eq!(fault.kind, out_of_bounds("global", IN + 128, 4, false));
    assert_eq!(fault.thread, [16, 0, 0]);
    assert_eq!(fault.nearest, near(Object::Region, IN, 128, 128));
    let mut kernel = Kernel::new("", "ld.global.u64 %u1, [%mine];").block(32);
    let misaligned = FaultKind::Misaligned {
        space: "global",
        address: IN + 4,
        bytes: 8,
        write: false,
    };
    let fault = kernel.fault(256);
    assert_eq!((fault.kind, fault.thread), (misaligned, [1, 0, 0]));
}

/// An access may begin inside an object and end outside.
#[test]
fn accesses_that_pass_an_end() {
    let mut kernel = Kernel::new("", "ld.global.v2.u32 {%r1, %r2}, [%data+16];");
    let fault = kernel.fault(20);
    assert_eq!(fault.kind, out_of_bounds("global", IN + 16, 8, false));
    assert_eq!(fault.nearest, near(Object::Region, IN, 20, 16));
}

#[test]
fn dynamic_shared_memory_has_an_end() {
    let code = "mov.u64 %u1, more; st.shared.u32 [%u1+32], %r1;";
    let before = ".shared .b8 fixed[8]; .extern .shared .align 16 .b8 more[];";
    let mut kernel = Kernel::new(before, code);
    kernel.config.dynamic_shared_bytes = 32;
    let fault = kernel.fault(4);
    assert_eq!(fault.kind, out_of_bounds("shared", 48, 4, true));
    assert_eq!(fault.nearest, near(Object::DynamicShared, 16, 32, 32));
    kernel.config.dynamic_shared_bytes = 36;
    kernel.try_run(&mut [0; 4]).expect("room enough");
}

/// The caller says what was freed; what is mapped there now goes first.
#[test]
fn accesses_after_a_region_was_freed() {
    let kernel = Kernel::new("", "ld.global.u32 %r1, [%data+8];");
    let run = |memory: &mut Memory<'_>| {
        let entry = kernel.module.entry("k").expect("the kernel");
        let mut globals = kernel.module.globals();
        launch(
            &kernel.module,
            entry,
            &kernel.config,
            &IN.to_le_bytes(),
            &mut globals,
            memory,
        )
    };
    let mut memory = Memory::new();
    memory.note_freed(IN, 64);
    let Err(LaunchError::Fault(fault)) = run(&mut memory) else {
        panic!("nothing is mapped")
    };
    let dangling = FaultKind::UseAfterFree {
        space: "global",
        address: IN + 8,
        bytes: 4,
        write: false,
    };
    assert_eq!(fault.kind, dangling);
    assert_eq!(fault.nearest, near(Object::FreedRegion, IN, 64, 8));
    let mut memory = Memory::new();
    memory.note_freed(IN, 8);
    let Err(LaunchError::Fault(fault)) = run(&mut memory) else {
        panic!("nothing is mapped")
    };
    assert_eq!(fault.kind, out_of_bounds("global", IN + 8, 4, false));
    let mut again = [0; 64];
    let mut memory = Memory::new();
    memory.note_freed(IN, 64);
    memory.map(IN, &mut again).expect("a free place");
    run(&mut memory).expect("mapped again");
}

#[test]
fn misaligned_accesses() {
    let misaligned = |space, address, bytes, write| FaultKind::Misaligned {
        space,
        address,
        bytes,
        write,
    };
    access(
        40,
        "",
        "ld.global.u32 %r1, [%data+2]",
        misaligned("global", IN + 2, 4, false),
        buffer(2),
    );
    access(
        1,
        "",
        "st.global.v4.u32 [%data+8], {%r1, %r1, %r1, %r1}",
        misaligned("global", IN + 8, 16, true),
        buffer(8),
    );
    access(
        1,
        "",
        "st.shared.u16 [box+3], %h1",
        misaligned("shared", 3, 2, true),
        near(variable("box"), 0, 64, 3),
    );
    access(
        1,
        "",
        "atom.global.add.u64 %u1, [%data+4], 1",
        misaligned("global", IN + 4, 8, true),
        buffer(4),
    );
    access(
        1,
        ".local .b8 own[16]; mov.u64 %u1, own;",
        "ld.local.u32 %r1, [%u1+1]",
        misaligned("local", 1, 4, false),
        near(Object::Stack, 0, 16, 1),
    );
}

#[test]
fn writes_to_what_is_constant() {
    let address = 0x7900_0000_0000;
    access(
        33,
        "mov.u64 %u1, fixed; cvta.const.u64 %u1, %u1;",
        "st.u32 [%u1], 1",
        FaultKind::ReadOnly {
            space: "generic",
            address,
            bytes: 4,
        },
        near(variable("fixed"), address, 4, 0),
    );
}

/// Atomics reach no local memory, and objects of `mbarrier` and small matrices are in shared memory alone.
#[test]
fn generic_addresses_of_a_space_that_is_not_reached() {
    let address = 0x7A00_0000_0000;
    let before = ".local .align 16 .b8 own[64]; mov.u64 %u1, own; cvta.local.u64 %u1, %u1; mov.u64 %u2, box; cvta.shared.u64 %u2, %u2;";
    for (instruction, bytes, write) in [
        ("atom.add.u32 %r1, [%u1], 1", 4, true),
        ("atom.cas.b64 %u3, [%u1], %u3, %u3", 8, true),
        ("red.or.b32 [%u1], 1", 4, true),
        ("mbarrier.init.b64 [%u1], 1", 8, true),
        ("mbarrier.arrive.b64 %u3, [%u1]", 8, true),
    ] {
        let kind = FaultKind::WrongSpace {
            space: "generic",
            address,
            bytes,
            write,
        };
        let stack = near(Object::Stack, address, 64, 0);
        access(11, before, instruction, kind, stack);
        // The control: shared memory is there for all of them.
        let shared = format!("{before} {};", instruction.replace("%u1", "%u2"));
        let mut kernel = Kernel::new(crate::VARIABLES, &shared).block(64);
        kernel.try_run(&mut [0; 256]).expect("no fault");
    }
    let kind = FaultKind::WrongSpace {
        space: "generic",
        address: IN + 8,
        bytes: 8,
        write: true,
    };
    access(3, "", "mbarrier.inval.b64 [%data+8]", kind, buffer(8));
    let rows = |from| format!("{before} ldmatrix.sync.aligned.m8n8.x1.b16 {{%r1}}, [{from}];");
    let fault = Kernel::new(crate::VARIABLES, &rows("%data"))
        .block(32)
        .fault(64);
    let kind = FaultKind::WrongSpace {
        space: "generic",
        address: IN,
        bytes: 16,
        write: false,
    };
    assert_eq!(fault.kind, kind);
    let mut shared = Kernel::new(crate::VARIABLES, &rows("%u2")).block(32);
    shared.try_run(&mut [0; 64]).expect("no fault");
}
