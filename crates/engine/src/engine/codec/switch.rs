//! Encodes the switch, and the operators that use it.

use std::sync::Arc;

use datafusion::common::{Result, plan_datafusion_err, plan_err};
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use datafusion_proto::protobuf;
use prost::Message;

use super::{Decoder, Encoder};
use crate::operators::switch::SwitchPlan;
use crate::operators::switch_exec::SwitchExec;
use crate::operators::switch_prune::{Side, SwitchPruneExec};

/// The message of a [`SwitchExec`].
#[derive(Clone, PartialEq, Message)]
pub(super) struct SwitchMessage {
    #[prost(bool, tag = "1")]
    one_version: bool,
    #[prost(bool, tag = "2")]
    packed: bool,
}

impl SwitchMessage {
    pub(super) fn from_exec(exec: &SwitchExec) -> Self {
        Self { one_version: exec.one_version(), packed: exec.is_packed() }
    }

    pub(super) fn over(&self, input: &Arc<dyn ExecutionPlan>) -> Result<SwitchExec> {
        if input.output_partitioning().partition_count() != 1 {
            return plan_err!("a switch over several partitions in the bytes of a plan");
        }
        Ok(SwitchExec::new(Arc::clone(input), self.one_version).packed(self.packed))
    }
}

/// The message of a [`SwitchDrainExec`](crate::operators::switch_drain::SwitchDrainExec). It is empty because the
/// operator gets everything from the switch below it.
#[derive(Clone, PartialEq, Message)]
pub(super) struct SwitchDrainMessage {}

/// The message of a [`SwitchPruneExec`].
#[derive(Clone, PartialEq, Message)]
pub(super) struct SwitchPruneMessage {
    #[prost(enumeration = "SideMessage", tag = "1")]
    side: i32,
    /// The program, the fields of its packets, and the resources that it needs on the switch.
    #[prost(bytes = "vec", tag = "2")]
    settings: Vec<u8>,
    /// The values of the fields, over the input's columns.
    #[prost(message, repeated, tag = "3")]
    exprs: Vec<protobuf::PhysicalExprNode>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
enum SideMessage {
    Only = 0,
    Build = 1,
    Probe = 2,
    Again = 3,
}

impl Encoder<'_> {
    pub(super) fn switch_prune(&self, exec: &SwitchPruneExec) -> Result<SwitchPruneMessage> {
        let (settings, exprs) = exec.plan().to_parts()?;
        let side = match exec.side() {
            Side::Only => SideMessage::Only,
            Side::Build => SideMessage::Build,
            Side::Probe => SideMessage::Probe,
            Side::Again => SideMessage::Again,
        };
        let exprs = exprs.iter().map(|expr| self.expr(expr)).collect::<Result<_>>()?;
        Ok(SwitchPruneMessage { side: side as i32, settings, exprs })
    }
}

impl Decoder<'_> {
    pub(super) fn switch_prune(
        &self,
        message: &SwitchPruneMessage,
        input: &Arc<dyn ExecutionPlan>,
    ) -> Result<SwitchPruneExec> {
        let schema = input.schema();
        let side = match SideMessage::try_from(message.side) {
            Ok(SideMessage::Only) => Side::Only,
            Ok(SideMessage::Build) => Side::Build,
            Ok(SideMessage::Probe) => Side::Probe,
            Ok(SideMessage::Again) => Side::Again,
            Err(error) => return Err(plan_datafusion_err!("{error}")),
        };
        let exprs = message.exprs.iter().map(|expr| self.expr(Some(expr), &schema));
        let exprs = exprs.collect::<Result<_>>()?;
        let plan = SwitchPlan::from_parts(&message.settings, exprs, &schema)?;
        Ok(SwitchPruneExec::on(side, Arc::clone(input), plan))
    }
}
