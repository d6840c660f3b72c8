//! Keeps casts from the types of a Parquet file to those of the table.

use crate::rewrite::Rewrite;
use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::datasource::physical_plan::{FileScanConfig, FileScanConfigBuilder, ParquetSource};
use datafusion::datasource::source::DataSourceExec;
use datafusion::execution::SessionStateBuilder;
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion::physical_expr_adapter::{
    DefaultPhysicalExprAdapterFactory, PhysicalExprAdapter, PhysicalExprAdapterFactory,
};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::expressions::{BinaryExpr, CastExpr, Literal};
use datafusion::scalar::ScalarValue;

use super::lossy_casts::{cast_function, loses};
use super::timestamp_casts;

/// Adds the rule to a session that is being built.
pub(super) fn install(builder: &mut SessionStateBuilder) {
    let optimizer = builder.physical_optimizers().get_or_insert_with(PhysicalOptimizer::new);
    optimizer.rules.push(Arc::new(KeepCasts));
}

/// Makes scans of Parquet compute casts that change values before they compare.
#[derive(Debug)]
struct KeepCasts;

impl PhysicalOptimizerRule for KeepCasts {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _options: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.rewrite_up(&mut |node| Ok(keep_casts(node))).data()
    }

    fn name(&self) -> &str {
        "keep_casts"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Keeps a scan of Parquet from skipping rows by a condition on a value before its cast. Other nodes stay as they
/// are.
///
/// If a column of a file has another type than the table's, DataFusion casts it in conditions and then removes the
/// cast, as it does in statements. Plans that are decoded from bytes must also be passed to this function.
pub fn keep_casts(node: Arc<dyn ExecutionPlan>) -> Transformed<Arc<dyn ExecutionPlan>> {
    let scan = node.downcast_ref::<DataSourceExec>().map(DataSourceExec::data_source);
    let config = scan.and_then(|scan| scan.downcast_ref::<FileScanConfig>());
    let Some(config) = config.filter(|config| {
        config.file_source().is::<ParquetSource>() && config.expr_adapter_factory.is_none()
    }) else {
        return Transformed::no(node);
    };
    let config = FileScanConfigBuilder::from(config.clone())
        .with_expr_adapter(Some(Arc::new(Factory)))
        .build();
    Transformed::yes(DataSourceExec::from_data_source(config))
}

#[derive(Debug)]
struct Factory;

impl PhysicalExprAdapterFactory for Factory {
    fn create(&self, table: SchemaRef, file: SchemaRef) -> Result<Arc<dyn PhysicalExprAdapter>> {
        let inner = DefaultPhysicalExprAdapterFactory.create(table, Arc::clone(&file))?;
        Ok(Arc::new(Adapter { inner, file }))
    }
}

#[derive(Debug)]
struct Adapter {
    inner: Arc<dyn PhysicalExprAdapter>,
    file: SchemaRef,
}

impl PhysicalExprAdapter for Adapter {
    fn rewrite(&self, expr: Arc<dyn PhysicalExpr>) -> Result<Arc<dyn PhysicalExpr>> {
        let adapted = self.inner.rewrite(expr)?;
        adapted
            .rewrite_up(&mut |expr| {
                if let Some(other) = read(&expr, &self.file)? {
                    return Ok(Transformed::yes(other));
                }
                let Some(binary) = expr.downcast_ref::<BinaryExpr>() else {
                    return Ok(Transformed::no(expr));
                };
                let (left, right) = (binary.left(), binary.right());
                let kept = match (left.is::<Literal>(), right.is::<Literal>()) {
                    (false, true) => kept(left, &self.file)?
                        .map(|left| BinaryExpr::new(left, *binary.op(), Arc::clone(right))),
                    (true, false) => kept(right, &self.file)?
                        .map(|right| BinaryExpr::new(Arc::clone(left), *binary.op(), right)),
                    _ => None,
                };
                Ok(match kept {
                    Some(kept) => Transformed::yes(Arc::new(kept) as Arc<dyn PhysicalExpr>),
                    None => Transformed::no(expr),
                })
            })
            .data()
    }
}

/// Replaces a cast to a coarser time unit than that of the file by a function that also drops fractions before 1970.
fn read(expr: &Arc<dyn PhysicalExpr>, file: &Schema) -> Result<Option<Arc<dyn PhysicalExpr>>> {
    let Some(cast) = expr.downcast_ref::<CastExpr>() else { return Ok(None) };
    if !timestamp_casts::differs(&cast.expr().data_type(file)?, cast.cast_type()) {
        return Ok(None);
    }
    computed(cast, file).map(Some)
}

/// Replaces a cast that changes values by a function that DataFusion does not move.
fn kept(expr: &Arc<dyn PhysicalExpr>, file: &Schema) -> Result<Option<Arc<dyn PhysicalExpr>>> {
    let Some(cast) = expr.downcast_ref::<CastExpr>() else { return Ok(None) };
    let to = cast.cast_type();
    if !loses(&cast.expr().data_type(file)?, to) {
        return Ok(None);
    }
    computed(cast, file).map(Some)
}

fn computed(cast: &CastExpr, file: &Schema) -> Result<Arc<dyn PhysicalExpr>> {
    let to = cast.cast_type();
    let name: Arc<dyn PhysicalExpr> = Arc::new(Literal::new(ScalarValue::from(to.to_string())));
    let arguments = vec![Arc::clone(cast.expr()), name];
    let function = ScalarFunctionExpr::try_new(cast_function(), arguments, file, Arc::default())?;
    Ok(Arc::new(function))
}
