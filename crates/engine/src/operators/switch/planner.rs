//! Chooses programs for goals such that they fit one switch together.

use std::any::{Any, TypeId};
use std::collections::VecDeque;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use sluicegate_pruning::ConfigError;
use sluicegate_pruning::algorithm::catalog::{Configured, PacketContents};
use sluicegate_pruning::algorithm::hashing::Hashing;
use sluicegate_pruning::deployment::Flow;
use sluicegate_pruning::deployment::pack::{Candidate, Query, choose, ladder, pack};
use sluicegate_pruning::switch::{Misfit, Program, Target, fit};
use sluicegate_pruning::theory::{Footprint, Limits, Plan, Planning, plans};

use super::plan::{Resources, SwitchPlan};
use super::words::Field;
use crate::context::choice::{Decision, Journal, Reason};
use crate::context::config::SluiceOptions;

/// The switch of one query, and the programs placed on it so far.
#[derive(Debug)]
pub(crate) struct Planner {
    target: Arc<Target>,
    /// Failure probability that is left for further operators of the query.
    delta: f64,
    seed: u64,
    workers: bool,
    count_optimum: bool,
    patience: u64,
    placed: Vec<Program>,
    rereads: bool,
    refused: Vec<Decision>,
    journal: Option<Journal>,
    pass: Pass,
    /// True if an operator got less than it would have got alone.
    contended: bool,
}

/// The pass over a plan. Operators are placed in the order of the plan. If they contend for the switch, the plan is
/// made twice more: to survey the sizes that each operator could use, and to place the sizes that suit all together.
#[derive(Debug)]
enum Pass {
    /// Each operator takes the best size that is left.
    InTurn,
    /// Each operator gets its best size as if alone, and its candidates are recorded.
    Survey(Vec<ProgramCandidates>),
    /// Each operator gets the size chosen for it, if any.
    Chosen(VecDeque<ChosenProgram>),
}

/// The size of any algorithm.
type AnySize = Box<dyn Any + Send + Sync>;

/// The size chosen for an operator.
#[derive(Debug)]
struct ChosenProgram {
    /// Type of the operator's sizes.
    kind: TypeId,
    size: Option<AnySize>,
}

/// The sizes that an operator could use.
#[derive(Debug)]
struct ProgramCandidates {
    /// Type of the operator's sizes.
    kind: TypeId,
    sizes: Vec<AnySize>,
    candidates: Vec<Candidate>,
}

impl Planner {
    pub(crate) fn new(
        target: &Arc<Target>,
        options: &SluiceOptions,
        session: &ConfigOptions,
    ) -> Self {
        Self {
            target: Arc::clone(target),
            delta: options.switch_delta.get(),
            seed: options.switch_seed,
            workers: options.switch_workers,
            count_optimum: options.switch_opt,
            // The optimum is compared with the whole program, so no worker bypasses it.
            patience: if options.switch_opt { 0 } else { options.switch_patience },
            placed: Vec::new(),
            rereads: false,
            refused: Vec::new(),
            journal: Journal::from_options(session).cloned(),
            pass: Pass::InTurn,
            contended: false,
        }
    }

    /// Returns this planner in the pass that only surveys the sizes that each operator could use.
    pub(crate) fn surveying(self) -> Self {
        Self { pass: Pass::Survey(Vec::new()), ..self }
    }

    /// Returns this planner in the pass that places the best sizes for all operators surveyed by `survey`.
    pub(crate) fn informed(self, survey: Self) -> Self {
        let Pass::Survey(wishes) = survey.pass else { return self };
        let (sizes, candidates): (Vec<_>, Vec<_>) = wishes
            .into_iter()
            .map(|wishes| ((wishes.kind, wishes.sizes), wishes.candidates))
            .unzip();
        let chosen = choose(&candidates, &self.target).into_iter().zip(sizes);
        let chosen = chosen.map(|(number, (kind, sizes))| ChosenProgram {
            kind,
            size: number.and_then(|number| sizes.into_iter().nth(number)),
        });
        Self { pass: Pass::Chosen(chosen.collect()), ..self }
    }

    /// Returns true if an operator got less than it would have got alone.
    pub(crate) fn is_contended(&self) -> bool {
        self.contended
    }

    /// Writes the refusals to the journal.
    pub(crate) fn write_to_journal(&mut self) {
        for refused in self.refused.drain(..) {
            if let Some(journal) = &self.journal {
                journal.write(refused);
            }
        }
    }

    /// Returns the failure probability that the next operator may use: the query's minus that of the operators before
    /// it.
    pub(crate) fn delta(&self) -> f64 {
        self.delta
    }

    /// Returns half of [`delta`](Self::delta), for an operator that uses up its share whatever its size, so that
    /// later operators can be placed.
    pub(crate) fn share(&self) -> f64 {
        self.delta / 2.0
    }

    /// Subtracts the failure probability of an operator from the rest.
    pub(crate) fn spend(&mut self, failure: f64) {
        self.delta = (self.delta - failure).max(0.0);
    }

    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns true if workers evaluate predicates that the switch cannot.
    pub(crate) fn workers(&self) -> bool {
        self.workers
    }

    /// Returns the hash functions that the seed selects.
    pub(crate) fn hashing(&self) -> Hashing {
        Hashing::Mixed { seed: self.seed }
    }

    /// Returns the greatest number of bits in a register array.
    pub(crate) fn array_bits(&self) -> u64 {
        Limits::from_target(&self.target).array_bits
    }

    /// Records that an operator could be pruned but is not.
    pub(crate) fn refuse(&mut self, operator: &str, why: Reason) {
        self.refused.push(Decision::refused("switch", "prune", operator, why));
    }

    /// Records that a table is read twice.
    pub(crate) fn reread(&mut self) {
        self.rereads = true;
    }

    /// Returns true if a table is read twice.
    pub(crate) fn rereads(&self) -> bool {
        self.rereads
    }

    /// Returns true if no program was placed.
    pub(crate) fn is_idle(&self) -> bool {
        self.placed.is_empty()
    }

    /// Places the best configuration for `goal` that fits beside the programs already placed, for packets of
    /// `fields`. `configure` turns a size into an algorithm, or returns the reason why that size is unusable.
    pub(crate) fn place_programs<G: Planning>(
        &mut self,
        goal: &G,
        fields: Vec<Field>,
        configure: impl Fn(G::Size) -> Result<Configured, Reason>,
    ) -> Result<SwitchPlan, Reason> {
        let limits = Limits::from_target(&self.target);
        let all = plans(goal, &limits).map_err(|e| Reason::new(e.to_string()))?;
        let all = match &mut self.pass {
            Pass::InTurn => all,
            Pass::Survey(wishes) => {
                let total = (limits.sram_bits_per_stage * u64::from(limits.stages)) as f64;
                wishes.push(ProgramCandidates::new(
                    &all,
                    [limits.stages.into(), total],
                    &configure,
                ));
                all
            }
            Pass::Chosen(chosen) => {
                // A node that is not served may be tried again with another goal.
                let same = |of: &ChosenProgram| of.kind == TypeId::of::<G::Size>();
                match chosen.iter().position(same).and_then(|at| chosen.remove(at)) {
                    None => all,
                    Some(ChosenProgram { size: None, .. }) => {
                        return Err(
                            "even its smallest program does not fit beside the others of the query"
                                .into(),
                        );
                    }
                    // The failure probability spent on other operators may have changed the sizes on offer.
                    Some(ChosenProgram { size: Some(best), .. }) => {
                        let mut all = all;
                        let best = best.downcast_ref::<G::Size>();
                        let at = all.iter().position(|plan| Some(&plan.size) == best);
                        if let Some(at) = at {
                            all[..=at].rotate_right(1);
                        }
                        all
                    }
                }
            }
        };
        let mut first = None;
        for plan in all {
            let fitted = configure(plan.size).and_then(|algorithm| {
                let resources = self.fit(&algorithm.program())?;
                Ok((algorithm, resources))
            });
            match fitted {
                Ok((algorithm, resources)) => {
                    self.spend(plan.failure);
                    return Ok(SwitchPlan {
                        program: self.placed.len() - 1,
                        // A filter is its own optimum.
                        count_optimum: self.count_optimum
                            && algorithm.entry().carries != PacketContents::Comparands,
                        algorithm,
                        fields,
                        resources,
                        failure: plan.failure,
                        trusted_rows: None,
                        patience: self.patience,
                    });
                }
                Err(why) => first = first.or(Some(why)),
            }
        }
        Err(first.unwrap_or_else(|| Reason::from("there is no configuration to choose from")))
    }

    /// Places a program beside the others; a survey ignores the others.
    fn fit(&mut self, program: &Program) -> Result<Resources, Reason> {
        let first = |misfits: Vec<Misfit>| {
            misfits.first().map_or_else(|| "it does not fit".to_owned(), ToString::to_string)
        };
        let alone = fit(program, &self.target).map_err(|misfits| Reason::new(first(misfits)))?;
        if !self.placed.is_empty() && !matches!(self.pass, Pass::Survey(_)) {
            // Each program has flows of its own. Their numbers do not affect the fit.
            let flows: Vec<[Flow; 2]> = (0..=self.placed.len() as u16)
                .map(|n| [2 * n, 2 * n + 1].map(Flow::from))
                .collect();
            let programs = self.placed.iter().chain([program]).zip(&flows);
            let queries: Vec<Query<'_>> =
                programs.map(|(program, flows)| Query { program, flows }).collect();
            let all = pack("query", &queries).map_err(|e| Reason::new(e.to_string()))?;
            fit(&all, &self.target).map_err(|misfits| {
                self.contended = true;
                let others = self.placed.len();
                Reason::new(format!(
                    "beside {others} other programs of the query: {}",
                    first(misfits)
                ))
            })?;
        }
        self.placed.push(program.clone());
        Ok(Resources::new(&alone, self.target.stages))
    }
}

impl ProgramCandidates {
    /// Selects the plans for a goal that are worth their cost. `whole` holds the stages and the memory bits of the
    /// switch.
    fn new<S: Footprint + Send + Sync + 'static>(
        plans: &[Plan<S>],
        whole: [f64; 2],
        configure: &impl Fn(S) -> Result<Configured, Reason>,
    ) -> Self {
        let most = plans.iter().filter_map(|plan| plan.pruned).fold(0.0, f64::max);
        let count = plans.len() as f64;
        let priced = |(rank, plan): (usize, &Plan<S>)| {
            let algorithm = configure(plan.size).ok()?;
            // Without an expected pruning share, the order of the plans ranks them.
            let loss = plan.pruned.map_or(rank as f64 / count, |pruned| most - pruned);
            let taken = [plan.demand.stages as f64, plan.demand.sram_bits as f64];
            let cost = taken[0] / whole[0] + taken[1] / whole[1];
            Some((plan.size, algorithm, [cost, loss]))
        };
        let all: Vec<_> = plans.iter().enumerate().filter_map(priced).collect();
        let worth = ladder(&all, |(_, _, price)| *price);
        let (sizes, candidates) = worth
            .into_iter()
            .map(|number| {
                let (size, algorithm, [cost, loss]) = &all[number];
                let program = algorithm.program();
                let candidate = Candidate { program, loss: *loss, cost: *cost };
                (Box::new(*size) as AnySize, candidate)
            })
            .unzip();
        Self { kind: TypeId::of::<S>(), sizes, candidates }
    }
}

/// Converts a size of the planner to the type of the models; greater sizes saturate.
pub(crate) fn narrow(size: u64) -> u32 {
    u32::try_from(size).unwrap_or(u32::MAX)
}

/// Returns the reason why a configuration is unusable.
pub(crate) fn reason(error: ConfigError) -> Reason {
    Reason::new(error.to_string())
}

/// Returns how many keys can be represented by fingerprints of 64 bits with a failure probability of at most `delta`,
/// if only keys that share one of `rows` rows can be confused.
pub(crate) fn trusted_keys(delta: f64, rows: u64) -> u64 {
    // Solves D² / (2 · rows · 2^64) ≤ δ for D.
    (2.0 * delta * rows as f64 * 64_f64.exp2()).sqrt() as u64
}
