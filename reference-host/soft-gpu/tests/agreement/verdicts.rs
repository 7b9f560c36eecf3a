//! Both judges' answers, with ptxas's remembered between runs.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use soft_gpu::{Module, PtxErrorCause};

use crate::ptxas::{Verdict, architecture, assemble};

/// ptxas, asked once for each text.
pub(crate) struct Assembler {
    ptxas: PathBuf,
    folder: PathBuf,
    known: Mutex<HashMap<u64, Verdict>>,
    log: Mutex<File>,
}

impl Assembler {
    /// Keeps answers and texts in `folder`; answers of another ptxas are not used.
    pub(crate) fn new(ptxas: PathBuf, folder: &Path) -> Self {
        let version = std::process::Command::new(&ptxas)
            .arg("--version")
            .output()
            .map(|output| output.stdout)
            .unwrap_or_default();
        let log = folder.join(format!("ptxas-{:016x}.log", digest(&version)));
        let known = fs::read_to_string(&log)
            .unwrap_or_default()
            .lines()
            .filter_map(parse_line)
            .collect();
        let log = OpenOptions::new()
            .append(true)
            .create(true)
            .open(&log)
            .unwrap_or_else(|error| panic!("{}: {error}", log.display()));
        Self {
            ptxas,
            folder: folder.to_owned(),
            known: Mutex::new(known),
            log: Mutex::new(log),
        }
    }

    /// What ptxas says of `text`; `worker` names the file that it reads.
    pub(crate) fn judge(&self, text: &str, worker: usize) -> Verdict {
        let key = match architecture(text) {
            "sm_90" => digest(text.as_bytes()),
            other => digest(&[other.as_bytes(), text.as_bytes()].concat()),
        };
        if let Some(verdict) = self.known.lock().expect("no panic").get(&key) {
            return verdict.clone();
        }
        let path = self.folder.join(format!("mutant-{worker}.ptx"));
        fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let verdict = match assemble(&self.ptxas, &path) {
            Verdict::Refused(message) => Verdict::Refused(first_error(&message)),
            other => other,
        };
        let line = match &verdict {
            Verdict::Taken => format!("{key:016x} taken\n"),
            Verdict::Crashed => format!("{key:016x} crashed\n"),
            Verdict::Refused(message) => format!("{key:016x} refused {message}\n"),
        };
        self.log
            .lock()
            .expect("no panic")
            .write_all(line.as_bytes())
            .expect("a writable log");
        self.known
            .lock()
            .expect("no panic")
            .insert(key, verdict.clone());
        verdict
    }
}

fn parse_line(line: &str) -> Option<(u64, Verdict)> {
    let (key, rest) = line.split_once(' ')?;
    let verdict = match rest.split_once(' ') {
        Some(("refused", message)) => Verdict::Refused(message.to_owned()),
        None if rest == "taken" => Verdict::Taken,
        None if rest == "crashed" => Verdict::Crashed,
        _ => return None,
    };
    Some((u64::from_str_radix(key, 16).ok()?, verdict))
}

fn digest(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

/// The first line that tells an error, without the file and line before it.
fn first_error(message: &str) -> String {
    let line = message
        .lines()
        .find(|line| line.contains("error") || line.contains("fatal"))
        .unwrap_or("no message");
    let text = line.split_once("error").map_or(line, |(_, text)| text);
    text.trim_start_matches([':', ' ']).trim().to_owned()
}

/// What the software GPU says of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ours {
    Taken,
    Refused(String),
    /// Good PTX that it does not implement.
    Unsupported(String),
}

pub(crate) fn load(text: &str) -> Ours {
    match Module::load(text.as_bytes()) {
        Ok(_) => Ours::Taken,
        Err(error) => match error.cause {
            PtxErrorCause::Unsupported(what) => Ours::Unsupported(what.to_string()),
            other => Ours::Refused(other.to_string()),
        },
    }
}

/// A message without what differs between two cases of one kind: numbers and the names in quotes.
pub(crate) fn kind_of(message: &str) -> String {
    let mut kind = String::new();
    let mut quote = None;
    for c in message.chars() {
        match (c, quote) {
            ('\'' | '`', None) => {
                quote = Some(c);
                kind.push_str("'…'");
            }
            (c, Some(open)) if c == open => quote = None,
            (_, Some(_)) => {}
            (c, None) if c.is_ascii_digit() => {
                if !kind.ends_with('N') {
                    kind.push('N');
                }
            }
            (c, None) => kind.push(c),
        }
    }
    kind
}
