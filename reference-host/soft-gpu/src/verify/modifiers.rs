//! The modifiers of one instruction, in whatever order they stand.
//!
//! As in ptxas, only types are told apart by their order; any other modifier may stand anywhere behind the opcode, but for the
//! words that make an opcode of their own with it, such as the `lo` of `mul.lo`.

use super::error::{Checked, SemanticError, Unsupported, fail};
use crate::ast::Name;
use crate::exec::float::Rounding;
use crate::types::Type;

/// An instruction's modifiers, and which of them have been taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Modifiers<'a> {
    pub(crate) opcode: Name<'a>,
    all: &'a [Name<'a>],
    /// A bit for each modifier taken; no instruction has as many modifiers as there are bits.
    taken: u64,
    /// Whether `.pred` may stand among the types and says nothing.
    overlooks_predicates: bool,
}

impl<'a> Modifiers<'a> {
    pub(crate) fn new(opcode: Name<'a>, words: &'a [Name<'a>]) -> Self {
        Self {
            opcode,
            all: words,
            taken: 0,
            overlooks_predicates: overlooks_predicates(opcode.text, words),
        }
    }

    /// The modifiers that have not been taken, with their places, but for types that the assembler overlooks.
    fn rest(&self) -> impl Iterator<Item = (usize, &'a Name<'a>)> + use<'a> {
        let (taken, overlooks) = (self.taken, self.overlooks_predicates);
        self.all
            .iter()
            .enumerate()
            .filter(move |(_, word)| !(overlooks && word.text == "pred"))
            .filter(move |(at, _)| taken.checked_shr(*at as u32).unwrap_or(0) & 1 == 0)
    }

    fn mark(&mut self, at: usize) {
        self.taken |= 1u64.checked_shl(at as u32).unwrap_or(0);
    }

    /// Takes a modifier that is `word`.
    pub(crate) fn take(&mut self, word: &str) -> bool {
        self.take_one(&[word]).is_some()
    }

    /// Takes the first modifier that is one of `words`.
    pub(crate) fn take_one(&mut self, words: &[&str]) -> Option<&'a str> {
        let (at, found) = self.rest().find(|(at, word)| {
            *at < MOST_TAKEN && words.contains(&word.text) && self.may_stand(*at)
        })?;
        self.mark(at);
        if REPEATABLE.contains(&found.text) {
            while let Some((again, _)) = self
                .rest()
                .take_while(|(again, _)| *again < MOST_TAKEN)
                .find(|(_, word)| word.text == found.text)
            {
                self.mark(again);
            }
        }
        Some(found.text)
    }

    /// Whether one of `words` stands there and has not been taken.
    pub(crate) fn has(&self, words: &[&str]) -> Option<&'a str> {
        self.rest()
            .find(|(at, word)| words.contains(&word.text) && self.may_stand(*at))
            .map(|(_, word)| word.text)
    }

    /// A word that is part of the opcode stands behind nothing but other such words.
    fn may_stand(&self, at: usize) -> bool {
        let of_opcode = |word: &Name<'_>| is_part_of_opcode(self.opcode.text, word.text);
        let Some(word) = self.all.get(at).filter(|word| of_opcode(word)) else {
            return true;
        };
        match (self.opcode.text, word.text) {
            (_, "cta" | "cluster" | "warp") | ("wmma", "load" | "store" | "mma") => at == 0,
            ("cp", "async") => {
                at == 0 || self.all.first().is_some_and(|first| first.text == "reduce")
            }
            ("cp", "mbarrier") => at == 1,
            _ => self.all.iter().take(at).all(of_opcode),
        }
    }

    /// Takes a modifier that must be one of `words`; `what` names them in the message.
    pub(crate) fn need_one(&mut self, words: &[&str], what: &'static str) -> Checked<&'a str> {
        match self.take_one(words) {
            Some(word) => Ok(word),
            None => self.missing(what),
        }
    }

    /// Takes a type, whichever it is.
    pub(crate) fn any_type(&mut self) -> Checked<Type> {
        let is_type = |word: &str| Type::of_word(word).is_some() || is_later_type(word);
        let Some((at, first)) = self.rest().find(|(_, word)| is_type(word.text)) else {
            return self.missing("a type");
        };
        if let Some(ty) = Type::of_word(first.text) {
            self.mark(at);
            return Ok(ty);
        }
        if is_later_type(first.text) {
            return fail(
                first.pos,
                Unsupported::Form {
                    opcode: self.opcode.text.to_owned(),
                    what: format!("type .{}", first.text),
                },
            );
        }
        self.missing("a type")
    }

    /// Takes a type that must be one of `types`.
    pub(crate) fn type_of(&mut self, types: &[Type]) -> Checked<Type> {
        let ty = self.any_type()?;
        self.check_type(ty, types)
    }

    /// Checks a type against those the instruction takes.
    pub(crate) fn check_type(&self, ty: Type, types: &[Type]) -> Checked<Type> {
        if types.contains(&ty) {
            return Ok(ty);
        }
        fail(
            self.opcode.pos,
            SemanticError::InvalidType {
                opcode: self.opcode.text.to_owned(),
                ty: ty.word(),
            },
        )
    }

    /// Takes a floating-point rounding modifier.
    pub(crate) fn rounding(&mut self) -> Option<Rounding> {
        Some(match self.take_one(&["rn", "rz", "rm", "rp"])? {
            "rn" => Rounding::Nearest,
            "rz" => Rounding::Zero,
            "rm" => Rounding::Down,
            _ => Rounding::Up,
        })
    }

    /// Takes a rounding to an integral value.
    pub(crate) fn integral_rounding(&mut self) -> Option<Rounding> {
        Some(match self.take_one(&["rni", "rzi", "rmi", "rpi"])? {
            "rni" => Rounding::Nearest,
            "rzi" => Rounding::Zero,
            "rmi" => Rounding::Down,
            _ => Rounding::Up,
        })
    }

    /// Checks that no modifier is left.
    pub(crate) fn end(&self) -> Checked<()> {
        // The assembler overlooks one of the properties that `testp` asks for on whatever else it stands.
        let mut properties = usize::from(self.opcode.text == "testp");
        let mut rest = self.rest().map(|(_, word)| word);
        let extra = rest.find(|word| {
            let property = PROPERTIES.contains(&word.text);
            properties = properties.saturating_add(usize::from(property));
            !property || properties > 1
        });
        match extra {
            None => Ok(()),
            Some(extra) => self.unexpected(extra),
        }
    }

    /// Whether a modifier is one of `words`, taken or not.
    pub(crate) fn names(&self, words: &[&str]) -> bool {
        self.named(words).is_some()
    }

    /// The first modifier that is one of `words`, taken or not.
    pub(crate) fn named(&self, words: &[&str]) -> Option<&'a str> {
        let mut all = self.all.iter().map(|word| word.text);
        all.find(|word| words.contains(word))
    }

    /// Refuses the first modifier that is one of `words`, taken or not.
    pub(crate) fn refuse(&self, words: &[&str]) -> Checked<()> {
        match self.all.iter().find(|word| words.contains(&word.text)) {
            None => Ok(()),
            Some(extra) => self.unexpected(extra),
        }
    }

    /// Fails because the modifier `word`, taken before, does not go with the others.
    pub(crate) fn clash<T>(&self, word: &str) -> Checked<T> {
        match self.all.iter().find(|name| name.text == word) {
            Some(name) => self.unexpected(name),
            None => self.missing("another modifier"),
        }
    }

    fn unexpected<T>(&self, extra: &Name<'_>) -> Checked<T> {
        fail(
            extra.pos,
            SemanticError::UnexpectedModifier {
                opcode: self.opcode.text.to_owned(),
                modifier: extra.text.to_owned(),
            },
        )
    }

    /// The type that [`Modifiers::any_type`] would take.
    pub(crate) fn next_type(&self) -> Option<Type> {
        self.rest().find_map(|(_, word)| Type::of_word(word.text))
    }

    /// The word of the first type that has not been taken, also of one that [`Type`] does not have.
    pub(crate) fn type_word(&self) -> Option<&'a str> {
        self.rest()
            .map(|(_, word)| word.text)
            .find(|word| Type::of_word(word).is_some() || is_later_type(word))
    }

    /// Fails because `what` is not there, or because another word is too many.
    pub(crate) fn missing<T>(&self, what: &'static str) -> Checked<T> {
        self.end()?;
        fail(
            self.opcode.pos,
            SemanticError::MissingModifier {
                opcode: self.opcode.text.to_owned(),
                what,
            },
        )
    }

    /// Fails because the ISA has this form and the software GPU does not.
    pub(crate) fn unsupported<T>(&self, what: impl Into<String>) -> Checked<T> {
        fail(
            self.opcode.pos,
            Unsupported::Form {
                opcode: self.opcode.text.to_owned(),
                what: what.into(),
            },
        )
    }
}

/// Whether `opcode.word` is one opcode.
fn is_part_of_opcode(opcode: &str, word: &str) -> bool {
    match opcode {
        "mul" | "mul24" | "mad" | "mad24" | "madc" | "dp2a" => matches!(word, "lo" | "hi" | "wide"),
        "shf" => matches!(word, "l" | "r"),
        "bar" | "barrier" => matches!(word, "warp" | "cta" | "cluster" | "red" | "arrive"),
        "cvta" => word == "to",
        "cvt" => word == "pack",
        "div" => word == "full",
        "createpolicy" => matches!(word, "fractional" | "range" | "cvt"),
        "pmevent" => word == "mask",
        "brx" => word == "idx",
        "fence" | "membar" => word == "proxy",
        "cp" => matches!(
            word,
            "async"
                | "reduce"
                | "bulk"
                | "commit_group"
                | "wait_group"
                | "wait_all"
                | "mbarrier"
                | "arrive"
        ),
        "wmma" => matches!(word, "load" | "store" | "mma" | "a" | "b" | "c" | "d"),
        "mbarrier" => matches!(
            word,
            "init"
                | "inval"
                | "arrive"
                | "arrive_drop"
                | "expect_tx"
                | "complete_tx"
                | "test_wait"
                | "try_wait"
                | "pending_count"
                | "parity"
        ),
        _ => false,
    }
}

/// Whether the assembler overlooks `.pred` among an instruction's types: where another type selects a form of floats.
fn overlooks_predicates(opcode: &str, words: &[Name<'_>]) -> bool {
    let part = || words.first().map_or("", |word| word.text);
    match opcode {
        "abs" | "add" | "atom" | "cos" | "cvt" | "ex2" | "fma" | "ldmatrix" | "lg2" | "max"
        | "min" | "neg" | "rcp" | "red" | "rsqrt" | "set" | "setp" | "sin" | "sqrt" | "sub"
        | "tanh" => true,
        "mul" => !is_part_of_opcode(opcode, part()),
        "wmma" => part() == "mma",
        _ => false,
    }
}

/// Modifiers that the assembler takes twice.
const REPEATABLE: &[&str] = &[
    "sync",
    "uni",
    "sat",
    "NaN",
    "cc",
    "approx",
    "shiftamt",
    "relu",
    "satfinite",
];

/// What `testp` asks.
const PROPERTIES: &[&str] = &[
    "finite",
    "infinite",
    "number",
    "notanumber",
    "normal",
    "subnormal",
];

/// How many modifiers of an instruction can be taken.
const MOST_TAKEN: usize = 64;

/// Types of the ISA that nothing here implements.
fn is_later_type(word: &str) -> bool {
    const WORDS: &[&str] = &[
        "f32x2", "tf32", "e4m3", "e5m2", "e4m3x2", "e5m2x2", "e2m1x2", "e2m3x2", "e3m2x2",
        "ue8m0x2", "u16x2", "s16x2", "e4m3x4", "e5m2x4", "e2m1x4", "e2m3x4", "e3m2x4", "f64x2",
    ];
    WORDS.contains(&word)
}
