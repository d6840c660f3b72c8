//! Refuses statements and clauses of other systems, with hints on the alternative.

use std::borrow::Cow;

use datafusion::sql::sqlparser::ast::{
    CreateTable, CreateTableOptions, Expr, HiveDistributionStyle, ObjectName, ObjectType, Set,
    SqlOption, Statement as Sql, Value,
};

/// The name of an unsupported statement or clause, and a hint on the alternative.
type UnsupportedStatement = (Cow<'static, str>, Cow<'static, str>);

const ALONE: &str =
    "Each statement stands for itself, and what COPY writes appears when it is complete.";
const TABLES: &str =
    "There are no databases: SHOW TABLES lists the tables, and \\ls the buckets of the store.";
const FILES: &str = "CREATE TABLE holds its rows in memory. CREATE EXTERNAL TABLE e STORED AS CSV LOCATION 's3://bucket/folder/' \
     is a table of files, and COPY (SELECT …) TO 's3://bucket/key' writes one.";
const LEAVE_OUT: &str = "Leave it out: CREATE TABLE holds its rows in memory.";
const FOLDERS: &str = "CREATE EXTERNAL TABLE … PARTITIONED BY (a) LOCATION 's3://bucket/folder/' reads folders such as a=1/, and \
     COPY (SELECT …) TO 's3://bucket/folder/' PARTITIONED BY (a) writes them.";
const TEXTS: &str =
    "Leave it out: texts are UTF-8. read_csv('…', encoding => 'latin-1') reads other encodings.";

/// Returns the name and the hint for an unsupported statement, or `None` for other statements.
pub(crate) fn instead_of(statement: &Sql) -> Option<UnsupportedStatement> {
    let (what, instead) = match statement {
        Sql::CreateFunction(_) => (
            "CREATE FUNCTION",
            "Write the expression itself, or name a query: CREATE VIEW v AS SELECT ….",
        ),
        Sql::StartTransaction { begin: true, .. } => ("BEGIN", ALONE),
        Sql::StartTransaction { .. } => ("START TRANSACTION", ALONE),
        Sql::Commit { .. } => ("COMMIT", ALONE),
        Sql::Rollback { .. } => ("ROLLBACK", ALONE),
        Sql::ShowDatabases { .. } => ("SHOW DATABASES", TABLES),
        Sql::ShowSchemas { .. } => ("SHOW SCHEMAS", TABLES),
        Sql::ShowCatalogs { .. } => ("SHOW CATALOGS", TABLES),
        Sql::ShowViews { .. } => ("SHOW VIEWS", "SHOW TABLES lists tables and views."),
        Sql::ShowVariables { .. } => ("SHOW VARIABLES", "SHOW ALL lists the settings."),
        Sql::Unload { .. } => ("UNLOAD", "Write COPY (SELECT …) TO 's3://bucket/key'."),
        Sql::Set(Set::SetNames { .. } | Set::SetNamesDefault {}) => ("SET NAMES", TEXTS),
        Sql::Set(Set::SingleAssignment { variable, values, .. }) if is_null(values) => {
            let default = format!("RESET {variable} sets it to its default.");
            return Some(("SET … = NULL".into(), default.into()));
        }
        Sql::Drop { object_type, names, .. } => return dropped(*object_type, names),
        Sql::Set(Set::MultipleAssignments { .. }) => {
            ("SET of several settings", "Write a SET for each: SET a = 1; SET b = 2.")
        }
        Sql::CreateTable(table) => return clause_of_table(table),
        _ => return None,
    };
    Some((what.into(), instead.into()))
}

fn is_null(values: &[Expr]) -> bool {
    matches!(values, [Expr::Value(value)] if value.value == Value::Null)
}

/// Returns the name and the hint for a DROP of something else than one table or view.
fn dropped(kind: ObjectType, names: &[ObjectName]) -> Option<UnsupportedStatement> {
    let hint = match kind {
        ObjectType::Table | ObjectType::View if names.len() < 2 => return None,
        ObjectType::Table | ObjectType::View => {
            let each: Vec<String> =
                names.iter().map(|name| format!("DROP {kind} {name}")).collect();
            return Some((
                format!("DROP {kind} of several").into(),
                format!("Write {}.", each.join("; ")).into(),
            ));
        }
        ObjectType::Schema | ObjectType::Database => {
            "Leave it out: it lasts as long as its session. DROP TABLE x.t drops a table in it."
        }
        ObjectType::Index => "`sluice index drop` removes the index of a table.",
        _ => "DROP TABLE, DROP VIEW and DROP FUNCTION are the kinds that there are.",
    };
    Some((format!("DROP {kind}").into(), hint.into()))
}

/// Returns the name and the hint for an unsupported clause of CREATE TABLE.
fn clause_of_table(table: &CreateTable) -> Option<UnsupportedStatement> {
    let (clause, instead): (Cow<'static, str>, _) = match &table.table_options {
        CreateTableOptions::None if table.comment.is_some() => ("COMMENT".into(), LEAVE_OUT),
        CreateTableOptions::None if table.temporary => {
            let instead = "Write CREATE TABLE: a table lasts as long as its session.";
            return Some(("CREATE TEMPORARY TABLE".into(), instead.into()));
        }
        CreateTableOptions::None => match table.hive_distribution {
            HiveDistributionStyle::PARTITIONED { .. } => ("PARTITIONED BY".into(), FOLDERS),
            _ => return None,
        },
        CreateTableOptions::With(_) => ("WITH (…)".into(), FILES),
        CreateTableOptions::Options(_) => ("OPTIONS (…)".into(), FILES),
        CreateTableOptions::TableProperties(_) => ("TBLPROPERTIES (…)".into(), FILES),
        CreateTableOptions::Plain(options) => (name(options.first()?), LEAVE_OUT),
    };
    Some((format!("{clause} of CREATE TABLE").into(), instead.into()))
}

/// Returns the name of an option.
fn name(option: &SqlOption) -> Cow<'static, str> {
    match option {
        SqlOption::Comment(_) => "COMMENT".into(),
        SqlOption::TableSpace(_) => "TABLESPACE".into(),
        SqlOption::Ident(key)
        | SqlOption::KeyValue { key, .. }
        | SqlOption::Partition { column_name: key, .. } => key.value.to_ascii_uppercase().into(),
        SqlOption::NamedParenthesizedList(list) => list.key.value.to_ascii_uppercase().into(),
        SqlOption::Clustered(_) => "CLUSTERED".into(),
    }
}

#[cfg(test)]
mod tests {
    use datafusion::sql::parser::{DFParser, Statement};

    use super::*;

    #[test]
    fn the_clause_is_named_with_what_there_is() {
        for (sql, what, part) in [
            ("CREATE TABLE e (a INT) WITH (format = 'csv')", "WITH (…) of CREATE TABLE", "COPY"),
            ("CREATE TABLE e (a INT) ENGINE = InnoDB", "ENGINE of CREATE TABLE", "memory"),
            ("CREATE TABLE e (a INT) COMMENT 'x'", "COMMENT of CREATE TABLE", "Leave it out"),
            ("CREATE TABLE e (a INT) COMMENT = 'x'", "COMMENT of CREATE TABLE", "Leave it out"),
            (
                "CREATE TABLE e (a INT) PARTITIONED BY (a)",
                "PARTITIONED BY of CREATE TABLE",
                "EXTERNAL",
            ),
            ("CREATE TEMP TABLE e (a INT)", "CREATE TEMPORARY TABLE", "session"),
            ("SHOW DATABASES", "SHOW DATABASES", "SHOW TABLES"),
            ("SHOW SCHEMAS", "SHOW SCHEMAS", "SHOW TABLES"),
            ("SET NAMES 'utf8'", "SET NAMES", "UTF-8"),
            ("SET sluice.scan = NULL", "SET … = NULL", "RESET sluice.scan"),
            ("DROP SCHEMA IF EXISTS x CASCADE", "DROP SCHEMA", "session"),
            ("DROP DATABASE x", "DROP DATABASE", "session"),
            ("DROP INDEX i", "DROP INDEX", "sluice index drop"),
            ("DROP TABLE a, b", "DROP TABLE of several", "DROP TABLE a; DROP TABLE b"),
            ("UNLOAD ('SELECT 1') TO 's3://b/k'", "UNLOAD", "COPY"),
        ] {
            let Statement::Statement(statement) =
                DFParser::parse_sql(sql).unwrap().remove(0).unwrap()
            else {
                panic!("{sql}");
            };
            let (said, hint) = instead_of(&statement).unwrap();
            assert_eq!(said, what, "{sql}");
            assert!(hint.contains(part), "{sql}: {hint}");
        }
        for sql in ["CREATE TABLE e (a INT)", "SET sluice.scan = 'get'", "SHOW ALL", "DROP VIEW v"]
        {
            let Statement::Statement(statement) =
                DFParser::parse_sql(sql).unwrap().remove(0).unwrap()
            else {
                panic!("{sql}");
            };
            assert!(instead_of(&statement).is_none(), "{sql}");
        }
    }
}
