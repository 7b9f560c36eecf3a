//! The exported functions: a file for each chapter of the driver API.

pub mod context;
pub mod copy;
pub mod device;
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

/// All of them, a list for each chapter.
pub(crate) const EXPORTS: &[&[Export]] = &[
    context::EXPORTS,
    copy::EXPORTS,
    device::EXPORTS,
    error::EXPORTS,
    event::EXPORTS,
    fill::EXPORTS,
    function::EXPORTS,
    graph::EXPORTS,
    graph_exec::EXPORTS,
    graph_node::EXPORTS,
    graph_node::others::EXPORTS,
    host_memory::EXPORTS,
    launch::EXPORTS,
    library::EXPORTS,
    link::EXPORTS,
    managed::EXPORTS,
    memory::EXPORTS,
    module::EXPORTS,
    occupancy::EXPORTS,
    pointer::EXPORTS,
    pool::EXPORTS,
    primary::EXPORTS,
    rows::EXPORTS,
    stream::EXPORTS,
    stream_attribute::EXPORTS,
];
