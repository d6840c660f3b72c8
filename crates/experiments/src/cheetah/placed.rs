//! The resources of programs as `switch dag` and `switch fit --together` print them.

use serde::Deserialize;

/// The resources of a program on a target.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Placed {
    /// `yes`, or `no` with the reason.
    pub(super) fits: String,
    pub(super) stages: Option<u64>,
    #[serde(rename = "stateful ALUs")]
    pub(super) alus: Option<u64>,
    #[serde(rename = "register KiB")]
    pub(super) kibibytes: Option<u64>,
    pub(super) rules: Option<u64>,
}

impl Placed {
    /// Returns the stages, stateful ALUs, KiB of registers and rules as cells; empty ones if it does not fit.
    pub(super) fn cells(&self) -> [String; 4] {
        [self.stages, self.alus, self.kibibytes, self.rules].map(text)
    }
}

/// Returns a number as a cell.
pub(super) fn text(number: Option<u64>) -> String {
    number.map_or_else(String::new, |number| number.to_string())
}
