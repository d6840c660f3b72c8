//! The exactness of a store's results: how far each can be trusted.

use serde::{Deserialize, Serialize};

use super::{DataFormat, TypeClass};

/// The degree to which a store's result of an operation can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exactness {
    /// The result is unreliable, so the operation must not be sent.
    No,
    /// A filter may keep rows that it should drop, but drops none that it should keep. The client filters the rows
    /// again.
    ///
    /// For anything but a filter, such as an aggregate, this is no better than [`Exactness::No`].
    Superset,
    /// The result equals SQL's and that of this project's own evaluator.
    Exact,
}

/// An operation of a statement on values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Returning a column's text as it is in the object.
    Project,
    /// `x = y`, equality
    Equal,
    /// `x != y`, inequality
    NotEqual,
    /// `x < y`, `x <= y`, `x > y`, `x >= y` and `x BETWEEN y AND z`
    Order,
    /// `x IN (…)`, membership
    In,
    /// `x LIKE y`, a pattern
    Like,
    /// `x IS NULL`, or `x = ''` if absent values look like that
    IsNull,
    /// `+ - * / %` on numbers
    Arithmetic,
    /// A CAST whose value is returned
    Cast,
    /// Functions of text and dates
    Function,
    /// `COUNT(*)`, for which the class does not matter
    CountRows,
    /// `COUNT(x)`, the number of values
    Count,
    /// `SUM(x)`; a sum of floats is exact up to the order of its additions
    Sum,
    /// `MIN(x)` and `MAX(x)`
    MinMax,
    /// `AVG(x)`, the mean
    Avg,
}

impl Operation {
    /// All operations of the enum.
    pub const ALL: [Self; 15] = [
        Self::Project,
        Self::Equal,
        Self::NotEqual,
        Self::Order,
        Self::In,
        Self::Like,
        Self::IsNull,
        Self::Arithmetic,
        Self::Cast,
        Self::Function,
        Self::CountRows,
        Self::Count,
        Self::Sum,
        Self::MinMax,
        Self::Avg,
    ];
}

/// The exactness of some operations on values of some classes. If several rules cover a case, the first one applies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExactnessRule {
    /// The formats of objects that the rule covers; empty for all.
    #[serde(default)]
    pub formats: Vec<DataFormat>,
    /// The operations that the rule covers; empty for all.
    #[serde(default)]
    pub operations: Vec<Operation>,
    /// The classes of values that the rule covers; empty for all.
    #[serde(default)]
    pub classes: Vec<TypeClass>,
    /// The exactness in the covered cases.
    pub exactness: Exactness,
}

impl ExactnessRule {
    /// A rule that covers all formats.
    pub fn new(operations: &[Operation], classes: &[TypeClass], exactness: Exactness) -> Self {
        Self {
            formats: vec![],
            operations: operations.to_vec(),
            classes: classes.to_vec(),
            exactness,
        }
    }

    /// Restricts the rule to objects of some formats.
    #[must_use]
    pub fn only(mut self, formats: &[DataFormat]) -> Self {
        self.formats = formats.to_vec();
        self
    }

    pub(super) fn covers(
        &self,
        format: DataFormat,
        operation: Operation,
        class: TypeClass,
    ) -> bool {
        fn is_in<T: PartialEq>(list: &[T], item: &T) -> bool {
            list.is_empty() || list.contains(item)
        }
        is_in(&self.formats, &format)
            && is_in(&self.operations, &operation)
            && is_in(&self.classes, &class)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_list_covers_everything() {
        let all = ExactnessRule::new(&[], &[], Exactness::Exact);
        let some = ExactnessRule::new(&[Operation::Sum], &[TypeClass::Int], Exactness::Exact);
        let csv = some.clone().only(&[DataFormat::Csv]);
        for operation in Operation::ALL {
            for class in TypeClass::ALL {
                let is_sum = operation == Operation::Sum && class == TypeClass::Int;
                for format in [DataFormat::Csv, DataFormat::Parquet] {
                    assert!(all.covers(format, operation, class));
                    assert_eq!(some.covers(format, operation, class), is_sum);
                    let in_csv = is_sum && format == DataFormat::Csv;
                    assert_eq!(csv.covers(format, operation, class), in_csv);
                }
            }
        }
    }

    #[test]
    fn more_exact_is_greater() {
        assert!(Exactness::No < Exactness::Superset && Exactness::Superset < Exactness::Exact);
    }
}
