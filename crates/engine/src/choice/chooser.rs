//! Prices the ways to run an operator and takes the best.
//!
//! An operator asks one [`Question`]: its ways in order of preference, each an [`Offer`] (what it would
//! request, and how it is built) or the reason ([`Why`]) that it is not possible. The [`Chooser`] prices
//! the offers, follows what the session forces, and returns the way to take and a [`Decision`].
//!
//! Rules ask when they plan ([`crate::optimizer::Choose`]). An operator whose numbers are known only
//! when it runs asks then, with the same types: in `execute`, `Chooser::of(&endpoint,
//! context.session_config().options())` is the same chooser, and the question may offer anything
//! that the operator can run, not plans only.

use datafusion::common::config::ConfigOptions;
use datafusion::common::{Result, internal_err};
use sluicegate_costmodel::{
    ALIKE, Alternative, Candidate, HardwareProfile, Objective, PriceBook, Steps, choose,
};

use super::{Basis, Decision, Verdict, Why};
use crate::config::SluiceOptions;
use crate::endpoint::Endpoint;

/// A way to run an operator.
#[derive(Debug, Clone)]
pub struct Way<T> {
    /// Its name, as `SET sluice.<operator>` calls it.
    pub strategy: &'static str,
    /// What it would do, or why it is not possible.
    pub offer: Result<Offer<T>, Why>,
}

/// The work of a way, and how to run it.
#[derive(Debug, Clone)]
pub struct Offer<T> {
    /// What it would ask of each resource.
    pub steps: Steps,
    /// The statement that the store would be sent, once per request, if any.
    pub statement: Option<String>,
    /// What is run: a plan if a rule asks, anything if an operator asks at run time.
    pub build: T,
}

/// An operator's question: which way to run.
#[derive(Debug, Clone)]
pub struct Question<T> {
    /// The operator, as `SET sluice.<operator>` calls it.
    pub operator: &'static str,
    /// What the operator works on.
    pub subject: String,
    /// Its ways. Among equally good ones, the first wins.
    pub ways: Vec<Way<T>>,
    /// What the session forces, if it does.
    pub forced: Option<Forced>,
    /// What else EXPLAIN should say.
    pub notes: Vec<String>,
}

/// A setting that forces a strategy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forced {
    /// The setting, as a user writes it: `sluice.scan = 'select'`.
    pub setting: String,
    /// The strategies that follow it; the first that is possible is taken.
    pub strategies: Vec<&'static str>,
}

/// Chooses among strategies: by the objective of a session, for the hardware and the prices of an
/// endpoint.
#[derive(Debug, Clone, Copy)]
pub struct Chooser<'a> {
    hardware: &'a HardwareProfile,
    prices: &'a PriceBook,
    objective: Objective,
}

impl Forced {
    /// Says that the setting is not followed: `sluice.scan = 'select' is not followed: the store has
    /// no S3 Select`.
    #[must_use]
    pub fn unmet(&self, why: &Why) -> String {
        format!("{} is not followed: {why}", self.setting)
    }
}

impl<'a> Chooser<'a> {
    /// For operators over an endpoint. `options` are those of the session: from the planner, or,
    /// when a query runs, from its task context.
    #[must_use]
    pub fn of(endpoint: &'a Endpoint, options: &ConfigOptions) -> Self {
        let objective = SluiceOptions::of(options).objective.into();
        Self { hardware: &endpoint.hardware, prices: &endpoint.prices, objective }
    }

    /// With these constants.
    #[must_use]
    pub fn new(hardware: &'a HardwareProfile, prices: &'a PriceBook, objective: Objective) -> Self {
        Self { hardware, prices, objective }
    }

    /// Chooses a way. A forced strategy is taken whatever it costs if it is possible; otherwise the
    /// best possible way is taken and the decision says why.
    ///
    /// # Errors
    ///
    /// If no way is possible: an operator must have one that always works.
    pub fn choose<T>(&self, question: Question<T>) -> Result<(T, Decision)> {
        let Question { operator, subject, ways, forced, mut notes } = question;
        let mut offers = Vec::new();
        let mut refused = Vec::new();
        for Way { strategy, offer } in ways {
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
        let follows = |forced: &Forced| {
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

/// The fastest way, if another one was preferred to it because that is about as fast.
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

fn unmet(forced: &Forced, refused: &[Verdict]) -> String {
    let why = forced.strategies.iter().find_map(|wanted| {
        let verdict = refused.iter().find(|way| way.strategy == *wanted)?;
        verdict.outcome.as_ref().err()
    });
    match why {
        Some(why) => forced.unmet(why),
        None => forced.unmet(&Why::from("there is no such way here")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluicegate_costmodel::{Bytes, Phase, Requests};

    fn chooser() -> Chooser<'static> {
        Chooser::new(HardwareProfile::paper(), PriceBook::paper(), Objective::Time)
    }

    fn way(strategy: &'static str, offer: Result<u64, &'static str>) -> Way<u64> {
        let offer = offer.map_err(Why::from).map(|mib| Offer {
            steps: Phase { gets: Requests(1), got: Bytes::mib(mib), ..Phase::default() }.into(),
            statement: None,
            build: mib,
        });
        Way { strategy, offer }
    }

    fn question(ways: Vec<Way<u64>>, forced: Option<&[&'static str]>) -> Question<u64> {
        Question {
            operator: "join",
            subject: "a.x = b.y".to_owned(),
            ways,
            forced: forced.map(|strategies| Forced {
                setting: format!("sluice.join = '{}'", strategies[0]),
                strategies: strategies.to_vec(),
            }),
            notes: Vec::new(),
        }
    }

    fn join() -> Vec<Way<u64>> {
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
        // What is forced does not matter to what would be best.
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

    /// A join that planned for few keys and finds many, decides again with what it knows then. What
    /// it offers is a closure here, and a plan in rules: the chooser does not care.
    #[test]
    fn an_operator_may_decide_when_it_runs() {
        let decide = |keys: u64| {
            let bloom = match keys {
                0..=1000 => way("bloom", Ok(keys / 100)),
                _ => way("bloom", Err("the keys do not fit into a statement")),
            };
            let ways = vec![way("baseline", Ok(30)), bloom].into_iter().map(|way| Way {
                strategy: way.strategy,
                offer: way.offer.map(|offer| Offer {
                    steps: offer.steps,
                    statement: offer.statement,
                    build: move || offer.build + keys,
                }),
            });
            let question = Question {
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
