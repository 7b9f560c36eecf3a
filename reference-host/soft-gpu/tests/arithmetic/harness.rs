//! Runs one instruction over rows of operands, one thread a row, and compares bits with a reference.

use soft_gpu::Module;

#[path = "../rows/launch.rs"]
mod rows;

use rows::over_rows;

/// What an operand is: its register, and which values are interesting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Pred,
    /// Integers and untyped bits of so many bits.
    U(u32),
    S(u32),
    B(u32),
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    F32,
    F64,
    /// Two 8-bit floats.
    E4m3x2,
    E5m2x2,
}

use Kind::{B, Bf16, Bf16x2, E4m3x2, E5m2x2, F16, F16x2, F32, F64, Pred, S, U};

impl Kind {
    pub(crate) fn bits(self) -> u32 {
        match self {
            Pred => 1,
            U(bits) | S(bits) | B(bits) => bits,
            F16 | Bf16 | E4m3x2 | E5m2x2 => 16,
            F16x2 | Bf16x2 | F32 => 32,
            F64 => 64,
        }
    }

    /// The type's word in instructions.
    pub(crate) fn word(self) -> String {
        match self {
            Pred => "pred".to_owned(),
            U(bits) => format!("u{bits}"),
            S(bits) => format!("s{bits}"),
            B(bits) => format!("b{bits}"),
            other => format!("{other:?}").to_lowercase(),
        }
    }

    /// The type of a register for it.
    fn register(self) -> String {
        match self {
            F16 | Bf16 | E4m3x2 | E5m2x2 => "b16".to_owned(),
            F16x2 | Bf16x2 => "b32".to_owned(),
            other => other.word(),
        }
    }

    /// A float's bits of mantissa and of exponent.
    fn fields(self) -> Option<(u32, u32)> {
        match self {
            F16 | F16x2 => Some((10, 5)),
            Bf16 | Bf16x2 => Some((7, 8)),
            F32 => Some((23, 8)),
            F64 => Some((52, 11)),
            _ => None,
        }
    }

    fn is_pair(self) -> bool {
        matches!(self, F16x2 | Bf16x2)
    }

    /// Values that have a story.
    pub(crate) fn edges(self) -> Vec<u64> {
        if let Some((mantissa, exponent)) = self.fields() {
            let edges = float_edges(mantissa, exponent);
            if !self.is_pair() {
                return edges;
            }
            // Each edge in each half, beside another one.
            let neighbour = |at: usize| edges[(at * 7 + 3) % edges.len()];
            let both = (0..edges.len()).flat_map(|at| {
                [
                    edges[at] | neighbour(at) << 16,
                    neighbour(at) | edges[at] << 16,
                ]
            });
            return both.collect();
        }
        match self {
            Pred => vec![0, 1],
            E4m3x2 | E5m2x2 => (0..256u64).map(|byte| byte | (255 - byte) << 8).collect(),
            _ => integer_edges(self.bits()),
        }
    }

    /// A seeded random value: any bits, few bits, an edge, or for a float one of a moderate exponent.
    fn random(self, random: &mut Random, edges: &[u64]) -> u64 {
        let any = random.next() & mask(self.bits());
        match (random.next() % 4, self.fields()) {
            (0, _) => edges[random.next() as usize % edges.len()],
            (1, _) => any,
            (_, Some((mantissa, exponent))) => {
                let half = |bits: u64, random: &mut Random| {
                    let bias = (1u64 << (exponent - 1)) - 1;
                    let near = bias - 3 + random.next() % 7;
                    let sign = bits & 1 << (mantissa + exponent);
                    sign | near << mantissa | bits & mask(mantissa)
                };
                if self.is_pair() {
                    half(any & 0xFFFF, random) | half(any >> 16, random) << 16
                } else {
                    half(any, random)
                }
            }
            (2, _) => any >> (random.next() % u64::from(self.bits())),
            _ => any & (random.next() | random.next()),
        }
    }
}

/// Zeros, the least and the greatest subnormal and normal values, one, its neighbours, small and great powers of two with neighbours,
/// ties, thirds, infinities and NaNs, of either sign.
fn float_edges(mantissa: u32, exponent: u32) -> Vec<u64> {
    let one = mask(exponent - 1) << mantissa;
    let infinity = mask(exponent) << mantissa;
    let half_unit = 1u64 << (mantissa - 1);
    let mut values = vec![
        0,
        1,
        2,
        3,
        mask(mantissa),
        mask(mantissa) - 1,
        half_unit,
        1 << mantissa,
        (1 << mantissa) + 1,
        infinity,
        infinity - 1,
        infinity - 2,
        infinity - half_unit,
        infinity + half_unit,
        infinity + 1,
        infinity + half_unit + 5,
        one + half_unit,
        one + half_unit + 1,
        one + half_unit - 1,
        one + mask(mantissa) / 3,
        one + (mask(mantissa) / 5) * 3,
    ];
    let reach = (mantissa + 2).min(mask(exponent - 1) as u32 - 2);
    for step in [
        0,
        1,
        2,
        mantissa / 2,
        mantissa - 1,
        mantissa,
        mantissa + 1,
        reach,
    ] {
        for power in [
            one + (u64::from(step) << mantissa),
            one - (u64::from(step.min(reach)) << mantissa),
        ] {
            values.extend([power, power + 1, power - 1]);
        }
    }
    // Ties where the mantissa is cut to that of a narrower format, after an even and after an odd last bit, and their neighbours.
    for cut in [13, 16, 20, 21, 29, 42, 45] {
        if cut >= mantissa {
            continue;
        }
        for last in 0..4 {
            let tie = one + (last << cut) + (1 << (cut - 1));
            values.extend([tie - 1, tie, tie + 1]);
        }
    }
    values.sort_unstable();
    values.dedup();
    let sign = 1u64 << (mantissa + exponent);
    let negative: Vec<u64> = values.iter().map(|value| value | sign).collect();
    values.extend(negative);
    values
}

fn integer_edges(bits: u32) -> Vec<u64> {
    let mut values = vec![
        0x55,
        0x5555_5555_5555_5555,
        0xAAAA_AAAA_AAAA_AAAA,
        33,
        7,
        0x1234_5678_9ABC_DEF0,
    ];
    for power in (0..bits)
        .filter(|power| [0, 1, 2, 3, 4, 5].contains(power) || power % 8 == 0 || power % 8 == 7)
    {
        let power = 1u64 << power;
        values.extend([power, power - 1, power + 1, power.wrapping_neg(), !power]);
    }
    for value in &mut values {
        *value &= mask(bits);
    }
    values.sort_unstable();
    values.dedup();
    values
}

/// The low `bits` bits.
pub(crate) fn mask(bits: u32) -> u64 {
    u64::MAX >> (64 - bits)
}

/// A value as the mathematician sees it.
pub(crate) fn number(value: u64, kind: Kind) -> i128 {
    let bits = kind.bits();
    if matches!(kind, S(_)) {
        i128::from((value << (64 - bits)).cast_signed() >> (64 - bits))
    } else {
        i128::from(value & mask(bits))
    }
}

/// Rows of operands: all combinations of edges while those are few, pairs of edges in any case, then seeded random ones.
pub(crate) fn rows(kinds: &[Kind]) -> Vec<Vec<u64>> {
    const RANDOM: usize = 4000;
    const MOST: usize = 9000;
    let pools: Vec<Vec<u64>> = kinds.iter().map(|kind| kind.edges()).collect();
    let combinations = pools.iter().map(Vec::len).product::<usize>();
    let mut random = Random(0x5EED + kinds.len() as u64 * 977 + combinations as u64);
    let mut rows = Vec::new();
    for at in 0..combinations.min(MOST) {
        let mut rest = if combinations <= MOST {
            at
        } else {
            random.next() as usize % combinations
        };
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
    for _ in 0..RANDOM {
        let row = kinds.iter().zip(&pools);
        rows.push(
            row.map(|(kind, pool)| kind.random(&mut random, pool))
                .collect(),
        );
    }
    rows
}

/// Checks one form: `code` computes `d` from `a`, `b`, `c`, `e`.
///
/// Some rows are run again under a guard, with lanes that sit out and keep what `d` held.
#[track_caller]
pub(crate) fn check(code: &str, inputs: &[Kind], output: Kind, reference: impl Fn(&[u64]) -> u64) {
    let rows = rows(inputs);
    check_rows(code, inputs, output, &rows, &reference);
    let step = rows.len() / 400 + 1;
    let some: Vec<Vec<u64>> = rows.into_iter().step_by(step).collect();
    let (mark, kept) = match output.bits() {
        1 => ("setp.ne.u32 d, 0, 0;", 0),
        16 => ("mov.b16 d, 0x5A5A;", 0x5A5A),
        32 => ("mov.b32 w3, 0x5A5A5A5A; mov.b32 d, w3;", 0x5A5A_5A5A),
        _ => (
            "mov.b64 l3, 0x5A5A5A5A5A5A5A5A; mov.b64 d, l3;",
            0x5A5A_5A5A_5A5A_5A5A,
        ),
    };
    let test = match inputs[0].bits() {
        1 => "selp.b32 w4, 1, 0, a;",
        16 => "mov.b32 w4, {a, a};",
        64 => "mov.b64 {w4, w5}, a;",
        _ => "mov.b32 w4, a;",
    };
    let guarded: String = code
        .split_inclusive(';')
        .filter(|line| !line.trim().is_empty())
        .map(|line| format!("@!p3 {}\n", line.trim()))
        .collect();
    let guarded = format!("{mark} {test} and.b32 w4, w4, 1; setp.ne.u32 p3, w4, 0;\n{guarded}");
    check_rows(&guarded, inputs, output, &some, |row| {
        if row[0] & 1 == 1 {
            kept
        } else {
            reference(row)
        }
    });
}

/// As [`check`], over these rows.
#[track_caller]
pub(crate) fn check_rows(
    code: &str,
    inputs: &[Kind],
    output: Kind,
    rows: &[Vec<u64>],
    reference: impl Fn(&[u64]) -> u64,
) {
    let found = run(code, inputs, output, rows);
    let mut wrong = 0;
    let mut first = String::new();
    for (row, found) in rows.iter().zip(&found) {
        let expected = reference(row);
        if *found != expected {
            wrong += 1;
            if wrong == 1 {
                first = format!("of {row:#x?} found {found:#x}, expected {expected:#x}");
            }
        }
    }
    assert!(
        wrong == 0,
        "{code} is wrong in {wrong} of {} rows: {first}",
        rows.len()
    );
}

/// The results of each row.
pub(crate) fn run(code: &str, inputs: &[Kind], output: Kind, rows: &[Vec<u64>]) -> Vec<u64> {
    let module = Module::load(source(code, inputs, output).as_bytes())
        .unwrap_or_else(|error| panic!("{code}: {error}"));
    let input = rows.iter().flatten().copied();
    over_rows(&module, code, rows.len(), input, 1)
        .into_iter()
        .map(|word| word & mask(output.bits()))
        .collect()
}

fn source(code: &str, inputs: &[Kind], output: Kind) -> String {
    let mut text = format!(
        ".version 8.3\n.target sm_90\n.address_size 64\n\
         .visible .entry form(.param .u64 in, .param .u64 out, .param .u32 rows)\n{{\n\
         .reg .pred %gone, p<4>; .reg .b16 h<4>; .reg .b32 %row, %bid, %size, w<8>; .reg .b64 %in, %out, %off, l<8>;\n\
         mov.u32 %row, %tid.x; mov.u32 %bid, %ctaid.x; mov.u32 %size, %ntid.x;\n\
         mad.lo.u32 %row, %bid, %size, %row; ld.param.u32 %size, [rows];\n\
         setp.ge.u32 %gone, %row, %size; @%gone exit;\n\
         ld.param.u64 %in, [in]; mul.wide.u32 %off, %row, {};\nadd.u64 %in, %in, %off;\n\
         ld.param.u64 %out, [out]; mul.wide.u32 %off, %row, 8;\nadd.u64 %out, %out, %off;\n",
        8 * inputs.len(),
    );
    for (at, (name, kind)) in ["a", "b", "c", "e"].iter().zip(inputs).enumerate() {
        let offset = 8 * at;
        text.push_str(&format!(".reg .{} {name};\n", kind.register()));
        text.push_str(&match kind {
            Pred => format!("ld.global.b32 w0, [%in+{offset}]; setp.ne.b32 {name}, w0, 0;\n"),
            kind => format!("ld.global.b{} {name}, [%in+{offset}];\n", kind.bits()),
        });
    }
    text.push_str(&format!(".reg .{} d;\n{code}\n", output.register()));
    text.push_str(&match output {
        Pred => "selp.b32 w0, 1, 0, d; st.global.b32 [%out], w0;\n".to_owned(),
        kind => format!("st.global.b{} [%out], d;\n", kind.bits()),
    });
    text.push_str("ret;\n}\n");
    text
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
