//! Encodes and decodes the expressions and inputs of operators.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use arrow::datatypes::Schema;
use datafusion::common::Result;
use datafusion::logical_expr::physical_planning_context::ScalarSubqueryResults;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion_proto::physical_plan::to_proto::serialize_physical_expr_with_converter;
use datafusion_proto::physical_plan::{
    PhysicalExtensionCodec, PhysicalPlanDecodeContext, PhysicalPlanNodeExt,
    PhysicalProtoConverterExtension,
};
use datafusion_proto::protobuf::{PhysicalExprNode, PhysicalPlanNode};

use super::cast;
use sluicegate_guards::keep_casts;

/// DataFusion's `DeduplicatingProtoConverter` for plans with our operators: dynamic filters that are shared in the
/// encoded plan are shared in the decoded one. Casts keep the field that they cast to.
///
/// DataFusion gives the operators of a codec no access to the scalar subqueries around them, whose results their
/// expressions may read. This converter keeps these results while the inputs of an operator are decoded. Use one
/// converter per plan, because it stores the plan's expressions.
#[derive(Default)]
pub struct Converter {
    known: RefCell<HashMap<u64, Arc<dyn PhysicalExpr>>>,
    /// The scalar subquery results at the current place of decoding, the innermost operator's last.
    results: RefCell<Vec<Option<ScalarSubqueryResults>>>,
}

impl Converter {
    /// Adds the surrounding subquery results to a context that has none, as those of our operators.
    fn within<'a>(&self, context: &PhysicalPlanDecodeContext<'a>) -> PhysicalPlanDecodeContext<'a> {
        let around = self.results.borrow().last().cloned().flatten();
        match (context.scalar_subquery_results(), around) {
            (None, Some(results)) => context.with_scalar_subquery_results(results),
            _ => context.clone(),
        }
    }
}

impl fmt::Debug for Converter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Converter").finish_non_exhaustive()
    }
}

impl PhysicalProtoConverterExtension for Converter {
    fn proto_to_execution_plan(
        &self,
        proto: &PhysicalPlanNode,
        context: &PhysicalPlanDecodeContext<'_>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let context = self.within(context);
        self.results.borrow_mut().push(context.scalar_subquery_results().cloned());
        let plan = self.default_proto_to_execution_plan(proto, &context);
        self.results.borrow_mut().pop();
        plan.map(|plan| keep_casts(plan).data)
    }

    fn proto_to_physical_expr(
        &self,
        proto: &PhysicalExprNode,
        schema: &Schema,
        context: &PhysicalPlanDecodeContext<'_>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        let parsed = self.default_proto_to_physical_expr(proto, schema, &self.within(context))?;
        let Some(id) = proto.expr_id else { return Ok(parsed) };
        let mut known = self.known.borrow_mut();
        match known.get(&id) {
            // Derived expressions share the updates of the first one.
            Some(first) => {
                let children = parsed.children().into_iter().cloned().collect();
                Arc::clone(first).with_new_children(children)
            }
            None => {
                known.insert(id, Arc::clone(&parsed));
                Ok(parsed)
            }
        }
    }

    fn execution_plan_to_proto(
        &self,
        plan: &Arc<dyn ExecutionPlan>,
        codec: &dyn PhysicalExtensionCodec,
    ) -> Result<PhysicalPlanNode> {
        PhysicalPlanNode::try_from_physical_plan_with_converter(Arc::clone(plan), codec, self)
    }

    fn physical_expr_to_proto(
        &self,
        expr: &Arc<dyn PhysicalExpr>,
        codec: &dyn PhysicalExtensionCodec,
    ) -> Result<PhysicalExprNode> {
        match cast::encode(expr, codec, self)? {
            Some(node) => Ok(node),
            None => serialize_physical_expr_with_converter(expr, codec, self),
        }
    }
}
