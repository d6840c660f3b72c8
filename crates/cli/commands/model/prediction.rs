//! The predictions of a query as plain data.

use std::time::Duration;

use sluicegate_costmodel::uncertainty::{
    Output, Sensitivity, StrategyInterval, Uncertainty, intervals, sensitivity,
};
use sluicegate_costmodel::what_if::{Axis, Sweep, WhatIf};
use sluicegate_costmodel::{Alternative, Dollars, Objective, Scenario, SwitchDemand, Work, pareto};
use sluicegate_engine::choice::Decision;
use sluicegate_engine::operators::switch::SwitchEstimate;

use super::simulated::{Simulated, Simulation};

/// Samples for total sensitivities. Their standard errors, which are shown, are then a few hundredths.
const SENSITIVITY_SAMPLES: u32 = 1024;

/// The least elasticity of a constant that is listed, in percent per percent.
const LEAST_ELASTICITY: f64 = 0.01;

/// The predictions of a query in all cases.
pub(super) struct QueryPrediction {
    pub(super) statement: String,
    pub(super) objective: Objective,
    /// The parameters of the simulated runs, if there are any.
    pub(super) simulation: Option<Simulation>,
    /// The current hardware and prices first, then each what-if.
    pub(super) cases: Vec<Case>,
}

/// The assumptions of a case.
#[derive(Clone)]
pub(super) struct Assumptions {
    /// The what-if as text; `None` for the current hardware and prices.
    pub(super) what_if: Option<String>,
    pub(super) scenario: Scenario,
    pub(super) uncertainty: Uncertainty,
    /// Keys of the constants that the user set, which therefore have no uncertainty.
    pub(super) exact: Vec<String>,
    /// The switch of the what-if, as `sluice.switch` names it.
    pub(super) switch: Option<String>,
    /// Sources of the constants of the what-if's devices.
    pub(super) sources: Vec<String>,
}

impl Assumptions {
    pub(super) fn new(scenario: Scenario) -> Self {
        Self {
            what_if: None,
            uncertainty: Uncertainty::from_profile(&scenario.hardware),
            exact: Vec::new(),
            switch: None,
            sources: Vec::new(),
            scenario,
        }
    }

    pub(super) fn what_if(what_if: &WhatIf, scenario: Scenario) -> Self {
        let exact: Vec<String> = what_if.exact().map(str::to_owned).collect();
        let mut assumed = Self {
            what_if: Some(what_if.to_string()),
            exact,
            switch: what_if.switch().map(str::to_owned),
            sources: what_if.sources().collect(),
            ..Self::new(scenario)
        };
        assumed.uncertainty = assumed.uncertainty.without(assumed.exact.iter().map(String::as_str));
        assumed
    }

    /// Returns the assumptions for workers that send rows to a master. Constants that the hardware profile does not
    /// have are assumed, under names.
    pub(super) fn between_workers(&self) -> Self {
        let scenario = SwitchDemand::on(&self.scenario);
        let uncertainty = Uncertainty::from_profile(&scenario.hardware)
            .without(self.exact.iter().map(String::as_str));
        Self { scenario, uncertainty, ..self.clone() }
    }

    /// Returns `as it is`, or the what-if.
    pub(super) fn name(&self) -> &str {
        self.what_if.as_deref().unwrap_or("as it is")
    }
}

/// The predictions of a query under some assumptions.
pub(super) struct Case {
    pub(super) assumed: Assumptions,
    pub(super) operators: Vec<Operator>,
    /// The operators if everything is fetched by GET.
    pub(super) fetched: Vec<Operator>,
    pub(super) sweeps: Vec<AxisPrediction>,
}

impl Case {
    /// Returns true if this is a what-if whose predictions equal those of `here`.
    pub(super) fn changes_nothing(&self, here: &Self) -> bool {
        let numbers = |case: &Self| -> Vec<_> {
            let ways = case.operators.iter().flat_map(|it| &it.ways).map(|way| &way.numbers);
            ways.map(|it| (it.strategy, it.time.total(), it.cost.total())).collect()
        };
        self.assumed.what_if.is_some() && numbers(self) == numbers(here)
    }
}

/// The predictions along an axis.
pub(super) struct AxisPrediction {
    pub(super) sweep: Sweep,
    pub(super) points: Vec<Point>,
}

impl AxisPrediction {
    /// Returns the quantity to show: dollars along a price or if the objective is dollars, else seconds.
    pub(super) fn shown(&self, objective: Objective) -> Output {
        let is_price = match &self.sweep.axis {
            Axis::Constant(knob) => knob.key().starts_with("prices."),
            Axis::Scale | Axis::Selectivity => false,
        };
        match objective {
            Objective::Dollars => Output::Dollars,
            _ if is_price => Output::Dollars,
            _ => Output::Time,
        }
    }

    /// Returns true if the predictions of an operator are the same at all points of the axis.
    pub(super) fn changes_nothing(&self, operator: usize) -> bool {
        let numbers = |point: &Point| -> Vec<_> {
            let ways = point.operators.get(operator).map(|it| it.ways.as_slice());
            let ways = ways.unwrap_or_default().iter().map(|way| &way.numbers);
            ways.map(|it| (it.strategy, it.time.total(), it.cost.total(), it.work.link)).collect()
        };
        self.points.len() > 1
            && self.points.windows(2).all(|pair| numbers(&pair[0]) == numbers(&pair[1]))
    }
}

/// The predictions at a point of an axis.
pub(super) struct Point {
    pub(super) value: f64,
    pub(super) operators: Vec<Operator>,
}

/// The predictions of the ways to run one operator of a query.
pub(super) struct Operator {
    /// Name of the operator as in `SET sluice.<operator>`: `scan`, `join`.
    pub(super) operator: &'static str,
    pub(super) subject: String,
    /// The ways that are possible, best first.
    pub(super) ways: Vec<StrategyPrediction>,
    /// Index of the way that would run: 0, unless a setting forces another one.
    pub(super) taken: usize,
    /// The ways that are not possible, each with its reason.
    pub(super) impossible: Vec<(&'static str, String)>,
    /// Constants that the time of the chosen way depends on, most important first.
    pub(super) sensitivity: Vec<Sensitivity>,
    /// Rows and bytes between workers and master, if the operator is a switch.
    pub(super) switched: Option<SwitchEstimate>,
}

/// The prediction of one way to run an operator.
pub(super) struct StrategyPrediction {
    /// The numbers that EXPLAIN shows.
    pub(super) numbers: Alternative<&'static str>,
    pub(super) likely: StrategyInterval<&'static str>,
    /// True if no other way is both faster and cheaper.
    pub(super) is_pareto: bool,
    /// The simulated runs of this way, if it was simulated.
    pub(super) simulated: Option<Simulated>,
}

impl Operator {
    pub(super) fn from_decision(
        decision: &Decision,
        assumed: &Assumptions,
        objective: Objective,
        draws: (u32, u64),
    ) -> Self {
        let mut operator = Self::scaled(decision, assumed, objective, draws, 1.0);
        if let Some(first) = operator.taken() {
            let (steps, seed) = (&first.numbers.steps, draws.1);
            let Assumptions { scenario, uncertainty, .. } = assumed;
            let mut all =
                sensitivity(steps, scenario, uncertainty, Output::Time, SENSITIVITY_SAMPLES, seed);
            all.retain(|it| it.elasticity.abs() >= LEAST_ELASTICITY);
            operator.sensitivity = all;
        }
        operator
    }

    /// Predicts the ways for `scale` times the data, without [`Self::sensitivity`].
    pub(super) fn scaled(
        decision: &Decision,
        assumed: &Assumptions,
        objective: Objective,
        (draws, seed): (u32, u64),
        scale: f64,
    ) -> Self {
        let Scenario { hardware, prices } = &assumed.scenario;
        let mut scaled = decision.clone();
        for way in scaled.ways.iter_mut().filter_map(|way| way.outcome.as_mut().ok()) {
            way.steps = way.steps.scaled(scale);
        }
        let choice = scaled.repriced(hardware, prices, objective);
        let mut ways = Vec::new();
        if let Some(choice) = &choice {
            let likely = intervals(choice, &assumed.scenario, &assumed.uncertainty, draws, seed);
            let front: Vec<_> =
                pareto(choice.alternatives()).iter().map(|it| it.strategy).collect();
            for (numbers, likely) in choice.alternatives().zip(likely) {
                let is_pareto = front.contains(&numbers.strategy);
                ways.push(StrategyPrediction {
                    numbers: numbers.clone(),
                    likely,
                    is_pareto,
                    simulated: None,
                });
            }
        }
        let not_sold = "the store does not sell S3 Select".to_owned();
        let impossible = decision.ways.iter().filter_map(|way| match &way.outcome {
            Err(why) => Some((way.strategy, why.to_string())),
            Ok(_) if ways.iter().any(|it| it.numbers.strategy == way.strategy) => None,
            Ok(_) => Some((way.strategy, not_sold.clone())),
        });
        let impossible = impossible.collect();
        let forced =
            decision.chosen.filter(|_| decision.forced).and_then(|it| decision.ways.get(it));
        let is_forced =
            |way: &StrategyPrediction| forced.is_some_and(|it| it.strategy == way.numbers.strategy);
        let taken = ways.iter().position(is_forced).unwrap_or(0);
        let (operator, subject) = (decision.operator, decision.subject.clone());
        Self { operator, subject, ways, taken, impossible, sensitivity: Vec::new(), switched: None }
    }

    /// Returns the way that would run; `None` if no way is possible.
    pub(super) fn taken(&self) -> Option<&StrategyPrediction> {
        self.ways.get(self.taken)
    }

    /// Simulates runs of each way.
    pub(super) fn simulate(&mut self, simulation: &Simulation, assumed: &Assumptions) {
        let hardware = &assumed.scenario.hardware;
        for way in &mut self.ways {
            let Alternative { strategy, steps, .. } = &way.numbers;
            way.simulated = Some(match &self.switched {
                Some(it) => simulation.switch(&it.demand, strategy, hardware),
                None => simulation.steps(steps, hardware),
            });
        }
    }
}

/// Sums time, dollars and work of the chosen ways, which run one after the other in one query that starts once. A
/// switch is not included: other operators do not contain what workers send to a master, with a switch or without.
pub(super) fn total(operators: &[Operator]) -> (Duration, Dollars, Work) {
    let mut total = (Duration::ZERO, Dollars::ZERO, Work::default());
    let operators = operators.iter().filter(|operator| operator.switched.is_none());
    for (place, way) in operators.filter_map(Operator::taken).enumerate() {
        let started = if place == 0 { Duration::ZERO } else { way.numbers.time.startup };
        total.0 = total.0.saturating_add(way.numbers.time.total().saturating_sub(started));
        total.1 += way.numbers.cost.total();
        total.2 += way.numbers.work;
    }
    total
}

/// Returns the names of an operator's ways along an axis, in the order of their first appearance.
pub(super) fn strategies(points: &[Point], operator: usize) -> Vec<&'static str> {
    let mut all = Vec::new();
    for way in points.iter().filter_map(|it| it.operators.get(operator)).flat_map(|it| &it.ways) {
        if !all.contains(&way.numbers.strategy) {
            all.push(way.numbers.strategy);
        }
    }
    all
}

/// Returns the way of this name of an operator at a point of an axis.
pub(super) fn at<'a>(
    point: &'a Point,
    operator: usize,
    strategy: &str,
) -> Option<&'a StrategyPrediction> {
    let ways = &point.operators.get(operator)?.ways;
    ways.iter().find(|way| way.numbers.strategy == strategy)
}
