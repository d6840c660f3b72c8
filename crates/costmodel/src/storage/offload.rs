//! What a device does of a stage.

use std::collections::BTreeSet;
use std::fmt;

use serde::Deserialize;

use super::Stage;

/// Work that a device may take from the host, in the order in which a device would do it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// Reads, decompresses and decodes: the whole scan.
    Decode,
    /// Filters and projects.
    Filter,
    /// Drops rows without a match in a small table, which the host sends first. The host still joins the others.
    SemiJoin,
    /// Aggregates the rows of a scan, in parts.
    Aggregate,
}

impl Operation {
    /// All operations.
    pub const ALL: [Self; 4] = [Self::Decode, Self::Filter, Self::SemiJoin, Self::Aggregate];

    /// The operation's name in device files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Decode => "decode",
            Self::Filter => "filter",
            Self::SemiJoin => "semi-join",
            Self::Aggregate => "aggregate",
        }
    }
}

/// The operations of a device. The default is the paper's: scan, filter and project.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Vec<Operation>")]
pub struct Offloads(BTreeSet<Operation>);

impl Default for Offloads {
    fn default() -> Self {
        Self([Operation::Decode, Operation::Filter].into())
    }
}

impl TryFrom<Vec<Operation>> for Offloads {
    type Error = &'static str;

    fn try_from(operations: Vec<Operation>) -> Result<Self, Self::Error> {
        let all: BTreeSet<_> = operations.into_iter().collect();
        if !all.contains(&Operation::Decode) {
            return Err("must have `decode`: a device cannot work on encoded rows");
        }
        if all.len() > 1 && !all.contains(&Operation::Filter) {
            return Err("must have `filter` below `semi-join` and `aggregate`");
        }
        Ok(Self(all))
    }
}

impl Offloads {
    /// Returns true if the device does this.
    #[must_use]
    pub fn has(&self, operation: Operation) -> bool {
        self.0.contains(&operation)
    }
}

/// The names in sentences: `scan, filter and project`.
impl fmt::Display for Offloads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words = vec!["scan"];
        if self.has(Operation::Filter) {
            words.extend(["filter", "project"]);
        }
        if self.has(Operation::SemiJoin) {
            words.push("semi-join");
        }
        if self.has(Operation::Aggregate) {
            words.push("aggregate");
        }
        match words.split_last() {
            Some((last, first)) if !first.is_empty() => {
                write!(f, "{} and {last}", first.join(", "))
            }
            _ => f.write_str(&words.concat()),
        }
    }
}

/// A join of a scan's rows with a small table. A device can drop the rows that have no match.
#[derive(Debug, Clone, PartialEq, Default, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub struct SemiJoin {
    /// Bytes of the small table's rows, which the host sends to the device.
    pub build_bytes: f64,
    /// Thread seconds of the join for rows that have no match.
    pub seconds: f64,
    /// Bytes of these rows, which the device does not send.
    pub dropped_bytes: f64,
}

/// The part of a stage that a device does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Part {
    /// Thread seconds that the host no longer spends.
    pub(super) thread_seconds: f64,
    /// Bytes that the device sends.
    pub(super) sent: f64,
    /// Bytes that the host sends to the device first.
    pub(super) keys: f64,
}

impl Stage {
    /// The part of the stage that a device does. It takes joins with tables of up to `semi_join_bytes`.
    pub(super) fn part(&self, offloads: &Offloads, semi_join_bytes: f64) -> Part {
        let mut part = Part {
            thread_seconds: self.scan_seconds,
            sent: self.scanned_bytes.max(self.result_bytes),
            keys: 0.0,
        };
        if offloads.has(Operation::Filter) {
            part.thread_seconds += self.filter_project_seconds;
            part.sent = self.result_bytes;
        }
        if offloads.has(Operation::SemiJoin) {
            for join in self.semi_joins.iter().filter(|it| it.build_bytes <= semi_join_bytes) {
                part.thread_seconds += join.seconds;
                part.sent -= join.dropped_bytes;
                part.keys += join.build_bytes;
            }
        }
        if offloads.has(Operation::Aggregate) {
            part.thread_seconds += self.aggregate_seconds;
            part.sent -= self.aggregate_dropped_bytes;
        }
        Part { sent: part.sent.max(0.0), ..part }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offloads(operations: &[Operation]) -> Result<Offloads, &'static str> {
        Offloads::try_from(operations.to_vec())
    }

    #[test]
    fn operations_build_on_each_other() {
        use Operation::{Aggregate, Decode, Filter, SemiJoin};
        for (operations, words) in [
            (&[Decode][..], "scan"),
            (&[Filter, Decode], "scan, filter and project"),
            (&[Decode, Filter, Aggregate], "scan, filter, project and aggregate"),
            (&Operation::ALL, "scan, filter, project, semi-join and aggregate"),
        ] {
            assert_eq!(offloads(operations).unwrap().to_string(), words);
        }
        assert_eq!(offloads(&[Decode, Filter]), Ok(Offloads::default()));
        assert!(offloads(&[Filter, SemiJoin]).unwrap_err().starts_with("must have `decode`"));
        assert!(offloads(&[]).is_err());
        assert!(offloads(&[Decode, Aggregate]).unwrap_err().starts_with("must have `filter`"));
    }

    #[test]
    fn each_operation_takes_its_seconds_and_bytes() {
        use Operation::{Aggregate, Decode, Filter, SemiJoin};
        let join = |build_bytes| super::SemiJoin { build_bytes, seconds: 3.0, dropped_bytes: 30.0 };
        let stage = Stage {
            scan_seconds: 10.0,
            filter_project_seconds: 1.0,
            scanned_bytes: 1000.0,
            result_bytes: 100.0,
            semi_joins: vec![join(5.0), join(500.0)],
            aggregate_seconds: 7.0,
            aggregate_dropped_bytes: 90.0,
            ..Stage::default()
        };
        let part = |operations: &[Operation]| {
            let part = stage.part(&offloads(operations).unwrap(), 50.0);
            (part.thread_seconds, part.sent, part.keys)
        };
        assert_eq!(part(&[Decode]), (10.0, 1000.0, 0.0));
        assert_eq!(part(&[Decode, Filter]), (11.0, 100.0, 0.0));
        // The larger of the two tables is beyond the device's limit.
        assert_eq!(part(&[Decode, Filter, SemiJoin]), (14.0, 70.0, 5.0));
        assert_eq!(part(&[Decode, Filter, Aggregate]), (18.0, 10.0, 0.0));
        assert_eq!(part(&Operation::ALL), (21.0, 0.0, 5.0));
    }
}
