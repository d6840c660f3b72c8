//! Comparisons of every type with literals, casts and each other, against a model that computes with digits.
//!
//! `PROPTEST_CASES=5000 cargo test --test it exact` runs more.

use std::cmp::Ordering;
use std::fmt::Write as _;

use sluicegate_engine::Engine;
use sluicegate_engine::config::Scan;

use crate::harness::{BUCKET, Store, try_ordered, values};

/// A column: its name, type and how it compares.
struct Column {
    name: &'static str,
    data_type: &'static str,
    kind: Kind,
    values: &'static [&'static str],
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    /// Whole numbers and decimals.
    Exact,
    Double,
    /// With so many places of seconds.
    Timestamp(usize),
    Date,
}

static COLUMNS: [Column; 13] = [
    Column {
        name: "s",
        data_type: "SMALLINT",
        kind: Kind::Exact,
        values: &["-32768", "-1", "0", "1", "7", "32767"],
    },
    Column {
        name: "i",
        data_type: "INT",
        kind: Kind::Exact,
        values: &["-2147483648", "-7", "0", "3", "40000", "2147483647"],
    },
    Column {
        name: "b",
        data_type: "BIGINT",
        kind: Kind::Exact,
        values: &[
            "-9223372036854775808",
            "-3000000000",
            "0",
            "1",
            "9007199254740992",
            "9007199254740993",
            "9223372036854775807",
        ],
    },
    Column {
        name: "d0",
        data_type: "DECIMAL(5,0)",
        kind: Kind::Exact,
        values: &["-99999", "-2", "0", "7", "99999"],
    },
    Column {
        name: "d1",
        data_type: "DECIMAL(9,1)",
        kind: Kind::Exact,
        values: &["-0.1", "0.0", "0.3", "72.0", "99999999.9"],
    },
    Column {
        name: "d2",
        data_type: "DECIMAL(15,2)",
        kind: Kind::Exact,
        values: &[
            "-67.35",
            "0.00",
            "1.15",
            "1.16",
            "1.24",
            "1.25",
            "33353.20",
            "67.35",
            "72.04",
            "9999999999999.99",
        ],
    },
    Column {
        name: "d4",
        data_type: "DECIMAL(18,4)",
        kind: Kind::Exact,
        values: &["-1.2345", "0.0001", "1.2500", "67.3500", "12345678901234.5678"],
    },
    Column {
        name: "n",
        data_type: "DECIMAL(38,0)",
        kind: Kind::Exact,
        values: &[
            "-99999999999999999999999999999999999999",
            "27670116110564327430",
            "27670116110564327431",
            "1",
            "9223372036854775808",
        ],
    },
    Column {
        name: "w",
        data_type: "DECIMAL(38,10)",
        kind: Kind::Exact,
        values: &[
            "0.1000000000",
            "0.3000000000",
            "-1.2500000001",
            "1234567890123456789012345678.0123456789",
        ],
    },
    Column {
        name: "f",
        data_type: "DOUBLE",
        kind: Kind::Double,
        values: &["0.0", "-0.0", "72.04", "67.35", "NaN", "inf", "-inf", "1e300", "0.1", "-1.5"],
    },
    Column {
        name: "t0",
        data_type: "TIMESTAMP(0)",
        kind: Kind::Timestamp(0),
        values: &[
            "0001-01-01 00:00:00",
            "1969-12-31 23:59:59",
            "2001-01-14 00:00:00",
            "2001-01-14 12:00:01",
            "9999-12-31 23:59:59",
        ],
    },
    Column {
        name: "t9",
        data_type: "TIMESTAMP",
        kind: Kind::Timestamp(9),
        values: &[
            "1970-01-01 00:00:00",
            "2001-01-14 00:00:00.500000001",
            "2001-01-14 00:00:00",
            "1969-12-31 23:59:59.25",
            "2262-04-11 00:00:00.5",
        ],
    },
    Column {
        name: "dt",
        data_type: "DATE",
        kind: Kind::Date,
        values: &["0001-01-01", "1969-12-31", "2001-01-14", "2262-04-11", "9999-12-31"],
    },
];

/// Literals that numbers are compared with.
const NUMBERS: [&str; 34] = [
    "0",
    "-0.0",
    "0.0",
    "1",
    "1.5",
    "-1.5",
    "7",
    "7.0",
    "0.1",
    "0.3",
    "67.35",
    "72.04",
    "33353.20",
    "33353.2",
    "1.2",
    "1.25",
    "1.235",
    "-1.2345",
    "99999999.9",
    "99999999.95",
    "32767",
    "32767.5",
    "-32768.5",
    "2147483648",
    "9007199254740992.0",
    "9007199254740993.0",
    "9223372036854775807",
    "9223372036854775808",
    "27670116110564327430",
    "27670116110564327430.5",
    "12345678901234.5678",
    "1e300",
    "-1e300",
    "1e-300",
];

const DATES: [&str; 6] =
    ["0001-01-01", "1969-12-31", "1970-01-01", "2001-01-14", "2262-04-11", "9999-12-31"];
const TIMES: [&str; 7] = [
    "",
    " 00:00:00",
    " 00:00:00.5",
    " 12:00:01",
    " 00:00:00.500000001",
    " 23:59:59",
    " 23:59:59.999999999",
];

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    fn below(&mut self, count: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(count).unwrap()).unwrap()
    }

    fn one<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.below(all.len())]
    }
}

/// A number without an exponent.
fn plain(text: &str) -> String {
    let Some((digits, exponent)) = text.split_once('e') else { return text.to_owned() };
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |rest| ("-", rest));
    let exponent: i32 = exponent.parse().unwrap();
    // These literals have one digit before the exponent.
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap());
    match exponent {
        ..0 => format!("{sign}0.{}{digits}", zeros(-exponent - 1)),
        _ => format!("{sign}{digits}{}", zeros(exponent)),
    }
}

/// Two numbers by their digits.
fn by_digits(one: &str, other: &str) -> Ordering {
    fn parts(text: &str) -> (bool, String, String) {
        let (negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let (whole, places) = text.split_once('.').unwrap_or((text, ""));
        let (whole, places) = (whole.trim_start_matches('0'), places.trim_end_matches('0'));
        let zero = whole.is_empty() && places.is_empty();
        (negative && !zero, whole.to_owned(), places.to_owned())
    }
    let (a, b) = (parts(one), parts(other));
    let size = |x: &(bool, String, String), y: &(bool, String, String)| {
        (x.1.len(), &x.1, &x.2).cmp(&(y.1.len(), &y.1, &y.2))
    };
    match (a.0, b.0) {
        (false, true) => Ordering::Greater,
        (true, false) => Ordering::Less,
        (false, false) => size(&a, &b),
        (true, true) => size(&b, &a),
    }
}

/// Doubles as SQL orders them: both zeros are equal, and NaN equals itself and comes last.
fn by_value(one: f64, other: f64) -> Ordering {
    match (one.is_nan(), other.is_nan()) {
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Greater,
        (false, true) => Ordering::Less,
        _ => one.partial_cmp(&other).unwrap(),
    }
}

/// A date and time of day as a text of one length, whose order is that of time.
fn instant(text: &str) -> String {
    let (date, time) = text.split_once(' ').unwrap_or((text, "00:00:00"));
    let (time, places) = time.split_once('.').unwrap_or((time, ""));
    format!("{date} {time}.{places:0<9}")
}

/// What stands on a side of a comparison, and its value in each row.
#[derive(Debug, Clone)]
struct Side {
    sql: String,
    kind: Kind,
    value: Option<String>,
}

fn compare(one: &Side, other: &Side) -> Option<Ordering> {
    let (a, b) = (one.value.as_deref()?, other.value.as_deref()?);
    Some(match (one.kind, other.kind) {
        (Kind::Exact, Kind::Exact) => by_digits(a, b),
        (Kind::Double | Kind::Exact, Kind::Double | Kind::Exact) => {
            by_value(a.parse().unwrap(), b.parse().unwrap())
        }
        _ => instant(a).cmp(&instant(b)),
    })
}

const OPERATORS: [&str; 8] =
    ["=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"];

fn holds(one: &Side, operator: &str, other: &Side) -> Option<bool> {
    let order = compare(one, other);
    match operator {
        "IS DISTINCT FROM" | "IS NOT DISTINCT FROM" => {
            let same = match order {
                Some(order) => order.is_eq(),
                None => one.value.is_none() && other.value.is_none(),
            };
            return Some(same == (operator == "IS NOT DISTINCT FROM"));
        }
        _ => {}
    }
    let order = order?;
    Some(match operator {
        "=" => order.is_eq(),
        "<>" => order.is_ne(),
        "<" => order.is_lt(),
        "<=" => order.is_le(),
        ">" => order.is_gt(),
        _ => order.is_ge(),
    })
}

/// A condition that can be asked for and computed.
enum Condition {
    Compare { left: Operand, operator: &'static str, right: Operand },
    Between { operand: Operand, low: Operand, high: Operand, negated: bool },
    In { operand: Operand, list: Vec<Operand>, negated: bool },
    Case { operand: Operand, when: Operand },
    Not(Box<Condition>),
    Both { and: bool, left: Box<Condition>, right: Box<Condition> },
}

/// What is compared, whatever the row.
#[derive(Clone)]
enum Operand {
    Literal(Kind, String),
    Column(usize),
    /// A cast to fewer places.
    Rounded(usize, &'static str, usize),
    /// TRY_CAST to a narrower type of whole numbers: its name, least and greatest value.
    Narrowed(usize, &'static str, i128, i128),
    /// A double less itself, which is NaN if it is not finite.
    Difference(usize),
    /// A decimal and so many tenths.
    Shifted(usize, &'static str, i128),
    /// A cast to whole seconds.
    Whole(usize),
}

impl Operand {
    fn side(&self, row: &[Option<&'static str>]) -> Side {
        match self {
            Self::Literal(kind, text) => match kind {
                Kind::Exact | Kind::Double => {
                    Side { sql: text.clone(), kind: *kind, value: Some(plain(text)) }
                }
                Kind::Timestamp(_) | Kind::Date => {
                    let sql = match kind {
                        Kind::Date => format!("DATE '{text}'"),
                        _ => format!("TIMESTAMP '{text}'"),
                    };
                    Side { sql, kind: *kind, value: Some(text.clone()) }
                }
            },
            Self::Column(at) => Side {
                sql: COLUMNS[*at].name.to_owned(),
                kind: COLUMNS[*at].kind,
                value: row[*at].map(str::to_owned),
            },
            Self::Rounded(at, data_type, places) => Side {
                sql: format!("CAST({} AS {data_type})", COLUMNS[*at].name),
                kind: Kind::Exact,
                value: row[*at].map(|text| rounded(text, *places)),
            },
            Self::Narrowed(at, data_type, least, greatest) => {
                let fits =
                    |text: &&str| (*least..=*greatest).contains(&text.parse::<i128>().unwrap());
                Side {
                    sql: format!("TRY_CAST({} AS {data_type})", COLUMNS[*at].name),
                    kind: Kind::Exact,
                    value: row[*at].filter(fits).map(str::to_owned),
                }
            }
            Self::Difference(at) => {
                let name = COLUMNS[*at].name;
                let difference = |text: &str| {
                    let finite = text.parse::<f64>().unwrap().is_finite();
                    if finite { "0.0" } else { "NaN" }.to_owned()
                };
                Side {
                    sql: format!("{name} - {name}"),
                    kind: Kind::Double,
                    value: row[*at].map(difference),
                }
            }
            Self::Shifted(at, sql, tenths) => Side {
                sql: format!("{} {sql}", COLUMNS[*at].name),
                kind: Kind::Exact,
                value: row[*at].map(|text| shifted(text, *tenths)),
            },
            Self::Whole(at) => Side {
                sql: format!("CAST({} AS TIMESTAMP(0))", COLUMNS[*at].name),
                kind: Kind::Timestamp(0),
                value: row[*at].map(|text| text.split('.').next().unwrap().to_owned()),
            },
        }
    }

    fn sql(&self) -> String {
        self.side(&[None; 13]).sql
    }
}

/// A decimal and so many tenths.
fn shifted(text: &str, tenths: i128) -> String {
    const PLACES: usize = 4;
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let count = format!("{whole}{fraction:0<PLACES$}").parse::<i128>().unwrap();
    let sum = if negative { -count } else { count } + tenths * 1_000;
    let sign = if sum < 0 { "-" } else { "" };
    let (whole, fraction) = (sum.abs() / 10_000, sum.abs() % 10_000);
    format!("{sign}{whole}.{fraction:0PLACES$}")
}

/// A decimal with fewer places, half away from zero.
fn rounded(text: &str, places: usize) -> String {
    let (negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let (kept, rest) = fraction.split_at(places.min(fraction.len()));
    let up = rest.as_bytes().first().is_some_and(|digit| *digit >= b'5');
    let count = format!("{whole}{kept}").parse::<i128>().unwrap() + i128::from(up);
    let scale = 10_i128.pow(u32::try_from(kept.len()).unwrap());
    let sign = if negative { "-" } else { "" };
    let digits = kept.len();
    format!("{sign}{}.{:0digits$}", count / scale, count % scale)
}

impl Condition {
    fn sql(&self) -> String {
        let not = |negated: bool| if negated { "NOT " } else { "" };
        match self {
            Self::Compare { left, operator, right } => {
                format!("{} {operator} {}", left.sql(), right.sql())
            }
            Self::Between { operand, low, high, negated } => {
                let not = not(*negated);
                format!("{} {not}BETWEEN {} AND {}", operand.sql(), low.sql(), high.sql())
            }
            Self::In { operand, list, negated } => {
                let list: Vec<String> = list.iter().map(Operand::sql).collect();
                format!("{} {}IN ({})", operand.sql(), not(*negated), list.join(", "))
            }
            Self::Case { operand, when } => {
                format!("CASE {} WHEN {} THEN TRUE ELSE FALSE END", operand.sql(), when.sql())
            }
            Self::Not(inner) => format!("NOT ({})", inner.sql()),
            Self::Both { and, left, right } => {
                let operator = if *and { "AND" } else { "OR" };
                format!("({}) {operator} ({})", left.sql(), right.sql())
            }
        }
    }

    fn verdict(&self, row: &[Option<&'static str>]) -> Option<bool> {
        let holds = |one: &Operand, operator: &str, other: &Operand| {
            holds(&one.side(row), operator, &other.side(row))
        };
        match self {
            Self::Compare { left, operator, right } => holds(left, operator, right),
            Self::Between { operand, low, high, negated } => {
                let within = and(holds(operand, ">=", low), holds(operand, "<=", high));
                within.map(|within| within != *negated)
            }
            Self::In { operand, list, negated } => {
                let any = list.iter().map(|item| holds(operand, "=", item));
                any.fold(Some(false), or).map(|any| any != *negated)
            }
            Self::Case { operand, when } => Some(holds(operand, "=", when) == Some(true)),
            Self::Not(inner) => inner.verdict(row).map(|verdict| !verdict),
            Self::Both { and: all, left, right } => {
                let (left, right) = (left.verdict(row), right.verdict(row));
                if *all { and(left, right) } else { or(left, right) }
            }
        }
    }
}

fn and(one: Option<bool>, other: Option<bool>) -> Option<bool> {
    match (one, other) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

fn or(one: Option<bool>, other: Option<bool>) -> Option<bool> {
    and(one.map(|it| !it), other.map(|it| !it)).map(|it| !it)
}

fn condition(random: &mut Random, depth: usize) -> Condition {
    if depth > 0 && random.below(4) == 0 {
        let left = Box::new(condition(random, depth - 1));
        if random.below(3) == 0 {
            return Condition::Not(left);
        }
        let right = Box::new(condition(random, depth - 1));
        return Condition::Both { and: random.below(2) == 0, left, right };
    }
    let at = random.below(COLUMNS.len());
    let operand = operand(random, at);
    let negated = random.below(2) == 0;
    match random.below(8) {
        0 => Condition::Between {
            low: beside(random, at),
            high: beside(random, at),
            operand,
            negated,
        },
        1 | 2 => {
            let list = (0..=random.below(6)).map(|_| beside(random, at)).collect();
            Condition::In { operand, list, negated }
        }
        3 => Condition::Case { operand, when: beside(random, at) },
        swapped => {
            let right = beside(random, at);
            let operator = random.one(&OPERATORS);
            match swapped {
                4 => Condition::Compare { left: right, operator, right: operand },
                _ => Condition::Compare { left: operand, operator, right },
            }
        }
    }
}

/// A column or a cast of it.
fn operand(random: &mut Random, at: usize) -> Operand {
    if random.below(3) > 0 {
        return Operand::Column(at);
    }
    match COLUMNS[at].name {
        "i" => Operand::Narrowed(at, "SMALLINT", i128::from(i16::MIN), i128::from(i16::MAX)),
        "b" => Operand::Narrowed(at, "INT", i128::from(i32::MIN), i128::from(i32::MAX)),
        "d1" => Operand::Shifted(at, "- 0.3", -3),
        "d2" if random.below(2) == 0 => Operand::Shifted(at, "+ 0.1", 1),
        "d2" => Operand::Rounded(at, "DECIMAL(15,1)", 1),
        "f" => Operand::Difference(at),
        "t9" => Operand::Whole(at),
        "d4" => Operand::Rounded(at, "DECIMAL(18,2)", 2),
        "w" => Operand::Rounded(at, "DECIMAL(38,1)", 1),
        _ => Operand::Column(at),
    }
}

/// What a column may be compared with.
fn beside(random: &mut Random, at: usize) -> Operand {
    let kind = COLUMNS[at].kind;
    let numeric = matches!(kind, Kind::Exact | Kind::Double);
    if random.below(4) == 0 {
        let other = random.below(COLUMNS.len());
        let alike = matches!(COLUMNS[other].kind, Kind::Exact | Kind::Double) == numeric;
        if alike {
            return Operand::Column(other);
        }
    }
    if numeric {
        let own = random.one(COLUMNS[at].values);
        let text = if random.below(2) == 0 && own.parse::<f64>().unwrap().is_finite() {
            own
        } else {
            random.one(&NUMBERS)
        };
        let kind = if kind == Kind::Double { Kind::Double } else { Kind::Exact };
        return Operand::Literal(kind, text.to_owned());
    }
    let date = random.one(&DATES);
    if random.below(3) == 0 {
        return Operand::Literal(Kind::Date, date.to_owned());
    }
    let time = random.one(&TIMES);
    // An instant beyond nanoseconds is none beside what is computed in them.
    Operand::Literal(Kind::Timestamp(9), format!("{date}{time}"))
}

fn table(random: &mut Random) -> Vec<Vec<Option<&'static str>>> {
    let row = |random: &mut Random| {
        let value = |column: &Column| (random.below(6) > 0).then(|| random.one(column.values));
        COLUMNS.iter().map(value).collect()
    };
    (0..48).map(|_| row(random)).collect()
}

fn csv(rows: &[Vec<Option<&'static str>>]) -> String {
    let mut text = String::from("id");
    for column in &COLUMNS {
        write!(text, ",{}", column.name).unwrap();
    }
    for (id, row) in rows.iter().enumerate() {
        write!(text, "\n{id}").unwrap();
        for value in row {
            write!(text, ",{}", value.unwrap_or_default()).unwrap();
        }
    }
    text + "\n"
}

async fn define(engine: &Engine, format: &str, location: &str, options: &str) {
    let columns: Vec<String> =
        COLUMNS.iter().map(|column| format!("{} {}", column.name, column.data_type)).collect();
    let columns = columns.join(", ");
    let sql = format!(
        "CREATE EXTERNAL TABLE t (id BIGINT NOT NULL, {columns}) STORED AS {format} LOCATION '{location}' {options}"
    );
    engine.collect(&sql).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn comparisons_are_exact_in_every_way() {
    let mut random = Random(44);
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    let rows = table(&mut random);
    let store = Store::start().await;
    store.put("t.csv", csv(&rows));
    let header = "OPTIONS ('format.has_header' 'true')";
    let (text, parquet) = (format!("s3://{BUCKET}/t.csv"), format!("s3://{BUCKET}/t.parquet"));
    let mut engines = Vec::new();
    for scan in [Scan::Select, Scan::Get] {
        let engine = store.engine(scan).await;
        define(&engine, "CSV", &text, header).await;
        engines.push((format!("{scan:?} of CSV"), engine));
    }
    let (_, engine) = &engines[1];
    engine.collect(&format!("COPY t TO '{parquet}' STORED AS PARQUET")).await.unwrap();
    for scan in [Scan::Select, Scan::Get] {
        let engine = store.engine(scan).await;
        define(&engine, "PARQUET", &parquet, "").await;
        engines.push((format!("{scan:?} of Parquet"), engine));
    }
    let memory = store.engine(Scan::Get).await;
    define(&memory, "CSV", &text, header).await;
    memory.collect("CREATE TABLE m AS SELECT * FROM t").await.unwrap();
    let mut wrong = Vec::new();
    for _ in 0..cases.unwrap_or(120) {
        let condition = condition(&mut random, 2);
        let sql = condition.sql();
        let verdicts: Vec<Option<bool>> = rows.iter().map(|row| condition.verdict(row)).collect();
        let kept: Vec<Vec<String>> = (0..rows.len())
            .filter(|row| verdicts[*row] == Some(true))
            .map(|row| vec![row.to_string()])
            .collect();
        for (way, engine) in &engines {
            let asked = format!("SELECT id FROM t WHERE {sql} ORDER BY id");
            match try_ordered(engine, &asked).await {
                Ok(rows) if rows == kept => {}
                Ok(rows) => wrong.push(format!("{way}: {asked}: {rows:?} instead of {kept:?}")),
                Err(error) => wrong.push(format!("{way}: {asked}: {error}")),
            }
        }
        let asked = format!("SELECT {sql} FROM m ORDER BY id");
        let shown = |verdict: &Option<bool>| {
            vec![verdict.map_or_else(|| "NULL".to_owned(), |it| it.to_string())]
        };
        let expected: Vec<Vec<String>> = verdicts.iter().map(shown).collect();
        match memory.collect(&asked).await {
            Ok(batches) if values(&batches) == expected => {}
            Ok(batches) => {
                let got = values(&batches);
                let at = got.iter().zip(&expected).position(|(a, b)| a != b).unwrap();
                wrong.push(format!("memory: {asked}: row {at} {:?}: {:?}", rows[at], got[at]));
            }
            Err(error) => wrong.push(format!("memory: {asked}: {error}")),
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn narrower_types_than_those_of_a_file_are_compared_as_declared() {
    let store = Store::start().await;
    store.put("wide.csv", "id,d,b\n1,1.16,7\n");
    let wide = store.engine(Scan::Get).await;
    let columns = "id BIGINT, d DECIMAL(15,2), b BIGINT";
    let sql = format!(
        "CREATE EXTERNAL TABLE w ({columns}) STORED AS CSV LOCATION 's3://{BUCKET}/wide.csv' \
         OPTIONS ('format.has_header' 'true')"
    );
    wide.collect(&sql).await.unwrap();
    let copy = format!("COPY w TO 's3://{BUCKET}/wide.parquet' STORED AS PARQUET");
    wide.collect(&copy).await.unwrap();
    for scan in [Scan::Get, Scan::Select] {
        let engine = store.engine(scan).await;
        let sql = format!(
            "CREATE EXTERNAL TABLE n (id BIGINT, d DECIMAL(15,1), b INT) STORED AS PARQUET \
             LOCATION 's3://{BUCKET}/wide.parquet'"
        );
        engine.collect(&sql).await.unwrap();
        for pushed in [false, true] {
            let set = format!("SET datafusion.execution.parquet.pushdown_filters = {pushed}");
            engine.collect(&set).await.unwrap();
            let found = try_ordered(&engine, "SELECT id FROM n WHERE d = 1.2 AND b = 7").await;
            assert_eq!(found.unwrap(), [["1"]], "{scan:?}, filters pushed: {pushed}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn filters_are_pushed_into_row_groups_without_rows() {
    let store = Store::start().await;
    // As pyarrow writes a table without rows: one row group, whose columns have no bytes.
    store.put("empty.parquet", include_bytes!("data/no_rows.parquet"));
    let engine = store.engine(Scan::Get).await;
    engine.collect("SET datafusion.execution.parquet.pushdown_filters = true").await.unwrap();
    let sql = format!("SELECT a FROM 's3://{BUCKET}/empty.parquet' WHERE a > 1");
    assert_eq!(values(&engine.collect(&sql).await.unwrap()), Vec::<Vec<String>>::new());
}
