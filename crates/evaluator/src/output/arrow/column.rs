//! A column of the rows that wait for their record batch.

use arrow::array::ArrayRef;

use super::super::Item;
use crate::batch::Codes;
use crate::vector::{Data, Tag, Vector};

/// The rows of a batch that a column takes, in the order of the answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Taken<'a> {
    rows: &'a [u32],
    /// True if the rows follow one another.
    is_range: bool,
}

impl<'a> Taken<'a> {
    /// Takes rows that ascend.
    pub(super) fn ascending(rows: &'a [u32]) -> Self {
        let is_range = match (rows.first(), rows.last()) {
            (Some(first), Some(last)) => (last - first) as usize == rows.len() - 1,
            _ => false,
        };
        Self { rows, is_range }
    }

    /// Takes rows in any order, several times if they are repeated.
    pub(super) fn any(rows: &'a [u32]) -> Self {
        Self { rows, is_range: false }
    }

    pub(super) fn len(self) -> usize {
        self.rows.len()
    }

    pub(super) fn iter(self) -> impl ExactSizeIterator<Item = usize> + Clone + use<'a> {
        self.rows.iter().map(|row| *row as usize)
    }

    /// Returns the rows' values if these follow one another.
    pub(super) fn slice<T>(self, values: &[T]) -> Option<&[T]> {
        let first = *self.rows.first().filter(|_| self.is_range)? as usize;
        values.get(first..first + self.rows.len())
    }
}

/// Collects the values of a column. A method that fails may leave some values behind, which [`Column::truncate`]
/// removes.
pub(super) trait Column: Send {
    /// Appends a value. Returns `None` if the type cannot hold it.
    fn put(&mut self, item: Item<'_>) -> Option<()>;

    /// Appends values that are neither constant nor dynamic. Returns `None` if the type cannot hold one of them, or if
    /// their text has more than `most` bytes.
    fn put_typed(
        &mut self,
        vector: &Vector,
        rows: Taken<'_>,
        block: &[u8],
        most: usize,
    ) -> Option<()>;

    /// Appends coded values, like [`Column::put_typed`].
    fn put_codes(&mut self, codes: Codes<'_>, rows: Taken<'_>, most: usize) -> Option<()>;

    /// Returns the bytes of text so far.
    fn text_bytes(&self) -> usize {
        0
    }

    /// Returns the bytes of the longest text that a row may have without being counted in [`Column::text_bytes`].
    fn longest_coded(&self) -> usize {
        0
    }

    /// Keeps the first values.
    fn truncate(&mut self, rows: usize);

    /// Returns the values and removes them.
    fn finish(&mut self) -> ArrayRef;
}

/// Appends values of any representation, like [`Column::put_typed`].
pub(super) fn put_vector(
    column: &mut dyn Column,
    vector: &Vector,
    rows: Taken<'_>,
    block: &[u8],
    most: usize,
) -> Option<()> {
    let most_bytes = column.text_bytes().saturating_add(most);
    let mut put = |value| {
        column.put(Item::Value(value))?;
        (column.text_bytes() <= most_bytes).then_some(())
    };
    match &vector.data {
        Data::Constant(value) => rows.iter().try_for_each(|_| put(value)),
        Data::Dynamic(values) => rows.iter().try_for_each(|row| put(&values[row])),
        _ => column.put_typed(vector, rows, block, most),
    }
}

/// Appends rows without a value. Returns `None` if one of them has a value.
pub(super) fn put_absent(
    vector: &Vector,
    rows: Taken<'_>,
    mut put_null: impl FnMut(),
) -> Option<()> {
    rows.iter().try_for_each(|row| match vector.tag(row) {
        Tag::Present => None,
        Tag::Null | Tag::Missing => {
            put_null();
            Some(())
        }
    })
}

/// Appends coded values as if they were not coded.
pub(super) fn put_decoded(
    column: &mut dyn Column,
    codes: Codes<'_>,
    rows: Taken<'_>,
    most: usize,
) -> Option<()> {
    let codes_of_rows: Vec<u32> = rows.iter().map(|row| codes.codes[row]).collect();
    put_vector(column, codes.values, Taken::any(&codes_of_rows), &[], most)
}
