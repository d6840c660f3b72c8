//! The filters of a Select scan: those of its plan, and those that arrive while the query runs.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use datafusion::common::{Result, internal_datafusion_err};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr_common::physical_expr::snapshot_physical_expr;
use datafusion::physical_plan::expressions::Literal;
use sluicegate_s3select::capabilities::{Exactness, StoreCapabilities};
use sluicegate_s3select::dialect::ast::Expr;

use super::S3SelectSource;
use crate::context::choice::Reason;
use crate::pushdown::dynamic_filters::{DynamicFilter, DynamicKeys};
use crate::pushdown::predicate::Pushed;
use crate::pushdown::statement::Statement;
use crate::scan::keys::Keys;
use crate::scan::snapshot::ScanSnapshot;
use crate::store::endpoint::Endpoint;
use sluicegate_guards::sql_types::sql_type;

/// A conjunct of the scan's filter, for both sides.
#[derive(Debug, Clone)]
pub struct Filter {
    /// The expression that DataFusion evaluates, over the table's columns.
    pub here: Arc<dyn PhysicalExpr>,
    /// The condition that the store evaluates.
    pub there: Pushed,
}

/// The present state of a join's filter on its keys.
#[derive(Debug, Clone)]
pub struct KeyFilter {
    /// A filter over the table's columns, which does not change any more.
    pub now: Arc<dyn PhysicalExpr>,
    /// True if the join has a single key, so that the filter decides for each value of it whether it passes.
    pub one_key: bool,
}

impl Filter {
    /// Returns the conjunction of some filters, as the store evaluates it.
    #[must_use]
    pub fn there(filters: &[Self]) -> Option<Expr> {
        filters.iter().map(|filter| filter.there.expr.clone()).reduce(Expr::and)
    }

    /// Returns true if the store applies the filter exactly, so that its rows are not checked again.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.there.exactness == Exactness::Exact
    }
}

impl S3SelectSource {
    pub(super) fn statement_with(
        &self,
        filters: &[Filter],
        limit: Option<usize>,
    ) -> Option<Statement> {
        Statement::scan(
            &self.profile,
            &self.format,
            self.table_schema.file_schema(),
            &self.projection.file_indices,
            Filter::there(filters),
            limit,
        )
    }

    /// Returns the statement and filters of a file that is opened now, by [these filters](Self::filters_now).
    ///
    /// # Errors
    ///
    /// If the scan has no statement, which never happens for a scan that [`Self::replace`] made.
    pub fn snapshot(
        &self,
        endpoint: &Endpoint,
        limit: Option<usize>,
        keys: &[Filter],
    ) -> Result<ScanSnapshot> {
        let filters = self.filters_now(endpoint, limit, keys)?;
        let statement = self
            .statement_with(&filters, limit)
            .ok_or_else(|| internal_datafusion_err!("a Select scan without a statement"))?;
        let answer = self.file_schema().project(self.columns())?;
        ScanSnapshot::new(statement, &filters, &answer)
    }

    /// Returns the filters of the plan, the given `keys`, and those arriving filters that the store can apply in
    /// their present state. Arriving filters with keys of a join are not among the latter:
    /// [`decide`](super::keys::decide) makes `keys` of them.
    ///
    /// # Errors
    ///
    /// If a filter cannot be read.
    pub fn filters_now(
        &self,
        endpoint: &Endpoint,
        limit: Option<usize>,
        keys: &[Filter],
    ) -> Result<Vec<Filter>> {
        let mut filters = self.filters.clone();
        filters.extend_from_slice(keys);
        for arriving in self.arriving.iter().filter(|arriving| arriving.keys.is_none()) {
            let now = snapshot_physical_expr(Arc::clone(&arriving.filter))?;
            // The filter has not arrived yet.
            if now.downcast_ref::<Literal>().is_some_and(|it| *it.value() == true.into()) {
                continue;
            }
            let Ok(there) = self.there(&now) else { continue };
            filters.push(Filter { here: now, there });
            if self.may_be_sent(endpoint, &filters, limit).is_err() {
                filters.pop();
            }
        }
        Ok(filters)
    }

    /// Adds a filter whose value other operators supply while the query runs. An operator above the scan checks its
    /// rows. The scan uses the filter's value at the time when a file is opened.
    #[must_use]
    pub fn with_arriving_filter(&self, filter: Arc<dyn PhysicalExpr>) -> Self {
        let mut with = self.clone();
        with.arriving.push(DynamicFilter::new(filter));
        with
    }

    /// Marks the arriving filters with these ids as keys of a join; those without a value in the map are removed.
    /// Returns `None` if the scan has no arriving filters.
    #[must_use]
    pub fn with_keys_of_joins(&self, joins: &HashMap<u64, Option<DynamicKeys>>) -> Option<Self> {
        if self.arriving.is_empty() {
            return None;
        }
        let mut with = self.clone();
        with.arriving.retain_mut(|arriving| {
            let known: Vec<_> = arriving.ids().iter().filter_map(|id| joins.get(id)).collect();
            arriving.keys = known.iter().find_map(|keys| **keys);
            known.is_empty() || arriving.keys.is_some()
        });
        Some(with)
    }

    /// Returns the filters whose values are not known before the query runs.
    #[must_use]
    pub fn arriving(&self) -> &[DynamicFilter] {
        &self.arriving
    }

    /// Returns the present keys of the joins above on the columns that are read, and the filters that they come from.
    ///
    /// # Errors
    ///
    /// If a filter cannot be read.
    pub fn keys(&self) -> Result<(Keys, Vec<KeyFilter>)> {
        let (mut keys, mut filters) = (Keys::Any, Vec::new());
        for arriving in self.arriving.iter().filter(|arriving| arriving.keys.is_some()) {
            let now = snapshot_physical_expr(Arc::clone(&arriving.filter))?;
            keys = keys.both(Keys::from_filter(&now, self.table_schema.table_schema()));
            filters.push(KeyFilter { now, one_key: arriving.has_one_key() });
        }
        Ok((keys.about(|column| self.columns().contains(&column)), filters))
    }

    /// Returns the estimated number of keys if the build side of the joins above had no filter, or `None` if there is
    /// no estimate.
    #[must_use]
    pub fn domain(&self) -> Option<f64> {
        self.arriving.iter().find_map(|arriving| arriving.keys?.domain)
    }

    /// Returns the estimated number of keys of a column if the build sides of its joins had no filter, or `None` if
    /// there is no estimate. `distinct` is the number of the column's values: a join by several columns has more keys.
    #[must_use]
    pub fn domain_of(&self, column: usize, distinct: Option<f64>) -> Option<f64> {
        let domains = self.arriving.iter().filter_map(|arriving| {
            let domain = arriving.keys?.domain?;
            let columns = collect_columns(&arriving.filter);
            columns.iter().any(|it| it.index() == column).then(|| match columns.len() {
                1 => domain,
                _ => distinct.map_or(domain, |distinct| domain.min(distinct)),
            })
        });
        domains.reduce(f64::min)
    }

    /// Returns the columns by which keys of joins select rows, as a part of a node's line in EXPLAIN.
    #[must_use]
    pub fn shown_keys(&self) -> String {
        let keys = self.arriving.iter().filter(|arriving| arriving.keys.is_some());
        let columns = keys.flat_map(|arriving| collect_columns(&arriving.filter));
        let names: BTreeSet<String> = columns.map(|column| column.name().to_owned()).collect();
        if names.is_empty() {
            return String::new();
        }
        format!(", join=bloom on {}", names.into_iter().collect::<Vec<_>>().join(" and "))
    }

    /// Returns true if the store can look a column's values up in a Bloom filter.
    #[must_use]
    pub fn takes_bloom(&self, column: &Arc<dyn PhysicalExpr>) -> bool {
        let translator = self.translator();
        translator.filterable(column).is_some() || translator.hashable(column).is_some()
    }

    /// Returns the reason why the store cannot look a column's values up in a Bloom filter.
    #[must_use]
    pub fn no_bloom(&self, column: &Arc<dyn PhysicalExpr>) -> Reason {
        let StoreCapabilities { name, syntax, .. } = self.profile();
        if !syntax.bloom && !syntax.substring {
            return Reason::new(format!(
                "a Bloom filter needs SUBSTRING or BLOOM_CONTAINS, and the store has neither \
                 (profile `{name}`)"
            ));
        }
        let data_type = column.data_type(self.file_schema());
        let of = data_type.map(|it| format!(" {}", sql_type(&it))).unwrap_or_default();
        Reason::new(format!(
            "the store has no Bloom filter of values of type{of} (profile `{name}`)"
        ))
    }

    /// Returns true if all columns of an arriving filter are read, so that the filter can count rows.
    pub(super) fn reads(&self, filter: &Arc<dyn PhysicalExpr>) -> bool {
        collect_columns(filter).iter().all(|column| self.columns().contains(&column.index()))
    }

    /// Adds a filter over the table's columns that the store applies exactly.
    ///
    /// # Errors
    ///
    /// The reason why the store cannot apply it exactly.
    pub fn with_exact_filter(
        &self,
        endpoint: &Endpoint,
        filter: Arc<dyn PhysicalExpr>,
    ) -> Result<Self, Reason> {
        let there = self.translate(endpoint, &filter)?;
        if there.exactness != Exactness::Exact {
            return Err("the store can apply the filter only roughly".into());
        }
        let mut fewer = self.clone();
        fewer.filters.push(Filter { here: filter, there });
        Ok(fewer)
    }

    /// Returns the scan without any filter, to estimate the values of its rows.
    #[must_use]
    pub fn unfiltered(&self) -> Self {
        Self { filters: Vec::new(), arriving: Vec::new(), ..self.clone() }
    }

    /// Returns the filter that the store applies.
    #[must_use]
    pub fn store_filter(&self) -> Option<Expr> {
        Filter::there(&self.filters)
    }

    /// Returns the filters that are not checked again above the scan.
    #[must_use]
    pub fn exact_filters(&self) -> Vec<Arc<dyn PhysicalExpr>> {
        self.filters
            .iter()
            .filter(|filter| filter.there.exactness == Exactness::Exact)
            .map(|filter| Arc::clone(&filter.here))
            .collect()
    }

    /// Returns every filter, with its two sides.
    #[must_use]
    pub fn filters(&self) -> &[Filter] {
        &self.filters
    }

    /// Returns the indices of the file's columns that a statement with these filters reads.
    #[must_use]
    pub fn columns_of(&self, filters: &[Arc<dyn PhysicalExpr>]) -> BTreeSet<usize> {
        let filtered = filters.iter().flat_map(collect_columns).map(|column| column.index());
        self.columns().iter().copied().chain(filtered).collect()
    }

    /// Translates a filter over the table's columns for the store.
    ///
    /// # Errors
    ///
    /// The reason why the store cannot apply it.
    pub fn translate(
        &self,
        endpoint: &Endpoint,
        filter: &Arc<dyn PhysicalExpr>,
    ) -> Result<Pushed, Reason> {
        let there = self.there(filter)?;
        let mut filters = self.filters.clone();
        filters.push(Filter { here: Arc::clone(filter), there: there.clone() });
        self.may_be_sent(endpoint, &filters, None)?;
        Ok(there)
    }

    /// Translates a filter over the table's columns to the store's language.
    pub(super) fn there(&self, filter: &Arc<dyn PhysicalExpr>) -> Result<Pushed, Reason> {
        let there = self.translator().filter(filter).ok_or_else(|| {
            let name = &self.profile.name;
            Reason::new(format!(
                "S3 Select has no equivalent that profile `{name}` evaluates the same"
            ))
        })?;
        // The rows are checked again with the columns that the store sends, which do not include partition columns.
        let columns = self.file_schema().fields().len();
        if there.exactness != Exactness::Exact
            && collect_columns(filter).iter().any(|column| column.index() >= columns)
        {
            return Err("a part of it is about a partition, which the store does not know".into());
        }
        Ok(there)
    }

    /// Checks that the store accepts the scan's statement with additional filters.
    ///
    /// # Errors
    ///
    /// The reason why it does not.
    pub fn takes_with(&self, endpoint: &Endpoint, filters: &[Filter]) -> Result<(), Reason> {
        let all: Vec<_> = self.filters.iter().chain(filters).cloned().collect();
        self.may_be_sent(endpoint, &all, None)
    }

    /// Checks that the store accepts the scan's statement with these filters.
    pub(super) fn may_be_sent(
        &self,
        endpoint: &Endpoint,
        filters: &[Filter],
        limit: Option<usize>,
    ) -> Result<(), Reason> {
        let statement = self.statement_with(filters, limit).ok_or_else(|| self.unsendable())?;
        endpoint.takes(&statement, &self.format)
    }
}
