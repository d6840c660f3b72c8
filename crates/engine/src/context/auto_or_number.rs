//! Options that are a number, or `auto` for the engine's own choice.

/// Declares an option whose value is `auto`, the default, or a number within a range.
macro_rules! auto_or_number {
    (
        $(#[$about:meta])*
        $name:ident: $number:ty, $option:literal, $range:expr, $expected:literal
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Default)]
        pub struct $name(Option<$number>);

        impl $name {
            /// Returns the number, or `None` for `auto`.
            #[must_use]
            pub const fn get(self) -> Option<$number> {
                self.0
            }
        }

        impl std::str::FromStr for $name {
            type Err = datafusion::common::DataFusionError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let text = text.trim();
                match text.parse() {
                    _ if text.eq_ignore_ascii_case("auto") => Ok(Self(None)),
                    Ok(number) if $range.contains(&number) => Ok(Self(Some(number))),
                    _ => datafusion::common::config_err!(
                        "{} is '{text}', but must be 'auto' or {}",
                        $option,
                        $expected
                    ),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self.0 {
                    Some(number) => number.fmt(f),
                    None => f.write_str("auto"),
                }
            }
        }

        impl datafusion::common::config::ConfigField for $name {
            fn visit<V: datafusion::common::config::Visit>(
                &self,
                v: &mut V,
                key: &str,
                description: &'static str,
            ) {
                v.some(key, self, description);
            }

            fn set(&mut self, _key: &str, value: &str) -> datafusion::common::Result<()> {
                *self = value.parse()?;
                Ok(())
            }
        }
    };
}

auto_or_number! {
    /// The share of the rows that filters are assumed to pass, 0 to 1; `auto` if statistics determine it.
    Selectivity: f64, "sluice.selectivity", (0.0..=1.0), "a number from 0 to 1"
}

auto_or_number! {
    /// The false-positive rate of Bloom filters on join keys, 1e-9 to 0.999 (PushdownDB §V-B3); `auto` if the cost model
    /// chooses it when the keys are known.
    BloomP: f64, "sluice.bloom_p", (1e-9..=0.999), "a number from 1e-9 to 0.999"
}

auto_or_number! {
    /// The number of largest groups of a file that the store aggregates, 1 to 256 (PushdownDB §VI-C2); `auto` if the
    /// cost model chooses it after a sample.
    GroupsPushed: u64, "sluice.group_by_pushed", (1..=256), "a whole number from 1 to 256"
}

auto_or_number! {
    /// The number of rows that are sampled for ORDER BY with LIMIT, at least 1 (PushdownDB §VII-C1); `auto` for the
    /// number that returns the fewest bytes.
    TopKSample: u64, "sluice.top_k_sample", (1..=u64::MAX), "a whole number, at least 1"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auto_and_numbers_within_the_range_are_kept() {
        assert_eq!("Auto".parse::<BloomP>().unwrap().get(), None);
        assert_eq!(" 0.01 ".parse::<BloomP>().unwrap().to_string(), "0.01");
        assert_eq!("1".parse::<Selectivity>().unwrap().get(), Some(1.0));
        assert_eq!("256".parse::<GroupsPushed>().unwrap().get(), Some(256));
        assert_eq!(TopKSample::default().to_string(), "auto");
    }

    #[test]
    fn other_values_are_refused_with_the_range() {
        #[track_caller]
        fn check<T: std::str::FromStr<Err: std::fmt::Display> + std::fmt::Debug>(
            values: &[&str],
            expected: &str,
        ) {
            for value in values {
                let error = value.parse::<T>().map_err(|error| error.to_string()).unwrap_err();
                let expected = format!("is '{value}', but must be 'auto' or {expected}");
                assert!(error.contains(&expected), "{error}");
            }
        }
        check::<Selectivity>(&["-0.1", "1.1", "nan", ""], "a number from 0 to 1");
        check::<BloomP>(&["0", "1", "1e-300", "NaN", "inf", "1%"], "a number from 1e-9 to 0.999");
        check::<GroupsPushed>(&["0", "257", "1.5", "all"], "a whole number from 1 to 256");
        check::<TopKSample>(&["0", "-1", "1e5", "some"], "a whole number, at least 1");
    }
}
