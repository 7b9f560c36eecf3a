//! Functions that the CUDA runtime supplies: printing, the heap, assertions.

#[path = "../semantics/harness.rs"]
#[allow(
    dead_code,
    reason = "shared with the tests of semantics, which use all of it"
)]
mod harness;

use soft_gpu::{FaultKind, Module, PtxErrorCause, Unsupported};

use crate::harness::Kernel;

const DECLARATIONS: &str = "
.extern .func (.param .b32 r) vprintf(.param .b64 format, .param .b64 arguments);
.extern .func (.param .b64 r) malloc(.param .b64 bytes);
.extern .func free(.param .b64 address);
.extern .func __assertfail(.param .b64 message, .param .b64 file, .param .b32 line, .param .b64 function, .param .b64 size) .noreturn;
";

/// A `.global` string.
fn string(name: &str, text: &str) -> String {
    let bytes: Vec<String> = text.bytes().map(|byte| byte.to_string()).collect();
    let separator = if text.is_empty() { "" } else { ", " };
    format!(
        ".global .align 1 .b8 {name}[{}] = {{{}{separator}0}};\n",
        text.len() + 1,
        bytes.join(", ")
    )
}

/// Prints `%u20`, a generic address of a format, with the arguments at generic address `%u21`; the result goes to `%r20`.
const PRINT: &str =
    "{ .param .b64 a; .param .b64 b; .param .b32 c; st.param.b64 [a], %u20; st.param.b64 [b], %u21;
call.uni (c), vprintf, (a, b); ld.param.b32 %r20, [c]; }\n";

/// The call that gives `%u10` a block of `bytes` bytes.
fn malloc(bytes: &str) -> String {
    format!(
        "{{ .param .b64 a; .param .b64 b; st.param.b64 [a], {bytes}; call (b), malloc, (a); ld.param.b64 %u10, [b]; }}\n"
    )
}

const FREE: &str = "{ .param .b64 a; st.param.b64 [a], %u10; call free, (a); }\n";

fn text(kernel: &mut Kernel) -> String {
    String::from_utf8(kernel.globals.take_output()).expect("text")
}

/// One value that is passed to `printf`: 4 bytes or 8.
#[derive(Clone, Copy, Debug)]
enum Value {
    Word(u32),
    Long(u64),
}

/// Statements that lay values out as a compiler does, and print `format` with them.
fn printing(values: &[Value]) -> String {
    let mut code = ".local .align 8 .b8 packed[256];\n".to_owned();
    let mut offset = 0usize;
    for value in values {
        match value {
            Value::Word(value) => {
                code.push_str(&format!("st.local.b32 [packed+{offset}], {value};\n"));
                offset += 4;
            }
            Value::Long(value) => {
                offset = offset.next_multiple_of(8);
                code.push_str(&format!("st.local.b64 [packed+{offset}], {value};\n"));
                offset += 8;
            }
        }
    }
    code.push_str("mov.b64 %u21, packed; cvta.local.u64 %u21, %u21; mov.b64 %u20, format; cvta.global.u64 %u20, %u20;\n");
    code + PRINT + "st.global.u32 [%data], %r20;"
}

/// Every line of `printf.tsv`, in which the third column is what the GNU C library prints (but for the last two lines, whose
/// formats C does not define).
#[test]
fn printf_prints_what_c_prints() {
    let mut wrong = Vec::new();
    for line in include_str!("printf.tsv").lines() {
        let [format, values, expected] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let values: Vec<Value> = values
            .split_whitespace()
            .map(|value| {
                let number = u64::from_str_radix(&value[1..], 16).expect("a number");
                if value.starts_with('w') {
                    Value::Word(number as u32)
                } else {
                    Value::Long(number)
                }
            })
            .collect();
        let before = DECLARATIONS.to_owned() + &string("format", format);
        let mut kernel = Kernel::new(&before, &printing(&values));
        let count = kernel.run(1)[0];
        let found = text(&mut kernel);
        if found != expected || count as usize != values.len() {
            wrong.push(format!("{line}\n  found {found:?}, {count} arguments"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn printf_prints_strings() {
    let before = DECLARATIONS.to_owned()
        + &string("format", "[%s] [%8s] [%-8s] [%.3s] [%5.1s] [%s]\n")
        + &string("word", "caf\u{e9}")
        + ".const .align 1 .b8 fixed[3] = {72, 105, 0};\n";
    let code = ".local .align 8 .b8 packed[64]; .local .align 1 .b8 own[4];
        st.local.u8 [own], 111; st.local.u8 [own+1], 107; st.local.u8 [own+2], 0;
        mov.b64 %u1, word; cvta.global.u64 %u1, %u1; mov.b64 %u2, fixed; cvta.const.u64 %u2, %u2; mov.b64 %u3, own; cvta.local.u64 %u3, %u3;
        st.local.b64 [packed], %u1; st.local.b64 [packed+8], %u2; st.local.b64 [packed+16], %u3; st.local.b64 [packed+24], %u1;
        st.local.b64 [packed+32], %u1; st.local.b64 [packed+40], 0;
        mov.b64 %u21, packed; cvta.local.u64 %u21, %u21; mov.b64 %u20, format; cvta.global.u64 %u20, %u20;\n";
    let mut kernel = Kernel::new(&before, &(code.to_owned() + PRINT));
    kernel.run(1);
    assert_eq!(
        text(&mut kernel),
        "[caf\u{e9}] [      Hi] [ok      ] [caf] [    c] [(null)]\n"
    );
}

/// Blocks in order, warps in order, lanes in order; what is taken is gone, what is not taken stays.
#[test]
fn printing_has_one_order() {
    let before = DECLARATIONS.to_owned() + &string("format", "%u.%u ");
    let code = ".local .align 8 .b8 packed[8]; mov.u32 %r1, %ctaid.x; st.local.b32 [packed], %r1; st.local.b32 [packed+4], %t;
        mov.b64 %u21, packed; cvta.local.u64 %u21, %u21; mov.b64 %u20, format; cvta.global.u64 %u20, %u20;
        and.b32 %r2, %t, 3; setp.ne.u32 %p1, %r2, 1; @%p1 bra PAST;\n";
    let mut kernel = Kernel::new(&before, &format!("{code}{PRINT}PAST:")).block(40);
    kernel.config.grid = [2, 1, 1];
    kernel.run(1);
    kernel.run(1);
    let once: String = (0..2)
        .flat_map(|block| (0..10).map(move |at| format!("{block}.{} ", 4 * at + 1)))
        .collect();
    assert_eq!(kernel.globals.output(), format!("{once}{once}").as_bytes());
    assert_eq!(text(&mut kernel), once.repeat(2));
    assert_eq!(kernel.globals.output(), b"");
}

/// Endless printing ends at the watchdog, and keeps no more than the limit.
#[test]
fn printing_is_bounded() {
    let before =
        DECLARATIONS.to_owned() + &string("format", "%4000d%4000d%4000d%999999999d%.999999999d\n");
    let code = printing(&[Value::Word(1); 5]).replace(PRINT, &format!("LOOP: {PRINT} bra LOOP;\n"));
    let mut kernel = Kernel::new(&before, &code);
    let fault = kernel.fault(4);
    assert_eq!(fault.kind, FaultKind::BudgetExhausted(1 << 26));
    assert_eq!(&*fault.instruction, "call.uni (c), vprintf, (a, b)");
    assert_eq!(kernel.globals.output().len(), 1 << 20);
    assert_eq!(
        kernel.globals.output()[..4001],
        *format!("{:>4000} ", 1).as_bytes()
    );
}

#[test]
fn malloc_gives_blocks_that_do_not_overlap() {
    let code = malloc("40")
        + "mad.wide.u32 %u1, %t, 8, %data; st.global.u64 [%u1], %u10; mov.u32 %r1, 0;
           LOOP: cvt.u64.u32 %u2, %r1; add.u64 %u2, %u2, %u10; st.u8 [%u2], %t; add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 40; @%p1 bra LOOP;
           bar.sync 0; ld.u64 %u3, [%u10+32]; ld.u8 %r2, [%u10]; cvt.u64.u32 %u4, %r2; mul.lo.u64 %u4, %u4, 0x0101010101010101;
           setp.ne.u64 %p2, %u3, %u4; @%p2 trap;\n"
        + FREE;
    let mut kernel = Kernel::new(DECLARATIONS, &code).block(100);
    let words = kernel.run(200);
    let mut addresses: Vec<u64> = words
        .chunks(2)
        .map(|pair| u64::from(pair[0]) | u64::from(pair[1]) << 32)
        .collect();
    assert!(
        addresses
            .iter()
            .all(|address| address % 16 == 0 && *address != 0)
    );
    addresses.sort_unstable();
    assert!(addresses.windows(2).all(|pair| pair[1] - pair[0] >= 40));
}

/// The heap has an end, `malloc` says so with a null pointer, and what one launch leaves the next one finds.
#[test]
fn the_heap_is_bounded_and_outlasts_a_launch() {
    let code = malloc("1000")
        + "st.global.u64 [%data], %u10; setp.eq.u64 %p1, %u10, 0; @%p1 exit; st.u32 [%u10], 77;";
    let mut kernel = Kernel::new(DECLARATIONS, &code);
    kernel.config.heap_bytes = 2200;
    let [one, _] = kernel.run(2)[..] else {
        panic!()
    };
    let two = kernel.run(2);
    assert_ne!(two[0], one);
    assert_eq!(kernel.run(2), [0, 0], "no room for a third");
    kernel.config.heap_bytes = 4096;
    assert_ne!(kernel.run(2), [0, 0], "a larger heap has room again");
    // Another launch reads the first one's block.
    let reading = Kernel::new(
        DECLARATIONS,
        "ld.global.u64 %u1, [%data]; ld.u32 %r1, [%u1]; st.global.u32 [%data], %r1;",
    );
    let mut reading = Kernel {
        globals: kernel.globals.clone(),
        ..reading
    };
    assert_eq!(reading.run_on(&[one, two[1]])[0], 77);
}

/// Declared and not called, they need nothing; with other parameters they are none of the runtime's.
#[test]
fn declarations_of_the_runtime() {
    Kernel::new(DECLARATIONS, "");
    let own = ".visible .func (.param .b32 r) vprintf(.param .b32 x) { .reg .b32 %x; ld.param.b32 %x, [x]; st.param.b32 [r], %x; }";
    let call = "{ .param .b32 a; .param .b32 b; st.param.b32 [a], 5; call (b), vprintf, (a); ld.param.b32 %r1, [b]; } st.global.u32 [%data], %r1;";
    assert_eq!(
        Kernel::new(own, call).run(1),
        [5],
        "a function of that name"
    );
    let source = ".version 8.0 .target sm_90 .address_size 64
        .extern .func (.param .b32 r) vprintf(.param .b32 x);
        .entry k() { .param .b32 a; .param .b32 b; st.param.b32 [a], 5; call (b), vprintf, (a); }";
    let error = Module::load(source.as_bytes()).expect_err("other parameters");
    assert!(matches!(
        error.cause,
        PtxErrorCause::Unsupported(Unsupported::Declaration(_))
    ));
}

/// By address, as any function.
#[test]
fn the_runtime_is_called_by_address() {
    let code = "P: .callprototype (.param .b64 _) _ (.param .b64 _);
        mov.b64 %u1, malloc; { .param .b64 a; .param .b64 b; st.param.b64 [a], 8; call (b), %u1, (a), P; ld.param.b64 %u10, [b]; }
        st.u32 [%u10+4], 5; ld.u32 %r1, [%u10+4]; st.global.u32 [%data], %r1;";
    assert_eq!(Kernel::new(DECLARATIONS, code).run(1), [5]);
}
