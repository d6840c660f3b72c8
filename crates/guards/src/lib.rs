//! Corrects answers that DataFusion gets wrong.
//!
//! Each guard is a file or folder with one [`Guard`]: the upstream issue, statements that DataFusion answers wrong,
//! and the change in our sessions, which is a setting, a rule, or a refusal with a reason. [`GUARDS`] lists them. The
//! site's page "Where we differ from DataFusion" is generated from that list. `tests/it/guards.rs` runs every
//! [`Case`] in plain DataFusion, too. A case that DataFusion answers correctly fails that test, because its guard can
//! be removed.
//!
//! A guard costs nothing for plans that it does not concern. [`with_guards`] adds all guards to a session and nothing
//! else, so a session without pushdown can be the oracle of one with it. Guards that change the text of a statement
//! are in [`rewrite`], which runs before a statement is planned.
//!
//! Read `guard.rs` first, and then a short guard such as `piecewise_merge_join.rs`. Files that several guards share:
//! `chain`, `columnar_values`, `comparisons`, `exact`, `outer_types`, `wide_sums`, [`wrapped_functions`], [`sql_types`],
//! [`column_names`] and `forgetful`. This crate must not use our other crates.

use std::ops::ControlFlow;

use crate::walk::WalkMut;
use datafusion::common::Result;
use datafusion::execution::SessionStateBuilder;
use datafusion::optimizer::{Analyzer, Optimizer};
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::sql::parser::{CopyToSource, Statement};
use datafusion::sql::sqlparser::ast::VisitorMut;

mod aggregate_schemas;
mod array_has;
mod at_time_zone;
mod bounds_of_min_max;
mod chain;
pub mod column_names;
mod columnar_values;
mod comparisons;
mod computed_keys;
mod conditions_of_aggregates;
mod constants_of_outer_joins;
mod date_trunc;
mod dates_and_intervals;
mod decimal_comparisons;
mod decimal_floats;
mod decimal_texts;
mod distinct_beside_sums;
mod distinct_from;
mod distinct_from_null;
mod distinct_on;
mod exact;
mod exact_means;
mod exclusive_or;
mod failing_estimates;
mod far_dates;
mod file_type_casts;
mod filters_first;
mod flipped_comparisons;
mod float_zeros;
mod forgetful;
mod functional_dependencies;
mod guard;
mod guarded_conditions;
mod hours_without_minutes;
mod in_lists;
mod intervals;
mod limit_below_aggregate;
mod lossy_casts;
mod lost_orders;
mod min_max_of_floats;
mod mixed_instants;
mod mixed_types;
mod moving_frames;
mod names;
mod nans;
mod negated_bits;
mod negative_scales;
mod nested_floats;
mod null_equal_keys;
mod offset_below_sort;
mod operators;
mod order_by_all;
mod order_of_offset;
mod order_of_unions;
mod ordered_aggregates;
mod outer_types;
pub mod overflow;
mod percentiles;
mod piecewise_merge_join;
mod plan_node;
mod quarters;
mod range_frames;
mod regular_expressions;
mod repeated_keys;
mod rewrite;
mod rounded_scales;
mod rounding;
mod row_values;
mod running_extremes;
mod set_operations;
mod shadowed_ctes;
mod signed_counts;
mod similar_to;
mod soft_limits;
mod sort_merge_filter;
mod sorted_grouping_sets;
pub mod sql_types;
mod subqueries;
mod timestamp_casts;
mod timestamp_comparisons;
mod top_k_aggregation;
mod truncated_dates;
mod unchecked_keys;
mod using;
pub mod walk;
mod wide_sums;
mod window_shifts;
pub mod wrapped_functions;
mod years;

pub use self::file_type_casts::keep_casts;
pub use self::filters_first::projection_pushdown;
pub use self::forgetful::ForgetfulExec;
pub(crate) use self::guard::{
    AnalysisRule, LogicalRule, PhysicalRule, insert_after, insert_around, insert_before, rule,
};
pub use self::guard::{Case, CaseOutcome, Guard};
pub use self::guarded_conditions::guarded;
pub use self::names::normal;
pub use self::unchecked_keys::declares_keys;
pub use self::using::merge_other_capitals;

/// All guards, in the order of the documentation.
pub const GUARDS: &[Guard] = &[
    aggregate_schemas::GUARD,
    array_has::GUARD,
    at_time_zone::GUARD,
    bounds_of_min_max::GUARD,
    computed_keys::GUARD,
    conditions_of_aggregates::GUARD,
    constants_of_outer_joins::GUARD,
    dates_and_intervals::GUARD,
    date_trunc::GUARD,
    decimal_comparisons::GUARD,
    decimal_floats::GUARD,
    decimal_texts::GUARD,
    distinct_beside_sums::GUARD,
    distinct_from::GUARD,
    distinct_from_null::GUARD,
    distinct_on::GUARD,
    exact_means::GUARD,
    exclusive_or::GUARD,
    failing_estimates::GUARD,
    filters_first::GUARD,
    flipped_comparisons::GUARD,
    float_zeros::GUARD,
    functional_dependencies::GUARD,
    guarded_conditions::GUARD,
    hours_without_minutes::GUARD,
    in_lists::GUARD,
    limit_below_aggregate::GUARD,
    lossy_casts::GUARD,
    lost_orders::GUARD,
    min_max_of_floats::GUARD,
    moving_frames::GUARD,
    names::CASTS,
    names::COMPARED,
    names::HIDDEN,
    names::INNER,
    names::LISTS,
    names::ORDERED,
    names::REPEATED,
    names::SETS,
    mixed_instants::GUARD,
    nans::GUARD,
    negated_bits::GUARD,
    negative_scales::GUARD,
    nested_floats::GUARD,
    null_equal_keys::GUARD,
    offset_below_sort::GUARD,
    operators::GUARD,
    order_by_all::GUARD,
    order_of_offset::GUARD,
    order_of_unions::GUARD,
    ordered_aggregates::GUARD,
    overflow::GUARD,
    percentiles::GUARD,
    piecewise_merge_join::GUARD,
    rounded_scales::GUARD,
    quarters::GUARD,
    range_frames::GUARD,
    regular_expressions::GUARD,
    repeated_keys::GUARD,
    rounding::GUARD,
    running_extremes::GUARD,
    set_operations::GUARD,
    shadowed_ctes::GUARD,
    signed_counts::GUARD,
    similar_to::GUARD,
    row_values::GUARD,
    soft_limits::GUARD,
    sort_merge_filter::GUARD,
    sorted_grouping_sets::GUARD,
    intervals::ARITHMETIC,
    intervals::COMPARED,
    intervals::ORDERED,
    intervals::PARTS,
    intervals::SUMS,
    subqueries::IN,
    subqueries::EXISTS,
    subqueries::CORRELATED,
    timestamp_casts::GUARD,
    subqueries::VALUE,
    timestamp_comparisons::GUARD,
    top_k_aggregation::GUARD,
    truncated_dates::GUARD,
    unchecked_keys::GUARD,
    using::GUARD,
    window_shifts::GUARD,
    years::GUARD,
];

/// Adds the guards to a session that is being built.
///
/// # Errors
///
/// If the builder lacks a rule that a guard replaces or is placed next to.
pub fn with_guards(mut builder: SessionStateBuilder) -> Result<SessionStateBuilder> {
    let mut config = builder.config().take().unwrap_or_default();
    let options = config.options_mut();
    aggregate_schemas::set(options);
    bounds_of_min_max::set(options);
    top_k_aggregation::set(options);
    comparisons::install(&mut builder)?;
    window_shifts::install(&mut builder);
    file_type_casts::install(&mut builder);
    min_max_of_floats::install(&mut builder);
    // The other guards of aggregates wrap this one.
    exact_means::install(&mut builder);
    overflow::install(&mut builder)?;
    percentiles::install(&mut builder);
    intervals::install(&mut builder);
    signed_counts::install(&mut builder);
    ordered_aggregates::install(&mut builder);
    // This guard makes frames of the functions that the others have changed.
    moving_frames::install(&mut builder);
    at_time_zone::install(&mut builder);
    dates_and_intervals::install(&mut builder);
    nans::install(&mut builder)?;
    nested_floats::install(&mut builder);
    builder.scalar_functions().get_or_insert_default().push(names::function());
    set_operations::install(&mut builder.analyzer().get_or_insert_with(Analyzer::new).rules);
    subqueries::install(&mut builder);
    let analysis = &mut builder.analyzer().get_or_insert_with(Analyzer::new).rules;
    distinct_on::install(analysis);
    names::install(analysis)?;
    // The following rules run before all others.
    negative_scales::install(analysis);
    order_by_all::install(&mut builder);
    let logical = &mut builder.optimizer().get_or_insert_with(Optimizer::new).rules;
    null_equal_keys::install(logical)?;
    conditions_of_aggregates::install(logical)?;
    distinct_beside_sums::install(logical)?;
    functional_dependencies::install(logical)?;
    repeated_keys::install(logical);
    failing_estimates::install(logical);
    computed_keys::install(logical);
    let physical =
        &mut builder.physical_optimizers().get_or_insert_with(PhysicalOptimizer::new).rules;
    limit_below_aggregate::install(physical)?;
    filters_first::install(physical);
    // This guard looks for the limits that the next one hides.
    order_of_offset::install(physical)?;
    offset_below_sort::install(physical)?;
    constants_of_outer_joins::install(physical);
    order_of_unions::install(physical);
    sorted_grouping_sets::install(physical);
    guarded_conditions::install(physical)?;
    sort_merge_filter::install(physical);
    soft_limits::install(physical);
    lost_orders::install(physical)?;
    let planners = builder.relation_planners().get_or_insert_with(Vec::new);
    using::install(planners);
    functional_dependencies::install_planner(planners);
    Ok(builder.with_config(config))
}

/// Rewrites a statement before it is planned, for guards that only need the text.
///
/// # Errors
///
/// If a guard refuses the statement.
pub fn rewrite(statement: &mut Statement) -> Result<()> {
    unchecked_keys::rewrite(statement);
    shadowed_ctes::rewrite(statement);
    order_by_all::rewrite(statement);
    subqueries::name_items(statement);
    row_values::rewrite(statement)?;
    decimal_comparisons::rewrite(statement);
    distinct_from::rewrite(statement);
    operators::rewrite(statement);
    similar_to::rewrite(statement)?;
    at_time_zone::rewrite(statement);
    quarters::rewrite(statement);
    distinct_on::rewrite(statement);
    using::rewrite(statement)?;
    // This guard reads the output of the others.
    names::rewrite(statement);
    Ok(())
}

/// Visits the parts of a statement that the SQL parser's own types represent.
pub fn visit<B>(
    statement: &mut Statement,
    visitor: &mut dyn VisitorMut<Break = B>,
) -> ControlFlow<B> {
    match statement {
        Statement::Statement(statement) => statement.walk_mut(visitor),
        Statement::CopyTo(copy) => match &mut copy.source {
            CopyToSource::Query(query) => query.walk_mut(visitor),
            CopyToSource::Relation(_) => ControlFlow::Continue(()),
        },
        Statement::Explain(explain) => visit(&mut explain.statement, visitor),
        Statement::CreateExternalTable(_) | Statement::Reset(_) => ControlFlow::Continue(()),
    }
}
