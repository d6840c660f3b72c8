//! Encodes and decodes expressions and projections; decoding checks that their columns exist.

use std::sync::Arc;

use arrow::datatypes::Schema;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, plan_datafusion_err, plan_err};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::projection::{ProjectionExpr, ProjectionExprs};
use datafusion::physical_plan::expressions::Column;
use datafusion_proto::protobuf;

use super::{Decoder, Encoder};

impl Encoder<'_> {
    pub(super) fn expr(&self, expr: &Arc<dyn PhysicalExpr>) -> Result<protobuf::PhysicalExprNode> {
        self.converter.physical_expr_to_proto(expr, self.codec)
    }

    pub(super) fn projection(
        &self,
        projection: &ProjectionExprs,
    ) -> Result<protobuf::ProjectionExprs> {
        let projections = projection.iter().map(|item| {
            let expr = Some(self.expr(&item.expr)?);
            Ok(protobuf::ProjectionExpr { alias: item.alias.clone(), expr })
        });
        Ok(protobuf::ProjectionExprs { projections: projections.collect::<Result<_>>()? })
    }
}

impl Decoder<'_> {
    pub(super) fn expr(
        &self,
        expr: Option<&protobuf::PhysicalExprNode>,
        schema: &Schema,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        let expr = expr.ok_or_else(|| plan_datafusion_err!("an expression is missing"))?;
        let expr = self.converter.proto_to_physical_expr(expr, schema, &self.context)?;
        expr.apply(|node| {
            if let Some(column) = node.downcast_ref::<Column>()
                && schema.fields().get(column.index()).is_none_or(|it| it.name() != column.name())
            {
                return plan_err!("there is no column {column}");
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(expr)
    }

    pub(super) fn projection(
        &self,
        projection: &protobuf::ProjectionExprs,
        schema: &Schema,
    ) -> Result<ProjectionExprs> {
        let items = projection.projections.iter().map(|item| {
            Ok(ProjectionExpr::new(self.expr(item.expr.as_ref(), schema)?, item.alias.clone()))
        });
        Ok(ProjectionExprs::new(items.collect::<Result<Vec<_>>>()?))
    }
}
