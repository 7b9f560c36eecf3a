//! One small change to a source.

use std::ops::Range;

use crate::random::Random;
use crate::source::{Form, Instruction, Part, Token, instruction, parts};
use crate::words::{self, WORDS};

/// The kinds of change, by name.
pub(crate) const KINDS: &[(&str, Mutation)] = &[
    ("drop a token", drop_token),
    ("duplicate a token", duplicate_token),
    ("swap two tokens", swap_tokens),
    ("cut off", cut_off),
    ("change a type", change_type),
    ("change a modifier", change_modifier),
    ("add a modifier", add_modifier),
    ("drop a modifier", drop_modifier),
    ("swap two modifiers", swap_modifiers),
    ("change an opcode", change_opcode),
    ("rename a register", rename_register),
    ("rename a register to a new name", rename_to_unknown),
    ("drop an operand", drop_operand),
    ("add an operand", add_operand),
    ("swap two operands", swap_operands),
    ("change an operand's form", change_operand),
    ("change a space", change_space),
    ("change a literal", change_literal),
    ("define twice", duplicate_definition),
    ("drop a declaration", drop_declaration),
    ("change a declared type", change_declared_type),
    ("change a declaration", change_declaration),
    ("move a statement", move_statement),
    ("add or drop a guard", change_guard),
    ("change the version", change_version),
    ("change the target", change_target),
];

/// Changes a source and says where (the first token touched); `None` where there is nothing of the kind to change.
pub(crate) type Mutation = fn(&mut Source, &mut Random) -> Option<usize>;

/// A source and its parts.
pub(crate) struct Source {
    pub(crate) tokens: Vec<Token>,
    parts: Vec<Part>,
}

impl Source {
    pub(crate) fn new(tokens: Vec<Token>) -> Self {
        let parts = parts(&tokens);
        Self { tokens, parts }
    }

    /// The opcode of the instruction around token `at`, or the first word of whatever stands there.
    pub(crate) fn opcode_at(&self, at: usize) -> String {
        let Some(part) = self.parts.iter().find(|part| part.range.contains(&at)) else {
            return "the end".to_owned();
        };
        let place = match part.form {
            Form::Instruction => instruction(&self.tokens, &part.range)
                .map_or(part.range.start, |found| found.opcode),
            Form::Label => return "label".to_owned(),
            _ => part.range.start,
        };
        self.tokens[place].text.clone()
    }

    fn instructions(&self) -> Vec<Instruction> {
        self.parts
            .iter()
            .filter(|part| part.form == Form::Instruction)
            .filter_map(|part| instruction(&self.tokens, &part.range))
            .collect()
    }

    fn some_instruction(
        &self,
        random: &mut Random,
        fits: impl Fn(&Instruction) -> bool,
    ) -> Option<Instruction> {
        let mut all = self.instructions();
        all.retain(fits);
        random.pick(&all).cloned()
    }

    /// Places of tokens that `fits`.
    fn some_token(&self, random: &mut Random, fits: impl Fn(&Token) -> bool) -> Option<usize> {
        let all: Vec<_> = (0..self.tokens.len())
            .filter(|&at| fits(&self.tokens[at]))
            .collect();
        random.pick(&all).copied()
    }

    fn part_of(
        &self,
        random: &mut Random,
        fits: impl Fn(&Part, &[Token]) -> bool,
    ) -> Option<Range<usize>> {
        let all: Vec<_> = self
            .parts
            .iter()
            .filter(|part| fits(part, &self.tokens[part.range.clone()]))
            .collect();
        random.pick(&all).map(|part| part.range.clone())
    }

    fn replace(&mut self, range: Range<usize>, with: Vec<Token>) {
        self.tokens.splice(range, with);
    }

    fn set(&mut self, at: usize, text: &str) -> Option<usize> {
        let token = self.tokens.get_mut(at)?;
        if token.text == text {
            return None;
        }
        text.clone_into(&mut token.text);
        Some(at)
    }

    /// Names that start as registers do and are used as operands.
    fn registers(&self) -> Vec<String> {
        let mut names: Vec<_> = self
            .instructions()
            .iter()
            .flat_map(|found| found.operands.iter().flat_map(Clone::clone))
            .map(|at| &self.tokens[at])
            .filter(|token| is_register(token))
            .map(|token| token.text.clone())
            .collect();
        names.sort();
        names.dedup();
        names
    }

    fn names(&self) -> Vec<String> {
        let names = self.tokens.iter().filter(|token| token.is_name());
        let mut names: Vec<_> = names.map(|token| token.text.clone()).collect();
        names.sort();
        names.dedup();
        names
    }
}

fn is_register(token: &Token) -> bool {
    token.text.len() > 1
        && token.text.starts_with('%')
        && !words::SPECIAL_REGISTERS
            .iter()
            .any(|special| special.split('.').next() == Some(&token.text))
}

fn drop_token(source: &mut Source, random: &mut Random) -> Option<usize> {
    let at = random.below(source.tokens.len());
    source.tokens.remove(at);
    Some(at)
}

fn duplicate_token(source: &mut Source, random: &mut Random) -> Option<usize> {
    let at = random.below(source.tokens.len());
    let twin = Token::new(source.tokens[at].text.clone());
    source.tokens.insert(at + 1, twin);
    Some(at)
}

fn swap_tokens(source: &mut Source, random: &mut Random) -> Option<usize> {
    let at = random.below(source.tokens.len().checked_sub(1)?);
    let (one, other) = (
        source.tokens[at].text.clone(),
        source.tokens[at + 1].text.clone(),
    );
    source.set(at, &other)?;
    source.set(at + 1, &one)?;
    source.tokens[at + 1].blank = " ".to_owned();
    Some(at)
}

fn cut_off(source: &mut Source, random: &mut Random) -> Option<usize> {
    let at = random.below(source.tokens.len());
    source.tokens.truncate(at);
    Some(at.saturating_sub(1))
}

fn change_type(source: &mut Source, random: &mut Random) -> Option<usize> {
    let found = source.some_instruction(random, |found| !found.modifiers.is_empty())?;
    let types: Vec<_> = found
        .modifiers
        .filter(|&at| words::TYPES.contains(&source.tokens[at].text.as_str()))
        .collect();
    let at = *random.pick(&types)?;
    source.set(at, random.pick(words::TYPES)?)
}

fn change_modifier(source: &mut Source, random: &mut Random) -> Option<usize> {
    let found = source.some_instruction(random, |found| !found.modifiers.is_empty())?;
    let places: Vec<_> = found.modifiers.collect();
    let at = *random.pick(&places)?;
    let old = source.tokens[at].text.clone();
    // Mostly a word of the same group, which is where the fine rules are.
    let group = WORDS.iter().find(|group| group.contains(&old.as_str()));
    let new = match group {
        Some(group) if random.below(4) != 0 => random.pick(group)?,
        _ => {
            let group = random.pick(WORDS)?;
            random.pick(group)?
        }
    };
    source.set(at, new)
}

fn add_modifier(source: &mut Source, random: &mut Random) -> Option<usize> {
    let found = source.some_instruction(random, |_| true)?;
    let at = found.modifiers.start + random.below(found.modifiers.len() + 1);
    let group = random.pick(WORDS)?;
    let word = *random.pick(group)?;
    let mut token = Token::new(word);
    token.blank.clear();
    source.tokens.insert(at, token);
    Some(at)
}

fn drop_modifier(source: &mut Source, random: &mut Random) -> Option<usize> {
    let found = source.some_instruction(random, |found| !found.modifiers.is_empty())?;
    let places: Vec<_> = found.modifiers.collect();
    let at = *random.pick(&places)?;
    source.tokens.remove(at);
    Some(at)
}

fn swap_modifiers(source: &mut Source, random: &mut Random) -> Option<usize> {
    let found = source.some_instruction(random, |found| found.modifiers.len() > 1)?;
    let at = found.modifiers.start + random.below(found.modifiers.len() - 1);
    let (one, other) = (
        source.tokens[at].text.clone(),
        source.tokens[at + 1].text.clone(),
    );
    source.set(at, &other)?;
    source.set(at + 1, &one)
}

fn change_opcode(source: &mut Source, random: &mut Random) -> Option<usize> {
    let found = source.some_instruction(random, |_| true)?;
    source.set(found.opcode, random.pick(words::OPCODES)?)
}

fn rename_register(source: &mut Source, random: &mut Random) -> Option<usize> {
    let registers = source.registers();
    let at = source.some_token(random, is_register)?;
    source.set(at, random.pick(&registers)?)
}

fn rename_to_unknown(source: &mut Source, random: &mut Random) -> Option<usize> {
    let at = source.some_token(random, Token::is_name)?;
    let new = format!("{}9999", source.tokens[at].text);
    source.set(at, &new)
}

fn drop_operand(source: &mut Source, random: &mut Random) -> Option<usize> {
    let found = source.some_instruction(random, |found| !found.operands.is_empty())?;
    let which = random.below(found.operands.len());
    let mut range = found.operands[which].clone();
    // The comma behind it goes too, or the one before the last.
    if which + 1 < found.operands.len() {
        range.end += 1;
    } else if which > 0 {
        range.start -= 1;
    }
    source.replace(range, Vec::new());
    Some(found.opcode)
}

fn add_operand(source: &mut Source, random: &mut Random) -> Option<usize> {
    let found = source.some_instruction(random, |_| true)?;
    let new = some_operand(source, random)?;
    if found.operands.is_empty() {
        source.replace(found.end..found.end, new);
        return Some(found.opcode);
    }
    let which = random.below(found.operands.len());
    let at = found.operands[which].end;
    let with = [vec![Token::new(",")], new].concat();
    source.replace(at..at, with);
    Some(found.opcode)
}

fn swap_operands(source: &mut Source, random: &mut Random) -> Option<usize> {
    let found = source.some_instruction(random, |found| found.operands.len() > 1)?;
    let which = random.below(found.operands.len() - 1);
    let (one, other) = (
        found.operands[which].clone(),
        found.operands[which + 1].clone(),
    );
    let (first, second) = (
        source.tokens[one.clone()].to_vec(),
        source.tokens[other.clone()].to_vec(),
    );
    if first == second {
        return None;
    }
    source.replace(other, first);
    source.replace(one, second);
    Some(found.opcode)
}

fn change_operand(source: &mut Source, random: &mut Random) -> Option<usize> {
    let found = source.some_instruction(random, |found| !found.operands.is_empty())?;
    let range = random.pick(&found.operands)?.clone();
    let old = source.tokens[range.clone()].to_vec();
    let wrapped = |open: &str, close: &str| {
        [vec![Token::new(open)], old.clone(), vec![Token::new(close)]].concat()
    };
    let new = match random.below(8) {
        0 => wrapped("[", "]"),
        1 => wrapped("{", "}"),
        2 if old.len() > 2 => old[1..old.len() - 1].to_vec(),
        3 => [old.clone(), vec![Token::new("+"), Token::new("4")]].concat(),
        4 => [vec![Token::new("-")], old.clone()].concat(),
        5 => [
            old.clone(),
            vec![Token::new("|")],
            some_operand(source, random)?,
        ]
        .concat(),
        _ => some_operand(source, random)?,
    };
    if new == old {
        return None;
    }
    source.replace(range, new);
    Some(found.opcode)
}

/// An operand of any form.
fn some_operand(source: &Source, random: &mut Random) -> Option<Vec<Token>> {
    let registers = source.registers();
    let register = |random: &mut Random| random.pick(&registers).map(Token::new);
    Some(match random.below(12) {
        0 => vec![
            Token::new("["),
            register(random)?,
            Token::new("+"),
            Token::new("4"),
            Token::new("]"),
        ],
        1 => vec![
            Token::new("{"),
            register(random)?,
            Token::new(","),
            register(random)?,
            Token::new("}"),
        ],
        2 => vec![Token::new(
            random.pick(words::SPECIAL_REGISTERS)?.to_owned(),
        )],
        3 => vec![Token::new("_")],
        4 => vec![Token::new("!"), register(random)?],
        5 => vec![Token::new(random.pick(words::LITERALS)?.to_owned())],
        6 => vec![Token::new("0f3F800000")],
        7 => vec![Token::new("1")],
        8 | 9 => vec![Token::new(random.pick(&source.names())?)],
        _ => vec![register(random)?],
    })
}

fn change_space(source: &mut Source, random: &mut Random) -> Option<usize> {
    let at = source.some_token(random, |token| words::SPACES.contains(&token.text.as_str()))?;
    source.set(at, random.pick(words::SPACES)?)
}

fn change_literal(source: &mut Source, random: &mut Random) -> Option<usize> {
    let at = source.some_token(random, Token::is_number)?;
    source.set(at, random.pick(words::LITERALS)?)
}

fn duplicate_definition(source: &mut Source, random: &mut Random) -> Option<usize> {
    let range = source.part_of(random, |part, tokens| {
        matches!(part.form, Form::Label | Form::Declaration | Form::Header)
            || (part.form == Form::Item && tokens.last().is_some_and(|last| last.text == ";"))
    })?;
    let twin = source.tokens[range.clone()].to_vec();
    // Right behind it, or wherever another statement ends.
    let at = match random.below(3) {
        0 => source.part_of(random, |_, _| true)?.end,
        _ => range.end,
    };
    source.replace(at..at, twin);
    Some(at)
}

fn drop_declaration(source: &mut Source, random: &mut Random) -> Option<usize> {
    let range = source.part_of(random, |part, _| part.form != Form::Instruction)?;
    source.replace(range.clone(), Vec::new());
    Some(range.start)
}

fn declaration_token(
    source: &Source,
    random: &mut Random,
    fits: impl Fn(&Token) -> bool,
) -> Option<usize> {
    let declarations = source
        .parts
        .iter()
        .filter(|part| matches!(part.form, Form::Item | Form::Declaration));
    let places: Vec<_> = declarations
        .flat_map(|part| part.range.clone())
        .filter(|&at| fits(&source.tokens[at]))
        .collect();
    random.pick(&places).copied()
}

fn change_declared_type(source: &mut Source, random: &mut Random) -> Option<usize> {
    let at = declaration_token(source, random, |token| {
        words::TYPES.contains(&token.text.as_str())
    })?;
    source.set(at, random.pick(words::TYPES)?)
}

fn change_declaration(source: &mut Source, random: &mut Random) -> Option<usize> {
    let at = declaration_token(source, random, |token| {
        token.is_word() || token.is_number() || matches!(token.text.as_str(), "[" | "<" | "(" | ",")
    })?;
    let new: Vec<Token> = match random.below(4) {
        0 => vec![Token::new(random.pick(words::DECLARING)?.to_owned())],
        1 => vec![
            Token::new(random.pick(words::DECLARING)?.to_owned()),
            source.tokens[at].clone(),
        ],
        2 => vec![
            source.tokens[at].clone(),
            Token::new(random.pick(words::DECLARING)?.to_owned()),
        ],
        _ => vec![
            Token::new(".align"),
            Token::new(random.pick(words::LITERALS)?.to_owned()),
            source.tokens[at].clone(),
        ],
    };
    source.replace(at..at + 1, new);
    Some(at)
}

fn move_statement(source: &mut Source, random: &mut Random) -> Option<usize> {
    let range = source.part_of(random, |part, _| part.form != Form::Brace)?;
    let to = source.part_of(random, |_, _| true)?.start;
    if range.contains(&to) || to == range.end {
        return None;
    }
    let moved = source.tokens[range.clone()].to_vec();
    let length = moved.len();
    if to < range.start {
        source.replace(range, Vec::new());
        source.replace(to..to, moved);
        return Some(to);
    }
    source.replace(to..to, moved);
    source.replace(range, Vec::new());
    Some(to - length)
}

fn change_guard(source: &mut Source, random: &mut Random) -> Option<usize> {
    let range = source.part_of(random, |part, _| part.form == Form::Instruction)?;
    if source.tokens[range.start].text == "@" {
        let end = instruction(&source.tokens, &range)?.opcode;
        source.replace(range.start..end, Vec::new());
        return Some(range.start);
    }
    let registers = source.registers();
    let predicates: Vec<_> = registers
        .iter()
        .filter(|name| name.starts_with("%p"))
        .collect();
    let name = match random.pick(&predicates) {
        Some(name) if random.below(8) != 0 => (*name).clone(),
        _ => random.pick(&registers)?.clone(),
    };
    let mut guard = vec![Token::new("@")];
    if random.below(2) == 0 {
        guard.push(Token::new("!"));
    }
    guard.push(Token::new(name));
    source.replace(range.start..range.start, guard);
    Some(range.start)
}

fn change_version(source: &mut Source, random: &mut Random) -> Option<usize> {
    let at = source.some_token(random, |token| token.text == ".version")? + 1;
    source.set(at, random.pick(words::VERSIONS)?)
}

fn change_target(source: &mut Source, random: &mut Random) -> Option<usize> {
    let at = source.some_token(random, |token| token.text == ".target")? + 1;
    source.set(at, random.pick(words::TARGETS)?)
}
