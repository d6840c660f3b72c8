//! Extensions of a session's configuration that rules and plans can read, and SET cannot change.

/// Makes a type an extension of the configuration without options. `$refusal` is the error message for an option that
/// the user tries to SET.
macro_rules! carried {
    ($type:ty, $prefix:literal, $refusal:literal) => {
        impl ::datafusion::common::config::ConfigExtension for $type {
            const PREFIX: &'static str = $prefix;
        }

        impl ::datafusion::common::config::ExtensionOptions for $type {
            fn as_any(&self) -> &dyn ::std::any::Any {
                self
            }

            fn as_any_mut(&mut self) -> &mut dyn ::std::any::Any {
                self
            }

            fn cloned(&self) -> Box<dyn ::datafusion::common::config::ExtensionOptions> {
                Box::new(self.clone())
            }

            fn set(&mut self, key: &str, _value: &str) -> ::datafusion::common::Result<()> {
                ::datafusion::common::config_err!($refusal, key)
            }

            fn entries(&self) -> Vec<::datafusion::common::config::ConfigEntry> {
                Vec::new()
            }
        }
    };
}

pub(crate) use carried;
