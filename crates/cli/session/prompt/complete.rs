//! What Tab offers: keywords, functions, tables, columns, options and their values, buckets and keys.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustyline::completion::{FilenameCompleter, Pair};
use sluicegate_engine::browse::{Entry, browse};
use sluicegate_engine::external_tables::KINDS;
use sluicegate_engine::{Engine, config};
use tokio::runtime::Handle;
use tokio::time::timeout;

use crate::session::meta;
use crate::session::statements::{Kind, Piece, is_command, pieces};

/// How long the store may take to say what could follow.
const PATIENCE: Duration = Duration::from_secs(2);
/// The most that is offered.
const MOST: usize = 500;

/// Words of SQL that are offered and coloured.
#[rustfmt::skip]
const KEYWORDS: [&str; 102] = [
    "ALL", "ANALYZE", "AND", "ANTI", "ANY", "AS", "ASC", "BETWEEN", "BIGINT", "BOOLEAN", "BY", "CASE",
    "CAST", "COPY", "CREATE", "CROSS", "CURRENT", "DATE", "DECIMAL", "DESC", "DESCRIBE", "DISTINCT",
    "DOUBLE", "DROP", "ELSE", "END", "EXCEPT", "EXISTS", "EXPLAIN", "EXTERNAL", "EXTRACT", "FALSE",
    "FILTER", "FIRST", "FLOAT", "FOLLOWING", "FROM", "FULL", "GROUP", "HAVING", "IF", "ILIKE", "IN",
    "INNER", "INSERT", "INT", "INTERSECT", "INTERVAL", "INTO", "IS", "JOIN", "LAST", "LEFT", "LIKE",
    "LIMIT", "LOCATION", "NATURAL", "NOT", "NULL", "NULLS", "OFFSET", "ON", "OPTIONS", "OR", "ORDER",
    "OUTER", "OVER", "OVERWRITE", "PARTITION", "PARTITIONED", "PRECEDING", "RECURSIVE", "REPLACE",
    "RESET", "RIGHT", "ROW", "ROWS", "SELECT", "SEMI", "SET", "SHOW", "STORED", "SUMMARIZE", "TABLE",
    "TABLES", "THEN", "TIMESTAMP", "TO", "TRUE", "TRY_CAST", "UNBOUNDED", "UNION", "USING", "VALUES",
    "VARCHAR", "VERBOSE", "VIEW", "WHEN", "WHERE", "WINDOW", "WITH", "WITHIN",
];

/// Options of tables of files, and what may follow them.
#[rustfmt::skip]
const TABLE_OPTIONS: [(&str, &[&str]); 10] = [
    ("format.comment", &["#"]),
    ("format.compression", &["gzip", "bzip2", "xz", "zstd", "uncompressed"]),
    ("format.delimiter", &[",", ";", "\\t", "|"]),
    ("format.escape", &["\\"]),
    ("format.has_header", &["true", "false"]),
    ("format.newlines_in_values", &["true", "false"]),
    ("format.null_regex", &[]),
    ("format.quote", &["\"", "''"]),
    ("format.schema_infer_max_rec", &[]),
    ("format.truncated_rows", &["true", "false"]),
];

/// Options of COPY beside those.
const COPY_OPTIONS: [(&str, &[&str]); 2] =
    [("append", &["true", "false"]), ("overwrite", &["true", "false"])];

/// Whether a word is coloured as a keyword.
pub(super) fn is_keyword(word: &str) -> bool {
    let upper = word.to_ascii_uppercase();
    KEYWORDS.binary_search(&upper.as_str()).is_ok()
}

/// What can be completed over an engine.
pub(super) struct Completion {
    engine: Engine,
    files: FilenameCompleter,
    /// Columns of tables that are named by their URL.
    columns: Mutex<HashMap<String, Vec<String>>>,
}

/// What may stand at a place.
#[derive(Debug, PartialEq, Eq)]
enum Wanted<'a> {
    /// The name of a command of the program.
    Command,
    /// Whatever may stand in a statement.
    Word,
    /// The name of a table.
    Table,
    /// A column of a table.
    Column,
    /// An option of the session.
    Setting,
    /// A value of an option of the session.
    Value(&'a str),
    /// An option of a table of files.
    TableOption,
    /// An option of COPY.
    CopyOption,
    /// A value of such an option.
    TableValue(&'a str),
    /// The format of a table.
    TableKind,
    /// Something in the store.
    Url,
    /// A file.
    File,
    /// One of these.
    OneOf(&'static [&'static str]),
    Nothing,
}

impl Completion {
    pub(super) fn new(engine: Engine) -> Self {
        Self { engine, files: FilenameCompleter::new(), columns: Mutex::default() }
    }

    /// What may stand before the position: where it begins, and the candidates.
    pub(super) fn at(&self, line: &str, position: usize) -> (usize, Vec<Pair>) {
        let before = &line[..position];
        let (start, wanted) = wanted(before);
        let begun = &before[start..];
        let found = match wanted {
            Wanted::Nothing => Vec::new(),
            Wanted::File => {
                return self.files.complete_path(line, position).unwrap_or((position, Vec::new()));
            }
            Wanted::Command => matching(begun, meta::NAMES),
            Wanted::OneOf(words) => matching(begun, words.iter().copied()),
            Wanted::TableKind => keywords(begun, &KINDS),
            Wanted::Setting => matching(begun, self.settings().keys().map(String::as_str)),
            Wanted::Value(option) => matching(begun, self.values(option)),
            Wanted::TableOption => matching(begun, TABLE_OPTIONS.iter().map(|(name, _)| *name)),
            Wanted::CopyOption => {
                let all = COPY_OPTIONS.iter().chain(&TABLE_OPTIONS);
                matching(begun, all.map(|(name, _)| *name))
            }
            Wanted::TableValue(option) => {
                let known =
                    COPY_OPTIONS.iter().chain(&TABLE_OPTIONS).find(|(name, _)| *name == option);
                matching(begun, known.iter().flat_map(|(_, values)| values.iter().copied()))
            }
            Wanted::Table => matching(begun, self.tables().iter().map(String::as_str)),
            Wanted::Column => matching(begun, self.columns(line).iter().map(String::as_str)),
            Wanted::Word => self.words(begun, line),
            Wanted::Url => self.urls(begun, !line[position..].starts_with('\'')),
        };
        (start, found)
    }

    /// Columns of the statement's tables first, then tables, then SQL's own words.
    fn words(&self, begun: &str, line: &str) -> Vec<Pair> {
        let state = self.engine.context().state();
        let functions: BTreeSet<&String> = state
            .scalar_functions()
            .keys()
            .chain(state.aggregate_functions().keys())
            .chain(state.window_functions().keys())
            .collect();
        let mut found = matching(begun, self.columns(line).iter().map(String::as_str));
        found.extend(matching(begun, self.tables().iter().map(String::as_str)));
        found.extend(keywords(begun, &KEYWORDS));
        if !begun.is_empty() {
            let calls = functions.into_iter().filter(|name| name.starts_with(begun));
            found.extend(calls.map(|name| Pair {
                display: format!("{name}()"),
                replacement: format!("{name}("),
            }));
        }
        found
    }

    fn tables(&self) -> Vec<String> {
        let mut names = BTreeSet::new();
        let context = self.engine.context();
        for catalog in context.catalog_names().iter().filter_map(|name| context.catalog(name)) {
            let schemas =
                catalog.schema_names().into_iter().filter(|it| it != "information_schema");
            for schema in schemas.filter_map(|name| catalog.schema(&name)) {
                names.extend(schema.table_names().iter().map(|name| quoted(name)));
            }
        }
        names.into_iter().collect()
    }

    /// The columns of the tables that a statement names.
    fn columns(&self, line: &str) -> BTreeSet<String> {
        let tables = self.tables();
        let mut columns = BTreeSet::new();
        for piece in pieces(line) {
            let is_table = match piece.kind {
                Kind::Word | Kind::Name => tables.iter().any(|table| table == piece.text),
                Kind::Text => piece.closed && piece.text.contains("://"),
                _ => false,
            };
            if is_table {
                columns.extend(self.columns_of(piece.text));
            }
        }
        columns
    }

    fn columns_of(&self, table: &str) -> Vec<String> {
        let is_url = table.starts_with('\'');
        let known = || self.columns.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(columns) = known().get(table) {
            return columns.clone();
        }
        let sql = format!("SELECT * FROM {table}");
        let planned = self.wait(async { self.engine.query(&sql).await.ok() });
        // Tab is no time for notes; the statement has them when it runs.
        drop(self.engine.take_notes());
        let columns: Vec<String> = planned
            .flatten()
            .map(|frame| frame.schema().fields().iter().map(|it| quoted(it.name())).collect())
            .unwrap_or_default();
        if is_url {
            known().insert(table.to_owned(), columns.clone());
        }
        columns
    }

    /// The options of the session with their values.
    fn settings(&self) -> std::collections::BTreeMap<String, Option<String>> {
        let state = self.engine.context().state();
        state.config_options().entries().into_iter().map(|entry| (entry.key, entry.value)).collect()
    }

    fn values(&self, option: &str) -> Vec<&'static str> {
        let words = config::words(option);
        if !words.is_empty() {
            return words.to_vec();
        }
        match self.settings().get(option).and_then(Option::as_deref) {
            Some("true" | "false") => vec!["true", "false"],
            _ => Vec::new(),
        }
    }

    /// Buckets, or folders and objects; an object is all that is wanted, so its quote is closed.
    fn urls(&self, begun: &str, close: bool) -> Vec<Pair> {
        const SCHEME: &str = "s3://";
        let pair = |url: String, end: &str| {
            let name = url.trim_end_matches('/').rsplit('/').next().unwrap_or(&url);
            let slash = if url.ends_with('/') { "/" } else { "" };
            Pair { display: format!("{name}{slash}"), replacement: format!("{url}{end}") }
        };
        let Some(path) = begun.strip_prefix(SCHEME) else {
            let scheme = SCHEME.starts_with(begun).then(|| pair(SCHEME.to_owned(), ""));
            return scheme.into_iter().collect();
        };
        if !path.contains('/') {
            let buckets = self.wait(async { self.engine.endpoint().client.buckets().await.ok() });
            let buckets = buckets.flatten().unwrap_or_default();
            let buckets = buckets.iter().filter(|name| name.starts_with(path));
            return buckets.map(|name| pair(format!("{SCHEME}{name}/"), "")).collect();
        }
        let entries = self.wait(async { browse(&self.engine, begun, MOST).await.ok() });
        let entries = entries.flatten().unwrap_or_default().into_iter();
        let pairs = entries.map(|entry| match entry {
            Entry::Folder(url) => pair(url, ""),
            Entry::Object { url, .. } => pair(url, if close { "'" } else { "" }),
        });
        pairs.collect()
    }

    /// What the future gives, unless that takes too long.
    fn wait<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let handle = Handle::try_current().ok()?;
        handle.block_on(async { timeout(PATIENCE, Box::pin(work)).await.ok() })
    }
}

/// What may stand at the end of a text, and where that begins.
fn wanted(before: &str) -> (usize, Wanted<'_>) {
    let line = before.rfind('\n').map_or(0, |end| end + 1);
    if is_command(&before[line..]) {
        let (start, wanted) = wanted_of_command(&before[line..]);
        return (line + start, wanted);
    }
    let all: Vec<Piece<'_>> =
        pieces(before).filter(|piece| !matches!(piece.kind, Kind::Space | Kind::Comment)).collect();
    let begun = match all.last() {
        Some(last) if before.ends_with(last.text) => match last.kind {
            Kind::Word => Some(last),
            Kind::Text | Kind::Name if !last.closed => Some(last),
            _ => None,
        },
        _ => None,
    };
    let start =
        begun.map_or(before.len(), |piece| piece.start + usize::from(piece.kind == Kind::Text));
    let earlier = &all[..all.len() - usize::from(begun.is_some())];
    let of_statement = earlier.iter().rposition(|piece| piece.kind == Kind::End);
    let words: Vec<&str> =
        earlier[of_statement.map_or(0, |end| end + 1)..].iter().map(|piece| piece.text).collect();
    let upper: Vec<String> = words.iter().map(|word| word.to_ascii_uppercase()).collect();
    let upper: Vec<&str> = upper.iter().map(String::as_str).collect();
    // Names of settings have dots between words.
    let setting = |from: usize| {
        let dotted = earlier.iter().rev().take_while(|piece| {
            piece.kind == Kind::Word && !is_keyword(piece.text) || piece.text == "."
        });
        let dotted = dotted.last().map(|piece| piece.start);
        dotted.filter(|_| words.len() > from).unwrap_or(start)
    };
    let in_options = upper
        .iter()
        .rposition(|word| *word == "OPTIONS")
        .is_some_and(|at| upper[at..].contains(&"(") && !upper[at..].contains(&")"));
    let option = match upper.first() {
        Some(&"COPY") => Wanted::CopyOption,
        _ => Wanted::TableOption,
    };
    let is_text = begun.is_some_and(|piece| piece.kind == Kind::Text);
    match upper.as_slice() {
        ["SET", .., "=" | "TO"] => {
            let name_end = earlier.last().map_or(0, |piece| piece.start);
            let name = before[..name_end].trim_end();
            let name = name.rsplit(char::is_whitespace).next().unwrap_or_default();
            (start, Wanted::Value(name))
        }
        ["SET" | "RESET" | "SHOW", rest @ ..] if !is_text && !rest.contains(&"=") => {
            (setting(1), Wanted::Setting)
        }
        [.., "STORED", "AS"] => (start, Wanted::TableKind),
        _ if is_text => {
            let last = words.last().copied().unwrap_or_default();
            match in_options {
                true if matches!(last, "(" | ",") => (start, option),
                true => (start, Wanted::TableValue(last.trim_matches('\''))),
                false => (start, Wanted::Url),
            }
        }
        // Names need no quotes.
        [.., "(" | ","] if in_options => (start, option),
        [.., "."] if in_options => (setting(0), option),
        [.., "FROM" | "JOIN" | "INTO" | "DESCRIBE" | "SUMMARIZE"]
        | ["ANALYZE" | "DROP", "TABLE"] => (start, Wanted::Table),
        [.., "."] => (start, Wanted::Column),
        _ if begun.is_some_and(|piece| piece.kind == Kind::Name) => (start, Wanted::Column),
        _ => (start, Wanted::Word),
    }
}

fn wanted_of_command(line: &str) -> (usize, Wanted<'_>) {
    let Some((name, argument)) = line.split_once(char::is_whitespace) else {
        return (0, Wanted::Command);
    };
    let start = line.len() - argument.trim_start().len();
    match name {
        "\\d" | "\\dt" | ".tables" | ".schema" => (start, Wanted::Table),
        "\\ls" | "\\l" => (start, Wanted::Url),
        "\\i" | ".read" => (start, Wanted::File),
        "\\format" | ".mode" => (start, Wanted::OneOf(&["csv", "json", "ndjson", "table"])),
        "\\x" | "\\stats" | "\\timing" | ".timer" => (start, Wanted::OneOf(&["off", "on"])),
        _ => (start, Wanted::Nothing),
    }
}

/// Those that begin so.
fn matching<'a>(begun: &str, words: impl IntoIterator<Item = &'a str>) -> Vec<Pair> {
    let words = words.into_iter().filter(|word| word.starts_with(begun)).take(MOST);
    words.map(|word| Pair { display: word.to_owned(), replacement: word.to_owned() }).collect()
}

/// The same in any case; a word that was begun in lower case goes on so.
fn keywords(begun: &str, words: &[&str]) -> Vec<Pair> {
    let upper = begun.to_ascii_uppercase();
    let is_lower = !begun.is_empty() && begun.chars().all(|c| !c.is_ascii_uppercase());
    let mut found = matching(&upper, words.iter().copied());
    if is_lower {
        for pair in &mut found {
            pair.display.make_ascii_lowercase();
            pair.replacement.make_ascii_lowercase();
        }
    }
    found
}

/// A name as it has to be written.
fn quoted(name: &str) -> String {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let begins = |c: char| c.is_ascii_lowercase() || c == '_';
    match name.chars().all(plain) && name.starts_with(begins) && !is_keyword(name) {
        true => name.to_owned(),
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: &str, begun: &str, expected: &Wanted<'_>) {
        let (start, wanted) = wanted(before);
        assert_eq!((&before[start..], &wanted), (begun, expected), "{before}");
    }

    #[test]
    fn the_place_tells_what_may_stand_there() {
        check("", "", &Wanted::Word);
        check("sel", "sel", &Wanted::Word);
        check("select a; sel", "sel", &Wanted::Word);
        check("select * from li", "li", &Wanted::Table);
        check("select l_ from lineitem where l_o", "l_o", &Wanted::Word);
        check("select t.na", "na", &Wanted::Column);
        check("select \"Na", "\"Na", &Wanted::Column);
        check("select * from 's3://b/x", "s3://b/x", &Wanted::Url);
        check("copy t to 's", "s", &Wanted::Url);
        check("set sluice.sc", "sluice.sc", &Wanted::Setting);
        check("SHOW ", "", &Wanted::Setting);
        check("set sluice.scan = 'se", "se", &Wanted::Value("sluice.scan"));
        check("set sluice.scan = ", "", &Wanted::Value("sluice.scan"));
        check("set sluice.transfer to f", "f", &Wanted::Value("sluice.transfer"));
        check("create external table t stored as p", "p", &Wanted::TableKind);
        check("… location 's3://b/' options ('form", "form", &Wanted::TableOption);
        check("copy t to 's3://b/' options (", "", &Wanted::CopyOption);
        check("copy t to 's3://b/' options (over", "over", &Wanted::CopyOption);
        check("copy t to 's3://b/' options ('a' 'b', format.ha", "format.ha", &Wanted::CopyOption);
        check("copy t to 's3://b/' options ('overwrite' 't", "t", &Wanted::TableValue("overwrite"));
        check("copy t to 's3://b/' options (overwrite true) ", "", &Wanted::Word);
        check("create external table t location 's3://b/' options (", "", &Wanted::TableOption);
        check("options ('format.has_header' 'tr", "tr", &Wanted::TableValue("format.has_header"));
        check("\\f", "\\f", &Wanted::Command);
        check("select 1\n\\d li", "li", &Wanted::Table);
        check("\\ls s3://b/", "s3://b/", &Wanted::Url);
        check("\\timing o", "o", &Wanted::OneOf(&["off", "on"]));
    }

    #[test]
    fn keywords_are_sorted_and_follow_the_case_of_what_is_typed() {
        assert!(KEYWORDS.is_sorted());
        let words = |begun| keywords(begun, &KEYWORDS).into_iter().map(|pair| pair.replacement);
        assert_eq!(words("SEL").collect::<Vec<_>>(), ["SELECT"]);
        assert_eq!(words("sel").collect::<Vec<_>>(), ["select"]);
        assert!(is_keyword("From") && !is_keyword("fromage"));
        assert_eq!(quoted("a_1"), "a_1");
        assert_eq!((quoted("A b").as_str(), quoted("date").as_str()), ("\"A b\"", "\"date\""));
    }
}
