//! Directives that describe the source for a debugger or tune the compiler: checked for form, then dropped.

use super::SyntaxError;
use super::cursor::{Cursor, Parse, failure_at};
use super::features::Feature;
use crate::lexer::Token;

/// `.file index "name" [, time, bytes]`
pub(super) fn file(cursor: &mut Cursor<'_>) -> Parse<()> {
    cursor.advance()?;
    cursor.integer("the index of the file")?;
    cursor.expect(Token::String, "the name of the file in quotes")?;
    if cursor.token == Token::Comma {
        cursor.uses(Feature::FileTime);
        cursor.advance()?;
        cursor.integer("the time of the file")?;
        cursor.expect(Token::Comma, "`,`")?;
        cursor.integer("the size of the file")?;
    }
    Ok(())
}

/// `.loc file line column [, function_name label] [, inlined_at file line column]`
pub(super) fn location(cursor: &mut Cursor<'_>) -> Parse<()> {
    cursor.advance()?;
    place(cursor)?;
    while cursor.eat(Token::Comma)? {
        match cursor.text() {
            "function_name" => {
                cursor.advance()?;
                label(cursor)?;
            }
            "inlined_at" => {
                cursor.uses(Feature::InlinedAt);
                cursor.advance()?;
                place(cursor)?;
            }
            _ => return Err(cursor.unexpected("`function_name` or `inlined_at`")),
        }
    }
    Ok(())
}

/// `.pragma "text", …;`
pub(super) fn pragma(cursor: &mut Cursor<'_>) -> Parse<()> {
    cursor.uses(Feature::Pragma);
    cursor.advance()?;
    loop {
        cursor.expect(Token::String, "a string in quotes")?;
        if !cursor.eat(Token::Comma)? {
            return cursor.expect(Token::Semicolon, "`,` or `;` after a pragma");
        }
    }
}

/// `.section name { … }`; whether it is a debugger's.
pub(super) fn section(cursor: &mut Cursor<'_>) -> Parse<bool> {
    cursor.uses(Feature::Section);
    cursor.advance()?;
    let name = cursor.dot_word("the name of the section, such as `.debug_info`")?;
    cursor.expect(Token::OpenBrace, "`{`")?;
    loop {
        match cursor.token {
            Token::CloseBrace => {
                cursor.advance()?;
                return Ok(name.text.starts_with("debug_"));
            }
            Token::Name => {
                cursor.uses(Feature::SectionLabel);
                cursor.advance()?;
                cursor.expect(Token::Colon, "`:` after a label")?;
            }
            Token::Dot if matches!(cursor.text(), ".b8" | ".b16" | ".b32" | ".b64") => {
                let bits = match cursor.text() {
                    ".b8" => 8,
                    ".b16" => 16,
                    ".b32" => 32,
                    _ => 64,
                };
                cursor.advance()?;
                datum(cursor, bits)?;
                while cursor.eat(Token::Comma)? {
                    datum(cursor, bits)?;
                }
            }
            _ => {
                return Err(
                    cursor.unexpected("`.b8`, `.b16`, `.b32`, `.b64`, a label or `}` in a section")
                );
            }
        }
    }
}

/// An integer or, where an address fits, `label`, `label+integer` or `label-label`.
fn datum(cursor: &mut Cursor<'_>, bits: u32) -> Parse<()> {
    if bits < 32 || !matches!(cursor.token, Token::Name | Token::Dot) {
        let pos = cursor.pos;
        let negative = cursor.eat(Token::Minus)?;
        let value = cursor.integer("an integer, or a label in `.b32` and `.b64`")?;
        let limit = if negative {
            1u64.checked_shl(bits.saturating_sub(1)).unwrap_or(0)
        } else {
            u64::MAX
                .checked_shr(64u32.saturating_sub(bits))
                .unwrap_or(0)
        };
        // The assembler checks the narrow sizes and wraps the others.
        if bits < 32 && value > limit {
            return Err(failure_at(pos, SyntaxError::DatumTooLarge { bits }));
        }
        return Ok(());
    }
    label(cursor)?;
    if !cursor.eat(Token::Minus)? {
        return Ok(());
    }
    cursor.name("a label").map(drop)
}

/// The name of a label or of a debug section, perhaps with an offset.
fn label(cursor: &mut Cursor<'_>) -> Parse<()> {
    match cursor.token {
        Token::Name => cursor.advance()?,
        Token::Dot if cursor.text().starts_with(".debug_") => cursor.advance()?,
        _ => return Err(cursor.unexpected("a label or the name of a debug section")),
    }
    if cursor.eat(Token::Plus)? {
        cursor.integer("an offset")?;
    }
    Ok(())
}

fn place(cursor: &mut Cursor<'_>) -> Parse<()> {
    cursor.integer("the index of a file")?;
    cursor.integer("a line")?;
    cursor.integer("a column").map(drop)
}
