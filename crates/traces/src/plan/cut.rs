//! Cuts a plan into stages.
//!
//! The rules are those by which this project cuts its own plans. A stage ends where an operator consumes its whole
//! input before it returns a row, and where an operator needs all of one input before it reads another. The rest of a
//! plan streams, and belongs to the stage that it streams into. Stages wait for those whose rows they read, and for
//! no others, because profiles do not contain the times at which operators began.

use std::collections::BTreeMap;

use sluicegate_costmodel::storage::{OperatorKind, Stage};

use super::{Input, Operator, Work};

/// Returns the stages of a plan without wall times, each after the stages that it waits for.
pub(crate) fn stages(plan: &Operator) -> Vec<Stage> {
    let mut stages = Stages::default();
    stages.add(plan, None);
    stages.stages
}

#[derive(Default)]
struct Stages<'a> {
    stages: Vec<Stage>,
    /// The stages whose rows are read elsewhere in the plan, by label.
    labels: BTreeMap<&'a str, u64>,
}

/// A stage under construction.
#[derive(Default)]
struct Open<'a> {
    stage: Stage,
    /// The titles of its operators, last operator first.
    titles: Vec<&'a str>,
    /// The titles of its scans.
    subjects: Vec<&'a str>,
}

impl<'a> Stages<'a> {
    /// Adds the stage that ends with an operator, after all stages that it waits for. Returns its id.
    fn add(&mut self, top: &'a Operator, label: Option<&'a str>) -> u64 {
        let mut open = Open::default();
        self.walk(top, true, &mut open);
        let Open { mut stage, mut titles, subjects } = open;
        let subjects = subjects.join(" and ");
        titles.dedup();
        if titles.is_empty() && subjects.is_empty() {
            titles.push(&top.title);
        }
        titles.extend((!subjects.is_empty()).then_some(subjects.as_str()));
        let id = self.stages.len() as u64;
        stage.id = id;
        stage.name = titles.join(" ← ");
        self.stages.push(stage);
        if let Some(label) = label {
            self.labels.insert(label, id);
        }
        id
    }

    /// Adds an operator and its inputs to the stage or to other stages. `hands_out` is true if its rows do not go to
    /// a filter or projection. Returns whether its rows are those of a scan.
    fn walk(&mut self, operator: &'a Operator, hands_out: bool, open: &mut Open<'a>) -> bool {
        let is_of_a_scan = is_of_a_scan(operator);
        let stage = &mut open.stage;
        stage.thread_seconds += operator.seconds;
        match operator.work {
            Work::Scan => stage.scan_seconds += operator.seconds,
            Work::FilterProject if is_of_a_scan => {
                stage.filter_project_seconds += operator.seconds;
            }
            _ => {}
        }
        if let Some(kind) = operator.kind {
            stage.operators.add(kind);
        }
        if let Some(input) = aggregated(operator) {
            stage.aggregate_seconds += operator.seconds;
            stage.aggregate_dropped_bytes += (input.result_bytes - operator.result_bytes).max(0.0);
        }
        stage.read_bytes += operator.read_bytes;
        if is_of_a_scan && hands_out {
            stage.result_bytes += operator.result_bytes;
        }
        let words = if operator.work == Work::Scan { &mut open.subjects } else { &mut open.titles };
        if !operator.is_minor {
            words.push(&operator.title);
        }
        let (first, others): (Vec<_>, Vec<_>) = operator.inputs.iter().partition(|it| it.first);
        for input in first.into_iter().chain(others) {
            if ends(input) {
                let before = self.add(&input.operator, input.label.as_deref());
                open.stage.after.push(before);
            } else {
                self.walk(&input.operator, !is_of_a_scan, open);
            }
        }
        // Look the label up after adding the inputs, which may define it.
        let taken = operator.takes.as_deref().and_then(|label| self.labels.get(label));
        open.stage.after.extend(taken);
        is_of_a_scan
    }
}

/// Returns the input of an aggregate that works on the rows of a scan.
fn aggregated(operator: &Operator) -> Option<&Operator> {
    let is_aggregate = operator.kind == Some(OperatorKind::Aggregate);
    let [input] = operator.inputs.as_slice() else { return None };
    let is_above_a_scan = is_aggregate && !ends(input) && is_of_a_scan(&input.operator);
    is_above_a_scan.then_some(&input.operator)
}

fn ends(input: &Input) -> bool {
    input.first || input.operator.gathers
}

/// Returns whether an operator reads a table, or only filters, projects or passes on the rows of one that does.
fn is_of_a_scan(operator: &Operator) -> bool {
    let mut operator = operator;
    loop {
        match (operator.work, operator.inputs.as_slice()) {
            (Work::Scan, []) => return true,
            (Work::FilterProject | Work::HandsOn, [input]) if !ends(input) => {
                operator = &input.operator;
            }
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operator(work: Work, seconds: f64, inputs: Vec<Input>) -> Operator {
        Operator {
            title: format!("{work:?}"),
            is_minor: work == Work::HandsOn,
            work,
            kind: (work == Work::Scan).then_some(OperatorKind::Scan),
            seconds,
            read_bytes: if work == Work::Scan { 10.0 * seconds } else { 0.0 },
            result_bytes: seconds,
            gathers: false,
            inputs,
            takes: None,
        }
    }

    fn scan(seconds: f64) -> Operator {
        operator(Work::Scan, seconds, Vec::new())
    }

    fn stages_of_one(plan: &Operator) -> String {
        let stages = stages(plan);
        assert_eq!(stages.len(), 1);
        stages[0].name.clone()
    }

    #[test]
    fn a_plan_is_cut_where_all_of_an_input_is_wanted() {
        let filter = |of: Operator| operator(Work::FilterProject, 0.25, vec![Input::streamed(of)]);
        let exchange = operator(Work::HandsOn, 0.125, vec![Input::streamed(filter(scan(4.0)))]);
        let join = operator(
            Work::Other,
            1.0,
            vec![Input::streamed(filter(exchange)), Input::first(filter(scan(2.0)))],
        );
        let mut group = operator(Work::Other, 8.0, vec![Input::streamed(join)]);
        group.gathers = true;
        let stages = stages(&filter(group));
        let [build, probe, top] = stages.as_slice() else { panic!("{stages:?}") };
        assert_eq!((build.thread_seconds, build.scan_seconds), (2.25, 2.0));
        assert_eq!((build.filter_project_seconds, build.result_bytes), (0.25, 0.25));
        assert_eq!((probe.thread_seconds, probe.scan_seconds), (13.625, 4.0));
        assert_eq!((probe.filter_project_seconds, probe.read_bytes), (0.5, 40.0));
        // A filter of groups does not filter a scan's rows.
        assert_eq!((top.thread_seconds, top.filter_project_seconds), (0.25, 0.0));
        assert_eq!((&*build.after, &*probe.after, &*top.after), (&[][..], &[0][..], &[1][..]));
        assert_eq!(stages_of_one(&operator(Work::HandsOn, 1.0, Vec::new())), "HandsOn");
        assert_eq!(probe.name, "Other ← FilterProject ← Scan");
    }

    /// A device could do the first of two aggregates.
    #[test]
    fn aggregates_above_scans_are_measured() {
        let aggregate = |seconds, of: Operator| Operator {
            kind: Some(OperatorKind::Aggregate),
            gathers: true,
            ..operator(Work::Other, seconds, vec![Input::streamed(of)])
        };
        let stages = stages(&aggregate(0.5, aggregate(1.0, scan(4.0))));
        let [scans, top] = stages.as_slice() else { panic!("{stages:?}") };
        assert_eq!((scans.aggregate_seconds, scans.aggregate_dropped_bytes), (1.0, 3.0));
        assert_eq!(
            (top.aggregate_seconds, scans.operators.to_string().as_str()),
            (0.0, "1 scan, 1 aggregate")
        );
    }

    #[test]
    fn rows_that_are_read_elsewhere_are_waited_for() {
        let mut reads = operator(Work::Other, 1.0, Vec::new());
        reads.takes = Some("a".to_owned());
        let build = Input::first(reads.clone());
        let join = operator(Work::Other, 1.0, vec![Input::streamed(reads), build]);
        let defined = Input { label: Some("a".to_owned()), ..Input::first(scan(1.0)) };
        let plan = operator(Work::Other, 1.0, vec![Input::streamed(join), defined]);
        let after: Vec<_> = stages(&plan).into_iter().map(|stage| stage.after).collect();
        assert_eq!(after, [vec![], vec![0], vec![0, 1, 0]]);
        let mut unknown = scan(1.0);
        unknown.takes = Some("b".to_owned());
        assert_eq!(stages(&unknown)[0].after, [0; 0]);
    }
}
