//! The parser's place in the token stream: one token of look-ahead and what every rule needs.

use super::SyntaxError;
use super::constant::{WARP_LANES, WARP_SZ};
use super::features::{Feature, Features};
use crate::ast::{Name, Pos};
use crate::lexer::{LexError, Lexer, Token, stray};

/// A syntax error and the byte where it stands.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) pos: usize,
    pub(super) error: SyntaxError,
}

pub(super) type Parse<T> = Result<T, Box<Failure>>;

pub(super) struct Cursor<'s> {
    source: &'s str,
    lexer: Lexer<'s>,
    /// The token that comes next; [`Token::End`] after the last.
    pub(super) token: Token,
    /// Where it starts.
    pub(super) pos: Pos,
    pub(super) features: Features,
}

impl<'s> Cursor<'s> {
    pub(super) fn new(source: &'s str) -> Parse<Self> {
        let mut cursor = Self {
            source,
            lexer: Lexer::new(source),
            token: Token::End,
            pos: 0,
            features: Features::default(),
        };
        cursor.advance()?;
        Ok(cursor)
    }

    /// Notes that the next token begins what not every version and target has.
    pub(super) fn uses(&mut self, feature: Feature) {
        self.features.note(feature, self.pos);
    }

    /// The text of the next token.
    pub(super) fn text(&self) -> &'s str {
        self.lexer.slice()
    }

    pub(super) fn advance(&mut self) -> Parse<()> {
        match self.lexer.next() {
            Ok(token) => {
                self.token = token;
                self.pos = Pos::try_from(self.lexer.start()).unwrap_or(Pos::MAX);
                Ok(())
            }
            Err(error) => Err(self.lexical(error)),
        }
    }

    #[cold]
    fn lexical(&self, error: LexError) -> Box<Failure> {
        let pos = self.lexer.start();
        Box::new(Failure {
            pos,
            error: match error {
                LexError::Stray => stray(self.source, pos),
                LexError::UnterminatedComment => SyntaxError::UnterminatedComment,
            },
        })
    }

    /// Takes the next token if it is `token`.
    pub(super) fn eat(&mut self, token: Token) -> Parse<bool> {
        let there = self.token == token;
        if there {
            self.advance()?;
        }
        Ok(there)
    }

    pub(super) fn expect(&mut self, token: Token, expected: &'static str) -> Parse<()> {
        if self.eat(token)? {
            Ok(())
        } else {
            Err(self.unexpected(expected))
        }
    }

    /// Takes a name.
    pub(super) fn name(&mut self, expected: &'static str) -> Parse<Name<'s>> {
        if self.token != Token::Name {
            return Err(self.unexpected(expected));
        }
        self.take()
    }

    /// Takes a dotted word and drops its dot.
    pub(super) fn dot_word(&mut self, expected: &'static str) -> Parse<Name<'s>> {
        if self.token != Token::Dot {
            return Err(self.unexpected(expected));
        }
        let word = self.take()?;
        Ok(Name {
            text: word.text.strip_prefix('.').unwrap_or(word.text),
            pos: word.pos,
        })
    }

    /// Takes the next token, whatever it is, as a name.
    pub(super) fn take(&mut self) -> Parse<Name<'s>> {
        let name = Name {
            text: self.text(),
            pos: self.pos,
        };
        self.advance()?;
        Ok(name)
    }

    /// Whether the next token is the directive `word` (written with its dot).
    pub(super) fn at_word(&self, word: &str) -> bool {
        self.token == Token::Dot && self.text() == word
    }

    /// Takes the directive `word` if it comes next.
    pub(super) fn eat_word(&mut self, word: &str) -> Parse<bool> {
        let there = self.at_word(word);
        if there {
            self.advance()?;
        }
        Ok(there)
    }

    /// Takes an integer literal (no expression) or the constant that has a name.
    pub(super) fn integer(&mut self, expected: &'static str) -> Parse<u64> {
        if self.token == Token::Name && self.text() == WARP_SZ {
            self.advance()?;
            return Ok(WARP_LANES);
        }
        let value = self.integer_value(expected)?;
        self.advance()?;
        Ok(value)
    }

    /// The value of the integer literal that comes next.
    pub(super) fn integer_value(&self, expected: &'static str) -> Parse<u64> {
        let text = self.text();
        let digits = text.strip_suffix('U').unwrap_or(text);
        let (digits, radix) = match self.token {
            Token::Decimal => (digits, 10),
            Token::Octal => (digits, 8),
            Token::Hex => (digits.get(2..).unwrap_or_default(), 16),
            Token::Binary => (digits.get(2..).unwrap_or_default(), 2),
            _ => return Err(self.unexpected(expected)),
        };
        wrapped(digits, radix)
            .ok_or_else(|| self.failure(SyntaxError::NumberTooLarge(shorten(text))))
    }

    /// `error` at the next token.
    pub(super) fn failure(&self, error: SyntaxError) -> Box<Failure> {
        Box::new(Failure {
            pos: self.lexer.start(),
            error,
        })
    }

    /// The next token does not fit.
    #[cold]
    pub(super) fn unexpected(&self, expected: &'static str) -> Box<Failure> {
        self.failure(match self.token {
            Token::End => SyntaxError::UnexpectedEnd { expected },
            Token::BadNumber => SyntaxError::BadNumber(shorten(self.text())),
            _ => {
                let found = format!("`{}`", shorten(self.text()));
                SyntaxError::Unexpected {
                    found: found.into_boxed_str(),
                    expected,
                }
            }
        })
    }

    /// The directive that comes next may not stand here.
    #[cold]
    pub(super) fn misplaced(&self, place: &'static str) -> Box<Failure> {
        self.failure(SyntaxError::MisplacedDirective {
            found: shorten(self.text()),
            place,
        })
    }
}

/// `error` at `pos`, for a place already passed.
pub(super) fn failure_at(pos: Pos, error: SyntaxError) -> Box<Failure> {
    Box::new(Failure {
        pos: pos as usize,
        error,
    })
}

/// Keeps a message readable when the token is as long as the source.
fn shorten(text: &str) -> Box<str> {
    let mut chars = text.char_indices();
    match chars.nth(TEXT_IN_MESSAGE_CHARS) {
        None => text.into(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()).into_boxed_str(),
    }
}

const TEXT_IN_MESSAGE_CHARS: usize = 60;

/// The value of digits modulo 2^64, as ptxas reads them: it gives up where a digit follows on a number whose upper bit is set, and overlooks
/// the other overflows.
fn wrapped(digits: &str, radix: u32) -> Option<u64> {
    digits.chars().try_fold(0u64, |value, digit| {
        let digit = digit.to_digit(radix)?;
        let fits = value.cast_signed() >= 0;
        fits.then(|| {
            value
                .wrapping_mul(u64::from(radix))
                .wrapping_add(u64::from(digit))
        })
    })
}
