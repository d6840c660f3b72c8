//! `sluice switch run --workload bigdata`: runs the seven queries of the paper over generated tables.

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{Decimal128Type, Int32Type};
use serde_json::Value;
use sluicegate_pruning::algorithm::catalog::{Algorithm, Configured, Parameters};
use sluicegate_pruning::algorithm::join::{BUILD_A, PROBE_B};
use sluicegate_pruning::encoding::{fingerprint, halves, nonzero_bits};
use sluicegate_pruning::experiment::trial::{self, Run};
use sluicegate_pruning::switch::{Program, chain};
use sluicegate_workloads::bigdata::{Seed, Table};
use sluicegate_workloads::{DataTable, Share};

use super::run::{counted, header, notes};
use crate::args::switch::RunArgs;
use crate::failure::{Failure, Result};
use crate::output::listing::Listing;
use crate::output::progress::print_line;

const HEADER: [&str; 3] = ["query", "algorithm", "parameters"];
const NOTES: &str = "\
forwarded: entries that the switch lets through; optimum: those that a pruner without limits would let
through; share: of all entries. Counted at this scale; the paper's figures 10 and 11 are at scale 1, and their numbers were recalled, not
read (their text is lost). answer: over what was forwarded, against that over everything. Texts are
sent as fingerprints, revenue in millionths of a dollar (in cents, rounded up, for HAVING).
SKYLINE prunes less than the paper says: ranks here have a heavy tail, so the stored points are not
those of the longest durations. HAVING alone forwards every entry of a key that has crossed the
threshold; a DISTINCT behind it lets each key through once.
";
/// The largest scale factor whose streams fit in memory.
const MOST_SCALE: f64 = 2.0;
/// Threshold of a language's revenue in query 7, in cents, at scale 1.
const THRESHOLD_CENTS: f64 = 100_000_000.0;

/// The columns whose values cross the switch.
#[derive(Debug, Default)]
struct Columns {
    ranks: Vec<u32>,
    page_durations: Vec<u32>,
    pages: Vec<u32>,
    destinations: Vec<u32>,
    /// High and low halves of 64-bit fingerprints.
    agents: [Vec<u32>; 2],
    languages: Vec<u32>,
    /// Revenue in millionths of a dollar.
    revenues: Vec<u32>,
}

/// A row of the listing.
struct Case {
    query: &'static str,
    algorithm: Algorithm,
    given: Parameters,
    /// True if a DISTINCT of 4096 × 2 keys follows, which lets each key through once.
    then_distinct: bool,
    sizes: &'static str,
    paper: &'static str,
}

pub(super) fn run(args: &RunArgs) -> Result<()> {
    if args.parameters.parameters() != Parameters::default() {
        return Err(Failure::Usage("a workload's parameters are the paper's".to_owned()));
    }
    if !(Table::LEAST_SCALE..=MOST_SCALE).contains(&args.scale) {
        return Err(Failure::new(format!(
            "scale factor {} is not between {} and {MOST_SCALE}",
            args.scale,
            Table::LEAST_SCALE
        ))
        .with_hint("Scale 1 is the paper's sample and takes 2 GB of memory."));
    }
    print_line(&format!("generating the Big Data benchmark at scale {}", args.scale));
    let columns = Columns::generate(args.scale, Seed(args.seed))?;
    let mut header = header(&HEADER, args.check.is_some());
    header.push("the paper says");
    let mut listing = Listing::new(&header);
    for case in cases(args.scale) {
        let configured = case.algorithm.configure(&case.given)?;
        let (stream, key_words) = columns.stream(case.algorithm);
        let (keep, checked) = if case.then_distinct {
            (trial::through_program(then_distinct(&configured)?, &stream)?, None)
        } else {
            let keep = trial::through_fast_path(configured.pruner().as_mut(), &stream)?;
            let checked = args.check.map(|n| trial::check_first(&configured, &stream, n));
            (keep, checked.transpose()?)
        };
        let trial = trial::judge(configured.question().as_ref(), &stream, &keep, key_words);
        let mut line: Vec<Value> =
            vec![case.query.into(), case.algorithm.name().into(), case.sizes.into()];
        line.extend(counted(&trial));
        if args.check.is_some() {
            // Two chained algorithms have no fast path: the program itself ran, so 0 entries were compared.
            line.push(checked.unwrap_or(0).into());
        }
        line.push(case.paper.into());
        listing.push(line);
    }
    listing.print(args.format, &notes(NOTES, args.check.is_some()))
}

/// Chains HAVING and a DISTINCT of its keys.
fn then_distinct(having: &Configured) -> Result<Program> {
    let narrow = Parameters { key_bits: Some(32), ..Parameters::default() };
    let distinct = Algorithm::Distinct.configure(&narrow)?.program();
    Ok(chain("having_distinct", 2, (&having.program(), &[0, 1]), (&distinct, &[0])))
}

fn cases(scale: f64) -> Vec<Case> {
    let default = Parameters::default();
    let columns = |columns| Parameters { columns: Some(columns), ..default };
    let case = |query, algorithm, given, sizes, paper| Case {
        query,
        algorithm,
        given,
        then_distinct: false,
        sizes,
        paper,
    };
    let threshold = (THRESHOLD_CENTS * scale).clamp(1.0, f64::from(u32::MAX - 1)) as u32;
    let having =
        |counters| Parameters { threshold: Some(threshold), columns: Some(counters), ..default };
    let filter = |words| Parameters { rows: Some(words), ..default };
    vec![
        case("1 filter", Algorithm::Filter, default, "avgDuration < 10", ""),
        case("2 DISTINCT", Algorithm::Distinct, default, "w = 2, d = 4096", "all duplicates"),
        case("2 DISTINCT", Algorithm::Distinct, columns(1), "w = 1, d = 4096", "over 99 %"),
        case("2 DISTINCT", Algorithm::DistinctFifo, default, "w = 2, d = 4096", "over 99 %"),
        case("3 SKYLINE", Algorithm::SkylineSum, default, "w = 10", "over 99 % from w = 7 on"),
        case("3 SKYLINE", Algorithm::SkylineProduct, default, "w = 10", "over 99 %"),
        case("3 SKYLINE", Algorithm::SkylineProduct, columns(20), "w = 20", "all"),
        case("3 SKYLINE", Algorithm::SkylineBaseline, columns(20), "w = 20", "99 %"),
        case(
            "4 TOP 250",
            Algorithm::TopNRandomized,
            default,
            "w = 4, d = 4096",
            "99.995 %, about 5 × OPT",
        ),
        case("4 TOP 250", Algorithm::TopNDeterministic, default, "w = 4", ""),
        case("5 GROUP BY", Algorithm::GroupBy, default, "w = 8, d = 4096", "all at w = 9"),
        case("5 GROUP BY", Algorithm::GroupBy, columns(3), "w = 3, d = 4096", "99 %"),
        case(
            "6 JOIN",
            Algorithm::JoinBloom,
            default,
            "M = 3 MiB, H = 3",
            "near optimal from 16 MB on",
        ),
        case(
            "6 JOIN",
            Algorithm::JoinRegisterBloom,
            filter(1 << 19),
            "M = 4 MiB, H = 3",
            "as the Bloom filter",
        ),
        case("7 HAVING", Algorithm::Having, having(1024), "w = 1024, d = 3", "perfect"),
        case("7 HAVING", Algorithm::Having, having(512), "w = 512, d = 3", "near perfect"),
        Case {
            then_distinct: true,
            ..case("7 HAVING", Algorithm::Having, having(1024), "…, then DISTINCT", "perfect")
        },
    ]
}

impl Columns {
    fn generate(scale: f64, seed: Seed) -> Result<Self> {
        let mut columns = Self::default();
        for batch in Table::batches(Share::whole(Table::Rankings, scale, seed)) {
            columns.add_rankings(&batch?);
        }
        for batch in Table::batches(Share::whole(Table::Uservisits, scale, seed)) {
            columns.add_visits(&batch?);
        }
        Ok(columns)
    }

    fn add_rankings(&mut self, batch: &RecordBatch) {
        self.pages.extend(texts(batch, 0).map(narrow));
        self.ranks.extend(integers(batch, 1));
        self.page_durations.extend(integers(batch, 2));
    }

    fn add_visits(&mut self, batch: &RecordBatch) {
        self.destinations.extend(texts(batch, 1).map(narrow));
        let revenues = batch.column(3).as_primitive::<Decimal128Type>().values();
        // A DECIMAL(9, 6) without negative values fits in 32 bits.
        self.revenues.extend(revenues.iter().map(|value| *value as u32));
        for text in texts(batch, 4) {
            let [high, low] = halves(nonzero_bits(fingerprint(text.as_bytes(), 0), 64));
            self.agents[0].push(high);
            self.agents[1].push(low);
        }
        self.languages.extend(texts(batch, 6).map(narrow));
    }

    /// Returns the entries of the algorithm's query, and the number of words of their keys.
    fn stream(&self, algorithm: Algorithm) -> (Vec<Run>, usize) {
        let one = |columns: &[&Vec<u32>]| {
            vec![Run { flow: 0, columns: columns.iter().map(|c| (*c).clone()).collect() }]
        };
        let entry = algorithm.entry();
        match entry.query {
            "filter" => (one(&[&self.page_durations]), 0),
            "distinct" if entry.takes("key_bits") => (one(&[&self.agents[0], &self.agents[1]]), 2),
            "distinct" => (one(&[&self.agents[0]]), 1),
            "skyline" => (one(&[&self.ranks, &self.page_durations]), 0),
            "top-n" => (one(&[&self.revenues]), 0),
            "group-by" => (one(&[&self.agents[0], &self.revenues]), 1),
            "join" => {
                let run = |flow, keys: &Vec<u32>| Run { flow, columns: vec![keys.clone()] };
                (vec![run(BUILD_A, &self.pages), run(PROBE_B, &self.destinations)], 1)
            }
            _ => {
                let cents = self.revenues.iter().map(|micros| micros.div_ceil(10_000)).collect();
                (one(&[&self.languages, &cents]), 1)
            }
        }
    }
}

fn texts(batch: &RecordBatch, column: usize) -> impl Iterator<Item = &str> {
    let column = batch.column(column).as_string_view();
    (0..column.len()).map(|row| column.value(row))
}

fn integers(batch: &RecordBatch, column: usize) -> impl Iterator<Item = u32> {
    // No value is negative.
    batch.column(column).as_primitive::<Int32Type>().values().iter().map(|value| *value as u32)
}

/// Returns a fingerprint of 32 bits, not 0.
fn narrow(text: &str) -> u32 {
    nonzero_bits(fingerprint(text.as_bytes(), 0), 32) as u32
}
