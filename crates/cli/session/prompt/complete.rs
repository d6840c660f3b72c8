//! Completion with Tab: keywords, functions, tables, columns, options and their values, buckets and keys.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustyline::completion::{FilenameCompleter, Pair};
use sluicegate_engine::browse::{Entry, browse};
use sluicegate_engine::external_tables::KINDS;
use sluicegate_engine::{Engine, config, table_functions};
use tokio::runtime::Handle;
use tokio::time::timeout;

use super::local_files;
use crate::session::meta;
use crate::session::statements::{Kind, Token, is_command, pieces};

/// Timeout of requests for candidates.
const TIMEOUT: Duration = Duration::from_secs(2);
/// The maximum number of candidates.
const MOST: usize = 500;

/// Keywords of SQL, sorted, for completion and highlighting.
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

/// Options of file tables, and their possible values.
#[rustfmt::skip]
const TABLE_OPTIONS: [(&str, &[&str]); 17] = [
    ("format.comment", &["#"]),
    ("format.compression", &["gzip", "bzip2", "xz", "zstd", "uncompressed"]),
    ("format.dateformat", &["%d.%m.%Y", "%m/%d/%Y"]),
    ("format.decimal_separator", &[",", "."]),
    ("format.delimiter", &[",", ";", "\\t", "|"]),
    ("format.encoding", &["latin-1", "windows-1252", "utf-16", "utf-8"]),
    ("format.escape", &["\\"]),
    ("format.has_header", &["true", "false"]),
    ("format.newlines_in_values", &["true", "false"]),
    ("format.null_regex", &[]),
    ("format.nullstr", &["NA", "NULL"]),
    ("format.quote", &["\"", "''"]),
    ("format.schema_infer_max_rec", &[]),
    ("format.skip", &[]),
    ("format.timestampformat", &["%d.%m.%Y %H:%M:%S"]),
    ("format.truncated_rows", &["true", "false"]),
    ("format.types", &[]),
];

/// Table options that apply only to reading, not to writing.
const ONLY_READ: [&str; 7] = [
    "format.dateformat",
    "format.decimal_separator",
    "format.encoding",
    "format.nullstr",
    "format.skip",
    "format.timestampformat",
    "format.types",
];

/// Options of COPY in addition to table options.
const COPY_OPTIONS: [(&str, &[&str]); 2] =
    [("append", &["true", "false"]), ("overwrite", &["true", "false"])];

/// Returns true if a word is highlighted as a keyword.
pub(super) fn is_keyword(word: &str) -> bool {
    let upper = word.to_ascii_uppercase();
    KEYWORDS.binary_search(&upper.as_str()).is_ok()
}

/// Finds candidates for completion with an engine.
pub(super) struct Completion {
    engine: Engine,
    files: FilenameCompleter,
    /// Cached columns of tables that are named by their URL, or by a function call with it.
    columns: Mutex<HashMap<String, Vec<String>>>,
}

/// The kinds of text that can follow at a position.
#[derive(Debug, PartialEq, Eq)]
enum CompletionKind<'a> {
    /// The name of a command of the program.
    Command,
    /// Any word of a statement.
    Word,
    /// The name of a table.
    Table,
    /// A column of the table that is named before it, or of any table.
    Column(Option<&'a str>),
    /// An argument of a function that reads objects.
    Argument(&'a str),
    /// A value, without quotes, of an argument of such a function: function and argument.
    ArgumentValue(&'a str, &'a str),
    /// An option of the session.
    Setting,
    /// A value of this option of the session.
    Value(&'a str),
    /// An option of a file table.
    TableOption,
    /// An option of COPY.
    CopyOption,
    /// A value of this option of a table or of COPY.
    TableValue(&'a str),
    /// The format of a table.
    TableKind,
    /// A bucket, folder or object of the store.
    Url,
    /// A local file.
    File,
    /// One of these words.
    OneOf(&'static [&'static str]),
    Nothing,
}

impl Completion {
    pub(super) fn new(engine: Engine) -> Self {
        Self { engine, files: FilenameCompleter::new(), columns: Mutex::default() }
    }

    /// Returns the start of the word before the position, and the candidates to replace it.
    pub(super) fn at(&self, line: &str, position: usize) -> (usize, Vec<Pair>) {
        let before = &line[..position];
        let (start, wanted) = wanted(before);
        let begun = &before[start..];
        let found = match wanted {
            CompletionKind::Nothing => Vec::new(),
            CompletionKind::File => {
                return self.files.complete_path(line, position).unwrap_or((position, Vec::new()));
            }
            CompletionKind::Command => matching(begun, meta::NAMES),
            CompletionKind::OneOf(words) => matching(begun, words.iter().copied()),
            CompletionKind::TableKind => keywords(begun, &KINDS),
            CompletionKind::Setting => matching(begun, self.settings().keys().map(String::as_str)),
            CompletionKind::Value(option) => matching(begun, self.values(option)),
            CompletionKind::TableOption => {
                matching(begun, TABLE_OPTIONS.iter().map(|(name, _)| *name))
            }
            CompletionKind::CopyOption => {
                let all = COPY_OPTIONS.iter().chain(&TABLE_OPTIONS).map(|(name, _)| *name);
                matching(begun, all.filter(|name| !ONLY_READ.contains(name)))
            }
            CompletionKind::TableValue(option) => {
                let known =
                    COPY_OPTIONS.iter().chain(&TABLE_OPTIONS).find(|(name, _)| *name == option);
                matching(begun, known.iter().flat_map(|(_, values)| values.iter().copied()))
            }
            CompletionKind::Table => {
                let mut found = matching(begun, self.tables().iter().map(String::as_str));
                if !begun.is_empty() {
                    found.extend(functions(begun, table_functions::NAMES));
                }
                found
            }
            CompletionKind::Column(table) => {
                matching(begun, self.columns(line, table).iter().map(String::as_str))
            }
            CompletionKind::Argument(function) => {
                let names = table_functions::arguments(function).map(|(name, _)| name);
                let mut found = matching(begun, names);
                found.iter_mut().for_each(|pair| pair.replacement += " => ");
                found
            }
            CompletionKind::ArgumentValue(function, name) => {
                values_of_argument(begun, function, name)
            }
            CompletionKind::Word => self.words(begun, line),
            CompletionKind::Url => {
                let close = !line[position..].starts_with('\'');
                let mut found = self.urls(begun, close);
                if !begun.is_empty() && !begun.contains("://") {
                    found.extend(local_files::like(begun, close, MOST));
                }
                found
            }
        };
        (start, found)
    }

    /// Returns columns of the statement's tables first, then tables, then SQL's own words.
    fn words(&self, begun: &str, line: &str) -> Vec<Pair> {
        let state = self.engine.context().state();
        let functions: BTreeSet<&String> = state
            .scalar_functions()
            .keys()
            .chain(state.aggregate_functions().keys())
            .chain(state.window_functions().keys())
            .collect();
        let mut found = matching(begun, self.columns(line, None).iter().map(String::as_str));
        found.extend(matching(begun, self.tables().iter().map(String::as_str)));
        found.extend(keywords(begun, &KEYWORDS));
        if !begun.is_empty() {
            found.extend(self::functions(begun, functions.into_iter().map(String::as_str)));
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

    /// Returns the columns of the tables that a statement names; only those of the table `of`, if it exists.
    fn columns(&self, line: &str, of: Option<&str>) -> BTreeSet<String> {
        let tables = self.tables();
        let named = |text: &str| tables.iter().any(|table| table.eq_ignore_ascii_case(text));
        if let Some(table) = of.filter(|table| named(table)) {
            return self.columns_of(table).into_iter().collect();
        }
        let all: Vec<Token<'_>> = pieces(line)
            .filter(|piece| !matches!(piece.kind, Kind::Space | Kind::Comment))
            .collect();
        let mut columns = BTreeSet::new();
        for (place, piece) in all.iter().enumerate() {
            let table = match piece.kind {
                Kind::Word | Kind::Name if named(piece.text) => piece.text,
                Kind::Text if piece.closed && piece.text.contains(['/', '.']) => {
                    call_around(line, &all, place).unwrap_or(piece.text)
                }
                _ => continue,
            };
            columns.extend(self.columns_of(table));
        }
        columns
    }

    fn columns_of(&self, table: &str) -> Vec<String> {
        let is_known = table.contains('\'');
        let known = || self.columns.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(columns) = known().get(table) {
            return columns.clone();
        }
        let sql = format!("SELECT * FROM {table}");
        let planned = self.wait(async { self.engine.query(&sql).await.ok() });
        // Discard the notes; the statement prints them when it runs.
        drop(self.engine.take_notes());
        let columns: Vec<String> = planned
            .flatten()
            .map(|frame| frame.schema().fields().iter().map(|it| quoted(it.name())).collect())
            .unwrap_or_default();
        if is_known {
            known().insert(table.to_owned(), columns.clone());
        }
        columns
    }

    /// Returns the options of the session with their values.
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

    /// Returns buckets, or folders and objects. After an object, the quote is closed if `close` is set.
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

    /// Waits for a future; `None` if it takes longer than two seconds.
    fn wait<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let handle = Handle::try_current().ok()?;
        handle.block_on(async { timeout(TIMEOUT, Box::pin(work)).await.ok() })
    }
}

/// Returns the start of the last word of a text, and the kind of text that can be there.
fn wanted(before: &str) -> (usize, CompletionKind<'_>) {
    let line = before.rfind('\n').map_or(0, |end| end + 1);
    if is_command(&before[line..]) {
        let (start, wanted) = wanted_of_command(&before[line..]);
        return (line + start, wanted);
    }
    let all: Vec<Token<'_>> =
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
    // Names of settings consist of words and points.
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
        Some(&"COPY") => CompletionKind::CopyOption,
        _ => CompletionKind::TableOption,
    };
    let is_text = begun.is_some_and(|piece| piece.kind == Kind::Text);
    if let Some(wanted) = wanted_in_call(&words, is_text) {
        return (start, wanted);
    }
    match upper.as_slice() {
        ["SET", .., "=" | "TO"] => {
            let name_end = earlier.last().map_or(0, |piece| piece.start);
            let name = before[..name_end].trim_end();
            let name = name.rsplit(char::is_whitespace).next().unwrap_or_default();
            (start, CompletionKind::Value(name))
        }
        ["SET" | "RESET" | "SHOW", rest @ ..] if !is_text && !rest.contains(&"=") => {
            (setting(1), CompletionKind::Setting)
        }
        [.., "STORED", "AS"] => (start, CompletionKind::TableKind),
        _ if is_text => {
            let last = words.last().copied().unwrap_or_default();
            match in_options {
                true if matches!(last, "(" | ",") => (start, option),
                true => (start, CompletionKind::TableValue(last.trim_matches('\''))),
                false => (start, CompletionKind::Url),
            }
        }
        // Option names need no quotes.
        [.., "(" | ","] if in_options => (start, option),
        [.., "."] if in_options => (setting(0), option),
        [.., "FROM" | "JOIN" | "INTO" | "DESCRIBE" | "SUMMARIZE"]
        | ["ANALYZE" | "DROP", "TABLE"] => (start, CompletionKind::Table),
        [.., "."] => (start, CompletionKind::Column(words.iter().rev().nth(1).copied())),
        _ if begun.is_some_and(|piece| piece.kind == Kind::Name) => {
            (start, CompletionKind::Column(None))
        }
        _ => (start, CompletionKind::Word),
    }
}

/// Returns the kind of text that can follow these words in a call of a function that reads objects; `None` outside of
/// such a call.
fn wanted_in_call<'a>(words: &[&'a str], is_text: bool) -> Option<CompletionKind<'a>> {
    // Such calls contain no parentheses.
    let open = words.iter().rposition(|word| *word == "(")?;
    let function = words[..open].last().copied()?;
    let is_call = table_functions::NAMES.iter().any(|name| name.eq_ignore_ascii_case(function));
    if !is_call || words[open..].contains(&")") {
        return None;
    }
    match &words[open + 1..] {
        [] if is_text => Some(CompletionKind::Url),
        [] => Some(CompletionKind::OneOf(&["'s3://"])),
        [.., ","] if !is_text => Some(CompletionKind::Argument(function)),
        [.., name, "=", ">"] | [.., name, ":", "="] | [.., name, "="] => {
            Some(match (is_text, option_of_argument(function, name)) {
                (true, Some(option)) => CompletionKind::TableValue(option),
                (false, Some(_)) => CompletionKind::ArgumentValue(function, name),
                (_, None) => CompletionKind::Nothing,
            })
        }
        _ => Some(CompletionKind::Nothing),
    }
}

/// Returns the table option that an argument of a function sets.
fn option_of_argument(function: &str, argument: &str) -> Option<&'static str> {
    let mut known = table_functions::arguments(function);
    known.find(|(name, _)| name.eq_ignore_ascii_case(argument)).map(|(_, option)| option)
}

/// Returns values of an argument in SQL: texts are quoted.
fn values_of_argument(begun: &str, function: &str, argument: &str) -> Vec<Pair> {
    let option = option_of_argument(function, argument);
    let known = TABLE_OPTIONS.iter().find(|(name, _)| Some(*name) == option);
    let written = known.iter().flat_map(|(_, values)| values.iter()).map(|value| match *value {
        "true" | "false" => (*value).to_owned(),
        text => format!("'{text}'"),
    });
    let written: Vec<String> = written.collect();
    matching(begun, written.iter().map(String::as_str))
}

/// Returns the call of a function that reads objects, if the piece at `place` is its first argument; `None` for other
/// pieces, or if the call has no end yet.
fn call_around<'a>(line: &'a str, all: &[Token<'_>], place: usize) -> Option<&'a str> {
    let function = all.get(place.checked_sub(2)?)?;
    let is_call =
        table_functions::NAMES.iter().any(|name| name.eq_ignore_ascii_case(function.text));
    if !is_call || all[place - 1].text != "(" {
        return None;
    }
    let end = all[place..].iter().find(|piece| piece.text == ")")?;
    line.get(function.start..=end.start)
}

fn wanted_of_command(line: &str) -> (usize, CompletionKind<'_>) {
    let Some((name, argument)) = line.split_once(char::is_whitespace) else {
        return (0, CompletionKind::Command);
    };
    let start = line.len() - argument.trim_start().len();
    match name {
        "\\d" | "\\dt" | ".tables" | ".schema" => (start, CompletionKind::Table),
        "\\ls" | "\\l" => (start, CompletionKind::Url),
        "\\i" | ".read" => (start, CompletionKind::File),
        "\\format" | ".mode" => (start, CompletionKind::OneOf(&["csv", "json", "ndjson", "table"])),
        "\\x" | "\\stats" | "\\timing" | ".timer" => (start, CompletionKind::OneOf(&["off", "on"])),
        _ => (start, CompletionKind::Nothing),
    }
}

/// Returns the words that begin with `begun`.
fn matching<'a>(begun: &str, words: impl IntoIterator<Item = &'a str>) -> Vec<Pair> {
    let words = words.into_iter().filter(|word| word.starts_with(begun)).take(MOST);
    words.map(|word| Pair { display: word.to_owned(), replacement: word.to_owned() }).collect()
}

/// Returns calls of the functions whose names begin with `begun`.
fn functions<'a>(begun: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<Pair> {
    let calls = names.into_iter().filter(|name| name.starts_with(begun));
    calls
        .map(|name| Pair { display: format!("{name}()"), replacement: format!("{name}(") })
        .collect()
}

/// Returns the keywords that begin with `begun` in any case, in lower case if `begun` is.
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

/// Quotes a name if SQL requires it.
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
    fn check(before: &str, begun: &str, expected: &CompletionKind<'_>) {
        let (start, wanted) = wanted(before);
        assert_eq!((&before[start..], &wanted), (begun, expected), "{before}");
    }

    #[test]
    fn the_place_tells_what_may_stand_there() {
        check("", "", &CompletionKind::Word);
        check("sel", "sel", &CompletionKind::Word);
        check("select a; sel", "sel", &CompletionKind::Word);
        check("select * from li", "li", &CompletionKind::Table);
        check("select l_ from lineitem where l_o", "l_o", &CompletionKind::Word);
        check("select t.na", "na", &CompletionKind::Column(Some("t")));
        check("select * from t where t.", "", &CompletionKind::Column(Some("t")));
        check("select \"Na", "\"Na", &CompletionKind::Column(None));
        check("from read_csv(", "", &CompletionKind::OneOf(&["'s3://"]));
        check("from READ_CSV('s3://b", "s3://b", &CompletionKind::Url);
        check("from read_csv('s3://b', ", "", &CompletionKind::Argument("read_csv"));
        check(
            "from read_csv('s3://b', quote => ',', de",
            "de",
            &CompletionKind::Argument("read_csv"),
        );
        check(
            "read_csv('s3://b', header => t",
            "t",
            &CompletionKind::ArgumentValue("read_csv", "header"),
        );
        check("read_csv('s3://b', delim => '", "", &CompletionKind::TableValue("format.delimiter"));
        check("read_csv('s3://b', sep = '", "", &CompletionKind::Nothing);
        check("read_csv('s3://b', quote = '", "", &CompletionKind::TableValue("format.quote"));
        check("read_csv('s3://b', color => '", "", &CompletionKind::Nothing);
        check("from read_csv('s3://b', header => true) wh", "wh", &CompletionKind::Word);
        check("select * from 's3://b/x", "s3://b/x", &CompletionKind::Url);
        check("copy t to 's", "s", &CompletionKind::Url);
        check("set sluice.sc", "sluice.sc", &CompletionKind::Setting);
        check("SHOW ", "", &CompletionKind::Setting);
        check("set sluice.scan = 'se", "se", &CompletionKind::Value("sluice.scan"));
        check("set sluice.scan = ", "", &CompletionKind::Value("sluice.scan"));
        check("set sluice.transfer to f", "f", &CompletionKind::Value("sluice.transfer"));
        check("create external table t stored as p", "p", &CompletionKind::TableKind);
        check("… location 's3://b/' options ('form", "form", &CompletionKind::TableOption);
        check("copy t to 's3://b/' options (", "", &CompletionKind::CopyOption);
        check("copy t to 's3://b/' options (over", "over", &CompletionKind::CopyOption);
        check(
            "copy t to 's3://b/' options ('a' 'b', format.ha",
            "format.ha",
            &CompletionKind::CopyOption,
        );
        check(
            "copy t to 's3://b/' options ('overwrite' 't",
            "t",
            &CompletionKind::TableValue("overwrite"),
        );
        check("copy t to 's3://b/' options (overwrite true) ", "", &CompletionKind::Word);
        check(
            "create external table t location 's3://b/' options (",
            "",
            &CompletionKind::TableOption,
        );
        check(
            "options ('format.has_header' 'tr",
            "tr",
            &CompletionKind::TableValue("format.has_header"),
        );
        check("\\f", "\\f", &CompletionKind::Command);
        check("select 1\n\\d li", "li", &CompletionKind::Table);
        check("\\ls s3://b/", "s3://b/", &CompletionKind::Url);
        check("\\timing o", "o", &CompletionKind::OneOf(&["off", "on"]));
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
