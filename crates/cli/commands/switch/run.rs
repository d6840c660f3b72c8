//! `sluice switch run`: sends a stream through an algorithm and counts the pruned entries.

use serde_json::Value;
use sluicegate_pruning::algorithm::catalog::{Algorithm, Configured, PacketContents, Parameters};
use sluicegate_pruning::algorithm::join::{BUILD_A, PROBE_B};
use sluicegate_pruning::experiment::route::{Route, Sent};
use sluicegate_pruning::experiment::trial::{self, Run, Trial};

use super::decimals::{PlainValues, in_unit, threshold};
use super::input::Layout;
use super::workload;
use crate::args::switch::{InputArgs, RunArgs, Variant};
use crate::failure::{Failure, Result};
use crate::output::listing::{Listing, fraction};
use crate::output::progress::print_line;

const HEADER: [&str; 2] = ["algorithm", "variant"];
/// The columns of the counts of a stream.
const COUNTED: [&str; 6] =
    ["entries", "forwarded", "forwarded_share", "optimum", "optimum_share", "answer"];
/// The columns of packets with several entries.
const PACKETS: [&str; 3] = ["entries_per_packet", "packets", "forwarded_packets"];
/// The column of `--check`.
const CHECKED: &str = "checked";
const NOTES: &str = "\
forwarded: entries that the switch lets through; optimum: those that a pruner without limits would let
through; share: of all entries. Counted. answer: over what was forwarded, against that over everything that
was sent.
";
const PACKETS_NOTE: &str = "\
packets: of entries_per_packet entries each; forwarded_packets: those with an entry that is not pruned.
";
const CHECKED_NOTE: &str = "checked: the first entries, for which fast path and program agreed.\n";

pub(super) fn run(args: &RunArgs) -> Result<()> {
    let Some(algorithm) = args.algorithm else {
        return workload::run(args);
    };
    let route = args.route.route();
    let LoadedStream { stream, key_words, given, .. } =
        load(algorithm, &args.parameters.parameters(), args.variant, &args.input)?;
    let configured = configure(algorithm, &given, args.variant)?;
    let (sent, checked) = match args.variant {
        Variant::Paper => {
            let sent = route.send(algorithm, &given, &stream)?;
            let checked = args.check.map(|n| match route == Route::default() {
                // This also compares the registers.
                true => Ok(trial::check_first(&configured, &stream, n)?),
                false => route.check_first(algorithm, &given, &stream, n),
            });
            (sent, checked.transpose()?)
        }
        Variant::Released => {
            if args.check.is_some() || route != Route::default() {
                return Err(Failure::Usage(
                    "the released programs have no fast path to check, and single entries in packets".to_owned(),
                ));
            }
            let program = algorithm.released(&given)?;
            let is_join = algorithm.entry().carries == PacketContents::KeyOfEither;
            let keep = trial::through_program(program, &as_released(&stream, is_join))?;
            (Sent { keep, held: Vec::new(), packets: 0, forwarded_packets: 0 }, None)
        }
    };
    let verdicts = (sent.keep.as_slice(), sent.held.as_slice());
    let trial = trial::judge_with(configured.question().as_ref(), &stream, verdicts, key_words);
    let several = route.per_packet > 1;
    let mut header = header(&HEADER, false);
    header.extend(PACKETS.into_iter().filter(|_| several));
    header.extend(args.check.map(|_| CHECKED));
    let mut listing = Listing::new(&header);
    let variant = match args.variant {
        Variant::Paper => "paper",
        Variant::Released => "released",
    };
    let mut line = vec![algorithm.name().into(), variant.into()];
    line.extend(counted(&trial));
    if several {
        let Sent { packets, forwarded_packets, .. } = sent;
        line.extend([route.per_packet.into(), packets.into(), forwarded_packets.into()]);
    }
    line.extend(checked.map(Value::from));
    listing.push(line);
    let packets = if several { PACKETS_NOTE } else { "" };
    listing.print(args.format, &notes(&format!("{NOTES}{packets}"), args.check.is_some()))
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

/// A stream with the parameters for it.
pub(super) struct LoadedStream {
    /// The entries in the form that the algorithm's packets carry.
    pub(super) stream: Vec<Run>,
    /// The number of words of their keys.
    pub(super) key_words: usize,
    /// The parameters, with the threshold in the unit of the values.
    pub(super) given: Parameters,
    /// The decimals of the values.
    pub(super) decimals: u32,
}

/// Reads or generates the entries of an algorithm.
pub(super) fn load(
    algorithm: Algorithm,
    given: &Parameters,
    variant: Variant,
    input: &InputArgs,
) -> Result<LoadedStream> {
    let configured = configure(algorithm, given, variant)?;
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
    let plain = (entry.takes("threshold") || configured.holds()).then(|| PlainValues {
        threshold: threshold(algorithm, given).unwrap_or(0),
        decimals: input.decimals.map(u32::from),
        rounds_up: algorithm == Algorithm::Having,
    });
    if plain.is_none() && input.decimals.is_some() {
        return Err(Failure::Usage(format!(
            "{algorithm} compares values only with each other; --decimals is for a --threshold or a sum"
        )));
    }
    let layout = Layout { key_words, values, plain };
    let Some(source) = &input.input else {
        return Err(Failure::Usage("give the entries with --input".to_owned()));
    };
    let loaded = source.load(&input.column, layout, 0)?;
    let (mut nulls, decimals) = (loaded.nulls, loaded.decimals);
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
    let given = in_unit(algorithm, given, decimals)?;
    Ok(LoadedStream { stream, key_words, given, decimals })
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
