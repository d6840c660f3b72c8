//! Plans of engines that run pipelines, as what their operators did.

mod cut;
mod wall;

pub(crate) use self::cut::stages;
pub(crate) use self::wall::Wall;

/// More seconds or bytes are a mistake (as in [`sluicegate_costmodel::storage::StageGraph`]).
const MOST: f64 = 1e18;

/// What an operator is to the model of stages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// Reads a table.
    Scan,
    /// A filter or projection: of the rows of a scan, if nothing else is between them.
    FilterProject,
    /// Hands on the rows that it is given.
    HandsOn,
    /// Anything else.
    Other,
}

/// An operator of a plan that has run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Operator {
    /// What it is called.
    pub(crate) title: String,
    /// Whether a stage is called by it only if there is nothing else in it.
    pub(crate) is_minor: bool,
    pub(crate) work: Work,
    /// Seconds that threads spent in it, without its inputs, over all threads.
    pub(crate) seconds: f64,
    /// Bytes that it read from storage.
    pub(crate) read_bytes: f64,
    /// Bytes of its rows.
    pub(crate) result_bytes: f64,
    /// Whether it takes all of its input before it gives its first row.
    pub(crate) gathers: bool,
    pub(crate) inputs: Vec<Input>,
    /// The rows of another part of the plan that it reads, by their label.
    pub(crate) takes: Option<String>,
}

/// What an operator takes rows from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Input {
    pub(crate) operator: Operator,
    /// Whether the operator wants all of it before it looks at other inputs.
    pub(crate) first: bool,
    /// By which label operators elsewhere read its rows.
    pub(crate) label: Option<String>,
}

impl Input {
    /// An input whose rows are taken one by one.
    pub(crate) fn streamed(operator: Operator) -> Self {
        Self { operator, first: false, label: None }
    }

    /// An input that is wanted before others.
    pub(crate) fn first(operator: Operator) -> Self {
        Self { operator, first: true, label: None }
    }
}

/// A number of seconds or bytes.
///
/// # Errors
///
/// If it is negative, beyond 1e18 or none.
pub(crate) fn amount(number: f64) -> Result<f64, String> {
    if (0.0..=MOST).contains(&number) {
        return Ok(number);
    }
    Err(format!("is {number}, but must be between 0 and 1e18"))
}
