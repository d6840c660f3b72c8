//! Gives AT TIME ZONE the types of PostgreSQL and DuckDB.

use std::ops::ControlFlow;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, TimeUnit};
use datafusion::common::config::ConfigOptions;
use datafusion::common::{Result, ScalarValue, exec_err, internal_err, plan_err};
use datafusion::execution::SessionStateBuilder;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast;

use super::chain::null;
use super::{Case, CaseOutcome, Guard, timestamp_casts, visit};

pub(super) const GUARD: Guard = Guard {
    title: "AT TIME ZONE keeps the type of its timestamp",
    upstream: &[],
    ours: "As in PostgreSQL and DuckDB, a TIMESTAMPTZ AT TIME ZONE is the local time there, a TIMESTAMP, and a TIMESTAMP \
           AT TIME ZONE is the instant at which clocks there show it, a TIMESTAMPTZ. Without a time zone of the session \
           (`SET TIME ZONE = 'UTC'`), both are the same type, and a column is a TIMESTAMP.",
    cases: &[
        Case {
            setup: &["SET datafusion.execution.time_zone = 'UTC'"],
            sql: "SELECT t AT TIME ZONE 'Asia/Tokyo', extract(hour FROM t AT TIME ZONE 'America/New_York'), \
                  t AT TIME ZONE 'Asia/Tokyo' = TIMESTAMP '2024-07-01 21:00:00' \
                  FROM (VALUES (TIMESTAMPTZ '2024-07-01 12:00:00Z')) v(t)",
            right: CaseOutcome::Rows(&["2024-07-01T21:00:00, 8, true"]),
            theirs: CaseOutcome::Rows(&["2024-07-01T21:00:00+09:00, 8, true"]),
        },
        Case {
            setup: &["SET datafusion.execution.time_zone = 'UTC'"],
            sql: "SELECT t AT TIME ZONE 'Asia/Tokyo' AS a, t AT TIME ZONE 'UTC' AT TIME ZONE 'Europe/Berlin' AS b \
                  FROM (VALUES (TIMESTAMP '2024-07-01 12:00:00')) v(t)",
            right: CaseOutcome::Rows(&["2024-07-01T03:00:00Z, 2024-07-01T14:00:00"]),
            theirs: CaseOutcome::Rows(&["2024-07-01T12:00:00+09:00, 2024-07-01T14:00:00+02:00"]),
        },
        Case {
            setup: &[],
            sql: "SELECT TIMESTAMPTZ '2024-07-01 12:00:00Z' AT TIME ZONE 'Asia/Tokyo'",
            right: CaseOutcome::Rows(&["2024-07-01T21:00:00"]),
            theirs: CaseOutcome::Rows(&["2024-07-01T12:00:00+09:00"]),
        },
    ],
};

/// Adds the function to a session that is being built.
pub(super) fn install(builder: &mut SessionStateBuilder) {
    let functions = builder.scalar_functions().get_or_insert_default();
    functions.push(Arc::new(ScalarUDF::new_from_impl(AtTimeZone::new(None))));
}

const NAME: &str = "sluice_at_time_zone";

/// Replaces AT TIME ZONE by calls of [`NAME`].
pub(super) fn rewrite(statement: &mut Statement) {
    let _ = visit(statement, &mut Calls);
}

struct Calls;

impl ast::VisitorMut for Calls {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut ast::Expr) -> ControlFlow<()> {
        if let ast::Expr::AtTimeZone { timestamp, time_zone } = expr {
            let instant = ast::Expr::Value(ast::Value::Boolean(is_instant(timestamp)).into());
            let args = [
                std::mem::replace(timestamp.as_mut(), null()),
                std::mem::replace(time_zone.as_mut(), null()),
                instant,
            ];
            let args = args.map(|arg| ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(arg)));
            *expr = ast::Expr::Function(ast::Function {
                name: ast::ObjectName::from(vec![ast::Ident::new(NAME)]),
                uses_odbc_syntax: false,
                parameters: ast::FunctionArguments::None,
                args: ast::FunctionArguments::List(ast::FunctionArgumentList {
                    duplicate_treatment: None,
                    args: args.into(),
                    clauses: Vec::new(),
                }),
                filter: None,
                null_treatment: None,
                over: None,
                within_group: Vec::new(),
            });
        }
        ControlFlow::Continue(())
    }
}

/// Returns true if the text shows that this is a TIMESTAMPTZ. Its type does not show it if the session has no time
/// zone.
fn is_instant(expr: &ast::Expr) -> bool {
    use ast::TimezoneInfo as Z;
    let named = |data_type: &ast::DataType| {
        matches!(data_type, ast::DataType::Timestamp(_, Z::WithTimeZone | Z::Tz))
    };
    match expr {
        ast::Expr::Cast { data_type, .. } => named(data_type),
        ast::Expr::TypedString(text) => named(&text.data_type),
        ast::Expr::Nested(inner) => is_instant(inner),
        ast::Expr::BinaryOp {
            left,
            op: ast::BinaryOperator::Plus | ast::BinaryOperator::Minus,
            ..
        } => is_instant(left),
        ast::Expr::Function(call) => {
            matches!(call.name.to_string().to_lowercase().as_str(), "now" | "current_timestamp")
        }
        _ => false,
    }
}

/// The function `sluice_at_time_zone(t, 'zone', is_instant)`.
#[derive(Debug, PartialEq, Eq, Hash)]
struct AtTimeZone {
    signature: Signature,
    /// Time zone of the session, in which instants are displayed.
    session: Option<String>,
}

impl AtTimeZone {
    fn new(session: Option<String>) -> Self {
        Self { signature: Signature::any(3, Volatility::Stable), session }
    }

    /// Returns the intermediate type and the result type.
    fn types(&self, from: &DataType, zone: &str, instant: bool) -> Result<(DataType, DataType)> {
        let there = |unit| DataType::Timestamp(unit, Some(Arc::from(zone)));
        let local = |unit| DataType::Timestamp(unit, None);
        let session = || Some(Arc::from(self.session.as_deref().unwrap_or("+00:00")));
        Ok(match from {
            DataType::Timestamp(unit, Some(_)) => (there(*unit), local(*unit)),
            DataType::Timestamp(unit, None) if instant => (there(*unit), local(*unit)),
            DataType::Timestamp(unit, None) => {
                (there(*unit), DataType::Timestamp(*unit, session()))
            }
            DataType::Date32 | DataType::Date64 => {
                let unit = TimeUnit::Microsecond;
                (there(unit), DataType::Timestamp(unit, session()))
            }
            // A text is an instant, in the session's time zone unless the text names another.
            other if other.is_string() || *other == DataType::Null => {
                (there(TimeUnit::Nanosecond), local(TimeUnit::Nanosecond))
            }
            other => return plan_err!("AT TIME ZONE takes a timestamp, not {other}"),
        })
    }
}

fn is_true(value: Option<&ScalarValue>) -> bool {
    matches!(value, Some(ScalarValue::Boolean(Some(true))))
}

impl ScalarUDFImpl for AtTimeZone {
    fn name(&self) -> &str {
        NAME
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let names: Vec<String> =
            args.iter().take(2).map(|it| it.schema_name().to_string()).collect();
        Ok(names.join(" AT TIME ZONE "))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        internal_err!("the type depends on the time zone")
    }

    fn with_updated_config(&self, config: &ConfigOptions) -> Option<ScalarUDF> {
        Some(ScalarUDF::new_from_impl(Self::new(config.execution.time_zone.clone())))
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let zone = args.scalar_arguments.get(1).copied().flatten();
        let Some(zone) = zone.and_then(|it| it.try_as_str().flatten()) else {
            return plan_err!("AT TIME ZONE takes the name of a time zone as a text");
        };
        let instant = is_true(args.scalar_arguments.get(2).copied().flatten());
        let [value, ..] = args.arg_fields else {
            return plan_err!("AT TIME ZONE takes a timestamp and a time zone");
        };
        let (_, to) = self.types(value.data_type(), zone, instant)?;
        Ok(Arc::new(Field::new(NAME, to, value.is_nullable())))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [value, ColumnarValue::Scalar(zone), ColumnarValue::Scalar(instant)] =
            args.args.as_slice()
        else {
            return exec_err!("AT TIME ZONE takes a timestamp and a time zone");
        };
        let Some(zone) = zone.try_as_str().flatten() else {
            return exec_err!("AT TIME ZONE takes the name of a time zone as a text");
        };
        let from = value.data_type();
        let mut value = value.clone();
        let instant = is_true(Some(instant));
        let (between, _) = self.types(&from, zone, instant)?;
        let cast = |value: &ColumnarValue, to: &DataType| {
            let one = timestamp_casts::cast(value, to, false)?;
            one.map_or_else(|| value.cast_to(to, None), Ok)
        };
        if from.is_string() {
            let session = Arc::from(self.session.as_deref().unwrap_or("+00:00"));
            value = cast(&value, &DataType::Timestamp(TimeUnit::Nanosecond, Some(session)))?;
        } else if matches!(from, DataType::Date32 | DataType::Date64) {
            value = cast(&value, &DataType::Timestamp(TimeUnit::Microsecond, None))?;
        } else if let (DataType::Timestamp(unit, None), true) = (&from, instant) {
            value = cast(&value, &DataType::Timestamp(*unit, Some(Arc::from("+00:00"))))?;
        }
        cast(&cast(&value, &between)?, args.return_field.data_type())
    }
}
