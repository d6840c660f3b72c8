//! Evaluates BLOOM_CONTAINS for whole batches.

use crate::output::invalid_text;
use crate::selection::Rows;
use crate::vector::{Data, Tag, Tags, Truth, Vector};
use sluicegate_s3select::error::{SelectError, SelectErrorCode};
use sluicegate_s3select::value::BloomFilter;

/// Tests whether each row's value may have been added to the filter. The result is NULL for a row without a value.
pub(super) fn test(
    filter: &BloomFilter,
    arg: &Vector,
    rows: Rows<'_>,
    block: &[u8],
    out: &mut [Truth],
) -> Result<(), SelectError> {
    match &arg.data {
        Data::Int(ints) => {
            each(filter, &arg.tags, rows, out, |row| filter.hash_int(ints[row]));
        }
        Data::Decimal(decimals) => {
            each(filter, &arg.tags, rows, out, |row| filter.hash_decimal(decimals[row]));
        }
        Data::Text(spans, heap) => {
            let heap = heap.bytes(block);
            rows.for_each(|row| {
                let span = spans[row];
                out[row] = match span.is_absent() {
                    true => Truth::Null,
                    false => filter.contains(filter.hash_text(span.slice(heap))).into(),
                };
            });
        }
        _ => {
            return rows.try_for_each(|row| {
                let value = arg.value(row, block).ok_or_else(invalid_text)?;
                out[row] = match filter.hash(&value) {
                    Some(hash) => filter.contains(hash).into(),
                    None if value.is_null() => Truth::Null,
                    None => return Err(without_hash(value.type_name())),
                };
                Ok(())
            });
        }
    }
    Ok(())
}

#[inline(always)]
fn each(
    filter: &BloomFilter,
    tags: &Tags,
    rows: Rows<'_>,
    out: &mut [Truth],
    hash: impl Fn(usize) -> u64,
) {
    rows.for_each(|row| {
        out[row] = match tags.get(row) {
            Tag::Present => filter.contains(hash(row)).into(),
            _ => Truth::Null,
        };
    });
}

#[cold]
fn without_hash(class: &str) -> SelectError {
    SelectError::new(
        SelectErrorCode::IncorrectSqlFunctionArgumentType,
        format!("BLOOM_CONTAINS takes no {class}."),
    )
}
