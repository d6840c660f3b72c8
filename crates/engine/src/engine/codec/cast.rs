//! Encodes a cast to a field.
//!
//! DataFusion encodes the type of a cast, but neither whether the field may be NULL nor its metadata. UNION compares
//! these to decide whether its inputs have the same schema, and would cast them again.

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

/// A [`CastExpr`] to a field; its input is encoded separately.
#[derive(Clone, PartialEq, Message)]
struct CastMessage {
    #[prost(message, optional, tag = "1")]
    field: Option<protobuf::Field>,
}

/// Encodes a cast to a field; returns none for other expressions.
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

/// Decodes a cast to a field.
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
