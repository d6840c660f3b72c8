//! Random numbers that are functions of their positions.

/// A bijection of 64 bits that scatters well (the finalizer of SplitMix64).
pub(crate) const fn scatter(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// The random numbers of one row.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// Returns the generator for row `number` in the stream identified by `seed` and `stream`.
    pub(crate) const fn new(seed: u64, stream: u64, number: u64) -> Self {
        Self(scatter(scatter(seed ^ stream.rotate_left(32)).wrapping_add(number)))
    }

    pub(crate) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        scatter(self.0)
    }

    /// Returns a number that is uniform in the open interval from 0 to 1.
    pub(crate) fn unit(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// Returns a number that is uniform in `0..end`, which must not be 0.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(end)) >> 64) as u64
    }

    /// Returns a position in `0..end` with a power law: the first `x` positions are drawn with probability `(x /
    /// end)^(1 / power)`.
    pub(crate) fn power_law(&mut self, end: u64, power: i32) -> u64 {
        ((end as f64 * self.unit().powi(power)) as u64).min(end - 1)
    }

    /// Returns an exponentially distributed number with mean 1.
    pub(crate) fn exponential(&mut self) -> f64 {
        -self.unit().ln()
    }
}

/// Zipf's law: the `k`-th entry of a list is drawn with a weight of `1 / k^theta`.
#[derive(Debug)]
pub(crate) struct Zipf(Vec<f64>);

impl Zipf {
    pub(crate) fn new(len: usize, theta: f64) -> Self {
        let mut total = 0.0;
        let mut sums: Vec<f64> = (1..=len)
            .map(|k| {
                total += 1.0 / (k as f64).powf(theta);
                total
            })
            .collect();
        sums.iter_mut().for_each(|sum| *sum /= total);
        Self(sums)
    }

    pub(crate) fn draw(&self, random: &mut Random) -> usize {
        let unit = random.unit();
        self.0.partition_point(|sum| *sum < unit).min(self.0.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zipf_draws_the_first_most() {
        let zipf = Zipf::new(100, 1.0);
        let mut counts = [0_u32; 100];
        for number in 0..100_000 {
            counts[zipf.draw(&mut Random::new(1, 2, number))] += 1;
        }
        // 1 / H(100) = 0.1928 for the first, half of that for the second.
        assert!((18_500..20_100).contains(&counts[0]), "{counts:?}");
        assert!((9_000..10_300).contains(&counts[1]), "{counts:?}");
        assert!(counts.iter().all(|count| *count > 0));
    }

    #[test]
    fn power_laws_favour_the_front() {
        let front = (0..10_000).filter(|n| Random::new(3, 4, *n).power_law(1000, 5) < 31).count();
        // (31/1000)^(1/5) = 0.499
        assert!((4_800..5_200).contains(&front), "{front}");
    }
}
