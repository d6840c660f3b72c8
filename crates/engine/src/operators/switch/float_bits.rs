//! Serializes doubles as their bits, because a decimal text may be parsed as another number.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub(super) fn serialize<S: Serializer>(real: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    real.to_bits().serialize(serializer)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    u64::deserialize(deserializer).map(f64::from_bits)
}
