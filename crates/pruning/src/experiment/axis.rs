//! The axis of a sweep: the parameter that changes from point to point, and its values.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::algorithm::catalog::{Algorithm, CatalogError, ParameterSpec, Parameters, Range};

/// The greatest number of points along an axis.
const MOST_POINTS: usize = 1000;

/// The parameter that changes from point to point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Axis {
    /// The columns of a matrix, and everything else that the paper calls w: [`Parameters::columns`].
    Columns,
    /// The rows of a matrix, and everything else that the paper calls d: [`Parameters::rows`].
    Rows,
    /// The hash functions of Bloom filters and sketches.
    Hashes,
    /// The number of rows that TOP N returns.
    N,
    /// The constant of a filter or of HAVING: [`Parameters::threshold`].
    Threshold,
    /// The number of entries at the start of the stream that are used.
    Prefix,
}

impl Axis {
    /// Returns the name from which the axis is parsed.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Columns => "w",
            Self::Rows => "d",
            Self::Hashes => "hashes",
            Self::N => "n",
            Self::Threshold => "threshold",
            Self::Prefix => "prefix",
        }
    }

    /// Returns the name of the field of [`Parameters`]; a prefix has none.
    const fn parameter(self) -> Option<&'static str> {
        match self {
            Self::Columns => Some("columns"),
            Self::Rows => Some("rows"),
            Self::Prefix => None,
            Self::Hashes | Self::N | Self::Threshold => Some(self.name()),
        }
    }

    /// Returns the parameters with this value; a prefix changes none.
    #[must_use]
    pub fn set(self, given: &Parameters, value: u32) -> Parameters {
        let mut there = *given;
        match self {
            Self::Columns => there.columns = Some(value),
            Self::Rows => there.rows = Some(value),
            Self::Hashes => there.hashes = Some(value),
            Self::N => there.n = Some(value),
            Self::Threshold => there.threshold = Some(value),
            Self::Prefix => {}
        }
        there
    }
}

/// An axis with its points as a user writes them: `w=1..16`, `d=64..65536`, `w=1,2,4`, `prefix=1000..1000000/10`. The
/// values of a range depend on the algorithms: see [`Span::over`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    axis: Axis,
    points: Points,
    text: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Points {
    /// The listed values, ascending, at least one.
    Listed(Vec<u32>),
    /// A range from the first to the second value, and the number of points at equal ratios, if given.
    Range(u32, u32, Option<usize>),
}

/// An axis with its points.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AxisPoints {
    /// The parameter that changes from point to point.
    pub axis: Axis,
    /// The values, ascending, at least one and at most 1000; none is 0.
    pub values: Vec<u32>,
}

/// The reason why a text is not an axis of these algorithms.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum OverError {
    /// The text cannot be parsed, or has no point or too many.
    #[error(
        "`{text}`: {reason}; it is NAME=LOW..HIGH, NAME=LOW..HIGH/POINTS or NAME=A,B,C with the name w, \
         d, hashes, n, threshold or prefix"
    )]
    Text {
        /// The text that was given.
        text: String,
        /// The reason for the refusal.
        reason: &'static str,
    },
    /// An algorithm does not accept a value.
    #[error("`{text}`: {algorithm} cannot have {value} {takes}")]
    Refused {
        /// The text that was given.
        text: String,
        /// The algorithm that refuses the value.
        algorithm: Algorithm,
        /// The value that was refused.
        value: u32,
        /// The values that the algorithm accepts.
        takes: ParameterSpec,
    },
    /// An algorithm has no such parameter.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
}

/// The points of a range that has no number of points.
#[derive(Debug, Clone, Copy)]
enum Grid {
    /// Every number of the range.
    Every,
    /// Each number is twice the one before; beyond this one, powers of two only.
    Doubling(u32),
    /// All powers of two of the range.
    PowersOfTwo,
    /// Ten numbers at equal ratios.
    Ratios,
}

impl Grid {
    /// Returns the densest grid whose values all of `taken` permit.
    fn for_parameters(axis: Axis, taken: &[(Algorithm, ParameterSpec)]) -> Self {
        let any_row = if axis == Axis::Rows && taken.is_empty() {
            Self::Doubling(u32::MAX)
        } else {
            Self::Every
        };
        match axis {
            Axis::Threshold | Axis::Prefix => Self::Ratios,
            Axis::Columns | Axis::Rows | Axis::Hashes | Axis::N => {
                taken.iter().fold(any_row, |grid, (_, takes)| match (grid, takes.range) {
                    (Self::PowersOfTwo, _) | (_, Range::PowersOfTwo(..)) => Self::PowersOfTwo,
                    (_, Range::Rows(_, most, _)) => {
                        Self::Doubling(u32::try_from(most).unwrap_or(u32::MAX))
                    }
                    _ => grid,
                })
            }
        }
    }

    /// Returns the values of a range, at most one more than [`MOST_POINTS`]; with `count`, at equal ratios.
    fn values(self, low: u32, high: u32, count: Option<usize>) -> Vec<u32> {
        let powers = || (0..u32::BITS).map(|bits| 1 << bits).filter(|it| (low..=high).contains(it));
        let most = match self {
            Self::Every | Self::Ratios => u32::MAX,
            Self::Doubling(most) => most,
            Self::PowersOfTwo => 0,
        };
        // Returns the power of two in the range that is nearest by its ratio.
        let nearest = |value: u32| {
            let distance = |power: &u32| (f64::from(*power) / f64::from(value)).log2().abs();
            powers().min_by(|a, b| distance(a).total_cmp(&distance(b)))
        };
        let permitted = |value: u32| if value <= most { Some(value) } else { nearest(value) };
        match (self, count) {
            (_, Some(count)) => {
                ratios(low, high, count).into_iter().filter_map(permitted).collect()
            }
            (Self::Every, None) => (low..=high).take(MOST_POINTS + 1).collect(),
            (Self::Ratios, None) => ratios(low, high, 10),
            (Self::PowersOfTwo, None) => powers().collect(),
            (Self::Doubling(_), None) => {
                let double = |value: &u32| value.checked_mul(2).filter(|next| *next <= high);
                let up_to = std::iter::successors(Some(low), double).take_while(|it| *it <= most);
                up_to.chain(powers().filter(|it| *it > most)).collect()
            }
        }
    }
}

impl Span {
    /// Returns values that all of these algorithms accept.
    ///
    /// A range of `w`, `hashes` or `n` contains every number; a range of `threshold` or `prefix` contains ten numbers
    /// at equal ratios. A number behind `/` sets the number of points at equal ratios. If one of the algorithms
    /// requires powers of two, the range contains only those. The rows of a matrix must be powers of two only above
    /// 1024; in their range each number is twice the one before. Without algorithms, `d` is such rows without a
    /// limit.
    ///
    /// # Errors
    ///
    /// If an algorithm has no such parameter, or does not accept an end of the range or a value of the list; if there
    /// is no power of two in the range, or there are more than 1000 points.
    ///
    /// # Example
    /// ```
    /// use sluicegate_pruning::algorithm::catalog::Algorithm::{Distinct, Having};
    /// use sluicegate_pruning::experiment::sweep::Span;
    ///
    /// let width: Span = "w=2..16".parse()?;
    /// assert_eq!(width.over(&[Distinct])?.values.len(), 15);
    /// assert_eq!(width.over(&[Distinct, Having])?.values, [2, 4, 8, 16]);
    /// # Ok::<(), sluicegate_pruning::experiment::sweep::OverError>(())
    /// ```
    pub fn over(&self, algorithms: &[Algorithm]) -> Result<AxisPoints, OverError> {
        let mut taken = Vec::new();
        if let Some(name) = self.axis.parameter() {
            for &algorithm in algorithms {
                taken.push((algorithm, *algorithm.takes(name)?));
            }
        }
        let (mut values, named) = match &self.points {
            Points::Listed(values) => (values.clone(), values.clone()),
            &Points::Range(low, high, count) => {
                let grid = Grid::for_parameters(self.axis, &taken);
                (grid.values(low, high, count), vec![low, high])
            }
        };
        values.sort_unstable();
        values.dedup();
        let listed = matches!(self.points, Points::Listed(_));
        for (algorithm, takes) in &taken {
            // The ends of a range need not be powers of two, if there are some between them.
            let fits = |value: u32| match listed {
                true => takes.range.permits(value.into()),
                false => takes.range.reaches(value.into()),
            };
            if let Some(&value) = named.iter().find(|value| !fits(**value)) {
                let (algorithm, text, takes) = (*algorithm, self.text.clone(), *takes);
                return Err(OverError::Refused { text, algorithm, value, takes });
            }
        }
        let error = |reason| OverError::Text { text: self.text.clone(), reason };
        match values.len() {
            0 => Err(error("there is no power of two in it, which the algorithms demand")),
            1..=MOST_POINTS => Ok(AxisPoints { axis: self.axis, values }),
            _ => Err(error("it has more than 1000 points")),
        }
    }
}

impl FromStr for Span {
    type Err = OverError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = |reason| OverError::Text { text: text.to_owned(), reason };
        let (name, range) = text.split_once('=').ok_or_else(|| error("it has no value"))?;
        let axis = match name {
            "w" | "columns" => Axis::Columns,
            "d" | "rows" => Axis::Rows,
            "hashes" => Axis::Hashes,
            "n" => Axis::N,
            "threshold" => Axis::Threshold,
            "prefix" => Axis::Prefix,
            _ => return Err(error("there is no such axis")),
        };
        let number = |text: &str| match text.trim().parse::<u32>() {
            Ok(0) | Err(_) => Err(error("values are whole numbers from 1 to 4294967295")),
            Ok(number) => Ok(number),
        };
        let points = if let Some((low, high)) = range.split_once("..") {
            let (high, count) = match high.split_once('/') {
                Some((high, count)) => (high, Some(number(count)? as usize)),
                None => (high, None),
            };
            let (low, high) = (number(low)?, number(high)?);
            if low > high {
                return Err(error("its range ends before it begins"));
            }
            if count.is_some_and(|count| count > MOST_POINTS) {
                return Err(error("it has more than 1000 points"));
            }
            Points::Range(low, high, count)
        } else {
            let mut values = range.split(',').map(number).collect::<Result<Vec<_>, _>>()?;
            values.sort_unstable();
            values.dedup();
            Points::Listed(values)
        };
        Ok(Self { axis, points, text: text.to_owned() })
    }
}

/// Parses an axis for any algorithms: [`Span::over`] without algorithms.
impl FromStr for AxisPoints {
    type Err = OverError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse::<Span>()?.over(&[])
    }
}

/// Returns `points` whole numbers from `low` to `high` at equal ratios, without duplicates.
fn ratios(low: u32, high: u32, points: usize) -> Vec<u32> {
    let (low, high) = (f64::from(low), f64::from(high));
    let last = points.saturating_sub(1).max(1) as f64;
    (0..points).map(|at| (low * (high / low).powf(at as f64 / last)).round() as u32).collect()
}

impl fmt::Display for AxisPoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values: Vec<String> = self.values.iter().map(u32::to_string).collect();
        write!(f, "{}={}", self.axis.name(), values.join(","))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::{select, subsequence};

    use super::*;

    fn values(text: &str, algorithms: &[Algorithm]) -> Result<Vec<u32>, OverError> {
        text.parse::<Span>()?.over(algorithms).map(|over| over.values)
    }

    #[test]
    fn axes_are_read_from_text() {
        let values = |text: &str| text.parse::<AxisPoints>().map(|over| over.values);
        assert_eq!(values("w=1..4").unwrap(), [1, 2, 3, 4]);
        assert_eq!(values("d=64..600").unwrap(), [64, 128, 256, 512]);
        assert_eq!(values("columns=8,2,2").unwrap(), [2, 8]);
        assert_eq!(values("prefix=1..1000/4").unwrap(), [1, 10, 100, 1000]);
        assert_eq!(values("prefix=1000..1000000").unwrap().len(), 10);
        assert_eq!(values("n=7..7/3").unwrap(), [7]);
        for wrong in [
            "w",
            "w=",
            "w=0..3",
            "w=4..3",
            "x=1..2",
            "n=1..100000",
            "w=1..2/0",
            "w=1..2/1001",
            "w=-1..2",
        ] {
            let error = values(wrong).unwrap_err().to_string();
            assert!(error.contains("NAME=LOW..HIGH"), "{error}");
        }
        let over: AxisPoints = "d=4..16".parse().unwrap();
        assert_eq!(over.to_string().parse(), Ok(over));
    }

    #[test]
    fn a_range_has_what_the_algorithms_take() {
        use Algorithm::{Distinct, DistinctFifo, GroupBy, Having};
        let of = |text: &str, algorithms: &[Algorithm]| values(text, algorithms).unwrap();
        assert_eq!(of("w=64..1024", &[Having]), [64, 128, 256, 512, 1024]);
        assert_eq!(of("w=64..16384", &[Having]).len(), 9);
        assert_eq!(of("w=3..9", &[Having, Distinct]), [4, 8]);
        assert_eq!(of("w=3..9", &[Distinct]).len(), 7);
        assert_eq!(of("d=1..16", &[Having]).len(), 16);
        assert_eq!(of("d=100..5000", &[Distinct]), [100, 200, 400, 800, 2048, 4096]);
        assert_eq!(of("d=100..5000", &[Distinct, GroupBy]), [128, 256, 512, 1024, 2048, 4096]);
        assert_eq!(of("d=1000..5000/3", &[Distinct]), [1000, 2048, 4096]);
        assert_eq!(of("w=2..2", &[DistinctFifo]), [2]);
        for (text, algorithms, says) in [
            ("w=3,4", &[Having][..], "having cannot have 3"),
            ("w=5..7", &[Having], "no power of two"),
            ("w=1..8", &[Having], "having cannot have 1"),
            ("w=1..100", &[Distinct], "distinct cannot have 100"),
            ("w=1..4", &[Distinct, DistinctFifo], "distinct-fifo cannot have 1"),
            ("hashes=1..2", &[Distinct], "no parameter hashes"),
        ] {
            let error = values(text, algorithms).unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
    }

    fn axis() -> impl Strategy<Value = Axis> {
        use Axis::{Columns, Hashes, N, Prefix, Rows, Threshold};
        select(vec![Columns, Rows, Hashes, N, Threshold, Prefix])
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// Each algorithm accepts every value of a range. A range whose ends all algorithms accept has values, unless
        /// it is too long.
        #[test]
        fn every_value_of_a_range_is_taken(
            axis in axis(),
            algorithms in subsequence(Algorithm::ALL, 1..=3),
            // Values stay below 2¹⁶, since the catalog also bounds all arrays of a program together.
            (bits, low, count) in (0..17_u32, 0..1_u32 << 16, prop::option::of(1..40_usize)),
            length in 0..1_u32 << 16,
        ) {
            let low = (low >> bits) + 1;
            let high = low + (length >> bits);
            let count = count.map_or_else(String::new, |count| format!("/{count}"));
            let text = format!("{}={low}..{high}{count}", axis.name());
            let algorithms: Vec<Algorithm> = algorithms;
            let takes = |algorithm: &Algorithm, value| {
                algorithm.configure(&axis.set(&Parameters::default(), value)).is_ok()
            };
            let all_take = |value| algorithms.iter().all(|it| takes(it, value));
            match values(&text, &algorithms) {
                Ok(values) => {
                    prop_assert!(!values.is_empty() && values.is_sorted_by(|a, b| a < b));
                    for value in values {
                        prop_assert!((low..=high).contains(&value), "{}: {}", text, value);
                        prop_assert!(all_take(value), "{}: {} of {:?}", text, value, algorithms);
                    }
                }
                Err(error) => prop_assert!(
                    !(all_take(low) && all_take(high)) || error.to_string().contains("1000 points"),
                    "{}", error
                ),
            }
        }

        /// All values of a list are accepted, or the error names the first that is not.
        #[test]
        fn every_value_of_a_list_is_taken(
            axis in axis(),
            algorithm in select(Algorithm::ALL),
            listed in prop::collection::btree_set(1..70_u32, 1..5),
        ) {
            let listed: Vec<u32> = listed.into_iter().collect();
            let over = AxisPoints { axis, values: listed.clone() };
            let fails = |value: &&u32| algorithm.configure(&axis.set(&Parameters::default(), **value)).is_err();
            let refused = listed.iter().find(fails);
            match (values(&over.to_string(), &[algorithm]), refused) {
                (Ok(values), None) => prop_assert_eq!(values, listed),
                (Err(OverError::Refused { value, .. }), Some(refused)) => prop_assert_eq!(value, *refused),
                (Err(OverError::Catalog(_)), Some(_)) => {}
                other => prop_assert!(false, "{:?}", other),
            }
        }
    }
}
