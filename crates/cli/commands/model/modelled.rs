//! What is predicted of a query, as plain data.

use std::time::Duration;

use sluicegate_costmodel::uncertainty::{
    Likely, Output, Sensitivity, Uncertainty, intervals, sensitivity,
};
use sluicegate_costmodel::what_if::{Axis, Sweep, WhatIf};
use sluicegate_costmodel::{Alternative, Dollars, Objective, Scenario, SwitchDemand, Work, pareto};
use sluicegate_engine::choice::Decision;
use sluicegate_engine::operators::switch::Switched;

use super::simulated::{Simulated, Simulation};

/// Samples for total sensitivities: standard errors of them are then a few hundredths, and are shown.
const SENSITIVITY_SAMPLES: u32 = 1024;

/// Constants without which a prediction would be almost the same are not worth a line.
const LEAST_ELASTICITY: f64 = 0.01;

/// A query, here and elsewhere.
pub(super) struct Modelled {
    pub(super) statement: String,
    pub(super) objective: Objective,
    /// How ways were simulated; none if they were not.
    pub(super) simulation: Option<Simulation>,
    /// First what is so, then each what-if.
    pub(super) cases: Vec<Case>,
}

/// What is assumed.
#[derive(Clone)]
pub(super) struct Assumptions {
    /// The what-if; none for what is so.
    pub(super) what_if: Option<String>,
    pub(super) scenario: Scenario,
    pub(super) uncertainty: Uncertainty,
    /// The constants that are given, and so are exact.
    pub(super) exact: Vec<String>,
    /// The what-if's switch, as a session calls it.
    pub(super) switch: Option<String>,
    /// Where the numbers of a what-if's devices come from.
    pub(super) sources: Vec<String>,
}

impl Assumptions {
    pub(super) fn new(scenario: Scenario) -> Self {
        Self {
            what_if: None,
            uncertainty: Uncertainty::of(&scenario.hardware),
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

    /// The same where workers send rows to a master: what is not known of them is assumed, under names.
    pub(super) fn between_workers(&self) -> Self {
        let scenario = SwitchDemand::on(&self.scenario);
        let uncertainty =
            Uncertainty::of(&scenario.hardware).without(self.exact.iter().map(String::as_str));
        Self { scenario, uncertainty, ..self.clone() }
    }

    /// `as it is`, or the what-if.
    pub(super) fn name(&self) -> &str {
        self.what_if.as_deref().unwrap_or("as it is")
    }
}

/// A query under some assumptions.
pub(super) struct Case {
    pub(super) assumed: Assumptions,
    pub(super) operators: Vec<Operator>,
    /// The same where all is fetched by GET.
    pub(super) fetched: Vec<Operator>,
    pub(super) sweeps: Vec<Swept>,
}

impl Case {
    /// Whether it is a what-if with the predictions of another case.
    pub(super) fn changes_nothing(&self, here: &Self) -> bool {
        let numbers = |case: &Self| -> Vec<_> {
            let ways = case.operators.iter().flat_map(|it| &it.ways).map(|way| &way.numbers);
            ways.map(|it| (it.strategy, it.time.total(), it.cost.total())).collect()
        };
        self.assumed.what_if.is_some() && numbers(self) == numbers(here)
    }
}

/// Predictions along an axis.
pub(super) struct Swept {
    pub(super) sweep: Sweep,
    pub(super) points: Vec<Point>,
}

impl Swept {
    /// What is shown of each way: dollars along a price, and where they are to be few; else seconds.
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

    /// Whether the ways of an operator have the same numbers all along the axis.
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

/// A point of an axis.
pub(super) struct Point {
    pub(super) value: f64,
    pub(super) operators: Vec<Operator>,
}

/// An operator of a query with the ways to run it.
pub(super) struct Operator {
    /// `scan`, `join`: as `SET sluice.<operator>` calls it.
    pub(super) operator: &'static str,
    pub(super) subject: String,
    /// The possible ways, best first.
    pub(super) ways: Vec<Way>,
    /// Which of them would be taken: the first, unless a setting says otherwise.
    pub(super) taken: usize,
    /// The others, each with the reason.
    pub(super) impossible: Vec<(&'static str, String)>,
    /// What the time of the way that would be taken depends on, most important first.
    pub(super) sensitivity: Vec<Sensitivity>,
    /// Rows and bytes between workers and master, if it is about a switch.
    pub(super) switched: Option<Switched>,
}

/// A way to run an operator.
pub(super) struct Way {
    /// As EXPLAIN has them.
    pub(super) numbers: Alternative<&'static str>,
    pub(super) likely: Likely<&'static str>,
    /// Whether no other way is both faster and cheaper.
    pub(super) is_pareto: bool,
    /// What simulated runs of it come to, if it was simulated.
    pub(super) simulated: Option<Simulated>,
}

impl Operator {
    pub(super) fn of(
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

    /// With so many times the data, and without [`Self::sensitivity`].
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
                ways.push(Way { numbers: numbers.clone(), likely, is_pareto, simulated: None });
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
        let is_forced = |way: &Way| forced.is_some_and(|it| it.strategy == way.numbers.strategy);
        let taken = ways.iter().position(is_forced).unwrap_or(0);
        let (operator, subject) = (decision.operator, decision.subject.clone());
        Self { operator, subject, ways, taken, impossible, sensitivity: Vec::new(), switched: None }
    }

    /// The way that would be taken; none if none is possible.
    pub(super) fn taken(&self) -> Option<&Way> {
        self.ways.get(self.taken)
    }

    /// Simulates each way.
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

/// What the ways that would be taken of all operators come to, one after the other in one query, which starts once. What workers send to a master is not
/// in it: no other operator has it, with a switch or without.
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

/// The names of the ways of an operator along an axis, in the order of their first appearance.
pub(super) fn strategies(points: &[Point], operator: usize) -> Vec<&'static str> {
    let mut all = Vec::new();
    for way in points.iter().filter_map(|it| it.operators.get(operator)).flat_map(|it| &it.ways) {
        if !all.contains(&way.numbers.strategy) {
            all.push(way.numbers.strategy);
        }
    }
    all
}

/// The ways of an operator at a point of an axis, by name.
pub(super) fn at<'a>(point: &'a Point, operator: usize, strategy: &str) -> Option<&'a Way> {
    let ways = &point.operators.get(operator)?.ways;
    ways.iter().find(|way| way.numbers.strategy == strategy)
}
