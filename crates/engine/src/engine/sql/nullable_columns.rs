//! Makes the columns of CREATE TABLE AS nullable, as in other databases.
//!
//! DataFusion declares a column NOT NULL if the query has no NULL there, such as a literal or a count, so that later
//! statements could not insert one. The schema is that of the optimized query, so a function is needed that no rule
//! removes.

use std::sync::{Arc, LazyLock};

use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Column, Result, exec_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, CreateMemoryTable, DdlStatement, Expr, LogicalPlan, LogicalPlanBuilder,
    ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::Statement as Sql;

const NAME: &str = "sluice_nullable";

static FUNCTION: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
    // A constant of it must not be computed before, because it would be NOT NULL again.
    let signature = Signature::any(1, Volatility::Volatile);
    Arc::new(ScalarUDF::new_from_impl(Nullable { signature }))
});

/// Returns the function, for sessions that decode plans.
pub(crate) fn nullable() -> Arc<ScalarUDF> {
    Arc::clone(&FUNCTION)
}

/// Changes the plan of CREATE TABLE AS without declared columns; other plans are unchanged.
///
/// # Errors
///
/// If two columns have one name.
pub(crate) fn declared(statement: &Statement, plan: LogicalPlan) -> Result<LogicalPlan> {
    let is_inferred = matches!(statement, Statement::Statement(statement)
        if matches!(statement.as_ref(), Sql::CreateTable(table)
            if table.query.is_some() && table.columns.is_empty()));
    let LogicalPlan::Ddl(DdlStatement::CreateMemoryTable(table)) = plan else { return Ok(plan) };
    let schema = Arc::clone(table.input.schema());
    if !is_inferred || schema.fields().iter().all(|field| field.is_nullable()) {
        return Ok(LogicalPlan::Ddl(DdlStatement::CreateMemoryTable(table)));
    }
    let columns = schema.iter().map(|(relation, field)| {
        let column = Expr::Column(Column::new(relation.cloned(), field.name()));
        match field.is_nullable() {
            true => column,
            false => Expr::ScalarFunction(ScalarFunction::new_udf(nullable(), vec![column]))
                .alias_qualified(relation.cloned(), field.name()),
        }
    });
    let input = LogicalPlanBuilder::from(table.input.as_ref().clone()).project(columns)?.build()?;
    let table = CreateMemoryTable { input: Arc::new(input), ..table };
    Ok(LogicalPlan::Ddl(DdlStatement::CreateMemoryTable(table)))
}

/// Returns its argument, with a field that may be NULL.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Nullable {
    signature: Signature,
}

impl ScalarUDFImpl for Nullable {
    fn name(&self) -> &'static str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        Ok(arg_types.first().cloned().unwrap_or(DataType::Null))
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let [field] = args.arg_fields else { return exec_err!("{NAME} has one argument") };
        Ok(Arc::new(Field::new(field.name(), field.data_type().clone(), true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let Ok([value]) = <[ColumnarValue; 1]>::try_from(args.args) else {
            return exec_err!("{NAME} has one argument");
        };
        Ok(value)
    }
}
