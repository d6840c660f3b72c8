//! The methods of `ExecutionPlan` that nodes have in common, as macros for the body of an `impl`.

/// Implements `name`, `children`, `replace_children` and `with_new_children` for a node with one child, which is its
/// field `input` or the reference that the first closure returns. The last closure builds the node over another child.
#[macro_export]
macro_rules! one_child {
    ($name:literal, |$node:ident, $input:ident| $rebuilt:expr) => {
        $crate::one_child!($name, |node| &node.input, |$node, $input| $rebuilt);
    };
    ($name:literal, |$this:ident| $child:expr, |$node:ident, $input:ident| $rebuilt:expr) => {
        fn name(&self) -> &str {
            $name
        }

        fn children(&self) -> Vec<&std::sync::Arc<dyn datafusion::physical_plan::ExecutionPlan>> {
            let $this = self;
            vec![$child]
        }

        fn replace_children(
            self: std::sync::Arc<Self>,
            mut children: Vec<std::sync::Arc<dyn datafusion::physical_plan::ExecutionPlan>>,
            _options: datafusion::physical_plan::execution_plan::ReplaceChildrenOptions,
        ) -> datafusion::common::Result<
            std::sync::Arc<dyn datafusion::physical_plan::ExecutionPlan>,
        > {
            let $node = self;
            match (children.pop(), children.is_empty()) {
                (Some($input), true) => Ok($rebuilt),
                _ => datafusion::common::internal_err!(concat!($name, " has one child")),
            }
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

/// Implements `name`, `children`, `replace_children` and `with_new_children` for a node without children.
#[macro_export]
macro_rules! no_children {
    ($name:literal) => {
        fn name(&self) -> &str {
            $name
        }

        fn children(&self) -> Vec<&std::sync::Arc<dyn datafusion::physical_plan::ExecutionPlan>> {
            Vec::new()
        }

        fn replace_children(
            self: std::sync::Arc<Self>,
            _: Vec<std::sync::Arc<dyn datafusion::physical_plan::ExecutionPlan>>,
            _: datafusion::physical_plan::execution_plan::ReplaceChildrenOptions,
        ) -> datafusion::common::Result<
            std::sync::Arc<dyn datafusion::physical_plan::ExecutionPlan>,
        > {
            Ok(self)
        }

        fn with_new_children(
            self: std::sync::Arc<Self>,
            _: Vec<std::sync::Arc<dyn datafusion::physical_plan::ExecutionPlan>>,
        ) -> datafusion::common::Result<
            std::sync::Arc<dyn datafusion::physical_plan::ExecutionPlan>,
        > {
            Ok(self)
        }
    };
}

/// Implements `apply_expressions` for a node without expressions.
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
    };
}
