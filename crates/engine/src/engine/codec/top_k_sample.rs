//! Encodes a scan for ORDER BY … LIMIT that reads a sample first.

use std::sync::Arc;

use arrow::compute::SortOptions;
use arrow::datatypes::DataType;
use datafusion::common::{Result, plan_datafusion_err, plan_err};
use datafusion::datasource::physical_plan::FileSource;
use datafusion::physical_expr::{LexOrdering, PhysicalSortExpr};
use datafusion::physical_plan::ExecutionPlan;
use datafusion_proto::protobuf;
use prost::Message;

use super::{Decoder, Encoder};
use crate::operators::sampling::Sampling;
use crate::operators::top_k_sample::TopKSampleExec;
use crate::scan::s3_scan::as_select_scan;

/// The message of a [`TopKSampleExec`]; all expressions are over the table's columns.
#[derive(Clone, PartialEq, Message)]
pub(super) struct TopKSampleMessage {
    #[prost(message, repeated, tag = "1")]
    keys: Vec<KeyMessage>,
    #[prost(uint64, tag = "2")]
    k: u64,
    #[prost(message, repeated, tag = "3")]
    filters: Vec<protobuf::PhysicalExprNode>,
    #[prost(uint64, tag = "4")]
    rows: u64,
    #[prost(uint64, tag = "5")]
    of: u64,
    #[prost(uint64, tag = "6")]
    seed: u64,
    #[prost(bool, tag = "7")]
    late: bool,
}

/// A sort key.
#[derive(Clone, PartialEq, Message)]
struct KeyMessage {
    #[prost(message, optional, tag = "1")]
    expr: Option<protobuf::PhysicalExprNode>,
    #[prost(bool, tag = "2")]
    descending: bool,
    #[prost(bool, tag = "3")]
    nulls_first: bool,
}

impl Encoder<'_> {
    pub(super) fn top_k_sample(&self, exec: &TopKSampleExec) -> Result<TopKSampleMessage> {
        let sampling = exec.sampling();
        let key = |key: &PhysicalSortExpr| {
            Ok(KeyMessage {
                expr: Some(self.expr(&key.expr)?),
                descending: key.options.descending,
                nulls_first: key.options.nulls_first,
            })
        };
        Ok(TopKSampleMessage {
            keys: sampling.keys.iter().map(key).collect::<Result<_>>()?,
            k: sampling.k as u64,
            filters: sampling.filters.iter().map(|it| self.expr(it)).collect::<Result<_>>()?,
            rows: sampling.rows as u64,
            of: sampling.of as u64,
            seed: sampling.seed,
            late: sampling.late,
        })
    }
}

impl Decoder<'_> {
    pub(super) fn top_k_sample(
        &self,
        message: &TopKSampleMessage,
        input: &Arc<dyn ExecutionPlan>,
    ) -> Result<TopKSampleExec> {
        let Some((_, source)) = as_select_scan(input.as_ref()) else {
            return plan_err!("a sample over no Select scan in the bytes of a plan");
        };
        let table = source.table_schema().table_schema();
        let key = |key: &KeyMessage| {
            let options = SortOptions { descending: key.descending, nulls_first: key.nulls_first };
            Ok(PhysicalSortExpr::new(self.expr(key.expr.as_ref(), table)?, options))
        };
        let keys = message.keys.iter().map(key).collect::<Result<Vec<_>>>()?;
        let Some(keys) = LexOrdering::new(keys) else {
            return plan_err!("a sample without an order in the bytes of a plan");
        };
        let filter = |filter: &protobuf::PhysicalExprNode| {
            let filter = self.expr(Some(filter), table)?;
            match filter.data_type(table)? {
                DataType::Boolean => Ok(filter),
                other => plan_err!("a filter of type {other} in the bytes of a plan"),
            }
        };
        let count = |count: u64| {
            usize::try_from(count)
                .map_err(|_| plan_datafusion_err!("a count beyond this machine's"))
        };
        let sampling = Sampling {
            keys,
            k: count(message.k)?,
            filters: message.filters.iter().map(filter).collect::<Result<_>>()?,
            rows: count(message.rows)?,
            of: count(message.of)?,
            seed: message.seed,
            late: message.late,
        };
        Ok(TopKSampleExec::new(Arc::clone(input), sampling))
    }
}
