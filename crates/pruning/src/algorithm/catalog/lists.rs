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

/// From `Variant(Config, …)` lines: the enum of all configurations, which does what every `Config`
/// can. What follows the `Config` is what the query asks and the program does not hold.
macro_rules! configured {
    ($($(#[$doc:meta])+ $variant:ident($config:ty $(, $asked:ty)*),)+) => {
        /// An algorithm with its parameters, and what the query asks that its program does not hold,
        /// as plain data.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        pub enum Configured {
            $($(#[$doc])+ $variant($config $(, $asked)*),)+
        }

        impl Configured {
            /// The program.
            #[must_use]
            pub fn program(&self) -> Program {
                match self {
                    $(Self::$variant(config, ..) => config.program(),)+
                }
            }

            /// The fast path, in the state of a switch that just started.
            #[must_use]
            pub fn pruner(&self) -> Box<dyn Pruner> {
                match self {
                    $(Self::$variant(config, ..) => Box::new(config.pruner()),)+
                }
            }
        }

        /// As EXPLAIN shows it: `name(parameter=value, …)`.
        impl fmt::Display for Configured {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$variant(config, ..) => config.fmt(f),)+
                }
            }
        }
    };
}
