//! The committed lists of every id there ever was.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use crate::check::Trace;

/// One list for each kind, sorted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frozen {
    pub(crate) requirements: Vec<String>,
    pub(crate) cases: Vec<String>,
    pub(crate) deviants: Vec<String>,
}

impl Frozen {
    /// The lists of this checkout; one that is not there yet is empty.
    pub(crate) fn read() -> Frozen {
        let [requirements, cases, deviants] = FILES.map(|file| {
            let text = fs::read_to_string(path(file)).unwrap_or_default();
            text.lines().map(str::to_owned).collect()
        });
        Frozen {
            requirements,
            cases,
            deviants,
        }
    }

    /// Adds what is new. Nothing is taken out.
    pub(crate) fn add(&mut self, trace: &Trace) {
        let lists = [&mut self.requirements, &mut self.cases, &mut self.deviants];
        for (list, (_, ids)) in lists.into_iter().zip(trace.ids()) {
            let all: BTreeSet<String> = list
                .drain(..)
                .chain(ids.into_iter().map(str::to_owned))
                .collect();
            list.extend(all);
        }
    }

    pub(crate) fn write(&self) {
        for (file, list) in self.lists() {
            let text: String = list.iter().map(|id| format!("{id}\n")).collect();
            fs::write(path(file), text).unwrap_or_else(|error| panic!("frozen/{file}: {error}"));
        }
    }

    /// Each list with its file.
    pub(crate) fn lists(&self) -> [(&'static str, &Vec<String>); 3] {
        let [requirements, cases, deviants] = FILES;
        [
            (requirements, &self.requirements),
            (cases, &self.cases),
            (deviants, &self.deviants),
        ]
    }
}

const FILES: [&str; 3] = ["requirements.txt", "cases.txt", "deviants.txt"];

fn path(file: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("frozen")
        .join(file)
}
