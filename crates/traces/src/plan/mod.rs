//! Plans of engines that run pipelines, with the measured work of their operators.

mod cut;
mod wall;

use sluicegate_costmodel::storage::OperatorKind;

pub(crate) use self::cut::stages;
pub(crate) use self::wall::Wall;

/// The most seconds or bytes; more are an error (as in [`sluicegate_costmodel::storage::StageGraph`]).
const MOST: f64 = 1e18;

/// The class of an operator in the model of stages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// A scan of a table.
    Scan,
    /// A filter or projection. It counts for a scan if no other operator is in between.
    FilterProject,
    /// An operator that passes its rows on unchanged.
    HandsOn,
    /// Any other operator.
    Other,
}

/// An operator of a plan that has run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Operator {
    /// The title of the operator.
    pub(crate) title: String,
    /// True if the operator appears in a stage's name only if the stage has no other.
    pub(crate) is_minor: bool,
    pub(crate) work: Work,
    /// Its kind in counts; `None` if it is not counted.
    pub(crate) kind: Option<OperatorKind>,
    /// The seconds that all threads spent in it, without its inputs.
    pub(crate) seconds: f64,
    /// The bytes that it read from storage.
    pub(crate) read_bytes: f64,
    /// The bytes of the rows it returned.
    pub(crate) result_bytes: f64,
    /// True if it consumes its whole input before it returns its first row.
    pub(crate) gathers: bool,
    pub(crate) inputs: Vec<Input>,
    /// The label of the rows in another part of the plan that it reads.
    pub(crate) takes: Option<String>,
}

/// An input of an operator.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Input {
    pub(crate) operator: Operator,
    /// True if the operator needs all of it before it reads other inputs.
    pub(crate) first: bool,
    /// The label by which operators elsewhere read its rows.
    pub(crate) label: Option<String>,
}

impl Input {
    /// Creates an input whose rows are read one by one.
    pub(crate) fn streamed(operator: Operator) -> Self {
        Self { operator, first: false, label: None }
    }

    /// Creates an input that is needed before others.
    pub(crate) fn first(operator: Operator) -> Self {
        Self { operator, first: true, label: None }
    }
}

/// Checks a number of seconds or bytes.
///
/// # Errors
///
/// If it is negative, beyond 1e18 or not a number.
pub(crate) fn amount(number: f64) -> Result<f64, String> {
    if (0.0..=MOST).contains(&number) {
        return Ok(number);
    }
    Err(format!("is {number}, but must be between 0 and 1e18"))
}
