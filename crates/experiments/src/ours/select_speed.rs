//! The speed of S3 Select in this store, beside that of other programs where they are installed.

use sluicegate_costmodel::Provenance;

use super::data::{parquet, tpch};
use crate::chart::{Axis, Bar, Marks};
use crate::experiment::Method;
use crate::results::median;
use crate::{
    Chart, Data, Experiment, Outcome, Peer, Results, ResultsError, Run, Setting, Table, UNLIMITED,
};

/// Queries over lineitem by each program.
pub const EXPERIMENT: Experiment = Experiment {
    id: "ours/select-speed",
    title: "Queries by S3 Select in this store, beside MinIO and DuckDB",
    place: "Sluicegate",
    method: Method::Live { runs, evaluate },
};

/// Queries that aggregate here what the store returns, so that no answer is printed, and one that the store aggregates.
const QUERIES: [(&str, &str); 5] = [
    ("no row", "select max(l_comment) from lineitem where l_quantity < 0"),
    (
        "one row in fifty",
        "select max(l_comment), max(l_shipdate) from lineitem where l_quantity < 2",
    ),
    (
        "half of the rows",
        "select max(l_comment), max(l_shipdate) from lineitem where l_quantity < 26",
    ),
    ("text", "select max(l_orderkey) from lineitem where l_comment like '%special%requests%'"),
    ("sum", "select sum(l_extendedprice * l_discount) from lineitem where l_quantity < 24"),
];
/// The formats, which name the runs of our store.
const FORMATS: [&str; 2] = ["CSV", "Parquet"];
/// The runs of other programs: their names, and the run of ours over the same files.
const OTHERS: [(Peer, &str, &str); 3] = [
    (Peer::Minio, "MinIO, CSV", FORMATS[0]),
    (Peer::DuckDb, "DuckDB, CSV", FORMATS[0]),
    (Peer::DuckDb, "DuckDB, Parquet", FORMATS[1]),
];
/// Text of a report for a program that is not there.
const MISSING: &str = "not installed on this machine";

fn runs(setting: &Setting) -> Vec<Run> {
    let set = |place: &str| format!("SET sluice.aggregate = '{place}'");
    let mut texts = vec![set("here")];
    texts.extend(QUERIES.iter().map(|(_, text)| (*text).to_owned()));
    let here = texts.clone();
    texts.insert(QUERIES.len(), set("store"));
    let settings = [("scan", "select")];
    let data = [tpch(setting), parquet(setting)];
    let sql = |name, data: &Data, texts: &[String]| {
        Run::sql(name, data, UNLIMITED, &settings, texts, setting.rounds())
    };
    let mut runs: Vec<Run> =
        FORMATS.iter().zip(&data).map(|(name, data)| sql(*name, data, &texts)).collect();
    runs.extend(OTHERS.map(|(peer, name, beside)| {
        let data = &data[usize::from(beside != FORMATS[0])];
        match peer {
            // MinIO sums no decimals.
            Peer::Minio => sql(name, data, &here).beside_minio(),
            Peer::DuckDb => Run::duckdb(name, data, &local(data, beside, setting)),
        }
    }));
    runs
}

/// Returns the statements of DuckDB over the files of lineitem: a view, and the queries in each round.
fn local(data: &Data, format: &str, setting: &Setting) -> Vec<String> {
    let format = format.to_lowercase();
    let Data { name, .. } = data;
    let files = format!("data/{name}/sf{}/{format}/lineitem/*.{format}", setting.scale);
    let view = format!("create view lineitem as select * from read_{format}('{files}')");
    let rounds = (0..setting.rounds()).flat_map(|_| QUERIES.iter().map(|(_, text)| *text));
    std::iter::once(view).chain(rounds.map(str::to_owned)).collect()
}

/// A query over one format by one program.
struct Timed {
    program: &'static str,
    format: &'static str,
    query: usize,
    /// Megabytes that our store scans for the same query over the same files.
    scanned: f64,
    returned: Option<f64>,
    seconds: f64,
}

fn evaluate(_: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let mut all: Vec<Timed> = Vec::new();
    let mut programs = vec![vec![
        "sluice serve".to_owned(),
        "from the text of the query to the end of its answer, client included".to_owned(),
        "measured".to_owned(),
    ]];
    for format in FORMATS {
        all.extend(timed(results, format, "sluice serve", format)?);
    }
    for (peer, run, format) in OTHERS {
        let (program, includes) = match peer {
            Peer::Minio => {
                ("MinIO", "the same client; it also filters decimals, which MinIO cannot")
            }
            Peer::DuckDb => (
                "DuckDB",
                "parsing, planning, opening local files and detecting their types, on all cores; no store and no start of \
                 the process",
            ),
        };
        let is_missing = results.missing(run)?.is_some();
        let state = if is_missing { MISSING } else { "measured" };
        programs.push(vec![run.to_owned(), includes.to_owned(), state.to_owned()]);
        match peer {
            _ if is_missing => {}
            Peer::Minio => all.extend(timed(results, run, program, format)?),
            Peer::DuckDb => {
                let seconds: Vec<f64> = results.output(run)?;
                let own: Vec<f64> = scanned(&all, format);
                // The first statement makes the view.
                let rounds = seconds.get(1..).unwrap_or_default();
                all.extend((0..QUERIES.len()).zip(own).map(|(query, scanned)| {
                    let of = rounds.iter().skip(query).step_by(QUERIES.len());
                    let seconds = median(&of.copied().collect::<Vec<_>>());
                    Timed { program, format, query, scanned, returned: None, seconds }
                }));
            }
        }
    }
    all.sort_by_key(|it| it.query);
    Ok(shown(&all, programs))
}

/// Returns the queries of a run of `sluice`.
fn timed(
    results: &Results,
    run: &str,
    program: &'static str,
    format: &'static str,
) -> Result<Vec<Timed>, ResultsError> {
    let queries = results.queries(run)?;
    let of = |(query, it): (usize, &crate::Repeated)| Timed {
        program,
        format,
        query,
        scanned: it.last.bytes.scanned as f64 / 1e6,
        returned: Some(it.last.bytes.returned as f64 / 1e6),
        seconds: it.seconds,
    };
    Ok(queries.iter().take(QUERIES.len()).enumerate().map(of).collect())
}

/// Returns the megabytes that our store scans for each query over a format.
fn scanned(all: &[Timed], format: &str) -> Vec<f64> {
    all.iter()
        .filter(|it| it.returned.is_some() && it.program != "MinIO" && it.format == format)
        .map(|it| it.scanned)
        .collect()
}

fn shown(all: &[Timed], programs: Vec<Vec<String>>) -> Outcome {
    let mut outcome = Outcome::default();
    let row = |it: &Timed| {
        vec![
            QUERIES[it.query].0.to_owned(),
            it.program.to_owned(),
            it.format.to_owned(),
            format!("{:.1}", it.scanned),
            it.returned.map_or_else(|| "–".to_owned(), |it| format!("{it:.2}")),
            format!("{:.3}", it.seconds),
            format!("{:.0}", it.scanned / it.seconds),
        ]
    };
    outcome.tables.push(Table {
        title: "Queries over lineitem. The MB scanned of DuckDB are those of our store for the same query and files"
            .to_owned(),
        columns: vec!["query", "program", "format", "MB scanned", "MB returned", "seconds", "MB/s"],
        rows: all.iter().map(row).collect(),
        provenance: Provenance::Measured,
    });
    outcome.tables.push(Table {
        title: "What the seconds of each program include".to_owned(),
        columns: vec!["program", "seconds include", "state"],
        rows: programs,
        provenance: Provenance::Measured,
    });
    for format in FORMATS {
        let of: Vec<&Timed> = all.iter().filter(|it| it.format == format).collect();
        let mut parts: Vec<String> = Vec::new();
        for it in &of {
            if !parts.iter().any(|part| part == it.program) {
                parts.push(it.program.to_owned());
            }
        }
        let bar = |(at, (name, _)): (usize, &(&str, &str))| Bar {
            name: (*name).to_owned(),
            lengths: of.iter().filter(|it| it.query == at).map(|it| it.seconds).collect(),
        };
        outcome.charts.push(Chart {
            title: format!("Seconds of queries over lineitem as {format}"),
            x: Axis::linear("seconds"),
            y: Axis::default(),
            marks: Marks::Bars {
                bars: QUERIES.iter().enumerate().map(bar).collect(),
                parts,
                is_stacked: false,
            },
            provenance: Provenance::Measured,
        });
    }
    outcome
}
