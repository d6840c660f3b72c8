//! The parameters that a caller can set, and their command-line forms.

use crate::algorithm::config::{index_bits, power_of_two};
use crate::algorithm::group_by::Extreme;
use crate::algorithm::hashing::Hashing;
use crate::switch::Relation;
use crate::{ConfigError, Ties};

/// The parameters of an algorithm. `None` stands for the paper's default; [`Entry::parameters`] lists those that an
/// algorithm has.
///
/// [`Entry::parameters`]: super::Entry::parameters
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Parameters {
    /// The number of columns w of a matrix, tables of GROUP BY, points of SKYLINE, cutoffs of TOP N, or counters in a
    /// row of a sketch.
    pub columns: Option<u32>,
    /// The number of rows d of a matrix or a sketch, or of cells of a table; for JOIN, of bits of an array or words
    /// of a register Bloom filter.
    pub rows: Option<u32>,
    /// The number of bits of all arrays of a join's Bloom filter, instead of those of each.
    pub filter_bits: Option<u32>,
    /// The number of hashes of a join's filter.
    pub hashes: Option<u32>,
    /// The number of rows that TOP N returns.
    pub n: Option<u32>,
    /// The width of a key in bits: 32 or 64.
    pub key_bits: Option<u32>,
    /// The number of coordinates of a point.
    pub dimensions: Option<u32>,
    /// The constant of a filter or of HAVING.
    pub threshold: Option<u32>,
    /// The relation that a value must have to the constant.
    pub relation: Option<Relation>,
    /// The extreme of GROUP BY, MAX or MIN.
    pub extreme: Option<Extreme>,
    /// The treatment of equal values: forwarded or pruned.
    pub ties: Option<Ties>,
    /// True if packets carry one more value that selects the row, for fingerprints.
    pub row_value: Option<bool>,
    /// The seed that selects the hash functions: see [`Hashing`].
    pub hash_seed: Option<u64>,
    /// True if keys are hashed by one CRC, which saves a stage; for keys that are hashes themselves.
    pub linear_hash: Option<bool>,
}

/// A parameter of one or more algorithms, as a command line offers it.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// The name of the field of [`Parameters`].
    pub name: &'static str,
    /// The name in a command line's spelling.
    pub long: &'static str,
    /// The letter of its short option, if any.
    pub letter: Option<char>,
    /// Another long name, if any.
    pub alias: Option<&'static str>,
    /// The placeholder for its value in help texts.
    pub value: &'static str,
    /// The help text, valid for all algorithms.
    pub help: &'static str,
    /// The kind of value that it takes.
    pub values: Values,
    set: fn(&mut Parameters, Value),
    is_set: fn(&Parameters) -> bool,
}

/// The kind of value that a parameter takes.
#[derive(Debug, Clone, Copy)]
pub enum Values {
    /// A number of 32 bits.
    U32,
    /// A number of 64 bits.
    U64,
    /// One of these words, each with its meaning.
    Words(&'static [(&'static str, &'static str)]),
    /// A flag without a value.
    Flag,
    /// A value that users cannot give, because workers choose it.
    Internal,
}

/// The value of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// The value of a numeric parameter.
    Number(u64),
    /// The position of a word in [`Values::Words`].
    Word(usize),
    /// The value of a flag that is set.
    Set,
}

impl Value {
    fn u32(self) -> Option<u32> {
        match self {
            Self::Number(number) => u32::try_from(number).ok(),
            _ => None,
        }
    }

    fn u64(self) -> Option<u64> {
        match self {
            Self::Number(number) => Some(number),
            _ => None,
        }
    }

    fn pick<T: Copy>(self, words: &[T]) -> Option<T> {
        match self {
            Self::Word(position) => words.get(position).copied(),
            _ => None,
        }
    }
}

const RELATIONS: [Relation; 6] =
    [Relation::Eq, Relation::Ne, Relation::Lt, Relation::Le, Relation::Gt, Relation::Ge];

/// All parameters of all algorithms.
pub const PARAMETERS: &[Parameter] = &[
    Parameter {
        letter: Some('w'),
        alias: Some("width"),
        value: "W",
        ..Parameter::u32(
            "columns",
            "The paper's w: columns of a matrix, tables of group-by, points of a skyline, cutoffs of top-n-deterministic, counters in a row of having's sketch",
            |it, value| it.columns = value.u32(),
            |it| it.columns.is_some(),
        )
    },
    Parameter {
        letter: Some('d'),
        alias: Some("depth"),
        value: "D",
        ..Parameter::u32(
            "rows",
            "The paper's d: rows of a matrix or of having's sketch, cells of a table; of a join, bits of a Bloom array or 64-bit words of a register Bloom filter",
            |it, value| it.rows = value.u32(),
            |it| it.rows.is_some(),
        )
    },
    Parameter {
        long: "filter-bits",
        value: "M",
        ..Parameter::u32(
            "filter_bits",
            "Bits of all arrays of a join's Bloom filter, instead of --rows for each: 33554432 are the paper's 4 MB",
            |it, value| it.filter_bits = value.u32(),
            |it| it.filter_bits.is_some(),
        )
    },
    Parameter {
        value: "H",
        ..Parameter::u32(
            "hashes",
            "Hashes of a join's filter",
            |it, value| it.hashes = value.u32(),
            |it| it.hashes.is_some(),
        )
    },
    Parameter {
        letter: Some('n'),
        value: "N",
        ..Parameter::u32(
            "n",
            "Rows that top-n returns",
            |it, value| it.n = value.u32(),
            |it| it.n.is_some(),
        )
    },
    Parameter {
        long: "key-bits",
        value: "BITS",
        ..Parameter::u32(
            "key_bits",
            "Bits of a key: 32 or 64",
            |it, value| it.key_bits = value.u32(),
            |it| it.key_bits.is_some(),
        )
    },
    Parameter {
        value: "N",
        ..Parameter::u32(
            "dimensions",
            "Coordinates of a skyline's points",
            |it, value| it.dimensions = value.u32(),
            |it| it.dimensions.is_some(),
        )
    },
    Parameter {
        value: "NUMBER",
        ..Parameter::u32(
            "threshold",
            "What a filter or having compares with",
            |it, value| it.threshold = value.u32(),
            |it| it.threshold.is_some(),
        )
    },
    Parameter {
        values: Values::Words(&[
            ("eq", "="),
            ("ne", "<>"),
            ("lt", "<"),
            ("le", "<="),
            ("gt", ">"),
            ("ge", ">="),
        ]),
        value: "RELATION",
        ..Parameter::u32(
            "relation",
            "How a value must relate to the threshold",
            |it, value| it.relation = value.pick(&RELATIONS),
            |it| it.relation.is_some(),
        )
    },
    Parameter {
        values: Values::Words(&[("max", "The greatest"), ("min", "The least")]),
        value: "EXTREME",
        ..Parameter::u32(
            "extreme",
            "Which value of a group is computed",
            |it, value| it.extreme = value.pick(&[Extreme::Max, Extreme::Min]),
            |it| it.extreme.is_some(),
        )
    },
    Parameter {
        values: Values::Words(&[("keep", "Forwarded"), ("prune", "Pruned")]),
        value: "TIES",
        ..Parameter::u32(
            "ties",
            "What happens to an entry that equals a stored one; prune is correct only for whole values",
            |it, value| it.ties = value.pick(&[Ties::Keep, Ties::Prune]),
            |it| it.ties.is_some(),
        )
    },
    Parameter {
        values: Values::Internal,
        ..Parameter::u32(
            "row_value",
            "Packets carry one more value that selects the row",
            |it, value| it.row_value = (value == Value::Set).then_some(true),
            |it| it.row_value.is_some(),
        )
    },
    Parameter {
        long: "hash-seed",
        values: Values::U64,
        value: "N",
        ..Parameter::u32(
            "hash_seed",
            "Which hash functions: those of a number; the same number, the same run",
            |it, value| it.hash_seed = value.u64(),
            |it| it.hash_seed.is_some(),
        )
    },
    Parameter {
        long: "linear-hash",
        values: Values::Flag,
        ..Parameter::u32(
            "linear_hash",
            "Hash by a single CRC, a stage less: sound in theory for keys that are hashes themselves",
            |it, value| it.linear_hash = (value == Value::Set).then_some(true),
            |it| it.linear_hash.is_some(),
        )
    },
];

impl Parameter {
    const fn u32(
        name: &'static str,
        help: &'static str,
        set: fn(&mut Parameters, Value),
        is_set: fn(&Parameters) -> bool,
    ) -> Self {
        let (letter, alias, value, values) = (None, None, "", Values::U32);
        Self { name, long: name, letter, alias, value, help, values, set, is_set }
    }

    /// Sets the parameter to a value.
    pub fn set(&self, parameters: &mut Parameters, value: Value) {
        (self.set)(parameters, value);
    }
}

impl Parameters {
    /// Iterates over the names of the parameters that are set.
    pub(super) fn named(&self) -> impl Iterator<Item = &'static str> + use<'_> {
        PARAMETERS.iter().filter(move |it| (it.is_set)(self)).map(|it| it.name)
    }

    /// Sets a parameter by name to the value that a text holds; a flag needs no text.
    ///
    /// # Errors
    ///
    /// Returns a description of the allowed values.
    pub fn set(&mut self, name: &str, text: &str) -> Result<(), String> {
        let Some(parameter) = PARAMETERS.iter().find(|it| it.name == name) else {
            let names: Vec<&str> = PARAMETERS.iter().map(|it| it.name).collect();
            return Err(format!("`{name}` is no parameter; there are {}", names.join(", ")));
        };
        let value = match parameter.values {
            Values::Flag | Values::Internal => Some(Value::Set),
            Values::U32 => text.parse::<u32>().ok().map(|number| Value::Number(number.into())),
            Values::U64 => text.parse().ok().map(Value::Number),
            Values::Words(words) => {
                words.iter().position(|(word, _)| word.eq_ignore_ascii_case(text)).map(Value::Word)
            }
        };
        match value {
            Some(value) => parameter.set(self, value),
            None => return Err(format!("{name} cannot be `{text}`: {}", parameter.help)),
        }
        Ok(())
    }

    /// Returns the columns, or the algorithm's default.
    pub(crate) fn columns_or(&self, default: u32) -> u32 {
        self.columns.unwrap_or(default)
    }

    /// Returns the rows, or the algorithm's default.
    pub(crate) fn rows_or(&self, default: u32) -> u32 {
        self.rows.unwrap_or(default)
    }

    /// Returns the number of bits that index the rows, or the algorithm's default.
    ///
    /// # Errors
    ///
    /// If the number of rows is not a power of two.
    pub(crate) fn row_bits_or(&self, default: u8) -> Result<u8, ConfigError> {
        match self.rows {
            None => Ok(default),
            Some(rows) => power_of_two("rows", rows).map(index_bits),
        }
    }

    /// Returns the number of hashes; the paper's default is 3.
    pub(crate) fn hashes(&self) -> u32 {
        self.hashes.unwrap_or(3)
    }

    /// Returns the number of rows that TOP N returns; the paper's default is 250.
    pub(crate) fn n(&self) -> u32 {
        self.n.unwrap_or(250)
    }

    /// Returns the treatment of equal values; by default they are kept.
    pub(crate) fn ties(&self) -> Ties {
        self.ties.unwrap_or(Ties::Keep)
    }

    /// Returns MAX or MIN; MAX by default.
    pub(crate) fn extreme(&self) -> Extreme {
        self.extreme.unwrap_or(Extreme::Max)
    }

    /// Returns the hash function; by default it is mixed, with seed 0.
    ///
    /// # Errors
    ///
    /// If a seed is given for the linear hash, which has none.
    pub(crate) fn hashing(&self) -> Result<Hashing, ConfigError> {
        match (self.linear_hash, self.hash_seed) {
            (Some(true), None) => Ok(Hashing::Linear),
            (Some(true), Some(_)) => Err(ConfigError::Conflict(
                "a linear hash has no seed: another one would only rename the places",
            )),
            (_, seed) => Ok(Hashing::Mixed { seed: seed.unwrap_or(0) }),
        }
    }

    /// Returns true if keys have 64 bits and false if they have 32.
    ///
    /// # Errors
    ///
    /// If another width was given.
    pub(crate) fn wide_or(&self, default: bool) -> Result<bool, ConfigError> {
        match self.key_bits {
            None => Ok(default),
            Some(32) => Ok(false),
            Some(64) => Ok(true),
            Some(bits) => Err(ConfigError::OutOfRange {
                what: "key bits (32 or 64)",
                value: bits.into(),
                least: 32,
                greatest: 64,
            }),
        }
    }
}
