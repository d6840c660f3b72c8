//! Methods shared by operators without expressions of their own.

/// Methods of an `impl ExecutionPlan`: it has no expressions to visit, and passes new children to `replace_children`.
#[macro_export]
macro_rules! without_expressions {
    () => {
        fn apply_expressions(
            &self,
            _: &mut dyn FnMut(
                &std::sync::Arc<dyn datafusion::physical_expr::PhysicalExpr>,
            ) -> datafusion::common::Result<
                datafusion::common::tree_node::TreeNodeRecursion,
            >,
        ) -> datafusion::common::Result<datafusion::common::tree_node::TreeNodeRecursion> {
            Ok(datafusion::common::tree_node::TreeNodeRecursion::Continue)
        }

        fn with_new_children(
            self: std::sync::Arc<Self>,
            children: Vec<std::sync::Arc<dyn datafusion::physical_plan::ExecutionPlan>>,
        ) -> datafusion::common::Result<
            std::sync::Arc<dyn datafusion::physical_plan::ExecutionPlan>,
        > {
            use datafusion::physical_plan::execution_plan as plan;
            let recomputed = plan::ChildrenPropertiesMode::Recompute;
            self.replace_children(children, plan::ReplaceChildrenOptions::new(recomputed))
        }
    };
}
