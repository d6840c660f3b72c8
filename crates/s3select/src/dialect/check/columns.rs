//! Checks columns and paths against the format of the object.

use super::error;
use crate::dialect::ast::{Expr, From, PathStep};
use crate::error::{Result, SelectErrorCode as Code};
use crate::request::{FileHeaderInfo, InputFormat};

/// The context of names: the FROM clause and the format of the object.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    pub(super) from: &'a From,
    pub(super) format: &'a InputFormat,
}

pub(super) fn check_source(from: &From, format: &InputFormat) -> Result<()> {
    let nested = !matches!(&from.path[..], [] | [PathStep::AnyIndex]);
    if nested && !matches!(format, InputFormat::Json(_)) {
        return Err(error(Code::InvalidKeyPath, "only JSON objects take a path in FROM"));
    }
    Ok(())
}

pub(super) fn check(expr: &Expr, scope: Scope<'_>) -> Result<()> {
    let Expr::Path(steps) = expr else { return Ok(()) };
    if steps.iter().any(|step| matches!(step, PathStep::AnyIndex | PathStep::AnyField)) {
        let code = Code::ParseInvalidContextForWildcardInSelectList;
        return Err(error(code, "only FROM takes a path with wildcards"));
    }
    if let InputFormat::Csv(csv) = scope.format {
        return check_csv(steps, scope.from, csv.header);
    }
    match scope.from.within_row(steps).first() {
        Some(PathStep::Field(name))
            if matches!(scope.format, InputFormat::Parquet) && name.position() == Some(0) =>
        {
            Err(no_column_0())
        }
        _ => Ok(()),
    }
}

fn check_csv(steps: &[PathStep], from: &From, header: FileHeaderInfo) -> Result<()> {
    let column = match steps {
        [PathStep::Field(column)] => column,
        [PathStep::Field(row), PathStep::Field(column)] if from.is_row_name(row) => column,
        [PathStep::Field(row), PathStep::Field(_)] => {
            let message = format!("{} is not the row's name", row.text.escape_debug());
            return Err(error(Code::InvalidTableAlias, message));
        }
        _ => return Err(error(Code::InvalidKeyPath, "a column of a CSV object is text")),
    };
    if header == FileHeaderInfo::Use {
        return Ok(());
    }
    match column.position() {
        Some(0) => Err(no_column_0()),
        Some(_) => Ok(()),
        None => {
            let name = column.text.escape_debug();
            let message = format!("without a header columns are _1, _2, …, and {name} is none");
            Err(error(Code::InvalidColumnIndex, message))
        }
    }
}

fn no_column_0() -> crate::error::SelectError {
    error(Code::InvalidColumnIndex, "columns are counted from _1")
}
