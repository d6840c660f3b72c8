//! `sluice switch fit`: shows the resources that algorithms take of a switch.

use std::fmt::Write as _;

use serde_json::Value;
use sluicegate_pruning::algorithm::catalog::Algorithm;
use sluicegate_pruning::experiment::table2::{self, Row};
use sluicegate_pruning::switch::{Misfit, Placement, Target, fit};

use super::{program, target, together, with_protocol};
use crate::args::switch::FitArgs;
use crate::failure::{Failure, Result};
use crate::output::listing::{ListFormat, Listing};

const HEADER: [&str; 16] = [
    "algorithm",
    "guarantee",
    "defaults",
    "paper: stages",
    "ALUs",
    "SRAM KiB",
    "TCAM",
    "ours: stages",
    "stateful ALUs",
    "register KiB",
    "TCAM entries",
    "rules",
    "metadata bits",
    "fits",
    "parameters",
    "why they differ",
];
/// The columns that follow as notes in a table.
const LONG: usize = 2;

pub(super) fn run(args: &FitArgs) -> Result<()> {
    let target = target(&args.target)?;
    match args.algorithm {
        Some(algorithm) => {
            let route = args.route.route();
            let program = program(algorithm, &args.parameters, args.variant, route)?;
            let program = with_protocol(program, algorithm, args.workers)?;
            one(&fit(&program, &target), &program.name, &target, args)
        }
        None if args.parameters.parameters() != Default::default()
            || args.route.route() != Default::default() =>
        {
            Err(Failure::Usage(
                "parameters and routes are those of one algorithm; name it with --algorithm"
                    .to_owned(),
            ))
        }
        None if !args.together.is_empty() => together::run(args, &target),
        None => all(&target, args.format),
    }
}

pub(super) fn reasons(misfits: &[Misfit]) -> String {
    misfits.iter().map(Misfit::to_string).collect::<Vec<_>>().join("; ")
}

/// Prints one program, stage by stage.
fn one(
    placed: &Result<Placement, Vec<Misfit>>,
    name: &str,
    target: &Target,
    args: &FitArgs,
) -> Result<()> {
    let placement = placed.as_ref().map_err(|misfits| {
        Failure::new(format!("{name} does not fit {}: {}", target.name, reasons(misfits)))
            .with_hint("Take fewer columns or rows, or another --target.")
    })?;
    let mut listing = Listing::new(&[
        "stage",
        "tables",
        "stateful ALUs",
        "SRAM blocks",
        "TCAM blocks",
        "gateways",
        "hash bits",
    ]);
    for (number, stage) in placement.stages.iter().enumerate() {
        listing.push(vec![
            number.into(),
            stage.tables.join(", ").into(),
            stage.stateful_alus.into(),
            stage.sram_blocks.into(),
            stage.tcam_blocks.into(),
            stage.gateways.into(),
            stage.hash_bits.into(),
        ]);
    }
    let notes = format!(
        "{name} on {}: {} of {} stages, {} stateful ALUs, {} KiB of registers, {} SRAM and {} TCAM \
         blocks, {} PHV bits ({} of metadata), {} rules. Modelled.\n{}",
        target.name,
        placement.stages.len(),
        target.stages,
        placement.stateful_alus(),
        placement.register_bits / 8 / 1024,
        placement.sram_blocks(),
        placement.tcam_blocks(),
        placement.phv_bits,
        placement.metadata_bits,
        placement.exact_entries + placement.ternary_entries,
        beside_protocol(placement, target, args.workers),
    );
    listing.print(args.format, &notes)
}

/// Reports whether a program fits beside the paper's protocol; empty if the program includes ours.
fn beside_protocol(placement: &Placement, target: &Target, workers: Option<u16>) -> String {
    if workers.is_some() {
        return String::new();
    }
    let (needed, left) = (placement.stages.len(), table2::beside_protocol(target));
    let fits = if needed > left { "does not fit" } else { "fits" };
    format!(
        "It {fits} the {left} stages that are left beside the protocol of the paper, which takes {}; \
         --workers places ours with it.\n",
        table2::PROTOCOL_STAGES
    )
}

/// Prints the paper's Table 2 beside our numbers, the golden counts, and the programs that fit together.
fn all(target: &Target, format: ListFormat) -> Result<()> {
    let rows = table2::rows(target)?;
    if format == ListFormat::Table {
        // In a table, the reasons follow the numbers as notes.
        let mut listing = Listing::new(&HEADER[..HEADER.len() - LONG]);
        rows.iter().for_each(|row| listing.push(line(row)));
        return listing.print(format, &notes(&rows, target)?);
    }
    let mut listing = Listing::new(&HEADER);
    for row in &rows {
        let mut line = line(row);
        line.extend([parameters(row.algorithm).into(), row.reason.into()]);
        listing.push(line);
    }
    listing.print(format, "")
}

fn line(row: &Row) -> Vec<Value> {
    let paper = |number: &dyn Fn(&sluicegate_pruning::theory::Demand) -> u64| {
        row.paper.as_ref().map_or(Value::Null, |demand| number(demand).into())
    };
    let ours = |number: &dyn Fn(&Placement) -> u64| {
        row.placed.as_ref().map_or(Value::Null, |placement| number(placement).into())
    };
    vec![
        row.algorithm.name().into(),
        row.algorithm.entry().guarantee.name().into(),
        row.defaults.into(),
        paper(&|demand| demand.stages),
        paper(&|demand| demand.alus),
        paper(&|demand| demand.sram_bits.div_ceil(8 * 1024)),
        paper(&|demand| demand.tcam_entries),
        ours(&|placement| placement.stages.len() as u64),
        ours(&|placement| placement.stateful_alus() as u64),
        ours(&|placement| placement.register_bits.div_ceil(8 * 1024)),
        ours(&|placement| placement.ternary_entries as u64),
        ours(&|placement| (placement.exact_entries + placement.ternary_entries) as u64),
        ours(&|placement| placement.metadata_bits as u64),
        match &row.placed {
            Ok(_) => "yes".into(),
            Err(misfits) => format!("no: {}", reasons(misfits.get(..1).unwrap_or_default())).into(),
        },
    ]
}

/// Returns the meaning of the parameters w, d and H, as in the paper's appendix A.1.
fn parameters(algorithm: Algorithm) -> String {
    let letter = |name| match name {
        "columns" => Some("w"),
        "rows" => Some("d"),
        "hashes" => Some("H"),
        "n" => Some("N"),
        "dimensions" => Some("D"),
        _ => None,
    };
    let takes = algorithm.entry().parameters.iter();
    let meanings = takes.filter_map(|it| Some(format!("{}: {}", letter(it.name)?, it.is)));
    meanings.collect::<Vec<_>>().join("; ")
}

fn notes(rows: &[Row], target: &Target) -> Result<String> {
    let mut text = format!(
        "guarantee: of an unchanged answer, as in the paper's appendix A.1; DISTINCT is exact for keys that packets \
         carry whole.\n\
         Ours on {} ({} stages): modelled by placing the program. The paper's: table 2 (published, \
         its formulas restored).\n\nThe paper's formulas, and why ours differ:\n",
        target.name, target.stages
    );
    for row in rows {
        let _ = match row.formulas {
            Some([stages, alus, sram, tcam]) => writeln!(
                text,
                "  {}: stages {stages}, ALUs {alus}, SRAM {sram}, TCAM {tcam}.\n    {}",
                row.algorithm, row.reason
            ),
            None => writeln!(text, "  {}:\n    {}", row.algorithm, row.reason),
        };
    }
    text += "\nStages measured with the open Tofino compiler (Tofino 1), and ours:\n";
    let golden = table2::golden()?;
    for golden in &golden {
        let ours = match &golden.placed {
            Ok(placement) => placement.stages.len().to_string(),
            Err(misfits) => reasons(misfits),
        };
        let reason = if golden.difference.is_some() { "; see below" } else { "" };
        let _ = writeln!(
            text,
            "  {}: measured {}, ours {ours}{reason}",
            golden.design, golden.measured
        );
    }
    let reasons = golden.iter().filter_map(|golden| Some(golden.difference.as_ref()?.reason));
    for reason in reasons.collect::<std::collections::BTreeSet<_>>() {
        let _ = writeln!(text, "  {reason}");
    }
    text += "  More than 12 stages are refused.\n";
    let left = table2::beside_protocol(target);
    let over: Vec<&str> = rows
        .iter()
        .filter(|row| row.placed.as_ref().is_ok_and(|placed| placed.stages.len() > left))
        .map(|row| row.algorithm.name())
        .collect();
    let over = if over.is_empty() { "none".to_owned() } else { over.join(", ") };
    let _ = writeln!(
        text,
        "\nBeside the paper's protocol, which takes {} stages (published), {left} are left. Of what fits, this \
         needs more: {over}.",
        table2::PROTOCOL_STAGES
    );
    let _ =
        writeln!(text, "\nThe largest that fits {} alone, from the defaults down:", target.name);
    for row in rows.iter().filter(|row| row.placed.is_err()) {
        let _ = match table2::largest_fitting(row.algorithm, target) {
            Some((given, placement)) => writeln!(
                text,
                "  {}: {} in {} stages",
                row.algorithm,
                size(&given),
                placement.stages.len()
            ),
            None => writeln!(text, "  {}: none", row.algorithm),
        };
    }
    let _ =
        writeln!(text, "\nTogether on one {}, each as large as the room left allows:", target.name);
    match table2::together(target) {
        Some(together) => {
            for (algorithm, given) in &together.queries {
                let _ = writeln!(text, "  {algorithm}: {}", size(given));
            }
            for algorithm in &together.left_out {
                let _ = writeln!(text, "  {algorithm}: no room");
            }
            let placement = &together.placement;
            let _ = writeln!(
                text,
                "  {} stages, {} stateful ALUs, {} KiB of registers (found greedily)",
                placement.stages.len(),
                placement.stateful_alus(),
                placement.register_bits / 8 / 1024
            );
        }
        None => text += "  nothing\n",
    }
    text += "  --together places queries that you choose, also with ALUs that they share.\n";
    Ok(text)
}

fn size(given: &sluicegate_pruning::algorithm::catalog::Parameters) -> String {
    match (given.columns, given.rows) {
        (Some(columns), _) => format!("w = {columns}"),
        (None, Some(rows)) => format!("d = {rows}"),
        (None, None) => "the paper's defaults".to_owned(),
    }
}
