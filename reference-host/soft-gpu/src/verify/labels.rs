//! Labels of one body: collected before its statements, since branches may go forward, and resolved after them.

use super::body::{Body, Label};
use super::error::Checked;
use super::symbols::Symbol;
use crate::ast::{Name, Stmt};
use crate::code::{NONE, Op};
use crate::pool;

/// The labels of a body, by scope.
pub(super) struct Labels<'a> {
    pub(super) all: Vec<Label<'a>>,
    /// The labels of each scope, scopes in the order in which they open; the first is the body itself.
    pub(super) of_scopes: Vec<Chain>,
}

/// The labels of one scope: numbers of the first and the last, which [`Label::next`] joins. [`NONE`] where there are none.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chain {
    first: u32,
    last: u32,
}

const EMPTY: Chain = Chain {
    first: NONE,
    last: NONE,
};

impl<'a> Labels<'a> {
    pub(super) fn collect(names: &[Name<'a>], stmts: &[Stmt<'a>]) -> Self {
        let mut labels = Self {
            all: Vec::new(),
            of_scopes: vec![EMPTY],
        };
        let mut open = vec![0usize];
        for stmt in stmts {
            match stmt {
                Stmt::Open => {
                    open.push(labels.of_scopes.len());
                    pool::push(&mut labels.of_scopes, EMPTY);
                }
                Stmt::Close => {
                    open.pop();
                }
                Stmt::Label(name) => {
                    let Some(&name) = names.get(*name as usize) else {
                        continue;
                    };
                    labels.add(name, open.last().copied().unwrap_or(0));
                }
                _ => {}
            }
        }
        labels
    }

    fn add(&mut self, name: Name<'a>, scope: usize) {
        let number = u32::try_from(self.all.len()).unwrap_or(NONE);
        let label = Label {
            name,
            at: NONE,
            next: NONE,
        };
        pool::push(&mut self.all, label);
        let Some(chain) = self.of_scopes.get_mut(scope) else {
            return;
        };
        match self.all.get_mut(chain.last as usize) {
            Some(last) if chain.last != NONE => last.next = number,
            _ => chain.first = number,
        }
        chain.last = number;
    }
}

/// Declares the labels of a scope that opens.
pub(super) fn declare_labels(body: &mut Body<'_>, labels: Option<&Chain>) -> Checked<()> {
    let mut number = labels.map_or(NONE, |chain| chain.first);
    while let Some(label) = body.labels.get(number as usize).copied() {
        body.scopes.declare(label.name, Symbol::Label(number))?;
        number = label.next;
    }
    Ok(())
}

/// Turns label numbers into micro-op indices.
pub(super) fn resolve_labels(body: &mut Body<'_>) {
    let at = |labels: &[Label<'_>], number: u32| {
        labels.get(number as usize).map_or(NONE, |label| label.at)
    };
    for &branch in &body.fixups.branches {
        if let Some(Op::Branch { target } | Op::BranchIf { target, .. }) =
            body.code.ops.get_mut(branch as usize)
        {
            *target = at(&body.labels, *target);
        }
    }
    for &table in &body.fixups.tables {
        for target in body
            .code
            .tables
            .get_mut(table as usize)
            .into_iter()
            .flatten()
        {
            *target = at(&body.labels, *target);
        }
    }
}
