//! Arguments of `sluice switch topology` and `sluice switch dag`.

use std::str::FromStr;

use sluicegate_pruning::algorithm::catalog::Algorithm;

use super::QueryArg;
use super::parameters::{ParameterArgs, of_each};
use super::switch::InputArgs;
use crate::output::listing::ListFormat;

const TOPOLOGY_EXAMPLES: &str = "\
Examples:
  sluice switch topology --algorithm distinct --input generated:zipf:keys=50000
      One switch, and trees of two, four and eight switches with one more before the master.
  sluice switch topology --algorithm group-by --leaves 0,4 -w 2 \\
      --input visits.csv --column userAgent,adRevenue --format json

The rows are divided among the leaves, each of which prunes its part. The root prunes what the leaves forward,
which is sound because pruning twice is. Every switch has the memory that the parameters state, so a tree
has more in all. JOIN and HAVING with a sum are refused: they must process every entry in one switch.";

/// Measure several switches: a tree that prunes at its leaves and again before the master
#[derive(Debug, clap::Args)]
#[command(after_help = TOPOLOGY_EXAMPLES)]
pub(crate) struct TopologyArgs {
    /// The algorithm of every switch, by the name in `sluice switch fit`
    #[arg(long, long_help = of_each())]
    pub(crate) algorithm: Algorithm,
    /// Leaf switches below the one before the master, separated by commas; 0 is that switch alone
    #[arg(long, value_delimiter = ',', default_value = "0,2,4,8", value_name = "NUMBERS",
          value_parser = clap::value_parser!(u16).range(0..=1024))]
    pub(crate) leaves: Vec<u16>,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) parameters: ParameterArgs,
    /// How the rows are printed
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: ListFormat,
}

const DAG_EXAMPLES: &str = "\
Examples:
  sluice switch dag 1-3=filter 2-3=filter 3-4=group-by,w=4,d=1024
      Workers 1 and 2 filter for worker 3, which groups for worker 4.
  sluice switch dag 1-2=distinct,w=2,key_bits=32 2-3=top-n-randomized,d=600,w=12 --target tofino2

Each edge between two workers has a port, by which the switch recognizes its packets, and a part of the
pipeline for its program. Parameters are those of --algorithm in the other commands: w, d, n, threshold, …";

/// Place the programs of a graph of workers on one switch: the resources of each edge, and of all
#[derive(Debug, clap::Args)]
#[command(after_help = DAG_EXAMPLES)]
pub(crate) struct DagArgs {
    /// The edges: the numbers of two workers, and the algorithm between them with its parameters
    #[arg(required = true, value_name = "FROM-TO=ALGORITHM[,NAME=VALUE]…")]
    pub(crate) edges: Vec<EdgeArg>,
    /// tofino1, tofino2, paper, or a TOML file
    #[arg(long, default_value = "tofino1", value_name = "NAME|FILE")]
    pub(crate) target: String,
    /// How the rows are printed
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: ListFormat,
}

/// An edge as an argument.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EdgeArg {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) query: QueryArg,
}

impl FromStr for EdgeArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || format!("`{text}` is not an edge such as 1-2=distinct,w=2,d=1024");
        let (workers, query) = text.split_once('=').ok_or_else(error)?;
        let (from, to) = workers.split_once('-').ok_or_else(error)?;
        let worker = |text: &str| text.trim().parse().map_err(|_| error());
        Ok(Self { from: worker(from)?, to: worker(to)?, query: query.parse()? })
    }
}

#[cfg(test)]
mod tests {
    use sluicegate_pruning::algorithm::catalog::Parameters;

    use super::*;

    #[test]
    fn edges_are_read_from_text() {
        let edge: EdgeArg = "1-2=distinct,w=3,d=64,key-bits=32".parse().unwrap();
        let parameters = Parameters {
            columns: Some(3),
            rows: Some(64),
            key_bits: Some(32),
            ..Parameters::default()
        };
        let query = QueryArg { algorithm: Algorithm::Distinct, parameters };
        assert_eq!(edge, EdgeArg { from: 1, to: 2, query });
        for wrong in
            ["", "1-2", "1=filter", "a-2=filter", "1-2=sort", "1-2=filter,x=1", "1-2=filter,w"]
        {
            assert!(wrong.parse::<EdgeArg>().is_err(), "{wrong}");
        }
    }
}
