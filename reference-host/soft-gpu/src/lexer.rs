//! PTX source text to tokens, one at a time and without allocation.
//!
//! The rules follow the PTX ISA, chapter "Syntax", and where that is silent what NVIDIA's assembler takes: a `//`
//! comment runs to the next line feed, a form feed is blank, and a `# 1 "file"` line marker may stand anywhere.
//! Every token takes time in proportion to its length and no stack.

mod padding;

pub(crate) use padding::text_of;

use crate::parser::SyntaxError;

/// One lexical element. Its text is the lexer's current slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// A name, an opcode, a register, a label.
    Name,
    /// A directive, a type or a modifier, with its dot: `.f32`, `.1d`, `.shared::cta`.
    Dot,
    Decimal,
    Hex,
    Octal,
    Binary,
    /// `0f` and eight hexadecimal digits.
    Single,
    /// `0d` and sixteen hexadecimal digits.
    Double,
    Float,
    /// Looks like a number, but no rule takes it: `018`, `0f3f8`, `12ab`.
    BadNumber,
    /// A string with its quotes; a backslash has no meaning in it.
    String,
    OpenBrace,
    CloseBrace,
    OpenParen,
    CloseParen,
    OpenBracket,
    CloseBracket,
    Less,
    Greater,
    LessEqual,
    GreaterEqual,
    ShiftLeft,
    ShiftRight,
    EqualEqual,
    NotEqual,
    AndAnd,
    OrOr,
    And,
    Or,
    Xor,
    Tilde,
    Bang,
    Plus,
    Minus,
    Star,
    Slash,
    Percent,
    Question,
    Colon,
    Semicolon,
    Comma,
    Equal,
    At,
    /// A lone `_`: a result that is not wanted, or a name left out.
    Underscore,
    /// The end of the source.
    End,
}

/// Why the lexer stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LexError {
    /// No token starts with the byte that stands here.
    Stray,
    /// `/*` without `*/`.
    UnterminatedComment,
}

/// A place in a source and the token found last.
#[derive(Clone, Debug)]
pub(crate) struct Lexer<'s> {
    source: &'s str,
    start: usize,
    end: usize,
}

impl<'s> Lexer<'s> {
    pub(crate) fn new(source: &'s str) -> Self {
        Self {
            source,
            start: 0,
            end: 0,
        }
    }

    /// The text of the token found last.
    #[inline]
    pub(crate) fn slice(&self) -> &'s str {
        self.source.get(self.start..self.end).unwrap_or_default()
    }

    /// Where the token found last, or the error, starts.
    #[inline]
    pub(crate) fn start(&self) -> usize {
        self.start
    }

    /// Finds the next token.
    ///
    /// # Errors
    ///
    /// No token starts there; [`Lexer::start`] says where.
    pub(crate) fn next(&mut self) -> Result<Token, LexError> {
        let bytes = self.source.as_bytes();
        self.start = self.end;
        match padding::after_padding(bytes, self.end) {
            Ok(start) => self.start = start,
            Err(comment) => {
                self.start = comment;
                return Err(LexError::UnterminatedComment);
            }
        }
        let Some(rest) = bytes.get(self.start..) else {
            return Ok(Token::End);
        };
        let Some((token, length)) = token(rest) else {
            self.end = self.start;
            return Err(LexError::Stray);
        };
        self.end = self.start.saturating_add(length);
        Ok(token)
    }
}

/// The token that `rest` starts with, and its length; `None` if there is none.
fn token(rest: &[u8]) -> Option<(Token, usize)> {
    let Some(&first) = rest.first() else {
        return Some((Token::End, 0));
    };
    let one = |token| Some((token, 1));
    let second = rest.get(1).copied();
    let longer = |next: u8, pair: Token, single: Token| {
        if second == Some(next) {
            Some((pair, 2))
        } else {
            Some((single, 1))
        }
    };
    match first {
        b'a'..=b'z' | b'A'..=b'Z' => Some((Token::Name, run(rest, 1, is_word))),
        b'_' | b'$' | b'%' => match (run(rest, 1, is_word), first) {
            (1, b'_') => one(Token::Underscore),
            (1, b'%') => one(Token::Percent),
            (1, _) => None,
            (length, _) => Some((Token::Name, length)),
        },
        b'0'..=b'9' => Some(number(rest)),
        b'.' => dotted(rest),
        b'"' => memchr::memchr(b'"', rest.get(1..)?)
            .map(|length| (Token::String, length.saturating_add(2))),
        b'{' => one(Token::OpenBrace),
        b'}' => one(Token::CloseBrace),
        b'(' => one(Token::OpenParen),
        b')' => one(Token::CloseParen),
        b'[' => one(Token::OpenBracket),
        b']' => one(Token::CloseBracket),
        b'<' if second == Some(b'<') => Some((Token::ShiftLeft, 2)),
        b'<' => longer(b'=', Token::LessEqual, Token::Less),
        b'>' if second == Some(b'>') => Some((Token::ShiftRight, 2)),
        b'>' => longer(b'=', Token::GreaterEqual, Token::Greater),
        b'=' => longer(b'=', Token::EqualEqual, Token::Equal),
        b'!' => longer(b'=', Token::NotEqual, Token::Bang),
        b'&' => longer(b'&', Token::AndAnd, Token::And),
        b'|' => longer(b'|', Token::OrOr, Token::Or),
        b'^' => one(Token::Xor),
        b'~' => one(Token::Tilde),
        b'+' => one(Token::Plus),
        b'-' => one(Token::Minus),
        b'*' => one(Token::Star),
        b'/' => one(Token::Slash),
        b'?' => one(Token::Question),
        b':' => one(Token::Colon),
        b';' => one(Token::Semicolon),
        b',' => one(Token::Comma),
        b'@' => one(Token::At),
        _ => None,
    }
}

/// What starts with a dot: a word, which digits may lead, or a floating-point literal; the longer of the two.
fn dotted(rest: &[u8]) -> Option<(Token, usize)> {
    let digits = run(rest, 1, is_digit);
    let float = if digits > 1 {
        exponent(rest, digits)
    } else {
        0
    };
    let word = match rest.get(digits) {
        Some(b'a'..=b'z' | b'A'..=b'Z' | b'_') => joined(rest, run(rest, digits, is_word)),
        _ => 0,
    };
    if word > float {
        Some((Token::Dot, word))
    } else if float > 0 {
        Some((Token::Float, float))
    } else {
        None
    }
}

/// Where a word that ends at `end` ends with all that `::` joins to it.
fn joined(rest: &[u8], mut end: usize) -> usize {
    while rest.get(end) == Some(&b':') && rest.get(end.saturating_add(1)) == Some(&b':') {
        let from = end.saturating_add(2);
        let next = run(rest, from, |byte| is_word(byte) && byte != b'$');
        if next == from {
            break;
        }
        end = next;
    }
    end
}

/// What starts with a digit: of all rules the one that takes most.
fn number(rest: &[u8]) -> (Token, usize) {
    let digits = run(rest, 1, is_digit);
    let word = run(rest, digits, is_word);
    if rest.get(digits) == Some(&b'.') {
        let fraction = run(rest, digits.saturating_add(1), is_digit);
        let float = exponent(rest, fraction);
        let bad = run(rest, fraction, is_word);
        return if bad > float {
            (Token::BadNumber, bad)
        } else {
            (Token::Float, float)
        };
    }
    let float = exponent(rest, digits);
    if float > digits && float >= word {
        return (Token::Float, float);
    }
    (integer(rest.get(..word).unwrap_or_default()), word)
}

/// Where `e-12` ends if it starts at `from`; `from` otherwise.
fn exponent(rest: &[u8], from: usize) -> usize {
    if !matches!(rest.get(from), Some(b'e' | b'E')) {
        return from;
    }
    let mut first = from.saturating_add(1);
    if matches!(rest.get(first), Some(b'+' | b'-')) {
        first = first.saturating_add(1);
    }
    let end = run(rest, first, is_digit);
    if end > first { end } else { from }
}

/// The kind of a literal that is all digits, letters, `_` and `$`.
fn integer(text: &[u8]) -> Token {
    let digits = text.strip_suffix(b"U").unwrap_or(text);
    match digits {
        [b'0', b'x' | b'X', hex @ ..] if some(hex, |byte| byte.is_ascii_hexdigit()) => Token::Hex,
        [b'0', b'b' | b'B', bits @ ..] if some(bits, |byte| matches!(byte, b'0' | b'1')) => {
            Token::Binary
        }
        [b'0', octal @ ..] if some(octal, |byte| matches!(byte, b'0'..=b'7')) => Token::Octal,
        [b'0'] => Token::Decimal,
        [b'1'..=b'9', decimal @ ..] if decimal.iter().copied().all(is_digit) => Token::Decimal,
        _ => match text {
            [b'0', b'f' | b'F', bits @ ..] if bits.len() == 8 && all_hex(bits) => Token::Single,
            [b'0', b'd' | b'D', bits @ ..] if bits.len() == 16 && all_hex(bits) => Token::Double,
            _ => Token::BadNumber,
        },
    }
}

fn some(digits: &[u8], fits: impl Fn(u8) -> bool) -> bool {
    !digits.is_empty() && digits.iter().copied().all(fits)
}

fn all_hex(digits: &[u8]) -> bool {
    digits.iter().all(u8::is_ascii_hexdigit)
}

/// The end of the bytes from `from` on that fit.
#[inline]
fn run(rest: &[u8], from: usize, fits: impl Fn(u8) -> bool) -> usize {
    let length = rest.get(from..).map_or(0, |rest| {
        rest.iter().take_while(|byte| fits(**byte)).count()
    });
    from.saturating_add(length)
}

#[inline]
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$')
}

#[inline]
fn is_digit(byte: u8) -> bool {
    byte.is_ascii_digit()
}

/// Names the byte that starts no token.
pub(crate) fn stray(text: &str, at: usize) -> SyntaxError {
    match text.get(at..).and_then(|rest| rest.chars().next()) {
        Some('"') => SyntaxError::UnterminatedString,
        Some(c) if !c.is_ascii() => SyntaxError::NonAscii(c),
        Some(c) if c.is_ascii_control() => {
            SyntaxError::ControlByte(u8::try_from(c).unwrap_or_default())
        }
        Some(c) => SyntaxError::StrayCharacter(c),
        None => SyntaxError::UnexpectedEnd {
            expected: "a token",
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(source: &str) -> Vec<(Token, &str)> {
        let mut lexer = Lexer::new(source);
        let mut tokens = Vec::new();
        loop {
            match lexer.next().expect(source) {
                Token::End => return tokens,
                token => tokens.push((token, lexer.slice())),
            }
        }
    }

    #[test]
    fn one_token_texts_are_taken_whole() {
        let cases: &[(&str, Token)] = &[
            ("add", Token::Name),
            ("a$b_1", Token::Name),
            ("%p1", Token::Name),
            ("%0", Token::Name),
            ("$L__BB0_1", Token::Name),
            ("_Z3fibi", Token::Name),
            ("_", Token::Underscore),
            ("%", Token::Percent),
            (".f32", Token::Dot),
            (".v2", Token::Dot),
            (".1d", Token::Dot),
            (".16x64b", Token::Dot),
            (".shared::cta", Token::Dot),
            (".L2::128B", Token::Dot),
            ("0", Token::Decimal),
            ("0U", Token::Decimal),
            ("18446744073709551615U", Token::Decimal),
            ("0x1fU", Token::Hex),
            ("0XFF", Token::Hex),
            ("017", Token::Octal),
            ("00", Token::Octal),
            ("0b101", Token::Binary),
            ("0f3F800000", Token::Single),
            ("0F3f800000", Token::Single),
            ("0d3FF0000000000000", Token::Double),
            ("1.5", Token::Float),
            ("1.", Token::Float),
            (".5", Token::Float),
            (".5e3", Token::Float),
            ("1e3", Token::Float),
            ("1.5E-3", Token::Float),
            ("018", Token::BadNumber),
            ("0b102", Token::BadNumber),
            ("0x", Token::BadNumber),
            ("1u", Token::BadNumber),
            ("12ab", Token::BadNumber),
            ("0f3f80000", Token::BadNumber),
            ("0f3f8000001", Token::BadNumber),
            ("1.5f", Token::BadNumber),
            ("1.5e", Token::BadNumber),
            ("\"a\\\"", Token::String),
            ("\"a\nb\"", Token::String),
            ("1e+3", Token::Float),
            ("08.0", Token::Float),
            ("1.f", Token::BadNumber),
            (".5e3x", Token::Dot),
            (".5e", Token::Dot),
            (".5e+3", Token::Float),
            (".a::b::c", Token::Dot),
            ("1e3x", Token::BadNumber),
            ("0bU", Token::BadNumber),
            ("00U", Token::Octal),
            ("_a", Token::Name),
            ("<<", Token::ShiftLeft),
            ("||", Token::OrOr),
        ];
        for (text, token) in cases {
            assert_eq!(tokens(text), [(*token, *text)], "{text}");
        }
    }

    #[test]
    fn blanks_comments_and_line_markers_separate_tokens() {
        let a_and_b = [(Token::Name, "a"), (Token::Name, "b")];
        for source in [
            "a b",
            "a\r\nb",
            "a\rb",
            "a\tb\x0c",
            "a/**/b",
            "a/* * / ** */b",
            "a//x\rx\nb",
            "a // x\u{e9}\nb",
            "a // x\u{e9}/* \n b//",
            "a                                                                                   b",
            "a/*\u{e9}*//* // */b//x",
            "a\n# 1 \"f.cu\" 2\nb",
            "a\n#line 7 \"f.cu\"\nb // at the end",
        ] {
            assert_eq!(tokens(source), a_and_b, "{source:?}");
        }
    }

    #[test]
    fn what_no_rule_takes_whole_is_split_or_stray() {
        let cases: &[(&str, &[&str])] = &[
            (".a::", &[".a", ":", ":"]),
            (".a:::b", &[".a", ":", ":", ":", "b"]),
            ("1.5.5", &["1.5", ".5"]),
            ("0x1.5", &["0x1", ".5"]),
            ("1e+x", &["1e", "+", "x"]),
            ("a<<=b", &["a", "<<", "=", "b"]),
            ("===", &["==", "="]),
            ("%%a", &["%", "%a"]),
        ];
        for (source, expected) in cases {
            let found: Vec<_> = tokens(source).into_iter().map(|(_, text)| text).collect();
            assert_eq!(found, *expected, "{source}");
        }
        for source in [
            "$", ".", "`", "\u{1}", "#", "# 1", "#line", "\"a", "\\", ".$",
        ] {
            assert_eq!(
                Lexer::new(source).next(),
                Err(LexError::Stray),
                "{source:?}"
            );
        }
    }

    #[test]
    fn an_address_splits_into_its_parts() {
        let kinds: Vec<_> = tokens("[%rd1+-4]")
            .into_iter()
            .map(|(token, _)| token)
            .collect();
        assert_eq!(
            kinds,
            [
                Token::OpenBracket,
                Token::Name,
                Token::Plus,
                Token::Minus,
                Token::Decimal,
                Token::CloseBracket
            ]
        );
    }

    #[test]
    fn an_unterminated_comment_is_an_error() {
        for comment in ["/* b * /", "/*/", "/*"] {
            let source = format!("a {comment}");
            let mut lexer = Lexer::new(&source);
            assert_eq!(lexer.next(), Ok(Token::Name));
            assert_eq!(lexer.next(), Err(LexError::UnterminatedComment));
            assert_eq!(lexer.start(), 2);
        }
    }

    #[test]
    fn whole_text_checks_name_the_first_defect() {
        let cases: &[(&[u8], usize, SyntaxError)] = &[
            (b"\xEF\xBB\xBF.version", 0, SyntaxError::ByteOrderMark),
            (b"ab\0", 2, SyntaxError::ControlByte(0)),
            (b"a\0b\xff", 1, SyntaxError::ControlByte(0)),
            (b"ab\xff\0", 2, SyntaxError::NotUtf8),
        ];
        for (source, at, error) in cases {
            assert_eq!(text_of(source), Err((*at, error.clone())));
        }
        assert_eq!(text_of("// \u{e9}".as_bytes()), Ok("// \u{e9}"));
    }
}
