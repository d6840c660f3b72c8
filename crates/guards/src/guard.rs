//! A guard: a class of wrong answers with its cases, and how its rules are added to a session.

use std::sync::Arc;

use datafusion::common::{Result, internal_datafusion_err};
use datafusion::optimizer::{AnalyzerRule, OptimizerRule};
use datafusion::physical_optimizer::PhysicalOptimizerRule;

/// A class of wrong answers, and the change that avoids them.
#[derive(Debug, Clone, Copy)]
pub struct Guard {
    /// The error in DataFusion, as the title of an entry of the documentation.
    pub title: &'static str,
    /// Upstream issues or pull requests, as `datafusion#22835` or `sqlparser#1234`; empty if the error is not
    /// reported.
    pub upstream: &'static [&'static str],
    /// The behaviour of our sessions instead, in a sentence or two for readers.
    pub ours: &'static str,
    /// Statements of this class.
    pub cases: &'static [Case],
}

/// A statement that DataFusion answers wrong.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// Statements to run first, which create tables and change settings. `{folder}` stands for an empty folder.
    pub setup: &'static [&'static str],
    /// The statement to run.
    pub sql: &'static str,
    /// The answer of our sessions.
    pub right: CaseOutcome,
    /// The answer of plain DataFusion.
    pub theirs: CaseOutcome,
}

/// The outcome of a statement.
#[derive(Debug, Clone, Copy)]
pub enum CaseOutcome {
    /// Rows, in any order unless the statement orders them. Each row is text, with values separated by `", "`; NULL
    /// is `NULL`.
    Rows(&'static [&'static str]),
    /// An error that contains this text.
    Error(&'static str),
    /// The engine panics.
    Panic,
    /// Anything but the right answer; the outcome depends on the order in which partitions run.
    Varies,
}

pub(crate) type AnalysisRule = Arc<dyn AnalyzerRule + Send + Sync>;
pub(crate) type LogicalRule = Arc<dyn OptimizerRule + Send + Sync>;
pub(crate) type PhysicalRule = Arc<dyn PhysicalOptimizerRule + Send + Sync>;

/// Returns DataFusion's logical rule with this name.
pub(crate) fn rule<'a>(rules: &'a mut [LogicalRule], name: &str) -> Result<&'a mut LogicalRule> {
    let found = rules.iter_mut().find(|rule| rule.name() == name);
    found.ok_or_else(|| internal_datafusion_err!("no optimizer rule is named {name}"))
}

/// Inserts a logical rule before DataFusion's rule with this name.
pub(crate) fn insert_before(
    rules: &mut Vec<LogicalRule>,
    name: &str,
    before: LogicalRule,
) -> Result<()> {
    let found = rules.iter().position(|rule| rule.name() == name);
    let at = found.ok_or_else(|| internal_datafusion_err!("no optimizer rule is named {name}"))?;
    rules.insert(at, before);
    Ok(())
}

/// Inserts two physical rules around DataFusion's rule with this name.
pub(crate) fn insert_around(
    rules: &mut Vec<PhysicalRule>,
    name: &str,
    before: PhysicalRule,
    after: PhysicalRule,
) -> Result<()> {
    insert_after(rules, name, after)?;
    let at = rules.iter().position(|rule| rule.name() == name).unwrap_or_default();
    rules.insert(at, before);
    Ok(())
}

/// Inserts a physical rule after DataFusion's rule with this name.
pub(crate) fn insert_after(
    rules: &mut Vec<PhysicalRule>,
    name: &str,
    after: PhysicalRule,
) -> Result<()> {
    let found = rules.iter().position(|rule| rule.name() == name);
    let at = found.ok_or_else(|| internal_datafusion_err!("no optimizer rule is named {name}"))?;
    rules.insert(at + 1, after);
    Ok(())
}
