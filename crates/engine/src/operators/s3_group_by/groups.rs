//! Groups that were found, and the conditions that select their rows.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, RecordBatch};
use arrow::datatypes::Schema;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::expressions::{BinaryExpr, in_list, is_not_null, is_null, lit};

/// A grouping key: an expression over the table's columns.
#[derive(Debug, Clone)]
pub(super) struct Key {
    /// The grouping expression.
    pub(super) expr: Arc<dyn PhysicalExpr>,
    /// Name of the key's column.
    pub(super) name: String,
    /// True if the key may be NULL.
    pub(super) nullable: bool,
}

/// The key values of a group, and the number of its rows seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Group {
    /// One value per key.
    pub(super) values: Vec<ScalarValue>,
    /// Number of rows of the group in the sample.
    pub(super) seen: u64,
}

/// The groups of some rows, in order of first occurrence.
#[derive(Debug, Default)]
pub(super) struct Groups {
    numbers: HashMap<Vec<ScalarValue>, usize>,
    groups: Vec<Group>,
    rows: u64,
}

impl Groups {
    /// Adds rows, whose columns are the keys.
    ///
    /// # Errors
    ///
    /// If a column has a type without scalar values.
    pub(super) fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        for row in 0..batch.num_rows() {
            let values = batch.columns().iter().map(|column| value(column.as_ref(), row));
            let values = values.collect::<Result<Vec<_>>>()?;
            let next = self.groups.len();
            let number = *self.numbers.entry(values).or_insert_with_key(|values| {
                self.groups.push(Group { values: values.clone(), seen: 0 });
                next
            });
            self.groups[number].seen += 1;
            self.rows += 1;
        }
        Ok(())
    }

    /// Returns the number of rows that were added.
    #[must_use]
    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns the groups, largest first.
    #[must_use]
    pub(super) fn largest_first(self) -> Vec<Group> {
        let mut groups = self.groups;
        groups.sort_by_key(|group| std::cmp::Reverse(group.seen));
        groups
    }
}

fn value(column: &dyn Array, row: usize) -> Result<ScalarValue> {
    ScalarValue::try_from_array(column, row)
}

/// Returns a condition that is TRUE for exactly the rows of a group.
pub(super) fn is_group(keys: &[Key], group: &[ScalarValue]) -> Result<Arc<dyn PhysicalExpr>> {
    let is = |(key, value): (&Key, &ScalarValue)| -> Result<Arc<dyn PhysicalExpr>> {
        match value.is_null() {
            true => is_null(Arc::clone(&key.expr)),
            false => Ok(binary(Arc::clone(&key.expr), Operator::Eq, lit(value.clone()))),
        }
    };
    Ok(all(keys.iter().zip(group).map(is).collect::<Result<_>>()?, Operator::And))
}

/// Returns a condition that is TRUE for exactly the rows of some groups.
pub(super) fn inside(
    keys: &[Key],
    groups: &[Group],
    schema: &Schema,
) -> Result<Arc<dyn PhysicalExpr>> {
    let [key] = keys else {
        let groups = groups.iter().map(|group| is_group(keys, &group.values));
        return Ok(all(groups.collect::<Result<_>>()?, Operator::Or));
    };
    let (list, null) = constants(groups);
    let mut any = Vec::new();
    if !list.is_empty() {
        any.push(in_list(Arc::clone(&key.expr), list, &false, schema)?);
    }
    if null {
        any.push(is_null(Arc::clone(&key.expr))?);
    }
    Ok(all(any, Operator::Or))
}

/// Returns a condition that is TRUE for exactly the rows of none of some groups. It uses NOT IN if the store supports
/// that.
pub(super) fn outside(
    keys: &[Key],
    groups: &[Group],
    schema: &Schema,
    not_in: bool,
) -> Result<Arc<dyn PhysicalExpr>> {
    if groups.is_empty() {
        return Ok(lit(true));
    }
    if let ([key], true) = (keys, not_in) {
        let (list, null) = constants(groups);
        if list.is_empty() {
            return is_not_null(Arc::clone(&key.expr));
        }
        // NOT IN is not TRUE for NULL.
        let others = in_list(Arc::clone(&key.expr), list, &true, schema)?;
        return Ok(match key.nullable && !null {
            true => binary(others, Operator::Or, is_null(Arc::clone(&key.expr))?),
            false => others,
        });
    }
    let differs = |(key, value): (&Key, &ScalarValue)| -> Result<Arc<dyn PhysicalExpr>> {
        if value.is_null() {
            return is_not_null(Arc::clone(&key.expr));
        }
        let other = binary(Arc::clone(&key.expr), Operator::NotEq, lit(value.clone()));
        Ok(match key.nullable {
            true => binary(other, Operator::Or, is_null(Arc::clone(&key.expr))?),
            false => other,
        })
    };
    let groups = groups.iter().map(|group| {
        let any = keys.iter().zip(&group.values).map(differs).collect::<Result<_>>()?;
        Ok(all(any, Operator::Or))
    });
    Ok(all(groups.collect::<Result<_>>()?, Operator::And))
}

/// Returns the values of a single key without NULL, and whether NULL is among them.
fn constants(groups: &[Group]) -> (Vec<Arc<dyn PhysicalExpr>>, bool) {
    let values = || groups.iter().flat_map(|group| &group.values);
    let list = values().filter(|value| !value.is_null()).map(|value| lit(value.clone()));
    (list.collect(), values().any(ScalarValue::is_null))
}

fn binary(
    left: Arc<dyn PhysicalExpr>,
    op: Operator,
    right: Arc<dyn PhysicalExpr>,
) -> Arc<dyn PhysicalExpr> {
    Arc::new(BinaryExpr::new(left, op, right))
}

/// Combines conditions by AND or OR into a balanced tree, because stores reject expressions that nest too deep.
fn all(mut conditions: Vec<Arc<dyn PhysicalExpr>>, op: Operator) -> Arc<dyn PhysicalExpr> {
    while conditions.len() > 1 {
        let mut rest = conditions.into_iter();
        let mut pairs = Vec::with_capacity(rest.len().div_ceil(2));
        while let Some(left) = rest.next() {
            pairs.push(match rest.next() {
                Some(right) => binary(left, op, right),
                None => left,
            });
        }
        conditions = pairs;
    }
    conditions.pop().unwrap_or_else(|| lit(op == Operator::And))
}

#[cfg(test)]
mod tests {
    use arrow::array::{AsArray, Int64Array, StringArray};
    use arrow::datatypes::{DataType, Field};
    use datafusion::physical_plan::expressions::Column;

    use super::*;

    fn batch() -> RecordBatch {
        let schema = Schema::new(vec![
            Field::new("a", DataType::Utf8, true),
            Field::new("b", DataType::Int64, true),
        ]);
        let texts = [Some("x"), None, Some("x"), Some(""), None, Some("x"), Some("y"), Some("x")];
        let numbers = [Some(1), Some(1), None, Some(1), None, Some(1), Some(2), Some(2)];
        let columns = [
            Arc::new(StringArray::from(texts.to_vec())) as _,
            Arc::new(Int64Array::from(numbers.to_vec())) as _,
        ];
        RecordBatch::try_new(Arc::new(schema), columns.to_vec()).unwrap()
    }

    fn keys(names: &[&str]) -> Vec<Key> {
        let key = |name: &&str| Key {
            expr: Arc::new(Column::new_with_schema(name, &batch().schema()).unwrap()),
            name: (*name).to_owned(),
            nullable: true,
        };
        names.iter().map(key).collect()
    }

    fn found(names: &[&str]) -> Vec<Group> {
        let batch = batch();
        let columns: Vec<_> =
            names.iter().map(|name| batch.schema().index_of(name).unwrap()).collect();
        let mut groups = Groups::default();
        groups.add(&batch.project(&columns).unwrap()).unwrap();
        assert_eq!(groups.rows(), 8);
        groups.largest_first()
    }

    fn rows(condition: &Arc<dyn PhysicalExpr>) -> Vec<usize> {
        let batch = batch();
        let verdicts = condition.evaluate(&batch).unwrap().into_array(8).unwrap();
        let verdicts = verdicts.as_boolean();
        (0..8).filter(|row| verdicts.is_valid(*row) && verdicts.value(*row)).collect()
    }

    #[test]
    fn every_row_is_in_one_group_and_inside_or_outside_of_some() {
        for (names, count) in [(&["a"][..], 4), (&["b"], 3), (&["a", "b"], 7), (&["b", "a"], 7)] {
            let (keys, groups) = (keys(names), found(names));
            assert_eq!(groups.len(), count, "{names:?}");
            let mut seen = Vec::new();
            for group in &groups {
                let members = rows(&is_group(&keys, &group.values).unwrap());
                assert_eq!(members.len() as u64, group.seen, "{group:?}");
                seen.extend(members);
            }
            seen.sort_unstable();
            assert_eq!(seen, (0..8).collect::<Vec<_>>());
            let schema = batch().schema();
            for some in 0..1_usize << count {
                let chosen = groups.iter().enumerate().filter(|(i, _)| some & (1 << i) != 0);
                let chosen: Vec<Group> = chosen.map(|(_, group)| group.clone()).collect();
                for not_in in [true, false] {
                    let mut within = rows(&inside(&keys, &chosen, &schema).unwrap());
                    within.extend(rows(&outside(&keys, &chosen, &schema, not_in).unwrap()));
                    within.sort_unstable();
                    assert_eq!(within, (0..8).collect::<Vec<_>>(), "{chosen:?}");
                }
            }
        }
    }

    #[test]
    fn the_largest_group_comes_first() {
        let groups = found(&["a"]);
        let sizes: Vec<_> = groups.iter().map(|group| group.seen).collect();
        assert_eq!(sizes, [4, 2, 1, 1]);
        assert_eq!(groups[1].values, [ScalarValue::Utf8(None)]);
    }
}
