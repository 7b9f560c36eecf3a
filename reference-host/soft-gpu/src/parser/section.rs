//! Directives that describe the source for a debugger or tune the compiler: checked for form, then dropped.

use super::cursor::{Cursor, Parse};
use crate::lexer::Token;

/// `.file index "name" [, time, bytes]`
pub(super) fn file(cursor: &mut Cursor<'_>) -> Parse<()> {
    cursor.advance()?;
    cursor.integer("the index of the file")?;
    cursor.expect(Token::String, "the name of the file in quotes")?;
    if cursor.eat(Token::Comma)? {
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
    cursor.advance()?;
    loop {
        cursor.expect(Token::String, "a string in quotes")?;
        if !cursor.eat(Token::Comma)? {
            return cursor.expect(Token::Semicolon, "`,` or `;` after a pragma");
        }
    }
}

/// `.section name { … }`
pub(super) fn section(cursor: &mut Cursor<'_>) -> Parse<()> {
    cursor.advance()?;
    cursor.dot_word("the name of the section, such as `.debug_info`")?;
    cursor.expect(Token::OpenBrace, "`{`")?;
    loop {
        match cursor.token {
            Token::CloseBrace => return cursor.advance(),
            Token::Name => {
                cursor.advance()?;
                cursor.expect(Token::Colon, "`:` after a label")?;
            }
            Token::Dot if matches!(cursor.text(), ".b8" | ".b16" | ".b32" | ".b64") => {
                cursor.advance()?;
                datum(cursor)?;
                while cursor.eat(Token::Comma)? {
                    datum(cursor)?;
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

/// An integer, `label`, `label+integer` or `label-label`.
fn datum(cursor: &mut Cursor<'_>) -> Parse<()> {
    if matches!(cursor.token, Token::Name | Token::Dot) {
        label(cursor)?;
        if cursor.eat(Token::Minus)? {
            return match cursor.token {
                Token::Dot | Token::Name => cursor.advance(),
                _ => Err(cursor.unexpected("a label")),
            };
        }
        return Ok(());
    }
    cursor.eat(Token::Minus)?;
    cursor.integer("an integer or a label").map(drop)
}

/// The name of a label or section, perhaps with an offset.
fn label(cursor: &mut Cursor<'_>) -> Parse<()> {
    match cursor.token {
        Token::Name | Token::Dot => cursor.advance()?,
        _ => return Err(cursor.unexpected("a label")),
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
