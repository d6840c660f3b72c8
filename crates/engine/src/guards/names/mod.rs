//! Names that columns of a query get by themselves.
//!
//! DataFusion names a cast like what is cast, and refuses, or mixes up, columns of one name. [`casts`] gives casts
//! names of their own where another column, group or aggregate has the same, and [`compared`] the casts that IN adds to
//! a subquery. [`repeated`] numbers columns of a SELECT that have one name, [`inner`] those of its subqueries, [`sets`] takes repeated columns out of
//! ROLLUP and CUBE, and [`ordered`] and [`hidden`] say in ORDER BY which
//! column is meant. [`lists`] completes the names of a query's columns.

mod casts;
mod compared;
mod hidden;
mod inner;
mod lists;
mod named;
mod ordered;
mod repeated;
mod sets;
mod text;

use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{OrderBy, Query, Select, SetExpr, TableFactor, VisitorMut};

pub(super) use self::casts::GUARD as CASTS;
pub(super) use self::compared::GUARD as COMPARED;
pub(super) use self::hidden::GUARD as HIDDEN;
pub(super) use self::inner::GUARD as INNER;
pub(super) use self::lists::GUARD as LISTS;
pub(super) use self::named::function;
pub(super) use self::ordered::GUARD as ORDERED;
pub(super) use self::repeated::GUARD as REPEATED;
pub(super) use self::sets::GUARD as SETS;
pub(crate) use self::text::normal;
pub(super) use self::text::{exact, resolved};
use super::{AnalysisRule, visit};

/// Comes before types are coerced: the rules from there on see casts as they are without names.
pub(super) fn install(rules: &mut Vec<AnalysisRule>) -> Result<()> {
    compared::install(rules)?;
    // GROUPING finds its arguments among the groups before.
    let grouping = rules.iter().position(|rule| rule.name() == "resolve_grouping_function");
    rules.insert(grouping.map_or(0, |at| at + 1), Arc::new(named::Unnamed));
    Ok(())
}

/// Names casts and repeated columns, and writes ROLLUP and CUBE of repeated columns out.
pub(super) fn rewrite(statement: &mut Statement) {
    let _ = visit(statement, &mut Names);
}

struct Names;

impl VisitorMut for Names {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        lists::complete_with(query);
        hidden::wrap(query);
        // ORDER BY names columns of the only SELECT.
        if let SetExpr::Select(select) = query.body.as_mut() {
            rename(select, query.order_by.as_mut());
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        lists::complete_derived(factor);
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        // Of those that have been done already, nothing is left to do.
        rename(select, None);
        ControlFlow::Continue(())
    }
}

fn rename(select: &mut Select, mut order: Option<&mut OrderBy>) {
    sets::write_out(select);
    if let Some(order) = order.as_deref_mut() {
        ordered::place(select, order);
    }
    casts::name(select, order.as_deref_mut());
    repeated::number(select);
    inner::number(select, order);
}
