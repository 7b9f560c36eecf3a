//! The suite: catalogue and fixtures, from inside the program or from a folder.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::str::Utf8Error;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::catalogue::{Catalogue, Requirement};
use crate::fixture::{self, Case, Fixture, FixtureError, LoadError, Plan};
use crate::position::{Lines, Position};
use crate::profile::Profile;

/// A catalogue and the fixtures that check it.
#[derive(Clone, Debug)]
pub struct Suite {
    /// Version and digest.
    pub info: SuiteInfo,
    /// The requirements.
    pub catalogue: Catalogue,
    /// The fixtures, sorted by path.
    pub fixtures: Vec<Arc<Fixture>>,
}

/// Names the exact suite that produced a report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SuiteInfo {
    /// Version of this package.
    pub version: String,
    /// `sha256:` and the hash over every fixture and the catalogue, line ends normalised.
    pub digest: String,
}

/// Everything that keeps a suite from loading, one line each.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", problems.iter().map(LoadError::to_string).collect::<Vec<_>>().join("\n"))]
pub struct SuiteError {
    /// The problems, file by file.
    pub problems: Vec<LoadError>,
}

impl Suite {
    /// The suite that is part of the program.
    ///
    /// # Errors
    ///
    /// The problems in its files; a released program has none.
    pub fn embedded() -> Result<Suite, SuiteError> {
        let fixtures = embedded::FIXTURES
            .iter()
            .map(|(path, bytes)| ((*path).to_owned(), bytes.to_vec()))
            .collect();
        Suite::load(
            "conformance/requirements.toml",
            embedded::CATALOGUE,
            "fixtures",
            &fixtures,
            None,
        )
    }

    /// The fixtures of a folder, with the catalogue of a file or else the one that is part of the program.
    ///
    /// # Errors
    ///
    /// Every problem in every file: unreadable, malformed, or a fixture that contradicts itself.
    pub fn from_folder(folder: &Path, catalogue: Option<&Path>) -> Result<Suite, SuiteError> {
        let mut files = BTreeMap::new();
        let mut problems = Vec::new();
        collect(folder, "", &mut files, &mut problems);
        let shown = folder.display().to_string();
        if files.is_empty() && problems.is_empty() {
            problems.push(LoadError {
                file: shown.clone(),
                at: None,
                cause: FixtureError::Empty,
            });
        }
        let catalogue_bytes = match catalogue {
            None => embedded::CATALOGUE.to_vec(),
            Some(file) => fs::read(file).unwrap_or_else(|error| {
                problems.push(unreadable(file.display().to_string(), &error));
                Vec::new()
            }),
        };
        if !problems.is_empty() {
            return Err(SuiteError { problems });
        }
        let name = catalogue.map_or_else(
            || "conformance/requirements.toml".to_owned(),
            |file| file.display().to_string(),
        );
        let siblings = |path: &str| {
            fs::read(folder.join(path))
                .map(|bytes| normalise(&bytes))
                .map_err(|error| error.to_string())
        };
        Suite::load(
            &name,
            &catalogue_bytes,
            shown.trim_end_matches('/'),
            &files,
            Some(&siblings),
        )
    }

    pub(crate) fn load(
        catalogue_name: &str,
        catalogue: &[u8],
        folder: &str,
        files: &BTreeMap<String, Vec<u8>>,
        siblings: Option<&fixture::Siblings<'_>>,
    ) -> Result<Suite, SuiteError> {
        let mut digest = Sha256::new();
        let mut problems = Vec::new();
        let catalogue_bytes = normalise(catalogue);
        add(&mut digest, "requirements.toml", &catalogue_bytes);
        let mut place = |at, cause| {
            problems.push(LoadError {
                file: catalogue_name.to_owned(),
                at,
                cause,
            })
        };
        let catalogue = match std::str::from_utf8(&catalogue_bytes) {
            Err(error) => {
                place(
                    Some(first_bad(&catalogue_bytes, error)),
                    FixtureError::NotUtf8,
                );
                Catalogue::default()
            }
            Ok(text) => Catalogue::parse(text).unwrap_or_else(|errors| {
                for (at, error) in errors {
                    place(at, FixtureError::Catalogue(error));
                }
                Catalogue::default()
            }),
        };
        if !problems.is_empty() {
            // Without a catalogue every requirement of every fixture would look unknown.
            return Err(SuiteError { problems });
        }
        let mut fixtures = Vec::new();
        for (path, bytes) in files {
            let file = format!("{folder}/{path}");
            let bytes = normalise(bytes);
            add(&mut digest, path, &bytes);
            let id = path.strip_suffix(".wat").unwrap_or(path);
            match std::str::from_utf8(&bytes) {
                Err(error) => problems.push(LoadError {
                    file,
                    at: Some(first_bad(&bytes, error)),
                    cause: FixtureError::NotUtf8,
                }),
                Ok(text) => match fixture::load(id, &file, text, &catalogue, siblings) {
                    Ok(fixture) => fixtures.push(Arc::new(fixture)),
                    Err(found) => problems.extend(found),
                },
            }
        }
        if problems.is_empty() {
            problems.extend(link_controls(folder, &fixtures));
        }
        if !problems.is_empty() {
            return Err(SuiteError { problems });
        }
        let mut hex = String::from("sha256:");
        for byte in digest.finalize() {
            // Writing to a String cannot fail.
            let _ = write!(hex, "{byte:02x}");
        }
        let info = SuiteInfo {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            digest: hex,
        };
        Ok(Suite {
            info,
            catalogue,
            fixtures,
        })
    }

    /// Every case with its fixture, in the order of reports.
    pub fn cases(&self) -> impl Iterator<Item = (&Fixture, &Case)> {
        self.fixtures
            .iter()
            .flat_map(|fixture| fixture.cases().map(move |case| (&**fixture, case)))
    }

    /// The cases that check a requirement under a profile.
    pub fn cases_of<'a>(
        &'a self,
        requirement: &'a Requirement,
        profile: Profile,
    ) -> impl Iterator<Item = &'a Case> {
        self.fixtures
            .iter()
            .flat_map(move |fixture| fixture.judged(profile))
            .filter(|case| case.requirements.contains(&requirement.id))
    }
}

/// The place of the first byte that is not UTF-8.
fn first_bad(bytes: &[u8], error: Utf8Error) -> Position {
    let good = bytes.get(..error.valid_up_to()).unwrap_or_default();
    let good = String::from_utf8_lossy(good);
    Lines::new(&good).position(good.len())
}

/// The folders where a module must not link and none must: a host that links nothing would pass there.
fn link_controls(folder: &str, fixtures: &[Arc<Fixture>]) -> Vec<LoadError> {
    let folder_of = |path: &str| {
        path.rsplit_once('/')
            .map_or_else(String::new, |(folder, _)| folder.to_owned())
    };
    let is_refused = |fixture: &Fixture| matches!(&fixture.plan, Plan::Link(case) if !case.control);
    let linking: BTreeSet<String> = fixtures
        .iter()
        .filter(|fixture| !is_refused(fixture))
        .map(|fixture| folder_of(&fixture.path))
        .collect();
    fixtures
        .iter()
        .filter(|fixture| is_refused(fixture) && !linking.contains(&folder_of(&fixture.path)))
        .map(|fixture| LoadError {
            file: format!("{folder}/{}.wat", fixture.path),
            at: fixture.link_at,
            cause: FixtureError::NoLinkControl(folder_of(&fixture.path)),
        })
        .collect()
}

/// Finds the `.wat` files under a folder; `prefix` is the path so far, empty or ending in `/`.
fn collect(
    folder: &Path,
    prefix: &str,
    files: &mut BTreeMap<String, Vec<u8>>,
    problems: &mut Vec<LoadError>,
) {
    let shown = || folder.display().to_string();
    let entries = match fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>) {
        Ok(entries) => entries,
        Err(error) => return problems.push(unreadable(shown(), &error)),
    };
    for entry in entries {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with('.') {
            continue;
        }
        let is_fixture = path.extension().is_some_and(|extension| extension == "wat");
        if (path.is_dir() || is_fixture) && !fixture::is_plain_name(&name) {
            problems.push(LoadError {
                file: shown(),
                at: None,
                cause: FixtureError::BadFileName(name),
            });
        } else if path.is_dir() {
            collect(&path, &format!("{prefix}{name}/"), files, problems);
        } else if is_fixture {
            match fs::read(&path) {
                Ok(bytes) => {
                    files.insert(format!("{prefix}{name}"), bytes);
                }
                Err(error) => problems.push(unreadable(path.display().to_string(), &error)),
            }
        }
    }
}

fn unreadable(file: String, error: &std::io::Error) -> LoadError {
    LoadError {
        file,
        at: None,
        cause: FixtureError::Unreadable(error.to_string()),
    }
}

/// Line feeds only and no byte order mark, so that a checkout on any system is the same suite.
fn normalise(bytes: &[u8]) -> Vec<u8> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let mut normalised = Vec::with_capacity(bytes.len());
    let mut rest = bytes.iter().peekable();
    while let Some(byte) = rest.next() {
        if !(*byte == b'\r' && rest.peek() == Some(&&b'\n')) {
            normalised.push(*byte);
        }
    }
    normalised
}

/// Adds one file to the digest; lengths keep the border between name and content unambiguous.
fn add(digest: &mut Sha256, path: &str, bytes: &[u8]) {
    for part in [path.as_bytes(), bytes] {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
}

mod embedded {
    //! `CATALOGUE` and `FIXTURES`, written by the build script.
    include!(concat!(env!("OUT_DIR"), "/suite.rs"));
}
