//! Sweeps: queries run by several strategies along an axis, as runs and tables.

use sluicegate_costmodel::Provenance;

use super::sweep_charts::parts;
use crate::{Data, Repeated, Results, ResultsError, Run, StatementDollars, Table};

/// The link of live experiments. Two cores scan a bit more than 1 GB/s here, about eleven times what this link
/// carries. The ratio is that of the paper's 96 scans of 130 MB/s to its link of 1.16 GB/s.
pub(super) const LINK: &str = "1gbit";

/// The rounds of a query that runs [often](Cell::often).
const OFTEN: usize = 5;

/// A query by one strategy at one point of an axis.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cell {
    /// The strategy, which names the series.
    pub(super) series: String,
    /// The name of the point.
    pub(super) label: String,
    /// The place of the point on the axis.
    pub(super) x: f64,
    data: Data,
    link: &'static str,
    settings: Vec<(&'static str, String)>,
    more: Vec<&'static str>,
    rounds: Option<usize>,
    query: String,
}

impl Cell {
    pub(super) fn new(
        series: &str,
        (label, x): (impl Into<String>, f64),
        data: &Data,
        settings: &[(&'static str, &str)],
        query: impl Into<String>,
    ) -> Self {
        Self {
            series: series.to_owned(),
            label: label.into(),
            x,
            data: data.clone(),
            link: LINK,
            settings: settings.iter().map(|(name, value)| (*name, (*value).to_owned())).collect(),
            more: Vec::new(),
            rounds: None,
            query: query.into(),
        }
    }

    /// Adds arguments of `sluice sql`.
    pub(super) fn with(mut self, arguments: &[&'static str]) -> Self {
        self.more.extend(arguments);
        self
    }

    /// Adds a setting.
    pub(super) fn set(mut self, name: &'static str, value: impl ToString) -> Self {
        self.settings.push((name, value.to_string()));
        self
    }

    /// Runs it more often than others, because its time is short and must be known well.
    pub(super) fn often(mut self) -> Self {
        self.rounds = Some(OFTEN);
        self
    }

    /// Runs it behind another link.
    pub(super) fn over(mut self, link: &'static str) -> Self {
        self.link = link;
        self
    }

    /// Returns true if one command can run both.
    fn shares_command(&self, other: &Self) -> bool {
        self.series == other.series
            && self.data.name == other.data.name
            && self.link == other.link
            && self.settings == other.settings
            && self.more == other.more
            && self.rounds == other.rounds
    }
}

/// Groups cells that one command can run. Equal queries of a command would be rounds of one query, so they are apart.
fn commands(cells: &[Cell]) -> Vec<&[Cell]> {
    cells.chunk_by(|one, next| one.shares_command(next) && one.query != next.query).collect()
}

fn name_of(group: usize, cells: &[Cell]) -> String {
    format!("{group:02}-{}", cells.first().map_or("", |cell| cell.series.as_str()))
}

/// Returns the runs of cells, as few as possible.
pub(super) fn runs(cells: &[Cell], rounds: usize) -> Vec<Run> {
    let runs = commands(cells).into_iter().enumerate().filter_map(|(group, cells)| {
        let first = cells.first()?;
        let settings: Vec<(&str, &str)> =
            first.settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let queries: Vec<String> = cells.iter().map(|cell| cell.query.clone()).collect();
        let name = name_of(group, cells);
        let rounds = first.rounds.unwrap_or(rounds);
        let mut run = Run::sql(name, &first.data, first.link, &settings, &queries, rounds);
        run.arguments.extend(first.more.iter().map(|&it| it.to_owned()));
        Some(run)
    });
    runs.collect()
}

/// What a cell took.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Measured {
    pub(super) cell: Cell,
    pub(super) query: Repeated,
}

impl Measured {
    /// The median of the seconds of the rounds.
    pub(super) const fn seconds(&self) -> f64 {
        self.query.seconds
    }

    /// The least and the greatest seconds of a round.
    pub(super) fn interval(&self) -> (f64, f64) {
        let all = || self.query.all_seconds.iter().copied();
        (all().fold(self.seconds(), f64::min), all().fold(self.seconds(), f64::max))
    }

    /// The bill in dollars, with the client's machine for the median of the rounds.
    pub(super) fn bill(&self) -> StatementDollars {
        let (last, seconds) = (&self.query.last, self.seconds());
        let compute = match last.seconds > 0.0 {
            true => last.dollars.compute * seconds / last.seconds,
            false => last.dollars.compute,
        };
        let total = last.dollars.total - last.dollars.compute + compute;
        StatementDollars { compute, total, ..last.dollars }
    }

    pub(super) fn dollars(&self) -> f64 {
        self.bill().total
    }

    /// Bytes over the link.
    pub(super) fn link(&self) -> u64 {
        self.query.last.bytes.link
    }

    pub(super) fn returned(&self) -> u64 {
        self.query.last.bytes.returned
    }

    pub(super) fn scanned(&self) -> u64 {
        self.query.last.bytes.scanned
    }

    pub(super) fn requests(&self) -> u64 {
        let requests = self.query.last.requests;
        requests.get + requests.select
    }

    /// The point of a line, with the fastest and the slowest round.
    pub(super) fn point(&self) -> [f64; 4] {
        let (least, greatest) = self.interval();
        [self.cell.x, self.seconds(), least, greatest]
    }
}

/// Reads what the cells took.
pub(super) fn read(cells: &[Cell], results: &Results) -> Result<Vec<Measured>, ResultsError> {
    let mut measured = Vec::new();
    for (group, cells) in commands(cells).into_iter().enumerate() {
        let name = name_of(group, cells);
        let queries = results.queries(&name)?;
        for (at, cell) in cells.iter().enumerate() {
            let Some(query) = queries.get(at) else {
                return Err(missing(results, &format!("{name}, query {at}")));
            };
            measured.push(Measured { cell: cell.clone(), query: query.clone() });
        }
    }
    Ok(measured)
}

/// The error for an output that is not there.
fn missing(results: &Results, what: &str) -> ResultsError {
    match results.record(what) {
        Err(error) => error,
        Ok(_) => missing(results, &format!("{what}?")),
    }
}

/// Returns what a series took, in order.
pub(super) fn series<'a>(measured: &'a [Measured], name: &str) -> Vec<&'a Measured> {
    measured.iter().filter(|it| it.cell.series == name).collect()
}

/// Returns the ratio of two series at each point: what one has by what the other has.
pub(super) fn ratios(
    measured: &[Measured],
    [one, other]: [&str; 2],
    of: fn(&Measured) -> f64,
) -> Vec<f64> {
    let pairs = series(measured, one).into_iter().zip(series(measured, other));
    pairs.map(|(one, other)| of(one) / of(other)).collect()
}

/// Formats the least and the greatest of some numbers: `0.52 to 0.97`.
pub(super) fn between(values: &[f64]) -> String {
    let (least, most) =
        values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), it| {
            (least.min(*it), most.max(*it))
        });
    format!("{least:.2} to {most:.2}")
}

/// A table of what all cells took and moved.
pub(super) fn table(title: impl Into<String>, axis: &'static str, measured: &[Measured]) -> Table {
    let row = |it: &Measured| {
        let Repeated { last, .. } = &it.query;
        let mut row = vec![it.cell.series.clone(), it.cell.label.clone(), seconds(it.seconds())];
        row.extend([last.bytes.link, last.bytes.scanned, last.bytes.returned].map(megabytes));
        row.push(it.requests().to_string());
        row.extend(parts(&it.bill()).map(|part| format!("{part:.4}")));
        row.push(format!("{:.4}", 100.0 * it.dollars()));
        row
    };
    Table {
        title: title.into(),
        columns: vec![
            "strategy",
            axis,
            "seconds",
            "MB sent",
            "MB scanned",
            "MB returned",
            "requests",
            "compute",
            "scan",
            "return",
            "request cost",
            "cents",
        ],
        rows: measured.iter().map(row).collect(),
        provenance: Provenance::Measured,
    }
}

/// Formats seconds.
pub(super) fn seconds(seconds: f64) -> String {
    format!("{seconds:.3}")
}

/// Formats bytes as megabytes.
pub(super) fn megabytes(bytes: u64) -> String {
    format!("{:.3}", bytes as f64 / 1e6)
}

/// Returns the largest of some numbers by the least.
pub(super) fn spread(values: impl IntoIterator<Item = f64>) -> f64 {
    let (least, most) = values
        .into_iter()
        .fold((f64::INFINITY, 0.0_f64), |(least, most), it| (least.min(it), most.max(it)));
    most / least
}

/// The number of rounds of each query.
pub(super) const ROUNDS: usize = 2;

/// Returns the mean of some numbers.
pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns the geometric mean of some numbers.
pub(super) fn geometric_mean(values: &[f64]) -> f64 {
    mean(&values.iter().map(|it| it.ln()).collect::<Vec<f64>>()).exp()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Record;

    fn cells() -> Vec<Cell> {
        let data = Data::new("t", &["tpch"]);
        let cell = |series: &str, query: &str| Cell::new(series, ("1", 1.0), &data, &[], query);
        vec![
            cell("get", "a"),
            cell("get", "b"),
            cell("select", "a"),
            cell("select", "a").set("bloom_p", 0.1),
        ]
    }

    #[test]
    fn cells_with_equal_settings_share_a_command() {
        let runs = runs(&cells(), 1);
        let names: Vec<&str> = runs.iter().map(|run| run.name.as_str()).collect();
        assert_eq!(names, ["00-get", "01-select", "02-select"]);
        assert!(runs[2].shell().contains("bloom_p"), "{}", runs[2].shell());
    }

    #[test]
    fn what_cells_took_is_read_in_order() {
        let mut results = Results::default();
        let line = |text: &str, seconds: f64| json!({"statement": text, "seconds": seconds});
        let mut insert = |name: &str, output| {
            results.insert(name, Record { output, ..Record::default() });
        };
        insert("00-get", json!([line("a", 1.0), line("b", 2.0), line("a", 3.0), line("a", 0.5)]));
        insert("01-select", json!([line("a", 3.0)]));
        insert("02-select", json!([]));
        let cells = cells();
        let measured = read(&cells[..3], &results).unwrap();
        let seconds: Vec<f64> = measured.iter().map(Measured::seconds).collect();
        assert_eq!(seconds, [1.0, 2.0, 3.0]);
        assert_eq!(measured[0].point(), [1.0, 1.0, 0.5, 3.0]);
        assert_eq!(ratios(&measured, ["select", "get"], Measured::seconds), [3.0]);
        assert_eq!(between(&[2.0, 0.5]), "0.50 to 2.00");
        assert_eq!(series(&measured, "get").len(), 2);
        let refused = read(&cells, &results).unwrap_err().to_string();
        assert_eq!(refused, "run `02-select, query 0`: there is no output");
    }

    #[test]
    fn a_spread_is_a_ratio() {
        assert_eq!(spread([2.0, 1.0, 3.0]), 3.0);
    }
}
