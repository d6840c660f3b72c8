//! TOP N on a matrix of d random rows that keep their w largest entries.
//!
//! * **Width** (section 5 theorem 1). With w = ⌊1.3·ln(d/δ) / ln((d/(N·e))·ln(d/δ))⌋ columns, no row
//!   gets more than w of the N largest entries, and so none of them is pruned, with probability at
//!   least 1 - δ.
//! * **Pruning** (theorem 2). Of m entries in random order at most w·d·ln(m·e/(w·d)) are forwarded
//!   in expectation.
//! * **Best shape**. The fewest cells w·d, and so the least space and most pruning, are at d = δ·e^W(N·e²/δ), where
//!   W is Lambert's function.
//!
//! The width has a constant, 1.3, that Chernoff's bound does not give for every d ([`width_constant`]). It holds in
//! all cases that were tried, but is far from tight: [`exact_width`] uses the binomial tail itself and needs 12
//! columns instead of 16 (N = 1000, d = 600, δ = 0.01 %), 13 instead of 19 (d = 481), 19 instead of 288 (d = 200).

use std::f64::consts::E;

use super::lambert_w;
use super::loads::{ln_overload, max_load_exact};
use super::tail::harmonic;

/// A shape of the matrix: `rows` d and `columns` w, cells of one value each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Shape {
    /// The number of rows d; entries choose one at random.
    pub rows: u64,
    /// The number of columns w: the largest entries kept per row.
    pub columns: u64,
}

impl Shape {
    /// Returns the number of cells w·d.
    pub const fn cells(self) -> u64 {
        self.rows * self.columns
    }
}

/// Returns the width of theorem 1 before rounding: 1.3·ln(d/δ) / ln((d/(N·e))·ln(d/δ)). `None` if d·ln(d/δ) ≤ N·e,
/// where the formula has no meaning.
///
/// # Example
/// ```
/// use sluicegate_pruning::theory::top_n;
/// let real = |rows| format!("{:.2}", top_n::paper_width_real(1000, rows, 1e-4).unwrap());
/// assert_eq!(real(600), "16.40");
/// assert_eq!(real(8000), "5.94");
/// assert_eq!(real(200), "288.81");
/// ```
pub fn paper_width_real(n: u64, rows: u64, delta: f64) -> Option<f64> {
    let d = rows as f64;
    let log = (d / delta).ln();
    let spread = d / (n as f64 * E) * log;
    (spread > 1.0).then(|| 1.3 * log / spread.ln())
}

/// Returns the columns w of theorem 1 for the `n` largest entries, `rows` d and failure probability `delta`.
///
/// # Example
/// TOP 1000 with probability 99.99 %, and the default of table 2, TOP 250 with 4096 rows.
/// ```
/// use sluicegate_pruning::theory::top_n;
/// assert_eq!(top_n::paper_width(1000, 600, 1e-4), Some(16));
/// assert_eq!(top_n::paper_width(1000, 8000, 1e-4), Some(5));
/// assert_eq!(top_n::paper_width(1000, 200, 1e-4), Some(288));
/// assert_eq!(top_n::paper_width(1000, 481, 1e-4), Some(19));
/// assert_eq!(top_n::paper_width(250, 4096, 1e-4), Some(4));
/// assert_eq!(top_n::paper_width(1000, 150, 1e-4), None);
/// ```
pub fn paper_width(n: u64, rows: u64, delta: f64) -> Option<u64> {
    paper_width_real(n, rows, delta).map(|width| width as u64)
}

/// Returns the number of rows from which the theorem's precondition holds, d ≥ N·e/ln(1/δ). The formula gives
/// sufficient widths somewhat below it, too.
///
/// # Example
/// ```
/// use sluicegate_pruning::theory::top_n;
/// assert_eq!(format!("{:.1}", top_n::paper_min_rows(1000, 1e-4)), "295.1");
/// ```
pub fn paper_min_rows(n: u64, delta: f64) -> f64 {
    n as f64 * E / (1.0 / delta).ln()
}

/// Returns the fewest columns w such that d·P[Bin(N, 1/d) > w] ≤ δ. They are sufficient by the union bound over rows,
/// which is the only slack.
///
/// # Example
/// ```
/// use sluicegate_pruning::theory::top_n;
/// assert_eq!(top_n::exact_width(1000, 600, 1e-4), 12);
/// assert_eq!(top_n::exact_width(1000, 481, 1e-4), 13);
/// assert_eq!(top_n::exact_width(1000, 200, 1e-4), 19);
/// assert_eq!(top_n::exact_width(1000, 8000, 1e-4), 5);
/// assert_eq!(top_n::exact_width(250, 4096, 1e-4), 4);
/// ```
pub fn exact_width(n: u64, rows: u64, delta: f64) -> u64 {
    max_load_exact(n, rows, delta)
}

/// Returns an upper bound on the probability that one of the `n` largest entries is pruned: d·P[Bin(N, 1/d) > w].
///
/// # Example
/// ```
/// use sluicegate_pruning::theory::top_n::{Shape, failure};
/// assert!(failure(1000, Shape { rows: 600, columns: 12 }) <= 1e-4);
/// assert!(failure(1000, Shape { rows: 600, columns: 11 }) > 1e-4);
/// assert!(failure(1000, Shape { rows: 600, columns: 16 }) < 1e-7);
/// ```
pub fn failure(n: u64, shape: Shape) -> f64 {
    ln_overload(n, shape.rows, shape.columns).exp().min(1.0)
}

/// Returns theorem 2's lower bound on the fraction of `entries` (m) that is pruned, in expectation and in random
/// order: 1 - (w·d/m)·ln(m·e/(w·d)), and 0 while everything still fits the matrix.
///
/// # Example
/// 600 rows and 16 columns: 99 % of 8 million entries, 99.9 % of 100 million.
/// ```
/// use sluicegate_pruning::theory::top_n::{Shape, pruned_bound};
/// let shape = Shape { rows: 600, columns: 16 };
/// assert_eq!(format!("{:.4}", pruned_bound(8_000_000, shape)), "0.9907");
/// assert_eq!(format!("{:.4}", pruned_bound(100_000_000, shape)), "0.9990");
/// // At a million entries it forwards 5.42 %; 5.37 % were measured.
/// assert_eq!(format!("{:.4}", 1.0 - pruned_bound(1_000_000, shape)), "0.0542");
/// ```
pub fn pruned_bound(entries: u64, shape: Shape) -> f64 {
    let (m, cells) = (entries as f64, shape.cells() as f64);
    if m <= cells { 0.0 } else { 1.0 - cells / m * (m * E / cells).ln() }
}

/// Returns the fraction of `entries` that is pruned in expectation and in random order, with the harmonic numbers
/// that theorem 2 bounds by logarithms: the i-th entry of a row is forwarded with probability min(w/i, 1).
///
/// # Example
/// ```
/// use sluicegate_pruning::theory::top_n::{Shape, expected_pruned};
/// let forwarded = 1.0 - expected_pruned(1_000_000, Shape { rows: 600, columns: 16 });
/// assert_eq!(format!("{forwarded:.4}"), "0.0539");
/// ```
pub fn expected_pruned(entries: u64, shape: Shape) -> f64 {
    let (m, w) = (entries as f64, shape.columns as f64);
    let load = m / shape.rows as f64;
    if load <= w {
        0.0
    } else {
        1.0 - shape.cells() as f64 / m * (1.0 + harmonic(load) - harmonic(w))
    }
}

/// Returns the fraction of `entries` that a switch without limits prunes, in expectation and in random order: all but
/// those among the `n` largest so far, N·(1 + H_m - H_N) entries.
///
/// # Example
/// The 600 × 16 matrix forwards 6.8 times as much.
/// ```
/// use sluicegate_pruning::theory::top_n::{Shape, optimal_pruned, pruned_bound};
/// let optimal = 1.0 - optimal_pruned(1_000_000, 1000);
/// let matrix = 1.0 - pruned_bound(1_000_000, Shape { rows: 600, columns: 16 });
/// assert_eq!(format!("{:.1}", matrix / optimal), "6.9");
/// assert_eq!(format!("{:.1}", 0.0537 / optimal), "6.8");
/// ```
pub fn optimal_pruned(entries: u64, n: u64) -> f64 {
    let (m, n) = (entries as f64, n as f64);
    if m <= n { 0.0 } else { 1.0 - n / m * (1.0 + harmonic(m) - harmonic(n)) }
}

/// Returns the continuous optimum of the width formula: (d, w) with d = δ·e^W(N·e²/δ) and w = 1.3·ln(d/δ), the fewest
/// cells of any d when w is not rounded.
///
/// # Example
/// ```
/// use sluicegate_pruning::theory::top_n;
/// let (rows, columns) = top_n::continuous_optimum(1000, 1e-4);
/// assert_eq!(format!("{rows:.2} {columns:.1}"), "480.29 20.0");
/// ```
pub fn continuous_optimum(n: u64, delta: f64) -> (f64, f64) {
    // e^W(x) = x / W(x), which does not overflow.
    let argument = n as f64 * E * E / delta;
    let rows = delta * argument / lambert_w(argument);
    (rows, 1.3 * (rows / delta).ln())
}

/// Returns the paper's integral optimum: the first whole d at or above the continuous one, with its rounded width.
///
/// # Example
/// d = 481 and w = 19: 9139 cells, instead of 9600 at d = 600.
/// ```
/// use sluicegate_pruning::theory::top_n::{Shape, paper_optimum};
/// assert_eq!(paper_optimum(1000, 1e-4), Some(Shape { rows: 481, columns: 19 }));
/// assert_eq!(paper_optimum(1000, 1e-4).unwrap().cells(), 9139);
/// assert_eq!(Shape { rows: 600, columns: 16 }.cells(), 9600);
/// ```
pub fn paper_optimum(n: u64, delta: f64) -> Option<Shape> {
    let rows = continuous_optimum(n, delta).0.ceil() as u64;
    paper_width(n, rows, delta).map(|columns| Shape { rows, columns })
}

/// Returns the shape with the fewest cells, by the exact tail, with at most `max_rows` rows and `max_columns`
/// columns. `None` when no such shape keeps the failure probability `delta`.
///
/// # Example
/// About half of the paper's 9139 cells; or more cells in only eight columns.
/// ```
/// use sluicegate_pruning::theory::top_n;
/// let best = top_n::exact_optimum(1000, 1e-4, 100_000, 24).unwrap();
/// assert!(best.cells() < 5000, "{best:?}");
/// let short = top_n::exact_optimum(1000, 1e-4, 100_000, 8);
/// assert_eq!(short, Some(top_n::Shape { rows: 1392, columns: 8 }));
/// ```
pub fn exact_optimum(n: u64, delta: f64, max_rows: u64, max_columns: u64) -> Option<Shape> {
    (1..=max_columns.min(n))
        .filter_map(|columns| {
            fewest_rows(n, delta, max_rows, columns).map(|rows| Shape { rows, columns })
        })
        .min_by_key(|shape| shape.cells())
}

/// Returns the fewest rows at which `columns` suffice.
fn fewest_rows(n: u64, delta: f64, max_rows: u64, columns: u64) -> Option<u64> {
    let enough = |rows: u64| ln_overload(n, rows, columns) <= delta.ln();
    if !enough(max_rows) {
        return None;
    }
    let (mut low, mut high) = (1, max_rows);
    while low < high {
        let middle = low + (high - low) / 2;
        if enough(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Some(low)
}

/// Returns the constant that would replace 1.3 in the width if only Chernoff's bound were used, at z =
/// (d/(N·e))·ln(d/δ): ln z / (ln z - ln ln z + ln c) for the least such c. It is at most 1 + 1/e.
///
/// # Example
/// 1.3 is not enough for z between about 8.3 and 2251, 1 + 1/e always is.
/// ```
/// use sluicegate_pruning::theory::top_n::width_constant;
/// assert!(width_constant(8.2) < 1.3 && width_constant(8.4) > 1.3);
/// assert!(width_constant(2200.0) > 1.3 && width_constant(2300.0) < 1.3);
/// let worst = (1..4000).map(|i| width_constant(1.0 + 0.01 * f64::from(i))).fold(0.0, f64::max);
/// assert!(worst <= 1.0 + 1.0 / std::f64::consts::E && worst > 1.3678);
/// ```
pub fn width_constant(z: f64) -> f64 {
    let log = z.ln();
    // The bound holds when c·(ln z + ln c - ln ln z) ≥ ln z; the left side grows with c from c = ln
    // z / (z·e) on.
    let (mut low, mut high) = (log / (z * E), 4.0);
    for _ in 0..80 {
        let middle = 0.5 * (low + high);
        if middle * (log + middle.ln() - log.ln()) >= log {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn paper_width_is_sufficient_and_exact_width_never_wider() {
        let mut cases = 0;
        for n in [10, 50, 100, 250, 1000, 5000, 20_000] {
            for rows in [16, 64, 200, 481, 600, 1024, 4096, 8000, 16_384, 65_536] {
                for delta in [0.1, 1e-2, 1e-4, 1e-6, 1e-9] {
                    let Some(columns) = paper_width(n, rows, delta).filter(|&w| w < n) else {
                        continue;
                    };
                    let failure = failure(n, Shape { rows, columns });
                    assert!(
                        failure <= delta,
                        "N = {n}, d = {rows}, delta = {delta}: w = {columns} fails {failure}"
                    );
                    assert!(exact_width(n, rows, delta) <= columns);
                    cases += 1;
                }
            }
        }
        assert!(cases >= 200, "{cases}");
    }

    #[test]
    fn exact_width_is_the_smallest() {
        for (n, rows) in [(1000, 600), (1000, 481), (1000, 200), (250, 4096), (10, 3)] {
            let columns = exact_width(n, rows, 1e-4);
            assert!(failure(n, Shape { rows, columns }) <= 1e-4);
            assert!(failure(n, Shape { rows, columns: columns - 1 }) > 1e-4);
        }
        assert_eq!(exact_width(10, 1, 1e-4), 10, "one row must hold them all");
    }

    /// Returns whether a row was lost, and the number of forwarded entries, of the randomized TOP N on a random
    /// permutation.
    fn simulate(n: u64, shape: Shape, entries: u64, seed: u64) -> (bool, u64) {
        let mut rng = Rng::new(seed);
        let mut values: Vec<u64> = (0..entries).collect();
        rng.shuffle(&mut values);
        let mut matrix = vec![Vec::<u64>::new(); shape.rows as usize];
        let (mut failed, mut forwarded) = (false, 0);
        for value in values {
            let row = &mut matrix[rng.below(shape.rows) as usize];
            let rank = row.iter().take_while(|&&kept| kept > value).count();
            if rank < shape.columns as usize {
                row.insert(rank, value);
                row.truncate(shape.columns as usize);
                forwarded += 1;
            } else {
                failed |= value >= entries - n;
            }
        }
        (failed, forwarded)
    }

    #[test]
    fn failures_and_pruning_are_as_predicted() {
        let (n, shape, entries, runs) = (40, Shape { rows: 16, columns: 6 }, 4000, 300);
        let (mut failures, mut forwarded) = (0, 0);
        for seed in 0..runs {
            let (failed, sent) = simulate(n, shape, entries, seed);
            failures += u64::from(failed);
            forwarded += sent;
        }
        assert!(crate::theory::confidence::is_consistent(failures, runs, failure(n, shape), 0.999));
        assert!(failures > 0, "the bound {} is not tested", failure(n, shape));
        let pruned = 1.0 - forwarded as f64 / (runs * entries) as f64;
        assert!((pruned - expected_pruned(entries, shape)).abs() < 0.002, "{pruned}");
        assert!(
            pruned >= pruned_bound(entries, shape) - 0.002 && pruned <= optimal_pruned(entries, n)
        );
    }

    #[test]
    fn optimum_has_the_fewest_cells() {
        let best = exact_optimum(1000, 1e-4, 4000, 40).unwrap();
        for rows in (20..4000).step_by(7) {
            let columns = exact_width(1000, rows, 1e-4);
            assert!(
                columns > 40 || Shape { rows, columns }.cells() >= best.cells(),
                "{rows} x {columns}"
            );
        }
        assert_eq!(exact_optimum(1000, 1e-4, 100, 3), None);
    }

    #[test]
    fn paper_optimum_is_next_to_the_true_one() {
        // Rounding w down favours shapes just before the next whole width.
        let best = (100..2000)
            .filter_map(|rows| paper_width(1000, rows, 1e-4).map(|w| w * rows))
            .min()
            .unwrap();
        let paper = paper_optimum(1000, 1e-4).unwrap().cells();
        assert!(best <= paper && paper as f64 <= 1.02 * best as f64, "{best} {paper}");
    }
}
