//! `sluice switch trace`: shows the effect of a few packets on every table and register.

use serde_json::Value;
use sluicegate_pruning::Verdict;
use sluicegate_pruning::experiment::route::Route;
use sluicegate_pruning::switch::{Interpreter, Packet};

use super::program;
use crate::args::switch::TraceArgs;
use crate::failure::{Failure, Result};
use crate::output::listing::Listing;

pub(super) fn run(args: &TraceArgs) -> Result<()> {
    let route = Route::default();
    let program = program(args.algorithm, &args.parameters, args.variant, route)?;
    let names: Vec<String> = program.registers.iter().map(|r| r.name.clone()).collect();
    let wide: Vec<bool> = program.registers.iter().map(|r| r.cell.total_bits() > 32).collect();
    let mut interpreter =
        Interpreter::new(program).map_err(|error| Failure::new(error.to_string()))?;
    let mut listing = Listing::new(&[
        "packet", "stage", "table", "action", "fields", "register", "cell", "before", "after",
        "verdict",
    ]);
    for (number, packet) in args.packets.iter().enumerate() {
        let packet = Packet::new(packet.flow, number as u32, packet.values.clone());
        let trace = interpreter.trace(&packet).map_err(|error| {
            Failure::new(format!("packet {number}: {error}"))
                .with_hint("Separate the values of a packet with colons: --packets 1:50,2:60")
        })?;
        for step in &trace.steps {
            let fields: Vec<String> =
                step.writes.iter().map(|(name, value)| format!("{name}={value}")).collect();
            let mut row: Vec<Value> = vec![
                number.into(),
                step.stage.into(),
                step.table.clone().into(),
                step.action.clone().into(),
                fields.join(" ").into(),
            ];
            match step.access {
                Some(access) => {
                    let register = usize::from(access.register.0);
                    let shown = |cell: [u32; 2]| -> Value {
                        match wide.get(register) {
                            Some(true) => format!("{}:{}", cell[0], cell[1]).into(),
                            _ => cell[0].into(),
                        }
                    };
                    row.push(names.get(register).cloned().unwrap_or_default().into());
                    row.push(access.index.into());
                    row.push(shown(access.before));
                    row.push(shown(access.after));
                }
                None => row.extend([Value::Null, Value::Null, Value::Null, Value::Null]),
            }
            row.push(Value::Null);
            listing.push(row);
        }
        let verdicts = trace.verdicts.iter().map(|verdict| match verdict {
            Verdict::Forward => "forward",
            Verdict::Prune => "prune",
        });
        let mut last = vec![Value::from(number)];
        last.resize(9, Value::Null);
        last.push(verdicts.collect::<Vec<_>>().join(" ").into());
        listing.push(last);
    }
    listing.print(args.format, "")
}
