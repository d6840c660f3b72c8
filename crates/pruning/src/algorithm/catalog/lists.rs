//! What the lists of algorithms expand to.

/// From `Variant => ENTRY` lines: the enum of all algorithms, in the order of the lines.
macro_rules! algorithms {
    ($($(#[$doc:meta])+ $variant:ident => $entry:path,)+) => {
        /// An algorithm of this crate.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Algorithm {
            $($(#[$doc])+ $variant,)+
        }

        impl Algorithm {
            /// All, in the order of the paper.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// What is known of it.
            #[must_use]
            pub const fn entry(self) -> &'static Entry {
                match self {
                    $(Self::$variant => const { &$entry },)+
                }
            }
        }
    };
}

/// From `Variant(Config)` lines: the enum of all configurations, which does what every `Config` can.
macro_rules! configured {
    ($($(#[$doc:meta])+ $variant:ident($config:ty),)+) => {
        /// An algorithm with its parameters, as plain data: what runs in a switch.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum Configured {
            $($(#[$doc])+ $variant($config),)+
        }

        impl Configured {
            /// The program.
            #[must_use]
            pub fn program(&self) -> Program {
                match self {
                    $(Self::$variant(config) => config.program(),)+
                }
            }

            /// The fast path, in the state of a switch that just started.
            #[must_use]
            pub fn pruner(&self) -> Box<dyn Pruner> {
                match self {
                    $(Self::$variant(config) => Box::new(config.pruner()),)+
                }
            }
        }

        /// As EXPLAIN shows it: `name(parameter=value, …)`.
        impl fmt::Display for Configured {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$variant(config) => config.fmt(f),)+
                }
            }
        }

        $(impl From<$config> for Configured {
            fn from(config: $config) -> Self {
                Self::$variant(config)
            }
        })+
    };
}
