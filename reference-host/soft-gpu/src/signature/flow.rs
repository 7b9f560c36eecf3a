//! Which values come from which, as a graph: registers and variables are nodes, and each statement defines one by others.
//!
//! Three questions are asked of it. Which parameters reach an address of a store, going backwards? Does every definition on the way build on
//! an address, or may one have made it out of numbers? May bits that were loaded from memory in pieces have come to be an address?

/// A value that may be any address.
pub(super) const ANY: u32 = 0;
/// The address of a variable, of which none is a parameter's memory.
pub(super) const VARIABLE: u32 = 1;
/// A number that is no address.
pub(super) const PLAIN: u32 = 2;
/// The null pointer, which is no address of anything.
pub(super) const NULL: u32 = 3;
/// Less than 64 bits loaded from memory.
pub(super) const LOADED: u32 = 4;
/// The carry flag of all functions.
pub(super) const CARRY: u32 = 5;
/// The first parameter of the kernel.
pub(super) const FIRST_PARAM: u32 = 6;

/// Which sources must be addresses for the definition to give one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Builds {
    /// One of them: it is moved by the others.
    OnOne,
    /// All: it is one of them.
    OnAll,
    /// It gives none.
    Never,
}

/// What becomes of loaded bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bits {
    /// They stay in their places, or move down.
    Stay,
    /// They move up by so many places.
    Rise(u8),
    /// What holds them has 32 bits.
    Fit,
    /// They may come to be anywhere.
    Mix,
}

#[derive(Clone, Copy, Debug)]
struct Definition {
    node: u32,
    /// Its sources, of which those from `others` on do not count for [`Builds`].
    start: u32,
    others: u32,
    end: u32,
    builds: Builds,
    bits: Bits,
}

/// The graph of one kernel and all functions that it may call.
#[derive(Debug)]
pub(super) struct Flow {
    nodes: u32,
    params: u32,
    definitions: Vec<Definition>,
    sources: Vec<u32>,
    /// Nodes that are addresses of stores.
    stores: Vec<u32>,
}

impl Flow {
    pub(super) fn new(params: usize) -> Self {
        let params = u32::try_from(params).unwrap_or(u32::MAX);
        Self {
            nodes: FIRST_PARAM.saturating_add(params),
            params,
            definitions: Vec::new(),
            sources: Vec::new(),
            stores: Vec::new(),
        }
    }

    /// A new node.
    pub(super) fn node(&mut self) -> u32 {
        let node = self.nodes;
        self.nodes = self.nodes.saturating_add(1);
        node
    }

    /// `nodes` are made of `sources`, and of `others` that are never what an address builds on.
    pub(super) fn define(
        &mut self,
        nodes: &[u32],
        sources: &[u32],
        others: &[u32],
        builds: Builds,
        bits: Bits,
    ) {
        match nodes {
            [] => {}
            [node] => self.define_one(*node, sources, others, builds, bits),
            nodes => {
                // By a node between, or long lists would cost their product.
                let between = self.node();
                self.define_one(between, sources, others, builds, bits);
                for node in nodes {
                    self.define_one(*node, &[between], &[], Builds::OnOne, Bits::Stay);
                }
            }
        }
    }

    fn define_one(
        &mut self,
        node: u32,
        sources: &[u32],
        others: &[u32],
        builds: Builds,
        bits: Bits,
    ) {
        let start = length(&self.sources);
        self.sources.extend_from_slice(sources);
        let first_other = length(&self.sources);
        self.sources.extend_from_slice(others);
        let definition = Definition {
            node,
            start,
            others: first_other,
            end: length(&self.sources),
            builds,
            bits,
        };
        self.definitions.push(definition);
    }

    /// There is a store through `node`.
    pub(super) fn store(&mut self, node: u32) {
        self.stores.push(node);
    }

    /// Which parameters stores may go through; `None` where that may be any memory.
    pub(super) fn written(&self) -> Option<Vec<bool>> {
        let uses = Uses::new(self);
        let address_reaches = self.address_reaches(&uses);
        let builds_on_address = self.builds_on_address(&uses);
        let risen = self.risen(&uses);
        let definitions = Lists::new(
            self.nodes,
            self.definitions.iter().map(|definition| definition.node),
        );
        let mut seen = vec![false; self.nodes as usize];
        let mut pending = Vec::new();
        for &store in &self.stores {
            if !at(&address_reaches, store) || !at(&builds_on_address, store) {
                return None;
            }
            visit(store, &mut seen, &mut pending);
        }
        while let Some(node) = pending.pop() {
            if node == ANY || risen.get(node as usize).is_none_or(|it| *it > MOST_RISEN) {
                return None;
            }
            for &definition in definitions.of(node) {
                for &source in self.all_sources(definition) {
                    visit(source, &mut seen, &mut pending);
                }
            }
        }
        let params = seen.into_iter().skip(FIRST_PARAM as usize);
        Some(params.take(self.params as usize).collect())
    }

    /// Nodes that something with an address reaches.
    fn address_reaches(&self, uses: &Uses) -> Vec<bool> {
        let mut seen = vec![false; self.nodes as usize];
        let mut pending = Vec::new();
        let end = FIRST_PARAM.saturating_add(self.params);
        for node in [ANY, VARIABLE].into_iter().chain(FIRST_PARAM..end) {
            visit(node, &mut seen, &mut pending);
        }
        while let Some(node) = pending.pop() {
            for (definition, _) in uses.of(node) {
                if let Some(definition) = self.definitions.get(definition as usize) {
                    visit(definition.node, &mut seen, &mut pending);
                }
            }
        }
        seen
    }

    /// Nodes all of whose definitions build on an address: all but those of which a definition does not.
    fn builds_on_address(&self, uses: &Uses) -> Vec<bool> {
        let mut defined = vec![false; self.nodes as usize];
        let end = FIRST_PARAM.saturating_add(self.params);
        for node in [ANY, VARIABLE, NULL].into_iter().chain(FIRST_PARAM..end) {
            set(&mut defined, node);
        }
        let mut failed = Vec::new();
        // Of each definition the sources that may still be what it builds on.
        let mut left: Vec<u32> = Vec::with_capacity(self.definitions.len());
        for definition in &self.definitions {
            set(&mut defined, definition.node);
            let sources = definition.others.saturating_sub(definition.start);
            if definition.builds == Builds::Never || sources == 0 {
                failed.push(definition.node);
            }
            left.push(sources);
        }
        let undefined = (0u32..).zip(&defined).filter(|(_, defined)| !**defined);
        failed.extend(undefined.map(|(node, _)| node));
        let mut holds = vec![true; self.nodes as usize];
        while let Some(node) = failed.pop() {
            match holds.get_mut(node as usize) {
                Some(holds) if *holds => *holds = false,
                _ => continue,
            }
            for (number, counts) in uses.of(node) {
                let (Some(definition), Some(left), true) = (
                    self.definitions.get(number as usize),
                    left.get_mut(number as usize),
                    counts,
                ) else {
                    continue;
                };
                *left = left.saturating_sub(1);
                if *left == 0 || definition.builds == Builds::OnAll {
                    failed.push(definition.node);
                }
            }
        }
        holds
    }

    /// Of each node how far up loaded bits may have moved in it, counted from 1; 0 is none.
    fn risen(&self, uses: &Uses) -> Vec<u8> {
        let mut risen = vec![0u8; self.nodes as usize];
        let mut pending = vec![LOADED];
        if let Some(loaded) = risen.get_mut(LOADED as usize) {
            *loaded = 1;
        }
        while let Some(node) = pending.pop() {
            let Some(&here) = risen.get(node as usize) else {
                continue;
            };
            for (number, _) in uses.of(node) {
                let Some(definition) = self.definitions.get(number as usize) else {
                    continue;
                };
                let there = match definition.bits {
                    Bits::Stay => here,
                    Bits::Rise(by) => here.saturating_add(by).min(MOST_RISEN.saturating_add(1)),
                    Bits::Fit => 1,
                    Bits::Mix => MOST_RISEN.saturating_add(1),
                };
                match risen.get_mut(definition.node as usize) {
                    Some(known) if *known < there => *known = there,
                    _ => continue,
                }
                pending.push(definition.node);
            }
        }
        risen
    }

    fn all_sources(&self, definition: u32) -> &[u32] {
        let sources = self
            .definitions
            .get(definition as usize)
            .and_then(|it| self.sources.get(it.start as usize..it.end as usize));
        sources.unwrap_or_default()
    }
}

/// For each node the definitions that it is a source of, and whether they may build on it there.
struct Uses {
    lists: Lists,
    flags: Vec<bool>,
    definitions: Vec<u32>,
}

impl Uses {
    fn new(flow: &Flow) -> Self {
        let mut flags = Vec::with_capacity(flow.sources.len());
        let mut definitions = Vec::with_capacity(flow.sources.len());
        for (number, definition) in (0u32..).zip(&flow.definitions) {
            for at in definition.start..definition.end {
                flags.push(at < definition.others);
                definitions.push(number);
            }
        }
        Self {
            lists: Lists::new(flow.nodes, flow.sources.iter().copied()),
            flags,
            definitions,
        }
    }

    fn of(&self, node: u32) -> impl Iterator<Item = (u32, bool)> {
        self.lists.of(node).iter().filter_map(|&slot| {
            let definition = self.definitions.get(slot as usize)?;
            Some((*definition, *self.flags.get(slot as usize)?))
        })
    }
}

/// For each node the places at which it stands in a list.
struct Lists {
    starts: Vec<u32>,
    places: Vec<u32>,
}

impl Lists {
    fn new(nodes: u32, list: impl Iterator<Item = u32> + Clone) -> Self {
        let mut starts = vec![0u32; (nodes as usize).saturating_add(2)];
        let mut count = 0usize;
        for node in list.clone() {
            count = count.saturating_add(1);
            if let Some(start) = starts.get_mut((node as usize).saturating_add(2)) {
                *start = start.saturating_add(1);
            }
        }
        let mut sum = 0u32;
        for start in &mut starts {
            sum = sum.saturating_add(*start);
            *start = sum;
        }
        // The start behind a node's own moves on with each of its places, and so becomes its end.
        let mut places = vec![0u32; count];
        for (place, node) in (0u32..).zip(list) {
            if let Some(start) = starts.get_mut((node as usize).saturating_add(1)) {
                if let Some(slot) = places.get_mut(*start as usize) {
                    *slot = place;
                }
                *start = start.saturating_add(1);
            }
        }
        Self { starts, places }
    }

    fn of(&self, node: u32) -> &[u32] {
        let node = node as usize;
        let start = self.starts.get(node).copied().unwrap_or(0);
        let end = self.starts.get(node.saturating_add(1)).copied();
        self.places
            .get(start as usize..end.unwrap_or(start) as usize)
            .unwrap_or_default()
    }
}

fn visit(node: u32, seen: &mut [bool], pending: &mut Vec<u32>) {
    if let Some(seen) = seen.get_mut(node as usize)
        && !*seen
    {
        *seen = true;
        pending.push(node);
    }
}

fn at(flags: &[bool], node: u32) -> bool {
    flags.get(node as usize).copied().unwrap_or(false)
}

fn set(flags: &mut [bool], node: u32) {
    if let Some(flag) = flags.get_mut(node as usize) {
        *flag = true;
    }
}

fn length(list: &[u32]) -> u32 {
    // Each entry took a byte of a source below 4 GiB at least.
    u32::try_from(list.len()).unwrap_or(u32::MAX)
}

/// How far up loaded bits may move and still be an index, counted from 1: by factors up to 2^15.
const MOST_RISEN: u8 = 16;
