//! Derives the possible values of single columns from a filter.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use arrow::array::Array as _;
use arrow::datatypes::Schema;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion::physical_plan::expressions::{
    BinaryExpr, CaseExpr, InListExpr, IsNullExpr, Literal,
};

use super::lossless::LosslessCast;

/// The possible values of single columns under a filter. Every row that passes the filter has such values; the filter
/// may be stricter.
#[derive(Debug, Clone, PartialEq)]
pub enum Keys {
    /// Nothing is known about the values.
    Any,
    /// No row passes the filter.
    None,
    /// The possible values of some columns, by the column's index in the table's schema.
    Of(BTreeMap<usize, ColumnKeys>),
}

/// The values that a column may have.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ColumnKeys {
    /// True if the column may be NULL.
    pub null: bool,
    /// The least value apart from NULL.
    pub low: Option<ScalarValue>,
    /// The greatest value apart from NULL.
    pub high: Option<ScalarValue>,
    /// All values apart from NULL.
    pub values: Option<HashSet<ScalarValue>>,
}

impl ColumnKeys {
    /// NULL and nothing else.
    fn null() -> Self {
        Self { null: true, values: Some(HashSet::new()), ..Self::default() }
    }

    fn is_none(&self) -> bool {
        self.values.as_ref().is_some_and(HashSet::is_empty)
    }

    /// Returns the values that both allow.
    fn both(self, other: Self) -> Self {
        let values = match (self.values, other.values) {
            (Some(some), Some(others)) => Some(some.intersection(&others).cloned().collect()),
            (some, others) => some.or(others),
        };
        Self {
            null: self.null && other.null,
            low: tighter(self.low, other.low, |a, b| a > b),
            high: tighter(self.high, other.high, |a, b| a < b),
            values,
        }
    }

    /// Returns the values that either allows.
    fn either(self, other: Self) -> Self {
        let null = self.null || other.null;
        // If one side has no values, the bounds come from the other side.
        if self.is_none() {
            return Self { null, ..other };
        }
        if other.is_none() {
            return Self { null, ..self };
        }
        Self {
            null,
            low: looser(self.low, other.low, |a, b| a < b),
            high: looser(self.high, other.high, |a, b| a > b),
            values: self.values.zip(other.values).map(|(mut some, others)| {
                some.extend(others);
                some
            }),
        }
    }
}

fn tighter(
    one: Option<ScalarValue>,
    other: Option<ScalarValue>,
    is_tighter: impl Fn(&ScalarValue, &ScalarValue) -> bool,
) -> Option<ScalarValue> {
    match (one, other) {
        (Some(one), Some(other)) => Some(if is_tighter(&one, &other) { one } else { other }),
        (one, other) => one.or(other),
    }
}

fn looser(
    one: Option<ScalarValue>,
    other: Option<ScalarValue>,
    is_looser: impl Fn(&ScalarValue, &ScalarValue) -> bool,
) -> Option<ScalarValue> {
    let (one, other) = one.zip(other)?;
    Some(if is_looser(&one, &other) { one } else { other })
}

impl Keys {
    /// Derives keys from a filter over the columns of a schema. Expressions of other kinds give [`Keys::Any`].
    #[must_use]
    pub fn from_filter(filter: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Self {
        if let Some(literal) = filter.downcast_ref::<Literal>() {
            return match literal.value() {
                ScalarValue::Boolean(Some(true)) => Self::Any,
                ScalarValue::Boolean(_) => Self::None,
                _ => Self::Any,
            };
        }
        if let Some(binary) = filter.downcast_ref::<BinaryExpr>() {
            let (left, right) = (binary.left(), binary.right());
            return match binary.op() {
                Operator::And => {
                    Self::from_filter(left, schema).both(Self::from_filter(right, schema))
                }
                Operator::Or => {
                    Self::from_filter(left, schema).either(Self::from_filter(right, schema))
                }
                op => bound(left, *op, right, schema).unwrap_or(Self::Any),
            };
        }
        if let Some(list) = filter.downcast_ref::<InListExpr>() {
            return membership(list, schema).unwrap_or(Self::Any);
        }
        if let Some(case) = filter.downcast_ref::<CaseExpr>() {
            return branches(case, schema);
        }
        if let Some(test) = filter.downcast_ref::<IsNullExpr>() {
            return match LosslessCast::from_expr(test.arg(), schema) {
                Some(key) => Self::one(key.column, ColumnKeys::null()),
                None => Self::Any,
            };
        }
        Self::Any
    }

    fn one(column: usize, keys: ColumnKeys) -> Self {
        Self::Of(BTreeMap::from([(column, keys)]))
    }

    /// Returns the keys if both filters hold.
    #[must_use]
    pub fn both(self, other: Self) -> Self {
        let (mut all, others) = match (self, other) {
            (Self::Any, keys) | (keys, Self::Any) => return keys,
            (Self::None, _) | (_, Self::None) => return Self::None,
            (Self::Of(all), Self::Of(others)) => (all, others),
        };
        for (column, keys) in others {
            let keys = match all.remove(&column) {
                Some(known) => known.both(keys),
                None => keys,
            };
            if keys.is_none() && !keys.null {
                return Self::None;
            }
            all.insert(column, keys);
        }
        Self::Of(all)
    }

    /// Returns the keys if at least one of the filters holds.
    #[must_use]
    pub fn either(self, other: Self) -> Self {
        let (all, mut others) = match (self, other) {
            (Self::None, keys) | (keys, Self::None) => return keys,
            (Self::Any, _) | (_, Self::Any) => return Self::Any,
            (Self::Of(all), Self::Of(others)) => (all, others),
        };
        let common: BTreeMap<_, _> = all
            .into_iter()
            .filter_map(|(column, keys)| Some((column, keys.either(others.remove(&column)?))))
            .collect();
        if common.is_empty() { Self::Any } else { Self::Of(common) }
    }

    /// Keeps only the keys of some columns.
    #[must_use]
    pub fn about(self, columns: impl Fn(usize) -> bool) -> Self {
        let Self::Of(mut keys) = self else { return self };
        keys.retain(|column, _| columns(*column));
        if keys.is_empty() { Self::Any } else { Self::Of(keys) }
    }
}

/// Returns the keys of a comparison such as `key >= constant`.
fn bound(
    left: &Arc<dyn PhysicalExpr>,
    op: Operator,
    right: &Arc<dyn PhysicalExpr>,
    schema: &Schema,
) -> Option<Keys> {
    let (key, op, constant) =
        match (left.downcast_ref::<Literal>(), right.downcast_ref::<Literal>()) {
            (_, Some(constant)) => (left, op, constant),
            (Some(constant), _) => (right, op.swap()?, constant),
            _ => return None,
        };
    let key = LosslessCast::from_expr(key, schema)?;
    let value = key.back(constant.value()).ok()??;
    let mut keys = ColumnKeys::default();
    match op {
        Operator::Eq => keys.values = Some(HashSet::from([value])),
        // Including the bound itself is weaker, which is allowed.
        Operator::GtEq | Operator::Gt => keys.low = Some(value),
        Operator::LtEq | Operator::Lt => keys.high = Some(value),
        _ => return None,
    }
    Some(Keys::one(key.column, keys))
}

/// Returns the keys of `key IN (…)`, or of several keys at once: `struct(key, …) IN (…)`.
fn membership(list: &InListExpr, schema: &Schema) -> Option<Keys> {
    if list.negated() {
        return None;
    }
    let constants =
        || list.list().iter().map(|it| it.downcast_ref::<Literal>().map(Literal::value));
    if let Some(key) = LosslessCast::from_expr(list.expr(), schema) {
        let mut values = HashSet::with_capacity(list.list().len());
        for constant in constants() {
            let constant = constant?;
            if !constant.is_null() {
                values.extend(key.back(constant).ok()?);
            }
        }
        return Some(some(key.column, values));
    }
    let call =
        list.expr().downcast_ref::<ScalarFunctionExpr>().filter(|it| it.name() == "struct")?;
    let mut keys = Keys::Any;
    for (at, arg) in call.args().iter().enumerate() {
        let Some(key) = LosslessCast::from_expr(arg, schema) else { continue };
        let mut values = HashSet::new();
        let mut null = false;
        for constant in constants() {
            let ScalarValue::Struct(fields) = constant? else { return None };
            let field = ScalarValue::try_from_array(fields.columns().get(at)?, 0).ok()?;
            // Structs are compared whole: a NULL inside equals a NULL.
            if fields.is_valid(0) && field.is_null() {
                null = true;
            } else if !field.is_null() {
                values.extend(key.back(&field).ok()?);
            }
        }
        let found = match some(key.column, values) {
            Keys::None if null => Keys::one(key.column, ColumnKeys::null()),
            Keys::Of(mut found) => {
                for keys in found.values_mut() {
                    keys.null = null;
                }
                Keys::Of(found)
            }
            found => found,
        };
        keys = keys.both(found);
    }
    Some(keys)
}

fn some(column: usize, values: HashSet<ScalarValue>) -> Keys {
    if values.is_empty() {
        return Keys::None;
    }
    Keys::one(column, ColumnKeys { values: Some(values), ..ColumnKeys::default() })
}

/// Returns the keys of `CASE … WHEN … THEN filter … ELSE filter END`, where one of the filters holds.
fn branches(case: &CaseExpr, schema: &Schema) -> Keys {
    let otherwise = match case.else_expr() {
        Some(filter) => Keys::from_filter(filter, schema),
        None => Keys::None,
    };
    case.when_then_expr()
        .iter()
        .fold(otherwise, |keys, (_, filter)| keys.either(Keys::from_filter(filter, schema)))
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, Int64Array, StringArray, StructArray};
    use arrow::datatypes::{DataType, Field};
    use datafusion::functions::core::expr_fn;
    use datafusion::physical_plan::expressions::{CastExpr, Column, case, in_list, lit};

    use super::*;

    fn schema() -> Schema {
        Schema::new(vec![
            Field::new("k", DataType::Int64, true),
            Field::new("s", DataType::Utf8, true),
            Field::new("i", DataType::Int32, true),
        ])
    }

    fn column(index: usize) -> Arc<dyn PhysicalExpr> {
        Arc::new(Column::new(schema().field(index).name(), index))
    }

    fn binary(
        left: Arc<dyn PhysicalExpr>,
        op: Operator,
        right: Arc<dyn PhysicalExpr>,
    ) -> Arc<dyn PhysicalExpr> {
        Arc::new(BinaryExpr::new(left, op, right))
    }

    fn is_in(keys: &[i64]) -> Arc<dyn PhysicalExpr> {
        let list = keys.iter().map(|key| lit(*key)).collect();
        in_list(column(0), list, &false, &schema()).unwrap()
    }

    fn within(low: i64, high: i64) -> Arc<dyn PhysicalExpr> {
        let low = binary(column(0), Operator::GtEq, lit(low));
        binary(low, Operator::And, binary(column(0), Operator::LtEq, lit(high)))
    }

    fn and(left: Arc<dyn PhysicalExpr>, right: Arc<dyn PhysicalExpr>) -> Arc<dyn PhysicalExpr> {
        binary(left, Operator::And, right)
    }

    fn ints(keys: &[i64]) -> Option<HashSet<ScalarValue>> {
        Some(keys.iter().map(|key| ScalarValue::from(*key)).collect())
    }

    fn extract(filter: &Arc<dyn PhysicalExpr>) -> Keys {
        Keys::from_filter(filter, &schema())
    }

    #[track_caller]
    fn check(filter: &Arc<dyn PhysicalExpr>, expected: ColumnKeys) {
        assert_eq!(extract(filter), Keys::one(0, expected), "{filter}");
    }

    fn between(low: i64, high: i64) -> ColumnKeys {
        let bound = |x: i64| Some(ScalarValue::from(x));
        ColumnKeys { low: bound(low), high: bound(high), ..ColumnKeys::default() }
    }

    #[test]
    fn the_filter_of_one_build_side() {
        let filter = and(within(3, 9), is_in(&[3, 9, 3, 7]));
        check(&filter, ColumnKeys { values: ints(&[3, 7, 9]), ..between(3, 9) });
        // Without the keys, as when there are too many of them.
        check(&and(within(3, 9), binary(column(1), Operator::Eq, column(1))), between(3, 9));
        check(
            &binary(lit(5_i64), Operator::LtEq, column(0)),
            ColumnKeys { low: Some(5_i64.into()), ..ColumnKeys::default() },
        );
    }

    #[test]
    fn partitions_are_united() {
        let hash = binary(column(0), Operator::Modulo, lit(4_i64));
        let one = and(within(3, 9), is_in(&[3, 9]));
        let two = and(within(4, 20), is_in(&[4, 20]));
        let united = |otherwise| {
            let whens = vec![(lit(0_i64), Arc::clone(&one)), (lit(2_i64), Arc::clone(&two))];
            case(Some(Arc::clone(&hash)), whens, Some(lit(otherwise))).unwrap()
        };
        let expected = ColumnKeys { values: ints(&[3, 4, 9, 20]), ..between(3, 20) };
        check(&united(false), expected);
        // A partition without known keys.
        assert_eq!(extract(&united(true)), Keys::Any);
    }

    #[test]
    fn nulls_that_must_stay_stay() {
        let null: Arc<dyn PhysicalExpr> = Arc::new(IsNullExpr::new(column(0)));
        let filter = binary(null, Operator::Or, and(within(3, 9), is_in(&[3, 9])));
        check(&filter, ColumnKeys { null: true, values: ints(&[3, 9]), ..between(3, 9) });
        let either = ["k", "s"].map(|name| -> Arc<dyn PhysicalExpr> {
            Arc::new(IsNullExpr::new(column(schema().index_of(name).unwrap())))
        });
        let [k, s] = either;
        let filter = binary(binary(k, Operator::Or, s), Operator::Or, is_in(&[3]));
        assert_eq!(extract(&filter), Keys::Any);
    }

    #[test]
    fn several_joins_meet() {
        let both = extract(&is_in(&[1, 2, 3])).both(extract(&is_in(&[2, 3, 4])));
        assert_eq!(both, Keys::one(0, ColumnKeys { values: ints(&[2, 3]), ..Default::default() }));
        assert_eq!(extract(&is_in(&[1])).both(extract(&is_in(&[2]))), Keys::None);
        assert_eq!(extract(&lit(false)), Keys::None);
        assert_eq!(extract(&and(lit(true), is_in(&[1]))), extract(&is_in(&[1])));
    }

    #[test]
    fn keys_of_several_columns_are_taken_apart() {
        let k: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 1]));
        let s: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None, Some("b")]));
        let fields =
            vec![Field::new("c0", DataType::Int64, true), Field::new("c1", DataType::Utf8, true)];
        let rows = StructArray::new(fields.clone().into(), vec![k, s], None);
        let call = expr_fn::r#struct(vec![]);
        let datafusion::logical_expr::Expr::ScalarFunction(call) = call else { panic!() };
        let both = ScalarFunctionExpr::new(
            "struct",
            call.func,
            vec![column(0), column(1)],
            Arc::new(Field::new("struct", DataType::Struct(fields.into()), true)),
            Arc::default(),
        );
        let rows: ArrayRef = Arc::new(rows);
        let filter: Arc<dyn PhysicalExpr> = Arc::new(
            InListExpr::try_new_from_array(Arc::new(both), Arc::clone(&rows), false, &schema())
                .unwrap(),
        );
        assert_eq!(rows.len(), 3);
        let Keys::Of(keys) = extract(&filter) else { panic!("{filter}") };
        assert_eq!(keys[&0].values, ints(&[1, 2]));
        let texts = ["a", "b"].map(|text| ScalarValue::Utf8(Some(text.to_owned())));
        assert_eq!(keys[&1].values, Some(HashSet::from(texts)));
        assert!(keys[&1].null && !keys[&0].null);
    }

    #[test]
    fn keys_of_a_wider_type_become_those_of_the_column() {
        let wide: Arc<dyn PhysicalExpr> = Arc::new(CastExpr::new(column(2), DataType::Int64, None));
        let keys = vec![lit(7_i64), lit(i64::MAX), lit(ScalarValue::Int64(None))];
        let filter = in_list(wide, keys, &false, &schema()).unwrap();
        let seven = HashSet::from([ScalarValue::from(7_i32)]);
        let expected = ColumnKeys { values: Some(seven), ..ColumnKeys::default() };
        assert_eq!(extract(&filter), Keys::one(2, expected));
    }

    #[test]
    fn what_is_not_understood_says_nothing() {
        for filter in [
            in_list(column(0), vec![lit(1_i64)], &true, &schema()).unwrap(),
            in_list(column(0), vec![lit(1_i64), column(0)], &false, &schema()).unwrap(),
            binary(column(0), Operator::NotEq, lit(1_i64)),
            binary(column(0), Operator::Lt, column(0)),
            binary(is_in(&[1]), Operator::Or, binary(column(1), Operator::Eq, column(1))),
            column(0),
        ] {
            assert_eq!(extract(&filter), Keys::Any, "{filter}");
        }
    }
}
