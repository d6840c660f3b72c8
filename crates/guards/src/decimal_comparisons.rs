//! Compares decimals and whole numbers exactly with fractions, doubles, and numbers beyond 64 bits.

use std::ops::ControlFlow;
use std::sync::Arc;

use arrow::datatypes::{DECIMAL256_MAX_PRECISION, DataType, Field, FieldRef};
use datafusion::common::{DFSchema, Result, ScalarValue, exec_datafusion_err};
use datafusion::logical_expr::expr::{Cast, ScalarFunction, TryCast};
use datafusion::logical_expr::expr_rewriter::coerce_plan_expr_for_schema;
use datafusion::logical_expr::{
    BinaryExpr, Case, ColumnarValue, Expr, ExprSchemable, Operator, ReturnFieldArgs,
    ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Union, Volatility, binary_expr, lit,
};
use datafusion::optimizer::analyzer::type_coercion::coerce_union_schema;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast;

use super::exact::{Number, UnitType};
use super::{CaseOutcome, Guard, mixed_instants, visit};

pub(super) const GUARD: Guard = Guard {
    title: "Decimals do not equal the numbers that they show, nor whole numbers large ones",
    upstream: &["datafusion#14272"],
    ours: "A number in a statement is compared with decimals and whole numbers digit by digit, however it is written \
           (`67.35`, `1e300`, `27670116110564327430`), and cast to a decimal without a detour through DOUBLE. A \
           decimal is compared with a column of FLOAT or DOUBLE as such a number, as other databases do. `1.5` alone is a \
           DOUBLE; added to, subtracted from or multiplied with a decimal it is a decimal, unless the result would \
           need more than 38 digits.",
    cases: &[
        super::Case {
            setup: &[],
            sql: "SELECT TRY_CAST(9.995 AS DECIMAL(3,2)), TRY_CAST(9.994 AS DECIMAL(3,2))",
            right: CaseOutcome::Rows(&["NULL, 9.99"]),
            theirs: CaseOutcome::Rows(&["9.99, 9.99"]),
        },
        super::Case {
            setup: &[],
            sql: "SELECT x = 33353.20 FROM (VALUES (CAST('33353.20' AS DECIMAL(15,2)))) t(x)",
            right: CaseOutcome::Rows(&["true"]),
            theirs: CaseOutcome::Rows(&["false"]),
        },
        super::Case {
            setup: &[],
            sql: "SELECT x <= 67.35, x BETWEEN 67.35 AND 67.35, x IN (67.35, 1.5), CASE x WHEN 67.35 THEN 1 END \
                  FROM (VALUES (CAST('67.35' AS DECIMAL(15,2)))) t(x)",
            right: CaseOutcome::Rows(&["true, true, true, 1"]),
            theirs: CaseOutcome::Rows(&["false, false, false, NULL"]),
        },
        super::Case {
            setup: &[],
            sql: "SELECT x = 27670116110564327430 \
                  FROM (VALUES (CAST('27670116110564327430' AS DECIMAL(38,0)))) t(x)",
            right: CaseOutcome::Rows(&["true"]),
            theirs: CaseOutcome::Rows(&["false"]),
        },
        super::Case {
            setup: &[
                "CREATE TABLE amounts AS SELECT CAST('33353.20' AS DECIMAL(15,2)) AS d, 33353.20 AS f",
            ],
            sql: "SELECT d = f, d < 1e300, f = 33353.2 FROM amounts",
            right: CaseOutcome::Rows(&["true, true, true"]),
            theirs: CaseOutcome::Error("1e300"),
        },
        super::Case {
            setup: &[
                "CREATE TABLE large AS SELECT CAST('6355932794420.06' AS DECIMAL(15, 2)) AS d",
            ],
            sql: "(SELECT d * 1.5 AS x FROM large UNION ALL SELECT d * 1.5 FROM large) UNION ALL SELECT d * 1.5 FROM large",
            right: CaseOutcome::Rows(&[
                "9533899191630.090",
                "9533899191630.090",
                "9533899191630.090",
            ]),
            theirs: CaseOutcome::Rows(&[
                "9533899191630.09",
                "9533899191630.09",
                "9533899191630.09",
            ]),
        },
        super::Case {
            setup: &["CREATE TABLE beyond_doubles AS SELECT 9007199254740993 AS b"],
            sql: "SELECT b > 9007199254740992.0, b = 9007199254740992.0 FROM beyond_doubles",
            right: CaseOutcome::Rows(&["true, false"]),
            theirs: CaseOutcome::Rows(&["false, true"]),
        },
        super::Case {
            setup: &[],
            sql: "SELECT CAST(1234567890123456.78 AS DECIMAL(20,2))",
            right: CaseOutcome::Rows(&["1234567890123456.78"]),
            theirs: CaseOutcome::Rows(&["1234567890123456.80"]),
        },
        super::Case {
            setup: &["CREATE TABLE prices AS SELECT CAST('0.70' AS DECIMAL(15,2)) AS d"],
            sql: "SELECT d + 0.1, 1.1 * d, d - 0.9 FROM prices",
            right: CaseOutcome::Rows(&["0.80, 0.770, -0.20"]),
            theirs: CaseOutcome::Rows(&["0.7999999999999999, 0.77, -0.20000000000000007"]),
        },
        super::Case {
            setup: &["CREATE TABLE prices AS SELECT CAST('0.70' AS DECIMAL(2,2)) AS d"],
            sql: "SELECT d < '20.5', d IN ('20.5', '0.7') FROM prices",
            right: CaseOutcome::Rows(&["true, true"]),
            theirs: CaseOutcome::Error("20.50"),
        },
        super::Case {
            setup: &["CREATE TABLE prices AS SELECT CAST('1.25' AS DECIMAL(15,2)) AS d"],
            sql: "SELECT nullif(d, 1.25), coalesce(d, 67.35), greatest(d, 67.35) FROM prices",
            right: CaseOutcome::Rows(&["NULL, 1.25, 67.35"]),
            theirs: CaseOutcome::Rows(&["NULL, 1.250000000000000, 67.349999999999992"]),
        },
        super::Case {
            setup: &["CREATE TABLE prices AS SELECT CAST('1.25' AS DECIMAL(15,2)) AS d"],
            sql: "SELECT d FROM prices UNION ALL SELECT 1e20",
            right: CaseOutcome::Rows(&["1.25", "1e20"]),
            theirs: CaseOutcome::Error("too large"),
        },
    ],
};

/// Keeps the text of numbers that no double represents exactly, as calls of [`NAME`].
pub(super) fn rewrite(statement: &mut Statement) {
    // The values of settings are kept as text.
    let is_setting = matches!(
        statement,
        Statement::Statement(setting) if matches!(setting.as_ref(), ast::Statement::Set(_))
    );
    if !is_setting {
        let _ = visit(statement, &mut Keep);
    }
}

/// Name of the function that represents a number by its text.
const NAME: &str = "sluice_number";

struct Keep;

impl ast::VisitorMut for Keep {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut ast::Expr) -> ControlFlow<()> {
        if let ast::Expr::Value(value) = expr
            && let ast::Value::Number(text, _) = &value.value
            && is_no_double(text)
        {
            let text = ast::Expr::Value(ast::Value::SingleQuotedString(text.clone()).into());
            let argument = ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(text));
            *expr = ast::Expr::Function(ast::Function {
                name: ast::ObjectName::from(vec![ast::Ident::new(NAME)]),
                uses_odbc_syntax: false,
                parameters: ast::FunctionArguments::None,
                args: ast::FunctionArguments::List(ast::FunctionArgumentList {
                    duplicate_treatment: None,
                    args: vec![argument],
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

/// Returns true if the double that a number is parsed as prints as another number.
fn is_no_double(text: &str) -> bool {
    let plain = text.replace('_', "");
    if plain.parse::<i64>().is_ok() || plain.parse::<u64>().is_ok() {
        return false;
    }
    let Some(number) = Number::parse(&plain) else { return false };
    let double = plain.parse::<f64>().ok().filter(|double| double.is_finite());
    double.is_some_and(|double| Number::of_double(double) != Some(number))
}

/// Returns the function, to be registered with a session.
pub(super) fn number() -> Arc<ScalarUDF> {
    let signature = Signature::any(1, Volatility::Immutable);
    Arc::new(ScalarUDF::new_from_impl(ExactNumber { signature }))
}

/// A number with its text, which is a double unless its digits are needed.
#[derive(Debug, PartialEq, Eq, Hash)]
struct ExactNumber {
    signature: Signature,
}

impl ScalarUDFImpl for ExactNumber {
    fn name(&self) -> &str {
        NAME
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let double = args.first().and_then(text).and_then(|text| double(&text));
        Ok(lit(double.unwrap_or(f64::NAN)).to_string())
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn return_field_from_args(&self, _args: ReturnFieldArgs) -> Result<FieldRef> {
        Ok(Arc::new(Field::new(NAME, DataType::Float64, false)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let double = match args.args.as_slice() {
            [ColumnarValue::Scalar(value)] => value.try_as_str().flatten().and_then(double),
            _ => None,
        };
        let double =
            double.ok_or_else(|| exec_datafusion_err!("{NAME} takes the text of a number"))?;
        Ok(ColumnarValue::Scalar(ScalarValue::Float64(Some(double))))
    }
}

fn text(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Literal(value, _) => value.try_as_str().flatten().map(str::to_owned),
        _ => None,
    }
}

fn double(text: &str) -> Option<f64> {
    text.replace('_', "").parse().ok()
}

/// Returns the text of a number that was kept.
fn kept(expr: &Expr) -> Option<String> {
    match expr {
        Expr::ScalarFunction(call) if call.func.name() == NAME => text(call.args.first()?),
        _ => None,
    }
}

/// Returns a kept number as the double that it is outside of comparisons.
pub(super) fn as_double(expr: &Expr) -> Option<Expr> {
    kept(expr).and_then(|text| double(&text)).map(lit)
}

/// Returns the value of an expression of constants, without intermediate rounding.
pub(super) fn constant(expr: &Expr) -> Option<Number> {
    match expr {
        Expr::Literal(value, _) if value.data_type().is_numeric() => Number::of_literal(value),
        Expr::ScalarFunction(_) => Number::parse(&kept(expr)?.replace('_', "")),
        Expr::Negative(inner) => constant(inner)?.negated(),
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let (left, right) = (constant(left)?, constant(right)?);
            match op {
                Operator::Plus => left.plus(right),
                Operator::Minus => left.plus(right.negated()?),
                Operator::Multiply => left.times(right),
                _ => None,
            }
        }
        Expr::Cast(Cast { expr, field }) | Expr::TryCast(TryCast { expr, field }) => {
            match field.data_type() {
                DataType::Decimal128(precision, scale) => {
                    let unscaled = constant(expr)?.to_decimal(*precision, *scale)?;
                    Some(Number::of_decimal(unscaled, *scale))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// Returns true if DataFusion compares a number correctly with expressions of the type.
pub(super) fn is_plain(expr: &Expr, beside: &DataType) -> bool {
    let whole = |expr: &Expr| match expr {
        Expr::Literal(value, _) => value.data_type().is_integer(),
        _ => false,
    };
    beside.is_integer()
        && match expr {
            Expr::Negative(inner) => whole(inner),
            // Overflow of whole-number arithmetic must stay an error.
            Expr::BinaryExpr(_) => constant(expr).is_some_and(|it| it.is_whole()),
            other => whole(other),
        }
}

/// Returns a quoted number that does not fit the type of a decimal beside it, which DataFusion would reject.
pub(super) fn text_beyond(expr: &Expr, beside: &DataType) -> Option<Number> {
    let DataType::Decimal128(precision, scale) = beside else { return None };
    let number = Number::parse(text(expr)?.trim())?;
    number.to_decimal(*precision, *scale).is_none().then_some(number)
}

/// Returns true if one side of an arithmetic operation is a number with a fraction.
pub(super) fn concerns_arithmetic(left: &Expr, op: Operator, right: &Expr) -> bool {
    use Operator as O;
    matches!(op, O::Plus | O::Minus | O::Multiply | O::Modulo)
        && (is_fraction(left) || is_fraction(right))
}

fn is_fraction(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(ScalarValue::Float64(Some(_)), _) => true,
        Expr::Negative(inner) => is_fraction(inner),
        other => kept(other).is_some(),
    }
}

/// Returns arithmetic of a decimal and a constant as decimal arithmetic, if the result can hold all digits.
pub(super) fn arithmetic(
    left: &Expr,
    op: Operator,
    right: &Expr,
    schema: &DFSchema,
) -> Option<Expr> {
    if !concerns_arithmetic(left, op, right) {
        return None;
    }
    let (decimal, number) = if is_fraction(right) { (left, right) } else { (right, left) };
    let DataType::Decimal128(p1, s1) = decimal.get_type(schema).ok()? else { return None };
    let literal = constant(number)?.to_literal()?;
    let DataType::Decimal128(p2, s2) = literal.data_type() else { return None };
    let whole = |digits: u8, places: i8| i16::from(digits) - i16::from(places);
    let digits = match op {
        Operator::Multiply => i16::from(p1) + i16::from(p2) + 1,
        _ => whole(p1, s1).max(whole(p2, s2)) + i16::from(s1.max(s2)) + 1,
    };
    if digits > 38 {
        return None;
    }
    let literal = lit(literal);
    let (left, right) =
        if is_fraction(right) { (left.clone(), literal) } else { (literal, right.clone()) };
    Some(binary_expr(left, op, right))
}

/// Returns a cast of a constant number to a decimal as a literal.
pub(super) fn cast(expr: &Expr) -> Option<Expr> {
    let (Expr::Cast(Cast { expr: inner, field }) | Expr::TryCast(TryCast { expr: inner, field })) =
        expr
    else {
        return None;
    };
    let DataType::Decimal128(precision, scale) = field.data_type() else { return None };
    let number = constant(inner)?;
    if let Some(unscaled) = number.to_decimal(*precision, *scale) {
        return Some(lit(ScalarValue::Decimal128(Some(unscaled), *precision, *scale)));
    }
    // The number does not fit. As a DOUBLE it might, because it would be rounded twice.
    let exact = Box::new(lit(number.to_literal()?));
    Some(match expr {
        Expr::Cast(_) => Expr::Cast(Cast { expr: exact, field: Arc::clone(field) }),
        _ => Expr::TryCast(TryCast { expr: exact, field: Arc::clone(field) }),
    })
}

/// Returns a constant as a decimal literal if it is compared with a decimal of more than 38 digits.
pub(super) fn as_decimal(expr: &Expr, beside: &DataType) -> Option<Expr> {
    matches!(beside, DataType::Decimal256(..)).then(|| constant(expr)?.to_literal().map(lit))?
}

/// Returns the type in which two expressions are compared, if DataFusion's choice loses values.
pub(super) fn common(left: &DataType, right: &DataType) -> Option<DataType> {
    match (left, right) {
        (decimal, float) | (float, decimal) if decimal.is_decimal() && float.is_floating() => {
            Some(float.clone())
        }
        _ => {
            let ((p1, s1), (p2, s2)) = (shape(left)?, shape(right)?);
            if !left.is_decimal() && !right.is_decimal() {
                return None;
            }
            let scale = s1.max(s2);
            let whole = (i16::from(p1) - i16::from(s1)).max(i16::from(p2) - i16::from(s2));
            let digits = whole + i16::from(scale);
            let digits = u8::try_from(digits).ok()?.min(DECIMAL256_MAX_PRECISION);
            (digits > 38).then_some(DataType::Decimal256(digits, scale))
        }
    }
}

/// Returns the digits and decimal places of decimals and whole numbers.
fn shape(data_type: &DataType) -> Option<(u8, i8)> {
    use DataType as D;
    Some(match data_type {
        D::Int8 | D::UInt8 => (3, 0),
        D::Int16 | D::UInt16 => (5, 0),
        D::Int32 | D::UInt32 => (10, 0),
        D::Int64 | D::UInt64 => (20, 0),
        D::Decimal32(p, s) | D::Decimal64(p, s) | D::Decimal128(p, s) => (*p, *s),
        _ => return None,
    })
}

/// Returns true if a function compares its arguments or returns one of them.
pub(super) fn concerns(call: &ScalarFunction) -> bool {
    let name = call.func.name();
    matches!(name, "nullif" | "coalesce" | "nvl" | "ifnull" | "greatest" | "least")
}

/// Returns the call of such a function without rounding, or `None` if DataFusion does not round.
pub(super) fn arguments(call: &ScalarFunction, schema: &DFSchema) -> Option<Expr> {
    if !concerns(call) {
        return None;
    }
    let with = |args| Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(&call.func), args));
    if let ("nullif", [value, number]) = (call.func.name(), call.args.as_slice()) {
        let data_type = value.get_type(schema).ok()?;
        let counted = UnitType::from_type(&data_type).filter(|_| data_type.is_decimal());
        if let (Some(counted), Some(number)) = (counted, constant(number)) {
            return Some(match counted.value(&number) {
                Some(number) => with(vec![value.clone(), lit(number)]),
                // The type does not contain the number.
                None => value.clone(),
            });
        }
    }
    let args: Vec<&Expr> = call.args.iter().collect();
    unified(&args, schema).map(with)
}

/// Returns the results of CASE without rounding, or `None` if DataFusion does not round.
pub(super) fn branches(case: &Case, schema: &DFSchema) -> Option<Case> {
    let results = case.when_then_expr.iter().map(|(_, then)| then.as_ref());
    let results: Vec<&Expr> = results.chain(case.else_expr.as_deref()).collect();
    let mut unified = unified(&results, schema)?.into_iter();
    let branches = case.when_then_expr.iter().zip(&mut unified);
    let branches: Vec<_> =
        branches.map(|((when, _), then)| (when.clone(), Box::new(then))).collect();
    let (expr, else_expr) = (case.expr.clone(), unified.next().map(Box::new));
    Some(Case { expr, when_then_expr: branches, else_expr })
}

/// Gives a common type to expressions of which one is the result. Beside a decimal, constants become decimals. If any
/// other expression is a float, decimals become floats.
fn unified(all: &[&Expr], schema: &DFSchema) -> Option<Vec<Expr>> {
    if let Some(instants) = mixed_instants::unified(all, schema) {
        return Some(instants);
    }
    let types: Vec<DataType> =
        all.iter().map(|expr| expr.get_type(schema)).collect::<Result<_>>().ok()?;
    if !types.iter().any(DataType::is_decimal) {
        return None;
    }
    let number = |at: usize| {
        let float = types[at].is_floating();
        float.then(|| constant(all[at])?.to_literal().map(lit))?
    };
    let numbers: Vec<Option<Expr>> = (0..all.len()).map(number).collect();
    let floats = (0..all.len()).filter(|at| types[*at].is_floating() && numbers[*at].is_none());
    let widest = floats.map(|at| types[at].clone()).max_by_key(DataType::primitive_width);
    match widest {
        Some(float) => {
            let cast = all.iter().zip(&types).map(|(expr, data_type)| {
                let expr = Expr::clone(expr);
                if data_type.is_decimal() { expr.cast_to(&float, schema) } else { Ok(expr) }
            });
            cast.collect::<Result<_>>().ok()
        }
        None if numbers.iter().any(Option::is_some) => {
            let all = all.iter().zip(numbers);
            Some(all.map(|(expr, number)| number.unwrap_or_else(|| Expr::clone(expr))).collect())
        }
        None => None,
    }
}

/// Returns a union whose decimals are floats where other inputs have floats, and whose dates are timestamps where
/// others have timestamps. Other columns get the types that DataFusion would give them later.
pub(super) fn union(union: Union) -> Result<Union> {
    let fields = union.inputs.first().map_or(0, |input| input.schema().fields().len());
    let float = |at: usize| {
        let types = || union.inputs.iter().filter_map(|it| it.schema().fields().get(at));
        let decimal = types().any(|field| field.data_type().is_decimal());
        let floats = types().map(|field| field.data_type()).filter(|it| it.is_floating());
        let widest = floats.max_by_key(|float| float.primitive_width()).filter(|_| decimal);
        widest.cloned().or_else(|| mixed_instants::common(types().map(|field| field.data_type())))
    };
    let floats: Vec<Option<DataType>> = (0..fields).map(float).collect();
    let union = match floats.iter().any(Option::is_some) {
        true => coerced(union, |schema| with_types(schema, &floats))?,
        false => union,
    };
    let is_of_one_type = union.schema.fields().iter().enumerate().all(|(at, field)| {
        union.inputs.iter().all(|it| it.schema().field(at).data_type() == field.data_type())
    });
    if is_of_one_type {
        return Ok(union);
    }
    let schema = coerce_union_schema(&union.inputs)?;
    coerced(union, |_| Ok(schema.clone()))
}

/// Returns a schema whose decimals, dates and durations have the given types.
fn with_types(schema: &DFSchema, types: &[Option<DataType>]) -> Result<DFSchema> {
    let changes = |field: &Field| {
        field.data_type().is_decimal()
            || matches!(field.data_type(), DataType::Date32 | DataType::Duration(_))
    };
    let fields = schema.iter().zip(types).map(|((relation, field), new)| {
        let field = match new {
            Some(new) if changes(field) => {
                Arc::new(Field::clone(field).with_data_type(new.clone()))
            }
            _ => Arc::clone(field),
        };
        (relation.cloned(), field)
    });
    DFSchema::new_with_metadata(fields.collect(), schema.metadata().clone())
}

/// Returns a union whose inputs are cast to the types of other schemas.
fn coerced(union: Union, schema: impl Fn(&DFSchema) -> Result<DFSchema>) -> Result<Union> {
    let inputs = union.inputs.into_iter().map(|input| {
        let schema = schema(input.schema())?;
        coerce_plan_expr_for_schema(Arc::unwrap_or_clone(input), &schema).map(Arc::new)
    });
    Union::try_new_with_loose_types(inputs.collect::<Result<_>>()?)
}

#[cfg(test)]
mod tests {
    use datafusion::sql::parser::DFParser;

    use super::*;

    #[test]
    fn only_numbers_that_a_double_is_not_are_kept() {
        for (sql, expected) in [
            ("SELECT 1.5, 67.35, 1e300, 0.1, 1000", "SELECT 1.5, 67.35, 1e300, 0.1, 1000"),
            (
                "SELECT 27670116110564327430, -9007199254740993.5",
                "SELECT sluice_number('27670116110564327430'), -sluice_number('9007199254740993.5')",
            ),
            ("SELECT 18446744073709551615, 1e999", "SELECT 18446744073709551615, 1e999"),
            ("SET a.b = 99999999999999999999", "SET a.b = 99999999999999999999"),
        ] {
            let mut statement = DFParser::parse_sql(sql).unwrap().pop_front().unwrap();
            rewrite(&mut statement);
            assert_eq!(statement.to_string(), expected);
        }
    }
}
