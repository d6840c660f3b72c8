//! `sluice switch protocol`: simulates reliable delivery through a switch that drops packets.

use std::thread;

use serde_json::Value;
use sluicegate_pruning::protocol::{Config, ConfigError, Link, Query, Reboots, Rules, Tally};

use crate::args::switch::ProtocolArgs;
use crate::failure::{Failure, Result};
use crate::output::listing::{Listing, fraction};

const NOTES: &str = "\
correct, wrong, stuck: runs that end with the right answer, with another, and without any, because a worker
waits for an acknowledgement that never comes. sends per row: entries sent by workers, retransmissions and
second passes included. pruned: entries dropped by the switch; repeated: entries that the master has had
before, and drops; reboots: of the switch. Counted; a run is determined by its seed.
";

pub(super) fn run(args: &ProtocolArgs) -> Result<()> {
    let rules = if args.paper { Rules::paper() } else { Rules::repaired() };
    let queries = Query::ALL
        .into_iter()
        .filter(|query| args.query.as_deref().is_none_or(|q| q == kind(*query)));
    let mut listing = Listing::new(&[
        "query",
        "runs",
        "correct",
        "wrong",
        "stuck",
        "sends per row",
        "pruned",
        "repeated",
        "reboots",
        "first wrong seed",
        "first stuck seed",
    ]);
    let mut failed = Vec::new();
    for query in queries {
        let config = Config {
            workers: args.workers,
            rows: args.rows,
            link: Link {
                loss: args.loss,
                duplication: args.duplication,
                ..Config::new(query, rules).link
            },
            reboots: Reboots::Random { count: args.reboots, until: 400 },
            ..Config::new(query, rules)
        };
        let tally = tally(&config, args.seed, args.runs.get())?;
        let seed = |seed: Option<u64>| seed.map_or(Value::Null, Value::from);
        listing.push(vec![
            name(query).into(),
            tally.runs.into(),
            tally.correct.into(),
            tally.wrong.into(),
            tally.stuck.into(),
            fraction(tally.sends_per_row()),
            tally.pruned.into(),
            tally.repeated.into(),
            tally.reboots.into(),
            seed(tally.first_wrong),
            seed(tally.first_stuck),
        ]);
        if tally.correct < tally.runs {
            failed.push(name(query));
        }
    }
    listing.print(args.format, NOTES)?;
    if !args.paper && !failed.is_empty() {
        return Err(Failure::new(format!("the repaired protocol failed: {}", failed.join(", ")))
            .with_hint("This is a bug: please report it with the command."));
    }
    Ok(())
}

/// Simulates all runs, divided among the cores.
fn tally(config: &Config, first: u64, runs: u64) -> Result<Tally> {
    let end = first.checked_add(runs).ok_or_else(|| {
        Failure::Usage("the last seed would be more than 18446744073709551615".to_owned())
    })?;
    let threads = thread::available_parallelism().map_or(1, |n| n.get() as u64).min(runs);
    let share = runs.div_ceil(threads);
    let outcomes: Vec<Result<Tally, ConfigError>> = thread::scope(|scope| {
        let parts: Vec<_> = (0..threads)
            .map(|part| {
                let seeds = first.saturating_add(part * share).min(end)
                    ..first.saturating_add((part + 1) * share).min(end);
                scope.spawn(move || Tally::run(config, seeds))
            })
            .collect();
        parts.into_iter().filter_map(|part| part.join().ok()).collect()
    });
    let mut total = Tally::default();
    for outcome in outcomes {
        let part = outcome.map_err(|error| Failure::Usage(error.to_string()))?;
        total = total.and(part);
    }
    if total.runs != runs {
        return Err(Failure::new("a run of the simulation came to no end")
            .with_hint("This is a bug: please report it with the command."));
    }
    Ok(total)
}

const fn kind(query: Query) -> &'static str {
    match query {
        Query::HavingMax { .. } => "having",
        other => name(other),
    }
}

const fn name(query: Query) -> &'static str {
    match query {
        Query::Filter { .. } => "filter",
        Query::Distinct => "distinct",
        Query::TopN { .. } => "top-n",
        Query::GroupByMax => "group-by",
        Query::GroupSum { .. } => "group-sum",
        Query::Skyline => "skyline",
        Query::Join => "join",
        Query::HavingMax { .. } => "having-max",
        Query::HavingSum { .. } => "having",
    }
}
