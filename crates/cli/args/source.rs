//! The source of a switch's entries as an argument.

use std::path::PathBuf;
use std::str::FromStr;

/// The source of a switch's entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// A CSV or Parquet file.
    File(PathBuf),
    /// A stream that is generated in memory.
    Generated(Generated),
}

/// A stream of generated entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Generated {
    /// The distribution of the values.
    pub(crate) shape: Shape,
    /// The number of entries.
    pub(crate) entries: usize,
    /// The number of distinct keys, and the range of values.
    pub(crate) keys: u32,
    /// Seed of the random values.
    pub(crate) seed: u64,
}

/// The distributions of a generated stream's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Uniform,
    /// A few keys are frequent and many are rare: the logarithm of the key is uniform.
    Zipf,
    Sorted,
    Reversed,
    Constant,
}

impl FromStr for Source {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let Some(rest) = text.strip_prefix("generated:") else {
            return Ok(Self::File(PathBuf::from(text)));
        };
        let error = |what: &str| {
            format!(
                "`{text}`: {what}; it is generated:SHAPE[:entries=N][:keys=N][:seed=N] with the \
                 shape uniform, zipf, sorted, reversed or constant"
            )
        };
        let mut parts = rest.split(':');
        let shape = match parts.next().unwrap_or_default() {
            "uniform" => Shape::Uniform,
            "zipf" => Shape::Zipf,
            "sorted" => Shape::Sorted,
            "reversed" => Shape::Reversed,
            "constant" => Shape::Constant,
            other => return Err(error(&format!("there is no shape `{other}`"))),
        };
        let mut made = Generated { shape, entries: 1_000_000, keys: 100_000, seed: 1 };
        for part in parts {
            let (name, number) =
                part.split_once('=').ok_or_else(|| error(&format!("`{part}` has no value")))?;
            let number: u64 =
                number.parse().map_err(|_| error(&format!("`{number}` is no number")))?;
            match name {
                "entries" if (1..=200_000_000).contains(&number) => made.entries = number as usize,
                "entries" => return Err(error("entries are 1 to 200000000")),
                "keys" if (1..=u64::from(u32::MAX)).contains(&number) => made.keys = number as u32,
                "keys" => return Err(error("keys are 1 to 4294967295")),
                "seed" => made.seed = number,
                other => return Err(error(&format!("there is no `{other}`"))),
            }
        }
        Ok(Self::Generated(made))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_read_from_text() {
        let made = "generated:zipf:entries=10:keys=3:seed=9".parse::<Source>();
        let expected = Generated { shape: Shape::Zipf, entries: 10, keys: 3, seed: 9 };
        assert_eq!(made, Ok(Source::Generated(expected)));
        assert_eq!("a.csv".parse(), Ok(Source::File("a.csv".into())));
        for wrong in
            ["generated:", "generated:flat", "generated:zipf:keys", "generated:zipf:keys=0"]
        {
            assert!(wrong.parse::<Source>().unwrap_err().contains("generated:SHAPE"), "{wrong}");
        }
    }
}
