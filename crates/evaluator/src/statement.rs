//! Compiles a whole statement.

use super::aggregate::State;
use super::batch::{Column, Columns, Schema};
use super::group_by::{Call, Groups};
use super::grouping::{self, Family};
use super::output::Key;
use super::program::{Aggregates, Compiler, NodeId, Program};
use super::selection::Rows;
use super::states::{FEW_TEXTS, States};
use super::vector::{Kind, Vector};
use sluicegate_s3select::dialect::ast::{
    Aggregate, Expr, PathStep, Projection, ProjectionItem, Query,
};
use sluicegate_s3select::error::{SelectError, SelectErrorCode};
use sluicegate_s3select::value::{Timestamp, Value};

/// The program to run for each row, and the form of the answer.
#[derive(Debug)]
pub(super) struct Statement {
    pub(super) program: Program,
    pub(super) filter: Option<NodeId>,
    pub(super) answer: Answer,
    /// The most rows of the answer.
    pub(super) limit: u64,
}

#[derive(Debug)]
pub(super) enum Answer {
    /// All fields of every row, which may differ from row to row.
    Star,
    /// These values of every row.
    Items(Vec<Item>),
    /// One row computed from all rows.
    Aggregates {
        calls: Vec<Call>,
        /// The calls that are computed together by group, and the other calls.
        families: Vec<Family>,
        single: Vec<usize>,
        /// The expressions over the results of the calls.
        outer: Program,
        items: Vec<Item>,
    },
    /// A row for each group. A group may come in several rows, each of them for some of its input rows.
    Groups {
        /// The expressions of GROUP BY.
        keys: Vec<NodeId>,
        calls: Vec<Call>,
        /// The expressions over its columns: the results of the calls, then the keys.
        outer: Program,
        items: Vec<Item>,
    },
}

/// A value of the answer, with its name.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) key: Key,
    pub(super) node: NodeId,
}

impl Statement {
    /// Returns the initial states of the aggregates.
    pub(super) fn states(&self) -> States {
        let calls = match &self.answer {
            Answer::Aggregates { calls, .. } => &calls[..],
            Answer::Star | Answer::Items(_) | Answer::Groups { .. } => &[],
        };
        States::new(calls.iter().map(|(function, _)| *function))
    }

    /// Returns whether the result of a call is the least or greatest text.
    fn finds_text(&self, (function, arg): &Call) -> bool {
        matches!(function, Aggregate::Min | Aggregate::Max)
            && arg.is_some_and(|arg| self.program.kind(arg) == Kind::Text)
    }

    /// Returns whether the answer has one row for each matching row.
    pub(super) fn has_rows(&self) -> bool {
        matches!(self.answer, Answer::Star | Answer::Items(_))
    }

    /// Returns whether the statement has GROUP BY.
    pub(super) fn has_groups(&self) -> bool {
        matches!(self.answer, Answer::Groups { .. })
    }

    /// Returns empty groups; `None` without GROUP BY.
    pub(super) fn groups(&self) -> Option<Box<Groups>> {
        match &self.answer {
            Answer::Groups { keys, calls, .. } => {
                Some(Box::new(Groups::new(keys.len(), calls.len())))
            }
            Answer::Star | Answer::Items(_) | Answer::Aggregates { .. } => None,
        }
    }

    /// Returns whether parts of an object can be evaluated independently and their answers combined.
    pub(super) fn is_divisible(&self) -> bool {
        let mergeable = match &self.answer {
            // The texts held at the same time, and so the room they need, depend on the rows before them.
            Answer::Aggregates { calls, .. } => {
                calls.iter().all(|(function, arg)| {
                    arg.is_none_or(|arg| State::is_mergeable(*function, self.program.kind(arg)))
                }) && calls.iter().filter(|call| self.finds_text(call)).count() <= FEW_TEXTS
            }
            Answer::Star | Answer::Items(_) => true,
            // Texts are counted batch by batch, and parts have other batch boundaries.
            Answer::Groups { calls, .. } => calls.iter().all(|call| {
                let (function, arg) = call;
                arg.is_none_or(|arg| State::is_mergeable(*function, self.program.kind(arg)))
                    && !self.finds_text(call)
            }),
        };
        // A limit is nearly always reached early.
        mergeable && self.limit == u64::MAX
    }

    /// Compiles a statement over an object with this schema. `now` is the value of UTCNOW().
    pub(super) fn compile(
        query: &Query,
        schema: &mut dyn Schema,
        now: Timestamp,
    ) -> Result<Self, SelectError> {
        let mut compiler = Compiler::new(schema, &query.from, now);
        let filter = query.filter.as_ref().map(|filter| compiler.compile(filter)).transpose()?;
        let answer = match &query.projection {
            Projection::Star => match compiler.all()? {
                Some(columns) => {
                    let items = columns.into_iter();
                    let item = |(name, node): (String, _)| Item { key: Key::new(&name), node };
                    Answer::Items(items.map(item).collect())
                }
                None => Answer::Star,
            },
            Projection::Items(items) => {
                let mut aggregates = Aggregates::default();
                for item in items {
                    aggregates.add_from(&item.expr);
                }
                if !query.group_by.is_empty() {
                    let keys = query.group_by.iter().map(|key| compiler.compile(key));
                    let keys = keys.collect::<Result<Vec<_>, _>>()?;
                    let calls = aggregates.calls().iter();
                    let calls = calls.map(|call| aggregate(call, &mut compiler));
                    let calls = calls.collect::<Result<Vec<_>, _>>()?;
                    let mut no_columns = AggregateSchema;
                    let outer = Compiler::new(&mut no_columns, &query.from, now);
                    let mut outer = outer.over(&aggregates, &query.group_by);
                    let items = compile_items(items, &mut outer)?;
                    Answer::Groups { keys, calls, outer: outer.finish(), items }
                } else if aggregates.calls().is_empty() {
                    Answer::Items(compile_items(items, &mut compiler)?)
                } else {
                    let calls = aggregates.calls().iter();
                    let calls = calls.map(|call| aggregate(call, &mut compiler));
                    let calls = calls.collect::<Result<Vec<_>, _>>()?;
                    let (families, single) = grouping::families(compiler.program(), &calls);
                    let mut no_columns = AggregateSchema;
                    let outer = Compiler::new(&mut no_columns, &query.from, now);
                    let mut outer = outer.over(&aggregates, &[]);
                    let items = compile_items(items, &mut outer)?;
                    Answer::Aggregates { calls, families, single, outer: outer.finish(), items }
                }
            }
        };
        let limit = query.limit.unwrap_or(u64::MAX);
        Ok(Self { program: compiler.finish(), filter, answer, limit })
    }
}

fn aggregate(call: &Expr, compiler: &mut Compiler<'_>) -> Result<Call, SelectError> {
    let Expr::Aggregate { function, arg } = call else {
        return Err(SelectError::new(SelectErrorCode::InternalError, "Not an aggregate."));
    };
    let arg = arg.as_ref().map(|arg| compiler.compile(arg)).transpose()?;
    Ok((*function, arg))
}

fn compile_items(
    items: &[ProjectionItem],
    compiler: &mut Compiler<'_>,
) -> Result<Vec<Item>, SelectError> {
    let mut compiled = Vec::with_capacity(items.len());
    for (i, item) in items.iter().enumerate() {
        let node = compiler.compile(&item.expr)?;
        let name = item.alias.clone().unwrap_or_else(|| {
            match &item.expr {
                Expr::Path(path) => path_name(path),
                _ => None,
            }
            .unwrap_or_else(|| format!("_{}", i + 1))
        });
        compiled.push(Item { key: Key::new(&name), node });
    }
    Ok(compiled)
}

/// Returns the name of a column in a JSON answer: the last name of its path.
fn path_name(path: &[PathStep]) -> Option<String> {
    match path.last() {
        Some(PathStep::Field(name)) => Some(name.text.clone()),
        _ => None,
    }
}

/// The schema for expressions over aggregates, which have no columns.
#[derive(Debug)]
struct AggregateSchema;

impl Schema for AggregateSchema {
    fn resolve(&mut self, _: &[PathStep]) -> Result<Column, SelectError> {
        Err(SelectError::new(
            SelectErrorCode::UnsupportedSqlStructure,
            "A column can be selected beside an aggregate function only if it is in GROUP BY.",
        ))
    }
}

/// The results of aggregates, as rows.
#[derive(Debug)]
pub(super) struct AggregateRows {
    /// One column for each aggregate and for each key of GROUP BY.
    pub(super) columns: Vec<Vec<Value>>,
    pub(super) rows: usize,
}

impl Columns for AggregateRows {
    fn rows(&self) -> usize {
        self.rows
    }

    fn block(&self) -> &[u8] {
        &[]
    }

    fn is_utf8(&self) -> bool {
        true
    }

    fn read_column(&self, column: usize, _: Rows<'_>, out: &mut Vector) -> Result<(), SelectError> {
        if let Some(column) = self.columns.get(column) {
            out.values(self.rows).0.clone_from_slice(column);
        }
        Ok(())
    }
}
