//! Operators of plans by kind, and their numbers (ICPE 2020, Fig. 12 and Tables 2 and 3).

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// A kind of operator, in the order in which counts are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OperatorKind {
    /// Reads a table.
    Scan,
    /// Keeps some of the rows.
    Filter,
    /// Computes columns. Choosing columns is a part of other operators.
    Project,
    /// Groups and sums. The parts that run before and after an exchange count separately.
    Aggregate,
    /// Joins of any type, by any algorithm.
    Join,
    /// Sorts, including those that keep only the first rows.
    Sort,
    /// Window functions.
    Window,
    /// Appends inputs to each other.
    Union,
    /// Keeps the first rows.
    Limit,
    /// Moves rows between threads or machines: repartitions, gathers or merges.
    Exchange,
    /// Anything else that computes.
    Other,
}

impl OperatorKind {
    const ALL: [Self; 11] = [
        Self::Scan,
        Self::Filter,
        Self::Project,
        Self::Aggregate,
        Self::Join,
        Self::Sort,
        Self::Window,
        Self::Union,
        Self::Limit,
        Self::Exchange,
        Self::Other,
    ];

    /// The kind's name for a number of operators.
    fn name(self, count: u64) -> &'static str {
        let (one, several) = match self {
            Self::Scan => ("scan", "scans"),
            Self::Filter => ("filter", "filters"),
            Self::Project => ("project", "projects"),
            Self::Aggregate => ("aggregate", "aggregates"),
            Self::Join => ("join", "joins"),
            Self::Sort => ("sort", "sorts"),
            Self::Window => ("window", "windows"),
            Self::Union => ("union", "unions"),
            Self::Limit => ("limit", "limits"),
            Self::Exchange => ("exchange", "exchanges"),
            Self::Other => ("other", "others"),
        };
        if count == 1 { one } else { several }
    }
}

/// The numbers of operators of a plan or a stage. Displayed as `3 scans, 1 join`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(transparent)]
pub struct OperatorCounts(BTreeMap<OperatorKind, u64>);

impl OperatorCounts {
    /// Counts one more operator.
    pub fn add(&mut self, kind: OperatorKind) {
        *self.0.entry(kind).or_default() += 1;
    }

    /// The number of operators of a kind.
    #[must_use]
    pub fn of(&self, kind: OperatorKind) -> u64 {
        self.0.get(&kind).copied().unwrap_or_default()
    }

    /// True if nothing was counted, as in logs that have no plan.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.values().all(|count| *count == 0)
    }
}

impl<'a> std::iter::Sum<&'a Self> for OperatorCounts {
    fn sum<I: Iterator<Item = &'a Self>>(all: I) -> Self {
        let mut sum = Self::default();
        for (kind, count) in all.flat_map(|counts| &counts.0) {
            let total = sum.0.entry(*kind).or_default();
            *total = total.saturating_add(*count);
        }
        sum
    }
}

impl fmt::Display for OperatorCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counted = OperatorKind::ALL.map(|kind| (kind, self.of(kind)));
        let mut separator = "";
        for (kind, count) in counted.into_iter().filter(|(_, count)| *count > 0) {
            write!(f, "{separator}{count} {}", kind.name(count))?;
            separator = ", ";
        }
        if separator.is_empty() { f.write_str("no operators") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_summed_and_shown_in_order() {
        let mut one = OperatorCounts::default();
        assert_eq!((one.is_empty(), one.to_string().as_str()), (true, "no operators"));
        for kind in [OperatorKind::Join, OperatorKind::Scan, OperatorKind::Scan] {
            one.add(kind);
        }
        let mut other = OperatorCounts::default();
        OperatorKind::ALL.into_iter().for_each(|kind| other.add(kind));
        let sum: OperatorCounts = [&one, &other].into_iter().sum();
        assert_eq!(one.to_string(), "2 scans, 1 join");
        assert_eq!(
            sum.to_string(),
            "3 scans, 1 filter, 1 project, 1 aggregate, 2 joins, 1 sort, 1 window, 1 union, 1 limit, \
             1 exchange, 1 other"
        );
        assert_eq!((sum.of(OperatorKind::Scan), one.of(OperatorKind::Sort)), (3, 0));
    }
}
