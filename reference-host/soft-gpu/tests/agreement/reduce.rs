//! A disagreement in as few statements as show it.

use crate::source::{Form, parts, text, tokens};

/// Leaves out one statement after another for as long as `shows` holds.
pub(crate) fn reduce(source: &str, shows: impl Fn(&str) -> bool) -> String {
    let mut best = source.to_owned();
    for _ in 0..ROUNDS {
        let all = tokens(&best);
        let parts = parts(&all);
        let mut kept: Vec<_> = all.iter().map(Some).collect();
        let mut left_out = false;
        for part in parts.iter().rev() {
            if part.form == Form::Brace {
                continue;
            }
            let saved: Vec<_> = kept[part.range.clone()].to_vec();
            kept[part.range.clone()].fill(None);
            let rest: Vec<_> = kept
                .iter()
                .flatten()
                .map(|token| (*token).clone())
                .collect();
            if shows(&text(&rest)) {
                left_out = true;
            } else {
                kept[part.range.clone()].clone_from_slice(&saved);
            }
        }
        let rest: Vec<_> = kept
            .iter()
            .flatten()
            .map(|token| (*token).clone())
            .collect();
        let smaller = text(&rest);
        if !left_out || !shows(&smaller) {
            break;
        }
        best = smaller;
    }
    best
}

/// A declaration may go only when its last use has: two passes reach most of them.
const ROUNDS: usize = 2;
