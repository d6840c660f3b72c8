//! Rules out row groups by their statistics, and pages by those of the page index.

use std::cmp::Ordering;

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::Field;
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::basic::Type as PhysicalType;

use super::convert;
use super::schema::ParquetFile;
use crate::program::Condition;
use crate::selection::Rows;
use crate::vector::{Kind, Vector};
use sluicegate_s3select::dialect::ast::BinaryOp;
use sluicegate_s3select::value::{self, Value};

fn is_text(value: &Value) -> bool {
    matches!(value, Value::String(_))
}

/// Returns the row groups among `groups` that may hold a row that meets all conditions.
pub(super) fn prune(
    file: &ParquetFile,
    groups: Vec<usize>,
    conditions: &[Condition],
) -> Vec<usize> {
    let mut groups = groups;
    for condition in conditions {
        if let Some(bounds) = Bounds::of_groups(file, condition, &groups) {
            let mut at = 0;
            groups.retain(|_| {
                at += 1;
                bounds.may_hold(at - 1, condition)
            });
        }
    }
    groups
}

/// The least and the greatest values of a column, by row group or by page.
pub(super) struct Bounds {
    mins: ArrayRef,
    maxes: ArrayRef,
    field: Field,
    /// True for floats, whose statistics omit NaN and -NaN, the greatest and the least of them.
    is_float: bool,
    /// The column's position in the Parquet schema.
    pub(super) leaf: usize,
}

impl Bounds {
    fn of_groups(file: &ParquetFile, condition: &Condition, groups: &[usize]) -> Option<Self> {
        let metadata = file.metadata.metadata();
        let chosen = || groups.iter().map(|group| metadata.row_group(*group));
        Self::read(file, condition, |converter, leaf| {
            // The deprecated fields ordered text by signed bytes.
            let deprecated = chosen().any(|group| {
                group
                    .column(leaf)
                    .statistics()
                    .is_some_and(|statistics| statistics.is_min_max_deprecated())
            });
            if deprecated {
                return None;
            }
            converter.row_group_mins(chosen()).ok().zip(converter.row_group_maxes(chosen()).ok())
        })
    }

    /// Returns the bounds of the pages of one row group.
    pub(super) fn of_pages(
        file: &ParquetFile,
        condition: &Condition,
        group: usize,
    ) -> Option<Self> {
        let metadata = file.metadata.metadata();
        let (columns, offsets) = metadata.column_index().zip(metadata.offset_index())?;
        Self::read(file, condition, |converter, _| {
            let mins = converter.data_page_mins(columns, offsets, [&group]).ok()?;
            let maxes = converter.data_page_maxes(columns, offsets, [&group]).ok()?;
            Some((mins, maxes))
        })
    }

    fn read<'a>(
        file: &'a ParquetFile,
        condition: &Condition,
        bounds: impl FnOnce(&StatisticsConverter<'a>, usize) -> Option<(ArrayRef, ArrayRef)>,
    ) -> Option<Self> {
        let column = file.columns.get(condition.column).filter(|column| column.path.is_empty())?;
        let field = file.field(column.root);
        let kind = convert::kind(field.data_type());
        if kind == Kind::Dynamic {
            return None;
        }
        let parquet = file.metadata.parquet_schema();
        let converter = StatisticsConverter::try_new(field.name(), file.schema(), parquet).ok()?;
        let leaf = converter.parquet_column_index()?;
        // The format does not define the order of their statistics.
        if parquet.column(leaf).physical_type() == PhysicalType::INT96 {
            return None;
        }
        let (mins, maxes) = bounds(&converter, leaf)?;
        let field = field.clone();
        Some(Self { mins, maxes, field, is_float: kind == Kind::Float, leaf })
    }

    /// Returns whether the group or page may hold a row that meets the condition.
    pub(super) fn may_hold(&self, place: usize, condition: &Condition) -> bool {
        let bound = |bounds: &ArrayRef| {
            if place >= bounds.len() || bounds.is_null(place) {
                return None;
            }
            let mut vector = Vector::default();
            convert::fill(&bounds.slice(place, 1), &self.field, Rows::All(1), &mut vector).ok()?;
            let bound = vector.value(0, &[])?;
            let is_nan = matches!(bound, Value::Float(float) if float.is_nan());
            (!is_nan).then_some(bound)
        };
        let (min, max) = (bound(&self.mins), bound(&self.maxes));
        condition.values.iter().any(|value| {
            let to = |bound: &Option<Value>| {
                // Text compares with numbers as text, whose order is not that of the bounds.
                let bound = bound.as_ref().filter(|bound| is_text(bound) == is_text(value));
                bound.and_then(|bound| value::compare(bound, value))
            };
            self.may_hold_value(condition.op, value, to(&min), to(&max))
        })
    }

    /// Returns whether a row may meet a condition on one value. The least and the greatest value compare to it in this
    /// way, as far as is known.
    fn may_hold_value(
        &self,
        op: BinaryOp,
        value: &Value,
        min: Option<Ordering>,
        max: Option<Ordering>,
    ) -> bool {
        let is_nan = matches!(value, Value::Float(float) if float.is_nan());
        let ruled_out = match op {
            BinaryOp::Eq => {
                !is_nan && (min.is_some_and(Ordering::is_gt) || max.is_some_and(Ordering::is_lt))
            }
            _ if self.is_float => false,
            BinaryOp::Lt => min.is_some_and(Ordering::is_ge),
            BinaryOp::LtEq => min.is_some_and(Ordering::is_gt),
            BinaryOp::Gt => max.is_some_and(Ordering::is_le),
            BinaryOp::GtEq => max.is_some_and(Ordering::is_lt),
            _ => false,
        };
        !ruled_out
    }
}
