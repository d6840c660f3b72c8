//! How far what a store computes can be trusted.

use serde::{Deserialize, Serialize};

use super::{DataFormat, TypeClass};

/// How far what a store computes can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exactness {
    /// Not at all: not to be sent.
    No,
    /// Good for a filter whose rows are filtered again here: it may keep rows that it should
    /// drop, and drops none that it should keep. Nothing that is not filtered again may rest on
    /// it, so for a function of many rows this is as good as [`Exactness::No`].
    Superset,
    /// As SQL says, and as this crate's own evaluator does it.
    Exact,
}

/// What can be done with values.
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

/// How exact some operations are on values of some classes. Of several rules that cover a case,
/// the first holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExactnessRule {
    /// The formats of objects it is about; empty is all.
    #[serde(default)]
    pub formats: Vec<DataFormat>,
    /// The operations; empty is all.
    #[serde(default)]
    pub operations: Vec<Operation>,
    /// The classes; empty is all.
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

    /// The same for objects of some formats.
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
