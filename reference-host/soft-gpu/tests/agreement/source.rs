//! A PTX source as tokens, cut down to what one mutant needs.
//!
//! It knows as much of PTX as it takes to find instructions and declarations, and shares no code with the parser that it tests.

use std::ops::Range;

/// One token and the blanks in front of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) blank: String,
    pub(crate) text: String,
}

impl Token {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self {
            blank: " ".to_owned(),
            text: text.into(),
        }
    }

    pub(crate) fn is_name(&self) -> bool {
        self.text
            .starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '$' | '%'))
    }

    pub(crate) fn is_word(&self) -> bool {
        self.text.starts_with('.')
            && self.text[1..].contains(|c: char| c.is_ascii_alphabetic() || c == '_')
    }

    pub(crate) fn is_number(&self) -> bool {
        let digits = self.text.strip_prefix('.').unwrap_or(&self.text);
        digits.starts_with(|c: char| c.is_ascii_digit()) && !self.is_word()
    }
}

/// Splits a source; comments and line markers vanish.
pub(crate) fn tokens(source: &str) -> Vec<Token> {
    let bytes = source.as_bytes();
    let mut tokens = Vec::new();
    let mut blank = String::new();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &source[at..];
        let length = if bytes[at].is_ascii_whitespace() {
            blank.push(bytes[at] as char);
            at += 1;
            continue;
        } else if rest.starts_with("//") || bytes[at] == b'#' {
            at += rest.find('\n').unwrap_or(rest.len());
            continue;
        } else if rest.starts_with("/*") {
            at += rest.find("*/").map_or(rest.len(), |end| end + 2);
            blank.push(' ');
            continue;
        } else {
            token_length(rest)
        };
        tokens.push(Token {
            blank: std::mem::take(&mut blank),
            text: rest[..length].to_owned(),
        });
        at += length;
    }
    tokens
}

fn token_length(rest: &str) -> usize {
    let first = rest.as_bytes()[0];
    let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$');
    let end_of = |from: usize, part: &dyn Fn(char) -> bool| {
        rest[from..]
            .find(|c| !part(c))
            .map_or(rest.len(), |end| from + end)
    };
    match first {
        b'"' => rest[1..].find('"').map_or(rest.len(), |end| end + 2),
        b'.' => end_of(1, &|c| word(c) || c == ':'),
        b'0'..=b'9' => end_of(1, &|c| word(c) || c == '.'),
        b'%' | b'_' | b'$' | b'a'..=b'z' | b'A'..=b'Z' => end_of(1, &word),
        _ if ["<<", ">>", "==", "!=", "<=", ">=", "&&", "||"]
            .iter()
            .any(|pair| rest.starts_with(pair)) =>
        {
            2
        }
        _ => rest.chars().next().map_or(1, char::len_utf8),
    }
}

pub(crate) fn text(tokens: &[Token]) -> String {
    tokens
        .iter()
        .flat_map(|token| [token.blank.as_str(), token.text.as_str()])
        .collect::<String>()
        + "\n"
}

/// What a run of tokens is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// `.version`, `.target`, `.address_size`.
    Header,
    /// Everything else outside bodies: a variable, a function's header.
    Item,
    /// A declaration or directive in a body.
    Declaration,
    /// `name:`
    Label,
    Instruction,
    /// `{` or `}` in a body.
    Brace,
}

/// One statement or module-level directive.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) form: Form,
    pub(crate) range: Range<usize>,
    /// How many braces of bodies are open around it.
    pub(crate) depth: usize,
}

/// The parts of a source, in order and without gaps.
pub(crate) fn parts(tokens: &[Token]) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut at = 0;
    let mut depth = 0;
    let mut entered_body = false;
    while at < tokens.len() {
        let start = at;
        let text = tokens[at].text.as_str();
        let form = if depth == 0 && text == "{" && entered_body {
            depth = 1;
            at += 1;
            Form::Brace
        } else if depth == 0 {
            let form;
            (form, at, entered_body) = module_part(tokens, at);
            form
        } else if text == "{" || text == "}" {
            at += 1;
            depth = if text == "{" { depth + 1 } else { depth - 1 };
            entered_body &= depth > 0;
            Form::Brace
        } else if tokens.get(at + 1).is_some_and(|next| next.text == ":") {
            at += 2;
            Form::Label
        } else if text == ".loc" {
            at += 1;
            let inline = |token: &Token| {
                token.is_number()
                    || token.text == ","
                    || token.text == "function_name"
                    || token.text == "inlined_at"
                    || token.text == "+"
            };
            while tokens.get(at).is_some_and(inline)
                || tokens
                    .get(at - 1)
                    .is_some_and(|t| t.text == "function_name")
            {
                at += 1;
            }
            Form::Declaration
        } else {
            at = end_of_statement(tokens, at);
            if text.starts_with('.') {
                Form::Declaration
            } else {
                Form::Instruction
            }
        };
        parts.push(Part {
            form,
            range: start..at,
            depth,
        });
    }
    parts
}

/// One directive outside bodies: its form, its end, and whether a body follows.
fn module_part(tokens: &[Token], start: usize) -> (Form, usize, bool) {
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text.as_str());
    let mut at = start + 1;
    match text(start) {
        ".version" | ".address_size" => (Form::Header, (at + 1).min(tokens.len()), false),
        ".target" => {
            at += 1;
            while text(at) == "," {
                at += 2;
            }
            (Form::Header, at.min(tokens.len()), false)
        }
        ".file" => {
            at += 2;
            while text(at) == "," {
                at += 2;
            }
            (Form::Item, at.min(tokens.len()), false)
        }
        ".section" => {
            while at < tokens.len() && text(at) != "}" {
                at += 1;
            }
            (Form::Item, (at + 1).min(tokens.len()), false)
        }
        _ => {
            // An initialiser has braces too, but only behind `=`.
            let mut initialised = false;
            while at < tokens.len() {
                match text(at) {
                    ";" => return (Form::Item, at + 1, false),
                    "=" => initialised = true,
                    "{" if !initialised => return (Form::Item, at, true),
                    _ => {}
                }
                at += 1;
            }
            (Form::Item, at, false)
        }
    }
}

fn end_of_statement(tokens: &[Token], start: usize) -> usize {
    tokens[start..]
        .iter()
        .position(|token| token.text == ";")
        .map_or(tokens.len(), |end| start + end + 1)
}

/// The pieces of an instruction, as places in the token list.
#[derive(Clone, Debug)]
pub(crate) struct Instruction {
    pub(crate) opcode: usize,
    pub(crate) modifiers: Range<usize>,
    pub(crate) operands: Vec<Range<usize>>,
    /// The `;`.
    pub(crate) end: usize,
}

pub(crate) fn instruction(tokens: &[Token], range: &Range<usize>) -> Option<Instruction> {
    let mut at = range.start;
    if tokens.get(at)?.text == "@" {
        at += 1;
        if tokens.get(at)?.text == "!" {
            at += 1;
        }
        at += 1;
    }
    let opcode = at;
    if !tokens.get(opcode)?.is_name() {
        return None;
    }
    at += 1;
    let first = at;
    while at < range.end && tokens[at].is_word() {
        at += 1;
    }
    let modifiers = first..at;
    let end = range.end.checked_sub(1)?;
    let mut operands = Vec::new();
    let mut start = at;
    let mut depth = 0usize;
    while at < end {
        match tokens[at].text.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            "," if depth == 0 => {
                operands.push(start..at);
                start = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    if start < end {
        operands.push(start..end);
    }
    Some(Instruction {
        opcode,
        modifiers,
        operands,
        end,
    })
}
