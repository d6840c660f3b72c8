//! A cast to a field.
//!
//! DataFusion encodes the type that an expression is cast to, and leaves out whether the field may be NULL
//! and its metadata. By those a UNION decides whether its inputs look alike, and would cast them again.

use std::sync::Arc;

use arrow::datatypes::Field;
use datafusion::common::{Result, plan_datafusion_err, plan_err};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::CastExpr;
use datafusion_proto::physical_plan::{PhysicalExtensionCodec, PhysicalProtoConverterExtension};
use datafusion_proto::protobuf::physical_expr_node::ExprType;
use datafusion_proto::protobuf::{self, PhysicalExprNode, PhysicalExtensionExprNode};
use prost::Message;

use super::{body, damaged, with_header};

/// A [`CastExpr`] to a field, of the expression that stands beside it.
#[derive(Clone, PartialEq, Message)]
struct CastMessage {
    #[prost(message, optional, tag = "1")]
    field: Option<protobuf::Field>,
}

/// A cast as bytes, if it is one to a field.
pub(super) fn encode(
    expr: &Arc<dyn PhysicalExpr>,
    codec: &dyn PhysicalExtensionCodec,
    converter: &dyn PhysicalProtoConverterExtension,
) -> Result<Option<PhysicalExprNode>> {
    let cast = expr.downcast_ref::<CastExpr>().filter(|cast| cast.has_explicit_nullability());
    let Some(cast) = cast else { return Ok(None) };
    let field = protobuf::Field::try_from(cast.target_field().as_ref())
        .map_err(|error| plan_datafusion_err!("{expr} cannot be encoded: {error}"))?;
    let node = PhysicalExtensionExprNode {
        expr: with_header(&CastMessage { field: Some(field) }),
        inputs: vec![converter.physical_expr_to_proto(cast.expr(), codec)?],
    };
    let expr_type = Some(ExprType::Extension(node));
    Ok(Some(PhysicalExprNode { expr_id: expr.expression_id(), expr_type }))
}

/// The cast that some bytes encode.
pub(super) fn decode(
    bytes: &[u8],
    inputs: &[Arc<dyn PhysicalExpr>],
) -> Result<Arc<dyn PhysicalExpr>> {
    let message = CastMessage::decode(body(bytes)?).map_err(damaged)?;
    let (Some(field), [input]) = (&message.field, inputs) else {
        return plan_err!("a cast of {} expressions in the bytes of a plan", inputs.len());
    };
    let field = Field::try_from(field)
        .map_err(|error| plan_datafusion_err!("the bytes of the plan are damaged: {error}"))?;
    Ok(Arc::new(CastExpr::new_with_target_field(Arc::clone(input), Arc::new(field), None)))
}
