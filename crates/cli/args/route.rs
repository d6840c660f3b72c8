//! The arguments that choose the route of entries through the switch.

use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use sluicegate_pruning::experiment::route::{Lanes, Route};

/// The route of entries through the switch.
#[derive(Debug, Clone, Copy, clap::Args)]
#[command(next_help_heading = "Route")]
pub(crate) struct RouteArgs {
    /// Entries in a packet. A matrix is divided among them, so that it takes no more memory
    #[arg(long, default_value = "1", value_name = "N", value_parser = per_packet())]
    per_packet: u8,
    /// Which part of the matrix an entry of a packet of several uses
    #[arg(long, value_enum, default_value_t)]
    lanes: LanesArg,
    /// Put a DISTINCT of 4096 × 2 keys behind `having`, which lets each key through once
    #[arg(long, conflicts_with = "per_packet")]
    then_distinct: bool,
}

/// The choice of an entry's part of a matrix.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum LanesArg {
    /// That of its position: a key passes once in each part
    #[default]
    Position,
    /// That of its hash: two entries of a packet with the same part pass unprocessed but for the first
    Hash,
}

fn per_packet() -> impl TypedValueParser<Value = u8> {
    PossibleValuesParser::new(["1", "2", "4", "8"]).try_map(|text| text.parse::<u8>())
}

impl RouteArgs {
    /// Returns the route.
    pub(crate) const fn route(self) -> Route {
        let lanes = match self.lanes {
            LanesArg::Position => Lanes::Position,
            LanesArg::Hash => Lanes::Hash,
        };
        Route { per_packet: self.per_packet, lanes, then_distinct: self.then_distinct }
    }
}
