//! The paper's figures 5 to 9, modelled.

use super::{Completion, Number, Query, Setup, Testbed};
use crate::BytesPerSecond;

/// A figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figure {
    /// Completion times of the queries.
    Queries,
    /// 6a: entries of each partition, of which there are more the smaller they are.
    Partitions,
    /// 6b: workers.
    Workers,
    /// 7: size of the result, beside a switch that keeps it.
    Results,
    /// 8: links of 10 and 20 Gbit/s.
    Links,
    /// 9: the part that is not pruned.
    Unpruned,
}

/// Which switch a case is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    /// Cheetah's: it prunes.
    Pruning,
    /// NetAccel's: it keeps the result, which is then read out.
    Keeping,
}

impl System {
    /// What it is called in the figures.
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
    /// Which switch.
    pub system: System,
    /// Where it is along [`Figure::axis`].
    pub value: f64,
    /// What it takes.
    pub completion: Completion,
}

impl Figure {
    /// All, in the order of the paper.
    pub const ALL: [Self; 6] = [
        Self::Queries,
        Self::Partitions,
        Self::Workers,
        Self::Results,
        Self::Links,
        Self::Unpruned,
    ];

    /// Its number.
    #[must_use]
    pub const fn number(self) -> &'static str {
        match self {
            Self::Queries => "5",
            Self::Partitions => "6a",
            Self::Workers => "6b",
            Self::Results => "7",
            Self::Links => "8",
            Self::Unpruned => "9",
        }
    }

    /// What changes from point to point.
    #[must_use]
    pub const fn axis(self) -> &'static str {
        match self {
            Self::Queries => "query",
            Self::Partitions => "entries per partition",
            Self::Workers => "workers",
            Self::Results => "entries of the result",
            Self::Links => "Gbit/s",
            Self::Unpruned => "unpruned fraction",
        }
    }

    /// Its points on a testbed. All but figure 5 follow the setup in what they do not change.
    #[must_use]
    pub fn cases(self, testbed: &Testbed, setup: &Setup) -> Vec<Case> {
        let pruned = |query: &Query, setup: &Setup, value: f64| Case {
            query: query.name.clone(),
            system: System::Pruning,
            value,
            completion: testbed.pruned(query, setup),
        };
        let all = || testbed.queries.iter();
        // What the text says of figures 6 to 8 it says of queries over UserVisits.
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
            Self::Partitions => (1..=6)
                .flat_map(|step| visits().map(move |query| (step, query)))
                .map(|(step, query)| {
                    // One partition for each worker.
                    let entries = 5e6 * f64::from(step);
                    let workers = setup.workers;
                    let entries_of_all =
                        Number { value: entries * workers, ..query.entries.clone() };
                    pruned(&Query { entries: entries_of_all, ..query.clone() }, setup, entries)
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

    fn of<'a>(cases: &'a [Case], query: &str, system: System) -> Vec<&'a Case> {
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

    /// 6a: time grows with the partition; 6b: twice the workers, half the time.
    #[test]
    fn scale_is_as_the_paper_says() {
        let partitions = cases(Figure::Partitions);
        let times = of(&partitions, "GroupBy", System::Pruning);
        let total = |case: &Case| case.completion.total().as_secs_f64();
        assert!((total(times[1]) / total(times[0]) - 2.0).abs() < 0.02);
        let workers = cases(Figure::Workers);
        let times = of(&workers, "GroupBy", System::Pruning);
        assert!((total(times[0]) / total(times[1]) - 2.0).abs() < 0.02);
        assert!(times.windows(2).all(|pair| total(pair[1]) < total(pair[0])));
    }

    /// 7: reading the result out costs more the larger it is. 9: the more is left, the longer.
    #[test]
    fn keeping_and_not_pruning_cost() {
        let results = cases(Figure::Results);
        let pruned = of(&results, "GroupBy", System::Pruning);
        let kept = of(&results, "GroupBy", System::Keeping);
        for (pruned, kept) in pruned.iter().zip(&kept) {
            assert!(kept.completion.total() > pruned.completion.total(), "{}", kept.value);
        }
        let unpruned = cases(Figure::Unpruned);
        for query in &Testbed::cheetah().queries {
            let times = of(&unpruned, &query.name, System::Pruning);
            let growing = |pair: &[&Case]| pair[1].completion.total() >= pair[0].completion.total();
            assert!(times.windows(2).all(growing), "{}", query.name);
        }
    }
}
