//! The tables and views that a session has.

use arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::logical_expr::TableType;
use sluicegate_engine::Engine;

/// The schemas of a session, with their tables.
#[derive(Debug)]
pub(super) struct SessionTables {
    /// The name of the engine's catalog.
    pub(super) catalog: String,
    /// The names of the schemas.
    pub(super) schemas: Vec<String>,
    /// The tables, by schema.
    pub(super) tables: Vec<SessionTable>,
}

/// A table or a view.
#[derive(Debug)]
pub(super) struct SessionTable {
    pub(super) schema: String,
    pub(super) name: String,
    pub(super) is_view: bool,
    pub(super) definition: Option<String>,
    pub(super) columns: SchemaRef,
}

impl SessionTables {
    /// Looks the tables up. Nothing is requested from a store.
    pub(super) async fn list(engine: &Engine, is_system: impl Fn(&str) -> bool) -> Result<Self> {
        let state = engine.context().state();
        let name = state.config_options().catalog.default_catalog.clone();
        let mut found = Self { schemas: Vec::new(), tables: Vec::new(), catalog: name };
        let Some(catalog) = state.catalog_list().catalog(&found.catalog) else { return Ok(found) };
        let mut schemas = catalog.schema_names();
        schemas.sort();
        for schema in schemas.into_iter().filter(|name| !is_system(name)) {
            let Some(provider) = catalog.schema(&schema) else { continue };
            let mut names = provider.table_names();
            names.sort();
            for name in names {
                let Some(table) = provider.table(&name).await? else { continue };
                found.tables.push(SessionTable {
                    schema: schema.clone(),
                    is_view: table.table_type() == TableType::View,
                    definition: table.get_table_definition().map(str::to_owned),
                    columns: table.schema(),
                    name,
                });
            }
            found.schemas.push(schema);
        }
        Ok(found)
    }
}
