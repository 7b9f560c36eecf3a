//! Sources that ask for more than the software GPU has, and those that ask for just as much.

use soft_gpu::{Module, PtxErrorCause, Unsupported};

const HEAD: &str = ".version 8.0\n.target sm_90\n.address_size 64\n";

/// The limit that refuses a source.
#[track_caller]
fn limit_of(source: &str) -> Option<(u64, u64)> {
    match Module::load(source.as_bytes()).map_err(|error| error.cause) {
        Ok(_) => None,
        Err(PtxErrorCause::Unsupported(Unsupported::Limit { count, limit, .. })) => {
            Some((count, limit))
        }
        Err(other) => panic!("{other}"),
    }
}

/// A warp's registers take memory for as many warps as a block has: their number has an end.
#[test]
fn registers_in_use() {
    let source = |count: u32| {
        let moves: String = (0..count)
            .map(|at| format!("mov.u32 %r{at}, %r{};\n", (at + 1) % count))
            .collect();
        format!("{HEAD}.entry k() {{ .reg .b32 %r<100000>;\n{moves} ret; }}\n")
    };
    assert_eq!(limit_of(&source(32768)), None);
    assert_eq!(limit_of(&source(32769)), Some((32768, 32768)));
}

#[test]
fn parameters_of_a_function() {
    let source = |count: u32| {
        let params: Vec<String> = (0..count).map(|at| format!(".param .b32 p{at}")).collect();
        format!("{HEAD}.extern .func f({});\n", params.join(", "))
    };
    assert_eq!(limit_of(&source(4096)), None);
    assert_eq!(limit_of(&source(4097)), Some((4097, 4096)));
}

/// What one scope's calls took of the frame, the next scope's have again.
#[test]
fn calls_in_scopes_of_their_own() {
    let call = "{ .param .b32 x; st.param.b32 [x], 1; call f, (x); }\n".repeat(10_000);
    let source =
        format!("{HEAD}.func f(.param .b32 a) {{ ret; }}\n.entry k() {{\n{call} ret; }}\n");
    assert_eq!(limit_of(&source), None);
    let apart: String = (0..10_000)
        .map(|at| format!(".param .b32 x{at};\n"))
        .collect();
    let source = format!("{HEAD}.entry k() {{\n{apart} ret; }}\n");
    assert_eq!(limit_of(&source), Some((65540, 65536)));
}

#[test]
fn local_and_global_memory() {
    let local = |bytes: u32| format!("{HEAD}.entry k() {{ .local .b8 own[{bytes}]; ret; }}\n");
    assert_eq!(limit_of(&local(65536)), None);
    assert_eq!(limit_of(&local(65537)), Some((65537, 65536)));
    let global = |bytes: u32| format!("{HEAD}.global .b8 all[{bytes}];\n");
    assert_eq!(limit_of(&global(1 << 24)), None);
    assert_eq!(
        limit_of(&global((1 << 24) + 1)),
        Some(((1 << 24) + 1, 1 << 24))
    );
}
