//! What clients can ask about the server and its types.

use arrow_flight::error::FlightError;
use arrow_flight::sql::metadata::{
    SqlInfoData, SqlInfoDataBuilder, XdbcTypeInfo, XdbcTypeInfoData, XdbcTypeInfoDataBuilder,
};
use arrow_flight::sql::{
    Nullable, Searchable, SqlInfo, SqlNullOrdering, SqlSupportedCaseSensitivity,
    SqlSupportedTransaction, XdbcDataType, XdbcDatetimeSubcode,
};

/// The version of Arrow that encodes the answers.
const ARROW_VERSION: &str = arrow::ARROW_VERSION;
/// Functions that drivers offer in lists of functions.
const NUMERIC: &[&str] = &["ABS", "CEIL", "FLOOR", "LN", "LOG", "MOD", "POWER", "ROUND", "SQRT"];
const TEXT: &[&str] = &["CONCAT", "LENGTH", "LOWER", "REPLACE", "SUBSTR", "TRIM", "UPPER"];
const TIME: &[&str] = &["CURRENT_DATE", "CURRENT_TIME", "DATE_PART", "DATE_TRUNC", "NOW"];

/// Returns what the server can do.
pub(super) fn server(allows_writes: bool) -> Result<SqlInfoData, FlightError> {
    let mut info = SqlInfoDataBuilder::new();
    info.append(SqlInfo::FlightSqlServerName, "Sluicegate");
    info.append(SqlInfo::FlightSqlServerVersion, env!("CARGO_PKG_VERSION"));
    info.append(SqlInfo::FlightSqlServerArrowVersion, ARROW_VERSION);
    info.append(SqlInfo::FlightSqlServerReadOnly, !allows_writes);
    info.append(SqlInfo::FlightSqlServerSql, true);
    info.append(SqlInfo::FlightSqlServerSubstrait, false);
    info.append(SqlInfo::FlightSqlServerTransaction, SqlSupportedTransaction::None as i32);
    info.append(SqlInfo::FlightSqlServerCancel, true);
    info.append(SqlInfo::FlightSqlServerBulkIngestion, false);
    info.append(SqlInfo::FlightSqlServerIngestTransactionsSupported, false);
    info.append(SqlInfo::FlightSqlServerStatementTimeout, 0_i32);
    info.append(SqlInfo::FlightSqlServerTransactionTimeout, 0_i32);
    info.append(SqlInfo::SqlDdlCatalog, false);
    info.append(SqlInfo::SqlDdlSchema, true);
    info.append(SqlInfo::SqlDdlTable, true);
    info.append(
        SqlInfo::SqlIdentifierCase,
        SqlSupportedCaseSensitivity::SqlCaseSensitivityLowercase as i32,
    );
    info.append(SqlInfo::SqlIdentifierQuoteChar, "\"");
    info.append(
        SqlInfo::SqlQuotedIdentifierCase,
        SqlSupportedCaseSensitivity::SqlCaseSensitivityCaseInsensitive as i32,
    );
    info.append(SqlInfo::SqlAllTablesAreSelectable, true);
    info.append(SqlInfo::SqlNullOrdering, SqlNullOrdering::SqlNullsSortedHigh as i32);
    info.append(SqlInfo::SqlNumericFunctions, NUMERIC);
    info.append(SqlInfo::SqlStringFunctions, TEXT);
    info.append(SqlInfo::SqlDatetimeFunctions, TIME);
    info.append(SqlInfo::SqlSearchStringEscape, "\\");
    info.append(SqlInfo::SqlSupportsColumnAliasing, true);
    info.append(SqlInfo::SqlSupportsTableCorrelationNames, true);
    info.append(SqlInfo::SqlSupportsExpressionsInOrderBy, true);
    info.append(SqlInfo::SqlSupportsOrderByUnrelated, true);
    info.append(SqlInfo::SqlSupportsLikeEscapeClause, true);
    info.append(SqlInfo::SqlSchemaTerm, "schema");
    info.append(SqlInfo::SqlCatalogTerm, "catalog");
    info.append(SqlInfo::SqlCatalogAtStart, true);
    info.append(SqlInfo::SqlSelectForUpdateSupported, false);
    info.append(SqlInfo::SqlStoredProceduresSupported, false);
    info.append(SqlInfo::SqlCorrelatedSubqueriesSupported, true);
    info.append(SqlInfo::SqlTransactionsSupported, false);
    info.append(SqlInfo::SqlBatchUpdatesSupported, true);
    info.append(SqlInfo::SqlSavepointsSupported, false);
    info.append(SqlInfo::SqlNamedParametersSupported, false);
    info.build()
}

/// Returns the types of the engine.
pub(super) fn types() -> Result<XdbcTypeInfoData, FlightError> {
    use XdbcDataType as T;
    let mut types = XdbcTypeInfoDataBuilder::new();
    for (name, kind, size) in [
        ("BIGINT", T::XdbcBigint, 19),
        ("BINARY", T::XdbcVarbinary, i32::MAX),
        ("BOOLEAN", T::XdbcBit, 1),
        ("DATE", T::XdbcDate, 10),
        ("DECIMAL", T::XdbcDecimal, 76),
        ("DOUBLE", T::XdbcDouble, 53),
        ("INTEGER", T::XdbcInteger, 10),
        ("INTERVAL", T::XdbcInterval, 49),
        ("REAL", T::XdbcReal, 24),
        ("SMALLINT", T::XdbcSmallint, 5),
        ("TIME", T::XdbcTime, 15),
        ("TIMESTAMP", T::XdbcTimestamp, 29),
        ("TINYINT", T::XdbcTinyint, 3),
        ("VARCHAR", T::XdbcVarchar, i32::MAX),
    ] {
        types.append(type_info(name, kind, size));
    }
    types.build()
}

fn type_info(name: &str, kind: XdbcDataType, size: i32) -> XdbcTypeInfo {
    use XdbcDataType as T;
    let is_decimal = kind == T::XdbcDecimal;
    let is_whole =
        matches!(kind, T::XdbcTinyint | T::XdbcSmallint | T::XdbcInteger | T::XdbcBigint);
    let is_float = matches!(kind, T::XdbcReal | T::XdbcDouble);
    let is_number = is_decimal || is_whole || is_float;
    let quoted = matches!(kind, T::XdbcVarchar | T::XdbcDate | T::XdbcTime | T::XdbcTimestamp);
    // Dates and times have one type in SQL, and a code for each kind; that of dates is that of years.
    let (sql_type, subcode) = match kind {
        T::XdbcDate => (T::XdbcDatetime, Some(XdbcDatetimeSubcode::XdbcSubcodeYear)),
        T::XdbcTime => (T::XdbcDatetime, Some(XdbcDatetimeSubcode::XdbcSubcodeTime)),
        T::XdbcTimestamp => (T::XdbcDatetime, Some(XdbcDatetimeSubcode::XdbcSubcodeTimestamp)),
        other => (other, None),
    };
    XdbcTypeInfo {
        type_name: name.to_owned(),
        data_type: kind,
        column_size: Some(size),
        literal_prefix: quoted.then(|| "'".to_owned()),
        literal_suffix: quoted.then(|| "'".to_owned()),
        create_params: is_decimal.then(|| vec!["precision".to_owned(), "scale".to_owned()]),
        nullable: Nullable::NullabilityNullable,
        case_sensitive: kind == T::XdbcVarchar,
        searchable: Searchable::Full,
        unsigned_attribute: is_number.then_some(false),
        fixed_prec_scale: false,
        auto_increment: is_number.then_some(false),
        local_type_name: Some(name.to_owned()),
        minimum_scale: (is_whole || is_decimal).then_some(0),
        maximum_scale: if is_decimal { Some(76) } else { is_whole.then_some(0) },
        sql_data_type: sql_type,
        datetime_subcode: subcode,
        num_prec_radix: is_number.then_some(if is_float { 2 } else { 10 }),
        interval_precision: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_is_asked_is_answered() {
        let info = server(false).unwrap();
        let names = [SqlInfo::FlightSqlServerName as u32, SqlInfo::FlightSqlServerReadOnly as u32];
        assert_eq!(info.record_batch(names).unwrap().num_rows(), 2);
        assert!(info.record_batch([]).unwrap().num_rows() > 30);
        let types = types().unwrap();
        assert_eq!(types.record_batch(None).unwrap().num_rows(), 14);
        assert_eq!(types.record_batch(Some(XdbcDataType::XdbcDate as i32)).unwrap().num_rows(), 1);
    }
}
