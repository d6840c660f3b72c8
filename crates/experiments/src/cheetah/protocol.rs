//! Section 7.2: the protocol through links that lose packets and a switch that reboots.

use serde::Deserialize;
use sluicegate_costmodel::Provenance;
use sluicegate_pruning::algorithm::catalog::{Algorithm, PacketContents, Parameters};
use sluicegate_pruning::protocol::{Copies, Flow, reliable};
use sluicegate_pruning::switch::fit;

use super::table2::long_tofino;
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
/// The stages that the protocol takes in the paper.
const PUBLISHED_STAGES: usize = 2;
/// The queries whose state a reboot must not lose: §3 is refuted for them, and the rule leaves them out.
const NEED_STATE: [&str; 3] = ["join", "having", "group-sum"];

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
    let long = long_tofino();
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
    decide_stages(&mut outcome, &placed);
    let tallies: Vec<(&str, Vec<Tally>)> = ALL
        .into_iter()
        .map(|name| Ok((name, results.output(name)?)))
        .collect::<Result<_, ResultsError>>()?;
    decide_answers(&mut outcome, &tallies);
    add_tables(&mut outcome, &tallies, &placed);
    Ok(outcome)
}

fn decide_stages(outcome: &mut Outcome, placed: &[(Algorithm, [usize; 2])]) {
    let added = |[alone, protected]: &[usize; 2]| protected.saturating_sub(*alone);
    let most = placed.iter().map(|(_, it)| added(it)).max();
    let with = |stages: usize| placed.iter().filter(|(_, it)| added(it) == stages).count();
    let found = most.map_or_else(
        || "no program fits".to_owned(),
        |most| {
            let counts: Vec<String> = (0..=most)
                .filter(|stages| with(*stages) > 0)
                .map(|stages| format!("{stages} for {}", with(stages)))
                .collect();
            format!("more stages for {} programs: {}", placed.len(), counts.join(", "))
        },
    );
    let all = placed.len() == Algorithm::ALL.len();
    outcome.decide("C17", found, all && placed.iter().all(|(_, it)| added(it) == PUBLISHED_STAGES));
    let mut notes = Vec::new();
    let over: Vec<String> = placed
        .iter()
        .filter(|(_, it)| added(it) > PUBLISHED_STAGES)
        .map(|(it, _)| it.name().to_owned())
        .collect();
    if !over.is_empty() {
        notes.push(format!(
            "the protocol has three tables one after the other. Most programs share a stage with one of them, because \
             they hash before their first register. These do not: {}",
            over.join(", ")
        ));
    }
    let fits = |it: &Algorithm| placed.iter().any(|(placed, _)| placed == it);
    let left: Vec<&str> =
        Algorithm::ALL.iter().filter(|it| !fits(it)).map(|it| it.name()).collect();
    if !left.is_empty() {
        notes.push(format!("These have no placement with the protocol: {}", left.join(", ")));
    }
    if !notes.is_empty() {
        outcome.note(notes.join(". "));
    }
}

/// Decides by the protocol as the paper describes it. The repaired one is in the notes.
fn decide_answers(outcome: &mut Outcome, tallies: &[(&str, Vec<Tally>)]) {
    let sum = |name: &str, without: &[&str]| {
        let runs = tallies.iter().filter(|it| it.0 == name).flat_map(|it| &it.1);
        runs.filter(|it| !without.contains(&it.query.as_str())).fold([0; 4], |sums, it| {
            let [runs, correct, wrong, stuck] = sums;
            [runs + it.runs, correct + it.correct, wrong + it.wrong, stuck + it.stuck]
        })
    };
    let found = |[runs, correct, wrong, stuck]: [u64; 4]| {
        format!("{correct} of {runs} runs right, {wrong} wrong, {stuck} stuck")
    };
    let holds = |[runs, _, wrong, stuck]: [u64; 4]| runs > 0 && wrong == 0 && stuck == 0;

    let paper = sum(PAPER_LOSSES, &[]);
    outcome.decide("C48", found(paper), holds(paper));
    let right = tallies
        .iter()
        .filter(|it| it.0 == PAPER_LOSSES)
        .flat_map(|it| &it.1)
        .filter(|it| it.correct == it.runs)
        .map(|it| it.query.as_str());
    outcome.note(format!(
        "in the protocol of the paper's text, the master does not drop repeated packets, so queries that count rows get \
         another answer. Always right are {}. With the protocol that is repaired here, {}",
        right.collect::<Vec<_>>().join(", "),
        found(sum(LOSSES, &[])),
    ));
    let paper = sum(PAPER_REBOOTS, &NEED_STATE);
    outcome.decide("C49", found(paper), holds(paper));
    outcome.note(format!(
        "in the protocol of the paper's text, a switch that has forgotten the number of the last packet drops all \
         packets but the first, so workers retransmit without end. JOIN, HAVING and SUM are left out, because they need \
         the state. With the protocol that is repaired here, in which they begin again, {} (all queries)",
        found(sum(REBOOTS, &[])),
    ));
}

fn add_tables(
    outcome: &mut Outcome,
    tallies: &[(&str, Vec<Tally>)],
    placed: &[(Algorithm, [usize; 2])],
) {
    let row = |(name, it): (&str, &Tally)| {
        let mut row = vec![shown(name).to_owned(), it.query.clone()];
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
        title: format!("Stages on {}, for {WORKERS} workers", long_tofino().name),
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
    let bar = |it: &Tally| Bar {
        name: it.query.clone(),
        lengths: [it.correct, it.wrong, it.stuck]
            .map(|count| count as f64 / it.runs as f64)
            .to_vec(),
    };
    for (name, title) in [
        (PAPER_LOSSES, "Simulated runs with the protocol of the text, behind losses"),
        (PAPER_REBOOTS, "Simulated runs with the protocol of the text, behind losses and a reboot"),
    ] {
        let own = tallies.iter().filter(|it| it.0 == name).flat_map(|it| &it.1);
        outcome.charts.push(Chart {
            title: title.to_owned(),
            x: Axis::linear("share of the runs"),
            y: Axis::default(),
            marks: Marks::Bars {
                parts: ["right", "wrong", "stuck"].map(str::to_owned).to_vec(),
                bars: own.map(bar).collect(),
                is_stacked: true,
            },
            provenance: Provenance::Counted,
        });
    }
}

/// The name of a run in tables.
fn shown(name: &str) -> &str {
    match name {
        PAPER_LOSSES => "losses, protocol of the text",
        PAPER_REBOOTS => "losses and a reboot, protocol of the text",
        LOSSES => "losses, repaired protocol",
        REBOOTS => "losses and a reboot, repaired protocol",
        other => other,
    }
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
