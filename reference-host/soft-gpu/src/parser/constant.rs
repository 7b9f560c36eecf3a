//! Constant expressions, evaluated while they are read.
//!
//! Integers are 64 bits wide and signed unless a `U`, their size or an operator makes them unsigned; precedence is
//! that of C. Source: PTX ISA, "Constants" and "Integer Constant Expression Evaluation".

use super::SyntaxError;
use super::cursor::{Cursor, Parse, failure_at};
use crate::ast::{FloatLit, Pos};
use crate::lexer::Token;
use crate::limits::MAX_DEPTH;

/// The value of a constant expression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Constant {
    Signed(i64),
    Unsigned(u64),
    Float(FloatLit),
}

impl Constant {
    /// The value as an integer of its own signedness.
    pub(super) fn integer(self) -> Option<i128> {
        match self {
            Self::Signed(value) => Some(value.into()),
            Self::Unsigned(value) => Some(value.into()),
            Self::Float(_) => None,
        }
    }

    /// The value modulo 2^64.
    pub(super) fn bits(self) -> Option<u64> {
        match self {
            Self::Signed(value) => Some(value.cast_unsigned()),
            Self::Unsigned(value) => Some(value),
            Self::Float(_) => None,
        }
    }

    /// The truth of an integer; there is none of other constants.
    fn truth(self, pos: Pos) -> Parse<bool> {
        self.bits()
            .map(|bits| bits != 0)
            .ok_or_else(|| failure_at(pos, SyntaxError::ConstantKinds))
    }

    fn of_float(value: f64) -> Self {
        Self::Float(FloatLit::Double(value.to_bits()))
    }

    fn of_bool(value: bool) -> Self {
        Self::Signed(value.into())
    }
}

impl Cursor<'_> {
    /// Whether the next token can only start a constant expression.
    pub(super) fn at_constant(&self) -> bool {
        match self.token {
            Token::Decimal
            | Token::Hex
            | Token::Octal
            | Token::Binary
            | Token::Single
            | Token::Double
            | Token::Float
            | Token::Minus
            | Token::Plus
            | Token::Tilde
            | Token::Bang
            | Token::OpenParen => true,
            Token::Name => self.text() == WARP_SZ,
            _ => false,
        }
    }

    pub(super) fn constant(&mut self) -> Parse<Constant> {
        let value = self.unary(0)?;
        self.ternary(value, 0)
    }

    /// The rest of an expression whose leading `!` at `pos` has been taken.
    pub(super) fn constant_after_not(&mut self, pos: Pos) -> Parse<Constant> {
        let value = Constant::of_bool(!self.unary(1)?.truth(pos)?);
        self.ternary(value, 0)
    }

    /// A constant expression as the offset of an address, modulo 2^64.
    pub(super) fn offset(&mut self) -> Parse<i64> {
        let pos = self.pos;
        let value = self.constant()?;
        value
            .bits()
            .map(u64::cast_signed)
            .ok_or_else(|| failure_at(pos, SyntaxError::IntegerNeeded))
    }

    /// Continues after `condition` with binary operators and `? :`, which takes only integers.
    fn ternary(&mut self, condition: Constant, depth: u32) -> Parse<Constant> {
        let condition = self.binary(condition, 1, depth)?;
        let pos = self.pos;
        if !self.eat(Token::Question)? {
            return Ok(condition);
        }
        let depth = self.deeper(depth)?;
        let condition = condition.truth(pos)?;
        let first = self.unary(depth)?;
        let first = self.ternary(first, depth)?;
        self.expect(Token::Colon, "`:` between the values of `? :`")?;
        let second = self.unary(depth)?;
        let second = self.ternary(second, depth)?;
        if first.bits().is_none() || second.bits().is_none() {
            return Err(failure_at(pos, SyntaxError::ConstantKinds));
        }
        Ok(if condition { first } else { second })
    }

    /// Continues after `left` with operators that bind at least as tightly as `least`.
    fn binary(&mut self, mut left: Constant, least: u8, depth: u32) -> Parse<Constant> {
        loop {
            let operator = self.token;
            let level = precedence(operator);
            if level < least {
                return Ok(left);
            }
            let pos = self.pos;
            self.advance()?;
            let right = self.unary(depth)?;
            // Levels rise at each step in, so this recursion is at most as deep as the table of precedences.
            let right = self.binary(right, level.saturating_add(1), depth)?;
            left = apply(operator, left, right, pos)?;
        }
    }

    fn unary(&mut self, depth: u32) -> Parse<Constant> {
        match self.token {
            Token::Minus | Token::Plus | Token::Tilde | Token::Bang => {
                let depth = self.deeper(depth)?;
                let (operator, pos) = (self.token, self.pos);
                self.advance()?;
                let value = self.unary(depth)?;
                prefix(operator, value, pos)
            }
            Token::OpenParen => {
                let depth = self.deeper(depth)?;
                self.advance()?;
                if self.token == Token::Dot {
                    return self.cast(depth);
                }
                let value = self.unary(depth)?;
                let value = self.ternary(value, depth)?;
                self.expect(Token::CloseParen, "`)`")?;
                Ok(value)
            }
            _ => self.literal(),
        }
    }

    /// `.s64) value` or `.u64) value`, its `(` taken.
    fn cast(&mut self, depth: u32) -> Parse<Constant> {
        let signed = match self.text() {
            ".s64" => true,
            ".u64" => false,
            _ => return Err(self.unexpected("`.s64` or `.u64` as the type of a cast")),
        };
        self.advance()?;
        self.expect(Token::CloseParen, "`)` after the type of a cast")?;
        let pos = self.pos;
        let bits = self
            .unary(depth)?
            .bits()
            .ok_or_else(|| failure_at(pos, SyntaxError::ConstantKinds))?;
        Ok(if signed {
            Constant::Signed(bits.cast_signed())
        } else {
            Constant::Unsigned(bits)
        })
    }

    fn literal(&mut self) -> Parse<Constant> {
        let text = self.text();
        let value = match self.token {
            Token::Decimal | Token::Hex | Token::Octal | Token::Binary => {
                let value = self.integer_value("an integer")?;
                match i64::try_from(value) {
                    Ok(value) if !text.ends_with('U') => Constant::Signed(value),
                    _ => Constant::Unsigned(value),
                }
            }
            // The lexer has counted the digits, so neither parse can fail.
            Token::Single => {
                let bits =
                    u32::from_str_radix(text.get(2..).unwrap_or_default(), 16).unwrap_or_default();
                Constant::Float(FloatLit::Single(bits))
            }
            Token::Double => {
                let bits =
                    u64::from_str_radix(text.get(2..).unwrap_or_default(), 16).unwrap_or_default();
                Constant::Float(FloatLit::Double(bits))
            }
            Token::Float => Constant::of_float(text.parse().unwrap_or(f64::NAN)),
            Token::Name if text == WARP_SZ => Constant::Signed(WARP_LANES.cast_signed()),
            _ => return Err(self.unexpected("a constant")),
        };
        self.advance()?;
        Ok(value)
    }

    fn deeper(&self, depth: u32) -> Parse<u32> {
        if depth >= MAX_DEPTH {
            return Err(self.failure(SyntaxError::TooDeep { limit: MAX_DEPTH }));
        }
        Ok(depth.saturating_add(1))
    }
}

/// How tightly a binary operator binds; 0 for any other token.
fn precedence(token: Token) -> u8 {
    match token {
        Token::OrOr => 1,
        Token::AndAnd => 2,
        Token::Or => 3,
        Token::Xor => 4,
        Token::And => 5,
        Token::EqualEqual | Token::NotEqual => 6,
        Token::Less | Token::LessEqual | Token::Greater | Token::GreaterEqual => 7,
        Token::ShiftLeft | Token::ShiftRight => 8,
        Token::Plus | Token::Minus => 9,
        Token::Star | Token::Slash | Token::Percent => 10,
        _ => 0,
    }
}

fn prefix(operator: Token, value: Constant, pos: Pos) -> Parse<Constant> {
    Ok(match (operator, value) {
        (_, Constant::Float(FloatLit::Single(_))) => {
            return Err(failure_at(pos, SyntaxError::SingleInExpression));
        }
        (Token::Plus, value) => value,
        (Token::Minus, Constant::Signed(value)) => Constant::Signed(value.wrapping_neg()),
        (Token::Minus, Constant::Unsigned(value)) => Constant::Unsigned(value.wrapping_neg()),
        (Token::Minus, Constant::Float(FloatLit::Double(bits))) => {
            Constant::Float(FloatLit::Double(bits ^ (1 << 63)))
        }
        (Token::Bang, value) => Constant::of_bool(!value.truth(pos)?),
        (_, value) => {
            let bits = value
                .bits()
                .ok_or_else(|| failure_at(pos, SyntaxError::ConstantKinds))?;
            Constant::Unsigned(!bits)
        }
    })
}

fn apply(operator: Token, left: Constant, right: Constant, pos: Pos) -> Parse<Constant> {
    match (left, right) {
        (Constant::Float(FloatLit::Single(_)), _) | (_, Constant::Float(FloatLit::Single(_))) => {
            return Err(failure_at(pos, SyntaxError::SingleInExpression));
        }
        (Constant::Float(FloatLit::Double(left)), Constant::Float(FloatLit::Double(right))) => {
            return float_operator(operator, f64::from_bits(left), f64::from_bits(right), pos);
        }
        _ => {}
    }
    let (Some(a), Some(b)) = (left.bits(), right.bits()) else {
        return Err(failure_at(pos, SyntaxError::ConstantKinds));
    };
    let zero = || failure_at(pos, SyntaxError::DivisionByZero);
    let (x, y) = (a.cast_signed(), b.cast_signed());
    let left_signed = matches!(left, Constant::Signed(_));
    let signed = left_signed && matches!(right, Constant::Signed(_));
    let arithmetic = |bits: u64| {
        if signed {
            Constant::Signed(bits.cast_signed())
        } else {
            Constant::Unsigned(bits)
        }
    };
    let order = if signed { x.cmp(&y) } else { a.cmp(&b) };
    Ok(match operator {
        Token::Plus => arithmetic(a.wrapping_add(b)),
        Token::Minus => arithmetic(a.wrapping_sub(b)),
        Token::Star => arithmetic(a.wrapping_mul(b)),
        Token::Slash | Token::Percent if b == 0 => return Err(zero()),
        // The one quotient that does not fit wraps to its dividend.
        Token::Slash if signed => Constant::Signed(x.checked_div(y).unwrap_or(x)),
        Token::Slash => Constant::Unsigned(a.checked_div(b).ok_or_else(zero)?),
        Token::Percent if signed => Constant::Signed(x.checked_rem(y).unwrap_or(0)),
        Token::Percent => Constant::Unsigned(a.checked_rem(b).ok_or_else(zero)?),
        // A shift keeps the type of its left side; counts of 64 and more push every bit out.
        Token::ShiftLeft => {
            let bits = u32::try_from(b)
                .ok()
                .and_then(|count| a.checked_shl(count))
                .unwrap_or(0);
            if left_signed {
                Constant::Signed(bits.cast_signed())
            } else {
                Constant::Unsigned(bits)
            }
        }
        Token::ShiftRight if left_signed => Constant::Signed(
            x.checked_shr(u32::try_from(b).unwrap_or(u32::MAX))
                .unwrap_or(if x < 0 { -1 } else { 0 }),
        ),
        Token::ShiftRight => Constant::Unsigned(
            u32::try_from(b)
                .ok()
                .and_then(|count| a.checked_shr(count))
                .unwrap_or(0),
        ),
        Token::AndAnd => Constant::of_bool(a != 0 && b != 0),
        Token::OrOr => Constant::of_bool(a != 0 || b != 0),
        Token::And => Constant::Unsigned(a & b),
        Token::Or => Constant::Unsigned(a | b),
        Token::Xor => Constant::Unsigned(a ^ b),
        Token::EqualEqual => Constant::of_bool(order.is_eq()),
        Token::NotEqual => Constant::of_bool(order.is_ne()),
        Token::Less => Constant::of_bool(order.is_lt()),
        Token::LessEqual => Constant::of_bool(order.is_le()),
        Token::Greater => Constant::of_bool(order.is_gt()),
        _ => Constant::of_bool(order.is_ge()),
    })
}

fn float_operator(operator: Token, left: f64, right: f64, pos: Pos) -> Parse<Constant> {
    Ok(match operator {
        Token::Plus => Constant::of_float(left + right),
        Token::Minus => Constant::of_float(left - right),
        Token::Star => Constant::of_float(left * right),
        Token::Slash if right == 0.0 => return Err(failure_at(pos, SyntaxError::DivisionByZero)),
        Token::Slash => Constant::of_float(left / right),
        Token::EqualEqual => Constant::of_bool(left == right),
        Token::NotEqual => Constant::of_bool(left != right),
        Token::Less => Constant::of_bool(left < right),
        Token::LessEqual => Constant::of_bool(left <= right),
        Token::Greater => Constant::of_bool(left > right),
        Token::GreaterEqual => Constant::of_bool(left >= right),
        _ => return Err(failure_at(pos, SyntaxError::ConstantKinds)),
    })
}

/// The number of lanes of a warp, a constant of the language.
pub(super) const WARP_SZ: &str = "WARP_SZ";
/// Its value.
pub(super) const WARP_LANES: u64 = 32;
