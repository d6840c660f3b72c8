//! Compressed text of which several members may follow one another, as `cat a.bz2 b.bz2` writes it.
//!
//! DataFusion reads all members of gzip and only the first of the other compressions, so bytes reach its readers
//! decompressed.

use std::io;
use std::sync::Arc;

use async_compression::tokio::bufread::{BzDecoder, GzipDecoder, XzDecoder, ZstdDecoder};
use async_trait::async_trait;
use bytes::Bytes;
use datafusion::common::parsers::CompressionTypeVariant;
use datafusion::datasource::file_format::FileFormat;
use datafusion::datasource::file_format::csv::CsvFormat;
use datafusion::datasource::file_format::file_compression_type::FileCompressionType;
use datafusion::datasource::file_format::json::JsonFormat;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{Error, GetOptions, GetResult, GetResultPayload, ObjectStore};
use tokio::io::AsyncRead;
use tokio_util::io::{ReaderStream, StreamReader};

use crate::context::error::{ErrorKind, UserError};
use crate::context::read_layer::{Layered, ReadLayer};

/// The compression of the members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Members {
    Gzip,
    Bzip2,
    Xz,
    Zstd,
}

impl Members {
    /// Returns the members of a compression, or `None` for uncompressed text.
    pub(crate) fn for_compression(compression: FileCompressionType) -> Option<Self> {
        match compression.get_variant() {
            CompressionTypeVariant::GZIP => Some(Self::Gzip),
            CompressionTypeVariant::BZIP2 => Some(Self::Bzip2),
            CompressionTypeVariant::XZ => Some(Self::Xz),
            CompressionTypeVariant::ZSTD => Some(Self::Zstd),
            CompressionTypeVariant::UNCOMPRESSED => None,
        }
    }

    /// Wraps a store so that its objects are decompressed.
    pub(crate) fn read_from(self, store: Arc<dyn ObjectStore>) -> Arc<dyn ObjectStore> {
        Arc::new(Layered::new(store, self))
    }

    /// Decompresses bytes. `place` names the object in errors.
    fn text(
        self,
        bytes: BoxStream<'static, object_store::Result<Bytes>>,
        place: String,
    ) -> BoxStream<'static, object_store::Result<Bytes>> {
        let bytes = StreamReader::new(bytes);
        match self {
            Self::Gzip => {
                let mut decoder = GzipDecoder::new(bytes);
                decoder.multiple_members(true);
                parts(decoder, place)
            }
            Self::Bzip2 => {
                let mut decoder = BzDecoder::new(bytes);
                decoder.multiple_members(true);
                parts(decoder, place)
            }
            Self::Xz => {
                let mut decoder = XzDecoder::new(bytes);
                decoder.multiple_members(true);
                parts(decoder, place)
            }
            Self::Zstd => {
                let mut decoder = ZstdDecoder::new(bytes);
                decoder.multiple_members(true);
                parts(decoder, place)
            }
        }
    }
}

/// The bytes that are decompressed at a time.
const PART_BYTES: usize = 64 << 10;

fn parts(
    decoder: impl AsyncRead + Send + 'static,
    place: String,
) -> BoxStream<'static, object_store::Result<Bytes>> {
    let parts = ReaderStream::with_capacity(decoder, PART_BYTES);
    parts.map_err(move |error| of_store(error, &place)).boxed()
}

/// The hint for bytes that cannot be decompressed.
const NOT_COMPRESSED: &str = "Check how it was compressed: its name, or the option 'format.compression', says \
     what it is read as.";

/// Returns an error of the store unchanged and wraps others in an error with the hint [`NOT_COMPRESSED`].
fn of_store(error: io::Error, place: &str) -> Error {
    error.downcast::<Error>().unwrap_or_else(|why| {
        let source = UserError {
            kind: ErrorKind::Data,
            message: format!("`{place}` cannot be decompressed: {why}"),
            hint: Some(NOT_COMPRESSED.to_owned()),
        };
        Error::Generic { store: "decompression", source: Box::new(source) }
    })
}

/// Decompresses a text by the compression of its format.
pub(crate) fn text(
    compression: FileCompressionType,
    bytes: BoxStream<'static, object_store::Result<Bytes>>,
) -> BoxStream<'static, object_store::Result<Bytes>> {
    text_at(compression, bytes, String::new())
}

/// Decompresses a text; errors name the object by `place`.
pub(crate) fn text_at(
    compression: FileCompressionType,
    bytes: BoxStream<'static, object_store::Result<Bytes>>,
    place: String,
) -> BoxStream<'static, object_store::Result<Bytes>> {
    match Members::for_compression(compression) {
        None => bytes,
        Some(members) => members.text(bytes, place),
    }
}

/// Moves decompression from a text format to its store, so that all members are read.
pub(crate) fn format_over(
    format: &Arc<dyn FileFormat>,
    store: &Arc<dyn ObjectStore>,
) -> (Arc<dyn FileFormat>, Arc<dyn ObjectStore>) {
    let as_it_is = || (Arc::clone(format), Arc::clone(store));
    let Some(members) = format.compression_type().and_then(Members::for_compression) else {
        return as_it_is();
    };
    let plain: Arc<dyn FileFormat> = if let Some(csv) = format.downcast_ref::<CsvFormat>() {
        let plain = CsvFormat::default().with_options(csv.options().clone());
        Arc::new(plain.with_file_compression_type(FileCompressionType::UNCOMPRESSED))
    } else if let Some(json) = format.downcast_ref::<JsonFormat>() {
        let plain = JsonFormat::default().with_options(json.options().clone());
        Arc::new(plain.with_file_compression_type(FileCompressionType::UNCOMPRESSED))
    } else {
        return as_it_is();
    };
    (plain, members.read_from(Arc::clone(store)))
}

#[async_trait]
impl ReadLayer for Members {
    async fn get(
        &self,
        inner: &dyn ObjectStore,
        location: &Path,
        options: GetOptions,
    ) -> object_store::Result<GetResult> {
        let is_whole = options.range.is_none() && !options.head;
        let answer = inner.get_opts(location, options).await?;
        if !is_whole {
            return Ok(answer);
        }
        let (meta, range) = (answer.meta.clone(), answer.range.clone());
        let attributes = answer.attributes.clone();
        let payload =
            GetResultPayload::Stream(self.text(answer.into_stream(), location.to_string()));
        Ok(GetResult { payload, meta, range, attributes })
    }
}
