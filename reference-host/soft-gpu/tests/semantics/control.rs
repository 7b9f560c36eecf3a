//! Divergence, loops, calls and recursion against what each thread would do alone.

use crate::harness::{Kernel, Random};

#[test]
fn loops_of_different_lengths() {
    let mut kernel = Kernel::new(
        "",
        "mov.u32 %r1, 0; mov.u32 %r2, 0;\nLOOP: setp.ge.u32 %p1, %r1, %t; @%p1 bra OUT;\n\
         and.b32 %r3, %r1, 1; setp.eq.u32 %p2, %r3, 0; @%p2 bra EVEN; add.u32 %r2, %r2, 3; bra NEXT;\n\
         EVEN: add.u32 %r2, %r2, %r1;\nNEXT: add.u32 %r1, %r1, 1; bra LOOP;\nOUT: st.global.u32 [%mine], %r2;",
    )
    .block(77);
    let expected: Vec<u32> = (0..77)
        .map(|t| (0..t).map(|i| if i % 2 == 0 { i } else { 3 }).sum())
        .collect();
    assert_eq!(kernel.run(77), expected);
}

/// Random control flow, reducible or not: blocks that mix the thread's state and jump on its bits, until a budget of steps is used up.
#[test]
fn random_flow_graphs() {
    for seed in 0..60 {
        let mut random = Random(seed);
        let blocks = 3 + random.next() as usize % 6;
        // Each block: multiplier, addend, bit to test, where to go if it is set and if not.
        let graph: Vec<[u32; 5]> = (0..blocks)
            .map(|_| {
                let mut place = || random.next() as u32 % (blocks as u32 + 1);
                let (taken, other) = (place(), place());
                [
                    random.next() as u32 | 1,
                    random.next() as u32,
                    random.next() as u32 % 32,
                    taken,
                    other,
                ]
            })
            .collect();
        let mut code = "mul.lo.u32 %r1, %t, 0x9E3779B9; mov.u32 %r2, 0;\n".to_owned();
        for (at, [factor, addend, bit, taken, other]) in graph.iter().enumerate() {
            code.push_str(&format!(
                "B{at}: mad.lo.u32 %r1, %r1, {factor}, {addend}; add.u32 %r2, %r2, 1;\n\
                 setp.ge.u32 %p2, %r2, 200; @%p2 bra B{blocks};\n\
                 shr.u32 %r3, %r1, {bit}; and.b32 %r3, %r3, 1; setp.ne.u32 %p1, %r3, 0;\n\
                 @%p1 bra B{taken}; bra B{other};\n"
            ));
        }
        code.push_str(&format!(
            "B{blocks}: xor.b32 %r1, %r1, %r2; st.global.u32 [%mine], %r1;"
        ));
        let expected: Vec<u32> = (0..96u32)
            .map(|t| {
                let (mut state, mut steps, mut at) = (t.wrapping_mul(0x9E37_79B9), 0, 0);
                while at < blocks {
                    let [factor, addend, bit, taken, other] = graph[at];
                    state = state.wrapping_mul(factor).wrapping_add(addend);
                    steps += 1;
                    at = if steps >= 200 {
                        blocks
                    } else if state >> bit & 1 == 1 {
                        taken as usize
                    } else {
                        other as usize
                    };
                }
                state ^ steps
            })
            .collect();
        assert_eq!(
            Kernel::new("", &code).block(96).run(96),
            expected,
            "seed {seed}\n{code}"
        );
    }
}

/// `f(n) = n < 2 ? n : f(n - 1) + f(n - 2)`, and a function that calls it.
const FUNCTIONS: &str = "
.func (.param .b32 out) twice(.param .b32 n);
.func (.param .b32 out) fib(.param .b32 n)
{
    .reg .pred %p; .reg .b32 %n, %a, %b;
    ld.param.u32 %n, [n];
    setp.ge.u32 %p, %n, 2; @%p bra MORE;
    st.param.u32 [out], %n; ret;
MORE:
    sub.u32 %a, %n, 1;
    { .param .b32 x; .param .b32 y; st.param.u32 [x], %a; call (y), fib, (x); ld.param.u32 %b, [y]; }
    sub.u32 %a, %a, 1;
    { .param .b32 x; .param .b32 y; st.param.u32 [x], %a; call (y), fib, (x); ld.param.u32 %a, [y]; }
    add.u32 %a, %a, %b;
    st.param.u32 [out], %a;
    ret;
}
.func (.param .b32 out) twice(.param .b32 n)
{
    .reg .b32 %n; .reg .b64 %l; .local .align 8 .b8 own[16];
    ld.param.u32 %n, [n]; st.local.u32 [own+4], %n;
    { .param .b32 x; .param .b32 y; st.param.u32 [x], %n; call (y), fib, (x); ld.param.u32 %n, [y]; st.local.u32 [own+8], %n; }
    ld.local.u32 %n, [own+8]; add.u32 %n, %n, %n; st.param.u32 [out], %n;
    ret;
}
.func (.reg .b32 out) triple(.reg .b32 n)
{
    mul.lo.u32 out, n, 3;
    ret;
}
.func scatter(.param .align 8 .b8 record[16], .param .b64 to)
{
    .reg .b32 %a, %b; .reg .b64 %c, %to;
    ld.param.u32 %a, [record]; ld.param.u8 %b, [record+4]; ld.param.u64 %c, [record+8]; ld.param.u64 %to, [to];
    add.u32 %a, %a, %b; cvt.u32.u64 %b, %c; add.u32 %a, %a, %b; st.global.u32 [%to], %a;
}
";

fn fib(n: u32) -> u32 {
    if n < 2 { n } else { fib(n - 1) + fib(n - 2) }
}

#[test]
fn recursion_under_divergence() {
    let mut kernel = Kernel::new(
        FUNCTIONS,
        "and.b32 %r1, %t, 7; setp.eq.u32 %p1, %r1, 3; @%p1 bra DIRECT;\n\
         { .param .b32 x; .param .b32 y; st.param.u32 [x], %r1; call (y), twice, (x); ld.param.u32 %r2, [y]; } bra STORE;\n\
         DIRECT: rem.u32 %r1, %t, 11; { .param .b32 x; .param .b32 y; st.param.u32 [x], %r1; call (y), fib, (x); ld.param.u32 %r2, [y]; }\n\
         STORE: st.global.u32 [%mine], %r2;",
    )
    .block(70);
    let expected: Vec<u32> = (0..70)
        .map(|t| {
            if t & 7 == 3 {
                fib(t % 11)
            } else {
                2 * fib(t & 7)
            }
        })
        .collect();
    assert_eq!(kernel.run(70), expected);
}

#[test]
fn guarded_calls_and_register_parameters() {
    let mut kernel = Kernel::new(
        FUNCTIONS,
        "mov.u32 %r2, 5; and.b32 %r1, %t, 1; setp.eq.u32 %p1, %r1, 1; @%p1 call (%r2), triple, (%t);\n\
         st.global.u32 [%mine], %r2;",
    )
    .block(40);
    let expected: Vec<u32> = (0..40)
        .map(|t| if t % 2 == 1 { 3 * t } else { 5 })
        .collect();
    assert_eq!(kernel.run(40), expected);
}

#[test]
fn structures_pass_by_value() {
    let mut kernel = Kernel::new(
        FUNCTIONS,
        "{ .param .align 8 .b8 s[16]; .param .b64 p; st.param.u32 [s], %t; st.param.u8 [s+4], 0x102; st.param.u64 [s+8], 1000; \
         st.param.u64 [p], %mine; call scatter, (s, p); }",
    )
    .block(33);
    let expected: Vec<u32> = (0..33).map(|t| t + 2 + 1000).collect();
    assert_eq!(kernel.run(33), expected);
}

#[test]
fn lanes_call_different_functions_by_address() {
    const MORE: &str = "
.func (.param .b32 out) plus(.param .b32 n)
{ .reg .b32 %n; ld.param.u32 %n, [n]; add.u32 %n, %n, 100; st.param.u32 [out], %n; }
.func (.param .b32 out) times(.param .b32 n)
{ .reg .b32 %n; ld.param.u32 %n, [n]; mul.lo.u32 %n, %n, 7; st.param.u32 [out], %n; ret; }
.global .u64 table[2] = {plus, times};
";
    for list in [
        "P: .callprototype (.param .b32 _) _ (.param .b32 _);",
        "P: .calltargets plus, times;",
    ] {
        let mut kernel = Kernel::new(
            MORE,
            &format!(
                "{list}\nand.b32 %r1, %t, 1; mul.wide.u32 %u1, %r1, 8; mov.u64 %u2, table; add.u64 %u1, %u1, %u2; ld.global.u64 %u3, [%u1];\n\
                 {{ .param .b32 x; .param .b32 y; st.param.u32 [x], %t; call (y), %u3, (x), P; ld.param.u32 %r2, [y]; }}\n\
                 activemask.b32 %r3; popc.b32 %r3, %r3; add.u32 %r2, %r2, %r3; st.global.u32 [%mine], %r2;"
            ),
        )
        .block(32);
        // Behind the call the lanes are together again.
        let expected: Vec<u32> = (0..32)
            .map(|t| 32 + if t % 2 == 0 { t + 100 } else { t * 7 })
            .collect();
        assert_eq!(kernel.run(32), expected, "{list}");
    }
}

#[test]
fn indexed_branches() {
    let mut kernel = Kernel::new(
        "",
        "T: .branchtargets A, B, C, A;\nand.b32 %r1, %t, 3; mov.u32 %r2, 0; brx.idx %r1, T;\n\
         A: add.u32 %r2, %r2, 1; bra OUT;\nB: add.u32 %r2, %r2, 20;\nC: add.u32 %r2, %r2, 300;\nOUT: st.global.u32 [%mine], %r2;",
    )
    .block(32);
    let expected: Vec<u32> = (0..32).map(|t| [1, 320, 300, 1][t as usize & 3]).collect();
    assert_eq!(kernel.run(32), expected);
}

#[test]
fn exits_and_returns_under_divergence() {
    let mut kernel = Kernel::new(
        ".func leave(.param .b32 n) { .reg .pred %p; .reg .b32 %n; ld.param.u32 %n, [n]; setp.lt.u32 %p, %n, 10; @%p exit; \
         setp.lt.u32 %p, %n, 20; @%p ret; exit; }\n",
        "st.global.u32 [%mine], 1; { .param .b32 x; st.param.u32 [x], %t; call leave, (x); } st.global.u32 [%mine], 2;",
    )
    .block(32);
    let expected: Vec<u32> = (0..32)
        .map(|t| if (10..20).contains(&t) { 2 } else { 1 })
        .collect();
    assert_eq!(kernel.run(32), expected);
}

/// Code reconverges behind every construct: what follows runs with all lanes at once.
#[test]
fn structured_code_reconverges() {
    let mut kernel = Kernel::new(
        "",
        "setp.lt.u32 %p1, %t, 9; @%p1 bra THEN; setp.lt.u32 %p2, %t, 20; @%p2 bra INNER; mov.u32 %r1, 3; bra JOIN;\n\
         INNER: mov.u32 %r1, 2;\nJOIN: activemask.b32 %r2; bra END;\nTHEN: mov.u32 %r1, 1; activemask.b32 %r2;\n\
         END: activemask.b32 %r3; and.b32 %r4, %r2, %r3; st.global.u32 [%mine], %r4; st.global.u32 [%mine+128], %r3;",
    )
    .block(32);
    let found = kernel.run(64);
    let expected: Vec<u32> = (0..32)
        .map(|t| if t < 9 { 0x1FF } else { !0x1FF })
        .collect();
    assert_eq!(found[..32], expected);
    assert_eq!(found[32..], [u32::MAX; 32]);
}

#[test]
fn a_huge_register_declaration_costs_nothing() {
    let mut kernel = Kernel::new(
        "",
        ".reg .b32 %many<1000000>; .reg .b64 %wide<4000000000>;\n\
         mov.u32 %many999999, 4; cvt.u64.u32 %wide3999999999, %many999999; cvt.u32.u64 %r1, %wide3999999999; st.global.u32 [%data], %r1;",
    );
    assert_eq!(kernel.run(1), [4]);
}

/// A scope's memory is its own while it lasts, and its parent's is untouched by it.
#[test]
fn memory_of_nested_scopes() {
    let mut kernel = Kernel::new(
        "",
        ".local .u32 outer; st.local.u32 [outer], 1;\n\
         { .local .u32 a; st.local.u32 [a], 20; { .local .u32 b; st.local.u32 [b], 300; ld.local.u32 %r1, [b]; }\n\
           ld.local.u32 %r2, [a]; add.u32 %r1, %r1, %r2; }\n\
         { .local .u32 c; st.local.u32 [c], 4000; ld.local.u32 %r2, [c]; add.u32 %r1, %r1, %r2; }\n\
         ld.local.u32 %r2, [outer]; add.u32 %r1, %r1, %r2; st.global.u32 [%data], %r1;",
    );
    assert_eq!(kernel.run(1), [4321]);
}

#[test]
fn deeply_nested_scopes_keep_their_names_apart() {
    let mut code = "mov.u32 %r1, 0;".to_owned();
    for depth in 0..500 {
        code.push_str(&format!(
            "{{ .reg .b32 x; mov.u32 x, {depth}; add.u32 %r1, %r1, x;\n"
        ));
    }
    code.push_str(&"add.u32 %r1, %r1, x; }".repeat(500));
    code.push_str("st.global.u32 [%data], %r1;");
    assert_eq!(Kernel::new("", &code).run(1), [2 * (499 * 500 / 2)]);
}
