//! Labels of one body: collected before its statements, since branches may go forward, and resolved after them.

use super::body::{Body, Label};
use super::error::Checked;
use super::symbols::Symbol;
use crate::ast::Stmt;
use crate::code::{NONE, Op};

/// The labels of a body, by scope.
pub(super) struct Labels<'a> {
    pub(super) all: Vec<Label<'a>>,
    /// Label numbers of each scope, scopes in the order in which they open; the first is the body itself.
    pub(super) scopes: Vec<Vec<u32>>,
}

impl<'a> Labels<'a> {
    pub(super) fn collect(stmts: &[Stmt<'a>]) -> Self {
        let mut labels = Self {
            all: Vec::new(),
            scopes: vec![Vec::new()],
        };
        let mut open = vec![0usize];
        for stmt in stmts {
            match stmt {
                Stmt::Open => {
                    open.push(labels.scopes.len());
                    labels.scopes.push(Vec::new());
                }
                Stmt::Close => {
                    open.pop();
                }
                Stmt::Label(name) => {
                    let number = u32::try_from(labels.all.len()).unwrap_or(NONE);
                    labels.all.push(Label {
                        name: *name,
                        at: None,
                    });
                    if let Some(scope) = open.last().and_then(|scope| labels.scopes.get_mut(*scope))
                    {
                        scope.push(number);
                    }
                }
                _ => {}
            }
        }
        labels
    }
}

/// Declares the labels of a scope that opens.
pub(super) fn declare_labels(body: &mut Body<'_>, labels: Option<&Vec<u32>>) -> Checked<()> {
    for &number in labels.into_iter().flatten() {
        if let Some(label) = body.labels.get(number as usize).copied() {
            body.scopes.declare(label.name, Symbol::Label(number))?;
        }
    }
    Ok(())
}

/// Turns label numbers into micro-op indices.
pub(super) fn resolve_labels(body: &mut Body<'_>) {
    let at = |labels: &[Label<'_>], number: u32| {
        labels
            .get(number as usize)
            .and_then(|label| label.at)
            .unwrap_or(NONE)
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
