//! Finds, copies and replaces the scans of an optimized plan.

use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::common::{Column, Result, plan_datafusion_err};
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{
    LogicalPlan, LogicalPlanBuilder, TableScan, TableScanBuilder, TableSource,
};

/// Columns of a table, by their indexes.
pub(super) type Columns = BTreeSet<usize>;

/// Returns the scans of a plan, including those of its subqueries.
pub(super) fn scans(plan: &LogicalPlan) -> Result<Vec<TableScan>> {
    let mut scans = Vec::new();
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node {
            scans.push(scan.clone());
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(scans)
}

/// Returns whether a plan limits rows somewhere.
pub(super) fn has_limit(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply_with_subqueries(|node| {
        found |= match node {
            LogicalPlan::Limit(_) => true,
            LogicalPlan::Sort(sort) => sort.fetch.is_some(),
            LogicalPlan::TableScan(scan) => scan.fetch.is_some(),
            _ => false,
        };
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(found)
}

/// Returns the columns that a scan needs: those that it returns, and those of its filters. There is at least one,
/// since a file without columns has no rows.
pub(super) fn columns(scan: &TableScan) -> Result<Columns> {
    let schema = scan.source.schema();
    let mut columns: Columns = match &scan.projection {
        Some(projection) => projection.iter().copied().collect(),
        None => (0..schema.fields().len()).collect(),
    };
    for filter in &scan.filters {
        for Column { name, .. } in filter.column_refs() {
            columns.insert(schema.index_of(name)?);
        }
    }
    if columns.is_empty() {
        columns.insert(0);
    }
    Ok(columns)
}

/// Returns a plan for some columns of a scan's table. If `filtered`, it returns only the rows that pass the scan's
/// filters.
pub(super) fn copied(scan: &TableScan, columns: &Columns, filtered: bool) -> Result<LogicalPlan> {
    let all = TableScanBuilder::new(scan.table_name.clone(), Arc::clone(&scan.source))
        .with_projection(Some(columns.iter().copied().collect()))
        .build()?;
    let all = LogicalPlanBuilder::from(LogicalPlan::TableScan(all));
    match conjunction(scan.filters.iter().filter(|_| filtered).cloned()) {
        Some(filter) => all.filter(filter)?.build(),
        None => all.build(),
    }
}

/// Makes the scans of a plan read other tables, which have these columns of the original ones. A scan for which `by`
/// returns none is unchanged.
pub(super) fn replaced(
    plan: &LogicalPlan,
    mut by: impl FnMut(&TableScan) -> Result<Option<(Columns, Arc<dyn TableSource>)>>,
) -> Result<LogicalPlan> {
    let replaced = plan.clone().transform_up_with_subqueries(|node| {
        let LogicalPlan::TableScan(scan) = &node else { return Ok(Transformed::no(node)) };
        let Some((columns, source)) = by(scan)? else { return Ok(Transformed::no(node)) };
        let place = |of: &usize| {
            let place = columns.iter().position(|it| it == of);
            place.ok_or_else(|| {
                plan_datafusion_err!("column {of} of {} is missing", scan.table_name)
            })
        };
        let given: Vec<usize> = match &scan.projection {
            Some(projection) => projection.clone(),
            None => (0..scan.source.schema().fields().len()).collect(),
        };
        let projection = given.iter().map(place).collect::<Result<_>>()?;
        let scan = TableScan { source, projection: Some(projection), ..scan.clone() };
        Ok(Transformed::yes(LogicalPlan::TableScan(scan)))
    })?;
    Ok(replaced.data)
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::{DataType, Field, Schema};
    use datafusion::datasource::empty::EmptyTable;
    use datafusion::datasource::provider_as_source;
    use datafusion::logical_expr::{col, lit};

    use super::*;

    fn source(columns: &[&str]) -> Arc<dyn TableSource> {
        let fields = columns.iter().map(|name| Field::new(*name, DataType::Int64, true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        provider_as_source(Arc::new(EmptyTable::new(schema)))
    }

    fn scan(projection: &[usize]) -> TableScan {
        let filters = vec![col("t.c").gt(lit(1_i64))];
        let table = source(&["a", "b", "c", "d"]);
        let scan = TableScanBuilder::new("t", table).with_projection(Some(projection.to_vec()));
        scan.with_filters(filters).build().unwrap()
    }

    #[test]
    fn a_scan_needs_what_it_gives_and_what_it_filters_by() {
        assert_eq!(columns(&scan(&[3, 0])).unwrap(), Columns::from([0, 2, 3]));
        let counting = TableScan { filters: Vec::new(), ..scan(&[]) };
        assert_eq!(columns(&counting).unwrap(), Columns::from([0]));
    }

    #[test]
    fn a_replaced_scan_gives_the_same_columns_in_the_same_order() {
        let original = scan(&[3, 0]);
        let columns = columns(&original).unwrap();
        let model = source(&["a", "c", "d"]);
        let plan = LogicalPlan::TableScan(original);
        let plan = replaced(&plan, |_| Ok(Some((columns.clone(), Arc::clone(&model))))).unwrap();
        let LogicalPlan::TableScan(replaced) = &plan else { panic!("{plan}") };
        assert_eq!(replaced.projection.as_deref(), Some([2, 0].as_slice()));
        assert_eq!(replaced.projected_schema.field_names(), ["t.d", "t.a"]);
        assert_eq!(replaced.filters.len(), 1);
    }

    #[test]
    fn a_copy_is_filtered_if_it_is_a_model() {
        let scan = scan(&[3]);
        let text = |filtered| {
            copied(&scan, &columns(&scan).unwrap(), filtered).unwrap().display_indent().to_string()
        };
        assert_eq!(text(true), "Filter: t.c > Int64(1)\n  TableScan: t projection=[c, d]");
        assert_eq!(text(false), "TableScan: t projection=[c, d]");
    }
}
