//! Detects objects that are not text by their first bytes.

use datafusion::common::{DataFusionError, Result};
use object_store::ObjectMeta;
use object_store::path::Path;

use crate::{ErrorKind, UserError};

/// Refuses an object whose first bytes cannot be UTF-8 text, with the detected kind.
///
/// # Errors
///
/// If the object is of another encoding, compressed, an archive, or Parquet, with a hint.
pub(crate) fn check_text(object: &ObjectMeta, beginning: &[u8]) -> Result<()> {
    match MagicType::detect(beginning) {
        Some(contents) => Err(contents.refused(&object.location)),
        None => Ok(()),
    }
}

/// Returns the error for an object that is not UTF-8 text, with the reader's message.
pub(crate) fn not_utf8(object: &ObjectMeta, why: &str) -> DataFusionError {
    let message = format!("`{}` is not text in UTF-8: {why}", object.location);
    let hint = "Name the encoding of CSV: read_csv('…', encoding => 'latin-1'); convert other files: iconv -f \
                LATIN1 -t UTF-8."
        .to_owned();
    UserError { kind: ErrorKind::Data, message, hint: Some(hint) }.into()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MagicType {
    /// Compressed, with the name of the compression in options.
    Compressed(&'static str),
    Utf16,
    Parquet,
    Zip,
}

impl MagicType {
    fn detect(bytes: &[u8]) -> Option<Self> {
        // The first page header of Parquet begins with a field of whole numbers.
        const MAGIC: [(&[u8], MagicType); 7] = [
            (b"\x1f\x8b\x08", MagicType::Compressed("gzip")),
            (b"\xfd7zXZ\0", MagicType::Compressed("xz")),
            (b"\x28\xb5\x2f\xfd", MagicType::Compressed("zstd")),
            (b"\xff\xfe", MagicType::Utf16),
            (b"\xfe\xff", MagicType::Utf16),
            (b"PAR1\x15", MagicType::Parquet),
            (b"PK\x03\x04", MagicType::Zip),
        ];
        let known = MAGIC.iter().find(|(beginning, _)| bytes.starts_with(beginning));
        if let Some((_, contents)) = known {
            return Some(*contents);
        }
        let is_bzip2 = bytes.starts_with(b"BZh") && bytes.get(4..10) == Some(b"1AY&SY");
        if is_bzip2 {
            return Some(Self::Compressed("bzip2"));
        }
        is_utf16_without_mark(bytes).then_some(Self::Utf16)
    }

    fn refused(self, object: &Path) -> DataFusionError {
        let (message, hint) = match self {
            Self::Compressed(by) => (
                format!("`{object}` is compressed by {by}, which neither its name nor an option says"),
                format!(
                    "Say so: read_csv('…', compression => '{by}'), or OPTIONS ('format.compression' '{by}')."
                ),
            ),
            Self::Utf16 => (
                format!("`{object}` is text in UTF-16, and read as UTF-8"),
                "Name the encoding of CSV: read_csv('…', encoding => 'utf-16'); convert other files: iconv -f UTF-16 -t \
                 UTF-8."
                    .to_owned(),
            ),
            Self::Parquet => (
                format!("`{object}` is a Parquet file"),
                "Read it as such: read_parquet('…'), or STORED AS PARQUET.".to_owned(),
            ),
            Self::Zip => (
                format!("`{object}` is a ZIP archive, which cannot be read"),
                "Store what is in it; files of their own may be compressed by gzip, bzip2, xz or zstd."
                    .to_owned(),
            ),
        };
        UserError { kind: ErrorKind::Data, message, hint: Some(hint) }.into()
    }
}

/// Returns true if every other byte is zero, as in Latin letters of UTF-16.
fn is_utf16_without_mark(bytes: &[u8]) -> bool {
    const SNIFF_BYTES: usize = 8;
    let looked_at = &bytes[..bytes.len().min(SNIFF_BYTES) & !1];
    let is_zero = |place: usize| looked_at.iter().skip(place).step_by(2).all(|byte| *byte == 0);
    let has_none = |place: usize| looked_at.iter().skip(place).step_by(2).all(|byte| *byte != 0);
    looked_at.len() >= 4 && (is_zero(1) && has_none(0) || is_zero(0) && has_none(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_are_told_by_their_beginning() {
        let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>();
        for (bytes, contents) in [
            (b"\x1f\x8b\x08\x00".to_vec(), MagicType::Compressed("gzip")),
            (b"BZh91AY&SY\x00".to_vec(), MagicType::Compressed("bzip2")),
            (b"\xff\xfea\0".to_vec(), MagicType::Utf16),
            (utf16("a,b\n1,2"), MagicType::Utf16),
            (b"\0a\0,\0b\0\n".to_vec(), MagicType::Utf16),
            (b"PAR1\x15\x04".to_vec(), MagicType::Parquet),
            (b"PK\x03\x04".to_vec(), MagicType::Zip),
        ] {
            assert_eq!(MagicType::detect(&bytes), Some(contents), "{bytes:?}");
        }
        for text in
            ["", "a", "PAR1,PAR2\n", "PK,x\n", "BZh9,b\n1", "\u{feff}a,b\n", "é,ü\n", "\0\0\0\0"]
        {
            assert_eq!(MagicType::detect(text.as_bytes()), None, "{text:?}");
        }
    }
}
