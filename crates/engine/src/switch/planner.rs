//! From goals to programs that fit one switch together.

use std::sync::Arc;

use sluicegate_pruning::ConfigError;
use sluicegate_pruning::deployment::pack::{Query, pack};
use sluicegate_pruning::switch::{Misfit, Program, Target, fit};
use sluicegate_pruning::theory::{Accounting, Goal, Limits, Plan, plans};

use super::algorithm::Algorithm;
use super::optimum::Optimum;
use super::plan::Resources;
use crate::config::SluiceOptions;

/// The switch of one query: what is placed on it so far, and what is not, and why.
#[derive(Debug)]
pub(crate) struct Planner {
    target: Arc<Target>,
    delta: f64,
    seed: u64,
    workers: bool,
    count_optimum: bool,
    patience: u64,
    placed: Vec<Program>,
    refusals: Vec<String>,
}

/// A program that was placed.
#[derive(Debug)]
pub(crate) struct Placed {
    pub(crate) algorithm: Algorithm,
    pub(crate) resources: Resources,
    /// The planner's bound on the probability of a wrong answer.
    pub(crate) failure: f64,
}

impl Planner {
    pub(crate) fn new(target: &Arc<Target>, options: &SluiceOptions) -> Self {
        Self {
            target: Arc::clone(target),
            delta: options.switch_delta.get(),
            seed: options.switch_seed,
            workers: options.switch_workers,
            count_optimum: options.switch_opt,
            // What is held against the optimum is the whole program.
            patience: if options.switch_opt { 0 } else { options.switch_patience },
            placed: Vec::new(),
            refusals: Vec::new(),
        }
    }

    pub(crate) fn delta(&self) -> f64 {
        self.delta
    }

    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    /// Whether workers evaluate predicates that the switch cannot.
    pub(crate) fn workers(&self) -> bool {
        self.workers
    }

    /// `optimum`, if it is to be counted.
    pub(crate) fn counted(&self, optimum: Optimum) -> Option<Optimum> {
        self.count_optimum.then_some(optimum)
    }

    /// How many packets a worker waits for one to be pruned; 0: for ever.
    pub(crate) fn patience(&self) -> u64 {
        self.patience
    }

    /// Which of the hash polynomials the seed chooses.
    pub(crate) fn polynomial(&self) -> u8 {
        (self.seed % 16) as u8
    }

    /// The most bits in a register array.
    pub(crate) fn array_bits(&self) -> u64 {
        Limits::of(&self.target, Accounting::Table2).array_bits
    }

    /// Notes that an operator could be pruned but is not.
    pub(crate) fn refuse(&mut self, operator: &str, why: impl std::fmt::Display) {
        self.refusals.push(format!("{operator}: {why}"));
    }

    pub(crate) fn refusals(&self) -> &[String] {
        &self.refusals
    }

    /// Places the best configuration for `goal` that fits beside what is placed already.
    /// `algorithm` makes an algorithm of a configuration, or says why that one will not do.
    pub(crate) fn place(
        &mut self,
        goal: &Goal,
        algorithm: impl Fn(&Plan) -> Result<Algorithm, String>,
    ) -> Result<Placed, String> {
        let limits = Limits::of(&self.target, Accounting::Table2);
        let mut first = None;
        for plan in plans(goal, &limits).map_err(|e| e.to_string())? {
            let fitted = algorithm(&plan).and_then(|algorithm| {
                let resources = self.fit(&algorithm.program())?;
                Ok(Placed { algorithm, resources, failure: plan.failure })
            });
            match fitted {
                Ok(placed) => return Ok(placed),
                Err(why) => first = first.or(Some(why)),
            }
        }
        Err(first.unwrap_or_else(|| "no configuration to choose from".to_owned()))
    }

    /// Places a program beside the others.
    fn fit(&mut self, program: &Program) -> Result<Resources, String> {
        let first = |misfits: Vec<Misfit>| {
            misfits.first().map_or_else(|| "it does not fit".to_owned(), ToString::to_string)
        };
        let alone = fit(program, &self.target).map_err(first)?;
        if !self.placed.is_empty() {
            // Each program has flows of its own; their numbers do not change what fits.
            let flows: Vec<[u16; 2]> =
                (0..=self.placed.len() as u16).map(|n| [2 * n, 2 * n + 1]).collect();
            let programs = self.placed.iter().chain([program]).zip(&flows);
            let queries: Vec<Query<'_>> =
                programs.map(|(program, flows)| Query { program, flows }).collect();
            let all = pack("query", &queries).map_err(|e| e.to_string())?;
            fit(&all, &self.target).map_err(|misfits| {
                let others = self.placed.len();
                format!("beside {others} other programs of the query: {}", first(misfits))
            })?;
        }
        self.placed.push(program.clone());
        Ok(Resources::new(&alone, self.target.stages))
    }
}

/// A size of the planner as the models take it.
pub(crate) fn narrow(size: u64) -> u32 {
    u32::try_from(size).unwrap_or(u32::MAX)
}

/// Why a configuration will not do, as text.
pub(crate) fn reason(error: ConfigError) -> String {
    error.to_string()
}

/// How many keys of one table fingerprints of 64 bits may tell apart with a failure probability of
/// at most `delta`, if only keys of the same of `rows` rows can be confused.
pub(crate) fn trusted_keys(delta: f64, rows: u64) -> u64 {
    // D² / (2 · rows · 2^64) ≤ δ.
    (2.0 * delta * rows as f64 * 64_f64.exp2()).sqrt() as u64
}
