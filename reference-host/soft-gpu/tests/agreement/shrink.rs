//! From a whole file to small sources with one kernel each, so that a mutant costs little to assemble.

use std::collections::BTreeSet;

use crate::random::Random;
use crate::source::{Form, Part, Token, parts};

/// The sources that a file gives: one for each kernel, with the module-level names that it needs.
pub(crate) fn kernels(file: &[Token]) -> Vec<Vec<Token>> {
    let items = items(file);
    let is_entry = |item: &&Item| {
        file[item.start..item.header_end]
            .iter()
            .any(|token| token.text == ".entry")
            && item.has_body
    };
    let entries: Vec<_> = items.iter().filter(is_entry).collect();
    if entries.len() <= 1 {
        return vec![without_debug_data(file, |_| true, &items)];
    }
    entries
        .iter()
        .map(|entry| {
            let kept = needed(file, &items, entry);
            without_debug_data(file, |item| kept.contains(&item.start), &items)
        })
        .collect()
}

/// The items that are `kept`. Of a large file, debug sections lose their data and `.loc` goes where it points into them.
fn without_debug_data(file: &[Token], kept: impl Fn(&Item) -> bool, items: &[Item]) -> Vec<Token> {
    let large = file.len() > SMALL_TOKENS;
    let mut source = Vec::new();
    for item in items {
        let tokens = &file[item.start..item.end];
        if tokens[0].text == ".section" && large {
            source.extend_from_slice(tokens.get(..3).unwrap_or_default());
            source.push(Token::new("}"));
        } else if item.header || kept(item) {
            source.extend_from_slice(tokens);
        }
    }
    if !large {
        return source;
    }
    let parts = parts(&source);
    let kept = parts.iter().filter(|part| {
        let tokens = &source[part.range.clone()];
        tokens[0].text != ".loc" || tokens.iter().all(|token| token.text != "function_name")
    });
    kept.flat_map(|part| source[part.range.clone()].iter().cloned())
        .collect()
}

/// Files up to this many tokens keep their debug sections whole.
const SMALL_TOKENS: usize = 1000;

/// At most about `limit` instructions of each body of a source, in one run; all declarations and labels stay.
pub(crate) fn window(source: &[Token], limit: usize, random: &mut Random) -> Vec<Token> {
    let parts = parts(source);
    let mut kept = vec![true; parts.len()];
    let mut at = 0;
    while at < parts.len() {
        if parts[at].depth == 0 {
            at += 1;
            continue;
        }
        let end = parts[at..]
            .iter()
            .position(|part| part.depth == 0)
            .map_or(parts.len(), |end| at + end);
        let groups = groups(source, &parts, at..end);
        if groups.len() > limit {
            let first = random.below(groups.len() - limit);
            for (index, group) in groups.iter().enumerate() {
                if index + 1 < groups.len() && !(first..first + limit).contains(&index) {
                    kept[group.clone()].fill(false);
                }
            }
        }
        at = end;
    }
    let pieces = parts.iter().zip(kept).filter(|(_, kept)| *kept);
    pieces
        .flat_map(|(part, _)| source[part.range.clone()].iter().cloned())
        .collect()
}

/// What may be left out of a body: single instructions, and whole blocks in braces that hold no label.
fn groups(
    source: &[Token],
    parts: &[Part],
    body: std::ops::Range<usize>,
) -> Vec<std::ops::Range<usize>> {
    let mut groups = Vec::new();
    let mut at = body.start;
    while at < body.end {
        let part = &parts[at];
        let opens = part.form == Form::Brace && source[part.range.start].text == "{";
        if opens && part.depth == 2 {
            let end = parts[at..body.end]
                .iter()
                .position(|part| part.depth < 2)
                .map_or(body.end, |end| at + end + 1);
            let inner = &parts[at..end];
            if inner.iter().all(|part| part.form != Form::Label) {
                groups.push(at..end);
            }
            at = end;
            continue;
        }
        let line = source[part.range.start].text == ".loc";
        if part.depth == 1 && (part.form == Form::Instruction || line) {
            groups.push(at..at + 1);
        }
        at += 1;
    }
    groups
}

/// One module-level directive with the body that may follow it.
struct Item {
    start: usize,
    header_end: usize,
    end: usize,
    header: bool,
    has_body: bool,
}

fn items(file: &[Token]) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    for part in parts(file) {
        let outside = matches!(part.form, Form::Header | Form::Item);
        match items.last_mut() {
            Some(last) if !outside => {
                last.end = part.range.end;
                last.has_body = true;
            }
            _ => items.push(Item {
                start: part.range.start,
                header_end: part.range.end,
                end: part.range.end,
                header: part.form == Form::Header,
                has_body: false,
            }),
        }
    }
    items
}

/// Where the items start that `entry` names, and those that they name.
fn needed(file: &[Token], items: &[Item], entry: &Item) -> BTreeSet<usize> {
    let names = |range: std::ops::Range<usize>| -> BTreeSet<&str> {
        let names = file[range].iter().filter(|token| token.is_name());
        names.map(|token| token.text.as_str()).collect()
    };
    let mut kept = BTreeSet::from([entry.start]);
    let mut wanted = names(entry.start..entry.end);
    loop {
        let before = kept.len();
        for item in items {
            let text = file[item.start].text.as_str();
            let is_file = text == ".file";
            if item.header || text == ".section" || kept.contains(&item.start) {
                continue;
            }
            let entry_of_other = item.has_body
                && file[item.start..item.header_end]
                    .iter()
                    .any(|token| token.text == ".entry");
            let header = names(item.start..item.header_end);
            if is_file || (!entry_of_other && !header.is_disjoint(&wanted)) {
                kept.insert(item.start);
                wanted.extend(names(item.start..item.end));
            }
        }
        if kept.len() == before {
            return kept;
        }
    }
}
