//! Text of others on a terminal.
//!
//! Names, messages and paths come from fixtures, hosts and command lines. Everything that is printed for people goes
//! through here, since a control character would move the cursor, hide text or forge a line.

use std::borrow::Cow;

/// The text on one line: control characters, line ends and marks that reorder text become visible escapes.
///
/// A text without any is returned as it is, so that doing it twice is doing it once.
pub fn one_line(text: &str) -> Cow<'_, str> {
    escaped(text, |_| false)
}

/// The text with its line feeds and tabs, and everything else that [`one_line`] escapes as an escape.
pub fn lines(text: &str) -> Cow<'_, str> {
    escaped(text, |character| matches!(character, '\n' | '\t'))
}

fn escaped(text: &str, kept: impl Fn(char) -> bool) -> Cow<'_, str> {
    let hidden = |character: char| moves_text(character) && !kept(character);
    if !text.chars().any(hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if hidden(character) {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

/// Controls of both ranges, the two line ends of Unicode, and what changes the direction of writing.
fn moves_text(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{200E}' | '\u{200F}' | '\u{2028}' | '\u{2029}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_control_character_is_left() {
        let controls: String = (0u8..=0x9F).map(char::from).collect();
        let shown = one_line(&controls);
        assert!(!shown.chars().any(char::is_control), "{shown}");
        assert_eq!(one_line(&shown), shown);
        let kept: String = lines(&controls)
            .chars()
            .filter(|c| c.is_control())
            .collect();
        assert_eq!(kept, "\t\n");
    }

    #[test]
    fn what_is_escaped_can_be_told() {
        assert_eq!(
            one_line("a\u{1b}[31m\nb\u{7f}\u{202e}"),
            "a\\u{1b}[31m\\nb\\u{7f}\\u{202e}"
        );
        assert!(matches!(one_line("é \u{1F980} plain"), Cow::Borrowed(_)));
    }
}
