//! Headers of `.entry` and `.func`, and prototypes of indirect calls.

use super::cursor::{Cursor, Parse};
use super::features::Feature;
use super::{Parser, name_or_underscore, section, variable};
use crate::ast::{Function, Item, Linkage, Name, Param, Prototype, Slice, Stmt, VarSpace};
use crate::lexer::Token;
use crate::pool;

impl<'s> Parser<'s> {
    /// A function from `.entry` or `.func` on.
    pub(super) fn function(&mut self, linkage: Linkage, entry: bool) -> Parse<()> {
        let cursor = &mut self.cursor;
        cursor.advance()?;
        if cursor.at_word(".attribute") {
            variable::attribute(cursor)?;
        }
        let returns = if !entry && cursor.token == Token::OpenParen {
            params(cursor)?
        } else {
            Vec::new()
        };
        let name = cursor.name("the name of the function")?;
        let params = if cursor.token == Token::OpenParen {
            params(cursor)?
        } else {
            Vec::new()
        };
        let directives = directives(cursor, entry)?;
        let (body, end_pos) = match cursor.token {
            // Only a function may be declared with directives and without a body.
            Token::Semicolon if !entry || directives.is_empty() => {
                cursor.advance()?;
                (None, name.pos)
            }
            // The assembler takes a declaration without its `;` too, before another directive or the end.
            Token::End | Token::Dot if !entry => (None, name.pos),
            Token::OpenBrace => {
                let (body, end_pos) = self.body()?;
                (Some(body), end_pos)
            }
            _ => {
                return Err(
                    cursor.unexpected("`{`, `;` or a directive after the header of a function")
                );
            }
        };
        let function = Function {
            linkage,
            entry,
            name,
            returns,
            params,
            directives,
            body,
            end_pos,
        };
        pool::push(&mut self.module.items, Item::Function(Box::new(function)));
        Ok(())
    }

    /// `.callprototype (…) _ (…);` after its label.
    pub(super) fn prototype(&mut self, name: Name<'s>) -> Parse<()> {
        let cursor = &mut self.cursor;
        cursor.advance()?;
        let returns = if cursor.token == Token::OpenParen {
            params(cursor)?
        } else {
            Vec::new()
        };
        cursor.expect(Token::Underscore, "`_` in the place of a function's name")?;
        let params = if cursor.token == Token::OpenParen {
            params(cursor)?
        } else {
            Vec::new()
        };
        let directives = directives(cursor, false)?;
        cursor.expect(Token::Semicolon, "`;`")?;
        self.module
            .stmts
            .push(Stmt::CallPrototype(Box::new(Prototype {
                name,
                returns,
                params,
                directives,
            })));
        Ok(())
    }

    /// The statements of one function, with the braces around them.
    fn body(&mut self) -> Parse<(Slice, u32)> {
        self.cursor.advance()?;
        self.vectors.clear();
        let start = super::pool_index(self.module.stmts.len());
        let end_pos = self.statements()?;
        Ok((
            Slice {
                start,
                end: super::pool_index(self.module.stmts.len()),
            },
            end_pos,
        ))
    }
}

/// `(param, …)`, from its `(` on.
fn params<'s>(cursor: &mut Cursor<'s>) -> Parse<Vec<Param<'s>>> {
    cursor.advance()?;
    let mut params = Vec::new();
    if cursor.eat(Token::CloseParen)? {
        return Ok(params);
    }
    loop {
        params.push(param(cursor)?);
        if !cursor.eat(Token::Comma)? {
            cursor.expect(Token::CloseParen, "`,` or `)` after a parameter")?;
            return Ok(params);
        }
    }
}

fn param<'s>(cursor: &mut Cursor<'s>) -> Parse<Param<'s>> {
    let before = variable::alignments(cursor, None)?;
    let space = match variable::space(cursor) {
        Some(space @ (VarSpace::Param | VarSpace::Reg)) => space,
        _ => return Err(cursor.unexpected("`.param` or `.reg` and a parameter")),
    };
    cursor.advance()?;
    if cursor.at_word(".attribute") {
        variable::attribute(cursor)?;
    }
    let mut align = variable::alignments(cursor, before)?;
    let ty = cursor.dot_word("the type of the parameter")?;
    if cursor.at_word(".ptr") {
        cursor.uses(Feature::Pointer);
    }
    let ptr = cursor.eat_word(".ptr")?;
    if ptr && matches!(cursor.text(), ".global" | ".shared" | ".const" | ".local") {
        cursor.advance()?;
    }
    if let Some(after) = variable::alignment(cursor)? {
        // On a pointer it describes what is pointed to, not the parameter.
        align = if ptr { align } else { Some(after) };
    }
    let name = name_or_underscore(cursor, "the name of the parameter")?;
    let dims = variable::dimension(cursor, true)?.into_iter().collect();
    Ok(Param {
        space,
        align,
        ty,
        name,
        dims,
        ptr,
    })
}

/// Directives between a header and its body: other ones for kernels than for device functions.
fn directives<'s>(cursor: &mut Cursor<'s>, entry: bool) -> Parse<Vec<(Name<'s>, Vec<u64>)>> {
    let mut directives = Vec::new();
    while cursor.token == Token::Dot {
        match (cursor.text(), entry) {
            (".minnctapersm", true) => cursor.uses(Feature::MinBlocks),
            (".reqntid", true) => cursor.uses(Feature::RequiredBlock),
            (".abi_preserve" | ".abi_preserve_control", false) => cursor.uses(Feature::AbiPreserve),
            _ => {}
        }
        match (cursor.text(), entry) {
            (".pragma", true) => section::pragma(cursor)?,
            (".maxntid" | ".reqntid" | ".reqnctapercluster", true) => {
                let word = cursor.dot_word("a directive")?;
                let mut numbers = vec![cursor.integer("a number")?];
                while numbers.len() < 3 && cursor.eat(Token::Comma)? {
                    numbers.push(cursor.integer("a number")?);
                }
                directives.push((word, numbers));
            }
            (".minnctapersm" | ".maxnctapersm" | ".maxnreg" | ".maxclusterrank", true)
            | (".abi_preserve" | ".abi_preserve_control", false) => {
                let word = cursor.dot_word("a directive")?;
                directives.push((word, vec![cursor.integer("a number")?]));
            }
            (".explicitcluster" | ".blocksareclusters", true) => {
                directives.push((cursor.dot_word("a directive")?, Vec::new()));
            }
            // Once, and first.
            (".noreturn", false) if directives.is_empty() => {
                directives.push((cursor.dot_word("a directive")?, Vec::new()));
            }
            // Anything else begins what follows a declaration without its `;`.
            (word, false) if !DIRECTIVES.contains(&word) => break,
            _ => return Err(cursor.misplaced("between the header and the body of a function")),
        }
    }
    Ok(directives)
}

/// What may stand between a header and its body, of kernels or of device functions.
const DIRECTIVES: &[&str] = &[
    ".maxntid",
    ".reqntid",
    ".reqnctapercluster",
    ".minnctapersm",
    ".maxnctapersm",
    ".maxnreg",
    ".maxclusterrank",
    ".explicitcluster",
    ".blocksareclusters",
    ".noreturn",
    ".abi_preserve",
    ".abi_preserve_control",
];
