//! Encodes aggregates by group that the store computes.

use std::sync::Arc;

use datafusion::common::{Result, plan_datafusion_err, plan_err};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion_proto::protobuf::PhysicalPlanNode;
use prost::Message;

use super::s3_aggregate::check_chain;
use super::select_scan::SelectMessage;
use super::{Decoder, Encoder};
use crate::operators::s3_group_by::{GroupPushdown, S3GroupByExec};

/// The message of an [`S3GroupByExec`]. Its statements follow from the aggregation.
#[derive(Clone, PartialEq, Message)]
pub(super) struct GroupByMessage {
    /// The scan whose rows are aggregated.
    #[prost(message, optional, tag = "1")]
    scan: Option<SelectMessage>,
    /// The partial aggregation that the node replaced.
    #[prost(message, optional, tag = "2")]
    partial: Option<PhysicalPlanNode>,
    /// True if the store aggregates only the largest groups.
    #[prost(bool, tag = "3")]
    largest: bool,
    /// The number of rows of a file that are sampled to find its groups.
    #[prost(uint64, tag = "4")]
    sample_rows: u64,
    /// True if the statement has a GROUP BY clause.
    #[prost(bool, tag = "5")]
    clause: bool,
}

impl Encoder<'_> {
    pub(super) fn group_by(&self, exec: &S3GroupByExec) -> Result<GroupByMessage> {
        let partial: Arc<dyn ExecutionPlan> = Arc::clone(exec.partial()) as _;
        Ok(GroupByMessage {
            scan: Some(self.select(exec.config(), exec.source()?)?),
            partial: Some(self.converter.execution_plan_to_proto(&partial, self.codec)?),
            largest: exec.pushed() == GroupPushdown::Largest,
            sample_rows: exec.sample_rows() as u64,
            clause: exec.pushed() == GroupPushdown::Clause,
        })
    }
}

impl Decoder<'_> {
    pub(super) fn group_by(&self, message: &GroupByMessage) -> Result<S3GroupByExec> {
        let (Some(scan), Some(partial)) = (&message.scan, &message.partial) else {
            return plan_err!("a group-by in the store without a scan in the bytes of a plan");
        };
        let config = self.select(scan)?;
        check_chain(partial)?;
        let partial = self.converter.proto_to_execution_plan(partial, &self.context)?;
        let Some(partial) = partial.downcast_ref::<AggregateExec>() else {
            return plan_err!("a group-by in the store that replaced none");
        };
        if *partial.mode() != AggregateMode::Partial || partial.group_expr().is_true_no_grouping() {
            return plan_err!("a group-by in the store that replaced another aggregation");
        }
        let pushed = match (message.clause, message.largest) {
            (false, false) => GroupPushdown::All,
            (false, true) => GroupPushdown::Largest,
            (true, false) => GroupPushdown::Clause,
            (true, true) => return plan_err!("a group-by in the store in two ways"),
        };
        let sample_rows = usize::try_from(message.sample_rows)
            .map_err(|_| plan_datafusion_err!("a size beyond this machine's"))?;
        let exec = S3GroupByExec::try_new(config, Arc::new(partial.clone()), pushed, sample_rows)?;
        exec.map_err(|why| plan_datafusion_err!("the store cannot group the rows: {why}"))
    }
}
