//! Chooses the best of several strategies and keeps the rejected ones.

use std::fmt;

use crate::{
    Cost, HardwareProfile, Objective, Prediction, PriceBook, Provenance, Requests, Steps, Work,
    predict,
};

/// The relative difference below which two predicted times count as equal, as a fraction of the shorter one.
pub const ALIKE: f64 = 0.05;

/// A strategy and the requests it would send, before any prediction.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate<S> {
    /// The strategy, in the caller's own type.
    pub strategy: S,
    /// The phases of the strategy, in their order.
    pub steps: Steps,
}

/// A strategy with its predicted numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Alternative<S> {
    /// The strategy, in the caller's own type.
    pub strategy: S,
    /// The phases of the strategy, kept so that it can be priced again.
    pub steps: Steps,
    /// The predicted work; `wall` is the predicted time, `store` the time of the store's cores.
    pub work: Work,
    /// The predicted time, phase by phase.
    pub time: Prediction,
    /// The predicted bill.
    pub cost: Cost,
    /// The source of these numbers: the hardware profile.
    pub provenance: Provenance,
}

impl<S> Alternative<S> {
    fn new(candidate: Candidate<S>, hardware: &HardwareProfile, prices: &PriceBook) -> Self {
        let time = predict(&candidate.steps, hardware);
        let mut work = candidate.steps.work();
        work.wall = time.total();
        work.store = candidate.steps.store_time(hardware);
        let cost = prices.cost(&work);
        let Candidate { strategy, steps } = candidate;
        Self { strategy, steps, work, time, cost, provenance: hardware.provenance() }
    }

    /// Recomputes the numbers of this strategy for this hardware and these prices.
    ///
    /// The steps stay as they are, even if hardware or prices decided them earlier: the largest gap between two
    /// ranges that is read, the size of a sample.
    #[must_use]
    pub fn repriced(&self, hardware: &HardwareProfile, prices: &PriceBook) -> Self
    where
        S: Clone,
    {
        Self::new(self.candidate(), hardware, prices)
    }

    /// The strategy and its steps, without the numbers.
    #[must_use]
    pub fn candidate(&self) -> Candidate<S>
    where
        S: Clone,
    {
        Candidate { strategy: self.strategy.clone(), steps: self.steps.clone() }
    }

    /// Replaces the strategy and keeps the numbers.
    #[must_use]
    pub fn with_strategy<R>(self, strategy: R) -> Alternative<R> {
        let Self { strategy: _, steps, work, time, cost, provenance } = self;
        Alternative { strategy, steps, work, time, cost, provenance }
    }
}

/// Formats as `select: 1.58 s, $0.0155, 96 requests, 76.2 KiB over the link, bound by store scan (modelled for
/// paper)`.
impl<S: fmt::Display> fmt::Display for Alternative<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {:.3?}, {}, {}, {} over the link",
            self.strategy,
            self.time.total(),
            self.cost.total(),
            self.work.requests.total().in_words(),
            self.work.link,
        )?;
        if let Some(resource) = self.time.bound_by() {
            write!(f, ", bound by {resource}")?;
        }
        write!(f, " ({})", self.provenance)
    }
}

/// The chosen strategy, and the rejected ones with their numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice<S> {
    /// The quantity that was minimised.
    pub objective: Objective,
    /// The best alternative by [`Self::objective`].
    pub chosen: Alternative<S>,
    /// The other alternatives, best first.
    pub rejected: Vec<Alternative<S>>,
}

impl<S> Choice<S> {
    /// All alternatives, best first.
    pub fn alternatives(&self) -> impl Iterator<Item = &Alternative<S>> {
        std::iter::once(&self.chosen).chain(&self.rejected)
    }

    /// Compares the same strategies on this hardware and at these prices; see [`rechoose`].
    #[must_use]
    pub fn repriced(
        &self,
        hardware: &HardwareProfile,
        prices: &PriceBook,
        objective: Objective,
    ) -> Option<Self>
    where
        S: Clone,
    {
        rechoose(self.alternatives(), hardware, prices, objective)
    }
}

/// Compares strategies again, on other hardware or at other prices.
///
/// Strategies that use S3 Select are left out if the price book does not sell it. Returns `None` if no strategy
/// remains. The first of several equal strategies wins.
#[must_use]
pub fn rechoose<'a, S: Clone + 'a>(
    alternatives: impl IntoIterator<Item = &'a Alternative<S>>,
    hardware: &HardwareProfile,
    prices: &PriceBook,
    objective: Objective,
) -> Option<Choice<S>> {
    let sold = |it: &&Alternative<S>| {
        prices.select.is_some() || it.steps.work().requests.select == Requests::ZERO
    };
    let mut possible = alternatives.into_iter().filter(sold).map(Alternative::candidate);
    let first = possible.next()?;
    Some(choose(first, possible, hardware, prices, objective))
}

/// Compares strategies and chooses the best by this objective.
///
/// The first, `fallback`, is always possible. Among strategies whose times are [alike](ALIKE), the cheapest wins; the
/// first of several equal strategies wins.
#[must_use]
pub fn choose<S>(
    fallback: Candidate<S>,
    others: impl IntoIterator<Item = Candidate<S>>,
    hardware: &HardwareProfile,
    prices: &PriceBook,
    objective: Objective,
) -> Choice<S> {
    let all = std::iter::once(fallback).chain(others);
    let all = all.map(|candidate| Alternative::new(candidate, hardware, prices));
    let mut all: Vec<Alternative<S>> = all.collect();
    sort_best_first(&mut all, objective, |it| (it.time.total().as_secs_f64(), it.cost.total().0));
    let chosen = all.remove(0);
    Choice { objective, chosen, rejected: all }
}

/// Sorts items by the score of their seconds and dollars, best first.
///
/// If time is minimised, items whose times are alike the shortest one are sorted by dollars. Equal items keep
/// their order.
pub(crate) fn sort_best_first<T>(
    all: &mut [T],
    objective: Objective,
    outcome: impl Fn(&T) -> (f64, f64),
) {
    let score = |it: &T| {
        let (seconds, dollars) = outcome(it);
        objective.score(seconds, dollars)
    };
    all.sort_by(|a, b| {
        let ((a, b), (c, d)) = (score(a), score(b));
        a.total_cmp(&c).then(b.total_cmp(&d))
    });
    if let (Objective::Time, Some(first)) = (objective, all.first()) {
        let most = score(first).0 * (1.0 + ALIKE);
        let alike = all.partition_point(|it| score(it).0 <= most);
        all[..alike].sort_by(|a, b| score(a).1.total_cmp(&score(b).1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bytes, BytesPerSecond, Dollars, Phase, Rows};

    fn get(strategy: &'static str, mib: u64) -> Candidate<&'static str> {
        let phase = Phase { gets: Requests(1), got: Bytes::mib(mib), ..Phase::default() };
        Candidate { strategy, steps: phase.into() }
    }

    #[track_caller]
    fn order(objective: Objective, prices: &PriceBook, expected: &[&str]) {
        let choice = choose(
            get("middle", 20),
            [get("large", 30), get("small", 10), get("middle again", 20)],
            HardwareProfile::paper(),
            prices,
            objective,
        );
        let order: Vec<_> = choice.alternatives().map(|a| a.strategy).collect();
        assert_eq!(order, expected);
    }

    #[test]
    fn the_best_comes_first_and_equals_keep_their_order() {
        let expected = ["small", "middle", "middle again", "large"];
        for objective in [
            Objective::Time,
            Objective::Dollars,
            Objective::Weighted { dollars_per_hour: Dollars(3600.0) },
        ] {
            order(objective, PriceBook::paper(), &expected);
        }
        // Everything is free, so time decides.
        order(Objective::Dollars, PriceBook::by_name("free").unwrap(), &expected);
    }

    /// With the objective of time, a slightly shorter time does not win if it costs more.
    #[test]
    fn of_times_that_are_alike_the_cheapest_wins() {
        let way = |strategy, mib, scanned| {
            let phase = Phase { gets: Requests(1), got: Bytes::mib(mib), ..Phase::default() };
            let scanned = Bytes::mib(scanned);
            Candidate { strategy, steps: Phase { scanned, ..phase }.into() }
        };
        let check = |least: u64, objective, expected: [&str; 3]| {
            let ways = [way("cheap", 103, 0), way("slow", 120, 0)];
            let (hardware, prices) = (HardwareProfile::paper(), PriceBook::paper());
            let choice = choose(way("fast", least, 500), ways, hardware, prices, objective);
            let order: Vec<_> = choice.alternatives().map(|it| it.strategy).collect();
            assert_eq!(order, expected);
        };
        check(100, Objective::Time, ["cheap", "fast", "slow"]);
        check(90, Objective::Time, ["fast", "cheap", "slow"]);
        check(90, Objective::Dollars, ["cheap", "fast", "slow"]);
    }

    #[test]
    fn an_alternative_shows_its_numbers() {
        let choice = choose(
            get("get", 1),
            [],
            HardwareProfile::paper(),
            PriceBook::paper(),
            Objective::Time,
        );
        assert_eq!(
            choice.chosen.to_string(),
            "get: 323.623ms, $0.000192, 1 request, 1.00 MiB over the link, bound by client \
             (modelled for paper)"
        );
        assert!(choice.rejected.is_empty());
    }
    /// A choice between loading a table and having it filtered.
    fn load_or_filter() -> Choice<&'static str> {
        let select = Phase {
            selects: Requests(96),
            scanned: Bytes::gib(7),
            scanned_rows: Rows(60_000_000),
            returned: Bytes::kib(80),
            ..Phase::default()
        };
        let select = Candidate { strategy: "select", steps: select.into() };
        let (hardware, prices) = (HardwareProfile::paper(), PriceBook::paper());
        choose(get("get", 7 * 1024), [select], hardware, prices, Objective::Time)
    }

    #[test]
    fn a_choice_is_the_same_where_nothing_changed() {
        let (hardware, prices) = (HardwareProfile::paper(), PriceBook::paper());
        let choice = load_or_filter();
        assert_eq!(choice.repriced(hardware, prices, Objective::Time).as_ref(), Some(&choice));
        assert_eq!(choice.chosen.repriced(hardware, prices), choice.chosen);
    }

    #[test]
    fn a_choice_changes_with_hardware_and_objective() {
        let (hardware, prices) = (HardwareProfile::paper(), PriceBook::paper());
        let choice = load_or_filter();
        assert_eq!(choice.chosen.strategy, "select");
        let mut better = hardware.clone();
        better.link.bytes_per_second = BytesPerSecond::gbit(1000.0);
        better.link.connection_bytes_per_second = BytesPerSecond::gbit(1000.0);
        better.client.csv_bytes_per_second = BytesPerSecond::gbit(1000.0);
        let faster = choice.repriced(&better, prices, Objective::Time).unwrap();
        assert_eq!(faster.chosen.strategy, "get");
        let cheaper = faster.repriced(hardware, prices, Objective::Dollars).unwrap();
        assert_eq!(
            cheaper,
            choose(
                choice.rejected[0].candidate(),
                [choice.chosen.candidate()],
                hardware,
                prices,
                Objective::Dollars,
            )
        );
    }

    #[test]
    fn what_the_store_does_not_sell_is_left_out() {
        let express = PriceBook::by_name("s3-express-us-east-1").unwrap();
        let hardware = HardwareProfile::paper();
        let choice = load_or_filter();
        let repriced = choice.repriced(hardware, express, Objective::Time).unwrap();
        assert_eq!((repriced.chosen.strategy, repriced.rejected.len()), ("get", 0));
        let only_select = [&choice.chosen];
        assert_eq!(rechoose(only_select, hardware, express, Objective::Time), None);
    }
}
