//! Signatures: parameters as the verifier lays them out, and through which of them kernels write.

mod programs;
mod written;

use std::path::{Path, PathBuf};

use soft_gpu::{Module, PtxErrorCause, SemanticError, Signature, SyntaxError, Unsupported};

/// All PTX at hand that loads.
fn sources() -> Vec<(PathBuf, Vec<u8>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut sources = Vec::new();
    for folder in [
        "tests/accepted",
        "tests/generated",
        "../../fixtures/kernels",
    ] {
        for file in std::fs::read_dir(root.join(folder)).expect(folder) {
            let path = file.expect("a file").path();
            if path.extension().is_some_and(|extension| extension == "ptx") {
                let source = std::fs::read(&path).expect("readable");
                sources.push((path, source));
            }
        }
    }
    sources.sort();
    sources
}

/// Holds the signatures of all kernels of a module against the verifier's; how many parameters that were.
fn agree(what: &str, source: &[u8], module: &Module) -> usize {
    let mut params = 0;
    for entry in module.entries() {
        let name = entry.name();
        let signature = Signature::of(source, name)
            .unwrap_or_else(|error| panic!("{what}: {name}: {error}"))
            .unwrap_or_else(|| panic!("{what}: {name} is not found"));
        assert_eq!(signature.params(), entry.params(), "{what}: {name}");
        assert_eq!(
            signature.param_bytes(),
            entry.param_bytes(),
            "{what}: {name}"
        );
        assert_eq!(signature.written().len(), entry.params().len(), "{what}");
        params += entry.params().len();
    }
    params
}

#[test]
fn all_kernels_have_the_parameters_that_the_verifier_gives_them() {
    let mut params = 0;
    for (path, source) in sources() {
        let what = path.display().to_string();
        let module = Module::load(&source).unwrap_or_else(|error| panic!("{what}: {error}"));
        params += agree(&what, &source, &module);
    }
    assert!(params > 500, "{params} parameters show too little");
}

/// Words are left out, doubled, exchanged and put in the place of others; where the result loads, its signature must agree.
#[test]
fn changed_sources_have_the_parameters_that_the_verifier_gives_them() {
    let mut random = Random(1);
    let (mut taken, mut refused) = (0, 0);
    for (path, source) in sources() {
        // Small ones have more to change that matters.
        let text = String::from_utf8_lossy(&source);
        if text.len() > 20_000 {
            continue;
        }
        let words = split(&text);
        for _ in 0..40 {
            let changed = changed(&words, &mut random);
            let what = format!("{}: {changed}", path.display());
            match Module::load(changed.as_bytes()) {
                Ok(module) => {
                    agree(&what, changed.as_bytes(), &module);
                    taken += 1;
                }
                Err(_) => {
                    // Whatever comes of it, it comes.
                    for name in ["k", "snippet", ""] {
                        drop(Signature::of(changed.as_bytes(), name));
                    }
                    refused += 1;
                }
            }
        }
    }
    assert!(
        taken > 300 && refused > 300,
        "{taken} taken, {refused} refused"
    );
}

/// One of five changes at a random place.
fn changed(words: &[&str], random: &mut Random) -> String {
    let mut words = words.to_vec();
    for _ in 0..=random.below(2) {
        let (at, other) = (random.below(words.len()), random.below(words.len()));
        match random.below(5) {
            0 => words[at] = "",
            1 => words.insert(at, words[other]),
            2 => words.swap(at, other),
            3 => words[at] = words[other],
            _ => words.insert(at, INSERTED[random.below(INSERTED.len())]),
        }
    }
    words.concat()
}

/// What headers and bodies of kernels hold.
const INSERTED: &[&str] = &[
    ", .param .b8 more",
    ", .param .align 16 .b8 more[24]",
    " .align 8 ",
    " .ptr .global .align 4 ",
    "[3]",
    "{",
    "}",
    "(",
    ")",
    ";",
    ".b64 ",
    "ld.param.u64 %rd1, [x];",
];

/// Words, blanks and single other characters.
fn split(text: &str) -> Vec<&str> {
    let kind = |c: char| match c {
        c if c.is_alphanumeric() || "_$%.".contains(c) => 1,
        c if c.is_whitespace() => 2,
        _ => 3,
    };
    let mut words = Vec::new();
    let mut start = 0;
    let mut before = 0;
    for (at, c) in text.char_indices() {
        let kind = kind(c);
        if at > start && (kind != before || kind == 3) {
            words.push(&text[start..at]);
            start = at;
        }
        before = kind;
    }
    words.push(&text[start..]);
    words
}

/// Good PTX that the software GPU refuses has a signature all the same.
#[test]
fn what_is_not_implemented_has_a_signature() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/coverage.toml");
    let text = std::fs::read_to_string(path).expect("readable");
    let table: toml::Table = text.parse().expect("TOML");
    let groups = table["group"].as_array().expect("a list");
    let mut examples = 0;
    for group in groups {
        let Some(example) = group.get("example").and_then(|it| it.as_str()) else {
            continue;
        };
        if example.trim_start().starts_with(".version") {
            // Whole modules, some without a kernel: parsing is all that is asked.
            match Signature::of(example.as_bytes(), "k") {
                Ok(_) => {}
                Err(error) => panic!("{example}: {error}"),
            }
            continue;
        }
        let source = format!(
            ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry example(.param .u32 n, .param .u64 p)\n{{\n\
             .reg .pred p, q; .reg .b16 h<8>; .reg .b32 r<40>; .reg .b64 d<8>; .reg .f32 f<16>; .reg .f64 g<8>;\n\
             {example}\nret;\n}}\n"
        );
        let signature = Signature::of(source.as_bytes(), "example")
            .unwrap_or_else(|error| panic!("{example}: {error}"))
            .unwrap_or_else(|| panic!("{example}: no kernel"));
        assert_eq!(signature.params()[1].offset_bytes, 8, "{example}");
        examples += 1;
    }
    assert!(examples >= 8, "{examples} examples show too little");
}

const HEADER: &str = ".version 8.0 .target sm_90 .address_size 64\n";

fn signature_of(text: &str) -> Result<Option<Signature>, PtxErrorCause> {
    Signature::of(format!("{HEADER}{text}").as_bytes(), "k").map_err(|error| error.cause)
}

#[test]
fn textures_are_handles() {
    let text = ".global .samplerref sampled = { addr_mode_0 = wrap, filter_mode = nearest }; .tex .u32 old;
        .entry k(.param .u8 a, .param .texref t, .param .samplerref s, .param .surfref f, .param .b8 z) {
        .reg .b32 r<8>; .reg .f32 f<8>;
        tex.2d.v4.f32.f32 {f0, f1, f2, f3}, [t, s, {f4, f5}];
        mov.b32 r1, table[2]; .extern .func inside(); }";
    let found = signature_of(text).expect("it parses").expect("a kernel");
    let places: Vec<_> = found
        .params()
        .iter()
        .map(|param| (&*param.name, param.offset_bytes, param.size_bytes))
        .collect();
    let expected = [
        ("a", 0, 1),
        ("t", 8, 8),
        ("s", 16, 8),
        ("f", 24, 8),
        ("z", 32, 1),
    ];
    assert_eq!(places, expected);
    assert_eq!(found.param_bytes(), 33);
}

#[test]
fn kernels_that_are_not_there() {
    for text in [
        "",
        ".func k() { ret; }",
        ".entry other() { ret; }",
        ".entry k();",
        ".extern .entry k(.param .b32 x);",
        ".global .u32 k;",
    ] {
        assert_eq!(signature_of(text), Ok(None), "{text}");
    }
    let found = signature_of(".entry other() { } .entry k(.param .b32 x) { }");
    assert_eq!(found.map(|it| it.map(|it| it.params().len())), Ok(Some(1)));
}

/// With the place at which the parser stops, as for any source.
#[test]
fn sources_that_do_not_parse_are_refused() {
    let of = |source: &[u8]| Signature::of(source, "k").expect_err("refused");
    let body = b".version 8.0 .target sm_90\n.entry k() { \0 ret; }";
    for source in [
        &body[..],
        b"\x7fELF\x02\x01\x01",
        b"\x50\xed\x55\xba\x01\x00",
        b".version 8.0 .target sm_90 // \xff",
        b"\xEF\xBB\xBF.version 8.0 .target sm_90",
        b".version 8.0 .target sm_90 .entry k() { ret; /*",
        b".version 8.0 .target sm_90 .entry k() { add.u32 r, r",
        b".version 8.0 .target sm_90 .entry k() { .reg .b32 a",
        b".version 8.0 .target sm_90 .entry k( { ret; }",
        b".version 8.0 .target sm_90 oops",
        b"",
    ] {
        let strict = Module::load(source).expect_err("refused");
        assert_eq!(of(source), strict, "{}", String::from_utf8_lossy(source));
        assert!(matches!(strict.cause, PtxErrorCause::Syntax(_)), "{strict}");
    }
    let found = of(body);
    assert_eq!((found.at.line, found.at.column), (2, 14));
    assert_eq!(found.cause, SyntaxError::ControlByte(0).into());
}

#[test]
fn parameters_without_a_layout_are_refused() {
    let whole = 32764;
    let refused = |text: &str| signature_of(text).expect_err(text);
    for (param, cause) in [
        (
            ".param .b8 x[]",
            PtxErrorCause::Semantic(SemanticError::InvalidDeclaration {
                name: "x".to_owned(),
                reason: "a kernel's parameter needs a size",
            }),
        ),
        (
            ".param .what x",
            SemanticError::UnknownType("what".to_owned()).into(),
        ),
        (
            ".param .b8 x[32765]",
            SemanticError::TooLarge {
                what: "the kernel's parameters",
                bytes: 32765,
                limit: whole,
            }
            .into(),
        ),
    ] {
        let text = format!(".entry k({param}) {{ ret; }}");
        assert_eq!(refused(&text), cause, "{param}");
    }
    let found = signature_of(".entry k(.param .b8 x[32764]) { ret; }").expect("as many as may be");
    assert_eq!(found.map(|it| it.param_bytes()), Some(32764));
    let old = b".version 1.3 .target sm_10 .entry k { .param .u64 x; exit; }";
    let error = Signature::of(old, "k").expect_err("parameters in the body");
    let beyond = Unsupported::Declaration(".version 1.0 to 1.3".to_owned());
    assert_eq!(error.cause, beyond.into());
}

/// Seeded random numbers (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) % bound.max(1) as u64) as usize
    }
}
