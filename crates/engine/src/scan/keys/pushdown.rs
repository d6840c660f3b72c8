//! Chooses the cheapest condition on keys that a store accepts.

use std::collections::BTreeMap;

use datafusion::common::Result;

use super::bloom::Shape;
use super::column_predicate::ColumnPredicate;
use super::hashing::Hashing;
use super::ordered::{OrderedKeys, Span};
use super::pushed::{PushedKeyFilter, PushedKeys};
use crate::context::choice::Reason;
use crate::pushdown::predicate::Translator;
use crate::scan::s3_select::S3SelectSource;
use crate::store::endpoint::Endpoint;

/// A statement to which conditions on keys are added.
#[derive(Debug, Clone, Copy)]
pub struct KeyStatement<'a> {
    /// The scan of the statement.
    pub source: &'a S3SelectSource,
    /// The endpoint that runs the statement.
    pub endpoint: &'a Endpoint,
    /// Bytes that are left for conditions.
    room: usize,
}

/// Bytes of a statement that surround a condition.
const AROUND: usize = " WHERE () AND ()".len();

impl<'a> KeyStatement<'a> {
    /// Creates the statement of a scan, without keys so far.
    #[must_use]
    pub fn new(source: &'a S3SelectSource, endpoint: &'a Endpoint) -> Self {
        let bare = source.statement(None).map_or(0, |statement| statement.sql().len());
        let room = source.profile().max_expression_bytes.saturating_sub(bare + AROUND);
        Self { source, endpoint, room }
    }

    /// Returns the translator of conditions for the store.
    pub(super) fn translator(&self) -> Translator<'a> {
        self.source.translator()
    }

    /// Returns true if a list of many keys may be better than any Bloom filter. This is the case where the store
    /// evaluates a Bloom filter with one `SUBSTRING` per hash function. With `BLOOM_CONTAINS`, a filter is as fast as
    /// a list, and at a false-positive rate of 0.001 it has far fewer bytes.
    #[must_use]
    pub fn lists_pay(&self, keys: &KeysByColumn) -> bool {
        keys.iter().any(|(index, keys)| {
            let column = ColumnPredicate::new(self, *index, keys, None, self.room);
            column.hashed_keys().all(|(hashing, _)| hashing != Hashing::Binary)
        })
    }

    /// Returns the approximate number of keys of a column for which a condition of some form has room, if the rows'
    /// keys are assumed to be in a span; 0 if the store does not accept such a condition.
    #[must_use]
    pub fn capacity(&self, index: usize, keys: &OrderedKeys, form: KeyFilterForm) -> usize {
        let column = ColumnPredicate::new(self, index, keys, None, self.room);
        let room = self.room.saturating_sub(column.around_span());
        match (form, column.hashed_keys().next()) {
            (KeyFilterForm::Bounds, _) => 0,
            (KeyFilterForm::Bloom(p), Some((hashing, key))) => hashing.capacity(p, room, &key),
            _ => column.listed(room),
        }
    }

    /// Returns the conditions on one column that several statements express together, each with `each` keys, if the
    /// rows' keys are assumed to be in spans.
    #[must_use]
    pub fn expected(
        &self,
        index: usize,
        keys: &OrderedKeys,
        form: KeyFilterForm,
        each: usize,
    ) -> Option<PushedKeyFilter> {
        let column = ColumnPredicate::new(self, index, keys, None, self.room);
        let room = self.room.saturating_sub(column.around_span());
        let all = keys.values.as_ref()?.len();
        match (form, column.hashed_keys().next()) {
            (KeyFilterForm::Bounds, _) => None,
            (KeyFilterForm::Bloom(wanted), Some((hashing, key))) => {
                let sent = hashing.fit(each, wanted, room, &key)?;
                let bits = hashing.bits(Shape::new(all, sent));
                Some(PushedKeyFilter::Hashed { hashing, keys: all, bits, wanted, sent })
            }
            _ => (each <= column.listed(room)).then_some(PushedKeyFilter::OneOf(all)),
        }
    }
}

/// The form of a condition on keys.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum KeyFilterForm {
    /// Between the least and the greatest key.
    Bounds,
    /// A list of the keys; bounds if there are too many.
    List,
    /// A Bloom filter with this false-positive rate, or the least rate above it that fits. It is replaced by a list
    /// if the keys are few or the store does not hash them, and by bounds if nothing else fits.
    Bloom(f64),
}

/// Keys of some columns, by the column's index in the file's schema.
pub type KeysByColumn = BTreeMap<usize, OrderedKeys>;

/// The assumed spans of the values of some columns, by the column's index in the file's schema.
pub type Spans = BTreeMap<usize, Span>;

/// Adds conditions on the keys of some columns. If a column's values are assumed to be in a span, rows with values
/// outside of it pass wherever a key may be.
///
/// # Errors
///
/// If a condition cannot be evaluated locally.
pub fn push_down_keys(
    asking: &KeyStatement<'_>,
    keys: &KeysByColumn,
    form: KeyFilterForm,
    spans: &Spans,
) -> Result<PushedKeys> {
    let mut sent = PushedKeys::default();
    let mut room = asking.room;
    let mut columns: Vec<_> = keys
        .iter()
        .map(|(index, keys)| {
            (index, ColumnPredicate::new(asking, *index, keys, spans.get(index), 0))
        })
        .collect();
    // A few keys select most and need the least room.
    columns.sort_by_key(|(_, column)| column.split.map_or(usize::MAX, |split| split.within.len()));
    for (index, mut column) in columns {
        column.room = room;
        let name = asking.source.file_schema().field(*index).name().clone();
        let mut refused = None;
        let mut accepted = None;
        for attempt in column.attempts(form) {
            match column.filter(attempt)? {
                Ok((filter, likely)) => {
                    let mut all = sent.filters.clone();
                    all.push(filter);
                    match asking.source.takes_with(asking.endpoint, &all) {
                        Ok(()) => {
                            accepted = all.pop().map(|filter| (filter, likely));
                            break;
                        }
                        Err(why) => refused = refused.or(Some(why)),
                    }
                }
                Err(why) => refused = refused.or(Some(why)),
            }
        }
        match accepted {
            Some((filter, likely)) => {
                room = room.saturating_sub(filter.there.expr.to_string().len() + " AND ()".len());
                sent.filters.push(filter);
                if matches!(likely, PushedKeyFilter::Between { .. }) {
                    sent.only_bounds.extend(refused.map(|why| (name.clone(), why)));
                }
                sent.columns.push((name, likely));
            }
            None => {
                let why = refused.unwrap_or(Reason::new("there is nothing to say about it"));
                sent.refused.push((name, why));
            }
        }
    }
    Ok(sent)
}
