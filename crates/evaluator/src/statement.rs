//! A whole statement, compiled.

use super::aggregate::State;
use super::batch::{BatchReader, Column, Schema};
use super::grouping::{self, Family};
use super::output::{Key, RowWriter};
use super::program::{Compiler, NodeId, Program, aggregates_of};
use super::selection::Rows;
use super::vector::Vector;
use sluicegate_s3select::dialect::ast::{
    Aggregate, Expr, PathStep, Projection, ProjectionItem, Query,
};
use sluicegate_s3select::error::{SelectError, SelectErrorCode};
use sluicegate_s3select::value::{Timestamp, Value};

/// What to compute for each row, and what to answer.
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
    /// All fields of every row.
    Star,
    /// These values of every row.
    Items(Vec<Item>),
    /// One row over all rows.
    Aggregates {
        calls: Vec<(Aggregate, Option<NodeId>)>,
        /// The calls that are computed together by group, and the others.
        families: Vec<Family>,
        single: Vec<usize>,
        /// What is computed from the results of the calls.
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
    /// The initial states of its aggregates.
    pub(super) fn states(&self) -> Vec<State> {
        match &self.answer {
            Answer::Aggregates { calls, .. } => {
                calls.iter().map(|(function, _)| State::new(*function)).collect()
            }
            Answer::Star | Answer::Items(_) => Vec::new(),
        }
    }

    /// Whether parts of an object can be evaluated independently and their answers combined.
    pub(super) fn is_divisible(&self) -> bool {
        let mergeable = match &self.answer {
            Answer::Aggregates { calls, .. } => calls.iter().all(|(function, arg)| {
                arg.is_none_or(|arg| State::is_mergeable(*function, self.program.kind(arg)))
            }),
            Answer::Star | Answer::Items(_) => true,
        };
        // A limit is nearly always reached early.
        mergeable && self.limit == u64::MAX
    }

    /// Compiles a statement over an object of this schema; `now` is the value of UTCNOW().
    pub(super) fn compile(
        query: &Query,
        schema: &mut dyn Schema,
        now: Timestamp,
    ) -> Result<Self, SelectError> {
        let mut compiler = Compiler::new(schema, &query.from, now);
        let filter = query.filter.as_ref().map(|filter| compiler.compile(filter)).transpose()?;
        let answer = match &query.projection {
            Projection::Star => Answer::Star,
            Projection::Items(items) => {
                let mut aggregates = Vec::new();
                for item in items {
                    aggregates_of(&item.expr, &mut aggregates);
                }
                if aggregates.is_empty() {
                    Answer::Items(compile_items(items, &mut compiler)?)
                } else {
                    let calls = aggregates.iter().map(|call| aggregate(call, &mut compiler));
                    let calls = calls.collect::<Result<Vec<_>, _>>()?;
                    let (families, single) = grouping::families(compiler.program(), &calls);
                    let mut no_columns = AggregateSchema;
                    let outer = Compiler::new(&mut no_columns, &query.from, now);
                    let mut outer = outer.over(&aggregates);
                    let items = compile_items(items, &mut outer)?;
                    Answer::Aggregates { calls, families, single, outer: outer.finish(), items }
                }
            }
        };
        let limit = query.limit.unwrap_or(u64::MAX);
        Ok(Self { program: compiler.finish(), filter, answer, limit })
    }
}

fn aggregate(
    call: &Expr,
    compiler: &mut Compiler<'_>,
) -> Result<(Aggregate, Option<NodeId>), SelectError> {
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

/// What a column is called in a JSON answer: the last name of its path.
fn path_name(path: &[PathStep]) -> Option<String> {
    match path.last() {
        Some(PathStep::Field(name)) => Some(name.text.clone()),
        _ => None,
    }
}

/// The schema of what is computed beside aggregates, which has no columns.
#[derive(Debug)]
struct AggregateSchema;

impl Schema for AggregateSchema {
    fn resolve(&mut self, _: &[PathStep]) -> Result<Column, SelectError> {
        Err(SelectError::new(
            SelectErrorCode::UnsupportedSqlStructure,
            "A column cannot be selected beside an aggregate function, as there is no GROUP BY.",
        ))
    }
}

/// The results of the aggregates, as a row.
#[derive(Debug)]
pub(super) struct AggregateRow(pub(super) Vec<Value>);

impl BatchReader for AggregateRow {
    fn next_batch(&mut self) -> Result<bool, SelectError> {
        Ok(false)
    }

    fn rows(&self) -> usize {
        1
    }

    fn block(&self) -> &[u8] {
        &[]
    }

    fn is_utf8(&self) -> bool {
        true
    }

    fn read_column(&self, column: usize, _: Rows<'_>, out: &mut Vector) -> Result<(), SelectError> {
        out.values(1).0[0] = self.0.get(column).cloned().unwrap_or(Value::Null);
        Ok(())
    }

    fn write_row(&self, _: usize, _: &mut RowWriter) -> Result<(), SelectError> {
        Ok(())
    }

    fn locate(&self, _: usize) -> String {
        "the aggregates".to_owned()
    }

    fn stop_behind(&mut self, _: usize) {}

    fn bytes_read(&self) -> (u64, u64) {
        (0, 0)
    }
}
