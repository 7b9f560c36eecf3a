//! `.alias`: a second name for a device function.

use std::collections::{BTreeMap, BTreeSet};

use super::error::{Checked, SemanticError, fail};
use super::module::{DeclaredFunction, Verifier};
use super::symbols::{Resolved, Symbol};
use crate::ast::{Linkage, Name};
use crate::code::NONE;

impl<'a> Verifier<'a> {
    /// `.alias alias, aliasee;`
    pub(super) fn alias(&mut self, alias: Name<'a>, aliasee: Name<'a>) -> Checked<()> {
        if self.ast.version < (6, 3) {
            return fail(
                alias.pos,
                SemanticError::Requires {
                    opcode: ".alias".to_owned(),
                    needed: ".version 6.3 or higher",
                },
            );
        }
        let (new, old) = (self.device_function(alias)?, self.device_function(aliasee)?);
        let [one, other] = [new, old].map(|index| self.declared.get(index as usize));
        let Some((one, other)) = one.zip(other) else {
            return Ok(());
        };
        let taken = self.module.code.aliases.contains_key(&new);
        let reason = if new == old {
            "a function is no alias of itself"
        } else if one.defined {
            "a function with a body cannot become an alias"
        } else if matches!(other.linkage, Linkage::Weak | Linkage::Extern) {
            "a .weak or .extern function cannot have an alias"
        } else if taken {
            "it is an alias already"
        } else if one.noreturn != other.noreturn {
            "only one of the two is .noreturn"
        } else if one.params != other.params || one.results != other.results {
            "its parameters or results differ from those of the function it stands for"
        } else {
            self.module.code.aliases.insert(new, old);
            return Ok(());
        };
        fail(
            alias.pos,
            SemanticError::InvalidDeclaration {
                name: alias.text.to_owned(),
                reason,
            },
        )
    }

    /// The device function `name`.
    fn device_function(&self, name: Name<'a>) -> Checked<u32> {
        match self.scopes.resolve(name.text) {
            Some(Resolved::Symbol(Symbol::Function(index)))
                if self
                    .declared
                    .get(index as usize)
                    .is_some_and(|declared| !declared.entry) =>
            {
                Ok(index)
            }
            Some(_) => fail(
                name.pos,
                SemanticError::OperandForm {
                    expected: "a device function",
                    found: "something else of that name",
                },
            ),
            None => fail(name.pos, SemanticError::UnknownSymbol(name.text.to_owned())),
        }
    }

    /// Leads every alias to a function with a body, and takes it for defined where there is one.
    pub(super) fn settle_aliases(&mut self) {
        let aliases = std::mem::take(&mut self.module.code.aliases);
        let mut settled = BTreeMap::new();
        for &alias in aliases.keys() {
            // An alias may stand for another one. What is on the way is settled together, so that each is passed once.
            let (mut way, mut end) = (BTreeSet::from([alias]), alias);
            while let Some(&next) = settled.get(&end).or_else(|| aliases.get(&end)) {
                end = next;
                if end == NONE || !way.insert(end) {
                    // Circles lead nowhere.
                    end = NONE;
                    break;
                }
            }
            way.remove(&end);
            settled.extend(way.into_iter().map(|passed| (passed, end)));
        }
        let defined = |declared: &[DeclaredFunction<'_>], function: u32| {
            let declared = declared.get(function as usize);
            declared.is_some_and(|declared| declared.defined)
        };
        // A function that has a body after all is none.
        settled.retain(|alias, aliasee| {
            defined(&self.declared, *aliasee) && !defined(&self.declared, *alias)
        });
        for alias in settled.keys() {
            if let Some(declared) = self.declared.get_mut(*alias as usize) {
                declared.defined = true;
            }
        }
        self.module.code.aliases = settled;
    }
}
