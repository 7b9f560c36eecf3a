//! Directives between the header and the body of a function.
//!
//! Source: PTX ISA, "Performance-Tuning Directives" and "Cluster Dimension Directives".

use super::error::{Checked, SemanticError, Unsupported, fail};
use super::module::Verifier;
use crate::ast::{self, Name};

/// What the directives of a kernel say about launching it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LaunchBounds {
    /// `.maxntid`
    pub(crate) max_block: Option<[u32; 3]>,
    /// `.reqntid`
    pub(crate) required_block: Option<[u32; 3]>,
}

impl<'a> Verifier<'a> {
    /// Checks a function's directives and what they say together.
    pub(super) fn directives(&self, function: &ast::Function<'a>) -> Checked<LaunchBounds> {
        let mut bounds = LaunchBounds::default();
        for (name, numbers) in &function.directives {
            self.directive_exists(*name)?;
            let axes = extents(*name, numbers)?;
            match name.text {
                // The last one counts.
                "maxntid" => bounds.max_block = Some(axes),
                "reqntid" => bounds.required_block = Some(axes),
                "reqnctapercluster" if axes.iter().any(|blocks| *blocks > 1) => {
                    let what = ".reqnctapercluster of more than one block".to_owned();
                    return fail(name.pos, Unsupported::Declaration(what));
                }
                "noreturn" if !function.returns.is_empty() => {
                    return invalid(
                        function.name,
                        "a function that does not return has no results",
                    );
                }
                _ => {}
            }
        }
        let has = |word: &str| {
            let mut directives = function.directives.iter();
            directives.any(|(name, _)| name.text == word)
        };
        if has("maxntid") && has("reqntid") {
            return invalid(function.name, ".maxntid and .reqntid exclude each other");
        }
        if has("reqnctapercluster") && has("maxclusterrank") {
            return invalid(
                function.name,
                ".reqnctapercluster and .maxclusterrank exclude each other",
            );
        }
        if has("blocksareclusters") && !(has("reqntid") && has("reqnctapercluster")) {
            return invalid(
                function.name,
                ".blocksareclusters needs .reqntid and .reqnctapercluster",
            );
        }
        Ok(bounds)
    }

    /// Checks that version and target have a directive.
    pub(super) fn directive_exists(&self, name: Name<'_>) -> Checked<()> {
        let version = self.ast.version;
        let needed = match name.text {
            "noreturn" if version < (6, 4) => ".version 6.4 or higher",
            "abi_preserve" | "abi_preserve_control" | "blocksareclusters" if version < (9, 0) => {
                ".version 9.0 or higher"
            }
            "explicitcluster" | "reqnctapercluster" | "maxclusterrank" if version < (7, 8) => {
                ".version 7.8 or higher"
            }
            "explicitcluster" | "reqnctapercluster" | "maxclusterrank" | "blocksareclusters"
                if self.target < 90 =>
            {
                ".target sm_90 or higher"
            }
            "maxnctapersm" if version >= (2, 1) => ".version 2.0 or lower",
            _ => return Ok(()),
        };
        fail(
            name.pos,
            SemanticError::Requires {
                opcode: format!(".{}", name.text),
                needed,
            },
        )
    }
}

/// The numbers of a directive, those left out 1.
fn extents(name: Name<'_>, numbers: &[u64]) -> Checked<[u32; 3]> {
    let positive = matches!(
        name.text,
        "maxntid" | "reqntid" | "minnctapersm" | "maxnctapersm" | "maxnreg"
    );
    let mut axes = [1; 3];
    for (axis, number) in axes.iter_mut().zip(numbers) {
        match u32::try_from(*number) {
            Ok(number) if number > 0 || !positive => *axis = number,
            _ => {
                return fail(
                    name.pos,
                    SemanticError::OutOfRange {
                        what: "the number of a directive",
                        value: number.to_string(),
                    },
                );
            }
        }
    }
    Ok(axes)
}

fn invalid<T>(name: Name<'_>, reason: &'static str) -> Checked<T> {
    fail(
        name.pos,
        SemanticError::InvalidDeclaration {
            name: name.text.to_owned(),
            reason,
        },
    )
}
