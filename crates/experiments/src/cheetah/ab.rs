//! Section 6: BigData A and B in one switch.

use serde::Deserialize;
use sluicegate_costmodel::Provenance;

use super::completion::{provenance, seconds_of};
use crate::chart::{Axis, Bar, Marks};
use crate::experiment::Method;
use crate::{Chart, Experiment, Outcome, Results, ResultsError, Run, Setting, Table};

/// The filter of A beside the sums of B.
pub const EXPERIMENT: Experiment = Experiment {
    id: "cheetah/ab",
    title: "BigData A, B and A+B in one pipeline",
    place: "Cheetah §6",
    method: Method::Live { runs, evaluate },
};

const PROGRAMS: &str = "programs";
const TIMES: &str = "times";
/// The rows of the workload: A, B and both, each as one program.
const QUERIES: [(&str, &str); 3] =
    [("A filter", "A: filter"), ("B, packed alone", "B: SUM by group"), ("A+B, packed", "A+B")];

fn runs(setting: &Setting) -> Vec<Run> {
    let scale = setting.either("0.02", "0.05");
    let workload = ["switch", "run", "--workload", "bigdata", "--scale", scale, "--format", "json"];
    let times = ["switch", "time", "5", "--format", "json"];
    vec![Run::command(PROGRAMS, &workload), Run::command(TIMES, &times)]
}

/// A query of the workload: what is forwarded, and the resources of its program.
#[derive(Debug, Deserialize)]
struct Program {
    query: String,
    entries: u64,
    forwarded: u64,
    answer: String,
    stages: Option<u64>,
    #[serde(rename = "stateful ALUs")]
    alus: Option<u64>,
    #[serde(rename = "register bits")]
    bits: Option<u64>,
}

impl Program {
    /// Returns the stages, ALUs and bits; zeros if the program has no placement.
    fn resources(&self) -> [u64; 3] {
        [self.stages, self.alus, self.bits].map(Option::unwrap_or_default)
    }
}

fn evaluate(_: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let all: Vec<Program> = results.output(PROGRAMS)?;
    let of = |query: &str| all.iter().find(|it| it.query == query);
    let resources = |query| of(query).map_or([0; 3], Program::resources);
    let ([stages, alus, bits], both) = (resources(QUERIES[1].0), resources(QUERIES[2].0));
    let mut outcome = Outcome::default();
    let found = format!(
        "{stages} stages, {alus} ALUs and {bits} bits; with the filter {}, {} and {}",
        both[0], both[1], both[2],
    );
    outcome.decide("C12", found, stages > 0 && both == [stages, alus + 1, bits + 32]);
    outcome.note(
        "the filter takes no stage more, and a pipeline forwards a packet with each clock, so SUM is not slower. Both are \
         behind a table that tells flows apart: two queries over different tables must not see each other's packets. The \
         completion times are no evidence for this claim, because A and B run one after the other there",
    );
    outcome.charts.push(placed(&all));
    let row = |(query, name): &(&str, &str)| {
        let program = of(query)?;
        let [stages, alus, bits] = program.resources();
        let numbers = [stages, alus, bits, program.entries, program.forwarded];
        let mut row = vec![(*name).to_owned()];
        row.extend(numbers.map(|it| it.to_string()));
        row.push(program.answer.clone());
        Some(row)
    };
    outcome.tables.push(Table {
        title: "Resources on a Tofino, and entries of the queries".to_owned(),
        columns: vec![
            "queries",
            "stages",
            "stateful ALUs",
            "bits of registers",
            "entries",
            "forwarded",
            "answer",
        ],
        rows: QUERIES.iter().filter_map(row).collect(),
        provenance: Provenance::Counted,
    });
    add_times(&mut outcome, results)?;
    Ok(outcome)
}

/// Draws what the claim counts: the stages and the ALUs of each program.
fn placed(all: &[Program]) -> Chart {
    let bar = |(query, name): &(&str, &str)| {
        let [stages, alus, _] = all.iter().find(|it| it.query == *query)?.resources();
        Some(Bar { name: (*name).to_owned(), lengths: vec![stages as f64, alus as f64] })
    };
    Chart {
        title: "Stages and stateful ALUs of A, of B, and of both in one pipeline".to_owned(),
        x: Axis::linear("number"),
        y: Axis::default(),
        marks: Marks::Bars {
            parts: ["stages", "stateful ALUs"].map(str::to_owned).to_vec(),
            bars: QUERIES.iter().filter_map(bar).collect(),
            is_stacked: false,
        },
        provenance: Provenance::Counted,
    }
}

/// Adds the completion times of A, B, and both one after the other.
fn add_times(outcome: &mut Outcome, results: &Results) -> Result<(), ResultsError> {
    let seconds = seconds_of(results, TIMES)?;
    let times: Vec<(&str, f64)> = ["A", "B", "A+B"]
        .into_iter()
        .filter_map(|name| {
            let of = seconds.iter().find(|it| it.query == format!("BigData {name}"))?;
            Some((name, of.seconds))
        })
        .collect();
    outcome.tables.push(Table {
        title: "Seconds of A, of B, and of both one after the other".to_owned(),
        columns: vec!["queries", "seconds"],
        rows: times.iter().map(|(name, it)| vec![(*name).to_owned(), format!("{it:.3}")]).collect(),
        provenance: provenance(),
    });
    let bar = |(name, it): &(&str, f64)| Bar { name: (*name).to_owned(), lengths: vec![*it] };
    outcome.charts.push(Chart {
        title: "Completion times of A, of B, and of both one after the other".to_owned(),
        x: Axis::linear("seconds"),
        y: Axis::default(),
        marks: Marks::Bars {
            parts: vec!["seconds".to_owned()],
            bars: times.iter().map(bar).collect(),
            is_stacked: true,
        },
        provenance: provenance(),
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Record;

    #[test]
    fn the_filter_may_take_one_alu_and_32_bits() {
        let outcome = |bits: u64| {
            let row = |query: &str, alus: u64, bits: u64| {
                json!({"query": query, "entries": 10, "forwarded": 5, "answer": "unchanged", "stages": 8,
                    "stateful ALUs": alus, "register bits": bits})
            };
            let programs = json!([
                row("A filter", 1, 32),
                row("B, packed alone", 8, 1000),
                row("A+B, packed", 9, bits)
            ]);
            let times = ["A", "B", "A+B"];
            let times = times.map(|it| json!({"query": format!("BigData {it}"), "seconds": 2.5}));
            let mut results = Results::default();
            results.insert(PROGRAMS, Record { output: programs, ..Record::default() });
            results.insert(TIMES, Record { output: json!(times), ..Record::default() });
            evaluate(&Setting::QUICK, &results).unwrap()
        };
        let whole = outcome(1032);
        assert!(whole.verdicts[0].holds && !outcome(1064).verdicts[0].holds);
        let Marks::Bars { bars, .. } = &whole.charts[0].marks else { panic!("no bars") };
        assert_eq!(bars[2].lengths, [8.0, 9.0]);
        assert_eq!(whole.tables.iter().map(|it| it.rows.len()).collect::<Vec<_>>(), [3, 3]);
    }
}
