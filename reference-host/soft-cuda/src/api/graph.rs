//! Graphs: made, cloned, looked at, and ended.

use std::ffi::{c_char, c_uint, c_ulonglong};

use crate::api::graph_params::CUgraphEdgeData;
use crate::call::{Done, api, put, put_wanted, take, text};
use crate::error::Error;
use crate::graph::{
    Graphs, graph_handle, graphs, node_handle, parse_executable, parse_graph, parse_node,
};
use crate::types::{CUgraph, CUgraphExec, CUgraphNode};

api! {
    /// Makes an empty graph.
    ready fn cuGraphCreate(graph: *mut CUgraph, flags: c_uint) {
        if graph.is_null() || flags != 0 {
            return Err(Error::InvalidValue);
        }
        let made = graphs().create()?;
        // SAFETY: not null: the program's place for a handle.
        unsafe { put(graph, graph_handle(made)) }
    }

    /// Ends a graph; what was made of it to be launched stays.
    ready fn cuGraphDestroy(graph: CUgraph) {
        graphs().destroy(parse_graph(graph)?)
    }

    /// Makes a graph like another.
    ready fn cuGraphClone(clone: *mut CUgraph, original: CUgraph) {
        if clone.is_null() {
            return Err(Error::InvalidValue);
        }
        let made = graphs().clone_graph(parse_graph(original)?)?;
        // SAFETY: not null: the program's place for a handle.
        unsafe { put(clone, graph_handle(made)) }
    }

    /// The node of a clone that stands for one of the original.
    ready fn cuGraphNodeFindInClone(node: *mut CUgraphNode, original: CUgraphNode, clone: CUgraph) {
        let found = {
            let (original, clone) = (parse_node(original)?, parse_graph(clone)?);
            let graphs = graphs();
            // A node that is gone has no handle, though its clone remembers it.
            graphs.node(original)?;
            graphs.in_clone(original, clone)?
        };
        // SAFETY: null, or the program's place for a handle.
        unsafe { put(node, node_handle(found)) }
    }

    /// Takes a node out of its graph.
    ready fn cuGraphDestroyNode(node: CUgraphNode) {
        graphs().remove(parse_node(node)?)
    }

    /// The kind of a node.
    ready fn cuGraphNodeGetType(node: CUgraphNode, kind: *mut c_uint) {
        let is = graphs().node(parse_node(node)?)?.work.kind();
        // SAFETY: null, or the program's place for a kind.
        unsafe { put(kind, is) }
    }

    /// The graph that a node is in.
    ready fn cuGraphNodeGetContainingGraph(node: CUgraphNode, graph: *mut CUgraph) {
        let is = graphs().node(parse_node(node)?)?.graph;
        // SAFETY: null, or the program's place for a handle.
        unsafe { put(graph, graph_handle(is)) }
    }

    /// The number of a node.
    ready fn cuGraphNodeGetLocalId(node: CUgraphNode, id: *mut c_uint) {
        let serial = parse_node(node)?;
        graphs().node(serial)?;
        // SAFETY: null, or the program's place for a number.
        unsafe { put(id, serial) }
    }

    /// The number of a node among all.
    ready fn cuGraphNodeGetToolsId(node: CUgraphNode, id: *mut c_ulonglong) {
        let serial = parse_node(node)?;
        graphs().node(serial)?;
        // SAFETY: null, or the program's place for a number.
        unsafe { put(id, c_ulonglong::from(serial)) }
    }

    /// The number of a graph.
    ready fn cuGraphGetId(graph: CUgraph, id: *mut c_uint) {
        let serial = parse_graph(graph)?;
        graphs().graph(serial)?;
        // SAFETY: null, or the program's place for a number.
        unsafe { put(id, serial) }
    }

    /// The number of an executable.
    ready fn cuGraphExecGetId(executable: CUgraphExec, id: *mut c_uint) {
        let serial = parse_executable(executable)?;
        graphs().executables.entry(serial).ok_or(Error::InvalidValue)?;
        // SAFETY: null, or the program's place for a number.
        unsafe { put(id, serial) }
    }

    /// The nodes of a graph.
    ready fn cuGraphGetNodes(graph: CUgraph, nodes: *mut CUgraphNode, number: *mut usize) {
        let found = graphs().graph(parse_graph(graph)?)?.nodes.clone();
        // SAFETY: the program's list, as long as it says.
        unsafe { give(&found, &[Place::Nodes(nodes)], number, |node| [*node, 0]) }
    }

    /// The nodes of a graph that wait for no other.
    ready fn cuGraphGetRootNodes(graph: CUgraph, nodes: *mut CUgraphNode, number: *mut usize) {
        let found = roots(&graphs(), parse_graph(graph)?)?;
        // SAFETY: the program's list, as long as it says.
        unsafe { give(&found, &[Place::Nodes(nodes)], number, |node| [*node, 0]) }
    }

    /// The edges of a graph.
    ready fn cuGraphGetEdges(graph: CUgraph, from: *mut CUgraphNode, to: *mut CUgraphNode, number: *mut usize) {
        // SAFETY: the program's lists, as long as it says.
        unsafe { give_edges(graph, from, to, std::ptr::null_mut(), number) }
    }

    /// The edges of a graph, and what they mean.
    ready fn cuGraphGetEdges_v2(
        graph: CUgraph,
        from: *mut CUgraphNode,
        to: *mut CUgraphNode,
        data: *mut CUgraphEdgeData,
        number: *mut usize,
    ) {
        // SAFETY: the program's lists, as long as it says.
        unsafe { give_edges(graph, from, to, data, number) }
    }

    /// The nodes that a node waits for.
    ready fn cuGraphNodeGetDependencies(node: CUgraphNode, nodes: *mut CUgraphNode, number: *mut usize) {
        let found = dependencies(node)?;
        // SAFETY: the program's list, as long as it says.
        unsafe { give(&found, &[Place::Nodes(nodes)], number, |node| [*node, 0]) }
    }

    /// The nodes that a node waits for, and what the edges mean.
    ready fn cuGraphNodeGetDependencies_v2(
        node: CUgraphNode,
        nodes: *mut CUgraphNode,
        data: *mut CUgraphEdgeData,
        number: *mut usize,
    ) {
        let found = dependencies(node)?;
        // SAFETY: the program's lists, as long as it says.
        unsafe { give(&found, &[Place::Nodes(nodes), Place::Data(data)], number, |node| [*node, 0]) }
    }

    /// The nodes that wait for a node.
    ready fn cuGraphNodeGetDependentNodes(node: CUgraphNode, nodes: *mut CUgraphNode, number: *mut usize) {
        let found = dependents(node)?;
        // SAFETY: the program's list, as long as it says.
        unsafe { give(&found, &[Place::Nodes(nodes)], number, |node| [*node, 0]) }
    }

    /// The nodes that wait for a node, and what the edges mean.
    ready fn cuGraphNodeGetDependentNodes_v2(
        node: CUgraphNode,
        nodes: *mut CUgraphNode,
        data: *mut CUgraphEdgeData,
        number: *mut usize,
    ) {
        let found = dependents(node)?;
        // SAFETY: the program's lists, as long as it says.
        unsafe { give(&found, &[Place::Nodes(nodes), Place::Data(data)], number, |node| [*node, 0]) }
    }

    /// Has nodes wait for others.
    ready fn cuGraphAddDependencies(graph: CUgraph, from: *const CUgraphNode, to: *const CUgraphNode, number: usize) {
        // SAFETY: the program's lists, as long as it says.
        let edges = unsafe { edges(from, to, std::ptr::null(), number) }?;
        graphs().connect(parse_graph(graph)?, &edges)
    }

    /// Has nodes wait for others, by edges with a meaning.
    ready fn cuGraphAddDependencies_v2(
        graph: CUgraph,
        from: *const CUgraphNode,
        to: *const CUgraphNode,
        data: *const CUgraphEdgeData,
        number: usize,
    ) {
        // SAFETY: the program's lists, as long as it says.
        let edges = unsafe { edges(from, to, data, number) }?;
        graphs().connect(parse_graph(graph)?, &edges)
    }

    /// Has nodes wait for others no longer.
    ready fn cuGraphRemoveDependencies(graph: CUgraph, from: *const CUgraphNode, to: *const CUgraphNode, number: usize) {
        // SAFETY: the program's lists, as long as it says.
        let edges = unsafe { edges(from, to, std::ptr::null(), number) }?;
        graphs().disconnect(parse_graph(graph)?, &edges)
    }

    /// Has nodes wait for others no longer, by edges with a meaning.
    ready fn cuGraphRemoveDependencies_v2(
        graph: CUgraph,
        from: *const CUgraphNode,
        to: *const CUgraphNode,
        data: *const CUgraphEdgeData,
        number: usize,
    ) {
        // SAFETY: the program's lists, as long as it says.
        let edges = unsafe { edges(from, to, data, number) }?;
        graphs().disconnect(parse_graph(graph)?, &edges)
    }

    /// Writes a picture of a graph, in the language of Graphviz.
    ready fn cuGraphDebugDotPrint(graph: CUgraph, path: *const c_char, _flags: c_uint) {
        use std::os::unix::ffi::OsStrExt;
        // SAFETY: null, or a string of the program's.
        let path = std::ffi::OsStr::from_bytes(unsafe { text(path) }?);
        let picture = picture(&graphs(), parse_graph(graph)?)?;
        std::fs::write(path, picture).map_err(|_| Error::OperatingSystem)
    }
}

/// A list of the program's to be filled.
#[derive(Clone, Copy)]
enum Place {
    /// With the first nodes of entries.
    Nodes(*mut CUgraphNode),
    /// With the second ones.
    OtherNodes(*mut CUgraphNode),
    /// With what edges mean.
    Data(*mut CUgraphEdgeData),
}

impl Place {
    fn is_null(self) -> bool {
        match self {
            Self::Nodes(list) | Self::OtherNodes(list) => list.is_null(),
            Self::Data(list) => list.is_null(),
        }
    }

    /// Writes an entry, or nothing into it.
    ///
    /// # Safety
    ///
    /// The list is null or good for a write at `at`.
    unsafe fn write(self, at: usize, nodes: Option<[u32; 2]>) {
        let handle = |node: Option<u32>| node.map_or(CUgraphNode(0), node_handle);
        let [first, second] = nodes.map_or([None; 2], |nodes| nodes.map(Some));
        // SAFETY: this function's own terms; a null list is left alone before its address is moved.
        unsafe {
            match self {
                _ if self.is_null() => {}
                Self::Nodes(list) => put_wanted(list.wrapping_add(at), handle(first)),
                Self::OtherNodes(list) => put_wanted(list.wrapping_add(at), handle(second)),
                Self::Data(list) => put_wanted(list.wrapping_add(at), CUgraphEdgeData::default()),
            }
        }
    }
}

/// Gives entries: into lists of the number that the program says, of which those behind the last entry are made null; or only their number, where there
/// are no lists.
///
/// # Safety
///
/// `number` is null or good for reads and writes; the lists are null or as long as it says.
unsafe fn give<T>(
    entries: &[T],
    places: &[Place],
    number: *mut usize,
    nodes: impl Fn(&T) -> [u32; 2],
) -> Done {
    if places.iter().all(|place| place.is_null()) {
        // SAFETY: this function's own terms.
        return unsafe { put(number, entries.len()) };
    }
    // SAFETY: this function's own terms.
    let room = unsafe { take(number) }?;
    if room > MOST_ENTRIES {
        return Err(Error::InvalidValue);
    }
    for at in 0..room {
        let entry = entries.get(at).map(&nodes);
        for place in places {
            // SAFETY: below the lists' length, by this function's own terms.
            unsafe { place.write(at, entry) };
        }
    }
    // SAFETY: this function's own terms.
    unsafe { put(number, room.min(entries.len())) }
}

/// # Safety
///
/// As for [`give`].
unsafe fn give_edges(
    graph: CUgraph,
    from: *mut CUgraphNode,
    to: *mut CUgraphNode,
    data: *mut CUgraphEdgeData,
    number: *mut usize,
) -> Done {
    if from.is_null() != to.is_null() {
        return Err(Error::InvalidValue);
    }
    let found = graphs().edges(parse_graph(graph)?)?;
    let places = [Place::Nodes(from), Place::OtherNodes(to), Place::Data(data)];
    // SAFETY: this function's own terms.
    unsafe { give(&found, &places, number, |(from, to)| [*from, *to]) }
}

/// Reads edges that a program names.
///
/// # Errors
///
/// [`Error::InvalidValue`] for null lists, or what is no node; [`Error::NotSupported`] for edges that mean more than a plain dependency.
///
/// # Safety
///
/// The lists are null or as long as `number` says.
unsafe fn edges(
    from: *const CUgraphNode,
    to: *const CUgraphNode,
    data: *const CUgraphEdgeData,
    number: usize,
) -> Result<Vec<(u32, u32)>, Error> {
    // SAFETY: this function's own terms.
    let (from, to) = unsafe {
        check_plain(data, number)?;
        (nodes(from, number)?, nodes(to, number)?)
    };
    Ok(from.into_iter().zip(to).collect())
}

/// Reads nodes that a program names.
///
/// # Errors
///
/// [`Error::InvalidValue`] for a null list, too long a one, or what is no node.
///
/// # Safety
///
/// The list is null or as long as `number` says.
pub(crate) unsafe fn nodes(list: *const CUgraphNode, number: usize) -> Result<Vec<u32>, Error> {
    if number > MOST_ENTRIES || (list.is_null() && number > 0) {
        return Err(Error::InvalidValue);
    }
    let mut nodes = Vec::new();
    for at in 0..number {
        // SAFETY: not null and below the list's length, by this function's own terms.
        nodes.push(parse_node(unsafe { take(list.wrapping_add(at)) }?)?);
    }
    Ok(nodes)
}

/// Refuses edges that mean more than a plain dependency.
///
/// # Errors
///
/// [`Error::NotSupported`]; [`Error::InvalidValue`] for too long a list.
///
/// # Safety
///
/// The list is null or as long as `number` says.
pub(crate) unsafe fn check_plain(data: *const CUgraphEdgeData, number: usize) -> Done {
    if number > MOST_ENTRIES {
        return Err(Error::InvalidValue);
    }
    if data.is_null() {
        return Ok(());
    }
    for at in 0..number {
        // SAFETY: not null and below the list's length, by this function's own terms.
        if unsafe { take(data.wrapping_add(at)) }?.bytes != [0; 8] {
            return Err(Error::NotSupported);
        }
    }
    Ok(())
}

fn roots(graphs: &Graphs, graph: u32) -> Result<Vec<u32>, Error> {
    let mut roots = Vec::new();
    for node in &graphs.graph(graph)?.nodes {
        if graphs.node(*node)?.dependencies.is_empty() {
            roots.push(*node);
        }
    }
    Ok(roots)
}

fn dependencies(node: CUgraphNode) -> Result<Vec<u32>, Error> {
    let graphs = graphs();
    let node = graphs.node(parse_node(node)?)?;
    Ok(node.dependencies.iter().copied().collect())
}

fn dependents(node: CUgraphNode) -> Result<Vec<u32>, Error> {
    let graphs = graphs();
    let serial = parse_node(node)?;
    let edges = graphs.edges(graphs.node(serial)?.graph)?;
    let own = edges.into_iter().filter(|(from, _)| *from == serial);
    Ok(own.map(|(_, to)| to).collect())
}

fn picture(graphs: &Graphs, graph: u32) -> Result<String, Error> {
    use std::fmt::Write;
    let mut picture = String::from("digraph graph_of_work {\n");
    for node in &graphs.graph(graph)?.nodes {
        let name = graphs.node(*node)?.work.name();
        let _ = writeln!(picture, "  n{node} [label=\"{name} {node}\"];");
    }
    for (from, to) in graphs.edges(graph)? {
        let _ = writeln!(picture, "  n{from} -> n{to};");
    }
    picture.push_str("}\n");
    Ok(picture)
}

/// Entries of a list beyond which its length is not believed.
const MOST_ENTRIES: usize = 1 << 20;
