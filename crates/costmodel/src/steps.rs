//! Steps of a strategy: phases that run one after the other, or at the same time.

use std::time::Duration;

use crate::rate::seconds;
use crate::resource::Demands;
use crate::{Bytes, HardwareProfile, Phase, PhaseTime, Resource, Terms, Work};

/// The phases of a strategy and their order.
///
/// ```
/// use sluicegate_costmodel::{Bytes, HardwareProfile, Phase, Requests, Steps, predict};
///
/// let side = |mib| Steps::from(Phase { gets: Requests(1), got: Bytes::mib(mib), ..Phase::default() });
/// let hardware = HardwareProfile::by_name("local-1gbit").unwrap();
/// let in_turn = predict(&Steps::InTurn(vec![side(8), side(8)]), hardware);
/// let together = predict(&Steps::Together(vec![side(8), side(8)]), hardware);
/// // Both share the link, so only what is not the bottleneck overlaps.
/// assert!(together.total() < in_turn.total());
/// assert!(together.total() > predict(&side(8), hardware).total());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum Steps {
    /// A single phase.
    Phase(Box<Phase>),
    /// Steps that start when the one before is over, because each statement depends on the previous answer.
    InTurn(Vec<Self>),
    /// Steps that start at the same time and share every resource.
    Together(Vec<Self>),
}

impl From<Phase> for Steps {
    fn from(phase: Phase) -> Self {
        Self::Phase(Box::new(phase))
    }
}

impl Steps {
    /// All phases, in order.
    #[must_use]
    pub fn phases(&self) -> Vec<&Phase> {
        match self {
            Self::Phase(phase) => vec![phase],
            Self::InTurn(steps) | Self::Together(steps) => {
                steps.iter().flat_map(Self::phases).collect()
            }
        }
    }

    /// Adds terms that the client evaluates, for all rows of the last step together.
    #[must_use]
    pub fn evaluating(mut self, here: Terms) -> Self {
        let mut last = Some(&mut self);
        while let Some(steps) = last {
            last = match steps {
                Self::Phase(phase) => {
                    phase.here = phase.here + here;
                    None
                }
                Self::InTurn(steps) | Self::Together(steps) => steps.last_mut(),
            };
        }
        self
    }

    /// Multiplies everything that is read by `factor`: the same number of objects, each of `factor` times the size.
    /// An index leads to `factor` times as many places. Fractions of a request count as one.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        let all = |steps: &[Self]| steps.iter().map(|step| step.scaled(factor)).collect();
        match self {
            Self::Phase(phase) => phase.scaled(factor).into(),
            Self::InTurn(steps) => Self::InTurn(all(steps)),
            Self::Together(steps) => Self::Together(all(steps)),
        }
    }

    /// The work of all phases; its times are zero until [`predict`] computes them.
    #[must_use]
    pub fn work(&self) -> Work {
        self.phases().into_iter().map(Phase::work).sum()
    }

    /// The bytes that cross the sockets in either direction: [`Work::link`](crate::Work) plus requests and the
    /// headers of answers, without encryption.
    #[must_use]
    pub fn over_sockets(&self) -> Bytes {
        let heads = self.phases().into_iter().map(Phase::heads_of_messages);
        heads.fold(self.work().link, |all, heads| all + heads)
    }

    /// The time that the store's cores take for all phases, whatever their order.
    #[must_use]
    pub fn store_time(&self, hardware: &HardwareProfile) -> Duration {
        seconds(self.phases().into_iter().map(|phase| phase.store_seconds(hardware)).sum())
    }

    /// Returns true if any phase sends requests.
    pub(crate) fn asks(&self) -> bool {
        self.phases().into_iter().any(Phase::asks)
    }

    fn times(&self, hardware: &HardwareProfile, phases: &mut Vec<PhaseTime>) -> Times {
        match self {
            Self::Phase(phase) => {
                let (time, times) = phase.times(hardware);
                phases.push(time);
                times
            }
            Self::InTurn(steps) => {
                let mut all = Times::default();
                let mut longest = 0.0;
                for step in steps {
                    let times = step.times(hardware, phases);
                    // Steps without requests do not wait for the answers to others.
                    let next = match all.asks && times.asks {
                        true => hardware.client.next_step.unwrap_or_default().as_secs_f64(),
                        false => 0.0,
                    };
                    all.waiting += next + times.waiting;
                    all.total += next + times.total;
                    all.demands.add_all(&times.demands);
                    all.selects |= times.selects;
                    all.asks |= times.asks;
                    if times.total > longest || all.bound_by.is_none() {
                        longest = times.total;
                        all.bound_by = times.bound_by;
                    }
                }
                all
            }
            Self::Together(steps) => {
                let mut all = Times::default();
                let mut longest: (f64, Option<Resource>) = (0.0, None);
                for step in steps {
                    let times = step.times(hardware, phases);
                    all.waiting = all.waiting.max(times.waiting);
                    all.demands.add_all(&times.demands);
                    all.selects |= times.selects;
                    all.asks |= times.asks;
                    if times.total > longest.0 || longest.1.is_none() {
                        longest = (times.total, times.bound_by);
                    }
                }
                // Predicted like one phase with all demands, but no faster than the slowest step.
                let shared =
                    all.waiting + all.demands.combined(hardware.client.overlap_of(all.selects));
                (all.total, all.bound_by) = if shared > longest.0 {
                    (shared, Some(all.demands.bound_by()))
                } else {
                    longest
                };
                all
            }
        }
    }
}

/// The times of a step, in seconds.
#[derive(Debug, Clone, Default)]
pub(crate) struct Times {
    /// The wait for first bytes, while no resource is busy.
    pub(crate) waiting: f64,
    pub(crate) demands: Demands,
    /// True if any of the phases uses S3 Select.
    pub(crate) selects: bool,
    /// True if any of the phases sends requests.
    pub(crate) asks: bool,
    pub(crate) total: f64,
    pub(crate) bound_by: Option<Resource>,
}

/// The predicted time of a strategy, phase by phase.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Prediction {
    /// The time before the first phase, for planning and connecting.
    pub startup: Duration,
    /// The time of each phase as if it ran alone, in the order of the steps.
    pub phases: Vec<PhaseTime>,
    steps: Duration,
    bound_by: Option<Resource>,
}

impl Prediction {
    /// The time of the whole strategy: the startup, and the steps as they follow each other or overlap.
    #[must_use]
    pub fn total(&self) -> Duration {
        self.startup.saturating_add(self.steps)
    }

    /// The resource that binds the longest step; `None` without steps.
    #[must_use]
    pub fn bound_by(&self) -> Option<Resource> {
        self.bound_by
    }
}

/// Predicts the time of these steps on this hardware.
///
/// The times of steps in turn add up, with the client's time to start the next one. For steps together, the demands on each resource add up, and the steps take as
/// long as one phase with all these demands. Steps together therefore take no longer than the same steps in turn, and
/// no less than the slowest of them alone.
#[must_use]
pub fn predict(steps: &Steps, hardware: &HardwareProfile) -> Prediction {
    let mut phases = Vec::new();
    let times = steps.times(hardware, &mut phases);
    Prediction {
        startup: hardware.client.startup,
        phases,
        steps: seconds(times.total),
        bound_by: times.bound_by,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phase::tests::{BETTER, MORE, better, more, phases, profiles};
    use crate::{ALIKE, Bytes, Candidate, Objective, PriceBook, Requests, choose};
    use proptest::prelude::*;

    #[test]
    fn no_steps_take_no_time() {
        let hardware = HardwareProfile::paper();
        for none in [Steps::InTurn(Vec::new()), Steps::Together(Vec::new())] {
            let prediction = predict(&none, hardware);
            assert_eq!(prediction.total(), hardware.client.startup);
            assert_eq!((prediction.bound_by(), prediction.phases.len()), (None, 0));
        }
    }

    /// The client takes a time between two steps of requests, and none beside steps without requests.
    #[test]
    fn the_next_step_starts_later() {
        let mut hardware = HardwareProfile::paper().clone();
        let got =
            || Steps::from(Phase { gets: Requests(8), got: Bytes::mib(1), ..Phase::default() });
        let idle = || Steps::from(Phase::default());
        let all = [vec![got(), got()], vec![got(), idle(), got()], vec![got(), idle()]];
        let all = all.map(Steps::InTurn);
        let seconds = |hardware: &HardwareProfile| {
            all.each_ref().map(|steps| predict(steps, hardware).total().as_secs_f64())
        };
        let later = seconds(&hardware);
        hardware.client.next_step = None;
        let at_once = seconds(&hardware);
        for (place, expected) in [0.66, 0.66, 0.0].into_iter().enumerate() {
            assert!(
                (later[place] - at_once[place] - expected).abs() < 1e-6,
                "{later:?} {at_once:?}"
            );
        }
    }

    /// GETs have an overlap of their own. If a statement runs at the same time, the overlap of statements applies.
    #[test]
    fn gets_may_overlap_more_than_statements() {
        let mut hardware = HardwareProfile::by_name("local-1gbit").unwrap().clone();
        hardware.client.overlap = 0.5;
        let got = Phase { gets: Requests(8), got: Bytes::mib(512), ..Phase::default() };
        let asked = Phase { selects: Requests(1), returned: Bytes::mib(64), ..Phase::default() };
        let seconds = |steps: &Steps, hardware: &HardwareProfile| {
            predict(steps, hardware).total().as_secs_f64()
        };
        let gets = Steps::from(got.clone());
        let all = |of: fn(Vec<Steps>) -> Steps| of(vec![got.clone().into(), asked.clone().into()]);
        let (together, in_turn) = (all(Steps::Together), all(Steps::InTurn));
        let before = [&gets, &together, &in_turn].map(|steps| seconds(steps, &hardware));
        hardware.client.get_overlap = Some(1.0);
        let after = [&gets, &together, &in_turn].map(|steps| seconds(steps, &hardware));
        assert!(after[0] < before[0], "{after:?} {before:?}");
        assert_eq!(after[1], before[1]);
        assert!(
            (before[2] - after[2] - (before[0] - after[0])).abs() < 1e-6,
            "{after:?} {before:?}"
        );
        let slowest = predict(&gets, &hardware).phases[0].demands.iter().map(|it| it.1).max();
        let waiting = hardware.client.startup + hardware.link.latency * got.rounds;
        assert_eq!(predict(&gets, &hardware).total(), slowest.unwrap() + waiting);
    }

    fn steps() -> impl Strategy<Value = Steps> {
        phases().prop_map(Steps::from).prop_recursive(3, 12, 4, |inner| {
            let some = proptest::collection::vec(inner, 1..4);
            prop_oneof![some.clone().prop_map(Steps::InTurn), some.prop_map(Steps::Together)]
        })
    }

    const SLACK: Duration = Duration::from_micros(10);

    /// Adds to one of the phases.
    fn with_more(steps: &Steps, (factor, which): (f64, u32), at: &mut usize) -> Steps {
        let mut all = |steps: &[Steps]| -> Vec<Steps> {
            steps.iter().map(|step| with_more(step, (factor, which), at)).collect()
        };
        match steps {
            Steps::InTurn(steps) => Steps::InTurn(all(steps)),
            Steps::Together(steps) => Steps::Together(all(steps)),
            Steps::Phase(phase) => {
                let here = *at == 0;
                *at = at.wrapping_sub(1);
                if here { more(phase, factor, which).into() } else { Steps::Phase(phase.clone()) }
            }
        }
    }

    /// The least seconds and dollars of any way. The chosen way has no more of what is minimised, except among times
    /// that are alike.
    fn best(ways: &[Steps], hardware: &HardwareProfile, objective: Objective) -> (f64, f64) {
        let mut ways = ways.iter().map(|steps| Candidate { strategy: (), steps: steps.clone() });
        let prices = PriceBook::by_name("work-2020-us-east-1").unwrap();
        let choice = choose(ways.next().unwrap(), ways, hardware, prices, objective);
        let numbers =
            |it: &crate::Alternative<()>| (it.time.total().as_secs_f64(), it.cost.total().0);
        let least = choice.alternatives().map(numbers);
        let least = least.reduce(|a, b| (a.0.min(b.0), a.1.min(b.1))).unwrap();
        let taken = numbers(&choice.chosen);
        match objective {
            Objective::Time => assert!(at_most(taken.0, least.0 * (1.0 + ALIKE))),
            _ => assert!(at_most(taken.1, least.1)),
        }
        least
    }

    /// Compares two numbers up to rounding.
    fn at_most(a: f64, b: f64) -> bool {
        a <= b * (1.0 + 1e-9) + 1e-5
    }

    proptest! {
        #[test]
        fn steps_together_take_between_the_slowest_and_their_sum(
            steps in proptest::collection::vec(steps(), 1..4), hardware in profiles(),
        ) {
            let alone: Vec<Duration> =
                steps.iter().map(|step| predict(step, &hardware).steps).collect();
            let slowest = alone.iter().max().copied().unwrap_or_default();
            let in_turn = predict(&Steps::InTurn(steps.clone()), &hardware);
            let together = predict(&Steps::Together(steps), &hardware);
            let sum: Duration = alone.iter().sum();
            let slack = SLACK + sum.mul_f64(1e-9);
            prop_assert!(together.steps + slack >= slowest);
            prop_assert!(together.steps <= in_turn.steps + slack);
            prop_assert!(in_turn.steps <= sum + slack && sum <= in_turn.steps + slack);
            prop_assert_eq!(together.phases, in_turn.phases);
        }

        #[test]
        fn better_hardware_is_never_slower_in_any_order(
            steps in steps(), hardware in profiles(), factor in 1.0..100.0f64, which in 0..BETTER,
        ) {
            let better = better(&hardware, factor, which);
            let (now, then) = (predict(&steps, &better).total(), predict(&steps, &hardware).total());
            prop_assert!(at_most(now.as_secs_f64(), then.as_secs_f64()), "{now:?} {then:?}");
            prop_assert!(steps.store_time(&better) <= steps.store_time(&hardware) + SLACK);
        }

        #[test]
        fn more_work_is_never_faster_in_any_order(
            steps in steps(), hardware in profiles(), factor in 1.0..100.0f64, which in 0..MORE,
            at in 0usize..12,
        ) {
            let mut place = at % steps.phases().len();
            let more = with_more(&steps, (factor, which), &mut place);
            let (now, then) = (predict(&more, &hardware).total(), predict(&steps, &hardware).total());
            prop_assert!(at_most(then.as_secs_f64(), now.as_secs_f64()), "{now:?} {then:?}");
        }

        /// On better hardware, or for less work, the best choice is not worse than the best before, in what is
        /// minimised.
        #[test]
        fn a_choice_is_never_worse_on_better_hardware_or_for_less_work(
            ways in proptest::collection::vec(steps(), 1..4), hardware in profiles(),
            factor in 1.0..100.0f64, which in 0..BETTER, more in 0..MORE,
        ) {
            let better = better(&hardware, factor, which);
            // Adds to the first phase of every way.
            let heavier: Vec<_> =
                ways.iter().map(|way| with_more(way, (factor, more), &mut 0)).collect();
            let seconds = |ways: &[Steps], on| best(ways, on, Objective::Time).0;
            let dollars = |ways: &[Steps], on| best(ways, on, Objective::Dollars).1;
            let (now, then) = (seconds(&ways, &better), seconds(&ways, &hardware));
            prop_assert!(at_most(now, then), "{now} s, {then} s");
            prop_assert!(at_most(then, seconds(&heavier, &hardware)));
            let (now, then) = (dollars(&ways, &better), dollars(&ways, &hardware));
            prop_assert!(at_most(now, then), "${now}, ${then}");
            prop_assert!(at_most(then, dollars(&heavier, &hardware)));
        }

        /// The time of the store's cores is the sum over all phases, whatever their order.
        #[test]
        fn cores_are_busy_for_as_long_in_any_order(
            steps in proptest::collection::vec(steps(), 1..4), hardware in profiles(),
        ) {
            let sum: Duration = steps.iter().map(|step| step.store_time(&hardware)).sum();
            let all = Steps::Together(steps).store_time(&hardware);
            prop_assert!(at_most(all.as_secs_f64(), sum.as_secs_f64()));
            prop_assert!(at_most(sum.as_secs_f64(), all.as_secs_f64()));
        }

        /// Ten times the data takes longer, but no more than ten times as long.
        #[test]
        fn more_of_everything_takes_longer(
            steps in steps(), hardware in profiles(), factor in 1_u32..10,
        ) {
            // With a factor of 5.3, one request becomes 6 smaller ones; only whole factors keep the time of each
            // request.
            let factor = f64::from(factor);
            let scaled = steps.scaled(factor);
            let (less, more) = (predict(&steps, &hardware).steps, predict(&scaled, &hardware).steps);
            prop_assert!(at_most(less.as_secs_f64(), more.as_secs_f64()));
            // The number of requests is rounded up, so there may be one more than the factor gives.
            prop_assert!(more.as_secs_f64() <= less.as_secs_f64() * factor * 1.01 + 1.0);
            prop_assert_eq!(steps.scaled(1.0), steps);
        }

        /// Work does not depend on the order.
        #[test]
        fn the_same_work_is_done_in_any_order(steps in proptest::collection::vec(steps(), 1..4)) {
            let sum: Work = steps.iter().map(Steps::work).sum();
            prop_assert_eq!(Steps::InTurn(steps.clone()).work(), sum);
            prop_assert_eq!(Steps::Together(steps).work(), sum);
        }
    }
}
