//! Encodes aggregates that the store computes.

use std::sync::Arc;

use arrow::datatypes::Schema;
use datafusion::common::{Result, plan_datafusion_err, plan_err};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion_proto::protobuf;
use datafusion_proto::protobuf::PhysicalPlanNode;
use datafusion_proto::protobuf::physical_plan_node::PhysicalPlanType;
use prost::Message;
use sluicegate_s3select::dialect::ast::Projection;
use sluicegate_s3select::dialect::parse;

use super::select_scan::SelectMessage;
use super::{Decoder, Encoder, Node, read};
use crate::operators::s3_aggregate::{S3AggregateExec, StateColumn};
use crate::pushdown::statement::Statement;
use crate::scan::s3_select::S3SelectSource;

/// The message of an [`S3AggregateExec`].
#[derive(Clone, PartialEq, Message)]
pub(super) struct AggregateMessage {
    /// The scan whose rows are aggregated.
    #[prost(message, optional, tag = "1")]
    scan: Option<SelectMessage>,
    /// The statement that is sent.
    #[prost(string, tag = "2")]
    sql: String,
    /// The columns of the statement's answer.
    #[prost(message, optional, tag = "3")]
    answer: Option<protobuf::Schema>,
    /// The column of the answer for each column of the partial states.
    #[prost(uint32, repeated, tag = "4")]
    states: Vec<u32>,
    /// The partial aggregation that the node replaced.
    #[prost(message, optional, tag = "5")]
    partial: Option<PhysicalPlanNode>,
}

impl Encoder<'_> {
    pub(super) fn aggregate(&self, exec: &S3AggregateExec) -> Result<AggregateMessage> {
        let partial: Arc<dyn ExecutionPlan> = Arc::clone(exec.partial()) as _;
        let answer = exec.statement().answer.as_ref();
        let index = |index: usize| {
            u32::try_from(index).map_err(|_| plan_datafusion_err!("too many columns to encode"))
        };
        let states = exec.states().iter().map(|state| index(state.answer));
        Ok(AggregateMessage {
            scan: Some(self.select(exec.config(), exec.source()?)?),
            sql: exec.statement().sql(),
            answer: Some(answer.try_into()?),
            states: states.collect::<Result<_>>()?,
            partial: Some(self.converter.execution_plan_to_proto(&partial, self.codec)?),
        })
    }
}

impl Decoder<'_> {
    pub(super) fn aggregate(&self, message: &AggregateMessage) -> Result<S3AggregateExec> {
        let (Some(scan), Some(answer), Some(partial)) =
            (&message.scan, &message.answer, &message.partial)
        else {
            return plan_err!("an aggregate in the store without a scan in the bytes of a plan");
        };
        let config = self.select(scan)?;
        let Some(source) = config.file_source().downcast_ref::<S3SelectSource>() else {
            return plan_err!("an aggregate in the store without a Select scan");
        };
        let answer: Schema = answer.try_into()?;
        let statement = statement(source, &message.sql, answer)?;
        check_chain(partial)?;
        let partial = self.converter.proto_to_execution_plan(partial, &self.context)?;
        let Some(partial) = partial.downcast_ref::<AggregateExec>() else {
            return plan_err!("an aggregate in the store that replaced none");
        };
        let columns = statement.answer.fields().len();
        let states: Vec<_> =
            message.states.iter().map(|answer| StateColumn { answer: *answer as usize }).collect();
        if states.len() != partial.schema().fields().len()
            || states.iter().any(|state| state.answer >= columns)
        {
            return plan_err!("an aggregate in the store whose answer is not its state");
        }
        Ok(S3AggregateExec::new(config, statement, states, Arc::new(partial.clone())))
    }
}

/// Parses a statement, and checks that the source would send it.
fn statement(source: &S3SelectSource, sql: &str, answer: Schema) -> Result<Statement> {
    let query = parse(sql).map_err(|error| plan_datafusion_err!("`{sql}`: {error}"))?;
    let Projection::Items(items) = query.projection else {
        return plan_err!("`{sql}` is not an aggregate");
    };
    let items: Vec<_> = items.into_iter().map(|item| item.expr).collect();
    if items.len() != answer.fields().len() {
        return plan_err!("`{sql}` does not have {} columns", answer.fields().len());
    }
    let statement = Statement::aggregate_as_sent(items, query.filter, Arc::new(answer));
    if statement.sql() != sql {
        return plan_err!("`{sql}` is not an aggregate that would be sent");
    }
    source.profile().allows(&statement.query).map_err(|refusal| {
        plan_datafusion_err!("the endpoint `{}` refuses {refusal}", source.endpoint_name())
    })?;
    Ok(statement)
}

/// Checks that a partial aggregation is over projections over one scan. Crafted bytes could nest other operators
/// without end, and each level would be decoded anew.
pub(super) fn check_chain(partial: &PhysicalPlanNode) -> Result<()> {
    let mut node = match &partial.physical_plan_type {
        Some(PhysicalPlanType::Aggregate(aggregate)) => aggregate.input.as_deref(),
        _ => None,
    };
    loop {
        match node.and_then(|node| node.physical_plan_type.as_ref()) {
            Some(PhysicalPlanType::Projection(projection)) => node = projection.input.as_deref(),
            Some(PhysicalPlanType::Extension(leaf)) if leaf.inputs.is_empty() => {
                return match read(&leaf.node)?.node {
                    Some(Node::Select(_)) => Ok(()),
                    _ => plan_err!("an aggregate in the store over no Select scan"),
                };
            }
            _ => return plan_err!("an aggregate in the store that replaced none"),
        }
    }
}
