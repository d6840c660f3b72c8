//! Encodes the files of a scan, and DataFusion's source for them.
//!
//! DataFusion encodes its sources, but not the version of an object, its compression, the layout of JSON, CSV's line
//! end, and limits beyond 32 bits. These are separate fields of the message.

use std::sync::Arc;

use datafusion::common::{GetExt, Result, plan_datafusion_err, plan_err};
use datafusion::datasource::file_format::file_compression_type::FileCompressionType;
use datafusion::datasource::physical_plan::{
    ArrowSource, CsvSource, FileGroup, FileScanConfig, FileScanConfigBuilder, FileSource,
    JsonSource,
};
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_plan::ExecutionPlan;
use datafusion_proto::protobuf::PhysicalPlanNode;
use datafusion_proto::protobuf::physical_plan_node::PhysicalPlanType;
use prost::Message;

use super::adaptive_scan::SelectAlternativeMessage;
use super::{Decoder, Encoder};
use crate::scan::decoded::{DecodedFormat, DecodedSource};
use crate::scan::deleted_rows::{selected, selection_of, with_selection};
use crate::text::csv::dialect::expected_header::ExpectedHeader;
use crate::text::csv::options::Recoding;
use crate::text::csv::values::SampledTypes;
use crate::text::located_errors::{LocatedSource, TextLayout};

/// A scan with one of DataFusion's sources, or a [`LocatedSource`] around it, or a [`DecodedSource`].
#[derive(Clone, PartialEq, Message)]
pub(super) struct FilesMessage {
    /// The scan with DataFusion's source, as DataFusion encodes it.
    #[prost(message, optional, tag = "1")]
    scan: Option<PhysicalPlanNode>,
    /// The version of each file, in the order of the groups.
    #[prost(message, repeated, tag = "2")]
    versions: Vec<VersionMessage>,
    /// The compression, by its extension: empty, `.gz`, …
    #[prost(string, tag = "3")]
    compression: String,
    /// CSV's line end; absent for the usual ones.
    #[prost(uint32, optional, tag = "4")]
    terminator: Option<u32>,
    /// The layout of a [`LocatedSource`]; absent for other sources.
    #[prost(enumeration = "LayoutMessage", optional, tag = "5")]
    layout: Option<i32>,
    #[prost(uint64, optional, tag = "6")]
    limit: Option<u64>,
    #[prost(bool, tag = "7")]
    preserve_order: bool,
    /// The statements that may replace GET from some file on. Decoders that ignore this field read all files with
    /// GET, and get the same rows.
    #[prost(message, optional, tag = "8")]
    pub(super) instead: Option<SelectAlternativeMessage>,
    /// The number of lines that are skipped at the beginning of each file.
    #[prost(uint64, tag = "9")]
    skip: u64,
    /// The encoding of the text; empty for UTF-8.
    #[prost(string, tag = "10")]
    encoding: String,
    /// The names that the headers of CSV files must have; empty if no header is compared.
    #[prost(string, repeated, tag = "11")]
    header: Vec<String>,
    /// True if these names were declared.
    #[prost(bool, tag = "12")]
    is_declared: bool,
    /// True if the types of CSV columns were inferred from a sample.
    #[prost(bool, tag = "13")]
    has_sampled_types: bool,
    /// True if only a default assumes that the files have headers.
    #[prost(bool, tag = "14")]
    has_header_by_default: bool,
    /// True if the columns of CSV files are found by the names in their headers.
    #[prost(bool, tag = "15")]
    by_name: bool,
    /// The format of a [`DecodedSource`]; absent for other sources.
    #[prost(enumeration = "DecodedMessage", optional, tag = "16")]
    decoded: Option<i32>,
}

/// The version of an object, as listed.
#[derive(Clone, PartialEq, Message)]
struct VersionMessage {
    #[prost(string, optional, tag = "1")]
    e_tag: Option<String>,
    #[prost(string, optional, tag = "2")]
    version: Option<String>,
    /// True if the file's header is compared with that of the scan.
    #[prost(bool, tag = "3")]
    is_compared: bool,
    /// The numbers of rows that are read and skipped in turn; empty if all are read.
    #[prost(uint64, repeated, tag = "4")]
    rows: Vec<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
enum DecodedMessage {
    Arrow = 0,
    Avro = 1,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
enum LayoutMessage {
    Csv = 0,
    JsonLines = 1,
    JsonArray = 2,
    JsonRecords = 3,
}

impl Encoder<'_> {
    pub(super) fn files(&self, config: &FileScanConfig) -> Result<FilesMessage> {
        let named = config.file_source().downcast_ref::<LocatedSource>();
        let source = named.map_or_else(|| config.file_source(), LocatedSource::inner);
        // DataFusion encodes the columns and the projection as those of its own source.
        let decoded = source.downcast_ref::<DecodedSource>();
        let source = decoded.map_or(source, DecodedSource::columns);
        let terminator = source.downcast_ref::<CsvSource>().and_then(CsvSource::terminator);
        let versions = config.file_groups.iter().flat_map(FileGroup::files).map(|file| {
            let meta = &file.object_meta;
            VersionMessage {
                e_tag: meta.e_tag.clone(),
                version: meta.version.clone(),
                is_compared: file.extension::<ExpectedHeader>().is_some(),
                rows: selection_of(file),
            }
        });
        let versions = versions.collect();
        let mut files = config.file_groups.iter().flat_map(FileGroup::files);
        let expected = files.find_map(|file| file.extension::<ExpectedHeader>());
        let (header, is_declared) = expected.map(ExpectedHeader::columns).unwrap_or_default();
        let plain: Arc<dyn ExecutionPlan> = DataSourceExec::from_data_source(
            FileScanConfigBuilder::from(config.clone()).with_source(Arc::clone(source)).build(),
        );
        let recoding = named.and_then(LocatedSource::recoding);
        let recoding = recoding.unwrap_or_default();
        let (skip, encoding) = recoding.as_text();
        Ok(FilesMessage {
            scan: Some(self.converter.execution_plan_to_proto(&plain, self.codec)?),
            versions,
            compression: config.file_compression_type.get_ext(),
            terminator: terminator.map(u32::from),
            layout: named.map(|named| LayoutMessage::from(named.layout()) as i32),
            limit: config.limit.map(|limit| limit as u64),
            preserve_order: config.preserve_order,
            instead: None,
            skip,
            encoding,
            by_name: recoding.by_name,
            decoded: decoded.map(|decoded| DecodedMessage::from(decoded.format()) as i32),
            header: header.to_vec(),
            is_declared,
            has_header_by_default: expected.is_some_and(ExpectedHeader::is_by_default),
            has_sampled_types: config
                .file_groups
                .iter()
                .flat_map(FileGroup::files)
                .any(SampledTypes::are_of),
        })
    }
}

impl Decoder<'_> {
    pub(super) fn files(&self, message: &FilesMessage) -> Result<FileScanConfig> {
        let Some(scan) = &message.scan else {
            return plan_err!("a scan without files in the bytes of a plan");
        };
        // Only these operators are decoded here, because crafted bytes could nest without end otherwise.
        if !matches!(
            scan.physical_plan_type,
            Some(
                PhysicalPlanType::CsvScan(_)
                    | PhysicalPlanType::JsonScan(_)
                    | PhysicalPlanType::ParquetScan(_)
                    | PhysicalPlanType::ArrowScan(_)
            )
        ) {
            return plan_err!("a scan of no known format in the bytes of a plan");
        }
        let plain = self.converter.proto_to_execution_plan(scan, &self.context)?;
        let config = plain
            .downcast_ref::<DataSourceExec>()
            .and_then(|scan| scan.data_source().downcast_ref::<FileScanConfig>())
            .ok_or_else(|| plan_datafusion_err!("a scan of no files in the bytes of a plan"))?;
        let count: usize = config.file_groups.iter().map(FileGroup::len).sum();
        if count != message.versions.len() {
            return plan_err!("{count} files have {} versions", message.versions.len());
        }
        let mut versions = message.versions.iter();
        let versioned = |group: &FileGroup| {
            let mut files = group.clone().into_inner();
            for (file, version) in files.iter_mut().zip(versions.by_ref()) {
                file.object_meta.e_tag.clone_from(&version.e_tag);
                file.object_meta.version.clone_from(&version.version);
                if !version.rows.is_empty() {
                    *file = with_selection(file.clone(), selected(&version.rows));
                }
            }
            FileGroup::new(files)
        };
        let groups = config.file_groups.iter().map(versioned).collect();
        let layout = message.layout.map(LayoutMessage::try_from).transpose();
        let layout = layout.map_err(|e| plan_datafusion_err!("{e}"))?.map(TextLayout::from);
        let limit = message.limit.map(usize::try_from).transpose();
        let limit = limit.map_err(|_| plan_datafusion_err!("a limit beyond this machine's"))?;
        let mut config = FileScanConfigBuilder::from(config.clone())
            .with_source(source(config.file_source(), message, layout)?)
            .with_file_groups(groups)
            .with_file_compression_type(compression(&message.compression)?)
            .with_limit(limit)
            .build();
        config.preserve_order = message.preserve_order;
        let known = Arc::default();
        let header = ExpectedHeader::for_scan(&config, &message.header, message.is_declared, known);
        if let Some(header) = header.filter(|_| !message.header.is_empty()) {
            let header = if message.has_header_by_default { header.by_default() } else { header };
            let mut versions = message.versions.iter();
            let is_compared = |_: &_| versions.next().is_some_and(|it| it.is_compared);
            config = header.attach(&config, is_compared).unwrap_or(config);
        }
        if message.has_sampled_types {
            config = SampledTypes::attach(&config).unwrap_or(config);
        }
        let recoding = Recoding::from_text(message.skip, &message.encoding);
        let recoding =
            recoding.map(|recoding| Recoding { by_name: message.by_name, ..recoding }).ok_or_else(
                || plan_datafusion_err!("no encoding is called `{}`", message.encoding),
            )?;
        Ok(match layout {
            Some(layout) => LocatedSource::wrap_recoded(&config, layout, recoding),
            None => config,
        })
    }
}

/// Adds to DataFusion's decoded source what its encoding leaves out.
fn source(
    decoded: &Arc<dyn FileSource>,
    message: &FilesMessage,
    layout: Option<TextLayout>,
) -> Result<Arc<dyn FileSource>> {
    let csv = decoded.downcast_ref::<CsvSource>();
    let json = decoded.downcast_ref::<JsonSource>();
    let is_of_layout = match layout {
        None => true,
        Some(TextLayout::Csv) => csv.is_some(),
        Some(TextLayout::JsonLines | TextLayout::JsonRecords | TextLayout::JsonArray) => {
            json.is_some()
        }
    };
    let is_decoded = decoded.is::<ArrowSource>();
    if !is_of_layout || is_decoded != message.decoded.is_some() {
        return plan_err!("the format of a scan is not that of its source");
    }
    if let Some(format) = message.decoded {
        let format = DecodedMessage::try_from(format).map_err(|e| plan_datafusion_err!("{e}"))?;
        return Ok(Arc::new(DecodedSource::over(format.into(), Arc::clone(decoded))));
    }
    if let Some(csv) = csv {
        let terminator = message.terminator.map(u8::try_from).transpose();
        let terminator = terminator.map_err(|_| plan_datafusion_err!("a line end of two bytes"))?;
        return Ok(Arc::new(csv.with_terminator(terminator)));
    }
    Ok(match (json, layout) {
        (Some(json), Some(TextLayout::JsonArray)) => {
            Arc::new(json.clone().with_newline_delimited(false))
        }
        _ => Arc::clone(decoded),
    })
}

fn compression(extension: &str) -> Result<FileCompressionType> {
    let known = [
        FileCompressionType::UNCOMPRESSED,
        FileCompressionType::GZIP,
        FileCompressionType::BZIP2,
        FileCompressionType::XZ,
        FileCompressionType::ZSTD,
    ];
    let found = known.into_iter().find(|known| known.get_ext() == extension);
    found.ok_or_else(|| plan_datafusion_err!("no compression is called `{extension}`"))
}

impl From<DecodedFormat> for DecodedMessage {
    fn from(format: DecodedFormat) -> Self {
        match format {
            DecodedFormat::Arrow => Self::Arrow,
            DecodedFormat::Avro => Self::Avro,
        }
    }
}

impl From<DecodedMessage> for DecodedFormat {
    fn from(format: DecodedMessage) -> Self {
        match format {
            DecodedMessage::Arrow => Self::Arrow,
            DecodedMessage::Avro => Self::Avro,
        }
    }
}

impl From<TextLayout> for LayoutMessage {
    fn from(layout: TextLayout) -> Self {
        match layout {
            TextLayout::Csv => Self::Csv,
            TextLayout::JsonLines => Self::JsonLines,
            TextLayout::JsonArray => Self::JsonArray,
            TextLayout::JsonRecords => Self::JsonRecords,
        }
    }
}

impl From<LayoutMessage> for TextLayout {
    fn from(layout: LayoutMessage) -> Self {
        match layout {
            LayoutMessage::Csv => Self::Csv,
            LayoutMessage::JsonLines => Self::JsonLines,
            LayoutMessage::JsonArray => Self::JsonArray,
            LayoutMessage::JsonRecords => Self::JsonRecords,
        }
    }
}
