//! Tables of sources and what the tree says of them; bounds on its depth and size.

mod broken;
mod render;

use proptest::prelude::*;

use self::render::{Render, names};
use super::{SyntaxError, parse};
use crate::ast::{Stmt, Variable};
use crate::error::PtxErrorCause;

const HEAD: &str = ".version 8.0\n.target sm_90\n";

fn in_body(body: &str) -> String {
    format!("{HEAD}.entry k(.param .u64 a)\n{{\n{body}\n}}\n")
}

/// Statements of one body in canonical form, one a line.
#[track_caller]
fn stmts(body: &str) -> String {
    let source = in_body(body);
    let module = parse(source.as_bytes()).unwrap_or_else(|error| panic!("{body}: {error}"));
    module
        .stmts
        .iter()
        .map(|stmt| Render(&module).stmt(stmt))
        .collect::<Vec<_>>()
        .join("\n")
}

#[track_caller]
fn items(items: &str) -> String {
    let source = format!("{HEAD}{items}");
    let module = parse(source.as_bytes()).unwrap_or_else(|error| panic!("{items}: {error}"));
    module
        .items
        .iter()
        .map(|item| Render(&module).item(item))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn statements_are_read() {
    let cases: &[(&str, &str)] = &[
        ("", ""),
        ("ret;", "ret"),
        ("add .s32 %r1,%r2,-3;", "add.s32 %r1 %r2 -3"),
        ("@%p1 bra.uni L;", "@%p1 bra.uni L"),
        ("@ ! p exit;", "@!p exit"),
        ("L: M : ret; $L__tmp0:", "L:\nM:\nret\n$L__tmp0:"),
        (
            "ld.global.b32 { %r1 }, [ %rd1 + 0 ];",
            "ld.global.b32 {%r1} [%rd1+0]",
        ),
        ("ld.v2.f32 {a,_}, [b+-4];", "ld.v2.f32 {a _} [b+-4]"),
        ("ld.local.u8 %r1, [16];", "ld.local.u8 %r1 [+16]"),
        ("ld.u8 %r1, [x+4*2+1];", "ld.u8 %r1 [x+9]"),
        ("ld.u8 %r1, [x+0xffffffffffffffff];", "ld.u8 %r1 [x+-1]"),
        (
            "shfl.sync.up.b32 %r1|%p1, %r2, _, 31, -1;",
            "shfl.sync.up.b32 %r1|%p1 %r2 _ 31 -1",
        ),
        (
            "setp.eq.and.s32 _ | %p2, a, b, ! %p3;",
            "setp.eq.and.s32 _|%p2 a b !%p3",
        ),
        ("mov.b64 %rd1, {%r1, 5};", "mov.b64 %rd1 {%r1 5}"),
        (
            "mov.u32 %r1, %tid.x; mov.u32 v.y, %ctaid .z;",
            "mov.u32 %r1 %tid.x\nmov.u32 v.y %ctaid.z",
        ),
        (
            "mov.u64 %rd1, tab+16; mov.pred %p1,-1;",
            "mov.u64 %rd1 tab+16\nmov.pred %p1 -1",
        ),
        (
            "mov.f32 f, 0f3F800000; mov.f64 d, 0d3FF0000000000000;",
            "mov.f32 f 0f3F800000\nmov.f64 d 1.0",
        ),
        (
            "mov.f32 f, -1.5e3; mov.f32 f, (0f3F800000);",
            "mov.f32 f -1500.0\nmov.f32 f 0f3F800000",
        ),
        (
            "cvta.to.shared::cta.u64 a, b;",
            "cvta.to.shared::cta.u64 a b",
        ),
        ("call.uni (r), f, (a, b+4, 3);", "call.uni (r) f (a b+4 3)"),
        (
            "call f; call f, (); call (r), %rd1, (a), P;",
            "call f\ncall f ()\ncall (r) %rd1 (a) P",
        ),
        (
            "P : .callprototype (.param .b32 _) _ (.param .align 8 .b8 _[16]);",
            "P: proto (b8 _[16] align 8) -> (b32 _)",
        ),
        ("P: .callprototype _ () .noreturn;", "P: proto () -> ()"),
        (
            "T: .branchtargets A, B; F: .calltargets f, g;",
            "T: branch A,B\nF: call f,g",
        ),
        ("{ .reg .b32 t; { } ret; }", "{\nReg b32 t\nret\n}"),
        ("{{}}{}", ""),
        (
            ".reg .pred %p<7>; .reg .b32 a, b<4>, c;",
            "Reg pred %p<7>\nReg b32 a\nReg b32 b<4>\nReg b32 c",
        ),
        (
            ".shared .align 4 .b8 s[1024]; .local .v4 .f32 l[2][0x3];",
            "Shared b8 s[1024] align 4\nLocal f32x4 l[2][3]",
        ),
        (
            ".param .b32 param0; .const .f32 c = 1.5;",
            "Param b32 param0\nConst f32 c []=1.5",
        ),
        (
            ".loc 1 5 0 .loc 1 2 3, function_name $L0, inlined_at 1 2 3 ret; .pragma \"nounroll\";",
            "ret",
        ),
        (
            ".loc 1 2 3, function_name .debug_str+16, inlined_at 1 2 3\n# 7 \"x.cu\"\nret;",
            "ret",
        ),
    ];
    for (body, expected) in cases {
        assert_eq!(stmts(body), *expected, "{body}");
    }
}

#[test]
fn constants_follow_c() {
    let cases: &[(&str, &str)] = &[
        ("0x1FU", "31"),
        ("017", "15"),
        ("0b101", "5"),
        ("18446744073709551615", "18446744073709551615"),
        ("9223372036854775808", "9223372036854775808"),
        ("-9223372036854775808", "9223372036854775808"),
        ("-1", "-1"),
        ("-1U", "18446744073709551615"),
        ("1 + 2*3", "7"),
        ("(1 + 2)*3", "9"),
        ("10 - 4 - 3", "3"),
        ("7 / 2 * 2", "6"),
        ("-7 / 2", "-3"),
        ("-7 % 3", "-1"),
        ("-7 / 2U", "9223372036854775804"),
        ("1 << 2 + 3", "32"),
        ("-8 >> 1", "-4"),
        ("-8U >> 1", "9223372036854775804"),
        ("1 << 64", "0"),
        ("-1 >> 99", "-1"),
        ("5 & 3 | 1 ^ 2", "3"),
        ("1 | 2 == 2", "1"),
        ("5 && 3 || 0", "1"),
        ("1 < 2", "1"),
        ("-1 < 0U", "0"),
        ("!0 + !7", "1"),
        ("~1", "18446744073709551614"),
        ("- -1", "1"),
        ("(.s64)~0", "-1"),
        ("(.u64)-1", "18446744073709551615"),
        ("1 ? 2 : 3", "2"),
        ("0 ? 2 : 0 ? 3 : 4", "4"),
        ("WARP_SZ*2", "64"),
        ("9223372036854775807 + 1", "-9223372036854775808"),
        ("1.5+2.0", "3.5"),
        ("1.0 < 2.0", "1"),
    ];
    for (expression, expected) in cases {
        assert_eq!(
            stmts(&format!("x {expression};")),
            format!("x {expected}"),
            "{expression}"
        );
    }
}

#[test]
fn items_are_read() {
    let cases: &[(&str, &str)] = &[
        ("", ""),
        (".address_size 64", ""),
        (".entry q { ret; }", "Internal entry q () -> () 1"),
        (
            ".visible .entry q() .maxntid 128, 1, 1 .minnctapersm 2 { }",
            "Visible entry q () -> () maxntid[128, 1, 1] minnctapersm[2] 0",
        ),
        (
            ".entry q() .pragma \"nounroll\"; { ret; }",
            "Internal entry q () -> () 1",
        ),
        (
            ".func () q() .noreturn { ret; }",
            "Internal func q () -> () noreturn[] 1",
        ),
        (".extern .func q;", "Extern func q () -> ();"),
        (
            ".weak .func (.reg .b32 %r) q(.reg .b32 a, .param .b64 b, .param .b8 c[])\n;",
            "Weak func q (reg b32 a, b64 b, b8 c[]) -> (reg b32 %r);",
        ),
        (
            ".entry q(.param .align 4 .b8 a[16], .param .b8 .align 8 b[4]){}",
            "Internal entry q (b8 a[16] align 4, b8 b[4] align 8) -> () 0",
        ),
        (
            ".entry q(.param .u64 .ptr .global .align 4 a, .param .u64 .ptr b, .param .u64 .ptr .align 4 c){}",
            "Internal entry q (u64* a, u64* b, u64* c) -> () 0",
        ),
        (
            ".global .b32 a,b,c = 3;",
            "Internal Global b32 a\nInternal Global b32 b\nInternal Global b32 c []=3",
        ),
        (
            ".extern .shared .align 16 .b8 a[];",
            "Extern Shared b8 a[] align 16",
        ),
        (
            ".visible .const .align 4 .f32 c[2] = {1.5, 0f3F800000};",
            "Visible Const f32 c[2] align 4 [0]=1.5 [1]=0f3F800000",
        ),
        (
            ".global .attribute(.managed, .unified(1,2)) .v2 .b32 a;",
            "Internal Global b32x2 a",
        ),
        (
            ".global .b32 a[2][2] = {{1,2},{3}};",
            "Internal Global b32 a[2][2] [0, 0]=1 [0, 1]=2 [1, 0]=3",
        ),
        (
            ".global .b32 a[2][2] = {{},{3}};",
            "Internal Global b32 a[2][2] [1, 0]=3",
        ),
        (".global .b32 a[4] = {};", "Internal Global b32 a[4]"),
        (
            ".global .u64 p[] = {f, g+8, generic(h)+-8};",
            "Internal Global u64 p[] [0]=f+0 [1]=g+8 [2]=generic h+-8",
        ),
        (
            ".global .u8 p[] = {0xff(a), 0xFF00(generic(b))};",
            "Internal Global u8 p[] [0]=0xff:a+0 [1]=0xff00:generic b+0",
        ),
        (".alias a, b;", "alias a b"),
        (
            ".file 1 \"x.py\" .file 2 \"y\", 5, 6 .pragma \"a\", \"b\";",
            "",
        ),
        (
            ".section .debug_abbrev\n{\n.b8 1,255\n.b8 -128\n.b16 65535\nL:\n.b32 .debug_abbrev\n.b64 $L__func_begin0\n.b32 L+4\n.b32 M-L\n}\n.entry q{}",
            "Internal entry q () -> () 0",
        ),
    ];
    for (source, expected) in cases {
        assert_eq!(items(source), *expected, "{source}");
    }
}

#[test]
fn headers_are_read() {
    let module = parse(b"// c\n.version 7.12 .target sm_90a, debug .address_size 32")
        .expect("a good header");
    assert_eq!(module.version, (7, 12));
    assert_eq!(module.version_pos, 5);
    assert_eq!(names(&module.target), "sm_90a,debug");
    assert_eq!(module.address_size.map(|(bits, _)| bits), Some(32));
}

#[test]
fn line_ends_of_all_kinds_give_the_same_tree_and_lines() {
    let source = in_body(".reg .b32 a;\nmov.b32 a, 1;\nret;\n");
    let rendered = |source: &str| {
        let module = parse(source.as_bytes()).expect("a good source");
        module
            .stmts
            .iter()
            .map(|stmt| Render(&module).stmt(stmt))
            .collect::<Vec<_>>()
    };
    for end in ["\r\n", "\r", "\n\n"] {
        assert_eq!(
            rendered(&source),
            rendered(&source.replace('\n', end)),
            "{end:?}"
        );
    }
    for (end, line) in [("\n", 6), ("\r\n", 6), ("\r", 6), ("\n\n", 11)] {
        let broken = in_body("mov.b32 a, 1;\n ?").replace('\n', end);
        let at = parse(broken.as_bytes())
            .expect_err("`?` is no statement")
            .at;
        assert_eq!((at.line, at.column), (line, 2), "{end:?}");
    }
}

#[test]
fn nesting_is_bounded_and_not_by_the_stack() {
    let deep = |open: &str, middle: &str, close: &str, levels: usize| {
        format!("{}{middle}{}", open.repeat(levels), close.repeat(levels))
    };
    let refused = |source: String| match parse(source.as_bytes()) {
        Err(error) => matches!(
            error.cause,
            PtxErrorCause::Syntax(SyntaxError::TooDeep { .. })
        ),
        Ok(_) => false,
    };
    let cases = [
        ("(", "1", ")", 64),
        ("-", "1", "", 64),
        ("!", "1", "", 64),
        ("1?", "1", ":1", 64),
    ];
    for (open, middle, close, limit) in cases {
        let expression = |levels| in_body(&format!("x {};", deep(open, middle, close, levels)));
        assert!(
            parse(expression(limit).as_bytes()).is_ok(),
            "{limit} levels of {open}"
        );
        assert!(refused(expression(limit + 1)), "one more level of {open}");
        assert!(refused(expression(100_000)), "very many levels of {open}");
    }
    let scopes = |levels| in_body(&deep("{", "ret;", "}", levels));
    assert!(parse(scopes(1024).as_bytes()).is_ok());
    assert!(refused(scopes(1025)));
    let braces = |levels| format!("{HEAD}.global .b32 a = {};", deep("{", "1", "}", levels));
    assert!(parse(braces(16).as_bytes()).is_ok());
    assert!(refused(braces(17)));
}

#[test]
fn the_tree_stays_proportional_to_the_source() {
    let repeated = |unit: &str| in_body(&unit.repeat(20_000));
    for unit in [
        "{}",
        "{a;}",
        "a;",
        "a:",
        "a 1,1,1,1,1,1,1,1,1;",
        ".reg .b32 a,b,c,d;",
        "a{1,1,1,1,1,1,1,1};",
    ] {
        let source = repeated(unit);
        let module = parse(source.as_bytes()).expect(unit);
        let variables = module
            .stmts
            .iter()
            .filter(|stmt| matches!(stmt, Stmt::Variable(_)));
        let bytes = size_of_val(&module.stmts[..])
            + size_of_val(&module.instrs[..])
            + size_of_val(&module.labels[..])
            + size_of_val(&module.operands[..])
            + size_of_val(&module.modifiers[..])
            + variables.count() * size_of::<Variable<'_>>();
        assert!(
            bytes <= 64 * source.len(),
            "{unit}: {bytes} bytes of tree for {} of source",
            source.len()
        );
    }
}

proptest! {
    #[test]
    fn any_bytes_are_parsed_or_refused_inside_the_source(mut bytes in prop::collection::vec(any::<u8>(), 0..200), head: bool) {
        if head {
            bytes.splice(0..0, HEAD.bytes());
        }
        if let Err(error) = parse(&bytes) {
            prop_assert!(error.at.line as usize <= bytes.len() + 1 && error.at.column as usize <= bytes.len() + 1);
        }
    }

    #[test]
    fn any_tokens_are_parsed_or_refused(tokens in prop::collection::vec(token(), 0..120), body: bool) {
        let text = tokens.join(" ");
        let source = if body { in_body(&text) } else { format!("{HEAD}{text}") };
        if let Ok(module) = parse(source.as_bytes()) {
            // What was taken must render: every range points into its pool.
            for stmt in &module.stmts {
                prop_assert!(!Render(&module).stmt(stmt).is_empty());
            }
        }
    }
}

fn token() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "add",
        "%r1",
        "L",
        "a:",
        "_",
        ".b32",
        ".reg",
        ".param",
        ".global",
        ".entry",
        ".func",
        ".visible",
        ".align",
        ".loc",
        ".pragma",
        ".section",
        ".v2",
        ".ptr",
        ".callprototype",
        ".branchtargets",
        "call",
        "generic",
        "@",
        "!",
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        "<",
        ">",
        ",",
        ";",
        ":",
        "+",
        "-",
        "*",
        "/",
        "%",
        "|",
        "=",
        "?",
        "0",
        "1",
        "7U",
        "0x10",
        "1.5",
        "0f3F800000",
        "\"s\"",
        "WARP_SZ",
        "018",
        "ret;",
        "x",
        ".file",
    ])
}
