//! The Pareto front: strategies that no other strategy beats in both time and dollars.

use crate::Alternative;

/// Returns the alternatives that no other beats: none is at least as fast and as cheap, and better in one of the two.
///
/// The fastest comes first; each next one is slower and cheaper. The first of several equal alternatives is kept.
///
/// ```
/// use sluicegate_costmodel::{
///     Bytes, Candidate, HardwareProfile, Objective, Phase, PriceBook, Requests, choose, pareto,
/// };
///
/// let get = |strategy, mib, scanned| {
///     let phase = Phase { gets: Requests(1), got: Bytes::mib(mib), ..Phase::default() };
///     Candidate { strategy, steps: Phase { scanned: Bytes::mib(scanned), ..phase }.into() }
/// };
/// let others = [get("fast and dear", 100, 500), get("slow and dear", 300, 500)];
/// let (hardware, prices) = (HardwareProfile::paper(), PriceBook::paper());
/// let choice = choose(get("cheap", 110, 0), others, hardware, prices, Objective::Time);
/// let best: Vec<_> = pareto(choice.alternatives()).iter().map(|it| it.strategy).collect();
/// assert_eq!(best, ["fast and dear", "cheap"]);
/// ```
#[must_use]
pub fn pareto<'a, S: 'a>(
    alternatives: impl IntoIterator<Item = &'a Alternative<S>>,
) -> Vec<&'a Alternative<S>> {
    let outcome = |it: &Alternative<S>| (it.time.total(), it.cost.total().0);
    let mut all: Vec<_> = alternatives.into_iter().collect();
    all.sort_by(|a, b| {
        let ((a, b), (c, d)) = (outcome(a), outcome(b));
        a.cmp(&c).then(b.total_cmp(&d))
    });
    let mut cheapest = f64::INFINITY;
    all.retain(|it| {
        let dollars = outcome(it).1;
        let is_cheaper = dollars < cheapest;
        cheapest = cheapest.min(dollars);
        is_cheaper
    });
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bytes, Candidate, HardwareProfile, Objective, Phase, PriceBook, Requests, choose};
    use proptest::prelude::*;

    proptest! {
        /// Checks the front against its definition.
        #[test]
        fn nothing_is_better_than_what_is_kept(
            ways in proptest::collection::vec((1u64..8, 0u64..8), 1..12),
        ) {
            let candidate = |(place, (mib, scanned)): (usize, &(u64, u64))| {
                let phase = Phase {
                    gets: Requests(1),
                    got: Bytes::mib(*mib),
                    scanned: Bytes::gib(*scanned),
                    ..Phase::default()
                };
                Candidate { strategy: place, steps: phase.into() }
            };
            let mut all = ways.iter().enumerate().map(candidate);
            let (hardware, prices) = (HardwareProfile::paper(), PriceBook::paper());
            let choice = choose(all.next().unwrap(), all, hardware, prices, Objective::Dollars);
            let outcome = |it: &Alternative<usize>| (it.time.total(), it.cost.total().0);
            let kept = pareto(choice.alternatives());
            for it in choice.alternatives() {
                let (time, dollars) = outcome(it);
                let better = choice.alternatives().map(outcome).any(|(t, d)| {
                    t <= time && d <= dollars && (t < time || d < dollars)
                });
                let is_kept = kept.iter().any(|other| outcome(other) == (time, dollars));
                prop_assert_eq!(is_kept, !better);
            }
            prop_assert!(kept.is_sorted_by(|a, b| a.time.total() < b.time.total()));
        }
    }
}
