//! Finds the aggregate functions of expressions, and their places among those found.

use std::collections::HashMap;

use sluicegate_s3select::dialect::ast::Expr;

/// Different aggregate functions, in the order of their first use.
///
/// A statement may have thousands of them, one for each group. They are therefore found by their text and not by
/// comparing all.
#[derive(Debug, Default)]
pub(crate) struct Aggregates {
    calls: Vec<Expr>,
    places: HashMap<String, usize>,
}

impl Aggregates {
    /// Adds the aggregate functions in `expr` that are not known yet.
    pub(crate) fn add_from(&mut self, expr: &Expr) {
        if matches!(expr, Expr::Aggregate { .. }) {
            let next = self.calls.len();
            self.places.entry(text(expr)).or_insert_with(|| {
                self.calls.push(expr.clone());
                next
            });
            return;
        }
        for child in expr.children() {
            self.add_from(child);
        }
    }

    /// Returns the aggregate functions.
    pub(crate) fn calls(&self) -> &[Expr] {
        &self.calls
    }

    /// Returns the place of an expression, if it is one of these aggregate functions.
    pub(super) fn place(&self, expr: &Expr) -> Option<usize> {
        match expr {
            Expr::Aggregate { .. } => self.places.get(&text(expr)).copied(),
            _ => None,
        }
    }
}

/// Returns a text that equal expressions have in common.
fn text(expr: &Expr) -> String {
    format!("{expr:?}")
}
