//! The trials of a calibration, and the work that they cause for the store.

use sluicegate_costmodel::{
    AnswerFormat, Bytes, Format, HardwareProfile, RequestCounts, Requests, Rows, ScanWork, Terms,
    Work, answered,
};
use sluicegate_engine::internals::demand::{constants, items, terms};
use sluicegate_s3select::dialect::{Extras, parse_with};
use sluicegate_s3select::request::{ArrowCompression, ArrowOutput, ArrowType};

use super::data::{ANSWERED, COLUMNS, Data, GROUPS, KEYS, Object, PARTS, SMALL_PARTS};
use crate::failure::{Failure, Result};

/// The most GETs in flight at once.
const LANES: u32 = 32;
/// Statements that run at once.
const STATEMENTS: u32 = 8;
/// Constants of an IN list, about as many as fit in a statement of 64 KiB.
const CONSTANTS: u64 = 8_000;
/// The groups of a statement whose time shows that of a group, which is small beside the look-up of a row's group.
const MANY_GROUPS: usize = 400;
/// The maximum number of rows of an answer: its bytes are kept in memory, up to 8 MiB.
const ANSWERED_ROWS: Rows = Rows(160_000);
/// Approximate bytes of a value of an answer.
const ANSWERED_VALUE: f64 = 8.0;
/// Bytes of a GET whose time is only latency.
const TINY: u64 = 1024;
/// The maximum number of bytes of an object that statistics are read from.
const SAMPLED: u64 = 512 << 10;

/// Name of the table in memory whose rows are aggregated locally.
pub(super) const ROWS: &str = "rows";

/// The aggregates of the trials: function and argument.
const AGGREGATES: [(&str, &str); 6] = [
    ("SUM", "CAST(s._6 AS DECIMAL(15, 2))"),
    ("SUM", "CAST(s._2 AS INT)"),
    ("MIN", "CAST(s._6 AS DECIMAL(15, 2))"),
    ("MAX", "CAST(s._6 AS DECIMAL(15, 2))"),
    ("MIN", "CAST(s._2 AS INT)"),
    ("MAX", "CAST(s._2 AS INT)"),
];

/// A measurement of one round.
#[derive(Debug, Clone)]
pub(super) enum Trial {
    /// Reads the first bytes of an object.
    Get { name: String, bytes: u64 },
    /// Sends many GETs, `lanes` of them at once.
    Gets { requests: u64, lanes: u32, each: u64 },
    /// Runs one statement.
    Select(Statement),
    /// Runs a statement `lanes` times at once.
    Selects { lanes: u32, statement: Statement },
    /// Parses an object in memory on each core at once. `name` is the object and its table in memory; `sql` reads
    /// `values` of its values from `bytes` of its bytes.
    Parse { name: String, bytes: Bytes, values: f64, sql: String },
    /// Runs a statement whose answer is in Arrow, and decodes the answer on each core at once.
    Decode(Statement),
    /// Aggregates rows in memory on each core at once. `here` counts the terms that are evaluated for each row.
    Aggregate { sql: String, here: Terms },
    /// Runs a query over small objects.
    Small { objects: u64, sql: String },
    /// Runs a query with `sluice.scan` set to `scan`.
    Query { scan: &'static str, sql: String },
}

/// A statement of S3 Select on an object.
#[derive(Debug, Clone)]
pub(super) struct Statement {
    /// Name of the object.
    pub(super) name: String,
    /// Text of the statement.
    pub(super) sql: String,
    /// The extensions of S3 Select that it uses.
    pub(super) extras: Extras,
    /// The columns and the compression of an answer in Arrow; `None` for an answer as text.
    pub(super) arrow: Option<ArrowOutput>,
    /// The store's work for the statement.
    pub(super) scanned: ScanWork,
}

impl Statement {
    fn new(object: &Object, sql: String) -> Result<Self> {
        // The planner counts the work of its own statements in the same way.
        let query = parse_with(&sql, Extras::ALL)
            .map_err(|error| Failure::new(format!("{sql}: {error}")))?;
        let scanned = ScanWork {
            format: object.format,
            bytes: object.size(),
            rows: object.rows,
            terms: terms(&query, None),
            // The conditions of these trials match no row.
            passing: if query.filter.is_none() { object.rows } else { Rows::ZERO },
            items: items(&query),
            constants: constants(&query),
            ..ScanWork::default()
        };
        Ok(Self {
            name: object.name.clone(),
            extras: Extras::from_query(&query),
            arrow: None,
            scanned,
            sql,
        })
    }

    /// Builds a statement over Parquet that returns [`ANSWERED`] and the text columns `texts` in Arrow. The given share of
    /// the rows passes, 0 to 1, or fewer so that the answer is not too large. They may be anywhere in the object.
    fn in_arrow(
        object: &Object,
        (share, texts): (f64, &[&str]),
        compression: Option<ArrowCompression>,
    ) -> Result<Self> {
        let names = ANSWERED.iter().chain(texts);
        let list = names.map(|column| format!("s.{column}")).collect::<Vec<_>>().join(", ");
        let share = share.min(ANSWERED_ROWS / object.rows);
        // Keys are uniform between 0 and `KEYS`, so this share of them is below the bound.
        let bound = (share * KEYS as f64).round();
        let sql = format!("SELECT {list} FROM S3Object s WHERE s.k < {bound}");
        let rows = object.rows * share;
        let mut statement = Self::new(object, sql)?;
        statement.scanned.passing = rows;
        statement.scanned.answer = match compression {
            Some(_) => AnswerFormat::CompressedArrow,
            None => AnswerFormat::Arrow,
        };
        statement.scanned.answered = rows.as_f64() * (ANSWERED.len() + texts.len()) as f64;
        let mut columns =
            vec![ArrowType::Int64, ArrowType::Float64, ArrowType::Dictionary, ArrowType::Date32];
        columns.extend(texts.iter().map(|_| ArrowType::Dictionary));
        statement.arrow = Some(ArrowOutput { columns, compression });
        Ok(statement)
    }

    /// Builds a statement that returns these columns of the first rows.
    fn answered(object: &Object, columns: &[u32]) -> Result<Self> {
        let rows = object.rows.min(ANSWERED_ROWS);
        let list = columns.iter().map(|column| format!("s._{column}")).collect::<Vec<_>>();
        // The first column is the number of the row.
        let condition = format!("CAST(s._1 AS INT) < {}", rows.0);
        let sql = format!("SELECT {} FROM S3Object s WHERE {condition}", list.join(", "));
        let mut statement = Self::new(object, sql)?;
        statement.scanned.passing = rows;
        statement.scanned.answered = answered(rows.as_f64(), columns.len() as f64);
        Ok(statement)
    }
}

/// Returns the trials of a round, in order.
pub(super) fn trials(data: &Data) -> Result<Vec<Trial>> {
    let mut trials = Vec::new();
    let part = &data.parts[0];
    let size = part.size().0;
    for bytes in [TINY, size / 32, size / 8, size / 2, size] {
        trials.push(Trial::Get { name: part.name.clone(), bytes });
    }
    for (requests, lanes, each) in
        [(16, 16, size / 32), (16, 16, size / 8), (64, LANES, TINY), (256, LANES, TINY)]
    {
        trials.push(Trial::Gets { requests, lanes, each });
    }
    // The time of a statement with almost nothing to scan.
    let few = &data.small[0];
    for sql in [absent(few.format), last()] {
        trials.push(Trial::Select(Statement::new(few, sql)?));
    }
    // Several of them at once: any extra time is work, not waiting.
    for lanes in [STATEMENTS, PARTS as u32] {
        trials.push(Trial::Selects { lanes, statement: Statement::new(few, absent(few.format))? });
    }
    // The number of statements that the store scans in parallel.
    let statement = Statement::new(part, absent(part.format))?;
    trials.push(Trial::Select(statement.clone()));
    for lanes in [STATEMENTS, PARTS as u32] {
        trials.push(Trial::Selects { lanes, statement: statement.clone() });
    }
    // The time of each kind of term, in concurrent statements like those of a query.
    let at_once = |object, sql| -> Result<_> {
        Ok(Trial::Selects { lanes: PARTS as u32, statement: Statement::new(object, sql)? })
    };
    for object in &data.scanned {
        trials.push(at_once(object, absent(object.format))?);
    }
    let conditions = [
        "CAST(s._2 AS INT) = 501".to_owned(),
        "CAST(s._6 AS DECIMAL(15, 2)) < -1.00".to_owned(),
        "s._9 IN ('y', 'z')".to_owned(),
        many_comparisons(),
        slices(1),
        slices(4),
    ];
    for condition in conditions {
        trials.push(at_once(part, format!("SELECT COUNT(*) FROM S3Object s WHERE {condition}"))?);
    }
    for (groups, aggregates) in [(GROUPS, 1), (GROUPS, 6), (MANY_GROUPS, 1)] {
        trials.push(at_once(part, aggregated_by_case(groups, aggregates))?);
    }
    for (grouped, aggregates) in [(false, 1), (false, 6), (true, 1), (true, 6)] {
        trials.push(at_once(part, aggregated(grouped, aggregates))?);
    }
    let texts = "SELECT MAX(s._9), MAX(s._16) FROM S3Object s".to_owned();
    let days = "SELECT MAX(CAST(s._11 AS TIMESTAMP)) FROM S3Object s".to_owned();
    for sql in [texts, days, converted(), listed(CONSTANTS), last()] {
        trials.push(at_once(part, sql)?);
    }
    for columns in [[2, 6].as_slice(), &[1, 2, 5, 6, 9, 11]] {
        let statement = Statement::answered(part, columns)?;
        trials.push(Trial::Selects { lanes: PARTS as u32, statement });
    }
    let columnar = data.scanned.iter().filter(|object| object.format == Format::Parquet);
    for object in columnar {
        let shares: [(f64, &[&str]); 2] =
            [(0.3, &[]), (0.02, &["t3", "t5", "t8", "t10", "t12", "t"])];
        for (answer, compression) in
            shares.into_iter().flat_map(|it| [(it, None), (it, Some(ArrowCompression::Zstd))])
        {
            let statement = Statement::in_arrow(object, answer, compression)?;
            let lanes = PARTS as u32;
            trials.push(Trial::Selects { lanes, statement: statement.clone() });
            trials.push(Trial::Decode(statement));
        }
        for (grouped, aggregates) in [(false, 1), (false, 6), (true, 1), (true, 6)] {
            trials.push(at_once(object, aggregated_columns(grouped, aggregates))?);
        }
    }
    let parse = |object: &Object, columns: &[&str]| {
        let greatest: Vec<_> = columns.iter().map(|name| format!("max({name})")).collect();
        let sql = format!("SELECT {} FROM \"{}\"", greatest.join(", "), object.name);
        let (name, bytes) = (object.name.clone(), object.bytes_of(columns));
        Trial::Parse { name, bytes, values: object.rows.as_f64() * columns.len() as f64, sql }
    };
    for object in &data.scanned {
        // Columns of Parquet differ in their bytes per value: a letter and a date have less than two, texts ten.
        let shapes: &[&[&str]] = match object.format {
            Format::Csv | Format::Json => &[&ANSWERED],
            Format::Parquet => &[&["g", "d"], &["id", "k", "x"], &["t3", "t4", "t"], &ANSWERED],
        };
        trials.extend(shapes.iter().map(|columns| parse(object, columns)));
    }
    let all = COLUMNS.map(|(name, _)| name);
    for columns in [&ANSWERED[..1], &ANSWERED, &all] {
        trials.push(parse(part, columns));
    }
    trials.push(parse(&data.answer, &ANSWERED));
    trials.extend(local_aggregates());
    for (objects, table) in [(1, "one"), (SMALL_PARTS, "small")] {
        trials.push(Trial::Small { objects, sql: format!("SELECT max(k) FROM {table}") });
    }
    let some = "SELECT max(k), max(x), max(d), max(g) FROM csv";
    trials.push(Trial::Query { scan: "get", sql: some.to_owned() });
    trials.push(Trial::Query { scan: "get", sql: some.replace(" csv", " part") });
    let filtered = format!("{some} WHERE d < DATE '1995-01-01'");
    trials.push(Trial::Query { scan: "select", sql: some.to_owned() });
    trials.push(Trial::Query { scan: "select", sql: filtered });
    Ok(trials)
}

/// Returns a column in the syntax of a format, by its position from 1 or by its name.
fn column(format: Format, place: usize, name: &str) -> String {
    match format {
        Format::Csv => format!("s._{place}"),
        Format::Json | Format::Parquet => format!("s.{name}"),
    }
}

/// Returns a column that is converted to a number where the format has only text.
fn number(format: Format, place: usize, name: &str) -> String {
    let column = column(format, place, name);
    if format == Format::Csv { format!("CAST({column} AS INT)") } else { column }
}

/// Returns a statement that reads the last column, and so all bytes of each row.
fn last() -> String {
    "SELECT COUNT(*) FROM S3Object s WHERE s._16 = 'none'".to_owned()
}

/// Returns a statement whose key and text occur in no row. Both lie within the range of the rows' values, so no part
/// of an object can be skipped.
fn absent(format: Format) -> String {
    let (key, text) = (number(format, 2, "k"), column(format, 16, "t"));
    format!("SELECT COUNT(*) FROM S3Object s WHERE {key} = 501 OR {text} = 'none'")
}

/// Returns comparisons that hold for no row, so each is evaluated for every row.
fn many_comparisons() -> String {
    [
        "CAST(s._1 AS INT) < -1",
        "CAST(s._2 AS INT) = 501",
        "CAST(s._2 AS INT) < -1",
        "s._9 = 'zz'",
        "CAST(s._6 AS DECIMAL(15, 2)) < -1.00",
        "CAST(s._6 AS DECIMAL(15, 2)) > 200000.00",
        "CAST(s._11 AS TIMESTAMP) < CAST('1980-01-01' AS TIMESTAMP)",
        "s._16 = 'none'",
    ]
    .join(" OR ")
}

/// Returns probes of an empty Bloom filter's slices, in the planner's syntax.
fn slices(count: u64) -> String {
    const BITS: usize = 4093;
    const PRIME: u64 = (1 << 31) - 1;
    let slice = |number: u64| {
        let (a, b) = (1_234_567_891 - number, 987_654_321 + number);
        format!(
            "SUBSTRING('{}', (({a} * (CAST(s._2 AS INT) % {PRIME}) + {}) % {PRIME}) % {BITS} + 1, 1) \
             = '1'",
            "0".repeat(BITS),
            b + a * PRIME,
        )
    };
    (0..count).map(slice).collect::<Vec<_>>().join(" OR ")
}

/// Returns a statement that aggregates each group by CASE, for a store without GROUP BY.
/// Groups beyond those of the rows are named by two letters.
fn aggregated_by_case(groups: usize, aggregates: usize) -> String {
    let letters = || (b'a'..).take(GROUPS).map(char::from);
    let more = letters().flat_map(|a| ('a'..='z').map(move |b| format!("{a}{b}")));
    let groups = letters().map(String::from).chain(more).take(groups);
    let of_group = |group: String| {
        let case = move |(name, of): &(&str, &str)| {
            format!("{name}(CASE WHEN s._9 = '{group}' THEN {of} END)")
        };
        AGGREGATES.iter().take(aggregates).map(case).collect::<Vec<_>>()
    };
    let all: Vec<_> = groups.flat_map(of_group).collect();
    format!("SELECT {} FROM S3Object s", all.join(", "))
}

/// Returns a statement that aggregates all rows, or the rows of each group.
fn aggregated(grouped: bool, aggregates: usize) -> String {
    let each = AGGREGATES.iter().take(aggregates).map(|(name, of)| format!("{name}({of})"));
    let each: Vec<_> = each.collect();
    match (grouped, each.join(", ")) {
        (false, all) => format!("SELECT {all} FROM S3Object s"),
        (true, all) => format!("SELECT s._9, {all} FROM S3Object s GROUP BY s._9"),
    }
}

/// Returns a statement over Parquet that aggregates all rows, or the rows of each group.
fn aggregated_columns(grouped: bool, aggregates: usize) -> String {
    let all = ["SUM(s.x)", "SUM(s.k)", "MIN(s.x)", "MAX(s.x)", "MIN(s.k)", "MAX(s.k)"];
    let all = all[..aggregates].join(", ");
    match grouped {
        false => format!("SELECT {all} FROM S3Object s"),
        true => format!("SELECT s.g, {all} FROM S3Object s GROUP BY s.g"),
    }
}

/// Returns the trials that aggregate groups locally.
fn local_aggregates() -> impl Iterator<Item = Trial> {
    let all = "sum(x), sum(k), min(x), max(x), min(k), max(k)";
    let each = [
        ("g", "count(k)", 0, 1, 1),
        ("g", all, 0, 6, 1),
        ("g", "sum(x * (1 - x) * (1 + x))", 4, 1, 1),
        ("g, h", "count(k)", 0, 1, 2),
        ("g, h", all, 0, 6, 2),
    ];
    each.into_iter().map(|(keys, aggregates, arithmetic, updates, so_many)| Trial::Aggregate {
        sql: format!("SELECT {keys}, {aggregates} FROM {ROWS} GROUP BY {keys}"),
        here: Terms {
            updates: f64::from(updates),
            keys: f64::from(so_many),
            ..Terms::from(arithmetic)
        },
    })
}

/// Returns a statement with the maxima of columns that must be converted.
fn converted() -> String {
    let of = ["s._1 AS INT", "s._2 AS INT", "s._6 AS DECIMAL(15, 2)", "s._11 AS TIMESTAMP"];
    let each = of.map(|of| format!("MAX(CAST({of}))"));
    format!("SELECT {} FROM S3Object s", each.join(", "))
}

/// Returns a statement with a list of keys that occur in no row.
fn listed(constants: u64) -> String {
    let keys = (1..=constants).map(|key| format!("-{key}")).collect::<Vec<_>>().join(", ");
    format!("SELECT COUNT(*) FROM S3Object s WHERE CAST(s._2 AS INT) IN ({keys})")
}

/// Returns the most work that a calibration of so many rounds causes, without retries. The store's computing time is
/// predicted for `hardware`.
pub(super) fn work(data: &Data, trials: &[Trial], rounds: u64, hardware: &HardwareProfile) -> Work {
    let mut work: Work = trials.iter().map(|trial| of_trial(data, trial, hardware)).sum();
    work = times(&work, rounds);
    let objects = data.objects().count() as u64;
    // Two HEADs check the connection and the bucket; each sample is put and deleted; the bucket may be created and
    // removed.
    work.requests.head += Requests(2);
    work.requests.put += Requests(2 * objects + 2);
    work.sent = data.objects().map(Object::size).sum();
    // The statistics of the tables are read once.
    let looked_into = PARTS + 1 + SMALL_PARTS / 2 + 1;
    work.requests.get += Requests(looked_into);
    work.requests.list += Requests(4);
    work.got += data.objects().map(|it| it.size().min(Bytes(SAMPLED))).sum::<Bytes>();
    work
}

fn of_trial(data: &Data, trial: &Trial, hardware: &HardwareProfile) -> Work {
    let size = |name: &str| data.object(name).map_or(Bytes::ZERO, Object::size);
    let get = |requests: u64, bytes: Bytes| Work {
        requests: RequestCounts { get: Requests(requests), ..RequestCounts::default() },
        got: bytes,
        link: bytes,
        ..Work::default()
    };
    let select = |requests: u64, scanned: Bytes| Work {
        requests: RequestCounts { select: Requests(requests), ..RequestCounts::default() },
        scanned,
        processed: scanned,
        ..Work::default()
    };
    let listed = |work: Work| {
        let list = Requests(1);
        Work { requests: RequestCounts { list, ..work.requests }, ..work }
    };
    let returned =
        |statement: &Statement| Bytes::from_f64(statement.scanned.answered * ANSWERED_VALUE);
    let store_time = |statement: &Statement| hardware.store_time(&statement.scanned);
    let all: Bytes = data.parts.iter().map(Object::size).sum();
    let rows: Rows = data.parts.iter().map(|it| it.rows).sum();
    match trial {
        Trial::Get { bytes, .. } => get(1, Bytes(*bytes)),
        Trial::Gets { requests, each, .. } => get(*requests, Bytes(requests * each)),
        Trial::Select(statement) => {
            Work { store: store_time(statement), ..select(1, size(&statement.name)) }
        }
        Trial::Selects { lanes, statement } => {
            let store = store_time(statement) * *lanes;
            let lanes = u64::from(*lanes);
            let returned = returned(statement) * lanes;
            Work { store, returned, link: returned, ..select(lanes, size(&statement.name) * lanes) }
        }
        Trial::Decode(statement) => {
            let (store, returned) = (store_time(statement), returned(statement));
            Work { store, returned, link: returned, ..select(1, size(&statement.name)) }
        }
        Trial::Parse { .. } | Trial::Aggregate { .. } => Work::default(),
        Trial::Small { objects, .. } => listed(get(*objects, Bytes(TINY * objects))),
        // A scan may read a large object in several ranges.
        Trial::Query { scan: "get", .. } => listed(get(4 * PARTS, all)),
        Trial::Query { .. } => {
            let scanned = ScanWork { bytes: all, rows, terms: 1.into(), ..ScanWork::default() };
            let store = hardware.store_time(&scanned);
            listed(Work { returned: all, link: all, store, ..select(4 * PARTS, all) })
        }
    }
}

fn times(work: &Work, rounds: u64) -> Work {
    (0..rounds).map(|_| *work).sum()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use sluicegate_costmodel::Terms;

    use super::*;

    #[test]
    fn every_statement_is_one_that_a_store_can_read() {
        let data = Data::generate(Bytes::kib(64), 1).unwrap();
        let statements: Vec<Statement> = trials(&data)
            .unwrap()
            .into_iter()
            .filter_map(|trial| match trial {
                Trial::Select(statement) | Trial::Selects { statement, .. } => Some(statement),
                _ => None,
            })
            .collect();
        let of = |part: &str| -> Vec<(Terms, Terms)> {
            let those = statements.iter().filter(|it| it.sql.contains(part));
            those.map(|it| (it.scanned.terms, it.scanned.items)).collect()
        };
        let terms = |comparisons, cases, probes, casts| Terms {
            comparisons,
            cases,
            probes,
            casts,
            ..Terms::NONE
        };
        let count = Terms::from(1);
        // OR counts as a comparison.
        let one = terms(0.0, 0.0, 1.0, 1.0);
        assert_eq!(of("SUBSTRING"), [(one, count), (terms(3.0, 0.0, 4.0, 1.0), count)]);
        let aggregated = |updates, casts, keys, cases| {
            let casts = Terms { long_casts: 1.0, ..terms(0.0, cases, 0.0, casts) };
            (Terms::NONE, Terms { updates, keys, ..casts })
        };
        let many = aggregated(1.0, 0.0, 1.0, 400.0);
        let by_case = [aggregated(1.0, 0.0, 1.0, 16.0), aggregated(6.0, 1.0, 1.0, 96.0), many];
        assert_eq!(of("CASE"), by_case);
        assert_eq!(of("s.t = 'none'"), [(3.into(), count); 4]);
        assert!(of("s._16 = 'none'").contains(&(terms(3.0, 0.0, 0.0, 1.0), count)));
        let many = Terms { long_casts: 2.0, ..terms(15.0, 0.0, 0.0, 2.0) };
        assert_eq!(of("1980-01-01"), [(many, count)]);
        let grouped = [aggregated(1.0, 0.0, 1.0, 0.0), aggregated(6.0, 1.0, 1.0, 0.0)];
        assert_eq!(of("GROUP BY s._9"), grouped);
        let columnar = |updates| (Terms::NONE, Terms { updates, keys: 1.0, ..Terms::NONE });
        let columnar = [columnar(1.0), columnar(6.0)];
        // For two objects.
        assert_eq!(of("GROUP BY s.g"), [columnar, columnar].concat());
        let ungrouped = [aggregated(1.0, 0.0, 0.0, 0.0), aggregated(6.0, 1.0, 0.0, 0.0)];
        assert_eq!(of("SELECT SUM(CAST(s._6"), ungrouped);
        let converted = Terms { updates: 4.0, long_casts: 2.0, ..terms(0.0, 0.0, 0.0, 2.0) };
        assert_eq!(of("MAX(CAST(s._1 "), [(Terms::NONE, converted)]);
        let lists = statements.iter().filter(|it| it.scanned.constants == CONSTANTS);
        assert_eq!(lists.count(), 1);
        assert!(statements.iter().all(|it| it.sql.len() < 64 << 10));
    }

    #[test]
    fn the_work_grows_with_the_rounds_and_the_samples_only_once() {
        let data = Data::generate(Bytes::kib(64), 1).unwrap();
        let trials = trials(&data).unwrap();
        let work = |rounds| work(&data, &trials, rounds, HardwareProfile::paper());
        let (one, two) = (work(1), work(2));
        assert_eq!(two.store, 2 * one.store);
        assert!(one.store > Duration::ZERO);
        assert_eq!(one.sent, two.sent);
        assert_eq!(one.requests.put, two.requests.put);
        assert_eq!(two.requests.select.0, 2 * one.requests.select.0);
        assert!(two.got > one.got && two.got < one.got * 2_u64);
    }
}
