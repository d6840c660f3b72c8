//! Ranges of keys and sets of them.

use super::key::NULL;

/// The keys from `low` up to but not including `high`. Without `high`, the span has no upper end and includes the key
/// of NULL.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// The least key of the span.
    pub low: Vec<u8>,
    /// The first key after the span.
    pub high: Option<Vec<u8>>,
}

impl Span {
    /// Returns the span of a single key.
    #[must_use]
    pub fn point(key: Vec<u8>) -> Self {
        Self { high: Some(after(&key)), low: key }
    }

    /// Returns the span of the keys of all values, without that of NULL.
    #[must_use]
    pub fn values() -> Self {
        Self { low: Vec::new(), high: Some(NULL.to_vec()) }
    }

    /// Returns the span of the values less than that of `key`.
    #[must_use]
    pub fn below(key: Vec<u8>) -> Self {
        Self { high: Some(key), ..Self::values() }
    }

    /// Returns the span of the values that are at most that of `key`.
    #[must_use]
    pub fn up_to(key: &[u8]) -> Self {
        Self { high: Some(after(key)), ..Self::values() }
    }

    /// Returns the span of the values greater than that of `key`.
    #[must_use]
    pub fn above(key: &[u8]) -> Self {
        Self { low: after(key), ..Self::values() }
    }

    /// Returns the span of the values that are at least that of `key`.
    #[must_use]
    pub fn at_least(key: Vec<u8>) -> Self {
        Self { low: key, ..Self::values() }
    }

    /// Returns whether the span holds exactly one key.
    #[must_use]
    pub fn is_point(&self) -> bool {
        self.high.as_ref().is_some_and(|high| *high == after(&self.low))
    }

    /// Returns whether the span contains `key`.
    #[must_use]
    pub fn contains(&self, key: &[u8]) -> bool {
        self.low.as_slice() <= key && self.high.as_deref().is_none_or(|high| key < high)
    }

    fn is_empty(&self) -> bool {
        self.high.as_ref().is_some_and(|high| *high <= self.low)
    }
}

/// Returns the least key that is greater than `key`.
#[must_use]
pub fn after(key: &[u8]) -> Vec<u8> {
    let mut after = key.to_vec();
    after.push(0);
    after
}

/// Sorted spans, no two of which overlap or touch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Spans(Vec<Span>);

impl Spans {
    /// Returns the spans in ascending order.
    #[must_use]
    pub fn spans(&self) -> &[Span] {
        &self.0
    }

    /// Returns whether any span contains `key`.
    #[must_use]
    pub fn contains(&self, key: &[u8]) -> bool {
        let after = self.0.partition_point(|span| span.low.as_slice() <= key);
        after > 0 && self.0[after - 1].contains(key)
    }

    /// Sorts spans and joins those that overlap or touch.
    #[must_use]
    pub fn sorted(mut spans: Vec<Span>) -> Self {
        spans.retain(|span| !span.is_empty());
        spans.sort();
        let mut merged: Vec<Span> = Vec::with_capacity(spans.len());
        for span in spans {
            match merged.last_mut() {
                Some(last) if last.high.as_ref().is_none_or(|high| *high >= span.low) => {
                    last.high = match (last.high.take(), span.high) {
                        (Some(a), Some(b)) => Some(a.max(b)),
                        _ => None,
                    };
                }
                _ => merged.push(span),
            }
        }
        Self(merged)
    }

    /// Returns the keys that are in either set.
    #[must_use]
    pub fn union(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        Self::sorted(self.0)
    }

    /// Returns the keys that are in both sets.
    #[must_use]
    pub fn intersect(&self, other: &Self) -> Self {
        let (mut a, mut b) = (self.0.iter().peekable(), other.0.iter().peekable());
        let mut both = Vec::new();
        while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
            let high = match (&x.high, &y.high) {
                (Some(x), Some(y)) => Some(x.min(y).clone()),
                (x, y) => x.as_ref().or(y.as_ref()).cloned(),
            };
            let ends_first = match (&x.high, &y.high) {
                (Some(x), Some(y)) => x <= y,
                (x, _) => x.is_some(),
            };
            both.push(Span { low: (&x.low).max(&y.low).clone(), high });
            if ends_first {
                a.next()
            } else {
                b.next()
            };
        }
        Self::sorted(both)
    }

    /// Returns the keys of this set that are not in `span`.
    #[must_use]
    pub fn without(&self, span: &Span) -> Self {
        let below = Span { low: Vec::new(), high: Some(span.low.clone()) };
        let above = span.high.clone().map(|low| Span { low, high: None });
        self.intersect(&Self::sorted([below].into_iter().chain(above).collect()))
    }
}

impl From<Span> for Spans {
    fn from(span: Span) -> Self {
        Self::sorted(vec![span])
    }
}
