//! From goals to programs that fit one switch together.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use sluicegate_pruning::ConfigError;
use sluicegate_pruning::algorithm::catalog::{Carries, Configured};
use sluicegate_pruning::algorithm::hashing::Hashing;
use sluicegate_pruning::deployment::pack::{Query, pack};
use sluicegate_pruning::switch::{Misfit, Program, Target, fit};
use sluicegate_pruning::theory::{Limits, Planning, plans};

use super::plan::{Resources, SwitchPlan};
use super::words::Field;
use crate::choice::{Decision, Journal, Why};
use crate::config::SluiceOptions;

/// The switch of one query: what is placed on it so far.
#[derive(Debug)]
pub(crate) struct Planner {
    target: Arc<Target>,
    /// What is left of the failure probability that the query may have.
    delta: f64,
    seed: u64,
    workers: bool,
    count_optimum: bool,
    patience: u64,
    placed: Vec<Program>,
    rereads: bool,
    journal: Option<Journal>,
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
            // What is held against the optimum is the whole program.
            patience: if options.switch_opt { 0 } else { options.switch_patience },
            placed: Vec::new(),
            rereads: false,
            journal: Journal::of(session).cloned(),
        }
    }

    /// The probability with which the next operator may make the answer wrong: what those before it
    /// leave of the query's.
    pub(crate) fn delta(&self) -> f64 {
        self.delta
    }

    /// The same for an operator that would use up all of it, whatever its size: half, so that others
    /// may follow.
    pub(crate) fn share(&self) -> f64 {
        self.delta / 2.0
    }

    /// Notes with which probability an operator makes the answer wrong.
    pub(crate) fn spend(&mut self, failure: f64) {
        self.delta = (self.delta - failure).max(0.0);
    }

    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    /// Whether workers evaluate predicates that the switch cannot.
    pub(crate) fn workers(&self) -> bool {
        self.workers
    }

    /// The hash functions that the seed chooses.
    pub(crate) fn hashing(&self) -> Hashing {
        Hashing::Mixed { seed: self.seed }
    }

    /// The greatest number of bits in a register array.
    pub(crate) fn array_bits(&self) -> u64 {
        Limits::of(&self.target).array_bits
    }

    /// Notes that an operator could be pruned but is not.
    pub(crate) fn refuse(&self, operator: &str, why: Why) {
        if let Some(journal) = &self.journal {
            journal.write(Decision::refused("switch", "prune", operator, why));
        }
    }

    /// Notes that a table is read twice.
    pub(crate) fn reread(&mut self) {
        self.rereads = true;
    }

    /// Whether a table is read twice.
    pub(crate) fn rereads(&self) -> bool {
        self.rereads
    }

    /// Whether no program was placed.
    pub(crate) fn is_idle(&self) -> bool {
        self.placed.is_empty()
    }

    /// Places the best configuration for `goal` that fits beside what is placed already, for packets
    /// that hold `fields`. `configure` makes an algorithm of a configuration, or says why that one
    /// will not do.
    pub(crate) fn place<G: Planning>(
        &mut self,
        goal: &G,
        fields: Vec<Field>,
        configure: impl Fn(G::Size) -> Result<Configured, Why>,
    ) -> Result<SwitchPlan, Why> {
        let limits = Limits::of(&self.target);
        let mut first = None;
        for plan in plans(goal, &limits).map_err(|e| Why::new(e.to_string()))? {
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
                            && algorithm.entry().carries != Carries::Comparands,
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
        Err(first.unwrap_or_else(|| Why::from("there is no configuration to choose from")))
    }

    /// Places a program beside the others.
    fn fit(&mut self, program: &Program) -> Result<Resources, Why> {
        let first = |misfits: Vec<Misfit>| {
            misfits.first().map_or_else(|| "it does not fit".to_owned(), ToString::to_string)
        };
        let alone = fit(program, &self.target).map_err(|misfits| Why::new(first(misfits)))?;
        if !self.placed.is_empty() {
            // Each program has flows of its own; their numbers do not change what fits.
            let flows: Vec<[u16; 2]> =
                (0..=self.placed.len() as u16).map(|n| [2 * n, 2 * n + 1]).collect();
            let programs = self.placed.iter().chain([program]).zip(&flows);
            let queries: Vec<Query<'_>> =
                programs.map(|(program, flows)| Query { program, flows }).collect();
            let all = pack("query", &queries).map_err(|e| Why::new(e.to_string()))?;
            fit(&all, &self.target).map_err(|misfits| {
                let others = self.placed.len();
                Why::new(format!("beside {others} other programs of the query: {}", first(misfits)))
            })?;
        }
        self.placed.push(program.clone());
        Ok(Resources::new(&alone, self.target.stages))
    }
}

/// A size of the planner, in the type of the models.
pub(crate) fn narrow(size: u64) -> u32 {
    u32::try_from(size).unwrap_or(u32::MAX)
}

/// Why a configuration will not do.
pub(crate) fn reason(error: ConfigError) -> Why {
    Why::new(error.to_string())
}

/// How many keys fingerprints of 64 bits tell apart with a failure probability of at most `delta`, if
/// only keys of the same of `rows` rows can be confused.
pub(crate) fn trusted_keys(delta: f64, rows: u64) -> u64 {
    // D² / (2 · rows · 2^64) ≤ δ.
    (2.0 * delta * rows as f64 * 64_f64.exp2()).sqrt() as u64
}
