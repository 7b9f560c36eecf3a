//! What stands between tokens, passed over at the speed of memory, and what must hold of a text as a whole.

use crate::parser::SyntaxError;

/// The first byte at or after `at` that is no blank, comment or line marker.
///
/// # Errors
///
/// Where a comment starts that does not end.
pub(super) fn after_padding(source: &[u8], mut at: usize) -> Result<usize, usize> {
    loop {
        let rest = source.get(at..).unwrap_or_default();
        match rest {
            [b' ' | b'\t' | b'\r' | b'\n' | b'\x0c', ..] => at = at.saturating_add(blanks(rest)),
            [b'/', b'/', ..] => at = at.saturating_add(line_comments(rest)),
            [b'/', b'*', comment @ ..] => match comment_end(comment) {
                Some(length) => at = at.saturating_add(length).saturating_add(4),
                None => return Err(at),
            },
            [b'#', ..] => match line_marker(rest) {
                Some(length) => at = at.saturating_add(length),
                None => return Ok(at),
            },
            _ => return Ok(at),
        }
    }
}

/// The length of the line comment that `rest` starts with and of all that follow line by line.
fn line_comments(rest: &[u8]) -> usize {
    let mut left = rest;
    while let [b'/', b'/', comment @ ..] = left {
        left = comment.get(line_end(comment)..).unwrap_or_default();
        match left {
            [b'\n', next @ ..] if next.starts_with(b"//") => left = next,
            _ => break,
        }
    }
    rest.len().saturating_sub(left.len())
}

/// How many bytes stand before the next line feed or the end.
#[inline]
fn line_end(comment: &[u8]) -> usize {
    if comment.first() == Some(&b'\n') {
        return 0;
    }
    let near = comment.iter().take(NEAR).position(|byte| *byte == b'\n');
    near.or_else(|| memchr::memchr(b'\n', comment))
        .unwrap_or(comment.len())
}

/// How many bytes stand before the next `*/`.
fn comment_end(comment: &[u8]) -> Option<usize> {
    let near = comment.windows(2).take(NEAR).position(|pair| pair == b"*/");
    near.or_else(|| memchr::memmem::find(comment, b"*/"))
}

/// How many blanks `rest` starts with.
#[inline]
fn blanks(rest: &[u8]) -> usize {
    let mut count = rest
        .iter()
        .take(SHORT_RUN)
        .take_while(|byte| is_blank(**byte))
        .count();
    if count < SHORT_RUN {
        return count;
    }
    // A long run goes in steps whose comparisons are made at once.
    for step in rest.get(SHORT_RUN..).unwrap_or_default().chunks_exact(STEP) {
        if !step.iter().fold(true, |all, byte| all & is_blank(*byte)) {
            break;
        }
        count = count.saturating_add(STEP);
    }
    let last = rest.get(count..).unwrap_or_default();
    count.saturating_add(last.iter().take_while(|byte| is_blank(**byte)).count())
}

#[inline]
fn is_blank(byte: u8) -> bool {
    // Not `matches!`, whose jumps would keep the compiler from comparing many bytes at once.
    (byte == b' ') | (byte == b'\t') | (byte == b'\n') | (byte == b'\r') | (byte == b'\x0c')
}

/// The length of `# 1 "file" 2`, up to the end of its line.
fn line_marker(rest: &[u8]) -> Option<usize> {
    let tab = |byte: &u8| matches!(byte, b' ' | b'\t');
    let skip = |text: &'_ [u8]| text.iter().take_while(|byte| tab(byte)).count();
    let text = rest.strip_prefix(b"#")?;
    let text = text.strip_prefix(b"line").unwrap_or(text);
    let text = text.get(skip(text)..)?;
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits == 0 {
        return None;
    }
    let text = text.get(digits..)?;
    let text = text.get(skip(text)..)?.strip_prefix(b"\"")?;
    match memchr::memchr2(b'"', b'\n', text) {
        Some(end) if text.get(end) == Some(&b'"') => {
            let after = text.get(end.saturating_add(1)..)?;
            let line = memchr::memchr(b'\n', after).unwrap_or(after.len());
            let left = after.len().saturating_sub(line);
            Some(rest.len().saturating_sub(left))
        }
        _ => None,
    }
}

/// Comments that end within so many bytes are not worth setting up a search.
const NEAR: usize = 16;
/// Runs of blanks up to this long are the common ones.
const SHORT_RUN: usize = 8;
/// Blanks compared at once.
const STEP: usize = 64;

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
    if let Some(at) = memchr::memchr(0, source.get(..valid).unwrap_or_default()) {
        return Err((at, SyntaxError::ControlByte(0)));
    }
    text.map_err(|error| (error.valid_up_to(), SyntaxError::NotUtf8))
}
