//! Physical optimizer rules of Sluicegate, and their places among DataFusion's rules.
//!
//! | rule | place | reason |
//! |---|---|---|
//! | [`ApplyDeclaredSizes`] | first | all other rules use the declared sizes |
//! | [`SelectScan`] | before the first `FilterPushdown` | filters are then offered to our source |
//! | [`PruneFiles`] | after it | our source has its filters |
//! | DataFusion's [`ProjectionPushdown`](datafusion::physical_optimizer::projection_pushdown::ProjectionPushdown), once more | next | columns that only pushed-down filters read are neither requested nor predicted |
//! | [`Choose`] | next | filters are pushed down, so the cost of a statement can be predicted; no exchange separates the two halves of an aggregate yet; exchanges are placed for the chosen plan |
//! | [`SwitchPruning`] | next | results of the store never cross the switch; the two halves of an aggregate are still adjacent; exchanges are placed around the switch later |
//! | [`JoinKeys`] | after the last `FilterPushdown` | joins have passed their filters to the scans |
//! | [`FloatBounds`] | next | Parquet scans have all conditions that they may skip rows by |
//! | [`ReadAhead`] | next | Parquet scans are known, and have all conditions |
//! | [`ClearNames`] | around each `FilterPushdown` | that rule finds columns by name, which may be ambiguous |
//! | [`CooperativeJoins`] | after DataFusion's | its rules find joins by their type |
//! | [`DeletedRows`] | after DataFusion's | its rules find their own scans until then |
//! | [`StagedWrites`] | last | it only wraps writes, and no rule may put anything between the two |
//!
//! Read `choose.rs` first. An operator with a choice has a line there and a file that offers its strategies:
//! `scan.rs`, `aggregate.rs`, `group_by.rs` and `top_k.rs`. `join.rs` decides about scans below joins and comes
//! before them; `key_paths.rs` and `equal_keys.rs` find the scans that keys of joins reach. `index.rs` and
//! `index_table.rs` are strategies of scans. `adaptive.rs` keeps two strategies of a scan open until run time. No other rule replaces a plan by a
//! cheaper one.
//!
//! This folder must not use the catalog or the folder `engine`, and it sends no requests.

mod adaptive;
mod aggregate;
mod choose;
mod clear_names;
mod cooperative_joins;
mod declared_sizes;
mod deleted_rows;
mod equal_keys;
mod float_bounds;
mod group_by;
mod index;
mod index_table;
mod join;
mod join_keys;
mod key_paths;
mod prune_files;
mod read_ahead;
mod scan;
mod select_scan;
mod staged_writes;
mod switch_pruning;
#[cfg(test)]
mod tests;
mod top_k;

use std::sync::Arc;

use datafusion::common::{Result, internal_datafusion_err};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use sluicegate_guards::projection_pushdown;

pub(crate) use self::choose::Choose;
pub(crate) use self::clear_names::ClearNames;
pub(crate) use self::cooperative_joins::CooperativeJoins;
pub(crate) use self::declared_sizes::ApplyDeclaredSizes;
pub(crate) use self::deleted_rows::DeletedRows;
pub(crate) use self::float_bounds::FloatBounds;
pub(crate) use self::join_keys::JoinKeys;
pub(crate) use self::prune_files::PruneFiles;
pub(crate) use self::read_ahead::ReadAhead;
pub(crate) use self::select_scan::SelectScan;
pub(crate) use self::staged_writes::StagedWrites;
pub(crate) use self::switch_pruning::SwitchPruning;

type Rule = Arc<dyn PhysicalOptimizerRule + Send + Sync>;

/// Returns DataFusion's rules with ours among them.
///
/// # Errors
///
/// If DataFusion no longer has a rule next to which ours are placed.
pub(crate) fn rules() -> Result<Vec<Rule>> {
    insert(PhysicalOptimizer::new().rules)
}

/// Inserts our rules among `rules`, which contain DataFusion's.
///
/// # Errors
///
/// If a rule is missing next to which ours are placed.
pub(crate) fn insert(mut rules: Vec<Rule>) -> Result<Vec<Rule>> {
    let position = |rules: &[Rule], name: &str| {
        let found = rules.iter().position(|rule| rule.name() == name);
        found.ok_or_else(|| internal_datafusion_err!("no optimizer rule is named {name}"))
    };
    let at = position(&rules, "FilterPushdown")?;
    let after: [Rule; 5] = [
        Arc::new(ClearNames::Remove),
        Arc::new(PruneFiles),
        projection_pushdown(),
        Arc::new(Choose),
        Arc::new(SwitchPruning),
    ];
    rules.splice(at + 1..at + 1, after);
    let before: [Rule; 2] = [Arc::new(SelectScan), Arc::new(ClearNames::Add)];
    rules.splice(at..at, before);
    let at = position(&rules, "FilterPushdown(Post)")?;
    let after: [Rule; 4] = [
        Arc::new(ClearNames::Remove),
        Arc::new(JoinKeys),
        Arc::new(FloatBounds),
        Arc::new(ReadAhead),
    ];
    rules.splice(at + 1..at + 1, after);
    rules.insert(at, Arc::new(ClearNames::Add));
    rules.insert(0, Arc::new(ApplyDeclaredSizes));
    rules.push(Arc::new(CooperativeJoins));
    rules.push(Arc::new(DeletedRows));
    rules.push(Arc::new(StagedWrites));
    Ok(rules)
}
