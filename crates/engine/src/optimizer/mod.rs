//! Our physical optimizer rules, and where they stand among DataFusion's.
//!
//! | rule | stands | because |
//! |---|---|---|
//! | [`SelectScan`] | before the first `FilterPushdown` | filters are then offered to our source |
//! | [`PruneFiles`] | after it | filters are absorbed, and what is left is what is asked |
//! | DataFusion's [`ProjectionPushdown`], once more | after that | columns that only absorbed filters read are no longer asked for, and not predicted to be |
//! | [`Choose`] | after that | filters are absorbed, so the cost of a statement can be predicted; no exchange lies between the two halves of an aggregate yet; and exchanges are placed for the plan that is chosen |
//! | [`SwitchPruning`] | after that | what the store computes never crosses the switch; and the two halves of an aggregate are still neighbours, and exchanges are placed around the switch later |
//! | [`JoinKeys`] | after the last `FilterPushdown` | joins have handed their filters to the scans |
//! | [`FloatBounds`] | after it | every condition that a scan of Parquet may skip rows by is there |
//! | [`ClearNames`] | around each `FilterPushdown` | it finds columns by their names, of which there may be two |
//! | [`StagedWrites`] | last | it only wraps what writes files, and nothing may be planned between the two |
//!
//! An operator with a choice is a file that offers its ways (`scan.rs`, `aggregate.rs`,
//! `group_by.rs`, `top_k.rs`) and a line in `choose.rs` (`join.rs`, which asks about scans, comes before them;
//! `index.rs` is a way of scans, `turning.rs` keeps two of them open until it runs); no other rule replaces
//! a plan by a cheaper one.

mod aggregate;
mod choose;
mod clear_names;
mod equal_keys;
mod float_bounds;
mod group_by;
mod index;
mod join;
mod join_keys;
mod key_paths;
mod prune_files;
mod scan;
mod select_scan;
mod staged_writes;
mod switch_pruning;
mod top_k;
mod turning;

use std::sync::Arc;

use datafusion::common::{Result, internal_datafusion_err};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_optimizer::projection_pushdown::ProjectionPushdown;

pub use self::choose::Choose;
pub use self::clear_names::ClearNames;
pub use self::float_bounds::FloatBounds;
pub use self::join_keys::JoinKeys;
pub use self::prune_files::PruneFiles;
pub use self::select_scan::SelectScan;
pub use self::staged_writes::StagedWrites;
pub use self::switch_pruning::SwitchPruning;

type Rule = Arc<dyn PhysicalOptimizerRule + Send + Sync>;

/// DataFusion's rules with ours among them.
///
/// # Errors
///
/// If DataFusion no longer has the rule that ours stand by.
pub fn rules() -> Result<Vec<Rule>> {
    insert(PhysicalOptimizer::new().rules)
}

/// Puts our rules among others that contain DataFusion's.
///
/// # Errors
///
/// If the others lack the rule that ours stand by.
pub fn insert(mut rules: Vec<Rule>) -> Result<Vec<Rule>> {
    let position = |rules: &[Rule], name: &str| {
        let found = rules.iter().position(|rule| rule.name() == name);
        found.ok_or_else(|| internal_datafusion_err!("no optimizer rule is named {name}"))
    };
    let at = position(&rules, "FilterPushdown")?;
    let after: [Rule; 5] = [
        Arc::new(ClearNames::Remove),
        Arc::new(PruneFiles),
        Arc::new(ProjectionPushdown::new()),
        Arc::new(Choose),
        Arc::new(SwitchPruning),
    ];
    rules.splice(at + 1..at + 1, after);
    let before: [Rule; 2] = [Arc::new(SelectScan), Arc::new(ClearNames::Add)];
    rules.splice(at..at, before);
    let at = position(&rules, "FilterPushdown(Post)")?;
    let after: [Rule; 3] =
        [Arc::new(ClearNames::Remove), Arc::new(JoinKeys), Arc::new(FloatBounds)];
    rules.splice(at + 1..at + 1, after);
    rules.insert(at, Arc::new(ClearNames::Add));
    rules.push(Arc::new(StagedWrites));
    Ok(rules)
}
