//! The exported functions: a file for each chapter of the driver API.

pub mod absent;
pub mod context;
pub mod copy;
pub mod device;
pub mod discovery;
pub mod error;
pub mod event;
pub mod fill;
pub mod function;
pub mod graph;
pub mod graph_exec;
pub mod graph_node;
pub mod graph_params;
pub mod host_memory;
pub mod launch;
pub mod library;
pub mod link;
pub mod managed;
pub mod memory;
pub mod module;
pub mod occupancy;
pub mod pointer;
pub mod pool;
pub mod primary;
pub mod profiler;
pub mod rows;
pub mod stream;
pub mod stream_attribute;

/// An exported function.
#[derive(Clone, Copy)]
pub(crate) struct Export {
    /// Its symbol.
    pub(crate) name: &'static str,
    /// Where it is.
    pub(crate) address: *const (),
}

/// All of them, a list for each chapter with its name.
pub(crate) const EXPORTS: &[(&str, &[Export])] = &[
    ("absent", absent::EXPORTS),
    ("context", context::EXPORTS),
    ("copy", copy::EXPORTS),
    ("device", device::EXPORTS),
    ("discovery", discovery::EXPORTS),
    ("error", error::EXPORTS),
    ("event", event::EXPORTS),
    ("fill", fill::EXPORTS),
    ("function", function::EXPORTS),
    ("graph", graph::EXPORTS),
    ("graph_exec", graph_exec::EXPORTS),
    ("graph_node", graph_node::EXPORTS),
    ("graph_node", graph_node::others::EXPORTS),
    ("host_memory", host_memory::EXPORTS),
    ("launch", launch::EXPORTS),
    ("library", library::EXPORTS),
    ("link", link::EXPORTS),
    ("managed", managed::EXPORTS),
    ("memory", memory::EXPORTS),
    ("module", module::EXPORTS),
    ("occupancy", occupancy::EXPORTS),
    ("pointer", pointer::EXPORTS),
    ("pool", pool::EXPORTS),
    ("primary", primary::EXPORTS),
    ("profiler", profiler::EXPORTS),
    ("rows", rows::EXPORTS),
    ("stream", stream::EXPORTS),
    ("stream_attribute", stream_attribute::EXPORTS),
];

#[cfg(test)]
mod tests {
    use super::EXPORTS;

    #[test]
    fn the_surface_is_what_is_written_down() {
        let chapters = EXPORTS.iter();
        let exports = chapters.flat_map(|(chapter, exports)| {
            let exports = exports.iter();
            exports.map(move |export| format!("{} {chapter}", export.name))
        });
        let mut exports: Vec<String> = exports.collect();
        exports.sort();
        let written: Vec<&str> = include_str!("surface.txt").lines().collect();
        assert_eq!(
            exports, written,
            "scripts/soft-cuda-surface.py writes the list anew"
        );
    }
}
