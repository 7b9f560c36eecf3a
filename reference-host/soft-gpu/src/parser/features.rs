//! What of the language outside instructions a source uses that not every version and target has.

use crate::ast::Pos;

/// A directive or form of declaration that came with some version or target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Feature {
    Pragma,
    FileTime,
    InlinedAt,
    Section,
    SectionLabel,
    Weak,
    Common,
    Attribute,
    Pointer,
    AddressValue,
    GenericValue,
    MaskedValue,
    BranchTargets,
    CallPrototype,
    CallTargets,
    Alias,
    MinBlocks,
    RequiredBlock,
    AbiPreserve,
    PackedHalves,
    WideType,
}

impl Feature {
    /// What it is called in a message, and the first version and target that have it, as ptxas has it.
    pub(crate) fn since(self) -> (&'static str, (u32, u32), u32) {
        match self {
            Self::Pragma => (".pragma", (2, 0), 0),
            Self::FileTime => (".file with a time and a size", (3, 2), 0),
            Self::InlinedAt => (".loc with inlined_at", (7, 0), 0),
            Self::Section => (".section", (2, 0), 0),
            Self::SectionLabel => ("a label in a .section", (7, 0), 0),
            Self::Weak => (".weak", (3, 1), 0),
            Self::Common => (".common", (5, 0), 0),
            Self::Attribute => (".attribute", (4, 0), 30),
            Self::Pointer => (".ptr", (2, 2), 0),
            Self::AddressValue => ("an address as a value", (2, 1), 0),
            Self::GenericValue => ("generic()", (3, 1), 0),
            Self::MaskedValue => ("a byte of an address as a value", (7, 1), 0),
            Self::BranchTargets => (".branchtargets", (6, 0), 30),
            Self::CallPrototype => (".callprototype", (2, 1), 20),
            Self::CallTargets => (".calltargets", (2, 1), 20),
            Self::Alias => (".alias", (0, 0), 30),
            Self::MinBlocks => (".minnctapersm", (2, 0), 0),
            Self::RequiredBlock => (".reqntid", (2, 1), 0),
            Self::PackedHalves => ("type .f16x2", (4, 2), 53),
            Self::WideType => ("type .b128", (8, 3), 70),
            Self::AbiPreserve => (".abi_preserve", (0, 0), 80),
        }
    }
}

/// The features that a source uses, each with its first place: in all no more than there are features.
#[derive(Debug, Default)]
pub(crate) struct Features(Vec<(Feature, Pos)>);

impl Features {
    /// Notes that `feature` is used at `pos`.
    pub(crate) fn note(&mut self, feature: Feature, pos: Pos) {
        if self.0.iter().all(|(known, _)| *known != feature) {
            self.0.push((feature, pos));
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Feature, Pos)> + '_ {
        self.0.iter().copied()
    }
}
