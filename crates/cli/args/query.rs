//! An algorithm with parameters as one argument: `distinct,w=2,d=1024`.

use std::str::FromStr;

use sluicegate_pruning::algorithm::catalog::{Algorithm, Parameters};

/// An algorithm and its parameters.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct QueryArg {
    pub(crate) algorithm: Algorithm,
    pub(crate) parameters: Parameters,
}

impl FromStr for QueryArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = text.split(',');
        let algorithm = parts.next().unwrap_or_default().trim().parse::<Algorithm>();
        let mut parameters = Parameters::default();
        for part in parts {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let name = match name.trim() {
                "w" => "columns",
                "d" => "rows",
                name => name,
            };
            parameters.set(&name.replace('-', "_"), value.trim())?;
        }
        Ok(Self { algorithm: algorithm.map_err(|error| error.to_string())?, parameters })
    }
}
