//! Operands of instructions.

use super::constant::{Constant, WARP_SZ};
use super::cursor::{Parse, failure_at};
use super::{Parser, Reading, SyntaxError, pool_index};
use crate::ast::{Name, Operand, OperandKind, Slice, Wide};
use crate::lexer::Token;
use crate::limits::MAX_ELEMENTS;
use crate::pool;

impl<'s> Parser<'s> {
    /// One operand; `in_call` lets `(` begin a list of arguments.
    pub(super) fn operand(&mut self, in_call: bool) -> Parse<Operand<'s>> {
        let pos = self.cursor.pos;
        let kind = match self.cursor.token {
            Token::OpenBracket => self.address()?,
            Token::OpenBrace => OperandKind::Vector(self.list(Token::CloseBrace)?),
            Token::OpenParen if in_call => OperandKind::List(self.list(Token::CloseParen)?),
            _ => {
                let first = self.element()?;
                if let OperandKind::Name(name) = first.kind
                    && let Some(parts) = self.whole_vector(name)
                {
                    let kind = OperandKind::Vector(parts);
                    return Ok(Operand { pos, kind });
                }
                // Only a destination comes in two, and it is the first operand.
                if self.cursor.token != Token::Or
                    || !may_pair(first.kind)
                    || !self.pending.is_empty()
                {
                    return Ok(first);
                }
                self.cursor.advance()?;
                let second = self.element()?;
                if matches!(second.kind, OperandKind::Sink)
                    && !matches!(first.kind, OperandKind::Sink)
                {
                    // `d|_` is `d`, for every instruction and operand.
                    return Ok(first);
                }
                if !may_pair(second.kind) {
                    return Err(failure_at(second.pos, second_of_pair()));
                }
                let index = pool_index(self.module.operands.len());
                pool::push(&mut self.module.operands, first);
                pool::push(&mut self.module.operands, second);
                OperandKind::Pair(index, index.saturating_add(1))
            }
        };
        Ok(Operand { pos, kind })
    }

    /// A vector register without a component stands for all of them: the same list wherever it stands.
    fn whole_vector(&mut self, name: Name<'s>) -> Option<Slice> {
        let (count, parts) = self.vectors.get_mut(name.text)?;
        Some(*parts.get_or_insert_with(|| {
            let operands = &mut self.module.operands;
            let start = pool_index(operands.len());
            let pos = name.pos;
            let components = ["x", "y", "z", "w"].into_iter().take(usize::from(*count));
            operands.extend(components.map(|text| Operand {
                pos,
                kind: OperandKind::Member(name, Name { text, pos }),
            }));
            Slice {
                start,
                end: pool_index(operands.len()),
            }
        }))
    }

    /// An operand that holds no other.
    fn element(&mut self) -> Parse<Operand<'s>> {
        let cursor = &mut self.cursor;
        let pos = cursor.pos;
        let kind = match cursor.token {
            Token::Name if cursor.text() != WARP_SZ => {
                let name = cursor.take()?;
                match cursor.token {
                    Token::Dot => OperandKind::Member(name, cursor.dot_word("a component")?),
                    Token::Plus => {
                        cursor.advance()?;
                        OperandKind::NameOffset(name, cursor.offset()?)
                    }
                    Token::OpenBracket => return Err(cursor.failure(SyntaxError::IndexedOperand)),
                    _ => OperandKind::Name(name),
                }
            }
            Token::Underscore => {
                cursor.advance()?;
                OperandKind::Sink
            }
            Token::Bang => {
                cursor.advance()?;
                if cursor.token == Token::Name && cursor.text() != WARP_SZ {
                    OperandKind::Not(cursor.take()?)
                } else {
                    constant(cursor.constant_after_not(pos)?)
                }
            }
            _ if cursor.at_constant() => constant(cursor.constant()?),
            _ => return Err(cursor.unexpected("an operand")),
        };
        Ok(Operand { pos, kind })
    }

    /// `[base]`, `[base+offset]` or `[offset]`, and `.unified` that may follow.
    fn address(&mut self) -> Parse<OperandKind<'s>> {
        let cursor = &mut self.cursor;
        cursor.advance()?;
        let mut base: Option<Name<'s>> = None;
        let mut offset = 0;
        if cursor.token == Token::Name && cursor.text() != WARP_SZ {
            base = Some(cursor.take()?);
            if cursor.eat(Token::Plus)? {
                offset = cursor.offset()?;
            }
        } else if cursor.at_constant() {
            offset = cursor.offset()?;
        } else {
            return Err(cursor.unexpected("an address: a name, or an integer"));
        }
        if cursor.token == Token::Comma {
            if self.reading == Reading::Strict {
                return Err(cursor.failure(SyntaxError::TextureAddress));
            }
            // What it is of remains, where in it goes.
            while !matches!(
                cursor.token,
                Token::CloseBracket | Token::Semicolon | Token::End
            ) {
                cursor.advance()?;
            }
        }
        cursor.expect(Token::CloseBracket, "`+` and an offset, or `]`")?;
        if cursor.eat_word(".unified")? {
            return match base {
                Some(base) => Ok(OperandKind::UnifiedAddress { base, offset }),
                None => Err(cursor.unexpected("the end of an address without a name")),
            };
        }
        Ok(OperandKind::Address { base, offset })
    }

    /// Elements between an opening token and `close`; only a list of arguments may be empty.
    fn list(&mut self, close: Token) -> Parse<Slice> {
        self.cursor.advance()?;
        let start = pool_index(self.module.operands.len());
        if close == Token::CloseParen && self.cursor.eat(close)? {
            return Ok(Slice { start, end: start });
        }
        loop {
            let length = self.module.operands.len().saturating_sub(start as usize);
            if length >= MAX_ELEMENTS {
                return Err(self
                    .cursor
                    .unexpected("the end of the list, which is too long"));
            }
            let element = self.element()?;
            if close == Token::CloseBrace && matches!(element.kind, OperandKind::NameOffset(..)) {
                return Err(failure_at(element.pos, sum_in_vector()));
            }
            pool::push(&mut self.module.operands, element);
            if self.cursor.eat(Token::Comma)? {
                continue;
            }
            self.cursor.expect(close, "`,` or the end of the list")?;
            return Ok(Slice {
                start,
                end: pool_index(self.module.operands.len()),
            });
        }
    }
}

fn may_pair(kind: OperandKind<'_>) -> bool {
    matches!(kind, OperandKind::Name(_) | OperandKind::Sink)
}

fn sum_in_vector() -> SyntaxError {
    SyntaxError::Unexpected {
        found: "sum".into(),
        expected: "a register or a constant in a vector",
    }
}

fn second_of_pair() -> SyntaxError {
    SyntaxError::Unexpected {
        found: "operand".into(),
        expected: "a register or `_` after `|`",
    }
}

fn constant(value: Constant) -> OperandKind<'static> {
    match value {
        Constant::Signed(value) => OperandKind::Int(Wide(value.into())),
        Constant::Unsigned(value) => OperandKind::Int(Wide(value.into())),
        Constant::Float(value) => OperandKind::Float(value),
    }
}
