//! A function that returns its argument under a name.

use std::sync::Arc;

use crate::rewrite::{Rewrite, RewritePlan};
use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Result, exec_err, internal_err};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{
    ColumnarValue, Expr as Planned, GroupingSet, LogicalPlan, ReturnFieldArgs, ScalarFunctionArgs,
    ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::optimizer::AnalyzerRule;
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident,
    ObjectName, Value,
};

const NAME: &str = "sluice_named";

/// Returns the call `sluice_named(expr, 'name')` for a statement.
pub(super) fn call(expr: Expr, name: String) -> Expr {
    let argument = |expr| FunctionArg::Unnamed(FunctionArgExpr::Expr(expr));
    let name = Expr::Value(Value::SingleQuotedString(name).into());
    Expr::Function(Function {
        name: ObjectName::from(vec![Ident::new(NAME)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: vec![argument(expr), argument(name)],
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}

/// Returns the name that a call gives.
pub(super) fn name(expr: &Expr) -> Option<&str> {
    let Expr::Function(function) = expr else { return None };
    let [name] = function.name.0.as_slice() else { return None };
    if name.as_ident()?.value != NAME {
        return None;
    }
    let FunctionArguments::List(list) = &function.args else { return None };
    match list.args.as_slice() {
        [_, FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(value)))] => {
            match &value.value {
                Value::SingleQuotedString(name) => Some(name),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Returns the function, to be registered with a session.
pub(crate) fn function() -> Arc<ScalarUDF> {
    let signature = Signature::any(2, Volatility::Immutable);
    Arc::new(ScalarUDF::new_from_impl(AliasFunction { signature }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct AliasFunction {
    signature: Signature,
}

fn argument_name(args: &[Planned]) -> Result<String> {
    match args {
        [_, Planned::Literal(name, _)] => {
            Ok(name.try_as_str().flatten().unwrap_or_default().to_owned())
        }
        _ => internal_err!("{NAME} takes a value and its name"),
    }
}

impl ScalarUDFImpl for AliasFunction {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn schema_name(&self, args: &[Planned]) -> Result<String> {
        argument_name(args)
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        internal_err!("the type is the argument's")
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        match args.arg_fields {
            [field, _] => Ok(Arc::clone(field)),
            _ => internal_err!("{NAME} takes a value and its name"),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match args.args.into_iter().next() {
            Some(value) => Ok(value),
            None => exec_err!("{NAME} takes a value and its name"),
        }
    }
}

/// Removes the function, so that other rules see its argument. The names stay as aliases.
#[derive(Debug)]
pub(super) struct StripAliasFunction;

impl AnalyzerRule for StripAliasFunction {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        plan.rewrite_all_up(&mut |node| {
            let names = NamePreserver::new(&node);
            node.rewrite_expressions(&mut |expr| match expr {
                Planned::GroupingSet(set) => in_sets(set, &names),
                expr => in_expr(expr, &names),
            })
        })
        .data()
    }

    fn name(&self) -> &str {
        "names"
    }
}

fn in_expr(expr: Planned, names: &NamePreserver) -> Result<Transformed<Planned>> {
    if !expr.exists(|expr| Ok(is_call(expr)))? {
        return Ok(Transformed::no(expr));
    }
    let name = names.save(&expr);
    let expr = expr.rewrite_up(&mut |expr| match expr {
        Planned::ScalarFunction(mut call) if is_named(&call.func) && !call.args.is_empty() => {
            Ok(Transformed::yes(call.args.swap_remove(0)))
        }
        expr => Ok(Transformed::no(expr)),
    })?;
    Ok(expr.update_data(|expr| name.restore(expr)))
}

fn in_sets(set: GroupingSet, names: &NamePreserver) -> Result<Transformed<Planned>> {
    let mut changed = false;
    let mut each = |exprs: Vec<Planned>| -> Result<Vec<Planned>> {
        let exprs = exprs.into_iter().map(|expr| {
            let done = in_expr(expr, names)?;
            changed |= done.transformed;
            Ok(done.data)
        });
        exprs.collect()
    };
    let set = match set {
        GroupingSet::Rollup(exprs) => GroupingSet::Rollup(each(exprs)?),
        GroupingSet::Cube(exprs) => GroupingSet::Cube(each(exprs)?),
        GroupingSet::GroupingSets(sets) => {
            GroupingSet::GroupingSets(sets.into_iter().map(each).collect::<Result<_>>()?)
        }
    };
    Ok(Transformed::new_transformed(Planned::GroupingSet(set), changed))
}

fn is_call(expr: &Planned) -> bool {
    matches!(expr, Planned::ScalarFunction(call) if is_named(&call.func))
}

fn is_named(function: &ScalarUDF) -> bool {
    function.name() == NAME
}
