//! The container of Avro files: a header with the schema, and blocks of compressed records.

use std::io::Read;

use datafusion::datasource::file_format::file_compression_type::FileCompressionType;
use flate2::read::DeflateDecoder;

use super::{Decoded, Fault};

/// The first bytes of a file.
pub(super) const MAGIC: &[u8; 4] = b"Obj\x01";
/// The maximum number of bytes of a header: 16 MiB.
const MOST_OF_HEADER: usize = 16 << 20;
/// The maximum number of bytes of a block, compressed or not: 256 MiB.
const MOST_OF_BLOCK: usize = 256 << 20;
/// The maximum number of records of a block that need no bytes.
const MOST_WITHOUT_BYTES: usize = 1 << 24;
/// The length of the marker behind the header and each block.
const SYNC: usize = 16;

/// The header of a file.
#[derive(Debug)]
pub(super) struct Header {
    /// The schema, in JSON.
    schema: Vec<u8>,
    codec: Codec,
    sync: [u8; SYNC],
    /// The number of bytes of the header.
    pub(super) length: usize,
}

#[derive(Debug, Clone, Copy)]
enum Codec {
    Null,
    Deflate,
    Snappy,
    Zstandard,
    Bzip2,
    Xz,
}

impl Header {
    /// Parses the header at the beginning of a file. Returns `None` if more bytes are needed.
    pub(super) fn parse(bytes: &[u8]) -> Decoded<Option<Self>> {
        if !MAGIC.starts_with(&bytes[..bytes.len().min(MAGIC.len())]) {
            return Err(Fault("it does not begin with `Obj`".to_owned()));
        }
        let mut cursor = Cursor { bytes, at: MAGIC.len() };
        match Self::entries(&mut cursor)? {
            Some(header) => Ok(Some(header)),
            None if bytes.len() > MOST_OF_HEADER => {
                Err(Fault(format!("its header has more than {} MiB", MOST_OF_HEADER >> 20)))
            }
            None => Ok(None),
        }
    }

    fn entries(cursor: &mut Cursor<'_>) -> Decoded<Option<Self>> {
        let (mut schema, mut codec) = (None, Codec::Null);
        loop {
            let Some(count) = cursor.long()? else { return Ok(None) };
            if count == 0 {
                break;
            }
            // A negative number is followed by the number of bytes.
            if count < 0 && cursor.long()?.is_none() {
                return Ok(None);
            }
            for _ in 0..count.unsigned_abs() {
                let Some(key) = cursor.bytes()? else { return Ok(None) };
                let Some(value) = cursor.bytes()? else { return Ok(None) };
                match key {
                    b"avro.schema" => schema = Some(value.to_vec()),
                    b"avro.codec" => codec = Codec::by_name(value)?,
                    _ => {}
                }
            }
        }
        let Some(sync) = cursor.take(SYNC) else { return Ok(None) };
        let sync =
            *sync.first_chunk::<SYNC>().ok_or_else(|| Fault("it has no marker".to_owned()))?;
        let schema = schema.ok_or_else(|| Fault("its header has no schema".to_owned()))?;
        Ok(Some(Self { schema, codec, sync, length: cursor.at }))
    }

    /// Returns a header with the same schema and without compression.
    pub(super) fn plain(&self) -> Vec<u8> {
        let mut plain = MAGIC.to_vec();
        put_long(&mut plain, 1);
        for text in [b"avro.schema".as_slice(), &self.schema] {
            put_long(&mut plain, text.len() as i64);
            plain.extend_from_slice(text);
        }
        put_long(&mut plain, 0);
        plain.extend_from_slice(&self.sync);
        plain
    }

    /// Reads a block. Adds it to `plain` without compression, and returns its length in `bytes`; 0 if more bytes are
    /// needed. `left` is the number of bytes up to the end of the file.
    pub(super) fn block(&self, bytes: &[u8], left: u64, plain: &mut Vec<u8>) -> Decoded<usize> {
        let mut cursor = Cursor { bytes, at: 0 };
        let (Some(count), Some(length)) = (cursor.long()?, cursor.long()?) else { return Ok(0) };
        let wrong = |what: &str| Fault(format!("it names a block of {what}"));
        let count = usize::try_from(count).map_err(|_| wrong("less than no records"))?;
        let length = usize::try_from(length).ok().filter(|length| *length as u64 <= left);
        let length = length.ok_or_else(|| wrong("more bytes than it has"))?;
        if length > MOST_OF_BLOCK {
            return Err(wrong("more than 256 MiB"));
        }
        let Some(data) = cursor.take(length) else { return Ok(0) };
        let Some(sync) = cursor.take(SYNC) else { return Ok(0) };
        if sync != self.sync {
            return Err(Fault("a block does not end with the marker of the file".to_owned()));
        }
        let data = self.codec.decompressed(data)?;
        if count > data.len().max(MOST_WITHOUT_BYTES) {
            return Err(wrong("more records than its bytes can hold"));
        }
        if count > 0 {
            put_long(plain, count as i64);
            put_long(plain, data.len() as i64);
            plain.extend_from_slice(&data);
            plain.extend_from_slice(&self.sync);
        }
        Ok(cursor.at)
    }
}

impl Codec {
    fn by_name(name: &[u8]) -> Decoded<Self> {
        Ok(match name {
            b"null" | b"" => Self::Null,
            b"deflate" => Self::Deflate,
            b"snappy" => Self::Snappy,
            b"zstandard" => Self::Zstandard,
            b"bzip2" => Self::Bzip2,
            b"xz" => Self::Xz,
            other => {
                let other = String::from_utf8_lossy(other);
                return Err(Fault(format!("it is compressed by `{other}`, which is not read")));
            }
        })
    }

    fn decompressed(self, data: &[u8]) -> Decoded<Vec<u8>> {
        let by = |compression: FileCompressionType| {
            let owned = std::io::Cursor::new(data.to_vec());
            let reader = compression.convert_read(owned);
            limited(reader.map_err(|error| Fault(error.strip_backtrace()))?)
        };
        match self {
            Self::Null => Ok(data.to_vec()),
            Self::Deflate => limited(DeflateDecoder::new(data)),
            Self::Snappy => snappy(data),
            Self::Zstandard => by(FileCompressionType::ZSTD),
            Self::Bzip2 => by(FileCompressionType::BZIP2),
            Self::Xz => by(FileCompressionType::XZ),
        }
    }
}

/// Reads a decompressed block up to the maximum length.
fn limited(reader: impl Read) -> Decoded<Vec<u8>> {
    let mut plain = Vec::new();
    reader.take(MOST_OF_BLOCK as u64 + 1).read_to_end(&mut plain)?;
    match plain.len() > MOST_OF_BLOCK {
        true => Err(Fault("a block has more than 256 MiB decompressed".to_owned())),
        false => Ok(plain),
    }
}

/// Decompresses a block that ends with the checksum of its bytes.
fn snappy(data: &[u8]) -> Decoded<Vec<u8>> {
    let Some((data, checksum)) = data.split_last_chunk::<4>() else {
        return Err(Fault("a block is too short for its checksum".to_owned()));
    };
    if snap::raw::decompress_len(data)? > MOST_OF_BLOCK {
        return Err(Fault("a block has more than 256 MiB decompressed".to_owned()));
    }
    let plain = snap::raw::Decoder::new().decompress_vec(data)?;
    match crc32fast::hash(&plain) == u32::from_be_bytes(*checksum) {
        true => Ok(plain),
        false => Err(Fault("the checksum of a block is wrong".to_owned())),
    }
}

/// Reads numbers and texts.
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    /// Returns the next bytes, or `None` if there are not so many.
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(length)?;
        let taken = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    /// Returns the next number, or `None` if it is incomplete.
    fn long(&mut self) -> Decoded<Option<i64>> {
        let mut number = 0_u64;
        for shift in (0..70).step_by(7) {
            let Some([byte]) = self.take(1) else { return Ok(None) };
            // The tenth byte has the last bit.
            if shift == 63 && *byte > 1 {
                break;
            }
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(Some((number >> 1) as i64 ^ -((number & 1) as i64)));
            }
        }
        Err(Fault("it has a number of more than 64 bits".to_owned()))
    }

    /// Returns the next bytes behind their length, or `None` if they are incomplete.
    fn bytes(&mut self) -> Decoded<Option<&'a [u8]>> {
        let Some(length) = self.long()? else { return Ok(None) };
        let length = usize::try_from(length).ok().filter(|length| *length <= MOST_OF_HEADER);
        let length = length.ok_or_else(|| Fault("a text of its header is too long".to_owned()))?;
        Ok(self.take(length))
    }
}

/// Writes a number as Avro does.
fn put_long(bytes: &mut Vec<u8>, number: i64) {
    let mut rest = ((number << 1) ^ (number >> 63)) as u64;
    while rest >= 0x80 {
        bytes.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_they_are_written() {
        for number in [0, 1, -1, 63, 64, -65, 1 << 40, i64::MAX, i64::MIN] {
            let mut bytes = Vec::new();
            put_long(&mut bytes, number);
            let mut cursor = Cursor { bytes: &bytes, at: 0 };
            assert_eq!(cursor.long().unwrap(), Some(number));
            let mut cursor = Cursor { bytes: &bytes[..bytes.len() - 1], at: 0 };
            assert_eq!(cursor.long().unwrap(), None);
        }
        assert!(Cursor { bytes: &[0xff; 12], at: 0 }.long().is_err());
    }

    #[test]
    fn a_header_is_parsed_once_it_is_whole() {
        let mut bytes = MAGIC.to_vec();
        put_long(&mut bytes, 2);
        for text in ["avro.codec", "deflate", "avro.schema", "\"int\""] {
            put_long(&mut bytes, text.len() as i64);
            bytes.extend_from_slice(text.as_bytes());
        }
        put_long(&mut bytes, 0);
        bytes.extend_from_slice(&[7; SYNC]);
        for cut in 0..bytes.len() {
            assert!(Header::parse(&bytes[..cut]).unwrap().is_none(), "{cut}");
        }
        let header = Header::parse(&bytes).unwrap().unwrap();
        assert_eq!((header.length, header.schema.as_slice()), (bytes.len(), &b"\"int\""[..]));
        assert!(matches!(header.codec, Codec::Deflate));
        let plain = header.plain();
        let again = Header::parse(&plain).unwrap().unwrap();
        assert!(matches!(again.codec, Codec::Null));
        assert_eq!(again.sync, [7; SYNC]);
        assert!(Header::parse(b"PAR1").is_err());
    }

    #[test]
    fn a_block_is_within_its_file() {
        let header =
            Header { schema: b"\"int\"".to_vec(), codec: Codec::Null, sync: [7; SYNC], length: 0 };
        let block = |count, length: i64, data: &[u8]| {
            let mut bytes = Vec::new();
            put_long(&mut bytes, count);
            put_long(&mut bytes, length);
            bytes.extend_from_slice(data);
            bytes.extend_from_slice(&[7; SYNC]);
            bytes
        };
        let read = |bytes: &[u8]| header.block(bytes, bytes.len() as u64, &mut Vec::new());
        assert_eq!(read(&block(1, 2, &[1, 2])).unwrap(), 20);
        for wrong in [
            block(-1, 2, &[1, 2]),
            block(1, -2, &[1, 2]),
            block(1, i64::MAX, &[1, 2]),
            block(1 << 40, 2, &[1, 2]),
            block(1, 1, &[1, 2]),
        ] {
            assert!(read(&wrong).is_err(), "{wrong:?}");
        }
        let whole = block(1, 2, &[1, 2]);
        for cut in 0..whole.len() {
            let read = header.block(&whole[..cut], whole.len() as u64, &mut Vec::new());
            assert_eq!(read.unwrap(), 0, "{cut}");
        }
    }
}
