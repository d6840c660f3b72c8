//! Figure 11: S3 Select over CSV and over Parquet.

use sluicegate_costmodel::Provenance;

use super::data;
use super::sweep::{self, Cell, LINK, Measured, megabytes};
use super::sweep_charts;
use crate::chart::Axis;
use crate::experiment::Method;
use crate::tolerance::MUCH;
use crate::{Experiment, Outcome, Results, ResultsError, Run, Setting, Table};

/// The figure, measured here.
pub const EXPERIMENT: Experiment = Experiment {
    id: "pushdowndb/fig11",
    title: "Time of S3 Select over CSV and Parquet, by columns and selectivity",
    place: "PushdownDB §IX, Figure 11",
    method: Method::Live { runs, evaluate },
};

const COLUMNS: [u32; 3] = [1, 10, 20];
const SELECTIVITIES: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];
const FORMATS: [&str; 2] = ["csv", "parquet"];
/// The largest relative difference of times that count as the same.
const SAME: f64 = 0.1;
/// The share of the bytes of CSV that Select may scan of Parquet.
const FEWER: f64 = 0.2;

/// The client adds up the values, which it would otherwise print.
const SETTINGS: [(&str, &str); 2] = [("scan", "select"), ("aggregate", "here")];

/// Returns the name of a series: `CSV, 10 columns`.
fn name(format: &str, columns: u32) -> String {
    let format = if format == "csv" { "CSV" } else { "Parquet" };
    format!("{format}, {columns} column{}", if columns == 1 { "" } else { "s" })
}

/// The queries of all tables. Answers over Parquet are Arrow here, and CSV in S3.
fn cells(setting: &Setting) -> Vec<Cell> {
    let mut cells = Vec::new();
    for columns in COLUMNS {
        for format in FORMATS {
            let (data, name) = (data::floats(setting, format), name(format, columns));
            cells.extend(SELECTIVITIES.map(|selectivity| {
                let query =
                    format!("select sum(f0) from floats_{columns} where f0 < {selectivity}");
                let point = (selectivity.to_string(), selectivity);
                Cell::new(&name, point, &data, &SETTINGS, query)
            }));
        }
    }
    cells
}

fn sizes(format: &str) -> String {
    format!("sizes-{format}")
}

fn runs(setting: &Setting) -> Vec<Run> {
    let mut runs = sweep::runs(&cells(setting), sweep::ROUNDS);
    runs.extend(FORMATS.map(|format| {
        let data = data::floats(setting, format);
        let query = format!("select url, size from glob('s3://{}/**') order by url", data.name);
        Run::sql(sizes(format), &data, LINK, &[], &[query], 1)
    }));
    runs
}

/// Returns the bytes of each table from lines of URL and size.
fn bytes(answers: &str) -> [u64; 3] {
    COLUMNS.map(|columns| {
        let folder = format!("/floats_{columns}/");
        let size = |line: &str| line.rsplit_once(',')?.1.trim().parse::<u64>().ok();
        answers.lines().filter(|line| line.contains(&folder)).filter_map(size).sum()
    })
}

fn evaluate(setting: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let measured = sweep::read(&cells(setting), results)?;
    let [csv, parquet] = FORMATS.map(|format| results.record(&sizes(format)));
    let [csv, parquet] = [bytes(&csv?.answers), bytes(&parquet?.answers)];
    let at = |format: &str, columns: u32, selectivity: f64| -> Option<&Measured> {
        let name = name(format, columns);
        measured.iter().find(|it| it.cell.series == name && it.cell.x == selectivity)
    };
    let pair = |columns, selectivity| {
        at("csv", columns, selectivity).zip(at("parquet", columns, selectivity))
    };
    let mut outcome = Outcome::default();
    let share = parquet[2] as f64 / csv[2] as f64;
    outcome.decide("P64", format!("{:.0} %", 100.0 * share), (0.6..=0.8).contains(&share));
    if share < 0.6 {
        outcome.note(
            "a column of four decimals has 10,000 values, which the dictionary of Parquet stores in 14 bits each; CSV \
             has 7 bytes",
        );
    }
    let wide: Vec<(&Measured, &Measured)> = [10, 20]
        .iter()
        .flat_map(|columns| [0.0, 0.25].map(|selectivity| pair(*columns, selectivity)))
        .flatten()
        .collect();
    let gain = |(csv, parquet): &(&Measured, &Measured)| csv.seconds() / parquet.seconds();
    // Nothing by nothing is no share.
    let share = |(csv, parquet): &(&Measured, &Measured)| {
        let is_counted = csv.scanned() > 0 && parquet.scanned() > 0;
        is_counted.then(|| parquet.scanned() as f64 / csv.scanned() as f64)
    };
    let shares: Option<Vec<f64>> = wide.iter().map(share).collect();
    let shares = shares.filter(|shares| shares.len() == 4);
    let scanned = shares.map(|shares| shares.into_iter().fold(0.0, f64::max));
    let faster = wide.iter().map(gain).fold(f64::INFINITY, f64::min);
    let bytes = scanned.map_or_else(
        || "no bytes counted".to_owned(),
        |it| format!("at most {:.0} % of the bytes", 100.0 * it),
    );
    let found = format!("at least {faster:.1} times as fast, {bytes}");
    outcome.decide("P65", found, scanned.is_some_and(|it| it <= FEWER) && faster >= MUCH);
    let slowest = wide.iter().min_by(|one, other| gain(one).total_cmp(&gain(other)));
    if let Some((csv, parquet)) = slowest {
        let reason = match faster >= MUCH {
            true => "",
            false => {
                "; tables of this size are read in so little time that planning and requests are a part of both"
            }
        };
        outcome.note(format!(
            "the least gain among 10 and 20 columns, if none or a quarter of the rows pass: CSV takes {:.0} ms, and \
             Parquet {:.0} ms{reason}",
            1e3 * csv.seconds(),
            1e3 * parquet.seconds(),
        ));
    }
    let ratio = |pair: Option<(&Measured, &Measured)>| {
        pair.map_or(f64::NAN, |(csv, parquet)| parquet.seconds() / csv.seconds())
    };
    let same = |ratio: f64| (1.0 - SAME..=1.0 + SAME).contains(&ratio);
    let all = [10, 20].map(|columns| ratio(pair(columns, 1.0)));
    let found = format!("{:.2} and {:.2} of the time of CSV", all[0], all[1]);
    outcome.decide("P66", found, all.into_iter().all(same));
    if !all.into_iter().all(same) {
        outcome.note(
            "the store here needs more time to parse 10 and 20 columns of CSV than the link to carry one; in S3 the answer binds",
        );
    }
    let one = SELECTIVITIES.map(|selectivity| ratio(pair(1, selectivity)));
    let found: Vec<String> = one.iter().map(|it| format!("{it:.2}")).collect();
    outcome.decide(
        "P67",
        format!("{} of the time of CSV", found.join(", ")),
        one.into_iter().all(same),
    );
    if !one.into_iter().all(same) {
        let milliseconds = |format: &str| {
            let all = SELECTIVITIES.map(|selectivity| at(format, 1, selectivity));
            let of = |it: Option<&Measured>| it.map_or(f64::NAN, |it| 1e3 * it.seconds());
            all.map(|it| format!("{:.0}", of(it))).join(", ")
        };
        outcome.note(format!(
            "CSV takes {} ms, and Parquet {} ms; in S3 the scan or the answer binds, and here the parsing of text and the \
             writing of Arrow",
            milliseconds("csv"),
            milliseconds("parquet"),
        ));
    }
    let axis = Axis::linear("selectivity");
    outcome.charts.push(sweep_charts::time_chart("Measured time of S3 Select", axis, &measured));
    outcome.tables.push(sweep::table("S3 Select over tables of floats", "selectivity", &measured));
    let row = |at: usize| {
        vec![
            COLUMNS[at].to_string(),
            megabytes(csv[at]),
            megabytes(parquet[at]),
            format!("{:.0} %", 100.0 * parquet[at] as f64 / csv[at] as f64),
            "70 %".to_owned(),
        ]
    };
    outcome.tables.push(Table {
        title: "Sizes of the tables of floats".to_owned(),
        columns: vec!["columns", "MB of CSV", "MB of Parquet", "share", "published"],
        rows: [0, 1, 2].map(row).to_vec(),
        provenance: Provenance::Counted,
    });
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_added_up_by_table() {
        let answers = "url,size\ns3://b/sf1/csv/floats_1/a.csv,10\ns3://b/csv/floats_10/a.csv,100\n\
            s3://b/csv/floats_10/b.csv,1\n";
        assert_eq!(bytes(answers), [10, 101, 0]);
    }
}
