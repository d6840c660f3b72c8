//! The bytes of a column's values in an answer in Arrow.

use arrow::datatypes::DataType;

/// Rows of a record batch, each of which has its own dictionaries: a typical number.
const BATCH_ROWS: f64 = 4_096.0;

/// A column in numbers.
#[derive(Debug, Clone, Copy)]
pub(super) struct ColumnShape<'a> {
    pub(super) data_type: &'a DataType,
    /// Mean bytes of a value as text.
    pub(super) width: f64,
    /// Number of distinct values, if known.
    pub(super) distinct: Option<f64>,
}

impl ColumnShape<'_> {
    /// Returns the mean bytes of a value.
    pub(super) fn plain(self) -> f64 {
        match self.data_type.primitive_width() {
            Some(width) => width as f64,
            None if *self.data_type == DataType::Boolean => 0.125,
            None => self.position() + self.first_in_batch() * self.text_bytes(),
        }
    }

    /// Returns the mean bytes of a value after compression with Zstandard.
    ///
    /// The constants fit the columns of TPC-H: the entropy of values that are equally frequent, and what was measured
    /// beyond it.
    pub(super) fn compressed(self) -> f64 {
        /// The bytes that Zstandard makes of a character: digits have 3.3 bits, words a little more.
        const CHARACTER: f64 = 0.42;
        const ENTROPY: (f64, f64) = (0.15, 1.35);
        let of_values = |distinct: f64| ENTROPY.0 + ENTROPY.1 * distinct.max(1.0).log2() / 8.0;
        let known = self.distinct.map_or(f64::INFINITY, of_values);
        match self.data_type.primitive_width() {
            Some(width) => (self.width * CHARACTER).min(known).min(width as f64),
            None if *self.data_type == DataType::Boolean => 0.125,
            None => {
                let position = known.min(of_values(BATCH_ROWS)).min(self.position());
                position + self.first_in_batch() * self.text_bytes() * CHARACTER
            }
        }
    }

    /// Returns the share of the rows whose text is not yet in the batch's dictionary.
    fn first_in_batch(self) -> f64 {
        let distinct = self.distinct.filter(|_| self.is_coded());
        distinct.map_or(1.0, |distinct| (distinct / BATCH_ROWS).clamp(0.0, 1.0))
    }

    /// Returns true if texts are sent with a dictionary, as [`sluicegate_client::arrow_type`] chooses.
    fn is_coded(self) -> bool {
        *self.data_type == DataType::Utf8View
    }

    /// Returns the bytes of a position in a dictionary.
    fn position(self) -> f64 {
        if self.is_coded() { 2.0 } else { 0.0 }
    }

    /// Returns the bytes of a text and its end.
    fn text_bytes(self) -> f64 {
        // The width as text includes a delimiter.
        self.width + 3.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Columns of lineitem, with the bytes a row that Zstandard made of them at scale 0.5, in batches of 8192 rows.
    #[test]
    fn columns_of_lineitem_have_about_the_measured_bytes() {
        let decimal = DataType::Decimal128(15, 2);
        for (name, data_type, width, distinct, measured) in [
            ("l_partkey", DataType::Int64, 6.0, 1e5, 2.87),
            ("l_suppkey", DataType::Int64, 5.0, 5e3, 1.81),
            ("l_linenumber", DataType::Int32, 2.0, 7.0, 0.40),
            ("l_extendedprice", decimal.clone(), 9.0, 6e5, 3.23),
            ("l_discount", decimal.clone(), 5.0, 11.0, 0.70),
            ("l_tax", decimal, 5.0, 9.0, 0.65),
            ("l_returnflag", DataType::Utf8View, 2.0, 3.0, 0.38),
            ("l_linestatus", DataType::Utf8View, 2.0, 2.0, 0.24),
            ("l_shipdate", DataType::Date32, 11.0, 2_526.0, 1.99),
            ("l_shipinstruct", DataType::Utf8View, 13.0, 4.0, 0.58),
            ("l_shipmode", DataType::Utf8View, 5.3, 7.0, 0.70),
            ("l_comment", DataType::Utf8View, 27.5, 2e6, 12.3),
        ] {
            let shape = ColumnShape { data_type: &data_type, width, distinct: Some(distinct) };
            let ratio = shape.compressed() / measured;
            assert!((0.6..1.6).contains(&ratio), "{name}: {}", shape.compressed());
        }
    }

    #[test]
    fn values_are_no_longer_than_their_type() {
        fn shape(data_type: &DataType, distinct: Option<f64>) -> ColumnShape<'_> {
            ColumnShape { data_type, width: 12.0, distinct }
        }
        for (data_type, plain) in [
            (DataType::Int8, 1.0),
            (DataType::Int64, 8.0),
            (DataType::Decimal128(15, 2), 16.0),
            (DataType::Boolean, 0.125),
            (DataType::Utf8View, 17.0),
        ] {
            for distinct in [None, Some(0.0), Some(1.0), Some(1e12)] {
                let shape = shape(&data_type, distinct);
                assert!(shape.compressed() <= plain && shape.plain() <= plain, "{shape:?}");
            }
            assert_eq!(shape(&data_type, None).plain(), plain);
        }
        assert_eq!(shape(&DataType::Utf8View, Some(0.0)).plain(), 2.0);
        assert_eq!(shape(&DataType::Utf8, Some(0.0)).plain(), 15.0);
    }
}
