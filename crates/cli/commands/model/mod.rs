//! `sluice model`: predicts every way to run a query, for this hardware and for what-ifs.
//!
//! [`prediction`] holds the predictions, [`simulated`] and [`switched`] add simulated runs and a switch, and the other
//! modules print them.

mod chart;
mod csv;
mod json;
mod prediction;
mod simulated;
mod switched;
mod table;

use std::io::{self, IsTerminal, Write};

use sluicegate_costmodel::what_if::{Axis, Sweep, WhatIf};
use sluicegate_costmodel::{Objective, Scenario};
use sluicegate_engine::choice::Decision;
use sluicegate_engine::config::SluiceOptions;
use sluicegate_engine::{Engine, Explanation};

use self::prediction::{Assumptions, AxisPrediction, Case, Operator, Point, QueryPrediction};
use self::simulated::Simulation;
use self::switched::{LEFT_TO_WORKERS, SWITCH};
use super::embedded_store::set;
use super::explain::explain;
use super::sql::script;
use crate::args::ModelArgs;
use crate::failure::{Failure, Result};
use crate::output::chart::ChartFormat;
use crate::output::file::PartialFile;
use crate::output::progress::print_line;

/// The setting that a sweep of the selectivity changes.
const SELECTIVITY: &str = "selectivity";

/// The most draws over all points of all sweeps. This many take some minutes for each way.
const MOST_DRAWS: u64 = 50_000_000;

pub(crate) async fn run(mut args: ModelArgs) -> Result<()> {
    let format = format(&args)?;
    if let Some(workers) = args.workers {
        let what_if: Result<WhatIf, _> = format!("workers={workers}").parse();
        args.what_if.push(what_if.map_err(|error| Failure::Usage(format!("--workers: {error}")))?);
    }
    let cases = 1 + args.what_if.len() as u64;
    let points = 1 + args.sweep.iter().map(|sweep| sweep.points.len() as u64).sum::<u64>();
    let draws = cases.saturating_mul(points).saturating_mul(args.draws.into());
    if draws > MOST_DRAWS {
        return Err(Failure::Usage(format!(
            "{draws} draws, of --draws {} at {points} points in {cases} cases, are more than {MOST_DRAWS}; \
             take fewer points (`/N` behind a range) or fewer draws",
            args.draws
        )));
    }
    let Some(script) = script(&args.statements)? else {
        return Err(Failure::Usage("there is nothing to predict; give a query with -c".to_owned()));
    };
    let file = args.output.as_deref().map(PartialFile::begin).transpose()?;
    let engine = args.connect.connect().await?.with_table_sizes(std::mem::take(&mut args.size));
    let scenarios = scenarios(&engine, &args.what_if)?;
    let statements = script.statements();
    let mut all = Vec::new();
    for (index, statement) in statements.iter().enumerate() {
        let modelled = model(&engine, statement, &scenarios, &args).await;
        for note in engine.take_notes() {
            print_line(&format!("note: {note}"));
        }
        match modelled {
            Ok(modelled) => all.extend(modelled),
            Err(failure) => {
                return Err(script.failed((index, statements.len()), statement, failure));
            }
        }
    }
    if let [url, ..] = engine.unused_table_sizes()[..] {
        return Err(Failure::new(format!("--size: no query scans {url}"))
            .with_hint("Write the URL of the objects; that of a folder ends with a slash."));
    }
    if all.is_empty() {
        return Err(Failure::new("there is no query to predict")
            .with_hint("Give one with -c, after the definitions of its tables."));
    }
    let text = match format {
        ChartFormat::Table => {
            let colour = file.is_none() && io::stdout().is_terminal();
            table::write(&all, colour)
        }
        ChartFormat::Csv => csv::write(&all),
        ChartFormat::Json => json::write(&all)?,
        ChartFormat::Svg => chart::svg(&all),
    };
    match file {
        Some(mut file) => {
            file.file().write_all(text.as_bytes())?;
            file.finish()
        }
        None => Ok(io::stdout().write_all(text.as_bytes())?),
    }
}

fn format(args: &ModelArgs) -> Result<ChartFormat> {
    let format = ChartFormat::chosen(args.format, args.output.as_deref())?;
    if format == ChartFormat::Svg && args.sweep.is_empty() {
        return Err(Failure::Usage("a picture needs an axis: --sweep NAME=LOW..HIGH".to_owned()));
    }
    Ok(format)
}

/// Returns the assumptions of each case: first the current hardware and prices, then each what-if.
fn scenarios(engine: &Engine, what_ifs: &[WhatIf]) -> Result<Vec<Assumptions>> {
    let endpoint = engine.endpoint();
    let here = Scenario::new(&endpoint.hardware, &endpoint.prices);
    let mut all = vec![Assumptions::new(here.clone())];
    for what_if in what_ifs {
        let scenario = what_if.apply(&here);
        let scenario = scenario.map_err(|error| Failure::new(format!("--what-if {error}")))?;
        all.push(Assumptions::what_if(what_if, scenario));
    }
    Ok(all)
}

/// Predicts a query in every case. A definition is executed and returns `None`.
async fn model(
    engine: &Engine,
    statement: &str,
    scenarios: &[Assumptions],
    args: &ModelArgs,
) -> Result<Option<QueryPrediction>> {
    let Some(here) = explain(engine, statement).await? else { return Ok(None) };
    let mut words = statement.split_whitespace();
    let mut next_is = |word: &str| words.next().is_some_and(|it| it.eq_ignore_ascii_case(word));
    // EXPLAIN ANALYZE runs its query, so it can be predicted.
    let is_explained = next_is("explain") && !next_is("analyze");
    if is_explained {
        return Err(Failure::new("EXPLAIN reads nothing that could be predicted")
            .with_hint("Give the query itself: nothing of it runs."));
    }
    let objective =
        SluiceOptions::from_options(engine.context().state().config_options()).objective.into();
    let simulation = Simulation::from_args(&args.simulation, args.seed);
    let predict = Predict { objective, draws: (args.draws, args.seed) };
    let settings = FETCHED.map(|(name, way)| (name, way.to_owned()));
    let fetched = explained(engine, statement, &settings).await?;
    let mut cases = Vec::new();
    for assumed in scenarios {
        let query = match &assumed.switch {
            Some(switch) => {
                let there = explained(engine, statement, &with_switch(engine, switch)).await?;
                &switched::or_as_it_is(there, &here)
            }
            None => &here,
        };
        let mut operators = predict.operators(query, assumed);
        if let Some(simulation) = &simulation {
            operators.iter_mut().for_each(|it| it.simulate(simulation, assumed));
        }
        let mut sweeps = Vec::new();
        for sweep in &args.sweep {
            let mut points = Vec::new();
            for value in &sweep.points {
                let there = at(assumed, sweep, *value)?;
                // Only the selectivity changes the query; other axes change the assumptions or the scale.
                let operators = match sweep.axis {
                    Axis::Selectivity => {
                        let switch = assumed.switch.iter().filter(|_| !query.switched.is_empty());
                        let switch = switch.flat_map(|it| with_switch(engine, it));
                        let set = switch.chain([(SELECTIVITY, value.to_string())]);
                        let set: Vec<_> = set.collect();
                        predict.points(&explained(engine, statement, &set).await?, &there, 1.0)
                    }
                    Axis::Scale => predict.points(query, &there, *value),
                    Axis::Constant(_) => predict.points(query, &there, 1.0),
                };
                points.push(Point { value: *value, operators });
            }
            sweeps.push(AxisPrediction { sweep: sweep.clone(), points });
        }
        let fetched = predict.points(&fetched, assumed, 1.0);
        cases.push(Case { assumed: assumed.clone(), operators, fetched, sweeps });
    }
    Ok(Some(QueryPrediction { statement: statement.to_owned(), objective, simulation, cases }))
}

/// Settings that disable all pushdown.
const FETCHED: [(&str, &str); 5] = [
    ("scan", "get"),
    ("aggregate", "here"),
    ("group_by", "server"),
    ("top_k", "server"),
    ("join", "baseline"),
];

/// The parameters of predictions.
struct Predict {
    objective: Objective,
    draws: (u32, u64),
}

impl Predict {
    /// Predicts the operators of a query, with their sensitivities.
    fn operators(&self, explained: &Explanation, assumed: &Assumptions) -> Vec<Operator> {
        self.each(explained, assumed, |decision, assumed| {
            Operator::from_decision(decision, assumed, self.objective, self.draws)
        })
    }

    /// Predicts the operators for `scale` times the data, without sensitivities.
    fn points(&self, explained: &Explanation, assumed: &Assumptions, scale: f64) -> Vec<Operator> {
        self.each(explained, assumed, |decision, assumed| {
            Operator::scaled(decision, assumed, self.objective, self.draws, scale)
        })
    }

    fn each(
        &self,
        explained: &Explanation,
        assumed: &Assumptions,
        of: impl Fn(&Decision, &Assumptions) -> Operator,
    ) -> Vec<Operator> {
        let mut all: Vec<_> = explained.decisions.iter().map(|it| of(it, assumed)).collect();
        let between = assumed.between_workers();
        for switched in &explained.switched {
            let decision = switched::decision(switched, &between.scenario, self.objective);
            let operator = of(&decision, &between);
            all.push(Operator { switched: Some(switched.clone()), ..operator });
        }
        if assumed.switch.is_some() {
            all.extend(switched::nothing(explained).map(|decision| of(&decision, assumed)));
        }
        all
    }
}

/// Returns the assumptions at a point of an axis.
fn at(assumed: &Assumptions, sweep: &Sweep, value: f64) -> Result<Assumptions> {
    let mut there = assumed.clone();
    if let Axis::Constant(knob) = &sweep.axis {
        let set = knob.set(&mut there.scenario, value);
        set.map_err(|error| Failure::new(format!("--sweep {error}")))?;
        there.exact.push(knob.key().to_owned());
        there.uncertainty = there.uncertainty.without([knob.key()]);
    }
    Ok(there)
}

/// Returns settings with this switch. Group-bys and top-k set to `auto` are left to the workers, so that the switch
/// has rows to prune; explicit settings of the session stay.
fn with_switch(engine: &Engine, switch: &str) -> Vec<(&'static str, String)> {
    let left = LEFT_TO_WORKERS.into_iter().filter(|(name, _)| setting(engine, name) == "auto");
    let left = left.map(|(name, way)| (name, way.to_owned()));
    left.chain([(SWITCH, switch.to_owned())]).collect()
}

/// Explains a query under other settings, and restores the previous ones.
async fn explained(
    engine: &Engine,
    statement: &str,
    settings: &[(&'static str, String)],
) -> Result<Explanation> {
    let before: Vec<_> = settings.iter().map(|(name, _)| (*name, setting(engine, name))).collect();
    for (name, value) in settings {
        set(engine, name, value).await?;
    }
    let explained = explain(engine, statement).await;
    for (name, value) in before {
        set(engine, name, value).await?;
    }
    explained?.ok_or_else(|| Failure::new("the statement is no query any more"))
}

/// Returns the value of `sluice.<name>`.
fn setting(engine: &Engine, name: &str) -> String {
    let key = format!("sluice.{name}");
    let state = engine.context().state();
    let found = state.config_options().entries().into_iter().find(|entry| entry.key == key);
    found.and_then(|entry| entry.value).unwrap_or_default()
}
