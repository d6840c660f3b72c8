//! Table 2: the resources of each algorithm, beside those of our programs.

use sluicegate_costmodel::Provenance;
use sluicegate_pruning::algorithm::catalog::{Algorithm, Parameters};
use sluicegate_pruning::experiment::table2::{Row, rows};
use sluicegate_pruning::switch::{Placement, Target};

use super::sweep::grouped;
use crate::chart::{Axis, Bar, Marks};
use crate::experiment::Method;
use crate::{Chart, Experiment, Outcome, Table};

/// Our programs on a Tofino that is long enough for all of them.
pub const EXPERIMENT: Experiment = Experiment {
    id: "cheetah/table2",
    title: "Stages, ALUs, memory and rules of each algorithm",
    place: "Cheetah §2.2, §7.1, Table 2",
    method: Method::Computed(compute),
};

/// The algorithms of the benchmark's seven queries.
const SEVEN: [Algorithm; 7] = [
    Algorithm::Filter,
    Algorithm::Distinct,
    Algorithm::SkylineSum,
    Algorithm::TopNRandomized,
    Algorithm::GroupBy,
    Algorithm::JoinBloom,
    Algorithm::Having,
];
/// The greatest number of metadata bits of a query, §A.2.1.
const METADATA: usize = 255;

fn compute() -> Outcome {
    let mut outcome = Outcome::default();
    decide_limits(&mut outcome);
    let long = long_tofino();
    let rows = rows(&long).unwrap_or_default();
    decide_rules(&mut outcome, &rows);
    let published: Vec<&Row> = rows.iter().filter(|row| row.paper.is_some()).collect();
    decide_resources(&mut outcome, &published);
    decide_metadata(&mut outcome);
    outcome.tables.push(Table {
        title: format!("Resources on {}, ours / published", long.name),
        columns: vec![
            "algorithm",
            "defaults",
            "stages",
            "ALUs",
            "SRAM, KiB",
            "TCAM entries",
            "rules",
            "metadata bits",
            "reason of differences",
        ],
        rows: rows.iter().map(cells).collect(),
        provenance: Provenance::Counted,
    });
    let stages = |row: &&Row| Bar {
        name: row.algorithm.name().to_owned(),
        lengths: vec![
            row.placed.as_ref().map_or(0.0, |it| it.stages.len() as f64),
            row.paper.as_ref().map_or(0.0, |it| it.stages as f64),
        ],
    };
    outcome.charts.push(Chart {
        title: "Stages of each algorithm at the paper's defaults".to_owned(),
        x: Axis::linear("stages"),
        y: Axis::default(),
        marks: Marks::Bars {
            parts: vec!["ours".to_owned(), "published".to_owned()],
            bars: published.iter().map(stages).collect(),
            is_stacked: false,
        },
        provenance: Provenance::Counted,
    });
    outcome
}

/// A Tofino that is long enough for all programs: neither SKYLINE nor JOIN fits one at the paper's defaults.
pub(super) fn long_tofino() -> Target {
    let tofino = Target::tofino1();
    Target {
        name: "a Tofino 1 with more stages and memory".into(),
        stages: 64,
        sram_blocks: 16 * tofino.sram_blocks,
        map_rams: 16 * tofino.map_rams,
        register_blocks: 16 * tofino.register_blocks,
        ..tofino
    }
}

/// The rows of Table 2 in the paper.
const ROWS: usize = 10;

/// The resources of a row.
const RESOURCES: [&str; 4] = ["stages", "ALUs", "bits of SRAM", "TCAM entries"];

/// Returns what our program and the paper's take of each of [`RESOURCES`]; `None` without a placement.
fn resources(row: &Row) -> Option<[[u64; 2]; RESOURCES.len()]> {
    let (Some(paper), Ok(ours)) = (&row.paper, &row.placed) else { return None };
    Some([
        [ours.stages.len() as u64, paper.stages],
        [ours.stateful_alus() as u64, paper.alus],
        [ours.register_bits, paper.sram_bits],
        [ours.ternary_entries as u64, paper.tcam_entries],
    ])
}

fn decide_resources(outcome: &mut Outcome, published: &[&Row]) {
    let all: Vec<_> = published.iter().filter_map(|row| resources(row)).collect();
    let is_alike = |it: &&[[u64; 2]; RESOURCES.len()]| it.iter().all(|[ours, paper]| ours == paper);
    let alike = all.iter().filter(is_alike).count();
    let found = format!("{alike} of {} programs take the same", published.len());
    outcome.decide("C13", found, alike == ROWS && published.len() == ROWS);
    // More, as many, and less of each resource.
    let rows = RESOURCES.iter().enumerate().map(|(at, name)| {
        let count =
            |of: fn(u64, u64) -> bool| all.iter().filter(|it| of(it[at][0], it[at][1])).count();
        let [more, same, less] = [count(|a, b| a > b), count(|a, b| a == b), count(|a, b| a < b)];
        format!("{name} in {more}, {same} and {less} rows")
    });
    outcome.note(format!(
        "the formulas are restored. Ours hash, compare and drop in stages of their own, which the formulas do not count. \
         They take more, as many and fewer {}. The table has the numbers and the reason of each row",
        rows.collect::<Vec<_>>().join("; ")
    ));
}

fn decide_limits(outcome: &mut Outcome) {
    let paper = Target::paper();
    let stages = paper.stages as u64;
    let bytes = paper.sram_blocks * paper.sram_block_bits * stages / 8;
    let entries = paper.tcam_blocks * paper.tcam_block_entries * stages;
    let found = format!(
        "{stages} stages, {} comparisons, {:.0} MB, {} TCAM entries",
        paper.stateful_alus,
        bytes as f64 / 1e6,
        grouped(entries)
    );
    let holds = (12..=60).contains(&stages)
        && paper.stateful_alus == 10
        && bytes <= 100_000_000
        && (100_000..=300_000).contains(&entries);
    outcome.decide("C03", found, holds);
    outcome.note(
        "the target paper is written down from the paper's text, so the numbers agree by construction: 60 stages and \
         300,000 entries are its upper ends. The bytes that a switch reads of a packet are no limit of the model",
    );
}

fn rules(placement: &Placement) -> usize {
    placement.exact_entries + placement.ternary_entries
}

fn decide_rules(outcome: &mut Outcome, rows: &[Row]) {
    let of = |algorithm: Algorithm| {
        let row = rows.iter().find(|row| row.algorithm == algorithm);
        row.and_then(|row| row.placed.as_ref().ok()).map(rules)
    };
    let all: Vec<usize> = SEVEN.iter().filter_map(|&it| of(it)).collect();
    let [least, most] = [all.iter().min(), all.iter().max()].map(|it| it.copied().unwrap_or(0));
    let sum = all.iter().sum::<usize>();
    let holds =
        all.len() == SEVEN.len() && all.iter().all(|it| (10..=20).contains(it)) && sum < 100;
    outcome.decide("C04", format!("{least} to {most} rules a query, {sum} in all"), holds);
    let each: Vec<String> =
        SEVEN.iter().filter_map(|&it| Some(format!("{} {}", it.name(), of(it)?))).collect();
    let [sum, product] =
        [Algorithm::SkylineSum, Algorithm::SkylineProduct].map(|it| of(it).unwrap_or(0));
    outcome.note(format!(
        "each takes {}. SKYLINE of 10 points has {sum}, an entry for each outcome of a point. By APH it has {}, most of which are its \
         constant table of logarithms. The time to install rules can only be measured with a switch",
        each.join(", "),
        grouped(product as u64)
    ));
}

fn metadata(algorithm: Algorithm) -> usize {
    algorithm.configure(&Parameters::default()).map_or(0, |it| it.program().metadata_bits())
}

fn decide_metadata(outcome: &mut Outcome) {
    let bits = Algorithm::ALL.iter().map(|&it| (it.name(), metadata(it)));
    let over: Vec<String> = bits
        .filter(|(_, bits)| *bits > METADATA)
        .map(|(name, bits)| format!("{bits} of {name}"))
        .collect();
    let most = Algorithm::ALL.iter().map(|&it| metadata(it)).max().unwrap_or(0);
    outcome.decide("C14", format!("at most {most} bits"), over.is_empty());
    outcome.note(match over.as_slice() {
        [] => "the number is restored".to_owned(),
        over => format!(
            "the number is restored. Above it are {}. APH keeps the leading bit and the logarithm of each coordinate in \
             fields of their own, and TOP N every doubled cutoff",
            over.join(" and ")
        ),
    });
}

fn cells(row: &Row) -> Vec<String> {
    let pair = |ours: Option<u64>, paper: Option<u64>| {
        let [ours, paper] =
            [ours, paper].map(|it| it.map_or_else(|| "-".to_owned(), |it| it.to_string()));
        format!("{ours} / {paper}")
    };
    let (ours, paper) = (row.placed.as_ref().ok(), row.paper.as_ref());
    let kibibytes = |bits: u64| bits.div_ceil(8 * 1024);
    vec![
        row.algorithm.name().to_owned(),
        row.defaults.to_owned(),
        pair(ours.map(|it| it.stages.len() as u64), paper.map(|it| it.stages)),
        pair(ours.map(|it| it.stateful_alus() as u64), paper.map(|it| it.alus)),
        pair(ours.map(|it| kibibytes(it.register_bits)), paper.map(|it| kibibytes(it.sram_bits))),
        pair(ours.map(|it| it.ternary_entries as u64), paper.map(|it| it.tcam_entries)),
        ours.map_or_else(String::new, |it| rules(it).to_string()),
        metadata(row.algorithm).to_string(),
        row.reason.to_owned(),
    ]
}
