//! What is still there when the process ends.

use std::panic::catch_unwind;

use crate::environment::settings;
use crate::inject::Report;
use crate::memory::{Origin, shared};
use crate::{context, graph, library, pool};

/// Run by the system when the process ends, or the library is unloaded.
#[used]
#[unsafe(link_section = ".fini_array")]
static AT_THE_END: extern "C" fn() = report;

extern "C" fn report() {
    // A panic must not leave this function, and nobody is left to be told of one.
    let _ = catch_unwind(|| {
        if let Some(output) = &settings().leaks {
            Report::open(output).line(&format!("soft-cuda: leaked: {}", Count::now()));
        }
    });
}

/// Live objects by kind.
#[derive(Debug, Default, PartialEq, Eq)]
struct Count {
    objects: Vec<(&'static str, usize)>,
    allocations: (usize, u64),
    host_allocations: (usize, u64),
}

impl Count {
    fn now() -> Self {
        let contexts = context::all();
        let mut modules = 0usize;
        let mut linkers = 0usize;
        let mut streams = 0usize;
        let mut events = 0usize;
        let mut allocations = (0usize, 0u64);
        for context in &contexts {
            let state = context.state();
            modules = modules.saturating_add(state.modules.loaded());
            linkers = linkers.saturating_add(state.links.len());
            streams = streams.saturating_add(state.streams.len());
            events = events.saturating_add(state.events.len());
            let (number, bytes) = state.memory.count(|origin| origin != Origin::Variable);
            allocations.0 = allocations.0.saturating_add(number);
            allocations.1 = allocations.1.saturating_add(bytes);
        }
        let (graphs, executables) = graph::count();
        Self {
            objects: vec![
                ("context", contexts.len()),
                ("module", modules),
                ("library", library::count()),
                ("linker", linkers),
                ("stream", streams),
                ("event", events),
                ("graph", graphs),
                ("graph executable", executables),
                ("pool", pool::count()),
            ],
            allocations,
            host_allocations: shared::count(),
        }
    }
}

impl std::fmt::Display for Count {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let plural = |number| if number == 1 { "" } else { "s" };
        let named = |name: &str, number| match (name.strip_suffix('y'), number) {
            (_, 1) => name.to_owned(),
            (Some(stem), _) => format!("{stem}ies"),
            (None, _) => format!("{name}s"),
        };
        let mut parts = Vec::new();
        for (name, number) in &self.objects {
            if *number > 0 {
                parts.push(format!("{number} {}", named(name, *number)));
            }
        }
        for (name, (number, bytes)) in [
            ("allocation", self.allocations),
            ("host allocation", self.host_allocations),
        ] {
            if number > 0 {
                parts.push(format!("{number} {name}{} ({bytes} bytes)", plural(number)));
            }
        }
        if parts.is_empty() {
            parts.push("none".into());
        }
        f.write_str(&parts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_said() {
        let mut count = Count::default();
        assert_eq!(count.to_string(), "none");
        count.objects = vec![("context", 0), ("module", 1), ("stream", 2)];
        count.allocations = (2, 128);
        assert_eq!(
            count.to_string(),
            "1 module, 2 streams, 2 allocations (128 bytes)"
        );
    }
}
