//! The theorems of §4, §5 and the appendices at the paper's examples.

use sluicegate_costmodel::Provenance;
use sluicegate_pruning::algorithm::catalog::{Algorithm, Parameters};
use sluicegate_pruning::switch::Program;
use sluicegate_pruning::theory::{Statement, distinct, line_rate, skyline, statements, top_n};

use crate::chart::{Axis, Line, Marks};
use crate::experiment::Method;
use crate::{Chart, Experiment, Outcome, Table};

/// All worked examples.
pub const EXPERIMENT: Experiment = Experiment {
    id: "cheetah/theory",
    title: "The theorems at the paper's examples",
    place: "Cheetah §4.2, §5, §7.1, appendices C to E",
    method: Method::Computed(compute),
};

const DELTA: f64 = 1e-4;

fn compute() -> Outcome {
    let mut outcome = Outcome::default();
    let duplicates = distinct::pruned_duplicates_bound(15_000, 1_000, 24).unwrap_or(0.0);
    let found = format!("{:.2} %", 100.0 * duplicates);
    outcome.decide("C06", found.clone(), found == "58.27 %");
    let widths = [600, 8_000, 200].map(|rows| top_n::paper_width(1_000, rows, DELTA).unwrap_or(0));
    outcome.decide("C07", widths.map(|it| it.to_string()).join(", "), widths == [16, 5, 288]);
    let shape = top_n::Shape { rows: 600, columns: 16 };
    let pruned = [8_000_000, 100_000_000].map(|entries| top_n::pruned_bound(entries, shape));
    let [few, many] = pruned.map(|it| 100.0 * it);
    let printed = [format!("{few:.0} %"), format!("{many:.1} %")];
    outcome.decide("C08", format!("{few:.2} %, {many:.2} %"), printed == ["99 %", "99.9 %"]);
    let best = top_n::paper_optimum(1_000, DELTA);
    let found = best.map_or_else(String::new, |it| format!("{} × {}", it.rows, it.columns));
    outcome.decide("C09", found.clone(), found == "481 × 19");
    let most = distinct::max_distinct(64, 1_000, DELTA);
    outcome.decide("C10", format!("{most} values"), most == 499_649_410);
    outcome.note(format!(
        "the paper's number is rounded: for 500,000,000 values the formula gives {} bits",
        distinct::fingerprint_bits_by_distinct(500_000_000, 1_000, DELTA)
    ));
    let gbit = line_rate::throughput(10e6, 64) / 1e9;
    let found = format!("{gbit:.2}");
    outcome.decide("C15", format!("{found} Gbit/s"), found == "5.12");
    let all = distinct::fingerprint_bits_all_distinct(500_000_000, DELTA);
    let saved = all - distinct::fingerprint_bits_real(500_000_000, 1_000, DELTA);
    let found = format!("{saved:.1} of {:.1} bits", 1_000_f64.log2());
    outcome.decide("C46", found, (saved - 1_000_f64.log2()).abs() <= 3.0);
    decide_logarithms(&mut outcome);

    let row = |it: Statement| {
        let exact = it.exact.unwrap_or_default();
        vec![it.theorem.to_owned(), it.inputs, it.value, it.paper.to_owned(), exact]
    };
    outcome.tables.push(Table {
        title: "Theorems and their examples".to_owned(),
        columns: vec!["theorem", "example", "formula gives", "published", "exact"],
        rows: statements().into_iter().map(row).collect(),
        provenance: Provenance::Counted,
    });
    outcome.charts.push(widths_by_rows());
    outcome
}

/// The logarithms and the rules that the paper gives each coordinate of 32 bits.
const LOGARITHMS: usize = 1 << 16;
const RULES: usize = 32;

/// Counts the entries of the tables of the APH program, for each coordinate.
fn decide_logarithms(outcome: &mut Outcome) {
    let configured = Algorithm::SkylineProduct.configure(&Parameters::default());
    let program = configured.map(|it| it.program()).ok();
    let tables = |name: &str| -> Vec<usize> {
        let tables = program.iter().flat_map(Program::tables);
        tables.filter(|(_, it)| it.name.starts_with(name)).map(|(_, it)| it.entries.len()).collect()
    };
    let (logarithms, rules) = (tables("logarithm"), tables("highest_bit"));
    let all = |counts: &[usize], each: usize| {
        !counts.is_empty() && counts.iter().all(|count| *count == each)
    };
    let first = |counts: &[usize]| counts.first().copied().unwrap_or(0);
    outcome.decide(
        "C47",
        format!(
            "{} logarithms and {} rules for each coordinate",
            first(&logarithms),
            first(&rules)
        ),
        all(&logarithms, LOGARITHMS) && all(&rules, RULES),
    );
    outcome.note(format!(
        "coordinates have 32 bits. The logarithm of 0 needs no entry, because fields are 0 without one; numbers below \
         2^16 need no rule, because they are looked up as they are. The logarithms have an error of {:.1e} at most",
        skyline::log_error(2_f64.powi(26), true)
    ));
}

/// Returns the columns that TOP 1000 needs for each number of rows, by the theorem and by the exact tail.
fn widths_by_rows() -> Chart {
    let rows = || (8..=13).map(|power| 1_u64 << power);
    let number = |columns: u64| columns as f64;
    let by_theorem = rows().filter_map(|rows| {
        let columns = top_n::paper_width(1_000, rows, DELTA)?;
        Some((number(rows), number(columns)))
    });
    let exact =
        rows().map(|rows| (number(rows), number(top_n::exact_width(1_000, rows, DELTA).max(1))));
    let published = [(600.0, 16.0), (8_000.0, 5.0), (481.0, 19.0)];
    Chart {
        title: "Columns of TOP 1000 by rows, for a failure in 10,000 queries".to_owned(),
        x: Axis::logarithmic("rows"),
        y: Axis::logarithmic("columns"),
        marks: Marks::Lines(vec![
            Line::new("theorem", by_theorem),
            Line::new("exact tail", exact),
            Line::published("published examples", published),
        ]),
        provenance: Provenance::Counted,
    }
}
