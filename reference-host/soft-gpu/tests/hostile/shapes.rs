//! Sources that are as bad as their length allows, each of about any length.

/// A family of sources: `make(n)` is about `n` bytes long.
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    pub(crate) make: fn(usize) -> String,
}

const HEAD: &str = ".version 8.4\n.target sm_90\n.address_size 64\n";

fn body(text: &str) -> String {
    format!("{HEAD}.entry k()\n{{\n{text}\nret;\n}}\n")
}

fn items(text: &str) -> String {
    format!("{HEAD}{text}\n")
}

/// `unit(0) + unit(1) + …`, up to about `bytes`.
fn many(bytes: usize, unit: impl Fn(usize) -> String) -> String {
    let mut text = String::with_capacity(bytes + 64);
    let mut at = 0;
    while text.len() < bytes {
        text.push_str(&unit(at));
        at += 1;
    }
    text
}

/// The same with `separator` between.
fn list(bytes: usize, separator: &str, unit: impl Fn(usize) -> String) -> String {
    let mut text = many(bytes, |at| unit(at) + separator);
    text.truncate(text.len() - separator.len());
    text
}

fn repeat(unit: &str, bytes: usize) -> String {
    unit.repeat(bytes / unit.len() + 1)
}

/// A short name that no other number has: letters and digits in base 36 behind a letter.
fn name(mut at: usize) -> String {
    let mut name = String::from("a");
    loop {
        let digit = u32::try_from(at % 36).unwrap_or(0);
        name.push(char::from_digit(digit, 36).unwrap_or('0'));
        at /= 36;
        if at == 0 {
            return name;
        }
    }
}

macro_rules! shapes {
    ($($name:literal => |$n:ident| $make:expr,)*) => {
        &[$(Shape { name: $name, make: |$n| $make }),*]
    };
}

/// All of them.
pub(crate) const SHAPES: &[Shape] = shapes![
    "nothing but blanks" => |n| items(&repeat(" ", n)),
    "nothing but line ends" => |n| items(&repeat("\r\n", n)),
    "one long line comment" => |n| items(&format!("//{}", repeat("x", n))),
    "short line comments" => |n| items(&repeat("//\n", n)),
    "one long block comment" => |n| items(&format!("/*{}*/", repeat("*", n))),
    "short block comments" => |n| items(&repeat("/**/", n)),
    "an unterminated comment" => |n| items(&format!("/*{}", repeat("*", n))),
    "line markers" => |n| items(&repeat("#1\"\"\n", n)),
    "almost line markers" => |n| items(&format!("#1\"{}", repeat("x", n))),
    "open braces" => |n| body(&repeat("{", n)),
    "close braces" => |n| body(&repeat("}", n)),
    "empty scopes" => |n| body(&repeat("{}", n)),
    "scopes" => |n| body(&repeat("{ret;}", n)),
    "nested scopes" => |n| body(&repeat(&("{.reg .b32 a;".repeat(1000) + &"}".repeat(1000)), n)),
    "open parentheses" => |n| body(&format!("mov.u32 a, {}", repeat("(", n))),
    "minuses" => |n| body(&format!("mov.u32 a, {}1;", repeat("-", n))),
    "conditions" => |n| body(&format!("mov.u32 a, {}1;", repeat("1?1:", n))),
    "nested conditions" => |n| body(&format!("mov.u32 a, {}1;", repeat("1?", n))),
    "a long sum" => |n| body(&format!(".reg .b32 a; mov.u32 a, 1{};", repeat("+1", n))),
    "operators of rising precedence" => |n| {
        body(&format!(".reg .b32 a; mov.u32 a, 1{};", repeat("||1&&1|1^1&1==1<1<<1+1*1", n)))
    },
    "a long name" => |n| body(&format!(".reg .b32 {};", repeat("a", n))),
    "a long register number" => |n| body(&format!(".reg .b32 %r<9>; mov.b32 %r{}, 1;", repeat("1", n))),
    "a long number" => |n| body(&format!("mov.u32 a, {};", repeat("1", n))),
    "a long hexadecimal number" => |n| body(&format!("mov.u32 a, 0x{};", repeat("0", n))),
    "a long fraction" => |n| body(&format!(".reg .f64 a; mov.f64 a, 1.{};", repeat("3", n))),
    "a long exponent" => |n| body(&format!(".reg .f64 a; mov.f64 a, 1e-{};", repeat("9", n))),
    "a long string" => |n| items(&format!(".pragma \"{}\";", repeat("x", n))),
    "an unterminated string" => |n| items(&format!(".pragma \"{}", repeat("x", n))),
    "a long modifier" => |n| body(&format!("mov.{} a, 1;", repeat("b", n))),
    "a long chain of ::" => |n| body(&format!("mov.a{} a, 1;", repeat("::a", n))),
    "modifiers" => |n| body(&format!("mov{} a, 1;", repeat(".b32", n))),
    "modifiers of an opcode" => |n| body(&format!("mul{}.ftz{} a, 1;", repeat(".lo", n / 2), repeat(".lo", n / 2))),
    "modifiers that mean nothing" => |n| body(&format!(".reg .b32 a; mov{}.b32 a, 1;", repeat(".normal", n))),
    "operands" => |n| body(&format!(".reg .b32 a; add.s32 a{};", repeat(",a", n))),
    "a long vector" => |n| body(&format!(".reg .b32 a; mov.b64 b, {{a{}}};", repeat(",a", n))),
    "vectors" => |n| body(&repeat("a{1,1};", n)),
    "arguments" => |n| items(&format!(".func f() {{ ret; }} .entry k() {{ call f, (a{}); }}", repeat(",a", n))),
    "returns" => |n| body(&repeat("ret;", n)),
    "exits" => |n| body(&repeat("exit;", n)),
    "barriers" => |n| body(&repeat("bar.sync 0;", n)),
    "branches" => |n| body(&format!("a: {}", repeat("bra a;", n))),
    "guarded branches" => |n| body(&format!(".reg .pred p; a: {}", repeat("@p bra a;", n))),
    "guarded returns" => |n| body(&format!(".reg .pred p; {}", repeat("@p ret;", n))),
    "guarded moves" => |n| body(&format!(".reg .pred p; .reg .b32 a; {}", repeat("@p mov.b32 a,a;", n))),
    "moves" => |n| body(&format!(".reg .b32 a; {}", repeat("mov.b32 a,a;", n))),
    "wide loads" => |n| body(&format!(".reg .b64 a; {}", repeat("ld.v2.b64 {a,a},[a];", n))),
    "unpackings" => |n| body(&format!(".reg .b64 d; .reg .b16 a; {}", repeat("mov.b64{a,a,a,a},d;", n))),
    "comparisons of two results" => |n| {
        body(&format!(".reg .b32 a; .reg .pred p; {}", repeat("setp.ge.and.u32 p|p,a,a,p;", n)))
    },
    "distinct constants" => |n| body(&(".reg .b64 a;".to_owned() + &many(n, |at| format!("mov.b64 a,{at};")))),
    "special registers" => |n| body(&format!(".reg .b32 a; {}", repeat("mov.b32 a,%clock;", n))),
    "unknown instructions" => |n| body(&repeat("a;", n)),
    "one range of very many registers" => |n| body(&format!(
        ".reg .b32 %r<4294967295>; {}", many(n, |at| format!("mov.b32 %r{at},1;")))),
    "registers far apart in ranges" => |n| body(&many(n, |at| format!(
        ".reg .b32 {0}<4000000000>; mov.b32 {0}3999999999,1;", name(at)))),
    "register ranges" => |n| body(&many(n, |at| format!(".reg .b32 %{}<9>;", name(at)))),
    "registers in one line" => |n| body(&format!(".reg .b32 {};", list(n, ",", name))),
    "predicates in one line" => |n| body(&format!(".reg .pred {};", list(n, ",", name))),
    "ranges in one line" => |n| body(&format!(".reg .b32 {};", list(n, ",", |at| format!("{}<9>", name(at))))),
    "names of digits" => |n| body(&(
        ".reg .b32 %r<9>, %r1<9>, %r11<9>, %r111<9>, %r1111<9>;".to_owned()
            + &many(n, |at| format!("mov.b32 %r1111{},1;", at % 9)))),
    "shadowed names" => |n| body(&repeat("{.reg .b32 a,b,c;{.reg .b32 a,b,c;mov.b32 a,b;}}", n)),
    "locals in one line" => |n| body(&format!(".local .b8 {};", list(n, ",", name))),
    "shared variables in one line" => |n| items(&format!(".shared .b8 {};", list(n, ",", name))),
    "global variables in one line" => |n| items(&format!(".global .b8 {};", list(n, ",", name))),
    "constant variables in one line" => |n| items(&format!(".const .b8 {};", list(n, ",", name))),
    "initialised variables in one line" => |n| items(&format!(".global .b8 {};", list(n, ",", |at| name(at) + "=1"))),
    "large global variables" => |n| items(&many(n, |at| format!(".global .b64 {}[2000000];", name(at)))),
    "arrays of 2^40 bytes" => |n| items(&many(n, |at| format!(".global .b8 {}[1099511627776];", name(at)))),
    "dimensions" => |n| items(&format!(".global .b8 a{};", repeat("[9]", n))),
    "dimensions of one" => |n| items(&format!(".global .b8 a{};", repeat("[1]", n))),
    "empty dimensions" => |n| items(&format!(".global .b8 a{};", repeat("[]", n))),
    "a long initialiser" => |n| items(&format!(".global .b8 a[]={{1{}}};", repeat(",1", n))),
    "a long initialiser of addresses" => |n| items(&format!(".global .b64 a[]={{a{}}};", repeat(",a", n))),
    "a long initialiser of masks" => |n| items(&format!(".global .b8 b; .global .b8 a[]={{1{}}};", repeat(",0xFF(b)", n))),
    "an initialiser of rows" => |n| items(&format!(".global .b8 a[][1]={{{{1}}{}}};", repeat(",{1}", n))),
    "an initialiser of nothing" => |n| items(&format!(".global .b8 a[]={{{}}};", repeat("{},", n))),
    "open braces of an initialiser" => |n| items(&format!(".global .b8 a[]={}", repeat("{", n))),
    "labels" => |n| body(&many(n, |at| name(at) + ":")),
    "labels in scopes" => |n| body(&many(n, |at| format!("{{{}:}}", name(at)))),
    "one label again and again" => |n| body(&repeat("{a:}", n)),
    "a branch table" => |n| body(&format!(
        ".reg .b32 i; a: t: .branchtargets a{}; brx.idx i,t;", repeat(",a", n))),
    "branch tables" => |n| body(&("a:".to_owned() + &many(n, |at| format!("{}t:.branchtargets a;", name(at))))),
    "a call target list" => |n| items(&format!(
        ".func f() {{ ret; }} .entry k() {{ t: .calltargets f{}; }}", repeat(",f", n))),
    "prototypes" => |n| body(&many(n, |at| format!("{}t:.callprototype _;", name(at)))),
    "a prototype of many parameters" => |n| body(&format!(
        "t: .callprototype _(.param .b32 _{});", repeat(",.param .b32 _", n))),
    "parameters of a kernel" => |n| items(&format!(
        ".entry k({}) {{ ret; }}", list(n, ",", |at| format!(".param .b8 {}", name(at))))),
    "parameters of a function" => |n| items(&format!(
        ".func f({}) {{ ret; }}", list(n, ",", |at| format!(".param .b8 {}", name(at))))),
    "functions" => |n| items(&many(n, |at| format!(".func {}{{}}", name(at)))),
    "kernels" => |n| items(&many(n, |at| format!(".entry {}{{}}", name(at)))),
    "declarations of a function" => |n| items(&format!(".func f() {{}} {}", repeat(".func f();", n))),
    "declared functions" => |n| items(&many(n, |at| format!(".extern .func {};", name(at)))),
    "functions of parameters" => |n| items(&many(n, |at| format!(".func {}(.reg .b32 a){{}}", name(at)))),
    "kernels of directives" => |n| items(&format!(".entry k() {} {{}}", repeat(".maxnreg 1 ", n))),
    "kernels of shared variables" => |n| items(&many(n, |at| format!(".entry {}{{.shared .b8 a;}}", name(at)))),
    "aliases" => |n| items(&(".func f() {}".to_owned() + &many(n, |at| format!(".alias {},f;", name(at))))),
    "a function that calls itself" => |n| items(&format!(".func f() {{ {} }} .entry k() {{ call f; }}", repeat("call f;", n))),
    "functions that call the next" => |n| items(&format!(
        "{}.func f{} {{}}",
        many(n, |at| format!(".func f{0};.func f{1};.func f{0}{{call f{1};}}", at, at + 1)),
        n
    )),
    "calls with arguments" => |n| items(&format!(
        ".func f(.reg .b32 a, .reg .b32 b, .reg .b32 c) {{}} .entry k() {{ .reg .b32 a; {} }}",
        repeat("call f,(a,a,a);", n))),
    "calls of a function of many parameters" => |n| items(&format!(
        ".func f({}) {{ {} }}",
        list(8192, ",", |at| format!(".reg .b32 {}", name(at))),
        repeat(&format!("call f, ({});", list(1600, ",", name)), n))),
    "targets" => |n| format!(".version 8.4 .target sm_90{} .entry k() {{}}", repeat(",sm_90", n)),
    "debug sections" => |n| items(&repeat(".section .debug_info{}", n)),
    "a long debug section" => |n| items(&format!(".section .debug_info {{ {} }}", repeat(".b8 1,2,3\n", n))),
    "labels of a debug section" => |n| items(&format!(".section .debug_info {{ {} }}", many(n, |at| name(at) + ":"))),
    "places in the source" => |n| body(&repeat(".loc 1 1 1\n", n)),
    "files" => |n| items(&repeat(".file 1 \"a\"", n)),
    "pragmas" => |n| body(&repeat(".pragma \"\";", n)),
    "sinks" => |n| body(&repeat("a _|_;", n)),
    "addresses" => |n| body(&repeat("a[a+1];", n)),
    "dots" => |n| items(&repeat(".", n)),
    "quotes" => |n| items(&repeat("\"\"", n)),
    "at signs" => |n| body(&repeat("@", n)),
];
