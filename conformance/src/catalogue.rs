//! The requirement catalogue: `requirements.toml`, the list of what a host is held to.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::Spanned;

use crate::position::{Lines, Position};
use crate::profile::Profile;

/// How binding a requirement is.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// A host that breaks it is not conformant.
    Must,
    /// Broken with a good reason only; reported, and no reason to fail.
    Should,
    /// Allowed behaviour that is checked where it is offered.
    May,
}

impl Level {
    /// Every level, the most binding first.
    pub const ALL: [Level; 3] = [Level::Must, Level::Should, Level::May];

    /// The word used in the catalogue and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Level::Must => "must",
            Level::Should => "should",
            Level::May => "may",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What a requirement is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// Names, signatures, and what must not link.
    Link,
    /// Validation of arguments and the code that a bad one gets.
    Argument,
    /// Limits on counts and sizes.
    Cap,
    /// Bytes that move, or must not.
    Data,
    /// What one instance may see or spoil of another.
    Isolation,
    /// Attacks on the host itself.
    Security,
    /// Error texts.
    Diagnostic,
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Class::Link => "link",
            Class::Argument => "argument",
            Class::Cap => "cap",
            Class::Data => "data",
            Class::Isolation => "isolation",
            Class::Security => "security",
            Class::Diagnostic => "diagnostic",
        })
    }
}

/// One sentence that a host is held to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Requirement {
    /// Stable dotted name, such as `launch.grid.positive`.
    pub id: String,
    /// How binding it is.
    pub level: Level,
    /// What it is about.
    pub class: Class,
    /// The host profiles it applies to.
    pub profiles: Vec<Profile>,
    /// The requirement in one or two sentences.
    pub statement: String,
    /// Where it comes from.
    pub source: String,
    /// Why no [deviant](crate::deviant) breaks it; a `must` has either.
    pub no_deviant: Option<String>,
}

/// All requirements, by id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Catalogue {
    requirements: BTreeMap<String, Requirement>,
}

impl Catalogue {
    /// Reads the text of `requirements.toml`.
    ///
    /// # Errors
    ///
    /// The first syntax error, unknown key or wrong value; otherwise every malformed or repeated id, each with its place.
    pub fn parse(text: &str) -> Result<Catalogue, Vec<(Option<Position>, CatalogueError)>> {
        let lines = Lines::new(text);
        let raw: RawCatalogue = toml::from_str(text).map_err(|error| {
            let at = error.span().map(|span| lines.position(span.start));
            vec![(at, CatalogueError::Toml(error.message().to_owned()))]
        })?;
        let mut requirements = BTreeMap::new();
        let mut problems = Vec::new();
        for entry in raw.requirement {
            let at = Some(lines.position(entry.id.span().start));
            let id = entry.id.into_inner();
            if !is_dotted_id(&id) {
                problems.push((at, CatalogueError::BadId(id)));
                continue;
            }
            let requirement = Requirement {
                id: id.clone(),
                level: entry.level,
                class: entry.class,
                profiles: entry.profiles.unwrap_or_else(|| Profile::ALL.to_vec()),
                statement: entry.statement,
                source: entry.source,
                no_deviant: entry.no_deviant,
            };
            if requirements.insert(id.clone(), requirement).is_some() {
                problems.push((at, CatalogueError::Duplicate(id)));
            }
        }
        if problems.is_empty() {
            Ok(Catalogue { requirements })
        } else {
            Err(problems)
        }
    }

    /// The requirement with this id.
    pub fn requirement(&self, id: &str) -> Option<&Requirement> {
        self.requirements.get(id)
    }

    /// Every requirement, sorted by id.
    pub fn requirements(&self) -> impl Iterator<Item = &Requirement> {
        self.requirements.values()
    }
}

/// What is wrong with a catalogue.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CatalogueError {
    /// Not TOML, an unknown key, a missing key or a value of the wrong kind.
    #[error("{0}")]
    Toml(String),
    /// The id is not made of dotted lower-case words.
    #[error(
        "requirement id `{0}`: write lower-case words of letters, digits, `-` and `_`, joined by dots"
    )]
    BadId(String),
    /// Two requirements share an id.
    #[error("requirement `{0}` is already defined above; ids are unique")]
    Duplicate(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCatalogue {
    #[serde(default)]
    requirement: Vec<RawRequirement>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRequirement {
    id: Spanned<String>,
    level: Level,
    class: Class,
    profiles: Option<Vec<Profile>>,
    statement: String,
    source: String,
    no_deviant: Option<String>,
}

fn is_dotted_id(id: &str) -> bool {
    id.split('.').all(|word| {
        !word.is_empty()
            && word
                .bytes()
                .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "[[requirement]]\nid = \"a.b\"\nlevel = \"must\"\nclass = \"cap\"\nstatement = \"s\"\nsource = \"t\"\n";

    #[test]
    fn a_good_entry_applies_to_every_profile() {
        let catalogue = Catalogue::parse(GOOD).expect("good catalogue");
        assert_eq!(
            catalogue
                .requirement("a.b")
                .map(|requirement| requirement.profiles.len()),
            Some(3)
        );
    }

    #[test]
    fn a_reason_for_having_no_deviant_is_kept() {
        let reason = |text: &str| {
            let catalogue = Catalogue::parse(text).expect("good catalogue");
            catalogue
                .requirement("a.b")
                .and_then(|requirement| requirement.no_deviant.clone())
        };
        assert_eq!(reason(GOOD), None);
        let excused = format!("{GOOD}no_deviant = \"r\"\n");
        assert_eq!(reason(&excused).as_deref(), Some("r"));
    }

    #[test]
    fn bad_entries_are_placed() {
        let repeated = format!("{GOOD}{GOOD}");
        assert_eq!(
            Catalogue::parse(&repeated),
            Err(vec![(
                Some(Position { line: 8, column: 6 }),
                CatalogueError::Duplicate("a.b".into())
            )])
        );
        let bad_id = GOOD.replace("a.b", "A b");
        assert_eq!(
            Catalogue::parse(&bad_id),
            Err(vec![(
                Some(Position { line: 2, column: 6 }),
                CatalogueError::BadId("A b".into())
            )])
        );
        for (from, to, line) in [
            ("must", "shall", 3),
            ("class = ", "kind = ", 4),
            ("\"s\"", "3", 5),
        ] {
            let problems = Catalogue::parse(&GOOD.replace(from, to)).expect_err(to);
            assert!(
                matches!(problems[..], [(Some(at), CatalogueError::Toml(_))] if at.line == line),
                "{problems:?}"
            );
        }
    }
}
