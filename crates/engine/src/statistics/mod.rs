//! What is known about the values of a table's objects: how many rows and NULLs, how wide, how many
//! distinct, which are frequent, how they are spread and in which order.
//!
//! It comes from ANALYZE TABLE, which reads whole objects ([`analyze`]), or from a sample of a few of
//! them, which is taken when a table is first planned ([`sample`]). Either is kept by the version of the
//! object ([`known`]), in memory and, if the engine is given a folder, in files. Of Parquet objects it is
//! in their footers ([`footers`]), which also tell how many bytes each column takes ([`stored`]).
//!
//! **Statistics are never relied on.** A file may be damaged, old or a lie, so they only estimate:
//! DataFusion is offered them as inexact, and without the least and greatest values, from which it
//! would conclude that a column has one value only ([`table`]). No row and no object is left out
//! because of them.

pub mod analyze;
pub mod collect;
mod drawn;
pub mod estimate;
pub mod footers;
pub mod known;
pub mod message;
pub mod sample;
pub mod sketch;
pub mod stored;
pub mod summary;
pub mod table;

use std::fmt;

use datafusion::common::ScalarValue;

pub(crate) use self::drawn::distinct_of;
use self::sketch::Sketch;

/// Which object statistics are about, and how it is read.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct About {
    /// The store: its URL, or AWS and its region.
    pub store: String,
    /// The object, as a user would write it.
    pub url: String,
    /// What stands for the options that its table reads it with.
    pub format: String,
}

/// Where statistics come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// A part of the object.
    Sample,
    /// The whole object, by ANALYZE TABLE.
    Analyze,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sample => "sample",
            Self::Analyze => "ANALYZE",
        })
    }
}

/// Statistics of one version of an object.
#[derive(Debug, Clone, PartialEq)]
pub struct ObjectStatistics {
    /// The object.
    pub about: About,
    /// Its entity tag, without quotes.
    pub e_tag: String,
    /// Its bytes.
    pub size: u64,
    /// Where they come from.
    pub origin: Origin,
    /// When, in seconds since 1970, UTC.
    pub taken: u64,
    /// Its rows; estimated if they come from a sample.
    pub rows: u64,
    /// The rows that were looked at.
    pub seen: u64,
    /// The columns that are known, by their place in the table.
    pub columns: Vec<ColumnStatistics>,
}

impl ObjectStatistics {
    /// What is known about a column of the table.
    #[must_use]
    pub fn column(
        &self,
        position: usize,
        name: &str,
        data_type: &str,
    ) -> Option<&ColumnStatistics> {
        let found = self.columns.iter().find(|column| column.position == position)?;
        (found.name == name && found.data_type == data_type).then_some(found)
    }
}

/// What is known about a column of an object.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnStatistics {
    /// Its place among the columns of the objects.
    pub position: usize,
    /// Its name.
    pub name: String,
    /// Its type, as Arrow writes it.
    pub data_type: String,
    /// NULLs among the rows that were looked at.
    pub nulls: u64,
    /// Mean bytes of a value as text.
    pub width: f64,
    /// The least value; a long text is cut.
    pub min: Option<ScalarValue>,
    /// The greatest value; a long text is cut.
    pub max: Option<ScalarValue>,
    /// The distinct values.
    pub distinct: Sketch,
    /// Values that part the others, heavy ones apart, into shares of the same size, with the least
    /// first and the greatest last; none if there are no others.
    pub bounds: Vec<ScalarValue>,
    /// Frequent values with their share of the rows, the most frequent first.
    pub heavy: Vec<(ScalarValue, f64)>,
    /// Of neighbouring values, the share whose second is not less than the first.
    pub ascending: f64,
    /// How far the order of the rows is that of the values, from -1 to 1.
    pub correlation: f64,
}

/// The correlation of rows and values from which these are called clustered.
const CLUSTERED: f64 = 0.5;

impl ColumnStatistics {
    /// The order of the rows, in words.
    #[must_use]
    pub fn order(&self) -> &'static str {
        match self.correlation {
            _ if self.ascending >= 1.0 => "sorted",
            it if it >= 0.99 => "nearly sorted",
            it if it <= -0.99 => "descending",
            it if it.abs() >= CLUSTERED => "clustered",
            _ => "random",
        }
    }
}
