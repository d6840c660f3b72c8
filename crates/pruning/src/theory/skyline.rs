//! SKYLINE: the points that any switch must forward, and the accuracy of the approximate product.
//!
//! * **Optimum**. For n random points with D independent dimensions without ties, the expected size
//!   of the skyline is the generalized harmonic number S(D, n) with S(1, n) = 1 and S(D, n) = Σ
//!   S(D-1, i)/i over i ≤ n (Bentley, Kung, Schkolnick, Thompson: J. ACM 25, 1978). The n-th point
//!   is on the skyline of the first n with probability S(D, n)/n, so a switch that keeps all points
//!   forwards Σ S(D, i)/i = S(D+1, n) of them.
//! * **Approximate product** (appendix D). L(a) = round(β·log2 a) from a table of 2^16 numbers; a
//!   wider a is cut to its top 16 bits at most significant bit ℓ, and L(a) = β·(ℓ-15) + L(top 16
//!   bits).

/// Returns S(D, n): the expected size of the skyline of `points` random points of `dimensions`.
///
/// # Example
/// In two dimensions the harmonic number.
/// ```
/// use sluicegate_pruning::theory::skyline::expected_size;
/// assert!((expected_size(2, 1000) - 7.485).abs() < 1e-3);
/// assert_eq!(expected_size(1, 1000), 1.0);
/// ```
pub fn expected_size(dimensions: u32, points: u64) -> f64 {
    if points == 0 || dimensions == 0 {
        return 0.0;
    }
    // sums[k] is S(k + 1, i) while i runs over the points.
    let mut sums = vec![0.0; dimensions as usize];
    sums[0] = 1.0;
    for i in 1..=points {
        for k in 1..sums.len() {
            sums[k] += sums[k - 1] / i as f64;
        }
    }
    sums.last().copied().unwrap_or(0.0)
}

/// Returns the fraction of `points` that a switch without limits prunes, in expectation and in random order. Takes
/// time in proportion to `points`.
///
/// # Example
/// ```
/// use sluicegate_pruning::theory::skyline::optimal_pruned;
/// assert_eq!(format!("{:.6}", optimal_pruned(2, 1_000_000)), "0.999896");
/// ```
pub fn optimal_pruned(dimensions: u32, points: u64) -> f64 {
    if points == 0 { 0.0 } else { 1.0 - expected_size(dimensions + 1, points) / points as f64 }
}

/// Returns the largest error of L(a)/β against log2 a, in log2 units: half a unit for rounding and, for numbers
/// `wide`r than 16 bits, log2(1 + 2^-15) for the bits cut off.
///
/// # Example
/// ```
/// use sluicegate_pruning::theory::skyline::log_error;
/// let beta = f64::from(1 << 26);
/// assert_eq!(format!("{:.1e}", log_error(beta, true)), "4.4e-5");
/// assert_eq!(format!("{:.1e}", log_error(beta, false)), "7.5e-9");
/// ```
pub fn log_error(beta: f64, wide: bool) -> f64 {
    0.5 / beta + if wide { (-15f64).exp2().ln_1p() / std::f64::consts::LN_2 } else { 0.0 }
}

/// Returns the largest L(a) for numbers of `input_bits` (up to 64), to be compared with the width of a register.
///
/// # Example
/// With β = 2^26 a single logarithm of a 64-bit number fits 32 bits.
/// ```
/// use sluicegate_pruning::theory::skyline::max_log;
/// assert!(max_log(f64::from(1 << 26), 64) <= f64::from(u32::MAX));
/// assert!(max_log(f64::from(1 << 27), 64) > f64::from(u32::MAX));
/// ```
pub fn max_log(beta: f64, input_bits: u32) -> f64 {
    let low = input_bits.min(16);
    let top = (f64::from(1u32 << low) - 1.0).log2();
    (beta * (f64::from(input_bits - low) + top)).round()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn sizes_are_measured() {
        let (points, runs) = (60usize, 400);
        let mut rng = Rng::new(2);
        let (mut size, mut forwarded) = (0, 0);
        for _ in 0..runs {
            let all: Vec<[u64; 3]> =
                (0..points).map(|_| [rng.next_u64(), rng.next_u64(), rng.next_u64()]).collect();
            let beaten = |point: &[u64; 3], by: &[[u64; 3]]| {
                by.iter().any(|q| (0..3).all(|k| q[k] > point[k]))
            };
            size += all.iter().filter(|point| !beaten(point, &all)).count();
            forwarded += (0..points).filter(|&i| !beaten(&all[i], &all[..i])).count();
        }
        let mean = |count: usize| count as f64 / f64::from(runs);
        assert!(
            (mean(size) / expected_size(3, points as u64) - 1.0).abs() < 0.05,
            "{}",
            mean(size)
        );
        let expected = points as f64 * (1.0 - optimal_pruned(3, points as u64));
        assert!((mean(forwarded) / expected - 1.0).abs() < 0.05, "{} {expected}", mean(forwarded));
    }

    #[test]
    fn error_of_the_logarithm_is_reached_but_not_exceeded() {
        let beta = f64::from(1 << 26);
        let approximate = |a: u64| {
            let shift = (63 - a.leading_zeros()).saturating_sub(15);
            beta * f64::from(shift) + (beta * ((a >> shift) as f64).log2()).round()
        };
        let mut rng = Rng::new(4);
        let mut worst = 0.0f64;
        for _ in 0..100_000 {
            let a = rng.next_u64() >> rng.below(64);
            if a > 0 {
                worst = worst.max(((a as f64).log2() - approximate(a) / beta).abs());
            }
        }
        assert!(worst <= log_error(beta, true) && worst > 0.9 * log_error(beta, true), "{worst}");
    }
}
