//! `.alias`: a second name for a device function.

use super::error::{Checked, SemanticError, fail};
use super::module::Verifier;
use super::symbols::{Resolved, Symbol};
use crate::ast::{Linkage, Name};

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
        let reason = if new == old {
            "a function is no alias of itself"
        } else if one.defined {
            "a function with a body cannot become an alias"
        } else if matches!(other.linkage, Linkage::Weak | Linkage::Extern) {
            "a .weak or .extern function cannot have an alias"
        } else if self.aliases.iter().any(|(taken, _)| *taken == new) {
            "it is an alias already"
        } else if one.noreturn != other.noreturn {
            "only one of the two is .noreturn"
        } else if one.params != other.params || one.results != other.results {
            "its parameters or results differ from those of the function it stands for"
        } else {
            self.aliases.push((new, old));
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

    /// Gives every alias the code of the function it stands for.
    pub(super) fn settle_aliases(&mut self) {
        for (alias, mut aliasee) in self.aliases.clone() {
            // An alias of an alias; longer chains than there are aliases would be circles.
            for _ in 0..self.aliases.len() {
                match self.aliases.iter().find(|(new, _)| *new == aliasee) {
                    Some((_, next)) => aliasee = *next,
                    None => break,
                }
            }
            let defined = self
                .declared
                .get(aliasee as usize)
                .is_some_and(|declared| declared.defined);
            let code = self.code().functions.get(aliasee as usize).cloned();
            if let (true, Some(code), Some(declared)) =
                (defined, code, self.declared.get_mut(alias as usize))
                && !declared.defined
            {
                declared.defined = true;
                if let Some(place) = self.code().functions.get_mut(alias as usize) {
                    *place = code;
                }
            }
        }
    }
}
