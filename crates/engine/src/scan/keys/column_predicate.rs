//! The possible conditions on the keys of one column.

use std::sync::Arc;

use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::expressions::{BinaryExpr, Column, InListExpr, IsNullExpr, lit};
use sluicegate_s3select::capabilities::Exactness;
use sluicegate_s3select::dialect::ast::Expr;

use super::bloom::Shape;
use super::enumerated::values_between;
use super::hashing::Hashing;
use super::ordered::{OrderedKeys, Span, Split};
use super::pushdown::{KeyFilterForm, KeyStatement};
use super::pushed::PushedKeyFilter;
use crate::context::choice::Reason;
use crate::pushdown::predicate::Pushed;
use crate::scan::s3_select::Filter;

/// The maximum number of keys that are sent as a list if a Bloom filter is possible as well. Comparing a value with
/// so many keys takes about as much work as hashing it, and a list has no false positives.
const LISTED: usize = 1_000;

/// A list is still tried if its estimated length exceeds the limit by less than one part in this many.
const NEARLY: usize = 8;

/// One form of condition to try on a column's keys.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Attempt {
    Bounds,
    List,
    /// A Bloom filter with this false-positive rate, or the least rate above it that fits.
    Bloom(Hashing, f64),
}

/// A column while its condition is built.
#[derive(Debug)]
pub(super) struct ColumnPredicate<'a> {
    asking: &'a KeyStatement<'a>,
    column: Arc<dyn PhysicalExpr>,
    keys: &'a OrderedKeys,
    /// The span that the rows' keys are assumed to be in, or `None` if it does not divide the keys.
    span: Option<&'a Span>,
    /// The known keys: those of the span, if there is one.
    pub(super) split: Option<Split<'a>>,
    /// Bytes that are left for the condition.
    pub(super) room: usize,
}

impl<'a> ColumnPredicate<'a> {
    pub(super) fn new(
        asking: &'a KeyStatement<'a>,
        index: usize,
        keys: &'a OrderedKeys,
        span: Option<&'a Span>,
        room: usize,
    ) -> Self {
        let name = asking.source.file_schema().field(index).name();
        let column = Arc::new(Column::new(name, index));
        let in_span = span.and_then(|span| keys.split(span));
        let all = || Some(Split { below: &[], within: keys.values.as_deref()?, above: &[] });
        let span = span.filter(|_| in_span.is_some());
        Self { asking, column, keys, span, split: in_span.or_else(all), room }
    }

    /// Returns the conditions to try for a form, the best first.
    pub(super) fn attempts(&self, wanted: KeyFilterForm) -> Vec<Attempt> {
        let p = match wanted {
            KeyFilterForm::Bounds => return vec![Attempt::Bounds],
            KeyFilterForm::List => return vec![Attempt::List, Attempt::Bounds],
            KeyFilterForm::Bloom(p) => p,
        };
        let mut attempts: Vec<_> =
            self.hashed_keys().map(|(hashing, _)| Attempt::Bloom(hashing, p)).collect();
        if attempts.is_empty() {
            // This attempt fails and returns the reason.
            attempts.push(Attempt::Bloom(Hashing::Substring, p));
        }
        let few = self.split.is_some_and(|split| split.within.len() <= LISTED);
        attempts.insert(if few { 0 } else { attempts.len() }, Attempt::List);
        attempts.push(Attempt::Bounds);
        attempts
    }

    pub(super) fn filter(
        &self,
        attempt: Attempt,
    ) -> Result<Result<(Filter, PushedKeyFilter), Reason>> {
        Ok(match attempt {
            Attempt::Bounds => self.bounds()?,
            Attempt::List => self.list()?,
            Attempt::Bloom(hashing, p) => self.bloom(hashing, p)?,
        })
    }

    /// Adds `IS NULL` to a condition if NULL is a key.
    fn or_null(&self, condition: Arc<dyn PhysicalExpr>) -> Arc<dyn PhysicalExpr> {
        if !self.keys.null {
            return condition;
        }
        let null = Arc::new(IsNullExpr::new(Arc::clone(&self.column)));
        Arc::new(BinaryExpr::new(null, Operator::Or, condition))
    }

    fn translated(
        &self,
        condition: Arc<dyn PhysicalExpr>,
        likely: PushedKeyFilter,
    ) -> Result<(Filter, PushedKeyFilter), Reason> {
        let here = self.or_null(condition);
        match self.asking.translator().filter(&here) {
            Some(there) => Ok((Filter { here, there }, likely)),
            None => Err(Reason::new("the store may not be sent a comparison with its values")),
        }
    }

    fn compared(&self, op: Operator, value: &ScalarValue) -> Arc<dyn PhysicalExpr> {
        Arc::new(BinaryExpr::new(Arc::clone(&self.column), op, lit(value.clone())))
    }

    /// Returns the condition between the least and the greatest key, as far as they are known.
    fn between(&self) -> Option<Arc<dyn PhysicalExpr>> {
        let low = self.keys.low.as_ref().map(|low| self.compared(Operator::GtEq, low));
        let high = self.keys.high.as_ref().map(|high| self.compared(Operator::LtEq, high));
        low.into_iter().chain(high).reduce(and)
    }

    fn bounds(&self) -> Result<Result<(Filter, PushedKeyFilter), Reason>> {
        Ok(match self.between() {
            Some(both) => {
                let values = values_between(self.keys.low.as_ref(), self.keys.high.as_ref());
                self.translated(both, PushedKeyFilter::Between { values })
            }
            None => Err(Reason::new("its keys are not known")),
        })
    }

    /// Returns the hashings that the store supports for the column, the densest first, each with the expression that
    /// it hashes.
    pub(super) fn hashed_keys(&self) -> impl Iterator<Item = (Hashing, Expr)> {
        let values = self.keys.values.as_deref().unwrap_or_default();
        let translator = self.asking.translator();
        let binary = translator.filterable(&self.column).map(|key| (Hashing::Binary, key));
        let substring = translator.hashable(&self.column).map(|key| (Hashing::Substring, key));
        // All keys of a column have one type.
        let first = values.first();
        let known = self.keys.values.is_some();
        binary
            .into_iter()
            .chain(substring)
            .filter(move |(hashing, _)| known && first.is_none_or(|value| hashing.takes(value)))
    }

    /// Returns the keys that the rows may have if they are in the span.
    fn listed_values(&self) -> Result<&'a [ScalarValue], Reason> {
        let split = self.split.ok_or(
            "the build side has more keys than joins hand on: \
             datafusion.optimizer.hash_join_inlist_pushdown_max_distinct_values",
        )?;
        Ok(split.within)
    }

    /// Returns the condition for values outside of the span, as far as there are keys.
    fn outside(&self) -> Option<Arc<dyn PhysicalExpr>> {
        let (span, split) = self.span.zip(self.split)?;
        let below = split.below.first().map(|least| {
            let below = self.compared(Operator::Lt, &span.low);
            and(self.compared(Operator::GtEq, least), below)
        });
        let above = split.above.last().map(|greatest| {
            let above = self.compared(Operator::Gt, &span.high);
            and(above, self.compared(Operator::LtEq, greatest))
        });
        below.into_iter().chain(above).reduce(or)
    }

    /// Returns the approximate bytes of the conditions for a span.
    pub(super) fn around_span(&self) -> usize {
        let values = self.keys.values.as_deref().unwrap_or_default();
        let (Some(low), Some(high)) = (values.first(), values.last()) else { return 0 };
        let bounds = and(self.compared(Operator::GtEq, low), self.compared(Operator::LtEq, high));
        let one = self.asking.translator().filter(&bounds);
        // One condition each for the values within, below and above the span.
        3 * (one.map_or(0, |bounds| bounds.expr.to_string().len()) + " OR ()".len())
    }

    /// `column IN (…)`, as it is evaluated locally.
    fn membership(&self, values: &[ScalarValue]) -> Result<Arc<dyn PhysicalExpr>> {
        let column = Arc::clone(&self.column);
        // NULL is the only key, or the span has no key.
        if values.is_empty() {
            return Ok(lit(false));
        }
        let array = ScalarValue::iter_to_array(values.iter().cloned())?;
        let schema = self.asking.source.file_schema();
        let list = InListExpr::try_new_from_array(column, array, false, schema)?;
        Ok(Arc::new(list))
    }

    /// Returns the condition that a value is in the list or outside of the span, as it is evaluated locally.
    fn local_predicate(&self, values: &[ScalarValue]) -> Result<Arc<dyn PhysicalExpr>> {
        Ok(match self.outside() {
            Some(outside) if values.is_empty() => outside,
            Some(outside) => or(self.membership(values)?, outside),
            None => self.membership(values)?,
        })
    }

    /// Returns the approximate number of keys in a list of this many bytes, estimated from some of them; at most the
    /// store's limit.
    pub(super) fn listed(&self, room: usize) -> usize {
        self.fitting(room).min(self.most_members())
    }

    fn most_members(&self) -> usize {
        self.asking.source.profile().max_in_list.unwrap_or(usize::MAX)
    }

    fn fitting(&self, room: usize) -> usize {
        const JUDGED: usize = 64;
        let values = self.keys.values.as_deref().unwrap_or_default();
        let every = (values.len() / JUDGED).max(1);
        let judged = JUDGED.min(self.most_members());
        let some: Vec<_> = values.iter().step_by(every).take(judged).cloned().collect();
        let list = self.membership(&some).ok().and_then(|it| self.asking.translator().filter(&it));
        let bytes = list.map_or(0, |list| list.expr.to_string().len());
        (room * some.len()).checked_div(bytes).unwrap_or_default()
    }

    fn list(&self) -> Result<Result<(Filter, PushedKeyFilter), Reason>> {
        let values = match self.listed_values() {
            Ok(values) => values,
            Err(why) => return Ok(Err(why)),
        };
        if values.len() > self.most_members() {
            return Ok(Err(Reason::new(format!(
                "a list of {} keys is longer than the {} of the profile `{}`",
                values.len(),
                self.most_members(),
                self.asking.source.profile().name
            ))));
        }
        // Estimating that a list is far too long is faster than building it.
        let judged = self.fitting(self.room);
        if judged > 0 && values.len() > judged + judged / NEARLY {
            return Ok(Err(Reason::new(format!("a list of {} keys does not fit", values.len()))));
        }
        if values.is_empty() && self.outside().is_none() {
            let here: Arc<dyn PhysicalExpr> = Arc::new(IsNullExpr::new(Arc::clone(&self.column)));
            return Ok(match self.asking.translator().filter(&here) {
                Some(there) => Ok((Filter { here, there }, PushedKeyFilter::OneOf(0))),
                None => Err(Reason::new("the store may not be asked for NULL")),
            });
        }
        let likely = PushedKeyFilter::OneOf(values.len());
        Ok(self.translated(self.local_predicate(values)?, likely))
    }

    fn bloom(
        &self,
        hashing: Hashing,
        wanted: f64,
    ) -> Result<Result<(Filter, PushedKeyFilter), Reason>> {
        let values = match self.listed_values() {
            Ok(values) => values,
            Err(why) => return Ok(Err(why)),
        };
        let Some((_, key)) = self.hashed_keys().find(|(known, _)| *known == hashing) else {
            return Ok(Err(self.asking.source.no_bloom(&self.column)));
        };
        let around = self.span.map_or(0, |_| self.around_span());
        let room = self.room.saturating_sub(around);
        let Some(p) = hashing.fit(values.len(), wanted, room, &key) else {
            return Ok(Err(Reason::new(format!(
                "p = {wanted} is wanted, but a Bloom filter of {} keys fits only with p = 1, which lets \
                 everything through",
                values.len()
            ))));
        };
        let shape = Shape::new(values.len(), p);
        // Every row that passes this local filter must pass in the store, because it counts the returned rows when an
        // answer breaks off. The join's own filter needs no list of the keys.
        let here = match &self.keys.filter {
            Some(filter) => Arc::clone(filter),
            None => self.local_predicate(values)?,
        };
        let here = self.or_null(here);
        let condition = hashing.condition(values, shape, &key);
        let condition = condition.and_then(|condition| self.or_outside_there(condition));
        let Some(condition) = condition.and_then(|condition| self.or_null_there(condition)) else {
            return Ok(Err(Reason::new("the store may not be asked for NULL or for bounds")));
        };
        let there = Pushed { expr: condition, exactness: Exactness::Superset };
        let (keys, bits) = (values.len(), hashing.bits(shape));
        let likely = PushedKeyFilter::Hashed { hashing, keys, bits, wanted, sent: p };
        Ok(Ok((Filter { here, there }, likely)))
    }

    /// Returns the store's condition that a value is in the span and meets `condition`, or is outside of the span.
    fn or_outside_there(&self, condition: Expr) -> Option<Expr> {
        let (Some(span), Some(outside)) = (self.span, self.outside()) else {
            return Some(condition);
        };
        let translator = self.asking.translator();
        let within = and(
            self.compared(Operator::GtEq, &span.low),
            self.compared(Operator::LtEq, &span.high),
        );
        let within = translator.filter(&within)?.expr;
        Some(within.and(condition).or(translator.filter(&outside)?.expr))
    }

    fn or_null_there(&self, condition: Expr) -> Option<Expr> {
        if !self.keys.null {
            return Some(condition);
        }
        let null: Arc<dyn PhysicalExpr> = Arc::new(IsNullExpr::new(Arc::clone(&self.column)));
        Some(self.asking.translator().filter(&null)?.expr.or(condition))
    }
}

fn and(left: Arc<dyn PhysicalExpr>, right: Arc<dyn PhysicalExpr>) -> Arc<dyn PhysicalExpr> {
    Arc::new(BinaryExpr::new(left, Operator::And, right))
}

fn or(left: Arc<dyn PhysicalExpr>, right: Arc<dyn PhysicalExpr>) -> Arc<dyn PhysicalExpr> {
    Arc::new(BinaryExpr::new(left, Operator::Or, right))
}
