//! `sluice switch theory`: lists every theorem with its numbers.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::Value;
use sluicegate_pruning::theory::{Statement, statements};

use crate::args::switch::TheoryArgs;
use crate::failure::{Failure, Result};
use crate::output::listing::{ListFormat, Listing};

pub(super) fn run(args: &TheoryArgs) -> Result<()> {
    let all = statements();
    let wanted = args.name.as_deref().unwrap_or_default();
    let chosen: Vec<&Statement> = all.iter().filter(|s| s.theorem.starts_with(wanted)).collect();
    if chosen.is_empty() {
        let names: BTreeSet<&str> = all.iter().map(|statement| statement.theorem).collect();
        let names: Vec<&str> = names.into_iter().collect();
        return Err(Failure::new(format!("there is no theorem `{wanted}`"))
            .with_hint(format!("They are {}.", names.join(", "))));
    }
    let exact = |s: &Statement| s.exact.clone().map_or(Value::Null, Value::from);
    if args.format == ListFormat::Table {
        // Each statement is printed once, below the numbers.
        let mut listing = Listing::new(&["theorem", "example", "formula gives", "paper", "exact"]);
        let (mut notes, mut said) = (String::new(), BTreeSet::new());
        for s in &chosen {
            listing.push(vec![
                s.theorem.into(),
                s.inputs.clone().into(),
                s.value.clone().into(),
                s.paper.into(),
                exact(s),
            ]);
            if said.insert(s.theorem) {
                let _ = writeln!(notes, "{} ({}): {}\n  {}", s.theorem, s.place, s.says, s.formula);
            }
        }
        notes += "\nexact: what an exact computation gives where the formula is a bound.\n";
        return listing.print(args.format, &notes);
    }
    let mut listing = Listing::new(&[
        "theorem", "place", "says", "formula", "example", "value", "paper", "exact",
    ]);
    for s in chosen {
        listing.push(vec![
            s.theorem.into(),
            s.place.into(),
            s.says.into(),
            s.formula.into(),
            s.inputs.clone().into(),
            s.value.clone().into(),
            s.paper.into(),
            exact(s),
        ]);
    }
    listing.print(args.format, "")
}
