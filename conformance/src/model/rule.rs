//! The requirements that the model's rules come from.

use std::fmt;

use crate::catalogue::Level;

/// A requirement of the catalogue, as far as a deviation names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Its id.
    pub id: &'static str,
    /// How binding it is.
    pub level: Level,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.level {
            Level::Must => f.write_str(self.id),
            level => write!(f, "{} ({level})", self.id),
        }
    }
}

/// A few rules, without the heap: what an answer is judged by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    entries: [Option<&'static Rule>; ROOM],
}

impl Rules {
    /// Just this one.
    pub fn one(rule: &'static Rule) -> Rules {
        let mut rules = Rules::default();
        rules.add(rule);
        rules
    }

    /// The rules in the order in which they were met.
    pub fn iter(&self) -> impl Iterator<Item = &'static Rule> {
        self.entries.iter().flatten().copied()
    }

    /// Adds a rule, unless it is there; when there is no room, the earlier ones stay.
    pub(super) fn add(&mut self, rule: &'static Rule) {
        for entry in &mut self.entries {
            match entry {
                Some(known) if known.id == rule.id => return,
                Some(_) => {}
                None => {
                    *entry = Some(rule);
                    return;
                }
            }
        }
    }
}

impl fmt::Display for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, rule) in self.iter().enumerate() {
            write!(f, "{}{rule}", if index == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

/// More faults than one call can have at once.
const ROOM: usize = 8;

macro_rules! rules {
    ($($level:ident $name:ident = $id:literal;)*) => {
        $(pub(super) const $name: &Rule = &Rule { id: $id, level: Level::$level };)*

        /// Every rule that the model cites.
        pub const ALL: &[&Rule] = &[$($name),*];
    };
}

rules! {
    Must MEMORY_ABSENT = "memory.absent";
    Must MEMORY_SHARED = "memory.shared";
    Should MEMORY_64_BIT = "memory.64-bit";
    Should MEMORY_HIGH_OFFSETS = "memory.high-offsets";
    Should MEMORY_END_AT_4GIB = "memory.end-at-4gib";
    Must LOAD_ID = "load.id";
    Must LOAD_ID_UNIQUE = "load.id-unique";
    Must LOAD_WELL_FORMED = "load.well-formed";
    Must LOAD_PTX_LENGTH_CAP = "load.ptx.length-cap";
    Must LOAD_PTX_REGION = "load.ptx.region";
    Must LOAD_ENTRY_REGION = "load.entry.region";
    Must LOAD_ENTRY_UTF8 = "load.entry.utf8";
    Should LOAD_ENTRY_LENGTH_CAP = "load.entry.length-cap";
    Must LOAD_ENTRY_MISSING = "load.entry.missing";
    Must LOAD_MALFORMED = "load.malformed";
    Must LOAD_MALFORMED_BYTES = "load.malformed.bytes";
    Must LOAD_MALFORMED_DIRECTIVES = "load.malformed.directives";
    Must LOAD_KERNEL_CAP = "load.kernel-cap";
    Must LOAD_TOTAL_LENGTH_CAP = "load.total-length-cap";
    Must LAUNCH_GRID_POSITIVE = "launch.grid.positive";
    Must LAUNCH_BLOCK_POSITIVE = "launch.block.positive";
    Must LAUNCH_BLOCK_AXIS_CAP = "launch.block.axis-cap";
    Must LAUNCH_BLOCK_THREADS_CAP = "launch.block.threads-cap";
    Must LAUNCH_DEVICE_LIMITS = "launch.device-limits";
    Must LAUNCH_SHARED_MEMORY = "launch.shared-memory";
    Should LAUNCH_SHARED_MEMORY_CAP = "launch.shared-memory.cap";
    Must LAUNCH_REFUSED_IS_HARMLESS = "launch.refused-is-harmless";
    Must LAUNCH_KERNEL_ID = "launch.kernel-id";
    Must LAUNCH_FOREIGN = "launch.foreign";
    Must LAUNCH_ARGS_REGION = "launch.args.region";
    Must LAUNCH_ARGS_EMPTY = "launch.args.empty";
    Must ARGV_TAGS = "argv.tags";
    Must ARGV_TRUNCATED = "argv.truncated";
    Must ARGV_RECORDS_CAP = "argv.records-cap";
    Must ARGV_BYTES_CAP = "argv.bytes-cap";
    Must ARGV_WINDOW = "argv.window";
    Must ARGV_WINDOW_EMPTY = "argv.window.empty";
    Must LAUNCH_PARAMS_MISSING = "launch.params.missing";
    Must LAUNCH_PARAMS_NARROWER = "launch.params.narrower";
    Must LAUNCH_PARAMS_WIDER = "launch.params.wider";
    Must LAUNCH_PARAMS_MORE = "launch.params.more";
    Must LAUNCH_WINDOW_ACCESS = "launch.window.access";
    Must LAUNCH_WINDOW_ISOLATION = "launch.window.isolation";
    Must LAUNCH_WINDOW_OWN_MEMORY = "launch.window.own-memory";
    Must LAUNCH_FAULT_REPORTED = "launch.fault.reported";
    Must LAUNCH_FAULT_WATCHDOG = "launch.fault.watchdog";
    Must LAUNCH_FAULT_OTHER_INSTANCES = "launch.fault.other-instances";
    Must LAUNCH_FAULT_CONTAINED = "launch.fault.contained";
    Must SYNC_IDLE = "sync.idle";
    Should LAUNCH_MODULE_VARIABLES = "launch.module-variables";
    Must SYNC_EFFECTS = "sync.effects";
    Must ALLOC_ZERO = "alloc.zero";
    Must ALLOC_HANDLE = "alloc.handle";
    Must ALLOC_SIZE_CAP = "alloc.size-cap";
    Must ALLOC_SIZE_IS_64_BIT = "alloc.size-is-64-bit";
    Must ALLOC_COUNT_CAP = "alloc.count-cap";
    Must ALLOC_BYTE_CAP = "alloc.byte-cap";
    Must ALLOC_HANDLE_UNIQUE = "alloc.handle-unique";
    Must ALLOC_HANDLE_NOT_REUSED = "alloc.handle-not-reused";
    Must FREE_HANDLE = "free.handle";
    Must FREE_TWICE = "free.twice";
    Must FREE_FOREIGN = "free.foreign";
    Must HANDLE_IS_64_BIT = "handle.is-64-bit";
    Must MEMCPY_ROUND_TRIP = "memcpy.round-trip";
    Must MEMCPY_LENGTH = "memcpy.length";
    Must MEMCPY_EMPTY = "memcpy.empty";
    Must MEMCPY_H2D_REGION = "memcpy.h2d.region";
    Must MEMCPY_D2H_REGION = "memcpy.d2h.region";
    Must MEMCPY_HANDLE = "memcpy.handle";
    Must MEMCPY_FOREIGN = "memcpy.foreign";
    Must MEMCPY_REFUSED_WRITES_NOTHING = "memcpy.refused-writes-nothing";
    Must ALLOC_ZEROED = "alloc.zeroed";
    Must LAST_ERROR_NONE = "last-error.none";
    Should LAST_ERROR_RECORDED = "last-error.recorded";
    Must LAST_ERROR_STAYS = "last-error.stays";
    Must LAST_ERROR_COPY = "last-error.copy";
    Must LAST_ERROR_TRUNCATE = "last-error.truncate";
    Must LAST_ERROR_REGION = "last-error.region";
    Must LAST_ERROR_UTF8 = "last-error.utf8";
    Should LAST_ERROR_LENGTH_CAP = "last-error.length-cap";
    Should INSTANCE_PROCESS_BUDGET = "instance.process-budget";
    Must PROFILE_NO_DEVICE_ALLOC = "profile.no-device.alloc";
    Should PROFILE_NO_DEVICE_LOAD = "profile.no-device.load";
    Must PROFILE_DISABLED = "profile.disabled";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_is_in_the_catalogue_at_its_level() {
        let suite = crate::Suite::embedded().expect("the embedded suite loads");
        for rule in ALL {
            let requirement = suite.catalogue.requirement(rule.id);
            let requirement =
                requirement.unwrap_or_else(|| panic!("{} is not in the catalogue", rule.id));
            assert_eq!(requirement.level, rule.level, "{}", rule.id);
        }
    }

    #[test]
    fn rules_are_kept_once_and_in_order() {
        let mut rules = Rules::one(ALLOC_ZERO);
        rules.add(ALLOC_SIZE_CAP);
        rules.add(ALLOC_ZERO);
        assert_eq!(rules.to_string(), "alloc.zero, alloc.size-cap");
        rules.add(INSTANCE_PROCESS_BUDGET);
        assert!(
            rules
                .to_string()
                .ends_with("instance.process-budget (should)")
        );
    }
}
