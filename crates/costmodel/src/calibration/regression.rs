//! Linear regression of times, with intervals of the coefficients.

use super::nnls::Normal;

/// A coefficient with the interval that holds the true one with a probability of 95 %, if times scatter independently
/// around the model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Estimate {
    /// The most likely coefficient, 0 or more.
    pub(super) value: f64,
    /// The lower bound, 0 or more.
    pub(super) low: f64,
    /// The upper bound, at least `low`; infinite if there are too few times to determine it.
    pub(super) high: f64,
}

/// Equations between measured times and sums of known amounts times unknown coefficients.
#[derive(Debug, Clone)]
pub(super) struct Equations {
    unknowns: usize,
    rows: Vec<Vec<f64>>,
    values: Vec<f64>,
}

/// The quantiles of Student's distribution that leave 2.5 % on either side, for 1, 2, … degrees of
/// freedom.
const STUDENT: [f64; 10] = [12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23];

impl Equations {
    /// Creates an empty set of equations with this number of unknown coefficients.
    pub(super) fn new(unknowns: usize) -> Self {
        Self { unknowns, rows: Vec::new(), values: Vec::new() }
    }

    /// Adds an equation: `amounts` times the coefficients should be `seconds`.
    ///
    /// `measured` is the measured time that `seconds` was computed from. Errors count relative to it, because long
    /// times scatter more than short ones.
    pub(super) fn push(&mut self, amounts: &[f64], seconds: f64, measured: f64) {
        let usable = measured > 0.0 && measured.is_finite() && seconds.is_finite();
        if usable && amounts.iter().all(|amount| amount.is_finite()) {
            self.rows.push(amounts.iter().map(|amount| amount / measured).collect());
            self.values.push(seconds / measured);
        }
    }

    /// The coefficients that fit best; `None` for those that the equations do not determine.
    pub(super) fn solve(&self) -> Vec<Option<Estimate>> {
        if self.rows.is_empty() {
            return vec![None; self.unknowns];
        }
        let normal = Normal::from_rows(&self.rows, &self.values);
        let values = normal.solve();
        let free: Vec<usize> = (0..self.unknowns).filter(|at| values[*at] > 0.0).collect();
        let residual = |(row, value): (&Vec<f64>, &f64)| {
            value - row.iter().zip(&values).map(|(a, x)| a * x).sum::<f64>()
        };
        let squares: f64 = self.rows.iter().zip(&self.values).map(|it| residual(it).powi(2)).sum();
        let freedom = self.rows.len().saturating_sub(free.len());
        let estimate = |at: usize| {
            let value = values[at];
            let variance = normal.variance(at, &free)?;
            if freedom == 0 {
                return Some(Estimate { value, low: 0.0, high: f64::INFINITY });
            }
            let quantile = STUDENT.get(freedom - 1).copied().unwrap_or(2.0);
            let around = quantile * (squares / freedom as f64 * variance).sqrt();
            Some(Estimate { value, low: (value - around).max(0.0), high: value + around })
        };
        (0..self.unknowns).map(estimate).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exact_line_has_no_width() {
        let mut equations = Equations::new(2);
        for size in [1.0, 2.0, 4.0, 8.0] {
            let seconds = 0.5 + 0.25 * size;
            equations.push(&[1.0, size], seconds, seconds);
        }
        for (estimate, expected) in equations.solve().into_iter().zip([0.5, 0.25]) {
            let estimate = estimate.unwrap();
            assert!((estimate.value - expected).abs() < 1e-9, "{estimate:?}");
            assert!(estimate.high - estimate.low < 1e-6, "{estimate:?}");
        }
    }

    /// The textbook's formula: 2.30 · sqrt(RSS / (n − 2) / Sxx) for ten points; here with n = 4.
    #[test]
    fn the_interval_is_that_of_a_simple_regression() {
        let mut equations = Equations::new(2);
        for (x, y) in [(1.0, 2.0), (2.0, 2.9), (3.0, 4.1), (4.0, 5.0)] {
            equations.push(&[1.0, x], y, 1.0);
        }
        let slope = equations.solve()[1].unwrap();
        // Slope 1.02, intercept 0.95; residuals 0.03, -0.09, 0.09, -0.03: RSS 0.018, Sxx 5.
        assert!((slope.value - 1.02).abs() < 1e-9);
        let around = 4.30 * (0.018_f64 / 2.0 / 5.0).sqrt();
        assert!((slope.high - slope.value - around).abs() < 1e-6, "{slope:?}");
        assert!((slope.value - slope.low - around).abs() < 1e-6, "{slope:?}");
    }

    #[test]
    fn what_was_not_asked_or_cannot_be_told_apart_is_not_known() {
        let mut equations = Equations::new(3);
        assert_eq!(equations.solve(), [None; 3]);
        equations.push(&[1.0, 0.0, 0.0], 2.0, 2.0);
        let solved = equations.solve();
        assert_eq!(solved[0].unwrap().high, f64::INFINITY);
        assert_eq!(solved[1..], [None; 2]);
        equations.push(&[f64::NAN, 0.0, 0.0], 2.0, 2.0);
        equations.push(&[1.0, 0.0, 0.0], 2.0, 0.0);
        assert_eq!(equations.solve(), solved);
    }

    #[test]
    fn a_coefficient_of_zero_has_an_upper_bound() {
        let mut equations = Equations::new(2);
        for (x, y) in [(1.0, 1.0), (2.0, 0.99), (3.0, 1.01), (4.0, 0.98)] {
            equations.push(&[1.0, x], y, 1.0);
        }
        let slope = equations.solve()[1].unwrap();
        assert_eq!((slope.value, slope.low), (0.0, 0.0));
        assert!(slope.high > 0.0 && slope.high < 0.1, "{slope:?}");
    }
}
