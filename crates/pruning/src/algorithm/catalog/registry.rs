//! What the registry expands to.

/// From lines of a `Config` and the algorithms that it configures, each with its [`Entry`]: the enum of
/// all algorithms, in the order of the lines, and that of all configurations.
///
/// [`Entry`]: super::Entry
macro_rules! registry {
    ($($family:ident($config:ty) { $($name:ident = $entry:path, $doc:literal;)+ })+) => {
        /// An algorithm of this crate.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Algorithm {
            $($(#[doc = $doc] $name,)+)+
        }

        impl Algorithm {
            /// All, in the order of the paper.
            pub const ALL: &[Self] = &[$($(Self::$name,)+)+];

            /// What is known of it.
            #[must_use]
            pub const fn entry(self) -> &'static Entry {
                match self {
                    $($(Self::$name => const { &$entry },)+)+
                }
            }
        }

        /// An algorithm with its parameters, and what the query asks that its program does not hold,
        /// as plain data. What it can do is [`Pruning`].
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
