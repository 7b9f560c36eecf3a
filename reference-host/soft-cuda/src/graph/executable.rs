//! Graphs made ready to be launched: the work of their nodes, in order.

use std::sync::Arc;

use crate::api::graph_params::pattern;
use crate::api::{fill, rows};
use crate::call::Done;
use crate::context::Context;
use crate::error::Error;
use crate::event::EventTarget;
use crate::graph::node::NodeWork;
use crate::graph::{DEEPEST, Graphs};
use crate::memory::copy::{submit, submit_fill};
use crate::queue::{self, HostFunction, Task, Until, Work, finish};
use crate::stream::Target;

/// A graph made ready to be launched.
#[derive(Clone, Debug)]
pub(crate) struct Executable {
    pub(crate) steps: Vec<Step>,
    pub(crate) flags: u64,
}

/// A node's part of an executable.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// The node's number.
    pub(crate) node: u32,
    /// What it does; nothing for a node with a graph of its own, whose steps are in its place.
    pub(crate) work: NodeWork,
    /// Steps of the node's own graph.
    pub(crate) inside: Vec<Step>,
    /// Places of the steps that it waits for, among those beside it.
    after: Vec<usize>,
    pub(crate) is_enabled: bool,
}

/// Why an executable cannot be made like a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Difference {
    /// There are other nodes or edges.
    Topology,
    /// A node of the graph is of another kind.
    Kind(u32),
}

impl Graphs {
    /// The steps of a graph.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidValue`] where there is none, or its nodes wait for each other in a ring.
    pub(crate) fn steps(&self, graph: u32) -> Result<Vec<Step>, Error> {
        self.steps_at(graph, 0)
    }

    fn steps_at(&self, graph: u32, depth: usize) -> Result<Vec<Step>, Error> {
        if depth > DEEPEST.saturating_add(1) {
            return Err(Error::NotSupported);
        }
        let order = self.order(graph)?;
        let places: std::collections::BTreeMap<u32, usize> =
            order.iter().copied().zip(0..).collect();
        let mut steps = Vec::new();
        for serial in order {
            let node = self.node(serial)?;
            let inside = match node.work {
                NodeWork::Child(child) => self.steps_at(child, depth.saturating_add(1))?,
                _ => Vec::new(),
            };
            let after = node.dependencies.iter();
            steps.push(Step {
                node: serial,
                work: node.work.clone(),
                inside,
                after: after.filter_map(|node| places.get(node).copied()).collect(),
                is_enabled: true,
            });
        }
        Ok(steps)
    }
}

impl Executable {
    /// The step of a node.
    pub(crate) fn step_mut(&mut self, node: u32) -> Option<&mut Step> {
        fn find(steps: &mut [Step], node: u32) -> Option<&mut Step> {
            for step in steps {
                if step.node == node {
                    return Some(step);
                }
                if let Some(found) = find(&mut step.inside, node) {
                    return Some(found);
                }
            }
            None
        }
        find(&mut self.steps, node)
    }

    /// Has it do what other steps do, which are those of a graph like the one that it was made of.
    ///
    /// # Errors
    ///
    /// How they differ; then nothing is changed.
    pub(crate) fn update(&mut self, steps: &[Step]) -> Result<(), Difference> {
        differ(&self.steps, steps)?;
        take_over(&mut self.steps, steps);
        Ok(())
    }

    /// Puts its work into the queue, in a stream.
    ///
    /// # Errors
    ///
    /// What is wrong with a node's work now; nothing is put into the queue then.
    pub(crate) fn launch(&self, target: &Target) -> Done {
        check(&self.steps, target)?;
        let mut at = Arc::clone(&target.context);
        run(&self.steps, target, &mut at)?;
        if at.serial != target.context.serial {
            finish(&at, Until::Empty)?;
        }
        Ok(())
    }
}

fn differ(own: &[Step], others: &[Step]) -> Result<(), Difference> {
    if own.len() != others.len() {
        return Err(Difference::Topology);
    }
    for (own, other) in own.iter().zip(others) {
        if own.work.kind() != other.work.kind() {
            return Err(Difference::Kind(other.node));
        }
        if own.after != other.after {
            return Err(Difference::Topology);
        }
        differ(&own.inside, &other.inside)?;
    }
    Ok(())
}

fn take_over(own: &mut [Step], others: &[Step]) {
    for (own, other) in own.iter_mut().zip(others) {
        own.work = other.work.clone();
        take_over(&mut own.inside, &other.inside);
    }
}

/// The context that a step's work is for, where it is not that of the stream.
fn context(work: &NodeWork, target: &Target) -> Result<Arc<Context>, Error> {
    let serial = match work {
        NodeWork::Kernel(node) => node.context,
        NodeWork::Copy(node) => node.context,
        NodeWork::Fill(node) => node.context,
        _ => return Ok(Arc::clone(&target.context)),
    };
    Context::numbered(serial).ok_or(Error::ContextIsDestroyed)
}

/// Refuses work that cannot be carried out.
fn check(steps: &[Step], target: &Target) -> Done {
    for step in steps.iter().filter(|step| step.is_enabled) {
        let context = context(&step.work, target)?;
        let state = context.open()?;
        if let NodeWork::Kernel(node) = &step.work
            && !node.launch.is_live(&state)
        {
            return Err(Error::InvalidHandle);
        }
        drop(state);
        match &step.work {
            NodeWork::Copy(node) => {
                // SAFETY: the program's promise for each launch of the graph; nothing is read here.
                unsafe { rows::prepare(&node.params, rows::Pitch::Limited) }.map(|_| ())?;
            }
            NodeWork::Fill(node) => {
                let params = &node.params;
                let pattern = pattern(params)?;
                let (width, height) = (params.width as u64, params.height as u64);
                fill::prepare(params.dst, params.pitch as u64, pattern, width, height)
                    .map(|_| ())?;
            }
            NodeWork::Wait(event) => {
                EventTarget::of(*event)?;
            }
            NodeWork::Record(event) => {
                let event = EventTarget::of(*event)?;
                if event.context.serial != target.context.serial {
                    return Err(Error::InvalidHandle);
                }
            }
            NodeWork::Kernel(_) | NodeWork::Host(_) | NodeWork::Child(_) | NodeWork::Empty => {}
        }
        check(&step.inside, target)?;
    }
    Ok(())
}

/// Puts work into the queues of its contexts. `at` is the context that the last work was for: where it changes, that is waited for.
fn run(steps: &[Step], target: &Target, at: &mut Arc<Context>) -> Done {
    for step in steps.iter().filter(|step| step.is_enabled) {
        let context = context(&step.work, target)?;
        if context.serial != at.serial {
            finish(at, Until::Empty)?;
            *at = Arc::clone(&context);
        }
        // Streams are of one context; in another the default stream serves as well.
        let stream = if context.serial == target.context.serial {
            target.stream
        } else {
            queue::StreamId::Legacy
        };
        match &step.work {
            NodeWork::Kernel(node) => {
                let work = Work::Launch(Box::new(node.launch.clone()));
                context.open()?.queue.push(Task { stream, work });
            }
            NodeWork::Copy(node) => {
                // SAFETY: the program's promise for each launch of the graph; memory that is not pinned is copied before the launch returns.
                let transfer = unsafe { rows::prepare(&node.params, rows::Pitch::Limited) }?;
                submit(&context, Some(stream), transfer)?;
            }
            NodeWork::Fill(node) => {
                let params = &node.params;
                let pattern = pattern(params)?;
                let (width, height) = (params.width as u64, params.height as u64);
                let fill = fill::prepare(params.dst, params.pitch as u64, pattern, width, height)?;
                submit_fill(&context, Some(stream), fill)?;
            }
            NodeWork::Host(node) => {
                let function = HostFunction::Plain {
                    function: node.function,
                    data: node.data,
                };
                queue::call_later(&context, stream, function)?;
            }
            NodeWork::Child(_) => run(&step.inside, target, at)?,
            NodeWork::Empty => {}
            NodeWork::Wait(event) => {
                let event = EventTarget::of(*event)?;
                if event.context.serial != context.serial {
                    event.wait()?;
                }
            }
            NodeWork::Record(event) => EventTarget::of(*event)?.record(stream)?,
        }
    }
    Ok(())
}
