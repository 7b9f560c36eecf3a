//! Declarations of variables and their initial values.

use super::SyntaxError;
use super::constant::Constant;
use super::cursor::{Cursor, Parse, failure_at};
use super::features::Feature;
use crate::ast::{
    FloatLit, Init, InitAddress, InitLeaf, InitValue, Linkage, Name, Pos, VarSpace, Variable,
    VariableExtras,
};
use crate::lexer::Token;
use crate::limits::MAX_BRACES;
use crate::pool;
use crate::types::Type;

/// The state space named by the next token, if it is one in which variables are declared.
pub(super) fn space(cursor: &Cursor<'_>) -> Option<VarSpace> {
    if cursor.token != Token::Dot {
        return None;
    }
    Some(match cursor.text() {
        ".reg" => VarSpace::Reg,
        ".param" => VarSpace::Param,
        ".shared" => VarSpace::Shared,
        ".local" => VarSpace::Local,
        ".global" => VarSpace::Global,
        ".const" => VarSpace::Const,
        _ => return None,
    })
}

/// Takes `.b32;`, which declares nothing in no space, if it comes next.
pub(super) fn nothing(cursor: &mut Cursor<'_>) -> Parse<bool> {
    let word = cursor.text().strip_prefix('.').unwrap_or_default();
    if cursor.token != Token::Dot || !is_declarable(word) {
        return Ok(false);
    }
    match word {
        "f16x2" => cursor.uses(Feature::PackedHalves),
        "b128" => cursor.uses(Feature::WideType),
        _ => {}
    }
    cursor.advance()?;
    cursor.expect(Token::Semicolon, "`;` after a type without a space")?;
    Ok(true)
}

/// Whether variables may be of the type that a word names.
fn is_declarable(word: &str) -> bool {
    Type::of_word(word).is_some() && !word.starts_with("bf16")
}

/// The rest of a declaration after its state space, one call of `declare` for each variable.
pub(super) fn variables<'s>(
    cursor: &mut Cursor<'s>,
    linkage: Linkage,
    space: VarSpace,
    align: Option<u64>,
    mut declare: impl FnMut(Variable<'s>),
) -> Parse<()> {
    if cursor.at_word(".attribute") {
        if space != VarSpace::Global {
            return Err(cursor.misplaced("on a variable outside .global space"));
        }
        attribute(cursor)?;
    }
    let align = alignments(cursor, align)?;
    let vector = if cursor.eat_word(".v2")? {
        2
    } else if cursor.eat_word(".v4")? {
        4
    } else {
        1
    };
    let ty = cursor.dot_word("a type")?;
    // The assembler takes a declaration of nothing, of a type that variables have.
    if cursor.token == Token::Semicolon {
        if !is_declarable(ty.text) {
            return Err(failure_at(
                ty.pos,
                SyntaxError::Unexpected {
                    found: ty.text.into(),
                    expected: "a type of variables",
                },
            ));
        }
        return cursor.advance();
    }
    loop {
        let name = cursor.name("the name of a variable")?;
        let mut count = None;
        let mut dims = Vec::new();
        if cursor.eat(Token::Less)? {
            count = Some(cursor.integer("the number of variables")?);
            cursor.expect(Token::Greater, "`>`")?;
        } else {
            while let Some(dim) = dimension(cursor, dims.is_empty())? {
                dims.push(dim);
            }
        }
        let init = if cursor.eat(Token::Equal)? {
            Some(initialiser(cursor)?)
        } else {
            None
        };
        let plain = align.is_none() && count.is_none() && dims.is_empty() && init.is_none();
        let extras = VariableExtras {
            align,
            count,
            dims,
            init,
        };
        declare(Variable {
            linkage,
            space,
            vector,
            ty,
            name,
            extras: (!plain).then(|| Box::new(extras)),
        });
        if !cursor.eat(Token::Comma)? {
            return cursor.expect(Token::Semicolon, "`,` or `;` after a variable");
        }
    }
}

/// Any number of `.align N` after `align`: the assembler takes them before a state space and after it. The strictest counts,
/// but none may be a bad one: then that is given, for the verifier to refuse.
pub(super) fn alignments(cursor: &mut Cursor<'_>, mut align: Option<u64>) -> Parse<Option<u64>> {
    while let Some(more) = alignment(cursor)? {
        align = match align {
            Some(bad) if !bad.is_power_of_two() => align,
            Some(align) if more.is_power_of_two() => Some(align.max(more)),
            _ => Some(more),
        };
    }
    Ok(align)
}

/// `.align N`, if it comes next.
pub(super) fn alignment(cursor: &mut Cursor<'_>) -> Parse<Option<u64>> {
    if cursor.eat_word(".align")? {
        cursor.integer("an alignment in bytes").map(Some)
    } else {
        Ok(None)
    }
}

/// `[N]`, or `[]` where the size may be left open, if it comes next.
pub(super) fn dimension(cursor: &mut Cursor<'_>, may_be_open: bool) -> Parse<Option<Option<u64>>> {
    if !cursor.eat(Token::OpenBracket)? {
        return Ok(None);
    }
    if may_be_open && cursor.eat(Token::CloseBracket)? {
        return Ok(Some(None));
    }
    let elements = cursor.integer("the number of elements")?;
    cursor.expect(Token::CloseBracket, "`]`")?;
    Ok(Some(Some(elements)))
}

/// `.attribute(.managed)` and its like: hints that say nothing about the value.
pub(super) fn attribute(cursor: &mut Cursor<'_>) -> Parse<()> {
    cursor.uses(Feature::Attribute);
    cursor.advance()?;
    cursor.expect(Token::OpenParen, "`(`")?;
    loop {
        if cursor.eat_word(".unified")? {
            cursor.expect(Token::OpenParen, "`(`")?;
            cursor.integer("a number")?;
            cursor.expect(Token::Comma, "`,`")?;
            cursor.integer("a number")?;
            cursor.expect(Token::CloseParen, "`)`")?;
        } else if !cursor.eat_word(".managed")? {
            return Err(cursor.unexpected("`.managed` or `.unified`"));
        }
        if !cursor.eat(Token::Comma)? {
            return cursor.expect(Token::CloseParen, "`)`");
        }
    }
}

fn initialiser<'s>(cursor: &mut Cursor<'s>) -> Parse<Init<'s>> {
    let mut init = Init {
        pos: cursor.pos,
        leaves: Vec::new(),
    };
    let mut path: Vec<u32> = Vec::new();
    // Whether the next leaf's path is that of the last with one more in its last place.
    let mut follows = true;
    loop {
        if cursor.token == Token::OpenBrace {
            if path.len() >= MAX_BRACES as usize {
                return Err(cursor.failure(SyntaxError::TooDeep { limit: MAX_BRACES }));
            }
            cursor.advance()?;
            path.push(0);
            follows = false;
            if cursor.token != Token::CloseBrace {
                continue;
            }
        } else {
            let pos = cursor.pos;
            let value = value(cursor)?;
            if path.is_empty() {
                init.leaves.reserve_exact(1);
            }
            pool::push(
                &mut init.leaves,
                InitLeaf {
                    path: (!follows).then(|| Box::new(path.clone())),
                    pos,
                    value,
                },
            );
            follows = true;
        }
        // After an element: the next one, or the end of as many lists as end here.
        loop {
            if path.is_empty() {
                return Ok(init);
            }
            if cursor.eat(Token::CloseBrace)? {
                path.pop();
                follows = false;
            } else if cursor.eat(Token::Comma)? {
                if let Some(index) = path.last_mut() {
                    *index = index.saturating_add(1);
                }
                break;
            } else {
                return Err(cursor.unexpected("`,` or `}` after an initial value"));
            }
        }
    }
}

fn value<'s>(cursor: &mut Cursor<'s>) -> Parse<InitValue<'s>> {
    if !cursor.at_constant() {
        cursor.uses(Feature::AddressValue);
        let (name, generic, offset) = address(cursor)?;
        return Ok(InitValue::Address(Box::new(InitAddress {
            name,
            generic,
            offset,
            mask: None,
        })));
    }
    let pos = cursor.pos;
    match cursor.constant()? {
        Constant::Float(FloatLit::Single(bits)) => Ok(InitValue::Single(bits)),
        Constant::Float(FloatLit::Double(bits)) => Ok(InitValue::Double(bits)),
        value if cursor.token == Token::OpenParen => {
            cursor.uses(Feature::MaskedValue);
            cursor.advance()?;
            let (name, generic, offset) = address(cursor)?;
            cursor.expect(Token::CloseParen, "`)` after the masked address")?;
            Ok(InitValue::Address(Box::new(InitAddress {
                name,
                generic,
                offset,
                mask: Some(mask(value, pos)?),
            })))
        }
        value => Ok(InitValue::Int(value.bits().unwrap_or_default())),
    }
}

/// `name` or `generic(name)`, perhaps with an offset.
fn address<'s>(cursor: &mut Cursor<'s>) -> Parse<(Name<'s>, bool, i64)> {
    let mut name =
        cursor.name("an initial value: a constant, or the name of a variable or function")?;
    let generic = name.text == "generic" && cursor.eat(Token::OpenParen)?;
    if generic {
        cursor.uses(Feature::GenericValue);
        name = cursor.name("the name of a variable")?;
        cursor.expect(Token::CloseParen, "`)`")?;
    }
    let offset = if cursor.eat(Token::Plus)? {
        cursor.offset()?
    } else {
        0
    };
    Ok((name, generic, offset))
}

fn mask(value: Constant, pos: Pos) -> Parse<u64> {
    value
        .integer()
        .and_then(|value| u64::try_from(value).ok())
        .ok_or_else(|| failure_at(pos, SyntaxError::IntegerNeeded))
}
