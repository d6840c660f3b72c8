//! A plan as plain data for drawing: where its operators run, and how rows flow between them.
//!
//! The nodes of a plan become [`Operator`]s. Nodes that only pass rows on are left out, and a scan is one operator
//! together with its helper nodes. Drawing needs no types of DataFusion.
//!
//! `flow` counts what an operator did, `decisions` finds the decision about a scan, `scan` finds the objects of a
//! node, and `title` names operators.

mod decisions;
mod flow;
pub(crate) mod scan;
pub(crate) mod title;

use std::sync::Arc;

use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::{ExecutionPlan, displayable};

use self::decisions::ScanDecisions;
pub use self::flow::{Flow, RequestStats, Wire};
use self::scan::{Objects, ScanNode};
use crate::context::choice::Decision;
use crate::context::timeline::RequestLog;
use crate::operators::switch_prune::SwitchPruneExec;

/// The operators of a plan that are drawn.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PlanGraph {
    /// The operators, each after its inputs; the last one returns the answer.
    pub operators: Vec<Operator>,
    /// The number of nodes that are left out.
    pub left_out: usize,
}

/// An operator as it is drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct Operator {
    /// The place where it runs.
    pub place: ExecutionSite,
    /// A title of a word or two: `Join`, `Top 10`.
    pub title: String,
    /// The objects that it reads, if it is a scan: `s3://bucket/t/a.csv and 3 more`.
    pub subject: Option<String>,
    /// The text of EXPLAIN about it.
    pub detail: String,
    /// The operators that supply its input, as indexes of operators before it.
    pub inputs: Vec<usize>,
    /// The decision about it, as an index into the decisions of the plan.
    pub decision: Option<usize>,
    /// The counts of its run, if it ran.
    pub flow: Option<Flow>,
}

/// A place where an operator runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExecutionSite {
    /// The operator reads a store, which may do a part of the work.
    Store,
    /// The operator runs on the switch that rows pass on their way.
    Switch,
    /// The operator runs locally.
    Client,
}

impl PlanGraph {
    /// Converts a plan with the decisions about its operators.
    #[must_use]
    pub fn from_plan(plan: &Arc<dyn ExecutionPlan>, decisions: &[Decision]) -> Self {
        Self::drawn(plan, decisions, None)
    }

    /// Converts a plan that has run, with the counts of each operator. For scans that do not count their own
    /// requests, the counts come from the requests in `recorded` to their objects.
    #[must_use]
    pub fn ran(
        plan: &Arc<dyn ExecutionPlan>,
        decisions: &[Decision],
        recorded: &RequestLog,
    ) -> Self {
        Self::drawn(plan, decisions, Some(recorded))
    }

    fn drawn(
        plan: &Arc<dyn ExecutionPlan>,
        decisions: &[Decision],
        recorded: Option<&RequestLog>,
    ) -> Self {
        let mut picture = Self::default();
        let mut drawing = GraphBuilder {
            decided: ScanDecisions::new(decisions),
            has_run: recorded.is_some(),
            objects: Objects::default(),
        };
        picture.add(plan, &mut drawing);
        if let Some(recorded) = recorded {
            for (operator, asked) in drawing.objects.request_stats(recorded) {
                if let Some(flow) = &mut picture.operators[operator].flow {
                    flow.asked = Some(asked);
                }
            }
        }
        picture
    }

    /// Adds a node and all nodes below; returns the operators that its rows come from.
    fn add(&mut self, plan: &Arc<dyn ExecutionPlan>, drawing: &mut GraphBuilder<'_>) -> Vec<usize> {
        if let Some(reads) = ScanNode::from_plan(plan) {
            let decided = &mut drawing.decided;
            let decision = decided.about(&reads.subject);
            self.left_out += reads.nodes - 1;
            let place = if reads.is_remote { ExecutionSite::Store } else { ExecutionSite::Client };
            let index = self.push(plan, place, Vec::new());
            let operator = &mut self.operators[index];
            operator.subject = Some(reads.subject);
            operator.decision = decision;
            if drawing.has_run {
                let flow = flow_of(plan);
                if flow.asked.is_none() && reads.is_remote {
                    drawing.objects.add(index, reads.objects);
                }
                operator.flow = Some(flow);
            }
            return vec![index];
        }
        // This is the empty plan of a statement that has done its work during planning, or only defines a name.
        if plan.is::<EmptyExec>() && plan.schema().fields().is_empty() {
            self.left_out += 1;
            return Vec::new();
        }
        let children: Vec<_> = plan.children().into_iter().cloned().collect();
        let mut inputs = Vec::new();
        for child in &children {
            inputs.extend(self.add(child, drawing));
        }
        if title::hands_on(plan.as_ref()) && !inputs.is_empty() {
            self.left_out += 1;
            return inputs;
        }
        let is_switch = plan.is::<SwitchPruneExec>();
        let place = if is_switch { ExecutionSite::Switch } else { ExecutionSite::Client };
        let index = self.push(plan, place, inputs);
        self.operators[index].flow = drawing.has_run.then(|| Flow::from_metrics(plan.as_ref()));
        vec![index]
    }

    fn push(
        &mut self,
        plan: &Arc<dyn ExecutionPlan>,
        place: ExecutionSite,
        inputs: Vec<usize>,
    ) -> usize {
        let title = title::title(plan.as_ref());
        let detail = detail(plan.as_ref());
        let operator =
            Operator { place, title, subject: None, detail, inputs, decision: None, flow: None };
        self.operators.push(operator);
        self.operators.len() - 1
    }
}

/// The state of a conversion.
struct GraphBuilder<'a> {
    decided: ScanDecisions<'a>,
    has_run: bool,
    objects: Objects,
}

/// Returns the counts of a scan together with those of the node below it.
fn flow_of(plan: &Arc<dyn ExecutionPlan>) -> Flow {
    let below = plan.children().into_iter().next();
    let flow = Flow::from_metrics(plan.as_ref());
    match below {
        Some(scan) => flow.over(Flow::from_metrics(scan.as_ref())),
        None => flow,
    }
}

/// Returns the EXPLAIN text of a node without its name.
fn detail(plan: &dyn ExecutionPlan) -> String {
    let line = displayable(plan).one_line().to_string();
    let line = line.trim();
    match line.split_once(':') {
        Some((name, rest)) if !name.contains(' ') => rest.trim().to_owned(),
        _ if line.contains(' ') => line.to_owned(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use datafusion::prelude::{SessionConfig, SessionContext};

    use super::*;

    async fn picture(sql: &str) -> PlanGraph {
        let config = SessionConfig::new().with_target_partitions(2);
        let context = SessionContext::new_with_config(config);
        for table in ["a", "b"] {
            let sql = format!("CREATE TABLE {table} AS VALUES (1, 'x'), (2, 'y')");
            context.sql(&sql).await.unwrap().collect().await.unwrap();
        }
        let plan = context.sql(sql).await.unwrap().create_physical_plan().await.unwrap();
        PlanGraph::from_plan(&plan, &[])
    }

    #[tokio::test]
    async fn operators_come_after_those_whose_rows_they_take() {
        let sql = "SELECT a.column2, count(*) FROM a JOIN b ON a.column1 = b.column1 \
                   GROUP BY a.column2 ORDER BY 2 LIMIT 3";
        let PlanGraph { operators, left_out } = picture(sql).await;
        for (index, operator) in operators.iter().enumerate() {
            assert!(operator.inputs.iter().all(|input| *input < index), "{operators:?}");
            assert_eq!(operator.place, ExecutionSite::Client);
        }
        let titles: Vec<_> = operators.iter().map(|it| it.title.as_str()).collect();
        let scans = titles.iter().filter(|title| **title == "Scan").count();
        assert_eq!(scans, 2, "{titles:?}");
        for expected in ["Join (Inner)", "Group", "Top 3"] {
            assert!(titles.contains(&expected), "{titles:?}");
        }
        let join = operators.iter().find(|it| it.title.starts_with("Join")).unwrap();
        assert!(join.detail.contains("column1") && join.inputs.len() == 2, "{join:?}");
        assert!(!join.detail.contains("HashJoinExec"), "{join:?}");
        assert!(left_out > 0);
        // Every operator but the last is the input of one other.
        let mut taken: Vec<_> = operators.iter().flat_map(|it| it.inputs.clone()).collect();
        taken.sort_unstable();
        assert_eq!(taken, (0..operators.len() - 1).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn a_union_takes_the_rows_of_all() {
        let sql = "SELECT column1 FROM a UNION ALL SELECT column1 FROM b UNION ALL SELECT 7";
        let PlanGraph { operators, .. } = picture(sql).await;
        let union = operators.last().unwrap();
        assert_eq!((union.title.as_str(), union.inputs.len()), ("Union", 3), "{operators:?}");
    }
}
