//! Arithmetic at the edges of whole numbers and decimals, and sums of them, against a model of 128 bits in which what
//! has no room is an error.

use std::fmt::Write as _;

use sluicegate_engine::Engine;
use sluicegate_engine::config::Scan;

use super::random::Random;
use crate::harness::{BUCKET, Store, try_ordered, values};

/// From the narrowest to the widest: an operator has the type of the wider side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Type {
    Small,
    Int,
    Big,
    Decimal,
}

impl Type {
    const ALL: [Self; 4] = [Self::Small, Self::Int, Self::Big, Self::Decimal];

    fn name(self) -> &'static str {
        match self {
            Self::Small => "SMALLINT",
            Self::Int => "INT",
            Self::Big => "BIGINT",
            Self::Decimal => "DECIMAL(38, 0)",
        }
    }

    fn has_room_for(self, value: i128) -> bool {
        match self {
            Self::Small => i16::try_from(value).is_ok(),
            Self::Int => i32::try_from(value).is_ok(),
            Self::Big => i64::try_from(value).is_ok(),
            Self::Decimal => value.unsigned_abs() < 10_u128.pow(38),
        }
    }

    fn values(self) -> &'static [i128] {
        match self {
            Self::Small => &[1, -7, 100, 181, 182, 32767, -32768],
            Self::Int => &[1, -1, 3, 46340, 46341, 2_147_483_647, -2_147_483_648],
            Self::Big => &[
                2,
                -5,
                3_037_000_499,
                3_037_000_500,
                9_007_199_254_740_993,
                9_223_372_036_854_775_807,
                -9_223_372_036_854_775_808,
            ],
            Self::Decimal => &[
                3,
                -10,
                9_999_999_999_999_999_999,
                10_000_000_000_000_000_000,
                99_999_999_999_999_999_999_999_999_999_999_999_999,
                -99_999_999_999_999_999_999_999_999_999_999_999_999,
            ],
        }
    }
}

/// The values of a row, one of each type.
type Row = [Option<i128>; 4];

#[derive(Debug)]
enum Expr {
    Column(Type),
    Literal(i64),
    Negative(Box<Self>),
    Operation(char, Box<Self>, Box<Self>),
}

fn pick<T: Copy>(random: &mut Random, all: &[T]) -> T {
    all[random.below(all.len())]
}

#[derive(Debug)]
struct Overflow;

impl Expr {
    fn random(random: &mut Random, depth: usize) -> Self {
        match random.below(if depth == 0 { 4 } else { 10 }) {
            0 => Self::Literal(pick(random, &[2, 3, 10, -4])),
            1..=3 => Self::Column(pick(random, &Type::ALL)),
            4 => Self::Negative(Box::new(Self::Column(pick(random, &Type::ALL)))),
            _ => {
                let mut side = || Box::new(Self::random(random, depth - 1));
                let (left, right) = (side(), side());
                Self::Operation(pick(random, &['+', '-', '*']), left, right)
            }
        }
    }

    fn sql(&self) -> String {
        match self {
            Self::Column(of) => format!("{of:?}").to_lowercase() + "_value",
            Self::Literal(value) => format!("({value})"),
            Self::Negative(of) => format!("(-{})", of.sql()),
            Self::Operation(op, left, right) => format!("({} {op} {})", left.sql(), right.sql()),
        }
    }

    fn of_type(&self) -> Type {
        match self {
            Self::Column(of) => *of,
            Self::Literal(_) => Type::Big,
            Self::Negative(of) => of.of_type(),
            Self::Operation(_, left, right) => left.of_type().max(right.of_type()),
        }
    }

    fn value(&self, row: &Row) -> Result<Option<i128>, Overflow> {
        let result = match self {
            Self::Column(of) => return Ok(row[*of as usize]),
            Self::Literal(value) => return Ok(Some(i128::from(*value))),
            Self::Negative(of) => of.value(row)?.map(|it| it.checked_neg()),
            Self::Operation(op, left, right) => match (left.value(row)?, right.value(row)?) {
                (Some(left), Some(right)) => Some(match op {
                    '+' => left.checked_add(right),
                    '-' => left.checked_sub(right),
                    _ => left.checked_mul(right),
                }),
                _ => None,
            },
        };
        match result {
            Some(Some(value)) if self.of_type().has_room_for(value) => Ok(Some(value)),
            Some(_) => Err(Overflow),
            None => Ok(None),
        }
    }
}

fn shown(value: Option<i128>) -> String {
    value.map_or_else(|| "NULL".to_owned(), |it| it.to_string())
}

async fn ways(store: &Store, rows: &[Row]) -> Vec<(String, Engine)> {
    let names = Type::ALL.map(|it| Expr::Column(it).sql());
    let mut csv = format!("id,{}\n", names.join(","));
    for (id, row) in rows.iter().enumerate() {
        let row = row.map(|it| it.map_or_else(String::new, |it| it.to_string()));
        writeln!(csv, "{id},{}", row.join(",")).unwrap();
    }
    store.put("edges.csv", csv);
    let columns: Vec<String> =
        names.iter().zip(Type::ALL).map(|(name, of)| format!("{name} {}", of.name())).collect();
    let columns = columns.join(", ");
    let mut ways = Vec::new();
    for scan in [Scan::Get, Scan::Select] {
        for format in ["csv", "parquet"] {
            let engine = store.engine(scan).await;
            let sql = format!(
                "CREATE EXTERNAL TABLE t (id BIGINT, {columns}) STORED AS {format} \
                 LOCATION 's3://{BUCKET}/edges.{format}'"
            );
            let header = if format == "csv" { " OPTIONS ('format.has_header' 'true')" } else { "" };
            engine.collect(&(sql + header)).await.unwrap();
            if scan == Scan::Get && format == "csv" {
                let copy = format!("COPY t TO 's3://{BUCKET}/edges.parquet' STORED AS PARQUET");
                engine.collect(&copy).await.unwrap();
                engine.collect("CREATE TABLE m AS SELECT * FROM t").await.unwrap();
            }
            ways.push((format!("{scan:?} of {format}"), engine));
        }
    }
    ways
}

fn is_overflow(error: &str) -> bool {
    error.contains("out of the range") || error.contains("verflow")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_has_no_room_is_an_error_in_every_way() {
    let mut random = Random(45);
    let rows: Vec<Row> = (0..8)
        .map(|_| Type::ALL.map(|of| (random.below(8) > 0).then(|| pick(&mut random, of.values()))))
        .collect();
    let store = Store::start().await;
    let ways = ways(&store, &rows).await;
    let memory = &ways[0].1;
    let mut wrong = Vec::new();
    let mut judge = |asked: &str,
                     got: sluicegate_engine::Result<Vec<Vec<String>>>,
                     expected: Option<Vec<Vec<String>>>| {
        match (&got, &expected) {
            (Ok(rows), Some(expected)) if rows == expected => {}
            (Err(error), None) if is_overflow(&error.to_string()) => {}
            _ => wrong.push(format!("{asked}: {got:?} instead of {expected:?}")),
        }
    };
    for _ in 0..30 {
        let expr = Expr::random(&mut random, 2);
        let sql = expr.sql();
        for (id, row) in rows.iter().enumerate() {
            let asked = format!("SELECT {sql} FROM m WHERE id = {id}");
            let expected = expr.value(row).ok().map(|it| vec![vec![shown(it)]]);
            judge(&asked, try_ordered(memory, &asked).await, expected);
            // Constants are computed when the statement is planned, which takes NULL for the result beside any other.
            if row.iter().any(Option::is_none) {
                continue;
            }
            let mut constant = sql.clone();
            for (of, value) in Type::ALL.into_iter().zip(row) {
                let value = value.map_or_else(|| "NULL".to_owned(), |it| format!("'{it}'"));
                let value = format!("CAST({value} AS {})", of.name());
                constant = constant.replace(&Expr::Column(of).sql(), &value);
            }
            let asked = format!("SELECT {constant}");
            let expected = expr.value(row).ok().map(|it| vec![vec![shown(it)]]);
            judge(&asked, try_ordered(memory, &asked).await, expected);
        }
        let asked = format!("SELECT id FROM t WHERE {sql} > 100 ORDER BY id");
        let results: Result<Vec<_>, _> = rows.iter().map(|row| expr.value(row)).collect();
        let kept = results.ok().map(|results| {
            let kept = results.iter().enumerate().filter(|(_, it)| it.is_some_and(|it| it > 100));
            kept.map(|(id, _)| vec![id.to_string()]).collect::<Vec<_>>()
        });
        for (way, engine) in &ways {
            let asked_so = format!("{way}: {asked}");
            judge(&asked_so, try_ordered(engine, &asked).await, kept.clone());
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sums_and_means_are_exact_or_errors_in_every_way() {
    let mut random = Random(46);
    let rows: Vec<Row> = (0..12)
        .map(|_| Type::ALL.map(|of| (random.below(8) > 0).then(|| pick(&mut random, of.values()))))
        .collect();
    let store = Store::start().await;
    let ways = ways(&store, &rows).await;
    let mut wrong = Vec::new();
    for _ in 0..12 {
        let chosen: Vec<usize> = (0..rows.len()).filter(|_| random.below(3) == 0).collect();
        if chosen.is_empty() {
            continue;
        }
        let list: Vec<String> = chosen.iter().map(usize::to_string).collect();
        let list = list.join(", ");
        for of in Type::ALL {
            let amounts: Vec<i128> =
                chosen.iter().filter_map(|id| rows[*id][of as usize]).collect();
            let sum = amounts.iter().try_fold(0_i128, |sum, it| sum.checked_add(*it));
            let result = of.max(Type::Big);
            let column = Expr::Column(of).sql();
            let where_in = format!("FROM t WHERE id IN ({list})");
            for (way, engine) in &ways {
                let asked = format!("SELECT sum({column}) {where_in}");
                match (engine.collect(&asked).await, sum.filter(|it| result.has_room_for(*it))) {
                    (Ok(got), Some(sum)) => {
                        let sum = (!amounts.is_empty()).then_some(sum);
                        if values(&got) != [[shown(sum)]] {
                            wrong.push(format!("{way}: {asked}: {:?}", values(&got)));
                        }
                    }
                    (Err(error), None) if is_overflow(&error.to_string()) => {}
                    (got, sum) => wrong.push(format!("{way}: {asked}: {got:?} for {sum:?}")),
                }
                let (Some(sum), true) = (sum, of < Type::Decimal && !amounts.is_empty()) else {
                    continue;
                };
                for by in ["", " GROUP BY id < 1000"] {
                    let asked = format!("SELECT avg({column}) {where_in}{by}");
                    let got = try_ordered(engine, &asked).await.unwrap();
                    let got: f64 = got[0][0].parse().unwrap();
                    let mean = sum as f64 / amounts.len() as f64;
                    if (got - mean).abs() > 0.0 {
                        wrong.push(format!("{way}: {asked}: {got} instead of {mean}"));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
