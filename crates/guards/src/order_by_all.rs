//! Supports ORDER BY ALL.

use crate::rewrite::RewritePlan;
use std::ops::ControlFlow;
use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::common::{Result, internal_err};
use datafusion::execution::SessionStateBuilder;
use datafusion::logical_expr::{
    ColumnarValue, Expr as Planned, LogicalPlan, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature, Volatility,
};
use datafusion::optimizer::{Analyzer, AnalyzerRule};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArgumentList, FunctionArguments, Ident, ObjectName, OrderByKind, Query,
    VisitorMut,
};

use super::{Case, CaseOutcome, Guard, visit};

pub(super) const GUARD: Guard = Guard {
    title: "ORDER BY ALL is refused",
    upstream: &[],
    ours: "It orders by all columns of the answer, from left to right, as in DuckDB.",
    cases: &[
        Case {
            setup: &[T],
            sql: "SELECT b, a FROM order_all ORDER BY ALL",
            right: CaseOutcome::Rows(&["1, 2", "1, 3", "2, 1"]),
            theirs: CaseOutcome::Error("No field named"),
        },
        Case {
            setup: &[T],
            sql: "SELECT *, a + b FROM order_all ORDER BY ALL DESC LIMIT 2",
            right: CaseOutcome::Rows(&["3, 1, 4", "2, 1, 3"]),
            theirs: CaseOutcome::Error("No field named"),
        },
        Case {
            setup: &[T],
            sql: "SELECT b, sum(a) FROM order_all GROUP BY b UNION ALL SELECT NULL, 7 ORDER BY ALL NULLS FIRST",
            right: CaseOutcome::Rows(&["NULL, 7", "1, 5", "2, 1"]),
            theirs: CaseOutcome::Error("No field named"),
        },
    ],
};

const T: &str = "CREATE TABLE order_all AS SELECT * FROM (VALUES (3, 1), (1, 2), (2, 1)) v(a, b)";

/// Name of the function that represents all columns until their names are known.
const NAME: &str = "sluice_all_columns";

/// Adds the function, and the rule that replaces it by columns.
pub(super) fn install(builder: &mut SessionStateBuilder) {
    builder.scalar_functions().get_or_insert_default().push(Arc::new(function()));
    let rules = &mut builder.analyzer().get_or_insert_with(Analyzer::new).rules;
    rules.insert(0, Arc::new(AllColumns));
}

fn function() -> ScalarUDF {
    ScalarUDF::new_from_impl(OrderByAll {
        signature: Signature::exact(Vec::new(), Volatility::Volatile),
    })
}

/// Replaces ALL, which the parser treats as a column name, by a call of the function.
pub(super) fn rewrite(statement: &mut Statement) {
    let _ = visit(statement, &mut OrderByAllRewriter);
}

struct OrderByAllRewriter;

impl VisitorMut for OrderByAllRewriter {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if let Some(order) = &mut query.order_by
            && let OrderByKind::Expressions(exprs) = &mut order.kind
            && let [by] = exprs.as_mut_slice()
            && let Expr::Identifier(name) = &by.expr
            && name.quote_style.is_none()
            && name.value.eq_ignore_ascii_case("all")
        {
            by.expr = call();
        }
        ControlFlow::Continue(())
    }
}

fn call() -> Expr {
    Expr::Function(Function {
        name: ObjectName::from(vec![Ident::new(NAME)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: Vec::new(),
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct OrderByAll {
    signature: Signature,
}

impl ScalarUDFImpl for OrderByAll {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Null)
    }

    fn invoke_with_args(&self, _args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        internal_err!("{NAME} stands for columns in ORDER BY only")
    }
}

#[derive(Debug)]
struct AllColumns;

impl AnalyzerRule for AllColumns {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        plan.rewrite_all_up(&mut |node| {
            let LogicalPlan::Sort(mut sort) = node else { return Ok(Transformed::no(node)) };
            let [by] = sort.expr.as_slice() else {
                return Ok(Transformed::no(LogicalPlan::Sort(sort)));
            };
            if !matches!(&by.expr, Planned::ScalarFunction(call) if call.func.name() == NAME) {
                return Ok(Transformed::no(LogicalPlan::Sort(sort)));
            }
            let columns = sort.input.schema().columns().into_iter().map(Planned::Column);
            sort.expr = columns.map(|column| by.with_expr(column)).collect();
            Ok(Transformed::yes(LogicalPlan::Sort(sort)))
        })
        .data()
    }

    fn name(&self) -> &str {
        "order_by_all"
    }
}
