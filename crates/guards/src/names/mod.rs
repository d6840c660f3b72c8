//! Changes names that columns of a query get by themselves.
//!
//! DataFusion names a cast like its operand, and refuses or mixes up columns of one name.
//!
//! | names | module |
//! |---|---|
//! | casts where another column, group or aggregate has the same name | [`casts`] |
//! | casts that IN adds to a subquery | [`compared`] |
//! | columns of a SELECT that have one name | [`repeated`] |
//! | columns of its scalar subqueries | [`inner`] |
//! | repeated columns in ROLLUP and CUBE | [`sets`] |
//! | columns in ORDER BY | [`ordered`], [`hidden`] |
//! | lists of columns that are too short | [`lists`] |

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
pub use self::text::normal;
pub(super) use self::text::{exact, resolved};
use super::{AnalysisRule, visit};

/// Adds the rules before types are coerced, because the later rules need casts without names.
pub(super) fn install(rules: &mut Vec<AnalysisRule>) -> Result<()> {
    compared::install(rules)?;
    // GROUPING finds its arguments among the groups before that.
    let grouping = rules.iter().position(|rule| rule.name() == "resolve_grouping_function");
    rules.insert(grouping.map_or(0, |at| at + 1), Arc::new(named::StripAliasFunction));
    Ok(())
}

/// Names casts and repeated columns, and expands ROLLUP and CUBE of repeated columns.
pub(super) fn rewrite(statement: &mut Statement) {
    let _ = visit(statement, &mut Names);
}

struct Names;

impl VisitorMut for Names {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        lists::complete_with(query);
        hidden::wrap(query);
        // ORDER BY refers to the columns of the only SELECT.
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
        // A SELECT that was already renamed stays as it is.
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
