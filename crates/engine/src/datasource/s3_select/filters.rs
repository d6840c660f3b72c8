//! The filters of a Select scan: those of its plan, and those that arrive while the query runs.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use datafusion::common::{Result, internal_datafusion_err};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr_common::physical_expr::snapshot_physical_expr;
use datafusion::physical_plan::expressions::Literal;
use sluicegate_s3select::dialect::ast::Expr;
use sluicegate_s3select::profile::{EndpointProfile, Exactness};

use super::S3SelectSource;
use crate::choice::Why;
use crate::datasource::arriving::{Arriving, ArrivingKeys};
use crate::datasource::keys::Keys;
use crate::datasource::predicate::Pushed;
use crate::datasource::snapshot::ScanSnapshot;
use crate::datasource::statement::Statement;
use crate::endpoint::Endpoint;
use crate::sql_types::sql_type;

/// A conjunct of the scan's filter, on both sides.
#[derive(Debug, Clone)]
pub struct Filter {
    /// As DataFusion evaluates it, over the table's columns.
    pub here: Arc<dyn PhysicalExpr>,
    /// As the store evaluates it.
    pub there: Pushed,
}

/// What a join says by now about its keys.
#[derive(Debug, Clone)]
pub struct KeyFilter {
    /// A filter over the table's columns, which does not change any more.
    pub now: Arc<dyn PhysicalExpr>,
    /// Whether the join has one key, so that the filter says of each value of it whether it passes.
    pub one_key: bool,
}

impl Filter {
    /// The conjunction of some filters, as the store evaluates it.
    #[must_use]
    pub fn there(filters: &[Self]) -> Option<Expr> {
        filters.iter().map(|filter| filter.there.expr.clone()).reduce(Expr::and)
    }

    /// Whether the store applies it exactly, so that nobody checks its rows again.
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

    /// What is asked when a file is opened at this moment, by [these filters](Self::filters_now).
    ///
    /// # Errors
    ///
    /// If the scan has no statement: never, for a scan that [`Self::replace`] made.
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

    /// The filters of the plan, and those of the filters that arrive while the query runs that the
    /// store can apply as they stand now. Those that are keys of a join are given:
    /// [`decide`](super::keys::decide) makes them.
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
            // Nothing has arrived yet.
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

    /// The same scan with a filter whose value other operators find out while the query runs. Its
    /// rows are checked above the scan; to the scan it is what it says when a file is opened.
    #[must_use]
    pub fn with_arriving_filter(&self, filter: Arc<dyn PhysicalExpr>) -> Self {
        let mut with = self.clone();
        with.arriving.push(Arriving::new(filter));
        with
    }

    /// The same scan, told which of its arriving filters are keys of a join: those with these
    /// identities. Those that are not wanted are taken away. None if there is nothing to tell.
    #[must_use]
    pub fn with_keys_of_joins(&self, joins: &HashMap<u64, Option<ArrivingKeys>>) -> Option<Self> {
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

    /// The filters that are not known before the query runs.
    #[must_use]
    pub fn arriving(&self) -> &[Arriving] {
        &self.arriving
    }

    /// What the joins above say by now about the columns that are read, and by which filters.
    ///
    /// # Errors
    ///
    /// If a filter cannot be read.
    pub fn keys(&self) -> Result<(Keys, Vec<KeyFilter>)> {
        let (mut keys, mut filters) = (Keys::Any, Vec::new());
        for arriving in self.arriving.iter().filter(|arriving| arriving.keys.is_some()) {
            let now = snapshot_physical_expr(Arc::clone(&arriving.filter))?;
            keys = keys.both(Keys::of(&now, self.table_schema.table_schema()));
            filters.push(KeyFilter { now, one_key: arriving.has_one_key() });
        }
        Ok((keys.about(|column| self.columns().contains(&column)), filters))
    }

    /// How many keys there are without a filter on the build side of the joins above, if that can
    /// be estimated.
    #[must_use]
    pub fn domain(&self) -> Option<f64> {
        self.arriving.iter().find_map(|arriving| arriving.keys?.domain)
    }

    /// The columns by which keys of joins select rows, as a part of a node's line in EXPLAIN.
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

    /// Whether the store can look a column's values up in a Bloom filter.
    #[must_use]
    pub fn takes_bloom(&self, column: &Arc<dyn PhysicalExpr>) -> bool {
        let translator = self.translator();
        translator.filterable(column).is_some() || translator.hashable(column).is_some()
    }

    /// Why the store cannot look a column's values up in a Bloom filter.
    #[must_use]
    pub fn no_bloom(&self, column: &Arc<dyn PhysicalExpr>) -> Why {
        let EndpointProfile { name, syntax, .. } = self.profile();
        if !syntax.bloom && !syntax.substring {
            return Why::new(format!(
                "a Bloom filter needs SUBSTRING or BLOOM_CONTAINS, and the store has neither \
                 (profile `{name}`)"
            ));
        }
        let data_type = column.data_type(self.file_schema());
        let of = data_type.map(|it| format!(" {}", sql_type(&it))).unwrap_or_default();
        Why::new(format!("the store has no Bloom filter of values of type{of} (profile `{name}`)"))
    }

    /// Whether an arriving filter is about columns that are read, so that rows can be counted by it.
    pub(super) fn reads(&self, filter: &Arc<dyn PhysicalExpr>) -> bool {
        collect_columns(filter).iter().all(|column| self.columns().contains(&column.index()))
    }

    /// Fewer rows of the same scan: those that pass a filter over the table's columns as well.
    ///
    /// # Errors
    ///
    /// Why the store cannot tell these rows apart.
    pub fn with_exact_filter(
        &self,
        endpoint: &Endpoint,
        filter: Arc<dyn PhysicalExpr>,
    ) -> Result<Self, Why> {
        let there = self.translate(endpoint, &filter)?;
        if there.exactness != Exactness::Exact {
            return Err("the store can apply the filter only roughly".into());
        }
        let mut fewer = self.clone();
        fewer.filters.push(Filter { here: filter, there });
        Ok(fewer)
    }

    /// A scan of all rows, whatever is asked of them, for a guess at what they have.
    #[must_use]
    pub fn unfiltered(&self) -> Self {
        Self { filters: Vec::new(), arriving: Vec::new(), ..self.clone() }
    }

    /// The filter that the store applies.
    #[must_use]
    pub fn store_filter(&self) -> Option<Expr> {
        Filter::there(&self.filters)
    }

    /// The filters that are not checked again above the scan.
    #[must_use]
    pub fn exact_filters(&self) -> Vec<Arc<dyn PhysicalExpr>> {
        self.filters
            .iter()
            .filter(|filter| filter.there.exactness == Exactness::Exact)
            .map(|filter| Arc::clone(&filter.here))
            .collect()
    }

    /// Every filter, with its two sides.
    #[must_use]
    pub fn filters(&self) -> &[Filter] {
        &self.filters
    }

    /// The indices of the file's columns that a statement with these filters reads.
    #[must_use]
    pub fn columns_of(&self, filters: &[Arc<dyn PhysicalExpr>]) -> BTreeSet<usize> {
        let filtered = filters.iter().flat_map(collect_columns).map(|column| column.index());
        self.columns().iter().copied().chain(filtered).collect()
    }

    /// A filter over the table's columns, as the store would apply it.
    ///
    /// # Errors
    ///
    /// Why the store cannot apply it.
    pub fn translate(
        &self,
        endpoint: &Endpoint,
        filter: &Arc<dyn PhysicalExpr>,
    ) -> Result<Pushed, Why> {
        let there = self.there(filter)?;
        let mut filters = self.filters.clone();
        filters.push(Filter { here: Arc::clone(filter), there: there.clone() });
        self.may_be_sent(endpoint, &filters, None)?;
        Ok(there)
    }

    /// A filter over the table's columns in the store's language.
    pub(super) fn there(&self, filter: &Arc<dyn PhysicalExpr>) -> Result<Pushed, Why> {
        let there = self.translator().filter(filter).ok_or_else(|| {
            let name = &self.profile.name;
            Why::new(format!(
                "S3 Select has no equivalent that profile `{name}` evaluates the same"
            ))
        })?;
        // The rows are checked again by the columns that the store sends.
        let columns = self.file_schema().fields().len();
        if there.exactness != Exactness::Exact
            && collect_columns(filter).iter().any(|column| column.index() >= columns)
        {
            return Err("a part of it is about a partition, which the store does not know".into());
        }
        Ok(there)
    }

    /// Whether the store takes the scan's statement with these filters as well.
    ///
    /// # Errors
    ///
    /// Why not.
    pub fn takes_with(&self, endpoint: &Endpoint, filters: &[Filter]) -> Result<(), Why> {
        let all: Vec<_> = self.filters.iter().chain(filters).cloned().collect();
        self.may_be_sent(endpoint, &all, None)
    }

    /// Whether the store takes the scan's statement with these filters.
    pub(super) fn may_be_sent(
        &self,
        endpoint: &Endpoint,
        filters: &[Filter],
        limit: Option<usize>,
    ) -> Result<(), Why> {
        let statement = self.statement_with(filters, limit).ok_or_else(|| self.unsendable())?;
        endpoint.takes(&statement, &self.format)
    }
}
