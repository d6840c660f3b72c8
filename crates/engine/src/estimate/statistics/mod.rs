//! Statistics about the values of a table's objects: rows and NULLs, widths, distinct and frequent values,
//! distribution and order.
//!
//! They come from ANALYZE TABLE, which reads whole objects ([`collect`], [`sketch`]), or from a sample of a few
//! objects, taken when a table is first planned ([`sample`]). Both are stored per version of an object ([`cache`]),
//! in memory and, if the engine has a folder, in files ([`message`]). For Parquet objects the statistics come from
//! footers ([`footers`]), which also contain the bytes of each column ([`column_layouts`]), its bounds in each row
//! group (`row_group_bounds`) and estimates of its values (`footer_values`). [`table`] combines the statistics of a
//! table's objects, [`estimate`] derives the share of rows that pass a filter, and [`summary`]
//! prepares them for display.
//!
//! **Statistics only estimate.** A file may be damaged, old or forged, so no row and no object is left out because of
//! statistics. DataFusion gets them as inexact ([`table`]). It does not get the least and greatest values, from which
//! it might conclude that a column has only one value.

pub mod cache;
pub mod collect;
pub mod column_layouts;
mod distinct_values;
pub mod estimate;
mod footer_values;
pub mod footers;
pub mod message;
mod row_group_bounds;
pub mod sample;
pub mod sketch;
pub mod summary;
pub mod table;

use std::fmt;

use datafusion::common::ScalarValue;

pub(crate) use self::distinct_values::distinct_of;
use self::sketch::Sketch;

/// The object that statistics are about, and the way in which it is read.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StatisticsKey {
    /// The store: its URL, or AWS and its region.
    pub store: String,
    /// URL of the object, as a user would write it.
    pub url: String,
    /// Tag of the options that its table reads it with.
    pub format: String,
}

/// The source of statistics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// A part of the object was read.
    Sample,
    /// The footer of a Parquet object was read. Such statistics are kept in memory only.
    Footer,
    /// ANALYZE TABLE read the whole object.
    Analyze,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sample => "sample",
            Self::Footer => "footer",
            Self::Analyze => "ANALYZE",
        })
    }
}

/// Statistics of one version of an object.
#[derive(Debug, Clone, PartialEq)]
pub struct ObjectStatistics {
    /// The object, and how it is read.
    pub about: StatisticsKey,
    /// Entity tag of the object, without quotes.
    pub e_tag: String,
    /// Size of the object in bytes.
    pub size: u64,
    /// Source of the statistics.
    pub origin: Origin,
    /// Time of collection, in seconds since 1970, UTC.
    pub taken: u64,
    /// Number of rows; estimated from a sample.
    pub rows: u64,
    /// Number of rows that were read.
    pub seen: u64,
    /// Columns with statistics, which contain their position in the table.
    pub columns: Vec<ColumnStatistics>,
}

impl ObjectStatistics {
    /// Returns statistics of no object, for tests.
    #[cfg(test)]
    pub(super) fn none() -> Self {
        let about =
            StatisticsKey { store: String::new(), url: String::new(), format: String::new() };
        Self {
            about,
            e_tag: String::new(),
            size: 0,
            origin: Origin::Footer,
            taken: 0,
            rows: 0,
            seen: 0,
            columns: Vec::new(),
        }
    }

    /// Returns the statistics of a column of the table, if the name and type agree.
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

/// Statistics of a column of an object.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnStatistics {
    /// Index of the column among the columns of the objects.
    pub position: usize,
    /// Name of the column.
    pub name: String,
    /// Arrow's name for the column's type.
    pub data_type: String,
    /// Number of NULLs among the rows that were read.
    pub nulls: u64,
    /// Mean bytes of a value as text.
    pub width: f64,
    /// The least value; a long text is cut.
    pub min: Option<ScalarValue>,
    /// The greatest value; a long text is cut.
    pub max: Option<ScalarValue>,
    /// Sketch of the distinct values.
    pub distinct: Sketch,
    /// The approximate number of distinct values if it follows from a footer. The sketch is then empty.
    pub counted: Option<f64>,
    /// Bounds of a histogram of the values that are not heavy, from the least to the greatest. They split these
    /// values into equal shares. Empty if all values are heavy.
    pub bounds: Vec<ScalarValue>,
    /// Frequent values with their share of the rows, most frequent first.
    pub heavy: Vec<(ScalarValue, f64)>,
    /// Share of the values that are not less than the value before.
    pub ascending: f64,
    /// Correlation of the order of rows and the order of values, from -1 to 1.
    pub correlation: f64,
}

/// Correlation from which values are called clustered.
const CLUSTERED: f64 = 0.5;

impl ColumnStatistics {
    /// Returns statistics of a column without values, for tests.
    #[cfg(test)]
    pub(super) fn none() -> Self {
        Self {
            position: 0,
            name: String::new(),
            data_type: String::new(),
            nulls: 0,
            width: 0.0,
            min: None,
            max: None,
            distinct: Sketch::new().unwrap(),
            counted: None,
            bounds: Vec::new(),
            heavy: Vec::new(),
            ascending: 0.5,
            correlation: 0.0,
        }
    }

    /// Returns the approximate number of distinct values.
    #[must_use]
    pub fn distinct_values(&self) -> f64 {
        self.counted.unwrap_or_else(|| self.distinct.count())
    }

    /// Returns a word for the order of the rows.
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
