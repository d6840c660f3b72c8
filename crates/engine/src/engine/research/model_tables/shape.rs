//! Compares the plans of a query over different tables.
//!
//! Plans have the same shape if they have the same operators in the same places. These parts of a plan are not
//! compared, because they depend on the number and the size of files: exchanges, aggregates in parts, limits, and the
//! filters and projections of a scan, which may be parts of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use sluicegate_costmodel::storage::OperatorKind;

use crate::engine::plan_graph::scan::ScanNode;
use crate::engine::plan_graph::title;
use crate::engine::research::operators::kind;

/// The names of tables by the URLs of their objects.
pub(super) type TableNames = BTreeMap<String, String>;

/// The operators of a plan that are compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shape {
    label: String,
    inputs: Vec<Shape>,
}

/// A difference between the plans of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanDifference {
    /// True if the plans have the same operators, in different places.
    pub same_operators: bool,
    /// The difference in words.
    pub text: String,
}

impl Shape {
    pub(super) fn new(plan: &Arc<dyn ExecutionPlan>, names: &TableNames) -> Self {
        if let Some(scan) = scan(plan) {
            let objects = scan.objects.iter();
            let name = objects.filter_map(|object| names.get(object)).next();
            let label = name.map_or_else(|| "scan".to_owned(), |name| format!("scan of {name}"));
            return Self { label, inputs: Vec::new() };
        }
        let compared = input_of_aggregate(plan).unwrap_or(plan);
        if let (true, [input]) = (is_skipped(plan), plan.children().as_slice()) {
            return Self::new(input, names);
        }
        let inputs = compared.children().into_iter().map(|input| Self::new(input, names));
        Self { label: label(plan), inputs: inputs.collect() }
    }

    /// Returns the difference to the plan over other tables, or `None` if they have the same shape.
    pub(super) fn difference(&self, other: &Self) -> Option<PlanDifference> {
        if self == other {
            return None;
        }
        let (mut before, mut after) = (BTreeMap::new(), BTreeMap::new());
        self.count(&mut before);
        other.count(&mut after);
        if before == after {
            let place = self.place(other).unwrap_or_default();
            let text = format!("the same operators in another order: {place}");
            return Some(PlanDifference { same_operators: true, text });
        }
        let labels = before.keys().chain(after.keys().filter(|label| !before.contains_key(*label)));
        let differ = labels.filter_map(|label| {
            let [before, after] = [&before, &after].map(|it| it.get(label).copied().unwrap_or(0));
            (before != after).then(|| format!("{after} {label} instead of {before}"))
        });
        let text = differ.collect::<Vec<_>>().join(", ");
        Some(PlanDifference { same_operators: false, text })
    }

    fn count<'a>(&'a self, counts: &mut BTreeMap<&'a str, u64>) {
        *counts.entry(&self.label).or_default() += 1;
        self.inputs.iter().for_each(|input| input.count(counts));
    }

    /// Describes the first place, from the top, at which two plans differ.
    fn place(&self, other: &Self) -> Option<String> {
        if self.label != other.label || self.inputs.len() != other.inputs.len() {
            return Some(format!("{} instead of {}", other.described(), self.described()));
        }
        for (number, (input, of_other)) in self.inputs.iter().zip(&other.inputs).enumerate() {
            if input == of_other {
                continue;
            }
            if input.label == of_other.label && input.inputs.len() == of_other.inputs.len() {
                return input.place(of_other);
            }
            let which = match (self.inputs.len(), number) {
                (1, _) => "",
                (_, 0) => "first ",
                _ => "next ",
            };
            return Some(format!(
                "{} reads {which}{} instead of {}",
                self.label,
                of_other.described(),
                input.described()
            ));
        }
        None
    }

    /// Returns the operator with the first tables below it.
    fn described(&self) -> String {
        let mut scans = Vec::new();
        self.scans(&mut scans);
        if self.inputs.is_empty() || scans.is_empty() {
            return self.label.clone();
        }
        format!("{} over {}", self.label, scans.join(" and "))
    }

    fn scans<'a>(&'a self, scans: &mut Vec<&'a str>) {
        if self.inputs.is_empty() {
            scans.push(&self.label);
        }
        self.inputs.iter().for_each(|input| input.scans(scans));
    }
}

/// Returns the scan of a plan that only scans, filters and projects one table.
fn scan(plan: &Arc<dyn ExecutionPlan>) -> Option<ScanNode> {
    let mut plan = plan;
    loop {
        match plan.children().as_slice() {
            [] => return ScanNode::from_plan(plan),
            [input] if is_of_a_scan(plan) => plan = input,
            _ => return None,
        }
    }
}

fn is_of_a_scan(plan: &Arc<dyn ExecutionPlan>) -> bool {
    is_skipped(plan) || matches!(kind(plan), Some(OperatorKind::Filter | OperatorKind::Project))
}

fn is_skipped(plan: &Arc<dyn ExecutionPlan>) -> bool {
    matches!(kind(plan), None | Some(OperatorKind::Exchange | OperatorKind::Limit))
}

/// Returns the first part of an aggregate, given its last.
fn input_of_aggregate(plan: &Arc<dyn ExecutionPlan>) -> Option<&Arc<dyn ExecutionPlan>> {
    match plan.downcast_ref::<AggregateExec>()?.mode() {
        AggregateMode::Final | AggregateMode::FinalPartitioned => first_part(plan),
        _ => None,
    }
}

fn first_part(plan: &Arc<dyn ExecutionPlan>) -> Option<&Arc<dyn ExecutionPlan>> {
    let [part] = plan.children()[..] else { return None };
    match part.downcast_ref::<AggregateExec>() {
        Some(aggregate) if *aggregate.mode() == AggregateMode::Partial => Some(part),
        Some(_) => first_part(part),
        None if is_skipped(part) => first_part(part),
        None => None,
    }
}

fn label(plan: &Arc<dyn ExecutionPlan>) -> String {
    match plan.downcast_ref::<AggregateExec>() {
        Some(aggregate) if aggregate.group_expr().is_true_no_grouping() => "Aggregate".to_owned(),
        Some(_) => "Group".to_owned(),
        None => title::title(plan.as_ref()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(label: &str, inputs: &[Shape]) -> Shape {
        Shape { label: label.to_owned(), inputs: inputs.to_vec() }
    }

    #[track_caller]
    fn check(one: &Shape, other: &Shape, expected: Option<(bool, &str)>) {
        let found = one.difference(other).map(|it| (it.same_operators, it.text));
        assert_eq!(found, expected.map(|(same, text)| (same, text.to_owned())));
    }

    #[test]
    fn differences_are_named_from_the_top() {
        let [a, b, c] = ["scan of a", "scan of b", "scan of c"].map(|label| shape(label, &[]));
        let join =
            |one: &Shape, other: &Shape| shape("Join (Inner)", &[one.clone(), other.clone()]);
        let top = |input: Shape| shape("Group", &[input]);
        let plan = top(join(&a, &join(&b, &c)));
        check(&plan, &plan, None);
        check(
            &plan,
            &top(join(&a, &join(&c, &b))),
            Some((
                true,
                "the same operators in another order: Join (Inner) reads first scan of c instead of scan \
                 of b",
            )),
        );
        check(
            &plan,
            &top(join(&join(&b, &c), &a)),
            Some((
                true,
                "the same operators in another order: Join (Inner) reads first Join (Inner) over scan of \
                 b and scan of c instead of scan of a",
            )),
        );
        check(
            &plan,
            &join(&a, &b),
            Some((
                false,
                "0 Group instead of 1, 1 Join (Inner) instead of 2, 0 scan of c instead of 1",
            )),
        );
        check(
            &shape("No rows", &[]),
            &a,
            Some((false, "0 No rows instead of 1, 1 scan of a instead of 0")),
        );
    }
}
