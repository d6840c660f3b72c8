//! Values that are read from bytes which nobody vouches for: they are what their constructors demand,
//! or they are refused.

/// Implements `Deserialize` for a struct that derives `Serialize`: reads these of its fields, and makes
/// it from them by an expression, which may refuse them.
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
