//! PTX tokens to the syntax tree.
//!
//! One pass, one token of look-ahead, no recursion that follows the input except inside constant expressions, whose
//! depth is bounded. Debug sections and source locations are checked for form and dropped. What is taken and what
//! is refused follows NVIDIA's assembler.
//!
//! Source: PTX ISA, chapters "Syntax" and "Directives".

mod body;
mod constant;
mod cursor;
mod features;
mod function;
mod operand;
mod section;
mod syntax_error;
mod variable;

#[cfg(test)]
mod tests;

pub use self::syntax_error::SyntaxError;

use hashbrown::HashMap;

use self::cursor::{Cursor, Failure, Parse};
pub(crate) use self::features::{Feature, Features};
use crate::ast::{Item, Linkage, Module, Name, Operand, Slice};
use crate::error::{Location, PtxError};
use crate::lexer::{Token, text_of};
use crate::pool;

/// Parses one PTX source.
///
/// # Errors
///
/// [`SyntaxError`] with the place of the first byte that does not fit.
pub(crate) fn parse(source: &[u8]) -> Result<Module<'_>, PtxError> {
    parse_as(source, Reading::Strict)
}

/// Parses one PTX source and passes over statements and variables that this parser does not know: such a statement becomes one with an
/// opcode of no letters, such a variable is left out.
///
/// # Errors
///
/// As [`parse`], where the text around such a statement does not fit either.
pub(crate) fn parse_around_unknowns(source: &[u8]) -> Result<Module<'_>, PtxError> {
    parse_as(source, Reading::AroundUnknowns)
}

fn parse_as(source: &[u8], reading: Reading) -> Result<Module<'_>, PtxError> {
    let parsed = match text_of(source) {
        Ok(text) => Parser::new(text, reading).and_then(Parser::module),
        Err((pos, error)) => Err(Box::new(Failure { pos, error })),
    };
    parsed.map_err(|failure| PtxError {
        at: Location::of(source, u32::try_from(failure.pos).unwrap_or(u32::MAX)),
        cause: failure.error.into(),
    })
}

/// What becomes of a statement that does not parse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    /// It is the source's error.
    Strict,
    /// It is passed over.
    AroundUnknowns,
}

/// The cursor and the tree built so far.
struct Parser<'s> {
    cursor: Cursor<'s>,
    reading: Reading,
    module: Module<'s>,
    /// Operands of the instruction being read, until their pool range is known.
    pending: Vec<Operand<'s>>,
    /// Vector registers of the function being read: how many elements each has, and its components as operands once they are needed.
    vectors: HashMap<&'s str, (u8, Option<Slice>)>,
}

impl<'s> Parser<'s> {
    fn new(source: &'s str, reading: Reading) -> Parse<Self> {
        // Compiled PTX has about one statement for 25 bytes. Reserving for a part of them saves the first copies of growth, and what is
        // not needed costs little.
        let expected_stmts = source.len() / 64;
        let module = Module {
            version: (0, 0),
            version_pos: 0,
            target: Vec::new(),
            address_size: None,
            debug_section: false,
            only_header: false,
            features: Features::default(),
            items: Vec::new(),
            modifiers: Vec::with_capacity(expected_stmts),
            operands: Vec::with_capacity(expected_stmts),
            stmts: Vec::with_capacity(expected_stmts),
            instrs: Vec::with_capacity(expected_stmts),
            labels: Vec::new(),
            guards: Vec::new(),
        };
        Ok(Self {
            cursor: Cursor::new(source)?,
            reading,
            module,
            pending: Vec::new(),
            vectors: HashMap::new(),
        })
    }

    fn module(mut self) -> Parse<Module<'s>> {
        self.header()?;
        self.module.only_header = self.cursor.token == Token::End;
        while self.cursor.token != Token::End {
            self.item()?;
        }
        self.module.features = std::mem::take(&mut self.cursor.features);
        // What was reserved and is not needed.
        self.module.modifiers.shrink_to_fit();
        self.module.operands.shrink_to_fit();
        self.module.stmts.shrink_to_fit();
        self.module.instrs.shrink_to_fit();
        Ok(self.module)
    }

    /// `.version`, `.target` and perhaps `.address_size`, in this order.
    fn header(&mut self) -> Parse<()> {
        let cursor = &mut self.cursor;
        self.module.version_pos = cursor.pos;
        if !cursor.eat_word(".version")? {
            return Err(cursor.failure(SyntaxError::MissingVersion));
        }
        self.module.version =
            version(cursor).ok_or_else(|| cursor.unexpected("a version such as `7.0`"))?;
        cursor.advance()?;

        if !cursor.at_word(".target") {
            return Err(cursor.failure(SyntaxError::MissingTarget));
        }
        while self.cursor.at_word(".target") {
            self.target()?;
        }

        let cursor = &mut self.cursor;
        if cursor.eat_word(".address_size")? {
            let pos = cursor.pos;
            self.module.address_size = Some((cursor.integer("32 or 64")?, pos));
        }
        Ok(())
    }

    /// `.target word, …`, which the assembler takes in a function too.
    fn target(&mut self) -> Parse<()> {
        let cursor = &mut self.cursor;
        cursor.advance()?;
        loop {
            let word = cursor.name("an architecture or target option")?;
            pool::push(&mut self.module.target, word);
            if !cursor.eat(Token::Comma)? {
                return Ok(());
            }
        }
    }

    fn item(&mut self) -> Parse<()> {
        let cursor = &mut self.cursor;
        if cursor.token != Token::Dot {
            return Err(cursor.unexpected("a directive"));
        }
        match cursor.text() {
            ".alias" => cursor.uses(Feature::Alias),
            ".weak" => cursor.uses(Feature::Weak),
            ".common" => cursor.uses(Feature::Common),
            _ => {}
        }
        let linkage = match cursor.text() {
            ".file" => return section::file(cursor),
            ".section" => {
                self.module.debug_section |= section::section(cursor)?;
                return Ok(());
            }
            ".pragma" => return section::pragma(cursor),
            ".alias" => {
                cursor.advance()?;
                let alias = cursor.name("the new name")?;
                cursor.expect(Token::Comma, "`,`")?;
                let aliasee = cursor.name("the name of a function")?;
                cursor.expect(Token::Semicolon, "`;`")?;
                self.module
                    .items
                    .push(Item::Alias(Box::new([alias, aliasee])));
                return Ok(());
            }
            ".visible" => Linkage::Visible,
            ".extern" => Linkage::Extern,
            ".weak" => Linkage::Weak,
            ".common" => Linkage::Common,
            _ => Linkage::Internal,
        };
        if linkage != Linkage::Internal {
            cursor.advance()?;
        }
        match cursor.text() {
            ".entry" | ".func" if linkage == Linkage::Common => {
                Err(cursor.misplaced("after `.common`"))
            }
            ".entry" => self.function(linkage, true),
            ".func" => self.function(linkage, false),
            _ => {
                // The last is a state space that there is not here.
                let declares = variable::space(cursor).is_some()
                    || cursor.at_word(".align")
                    || cursor.at_word(".tex");
                match self.module_variables(linkage) {
                    Err(failure) if declares => self.pass_over(failure),
                    other => other,
                }
            }
        }
    }

    fn module_variables(&mut self, linkage: Linkage) -> Parse<()> {
        let cursor = &mut self.cursor;
        let align = variable::alignments(cursor, None)?;
        if variable::nothing(cursor)? {
            return Ok(());
        }
        let Some(space) = variable::space(cursor) else {
            return Err(match cursor.token {
                Token::Dot => cursor.misplaced("outside functions"),
                _ => cursor.unexpected("`.entry`, `.func` or a state space"),
            });
        };
        cursor.advance()?;
        let items = &mut self.module.items;
        variable::variables(cursor, linkage, space, align, |variable| {
            pool::push(items, Item::Variable(Box::new(variable)));
        })
    }

    /// Goes on behind the `;` of what does not parse, unless that is the source's error.
    fn pass_over(&mut self, failure: Box<Failure>) -> Parse<()> {
        if self.reading == Reading::Strict || failure.error.is_of_tokens() {
            return Err(failure);
        }
        while self.cursor.token != Token::Semicolon {
            if self.cursor.token == Token::End {
                return Err(failure);
            }
            self.cursor.advance()?;
        }
        self.cursor.advance()
    }
}

/// `major.minor`, which the lexer takes for a floating-point literal.
fn version(cursor: &Cursor<'_>) -> Option<(u32, u32)> {
    if cursor.token != Token::Float {
        return None;
    }
    let (major, minor) = cursor.text().split_once('.')?;
    // The assembler reads 8.10 as 8.1.
    let minor = match minor.as_bytes() {
        [first, b'0'] => u32::from(first.checked_sub(b'0')?),
        _ => minor.parse().ok()?,
    };
    Some((major.parse().ok()?, minor))
}

/// A length of a pool as an index; every entry took at least a byte of a source below 4 GiB.
fn pool_index(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

/// A name or a lone `_`.
fn name_or_underscore<'s>(cursor: &mut Cursor<'s>, expected: &'static str) -> Parse<Name<'s>> {
    match cursor.token {
        Token::Name | Token::Underscore => cursor.take(),
        _ => Err(cursor.unexpected(expected)),
    }
}
