//! Choosing cases by id.

use std::collections::BTreeSet;

use globset::GlobBuilder;

/// Chooses ids: an exact id wins over everything, then a folder, file or step by its name, then a glob.
///
/// Case ids hold `[` and `]`, which a glob reads as a set of characters; that is why an exact id comes first.
///
/// # Errors
///
/// The glob is malformed, or nothing matches.
pub fn select<'a>(filter: &str, ids: &[&'a str]) -> Result<BTreeSet<&'a str>, FilterError> {
    let exact: BTreeSet<&str> = ids.iter().copied().filter(|id| *id == filter).collect();
    if !exact.is_empty() {
        return Ok(exact);
    }
    let name = filter.trim_end_matches('/');
    let under: BTreeSet<&str> = ids
        .iter()
        .copied()
        .filter(|id| {
            id.strip_prefix(name)
                .is_some_and(|rest| rest.starts_with(['/', '[']))
        })
        .collect();
    if !under.is_empty() {
        return Ok(under);
    }
    let glob = GlobBuilder::new(filter)
        .build()
        .map_err(|error| FilterError::BadGlob {
            filter: filter.to_owned(),
            reason: error.kind().to_string(),
        })?
        .compile_matcher();
    let matching: BTreeSet<&str> = ids.iter().copied().filter(|id| glob.is_match(id)).collect();
    if matching.is_empty() {
        Err(FilterError::NothingMatches(filter.to_owned()))
    } else {
        Ok(matching)
    }
}

/// A filter that chooses nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FilterError {
    /// The glob has a syntax error.
    #[error("filter `{filter}`: {reason}; write `\\[` for a bracket, or give the whole case id")]
    BadGlob {
        /// As given.
        filter: String,
        /// What is wrong with it.
        reason: String,
    },
    /// No case has such an id.
    #[error("filter `{0}` matches no case here; `list` prints every case id and its profiles")]
    NothingMatches(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDS: [&str; 5] = ["a/f/x", "a/f/x[n=1]", "a/f/x[n=12]", "a/g/y", "b/f/x"];

    fn chosen(filter: &str) -> Vec<&'static str> {
        let chosen = select(filter, &IDS).expect(filter);
        IDS.into_iter().filter(|id| chosen.contains(id)).collect()
    }

    #[test]
    fn exact_then_folder_then_glob() {
        assert_eq!(chosen("a/f/x"), ["a/f/x"]);
        assert_eq!(chosen("a/f/x[n=1]"), ["a/f/x[n=1]"]);
        assert_eq!(chosen("a/f"), ["a/f/x", "a/f/x[n=1]", "a/f/x[n=12]"]);
        assert_eq!(
            chosen("a/"),
            ["a/f/x", "a/f/x[n=1]", "a/f/x[n=12]", "a/g/y"]
        );
        assert_eq!(chosen("*/f/x"), ["a/f/x", "b/f/x"]);
        assert_eq!(chosen("a/f/x\\[n=1*"), ["a/f/x[n=1]", "a/f/x[n=12]"]);
        assert_eq!(chosen("a/{f,g}/?"), ["a/f/x", "a/g/y"]);
    }

    #[test]
    fn nothing_and_nonsense_are_told_apart() {
        assert_eq!(
            select("c*", &IDS),
            Err(FilterError::NothingMatches("c*".into()))
        );
        assert!(matches!(
            select("a[", &IDS),
            Err(FilterError::BadGlob { .. })
        ));
    }
}
