//! The lowered form as text.

use soft_gpu::Module;

const SOURCE: &str = ".version 8.0
.target sm_90
.address_size 64
.extern .func (.param .b64 r) malloc(.param .b64 bytes);
.func (.param .b32 r) next(.param .b32 x)
{
.reg .b32 %x;
ld.param.b32 %x, [x];
add.u32 %x, %x, 1;
st.param.b32 [r], %x;
ret;
}
.visible .entry k(.param .u64 data)
{
.reg .pred %p; .reg .b32 %r<3>; .reg .b64 %d<2>;
ld.param.u64 %d1, [data];
mov.u32 %r1, %tid.x;
setp.lt.u32 %p, %r1, 5;
@%p bra LOW;
{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r1;
call (b), next, (a);
ld.param.b32 %r1, [b]; }
LOW:
st.global.u32 [%d1+8], %r1;
ret;
}
";

/// Functions, what a kernel does once, branches, calls and memory are in it, each with its line.
#[test]
fn a_dump_shows_functions_operations_registers_and_lines() {
    let module = Module::load(SOURCE.as_bytes()).expect("good PTX");
    let dump = module.dump();
    let lines: Vec<Vec<&str>> = dump
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    let has = |words: &[&str]| {
        let found = lines
            .iter()
            .any(|line| words.iter().all(|word| line.contains(word)));
        assert!(found, "no line with {words:?} in\n{dump}");
    };
    has(&["func", "malloc:", "declared", "only"]);
    has(&["func", "next:", "bytes", "frame"]);
    has(&["entry", "k:", "bytes"]);
    has(&["param", "data", "8"]);
    has(&["once", "a", "launch:"]);
    has(&["line", "16", "<-", "load", "param"]);
    has(&["line", "9", "<-", "AddI32"]);
    has(&["line", "18", "<-"]);
    has(&["line", "19", "branch", "if"]);
    has(&["line", "21", "call", "next"]);
    has(&["line", "24", "store", "global", "offset", "8"]);
    assert_eq!(
        dump,
        Module::load(SOURCE.as_bytes()).expect("good PTX").dump()
    );
}

/// A read of a special register says which.
#[test]
fn a_dump_names_special_registers() {
    const READS: &[(&str, &str)] = &[
        ("mov.u32 %r, %tid.x;", "ThreadIndex(X)"),
        ("mov.u32 %r, %ntid.y;", "BlockSize(Y)"),
        ("mov.u32 %r, %ctaid.z;", "BlockIndex(Z)"),
        ("mov.u32 %r, %nctaid.x;", "GridSize(X)"),
        ("mov.u32 %r, %laneid;", "Lane"),
        ("mov.u32 %r, %lanemask_lt;", "MaskLess"),
        ("mov.u32 %r, %dynamic_smem_size;", "DynamicSharedBytes"),
        ("mov.u64 %d, %clock64;", "Clock"),
        ("mov.u64 %d, %globaltimer;", "Timer"),
        ("cvt.u64.u32 %d, %tid.y;", "ThreadIndex(Y)"),
    ];
    for (read, name) in READS {
        let source = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{{\n\
             .reg .b32 %r; .reg .b64 %d;\n{read}\nret;\n}}\n"
        );
        let dump = Module::load(source.as_bytes()).expect("good PTX").dump();
        let words = ["line", "7", "<-", "special", name];
        let found = dump.lines().any(|line| {
            let have: Vec<&str> = line.split_whitespace().collect();
            words.iter().all(|word| have.contains(word))
        });
        assert!(found, "no line with {words:?} in\n{dump}");
    }
}
