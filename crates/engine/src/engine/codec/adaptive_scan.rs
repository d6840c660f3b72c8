//! Encodes a scan that begins with GET and may switch to Select while it runs.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::datasource::physical_plan::{FileScanConfig, FileScanConfigBuilder};
use datafusion_proto::protobuf;
use prost::Message;

use super::files::FilesMessage;
use super::select_scan::{SplitMessage, size};
use super::{Decoder, Encoder};
use crate::scan::adaptive::{AdaptiveSource, SelectAlternative};
use crate::store::endpoints::resolve;

/// The Select part of an [`AdaptiveSource`]; the scan with GET is encoded separately.
#[derive(Clone, PartialEq, Message)]
pub(super) struct SelectAlternativeMessage {
    /// The name of the endpoint in the session.
    #[prost(string, tag = "1")]
    endpoint: String,
    /// The filters above the scan, over the table's columns.
    #[prost(message, repeated, tag = "2")]
    filters: Vec<protobuf::PhysicalExprNode>,
    #[prost(message, optional, tag = "3")]
    split: Option<SplitMessage>,
    #[prost(uint64, tag = "4")]
    batch_size: u64,
}

impl Encoder<'_> {
    pub(super) fn adaptive(
        &self,
        config: &FileScanConfig,
        source: &AdaptiveSource,
    ) -> Result<FilesMessage> {
        let get = Arc::clone(source.get());
        let files = FileScanConfigBuilder::from(config.clone()).with_source(get).build();
        let asked = source.select().pushdown();
        let instead = SelectAlternativeMessage {
            endpoint: source.select().endpoint_name().to_owned(),
            filters: asked.filters.iter().map(|it| self.expr(it)).collect::<Result<_>>()?,
            split: Some(SplitMessage::from_split(asked.split)),
            batch_size: asked.batch_size as u64,
        };
        let mut files = self.files(&files)?;
        files.instead = Some(instead);
        Ok(files)
    }
}

impl Decoder<'_> {
    /// Decodes an adaptive scan. Returns none if the session's endpoint accepts no such statement, so that all files
    /// are read with GET. The filters remain above the scan in either case.
    pub(super) fn turning(
        &self,
        message: &SelectAlternativeMessage,
        config: &FileScanConfig,
    ) -> Result<Option<FileScanConfig>> {
        let options = self.context.task_ctx().session_config().options();
        let Ok(endpoint) = resolve(options, &message.endpoint) else { return Ok(None) };
        let table = Arc::clone(config.file_source().table_schema().table_schema());
        let filters = message.filters.iter().map(|it| self.expr(Some(it), &table));
        let instead = SelectAlternative {
            filters: filters.collect::<Result<_>>()?,
            split: message.split.unwrap_or_default().split()?,
            batch_size: size(message.batch_size)?,
        };
        Ok(AdaptiveSource::replace(config, &endpoint, instead).ok())
    }
}
