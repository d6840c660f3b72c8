//! Maps the keys of hardware profiles and price books to the fields that hold their constants.

use std::num::NonZeroU32;
use std::time::Duration;

use crate::data::Range;
use crate::{BytesPerSecond, Dollars, HardwareProfile, PriceBook};

/// Access to one field of a profile, by the type of its value.
#[derive(Clone, Copy)]
pub(crate) enum ConstantAccessor {
    Rate(fn(&mut HardwareProfile) -> &mut BytesPerSecond),
    /// An optional rate.
    SomeRate(fn(&mut HardwareProfile) -> &mut Option<BytesPerSecond>),
    Seconds(fn(&mut HardwareProfile) -> &mut Duration),
    /// An optional time.
    SomeSeconds(fn(&mut HardwareProfile) -> &mut Option<Duration>),
    AtOnce(fn(&mut HardwareProfile) -> &mut NonZeroU32),
    Number(Range, fn(&mut HardwareProfile) -> &mut f64),
    /// An optional number.
    SomeNumber(Range, fn(&mut HardwareProfile) -> &mut Option<f64>),
}

use ConstantAccessor::{AtOnce, Number, Rate, Seconds, SomeNumber, SomeRate, SomeSeconds};

/// The constants of a profile, in the order of its file. Constants of one table are adjacent.
pub(crate) static OF_HARDWARE: [(&str, ConstantAccessor); 43] = [
    ("link.bytes_per_second", Rate(|it| &mut it.link.bytes_per_second)),
    ("link.connection_bytes_per_second", Rate(|it| &mut it.link.connection_bytes_per_second)),
    ("link.latency_seconds", Seconds(|it| &mut it.link.latency)),
    ("requests.slots", AtOnce(|it| &mut it.requests.slots)),
    ("requests.per_second", Number(Range::Requests, |it| &mut it.requests.per_second)),
    ("select.latency_seconds", Seconds(|it| &mut it.select.latency)),
    ("select.csv_bytes_per_second", Rate(|it| &mut it.select.csv_bytes_per_second)),
    ("select.json_bytes_per_second", Rate(|it| &mut it.select.json_bytes_per_second)),
    ("select.parquet_bytes_per_second", Rate(|it| &mut it.select.parquet_bytes_per_second)),
    ("select.term_seconds", Seconds(|it| &mut it.select.per_term)),
    ("select.case_seconds", SomeSeconds(|it| &mut it.select.per_case)),
    ("select.probe_seconds", SomeSeconds(|it| &mut it.select.per_probe)),
    ("select.update_seconds", SomeSeconds(|it| &mut it.select.per_update)),
    ("select.cast_seconds", SomeSeconds(|it| &mut it.select.per_cast)),
    ("select.long_cast_seconds", SomeSeconds(|it| &mut it.select.per_long_cast)),
    ("select.key_seconds", SomeSeconds(|it| &mut it.select.per_key)),
    ("select.parquet_update_seconds", SomeSeconds(|it| &mut it.select.per_parquet_update)),
    ("select.parquet_key_seconds", SomeSeconds(|it| &mut it.select.per_parquet_key)),
    ("select.value_seconds", SomeSeconds(|it| &mut it.select.per_value)),
    ("select.arrow_value_seconds", SomeSeconds(|it| &mut it.select.per_arrow_value)),
    ("select.compressed_value_seconds", SomeSeconds(|it| &mut it.select.per_compressed_value)),
    ("select.constant_seconds", SomeSeconds(|it| &mut it.select.per_constant)),
    ("select.statement_seconds", SomeSeconds(|it| &mut it.select.per_statement)),
    ("select.cores", Number(Range::Cores, |it| &mut it.select.cores)),
    ("select.total_bytes_per_second", Rate(|it| &mut it.select.total_bytes_per_second)),
    ("client.startup_seconds", Seconds(|it| &mut it.client.startup)),
    ("client.next_step_seconds", SomeSeconds(|it| &mut it.client.next_step)),
    ("client.cores", AtOnce(|it| &mut it.client.cores)),
    ("client.machines", AtOnce(|it| &mut it.client.machines)),
    ("client.csv_bytes_per_second", Rate(|it| &mut it.client.csv_bytes_per_second)),
    ("client.json_bytes_per_second", Rate(|it| &mut it.client.json_bytes_per_second)),
    ("client.parquet_bytes_per_second", Rate(|it| &mut it.client.parquet_bytes_per_second)),
    ("client.receive_bytes_per_second", SomeRate(|it| &mut it.client.receive_bytes_per_second)),
    ("client.request_seconds", SomeSeconds(|it| &mut it.client.per_request)),
    ("client.value_seconds", SomeSeconds(|it| &mut it.client.per_value)),
    ("client.decoded_value_seconds", SomeSeconds(|it| &mut it.client.per_decoded_value)),
    ("client.arrow_value_seconds", SomeSeconds(|it| &mut it.client.per_arrow_value)),
    ("client.compressed_value_seconds", SomeSeconds(|it| &mut it.client.per_compressed_value)),
    ("client.term_seconds", SomeSeconds(|it| &mut it.client.per_term)),
    ("client.update_seconds", SomeSeconds(|it| &mut it.client.per_update)),
    ("client.key_seconds", SomeSeconds(|it| &mut it.client.per_key)),
    ("client.overlap", Number(Range::Fraction, |it| &mut it.client.overlap)),
    ("client.get_overlap", SomeNumber(Range::Fraction, |it| &mut it.client.get_overlap)),
];

impl ConstantAccessor {
    /// The constant's value, or `None` if the profile leaves it out.
    pub(crate) fn get(self, profile: &mut HardwareProfile) -> Option<f64> {
        Some(match self {
            Rate(place) => place(profile).0,
            SomeRate(place) => (*place(profile))?.0,
            Seconds(place) => place(profile).as_secs_f64(),
            SomeSeconds(place) => (*place(profile))?.as_secs_f64(),
            AtOnce(place) => f64::from(place(profile).get()),
            Number(_, place) => *place(profile),
            SomeNumber(_, place) => (*place(profile))?,
        })
    }

    /// The range of values that the constant accepts.
    pub(crate) fn range(self) -> Range {
        match self {
            Rate(_) | SomeRate(_) => Range::Rate,
            Seconds(_) | SomeSeconds(_) => Range::Seconds,
            AtOnce(_) => Range::AtOnce,
            Number(range, _) | SomeNumber(range, _) => range,
        }
    }

    /// Sets a value that is within its range. Times are rounded to nanoseconds, counts to whole numbers.
    pub(crate) fn set(self, profile: &mut HardwareProfile, value: f64) {
        match self {
            Rate(place) => place(profile).0 = value,
            SomeRate(place) => *place(profile) = Some(BytesPerSecond(value)),
            Seconds(place) => *place(profile) = crate::rate::seconds(value),
            SomeSeconds(place) => *place(profile) = Some(crate::rate::seconds(value)),
            AtOnce(place) => {
                *place(profile) = NonZeroU32::new(value.round() as u32).unwrap_or(NonZeroU32::MIN);
            }
            Number(_, place) => *place(profile) = value,
            SomeNumber(_, place) => *place(profile) = Some(value),
        }
    }
}

/// Access to one price of a book. Returns `None` if the book does not sell the item.
pub(crate) type PriceAccessor = fn(&mut PriceBook) -> Option<&mut Dollars>;

/// The prices of a book, in the order of its file.
pub(crate) static OF_PRICES: [(&str, PriceAccessor); 12] = [
    ("prices.requests.get", |it| Some(&mut it.requests.get)),
    ("prices.requests.put", |it| Some(&mut it.requests.put)),
    ("prices.requests.list", |it| Some(&mut it.requests.list)),
    ("prices.requests.head", |it| Some(&mut it.requests.head)),
    ("prices.requests.select", |it| Some(&mut it.requests.select)),
    ("prices.select.scanned", |it| Some(&mut it.select.as_mut()?.scanned)),
    ("prices.select.returned", |it| Some(&mut it.select.as_mut()?.returned)),
    ("prices.select.processed", |it| Some(&mut it.select.as_mut()?.processed)),
    ("prices.select.core_hour", |it| Some(&mut it.select.as_mut()?.core_hour)),
    ("prices.transfer.out", |it| Some(&mut it.transfer.out)),
    ("prices.transfer.retrieved", |it| Some(&mut it.transfer.retrieved)),
    ("prices.compute.per_hour", |it| Some(&mut it.compute.per_hour)),
];
