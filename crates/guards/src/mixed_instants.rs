//! Gives dates and timestamps a common type where one of them is the result.

use std::sync::Arc;

use arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::{Column, DFSchema};
use datafusion::logical_expr::expr::Cast;
use datafusion::logical_expr::{
    Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Projection, Subquery,
};

use super::exact::places;
use super::{Case, CaseOutcome, Guard, far_dates, intervals};

pub(super) const GUARD: Guard = Guard {
    title: "A date beside timestamps fails after the year 2262",
    upstream: &["datafusion#25135"],
    ours: "UNION, CASE, COALESCE and their like of dates and timestamps have the finest unit of the timestamps, and not \
           nanoseconds; IN and NOT IN over a subquery compare them as they are. Beside timestamps of nanoseconds, \
           which TIMESTAMP without a number is, a later date in the statement (`coalesce(t, DATE '9999-12-31')`) makes the \
           result one of microseconds. A later date from a column remains an error there.",
    cases: &[
        Case {
            setup: &[
                "CREATE TABLE valid AS SELECT arrow_cast('2020-01-01T00:00:00', 'Timestamp(ms)') AS t, \
                 DATE '9999-12-31' AS d",
            ],
            sql: "SELECT t FROM valid WHERE t NOT IN (SELECT d FROM valid)",
            right: CaseOutcome::Rows(&["2020-01-01T00:00:00"]),
            theirs: CaseOutcome::Error("Date32"),
        },
        Case {
            setup: &[
                "CREATE TABLE valid AS SELECT arrow_cast('2020-01-01T00:00:00', 'Timestamp(ms)') AS t, \
                 DATE '9999-12-31' AS d",
            ],
            sql: "SELECT t FROM valid UNION ALL SELECT d FROM valid",
            right: CaseOutcome::Rows(&["2020-01-01T00:00:00", "9999-12-31T00:00:00"]),
            theirs: CaseOutcome::Error("Date32"),
        },
        Case {
            setup: &[
                "CREATE TABLE valid AS SELECT arrow_cast('2020-01-01T00:00:00', 'Timestamp(ms)') AS t, \
                 DATE '9999-12-31' AS d",
            ],
            sql: "SELECT coalesce(d, t), CASE WHEN t < d THEN d ELSE t END, greatest(t, d), nullif(d, t) FROM valid",
            right: CaseOutcome::Rows(&[
                "9999-12-31T00:00:00, 9999-12-31T00:00:00, 9999-12-31T00:00:00, 9999-12-31",
            ]),
            theirs: CaseOutcome::Error("Date32"),
        },
        Case {
            setup: &[],
            sql: "SELECT coalesce(t, DATE '9999-12-31'), CASE WHEN t IS NULL THEN DATE '9999-12-31' ELSE t END \
                  FROM (VALUES (TIMESTAMP '2020-01-01 00:00:00'), (NULL)) v(t)",
            right: CaseOutcome::Rows(&[
                "2020-01-01T00:00:00, 2020-01-01T00:00:00",
                "9999-12-31T00:00:00, 9999-12-31T00:00:00",
            ]),
            theirs: CaseOutcome::Error("Date32"),
        },
    ],
};

/// Returns the common type of dates and timestamps, or of intervals and differences of timestamps, if DataFusion's
/// choice is too narrow.
pub(super) fn common<'a>(
    types: impl IntoIterator<Item = &'a DataType> + Clone,
) -> Option<DataType> {
    if let Some(interval) = intervals::common(types.clone()) {
        return Some(interval);
    }
    let (mut dates, mut finest) = (false, None::<TimeUnit>);
    for data_type in types {
        match data_type {
            DataType::Null => {}
            DataType::Date32 => dates = true,
            DataType::Timestamp(unit, None) => {
                finest = Some(finest.filter(|it| places(*it) >= places(*unit)).unwrap_or(*unit));
            }
            _ => return None,
        }
    }
    let unit = finest.filter(|unit| dates && *unit != TimeUnit::Nanosecond)?;
    Some(DataType::Timestamp(unit, None))
}

/// Casts the dates among expressions of which one is the result to timestamps; returns `None` if DataFusion's choice
/// is right.
pub(super) fn unified(all: &[&Expr], schema: &DFSchema) -> Option<Vec<Expr>> {
    let types: Vec<DataType> =
        all.iter().map(|it| it.get_type(schema).ok()).collect::<Option<_>>()?;
    if let Some(far) = far_dates::unified(all, &types) {
        return Some(far);
    }
    let to = common(&types)?;
    let all = all.iter().zip(&types).map(|(expr, data_type)| match data_type {
        DataType::Date32 | DataType::Duration(_) => {
            Expr::Cast(Cast::new(Box::new(Expr::clone(expr)), to.clone()))
        }
        _ => Expr::clone(expr),
    });
    Some(all.collect())
}

/// Returns a subquery of one column with an expression in its place.
pub(super) fn projected(
    subquery: &Subquery,
    expr: impl Fn(&Expr) -> Option<Expr>,
) -> Option<Subquery> {
    let plan = subquery.subquery.as_ref();
    let (qualifier, field) = plan.schema().qualified_field(0);
    // One projection is used, because DataFusion confuses a column with a computed column of the same name.
    let (column, input) = match plan {
        LogicalPlan::Projection(Projection { expr, input, .. }) => {
            (expr.first()?.clone().unalias(), input.as_ref())
        }
        plan => (Expr::Column(Column::from((qualifier, field))), plan),
    };
    let converted = expr(&column)?.alias(field.name());
    let plan = LogicalPlanBuilder::from(input.clone()).project([converted]).ok()?.build().ok()?;
    Some(subquery.with_plan(Arc::new(plan)))
}
