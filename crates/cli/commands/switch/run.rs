//! `sluice switch run`: sends a stream through an algorithm and counts the pruned entries.

use serde_json::Value;
use sluicegate_pruning::algorithm::catalog::{Algorithm, Configured, PacketContents, Parameters};
use sluicegate_pruning::algorithm::join::{BUILD_A, PROBE_B};
use sluicegate_pruning::experiment::trial::{self, Run, Trial};

use super::bigdata;
use super::input::Layout;
use crate::args::switch::{InputArgs, RunArgs, Variant, Workload};
use crate::failure::{Failure, Result};
use crate::output::listing::{Listing, fraction};
use crate::output::progress::print_line;

const HEADER: [&str; 2] = ["algorithm", "variant"];
/// The columns of the counts of a stream.
const COUNTED: [&str; 6] =
    ["entries", "forwarded", "forwarded_share", "optimum", "optimum_share", "answer"];
/// The column of `--check`.
const CHECKED: &str = "checked";
const NOTES: &str = "\
forwarded: entries that the switch lets through; optimum: those that a pruner without limits would let
through; share: of all entries. Counted. answer: over what was forwarded, against that over everything that
was sent.
";
const CHECKED_NOTE: &str = "checked: the first entries, for which fast path and program agreed.\n";

pub(super) fn run(args: &RunArgs) -> Result<()> {
    let Some(algorithm) = args.algorithm else {
        return match args.workload {
            Some(Workload::Bigdata) => bigdata::run(args),
            None => Err(Failure::Usage("give an --algorithm or a --workload".to_owned())),
        };
    };
    let given = args.parameters.parameters();
    let configured = configure(algorithm, &given, args.variant)?;
    let (stream, key_words) = stream(algorithm, &configured, args.variant, &args.input)?;
    let is_join = algorithm.entry().carries == PacketContents::KeyOfEither;
    let (keep, held, checked) = match args.variant {
        Variant::Paper => {
            let mut pruner = configured.pruner();
            let keep = trial::through_fast_path(pruner.as_mut(), &stream)?;
            let checked = args.check.map(|n| trial::check_first(&configured, &stream, n));
            (keep, pruner.group_sums(), checked.transpose()?)
        }
        Variant::Released => {
            if args.check.is_some() {
                return Err(Failure::Usage(
                    "the released programs have no fast path to check".to_owned(),
                ));
            }
            let program = algorithm.released(&given)?;
            (trial::through_program(program, &as_released(&stream, is_join))?, Vec::new(), None)
        }
    };
    let trial =
        trial::judge_with(configured.question().as_ref(), &stream, (&keep, &held), key_words);
    let mut listing = Listing::new(&header(&HEADER, args.check.is_some()));
    let variant = match args.variant {
        Variant::Paper => "paper",
        Variant::Released => "released",
    };
    let mut line = vec![algorithm.name().into(), variant.into()];
    line.extend(counted(&trial));
    line.extend(checked.map(Value::from));
    listing.push(line);
    listing.print(args.format, &notes(NOTES, args.check.is_some()))
}

/// Returns the columns of a listing: `first`, then the counts.
pub(super) fn header(first: &[&'static str], check: bool) -> Vec<&'static str> {
    first.iter().copied().chain(COUNTED).chain(check.then_some(CHECKED)).collect()
}

/// Returns the notes below a table.
pub(super) fn notes(notes: &str, check: bool) -> String {
    let checked = if check { CHECKED_NOTE } else { "" };
    format!("{notes}{checked}")
}

/// Configures the algorithm that judges the answer. A released program has fixed sizes, so only the parameters of its
/// query are taken.
fn configure(algorithm: Algorithm, given: &Parameters, variant: Variant) -> Result<Configured> {
    match variant {
        Variant::Paper => Ok(algorithm.configure(given)?),
        Variant::Released => {
            // The released program checks the ranges of the parameters.
            algorithm.released(given)?;
            let asked =
                Parameters { threshold: given.threshold, n: given.n, ..Parameters::default() };
            Ok(algorithm.configure(&asked)?)
        }
    }
}

/// Returns the entries in the form that the algorithm's packets carry, and the number of words of their keys.
pub(super) fn stream(
    algorithm: Algorithm,
    configured: &Configured,
    variant: Variant,
    input: &InputArgs,
) -> Result<(Vec<Run>, usize)> {
    let (words, entry) = (configured.pruner().values(), algorithm.entry());
    let all_key_words = entry.carries.key_words(words);
    let values = words - all_key_words;
    // The released DISTINCT takes keys of 64 bits; the other released programs take 32 bits.
    let key_words = if variant == Variant::Released && algorithm != Algorithm::Distinct {
        all_key_words.min(1)
    } else {
        all_key_words
    };
    // Values that are compared with a constant or added up are sent unencoded.
    let plain = entry.takes("threshold") || configured.holds();
    let layout = Layout { key_words, values, plain };
    let Some(source) = &input.input else {
        return Err(Failure::Usage("give the entries with --input".to_owned()));
    };
    let loaded = source.load(&input.column, layout, 0)?;
    let mut nulls = loaded.nulls;
    let is_join = entry.carries == PacketContents::KeyOfEither;
    let stream = match (&input.probe, is_join) {
        (Some(probe), true) => {
            let names =
                if input.probe_column.is_empty() { &input.column } else { &input.probe_column };
            let probed = probe.load(names, layout, 1)?;
            nulls += probed.nulls;
            vec![
                Run { flow: BUILD_A, columns: loaded.columns },
                Run { flow: PROBE_B, columns: probed.columns },
            ]
        }
        (None, true) => {
            return Err(Failure::Usage("a join needs the other table with --probe".to_owned()));
        }
        (Some(_), false) => {
            return Err(Failure::Usage(format!("{algorithm} has one table; --probe is for joins")));
        }
        (None, false) => vec![Run { flow: 0, columns: loaded.columns }],
    };
    if nulls > 0 {
        print_line(&format!("{nulls} rows with a NULL bypass the switch"));
    }
    Ok((stream, key_words))
}

/// Converts a stream to the form that the released programs parse: their joins number the flows from 1 and carry a
/// value that nothing reads.
fn as_released(stream: &[Run], join: bool) -> Vec<Run> {
    if !join {
        return stream.to_vec();
    }
    let with_value = |(flow, run): (u16, &Run)| {
        let mut columns = run.columns.clone();
        columns.push(vec![0; run.len()]);
        Run { flow, columns }
    };
    (1..).zip(stream).map(with_value).collect()
}

/// Returns the counts of a stream, in the order of [`COUNTED`].
pub(super) fn counted(trial: &Trial) -> [Value; COUNTED.len()] {
    [
        trial.entries.into(),
        trial.forwarded.into(),
        fraction(trial.unpruned()),
        trial.optimum.into(),
        fraction(trial.optimal()),
        trial.effect.to_string().into(),
    ]
}
