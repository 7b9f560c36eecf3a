//! What reaches the terminal: one line at a time, with nothing in it that could steer the terminal.
//!
//! Every line of this program goes through [`write`], so that a name from a guest or from PTX needs no care where
//! it is put into words.

use std::fmt::Display;
use std::io::{self, Write};

use wasi_cuda_host::abi::MAX_ENTRY_NAME_BYTES;

use super::Failure;

/// Writes one line to standard output; a reader that went away is no error.
pub(super) fn print(line: impl Display) -> Result<(), Failure> {
    match write(&mut io::stdout().lock(), &line) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::Stdout(error)),
        _ => Ok(()),
    }
}

/// Writes one line to standard error.
pub(super) fn tell(line: impl Display) {
    // With standard error gone there is nowhere left to say so; the exit status still does.
    let _ = write(&mut io::stderr().lock(), &line);
}

fn write(to: &mut impl Write, line: &dyn Display) -> io::Result<()> {
    let line = escaped(&line.to_string());
    writeln!(to, "{line}").and_then(|()| to.flush())
}

/// `text` with what breaks a line, steers a terminal or turns the reading direction written as an escape.
fn escaped(text: &str) -> String {
    text.chars().fold(String::new(), |mut line, character| {
        if character.is_control() || STEERING.contains(&character) {
            line.extend(character.escape_default());
        } else {
            line.push(character);
        }
        line
    })
}

/// Not control characters by class, yet they end a line or change the order in which a terminal shows the rest.
const STEERING: [char; 14] = [
    '\u{061c}', '\u{200e}', '\u{200f}', '\u{2028}', '\u{2029}', '\u{202a}', '\u{202b}', '\u{202c}',
    '\u{202d}', '\u{202e}', '\u{2066}', '\u{2067}', '\u{2068}', '\u{2069}',
];

/// A message in which no word and no number of words is too long for a reader.
pub(super) fn readable(message: &str) -> String {
    let mut words = message.split(' ').map(|word| shortened(word, MAX_WORD));
    let mut line = words.next().unwrap_or_default();
    for word in words {
        line.push(' ');
        line.push_str(&word);
        if line.len() > MAX_MESSAGE_BYTES {
            break;
        }
    }
    shortened(&line, MAX_MESSAGE_BYTES)
}

/// The first few of `names`, and how many more there are; `None` where there are none.
pub(super) fn few<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let mut names = names.into_iter();
    let first: Vec<_> = names.by_ref().take(MAX_NAMES).map(brief).collect();
    let list = first.join(", ");
    match (first.len(), names.count()) {
        (0, _) => None,
        (_, 0) => Some(list),
        (_, more) => Some(format!("{list} and {more} more")),
    }
}

/// A name, however long, for a message.
pub(super) fn brief(name: &str) -> String {
    shortened(name, MAX_NAME)
}

/// `text`, its middle left out where it has more than `most` bytes: both the beginning and the end tell names apart.
fn shortened(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let tail = most / 4;
    let head = most.saturating_sub(tail);
    let (head, _) = text.split_at(text.floor_char_boundary(head));
    let (_, tail) = text.split_at(text.ceil_char_boundary(text.len().saturating_sub(tail)));
    format!("{head}…{tail}")
}

/// The name of an entry that a load can ask for is shown whole.
const MAX_NAME: usize = MAX_ENTRY_NAME_BYTES as usize;

/// A name that was shortened, with quotes around it and a comma behind, is not shortened again.
const MAX_WORD: usize = MAX_NAME + 8;

/// A module may have a million functions.
const MAX_NAMES: usize = 8;

/// Holds a list of the longest names.
const MAX_MESSAGE_BYTES: usize = 3000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_steers_a_terminal_is_written() {
        let hostile: String = ('\0'..='\u{20}')
            .chain('\u{7f}'..='\u{a0}')
            .chain(STEERING)
            .collect();
        let mut out = Vec::new();
        write(&mut out, &format_args!("[{hostile}é]")).unwrap();
        let line = String::from_utf8(out).unwrap();
        let line = line.strip_suffix('\n').unwrap();
        assert!(
            !line.contains(|c: char| c.is_control() || STEERING.contains(&c)),
            "{line:?}"
        );
        assert!(
            line.starts_with(r"[\u{0}\u{1}") && line.contains(r"\u{1b}") && line.ends_with("é]"),
            "{line}"
        );
        assert!(
            line.contains(r"\u{202e}") && line.contains(r"\t\n"),
            "{line}"
        );
    }

    #[test]
    fn long_words_lose_their_middle_and_messages_their_end() {
        let name = "é".repeat(1 << 19);
        let text = readable(&format!("1:2: `{name}` is not declared"));
        assert!(
            text.starts_with("1:2: `éé") && text.ends_with("éé` is not declared"),
            "{text}"
        );
        assert!(text.len() < 2 * MAX_WORD, "{text}");
        let whole = format!("`{}`,", "n".repeat(256));
        assert_eq!(readable(&whole), whole);
        let many = "word ".repeat(1 << 18);
        assert!(readable(&many).len() <= MAX_MESSAGE_BYTES + '…'.len_utf8());
        assert_eq!(readable("two  blanks "), "two  blanks ");
        // Once is enough.
        let quoted = format!("`{}`, ", brief(&name));
        assert_eq!(readable(&quoted), quoted);
        let names = vec![name.as_str(); MAX_NAMES + 1];
        let list = format!("it exports {}", few(names).unwrap());
        assert_eq!(readable(&list), list);
    }

    #[test]
    fn a_list_of_names_ends_with_how_many_more_there_are() {
        assert_eq!(few([]), None);
        assert_eq!(few(["a"]).as_deref(), Some("a"));
        let nine = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
        assert_eq!(few(nine[..8].to_vec()).unwrap(), "a, b, c, d, e, f, g, h");
        assert_eq!(few(nine).unwrap(), "a, b, c, d, e, f, g, h and 1 more");
        assert!(few([&*"x".repeat(1 << 20)]).unwrap().len() < 2 * MAX_WORD);
    }
}
