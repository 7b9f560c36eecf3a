//! Runs a snippet of PTX over rows of inputs, one thread a row, and compares bits with a reference.

use soft_gpu::{Fault, Globals, LaunchConfig, LaunchError, Memory, Module, Signature, launch};

#[path = "../rows/launch.rs"]
mod rows;

pub(crate) use rows::IN;
use rows::over_rows;

/// A snippet on registers `a b c e` (as many as `inputs` has types) that leaves its results in `d0`, `d1`, ….
pub(crate) struct Snippet {
    module: Module,
    inputs: usize,
    outputs: usize,
    text: String,
}

impl Snippet {
    /// Types are PTX's words without the dot; `pred` stands for a predicate, given and returned as 0 or 1.
    pub(crate) fn new(inputs: &[&str], outputs: &[&str], code: &str) -> Self {
        Self::with_target("sm_90", inputs, outputs, code)
    }

    fn with_target(target: &str, inputs: &[&str], outputs: &[&str], code: &str) -> Self {
        let mut text = format!(
            ".version 8.0\n.target {target}\n.address_size 64\n\
             .visible .entry snippet(.param .u64 in, .param .u64 out, .param .u32 rows)\n{{\n\
             .reg .pred %gone, %p<4>; .reg .b32 %row, %bid, %size, %t<8>; .reg .b64 %in, %out, %off, %u<8>; .reg .b16 %h<4>;\n\
             mov.u32 %row, %tid.x; mov.u32 %bid, %ctaid.x; mov.u32 %size, %ntid.x;\n\
             mad.lo.u32 %row, %bid, %size, %row; ld.param.u32 %size, [rows];\n\
             setp.ge.u32 %gone, %row, %size; @%gone exit;\n\
             ld.param.u64 %in, [in]; mul.wide.u32 %off, %row, {};\nadd.u64 %in, %in, %off;\n\
             ld.param.u64 %out, [out]; mul.wide.u32 %off, %row, {};\nadd.u64 %out, %out, %off;\n",
            8 * inputs.len().max(1),
            8 * outputs.len(),
        );
        for (at, (name, ty)) in NAMES.iter().zip(inputs).enumerate() {
            let offset = 8 * at;
            text.push_str(&format!(".reg .{ty} {name};\n"));
            text.push_str(&match width(ty) {
                1 => format!("ld.global.b32 %t0, [%in+{offset}]; setp.ne.b32 {name}, %t0, 0;\n"),
                bits => format!("ld.global.b{bits} {name}, [%in+{offset}];\n"),
            });
        }
        for (at, ty) in outputs.iter().enumerate() {
            text.push_str(&format!(".reg .{ty} d{at};\n"));
        }
        text.push_str(code);
        text.push('\n');
        for (at, ty) in outputs.iter().enumerate() {
            let offset = 8 * at;
            text.push_str(&match width(ty) {
                1 => format!("selp.b32 %t0, 1, 0, d{at}; st.global.b32 [%out+{offset}], %t0;\n"),
                bits => format!("st.global.b{bits} [%out+{offset}], d{at};\n"),
            });
        }
        text.push_str("ret;\n}\n");
        let module =
            Module::load(text.as_bytes()).unwrap_or_else(|error| panic!("{code}: {error}\n{text}"));
        Self {
            module,
            inputs: inputs.len(),
            outputs: outputs.len(),
            text: code.to_owned(),
        }
    }

    /// The results of each row.
    pub(crate) fn run(&self, rows: &[Vec<u64>]) -> Vec<Vec<u64>> {
        let input = rows.iter().flat_map(|row| {
            assert_eq!(row.len(), self.inputs, "{}", self.text);
            row.iter().copied()
        });
        over_rows(&self.module, &self.text, rows.len(), input, self.outputs)
            .chunks(self.outputs)
            .map(<[u64]>::to_vec)
            .collect()
    }

    /// Compares every row with the reference, all rows converged and again with every second lane sitting out.
    #[track_caller]
    pub(crate) fn check(&self, rows: &[Vec<u64>], reference: impl Fn(&[u64]) -> Vec<u64>) {
        for (row, found) in rows.iter().zip(self.run(rows)) {
            let expected = reference(row);
            assert!(
                found == expected,
                "{} of {row:#x?}: found {found:#x?}, expected {expected:#x?}",
                self.text
            );
        }
    }
}

/// One operation of one result: `code` names its operands itself.
#[track_caller]
pub(crate) fn check(
    code: &str,
    inputs: &[&str],
    output: &str,
    rows: &[Vec<u64>],
    reference: impl Fn(&[u64]) -> u64,
) {
    Snippet::new(inputs, &[output], code).check(rows, |row| vec![reference(row)]);
    // The same under a guard: lanes with an odd first input keep what `d0` held before.
    let mark = match width(output) {
        1 => "setp.ne.u32 d0, 0, 0;".to_owned(),
        16 => "mov.b16 d0, 0x5A5A;".to_owned(),
        32 => "mov.b32 d0, 0x5A5A5A5A;".to_owned(),
        _ => "mov.b64 d0, 0x5A5A5A5A5A5A5A5A;".to_owned(),
    };
    let test = match inputs.first().map(|ty| width(ty)) {
        Some(1) => "selp.b32 %t1, 1, 0, a;".to_owned(),
        Some(16) => "mov.b32 %t1, {a, a};".to_owned(),
        Some(64) => "mov.b64 {%t1, %t2}, a;".to_owned(),
        _ => "mov.b32 %t1, a;".to_owned(),
    };
    let guarded: String = code
        .split_inclusive(';')
        .filter(|line| !line.trim().is_empty())
        .map(|line| format!("@!%p3 {}", line.trim()))
        .collect();
    let guarded = format!("{mark} {test} and.b32 %t1, %t1, 1; setp.ne.u32 %p3, %t1, 0; {guarded}");
    Snippet::new(inputs, &[output], &guarded).check(rows, |row| {
        let kept = 0x5A5A_5A5A_5A5A_5A5A & mask(width(output));
        let kept = if width(output) == 1 { 0 } else { kept };
        vec![if row[0] & 1 == 1 {
            kept
        } else {
            reference(row)
        }]
    });
}

/// Bits of a type.
pub(crate) fn width(ty: &str) -> u32 {
    match ty.trim_start_matches(char::is_alphabetic) {
        "" => 1,
        digits => digits.parse().expect("a width"),
    }
}

/// The low `bits` bits.
pub(crate) fn mask(bits: u32) -> u64 {
    u64::MAX >> (64 - bits)
}

/// Sign extension from `bits` bits.
pub(crate) fn signed(value: u64, bits: u32) -> i128 {
    i128::from((value << (64 - bits)).cast_signed() >> (64 - bits))
}

/// A value of a type as the mathematician sees it.
pub(crate) fn number(value: u64, ty: &str) -> i128 {
    if ty.starts_with('s') {
        signed(value, width(ty))
    } else {
        i128::from(value & mask(width(ty)))
    }
}

/// Rows for operands of these types: every combination of interesting values while those are few, then seeded random ones.
pub(crate) fn rows(types: &[&str]) -> Vec<Vec<u64>> {
    let pools: Vec<Vec<u64>> = types.iter().map(|ty| edges(ty)).collect();
    let combinations: usize = pools.iter().map(Vec::len).product();
    let mut random = Random(types.len() as u64 * 977 + combinations as u64);
    let mut rows = Vec::new();
    if combinations <= 4000 {
        for at in 0..combinations {
            let mut rest = at;
            rows.push(
                pools
                    .iter()
                    .map(|pool| {
                        let value = pool[rest % pool.len()];
                        rest /= pool.len();
                        value
                    })
                    .collect(),
            );
        }
    }
    for _ in 0..3000 {
        rows.push(
            pools
                .iter()
                .zip(types)
                .map(|(pool, ty)| match random.next() % 3 {
                    0 => pool[random.next() as usize % pool.len()],
                    1 => random.next() & mask(width(ty)),
                    _ => {
                        (random.next() & mask(width(ty))) >> (random.next() % u64::from(width(ty)))
                    }
                })
                .collect(),
        );
    }
    rows
}

/// Values of a type that have a story.
pub(crate) fn edges(ty: &str) -> Vec<u64> {
    match ty {
        "pred" => vec![0, 1],
        "f32" => SINGLES.iter().map(|bits| u64::from(*bits)).collect(),
        "f64" => doubles(),
        _ => {
            let bits = width(ty);
            let top = 1u64 << (bits - 1);
            let mut values = vec![
                0,
                1,
                2,
                3,
                7,
                8,
                15,
                16,
                31,
                32,
                33,
                63,
                64,
                127,
                128,
                255,
                256,
                0x55,
                0xAA,
                top,
                top - 1,
                top + 1,
                u64::MAX,
                u64::MAX - 1,
                0x5555_5555_5555_5555,
                0xAAAA_AAAA_AAAA_AAAA,
                0x8000,
                0x7FFF,
                0xFFFF,
                0x8000_0000,
                0x7FFF_FFFF,
                0xFFFF_FFFF,
                0x1_0000_0000,
            ];
            for value in &mut values {
                *value &= mask(bits);
            }
            values.sort_unstable();
            values.dedup();
            values
        }
    }
}

fn doubles() -> Vec<u64> {
    let mut values: Vec<u64> = SINGLES
        .iter()
        .map(|bits| f64::from(f32::from_bits(*bits)))
        .filter(|value| !value.is_nan())
        .map(f64::to_bits)
        .collect();
    values.extend([
        0x7FF8_0000_0000_0000,
        0x7FF0_0000_0000_0001,
        0xFFF8_0000_0000_1234,
        1,
        0x000F_FFFF_FFFF_FFFF,
        0x0010_0000_0000_0000,
        0x7FEF_FFFF_FFFF_FFFF,
        0x3FF0_0000_0000_0001,
        0x47EF_FFFF_F000_0000,
        0x47EF_FFFF_E800_0000,
        0x36A0_0000_0000_0000,
        0x3690_0000_0000_0001,
        0x4330_0000_0000_0001,
        0x43E0_0000_0000_0001,
    ]);
    values
}

/// Zeros, ones, halves and their neighbours, powers of two around the integer types, subnormals, infinities and NaNs.
const SINGLES: [u32; 44] = [
    0,
    0x8000_0000,
    0x3F80_0000,
    0xBF80_0000,
    0x3F80_0001,
    0x3F7F_FFFF,
    0x3F00_0000,
    0xBF00_0000,
    0x3FC0_0000,
    0xBFC0_0000,
    0x4020_0000,
    0xC020_0000,
    0x4060_0000,
    0x0080_0000,
    0x8080_0000,
    0x007F_FFFF,
    0x807F_FFFF,
    1,
    0x8000_0001,
    0x7F7F_FFFF,
    0xFF7F_FFFF,
    0x7F80_0000,
    0xFF80_0000,
    0x7FC0_0000,
    0x7F80_0001,
    0xFFC0_1234,
    0x4B00_0000,
    0x4B00_0001,
    0x4B7F_FFFF,
    0x4EFF_FFFF,
    0x4F00_0000,
    0xCF00_0000,
    0x4F7F_FFFF,
    0x4F80_0000,
    0x5F00_0000,
    0xDF00_0000,
    0x5F80_0000,
    0x42FF_0000,
    0x437F_8000,
    0x46FF_FF00,
    0x477F_FF80,
    0xC300_8000,
    0x3EAA_AAAB,
    0x3DCC_CCCD,
];

/// The little-endian 64-bit words of a buffer.
pub(crate) fn words(bytes: &[u8]) -> Vec<u64> {
    bytes
        .as_chunks::<8>()
        .0
        .iter()
        .map(|word| u64::from_le_bytes(*word))
        .collect()
}

/// The little-endian 32-bit words of a buffer.
pub(crate) fn words32(bytes: &[u8]) -> Vec<u32> {
    bytes
        .as_chunks::<4>()
        .0
        .iter()
        .map(|word| u32::from_le_bytes(*word))
        .collect()
}

/// A kernel `k(.param .u64 data)` run over one buffer.
pub(crate) struct Kernel {
    pub(crate) module: Module,
    pub(crate) globals: Globals,
    pub(crate) config: LaunchConfig,
    /// What its signature says of its buffer.
    pub(crate) written: bool,
}

impl Kernel {
    /// `before` stands at module level, `code` in the kernel, which finds its buffer's address in `%data` and its thread in `%t`.
    pub(crate) fn new(before: &str, code: &str) -> Self {
        Self::of_text(&format!(
            ".version 8.8\n.target sm_90\n.address_size 64\n{before}\n\
             .visible .entry k(.param .u64 data)\n{{\n\
             .reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %t, %r<32>; .reg .b64 %data, %mine, %u<32>; .reg .f32 %f<9>; .reg .f64 %g<9>;\n\
             ld.param.u64 %data, [data]; mov.u32 %t, %tid.x; mad.wide.u32 %mine, %t, 4, %data;\n{code}\nret;\n}}\n"
        ))
    }

    pub(crate) fn of_text(text: &str) -> Self {
        let module =
            Module::load(text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let signature = Signature::of(text.as_bytes(), "k").expect("it has loaded");
        let signature = signature.expect("the kernel");
        Self {
            written: signature.written().contains(&true),
            globals: module.globals(),
            module,
            config: LaunchConfig {
                instruction_budget: 1 << 26,
                ..LaunchConfig::default()
            },
        }
    }

    pub(crate) fn block(mut self, threads: u32) -> Self {
        self.config.block = [threads, 1, 1];
        self
    }

    /// Runs it over `data`, which it may change.
    pub(crate) fn try_run(&mut self, data: &mut [u8]) -> Result<(), LaunchError> {
        let entry = self.module.entry("k").expect("the kernel");
        let before = data.to_vec();
        let mut memory = Memory::new();
        memory.map(IN, data).expect("a free place");
        let outcome = launch(
            &self.module,
            entry,
            &self.config,
            &IN.to_le_bytes(),
            &mut self.globals,
            &mut memory,
        );
        assert!(
            self.written || data == before,
            "it writes to its buffer, which its signature denies"
        );
        outcome
    }

    /// The 32-bit words that it leaves in a zeroed buffer of as many.
    #[track_caller]
    pub(crate) fn run(&mut self, count: usize) -> Vec<u32> {
        self.run_on(&vec![0; count])
    }

    /// The 32-bit words that it makes of `values`.
    #[track_caller]
    pub(crate) fn run_on(&mut self, values: &[u32]) -> Vec<u32> {
        let mut data: Vec<u8> = values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        if let Err(error) = self.try_run(&mut data) {
            panic!("{error}");
        }
        words32(&data)
    }

    /// The fault that ends it.
    #[allow(dead_code, reason = "the tests of faults use it")]
    #[track_caller]
    pub(crate) fn fault(&mut self, bytes: usize) -> Fault {
        match self.try_run(&mut vec![0; bytes]) {
            Err(LaunchError::Fault(fault)) => *fault,
            other => panic!("expected a fault, found {other:?}"),
        }
    }
}

/// Seeded random numbers (splitmix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

const NAMES: [&str; 4] = ["a", "b", "c", "e"];
