//! The rows of the catalog's tables, made from the tables of the session.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray, new_null_array,
};
use arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::Result;
use sluicegate_engine::Engine;
use sluicegate_postgres::PgType;
use sluicegate_postgres::types::TYPES;

use super::Place;
use super::relations::Relation;
use crate::commands::serve_sql::tables::{self, SessionTables};
use crate::commands::serve_sql::types::of_arrow;

/// The number of the schema `pg_catalog`, as in PostgreSQL.
const PG_CATALOG: i64 = 11;
/// The number of the schema `public`, as in PostgreSQL.
const PUBLIC: i64 = 2200;
/// The number of the user and of the owner of everything.
pub(super) const OWNER: i64 = 10;
/// The number of the database.
const DATABASE: i64 = 5;
/// The least number of what users define.
const FIRST_NUMBER: i64 = 16_384;

/// A table or view of the session.
#[derive(Debug, Clone)]
pub(super) struct SessionTable {
    pub(super) oid: i64,
    pub(super) schema: String,
    pub(super) name: String,
    pub(super) is_view: bool,
    pub(super) definition: Option<String>,
    pub(super) columns: SchemaRef,
}

/// What the session has.
#[derive(Debug, Clone)]
pub(super) struct Snapshot {
    pub(super) place: Place,
    /// The schemas with their numbers.
    pub(super) schemas: BTreeMap<String, i64>,
    pub(super) tables: Vec<SessionTable>,
}

impl Snapshot {
    /// Looks the tables of a session up. Nothing is requested from a store.
    pub(super) async fn take(engine: &Engine, place: &Place) -> Result<Self> {
        let listed = SessionTables::list(engine, is_system).await?;
        let mut schemas = BTreeMap::new();
        let mut numbers = BTreeSet::new();
        for name in listed.schemas {
            let oid = if name == "public" { PUBLIC } else { number(&name, "", &mut numbers) };
            schemas.insert(name, oid);
        }
        let table = |table: tables::SessionTable| SessionTable {
            oid: number(&table.schema, &table.name, &mut numbers),
            schema: table.schema,
            name: table.name,
            is_view: table.is_view,
            definition: table.definition,
            columns: table.columns,
        };
        let mut tables: Vec<_> = listed.tables.into_iter().map(table).collect();
        tables.sort_by(|one, other| (&one.schema, &one.name).cmp(&(&other.schema, &other.name)));
        schemas.insert("pg_catalog".to_owned(), PG_CATALOG);
        schemas.entry("public".to_owned()).or_insert(PUBLIC);
        schemas.insert("information_schema".to_owned(), 13_000);
        Ok(Self { place: place.clone(), schemas, tables })
    }

    /// Returns the rows of a table of the catalog.
    pub(super) fn rows(&self, relation: &Relation, schema: &SchemaRef) -> Result<RecordBatch> {
        let rows: Vec<Row> = match (relation.is_empty, relation.schema, relation.name) {
            (true, ..) => Vec::new(),
            (_, "information_schema", "tables") => {
                self.tables.iter().map(|table| self.information_table(table)).collect()
            }
            (_, "information_schema", "columns") => self.information_columns(),
            (_, "information_schema", "schemata") => {
                self.schemas.keys().map(|name| self.schema_row(name)).collect()
            }
            (_, "information_schema", _) => {
                self.views().map(|table| self.information_table(table)).collect()
            }
            (.., "pg_class") => self.tables.iter().map(|table| self.class(table)).collect(),
            (.., "pg_attribute") => self.tables.iter().flat_map(attributes).collect(),
            (.., "pg_type") => types().collect(),
            (.., "pg_namespace") => self
                .schemas
                .iter()
                .map(|(name, oid)| {
                    Row::new().int("oid", *oid).text("nspname", name).int("nspowner", OWNER)
                })
                .collect(),
            (.., "pg_database") => vec![self.database()],
            (.., "pg_roles" | "pg_user") => vec![self.role()],
            (.., "pg_settings") => settings(&self.place).into_iter().map(setting).collect(),
            (.., "pg_tablespace") => {
                vec![
                    Row::new()
                        .int("oid", 1663)
                        .text("spcname", "pg_default")
                        .int("spcowner", OWNER),
                ]
            }
            (.., "pg_am") => {
                vec![Row::new().int("oid", 2).text("amname", "heap").text("amtype", "t")]
            }
            (.., "pg_tables") => self
                .tables
                .iter()
                .filter(|table| !table.is_view)
                .map(|table| {
                    self.owned(table)
                        .text("tablename", &table.name)
                        .text("tableowner", &self.place.user)
                })
                .collect(),
            (.., "pg_views") => self
                .views()
                .map(|table| {
                    let row = self.owned(table).text("viewname", &table.name);
                    row.text("viewowner", &self.place.user).text("definition", &definition(table))
                })
                .collect(),
            _ => Vec::new(),
        };
        batch(&rows, schema)
    }

    fn views(&self) -> impl Iterator<Item = &SessionTable> {
        self.tables.iter().filter(|table| table.is_view)
    }

    fn namespace(&self, table: &SessionTable) -> i64 {
        self.schemas.get(&table.schema).copied().unwrap_or(PUBLIC)
    }

    fn owned(&self, table: &SessionTable) -> Row {
        let row = Row::new().text("schemaname", &table.schema);
        row.bool("hasindexes", false)
            .bool("hasrules", false)
            .bool("hastriggers", false)
            .bool("rowsecurity", false)
    }

    fn class(&self, table: &SessionTable) -> Row {
        let columns = i64::try_from(table.columns.fields().len()).unwrap_or(0);
        let row = Row::new().int("oid", table.oid).text("relname", &table.name);
        let row = row.int("relnamespace", self.namespace(table)).int("relowner", OWNER);
        let row =
            row.text("relkind", if table.is_view { "v" } else { "r" }).text("relpersistence", "p");
        let row = row.int("relam", if table.is_view { 0 } else { 2 }).int("relnatts", columns);
        let zero = [
            "reltype",
            "reloftype",
            "relfilenode",
            "reltablespace",
            "relpages",
            "relallvisible",
            "reltoastrelid",
            "relchecks",
            "relrewrite",
            "relfrozenxid",
            "relminmxid",
        ];
        let row = zero.iter().fold(row, |row, name| row.int(name, 0));
        let no = [
            "relhasindex",
            "relisshared",
            "relhasrules",
            "relhastriggers",
            "relhassubclass",
            "relrowsecurity",
            "relforcerowsecurity",
            "relispartition",
        ];
        let row = no.iter().fold(row, |row, name| row.bool(name, false));
        row.float("reltuples", -1.0).bool("relispopulated", true).text("relreplident", "d")
    }

    fn information_table(&self, table: &SessionTable) -> Row {
        let row = self.in_information(table);
        let row = row.text("table_type", if table.is_view { "VIEW" } else { "BASE TABLE" });
        let row = row.text(
            "is_insertable_into",
            if self.place.allows_writes && !table.is_view { "YES" } else { "NO" },
        );
        row.text("is_typed", "NO")
            .text("view_definition", &definition(table))
            .text("check_option", "NONE")
            .text("is_updatable", "NO")
    }

    fn in_information(&self, table: &SessionTable) -> Row {
        let row = Row::new().text("table_catalog", &self.place.database);
        row.text("table_schema", &table.schema).text("table_name", &table.name)
    }

    fn information_columns(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        for table in &self.tables {
            for (index, field) in table.columns.fields().iter().enumerate() {
                let (kind, modifier) = of_arrow(field.data_type());
                let row = self.in_information(table).text("column_name", field.name());
                let row = row.int("ordinal_position", i64::try_from(index + 1).unwrap_or(0));
                let row = row.text("is_nullable", if field.is_nullable() { "YES" } else { "NO" });
                let row = row.text(
                    "data_type",
                    &if kind.is_array { "ARRAY".to_owned() } else { kind.sql() },
                );
                let row =
                    row.text("udt_catalog", &self.place.database).text("udt_schema", "pg_catalog");
                let row = row.text("udt_name", &type_name(kind)).text("is_identity", "NO");
                let row = row.text("is_generated", "NEVER").text("is_updatable", "NO");
                rows.push(match modifier {
                    ..0 => row,
                    modifier => {
                        let digits = modifier - 4;
                        let row = row.int("numeric_precision", i64::from(digits >> 16));
                        row.int("numeric_scale", i64::from(digits & 0xffff))
                            .int("numeric_precision_radix", 10)
                    }
                });
            }
        }
        rows
    }

    fn schema_row(&self, name: &str) -> Row {
        let row = Row::new().text("catalog_name", &self.place.database);
        row.text("schema_name", name).text("schema_owner", &self.place.user)
    }

    fn database(&self) -> Row {
        let row = Row::new().int("oid", DATABASE).text("datname", &self.place.database);
        let row = row.int("datdba", OWNER).int("encoding", 6).text("datlocprovider", "c");
        let row =
            row.bool("datistemplate", false).bool("datallowconn", true).int("datconnlimit", -1);
        row.int("dattablespace", 1663).text("datcollate", "C").text("datctype", "C.UTF-8")
    }

    fn role(&self) -> Row {
        let user = &self.place.user;
        let row = Row::new().int("oid", OWNER).text("rolname", user).bool("rolsuper", false);
        let row =
            row.bool("rolinherit", true).bool("rolcreaterole", false).bool("rolcreatedb", false);
        let row =
            row.bool("rolcanlogin", true).bool("rolreplication", false).int("rolconnlimit", -1);
        let row = row.text("rolpassword", "********").bool("rolbypassrls", false);
        let row = row.text("usename", user).int("usesysid", OWNER).bool("usecreatedb", false);
        row.bool("usesuper", false)
            .bool("userepl", false)
            .bool("usebypassrls", false)
            .text("passwd", "********")
    }
}

/// Returns true for schemas that the catalog itself has.
fn is_system(schema: &str) -> bool {
    ["information_schema", "pg_catalog"].contains(&schema)
}

/// Returns the number of a name, the same in every session: a hash (FNV-1a).
fn number(schema: &str, name: &str, taken: &mut BTreeSet<i64>) -> i64 {
    let bytes = schema.bytes().chain([0]).chain(name.bytes());
    let hash = bytes
        .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    let mut number = FIRST_NUMBER + i64::from(hash >> 2);
    while !taken.insert(number) {
        number += 1;
    }
    number
}

pub(super) fn definition(table: &SessionTable) -> String {
    let text = table.definition.clone().unwrap_or_default();
    // The statement that created the view.
    let lower = text.to_lowercase();
    lower.find(" as ").map_or(text.clone(), |at| text[at + 4..].to_owned())
}

fn attributes(table: &SessionTable) -> impl Iterator<Item = Row> + '_ {
    table.columns.fields().iter().enumerate().map(|(index, field)| {
        let (kind, modifier) = of_arrow(field.data_type());
        let row = Row::new().int("attrelid", table.oid).text("attname", field.name());
        let row = row.int("atttypid", kind.oid().into()).int("attlen", kind.size().into());
        let row = row
            .int("attnum", i64::try_from(index + 1).unwrap_or(0))
            .int("atttypmod", modifier.into());
        let row = row
            .int("attndims", kind.is_array.into())
            .int("attstattarget", -1)
            .int("attcacheoff", -1);
        let row = row
            .bool("attnotnull", !field.is_nullable())
            .text("attidentity", "")
            .text("attgenerated", "");
        let row = row.text("attstorage", "p").text("attalign", "i").text("attcompression", "");
        let row = ["atthasdef", "atthasmissing", "attisdropped", "attbyval"]
            .iter()
            .fold(row, |row, name| row.bool(name, false));
        row.bool("attislocal", true).int("attinhcount", 0).int("attcollation", 0)
    })
}

/// Returns the short name of a type, as in `pg_type`.
pub(super) fn type_name(kind: PgType) -> String {
    let name = kind.scalar.info().name;
    if kind.is_array { format!("_{name}") } else { name.to_owned() }
}

fn types() -> impl Iterator<Item = Row> {
    let all = TYPES.iter().flat_map(|info| {
        let array = (info.array != 0).then_some(PgType::array(info.scalar));
        [Some(PgType::from(info.scalar)), array].into_iter().flatten()
    });
    all.map(|kind| {
        let info = kind.scalar.info();
        let (array, element) = if kind.is_array { (0, info.oid) } else { (info.array, 0) };
        let category = if kind.is_array { 'A' } else { info.category };
        let row = Row::new().int("oid", kind.oid().into()).text("typname", &type_name(kind));
        let row = row
            .int("typnamespace", PG_CATALOG)
            .int("typowner", OWNER)
            .int("typlen", kind.size().into());
        let row = row
            .text("typtype", "b")
            .text("typcategory", &category.to_string())
            .text("typdelim", ",");
        let row =
            row.int("typarray", array.into()).int("typelem", element.into()).int("typtypmod", -1);
        let row = row.text("typinput", if kind.is_array { "array_in" } else { "" });
        let row = ["typrelid", "typbasetype", "typndims", "typcollation"]
            .iter()
            .fold(row, |row, name| row.int(name, 0));
        let row =
            row.bool("typbyval", false).bool("typispreferred", false).bool("typisdefined", true);
        row.bool("typnotnull", false).text("typalign", "i").text("typstorage", "p")
    })
}

/// Returns settings that clients ask for.
pub(super) fn settings(place: &Place) -> Vec<(&'static str, String)> {
    let read_only = if place.allows_writes { "off" } else { "on" };
    let mut settings: Vec<(&'static str, String)> = sluicegate_postgres::server::default_settings()
        .map(|(name, value)| (name, value.to_owned()))
        .collect();
    for (name, value) in &mut settings {
        if name.ends_with("transaction_read_only") {
            read_only.clone_into(value);
        }
    }
    settings
}

fn setting((name, value): (&'static str, String)) -> Row {
    let row = Row::new().text("name", name).text("setting", &value).text("context", "user");
    let row = row
        .text("category", "")
        .text("short_desc", "")
        .text("vartype", "string")
        .text("source", "default");
    row.text("boot_val", &value).text("reset_val", &value).bool("pending_restart", false)
}

/// A row: values by the names of their columns. Columns without a value are NULL.
#[derive(Debug, Default)]
struct Row(BTreeMap<&'static str, Cell>);

#[derive(Debug)]
enum Cell {
    Int(i64),
    Float(f64),
    Bool(bool),
    Text(String),
}

impl Row {
    fn new() -> Self {
        Self::default()
    }

    fn with(mut self, name: &'static str, cell: Cell) -> Self {
        self.0.insert(name, cell);
        self
    }

    fn int(self, name: &'static str, value: i64) -> Self {
        self.with(name, Cell::Int(value))
    }

    fn float(self, name: &'static str, value: f64) -> Self {
        self.with(name, Cell::Float(value))
    }

    fn bool(self, name: &'static str, value: bool) -> Self {
        self.with(name, Cell::Bool(value))
    }

    fn text(self, name: &'static str, value: &str) -> Self {
        self.with(name, Cell::Text(value.to_owned()))
    }
}

fn batch(rows: &[Row], schema: &SchemaRef) -> Result<RecordBatch> {
    let columns = schema.fields().iter().map(|field| {
        let cells = rows.iter().map(|row| row.0.get(field.name().as_str()));
        match field.data_type() {
            DataType::Int64 => Arc::new(
                cells
                    .map(|cell| match cell {
                        Some(Cell::Int(number)) => Some(*number),
                        _ => None,
                    })
                    .collect::<Int64Array>(),
            ) as ArrayRef,
            DataType::Float64 => Arc::new(
                cells
                    .map(|cell| match cell {
                        Some(Cell::Float(number)) => Some(*number),
                        _ => None,
                    })
                    .collect::<Float64Array>(),
            ),
            DataType::Boolean => Arc::new(
                cells
                    .map(|cell| match cell {
                        Some(Cell::Bool(value)) => Some(*value),
                        _ => None,
                    })
                    .collect::<BooleanArray>(),
            ),
            DataType::Utf8 => Arc::new(
                cells
                    .map(|cell| match cell {
                        Some(Cell::Text(text)) => Some(text.as_str()),
                        _ => None,
                    })
                    .collect::<StringArray>(),
            ),
            other => new_null_array(other, rows.len()),
        }
    });
    Ok(RecordBatch::try_new(Arc::clone(schema), columns.collect())?)
}
