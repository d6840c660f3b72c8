//! How far what a store computes can be trusted.

use serde::{Deserialize, Serialize};

use super::{DataFormat, TypeClass};

/// How far what a store computes can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exactness {
    /// Not at all: it must not be sent.
    No,
    /// Sufficient for a filter whose rows are filtered again here: it may keep rows that it should
    /// drop, but drops none that it should keep. It is not sufficient for anything else; for an
    /// aggregate it is no better than [`Exactness::No`].
    Superset,
    /// As SQL defines it, and as our own evaluator computes it.
    Exact,
}

/// An operation on values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Sending a column's text back as it is in the object.
    Project,
    /// `x = y`
    Equal,
    /// `x != y`
    NotEqual,
    /// `x < y`, `x <= y`, `x > y`, `x >= y`, `x BETWEEN y AND z`
    Order,
    /// `x IN (…)`
    In,
    /// `x LIKE y`
    Like,
    /// `x IS NULL`, or `x = ''` where that is what an absent value looks like.
    IsNull,
    /// `+ - * / %`
    Arithmetic,
    /// A CAST whose value is sent back.
    Cast,
    /// Functions of text and dates.
    Function,
    /// `COUNT(*)`; the class does not matter.
    CountRows,
    /// `COUNT(x)`
    Count,
    /// `SUM(x)`. A sum of floats is exact up to the order of its additions.
    Sum,
    /// `MIN(x)`, `MAX(x)`
    MinMax,
    /// `AVG(x)`
    Avg,
}

impl Operation {
    /// All operations.
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

/// How exact some operations are on values of some classes. If several rules cover a case, the first
/// one applies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExactnessRule {
    /// The formats of objects that it covers; empty for all.
    #[serde(default)]
    pub formats: Vec<DataFormat>,
    /// The operations; empty for all.
    #[serde(default)]
    pub operations: Vec<Operation>,
    /// The classes; empty for all.
    #[serde(default)]
    pub classes: Vec<TypeClass>,
    /// How exact they are.
    pub exactness: Exactness,
}

impl ExactnessRule {
    /// A rule for all formats.
    pub fn new(operations: &[Operation], classes: &[TypeClass], exactness: Exactness) -> Self {
        Self {
            formats: vec![],
            operations: operations.to_vec(),
            classes: classes.to_vec(),
            exactness,
        }
    }

    /// The same rule for objects of some formats only.
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
