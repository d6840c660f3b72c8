//! Random tables, predicates and aggregates: engine over Select = DataFusion over the same file.

use async_trait::async_trait;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use sluicegate_engine::EngineBuilder;
use sluicegate_engine::config::Scan;
use tokio::runtime::Runtime;

use crate::harness::{
    Store, TestStore, in_text, runner, stock, stock_ordered, stock_rows, try_ordered, try_rows,
};

const NAMES: [&str; 9] = ["id", "s", "i", "n", "d", "t", "b", "f", "w"];

pub(crate) const COLUMNS: &str = "id BIGINT NOT NULL, s VARCHAR, i INT, n BIGINT, d DECIMAL(12,3), t DATE, b BOOLEAN, f DOUBLE, w DECIMAL(38,10)";

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-c]{0,3}",
        2 => "[a-zÀ-ž0-9 ,;'%_-]{0,8}",
        1 => "\u{feff}[ab]{0,2}",
        1 => Just("\"quoted\"".to_owned()),
        1 => Just("two\nlines".to_owned()),
        1 => Just("comma, inside".to_owned()),
        1 => Just("# no comment".to_owned()),
        1 => Just("日本語 🚰".to_owned()),
    ]
}

fn maybe<T: std::fmt::Debug>(value: impl Strategy<Value = T>) -> impl Strategy<Value = Option<T>> {
    prop::option::weighted(0.8, value)
}

fn whole() -> impl Strategy<Value = i64> {
    prop_oneof![6 => -5_i64..10, 1 => Just(i64::MAX), 1 => Just(i64::MIN), 1 => any::<i64>()]
}

fn decimal() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => (-20_i64..20, 0_u32..1000).prop_map(|(whole, part)| format!("{whole}.{part:03}")),
        1 => (-20_i64..20).prop_map(|whole| whole.to_string()),
        1 => (-20_i64..20).prop_map(|whole| format!("{whole}.5")),
        // More digits than the column declares, which are rounded.
        1 => (0_i64..20, 0_u32..100_000).prop_map(|(whole, part)| format!("{whole}.{part:05}")),
        1 => Just("999999999.999".to_owned()),
    ]
}

fn date() -> impl Strategy<Value = String> {
    prop_oneof![
        5 => (1990..1993, 1..13, 1..29).prop_map(|(y, m, d)| format!("{y:04}-{m:02}-{d:02}")),
        1 => Just("0001-01-01".to_owned()),
        1 => Just("9999-12-31".to_owned()),
    ]
}

/// Generates a date as it may be in a field. If it has a time of day, the day in UTC counts.
fn date_field() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => date(),
        1 => (1990..1993, 1..13, 1..29, "T(00|12|23):30:00(Z|[+-]0[0-9]:00)?")
            .prop_map(|(y, m, d, time)| format!("{y:04}-{m:02}-{d:02}{time}")),
    ]
}

fn float() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => (-4..5).prop_map(|x| format!("{}", f64::from(x) / 2.0)),
        1 => any::<f64>().prop_filter("CSV", |x| x.is_finite()).prop_map(|x| format!("{x:e}")),
        1 => Just("NaN".to_owned()),
        1 => Just("-NaN".to_owned()),
        1 => Just("-0.0".to_owned()),
        1 => Just("inf".to_owned()),
    ]
}

/// Generates decimals of up to 38 digits. Twice the value exceeds 38 digits, but still fits 128 bits: beyond them
/// DataFusion fails, and the rows that it evaluates before are undefined.
fn wide_decimal() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => (-5_i64..5).prop_map(|whole| format!("{whole}.5")),
        1 => Just("7000000000000000000000000000.0000000001".to_owned()),
        1 => Just("-8000000000000000000000000000.0000000003".to_owned()),
    ]
}

/// The texts of the columns; `None` for NULL.
pub(crate) type Row = Vec<Option<String>>;

pub(crate) fn table() -> impl Strategy<Value = Vec<Row>> {
    prop::collection::vec(row(), 0..30)
}

/// Generates a row of `COLUMNS`.
pub(crate) fn row() -> impl Strategy<Value = Row> {
    fn shown<T: ToString>(value: Option<T>) -> Option<String> {
        value.map(|value| value.to_string())
    }
    let row = (
        0_i64..50,
        maybe(text()),
        maybe(prop_oneof![5 => -3_i32..4, 1 => any::<i32>()]),
        maybe(whole()),
        maybe(decimal()),
        maybe(date_field()),
        maybe(any::<bool>()),
        maybe(float()),
        maybe(wide_decimal()),
    );
    row.prop_map(|(id, s, i, n, d, t, b, f, w)| {
        vec![Some(id.to_string()), s, shown(i), shown(n), d, t, shown(b), f, w]
    })
}

/// The formats of a table.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Format {
    /// CSV with line breaks in fields, which the table declares.
    Csv,
    /// CSV without line breaks in fields.
    CsvOfLines,
    Json,
    /// Parquet with a few rows in each row group.
    Parquet,
}

impl Format {
    pub(crate) fn extension(self) -> &'static str {
        match self {
            Self::Csv | Self::CsvOfLines => "csv",
            Self::Json => "json",
            Self::Parquet => "parquet",
        }
    }

    pub(crate) fn ddl(self, location: &str, partitioned: bool) -> String {
        let (name, options) = match self {
            Self::Csv => {
                ("CSV", "OPTIONS ('format.has_header' 'true', 'format.newlines_in_values' 'true')")
            }
            Self::CsvOfLines => ("CSV", "OPTIONS ('format.has_header' 'true')"),
            Self::Json => ("JSON", ""),
            Self::Parquet => ("PARQUET", ""),
        };
        let (column, by) = if partitioned { (", p INT", "PARTITIONED BY (p)") } else { ("", "") };
        format!(
            "CREATE EXTERNAL TABLE x ({COLUMNS}{column}) STORED AS {name} {by}
                 LOCATION '{location}' {options}"
        )
    }

    /// Returns the statements that create the same table in plain DataFusion, which drops digits of decimals in text
    /// where ours rounds.
    pub(crate) fn stock_ddl(self, location: &str, partitioned: bool) -> Vec<String> {
        let ddl = self.ddl(location, partitioned);
        if matches!(self, Self::Parquet) {
            return vec![ddl];
        }
        let wide = ddl.replace("TABLE x (", "TABLE x_of_digits (").replace("(12,3)", "(38,12)");
        // The LIMIT keeps conditions above the scan.
        let view = "CREATE VIEW x AS SELECT * REPLACE (CAST(d AS DECIMAL(12,3)) AS d) \
                    FROM (SELECT * FROM x_of_digits LIMIT 9223372036854775807)";
        vec![wide, view.to_owned()]
    }

    /// Returns the bytes of the object.
    pub(crate) async fn object(self, rows: &[Row], forms: &[u8]) -> Vec<u8> {
        let text = self.write(rows, forms);
        match self {
            Self::Parquet => parquet(&text).await,
            Self::Csv | Self::CsvOfLines | Self::Json => text.into_bytes(),
        }
    }

    /// Writes the rows as text. `forms` selects for each row one of the equivalent notations of JSON.
    pub(crate) fn write(self, rows: &[Row], forms: &[u8]) -> String {
        match self {
            Self::Csv => csv(rows),
            Self::CsvOfLines => csv(rows).replace("two\nlines", "two lines"),
            Self::Json | Self::Parquet => {
                let forms = forms.iter().chain(std::iter::repeat(&0));
                rows.iter().zip(forms).map(|(row, form)| json(row, *form)).collect()
            }
        }
    }
}

/// Converts rows of JSON to Parquet.
async fn parquet(json: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let (source, target) = (folder.path().join("rows.json"), folder.path().join("rows.parquet"));
    std::fs::write(&source, json).unwrap();
    let stock = stock();
    let ddl = Format::Json.ddl(&source.display().to_string(), false);
    stock_rows(&stock, &ddl).await.unwrap();
    let copy = format!(
        "COPY (SELECT * FROM x) TO '{}' STORED AS PARQUET
         OPTIONS ('format.max_row_group_size' '5')",
        target.display()
    );
    stock_rows(&stock, &copy).await.unwrap();
    std::fs::read(target).unwrap()
}

fn csv(rows: &[Row]) -> String {
    let field = |text: &Option<String>| match text.as_deref().unwrap_or_default() {
        text if text.contains(['"', ',', '\n', '\r', '#']) => {
            format!("\"{}\"", text.replace('"', "\"\""))
        }
        text => text.to_owned(),
    };
    let mut csv = format!("{}\n", NAMES.join(","));
    for row in rows {
        csv.push_str(&row.iter().map(field).collect::<Vec<_>>().join(","));
        csv.push('\n');
    }
    csv
}

/// Writes a row as a line of JSON. Each bit of `form` selects another notation.
fn json(row: &Row, form: u8) -> String {
    let has = |bit: u8| form & (1 << bit) != 0;
    let mut members = Vec::new();
    if has(0) {
        // If a name occurs twice, the last member counts; members with other names are ignored.
        members.push(r#""i":[1], "d" : "no", "S":"a","else":{"i":7,"s":["b"]}"#.to_owned());
    }
    for (name, value) in NAMES.iter().zip(row) {
        let Some(text) = value else {
            if has(1) || has(0) {
                members.push(format!("\"{name}\":null"));
            }
            continue;
        };
        let is_number = text.ends_with(|c: char| c.is_ascii_digit());
        let value = match *name {
            "b" => text.clone(),
            "s" if has(2) => {
                let units: String = text.encode_utf16().map(|u| format!("\\u{u:04X}")).collect();
                format!("\"{units}\"")
            }
            // DataFusion drops the fraction, which is refused here.
            "i" | "n" if has(3) && text.len() < 10 => format!("{text}.0"),
            "i" | "n" if has(4) && text.len() < 10 => format!("{text}e0"),
            // DataFusion refuses 0E+0.
            "d" | "f" if has(4) && is_number && text.contains('.') && !text.contains('e') => {
                format!("{text}E+0")
            }
            "id" | "i" | "n" | "d" | "f" | "w" if is_number && !has(5) => text.clone(),
            _ => serde_json::Value::from(text.as_str()).to_string(),
        };
        members.push(format!("\"{name}\":{value}"));
    }
    format!("{{{}}}\n", members.join(if has(6) { " ,\t" } else { "," }))
}

/// Generates notations, mostly plain, because a number in another notation makes the engine read the whole object.
pub(crate) fn forms() -> impl Strategy<Value = Vec<u8>> {
    let plain = any::<u8>().prop_map(|form| form & 0b1110_0111);
    prop_oneof![
        3 => prop::collection::vec(plain, 30),
        1 => prop::collection::vec(any::<u8>(), 30),
    ]
}

fn comparison() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["=", "<>", "<", "<=", ">", ">="]).prop_map(str::to_owned)
}

fn atom() -> impl Strategy<Value = String> {
    prop_oneof![
        (comparison(), -3_i64..10).prop_map(|(op, x)| format!("i {op} {x}")),
        (comparison(), -5_i64..10).prop_map(|(op, x)| format!("n {op} {x}")),
        (comparison(), -5_i64..10).prop_map(|(op, x)| format!("n + id {op} {x}")),
        (comparison(), decimal()).prop_map(|(op, x)| format!("d {op} {x}")),
        (comparison(), decimal()).prop_map(|(op, x)| format!("d * 2 {op} {x}")),
        (comparison(), -2_i64..3).prop_map(|(op, x)| format!("w + w - w {op} w + {x}")),
        (comparison(), -5_i64..5).prop_map(|(op, x)| format!("w * 2 {op} {x}")),
        (comparison(), 1_i64..4).prop_map(|(op, x)| format!("-f {op} {x}")),
        (comparison(), 1_i64..4).prop_map(|(op, x)| format!("f / f - f {op} {x}")),
        (comparison(), -2_i64..3).prop_map(|(op, x)| format!("PARTITION {op} i + {x}")),
        comparison().prop_map(|op| format!("(d > 1 AND PARTITION {op} 2)")),
        (comparison(), date()).prop_map(|(op, x)| format!("t {op} DATE '{x}'")),
        (comparison(), "[a-c]{0,3}").prop_map(|(op, x)| format!("s {op} '{x}'")),
        "[a-c%_]{0,4}".prop_map(|x| format!("s LIKE '{x}'")),
        "[a-c%_]{0,4}".prop_map(|x| format!("s NOT LIKE '{x}'")),
        (comparison(), -4..5).prop_map(|(op, x)| format!("f {op} {}", f64::from(x) / 2.0)),
        prop::sample::select(vec!["s", "i", "n", "d", "t", "b", "f"])
            .prop_map(|column| format!("{column} IS NULL")),
        prop::sample::select(vec!["s", "i", "n", "d", "t", "b", "f"])
            .prop_map(|column| format!("{column} IS NOT NULL")),
        Just("b".to_owned()),
        Just("NOT b".to_owned()),
        Just("i IN (1, 2, 3, -1, 7)".to_owned()),
        Just("s NOT IN ('a', 'b', 'ab', 'c', 'cc')".to_owned()),
        Just(
            "t IN (DATE '1990-01-01', DATE '1991-02-03', DATE '1992-12-28', DATE '0001-01-01')"
                .to_owned()
        ),
        Just("CASE WHEN b THEN i WHEN i > 0 THEN 1 ELSE 0 END = 1".to_owned()),
        Just("i = id".to_owned()),
        Just("(s IS DISTINCT FROM 'a')".to_owned()),
    ]
}

pub(crate) fn predicate() -> impl Strategy<Value = String> {
    atom().prop_recursive(3, 8, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} AND {b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} OR {b})")),
            inner.prop_map(|a| format!("(NOT ({a}))")),
        ]
    })
}

pub(crate) fn output() -> impl Strategy<Value = String> {
    let columns = vec![
        "*",
        "s",
        "id, s",
        "f, d, t",
        "1",
        "count(*), count(s), count(i), count(t)",
        "sum(i), min(i), max(i), avg(i)",
        "sum(n), min(n), max(n)",
        "sum(d), min(d), max(d), avg(d)",
        "min(t), max(t), min(s), max(s)",
        "sum(d) FILTER (WHERE b), count(*) FILTER (WHERE i > 0)",
        "sum(w), sum(w * 2), max(w + w), count(*)",
        "sum(d * 2 - 1), sum(CASE WHEN b THEN d ELSE 0 END)",
        "max(f), min(f), count(f)",
        "min(substr(s, 2)), min(substr(s, 2)) IS NULL, max(substr(s, 3)), sum(f), count(*)",
        "min(CASE WHEN b THEN substr(s, 1, 0) ELSE s END) IS NULL",
        "s, count(*)",
    ];
    prop::sample::select(columns).prop_map(str::to_owned)
}

/// The end of a statement that sorts its rows totally, so that they can be compared in order.
const ORDER: &str = " ORDER BY n DESC NULLS LAST, s, t, d NULLS FIRST, i, b, f, id";

pub(crate) fn statement(output: &str, predicate: &str, partitioned: bool) -> String {
    let predicate = predicate.replace("PARTITION", if partitioned { "p" } else { "2" });
    let tail = match output {
        "s, count(*)" => " GROUP BY s",
        "*" => ORDER,
        _ => "",
    };
    format!("SELECT {output} FROM x WHERE {predicate}{tail}")
}

/// The cause of whole numbers beyond their type.
pub(crate) const OVERFLOW: &str = "overflow";

/// Returns the cause in an error, without the places that only one of the two sides names.
pub(crate) fn cause(error: &str) -> &str {
    // The two sides compute the rows of a batch in another order, and name the first that fails.
    let of_overflow =
        ["Overflow happened on", "is beyond the values of its type", "has more than 38 digits"];
    if of_overflow.iter().any(|part| error.contains(part)) {
        return OVERFLOW;
    }
    let line = error.lines().last().unwrap_or_default();
    line.rsplit_once(": ").map_or(line, |(_, cause)| cause)
}

/// Returns true for an error of DataFusion in plans without our scans: for `n + 1 = 2` it replaces the sort key `n +
/// 1` by a constant, or a 2 by `n + 1`, and then reports a wrong order.
pub(crate) fn is_of_datafusion(error: &str) -> bool {
    let of_order = ["SanityCheckPlan", "does not satisfy order requirements"];
    of_order.iter().any(|part| error.contains(part)) && !error.contains("s3_select")
}

/// Runs random statements over random tables in a place, and compares with DataFusion over a local copy. Returns the
/// number of statements, and how many of them were pushed down.
pub(crate) fn check(
    runtime: &Runtime,
    place: &dyn TestStore,
    format: Format,
    scan: Scan,
) -> (u32, u32) {
    let local = tempfile::tempdir().unwrap();
    let mut runner = runner(64);
    let statements = prop::collection::vec((output(), predicate()), 1..4);
    let number = std::cell::Cell::new(0);
    let (asked, pushed) = (std::cell::Cell::new(0_u32), std::cell::Cell::new(0_u32));
    let cases = (table(), forms(), statements, any::<bool>(), any::<bool>());
    let result = runner.run(&cases, |(rows, forms, statements, partitioned, divided)| {
        number.set(number.get() + 1);
        // Each case has a folder of its own, because a place may be used for several formats.
        let folder = format!("{format:?}-{}", number.get());
        // DataFusion does not support NULL in the names of folders, so 3 stands for it there.
        let below = |name: &str, null: &str| match (partitioned, name) {
            (false, _) => String::new(),
            (true, "a") => "p=2/".to_owned(),
            (true, _) => format!("p={null}/"),
        };
        let text = format.write(&rows, &forms);
        // Two objects have bounds of their own.
        let first = if divided { rows.len() / 2 } else { rows.len() };
        let (first, second) = rows.split_at(first);
        runtime.block_on(async {
            for (name, rows) in [("a", first), ("b", second)] {
                if name == "b" && rows.is_empty() {
                    continue;
                }
                let key =
                    |null| format!("{folder}/{}{name}.{}", below(name, null), format.extension());
                let object = format.object(rows, &forms).await;
                let file = local.path().join(key("3"));
                std::fs::create_dir_all(file.parent().unwrap()).unwrap();
                std::fs::write(&file, &object).unwrap();
                place.put_object(&key("__HIVE_DEFAULT_PARTITION__"), object).await;
            }
            let engine = place.builder().scan(scan).build().await.unwrap();
            let stock = stock();
            let location = format!("s3://{}/{folder}/", place.bucket());
            let ours = format.ddl(&location, partitioned);
            try_rows(&engine, &ours).await.unwrap();
            let theirs = format!("{}/{folder}/", local.path().display());
            for ddl in format.stock_ddl(&theirs, partitioned) {
                let named = if partitioned { ddl.replace(" x ", " of_folders ") } else { ddl };
                stock_rows(&stock, &named).await.unwrap();
            }
            if partitioned {
                // DataFusion reads folders for which a condition is NULL. The LIMIT keeps the condition above the
                // scan.
                let view = "CREATE VIEW x AS SELECT * REPLACE (nullif(p, 3) AS p) \
                            FROM (SELECT * FROM of_folders LIMIT 9223372036854775807)";
                stock_rows(&stock, view).await.unwrap();
            }
            for (output, predicate) in statements {
                let sql = statement(&output, &predicate, partitioned);
                let expected = stock_ordered(&stock, &sql).await;
                let before = engine.counted().select;
                let actual = try_ordered(&engine, &sql).await.map_err(|e| e.to_string());
                asked.set(asked.get() + 1);
                pushed.set(pushed.get() + u32::from(engine.counted().select > before));
                match (actual, expected) {
                    (_, Err(error)) | (Err(error), _) if is_of_datafusion(&error) => {}
                    // Which rows are excluded before a sum is computed is open.
                    (Ok(_), Err(error)) | (Err(error), Ok(_)) if cause(&error) == OVERFLOW => {}
                    (Ok(mut actual), Ok(mut expected)) => {
                        if !sql.ends_with(ORDER) {
                            actual.sort();
                            expected.sort();
                        }
                        prop_assert_eq!(actual, expected, "{} over\n{}", sql, text)
                    }
                    (Err(actual), Err(expected)) => {
                        prop_assert_eq!(cause(&actual), cause(&expected), "{} over\n{}", sql, text)
                    }
                    (actual, expected) => {
                        prop_assert!(
                            false,
                            "{sql}: {actual:?}, but DataFusion {expected:?}\n{text}"
                        );
                    }
                }
            }
            Ok(())
        })
    });
    result.unwrap();
    (asked.get(), pushed.get())
}

/// Our store, with answers about Parquet as text.
struct InText(Store);

#[async_trait]
impl TestStore for InText {
    fn bucket(&self) -> &str {
        self.0.bucket()
    }

    async fn put_object(&self, key: &str, bytes: Vec<u8>) {
        self.0.put(key, bytes);
    }

    fn builder(&self) -> EngineBuilder {
        self.0.builder().profile(in_text())
    }
}

fn check_ours(format: Format) {
    let runtime = Runtime::new().unwrap();
    check_in(&runtime, &runtime.block_on(Store::start()), format);
}

fn check_in(runtime: &Runtime, store: &dyn TestStore, format: Format) {
    let (asked, pushed) = check(runtime, store, format, Scan::Select);
    // Most statements must reach the store; otherwise this compares DataFusion with itself.
    assert!(2 * pushed > asked, "of {asked} statements only {pushed} were sent to the store");
}

#[test]
fn select_over_csv_agrees_with_datafusion() {
    check_ours(Format::Csv);
}

#[test]
fn select_over_json_agrees_with_datafusion() {
    check_ours(Format::Json);
}

#[test]
fn select_over_parquet_agrees_with_datafusion() {
    check_ours(Format::Parquet);
}

#[test]
fn select_over_parquet_in_text_agrees_with_datafusion() {
    let runtime = Runtime::new().unwrap();
    let store = InText(runtime.block_on(Store::start()));
    check_in(&runtime, &store, Format::Parquet);
}

#[test]
fn no_row_of_parquet_is_skipped_by_mistake() {
    let runtime = Runtime::new().unwrap();
    let store = runtime.block_on(Store::start());
    let (asked, pushed) = check(&runtime, &store, Format::Parquet, Scan::Get);
    assert!(asked > 0 && pushed == 0, "{pushed} of {asked} statements were sent to the store");
}

/// The seed is fixed, so every run has the same cases.
#[test]
fn random_cases_are_the_same_in_every_run() {
    // Cargo sets this variable, and also those in `.cargo/config.toml`.
    if std::env::var_os("CARGO_MANIFEST_DIR").is_some() {
        assert_ne!(runner(1).config().rng_seed, RngSeed::Random);
    }
}
