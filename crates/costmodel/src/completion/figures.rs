//! The points of the paper's figures 5 to 9 and 12, predicted by the model.

use super::{Completion, Leaving, Number, Query, Setup, Testbed};
use crate::BytesPerSecond;

/// A figure of Cheetah's evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figure {
    /// Figure 5: completion times of the queries.
    Queries,
    /// Figure 6a: entries of each partition, with one partition per worker; the total is fixed.
    Partitions,
    /// Figure 6b: the number of workers.
    Workers,
    /// Figure 7: the size of the result, compared with a switch that keeps the result.
    Results,
    /// Figure 8: links of 10 and 20 Gbit/s.
    Links,
    /// Figure 9: the unpruned fraction.
    Unpruned,
    /// Figure 12 (appendix F): entries that leave the data plane of a switch.
    Drain,
}

/// The kind of switch in a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    /// Cheetah's switch, which prunes.
    Pruning,
    /// NetAccel's switch, which keeps the result until it is read out.
    Keeping,
}

impl System {
    /// The system's name in the figures.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pruning => "Cheetah",
            Self::Keeping => "NetAccel",
        }
    }
}

/// A point of a figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// The query, or several with `+` between them.
    pub query: String,
    /// The kind of switch.
    pub system: System,
    /// The value on [`Figure::axis`].
    pub value: f64,
    /// The predicted completion time, by its parts.
    pub completion: Completion,
}

impl Figure {
    /// All figures, in the order of the paper.
    pub const ALL: [Self; 7] = [
        Self::Queries,
        Self::Partitions,
        Self::Workers,
        Self::Results,
        Self::Links,
        Self::Unpruned,
        Self::Drain,
    ];

    /// The figure's number in the paper.
    #[must_use]
    pub const fn number(self) -> &'static str {
        match self {
            Self::Queries => "5",
            Self::Partitions => "6a",
            Self::Workers => "6b",
            Self::Results => "7",
            Self::Links => "8",
            Self::Unpruned => "9",
            Self::Drain => "12",
        }
    }

    /// The quantity that changes from point to point.
    #[must_use]
    pub const fn axis(self) -> &'static str {
        match self {
            Self::Queries => "query",
            Self::Partitions => "entries per partition",
            Self::Workers => "workers",
            Self::Results => "entries of the result",
            Self::Links => "Gbit/s",
            Self::Unpruned => "unpruned fraction",
            Self::Drain => "entries",
        }
    }

    /// The figure's points on a testbed. All figures but figure 5 override the parts of the setup that they vary.
    #[must_use]
    pub fn cases(self, testbed: &Testbed, setup: &Setup) -> Vec<Case> {
        let pruned = |query: &Query, setup: &Setup, value: f64| Case {
            query: query.name.clone(),
            system: System::Pruning,
            value,
            completion: testbed.pruned(query, setup),
        };
        let all = || testbed.queries.iter();
        // The paper's text on figures 6 to 8 is about queries over UserVisits.
        let visits = || all().filter(|query| query.name == "Distinct" || query.name == "GroupBy");
        match self {
            Self::Queries => {
                let mut cases: Vec<_> =
                    (1..).zip(all()).map(|(n, query)| pruned(query, setup, f64::from(n))).collect();
                if let [Some(a), Some(b)] = ["BigData A", "BigData B"].map(|it| testbed.query(it)) {
                    cases.push(Case {
                        query: "BigData A+B".to_owned(),
                        system: System::Pruning,
                        value: cases.len() as f64 + 1.0,
                        completion: testbed.together([a, b], setup),
                    });
                }
                cases
            }
            Self::Partitions => (1..=10)
                .rev()
                .flat_map(|workers| visits().map(move |query| (f64::from(workers), query)))
                .map(|(workers, query)| {
                    let entries = (query.entries.value / workers).round();
                    pruned(query, &Setup { workers, ..*setup }, entries)
                })
                .collect(),
            Self::Workers => (1..=10)
                .flat_map(|workers| visits().map(move |query| (f64::from(workers), query)))
                .map(|(workers, query)| pruned(query, &Setup { workers, ..*setup }, workers))
                .collect(),
            Self::Results => (3..=7)
                .flat_map(|power| visits().map(move |query| (10_f64.powi(power), query)))
                .filter(|(result, query)| *result <= query.entries.value)
                .flat_map(|(result, query)| {
                    let share = result / query.entries.value;
                    let unpruned =
                        Number { value: query.unpruned.value.max(share), ..query.unpruned.clone() };
                    let sent = Query { unpruned, ..query.clone() };
                    let kept = Case {
                        query: query.name.clone(),
                        system: System::Keeping,
                        value: result,
                        completion: testbed.kept(query, setup, result),
                    };
                    [pruned(&sent, setup, result), kept]
                })
                .collect(),
            Self::Links => [10.0, 20.0]
                .into_iter()
                .flat_map(|gbit| visits().map(move |query| (gbit, query)))
                .map(|(gbit, query)| {
                    let link = BytesPerSecond(gbit * 125e6);
                    pruned(query, &Setup { link, ..*setup }, gbit)
                })
                .collect(),
            Self::Unpruned => (0..=10)
                .flat_map(|tenth| all().map(move |query| (f64::from(tenth) / 10.0, query)))
                .map(|(part, query)| {
                    let unpruned = Number { value: part, ..query.unpruned.clone() };
                    pruned(&Query { unpruned, ..query.clone() }, setup, part)
                })
                .collect(),
            Self::Drain => (3..=7)
                .map(|power| 10_f64.powi(power))
                .flat_map(|entries| {
                    // The result of a query, and the part of its work that the data plane cannot do.
                    [
                        ("result", System::Pruning, Leaving::ToMaster),
                        ("result", System::Keeping, Leaving::Result),
                        ("remaining work", System::Pruning, Leaving::ToMaster),
                        ("remaining work", System::Keeping, Leaving::Overflow),
                    ]
                    .map(|(query, system, way)| Case {
                        query: query.to_owned(),
                        system,
                        value: entries,
                        completion: testbed.leaving(way, setup, entries),
                    })
                })
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cases(figure: Figure) -> Vec<Case> {
        let testbed = Testbed::cheetah();
        figure.cases(testbed, &testbed.setup())
    }

    fn select<'a>(cases: &'a [Case], query: &str, system: System) -> Vec<&'a Case> {
        cases.iter().filter(|case| case.query == query && case.system == system).collect()
    }

    #[test]
    fn every_figure_has_points() {
        for figure in Figure::ALL {
            let cases = cases(figure);
            assert!(cases.len() >= 4, "{figure:?}");
            assert!(cases.iter().all(|case| !case.completion.total().is_zero()), "{figure:?}");
        }
        assert_eq!(cases(Figure::Queries).len(), Testbed::cheetah().queries.len() + 1);
    }

    /// Figure 6a: partitions of twice the size take twice the time. Figure 6b: twice the workers take half the time.
    #[test]
    fn scale_is_as_the_paper_says() {
        let partitions = cases(Figure::Partitions);
        let times = select(&partitions, "GroupBy", System::Pruning);
        let total = |case: &Case| case.completion.total().as_secs_f64();
        assert!((times[9].value / times[8].value - 2.0).abs() < 0.02);
        assert!((total(times[9]) / total(times[8]) - 2.0).abs() < 0.02);
        let workers = cases(Figure::Workers);
        let times = select(&workers, "GroupBy", System::Pruning);
        assert!((total(times[0]) / total(times[1]) - 2.0).abs() < 0.02);
        assert!(times.windows(2).all(|pair| total(pair[1]) < total(pair[0])));
    }

    /// Figure 7: a larger result takes longer to read out. Figure 9: a larger unpruned fraction takes longer.
    #[test]
    fn keeping_and_not_pruning_cost() {
        let results = cases(Figure::Results);
        let pruned = select(&results, "GroupBy", System::Pruning);
        let kept = select(&results, "GroupBy", System::Keeping);
        for (pruned, kept) in pruned.iter().zip(&kept) {
            assert!(kept.completion.total() > pruned.completion.total(), "{}", kept.value);
        }
        let unpruned = cases(Figure::Unpruned);
        for query in &Testbed::cheetah().queries {
            let times = select(&unpruned, &query.name, System::Pruning);
            let growing = |pair: &[&Case]| pair[1].completion.total() >= pair[0].completion.total();
            assert!(times.windows(2).all(growing), "{}", query.name);
        }
    }
}
