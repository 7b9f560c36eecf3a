//! What each instruction does to values and memory. One that is not listed here may write anywhere.

use super::flow::{ANY, Bits, Builds, CARRY, LOADED, NULL, PLAIN};
use super::walk::{Followed, Thing, Walk, WritesAll};
use crate::ast::{Instr, Name, Operand, OperandKind};

impl<'a> Walk<'a> {
    /// Adds what an instruction does.
    pub(super) fn instruction(&mut self, instr: &'a Instr<'a>) -> Followed<()> {
        let ast = self.ast;
        let words = instr.modifiers;
        let words = Words(
            ast.modifiers
                .get(words.start as usize..words.end as usize)
                .unwrap_or_default(),
        );
        let operands = self.elements(instr.operands);
        match instr.opcode.text {
            "ld" | "ldu" => self.load(words, operands),
            "st" if words.space() == "param" => self.pass(words, operands),
            "st" | "red" | "stmatrix" | "discard" => self.write(words, operands.first()),
            "atom" => {
                let (first, rest) = operands.split_first().ok_or(WritesAll)?;
                self.read(words, first)?;
                self.write(words, rest.first())
            }
            "cp" => self.copy(words, operands),
            "mbarrier" => {
                for operand in operands {
                    if matches!(operand.kind, OperandKind::Address { .. }) {
                        self.write(words, Some(operand))?;
                    }
                }
                match operands.first() {
                    // A state, which is no address.
                    Some(state) if !matches!(state.kind, OperandKind::Address { .. }) => {
                        self.make(state, &[PLAIN])
                    }
                    _ => Ok(()),
                }
            }
            "wmma" if words.has("load") => self.read(words, operands.first().ok_or(WritesAll)?),
            "wmma" if words.has("store") => self.write(words, operands.first()),
            "ldmatrix" => self.make(operands.first().ok_or(WritesAll)?, &[LOADED]),
            "tex" | "tld4" | "txq" | "suld" | "suq" => {
                self.make(operands.first().ok_or(WritesAll)?, &[ANY])
            }
            "call" => self.calls(operands),
            "bar" | "barrier" if words.has("red") => self.compute(instr.opcode, words, operands),
            "wgmma" if operands.is_empty() || words.has("wait_group") => Ok(()),
            opcode if SILENT.contains(&opcode) => Ok(()),
            opcode if COMPUTING.contains(&opcode) || COMPARING.contains(&opcode) => {
                self.compute(instr.opcode, words, operands)
            }
            _ => Err(WritesAll),
        }
    }

    /// What a first operand is made of where the others do not matter.
    fn make(&mut self, target: &Operand<'a>, sources: &[u32]) -> Followed<()> {
        let mut nodes = Vec::new();
        self.targets(target, &mut nodes)?;
        self.flow
            .define(&nodes, sources, &[], Builds::OnOne, Bits::Stay);
        Ok(())
    }

    /// A value from memory: any address where it has the width of one.
    fn read(&mut self, words: Words<'a>, target: &Operand<'a>) -> Followed<()> {
        self.make(target, &[if words.narrow() { LOADED } else { ANY }])
    }

    fn load(&mut self, words: Words<'a>, operands: &'a [Operand<'a>]) -> Followed<()> {
        let [target, address, ..] = operands else {
            return Err(WritesAll);
        };
        if words.space() != "param" {
            return self.read(words, target);
        }
        let OperandKind::Address { base, offset } = address.kind else {
            return Err(WritesAll);
        };
        let thing = match base {
            Some(name) => self.thing(name)?,
            None => return self.make(target, &[ANY]),
        };
        match thing {
            Thing::KernelParam(start) => {
                let mut params = Vec::new();
                self.params_at(
                    i64::from(start).saturating_add(offset),
                    words.bytes(),
                    &mut params,
                );
                self.make(target, &params)
            }
            Thing::Passed { node, .. } => self.make(target, &[node]),
            _ => self.make(target, &[ANY]),
        }
    }

    /// `st.param`
    fn pass(&mut self, words: Words<'a>, operands: &'a [Operand<'a>]) -> Followed<()> {
        let [address, values] = operands else {
            return Err(WritesAll);
        };
        let OperandKind::Address {
            base: Some(base), ..
        } = address.kind
        else {
            return Err(WritesAll);
        };
        let Thing::Passed { node, wide } = self.thing(base)? else {
            return Err(WritesAll);
        };
        // Several narrow ones may be put together there.
        let bits = if words.narrow() && wide {
            Bits::Mix
        } else {
            Bits::Stay
        };
        let mut sources = Vec::new();
        self.sources(values, &mut sources)?;
        for source in sources {
            self.flow
                .define(&[node], &[source], &[], Builds::OnOne, bits);
        }
        Ok(())
    }

    /// A write through an address in brackets.
    fn write(&mut self, words: Words<'a>, address: Option<&'a Operand<'a>>) -> Followed<()> {
        if matches!(words.space(), "shared" | "local") {
            return Ok(());
        }
        let base = match address.map(|address| address.kind) {
            Some(
                OperandKind::Address {
                    base: Some(base), ..
                }
                | OperandKind::UnifiedAddress { base, .. },
            ) => base,
            _ => return Err(WritesAll),
        };
        match self.thing(base)? {
            Thing::Register(node) => {
                self.flow.store(node);
                Ok(())
            }
            Thing::Variable => Ok(()),
            _ => Err(WritesAll),
        }
    }

    /// `cp.async` and its like; the first space is the one that is written to.
    fn copy(&mut self, words: Words<'a>, operands: &'a [Operand<'a>]) -> Followed<()> {
        if operands.is_empty()
            || words.has("wait_group")
            || words.has("prefetch")
            || words.space() == "shared"
        {
            return Ok(());
        }
        if words.has("tensor") {
            // Where it writes is said in memory.
            return Err(WritesAll);
        }
        self.write(words, operands.first())
    }

    fn calls(&mut self, operands: &'a [Operand<'a>]) -> Followed<()> {
        let (results, rest) = match operands {
            [
                Operand {
                    kind: OperandKind::List(list),
                    ..
                },
                rest @ ..,
            ] => (self.elements(*list), rest),
            rest => (&[][..], rest),
        };
        let [
            Operand {
                kind: OperandKind::Name(name),
                ..
            },
            rest @ ..,
        ] = rest
        else {
            return Err(WritesAll);
        };
        let arguments = match rest {
            [] => &[][..],
            [
                Operand {
                    kind: OperandKind::List(list),
                    ..
                },
            ] => self.elements(*list),
            _ => return Err(WritesAll),
        };
        match self.thing(*name)? {
            Thing::Function(number) => self.call(number, results, arguments),
            _ => Err(WritesAll),
        }
    }

    /// An instruction on values: the first operand is made of the others.
    fn compute(
        &mut self,
        opcode: Name<'a>,
        words: Words<'a>,
        operands: &'a [Operand<'a>],
    ) -> Followed<()> {
        let (target, rest) = operands.split_first().ok_or(WritesAll)?;
        let (mut nodes, mut sources, mut others) = (Vec::new(), Vec::new(), Vec::new());
        self.targets(target, &mut nodes)?;
        let packs = rest
            .iter()
            .any(|operand| matches!(operand.kind, OperandKind::Vector(_)));
        let selects = matches!(opcode.text, "selp" | "slct");
        let chooses = match opcode.text {
            "min" | "max" => true,
            "mov" => !packs,
            _ => selects,
        };
        for (at, operand) in rest.iter().enumerate() {
            match operand.kind {
                // What a choice depends on is none of its outcomes.
                _ if at >= 2 && selects => self.sources(operand, &mut others)?,
                OperandKind::Int(value) if chooses && value.get() == 0 => sources.push(NULL),
                _ => self.sources(operand, &mut sources)?,
            }
        }
        if matches!(opcode.text, "addc" | "subc" | "madc") {
            others.push(CARRY);
        }
        if words.has("cc") {
            let all = [&sources[..], &others].concat();
            self.flow
                .define(&[CARRY], &all, &[], Builds::Never, Bits::Stay);
        }
        let builds = if COMPARING.contains(&opcode.text) {
            Builds::Never
        } else if chooses {
            Builds::OnAll
        } else {
            Builds::OnOne
        };
        let bits = moved(opcode.text, words, rest, packs);
        self.flow.define(&nodes, &sources, &others, builds, bits);
        Ok(())
    }
}

/// An instruction's modifiers.
#[derive(Clone, Copy)]
struct Words<'a>(&'a [Name<'a>]);

impl Words<'_> {
    fn has(self, word: &str) -> bool {
        self.0.iter().any(|modifier| modifier.text == word)
    }

    /// The first state space, without what stands behind `::`; empty for generic addresses.
    fn space(self) -> &'static str {
        let space = |modifier: &Name<'_>| {
            let word = modifier.text.split("::").next().unwrap_or_default();
            SPACES.iter().find(|space| **space == word)
        };
        self.0.iter().find_map(space).copied().unwrap_or_default()
    }

    /// Whether all values have 32 bits at most: a type says so and none has more.
    fn narrow(self) -> bool {
        let is = |words: &[&str]| self.0.iter().any(|modifier| words.contains(&modifier.text));
        is(NARROW) && !is(WIDE)
    }

    /// Whether floating point is among the types.
    fn float(self) -> bool {
        let float = |modifier: &Name<'_>| FLOATS.iter().any(|it| modifier.text.starts_with(it));
        self.0.iter().any(float)
    }

    /// Bytes that a load reads, or more.
    fn bytes(self) -> i64 {
        let elements = [("v2", 2), ("v4", 4), ("v8", 8)];
        let elements = elements.into_iter().find(|(word, _)| self.has(word));
        let elements = elements.map_or(1, |(_, count)| count);
        let element = self
            .0
            .iter()
            .rev()
            .find_map(|modifier| match modifier.text {
                "b8" | "u8" | "s8" => Some(1),
                "b16" | "u16" | "s16" | "f16" | "bf16" => Some(2),
                "b32" | "u32" | "s32" | "f32" | "f16x2" | "bf16x2" => Some(4),
                "b64" | "u64" | "s64" | "f64" => Some(8),
                _ => None,
            });
        i64::saturating_mul(elements, element.unwrap_or(16))
    }
}

/// What an instruction makes of loaded bits.
fn moved(opcode: &str, words: Words<'_>, operands: &[Operand<'_>], packs: bool) -> Bits {
    if words.narrow() {
        return Bits::Fit;
    }
    let integer = |at: usize| match operands.get(at).map(|operand| operand.kind) {
        Some(OperandKind::Int(value)) => Some(value.get().unsigned_abs()),
        _ => None,
    };
    match opcode {
        "mov" if packs => Bits::Mix,
        "cvt" if words.float() => Bits::Mix,
        "mov" | "cvt" | "cvta" | "add" | "sub" | "addc" | "subc" | "neg" | "not" | "and" | "or"
        | "xor" | "cnot" | "shr" | "min" | "max" | "abs" | "selp" | "slct" | "div" | "rem"
        | "bfe" => Bits::Stay,
        "shl" => match integer(1).and_then(|count| u8::try_from(count).ok()) {
            Some(count) => Bits::Rise(count),
            None => Bits::Mix,
        },
        "mul" | "mad" if !words.float() && !words.has("hi") => match integer(0).or(integer(1)) {
            Some(factor) => Bits::Rise(
                u128::BITS.saturating_sub(factor.saturating_sub(1).leading_zeros()) as u8,
            ),
            None => Bits::Mix,
        },
        _ => Bits::Mix,
    }
}

/// State spaces.
const SPACES: &[&str] = &["global", "shared", "local", "param", "const"];

/// Types of 32 bits and less.
const NARROW: &[&str] = &[
    "pred", "b1", "b4", "b8", "b16", "b32", "u4", "u8", "u16", "u32", "s4", "s8", "s16", "s32",
    "f16", "f16x2", "bf16", "bf16x2", "f32", "tf32", "e4m3", "e5m2", "e4m3x2", "e5m2x2",
];

/// Types of more, and the word by which a result has twice the width.
const WIDE: &[&str] = &["b64", "u64", "s64", "f64", "b128", "f32x2", "wide"];

/// How names of floating-point types begin.
const FLOATS: &[&str] = &[
    "f16", "f32", "f64", "bf16", "tf32", "e4m3", "e5m2", "e2m", "e3m", "ue8m0",
];

/// Instructions that write no memory and make no value.
const SILENT: &[&str] = &[
    "applypriority",
    "bar",
    "barrier",
    "bra",
    "brkpt",
    "brx",
    "exit",
    "fence",
    "griddepcontrol",
    "membar",
    "nanosleep",
    "pmevent",
    "prefetch",
    "prefetchu",
    "ret",
    "setmaxnreg",
    "trap",
];

/// Instructions that make a value of others, or of nothing, and write no memory.
const COMPUTING: &[&str] = &[
    "abs",
    "add",
    "addc",
    "and",
    "bfe",
    "bfi",
    "bmsk",
    "brev",
    "cnot",
    "copysign",
    "cos",
    "createpolicy",
    "cvt",
    "cvta",
    "div",
    "dp2a",
    "dp4a",
    "ex2",
    "fma",
    "getctarank",
    "lg2",
    "lop3",
    "mad",
    "mad24",
    "madc",
    "mapa",
    "max",
    "min",
    "mma",
    "mov",
    "movmatrix",
    "mul",
    "mul24",
    "neg",
    "not",
    "or",
    "prmt",
    "rcp",
    "redux",
    "rem",
    "rsqrt",
    "sad",
    "selp",
    "shf",
    "shfl",
    "shl",
    "shr",
    "sin",
    "slct",
    "sqrt",
    "sub",
    "subc",
    "szext",
    "tanh",
    "vabsdiff",
    "vabsdiff2",
    "vabsdiff4",
    "vadd",
    "vadd2",
    "vadd4",
    "vavrg2",
    "vavrg4",
    "vmad",
    "vmax",
    "vmax2",
    "vmax4",
    "vmin",
    "vmin2",
    "vmin4",
    "vshl",
    "vshr",
    "vsub",
    "vsub2",
    "vsub4",
    "wgmma",
    "wmma",
    "xor",
];

/// Those whose value says something of others: never an address.
const COMPARING: &[&str] = &[
    "activemask",
    "bfind",
    "clz",
    "elect",
    "fns",
    "isspacep",
    "istypep",
    "match",
    "popc",
    "set",
    "setp",
    "testp",
    "vote",
    "vset",
    "vset2",
    "vset4",
];
