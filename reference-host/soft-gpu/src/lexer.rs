//! PTX source text to tokens, one at a time and without allocation.
//!
//! The rules follow the PTX ISA, chapter "Syntax", and where that is silent what NVIDIA's assembler takes: a `//`
//! comment runs to the next line feed, a form feed is blank, and a `# 1 "file"` line marker may stand anywhere.

use logos::{FilterResult, Logos};

use crate::parser::SyntaxError;

/// One lexical element. Its text is the lexer's current slice.
#[derive(Logos, Clone, Copy, Debug, PartialEq, Eq)]
#[logos(error = LexError)]
#[logos(skip r"[ \t\r\n\x0c]+")]
#[logos(skip(
    r#"//[^\n]*|#(line)?[ \t]*[0-9]+[ \t]*"[^"\n]*"[^\n]*"#,
    allow_greedy = true
))]
pub(crate) enum Token {
    /// A name, an opcode, a register, a label.
    #[regex(r"[A-Za-z][A-Za-z0-9_$]*")]
    #[regex(r"[_$%][A-Za-z0-9_$]+")]
    Name,
    /// A directive, a type or a modifier, with its dot: `.f32`, `.1d`, `.shared::cta`.
    #[regex(r"\.[0-9]*[A-Za-z_][A-Za-z0-9_$]*(::[A-Za-z0-9_]+)*", priority = 4)]
    Dot,
    #[regex(r"0U?|[1-9][0-9]*U?", priority = 8)]
    Decimal,
    #[regex(r"0[xX][0-9A-Fa-f]+U?", priority = 8)]
    Hex,
    #[regex(r"0[0-7]+U?", priority = 8)]
    Octal,
    #[regex(r"0[bB][01]+U?", priority = 8)]
    Binary,
    /// `0f` and eight hexadecimal digits.
    #[regex(r"0[fF][0-9A-Fa-f]{8}", priority = 20)]
    Single,
    /// `0d` and sixteen hexadecimal digits.
    #[regex(r"0[dD][0-9A-Fa-f]{16}", priority = 20)]
    Double,
    #[regex(r"[0-9]+\.[0-9]*([eE][+-]?[0-9]+)?", priority = 20)]
    #[regex(r"\.[0-9]+([eE][+-]?[0-9]+)?", priority = 20)]
    #[regex(r"[0-9]+[eE][+-]?[0-9]+", priority = 20)]
    Float,
    /// Looks like a number, but no rule takes it: `018`, `0f3f8`, `12ab`.
    #[regex(r"[0-9][A-Za-z0-9_$]*", priority = 2)]
    #[regex(r"[0-9]+\.[0-9]*[A-Za-z_$][A-Za-z0-9_$]*", priority = 2)]
    BadNumber,
    /// A string with its quotes; a backslash has no meaning in it.
    #[regex(r#""[^"]*""#)]
    String,
    #[token("{")]
    OpenBrace,
    #[token("}")]
    CloseBrace,
    #[token("(")]
    OpenParen,
    #[token(")")]
    CloseParen,
    #[token("[")]
    OpenBracket,
    #[token("]")]
    CloseBracket,
    #[token("<")]
    Less,
    #[token(">")]
    Greater,
    #[token("<=")]
    LessEqual,
    #[token(">=")]
    GreaterEqual,
    #[token("<<")]
    ShiftLeft,
    #[token(">>")]
    ShiftRight,
    #[token("==")]
    EqualEqual,
    #[token("!=")]
    NotEqual,
    #[token("&&")]
    AndAnd,
    #[token("||")]
    OrOr,
    #[token("&")]
    And,
    #[token("|")]
    Or,
    #[token("^")]
    Xor,
    #[token("~")]
    Tilde,
    #[token("!")]
    Bang,
    #[token("+")]
    Plus,
    #[token("-")]
    Minus,
    #[token("*")]
    Star,
    #[token("/")]
    Slash,
    #[token("%")]
    Percent,
    #[token("?")]
    Question,
    #[token(":")]
    Colon,
    #[token(";")]
    Semicolon,
    #[token(",")]
    Comma,
    #[token("=")]
    Equal,
    #[token("@")]
    At,
    /// A lone `_`: a result that is not wanted, or a name left out.
    #[token("_")]
    Underscore,
    /// Never produced: [`block_comment`] skips the comment or fails.
    #[token("/*", block_comment)]
    Comment,
    /// The end of the source; made by the parser's cursor, never by logos.
    End,
}

/// Why the lexer stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LexError {
    /// No token starts with the byte that stands here.
    #[default]
    Stray,
    /// `/*` without `*/`.
    UnterminatedComment,
}

/// Checks what must hold for the whole text before tokens are taken, and gives it as `str`.
///
/// # Errors
///
/// The byte offset and the cause: a byte order mark, a NUL byte anywhere, bytes that are not UTF-8 (comments and
/// strings may hold any other UTF-8 text), or a source of 4 GiB or more.
pub(crate) fn text_of(source: &[u8]) -> Result<&str, (usize, SyntaxError)> {
    if source.len() >= u32::MAX as usize {
        return Err((0, SyntaxError::SourceTooLarge));
    }
    if source.starts_with(&[0xEF, 0xBB, 0xBF]) {
        return Err((0, SyntaxError::ByteOrderMark));
    }
    let text = str::from_utf8(source);
    let valid = match &text {
        Ok(text) => text.len(),
        Err(error) => error.valid_up_to(),
    };
    // The first defect wins, whichever kind it is.
    if let Some(at) = source.iter().take(valid).position(|byte| *byte == 0) {
        return Err((at, SyntaxError::ControlByte(0)));
    }
    text.map_err(|error| (error.valid_up_to(), SyntaxError::NotUtf8))
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

fn block_comment(lexer: &mut logos::Lexer<'_, Token>) -> FilterResult<(), LexError> {
    match lexer.remainder().find("*/") {
        Some(at) => {
            lexer.bump(at.saturating_add(2));
            FilterResult::Skip
        }
        None => FilterResult::Error(LexError::UnterminatedComment),
    }
}

#[cfg(test)]
mod tests {
    use logos::Logos;

    use super::*;

    fn tokens(source: &str) -> Vec<(Token, &str)> {
        Token::lexer(source)
            .spanned()
            .map(|(token, span)| (token.expect(source), &source[span]))
            .collect()
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
            "a\n# 1 \"f.cu\" 2\nb",
            "a\n#line 7 \"f.cu\"\nb // at the end",
        ] {
            assert_eq!(tokens(source), a_and_b, "{source:?}");
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
        let mut lexer = Token::lexer("a /* b * /");
        assert_eq!(lexer.next(), Some(Ok(Token::Name)));
        assert_eq!(lexer.next(), Some(Err(LexError::UnterminatedComment)));
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
