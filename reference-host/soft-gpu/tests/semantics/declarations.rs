//! What declarations mean once the code runs: aliases, variables of functions, external variables, addresses as initial values.

use soft_gpu::{ConfigError, LaunchError};

use crate::harness::{Kernel, words};

#[test]
fn an_alias_is_the_function_it_stands_for() {
    let before = ".visible .func (.param .b32 r) next(.param .b32 x) { .reg .b32 %x; ld.param.b32 %x, [x]; add.u32 %x, %x, 1; st.param.b32 [r], %x; }
        .visible .func (.param .b32 r) same(.param .b32 x); .visible .func (.param .b32 r) again(.param .b32 x);
        .alias same, next; .alias again, same; .global .u64 pointer = again;";
    let call = |callee: &str| {
        format!(
            "{{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call (b), {callee}, (a); ld.param.b32 %r1, [b]; }}"
        )
    };
    let indirect = "P: .callprototype (.param .b32 _) _ (.param .b32 _); mov.u64 %u1, pointer; ld.global.u64 %u1, [%u1];
        { .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call (b), %u1, (a), P; ld.param.b32 %r1, [b]; }";
    let code = format!(
        "mov.u32 %r1, 10; {} {} {} {indirect} st.global.u32 [%data], %r1;",
        call("next"),
        call("same"),
        call("again")
    );
    assert_eq!(Kernel::new(before, &code).run(1), [14]);
}

/// They are one for all calls and all launches, whatever else has their name.
#[test]
fn variables_of_a_function_outlast_its_calls() {
    let before = ".global .u32 count = 1000;
        .func (.param .b32 r) tick() { .global .u32 count = 5; .const .u32 step = 3; .reg .b32 %n, %s;
        ld.global.u32 %n, [count]; ld.const.u32 %s, [step]; add.u32 %n, %n, %s; st.global.u32 [count], %n; st.param.b32 [r], %n; }";
    let tick = "{ .param .b32 b; call (b), tick; ld.param.b32 %r1, [b]; }";
    let code = format!(
        "{tick} {tick} ld.global.u32 %r2, [count]; add.u32 %r1, %r1, %r2; st.global.u32 [%data], %r1;"
    );
    let mut kernel = Kernel::new(before, &code);
    assert_eq!(kernel.run(1), [1011]);
    assert_eq!(kernel.run(1), [1017]);
    assert_eq!(
        kernel.globals.variable("count"),
        Some(&1000u32.to_le_bytes()[..])
    );
    assert_eq!(
        kernel.globals.variable("tick.count"),
        Some(&17u32.to_le_bytes()[..])
    );
}

#[test]
fn external_variables_are_those_defined_elsewhere_or_zero() {
    let before = ".extern .global .u32 later; .extern .global .u32 never; .global .u64 pointer = later; .visible .global .u32 later = 77;
        .visible .global .u32 early = 5; .extern .global .u32 early;";
    let code = "ld.global.u32 %r1, [later]; ld.global.u64 %u1, [pointer]; ld.global.u32 %r2, [%u1]; add.u32 %r1, %r1, %r2;
        ld.global.u32 %r2, [never]; add.u32 %r1, %r1, %r2; ld.global.u32 %r2, [early]; add.u32 %r1, %r1, %r2; st.global.u32 [%data], %r1;";
    assert_eq!(Kernel::new(before, code).run(1), [77 + 77 + 5]);
}

/// Bytes of an address by masks, as compilers pack structures that hold pointers.
#[test]
fn addresses_as_initial_values() {
    let bytes: Vec<String> = (0..8)
        .map(|at| format!("0xFF{}(generic(target)+4)", "00".repeat(at)))
        .collect();
    let before = format!(
        ".global .align 8 .u32 target[2] = {{1, 42}}; .const .u32 fixed[2] = {{3, 9}};
         .func f() {{ ret; }}
         .global .align 8 .u8 packed[16] = {{7, 0, 0, 0, 0, 0, 0, 0, {}}};
         .global .u64 plain[4] = {{target, target+4, generic(fixed)+4, f}};
         .const .u64 inside = fixed+4;",
        bytes.join(", ")
    );
    let code = "mov.u64 %u1, packed; ld.global.u64 %u2, [%u1+8]; ld.global.u32 %r1, [%u2];
        mov.u64 %u1, plain; ld.global.u64 %u2, [%u1+8]; ld.global.u32 %r2, [%u2];
        ld.global.u64 %u3, [%u1+16]; ld.u32 %r3, [%u3]; ld.const.u64 %u4, [inside]; ld.const.u32 %r4, [%u4];
        mov.u64 %u5, f; ld.global.u64 %u6, [%u1+24]; setp.eq.u64 %p1, %u5, %u6; selp.u32 %r5, 1, 0, %p1;
        st.global.u32 [%data], %r1; st.global.u32 [%data+4], %r2; st.global.u32 [%data+8], %r3; st.global.u32 [%data+12], %r4; st.global.u32 [%data+16], %r5;";
    let mut kernel = Kernel::new(&before, code);
    assert_eq!(kernel.run(5), [42, 42, 9, 9, 1]);
    let target = kernel.globals.address("target").expect("a variable");
    let packed = kernel.globals.variable("packed").expect("a variable");
    assert_eq!(words(packed), [7, target + 4]);
}

#[test]
fn launch_bounds_of_directives() {
    let launch = |directive: &str, block: [u32; 3]| {
        let text = format!(
            ".version 8.0 .target sm_90 .address_size 64 .visible .entry k(.param .u64 data) {directive} {{ ret; }}"
        );
        let mut kernel = Kernel::of_text(&text);
        kernel.config.block = block;
        match kernel.try_run(&mut [0; 4]) {
            Ok(()) => None,
            Err(LaunchError::Config(ConfigError::LaunchBounds { bounds, .. })) => Some(bounds),
            other => panic!("{other:?}"),
        }
    };
    for (directive, block, refused) in [
        (".maxntid 64", [64, 1, 1], None),
        (".maxntid 64", [8, 8, 1], None),
        (".maxntid 64", [65, 1, 1], Some([64, 1, 1])),
        (
            ".maxntid 32 .maxntid 8, 8, 2 .minnctapersm 2 .maxnreg 40",
            [128, 1, 1],
            None,
        ),
        (".maxntid 8, 8, 2", [129, 1, 1], Some([8, 8, 2])),
        (".reqntid 4, 4", [4, 4, 1], None),
        (".reqntid 4, 4", [16, 1, 1], Some([4, 4, 1])),
        (
            ".reqntid 4, 4 .pragma \"nounroll\"; .maxclusterrank 2",
            [4, 4, 1],
            None,
        ),
    ] {
        assert_eq!(launch(directive, block), refused, "{directive}");
    }
}

/// Vector registers as wholes and by component, in both spellings.
#[test]
fn vector_registers() {
    let code = ".reg .v4 .b32 v, w; .reg .v2 .b32 half; .reg .v2 .b64 wide;
        ld.global.v4.u32 v, [%data]; add.u32 w.x, v.w, 1; add.u32 w.y, v.z, v.z; mov.b32 w.b, v.g; mov.b32 w.a, v.r;
        st.global.v4.u32 [%data+16], w;
        mov.b32 half.x, v.x; mov.b32 half.y, v.y; mov.b64 wide.x, half; mov.b64 half, wide.x; mov.b64 wide.y, {w.x, half.y};
        st.global.v2.b64 [%data+32], wide; st.global.b32 [%data+48], w.x;";
    let found = Kernel::new("", code).run_on(&[1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(found[4..], [5, 6, 2, 1, 1, 2, 5, 2, 5]);
}

/// Chains and circles of aliases, as many as a source holds, cost no more than their text.
#[test]
fn aliases_of_aliases() {
    use std::fmt::Write as _;
    const COUNT: usize = 50_000;
    let mut before = ".visible .func f() { ret; } .global .u64 last;\n".to_owned();
    for at in 0..COUNT {
        let _ = writeln!(before, ".visible .func g{at}(); .extern .func c{at}();");
    }
    for at in 0..COUNT - 1 {
        let _ = writeln!(before, ".alias g{at}, g{}; ", at + 1);
    }
    let _ = writeln!(before, ".alias g{}, f;", COUNT - 1);
    let mut kernel = Kernel::new(&before, "call g0; call g25000; st.global.u32 [%data], 1;");
    assert_eq!(kernel.run(1), [1]);
    let circles: String = (0..COUNT)
        .map(|at| format!(".visible .func a{at}(); .visible .func b{at}(); .alias a{at}, b{at}; .alias b{at}, a{at};\n"))
        .collect();
    let text = format!(".version 8.0 .target sm_90 .address_size 64 {circles}");
    assert!(soft_gpu::Module::load(text.as_bytes()).is_err());
}
