//! Corrects the columns that USING and NATURAL merge.
//!
//! DataFusion keeps the columns of both sides and resolves an unqualified name to the left one. [`nest`] puts joins
//! whose merged columns matter into parentheses, and [`MergedColumns`] plans these: each merged column occurs once,
//! at its place in the left table. A column of one side that a statement references, such as `r.a`, gets a unique
//! name, and the reference is changed accordingly.

mod names;
mod nested_joins;
mod plan;

use crate::walk::WalkMut;
use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::planner::RelationPlanner;
use datafusion::sql::parser::{CopyToSource, Statement};
use datafusion::sql::sqlparser::ast::{OrderBy, Query, Select, SetExpr, VisitorMut};

pub(super) use self::names::tables;
use self::plan::MergedColumns;
use super::{Case, CaseOutcome, Guard};

pub(super) const GUARD: Guard = Guard {
    title: "FULL and RIGHT JOIN … USING, NATURAL joins",
    upstream: &["datafusion#22881"],
    ours: "The merged column has the value of the side that has one. It may be named in WHERE, in expressions and in \
           further joins, and may have other capitals on one side. \
           `r.*` beside such a FULL or RIGHT JOIN is refused: name its columns. `SEMI JOIN` and `ANTI JOIN` are \
           LEFT SEMI and LEFT ANTI.",
    cases: &[
        Case {
            setup: &[L, R],
            sql: "SELECT a FROM using_l FULL JOIN using_r USING (a)",
            right: CaseOutcome::Rows(&["1", "2", "3"]),
            theirs: CaseOutcome::Rows(&["1", "2", "NULL"]),
        },
        Case {
            setup: &[L, R],
            sql: "SELECT * FROM using_l NATURAL RIGHT JOIN using_r",
            right: CaseOutcome::Rows(&["20, 2, 200", "NULL, 3, 300"]),
            theirs: CaseOutcome::Rows(&["20, 2, 200", "NULL, NULL, 300"]),
        },
        Case {
            setup: &[L, R],
            sql: "SELECT a, count(*) FROM using_l FULL JOIN using_r USING (a) WHERE a > 1 AND using_l.a IS NULL \
                  GROUP BY a",
            right: CaseOutcome::Rows(&["3, 1"]),
            theirs: CaseOutcome::Error("mbiguous"),
        },
        Case {
            setup: &[L, R],
            sql: "SELECT x FROM using_l JOIN using_r USING (a) WHERE a = 2",
            right: CaseOutcome::Rows(&["20"]),
            theirs: CaseOutcome::Error("mbiguous"),
        },
        Case {
            setup: &[L, R],
            sql: "SELECT -a, x FROM using_l NATURAL LEFT JOIN using_r ORDER BY -a",
            right: CaseOutcome::Rows(&["-2, 20", "-1, 10"]),
            theirs: CaseOutcome::Error("mbiguous"),
        },
        Case {
            setup: &[
                "CREATE TABLE using_s AS SELECT 'x' AS s",
                "CREATE TABLE using_u AS SELECT 'x' AS s",
            ],
            sql: "SELECT s || s, count(*) FROM using_s JOIN using_u USING (s) GROUP BY s || s",
            right: CaseOutcome::Rows(&["xx, 1"]),
            theirs: CaseOutcome::Error("mbiguous"),
        },
        Case {
            setup: &[L, R],
            sql: "SELECT a FROM using_l JOIN using_r USING (a) WHERE a <= ALL (SELECT y / 100 FROM using_r) \
                  AND EXISTS (SELECT 1 FROM using_l WHERE x / 10 = using_r.a)",
            right: CaseOutcome::Rows(&["2"]),
            theirs: CaseOutcome::Varies,
        },
        Case {
            setup: &[L, R],
            sql: "SELECT NOT a = 2, a::TIMESTAMP IS NULL FROM using_l JOIN using_r USING (a)",
            right: CaseOutcome::Rows(&["false, false"]),
            theirs: CaseOutcome::Error("mbiguous"),
        },
        Case {
            setup: &[L, "CREATE TABLE using_c AS SELECT 2 AS \"A\", 7 AS w"],
            sql: "SELECT A, x, w FROM using_l JOIN using_c USING (a) WHERE A > 1",
            right: CaseOutcome::Rows(&["2, 20, 7"]),
            theirs: CaseOutcome::Error("No field named"),
        },
        Case {
            setup: &[L, "CREATE TABLE using_c AS SELECT 3 AS \"A\", 7 AS w"],
            sql: "SELECT * FROM using_c FULL JOIN using_l USING (a)",
            right: CaseOutcome::Rows(&["3, 7, NULL", "1, NULL, 10", "2, NULL, 20"]),
            theirs: CaseOutcome::Error("No field named"),
        },
        Case {
            setup: &[L, R],
            sql: "SELECT * FROM using_l FULL JOIN using_r USING (a) \
                  FULL JOIN (VALUES (3, 'q'), (4, 'r')) q(a, z) USING (a)",
            right: CaseOutcome::Rows(&[
                "10, 1, NULL, NULL",
                "20, 2, 200, NULL",
                "NULL, 3, 300, q",
                "NULL, 4, NULL, r",
            ]),
            theirs: CaseOutcome::Varies,
        },
        Case {
            setup: &[L, R],
            sql: "SELECT * FROM using_r LEFT JOIN using_l USING (a)",
            right: CaseOutcome::Rows(&["2, 200, 20", "3, 300, NULL"]),
            theirs: CaseOutcome::Rows(&["200, 20, 2", "300, NULL, NULL"]),
        },
    ],
};

const L: &str = "CREATE TABLE using_l AS SELECT * FROM (VALUES (10, 1), (20, 2)) v(x, a)";
const R: &str = "CREATE TABLE using_r AS SELECT * FROM (VALUES (2, 200), (3, 300)) v(a, y)";

/// Adds the planner of joins that [`rewrite`] has put into parentheses.
pub(super) fn install(planners: &mut Vec<Arc<dyn RelationPlanner>>) {
    planners.push(Arc::new(MergedColumns));
}

/// Puts joins into parentheses.
pub(super) fn rewrite(statement: &mut Statement) -> Result<()> {
    joins(statement, &mut UsingJoins { forced: None, found: false })
}

/// Puts joins into parentheses whose USING has this unquoted name, if a side only has a column of that name in other
/// capitals. Returns true if there was one.
pub fn merge_other_capitals(statement: &mut Statement, name: &str) -> Result<bool> {
    let mut forced = UsingJoins { forced: Some(name.to_owned()), found: false };
    joins(statement, &mut forced)?;
    Ok(forced.found)
}

fn joins(statement: &mut Statement, joins: &mut UsingJoins) -> Result<()> {
    let done = match statement {
        Statement::Statement(statement) => statement.walk_mut(joins),
        Statement::CopyTo(copy) => match &mut copy.source {
            CopyToSource::Query(query) => query.walk_mut(joins),
            CopyToSource::Relation(_) => ControlFlow::Continue(()),
        },
        Statement::Explain(explain) => return self::joins(&mut explain.statement, joins),
        Statement::CreateExternalTable(_) | Statement::Reset(_) => ControlFlow::Continue(()),
    };
    match done {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

struct UsingJoins {
    /// A name whose joins are put into parentheses even if they would be correct without.
    forced: Option<String>,
    /// True if a join with the forced name was found.
    found: bool,
}

impl UsingJoins {
    fn nest(
        &mut self,
        select: &mut Select,
        order: Option<&mut OrderBy>,
    ) -> ControlFlow<DataFusionError> {
        match nested_joins::nest(select, order, self.forced.as_deref()) {
            Ok(found) => {
                self.found |= found;
                ControlFlow::Continue(())
            }
            Err(error) => ControlFlow::Break(error),
        }
    }
}

impl VisitorMut for UsingJoins {
    type Break = DataFusionError;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Self::Break> {
        // ORDER BY refers to the columns of the only SELECT.
        if let SetExpr::Select(select) = query.body.as_mut() {
            let mut order = query.order_by.take();
            let done = self.nest(select, order.as_mut());
            query.order_by = order;
            return done;
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Self::Break> {
        // A SELECT that was already changed stays as it is.
        self.nest(select, None)
    }
}
