//! Encodes a scan through S3 Select: the scan that it replaced, and the content of its statements.

use std::sync::Arc;

use datafusion::common::{Result, plan_datafusion_err, plan_err};
use datafusion::datasource::physical_plan::{FileScanConfig, FileScanConfigBuilder};
use datafusion_proto::protobuf;
use prost::Message;

use super::files::FilesMessage;
use super::{Decoder, Encoder};
use crate::pushdown::dynamic_filters::{DynamicFilter, DynamicKeys};
use crate::scan::s3_select::{S3SelectSource, SelectPushdown, Split};
use crate::store::endpoints::resolve;

/// The message of an [`S3Scan`](crate::scan::s3_scan::S3Scan).
#[derive(Clone, PartialEq, Message)]
pub(super) struct SelectMessage {
    /// The scan that reads the same files with GET.
    #[prost(message, optional, tag = "1")]
    files: Option<FilesMessage>,
    /// The name of the endpoint in the session.
    #[prost(string, tag = "2")]
    endpoint: String,
    /// The output of the scan, over the table's columns.
    #[prost(message, optional, tag = "3")]
    projection: Option<protobuf::ProjectionExprs>,
    #[prost(message, repeated, tag = "4")]
    filters: Vec<FilterMessage>,
    #[prost(uint64, optional, tag = "5")]
    limit: Option<u64>,
    #[prost(message, optional, tag = "6")]
    split: Option<SplitMessage>,
    #[prost(uint64, tag = "7")]
    batch_size: u64,
    /// Filters that become known while the query runs, over the table's columns.
    #[prost(message, repeated, tag = "8")]
    arriving: Vec<DynamicFilterMessage>,
    /// The number of files of the table that the scan does not read.
    #[prost(uint64, tag = "9")]
    left_out: u64,
}

/// The division of files among statements.
#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct SplitMessage {
    #[prost(uint64, tag = "1")]
    range_bytes: u64,
    #[prost(uint64, tag = "2")]
    partitions: u64,
}

impl SplitMessage {
    pub(super) fn from_split(split: Split) -> Self {
        Self { range_bytes: split.range_bytes as u64, partitions: split.partitions as u64 }
    }

    pub(super) fn split(self) -> Result<Split> {
        let Self { range_bytes, partitions } = self;
        Ok(Split { range_bytes: size(range_bytes)?, partitions: size(partitions)? })
    }
}

/// Converts a size to this machine's `usize`.
pub(super) fn size(size: u64) -> Result<usize> {
    usize::try_from(size).map_err(|_| plan_datafusion_err!("a size beyond this machine's"))
}

/// A filter that becomes known while the query runs.
#[derive(Clone, PartialEq, Message)]
struct DynamicFilterMessage {
    /// The filter, over the table's columns.
    #[prost(message, optional, tag = "1")]
    filter: Option<protobuf::PhysicalExprNode>,
    /// True if the filter is the keys of a join.
    #[prost(bool, tag = "2")]
    keys: bool,
    /// The number of possible keys, if it is known.
    #[prost(double, optional, tag = "3")]
    domain: Option<f64>,
}

/// A filter that the store applies.
#[derive(Clone, PartialEq, Message)]
struct FilterMessage {
    /// The filter, over the table's columns.
    #[prost(message, optional, tag = "1")]
    here: Option<protobuf::PhysicalExprNode>,
    /// The condition in the statement. The decoding session must send the same one, because the plan's filter above
    /// the scan depends on it.
    #[prost(string, tag = "2")]
    there: String,
    /// True if no filter above the scan checks the rows again.
    #[prost(bool, tag = "3")]
    exact: bool,
}

impl Encoder<'_> {
    pub(super) fn select(
        &self,
        config: &FileScanConfig,
        source: &S3SelectSource,
    ) -> Result<SelectMessage> {
        let get = Arc::clone(source.get().source());
        let files = FileScanConfigBuilder::from(config.clone()).with_source(get).build();
        let asked = source.pushdown();
        let filters = source.filters().iter().map(|filter| {
            Ok(FilterMessage {
                here: Some(self.expr(&filter.here)?),
                there: filter.there.expr.to_string(),
                exact: filter.is_exact(),
            })
        });
        let arriving = asked.arriving.iter().map(|arriving| {
            Ok(DynamicFilterMessage {
                filter: Some(self.expr(&arriving.filter)?),
                keys: arriving.keys.is_some(),
                domain: arriving.keys.and_then(|keys| keys.domain),
            })
        });
        Ok(SelectMessage {
            files: Some(self.files(&files)?),
            endpoint: source.endpoint_name().to_owned(),
            projection: Some(self.projection(&asked.projection)?),
            filters: filters.collect::<Result<_>>()?,
            limit: asked.limit.map(|limit| limit as u64),
            split: Some(SplitMessage::from_split(asked.split)),
            batch_size: asked.batch_size as u64,
            arriving: arriving.collect::<Result<_>>()?,
            left_out: asked.left_out as u64,
        })
    }
}

impl Decoder<'_> {
    pub(super) fn select(&self, message: &SelectMessage) -> Result<FileScanConfig> {
        let (Some(files), Some(projection)) = (&message.files, &message.projection) else {
            return plan_err!("a Select scan without files in the bytes of a plan");
        };
        let config = self.files(files)?;
        let options = self.context.task_ctx().session_config().options();
        let endpoint = resolve(options, &message.endpoint)?;
        let table = Arc::clone(config.file_source().table_schema().table_schema());
        let filters = message.filters.iter().map(|it| self.expr(it.here.as_ref(), &table));
        let arriving = message.arriving.iter().map(|it| {
            let filter = self.expr(it.filter.as_ref(), &table)?;
            let keys = it.keys.then_some(DynamicKeys { domain: it.domain });
            Ok(DynamicFilter { filter, keys })
        });
        let asked = SelectPushdown {
            projection: self.projection(projection, &table)?,
            filters: filters.collect::<Result<_>>()?,
            arriving: arriving.collect::<Result<_>>()?,
            limit: message.limit.map(size).transpose()?,
            split: message.split.unwrap_or_default().split()?,
            batch_size: size(message.batch_size)?,
            left_out: size(message.left_out)?,
        };
        let source =
            S3SelectSource::try_with_pushdown(&config, &endpoint, asked).map_err(|why| {
                plan_datafusion_err!(
                    "the endpoint `{}` does not take the scan: {why}",
                    endpoint.name
                )
            })?;
        for (filter, message) in source.filters().iter().zip(&message.filters) {
            let there = filter.there.expr.to_string();
            if there != message.there || filter.is_exact() != message.exact {
                return plan_err!(
                    "the endpoint `{}` would be sent `{there}`, and not `{}`: it is of another kind than where the plan was made",
                    endpoint.name,
                    message.there
                );
            }
        }
        Ok(FileScanConfigBuilder::from(config).with_source(Arc::new(source)).build())
    }
}
