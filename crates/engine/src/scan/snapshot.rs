//! The statement and the filters of one open of a file.

use std::sync::Arc;

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::Schema;
use datafusion::common::Result;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::utils::{conjunction_opt, reassign_expr_columns};
use sluicegate_s3select::capabilities::Exactness;

use super::s3_select::Filter;
use crate::pushdown::statement::Statement;
use sluicegate_guards::guarded;

/// The statement for a file or a range of it, and the filters that are checked locally. It is made when the file is
/// opened and never changes. The statement, the number of rows to skip when an answer breaks off, and the GET that
/// replaces the statement all use the same filters, whatever filters arrive later.
#[derive(Debug, Clone)]
pub struct ScanSnapshot {
    /// The statement for the store.
    pub statement: Statement,
    /// Every filter, as DataFusion evaluates it over the table's columns.
    pub filters: Vec<Arc<dyn PhysicalExpr>>,
    /// The filters, over the answer's columns, that the store applies only approximately, so that it may return too
    /// many rows.
    recheck: Option<Arc<dyn PhysicalExpr>>,
}

impl ScanSnapshot {
    /// Creates a snapshot. The condition of `statement` must be the conjunction of `filters`.
    ///
    /// # Errors
    ///
    /// If a filter that the store applies only approximately needs a column that the statement does not return.
    pub fn new(statement: Statement, filters: &[Filter], answer: &Schema) -> Result<Self> {
        let rough = filters.iter().filter(|it| it.there.exactness != Exactness::Exact);
        let recheck = rough
            .map(|filter| reassign_expr_columns(Arc::clone(&filter.here), answer))
            .collect::<Result<Vec<_>>>()?;
        let recheck = conjunction_opt(recheck).map(|it| guarded(it, answer)).transpose()?;
        Ok(Self {
            statement,
            filters: filters.iter().map(|filter| Arc::clone(&filter.here)).collect(),
            recheck,
        })
    }

    /// Counts the rows of an answer that pass every filter.
    ///
    /// # Errors
    ///
    /// If a filter cannot be evaluated.
    pub fn passing(&self, batch: &RecordBatch) -> Result<usize> {
        let Some(recheck) = &self.recheck else { return Ok(batch.num_rows()) };
        let verdicts = recheck.evaluate(batch)?.into_array(batch.num_rows())?;
        Ok(verdicts.as_boolean().true_count())
    }
}

#[cfg(test)]
mod tests {
    use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
    use datafusion::datasource::physical_plan::FileScanConfigBuilder;
    use datafusion::logical_expr::Operator;
    use datafusion::physical_plan::expressions::{
        BinaryExpr, Column, DynamicFilterPhysicalExpr, lit,
    };
    use datafusion::physical_plan::{ExecutionPlan, collect};
    use sluicegate_s3select::capabilities::StoreCapabilities;
    use sluicegate_server::Server;

    use super::*;
    use crate::Engine;
    use crate::context::config::Scan;
    use crate::scan::s3_scan::{S3Scan, as_select_scan};
    use crate::scan::s3_select::S3SelectSource;

    fn below(k: &Arc<dyn PhysicalExpr>, most: i64) -> Arc<dyn PhysicalExpr> {
        Arc::new(BinaryExpr::new(Arc::clone(k), Operator::Lt, lit(most)))
    }

    #[tokio::test]
    async fn each_open_asks_with_the_filters_of_its_moment() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("bucket")).unwrap();
        std::fs::write(folder.path().join("bucket/a.csv"), "k,v\n1,a\n2,b\n3,c\n4,d\n").unwrap();
        let server = Server::builder(folder.path()).sync_writes(false).start().await.unwrap();
        let engine = Engine::builder()
            .endpoint(server.endpoint())
            .credentials(server.access_key(), server.secret_key())
            .profile(StoreCapabilities::sluice())
            .scan(Scan::Select)
            .threads(1)
            .build()
            .await
            .unwrap();
        let query = engine.query("SELECT k, v FROM 's3://bucket/a.csv' WHERE k > 1").await.unwrap();
        let plan = query.create_physical_plan().await.unwrap();
        let mut found = None;
        plan.apply(|node| {
            found =
                as_select_scan(node.as_ref()).map(|(c, s)| (c.clone(), s.clone())).or(found.take());
            Ok(TreeNodeRecursion::Continue)
        })
        .unwrap();
        let (config, source): (_, S3SelectSource) = found.unwrap();

        let k: Arc<dyn PhysicalExpr> = Arc::new(Column::new("k", 0));
        let arriving = Arc::new(DynamicFilterPhysicalExpr::new(vec![Arc::clone(&k)], lit(true)));
        let source = source.with_arriving_filter(Arc::clone(&arriving) as _);
        let before = source.snapshot(engine.endpoint(), None, &[]).unwrap();
        arriving.update(below(&k, 4)).unwrap();
        let after = source.snapshot(engine.endpoint(), None, &[]).unwrap();
        arriving.update(below(&k, 3)).unwrap();
        let last = source.snapshot(engine.endpoint(), None, &[]).unwrap();

        let asked = |snapshot: &ScanSnapshot| {
            let sql = snapshot.statement.sql();
            sql.split_once("WHERE ").map(|(_, condition)| condition.to_owned()).unwrap()
        };
        assert_eq!(asked(&before), "CAST(NULLIF(s._1, '') AS INT) > 1");
        let and = |most: i64| {
            let k = "CAST(NULLIF(s._1, '') AS INT)";
            format!("({k} > 1) AND ({k} < {most})")
        };
        assert_eq!((asked(&after), asked(&last)), (and(4), and(3)));
        // A GET that replaces the statement uses the filters of that statement.
        let filters = |snapshot: &ScanSnapshot| {
            snapshot.filters.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
        };
        assert_eq!(filters(&before), "k@0 > 1");
        assert_eq!(filters(&after), "k@0 > 1; k@0 < 4");

        // One node runs twice, each time with another filter.
        let rows = async |most: i64| {
            arriving.update(below(&k, most)).unwrap();
            let config = FileScanConfigBuilder::from(config.clone());
            let config = config.with_source(Arc::new(source.clone())).build();
            let plan: Arc<dyn ExecutionPlan> = S3Scan::node(config);
            let batches = collect(plan, engine.context().task_ctx()).await.unwrap();
            batches.iter().map(RecordBatch::num_rows).sum::<usize>()
        };
        assert_eq!((rows(4).await, rows(3).await, rows(9).await), (2, 1, 3));
    }
}
