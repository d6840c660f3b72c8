//! Refuses columns that COPY cannot write.

use std::collections::HashSet;

use arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::logical_expr::dml::CopyTo;

use crate::context::error::hints::{LEAVE_ONE, NONE_LEFT};
use crate::store::staging::append::keeps_partitions;
use crate::{ErrorKind, UserError};

/// Checks that COPY writes at least one column, and that all names are different.
///
/// # Errors
///
/// If there is no column, or two have the same name, because the result could not be read back. If Parquet cannot
/// store a column.
pub(crate) fn check(copy: &CopyTo, options: &ConfigOptions) -> Result<()> {
    let columns = copy.input.schema().fields();
    let mut names = HashSet::new();
    if let Some(twice) = columns.iter().find(|field| !names.insert(field.name())) {
        let message = format!("two columns that COPY is to write are called `{}`", twice.name());
        let hint = format!(
            "Give one of them another name: COPY (SELECT a.\"{0}\", b.\"{0}\" AS {0}_2, …) TO …; or join with USING, \
             which has one of both.",
            twice.name()
        );
        return Err(UserError { kind: ErrorKind::Plan, message, hint: Some(hint) }.into());
    }
    check_intervals(copy)?;
    let keeps = keeps_partitions(copy, options);
    let is_folder = |name: &String| copy.partition_by.contains(name);
    if !keeps && !copy.partition_by.is_empty() && columns.iter().all(|it| is_folder(it.name())) {
        let (message, hint) = (NONE_LEFT.to_owned(), Some(LEAVE_ONE.to_owned()));
        return Err(UserError { kind: ErrorKind::Plan, message, hint }.into());
    }
    Ok(())
}

/// Refuses intervals, which cannot be written to Parquet.
fn check_intervals(copy: &CopyTo) -> Result<()> {
    if copy.file_type.get_ext() != "parquet" {
        return Ok(());
    }
    let fields = copy.input.schema().fields();
    match fields.iter().find(|field| has_interval(field.data_type())) {
        Some(field) => Err(UserError {
            kind: ErrorKind::Unsupported,
            message: format!(
                "COPY writes no INTERVAL into Parquet, and column `{}` has one",
                field.name()
            ),
            hint: Some("Write it as text: CAST(… AS VARCHAR).".to_owned()),
        }
        .into()),
        None => Ok(()),
    }
}

fn has_interval(data_type: &DataType) -> bool {
    match data_type {
        DataType::Interval(_) => true,
        DataType::List(items) | DataType::LargeList(items) | DataType::Map(items, _) => {
            has_interval(items.data_type())
        }
        DataType::Struct(fields) => fields.iter().any(|field| has_interval(field.data_type())),
        _ => false,
    }
}
