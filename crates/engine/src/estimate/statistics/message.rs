//! Statistics as bytes: a magic number, a checksum, and a message with a version.

use datafusion::common::{Result, ScalarValue, exec_datafusion_err, exec_err};
use datafusion_proto::protobuf;
use prost::Message;

use super::sketch::Sketch;
use super::{ColumnStatistics, ObjectStatistics, Origin, StatisticsKey};

/// The first bytes of a file.
const MAGIC: [u8; 8] = *b"sluistat";
/// Version of the message. It includes DataFusion's, because sketches contain its hashes.
const VERSION: &str = concat!("1 ", "datafusion ");

/// The message about one object.
#[derive(Clone, PartialEq, Message)]
struct ObjectMessage {
    #[prost(string, tag = "1")]
    version: String,
    #[prost(string, tag = "2")]
    store: String,
    #[prost(string, tag = "3")]
    url: String,
    #[prost(string, tag = "4")]
    format: String,
    #[prost(string, tag = "5")]
    e_tag: String,
    #[prost(uint64, tag = "6")]
    size: u64,
    #[prost(bool, tag = "7")]
    analyzed: bool,
    #[prost(uint64, tag = "8")]
    taken: u64,
    #[prost(uint64, tag = "9")]
    rows: u64,
    #[prost(uint64, tag = "10")]
    seen: u64,
    #[prost(message, repeated, tag = "11")]
    columns: Vec<ColumnMessage>,
}

#[derive(Clone, PartialEq, Message)]
struct ColumnMessage {
    #[prost(uint64, tag = "1")]
    position: u64,
    #[prost(string, tag = "2")]
    name: String,
    #[prost(string, tag = "3")]
    data_type: String,
    #[prost(uint64, tag = "4")]
    nulls: u64,
    #[prost(double, tag = "5")]
    width: f64,
    #[prost(message, optional, tag = "6")]
    min: Option<protobuf::ScalarValue>,
    #[prost(message, optional, tag = "7")]
    max: Option<protobuf::ScalarValue>,
    #[prost(bytes = "vec", tag = "8")]
    distinct: Vec<u8>,
    #[prost(message, repeated, tag = "9")]
    bounds: Vec<protobuf::ScalarValue>,
    #[prost(message, repeated, tag = "10")]
    heavy: Vec<HeavyMessage>,
    #[prost(double, tag = "11")]
    ascending: f64,
    #[prost(double, tag = "12")]
    correlation: f64,
}

#[derive(Clone, PartialEq, Message)]
struct HeavyMessage {
    #[prost(message, optional, tag = "1")]
    value: Option<protobuf::ScalarValue>,
    #[prost(double, tag = "2")]
    share: f64,
}

fn version() -> String {
    format!("{VERSION}{}", datafusion::DATAFUSION_VERSION)
}

/// Encodes statistics as the bytes of a file.
///
/// # Errors
///
/// If a value has a type that cannot be encoded.
pub fn to_bytes(object: &ObjectStatistics) -> Result<Vec<u8>> {
    let message = ObjectMessage {
        version: version(),
        store: object.about.store.clone(),
        url: object.about.url.clone(),
        format: object.about.format.clone(),
        e_tag: object.e_tag.clone(),
        size: object.size,
        analyzed: object.origin == Origin::Analyze,
        taken: object.taken,
        rows: object.rows,
        seen: object.seen,
        columns: object.columns.iter().map(column_message).collect::<Result<_>>()?,
    };
    let body = message.encode_to_vec();
    let mut bytes = MAGIC.to_vec();
    bytes.extend(crc32fast::hash(&body).to_le_bytes());
    bytes.extend(body);
    Ok(bytes)
}

/// Decodes statistics from the bytes of a file.
///
/// # Errors
///
/// If the bytes are no valid statistics; the error names the reason.
pub fn of_bytes(bytes: &[u8]) -> Result<ObjectStatistics> {
    let Some((checksum, body)) =
        bytes.strip_prefix(&MAGIC).and_then(|rest| rest.split_first_chunk::<4>())
    else {
        return exec_err!("it does not begin as one");
    };
    if crc32fast::hash(body) != u32::from_le_bytes(*checksum) {
        return exec_err!("its checksum is wrong");
    }
    let message = ObjectMessage::decode(body).map_err(|error| exec_datafusion_err!("{error}"))?;
    if message.version != version() {
        return exec_err!("it is of version {}, not {}", message.version, version());
    }
    Ok(ObjectStatistics {
        about: StatisticsKey { store: message.store, url: message.url, format: message.format },
        e_tag: message.e_tag,
        size: message.size,
        origin: if message.analyzed { Origin::Analyze } else { Origin::Sample },
        taken: message.taken,
        rows: message.rows,
        seen: message.seen,
        columns: message.columns.into_iter().map(column).collect::<Result<_>>()?,
    })
}

fn scalar_message(value: &ScalarValue) -> Result<protobuf::ScalarValue> {
    value.try_into().map_err(|error| exec_datafusion_err!("{error}"))
}

fn scalar(message: &protobuf::ScalarValue) -> Result<ScalarValue> {
    message.try_into().map_err(|error| exec_datafusion_err!("{error}"))
}

fn column_message(column: &ColumnStatistics) -> Result<ColumnMessage> {
    let heavy = column.heavy.iter().map(|(value, share)| {
        Ok(HeavyMessage { value: Some(scalar_message(value)?), share: *share })
    });
    Ok(ColumnMessage {
        position: column.position as u64,
        name: column.name.clone(),
        data_type: column.data_type.clone(),
        nulls: column.nulls,
        width: column.width,
        min: column.min.as_ref().map(scalar_message).transpose()?,
        max: column.max.as_ref().map(scalar_message).transpose()?,
        distinct: column.distinct.to_bytes(),
        bounds: column.bounds.iter().map(scalar_message).collect::<Result<_>>()?,
        heavy: heavy.collect::<Result<_>>()?,
        ascending: column.ascending,
        correlation: column.correlation,
    })
}

fn column(message: ColumnMessage) -> Result<ColumnStatistics> {
    let heavy = message.heavy.iter().filter_map(|heavy| Some((heavy.value.as_ref()?, heavy.share)));
    let heavy = heavy.map(|(value, share)| Ok((scalar(value)?, share)));
    Ok(ColumnStatistics {
        position: usize::try_from(message.position).unwrap_or(usize::MAX),
        name: message.name,
        data_type: message.data_type,
        nulls: message.nulls,
        width: message.width,
        min: message.min.as_ref().map(scalar).transpose()?,
        max: message.max.as_ref().map(scalar).transpose()?,
        distinct: Sketch::from_bytes(&message.distinct)?,
        counted: None,
        bounds: message.bounds.iter().map(scalar).collect::<Result<_>>()?,
        heavy: heavy.collect::<Result<_>>()?,
        ascending: message.ascending,
        correlation: message.correlation,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object() -> ObjectStatistics {
        let mut distinct = Sketch::new().unwrap();
        (0..100).for_each(|value| distinct.insert(value));
        let column = ColumnStatistics {
            position: 3,
            name: "price".to_owned(),
            data_type: "Decimal128(15, 2)".to_owned(),
            nulls: 5,
            width: 7.5,
            min: Some(ScalarValue::Decimal128(Some(-150), 15, 2)),
            max: None,
            distinct,
            counted: None,
            bounds: vec!["a".into(), "b".into()],
            heavy: vec![(ScalarValue::Date32(Some(9000)), 0.25)],
            ascending: 0.5,
            correlation: -1.0,
        };
        ObjectStatistics {
            about: StatisticsKey {
                store: "http://here".to_owned(),
                url: "s3://b/k".to_owned(),
                format: "csv".to_owned(),
            },
            e_tag: "tag".to_owned(),
            size: 10,
            origin: Origin::Analyze,
            taken: 7,
            rows: 1000,
            seen: 1000,
            columns: vec![column],
        }
    }

    #[test]
    fn what_is_written_comes_back_and_nothing_else_does() {
        let bytes = to_bytes(&object()).unwrap();
        assert_eq!(of_bytes(&bytes).unwrap(), object());
        for cut in 0..bytes.len() {
            assert!(of_bytes(&bytes[..cut]).is_err(), "{cut}");
            let mut changed = bytes.clone();
            changed[cut] ^= 1;
            assert!(of_bytes(&changed).is_err(), "{cut}");
        }
    }
}
