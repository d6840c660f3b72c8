//! Compares floats in lists, structs and functions as numbers, not by their bits.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, FixedSizeListArray, GenericListArray,
    OffsetSizeTrait, PrimitiveArray, StructArray,
};
use arrow::compute::kernels::cmp;
use arrow::compute::nullif;
use arrow::datatypes::{DataType, Field, FieldRef, Float32Type, Float64Type};
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, ScalarValue, exec_err, internal_err};
use datafusion::execution::SessionStateBuilder;
use datafusion::logical_expr::expr::{InList, ScalarFunction};
use datafusion::logical_expr::{
    Aggregate, BinaryExpr, ColumnarValue, Expr, ExprSchemable, LogicalPlan, ReturnFieldArgs,
    ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use super::comparisons::is_comparison;
use super::wrapped_functions::{Change, changed};
use super::{Case, CaseOutcome, Guard};

pub(super) const GUARD: Guard = Guard {
    title: "−0.0 differs from 0.0 in NULLIF, CASE x WHEN, lists and structs",
    upstream: &[],
    ours: "NULLIF, `CASE x WHEN`, comparisons of lists and structs and the functions that look for an element of a list \
           take −0.0 for 0.0, and NaN with its sign set for NaN. Lists and structs that are grouped, made distinct, \
           sorted or joined by have 0.0 and NaN where they had these.",
    cases: &[
        Case {
            setup: &[NEGATIVE_ZERO],
            sql: "SELECT nullif(x, 0.0), nullif(x, 0), CASE x WHEN 0.0 THEN 'zero' END FROM negative_zero",
            right: CaseOutcome::Rows(&["NULL, NULL, zero"]),
            theirs: CaseOutcome::Rows(&["-0.0, -0.0, NULL"]),
        },
        Case {
            setup: &[NEGATIVE_ZERO],
            sql: "SELECT [x] = [0.0], array_position([0.0, 1.0], x) FROM negative_zero",
            right: CaseOutcome::Rows(&["true, 1"]),
            theirs: CaseOutcome::Rows(&["false, NULL"]),
        },
        Case {
            setup: &[NEGATIVE_ZERO],
            sql: "SELECT count(*) FROM (SELECT DISTINCT l FROM (SELECT [x] AS l FROM negative_zero UNION ALL \
                  SELECT [0.0]) t) t",
            right: CaseOutcome::Rows(&["1"]),
            theirs: CaseOutcome::Rows(&["2"]),
        },
        Case {
            setup: &[],
            sql: "SELECT nullif(-CAST('NaN' AS DOUBLE), CAST('NaN' AS DOUBLE))",
            right: CaseOutcome::Rows(&["NULL"]),
            theirs: CaseOutcome::Rows(&["NaN"]),
        },
    ],
};

const NEGATIVE_ZERO: &str = "CREATE TABLE negative_zero AS SELECT CAST('-0.0' AS DOUBLE) AS x";

/// Functions that compare elements of lists.
const OF_ELEMENTS: [&str; 15] = [
    "array_distinct",
    "array_except",
    "array_has",
    "array_has_all",
    "array_has_any",
    "array_intersect",
    "array_position",
    "array_positions",
    "array_remove",
    "array_remove_all",
    "array_remove_n",
    "array_replace",
    "array_replace_all",
    "array_replace_n",
    "array_union",
];

/// Replaces functions of a session that is being built, and adds one.
pub(super) fn install(builder: &mut SessionStateBuilder) {
    let functions = builder.scalar_functions().get_or_insert_default();
    // The last function of a name is the one that is registered.
    let names: Vec<String> = functions.iter().map(|it| it.name().to_owned()).collect();
    for (at, name) in names.iter().enumerate() {
        let change = match name.as_str() {
            "nullif" => Alike::NullIf,
            name if OF_ELEMENTS.contains(&name) => Alike::Elements,
            _ => continue,
        };
        if !names[at + 1..].contains(name) {
            functions[at] = changed(&functions[at], change);
        }
    }
    functions.push(function());
}

/// Functions that compare floats by value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Alike {
    Elements,
    NullIf,
}

impl Change for Alike {
    fn invoke(self, inner: &ScalarUDF, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if !args.args.iter().any(|it| has_floats(&it.data_type())) {
            return inner.invoke_with_args(args);
        }
        let plain = args.args.iter().map(plain_value).collect::<Result<Vec<_>>>()?;
        if plain.iter().all(Option::is_none) {
            return inner.invoke_with_args(args);
        }
        let plain: Vec<ColumnarValue> = plain
            .into_iter()
            .zip(&args.args)
            .map(|(it, same)| it.unwrap_or_else(|| same.clone()))
            .collect();
        // NULLIF returns the original value.
        if let (Self::NullIf, [value, other], [original, _]) =
            (self, plain.as_slice(), args.args.as_slice())
            && value.data_type().is_floating()
        {
            let rows = args.number_rows;
            let (value, other) = (value.to_array(rows)?, other.to_array(rows)?);
            let equal = cmp::eq(&value, &other)?;
            return Ok(ColumnarValue::Array(nullif(&original.to_array(rows)?, &equal)?));
        }
        args.args = plain;
        inner.invoke_with_args(args)
    }
}

/// Returns true if values of a type are or contain floats.
pub(super) fn has_floats(data_type: &DataType) -> bool {
    match data_type {
        DataType::Float32 | DataType::Float64 => true,
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            has_floats(item.data_type())
        }
        DataType::Struct(fields) => fields.iter().any(|field| has_floats(field.data_type())),
        _ => false,
    }
}

/// Returns true if values of a type contain floats, but are not floats themselves.
pub(super) fn holds_floats(data_type: &DataType) -> bool {
    data_type.is_nested() && has_floats(data_type)
}

fn plain_value(value: &ColumnarValue) -> Result<Option<ColumnarValue>> {
    Ok(match value {
        ColumnarValue::Array(array) => plain(array)?.map(ColumnarValue::Array),
        ColumnarValue::Scalar(value) => plain_scalar(value)?.map(ColumnarValue::Scalar),
    })
}

fn plain_scalar(value: &ScalarValue) -> Result<Option<ScalarValue>> {
    if !has_floats(&value.data_type()) {
        return Ok(None);
    }
    let plain = plain(&value.to_array()?)?;
    plain.map(|it| ScalarValue::try_from_array(&it, 0)).transpose()
}

/// Returns an array without negative zeros and NaN with its sign, or `None` if it has none.
fn plain(array: &ArrayRef) -> Result<Option<ArrayRef>> {
    Ok(match array.data_type() {
        DataType::Float32 => {
            let is_signed = |x: f32| x.is_sign_negative() && (x == 0.0 || x.is_nan());
            plain_floats::<Float32Type>(array.as_primitive(), is_signed, f32::abs)
        }
        DataType::Float64 => {
            let is_signed = |x: f64| x.is_sign_negative() && (x == 0.0 || x.is_nan());
            plain_floats::<Float64Type>(array.as_primitive(), is_signed, f64::abs)
        }
        DataType::List(item) => plain_list::<i32>(array.as_list(), item)?,
        DataType::LargeList(item) => plain_list::<i64>(array.as_list(), item)?,
        DataType::FixedSizeList(item, length) => {
            let list = array.as_fixed_size_list();
            match plain(list.values())? {
                Some(values) => {
                    let (item, nulls) = (Arc::clone(item), list.nulls().cloned());
                    Some(Arc::new(FixedSizeListArray::try_new(item, *length, values, nulls)?))
                }
                None => None,
            }
        }
        DataType::Struct(fields) => {
            let all = array.as_struct();
            let plain = all.columns().iter().map(plain).collect::<Result<Vec<_>>>()?;
            if plain.iter().all(Option::is_none) {
                return Ok(None);
            }
            let columns = plain.into_iter().zip(all.columns());
            let columns = columns.map(|(it, same)| it.unwrap_or_else(|| Arc::clone(same)));
            let (columns, nulls) = (columns.collect(), all.nulls().cloned());
            Some(Arc::new(StructArray::try_new(fields.clone(), columns, nulls)?))
        }
        _ => None,
    })
}

fn plain_floats<T: ArrowPrimitiveType>(
    floats: &PrimitiveArray<T>,
    is_signed: impl Fn(T::Native) -> bool,
    unsigned: impl Fn(T::Native) -> T::Native,
) -> Option<ArrayRef> {
    let any = floats.values().iter().any(|x| is_signed(*x));
    any.then(|| {
        let plain = floats.unary::<_, T>(|x| if is_signed(x) { unsigned(x) } else { x });
        Arc::new(plain) as ArrayRef
    })
}

fn plain_list<O: OffsetSizeTrait>(
    list: &GenericListArray<O>,
    item: &FieldRef,
) -> Result<Option<ArrayRef>> {
    let Some(values) = plain(list.values())? else { return Ok(None) };
    let (item, nulls) = (Arc::clone(item), list.nulls().cloned());
    let plain = GenericListArray::try_new(item, list.offsets().clone(), values, nulls)?;
    Ok(Some(Arc::new(plain)))
}

/// Returns a comparison of lists or structs that contain floats.
pub(super) fn compared(expr: &Expr, schema: &DFSchema) -> Option<Expr> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_comparison(*op) => {
            let (mut left, mut right) = (left.clone(), right.clone());
            let any = make_plain(&mut left, schema) | make_plain(&mut right, schema);
            any.then(|| Expr::BinaryExpr(BinaryExpr::new(left, *op, right)))
        }
        Expr::InList(InList { expr, list, negated }) => {
            let (mut expr, mut list) = (expr.clone(), list.clone());
            let any = make_plain(&mut expr, schema);
            let any = list.iter_mut().fold(any, |any, item| make_plain(item, schema) | any);
            any.then(|| Expr::InList(InList { expr, list, negated: *negated }))
        }
        _ => None,
    }
}

/// Makes a list or a struct one without negative zeros; returns true if it changed.
pub(super) fn make_plain(expr: &mut Expr, schema: &DFSchema) -> bool {
    if !expr.get_type(schema).is_ok_and(|data_type| holds_floats(&data_type)) {
        return false;
    }
    match expr {
        Expr::Literal(value, _) => match plain_scalar(value) {
            Ok(Some(plain)) => *value = plain,
            _ => return false,
        },
        Expr::ScalarFunction(call) if call.func.name() == NAME => return false,
        _ => {
            let args = vec![std::mem::take(expr)];
            *expr = Expr::ScalarFunction(ScalarFunction::new_udf(function(), args));
        }
    }
    true
}

/// Returns an aggregation whose keys are lists or structs without negative zeros.
pub(super) fn grouped(aggregate: Aggregate) -> Result<Transformed<LogicalPlan>> {
    let schema = aggregate.input.schema();
    let mut any = false;
    let keys: Vec<Expr> = aggregate
        .group_expr
        .iter()
        .map(|key| {
            let mut plain = key.clone();
            if matches!(key, Expr::Alias(_) | Expr::GroupingSet(_))
                || !make_plain(&mut plain, schema)
            {
                return key.clone();
            }
            any = true;
            let (relation, name) = key.qualified_name();
            plain.alias_qualified(relation, name)
        })
        .collect();
    if !any {
        return Ok(Transformed::no(LogicalPlan::Aggregate(aggregate)));
    }
    let Aggregate { input, aggr_expr, schema, .. } = aggregate;
    let plain = Aggregate::try_new_with_schema(input, keys, aggr_expr, schema)?;
    Ok(Transformed::yes(LogicalPlan::Aggregate(plain)))
}

const NAME: &str = "sluice_plain_floats";

fn function() -> Arc<ScalarUDF> {
    let signature = Signature::any(1, Volatility::Immutable);
    Arc::new(ScalarUDF::new_from_impl(PlainFloats { signature }))
}

/// The function `sluice_plain_floats(x)`, which returns a list or a struct without negative zeros and NaN with its
/// sign.
#[derive(Debug, PartialEq, Eq, Hash)]
struct PlainFloats {
    signature: Signature,
}

impl ScalarUDFImpl for PlainFloats {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        internal_err!("the type is that of the argument")
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        match args.arg_fields {
            [field] => Ok(Arc::new(Field::new(
                field.name(),
                field.data_type().clone(),
                field.is_nullable(),
            ))),
            _ => exec_err!("{NAME} takes a value"),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match args.args.into_iter().next() {
            Some(value) => Ok(plain_value(&value)?.unwrap_or(value)),
            None => exec_err!("{NAME} takes a value"),
        }
    }
}
