//! Sweeps of algorithms along an axis, for Figures 10 and 11: the commands, and their points as tables and charts.

use serde::Deserialize;
use sluicegate_costmodel::Provenance;

use crate::chart::{Axis, Line, Marks};
use crate::{Chart, Data, Results, ResultsError, Run, Table};

/// The command `switch sweep` over a file of a data set.
#[derive(Debug, Clone)]
pub(super) struct Sweep<'a> {
    /// The names of the algorithms, separated by commas.
    pub(super) algorithms: &'a str,
    /// The axis with its range, and a second axis for several lines.
    pub(super) over: Vec<String>,
    /// The file of entries, or the shape of generated ones.
    pub(super) input: &'a str,
    /// The columns that packets carry.
    pub(super) columns: &'a str,
    /// Further arguments.
    pub(super) more: Vec<String>,
}

impl Sweep<'_> {
    /// Returns the run of this name over a data set.
    pub(super) fn run(&self, name: &str, data: &Data) -> Run {
        let mut arguments = vec!["switch", "sweep", "--algorithm", self.algorithms];
        for axis in &self.over {
            arguments.extend(["--over", axis]);
        }
        arguments.extend(["--input", self.input, "--column", self.columns]);
        arguments.extend(self.more.iter().map(String::as_str));
        arguments.extend(["--format", "json"]);
        Run::command(name, &arguments).with_data(data)
    }
}

/// A point of a sweep.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct Point {
    pub(super) algorithm: String,
    /// The value of the second axis.
    line: Option<String>,
    axis: String,
    pub(super) value: f64,
    pub(super) entries: u64,
    pub(super) runs: u64,
    /// The mean share of the entries that were forwarded.
    #[serde(rename = "forwarded_share")]
    pub(super) forwarded: f64,
    /// The lower end of the interval, if there were several runs.
    pub(super) low: Option<f64>,
    pub(super) high: Option<f64>,
    /// The share that a pruner without limits would forward.
    #[serde(rename = "optimum_share")]
    pub(super) optimum: f64,
    pub(super) wrong: u64,
}

impl Point {
    /// Returns the value of the second axis.
    pub(super) fn line(&self) -> Option<&str> {
        self.line.as_deref()
    }

    /// Returns the share of the superfluous entries that were pruned.
    pub(super) fn pruned_duplicates(&self) -> f64 {
        (1.0 - self.forwarded) / (1.0 - self.optimum)
    }

    /// Returns how many times as many entries were forwarded as are needed.
    pub(super) fn over_optimum(&self) -> f64 {
        self.forwarded / self.optimum
    }

    fn name(&self) -> String {
        self.line
            .as_ref()
            .map_or_else(|| self.algorithm.clone(), |it| format!("{} {it}", self.algorithm))
    }
}

/// Reads the points of runs of sweeps, one after the other.
pub(super) fn points(results: &Results, runs: &[&str]) -> Result<Vec<Point>, ResultsError> {
    let mut all: Vec<Point> = Vec::new();
    for run in runs {
        all.extend(results.output::<Vec<Point>>(run)?);
    }
    Ok(all)
}

/// Returns the points of an algorithm.
pub(super) fn of<'a>(points: &'a [Point], algorithm: &'a str) -> impl Iterator<Item = &'a Point> {
    points.iter().filter(move |point| point.algorithm == algorithm)
}

/// Formats a share as a percentage with as many digits as small shares need.
pub(super) fn percent(share: f64) -> String {
    let digits = match 100.0 * share {
        0.0 => 0,
        it if it >= 10.0 => 1,
        it if it >= 0.1 => 2,
        it if it >= 0.001 => 4,
        _ => 6,
    };
    format!("{:.digits$} %", 100.0 * share)
}

/// Formats the share of pruned entries, with digits for all nines in front.
pub(super) fn pruned(forwarded: f64) -> String {
    let digits = (0..6).find(|&it| forwarded >= 0.1 * 0.1_f64.powi(it)).unwrap_or(6);
    format!("{:.*} %", usize::try_from(digits).unwrap_or(0), 100.0 * (1.0 - forwarded))
}

/// Formats a whole number with commas between thousands.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A remark on sweeps.
pub(super) const OPTIMUM: &str =
    "The optimum forwards only the entries that can change the answer. The others are superfluous.";

/// Returns the points as a table. The optimum forwards only entries that can change the answer.
pub(super) fn table(title: impl Into<String>, points: &[Point]) -> Table {
    let ends = |point: &Point| match (point.low, point.high) {
        (Some(low), Some(high)) => format!("{} to {}", percent(low.max(0.0)), percent(high)),
        _ => "one run".to_owned(),
    };
    let row = |point: &Point| {
        vec![
            point.name(),
            format!("{} = {}", point.axis, point.value),
            point.entries.to_string(),
            percent(point.forwarded),
            ends(point),
            percent(point.optimum),
            point.wrong.to_string(),
        ]
    };
    Table {
        title: title.into(),
        columns: vec!["algorithm", "at", "entries", "forwarded", "95 %", "optimum", "wrong"],
        rows: points.iter().map(row).collect(),
        provenance: Provenance::Counted,
    }
}

/// Returns the points as lines with intervals, with the optimum. `x_of` gives the place of a point on the axis.
pub(super) fn chart(
    title: impl Into<String>,
    x: Axis,
    points: &[Point],
    x_of: impl Fn(&Point) -> f64,
) -> Chart {
    let mut lines: Vec<Line> = Vec::new();
    let mut optimum: Vec<[f64; 4]> = Vec::new();
    for point in points.iter().filter(|point| point.forwarded > 0.0) {
        let (at, name) = (x_of(point), point.name());
        let [low, high] = [point.low, point.high].map(|end| end.unwrap_or(point.forwarded));
        // The axis is logarithmic.
        let low = if low > 0.0 { low } else { point.forwarded };
        let drawn = [at, point.forwarded, low, high];
        match lines.iter_mut().find(|line| line.name == name) {
            Some(line) => line.points.push(drawn),
            None => lines.push(Line { points: vec![drawn], ..Line::new(name, []) }),
        }
        if point.optimum > 0.0 && optimum.iter().all(|there| there[0] != at) {
            optimum.push([at, point.optimum, point.optimum, point.optimum]);
        }
    }
    optimum.sort_by(|a, b| a[0].total_cmp(&b[0]));
    lines.push(Line { points: optimum, ..Line::new("optimum", []) });
    // On a logarithmic axis, shares of the same size are a narrow band at the top.
    let least = lines.iter().flat_map(|it| &it.points).map(|it| it[1]).fold(1.0, f64::min);
    let is_logarithmic = least < 0.5;
    Chart {
        title: title.into(),
        x,
        y: Axis { is_logarithmic, ..Axis::linear("share of the entries that is forwarded") },
        marks: Marks::Lines(lines),
        provenance: Provenance::Counted,
    }
}

/// Returns true if each value is less than the one before.
pub(super) fn falls(values: &[f64]) -> bool {
    values.len() > 1 && values.windows(2).all(|pair| pair[1] < pair[0])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Record;

    fn results() -> Results {
        let point = |algorithm: &str, value: u64, forwarded: f64, low: Option<f64>| {
            json!({"algorithm": algorithm, "line": null, "axis": "d", "value": value, "entries": 1000, "runs": 5,
                "forwarded_share": forwarded, "low": low, "high": low.map(|it| 2.0 * forwarded - it),
                "optimum_share": 0.1, "over_optimum": 2.0, "wrong": 0})
        };
        let output = json!([
            point("a", 2, 0.4, Some(0.3)),
            point("a", 4, 0.2, Some(-0.1)),
            point("b", 2, 0.1, None)
        ]);
        let mut results = Results::default();
        results.insert("r", Record { output, ..Record::default() });
        results
    }

    #[test]
    fn a_sweep_is_drawn_with_its_optimum() {
        let points = points(&results(), &["r"]).unwrap();
        assert_eq!(of(&points, "a").count(), 2);
        assert!(falls(&of(&points, "a").map(|it| it.forwarded).collect::<Vec<_>>()));
        assert!((points[0].pruned_duplicates() - 0.6 / 0.9).abs() < 1e-12);
        let Marks::Lines(lines) = chart("t", Axis::linear("d"), &points, |it| it.value).marks
        else {
            panic!("no lines")
        };
        let names: Vec<&str> = lines.iter().map(|line| line.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "optimum"]);
        // The interval does not reach 0.
        assert_eq!(lines[0].points[1], [4.0, 0.2, 0.2, 0.5]);
        assert_eq!(lines[2].points.len(), 2);
        assert_eq!(table("t", &points).rows[2][4], "one run");
    }

    #[test]
    fn small_shares_keep_their_digits() {
        assert_eq!(
            [0.5, 0.0107, 0.000_054, 0.000_001].map(percent),
            ["50.0 %", "1.07 %", "0.0054 %", "0.000100 %"]
        );
        assert_eq!([0.0107, 0.000_05, 0.5].map(pruned), ["98.9 %", "99.9950 %", "50 %"]);
        assert_eq!([7, 4096, 634_000].map(grouped), ["7", "4,096", "634,000"]);
    }
}
