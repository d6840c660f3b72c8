//! Means at the limits of integers, compared with a model of 128 bits.

use std::fmt::Write as _;

use sluicegate_engine::Engine;
use sluicegate_engine::config::Scan;

use super::random::Random;
use crate::harness::{BUCKET, Store, try_ordered};

/// Integer types from the narrowest to the widest.
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

    fn column(self) -> String {
        format!("{self:?}").to_lowercase() + "_value"
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

fn pick<T: Copy>(random: &mut Random, all: &[T]) -> T {
    all[random.below(all.len())]
}

async fn ways(store: &Store, rows: &[Row]) -> Vec<(String, Engine)> {
    let names = Type::ALL.map(Type::column);
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
            }
            ways.push((format!("{scan:?} of {format}"), engine));
        }
    }
    ways
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn means_of_whole_numbers_are_exact_in_every_way() {
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
            if amounts.is_empty() || of == Type::Decimal {
                continue;
            }
            let sum: i128 = amounts.iter().sum();
            let column = of.column();
            let where_in = format!("FROM t WHERE id IN ({list})");
            for (way, engine) in &ways {
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
