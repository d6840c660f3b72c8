//! The macro that declares all algorithms and configurations.

/// Declares two enums from lines of a `Config` and the algorithms that it configures, each with its [`Entry`]: all
/// algorithms, in the order of the lines, and all configurations.
///
/// [`Entry`]: super::Entry
macro_rules! registry {
    ($($family:ident($config:ty) { $($name:ident = $entry:path, $doc:literal;)+ })+) => {
        /// The name of an algorithm in this crate.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Algorithm {
            $($(#[doc = $doc] $name,)+)+
        }

        impl Algorithm {
            /// All algorithms, in the order of the paper.
            pub const ALL: &[Self] = &[$($(Self::$name,)+)+];

            /// Returns the catalog's description of the algorithm.
            #[must_use]
            pub const fn entry(self) -> &'static Entry {
                match self {
                    $($(Self::$name => const { &$entry },)+)+
                }
            }
        }

        /// An algorithm with its parameters, as plain data. It includes the parts of the query that the program does
        /// not need. It dereferences to [`Pruning`].
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        pub enum Configured {
            $(#[doc = concat!("A [`", stringify!($config), "`].")] $family($config),)+
        }

        impl Deref for Configured {
            type Target = dyn Pruning;

            fn deref(&self) -> &Self::Target {
                match self {
                    $(Self::$family(config) => config,)+
                }
            }
        }
    };
}
