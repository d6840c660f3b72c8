//! Summaries of a column's statistics over several objects, for display.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Float64Array, RecordBatch, StringArray, UInt64Array};
use arrow::datatypes::{Field, Schema};
use datafusion::common::{Result, ScalarValue};

use super::sketch::Sketch;
use super::{ColumnStatistics, ObjectStatistics};
use sluicegate_guards::sql_types::readable;

/// One line of the display: a column.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// Name of the column.
    pub column: String,
    /// Arrow's name for the column's type.
    pub data_type: String,
    /// Share of the rows that are NULL.
    pub nulls: f64,
    /// Approximate number of distinct values among the rows that were read.
    pub distinct: f64,
    /// The least value, as text.
    pub min: Option<String>,
    /// The greatest value, as text.
    pub max: Option<String>,
    /// Mean bytes of a value as text.
    pub width: f64,
    /// The most frequent value and its share of the rows.
    pub frequent: Option<String>,
    /// The order of the rows in each object.
    pub order: String,
}

impl Summary {
    /// Summarizes a column over the objects that have statistics of it.
    #[must_use]
    pub fn for_column(
        position: usize,
        name: &str,
        data_type: &str,
        objects: &[Arc<ObjectStatistics>],
    ) -> Self {
        let known: Vec<(&ObjectStatistics, &ColumnStatistics)> = objects
            .iter()
            .filter_map(|it| Some((it.as_ref(), it.column(position, name, data_type)?)))
            .collect();
        let rows: f64 = known.iter().map(|(object, _)| object.rows as f64).sum();
        let mean = |of: &dyn Fn(&ObjectStatistics, &ColumnStatistics) -> f64| {
            let sum: f64 = known.iter().map(|(o, c)| o.rows as f64 * of(o, c)).sum();
            if rows > 0.0 { sum / rows } else { 0.0 }
        };
        let least = known.iter().filter_map(|(_, column)| column.min.as_ref());
        let greatest = known.iter().filter_map(|(_, column)| column.max.as_ref());
        let orders: BTreeSet<&str> = known.iter().map(|(_, column)| column.order()).collect();
        Self {
            column: name.to_owned(),
            data_type: data_type.to_owned(),
            nulls: mean(&|object, column| column.nulls as f64 / object.seen.max(1) as f64),
            distinct: Sketch::count_of(known.iter().map(|(_, it)| &it.distinct)).round(),
            min: least.reduce(|a, b| if b < a { b } else { a }).map(ToString::to_string),
            max: greatest.reduce(|a, b| if b > a { b } else { a }).map(ToString::to_string),
            width: mean(&|_, column| column.width),
            frequent: frequent(&known)
                .map(|(value, count)| format!("{value} ({:.1} %)", 100.0 * count / rows.max(1.0))),
            order: orders.into_iter().collect::<Vec<_>>().join(", "),
        }
    }

    /// Summarizes all columns of the objects. Columns of different tables over the same objects get a line each.
    #[must_use]
    pub fn of_all(objects: &[Arc<ObjectStatistics>]) -> Vec<Self> {
        let columns: BTreeSet<(usize, &str, &str)> = objects
            .iter()
            .flat_map(|object| &object.columns)
            .map(|it| (it.position, it.name.as_str(), it.data_type.as_str()))
            .collect();
        let of = |(position, name, data_type)| Self::for_column(position, name, data_type, objects);
        columns.into_iter().map(of).collect()
    }

    /// Returns the lines as an answer. `rows` is the number of rows of the table.
    ///
    /// # Errors
    ///
    /// Never, because all columns have the same length.
    pub fn batch(lines: &[Self], rows: u64) -> Result<RecordBatch> {
        let text = |of: &dyn Fn(&Self) -> Option<String>| -> ArrayRef {
            Arc::new(lines.iter().map(of).collect::<StringArray>())
        };
        let count = |of: &dyn Fn(&Self) -> f64| -> ArrayRef {
            Arc::new(lines.iter().map(|it| Some(of(it).round() as u64)).collect::<UInt64Array>())
        };
        let width: Float64Array =
            lines.iter().map(|line| Some((line.width * 10.0).round() / 10.0)).collect();
        let columns: [(&str, ArrayRef); 10] = [
            ("column", text(&|line| Some(line.column.clone()))),
            ("type", text(&|line| Some(readable(&line.data_type).into_owned()))),
            ("rows", count(&|_| rows as f64)),
            ("nulls", count(&|line| line.nulls * rows as f64)),
            ("distinct", count(&|line| line.distinct)),
            ("min", text(&|line| line.min.clone())),
            ("max", text(&|line| line.max.clone())),
            ("width", Arc::new(width)),
            ("frequent", text(&|line| line.frequent.clone())),
            ("order", text(&|line| Some(line.order.clone()))),
        ];
        let fields = columns
            .iter()
            .map(|(name, values)| Field::new(*name, values.data_type().clone(), true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let values = columns.into_iter().map(|(_, values)| values).collect();
        Ok(RecordBatch::try_new(schema, values)?)
    }
}

/// Returns the most frequent value, and the number of its rows.
fn frequent<'a>(
    known: &[(&ObjectStatistics, &'a ColumnStatistics)],
) -> Option<(&'a ScalarValue, f64)> {
    let mut all: Vec<(&ScalarValue, f64)> = Vec::new();
    for (object, column) in known {
        for (value, share) in &column.heavy {
            let rows = share * object.rows as f64;
            match all.iter_mut().find(|(known, _)| *known == value) {
                Some((_, count)) => *count += rows,
                None => all.push((value, rows)),
            }
        }
    }
    all.into_iter().max_by(|(_, a), (_, b)| a.total_cmp(b))
}
