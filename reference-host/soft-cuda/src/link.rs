//! The linker: several sources become one image.

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::error::Error;
use crate::image::{Image, Refusal};
use crate::module::Prepared;

/// A linker under way.
#[derive(Debug, Default)]
pub(crate) struct Linker {
    sources: Vec<Box<[u8]>>,
    image: Option<Image<'static>>,
}

impl Linker {
    /// Takes sources in.
    ///
    /// # Errors
    ///
    /// One does not compile, unless it declares what another may define; or the image has been made.
    pub(crate) fn add(&mut self, image: Image<'_>) -> Result<(), Refusal> {
        if self.image.is_some() {
            return Err(Refusal::plain(
                Error::InvalidValue,
                "the image has been made already",
            ));
        }
        for source in &image.sources {
            let alone = Image {
                sources: vec![Cow::Borrowed(&**source)],
            };
            match Prepared::of(&alone) {
                Err(refusal) if !declares(source) => return Err(refusal),
                _ => {}
            }
        }
        let sources = image.sources.into_iter();
        self.sources
            .extend(sources.map(|source| source.into_owned().into_boxed_slice()));
        Ok(())
    }

    /// Makes the image, the same each time.
    ///
    /// # Errors
    ///
    /// There are no sources, two define the same, or one uses what none defines.
    pub(crate) fn complete(&mut self) -> Result<&Image<'static>, Refusal> {
        let image = match self.image.take() {
            Some(image) => image,
            None => self.link()?,
        };
        Ok(self.image.insert(image))
    }

    fn link(&self) -> Result<Image<'static>, Refusal> {
        if self.sources.is_empty() {
            return Err(Refusal::plain(Error::InvalidImage, "nothing to link"));
        }
        let side_by_side = Image {
            sources: self
                .sources
                .iter()
                .map(|source| Cow::Borrowed(&**source))
                .collect(),
        };
        // Sources that know nothing of each other keep names of their own.
        if !self.sources.iter().any(|source| declares(source)) {
            Prepared::of(&side_by_side)?;
            return Ok(side_by_side.into_owned());
        }
        let together = Image {
            sources: vec![Cow::Owned(together(&self.sources).into_vec())],
        };
        Prepared::of(&together)?;
        Ok(together)
    }
}

/// Whether a source may use what another one defines.
fn declares(source: &[u8]) -> bool {
    source.windows(EXTERN.len()).any(|window| window == EXTERN)
}

/// All sources as one: the header of the one for the newest version and target, what functions any of them declares for others to define, and then
/// their bodies without such declarations, which may stand neither twice nor behind the definition.
fn together(sources: &[Box<[u8]>]) -> Box<[u8]> {
    let split = sources.iter().map(|source| split_header(source));
    let newest = split.clone().map(|(header, _)| header);
    let newest = newest.max_by_key(|header| header.rank).unwrap_or_default();
    let functions = split.clone().map(|(_, body)| (body, functions(body)));
    let functions: Vec<(&[u8], Vec<Function<'_>>)> = functions.collect();
    let all = || functions.iter().flat_map(|(_, functions)| functions);
    let mut text = newest.text.to_vec();
    let mut declared = BTreeSet::new();
    for function in all().filter(|function| function.is_extern()) {
        if !declared.insert(function.name) {
            continue;
        }
        // Who defines it says how; what nobody does may be a function of the device's own.
        let definition = all()
            .find(|other| other.name == function.name && [VISIBLE, WEAK].contains(&other.linkage));
        let linkage = definition.map_or(EXTERN, |definition| definition.linkage);
        text.push(b'\n');
        text.extend_from_slice(linkage);
        text.extend_from_slice(function.text.get(EXTERN.len()..).unwrap_or_default());
    }
    for (body, functions) in &functions {
        text.push(b'\n');
        let mut at = 0;
        for function in functions.iter().filter(|function| function.is_extern()) {
            text.extend_from_slice(body.get(at..function.start).unwrap_or_default());
            at = function.start.saturating_add(function.text.len());
        }
        text.extend_from_slice(body.get(at..).unwrap_or_default());
    }
    text.into_boxed_slice()
}

/// A function as it is declared or defined in a source.
#[derive(Clone, Copy, Debug)]
struct Function<'s> {
    name: &'s [u8],
    linkage: &'s [u8],
    /// Where its linkage stands.
    start: usize,
    /// From there to the end of its declaration.
    text: &'s [u8],
}

impl Function<'_> {
    fn is_extern(&self) -> bool {
        self.linkage == EXTERN
    }
}

/// The functions of a source that have a linkage.
fn functions(body: &[u8]) -> Vec<Function<'_>> {
    const WORD: &[u8] = b".func";
    let places = body.windows(WORD.len()).enumerate();
    let places = places.filter(|(_, window)| *window == WORD);
    places
        .filter_map(|(place, _)| {
            let before = body.get(..place)?.trim_ascii_end();
            let start = before.iter().rposition(|byte| *byte == b'.')?;
            let linkage = before.get(start..)?;
            let mut rest = body.get(place.saturating_add(WORD.len())..)?;
            rest = rest.get(padding(rest)..)?;
            if rest.first() == Some(&b'(') {
                let end = rest.iter().position(|byte| *byte == b')')?;
                rest = rest.get(end.saturating_add(1)..)?;
                rest = rest.get(padding(rest)..)?;
            }
            let of_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_$%".contains(byte);
            let end = rest.iter().position(|byte| !of_name(byte));
            let name = rest.get(..end.unwrap_or(rest.len()))?;
            let text = body.get(start..)?;
            let end = text.iter().position(|byte| *byte == b';');
            let end = end.map_or(text.len(), |end| end.saturating_add(1));
            Some(Function {
                name,
                linkage,
                start,
                text: text.get(..end)?,
            })
        })
        .collect()
}

const EXTERN: &[u8] = b".extern";
const VISIBLE: &[u8] = b".visible";
const WEAK: &[u8] = b".weak";

/// The directives with which a source begins.
#[derive(Clone, Copy, Debug, Default)]
struct Header<'s> {
    text: &'s [u8],
    /// Version, then target: what is greater can do more.
    rank: ((u32, u32), u32),
}

/// A source's header, and what follows it.
fn split_header(source: &[u8]) -> (Header<'_>, &[u8]) {
    let mut rank = ((0, 0), 0);
    let mut at: usize = 0;
    loop {
        let start = at.saturating_add(padding(source.get(at..).unwrap_or_default()));
        let rest = source.get(start..).unwrap_or_default();
        let word = |text: &[u8], take: fn(&u8) -> bool| {
            text.iter()
                .position(|byte| !take(byte))
                .unwrap_or(text.len())
        };
        let name = word(rest, |byte| {
            byte.is_ascii_alphanumeric() || b"._".contains(byte)
        });
        let after = rest.get(name..).unwrap_or_default();
        let gap = padding(after);
        let value = after.get(gap..).unwrap_or_default();
        let length = match rest.get(..name).unwrap_or_default() {
            b".version" | b".address_size" => {
                word(value, |byte| byte.is_ascii_digit() || *byte == b'.')
            }
            b".target" => list(value),
            _ => {
                let (text, body) = source.split_at_checked(at).unwrap_or((source, &[]));
                return (Header { text, rank }, body);
            }
        };
        let value = value.get(..length).unwrap_or_default();
        let mut numbers = value
            .split(|byte| !byte.is_ascii_digit())
            .filter_map(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
        match rest.get(1) {
            Some(b'v') => rank.0 = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)),
            Some(b't') => rank.1 = numbers.next().unwrap_or(0),
            _ => {}
        }
        at = [start, name, gap, length].into_iter().sum();
    }
}

/// How many bytes of blanks and comments there are at the start.
fn padding(text: &[u8]) -> usize {
    let mut at: usize = 0;
    loop {
        let rest = text.get(at..).unwrap_or_default();
        let skipped = match rest {
            [byte, ..] if byte.is_ascii_whitespace() => 1,
            [b'/', b'/', ..] => rest
                .iter()
                .position(|byte| *byte == b'\n')
                .unwrap_or(rest.len()),
            [b'/', b'*', ..] => rest
                .windows(2)
                .skip(2)
                .position(|pair| pair == b"*/")
                .map_or(rest.len(), |end| end.saturating_add(4)),
            _ => return at,
        };
        at = at.saturating_add(skipped);
    }
}

/// How long a list of words with commas between them is.
fn list(text: &[u8]) -> usize {
    let mut at: usize = 0;
    loop {
        let rest = text.get(at..).unwrap_or_default();
        let word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let length = rest.iter().position(|byte| !word(byte));
        at = at.saturating_add(length.unwrap_or(rest.len()));
        let rest = text.get(at..).unwrap_or_default();
        let gap = padding(rest);
        if rest.get(gap) != Some(&b',') {
            return at;
        }
        at = at.saturating_add(gap).saturating_add(1);
        at = at.saturating_add(padding(text.get(at..).unwrap_or_default()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_end_where_the_source_begins() {
        for (source, body, rank) in [
            (
                ".version 7.0 .target sm_75 .address_size 64 .visible",
                " .visible",
                ((7, 0), 75),
            ),
            (
                "// a\n/* b */ .version 8.3\n.target sm_90a , debug\n\n.func",
                "\n\n.func",
                ((8, 3), 90),
            ),
            (".address_size 64", "", ((0, 0), 0)),
            ("", "", ((0, 0), 0)),
            (".target", "", ((0, 0), 0)),
            ("/*", "/*", ((0, 0), 0)),
            ("// no end", "// no end", ((0, 0), 0)),
        ] {
            let (header, rest) = split_header(source.as_bytes());
            assert_eq!((rest, header.rank), (body.as_bytes(), rank), "{source}");
        }
    }
}
