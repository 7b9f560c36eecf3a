//! Graphs: nodes with work, and which waits for which.
//!
//! All graphs of the process are behind one lock, since they belong to no context. Nothing else is locked while that is held.

pub(crate) mod executable;
pub(crate) mod node;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::Error;
use crate::graph::executable::Executable;
use crate::graph::node::NodeWork;
use crate::handle::{Handle, Kind, Table};
use crate::types::{CUgraph, CUgraphExec, CUgraphNode};

/// All graphs of the process, their nodes, and what was made of them to be launched.
#[derive(Default)]
pub(crate) struct Graphs {
    graphs: Table<Graph>,
    nodes: Table<Node>,
    pub(crate) executables: Table<Executable>,
}

/// A graph.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    /// Its nodes, in the order of their making.
    pub(crate) nodes: Vec<u32>,
    /// Whether a node owns it.
    is_child: bool,
    /// Nodes by those that they were cloned from.
    cloned_from: BTreeMap<u32, u32>,
}

/// A node of a graph.
#[derive(Debug)]
pub(crate) struct Node {
    /// The graph that it is in.
    pub(crate) graph: u32,
    pub(crate) work: NodeWork,
    /// Nodes that it waits for.
    pub(crate) dependencies: BTreeSet<u32>,
}

impl Graphs {
    /// Makes an empty graph.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`] where there are too many.
    pub(crate) fn create(&mut self) -> Result<u32, Error> {
        self.graphs
            .insert(Graph::default())
            .ok_or(Error::OutOfMemory)
    }

    /// Ends a graph with its nodes. What was made of it to be launched stays.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidValue`] where there is none, or a node owns it.
    pub(crate) fn destroy(&mut self, graph: u32) -> Result<(), Error> {
        if self.graph(graph)?.is_child {
            return Err(Error::InvalidValue);
        }
        self.remove_graph(graph);
        Ok(())
    }

    fn remove_graph(&mut self, graph: u32) {
        let mut left = vec![graph];
        while let Some(graph) = left.pop() {
            for node in self.graphs.remove(graph).unwrap_or_default().nodes {
                if let Some(NodeWork::Child(child)) = self.nodes.remove(node).map(|node| node.work)
                {
                    left.push(child);
                }
            }
        }
    }

    /// The graph with this number.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidValue`].
    pub(crate) fn graph(&self, serial: u32) -> Result<&Graph, Error> {
        self.graphs.entry(serial).ok_or(Error::InvalidValue)
    }

    /// The node with this number.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidValue`].
    pub(crate) fn node(&self, serial: u32) -> Result<&Node, Error> {
        self.nodes.entry(serial).ok_or(Error::InvalidValue)
    }

    /// The node with this number, to be changed.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidValue`].
    pub(crate) fn node_mut(&mut self, serial: u32) -> Result<&mut Node, Error> {
        self.nodes.entry_mut(serial).ok_or(Error::InvalidValue)
    }

    /// Puts a node into a graph.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidValue`] for a graph that is not there, a dependency that is not a node of it, or one that is named twice;
    /// [`Error::OutOfMemory`] where there are too many nodes.
    pub(crate) fn add(
        &mut self,
        graph: u32,
        dependencies: &[u32],
        work: NodeWork,
    ) -> Result<u32, Error> {
        self.graph(graph)?;
        for dependency in dependencies {
            self.check_in(*dependency, graph)?;
        }
        let unique: BTreeSet<u32> = dependencies.iter().copied().collect();
        if unique.len() != dependencies.len() {
            return Err(Error::InvalidValue);
        }
        if self.nodes.len() >= MOST_NODES {
            return Err(Error::OutOfMemory);
        }
        let node = Node {
            graph,
            work,
            dependencies: unique,
        };
        let serial = self.nodes.insert(node).ok_or(Error::OutOfMemory)?;
        if let Some(graph) = self.graphs.entry_mut(graph) {
            graph.nodes.push(serial);
        }
        Ok(serial)
    }

    /// Puts a node into a graph that carries out a clone of another graph.
    ///
    /// # Errors
    ///
    /// As for [`Self::add`], and [`Error::NotSupported`] where graphs are in graphs too deep.
    pub(crate) fn add_child(
        &mut self,
        graph: u32,
        dependencies: &[u32],
        child: u32,
    ) -> Result<u32, Error> {
        self.graph(graph)?;
        let clone = self.clone_graph(child)?;
        if let Some(clone) = self.graphs.entry_mut(clone) {
            clone.is_child = true;
        }
        self.add(graph, dependencies, NodeWork::Child(clone))
            .inspect_err(|_| self.remove_graph(clone))
    }

    /// Takes a node out of its graph, with the edges that it has.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidValue`].
    pub(crate) fn remove(&mut self, serial: u32) -> Result<(), Error> {
        let node = self.nodes.remove(serial).ok_or(Error::InvalidValue)?;
        let mut others = Vec::new();
        if let Some(graph) = self.graphs.entry_mut(node.graph) {
            graph.nodes.retain(|other| *other != serial);
            others.clone_from(&graph.nodes);
        }
        for other in others {
            if let Some(other) = self.nodes.entry_mut(other) {
                other.dependencies.remove(&serial);
            }
        }
        if let NodeWork::Child(child) = node.work {
            self.remove_graph(child);
        }
        Ok(())
    }

    /// Has nodes of a graph wait for others, all of them or, where one is wrong, none.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidValue`] for what is not a node of the graph, a node that would wait for itself, or an edge that is there.
    pub(crate) fn connect(&mut self, graph: u32, edges: &[(u32, u32)]) -> Result<(), Error> {
        self.check_edges(graph, edges, false)?;
        for (from, to) in edges {
            self.node_mut(*to)?.dependencies.insert(*from);
        }
        Ok(())
    }

    /// Has nodes of a graph wait for others no longer, all of them or, where one is wrong, none.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidValue`] for an edge that is not there.
    pub(crate) fn disconnect(&mut self, graph: u32, edges: &[(u32, u32)]) -> Result<(), Error> {
        self.check_edges(graph, edges, true)?;
        for (from, to) in edges {
            self.node_mut(*to)?.dependencies.remove(from);
        }
        Ok(())
    }

    fn check_edges(&self, graph: u32, edges: &[(u32, u32)], there: bool) -> Result<(), Error> {
        self.graph(graph)?;
        let mut seen = BTreeSet::new();
        for (from, to) in edges {
            self.check_in(*from, graph)?;
            self.check_in(*to, graph)?;
            let is_there = self.node(*to)?.dependencies.contains(from);
            if from == to || is_there != there || !seen.insert((from, to)) {
                return Err(Error::InvalidValue);
            }
        }
        Ok(())
    }

    fn check_in(&self, node: u32, graph: u32) -> Result<(), Error> {
        if self.node(node)?.graph == graph {
            Ok(())
        } else {
            Err(Error::InvalidValue)
        }
    }

    /// The edges of a graph: from the node that is waited for to the one that waits.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidValue`].
    pub(crate) fn edges(&self, graph: u32) -> Result<Vec<(u32, u32)>, Error> {
        let mut edges = Vec::new();
        for node in &self.graph(graph)?.nodes {
            let dependencies = self.node(*node)?.dependencies.iter();
            edges.extend(dependencies.map(|dependency| (*dependency, *node)));
        }
        Ok(edges)
    }

    /// Makes a graph like another, graphs of nodes included.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidValue`] where there is none; [`Error::OutOfMemory`] and [`Error::NotSupported`] as for [`Self::add_child`].
    pub(crate) fn clone_graph(&mut self, graph: u32) -> Result<u32, Error> {
        self.clone_at(graph, 0)
    }

    fn clone_at(&mut self, graph: u32, depth: usize) -> Result<u32, Error> {
        if depth > DEEPEST {
            return Err(Error::NotSupported);
        }
        let originals = self.graph(graph)?.nodes.clone();
        let clone = self.create()?;
        self.clone_nodes(clone, &originals, depth)
            .inspect_err(|_| self.remove_graph(clone))?;
        Ok(clone)
    }

    fn clone_nodes(&mut self, clone: u32, originals: &[u32], depth: usize) -> Result<(), Error> {
        let mut cloned_from = BTreeMap::new();
        for original in originals {
            let work = match &self.node(*original)?.work {
                NodeWork::Child(child) => {
                    let child = *child;
                    let child = self.clone_at(child, depth.saturating_add(1))?;
                    if let Some(child) = self.graphs.entry_mut(child) {
                        child.is_child = true;
                    }
                    NodeWork::Child(child)
                }
                work => work.clone(),
            };
            cloned_from.insert(*original, self.add(clone, &[], work)?);
        }
        for (original, node) in &cloned_from {
            let dependencies = self.node(*original)?.dependencies.iter();
            let dependencies = dependencies.filter_map(|other| cloned_from.get(other));
            let dependencies: BTreeSet<u32> = dependencies.copied().collect();
            self.node_mut(*node)?.dependencies = dependencies;
        }
        if let Some(clone) = self.graphs.entry_mut(clone) {
            clone.cloned_from = cloned_from;
        }
        Ok(())
    }

    /// The node of a cloned graph that stands for one of the graph that it was cloned from.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidValue`] where there is none.
    pub(crate) fn in_clone(&self, original: u32, clone: u32) -> Result<u32, Error> {
        let node = self.graph(clone)?.cloned_from.get(&original).copied();
        // It may have been removed since.
        node.filter(|node| self.nodes.entry(*node).is_some())
            .ok_or(Error::InvalidValue)
    }

    /// The nodes of a graph in an order in which each comes after those that it waits for, and else as they were made.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidValue`] where nodes wait for each other in a ring.
    pub(crate) fn order(&self, graph: u32) -> Result<Vec<u32>, Error> {
        let nodes = &self.graph(graph)?.nodes;
        let mut waits_for: BTreeMap<u32, usize> = BTreeMap::new();
        let mut waiting: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for node in nodes {
            let dependencies = &self.node(*node)?.dependencies;
            waits_for.insert(*node, dependencies.len());
            for dependency in dependencies {
                waiting.entry(*dependency).or_default().push(*node);
            }
        }
        let places: BTreeMap<u32, usize> = nodes.iter().copied().zip(0..).collect();
        let place = |node: u32| places.get(&node).copied().unwrap_or_default();
        let free = nodes.iter().filter(|node| waits_for.get(node) == Some(&0));
        let mut free: BTreeSet<(usize, u32)> = free.map(|node| (place(*node), *node)).collect();
        let mut order = Vec::new();
        while let Some((_, node)) = free.pop_first() {
            order.push(node);
            for other in waiting.remove(&node).unwrap_or_default() {
                if let Some(left) = waits_for.get_mut(&other) {
                    *left = left.saturating_sub(1);
                    if *left == 0 {
                        free.insert((place(other), other));
                    }
                }
            }
        }
        if order.len() == nodes.len() {
            Ok(order)
        } else {
            Err(Error::InvalidValue)
        }
    }
}

/// All graphs, locked.
pub(crate) fn graphs() -> MutexGuard<'static, Graphs> {
    static GRAPHS: std::sync::OnceLock<Mutex<Graphs>> = std::sync::OnceLock::new();
    GRAPHS
        .get_or_init(Mutex::default)
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
}

/// How many graphs and executables there are that programs have made and not destroyed.
pub(crate) fn count() -> (usize, usize) {
    let graphs = graphs();
    let made = graphs.graphs.iter().filter(|(_, graph)| !graph.is_child);
    (made.count(), graphs.executables.len())
}

/// Turns handles into numbers and back; what a number names is looked up by whoever uses it.
macro_rules! numbers {
    ($($(#[$doc:meta])* $parse:ident $handle:ident $ty:ident $kind:ident)*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        ///
        /// [`Error::InvalidValue`] where it is no handle of this kind.
        pub(crate) fn $parse(handle: $ty) -> Result<u32, Error> {
            let handle = Handle::parse(handle.0, Kind::$kind);
            let handle = handle.filter(|handle| handle.context == 0);
            handle.map(|handle| handle.serial).ok_or(Error::InvalidValue)
        }

        /// The handle with this number.
        pub(crate) fn $handle(serial: u32) -> $ty {
            let handle = Handle { context: 0, serial };
            $ty(handle.bits(Kind::$kind))
        }
    )*};
}

numbers! {
    /// A graph's number.
    parse_graph graph_handle CUgraph Graph
    /// A node's number.
    parse_node node_handle CUgraphNode GraphNode
    /// An executable's number.
    parse_executable executable_handle CUgraphExec GraphExec
}

/// Graphs can be in nodes of graphs this deep.
pub(crate) const DEEPEST: usize = 10;
/// Nodes of all graphs together.
const MOST_NODES: usize = 1 << 20;
