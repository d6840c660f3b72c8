//! Figure 10e: JOIN by the size of its filter.

use super::bigdata::{file, join_scale, joined};
use super::sweep::{OPTIMUM, Point, Sweep, chart, of, percent, points, table};
use crate::chart::Axis;
use crate::experiment::Method;
use crate::{Experiment, Outcome, Results, ResultsError, Run, Setting};
use sluicegate_workloads::DataTable;
use sluicegate_workloads::bigdata::Table;

/// The figure. Filters are as much smaller than the paper's as the tables are.
pub const EXPERIMENT: Experiment = Experiment {
    id: "cheetah/fig10e",
    title: "What JOIN forwards, by the size of its filter",
    place: "Cheetah §8.3, Figure 10e",
    method: Method::Live { runs, evaluate },
};

const BLOOM: &str = "join-bloom";
const REGISTER: &str = "join-register-bloom";
const HASHES: f64 = 3.0;
const WORD_BITS: f64 = 64.0;
const MEBIBYTE: f64 = 8.0 * 1024.0 * 1024.0;
/// The size with which the paper's join is nearly optimal, in MiB.
const LARGE: f64 = 16.0;
/// The size below which the paper's join prunes little, in MiB.
const SMALL: f64 = 1.0;
/// The least share of the superfluous entries that a nearly optimal filter prunes.
const NEARLY: f64 = 0.99;
/// The greatest share of them that a filter which is too small prunes.
const POOR: f64 = 0.5;
/// The greatest difference of the shares of filters that are alike.
const ALIKE: f64 = 0.05;
/// The powers of two between the least and the greatest filter.
const POWERS: i32 = 7;

/// Returns the bits of a filter of [`LARGE`] at the scale of the tables, as a power of two.
fn large_bits(setting: &Setting) -> f64 {
    (LARGE * MEBIBYTE * join_scale(setting)).log2().floor().exp2()
}

/// Returns a sweep over the join of both tables.
pub(super) fn sweep<'a>(algorithms: &'a str, over: String, files: &'a [String; 2]) -> Sweep<'a> {
    let [pages, visits] = files;
    let probe = ["--probe", visits, "--probe-column", "desturl"];
    Sweep {
        algorithms,
        over: vec![over],
        input: pages,
        columns: "pageurl",
        more: probe.map(str::to_owned).to_vec(),
    }
}

/// The files of both tables.
pub(super) fn files(setting: &Setting) -> [String; 2] {
    [Table::Rankings, Table::Uservisits]
        .map(|table| file("bigdata-join", table, join_scale(setting), "parquet"))
}

fn runs(setting: &Setting) -> Vec<Run> {
    let (data, files) = (joined(setting), files(setting));
    let range = |cell_bits: f64| {
        let greatest = 2.0 * large_bits(setting) / cell_bits;
        format!("d={}..{}", greatest / 2.0_f64.powi(POWERS), greatest)
    };
    // An array of a Bloom filter has a quarter of the bits, so that three have less than all of them.
    vec![
        sweep(BLOOM, range(4.0), &files).run(BLOOM, &data),
        sweep(REGISTER, range(WORD_BITS), &files).run(REGISTER, &data),
    ]
}

/// Returns the size of a point's filter in MiB, for tables as large as the paper's.
fn mebibytes(point: &Point, setting: &Setting) -> f64 {
    let cell = if point.algorithm == BLOOM { HASHES } else { WORD_BITS };
    point.value * cell / MEBIBYTE / join_scale(setting)
}

fn evaluate(setting: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let all = points(results, &[BLOOM, REGISTER])?;
    // The share of the superfluous entries that the greatest filter up to a size prunes, with its size.
    let at = |algorithm: &str, size: f64| {
        let small = of(&all, algorithm).filter(|it| mebibytes(it, setting) <= size).last();
        small.map(|it| (it.pruned_duplicates(), mebibytes(it, setting)))
    };
    let pruned = |size: f64| [BLOOM, REGISTER].map(|it| at(it, size));
    let share = |it: Option<(f64, f64)>| it.map_or(f64::NAN, |it| it.0);
    let worded = |it: Option<(f64, f64)>| {
        it.map_or_else(|| "nothing".to_owned(), |(share, _)| percent(share))
    };
    let (large, small) = (pruned(LARGE), pruned(SMALL));
    let mut outcome = Outcome::default();
    let [bloom, register] = large.map(share);
    let found = format!(
        "16 MB prune {} and {} of the superfluous entries, 1 MB {} and {}",
        worded(large[0]),
        worded(large[1]),
        worded(small[0]),
        worded(small[1]),
    );
    let holds = bloom >= NEARLY
        && register >= NEARLY
        && (bloom - register).abs() <= ALIKE
        && small.iter().all(|it| share(*it) <= POOR);
    outcome.decide("C34", found, holds);
    let sized = |it: Option<(f64, f64)>| {
        it.map_or_else(|| "none".to_owned(), |(_, size)| format!("{size:.1} MiB"))
    };
    let over = |algorithm| of(&all, algorithm).filter(|it| mebibytes(it, setting) <= LARGE).last();
    let [bloom, register] =
        [BLOOM, REGISTER].map(|it| over(it).map_or(f64::NAN, Point::over_optimum));
    let keys = Table::Rankings.rows(1.0) as f64;
    let bits = |it: Option<(f64, f64)>| it.map_or(f64::NAN, |it| it.1 * MEBIBYTE / keys);
    outcome.note(format!(
        "superfluous entries have no match; the shares are of the Bloom filter and the register filter. All {} million \
         pages of the paper's size are keys here, so that the filters have {:.1} and {:.1} bits a key. How many keys \
         the paper's filter had is not published. Nine of ten visits find their page, so {} of all entries are needed: \
         both filters forward {bloom:.3} and {register:.3} times the optimum, and a switch without a filter forwards \
         {:.2} times the optimum. Filters shrink with the tables, and their sizes are powers of two. For tables of the \
         paper's size they are {} and {} for 16 MB, and {} and {} for 1 MB",
        keys / 1e6,
        bits(large[0]),
        bits(large[1]),
        percent(all.first().map_or(f64::NAN, |it| it.optimum)),
        all.first().map_or(f64::NAN, |it| 1.0 / it.optimum),
        sized(large[0]),
        sized(large[1]),
        sized(small[0]),
        sized(small[1]),
    ));
    let title = format!("Joins of {} of the paper's rows", percent(join_scale(setting)));
    outcome.tables.push(table(title, &all));
    let x = Axis::logarithmic("MiB of the filter, for tables of the paper's size");
    outcome.charts.push(chart(EXPERIMENT.title, x, &all, |it| mebibytes(it, setting)));
    outcome.remarks.push(OPTIMUM.to_owned());
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_shrink_with_the_tables() {
        for setting in [Setting::QUICK, Setting::FULL] {
            let runs = runs(&setting);
            let over = |run: &Run| run.arguments.iter().find(|it| it.starts_with("d=")).cloned();
            let range = over(&runs[1]).unwrap();
            let greatest: f64 = range.split("..").nth(1).unwrap().parse().unwrap();
            let size = greatest * WORD_BITS / MEBIBYTE / join_scale(&setting);
            assert!((LARGE..=2.0 * LARGE).contains(&size), "{range}: {size}");
        }
    }
}
