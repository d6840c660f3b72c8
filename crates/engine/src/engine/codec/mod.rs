//! Encodes plans as bytes.
//!
//! DataFusion encodes its own operators ([`datafusion_proto`]); [`SluiceCodec`] adds ours, with a module for each.
//! The bytes contain the plan as it was made: files in the version that was listed, statements, expressions, and the
//! *names* of endpoints, which the decoding session must have. They contain no connection and no credentials.
//!
//! Bytes may come from anywhere. Decoding fails for bytes that are not a plan. It also fails for a plan whose
//! statements the decoding session's endpoint would answer differently.

mod adaptive_scan;
mod cast;
mod converter;
mod expressions;
mod files;
mod index_scan;
mod s3_aggregate;
mod s3_group_by;
mod select_scan;
mod switch;
mod top_k_sample;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use datafusion::common::{Result, not_impl_err, plan_datafusion_err, plan_err};
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::datasource::source::DataSourceExec;
use datafusion::execution::TaskContext;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr_common::physical_expr::proto_decode::PhysicalExprDecodeCtx;
use datafusion::physical_plan::ExecutionPlan;
use datafusion_proto::bytes::{
    physical_plan_from_bytes_with_proto_converter, physical_plan_to_bytes_with_proto_converter,
};
use datafusion_proto::physical_plan::{
    PhysicalExtensionCodec, PhysicalPlanDecodeContext, PhysicalProtoConverterExtension,
};
use prost::Message;

pub use self::converter::Converter;
use self::files::FilesMessage;
use self::index_scan::IndexMessage;
use self::s3_aggregate::AggregateMessage;
use self::s3_group_by::GroupByMessage;
use self::select_scan::SelectMessage;
use self::switch::{SwitchDrainMessage, SwitchMessage, SwitchPruneMessage};
use self::top_k_sample::TopKSampleMessage;
use crate::operators::StagedWriteExec;
use crate::operators::s3_aggregate::S3AggregateExec;
use crate::operators::s3_group_by::S3GroupByExec;
use crate::operators::switch_drain::SwitchDrainExec;
use crate::operators::switch_exec::SwitchExec;
use crate::operators::switch_prune::SwitchPruneExec;
use crate::operators::top_k_sample::TopKSampleExec;
use crate::scan::decoded::DecodedSource;
use crate::scan::deleted_rows::reads_kept_rows;
use crate::scan::s3_scan::{
    S3Scan, as_adaptive_scan, as_index_scan, as_scan_of_kept_rows, as_select_scan,
};
use crate::text::located_errors::LocatedSource;
use sluicegate_guards::ForgetfulExec;

/// The first bytes of our operators and expressions, with the version of the following message.
const HEADER: [u8; 7] = *b"sluice\x01";

/// Encodes a plan of DataFusion's operators and ours.
///
/// # Errors
///
/// If an operator has no encoding.
pub fn encode(plan: &Arc<dyn ExecutionPlan>) -> Result<Vec<u8>> {
    let converter = Converter::default();
    let plan = Arc::clone(plan);
    physical_plan_to_bytes_with_proto_converter(plan, &SluiceCodec, &converter).map(Vec::from)
}

/// Decodes a plan for the session of a task.
///
/// # Errors
///
/// If the bytes are no plan, or the session lacks an endpoint or a function of the plan.
pub fn decode(bytes: &[u8], context: &TaskContext) -> Result<Arc<dyn ExecutionPlan>> {
    let converter = Converter::default();
    // DataFusion trusts the bytes of its own operators, and panics on some that are damaged.
    let decoded = catch_unwind(AssertUnwindSafe(|| {
        physical_plan_from_bytes_with_proto_converter(bytes, context, &SluiceCodec, &converter)
    }));
    decoded.map_err(|_| plan_datafusion_err!("the bytes of the plan are damaged"))?
}

/// Encodes our operators, for programs that send DataFusion's plans over a wire. With our [`Converter`], scans that
/// compute with a scalar subquery can be decoded, too, and casts keep the field that they cast to.
#[derive(Debug, Clone, Copy, Default)]
pub struct SluiceCodec;

/// An operator of ours.
#[derive(Clone, PartialEq, Message)]
struct NodeMessage {
    #[prost(oneof = "Node", tags = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11")]
    node: Option<Node>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum Node {
    #[prost(message, tag = "1")]
    Files(Box<FilesMessage>),
    #[prost(message, tag = "2")]
    Select(Box<SelectMessage>),
    #[prost(message, tag = "3")]
    Aggregate(Box<AggregateMessage>),
    #[prost(message, tag = "4")]
    StagedWrite(StagedWriteMessage),
    #[prost(message, tag = "5")]
    Switch(SwitchMessage),
    #[prost(message, tag = "6")]
    SwitchPrune(SwitchPruneMessage),
    #[prost(message, tag = "7")]
    TopKSample(TopKSampleMessage),
    #[prost(message, tag = "8")]
    GroupBy(Box<GroupByMessage>),
    #[prost(message, tag = "9")]
    Index(Box<IndexMessage>),
    #[prost(message, tag = "10")]
    SwitchDrain(SwitchDrainMessage),
    #[prost(message, tag = "11")]
    Forgetful(ForgetfulMessage),
}

/// The message of a [`ForgetfulExec`].
#[derive(Clone, PartialEq, Message)]
struct ForgetfulMessage {
    #[prost(bool, tag = "1")]
    keeps_order: bool,
}

/// The message of a [`StagedWriteExec`].
#[derive(Clone, PartialEq, Message)]
struct StagedWriteMessage {
    /// The URLs of objects that it removes.
    #[prost(string, repeated, tag = "1")]
    replaced: Vec<String>,
    /// True if it writes a file with the columns even without rows.
    #[prost(bool, tag = "2")]
    leaves_columns: bool,
    /// True if an object may replace an existing one of its name.
    #[prost(bool, tag = "3")]
    may_replace: bool,
}

/// The means to encode an operator: the codec, and DataFusion's converter for its inputs and expressions.
#[derive(Clone, Copy)]
struct Encoder<'a> {
    codec: &'a SluiceCodec,
    converter: &'a dyn PhysicalProtoConverterExtension,
}

/// The means to decode an operator.
struct Decoder<'a> {
    context: PhysicalPlanDecodeContext<'a>,
    converter: &'a dyn PhysicalProtoConverterExtension,
}

impl PhysicalExtensionCodec for SluiceCodec {
    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        buf: &mut Vec<u8>,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        let encoder = Encoder { codec: self, converter };
        let node = if let Some(exec) = node.downcast_ref::<S3AggregateExec>() {
            Node::Aggregate(Box::new(encoder.aggregate(exec)?))
        } else if let Some(exec) = node.downcast_ref::<S3GroupByExec>() {
            Node::GroupBy(Box::new(encoder.group_by(exec)?))
        } else if let Some((config, source)) = as_select_scan(node.as_ref()) {
            Node::Select(Box::new(encoder.select(config, source)?))
        } else if let Some((config, source)) = as_index_scan(node.as_ref()) {
            Node::Index(Box::new(encoder.index(config, source)?))
        } else if let Some((config, source)) = as_adaptive_scan(node.as_ref()) {
            Node::Files(Box::new(encoder.adaptive(config, source)?))
        } else if let Some(config) = as_scan_of_kept_rows(node.as_ref()) {
            Node::Files(Box::new(encoder.files(config)?))
        } else if let Some(config) = named_scan(node.as_ref()) {
            Node::Files(Box::new(encoder.files(config)?))
        } else if let Some(write) = node.downcast_ref::<StagedWriteExec>() {
            Node::StagedWrite(StagedWriteMessage {
                replaced: write.replaced().to_vec(),
                leaves_columns: write.leaves_columns(),
                may_replace: write.may_replace(),
            })
        } else if let Some(exec) = node.downcast_ref::<SwitchExec>() {
            Node::Switch(SwitchMessage::from_exec(exec))
        } else if let Some(exec) = node.downcast_ref::<SwitchPruneExec>() {
            Node::SwitchPrune(encoder.switch_prune(exec)?)
        } else if node.is::<SwitchDrainExec>() {
            Node::SwitchDrain(SwitchDrainMessage {})
        } else if let Some(exec) = node.downcast_ref::<ForgetfulExec>() {
            Node::Forgetful(ForgetfulMessage { keeps_order: exec.keeps_order() })
        } else if let Some(exec) = node.downcast_ref::<TopKSampleExec>() {
            Node::TopKSample(encoder.top_k_sample(exec)?)
        } else {
            return not_impl_err!("{} cannot be encoded", node.name());
        };
        buf.extend(with_header(&NodeMessage { node: Some(node) }));
        Ok(())
    }

    fn try_decode_expr(
        &self,
        buf: &[u8],
        inputs: &[Arc<dyn PhysicalExpr>],
        _context: &PhysicalExprDecodeCtx<'_>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        cast::decode(buf, inputs)
    }

    fn try_decode(
        &self,
        buf: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        context: &TaskContext,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let message = read(buf)?;
        let context = PhysicalPlanDecodeContext::new(context, self);
        let decoder = Decoder { context, converter };
        match (message.node, inputs) {
            (Some(Node::Files(files)), []) => {
                let config = decoder.files(&files)?;
                let turning = match &files.instead {
                    Some(instead) => decoder.turning(instead, &config)?,
                    None => None,
                };
                Ok(match turning {
                    Some(turning) => S3Scan::node(turning),
                    None if reads_kept_rows(&config) => S3Scan::node(config),
                    None => DataSourceExec::from_data_source(config),
                })
            }
            (Some(Node::Select(select)), []) => Ok(S3Scan::node(decoder.select(&select)?)),
            (Some(Node::Index(index)), []) => Ok(S3Scan::node(decoder.index(&index)?)),
            (Some(Node::Aggregate(aggregate)), []) => Ok(Arc::new(decoder.aggregate(&aggregate)?)),
            (Some(Node::GroupBy(group_by)), []) => Ok(Arc::new(decoder.group_by(&group_by)?)),
            (Some(Node::StagedWrite(write)), [input]) => {
                let staged = StagedWriteExec::new(Arc::clone(input)).replacing(write.replaced);
                let staged = staged.leaving_columns(write.leaves_columns);
                Ok(Arc::new(staged.which_may_replace(write.may_replace)))
            }
            (Some(Node::Switch(switch)), [input]) => Ok(Arc::new(switch.over(input)?)),
            (Some(Node::SwitchPrune(prune)), [input]) => {
                Ok(Arc::new(decoder.switch_prune(&prune, input)?))
            }
            (Some(Node::Forgetful(message)), [input]) => {
                Ok(Arc::new(ForgetfulExec::new(Arc::clone(input), message.keeps_order)))
            }
            (Some(Node::SwitchDrain(_)), [input]) => {
                Ok(Arc::new(SwitchDrainExec::try_new(Arc::clone(input))?))
            }
            (Some(Node::TopKSample(sample)), [input]) => {
                Ok(Arc::new(decoder.top_k_sample(&sample, input)?))
            }
            (None, _) => plan_err!("an operator of no known kind in the bytes of a plan"),
            (Some(_), inputs) => {
                plan_err!("an operator with {} inputs in the bytes of a plan", inputs.len())
            }
        }
    }
}

/// Encodes a message after the header.
fn with_header(message: &impl Message) -> Vec<u8> {
    let mut bytes = HEADER.to_vec();
    bytes.extend(message.encode_to_vec());
    bytes
}

/// Decodes the operator after the header.
fn read(bytes: &[u8]) -> Result<NodeMessage> {
    NodeMessage::decode(body(bytes)?).map_err(damaged)
}

/// Returns the bytes after the header.
fn body(bytes: &[u8]) -> Result<&[u8]> {
    let (name, version) = HEADER.split_at(HEADER.len() - 1);
    let Some(rest) = bytes.strip_prefix(name) else {
        return plan_err!("the bytes are not those of an operator of Sluicegate");
    };
    let Some(body) = rest.strip_prefix(version) else {
        let other = rest.first().copied().unwrap_or(0);
        return plan_err!(
            "the plan is encoded in version {other}, and only version {} is understood",
            version[0]
        );
    };
    Ok(body)
}

fn damaged(error: prost::DecodeError) -> datafusion::common::DataFusionError {
    plan_datafusion_err!("the bytes of the plan are damaged: {error}")
}

/// Returns the configuration of a scan whose source is ours: it names the object in its errors, or decodes files
/// locally. Returns `None` for other nodes.
fn named_scan(node: &dyn ExecutionPlan) -> Option<&FileScanConfig> {
    let config = node.downcast_ref::<DataSourceExec>()?.data_source();
    let config = config.downcast_ref::<FileScanConfig>()?;
    let source = config.file_source();
    (source.is::<LocatedSource>() || source.is::<DecodedSource>()).then_some(config)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use arrow::datatypes::{DataType, Field, Schema};
    use datafusion::physical_expr::expressions::{CastExpr, Column, IsNullExpr};

    use super::*;

    fn refused(bytes: &[u8]) -> String {
        let context = TaskContext::default();
        let converter = Converter::default();
        match SluiceCodec.try_decode(bytes, &[], &context, &converter) {
            Ok(plan) => panic!("{bytes:?} is a plan: {plan:?}"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn the_header_says_whose_bytes_these_are() {
        assert!(refused(b"").contains("not those of an operator of Sluicegate"));
        assert!(refused(b"sluide\x01").contains("not those of an operator of Sluicegate"));
        assert!(refused(b"sluice\x07").contains("version 7, and only version 1"));
        assert!(refused(b"sluice").contains("version 0, and only version 1"));
        assert!(refused(b"sluice\x01").contains("no known kind"));
        assert!(refused(b"sluice\x01\xff\xff").contains("damaged"));
        assert!(refused(b"sluice\x01\x0a\x00").contains("without files"));
    }

    #[test]
    fn a_cast_keeps_its_field() {
        let column: Arc<dyn PhysicalExpr> = Arc::new(Column::new("a", 0));
        let metadata = [("unit".to_owned(), "m".to_owned())].into();
        let fields = [true, false].map(|nullable| {
            let field = Field::new("b", DataType::Decimal128(7, 2), nullable);
            Arc::new(field.with_metadata(HashMap::clone(&metadata)))
        });
        let schema = Schema::new(vec![Field::new("a", DataType::Int64, false)]);
        let context = TaskContext::default();
        for field in fields {
            let cast = CastExpr::new_with_target_field(Arc::clone(&column), field, None);
            let inner: Arc<dyn PhysicalExpr> = Arc::new(cast);
            // The cast is within another expression.
            let expr: Arc<dyn PhysicalExpr> = Arc::new(IsNullExpr::new(inner));
            let node = Converter::default().physical_expr_to_proto(&expr, &SluiceCodec).unwrap();
            let decode = PhysicalPlanDecodeContext::new(&context, &SluiceCodec);
            let back =
                Converter::default().proto_to_physical_expr(&node, &schema, &decode).unwrap();
            assert_eq!(&back, &expr);
        }
        assert!(cast::decode(&HEADER, &[column]).unwrap_err().to_string().contains("a cast of 1"));
    }
}
