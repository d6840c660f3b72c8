//! Rules row groups out by their statistics.

use std::cmp::Ordering;

use arrow::array::{Array, ArrayRef};
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;

use super::convert;
use super::schema::ParquetFile;
use crate::dialect::ast::BinaryOp;
use crate::evaluate::program::Condition;
use crate::evaluate::vector::{Kind, Vector};
use crate::value::{self, Value};

/// The row groups among `groups` that may hold a row that meets all conditions.
pub(super) fn prune(
    file: &ParquetFile,
    groups: Vec<usize>,
    conditions: &[Condition],
) -> Vec<usize> {
    let mut groups = groups;
    for condition in conditions {
        if let Some(bounds) = Bounds::read(file, condition, &groups) {
            let mut at = 0;
            groups.retain(|_| {
                at += 1;
                bounds.may_hold(at - 1, condition)
            });
        }
    }
    groups
}

/// The least and the greatest values of a column, by row group.
struct Bounds {
    mins: ArrayRef,
    maxes: ArrayRef,
    /// Floats leave NaN, the greatest of them, out of their statistics.
    is_float: bool,
}

impl Bounds {
    fn read(file: &ParquetFile, condition: &Condition, groups: &[usize]) -> Option<Self> {
        let column = file.columns.get(condition.column).filter(|column| column.path.is_empty())?;
        let field = &file.schema().fields()[column.root];
        let kind = convert::kind(field.data_type());
        if kind == Kind::Dynamic {
            return None;
        }
        let metadata = file.metadata.metadata();
        let chosen = || groups.iter().map(|group| metadata.row_group(*group));
        let converter = StatisticsConverter::try_new(
            field.name(),
            file.schema(),
            file.metadata.parquet_schema(),
        )
        .ok()?;
        let leaf = converter.parquet_column_index()?;
        // The old fields of text were ordered by signed bytes.
        let deprecated = chosen().any(|group| {
            group
                .column(leaf)
                .statistics()
                .is_some_and(|statistics| statistics.is_min_max_deprecated())
        });
        if deprecated {
            return None;
        }
        Some(Self {
            mins: converter.row_group_mins(chosen()).ok()?,
            maxes: converter.row_group_maxes(chosen()).ok()?,
            is_float: kind == Kind::Float,
        })
    }

    fn may_hold(&self, group: usize, condition: &Condition) -> bool {
        let bound = |bounds: &ArrayRef| {
            if group >= bounds.len() || bounds.is_null(group) {
                return None;
            }
            let mut vector = Vector::default();
            convert::fill(&bounds.slice(group, 1), &mut vector).ok()?;
            let bound = vector.value(0, &[])?;
            let is_nan = matches!(bound, Value::Float(float) if float.is_nan());
            (!is_nan).then(|| value::compare(&bound, &condition.value)).flatten()
        };
        let (min, max) = (bound(&self.mins), bound(&self.maxes));
        let is_nan = matches!(condition.value, Value::Float(float) if float.is_nan());
        let ruled_out = match condition.op {
            BinaryOp::Eq => {
                min.is_some_and(Ordering::is_gt) || (!is_nan && max.is_some_and(Ordering::is_lt))
            }
            BinaryOp::Lt => min.is_some_and(Ordering::is_ge),
            BinaryOp::LtEq => min.is_some_and(Ordering::is_gt),
            BinaryOp::Gt => !self.is_float && max.is_some_and(Ordering::is_le),
            BinaryOp::GtEq => !self.is_float && max.is_some_and(Ordering::is_lt),
            _ => false,
        };
        !ruled_out
    }
}
