//! Errors about missing fields of a struct that list the existing ones.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Fields};
use datafusion::common::DFSchema;
use datafusion::common::{DataFusionError, Result, ScalarValue, TableReference};
use datafusion::execution::SessionStateBuilder;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawFieldAccessExpr};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, GetFieldAccess, ReturnFieldArgs, ScalarFunctionArgs,
    ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use crate::context::error::{ErrorKind, UserError, are_similar};

/// The maximum number of fields that an error lists.
const LISTED: usize = 30;

/// Adds a planner that reports the fields of a struct if a query uses a missing one.
pub(crate) fn planner(builder: &mut SessionStateBuilder) {
    builder.expr_planners().get_or_insert_default().insert(0, Arc::new(StructFieldPlanner));
}

#[derive(Debug)]
struct StructFieldPlanner;

impl ExprPlanner for StructFieldPlanner {
    /// Checks `column.field`.
    fn plan_compound_identifier(
        &self,
        field: &Field,
        _: Option<&TableReference>,
        names: &[String],
    ) -> Result<PlannerResult<Vec<Expr>>> {
        let (mut data_type, mut of) = (field.data_type(), field.name().clone());
        for name in names {
            let DataType::Struct(fields) = data_type else { break };
            let Some((_, found)) = fields.find(name) else {
                // DataFusion ignores errors of planners here, so the error is in the function.
                let missing = ScalarUDF::new_from_impl(MissingField::new(name, &of, fields));
                let call = ScalarFunction::new_udf(Arc::new(missing), Vec::new());
                return Ok(PlannerResult::Planned(Expr::ScalarFunction(call)));
            };
            data_type = found.data_type();
            of = format!("{of}.{name}");
        }
        Ok(PlannerResult::Original(Vec::new()))
    }

    /// Checks `column['field']`.
    fn plan_field_access(
        &self,
        access: RawFieldAccessExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawFieldAccessExpr>> {
        if let GetFieldAccess::NamedStructField { name } = &access.field_access
            && let ScalarValue::Utf8(Some(name)) = name
            && let Ok(DataType::Struct(fields)) = access.expr.get_type(schema)
            && fields.find(name).is_none()
        {
            let of = access.expr.schema_name().to_string();
            return Err(MissingField::new(name, &of, &fields).error());
        }
        Ok(PlannerResult::Original(access))
    }
}

/// A function in place of a missing field. It has no type, so that planning fails with the error.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct MissingField {
    signature: Signature,
    message: String,
    hint: String,
}

impl MissingField {
    fn new(name: &str, of: &str, fields: &Fields) -> Self {
        let mut names: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
        let lower = name.to_lowercase();
        // Short names are all similar to each other.
        let is_meant = |it: &str| it == lower || lower.len() > 2 && are_similar(it, &lower);
        let meant = names.iter().find(|it| is_meant(&it.to_lowercase()));
        let meant = match meant {
            // A name without quotes is converted to lower case.
            Some(meant) if meant.chars().any(char::is_uppercase) => {
                format!("Did you mean \"{meant}\", with quotes? ")
            }
            Some(meant) => format!("Did you mean {meant}? "),
            None => String::new(),
        };
        let more = if names.len() > LISTED { ", …" } else { "" };
        names.truncate(LISTED);
        Self {
            signature: Signature::nullary(Volatility::Immutable),
            message: format!("there is no field `{name}` in {of}"),
            hint: format!("{meant}Its fields are {}{more}.", names.join(", ")),
        }
    }

    fn error(&self) -> DataFusionError {
        let (message, hint) = (self.message.clone(), Some(self.hint.clone()));
        UserError { kind: ErrorKind::Plan, message, hint }.into()
    }
}

impl ScalarUDFImpl for MissingField {
    fn name(&self) -> &'static str {
        "get_field"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Err(self.error())
    }

    fn return_field_from_args(&self, _: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        Err(self.error())
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Err(self.error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_that_may_be_meant_is_named() {
        let fields = |names: &[&str]| {
            names.iter().map(|name| Field::new(*name, DataType::Int64, true)).collect::<Fields>()
        };
        for (name, names, hint) in [
            ("f", &["a", "b"][..], "Its fields are a, b."),
            ("nmae", &["id", "name"], "Did you mean name? Its fields are id, name."),
            ("name", &["Name"], "Did you mean \"Name\", with quotes? Its fields are Name."),
        ] {
            let missing = MissingField::new(name, "d", &fields(names));
            assert_eq!(missing.message, format!("there is no field `{name}` in d"));
            assert_eq!(missing.hint, hint);
        }
        let many: Vec<String> = (0..=LISTED).map(|n| format!("f{n}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(MissingField::new("x", "d", &fields(&many)).hint.ends_with("f29, …."));
    }
}
