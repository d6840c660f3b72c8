//! Least squares with coefficients that are not negative, because no request takes negative time.

/// The relative size below which a pivot or a gradient is a rounding error.
const TINY: f64 = 1e-11;

/// A symmetric matrix `AᵀA` and the vector `Aᵀb` of a least-squares problem, with the columns of A
/// scaled to length 1.
#[derive(Debug, Clone)]
pub(super) struct Normal {
    gram: Vec<Vec<f64>>,
    right: Vec<f64>,
    /// The divisor of each column; 0 for a column of zeros.
    scale: Vec<f64>,
}

impl Normal {
    /// Builds the problem from rows of equal length and the value of each row.
    pub(super) fn from_rows(rows: &[Vec<f64>], values: &[f64]) -> Self {
        let columns = rows.first().map_or(0, Vec::len);
        let dot = |i: usize, j: usize| rows.iter().map(|row| row[i] * row[j]).sum::<f64>();
        let scale: Vec<f64> = (0..columns).map(|column| dot(column, column).sqrt()).collect();
        let divisor = |column: usize| if scale[column] > 0.0 { scale[column] } else { 1.0 };
        let entry = |i: usize, j: usize| dot(i, j) / (divisor(i) * divisor(j));
        let gram = (0..columns).map(|i| (0..columns).map(|j| entry(i, j)).collect()).collect();
        let right = |column: usize| {
            let sum: f64 = rows.iter().zip(values).map(|(row, value)| row[column] * value).sum();
            sum / divisor(column)
        };
        Self { gram, right: (0..columns).map(right).collect(), scale }
    }

    /// The coefficients with the least sum of squares, by Lawson and Hanson's method (Solving Least Squares Problems,
    /// 1974, chapter 23). A coefficient that the rows do not determine is 0.
    pub(super) fn solve(&self) -> Vec<f64> {
        let columns = self.right.len();
        let mut x = vec![0.0; columns];
        let mut free: Vec<usize> = Vec::new();
        // A limit on the number of steps guarantees an end in spite of rounding errors.
        let mut patience = 10 * columns;
        let mut barred: Vec<usize> =
            (0..columns).filter(|column| self.scale[*column] <= 0.0).collect();
        while patience > 0 {
            patience -= 1;
            let gradient = |column: usize| {
                let along: f64 = (0..columns).map(|j| self.gram[column][j] * x[j]).sum();
                self.right[column] - along
            };
            let size = self.right.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
            let steepest = (0..columns)
                .filter(|column| !free.contains(column) && !barred.contains(column))
                .max_by(|a, b| gradient(*a).total_cmp(&gradient(*b)))
                .filter(|column| gradient(*column) > TINY * size);
            let Some(steepest) = steepest else { break };
            free.push(steepest);
            if self.unconstrained(&free).is_none() {
                // The column depends linearly on the free ones.
                free.pop();
                barred.push(steepest);
                continue;
            }
            while let Some(wanted) = self.unconstrained(&free) {
                // Goes towards the wanted coefficients until the first of them would become negative.
                let steps = free.iter().zip(&wanted).filter(|(_, wanted)| **wanted <= 0.0);
                let steps = steps.map(|(column, wanted)| x[*column] / (x[*column] - wanted));
                let step = steps.fold(1.0, f64::min);
                for (column, wanted) in free.iter().zip(&wanted) {
                    x[*column] += step * (wanted - x[*column]);
                }
                if step >= 1.0 {
                    break;
                }
                free.retain(|column| x[*column] > TINY);
                for (column, x) in x.iter_mut().enumerate() {
                    if !free.contains(&column) {
                        *x = 0.0;
                    }
                }
            }
        }
        x.iter()
            .zip(&self.scale)
            .map(|(x, scale)| if *scale > 0.0 { x / scale } else { 0.0 })
            .collect()
    }

    /// The variance of a column's coefficient relative to that of the values, if the coefficients of `others` vary as
    /// well: its entry in the inverse of their matrix. `None` if the rows do not determine them.
    pub(super) fn variance(&self, column: usize, others: &[usize]) -> Option<f64> {
        if self.scale[column] <= 0.0 {
            return None;
        }
        let mut free = vec![column];
        free.extend(others.iter().filter(|other| **other != column));
        let mut unit = vec![0.0; free.len()];
        unit[0] = 1.0;
        let solved = self.system(&free, unit)?;
        Some(solved[0] / (self.scale[column] * self.scale[column]))
    }

    fn unconstrained(&self, free: &[usize]) -> Option<Vec<f64>> {
        self.system(free, free.iter().map(|column| self.right[*column]).collect())
    }

    /// Solves the equations of some columns by Gaussian elimination with pivots on the diagonal, which is stable for
    /// a positive definite matrix.
    fn system(&self, free: &[usize], mut right: Vec<f64>) -> Option<Vec<f64>> {
        let n = free.len();
        let mut matrix: Vec<Vec<f64>> =
            free.iter().map(|i| free.iter().map(|j| self.gram[*i][*j]).collect()).collect();
        for pivot in 0..n {
            let (above, below) = matrix.split_at_mut(pivot + 1);
            let from = &above[pivot];
            if from[pivot] <= TINY {
                return None;
            }
            for (row, values) in below.iter_mut().enumerate() {
                let factor = values[pivot] / from[pivot];
                for (value, of) in values.iter_mut().zip(from) {
                    *value -= factor * of;
                }
                right[pivot + 1 + row] -= factor * right[pivot];
            }
        }
        for row in (0..n).rev() {
            let known: f64 = (row + 1..n).map(|column| matrix[row][column] * right[column]).sum();
            right[row] = (right[row] - known) / matrix[row][row];
        }
        Some(right)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn solve(rows: &[&[f64]], values: &[f64]) -> Vec<f64> {
        let rows: Vec<Vec<f64>> = rows.iter().map(|row| row.to_vec()).collect();
        Normal::from_rows(&rows, values).solve()
    }

    #[track_caller]
    fn near(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!(
                (found - expected).abs() <= 1e-6 * (1.0 + expected.abs()),
                "{found} {expected}"
            );
        }
    }

    #[test]
    fn without_a_bound_in_the_way_it_is_least_squares() {
        near(&solve(&[&[1.0, 1.0], &[1.0, 2.0], &[1.0, 3.0]], &[3.0, 5.0, 7.0]), &[1.0, 2.0]);
        // The line through (0, 0.5), (1, 1), (2, 3): 0.25 + 1.25 x.
        near(&solve(&[&[1.0, 0.0], &[1.0, 1.0], &[1.0, 2.0]], &[0.5, 1.0, 3.0]), &[0.25, 1.25]);
    }

    #[test]
    fn what_would_be_negative_is_zero_and_the_rest_is_fitted_again() {
        // Unconstrained: -1 + 2 x. Through the origin: 22/14 x.
        near(
            &solve(&[&[1.0, 1.0], &[1.0, 2.0], &[1.0, 3.0]], &[1.0, 3.0, 5.0]),
            &[0.0, 22.0 / 14.0],
        );
        near(&solve(&[&[1.0], &[2.0]], &[-1.0, -2.0]), &[0.0]);
    }

    #[test]
    fn columns_that_say_nothing_get_nothing() {
        near(&solve(&[&[1.0, 0.0], &[2.0, 0.0]], &[2.0, 4.0]), &[2.0, 0.0]);
        // A duplicated column: one of the two explains all.
        let twice = solve(&[&[1.0, 1.0], &[2.0, 2.0]], &[3.0, 6.0]);
        near(&[twice[0] + twice[1]], &[3.0]);
        assert!(solve(&[], &[]).is_empty());
        near(&solve(&[&[0.0]], &[1.0]), &[0.0]);
    }

    #[test]
    fn columns_of_very_different_size_are_no_trouble() {
        let rows: Vec<Vec<f64>> =
            (0..8).map(|i| vec![1.0, f64::from(1 << i) * 1e7, f64::from(i % 3) * 1e-4]).collect();
        let values: Vec<f64> =
            rows.iter().map(|row| 0.002 + 1.2e-8 * row[1] + 7.0 * row[2]).collect();
        near(&Normal::from_rows(&rows, &values).solve(), &[0.002, 1.2e-8, 7.0]);
    }

    proptest! {
        /// No other coefficients that are not negative fit better: the Karush–Kuhn–Tucker conditions.
        #[test]
        fn the_answer_is_optimal(
            rows in proptest::collection::vec(proptest::collection::vec(-3.0..3.0f64, 3), 4..12),
            values in proptest::collection::vec(-3.0..3.0f64, 12),
        ) {
            let x = Normal::from_rows(&rows, &values).solve();
            let residual = |row: &Vec<f64>, value: &f64| {
                value - row.iter().zip(&x).map(|(a, b)| a * b).sum::<f64>()
            };
            for column in 0..3 {
                prop_assert!(x[column] >= 0.0);
                let gradient: f64 =
                    rows.iter().zip(&values).map(|(row, value)| row[column] * residual(row, value)).sum();
                prop_assert!(gradient <= 1e-6);
                if x[column] > 1e-9 {
                    prop_assert!(gradient.abs() <= 1e-6);
                }
            }
        }
    }
}
