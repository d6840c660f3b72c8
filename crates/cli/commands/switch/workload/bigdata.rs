//! `sluice switch run --workload bigdata`: runs the seven queries of the paper over generated tables, and the
//! benchmark's queries A, B and A+B.

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{Decimal128Type, Int32Type};
use sluicegate_pruning::algorithm::catalog::{Algorithm, Parameters};
use sluicegate_pruning::algorithm::join::{BUILD_A, PROBE_B};
use sluicegate_pruning::encoding::{fingerprint, halves, nonzero_bits};
use sluicegate_pruning::experiment::route::Route;
use sluicegate_pruning::experiment::trial::Run;
use sluicegate_pruning::switch::Relation;
use sluicegate_pruning::theory::top_n::{self, Shape};
use sluicegate_workloads::bigdata::{Seed, Table};
use sluicegate_workloads::{DataTable, Share};

use super::{Case, PackedQuery, Results, check_scale, narrow};
use crate::args::switch::RunArgs;
use crate::failure::Result;
use crate::output::progress::print_line;

const NOTES: &str = "\
forwarded: entries that the switch lets through, and sums that are read out of it; optimum: entries that a pruner
without limits would let through; share: of all entries. Counted at this scale; the paper's figures 10 and 11 are at
scale 1, and their numbers were recalled, not read (their text is lost). answer: over what was forwarded, against that
over everything. Texts are sent as fingerprints, revenue in millionths of a dollar (in cents, rounded up, for HAVING).
SKYLINE prunes less than the paper says: ranks here have a heavy tail, so the stored points are not those of the
longest durations. HAVING alone forwards every entry of a key that has crossed the threshold; a DISTINCT behind it
lets each key through once. A and B are the benchmark's scan and aggregation; a packed program serves either, whichever
comes, and its counts are those of its queries.
";
/// The rank that pages of query A exceed.
const LEAST_RANK: u32 = 100;
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
    /// The first 5 and the first 7 characters of addresses.
    prefixes: [Vec<u32>; 2],
    /// Revenue in millionths of a dollar.
    revenues: Vec<u32>,
}

pub(super) fn run(args: &RunArgs) -> Result<()> {
    check_scale(args.scale, Table::LEAST_SCALE)?;
    print_line(&format!("generating the Big Data benchmark at scale {}", args.scale));
    let columns = Columns::generate(args.scale, Seed(args.seed))?;
    let mut results = Results::new(args.check);
    for case in cases(args.scale, columns.revenues.len() as u64) {
        let (stream, key_words) = columns.stream(case.algorithm);
        results.add(&case, &stream, key_words)?;
    }
    a_and_b(&columns, &mut results)?;
    results.print(args, NOTES)
}

/// Adds the benchmark's queries A, B and A+B, which the paper runs in one switch.
fn a_and_b(columns: &Columns, results: &mut Results) -> Result<()> {
    let default = Parameters::default();
    let above = Parameters { relation: Some(Relation::Gt), threshold: Some(LEAST_RANK), ..default };
    let one = |columns: &[&Vec<u32>]| {
        [Run { flow: 0, columns: columns.iter().map(|column| (*column).clone()).collect() }]
    };
    let a = Case::new("A filter", Algorithm::Filter, above, "pageRank > 100");
    let b = Case::new(
        "B GROUP BY SUM",
        Algorithm::GroupSum,
        default,
        "w = 4, d = 4096, 5 characters of sourceIP",
    );
    let b = b.paper("offloaded (no number)");
    let many = "w = 4, d = 4096, 7 characters of sourceIP";
    let many = Case::new("B GROUP BY SUM", Algorithm::GroupSum, default, many);
    let [few, wide] = &columns.prefixes;
    let streams = [one(&[&columns.ranks]), one(&[few, &columns.revenues])];
    let measured = [results.add(&a, &streams[0], 0)?, results.add(&b, &streams[1], 1)?];
    results.add(&many, &one(&[wide, &columns.revenues]), 1)?;
    let configured = [a.algorithm.configure(&a.given)?, b.algorithm.configure(&b.given)?];
    let query = |n: usize| PackedQuery {
        configured: &configured[n],
        stream: &streams[n],
        measured: &measured[n],
    };
    let case = |query| Case::new(query, Algorithm::GroupSum, default, "w = 4, d = 4096");
    results.packed(&case("B, packed alone"), &[query(1)])?;
    let both = case("A+B, packed").paper("one ALU and 32 bits more than B");
    results.packed(&both, &[query(0), query(1)])
}

/// Returns the seven queries, over tables with this number of visits.
fn cases(scale: f64, visits: u64) -> Vec<Case> {
    let default = Parameters::default();
    let columns = |columns| Parameters { columns: Some(columns), ..default };
    let threshold = (THRESHOLD_CENTS * scale).clamp(1.0, f64::from(u32::MAX - 1)) as u32;
    let having =
        |counters| Parameters { threshold: Some(threshold), columns: Some(counters), ..default };
    let filter = |words| Parameters { rows: Some(words), ..default };
    let case = Case::new;
    let matrix = Shape { rows: 4096, columns: 4 };
    let percent = |entries| 100.0 * top_n::pruned_bound(entries, matrix);
    let at_least = format!(
        "99.995 %, about 5 × OPT; theorem 2, which is nearly tight, has {:.2} % for this matrix and {visits} rows, \
         {:.2} % at scale 1",
        percent(visits),
        percent(Table::Uservisits.rows(1.0)),
    );
    vec![
        case("1 filter", Algorithm::Filter, default, "avgDuration < 10"),
        case("2 DISTINCT", Algorithm::Distinct, default, "w = 2, d = 4096").paper("all duplicates"),
        case("2 DISTINCT", Algorithm::Distinct, columns(1), "w = 1, d = 4096").paper("over 99 %"),
        case("2 DISTINCT", Algorithm::DistinctFifo, default, "w = 2, d = 4096").paper("over 99 %"),
        case("3 SKYLINE", Algorithm::SkylineSum, default, "w = 10")
            .paper("over 99 % from w = 7 on"),
        case("3 SKYLINE", Algorithm::SkylineProduct, default, "w = 10").paper("over 99 %"),
        case("3 SKYLINE", Algorithm::SkylineProduct, columns(20), "w = 20").paper("all"),
        case("3 SKYLINE", Algorithm::SkylineBaseline, columns(20), "w = 20").paper("99 %"),
        case("4 TOP 250", Algorithm::TopNRandomized, default, "w = 4, d = 4096").paper(at_least),
        case("4 TOP 250", Algorithm::TopNDeterministic, default, "w = 4"),
        case("5 GROUP BY", Algorithm::GroupBy, default, "w = 8, d = 4096").paper("all at w = 9"),
        case("5 GROUP BY", Algorithm::GroupBy, columns(3), "w = 3, d = 4096").paper("99 %"),
        case("6 JOIN", Algorithm::JoinBloom, default, "M = 3 MiB, H = 3")
            .paper("near optimal from 16 MB on"),
        case("6 JOIN", Algorithm::JoinRegisterBloom, filter(1 << 19), "M = 4 MiB, H = 3")
            .paper("as the Bloom filter"),
        case("7 HAVING", Algorithm::Having, having(1024), "w = 1024, d = 3").paper("perfect"),
        case("7 HAVING", Algorithm::Having, having(512), "w = 512, d = 3").paper("near perfect"),
        Case {
            route: Route { then_distinct: true, ..Route::default() },
            ..case("7 HAVING", Algorithm::Having, having(1024), "w = 1024, d = 3, then DISTINCT")
        }
        .paper("perfect"),
        case(
            "7 HAVING <",
            Algorithm::HavingBelow,
            Parameters { threshold: Some(threshold), ..default },
            "w = 4, d = 4096",
        )
        .paper("left to future work"),
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
        for (prefixes, length) in self.prefixes.iter_mut().zip([5, 7]) {
            let prefix = |text: &str| narrow(text.get(..length).unwrap_or(text));
            prefixes.extend(texts(batch, 0).map(prefix));
        }
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
