//! Figure 9: the master's time by the unpruned fraction, modelled and measured.

use sluicegate_costmodel::Provenance;
use sluicegate_costmodel::completion::{Figure, Testbed};

use super::completion::{cases, lines, table};
use crate::chart::{Axis, Line, Marks};
use crate::experiment::Method;
use crate::{Chart, Experiment, Outcome, Results, ResultsError, Run, Setting, Table};

/// The master is `sluice sql` with one thread over entries in memory.
pub const EXPERIMENT: Experiment = Experiment {
    id: "cheetah/fig9",
    title: "The master's time by the fraction that is not pruned",
    place: "Cheetah §8.3, Figure 9",
    method: Method::Live { runs, evaluate },
};

const RUN: &str = "master";
/// The fractions are tenths.
const TENTHS: u64 = 10;
/// The queries that the master completes, over the entries `x`. The time of the first, which only reads them, is no
/// work of the others.
const QUERIES: [(&str, &str); 6] = [
    ("Scan", "SELECT COUNT(*) FROM x"),
    ("Distinct", "SELECT COUNT(*) FROM (SELECT DISTINCT key FROM x)"),
    (
        "GroupBy",
        "SELECT COUNT(*), MAX(most) FROM (SELECT key, MAX(amount) AS most FROM x GROUP BY key)",
    ),
    ("TopN", "SELECT MIN(amount) FROM (SELECT amount FROM x ORDER BY amount DESC LIMIT 250)"),
    (
        "Skyline",
        "SELECT COUNT(*) FROM (SELECT amount, MAX(amount) OVER (ORDER BY key DESC, amount DESC \
         ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS best FROM x) WHERE best IS NULL OR amount > best",
    ),
    (
        "Join",
        "SELECT COUNT(*) FROM (SELECT key FROM x WHERE n % 8 = 0) a JOIN (SELECT key FROM x) b ON a.key = b.key",
    ),
];
/// The queries whose algorithms keep more than a few rows; the others are done as entries arrive.
const HEAVY: [&str; 3] = ["Distinct", "GroupBy", "Skyline"];

fn entries(setting: &Setting) -> u64 {
    setting.either(500_000, 4_000_000)
}

fn runs(setting: &Setting) -> Vec<Run> {
    let count = entries(setting);
    let rounds = 2;
    let mut statements = vec![format!(
        "CREATE TABLE e AS SELECT value AS n, (value * 2654435761) % 1048573 AS key, \
         (value * 40503) % 16777213 AS amount FROM generate_series(1, {count})"
    )];
    for _ in 0..rounds {
        for tenth in 1..=TENTHS {
            let first = format!("(SELECT * FROM e WHERE n <= {})", count * tenth / TENTHS);
            statements.extend(
                QUERIES.map(|(_, query)| query.replace("FROM x", &format!("FROM {first}"))),
            );
        }
    }
    let mut arguments = vec!["sql", "--format", "csv", "--threads", "1"];
    for statement in &statements {
        arguments.extend(["-c", statement]);
    }
    vec![Run { output: crate::RunOutput::Statements, ..Run::command(RUN, &arguments) }]
}

/// The least seconds of a query at each tenth, beyond those of a scan.
struct Measured {
    query: &'static str,
    seconds: Vec<f64>,
}

fn measured(results: &Results) -> Result<Vec<Measured>, ResultsError> {
    let all = results.queries(RUN)?;
    let selects: Vec<f64> = all
        .iter()
        .filter(|it| it.last.statement.starts_with("SELECT"))
        .map(|it| it.all_seconds.iter().copied().fold(f64::INFINITY, f64::min))
        .collect();
    let of = |at: usize| selects.iter().skip(at).step_by(QUERIES.len());
    let work = |at: usize| of(at).zip(of(0)).map(|(all, scan)| (all - scan).max(0.0)).collect();
    let queries = QUERIES.iter().enumerate().skip(1);
    Ok(queries.map(|(at, (query, _))| Measured { query, seconds: work(at) }).collect())
}

/// The seconds in which the entries arrive, and the work that is left then.
#[derive(Debug, Clone, Copy)]
struct Arrival {
    /// Seconds in which all entries cross the master's link.
    link: f64,
    /// Seconds in which the workers send all entries, pruned or not.
    sending: f64,
    /// Seconds in which the master receives all entries.
    receiving: f64,
}

impl Arrival {
    fn new(entries: u64) -> Self {
        let testbed = Testbed::cheetah();
        let setup = testbed.setup();
        let link = entries as f64 / testbed.packets_per_second(setup.link);
        let receiving = entries as f64 / testbed.received.value;
        Self { link, sending: link / setup.workers, receiving }
    }

    /// Returns the seconds until the last of this fraction of the entries arrives.
    fn seconds(self, fraction: f64) -> f64 {
        (self.link * fraction).max(self.sending)
    }

    /// Returns the rest of receiving and of this many seconds of work when the last entry arrives.
    fn left(self, seconds: f64, fraction: f64) -> f64 {
        (self.receiving * fraction + seconds - self.seconds(fraction)).max(0.0)
    }
}

fn evaluate(setting: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let all = measured(results)?;
    let arrival = Arrival::new(entries(setting));
    let ends = |it: &Measured| {
        let at = |end: Option<&f64>| end.copied().unwrap_or(f64::NAN);
        [at(it.seconds.first()), at(it.seconds.last())]
    };
    let left = |it: &Measured| {
        let [first, last] = ends(it);
        [arrival.left(first, 0.1), arrival.left(last, 1.0)]
    };
    let heavy: Vec<&Measured> = all.iter().filter(|it| HEAVY.contains(&it.query)).collect();
    let listed = |of: &dyn Fn(&Measured) -> [f64; 2]| {
        let each = heavy.iter().map(|it| {
            let [first, last] = of(it);
            format!("{} {first:.3} to {last:.3} s", it.query)
        });
        each.collect::<Vec<_>>().join(", ")
    };
    let holds = heavy.iter().all(|it| {
        let [first, last] = left(it);
        last > 10.0 * first
    });
    let mut outcome = Outcome::default();
    outcome.decide("C28", listed(&left), holds);
    outcome.note(format!(
        "the time after the last entry, of a tenth and of all entries: the measured work, without the scan, and \
         receiving them, less the {:.3} s and {:.3} s in which they arrive; receiving and arriving are modelled. The \
         work alone takes {}. TOP N and the join are done as entries arrive",
        arrival.seconds(0.1),
        arrival.seconds(1.0),
        listed(&ends)
    ));
    let row = |it: &Measured| {
        let mut row = vec![it.query.to_owned()];
        row.extend(it.seconds.iter().map(|seconds| format!("{seconds:.4}")));
        row
    };
    outcome.tables.push(Table {
        title: format!("Seconds of the master's work over tenths of {} entries", entries(setting)),
        columns: vec!["query", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "1"],
        rows: all.iter().filter(|it| it.seconds.len() == 10).map(row).collect(),
        provenance: Provenance::Measured,
    });
    let modelled = cases(Figure::Unpruned);
    outcome.tables.push(table(Figure::Unpruned, &modelled));
    let line = |it: &Measured| {
        let points = (1..).zip(&it.seconds).map(|(tenth, seconds)| {
            let fraction = f64::from(tenth) / 10.0;
            (fraction, arrival.left(*seconds, fraction))
        });
        Line::new(it.query, points)
    };
    outcome.charts.push(Chart {
        title: "The master's time after the last entry, measured".to_owned(),
        x: Axis::linear("unpruned fraction"),
        y: Axis::linear("seconds"),
        marks: Marks::Lines(all.iter().map(line).collect()),
        provenance: Provenance::Measured,
    });
    let x = Axis::linear("unpruned fraction");
    outcome.charts.push(lines("Completion times by the unpruned fraction", x, &modelled));
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::Record;

    #[test]
    fn what_is_left_rises_faster_than_the_work() {
        let run = runs(&Setting::QUICK).swap_remove(0);
        let statements = run.arguments.iter().filter(|it| it.starts_with("SELECT"));
        let mut seen = 0;
        let output: Vec<Value> = statements
            .map(|text| {
                let tenth = (seen / QUERIES.len()) % 10 + 1;
                seen += 1;
                let work = if text.starts_with("SELECT COUNT(*) FROM (SELECT * FROM e") {
                    0.0
                } else {
                    0.1
                };
                json!({"statement": text, "seconds": 0.01 + work * tenth as f64})
            })
            .collect();
        let mut results = Results::default();
        results.insert(RUN, Record { output: Value::Array(output), ..Record::default() });
        let outcome = evaluate(&Setting::QUICK, &results).unwrap();
        // 0.1 s to 1 s of work, of which 10 ms to 50 ms pass while entries arrive.
        assert!(outcome.verdicts[0].holds, "{:?}", outcome.verdicts);
        assert!(
            outcome.verdicts[0].found.contains("Distinct 0.094 to 0.992 s"),
            "{:?}",
            outcome.verdicts
        );
        assert_eq!(outcome.tables[0].rows.len(), QUERIES.len() - 1);
    }
}
