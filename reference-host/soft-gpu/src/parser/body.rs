//! Statements of a function body.

use super::cursor::Parse;
use super::{Parser, SyntaxError, pool_index, section, variable};
use crate::ast::{Guard, Instr, Linkage, Name, Pos, Slice, Stmt, VarSpace};
use crate::lexer::Token;

impl<'s> Parser<'s> {
    /// Reads up to and including the brace that ends the function, and gives its place.
    pub(super) fn statements(&mut self) -> Parse<Pos> {
        let mut depth = 0u32;
        loop {
            let pos = self.cursor.pos;
            match self.cursor.token {
                Token::Name => self.label_or_instruction()?,
                Token::At => self.guarded()?,
                Token::Dot => self.body_directive()?,
                Token::OpenBrace => {
                    if depth >= MAX_SCOPES {
                        return Err(self
                            .cursor
                            .failure(SyntaxError::TooDeep { limit: MAX_SCOPES }));
                    }
                    depth = depth.saturating_add(1);
                    self.module.stmts.push(Stmt::Open);
                    self.cursor.advance()?;
                }
                Token::CloseBrace => {
                    self.cursor.advance()?;
                    if depth == 0 {
                        return Ok(pos);
                    }
                    depth = depth.saturating_sub(1);
                    // An empty scope means nothing, and at two bytes each many of them would cost the most memory.
                    if matches!(self.module.stmts.last(), Some(Stmt::Open)) {
                        self.module.stmts.pop();
                    } else {
                        self.module.stmts.push(Stmt::Close);
                    }
                }
                _ => return Err(self.cursor.unexpected("a statement or `}`")),
            }
        }
    }

    fn label_or_instruction(&mut self) -> Parse<()> {
        let name = self.cursor.take()?;
        if !self.cursor.eat(Token::Colon)? {
            return self.instruction(None, name);
        }
        if self.cursor.token == Token::Dot {
            match self.cursor.text() {
                ".callprototype" => return self.prototype(name),
                ".branchtargets" => {
                    let targets = self.names("a label")?;
                    self.module
                        .stmts
                        .push(Stmt::BranchTargets { name, targets });
                    return Ok(());
                }
                ".calltargets" => {
                    let targets = self.names("the name of a function")?;
                    self.module.stmts.push(Stmt::CallTargets { name, targets });
                    return Ok(());
                }
                _ => {}
            }
        }
        self.module.stmts.push(Stmt::Label(name));
        Ok(())
    }

    /// `@p` or `@!p` and its instruction.
    fn guarded(&mut self) -> Parse<()> {
        self.cursor.advance()?;
        let negated = self.cursor.eat(Token::Bang)?;
        let predicate = self.cursor.name("the name of a predicate")?;
        let opcode = self.cursor.name("an instruction after its guard")?;
        self.instruction(Some(Guard { negated, predicate }), opcode)
    }

    fn instruction(&mut self, guard: Option<Guard<'s>>, opcode: Name<'s>) -> Parse<()> {
        let first_modifier = pool_index(self.module.modifiers.len());
        while self.cursor.token == Token::Dot {
            let modifier = self.cursor.dot_word("a modifier")?;
            self.module.modifiers.push(modifier);
        }
        let modifiers = Slice {
            start: first_modifier,
            end: pool_index(self.module.modifiers.len()),
        };

        self.pending.clear();
        if self.cursor.token != Token::Semicolon {
            let in_call = opcode.text == "call";
            loop {
                let operand = self.operand(in_call)?;
                self.pending.push(operand);
                if !self.cursor.eat(Token::Comma)? {
                    break;
                }
            }
        }
        self.cursor
            .expect(Token::Semicolon, "`,` or `;` in an instruction")?;
        let first_operand = pool_index(self.module.operands.len());
        self.module.operands.append(&mut self.pending);
        let operands = Slice {
            start: first_operand,
            end: pool_index(self.module.operands.len()),
        };
        self.module.stmts.push(Stmt::Instr(Instr {
            guard,
            opcode,
            modifiers,
            operands,
        }));
        Ok(())
    }

    fn body_directive(&mut self) -> Parse<()> {
        let cursor = &mut self.cursor;
        match cursor.text() {
            ".loc" => section::location(cursor),
            ".pragma" => section::pragma(cursor),
            _ => {
                let Some(space) = variable::space(cursor) else {
                    return Err(cursor.misplaced("inside a function"));
                };
                cursor.advance()?;
                let stmts = &mut self.module.stmts;
                let vectors = &mut self.vectors;
                variable::variables(cursor, Linkage::Internal, space, |variable| {
                    if space == VarSpace::Reg && variable.vector > 1 {
                        vectors.insert(variable.name.text, (variable.vector, None));
                    }
                    stmts.push(Stmt::Variable(Box::new(variable)));
                })
            }
        }
    }

    /// The directive's word, then `name, …;`.
    fn names(&mut self, expected: &'static str) -> Parse<Vec<Name<'s>>> {
        self.cursor.advance()?;
        let mut names = Vec::new();
        loop {
            names.push(self.cursor.name(expected)?);
            if !self.cursor.eat(Token::Comma)? {
                self.cursor
                    .expect(Token::Semicolon, "`,` or `;` in a list of names")?;
                return Ok(names);
            }
        }
    }
}

/// Deepest nesting of braces in a body.
const MAX_SCOPES: u32 = 1024;
