//! PostgreSQL's functions about the session, names and privileges.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature,
    Volatility,
};
use sluicegate_postgres::types::TYPES;
use sluicegate_postgres::{PgType, Scalar};

use super::Place;
use super::rows::{OWNER, Snapshot, settings, type_name};

/// The version that `version()` returns.
pub(super) const VERSION: &str =
    concat!("PostgreSQL 15.0 (Sluicegate ", env!("CARGO_PKG_VERSION"), ")");

/// The first number of tables of the catalog that have none of PostgreSQL's here.
const FIRST_OTHER: i64 = 13_100;

type Body = Arc<dyn Fn(&[ScalarValue]) -> ScalarValue + Send + Sync>;

/// A function of one row.
struct RowFunction {
    name: &'static str,
    signature: Signature,
    returns: DataType,
    body: Body,
}

impl fmt::Debug for RowFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for RowFunction {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && Arc::ptr_eq(&self.body, &other.body)
    }
}

impl Eq for RowFunction {}

impl Hash for RowFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl ScalarUDFImpl for RowFunction {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.returns.clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let scalars: Option<Vec<ScalarValue>> = args
            .args
            .iter()
            .map(|arg| match arg {
                ColumnarValue::Scalar(scalar) => Some(scalar.clone()),
                ColumnarValue::Array(_) => None,
            })
            .collect();
        if let Some(scalars) = scalars {
            return Ok(ColumnarValue::Scalar((self.body)(&scalars)));
        }
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let row = |row| {
            let values = arrays.iter().map(|array| ScalarValue::try_from_array(array, row));
            Ok((self.body)(&values.collect::<Result<Vec<_>>>()?))
        };
        let values = (0..args.number_rows).map(row).collect::<Result<Vec<_>>>()?;
        let array: ArrayRef = match values.is_empty() {
            true => arrow::array::new_empty_array(&self.returns),
            false => ScalarValue::iter_to_array(values)?,
        };
        Ok(ColumnarValue::Array(array))
    }
}

fn function(
    name: &'static str,
    returns: DataType,
    body: impl Fn(&[ScalarValue]) -> ScalarValue + Send + Sync + 'static,
) -> ScalarUDF {
    let forms = vec![TypeSignature::Nullary, TypeSignature::VariadicAny];
    let signature = Signature::one_of(forms, Volatility::Stable);
    ScalarUDF::from(RowFunction { name, signature, returns, body: Arc::new(body) })
}

fn text(text: impl Into<String>) -> ScalarValue {
    ScalarValue::Utf8(Some(text.into()))
}

const fn no_text() -> ScalarValue {
    ScalarValue::Utf8(None)
}

/// Returns an argument as text.
fn text_of(args: &[ScalarValue], index: usize) -> Option<String> {
    match args.get(index)? {
        ScalarValue::Utf8(text) | ScalarValue::LargeUtf8(text) | ScalarValue::Utf8View(text) => {
            text.clone()
        }
        value if value.is_null() => None,
        value => Some(value.to_string()),
    }
}

/// Returns an argument as a number.
fn int_of(args: &[ScalarValue], index: usize) -> Option<i64> {
    text_of(args, index)?.parse().ok()
}

/// Functions that always return NULL, because what they are about does not exist.
const NULL_TEXTS: &[&str] = &[
    "pg_get_expr",
    "pg_get_indexdef",
    "pg_get_constraintdef",
    "pg_get_partkeydef",
    "pg_get_ruledef",
    "pg_get_triggerdef",
    "pg_get_functiondef",
    "pg_get_function_arguments",
    "pg_get_function_identity_arguments",
    "pg_get_function_result",
    "pg_get_function_sqlbody",
    "pg_get_serial_sequence",
    "pg_get_statisticsobjdef_columns",
    "obj_description",
    "col_description",
    "shobj_description",
    "pg_tablespace_location",
    "inet_client_addr",
    "inet_server_addr",
    "pg_describe_object",
    "pg_relation_filepath",
];

const TRUE: &[&str] = &[
    "pg_table_is_visible",
    "pg_type_is_visible",
    "pg_function_is_visible",
    "pg_operator_is_visible",
    "pg_collation_is_visible",
    "pg_opclass_is_visible",
    "pg_opfamily_is_visible",
    "pg_conversion_is_visible",
    "pg_ts_dict_is_visible",
    "pg_ts_parser_is_visible",
    "pg_ts_template_is_visible",
    "pg_ts_config_is_visible",
    "pg_statistics_obj_is_visible",
    "pg_index_column_has_property",
    "has_any_column_privilege",
    "has_column_privilege",
    "has_database_privilege",
    "has_function_privilege",
    "has_language_privilege",
    "has_schema_privilege",
    "has_sequence_privilege",
    "has_table_privilege",
    "has_tablespace_privilege",
    "has_type_privilege",
    "pg_has_role",
];

const FALSE: &[&str] = &[
    "pg_is_in_recovery",
    "pg_is_other_temp_schema",
    "pg_relation_is_publishable",
    "pg_is_wal_replay_paused",
    "row_security_active",
];

const ZERO: &[&str] = &[
    "pg_my_temp_schema",
    "pg_relation_size",
    "pg_total_relation_size",
    "pg_table_size",
    "pg_indexes_size",
    "pg_database_size",
    "pg_tablespace_size",
    "txid_current",
    "pg_current_xact_id",
    "pg_blocking_pids",
];

/// Returns all functions.
pub(super) fn functions(snapshot: &Arc<Snapshot>) -> Vec<ScalarUDF> {
    let mut functions: Vec<ScalarUDF> = Vec::new();
    functions.extend(NULL_TEXTS.iter().map(|name| function(name, DataType::Utf8, |_| no_text())));
    let constant = |value: bool| {
        move |name: &&'static str| {
            function(name, DataType::Boolean, move |_| ScalarValue::Boolean(Some(value)))
        }
    };
    functions.extend(TRUE.iter().map(constant(true)));
    functions.extend(FALSE.iter().map(constant(false)));
    functions.extend(
        ZERO.iter().map(|name| function(name, DataType::Int64, |_| ScalarValue::Int64(Some(0)))),
    );
    functions.extend(of_session(&snapshot.place));
    functions.extend(of_names(snapshot));
    functions
}

/// Returns the functions about the session, which also work in queries over tables.
pub(super) fn of_session(place: &Place) -> Vec<ScalarUDF> {
    let constant = |name, value: &str| {
        let value = text(value);
        function(name, DataType::Utf8, move |_| value.clone())
    };
    let session = i64::from(place.session);
    let all = settings(place);
    vec![
        constant("version", VERSION),
        constant("current_database", &place.database),
        constant("current_catalog", &place.database),
        constant("current_schema", "public"),
        constant("current_user", &place.user),
        constant("session_user", &place.user),
        constant("current_role", &place.user),
        constant("pg_encoding_to_char", "UTF8"),
        constant("pg_client_encoding", "UTF8"),
        function("pg_char_to_encoding", DataType::Int64, |_| ScalarValue::Int64(Some(6))),
        function("pg_backend_pid", DataType::Int64, move |_| ScalarValue::Int64(Some(session))),
        function("inet_server_port", DataType::Int64, |_| ScalarValue::Int64(None)),
        function("current_setting", DataType::Utf8, move |args| {
            let name = text_of(args, 0).unwrap_or_default();
            let found = all.iter().find(|(known, _)| known.eq_ignore_ascii_case(&name));
            found.map_or(no_text(), |(_, value)| text(value))
        }),
        function("set_config", DataType::Utf8, |args| text_of(args, 1).map_or(no_text(), text)),
        function("current_schemas", DataType::new_list(DataType::Utf8, true), |args| {
            let system = matches!(args.first(), Some(ScalarValue::Boolean(Some(true))));
            let schemas = if system { &["pg_catalog", "public"][..] } else { &["public"] };
            let schemas: Vec<ScalarValue> = schemas.iter().map(|name| text(*name)).collect();
            ScalarValue::List(ScalarValue::new_list_nullable(&schemas, &DataType::Utf8))
        }),
        function("quote_ident", DataType::Utf8, |args| {
            text_of(args, 0).map_or(no_text(), |name| text(quoted(&name)))
        }),
        function("quote_literal", DataType::Utf8, |args| {
            text_of(args, 0).map_or(no_text(), |it| text(format!("'{}'", it.replace('\'', "''"))))
        }),
        function("pg_size_pretty", DataType::Utf8, |args| {
            int_of(args, 0).map_or(no_text(), |bytes| text(format!("{bytes} bytes")))
        }),
        function("format_type", DataType::Utf8, |args| match int_of(args, 0) {
            Some(oid) => text(format_type(oid, int_of(args, 1).unwrap_or(-1))),
            None => no_text(),
        }),
        function("array_upper", DataType::Int64, |args| match args.first() {
            Some(ScalarValue::List(list)) if !args[0].is_null() => {
                let length = list.value_length(0);
                ScalarValue::Int64(Some(length.into()))
            }
            _ => ScalarValue::Int64(None),
        }),
    ]
}

/// Returns the functions that look names and numbers up.
fn of_names(snapshot: &Arc<Snapshot>) -> Vec<ScalarUDF> {
    let with = |name, returns, body: fn(&Snapshot, &[ScalarValue]) -> ScalarValue| {
        let snapshot = Arc::clone(snapshot);
        function(name, returns, move |args| body(&snapshot, args))
    };
    vec![
        with("pg_get_userbyid", DataType::Utf8, |it, args| match int_of(args, 0) {
            Some(OWNER) => text(&it.place.user),
            Some(oid) => text(format!("unknown (OID={oid})")),
            None => no_text(),
        }),
        with("regclass_name", DataType::Utf8, |it, args| match int_of(args, 0) {
            Some(oid) => text(it.table_name(oid)),
            None => no_text(),
        }),
        with("regnamespace_name", DataType::Utf8, |it, args| {
            let found = it.schemas.iter().find(|(_, oid)| Some(**oid) == int_of(args, 0));
            found.map_or(no_text(), |(name, _)| text(name))
        }),
        with("regrole_name", DataType::Utf8, |it, _| text(&it.place.user)),
        with("to_regclass", DataType::Int64, |it, args| {
            ScalarValue::Int64(text_of(args, 0).and_then(|name| it.table_oid(&name)))
        }),
        with("to_regtype", DataType::Int64, |_, args| {
            ScalarValue::Int64(text_of(args, 0).and_then(|name| type_oid(&name)))
        }),
        with("to_regnamespace", DataType::Int64, |it, args| {
            let found = text_of(args, 0).and_then(|name| it.schemas.get(&name).copied());
            ScalarValue::Int64(found)
        }),
        with("pg_get_viewdef", DataType::Utf8, |it, args| {
            let oid = int_of(args, 0);
            let table = it.tables.iter().find(|table| Some(table.oid) == oid && table.is_view);
            table.map_or(no_text(), |table| text(super::rows::definition(table)))
        }),
    ]
}

/// Quotes a name if it needs quotes.
fn quoted(name: &str) -> String {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    match !name.is_empty()
        && name.chars().all(plain)
        && !name.starts_with(|c: char| c.is_ascii_digit())
    {
        true => name.to_owned(),
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}

/// Returns the name of a type, such as `numeric(12,2)` and `text[]`.
fn format_type(oid: i64, modifier: i64) -> String {
    let Some(kind) = u32::try_from(oid).ok().and_then(PgType::from_oid) else {
        return if oid == 0 { "-".to_owned() } else { "???".to_owned() };
    };
    let digits = modifier - 4;
    let sql = kind.scalar.info().sql;
    let name = match kind.scalar {
        Scalar::Numeric if digits >= 0 => format!("{sql}({},{})", digits >> 16, digits & 0xffff),
        Scalar::Varchar | Scalar::Bpchar if digits >= 0 => format!("{sql}({digits})"),
        _ => sql.to_owned(),
    };
    if kind.is_array { name + "[]" } else { name }
}

/// Returns the number of a type by its name.
pub(super) fn type_oid(name: &str) -> Option<i64> {
    let name = name.trim().to_lowercase();
    let name = name.strip_prefix("pg_catalog.").unwrap_or(&name);
    let (name, is_array) = match name.strip_suffix("[]") {
        Some(element) => (element, true),
        None => (name, false),
    };
    let info = TYPES.iter().find(|info| info.name == name || info.sql == name);
    if let Some(info) = info {
        return Some(if is_array { info.array } else { info.oid }.into());
    }
    let arrays = TYPES.iter().map(|info| PgType::array(info.scalar));
    arrays.into_iter().find(|kind| type_name(*kind) == name).map(|kind| kind.oid().into())
}

impl Snapshot {
    /// Returns the name of a table by its number; the number itself if there is none.
    fn table_name(&self, oid: i64) -> String {
        match self.tables.iter().find(|table| table.oid == oid) {
            Some(table) if table.schema == "public" => quoted(&table.name),
            Some(table) => format!("{}.{}", quoted(&table.schema), quoted(&table.name)),
            None if oid == 0 => "-".to_owned(),
            None => oid.to_string(),
        }
    }

    /// Returns the number of a table by its name, with or without its schema and quotes.
    pub(super) fn table_oid(&self, name: &str) -> Option<i64> {
        if let Ok(oid) = name.trim().parse() {
            return Some(oid);
        }
        let parts: Vec<String> = sluicegate_postgres::lex::words(name)
            .filter(|word| word.text != ".")
            .map(|word| word.unquoted())
            .collect();
        let (schema, name) = match parts.as_slice() {
            [name] => (None, name),
            [.., schema, name] => (Some(schema), name),
            [] => return None,
        };
        let own = self.tables.iter().find(|table| {
            table.name == *name && schema.map_or("public", String::as_str) == table.schema
        });
        if let Some(table) = own {
            return Some(table.oid);
        }
        // Numbers of PostgreSQL's own tables, with which clients look comments up.
        const SYSTEM: [(&str, i64); 8] = [
            ("pg_class", 1259),
            ("pg_type", 1247),
            ("pg_proc", 1255),
            ("pg_namespace", 2615),
            ("pg_database", 1262),
            ("pg_constraint", 2606),
            ("pg_attribute", 1249),
            ("pg_authid", 1260),
        ];
        if schema.is_some_and(|schema| schema != "pg_catalog") {
            return None;
        }
        let system = SYSTEM.iter().find(|(known, _)| known == name).map(|(_, oid)| *oid);
        // The others have numbers below those of users.
        system.or_else(|| {
            let place = super::relations::all().position(|relation| relation.name == name)?;
            Some(FIRST_OTHER + i64::try_from(place).ok()?)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_have_names_and_numbers() {
        assert_eq!(format_type(1700, (12 << 16) + 6), "numeric(12,2)");
        assert_eq!(format_type(1009, -1), "text[]");
        assert_eq!(format_type(1114, -1), "timestamp without time zone");
        assert_eq!(format_type(0, -1), "-");
        assert_eq!(type_oid("INT4"), Some(23));
        assert_eq!(type_oid("integer[]"), Some(1007));
        assert_eq!(type_oid("_text"), Some(1009));
        assert_eq!(type_oid("hstore"), None);
    }

    #[test]
    fn names_are_quoted_if_needed() {
        assert_eq!(quoted("abc_1"), "abc_1");
        assert_eq!(quoted("A\"b"), "\"A\"\"b\"");
        assert_eq!(quoted(""), "\"\"");
    }
}
