//! Modules whose variables lie in memory of the caller's, and what a module says of its variables and kernels.

use std::path::Path;

use soft_gpu::{
    Fault, FaultKind, LaunchConfig, LaunchError, LoadAtError, Memory, Module, Object, Variable,
    VariableSpace, launch,
};

const HEADER: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

/// Variables of all kinds, a kernel that changes some, and one that follows a pointer.
const OWNER: &str = "
.visible .global .align 8 .u32 cells[4] = {10, 20, 30, 40};
.global .u64 plain = cells+8;
.global .u64 wide = generic(cells)+12;
.global .align 8 .u8 packed[2] = {0xFF(cells), 0xFF00(cells)};
.const .u64 fixed = cells+4;
.const .u32 factor = 3;
.visible .entry change(.param .u64 out) {
    .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p;
    ld.param.u64 %d0, [out];
    ld.global.u32 %r0, [cells];
    ld.const.u32 %r1, [factor];
    mul.lo.u32 %r0, %r0, %r1;
    st.global.u32 [cells], %r0;
    mov.u64 %d1, cells;
    cvta.global.u64 %d2, %d1;
    isspacep.global %p, %d2;
    selp.u32 %r2, 1, 0, %p;
    st.u32 [%d2+4], %r2;
    ld.global.u64 %d3, [plain];
    ld.global.u64 %d4, [wide];
    ld.const.u64 %d5, [fixed];
    ld.global.u32 %r3, [%d3];
    ld.u32 %r4, [%d4];
    add.u32 %r3, %r3, %r4;
    st.global.u32 [%d3], %r3;
    st.global.u64 [%d0], %d3;
    st.global.u64 [%d0+8], %d4;
    st.global.u64 [%d0+16], %d5;
    ret;
}
.visible .entry past(.param .u64 out) {
    .reg .b32 %r; .reg .b64 %d;
    ld.global.u32 %r, [cells+0];
    ret;
}";

/// A kernel of another module that only knows an address.
const STRANGER: &str = "
.global .u32 unrelated[300] = {7};
.visible .entry read(.param .u64 from, .param .u64 out) {
    .reg .b32 %r<3>; .reg .b64 %d<3>;
    ld.param.u64 %d0, [from];
    ld.param.u64 %d1, [out];
    ld.global.u32 %r0, [%d0];
    ld.global.u32 %r1, [unrelated];
    add.u32 %r0, %r0, %r1;
    st.global.u32 [%d1], %r0;
    atom.global.add.u32 %r2, [%d0+12], %r1;
    ret;
}";

/// Where buffers lie.
const OUT: u64 = 0x1_0000;

fn load_at(body: &str, base: u64) -> Module {
    Module::load_at(format!("{HEADER}{body}").as_bytes(), base)
        .unwrap_or_else(|error| panic!("{error}"))
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(*bytes[at..].first_chunk().expect("4 bytes"))
}

fn double(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(*bytes[at..].first_chunk().expect("8 bytes"))
}

/// Launches kernel `name` with buffers and variables mapped.
fn run(
    module: &Module,
    name: &str,
    threads: u32,
    params: &[u64],
    mapped: &mut [(u64, &mut Vec<u8>)],
) -> Result<(), LaunchError> {
    let mut memory = Memory::new();
    for (start, bytes) in mapped {
        memory.map(*start, bytes).expect("free addresses");
    }
    let config = LaunchConfig {
        grid: [threads, 1, 1],
        threads,
        ..LaunchConfig::default()
    };
    let params: Vec<u8> = params
        .iter()
        .flat_map(|param| param.to_le_bytes())
        .collect();
    let entry = module.entry(name).expect("a kernel");
    let mut globals = module.globals();
    launch(module, entry, &config, &params, &mut globals, &mut memory)
}

#[test]
fn variables_lie_where_the_caller_maps_them() {
    for base in [
        0x1000_0000,
        0x7F00_0000_0000,
        0x7123_4567_8000,
        0xFFFF_FFFF_0000_0000,
    ] {
        let owner = load_at(OWNER, base);
        let mut cells = owner.global_image();
        assert_eq!(owner.globals_base(), base);
        assert_eq!(double(&cells, 16), base + 8);
        assert_eq!(double(&cells, 24), base + 12);
        assert_eq!(cells[32..34], [base as u8, (base >> 8) as u8]);
        assert_eq!(cells.len(), 34);
        let mut out = vec![0; 24];
        run(
            &owner,
            "change",
            1,
            &[OUT],
            &mut [(base, &mut cells), (OUT, &mut out)],
        )
        .expect("no fault");
        assert_eq!([0, 4, 8, 12].map(|at| word(&cells, at)), [30, 1, 70, 40]);
        let addresses = [0, 8, 16].map(|at| double(&out, at));
        assert_eq!(addresses, [base + 8, base + 12, base + 4]);
    }
}

#[test]
fn kernels_reach_variables_of_other_modules() {
    let (here, there) = (0x1000_0000, 0x2000_0000);
    let (owner, stranger) = (load_at(OWNER, here), load_at(STRANGER, there));
    for threads in [1, 4] {
        let (mut cells, mut unrelated) = (owner.global_image(), stranger.global_image());
        let mut out = vec![0; 24];
        let cell = owner
            .variable("cells")
            .and_then(|it| it.address)
            .expect("it is global");
        run(
            &stranger,
            "read",
            threads,
            &[cell, OUT],
            &mut [(here, &mut cells), (there, &mut unrelated), (OUT, &mut out)],
        )
        .expect("no fault");
        assert_eq!(word(&out, 0), 17, "{threads} threads");
        assert_eq!(word(&cells, 12), 40 + 7 * threads, "{threads} threads");
    }
}

/// A launch without them finds nothing there, and says what should have been.
#[test]
fn variables_that_are_not_mapped_are_not_there() {
    let owner = load_at(OWNER, 0x1000_0000);
    let globals = owner.globals();
    assert_eq!(globals.variable("cells"), None);
    assert_eq!(globals.address("cells"), Some(0x1000_0000));
    assert_eq!(globals.variable("factor"), Some(&3u32.to_le_bytes()[..]));
    for threads in [1, 4] {
        let error = run(
            &owner,
            "change",
            threads,
            &[OUT],
            &mut [(OUT, &mut vec![0; 24])],
        );
        let fault = fault(error);
        assert!(
            matches!(
                fault.kind,
                FaultKind::OutOfBounds {
                    address: 0x1000_0000,
                    ..
                }
            ),
            "{fault}"
        );
        let nearest = fault.nearest.expect("a variable");
        assert_eq!(
            (nearest.object, nearest.offset),
            (Object::Variable("cells".to_owned()), 0)
        );
    }
}

#[track_caller]
fn fault(outcome: Result<(), LaunchError>) -> Box<Fault> {
    match outcome {
        Err(LaunchError::Fault(fault)) => fault,
        other => panic!("{other:?}"),
    }
}

/// In a region as the caller maps it, before it and behind it.
#[test]
fn faults_name_variables_in_memory_of_the_caller() {
    let base = 0x1000_0000;
    let misaligned = |fault: &Fault| matches!(fault.kind, FaultKind::Misaligned { .. });
    let outside = |fault: &Fault| matches!(fault.kind, FaultKind::OutOfBounds { .. });
    for (shift, name, offset, kind) in [
        (5i64, "cells", 5, &misaligned as &dyn Fn(&Fault) -> bool),
        (21, "plain", 5, &misaligned),
        (-4, "cells", -4, &outside),
        (36, "packed", 4, &outside),
    ] {
        let owner = load_at(
            &OWNER.replace("[cells+0]", &format!("[cells+{shift}]")),
            base,
        );
        for threads in [1, 4] {
            let mut cells = owner.global_image();
            let fault = fault(run(
                &owner,
                "past",
                threads,
                &[OUT],
                &mut [(base, &mut cells)],
            ));
            assert!(kind(&fault), "{fault}");
            let nearest = fault.nearest.expect("a variable");
            assert_eq!(nearest.object, Object::Variable(name.to_owned()));
            assert_eq!(nearest.offset, offset, "{name}");
        }
    }
}

#[test]
fn reserved_places_are_refused() {
    let text = format!("{HEADER}.global .u32 x;");
    let whole = 16 << 20;
    for base in [
        0,
        0xFFF,
        0x7800_0000_0000 - whole + 1,
        0x7800_0000_0000,
        0x7E00_0000_0000,
        0x7EFF_FFFF_FFFF,
        u64::MAX - whole + 1,
        u64::MAX,
    ] {
        let refused = Module::load_at(text.as_bytes(), base).map(drop);
        assert_eq!(refused, Err(LoadAtError::Base(base)), "{base:#x}");
    }
    for base in [
        0x1000,
        0x7800_0000_0000 - whole,
        0x7F00_0000_0000,
        u64::MAX - whole,
    ] {
        let module = Module::load_at(text.as_bytes(), base).expect("free addresses");
        assert_eq!(module.globals_base(), base);
        let mut image = module.global_image();
        Memory::new().map(base, &mut image).expect("as promised");
    }
    let broken = Module::load_at(b".version 8.0 .target sm_80 oops", 0x1000).map(drop);
    assert!(matches!(broken, Err(LoadAtError::Ptx(_))));
}

/// Alignment is that of addresses, at whatever base.
#[test]
fn variables_are_aligned_at_any_base() {
    let text = format!("{HEADER}.global .u8 a; .global .align 64 .u8 b; .global .u64 c = b;");
    for base in [0x1000, 0x1001, 0x1030, 0x1FFF] {
        let module = Module::load_at(text.as_bytes(), base).expect("good PTX");
        let at = |name| {
            module
                .variable(name)
                .and_then(|it| it.address)
                .expect("it is global")
        };
        assert_eq!(at("b") % 64, 0, "{base:#x}");
        assert_eq!(at("c") % 8, 0, "{base:#x}");
        let end = u64::from(module.variable("c").expect("there").offset_bytes) + 8;
        let image = module.global_image();
        assert_eq!(image.len() as u64, end);
        assert_eq!(double(&image, image.len() - 8), at("b"), "{base:#x}");
    }
}

/// Every source at hand has the same variables at a place of the caller's, moved by the distance.
#[test]
fn all_sources_can_be_placed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let base = 0x40_0000_0000;
    let mut variables = 0;
    for folder in [
        "tests/accepted",
        "tests/generated",
        "../../fixtures/kernels",
    ] {
        for file in std::fs::read_dir(root.join(folder)).expect(folder) {
            let path = file.expect("a file").path();
            if path.extension().is_none_or(|extension| extension != "ptx") {
                continue;
            }
            let source = std::fs::read(&path).expect("readable");
            let name = path.display();
            let at_home = Module::load(&source).unwrap_or_else(|error| panic!("{name}: {error}"));
            let placed =
                Module::load_at(&source, base).unwrap_or_else(|error| panic!("{name}: {error}"));
            let moved = |variable: Variable<'_>| {
                let distance = at_home.globals_base() - base;
                (
                    variable.name.to_owned(),
                    variable.offset_bytes,
                    variable.address.map(|it| it - distance),
                )
            };
            let stays = |it: Variable<'_>| (it.name.to_owned(), it.offset_bytes, it.address);
            let expected: Vec<_> = at_home.variables().map(moved).collect();
            assert_eq!(
                placed.variables().map(stays).collect::<Vec<_>>(),
                expected,
                "{name}"
            );
            assert_eq!(placed.global_image().len(), at_home.global_image().len());
            variables += expected.len();
        }
    }
    assert!(
        variables > 40,
        "{variables} variables are too few to show anything"
    );
}

#[test]
fn what_a_module_says_of_its_variables() {
    let text = ".version 7.8 .target sm_90a .address_size 64
        .const .u16 first = 1; .global .u32 second[3]; .const .align 8 .u64 third;
        .entry k() { .global .u8 own; ret; }";
    let module = Module::load(text.as_bytes()).err();
    // The suffix came with 8.0.
    assert!(module.is_some());
    let module = Module::load(text.replace("7.8", "8.0").as_bytes()).expect("good PTX");
    assert_eq!((module.ptx_version(), module.target()), ((8, 0), 90));
    let found: Vec<_> = module.variables().collect();
    let base = module.globals_base();
    let variable = |name, space, offset_bytes, size_bytes| Variable {
        name,
        space,
        offset_bytes,
        size_bytes,
        address: (space == VariableSpace::Global).then(|| base + u64::from(offset_bytes)),
    };
    let expected = [
        variable("first", VariableSpace::Constant, 0, 2),
        variable("second", VariableSpace::Global, 0, 12),
        variable("third", VariableSpace::Constant, 8, 8),
        variable("k.own", VariableSpace::Global, 12, 1),
    ];
    assert_eq!(found, expected);
    assert_eq!(module.variable("second"), Some(expected[1]));
    assert_eq!(module.variable("own"), None);
    assert_eq!(module.constant_bytes(), 16);
    let mut globals = module.globals();
    assert_eq!(globals.constants().len(), 16);
    globals.constants_mut()[8] = 9;
    assert_eq!(globals.variable("third"), Some(&9u64.to_le_bytes()[..]));
    assert_eq!(globals.variable("first"), Some(&1u16.to_le_bytes()[..]));
}

#[test]
fn what_a_kernel_says_of_its_launches() {
    for (directives, threads, block) in [
        ("", 1024, None),
        (".maxntid 64", 64, None),
        (".maxntid 8, 8, 4", 256, None),
        (".maxntid 4096", 1024, None),
        (".maxntid 65536, 65536, 65536", 1024, None),
        (".reqntid 4, 4", 16, Some([4, 4, 1])),
    ] {
        let text = format!("{HEADER}.entry k() {directives} {{ .local .b32 own[10]; ret; }}");
        let module =
            Module::load(text.as_bytes()).unwrap_or_else(|error| panic!("{directives}: {error}"));
        let entry = module.entry("k").expect("a kernel");
        assert_eq!(entry.max_threads_per_block(), threads, "{directives}");
        assert_eq!(entry.required_block(), block, "{directives}");
        assert!(
            (40..64).contains(&entry.local_bytes()),
            "{}",
            entry.local_bytes()
        );
    }
    let empty =
        Module::load(format!("{HEADER}.entry k() {{ ret; }}").as_bytes()).expect("good PTX");
    assert_eq!(empty.entry("k").map(|entry| entry.local_bytes()), Some(0));
}
