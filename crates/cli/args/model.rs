//! Arguments of `sluice model`.

use std::num::NonZeroU32;
use std::path::PathBuf;

use sluicegate_costmodel::Rows;
use sluicegate_costmodel::what_if::{Sweep, WhatIf};
use sluicegate_engine::TableSize;

use super::{ConnectArgs, SimulationArgs, StatementArgs};
use crate::output::chart::ChartFormat;

const EXAMPLES: &str = "\
Examples:
  sluice model -c \"SELECT sum(x) FROM 's3://bucket/t.csv' WHERE y < 3\"
      Every way to run its operators: seconds and dollars with the interval that holds four cases of
      five, how likely each is the best, what binds it, and which constants matter most.
  sluice model -f tables.sql -c \"SELECT …\" --what-if bandwidth=10Gbit --what-if store=smart-ssd
      The same on a faster link, and in a store with computational drives.
  sluice model -f tables.sql -c \"SELECT …\" --sweep bandwidth=0.1..100Gbit
      How each way takes more or less time along an axis, as a table and a chart.
  sluice model -f tables.sql -c \"SELECT …\" --sweep selectivity=1e-6..1 --format svg --output s.svg
      The chart as a picture.
  sluice model -f tables.sql -c \"SELECT DISTINCT name FROM t\" --what-if switch=tofino2
      What a switch between workers and a master would save: rows, bytes and seconds without it (`off`) and
      with it (`prune`), for each operator that it can prune for; the session needs no switch.
  sluice model -f tables.sql -c \"SELECT …\" --simulate 200 --stragglers 1%:5 --throttle 5500
      Beside each prediction the median of 200 simulated runs, and the interval of four of five: requests
      wait for slots, first bytes scatter, one in a hundred is slow, and 503 is answered beyond a rate.

  sluice model -c \"SELECT * FROM 's3://tpch/lineitem/' WHERE l_tax = 0\" --hardware paper
      --size s3://tpch/lineitem/=96,7775727688,59986052
      The same for a table of 96 objects, 7.8 GB and 60 million rows, of which a few objects exist.

Axes and what-ifs:
  bandwidth=10Gbit, latency=5ms, connection=50MB/s, slots=64, request-rate=5500, cores=8, workers=4, overlap=0.7,
  store-cores=16, store-rate=1GB/s, get-price=$4e-4, scan-price=$0.002, return-price=$0.0007,
  transfer-price=$0.09, hour-price=$2.128, and any key of a hardware profile or price book; for a
  sweep also scale=0.1..100 (times the data) and selectivity=1e-6..1 (the share that filters pass).
  For a what-if also hardware=NAME, prices=NAME, and devices: store=smart-ssd, link=100gbe,
  instance=r4.8xlarge, switch=tofino2. A wrong name lists the known ones. What one connection gets grows with
  bandwidth and link only where it has all of the link (link=100gbe is 93 Gbit/s of payload); else name
  connection, too. workers are machines like the client, each with its cores, its requests in flight and a link
  of its own, paid by the hour; what they send each other is not counted. slots is the most requests in flight, in predictions and simulated runs. Between workers and a master,
  \"capacities.master rows=5e6\" and the like: worker and master rows, packets and link (bytes), and the
  switch pipeline (packets), all per second. A selectivity is assumed of every filter, whatever statistics
  and indexes say.

Simulated runs let all resources work at once, so without --scatter they are no slower than is predicted, and
faster by what the profile's overlap leaves out; an index's requests may take a wave more.
Along scale as many objects grow. Along a price, and where dollars are to be few, a sweep shows dollars.

Schemas, listings and statistics are read from the store; queries do not run. All numbers are
modelled. `*` is the way that would be taken: by time, the cheapest of those that take at most 5 % longer
than the fastest. `+` ways are on the Pareto front: nothing is both faster and cheaper.";

/// Predict what every way to run a query takes here, and would take elsewhere
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ModelArgs {
    #[command(flatten)]
    pub(crate) statements: StatementArgs,
    /// Predict it with other constants or devices, too; may be repeated. Several with commas between
    /// them change together
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) what_if: Vec<WhatIf>,
    /// Predict it on so many machines like this one, too, each with a link of its own: as --what-if workers=N
    #[arg(long, value_name = "N", value_parser = machines)]
    pub(crate) workers: Option<NonZeroU32>,
    /// Predict it along an axis, too, at 13 points or at N with `/N`; may be repeated
    #[arg(long, value_name = "NAME=LOW..HIGH[/N]")]
    pub(crate) sweep: Vec<Sweep>,
    /// Predict it for a table of another size than it has; may be repeated. The URL is that of an object, or of a
    /// folder with a slash at the end. Values are distributed as in the objects that exist
    #[arg(long, value_name = "URL=OBJECTS,BYTES,ROWS", value_parser = table_size)]
    pub(crate) size: Vec<TableSize>,
    /// Number of draws of the uncertain constants for an interval
    #[arg(long, default_value_t = 1000, value_name = "N",
          allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(10..=1_000_000))]
    pub(crate) draws: u32,
    /// Seed of the draws and of simulated runs: the same one gives the same numbers
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) simulation: SimulationArgs,
    /// How predictions are written [default: by the extension of --output, else table]
    #[arg(long, value_enum)]
    pub(crate) format: Option<ChartFormat>,
    /// Write the predictions to a file, which appears when it is complete
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) connect: ConnectArgs,
}

/// Parses a number of machines. Other commands have a `--workers` that takes URLs, so the error explains the number.
fn machines(text: &str) -> Result<NonZeroU32, String> {
    text.trim().parse().map_err(|_| {
        format!("`{text}` is not how many machines: write a whole number of at least 1, such as 4")
    })
}

/// Parses the size of a table.
fn table_size(text: &str) -> Result<TableSize, String> {
    read_size(text).ok_or_else(|| {
        format!(
            "`{text}` is not a size such as s3://bucket/folder/=96,7.2GiB,59986052: a URL, up to {MOST_OBJECTS} \
             objects, their bytes and their rows"
        )
    })
}

fn read_size(text: &str) -> Option<TableSize> {
    let (url, numbers) = text.rsplit_once('=')?;
    let numbers: Vec<&str> = numbers.split(',').map(str::trim).collect();
    let [objects, bytes, rows] = numbers.as_slice() else { return None };
    let objects: u32 = objects.parse().ok()?;
    let (bytes, rows) = (bytes.parse().ok()?, Rows(rows.parse().ok()?));
    let is_sound = url.starts_with("s3://") && (1..=MOST_OBJECTS).contains(&objects);
    is_sound.then(|| TableSize { url: url.to_owned(), objects, bytes, rows })
}

/// The most objects of a declared table.
const MOST_OBJECTS: u32 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_a_url_and_three_numbers() {
        let size = table_size("s3://b/t=1/=96,1KiB, 59986052").unwrap();
        assert_eq!((size.url.as_str(), size.objects), ("s3://b/t=1/", 96));
        assert_eq!((size.bytes.0, size.rows.0), (1024, 59_986_052));
        for wrong in
            ["", "s3://b/t/", "s3://b/t/=1,2", "t=1,2,3", "s3://b/t/=0,1,1", "s3://b/t/=1,x,1"]
        {
            assert!(table_size(wrong).is_err(), "{wrong}");
        }
    }

    /// Parses every axis and what-if that the help text names.
    #[test]
    fn examples_are_read() {
        let (_, named) = EXAMPLES.split_once("Axes and what-ifs:").unwrap();
        let mut read = 0;
        for word in named.split_whitespace() {
            let word = word.trim_matches(['.', ',', ';', '(', ')']);
            let Some((_, value)) = word.split_once('=') else { continue };
            // A quoted name of a constant has several words.
            if value == "NAME" || word.contains('"') {
                continue;
            }
            if value.contains("..") {
                assert!(word.parse::<Sweep>().is_ok(), "{word}");
            } else if let Err(error) = word.parse::<WhatIf>() {
                panic!("{word}: {error}");
            }
            read += 1;
        }
        assert!(read >= 18, "{read}");
    }
}
