//! A bound of a sort: a condition for one row and all rows that come before it.

use std::sync::Arc;

use arrow::array::{Array, AsArray, BooleanArray, RecordBatch};
use arrow::compute::prep_null_mask_filter;
use arrow::datatypes::{DataType, Schema};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::expressions::{
    BinaryExpr, IsNotNullExpr, IsNullExpr, Literal as PhysicalLiteral,
};

type Expr = Arc<dyn PhysicalExpr>;

/// Returns the values of the keys of an order in one row.
///
/// # Errors
///
/// If a key does not fit the batch.
pub fn values(
    keys: &[PhysicalSortExpr],
    batch: &RecordBatch,
    row: usize,
) -> Result<Vec<ScalarValue>> {
    let value = |key: &PhysicalSortExpr| {
        let column = key.expr.evaluate(batch)?.into_array(batch.num_rows())?;
        ScalarValue::try_from_array(&column, row)
    };
    keys.iter().map(value).collect()
}

/// Returns a condition that is TRUE for the rows that come no later than one with these values of the keys, ties
/// included, and FALSE or NULL for all others. Returns `None` if that would be every row.
///
/// The condition is a conjunction whose first part is about the first key alone, so that a store that can compare no
/// more gets that part.
///
/// # Errors
///
/// If a key does not fit the schema.
pub fn no_later(
    keys: &[PhysicalSortExpr],
    values: &[ScalarValue],
    schema: &Schema,
) -> Result<Option<Expr>> {
    let (Some((key, keys)), Some((value, values))) = (keys.split_first(), values.split_first())
    else {
        return Ok(None);
    };
    let expr = &key.expr;
    let nulls_first = key.options.nulls_first;
    if value.is_null() {
        let ties = no_later(keys, values, schema)?;
        return Ok(match (nulls_first, ties) {
            (true, None) => Some(is_null(expr)),
            (true, Some(ties)) => Some(both(is_null(expr), ties)),
            (false, None) => None,
            (false, Some(ties)) => {
                Some(either(Arc::new(IsNotNullExpr::new(Arc::clone(expr))), ties))
            }
        });
    }
    let descending = key.options.descending;
    let Some((value, itself)) = comparable(value, descending) else { return Ok(None) };
    let (before, until) = match descending {
        false => (Operator::Lt, Operator::LtEq),
        true => (Operator::Gt, Operator::GtEq),
    };
    let nullable = expr.nullable(schema)?;
    let compared = |op| {
        let literal: Expr = Arc::new(PhysicalLiteral::new(value.clone()));
        let compared: Expr = Arc::new(BinaryExpr::new(Arc::clone(expr), op, literal));
        if nulls_first && nullable { either(is_null(expr), compared) } else { compared }
    };
    // The following keys decide among rows that are equal so far.
    let ties = if itself { no_later(keys, values, schema)? } else { None };
    Ok(Some(match ties {
        None => compared(until),
        Some(ties) => both(compared(until), either(compared(before), ties)),
    }))
}

/// Returns a condition like those of [`no_later`] on a key's values, for checking whether a store can apply such
/// conditions at all; `None` for types that stores do not compare.
///
/// # Errors
///
/// If the key does not fit the schema.
pub fn example(key: &PhysicalSortExpr, schema: &Schema) -> Result<Option<Expr>> {
    let data_type = key.expr.data_type(schema)?;
    let value = match &data_type {
        DataType::Boolean => ScalarValue::Boolean(Some(true)),
        DataType::Date32 => ScalarValue::Date32(Some(1)),
        DataType::Utf8 => ScalarValue::Utf8(Some("a".to_owned())),
        DataType::LargeUtf8 => ScalarValue::LargeUtf8(Some("a".to_owned())),
        DataType::Utf8View => ScalarValue::Utf8View(Some("a".to_owned())),
        DataType::Decimal128(precision, scale) => {
            ScalarValue::Decimal128(Some(1), *precision, *scale)
        }
        number if number.is_integer() || *number == DataType::Float64 => {
            ScalarValue::new_one(number)?
        }
        _ => return Ok(None),
    };
    no_later(std::slice::from_ref(key), &[value], schema)
}

/// Returns for each row of a batch whether a condition is TRUE, not FALSE or NULL.
///
/// # Errors
///
/// If it cannot be evaluated.
pub fn is_true(condition: &Expr, batch: &RecordBatch) -> Result<BooleanArray> {
    let verdicts = condition.evaluate(batch)?.into_array(batch.num_rows())?;
    let verdicts = verdicts.as_boolean();
    Ok(match verdicts.nulls() {
        Some(_) => prep_null_mask_filter(verdicts),
        None => verdicts.clone(),
    })
}

/// Returns a value that every store compares as a sort does and that comes no earlier than `value`, and whether it is
/// the same value. Stores order doubles that are not finite, and the two zeros, differently. Returns `None` if only
/// such values come no earlier.
fn comparable(value: &ScalarValue, descending: bool) -> Option<(ScalarValue, bool)> {
    let ScalarValue::Float64(Some(x)) = value else { return Some((value.clone(), true)) };
    if x.is_finite() && *x != 0.0 {
        return Some((value.clone(), true));
    }
    // Negation turns a descending order into an ascending one.
    let x = if descending { -x } else { *x };
    let later = if x == 0.0 {
        f64::MIN_POSITIVE
    } else if x.is_sign_negative() {
        f64::MIN
    } else {
        return None;
    };
    Some((ScalarValue::Float64(Some(if descending { -later } else { later })), false))
}

fn is_null(expr: &Expr) -> Expr {
    Arc::new(IsNullExpr::new(Arc::clone(expr)))
}

fn both(left: Expr, right: Expr) -> Expr {
    Arc::new(BinaryExpr::new(left, Operator::And, right))
}

fn either(left: Expr, right: Expr) -> Expr {
    Arc::new(BinaryExpr::new(left, Operator::Or, right))
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, Float64Array, Int64Array, StringArray};
    use arrow::compute::SortOptions;
    use arrow::datatypes::Field;
    use datafusion::physical_expr::LexOrdering;
    use datafusion::physical_plan::expressions::Column;
    use datafusion::physical_plan::sorts::sort::sort_batch;

    use super::*;

    fn table() -> RecordBatch {
        let f = [
            Some(f64::NAN),
            Some(-f64::NAN),
            Some(0.0),
            Some(-0.0),
            None,
            Some(f64::INFINITY),
            Some(f64::NEG_INFINITY),
            Some(1.5),
            Some(-1.5),
            Some(f64::MAX),
            Some(f64::MIN),
            None,
            Some(1.5),
        ];
        let n = [3, 1, 2, 2, 1, 3, 2, 1, 2, 3, 1, 2, 3].map(|n| (n != 3).then_some(n));
        let s = ["b", "a", "", "b", "c", "a", "a", "b", "a", "c", "b", "a", "a"];
        let s = s.map(|s| (s != "c").then_some(s));
        let columns: [(&str, ArrayRef); 3] = [
            ("f", Arc::new(Float64Array::from(f.to_vec()))),
            ("n", Arc::new(Int64Array::from(n.to_vec()))),
            ("s", Arc::new(StringArray::from(s.to_vec()))),
        ];
        let fields: Vec<_> = columns
            .iter()
            .map(|(name, values)| Field::new(*name, values.data_type().clone(), true))
            .collect();
        let columns = columns.into_iter().map(|(_, values)| values).collect();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap()
    }

    /// For every order over every choice of columns, and for every row, a bound holds for exactly the rows up to that
    /// row and its ties. For the doubles that stores order differently, it may also hold for a few of the next rows
    /// of the order.
    #[test]
    fn a_bound_is_a_prefix_of_the_order() {
        let table = table();
        let schema = table.schema();
        let options = [(false, false), (false, true), (true, false), (true, true)]
            .map(|(descending, nulls_first)| SortOptions { descending, nulls_first });
        for columns in
            [vec![0], vec![1], vec![2], vec![1, 2], vec![2, 0], vec![1, 2, 0], vec![0, 1]]
        {
            for choice in 0..4_usize.pow(columns.len() as u32) {
                let key = |(place, column): (usize, &usize)| {
                    let options = options[choice / 4_usize.pow(place as u32) % 4];
                    let expr: Expr = Arc::new(Column::new(schema.field(*column).name(), *column));
                    PhysicalSortExpr { expr, options }
                };
                let keys: Vec<_> = columns.iter().enumerate().map(key).collect();
                let order = LexOrdering::new(keys.clone()).unwrap();
                let sorted = sort_batch(&table, &order, None).unwrap();
                let rows: Vec<_> = (0..sorted.num_rows())
                    .map(|row| values(&keys, &sorted, row).unwrap())
                    .collect();
                for (row, worst) in rows.iter().enumerate() {
                    let ties = rows.iter().filter(|other| *other == worst).count();
                    let first = rows.iter().position(|other| other == worst).unwrap();
                    let kept = match no_later(&keys, worst, &schema).unwrap() {
                        None => rows.len(),
                        Some(bound) => {
                            let kept = bound.evaluate(&sorted).unwrap();
                            let kept = kept.into_array(sorted.num_rows()).unwrap();
                            let kept: Vec<bool> =
                                kept.as_boolean().iter().map(|it| it == Some(true)).collect();
                            let prefix = kept.iter().take_while(|kept| **kept).count();
                            let all = kept.iter().filter(|kept| **kept).count();
                            assert_eq!(prefix, all, "{order}: {kept:?} up to {worst:?}");
                            all
                        }
                    };
                    assert!(kept >= first + ties, "{order}: {kept} rows up to {worst:?}");
                    let odd = |value: &ScalarValue| matches!(value, ScalarValue::Float64(Some(x)) if *x == 0.0 || !x.is_finite());
                    if !worst.iter().any(odd) {
                        assert_eq!(kept, first + ties, "{order}, row {row}: {worst:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_first_key_is_a_part_of_its_own() {
        let schema = table().schema();
        let key = |index: usize, descending, nulls_first| PhysicalSortExpr {
            expr: Arc::new(Column::new(schema.field(index).name(), index)),
            options: SortOptions { descending, nulls_first },
        };
        let shown = |keys: &[PhysicalSortExpr], values: &[ScalarValue]| {
            no_later(keys, values, &schema).unwrap().map(|bound| bound.to_string())
        };
        let (n, s) = (ScalarValue::Int64(Some(7)), ScalarValue::Utf8(Some("x".to_owned())));
        let keys = [key(1, false, false), key(2, true, true)];
        assert_eq!(
            shown(&keys, &[n.clone(), s.clone()]).unwrap(),
            "n@1 <= 7 AND (n@1 < 7 OR s@2 IS NULL OR s@2 >= x)"
        );
        let null = ScalarValue::Int64(None);
        assert_eq!(shown(&keys[..1], std::slice::from_ref(&null)), None);
        let bound = shown(&keys, &[null.clone(), s]).unwrap();
        assert_eq!(bound, "n@1 IS NOT NULL OR s@2 IS NULL OR s@2 >= x");
        let first = [key(1, true, true)];
        assert_eq!(shown(&first, &[null]).unwrap(), "n@1 IS NULL");
        assert_eq!(shown(&first, &[n]).unwrap(), "n@1 IS NULL OR n@1 >= 7");
    }

    #[test]
    fn an_example_exists_for_the_types_that_stores_compare() {
        let of = |data_type: DataType| {
            let schema = Schema::new(vec![Field::new("k", data_type, true)]);
            let key = PhysicalSortExpr::new_default(Arc::new(Column::new("k", 0)));
            example(&key, &schema).unwrap().map(|bound| bound.to_string())
        };
        assert_eq!(of(DataType::Int32).unwrap(), "k@0 IS NULL OR k@0 <= 1");
        assert_eq!(of(DataType::Utf8View).unwrap(), "k@0 IS NULL OR k@0 <= a");
        assert!(of(DataType::Decimal128(3, 3)).is_some());
        assert_eq!(of(DataType::Binary), None);
    }
}
