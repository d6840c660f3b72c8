//! `sluice model`

mod chart;
mod csv;
mod json;
mod modelled;
mod table;

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use sluicegate_costmodel::Scenario;
use sluicegate_costmodel::uncertainty::Uncertainty;
use sluicegate_costmodel::what_if::{Axis, Sweep, WhatIf};
use sluicegate_engine::Engine;
use sluicegate_engine::choice::Decision;
use sluicegate_engine::config::SluiceOptions;

use self::modelled::{Assumptions, Case, Modelled, Operator, Point, Swept};
use super::embedded::set;
use super::explain::explain;
use super::sql::script;
use crate::args::{ModelArgs, ModelFormat};
use crate::failure::{Failure, Result};
use crate::output::file::Unfinished;
use crate::output::progress::say;
use crate::session::{place, statements};

/// The setting that a sweep of the selectivity changes.
const SELECTIVITY: &str = "selectivity";

pub(crate) async fn run(args: ModelArgs) -> Result<()> {
    let format = format(&args)?;
    let Some(script) = script(&args.statements)? else {
        return Err(Failure::Usage("there is nothing to predict; give a query with -c".to_owned()));
    };
    let file = args.output.as_deref().map(Unfinished::begin).transpose()?;
    let engine = args.connect.connect().await?;
    let scenarios = scenarios(&engine, &args.what_if)?;
    let statements = statements::all(&script);
    let mut all = Vec::new();
    for (index, statement) in statements.iter().enumerate() {
        let modelled = model(&engine, statement, &scenarios, &args).await;
        for note in engine.take_notes() {
            say(&format!("note: {note}"));
        }
        match modelled {
            Ok(modelled) => all.extend(modelled),
            Err(failure) if statements.len() == 1 => return Err(failure),
            Err(failure) => return Err(failure.at(&place(index, statement))),
        }
    }
    if all.is_empty() {
        return Err(Failure::new("there is no query to predict")
            .with_hint("Give one with -c, after the definitions of its tables."));
    }
    let text = match format {
        ModelFormat::Table => {
            let colour = file.is_none() && io::stdout().is_terminal();
            table::write(&all, colour)
        }
        ModelFormat::Csv => csv::write(&all),
        ModelFormat::Json => json::write(&all)?,
        ModelFormat::Svg => chart::svg(&all),
    };
    match file {
        Some(mut file) => {
            file.file().write_all(text.as_bytes())?;
            file.finish()
        }
        None => Ok(io::stdout().write_all(text.as_bytes())?),
    }
}

fn format(args: &ModelArgs) -> Result<ModelFormat> {
    let extension = args.output.as_deref().and_then(Path::extension).and_then(|it| it.to_str());
    let format = match (args.format, extension) {
        (Some(format), _) => format,
        (None, Some("csv")) => ModelFormat::Csv,
        (None, Some("json")) => ModelFormat::Json,
        (None, Some("svg")) => ModelFormat::Svg,
        (None, _) => ModelFormat::Table,
    };
    if format == ModelFormat::Svg && args.sweep.is_empty() {
        return Err(Failure::Usage("a picture needs an axis: --sweep NAME=LOW..HIGH".to_owned()));
    }
    Ok(format)
}

/// What is assumed in turn: what is so, then each what-if.
fn scenarios(engine: &Engine, what_ifs: &[WhatIf]) -> Result<Vec<Assumptions>> {
    let endpoint = engine.endpoint();
    let here = Scenario::new(&endpoint.hardware, &endpoint.prices);
    let mut all = vec![Assumptions {
        what_if: None,
        uncertainty: Uncertainty::of(&here.hardware),
        sources: Vec::new(),
        scenario: here.clone(),
    }];
    for what_if in what_ifs {
        let scenario = what_if.apply(&here);
        let scenario = scenario.map_err(|error| Failure::new(format!("--what-if {error}")))?;
        all.push(Assumptions {
            what_if: Some(what_if.to_string()),
            uncertainty: Uncertainty::of(&scenario.hardware).without(what_if.exact()),
            sources: what_if.sources().collect(),
            scenario,
        });
    }
    Ok(all)
}

/// Models a query; a definition takes effect.
async fn model(
    engine: &Engine,
    statement: &str,
    scenarios: &[Assumptions],
    args: &ModelArgs,
) -> Result<Option<Modelled>> {
    let Some(explanation) = explain(engine, statement).await? else { return Ok(None) };
    let objective = SluiceOptions::of(engine.context().state().config_options()).objective.into();
    let draws = (args.draws, args.seed);
    let mut cases = Vec::new();
    for assumed in scenarios {
        let decisions = explanation.decisions.iter();
        let operators =
            decisions.map(|decision| Operator::of(decision, assumed, objective, draws)).collect();
        cases.push(Case { assumed: assumed.clone(), operators, sweeps: Vec::new() });
    }
    for sweep in &args.sweep {
        // Along all other axes the query stays what it is.
        let mut points = Vec::new();
        for value in &sweep.points {
            let decisions = match sweep.axis {
                Axis::Selectivity => Some(passing(engine, statement, *value).await?),
                _ => None,
            };
            points.push((*value, decisions));
        }
        for case in &mut cases {
            let mut swept = Swept { sweep: sweep.clone(), points: Vec::new() };
            for (value, decisions) in &points {
                let decisions = decisions.as_ref().unwrap_or(&explanation.decisions);
                let assumed = at(&case.assumed, sweep, *value)?;
                let scale = if sweep.axis == Axis::Scale { *value } else { 1.0 };
                let operators = decisions
                    .iter()
                    .map(|decision| Operator::scaled(decision, &assumed, objective, draws, scale))
                    .collect();
                swept.points.push(Point { value: *value, operators });
            }
            case.sweeps.push(swept);
        }
    }
    Ok(Some(Modelled { statement: statement.to_owned(), objective, cases }))
}

/// What is assumed at a point of an axis.
fn at(assumed: &Assumptions, sweep: &Sweep, value: f64) -> Result<Assumptions> {
    let mut there = assumed.clone();
    if let Axis::Constant(knob) = &sweep.axis {
        let set = knob.set(&mut there.scenario, value);
        set.map_err(|error| Failure::new(format!("--sweep {error}")))?;
        there.uncertainty = there.uncertainty.without([knob.key()]);
    }
    Ok(there)
}

/// The decisions about a query if its filters passed this share of the rows.
async fn passing(engine: &Engine, statement: &str, share: f64) -> Result<Vec<Decision>> {
    let before = SluiceOptions::of(engine.context().state().config_options()).selectivity;
    set(engine, SELECTIVITY, share).await?;
    let explained = explain(engine, statement).await;
    set(engine, SELECTIVITY, before).await?;
    Ok(explained?.map(|it| it.decisions).unwrap_or_default())
}
