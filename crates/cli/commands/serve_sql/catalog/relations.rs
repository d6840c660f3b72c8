//! The tables of the schemas `pg_catalog` and `information_schema`, with their columns.
//!
//! A column is written as its name and its kind: `i` for numbers, `t` for texts, `b` for booleans, `f` for floating
//! point, `T` and `I` for arrays. Columns that clients name and that are missing here are added as NULL.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema};

/// Tables that have rows: [`super::rows`] makes them.
const FILLED: &[(&str, &str)] = &[
    (
        "pg_catalog.pg_class",
        "oid:i relname:t relnamespace:i reltype:i reloftype:i relowner:i relam:i relfilenode:i reltablespace:i \
         relpages:i reltuples:f relallvisible:i reltoastrelid:i relhasindex:b relisshared:b relpersistence:t relkind:t \
         relnatts:i relchecks:i relhasrules:b relhastriggers:b relhassubclass:b relrowsecurity:b \
         relforcerowsecurity:b relispopulated:b relreplident:t relispartition:b relrewrite:i relfrozenxid:i \
         relminmxid:i relacl:T reloptions:T relpartbound:t",
    ),
    (
        "pg_catalog.pg_attribute",
        "attrelid:i attname:t atttypid:i attstattarget:i attlen:i attnum:i attndims:i attcacheoff:i atttypmod:i \
         attbyval:b attalign:t attstorage:t attcompression:t attnotnull:b atthasdef:b atthasmissing:b attidentity:t \
         attgenerated:t attisdropped:b attislocal:b attinhcount:i attcollation:i attacl:T attoptions:T attfdwoptions:T",
    ),
    (
        "pg_catalog.pg_type",
        "oid:i typname:t typnamespace:i typowner:i typlen:i typbyval:b typtype:t typcategory:t typispreferred:b \
         typisdefined:b typdelim:t typrelid:i typsubscript:i typelem:i typarray:i typinput:t typoutput:t \
         typreceive:t typsend:t typmodin:t typmodout:t typanalyze:t typalign:t typstorage:t typnotnull:b typbasetype:i \
         typtypmod:i typndims:i typcollation:i typdefault:t typacl:T",
    ),
    ("pg_catalog.pg_namespace", "oid:i nspname:t nspowner:i nspacl:T"),
    (
        "pg_catalog.pg_database",
        "oid:i datname:t datdba:i encoding:i datlocprovider:t datistemplate:b datallowconn:b datconnlimit:i \
         datfrozenxid:i datminmxid:i dattablespace:i datcollate:t datctype:t daticulocale:t datcollversion:t datacl:T",
    ),
    (
        "pg_catalog.pg_roles",
        "oid:i rolname:t rolsuper:b rolinherit:b rolcreaterole:b rolcreatedb:b rolcanlogin:b rolreplication:b \
         rolconnlimit:i rolpassword:t rolvaliduntil:t rolbypassrls:b rolconfig:T",
    ),
    (
        "pg_catalog.pg_user",
        "usename:t usesysid:i usecreatedb:b usesuper:b userepl:b usebypassrls:b passwd:t valuntil:t useconfig:T",
    ),
    (
        "pg_catalog.pg_settings",
        "name:t setting:t unit:t category:t short_desc:t extra_desc:t context:t vartype:t source:t min_val:t \
         max_val:t enumvals:T boot_val:t reset_val:t sourcefile:t sourceline:i pending_restart:b",
    ),
    ("pg_catalog.pg_tablespace", "oid:i spcname:t spcowner:i spcacl:T spcoptions:T"),
    ("pg_catalog.pg_am", "oid:i amname:t amhandler:t amtype:t"),
    (
        "pg_catalog.pg_tables",
        "schemaname:t tablename:t tableowner:t tablespace:t hasindexes:b hasrules:b hastriggers:b rowsecurity:b",
    ),
    ("pg_catalog.pg_views", "schemaname:t viewname:t viewowner:t definition:t"),
    (
        "information_schema.tables",
        "table_catalog:t table_schema:t table_name:t table_type:t self_referencing_column_name:t \
         reference_generation:t user_defined_type_catalog:t user_defined_type_schema:t user_defined_type_name:t \
         is_insertable_into:t is_typed:t commit_action:t",
    ),
    (
        "information_schema.columns",
        "table_catalog:t table_schema:t table_name:t column_name:t ordinal_position:i column_default:t is_nullable:t \
         data_type:t character_maximum_length:i character_octet_length:i numeric_precision:i \
         numeric_precision_radix:i numeric_scale:i datetime_precision:i interval_type:t collation_name:t \
         domain_name:t udt_catalog:t udt_schema:t udt_name:t is_identity:t is_generated:t generation_expression:t \
         is_updatable:t",
    ),
    (
        "information_schema.schemata",
        "catalog_name:t schema_name:t schema_owner:t default_character_set_catalog:t default_character_set_schema:t \
         default_character_set_name:t sql_path:t",
    ),
    (
        "information_schema.views",
        "table_catalog:t table_schema:t table_name:t view_definition:t check_option:t is_updatable:t \
         is_insertable_into:t",
    ),
];

/// Tables without rows: nothing here has indexes, constraints, comments or functions of users.
const EMPTY: &[(&str, &str)] = &[
    ("pg_aggregate", "aggfnoid:i aggkind:t aggtransfn:t"),
    ("pg_attrdef", "oid:i adrelid:i adnum:i adbin:t"),
    ("pg_auth_members", "roleid:i member:i grantor:i admin_option:b"),
    ("pg_available_extensions", "name:t default_version:t installed_version:t comment:t"),
    ("pg_cast", "oid:i castsource:i casttarget:i castfunc:i castcontext:t castmethod:t"),
    (
        "pg_collation",
        "oid:i collname:t collnamespace:i collowner:i collprovider:t collisdeterministic:b collencoding:i collcollate:t collctype:t",
    ),
    (
        "pg_constraint",
        "oid:i conname:t connamespace:i contype:t condeferrable:b condeferred:b convalidated:b conrelid:i contypid:i \
         conindid:i conparentid:i confrelid:i confupdtype:t confdeltype:t confmatchtype:t conislocal:b coninhcount:i \
         connoinherit:b conkey:I confkey:I conbin:t",
    ),
    ("pg_conversion", "oid:i conname:t connamespace:i"),
    ("pg_cursors", "name:t statement:t is_holdable:b is_binary:b is_scrollable:b creation_time:t"),
    ("pg_db_role_setting", "setdatabase:i setrole:i setconfig:T"),
    ("pg_default_acl", "oid:i defaclrole:i defaclnamespace:i defaclobjtype:t defaclacl:T"),
    ("pg_depend", "classid:i objid:i objsubid:i refclassid:i refobjid:i refobjsubid:i deptype:t"),
    ("pg_description", "objoid:i classoid:i objsubid:i description:t"),
    ("pg_enum", "oid:i enumtypid:i enumsortorder:f enumlabel:t"),
    ("pg_event_trigger", "oid:i evtname:t evtevent:t evtowner:i evtfoid:i evtenabled:t evttags:T"),
    (
        "pg_extension",
        "oid:i extname:t extowner:i extnamespace:i extrelocatable:b extversion:t extconfig:I extcondition:T",
    ),
    (
        "pg_foreign_data_wrapper",
        "oid:i fdwname:t fdwowner:i fdwhandler:i fdwvalidator:i fdwacl:T fdwoptions:T",
    ),
    (
        "pg_foreign_server",
        "oid:i srvname:t srvowner:i srvfdw:i srvtype:t srvversion:t srvacl:T srvoptions:T",
    ),
    ("pg_foreign_table", "ftrelid:i ftserver:i ftoptions:T"),
    ("pg_get_keywords", "word:t catcode:t barelabel:b catdesc:t baredesc:t"),
    (
        "pg_index",
        "indexrelid:i indrelid:i indnatts:i indnkeyatts:i indisunique:b indnullsnotdistinct:b indisprimary:b \
         indisexclusion:b indimmediate:b indisclustered:b indisvalid:b indcheckxmin:b indisready:b indislive:b \
         indisreplident:b indkey:I indcollation:I indclass:I indoption:I indexprs:t indpred:t",
    ),
    ("pg_indexes", "schemaname:t tablename:t indexname:t tablespace:t indexdef:t"),
    ("pg_inherits", "inhrelid:i inhparent:i inhseqno:i inhdetachpending:b"),
    ("pg_language", "oid:i lanname:t lanowner:i lanispl:b lanpltrusted:b lanacl:T"),
    ("pg_largeobject_metadata", "oid:i lomowner:i lomacl:T"),
    ("pg_locks", "locktype:t database:i relation:i pid:i mode:t granted:b"),
    (
        "pg_matviews",
        "schemaname:t matviewname:t matviewowner:t tablespace:t hasindexes:b ispopulated:b definition:t",
    ),
    (
        "pg_opclass",
        "oid:i opcmethod:i opcname:t opcnamespace:i opcowner:i opcfamily:i opcintype:i opcdefault:b",
    ),
    (
        "pg_operator",
        "oid:i oprname:t oprnamespace:i oprkind:t oprleft:i oprright:i oprresult:i oprcode:t",
    ),
    ("pg_partitioned_table", "partrelid:i partstrat:t partnatts:i partdefid:i partattrs:I"),
    (
        "pg_policies",
        "schemaname:t tablename:t policyname:t permissive:t roles:T cmd:t qual:t with_check:t",
    ),
    (
        "pg_policy",
        "oid:i polname:t polrelid:i polcmd:t polpermissive:b polroles:I polqual:t polwithcheck:t",
    ),
    ("pg_prepared_statements", "name:t statement:t prepare_time:t parameter_types:T from_sql:b"),
    ("pg_prepared_xacts", "transaction:i gid:t prepared:t owner:t database:t"),
    (
        "pg_proc",
        "oid:i proname:t pronamespace:i proowner:i prolang:i procost:f prorows:f provariadic:i prokind:t \
         prosecdef:b proleakproof:b proisstrict:b proretset:b provolatile:t proparallel:t pronargs:i \
         pronargdefaults:i prorettype:i proargtypes:I proallargtypes:I proargmodes:T proargnames:T prosrc:t probin:t \
         proconfig:T proacl:T",
    ),
    (
        "pg_publication",
        "oid:i pubname:t pubowner:i puballtables:b pubinsert:b pubupdate:b pubdelete:b pubtruncate:b pubviaroot:b",
    ),
    ("pg_publication_namespace", "oid:i pnpubid:i pnnspid:i"),
    ("pg_publication_rel", "oid:i prpubid:i prrelid:i prqual:t prattrs:I"),
    ("pg_range", "rngtypid:i rngsubtype:i rngmultitypid:i rngcollation:i rngsubopc:i"),
    ("pg_replication_slots", "slot_name:t plugin:t slot_type:t datoid:i database:t active:b"),
    ("pg_rewrite", "oid:i rulename:t ev_class:i ev_type:t ev_enabled:t is_instead:b"),
    ("pg_rules", "schemaname:t tablename:t rulename:t definition:t"),
    ("pg_seclabel", "objoid:i classoid:i objsubid:i provider:t label:t"),
    (
        "pg_sequence",
        "seqrelid:i seqtypid:i seqstart:i seqincrement:i seqmax:i seqmin:i seqcache:i seqcycle:b",
    ),
    ("pg_sequences", "schemaname:t sequencename:t sequenceowner:t data_type:t"),
    ("pg_shdescription", "objoid:i classoid:i description:t"),
    (
        "pg_stat_activity",
        "datid:i datname:t pid:i usesysid:i usename:t application_name:t client_addr:t state:t query:t backend_type:t",
    ),
    ("pg_stat_user_tables", "relid:i schemaname:t relname:t seq_scan:i n_live_tup:i"),
    (
        "pg_statistic_ext",
        "oid:i stxrelid:i stxname:t stxnamespace:i stxowner:i stxstattarget:i stxkeys:I stxkind:T stxexprs:t",
    ),
    ("pg_stats", "schemaname:t tablename:t attname:t null_frac:f n_distinct:f"),
    ("pg_subscription", "oid:i subdbid:i subname:t subowner:i subenabled:b"),
    ("pg_timezone_names", "name:t abbrev:t utc_offset:t is_dst:b"),
    (
        "pg_trigger",
        "oid:i tgrelid:i tgparentid:i tgname:t tgfoid:i tgtype:i tgenabled:t tgisinternal:b tgconstrrelid:i tgconstrindid:i tgconstraint:i tgdeferrable:b tginitdeferred:b",
    ),
    ("pg_ts_config", "oid:i cfgname:t cfgnamespace:i cfgowner:i cfgparser:i"),
    ("pg_ts_dict", "oid:i dictname:t dictnamespace:i dictowner:i dicttemplate:i"),
    ("pg_ts_parser", "oid:i prsname:t prsnamespace:i"),
    ("pg_ts_template", "oid:i tmplname:t tmplnamespace:i"),
    ("pg_user_mapping", "oid:i umuser:i umserver:i umoptions:T"),
    ("pg_user_mappings", "umid:i srvid:i srvname:t umuser:i usename:t umoptions:T"),
];

/// Tables of `information_schema` without rows.
const EMPTY_INFORMATION: &[(&str, &str)] = &[
    (
        "check_constraints",
        "constraint_catalog:t constraint_schema:t constraint_name:t check_clause:t",
    ),
    (
        "column_privileges",
        "grantor:t grantee:t table_catalog:t table_schema:t table_name:t column_name:t privilege_type:t is_grantable:t",
    ),
    (
        "constraint_column_usage",
        "table_catalog:t table_schema:t table_name:t column_name:t constraint_catalog:t constraint_schema:t constraint_name:t",
    ),
    (
        "constraint_table_usage",
        "table_catalog:t table_schema:t table_name:t constraint_catalog:t constraint_schema:t constraint_name:t",
    ),
    ("domains", "domain_catalog:t domain_schema:t domain_name:t data_type:t"),
    (
        "element_types",
        "object_catalog:t object_schema:t object_name:t object_type:t collection_type_identifier:t data_type:t",
    ),
    (
        "key_column_usage",
        "constraint_catalog:t constraint_schema:t constraint_name:t table_catalog:t table_schema:t table_name:t column_name:t ordinal_position:i position_in_unique_constraint:i",
    ),
    (
        "parameters",
        "specific_catalog:t specific_schema:t specific_name:t ordinal_position:i parameter_mode:t parameter_name:t data_type:t",
    ),
    (
        "referential_constraints",
        "constraint_catalog:t constraint_schema:t constraint_name:t unique_constraint_catalog:t unique_constraint_schema:t unique_constraint_name:t match_option:t update_rule:t delete_rule:t",
    ),
    (
        "routines",
        "specific_catalog:t specific_schema:t specific_name:t routine_catalog:t routine_schema:t routine_name:t routine_type:t data_type:t routine_definition:t external_language:t",
    ),
    (
        "sequences",
        "sequence_catalog:t sequence_schema:t sequence_name:t data_type:t start_value:t increment:t",
    ),
    (
        "table_constraints",
        "constraint_catalog:t constraint_schema:t constraint_name:t table_catalog:t table_schema:t table_name:t constraint_type:t is_deferrable:t initially_deferred:t enforced:t",
    ),
    (
        "table_privileges",
        "grantor:t grantee:t table_catalog:t table_schema:t table_name:t privilege_type:t is_grantable:t with_hierarchy:t",
    ),
    (
        "triggers",
        "trigger_catalog:t trigger_schema:t trigger_name:t event_manipulation:t event_object_schema:t event_object_table:t",
    ),
];

/// A table of the catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Relation {
    /// `pg_catalog` or `information_schema`.
    pub(super) schema: &'static str,
    /// Its name.
    pub(super) name: &'static str,
    /// Its columns.
    columns: &'static str,
    /// True if it never has rows.
    pub(super) is_empty: bool,
}

/// A table of which only its name is known. It has no rows.
pub(super) const UNKNOWN: Relation =
    Relation { schema: "pg_catalog", name: "", columns: "oid:i", is_empty: true };

/// Returns all tables.
pub(super) fn all() -> impl Iterator<Item = Relation> {
    let filled = FILLED.iter().map(|(full, columns)| {
        let (schema, name) = full.split_once('.').unwrap_or(("pg_catalog", full));
        Relation { schema, name, columns, is_empty: false }
    });
    let empty = EMPTY.iter().map(|(name, columns)| Relation {
        schema: "pg_catalog",
        name,
        columns,
        is_empty: true,
    });
    let information = EMPTY_INFORMATION.iter().map(|(name, columns)| Relation {
        schema: "information_schema",
        name,
        columns,
        is_empty: true,
    });
    filled.chain(empty).chain(information)
}

/// Returns the table of this name. Without a schema, only tables of `pg_catalog` are found.
pub(super) fn named(schema: Option<&str>, name: &str) -> Option<Relation> {
    let schema = schema.unwrap_or("pg_catalog");
    all().find(|it| it.schema.eq_ignore_ascii_case(schema) && it.name.eq_ignore_ascii_case(name))
}

impl Relation {
    /// Returns the columns, with further ones of text that clients name.
    pub(super) fn schema(&self, further: impl IntoIterator<Item = String>) -> Arc<Schema> {
        let list = |element| DataType::new_list(element, true);
        let mut fields: Vec<Field> = self
            .columns
            .split_whitespace()
            .filter_map(|column| column.split_once(':'))
            .map(|(name, kind)| {
                let kind = match kind {
                    "i" => DataType::Int64,
                    "b" => DataType::Boolean,
                    "f" => DataType::Float64,
                    "T" => list(DataType::Utf8),
                    "I" => list(DataType::Int64),
                    _ => DataType::Utf8,
                };
                Field::new(name, kind, true)
            })
            .collect();
        for name in further {
            if !fields.iter().any(|field| *field.name() == name) {
                fields.push(Field::new(name, DataType::Utf8, true));
            }
        }
        Arc::new(Schema::new(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_found_by_their_names() {
        assert!(!named(None, "PG_CLASS").unwrap().is_empty);
        assert!(named(Some("pg_catalog"), "pg_index").unwrap().is_empty);
        assert!(named(None, "tables").is_none());
        assert!(named(Some("information_schema"), "tables").is_some());
        for relation in all() {
            let schema = relation.schema(["extra".to_owned()]);
            assert!(
                schema.fields().len() > 1 && schema.field_with_name("extra").is_ok(),
                "{relation:?}"
            );
            assert_eq!(relation.columns.split_whitespace().count() + 1, schema.fields().len());
        }
    }
}
