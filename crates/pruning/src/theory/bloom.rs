//! JOIN: false positives of the Bloom filter and of the register Bloom filter, and the entries that they leave
//! unpruned.
//!
//! * **Bloom filter** (BF): M bits, H independent bit positions per key. After n keys a key that
//!   was never inserted is found with probability (1 - e^(-H·n/M))^H.
//! * **Register Bloom filter** (RBF): the key picks one 64-bit register and H distinct bits of it,
//!   so a key is one register access. A register holds j ~ Poisson(64·n/M) keys; given j, the rate
//!   is the chance that H random bits are all set.
//!
//! Neither has false negatives: JOIN stays exact, and only the pruned fraction depends on these rates. Sizes are in
//! bits.

use std::sync::OnceLock;

use super::tail::{poisson, poisson_mean};

/// Bits of one register of the register Bloom filter.
pub const REGISTER_BITS: u32 = 64;

/// Returns the false-positive rate of a Bloom filter of `bits` M with `hashes` H after `keys` n distinct insertions.
///
/// # Example
/// One million keys, H = 3: 2.7 % in 1 MiB, 0.06 % in 4 MiB; five million: 58 %, 4.7 % and 0.12 % in 1, 4 and 16 MiB.
/// ```
/// use sluicegate_pruning::theory::bloom::bloom_rate;
/// const MIB: u64 = 8 << 20;
/// let percent = |keys, mib| format!("{:.2}", 100.0 * bloom_rate(mib * MIB, 3, keys));
/// assert_eq!([percent(1_000_000, 1), percent(1_000_000, 4)], ["2.72", "0.06"]);
/// assert_eq!([percent(5_000_000, 1), percent(5_000_000, 4), percent(5_000_000, 16)], ["57.74", "4.68", "0.12"]);
/// ```
pub fn bloom_rate(bits: u64, hashes: u32, keys: u64) -> f64 {
    let set = -(-(f64::from(hashes) * keys as f64 / bits as f64)).exp_m1();
    set.powi(hashes as i32)
}

/// Returns the false-positive rate of a Bloom filter that has an array of its own for each hash, of so many bits
/// each, after `keys` distinct insertions: the product of the arrays' fills. For equal arrays it is [`bloom_rate`].
///
/// # Example
/// 4 MiB for three hashes, as arrays of 2, 1 and 1 MiB: 0.073 % after a million keys, where three equal thirds have
/// 0.063 %.
/// ```
/// use sluicegate_pruning::theory::bloom::{arrays_rate, bloom_rate};
/// let rate = arrays_rate(&[2 << 23, 1 << 23, 1 << 23], 1_000_000);
/// assert_eq!(format!("{:.3} {:.3}", 100.0 * rate, 100.0 * bloom_rate(4 << 23, 3, 1_000_000)), "0.073 0.063");
/// ```
pub fn arrays_rate(arrays: &[u32], keys: u64) -> f64 {
    arrays.iter().map(|&bits| -(-(keys as f64 / f64::from(bits))).exp_m1()).product()
}

/// Returns the false-positive rate of a register Bloom filter of `bits` M with `hashes` H (1 to 64) bits per key
/// after `keys` n.
///
/// # Example
/// Little above the Bloom filter of the same size: 3.2 %, 0.13 %; 58 %, 5.3 % and 0.21 %.
/// ```
/// use sluicegate_pruning::theory::bloom::register_bloom_rate;
/// const MIB: u64 = 8 << 20;
/// let percent = |keys, mib| format!("{:.2}", 100.0 * register_bloom_rate(mib * MIB, 3, keys));
/// assert_eq!([percent(1_000_000, 1), percent(1_000_000, 4)], ["3.21", "0.13"]);
/// assert_eq!([percent(5_000_000, 1), percent(5_000_000, 4), percent(5_000_000, 16)], ["58.15", "5.31", "0.21"]);
/// ```
pub fn register_bloom_rate(bits: u64, hashes: u32, keys: u64) -> f64 {
    let hashes = hashes.clamp(1, REGISTER_BITS);
    let mean = f64::from(REGISTER_BITS) * keys as f64 / bits as f64;
    // From this many keys on a register is full in all but a fraction of 1e-18 of the cases.
    let most = (45.0 * f64::from(REGISTER_BITS) / f64::from(hashes)) as u64;
    if mean >= 2.0 * most as f64 {
        // Every register is full.
        return 1.0;
    }
    // The table is cached, because a planner computes many sizes with the same hashes.
    static RATES: [OnceLock<Vec<f64>>; REGISTER_BITS as usize] =
        [const { OnceLock::new() }; REGISTER_BITS as usize];
    let rates = RATES[hashes as usize - 1].get_or_init(|| rates_by_load(hashes, most));
    if mean < most as f64 {
        poisson_mean(mean, |load| rates.get(load as usize).copied().unwrap_or(1.0))
    } else {
        1.0 - (0..).zip(rates).map(|(load, rate)| poisson(mean, load) * (1.0 - rate)).sum::<f64>()
    }
}

/// Returns the chance that `hashes` distinct random bits of a register are all set after 0 to `most` keys.
fn rates_by_load(hashes: u32, most: u64) -> Vec<f64> {
    let total = choose(REGISTER_BITS, hashes);
    let found: Vec<f64> = (0..=REGISTER_BITS).map(|set| choose(set, hashes) / total).collect();
    // The number of a new key's bits that are not yet set is hypergeometric.
    let grows = |set: u32, fresh: u32| {
        choose(REGISTER_BITS - set, fresh) * choose(set, hashes.saturating_sub(fresh)) / total
    };
    let grows: Vec<Vec<f64>> = (0..=REGISTER_BITS)
        .map(|set| (0..=hashes.min(REGISTER_BITS - set)).map(|fresh| grows(set, fresh)).collect())
        .collect();
    // weights[b] is the chance that b bits are set.
    let mut weights = vec![0.0; found.len()];
    weights[0] = 1.0;
    let mut rates = vec![0.0];
    for _ in 0..most {
        let mut next = vec![0.0; weights.len()];
        for (set, (weight, grows)) in weights.iter().zip(&grows).enumerate() {
            for (target, chance) in next[set..].iter_mut().zip(grows) {
                *target += weight * chance;
            }
        }
        weights = next;
        rates.push(weights.iter().zip(&found).map(|(weight, found)| weight * found).sum());
    }
    rates
}

/// Returns the number of masks that a register Bloom filter looks up: C(64, H), each of 64 bits.
///
/// # Example
/// H = 3: 41 664 masks, 333 KB of table.
/// ```
/// use sluicegate_pruning::theory::bloom::{REGISTER_BITS, masks};
/// assert_eq!(masks(3), 41_664.0);
/// assert_eq!((masks(3) * f64::from(REGISTER_BITS) / 8.0 / 1e3).round(), 333.0);
/// ```
pub fn masks(hashes: u32) -> f64 {
    choose(REGISTER_BITS, hashes)
}

/// Returns the number of hashes with the lowest Bloom-filter rate: about (M/n)·ln 2, at least 1, at most `max`.
///
/// # Example
/// ```
/// use sluicegate_pruning::theory::bloom::best_hashes;
/// assert_eq!(best_hashes(8 << 20, 1_000_000, 16), 6);
/// ```
pub fn best_hashes(bits: u64, keys: u64, max: u32) -> u32 {
    let rates = (1..=max.max(1)).map(|hashes| (hashes, bloom_rate(bits, hashes, keys)));
    rates.min_by(|a, b| a.1.total_cmp(&b.1)).map_or(1, |(hashes, _)| hashes)
}

/// Returns the fraction of the probing rows that a filter prunes: those without a match, less the false positives.
///
/// `matching` is the fraction of rows with a match; `rate` the false-positive rate. A rate of 0 gives OPT.
///
/// # Example
/// ```
/// use sluicegate_pruning::theory::bloom::pruned;
/// assert_eq!(pruned(0.25, 0.0), 0.75);
/// assert_eq!(pruned(0.25, 0.1), 0.675);
/// ```
pub fn pruned(matching: f64, rate: f64) -> f64 {
    (1.0 - matching) * (1.0 - rate)
}

/// Returns C(n, k) as a float, 0 if k > n. It is exact while below 2^53.
fn choose(n: u32, k: u32) -> f64 {
    if k > n {
        return 0.0;
    }
    (1..=k.min(n - k))
        .fold(1.0, |product, i| product * f64::from(n - k.min(n - k) + i) / f64::from(i))
        .round()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    fn simulate(bits: u64, hashes: u32, keys: u64, register: bool) -> f64 {
        let mut rng = Rng::new(5);
        let mut words = vec![0u64; (bits / 64) as usize];
        let positions = |rng: &mut Rng| {
            let mut found: Vec<(usize, u64)> = Vec::new();
            let word = rng.below(bits / 64) as usize;
            while found.len() < hashes as usize {
                let position = (
                    if register { word } else { rng.below(bits / 64) as usize },
                    1 << rng.below(64),
                );
                if !register || !found.contains(&position) {
                    found.push(position);
                }
            }
            found
        };
        for _ in 0..keys {
            for (word, bit) in positions(&mut rng) {
                words[word] |= bit;
            }
        }
        let probes = 200_000;
        let hits = (0..probes)
            .filter(|_| positions(&mut rng).iter().all(|&(word, bit)| words[word] & bit != 0))
            .count();
        hits as f64 / f64::from(probes)
    }

    #[test]
    fn rates_are_measured() {
        for (bits, hashes, keys) in
            [(1 << 16, 3, 8000), (1 << 16, 3, 30_000), (1 << 14, 2, 2000), (1 << 16, 6, 5000)]
        {
            for (register, expected) in [
                (false, bloom_rate(bits, hashes, keys)),
                (true, register_bloom_rate(bits, hashes, keys)),
            ] {
                let measured = simulate(bits, hashes, keys, register);
                // One filter is one sample: its fill varies by a few percent.
                assert!(
                    (measured - expected).abs() < 0.003 + 0.05 * expected,
                    "{register}: {measured} {expected}"
                );
            }
        }
    }

    #[test]
    fn equal_arrays_are_one_filter() {
        for (bits, hashes, keys) in [(1 << 13, 3, 5000), (1 << 20, 1, 1 << 20), (64, 16, 1)] {
            let rate = arrays_rate(&vec![bits; hashes], keys);
            let whole = bloom_rate(u64::from(bits) * hashes as u64, hashes as u32, keys);
            assert!((rate - whole).abs() < 1e-12, "{rate} {whole}");
        }
    }

    #[test]
    fn rates_stay_within_zero_and_one() {
        for register in [bloom_rate, register_bloom_rate] {
            assert_eq!(register(1 << 20, 3, 0), 0.0);
            assert!((register(1 << 10, 3, 1_000_000) - 1.0).abs() < 1e-9);
            assert!((0.0..=1.0).contains(&register(64, 64, 1)));
        }
    }

    #[test]
    fn choose_is_pascals() {
        for n in 1..50 {
            for k in 1..n {
                assert_eq!(choose(n, k), choose(n - 1, k - 1) + choose(n - 1, k), "C({n}, {k})");
            }
        }
    }
}
