//! Section 7.2: the protocol through links that lose packets and a switch that reboots.

use serde::Deserialize;
use sluicegate_costmodel::Provenance;
use sluicegate_pruning::algorithm::catalog::{Algorithm, PacketContents, Parameters};
use sluicegate_pruning::protocol::{Copies, Flow, reliable};
use sluicegate_pruning::switch::{Target, fit};

use crate::chart::{Axis, Bar, Marks};
use crate::experiment::Method;
use crate::{Chart, Experiment, Outcome, Results, ResultsError, Run, Setting, Table};

/// Thousands of simulated runs, with the repaired protocol and with the one that the paper describes.
pub const EXPERIMENT: Experiment = Experiment {
    id: "cheetah/protocol",
    title: "Answers behind losses, duplicates and reboots",
    place: "Cheetah §3, §7.2",
    method: Method::Live { runs, evaluate },
};

const LOSSES: &str = "losses";
const REBOOTS: &str = "reboots";
const PAPER_LOSSES: &str = "losses, the paper's protocol";
const PAPER_REBOOTS: &str = "reboots, the paper's protocol";
const ALL: [&str; 4] = [LOSSES, REBOOTS, PAPER_LOSSES, PAPER_REBOOTS];
const WORKERS: u16 = 2;

/// The runs of a query.
#[derive(Debug, Deserialize)]
struct Tally {
    query: String,
    runs: u64,
    correct: u64,
    wrong: u64,
    stuck: u64,
    #[serde(rename = "sends per row")]
    sends: f64,
}

fn runs(setting: &Setting) -> Vec<Run> {
    let (ours, papers) = setting.either(("300", "100"), ("5000", "1000"));
    let run = |name: &str, count: &str, reboots: &str, more: &[&str]| {
        let mut arguments = vec!["switch", "protocol", "--runs", count, "--reboots", reboots];
        arguments.extend(more);
        arguments.extend(["--format", "json"]);
        Run::command(name, &arguments)
    };
    vec![
        run(LOSSES, ours, "0", &[]),
        run(REBOOTS, ours, "1", &[]),
        run(PAPER_LOSSES, papers, "0", &["--paper"]),
        run(PAPER_REBOOTS, papers, "1", &["--paper"]),
    ]
}

/// The stages of a program alone, and behind the protocol.
fn stages(algorithm: Algorithm) -> Option<[usize; 2]> {
    let long = Target { stages: 64, ..Target::tofino1() };
    let configured = algorithm.configure(&Parameters::default()).ok()?;
    let program = configured.program();
    let flows = Flow::of_workers(algorithm.entry().carries, WORKERS);
    let protected = reliable(&program, &flows, Copies::before(&*configured)).ok()?;
    Some([fit(&program, &long).ok()?.stages.len(), fit(&protected, &long).ok()?.stages.len()])
}

fn evaluate(_: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let mut outcome = Outcome::default();
    let placed: Vec<(Algorithm, [usize; 2])> =
        Algorithm::ALL.iter().filter_map(|&it| Some((it, stages(it)?))).collect();
    let added = |[alone, protected]: &[usize; 2]| protected.saturating_sub(*alone);
    let most = placed.iter().map(|(_, it)| added(it)).max().unwrap_or(usize::MAX);
    outcome.decide("C17", format!("at most {most} stages more"), most <= 2);
    if most > 2 {
        let over = placed.iter().filter(|(_, it)| added(it) > 2);
        let names: Vec<String> =
            over.map(|(it, stages)| format!("{} {}", it.name(), added(stages))).collect();
        outcome.note(format!(
            "its tables take three stages, one of which most programs share, because they hash before their first register; \
             these do not: {}",
            names.join(", ")
        ));
    }
    let tallies: Vec<(&str, Vec<Tally>)> = ALL
        .into_iter()
        .map(|name| Ok((name, results.output(name)?)))
        .collect::<Result<_, ResultsError>>()?;
    let sum = |name: &str, of: fn(&Tally) -> u64| -> u64 {
        tallies.iter().filter(|it| it.0 == name).flat_map(|it| &it.1).map(of).sum()
    };
    let right = |name: &str| {
        let (runs, correct) = (sum(name, |it| it.runs), sum(name, |it| it.correct));
        (format!("{correct} of {runs} runs right"), correct == runs && runs > 0)
    };
    let (found, holds) = right(LOSSES);
    outcome.decide("C48", found, holds);
    outcome.note(format!(
        "of the protocol as it is repaired here; as the paper describes it, {} of {} runs end with a wrong answer, \
         because the master does not drop copies",
        sum(PAPER_LOSSES, |it| it.wrong),
        sum(PAPER_LOSSES, |it| it.runs)
    ));
    let (found, holds) = right(REBOOTS);
    outcome.decide("C49", found, holds);
    outcome.note(format!(
        "queries of JOIN, HAVING and SUM begin again after a reboot. As the paper describes the protocol, {} of {} \
         runs never end, because a switch without state drops all packets but the first",
        sum(PAPER_REBOOTS, |it| it.stuck),
        sum(PAPER_REBOOTS, |it| it.runs)
    ));
    add_tables(&mut outcome, &tallies, &placed);
    Ok(outcome)
}

fn add_tables(
    outcome: &mut Outcome,
    tallies: &[(&str, Vec<Tally>)],
    placed: &[(Algorithm, [usize; 2])],
) {
    let row = |(name, it): (&str, &Tally)| {
        let mut row = vec![name.to_owned(), it.query.clone()];
        row.extend([it.runs, it.correct, it.wrong, it.stuck].map(|it| it.to_string()));
        row.push(format!("{:.2}", it.sends));
        row
    };
    let all = || tallies.iter().flat_map(|(name, all)| all.iter().map(move |it| (*name, it)));
    outcome.tables.push(Table {
        title: "Simulated runs, 10 % of the packets lost and 5 % doubled".to_owned(),
        columns: vec!["runs with", "query", "runs", "right", "wrong", "stuck", "sends per row"],
        rows: all().map(row).collect(),
        provenance: Provenance::Counted,
    });
    let keyed = |it: Algorithm| it.entry().carries == PacketContents::KeyOfEither;
    outcome.tables.push(Table {
        title: format!("Stages on a long Tofino 1, for {WORKERS} workers"),
        columns: vec!["algorithm", "flows", "alone", "with the protocol"],
        rows: placed
            .iter()
            .map(|(it, [alone, protected])| {
                let flows = if keyed(*it) { 4 * WORKERS } else { WORKERS };
                let numbers = [alone.to_string(), protected.to_string()];
                [vec![it.name().to_owned(), flows.to_string()], numbers.to_vec()].concat()
            })
            .collect(),
        provenance: Provenance::Counted,
    });
    let bar = |(name, it): (&str, &Tally)| Bar {
        name: format!("{}, {name}", it.query),
        lengths: [it.correct, it.wrong, it.stuck]
            .map(|count| count as f64 / it.runs as f64)
            .to_vec(),
    };
    outcome.charts.push(Chart {
        title: "Runs of the protocol as the paper describes it".to_owned(),
        x: Axis::linear("share of the runs"),
        y: Axis::default(),
        marks: Marks::Bars {
            parts: ["right", "wrong", "stuck"].map(str::to_owned).to_vec(),
            bars: all().filter(|(name, _)| name.contains("paper")).map(bar).collect(),
            is_stacked: true,
        },
        provenance: Provenance::Counted,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_protocol_takes_stages_of_its_own() {
        let placed: Vec<[usize; 2]> = Algorithm::ALL.iter().filter_map(|it| stages(*it)).collect();
        assert!(placed.len() >= 10 && placed.iter().all(|[alone, protected]| alone < protected));
    }
}
