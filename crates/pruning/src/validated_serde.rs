//! Deserialization that validates: untrusted bytes yield only values that the constructors accept, or an error.

/// Implements `Deserialize` for a struct that derives `Serialize`. It reads the listed fields and builds the value
/// with the given expression, which may return an error.
macro_rules! checked_when_read {
    ($type:ty { $($field:ident: $of:ty),+ } => $make:expr) => {
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                #[derive(serde::Deserialize)]
                struct Fields {
                    $($field: $of),+
                }
                let Fields { $($field),+ } = serde::Deserialize::deserialize(deserializer)?;
                $make.map_err(serde::de::Error::custom)
            }
        }
    };
}
