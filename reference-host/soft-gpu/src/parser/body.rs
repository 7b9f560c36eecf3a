//! Statements of a function body.

use super::cursor::{Failure, Parse};
use super::{Feature, Parser, SyntaxError, pool_index, section, variable};
use crate::ast::{Guard, Instr, Linkage, Name, Pos, Slice, Stmt, Targets, VarSpace};
use crate::lexer::Token;
use crate::limits::{MAX_OPERANDS, MAX_SCOPES};
use crate::pool;

impl<'s> Parser<'s> {
    /// Reads up to and including the brace that ends the function, and gives its place.
    pub(super) fn statements(&mut self) -> Parse<Pos> {
        let mut depth = 0u32;
        loop {
            let pos = self.cursor.pos;
            match self.cursor.token {
                Token::Name => {
                    let read = self.label_or_instruction();
                    self.or_unknown(read, pos)?;
                }
                Token::At => {
                    let read = self.guarded();
                    self.or_unknown(read, pos)?;
                }
                Token::Dot => {
                    let read = self.body_directive();
                    self.or_unknown(read, pos)?;
                }
                Token::OpenBrace => {
                    if depth >= MAX_SCOPES {
                        return Err(self
                            .cursor
                            .failure(SyntaxError::TooDeep { limit: MAX_SCOPES }));
                    }
                    depth = depth.saturating_add(1);
                    pool::push(&mut self.module.stmts, Stmt::Open);
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
                        pool::push(&mut self.module.stmts, Stmt::Close);
                    }
                }
                _ => return Err(self.cursor.unexpected("a statement or `}`")),
            }
        }
    }

    /// Makes a statement of what did not parse, if that is passed over.
    #[inline]
    fn or_unknown(&mut self, read: Parse<()>, pos: Pos) -> Parse<()> {
        match read {
            Ok(()) => Ok(()),
            Err(failure) => self.unknown(failure, pos),
        }
    }

    #[cold]
    fn unknown(&mut self, failure: Box<Failure>, pos: Pos) -> Parse<()> {
        self.pass_over(failure)?;
        let none = Slice::default();
        let instr = pool_index(self.module.instrs.len());
        pool::push(
            &mut self.module.instrs,
            Instr {
                guard: u32::MAX,
                opcode: Name { text: "", pos },
                modifiers: none,
                operands: none,
            },
        );
        pool::push(&mut self.module.stmts, Stmt::Instr(instr));
        Ok(())
    }

    fn label_or_instruction(&mut self) -> Parse<()> {
        let name = self.cursor.take()?;
        if !self.cursor.eat(Token::Colon)? {
            return self.instruction(None, name);
        }
        if self.cursor.token == Token::Dot {
            match self.cursor.text() {
                ".callprototype" => {
                    self.cursor.uses(Feature::CallPrototype);
                    return self.prototype(name);
                }
                ".branchtargets" => {
                    self.cursor.uses(Feature::BranchTargets);
                    let targets = self.names("a label")?;
                    let targets = Box::new(Targets { name, targets });
                    pool::push(&mut self.module.stmts, Stmt::BranchTargets(targets));
                    return Ok(());
                }
                ".calltargets" => {
                    self.cursor.uses(Feature::CallTargets);
                    let targets = self.names("the name of a function")?;
                    let targets = Box::new(Targets { name, targets });
                    pool::push(&mut self.module.stmts, Stmt::CallTargets(targets));
                    return Ok(());
                }
                _ => {}
            }
        }
        let label = pool_index(self.module.labels.len());
        pool::push(&mut self.module.labels, name);
        pool::push(&mut self.module.stmts, Stmt::Label(label));
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
            pool::push(&mut self.module.modifiers, modifier);
        }
        let modifiers = Slice {
            start: first_modifier,
            end: pool_index(self.module.modifiers.len()),
        };

        self.pending.clear();
        if self.cursor.token != Token::Semicolon {
            let in_call = opcode.text == "call";
            loop {
                if self.pending.len() >= MAX_OPERANDS {
                    return Err(self
                        .cursor
                        .unexpected("`;`: no instruction takes more operands"));
                }
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
        for operand in self.pending.drain(..) {
            pool::push(&mut self.module.operands, operand);
        }
        let operands = Slice {
            start: first_operand,
            end: pool_index(self.module.operands.len()),
        };
        let guard = match guard {
            Some(guard) => {
                pool::push(&mut self.module.guards, guard);
                pool_index(self.module.guards.len()).saturating_sub(1)
            }
            None => u32::MAX,
        };
        let instr = pool_index(self.module.instrs.len());
        pool::push(
            &mut self.module.instrs,
            Instr {
                guard,
                opcode,
                modifiers,
                operands,
            },
        );
        pool::push(&mut self.module.stmts, Stmt::Instr(instr));
        Ok(())
    }

    fn body_directive(&mut self) -> Parse<()> {
        let cursor = &mut self.cursor;
        match cursor.text() {
            ".loc" => section::location(cursor),
            ".pragma" => section::pragma(cursor),
            ".target" => self.target(),
            ".alias" | ".func" => Err(cursor.failure(SyntaxError::FunctionInBody)),
            ".extern" | ".visible" | ".weak" => {
                let misplaced = cursor.misplaced("inside a function");
                cursor.advance()?;
                Err(match cursor.text() {
                    ".func" => cursor.failure(SyntaxError::FunctionInBody),
                    _ => misplaced,
                })
            }
            _ => {
                let align = variable::alignments(cursor, None)?;
                if variable::nothing(cursor)? {
                    return Ok(());
                }
                let Some(space) = variable::space(cursor) else {
                    return Err(cursor.misplaced("inside a function"));
                };
                cursor.advance()?;
                let stmts = &mut self.module.stmts;
                let vectors = &mut self.vectors;
                variable::variables(cursor, Linkage::Internal, space, align, |variable| {
                    if space == VarSpace::Reg && variable.vector > 1 {
                        vectors.insert(variable.name.text, (variable.vector, None));
                    }
                    pool::push(stmts, Stmt::Variable(Box::new(variable)));
                })
            }
        }
    }

    /// The directive's word, then `name, …;`.
    fn names(&mut self, expected: &'static str) -> Parse<Vec<Name<'s>>> {
        self.cursor.advance()?;
        let mut names = Vec::new();
        loop {
            pool::push(&mut names, self.cursor.name(expected)?);
            if !self.cursor.eat(Token::Comma)? {
                self.cursor
                    .expect(Token::Semicolon, "`,` or `;` in a list of names")?;
                return Ok(names);
            }
        }
    }
}
