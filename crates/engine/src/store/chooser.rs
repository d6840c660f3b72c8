//! Predicts the cost of each strategy of an operator and picks the best.

use datafusion::common::config::ConfigOptions;
use datafusion::common::{Result, internal_err};
use sluicegate_costmodel::{
    ALIKE, Alternative, Candidate, HardwareProfile, Objective, PriceBook, Steps, choose,
};

use crate::context::choice::{Basis, Decision, Reason, Verdict};
use crate::context::config::SluiceOptions;
use crate::store::endpoint::Endpoint;

/// A strategy to run an operator, possible or not.
#[derive(Debug, Clone)]
pub(crate) struct Strategy<T> {
    /// The name of the strategy in `SET sluice.<operator>`.
    pub strategy: &'static str,
    /// The work of the strategy, or the reason why it is not possible.
    pub offer: Result<StrategyPlan<T>, Reason>,
}

/// The work of a possible strategy, and the means to run it.
#[derive(Debug, Clone)]
pub(crate) struct StrategyPlan<T> {
    /// The work per resource, in steps.
    pub steps: Steps,
    /// The statement that is sent to the store once per request, if any.
    pub statement: Option<String>,
    /// The object that runs the strategy: a plan for a rule, anything else for an operator that decides at run time.
    pub build: T,
}

/// A choice to be made for one operator.
#[derive(Debug, Clone)]
pub(crate) struct OperatorChoice<T> {
    /// The name of the operator in `SET sluice.<operator>`.
    pub operator: &'static str,
    /// The object of the operator's work, such as a URL or an expression.
    pub subject: String,
    /// The strategies. Among equally good ones, the first wins.
    pub ways: Vec<Strategy<T>>,
    /// The strategies that the session forces, if any.
    pub forced: Option<ForcedStrategy>,
    /// Further remarks for EXPLAIN.
    pub notes: Vec<String>,
}

/// A setting that forces a strategy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ForcedStrategy {
    /// The setting in SQL: `sluice.scan = 'select'`.
    pub setting: String,
    /// The strategies that follow the setting; the first possible one is taken.
    pub strategies: Vec<&'static str>,
}

/// Chooses among strategies by the objective of a session, for the hardware and the prices of an endpoint.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chooser<'a> {
    hardware: &'a HardwareProfile,
    prices: &'a PriceBook,
    objective: Objective,
}

impl ForcedStrategy {
    /// Returns the message that the setting is not followed: `sluice.scan = 'select' is not followed: the store has
    /// no S3 Select`.
    #[must_use]
    pub(crate) fn unmet(&self, why: &Reason) -> String {
        format!("{} is not followed: {why}", self.setting)
    }
}

impl<'a> Chooser<'a> {
    /// Returns a chooser for operators over an endpoint. `options` are the planner's, or at run time those of the
    /// task context.
    #[must_use]
    pub(crate) fn for_endpoint(endpoint: &'a Endpoint, options: &ConfigOptions) -> Self {
        let objective = SluiceOptions::from_options(options).objective.into();
        Self { hardware: &endpoint.hardware, prices: &endpoint.prices, objective }
    }

    /// Returns a chooser with these constants.
    #[cfg(test)]
    pub(crate) fn new(
        hardware: &'a HardwareProfile,
        prices: &'a PriceBook,
        objective: Objective,
    ) -> Self {
        Self { hardware, prices, objective }
    }

    /// Chooses a strategy. A forced strategy is taken at any cost if it is possible. Otherwise the best possible
    /// strategy is taken. The decision contains the predictions and the reasons.
    ///
    /// # Errors
    ///
    /// If no strategy is possible. Every operator needs one that always works.
    pub(crate) fn choose<T>(&self, question: OperatorChoice<T>) -> Result<(T, Decision)> {
        let OperatorChoice { operator, subject, ways, forced, mut notes } = question;
        let mut offers = Vec::new();
        let mut refused = Vec::new();
        for Strategy { strategy, offer } in ways {
            match offer {
                Ok(offer) => offers.push((strategy, offer)),
                Err(why) => {
                    refused.push(Verdict { strategy, statement: None, outcome: Err(why) });
                }
            }
        }
        let mut candidates = offers
            .iter()
            .enumerate()
            .map(|(index, (_, offer))| Candidate { strategy: index, steps: offer.steps.clone() });
        let Some(first) = candidates.next() else {
            return internal_err!("there is no way to run the {operator} of {subject}");
        };
        let choice = choose(first, candidates, self.hardware, self.prices, self.objective);
        let mut best_first: Vec<_> = choice.alternatives().cloned().collect();
        let follows = |forced: &ForcedStrategy| {
            forced.strategies.iter().find_map(|wanted| {
                best_first.iter().position(|way| offers[way.strategy].0 == *wanted)
            })
        };
        let followed = forced.as_ref().map(follows);
        let unmet = match (&forced, followed) {
            (Some(forced), Some(None)) => Some(unmet(forced, &refused)),
            _ => None,
        };
        let forced_way = followed.flatten();
        let chosen = forced_way.unwrap_or(0);
        let taken = best_first[chosen].strategy;
        if forced.is_none() && self.objective == Objective::Time {
            notes.extend(
                alike(&best_first).map(|way| offers[way.strategy].0).map(not_clearly_faster),
            );
        }
        let mut ways: Vec<Verdict> = best_first
            .drain(..)
            .map(|way| {
                let (strategy, offer) = &offers[way.strategy];
                Verdict {
                    strategy,
                    statement: offer.statement.clone(),
                    outcome: Ok(way.with_strategy(*strategy)),
                }
            })
            .collect();
        ways.extend(refused);
        let (_, offer) = offers.swap_remove(taken);
        let basis = Some(Basis::new(self.hardware, self.prices));
        let chosen = Some(chosen);
        let forced = forced_way.is_some();
        let decision = Decision { operator, subject, chosen, forced, ways, unmet, notes, basis };
        Ok((offer.build, decision))
    }
}

/// Returns the fastest strategy if a cheaper one that is about as fast is preferred to it.
fn alike(best_first: &[Alternative<usize>]) -> Option<&Alternative<usize>> {
    let (chosen, others) = best_first.split_first()?;
    let fastest = others.iter().min_by_key(|way| way.time.total())?;
    let cheaper = chosen.cost.total().0 < fastest.cost.total().0;
    (fastest.time.total() < chosen.time.total() && cheaper).then_some(fastest)
}

fn not_clearly_faster(strategy: &str) -> String {
    let percent = 100.0 * ALIKE;
    format!("{strategy} is not faster by more than {percent} %, and costs more")
}

fn unmet(forced: &ForcedStrategy, refused: &[Verdict]) -> String {
    let why = forced.strategies.iter().find_map(|wanted| {
        let verdict = refused.iter().find(|way| way.strategy == *wanted)?;
        verdict.outcome.as_ref().err()
    });
    match why {
        Some(why) => forced.unmet(why),
        None => forced.unmet(&Reason::from("there is no such way here")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluicegate_costmodel::{Bytes, Phase, Requests};

    fn chooser() -> Chooser<'static> {
        Chooser::new(HardwareProfile::paper(), PriceBook::paper(), Objective::Time)
    }

    fn way(strategy: &'static str, offer: Result<u64, &'static str>) -> Strategy<u64> {
        let offer = offer.map_err(Reason::from).map(|mib| StrategyPlan {
            steps: Phase { gets: Requests(1), got: Bytes::mib(mib), ..Phase::default() }.into(),
            statement: None,
            build: mib,
        });
        Strategy { strategy, offer }
    }

    fn question(ways: Vec<Strategy<u64>>, forced: Option<&[&'static str]>) -> OperatorChoice<u64> {
        OperatorChoice {
            operator: "join",
            subject: "a.x = b.y".to_owned(),
            ways,
            forced: forced.map(|strategies| ForcedStrategy {
                setting: format!("sluice.join = '{}'", strategies[0]),
                strategies: strategies.to_vec(),
            }),
            notes: Vec::new(),
        }
    }

    fn join() -> Vec<Strategy<u64>> {
        vec![way("baseline", Ok(30)), way("filtered", Ok(20)), way("bloom", Err("the key is text"))]
    }

    #[test]
    fn the_best_way_is_taken_and_the_others_are_kept_with_their_reasons() {
        let (built, decision) = chooser().choose(question(join(), None)).unwrap();
        assert_eq!(built, 20);
        assert_eq!(decision.strategy(), Some("filtered"));
        let order: Vec<_> = decision.ways.iter().map(|way| way.strategy).collect();
        assert_eq!(order, ["filtered", "baseline", "bloom"]);
        assert_eq!(decision.unmet, None);
        let text = decision.to_string();
        assert!(text.starts_with("join of a.x = b.y\n  * filtered 1 request,"), "{text}");
        assert!(text.ends_with("    bloom    not possible: the key is text\n"), "{text}");
    }

    #[test]
    fn a_forced_strategy_is_taken_if_it_can_be_had() {
        let (built, decision) = chooser().choose(question(join(), Some(&["baseline"]))).unwrap();
        assert_eq!((built, decision.strategy()), (30, Some("baseline")));
        assert_eq!(decision.unmet, None);
        // A forced strategy does not change which one is best.
        let (hardware, prices) = (HardwareProfile::paper(), PriceBook::paper());
        let best = decision.repriced(hardware, prices, Objective::Time).unwrap();
        assert_eq!((best.chosen.strategy, best.rejected.len()), ("filtered", 1));
        // The second choice follows the setting, too.
        let forced: &[&'static str] = &["bloom", "baseline"];
        let (built, decision) = chooser().choose(question(join(), Some(forced))).unwrap();
        assert_eq!((built, decision.unmet), (30, None));
    }

    #[test]
    fn a_forced_strategy_that_cannot_be_had_says_why() {
        let (built, decision) = chooser().choose(question(join(), Some(&["bloom"]))).unwrap();
        assert_eq!((built, decision.strategy()), (20, Some("filtered")));
        let expected = "sluice.join = 'bloom' is not followed: the key is text";
        assert_eq!(decision.unmet.as_deref(), Some(expected));
        assert!(decision.to_string().ends_with(&format!("    {expected}\n")), "{decision}");
        let (_, decision) = chooser().choose(question(join(), Some(&["hash"]))).unwrap();
        assert!(decision.unmet.unwrap().ends_with("there is no such way here"));
    }

    #[test]
    fn an_operator_without_a_way_is_an_error() {
        let none = vec![way("bloom", Err("the key is text"))];
        assert!(chooser().choose(question(none, None)).is_err());
        assert!(chooser().choose(question(Vec::new(), None)).is_err());
    }

    /// A join that was planned for few keys, and finds many, decides again at run time. Here its strategies build
    /// closures instead of plans, which the chooser treats alike.
    #[test]
    fn an_operator_may_decide_when_it_runs() {
        let decide = |keys: u64| {
            let bloom = match keys {
                0..=1000 => way("bloom", Ok(keys / 100)),
                _ => way("bloom", Err("the keys do not fit into a statement")),
            };
            let ways = vec![way("baseline", Ok(30)), bloom].into_iter().map(|way| Strategy {
                strategy: way.strategy,
                offer: way.offer.map(|offer| StrategyPlan {
                    steps: offer.steps,
                    statement: offer.statement,
                    build: move || offer.build + keys,
                }),
            });
            let question = OperatorChoice {
                operator: "join",
                subject: "a.x = b.y".to_owned(),
                ways: ways.collect(),
                forced: None,
                notes: Vec::new(),
            };
            let (run, decision) = chooser().choose(question).unwrap();
            (run(), decision.strategy())
        };
        assert_eq!(decide(100), (101, Some("bloom")));
        assert_eq!(decide(2000), (2030, Some("baseline")));
    }
}
