//! The cheapest condition about keys that a store takes.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::sync::Arc;

use arrow::datatypes::Schema;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::expressions::{BinaryExpr, Column, InListExpr, IsNullExpr, lit};
use sluicegate_s3select::dialect::ast::Expr;
use sluicegate_s3select::profile::Exactness;

use super::bloom::{Bloom, Shape, fit, overhead};
use super::extract::ColumnKeys;
use crate::choice::Why;
use crate::datasource::predicate::{Pushed, Translator};
use crate::datasource::s3_select::Filter;

/// A statement that keys are added to.
pub struct Asking<'a> {
    /// Translates conditions for the store.
    pub translator: Translator<'a>,
    /// The file's columns.
    pub schema: &'a Schema,
    /// Bytes that are left for conditions.
    pub room: usize,
    /// Whether the store takes its statement with these filters as well.
    pub takes: &'a dyn Fn(&[Filter]) -> Result<(), Why>,
}

impl fmt::Debug for Asking<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Asking").field("room", &self.room).finish_non_exhaustive()
    }
}

/// The most keys that are sent as a list if a Bloom filter can be sent as well: to compare a value
/// with so many is about as much work as to hash it, and there are no wrong yeses.
const LISTED: usize = 1_000;

/// The seed of the hash functions: the same keys always make the same statement.
const SEED: u64 = 0x51_1c_e6_a7_e5;

/// How to ask about keys.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Form {
    /// Between the least and the greatest.
    Bounds,
    /// One of these. Bounds, where there are too many.
    List,
    /// In a Bloom filter with this probability of a wrong yes, or the least above it that fits. A
    /// list, where the keys are few or no whole numbers.
    Bloom(f64),
}

/// What is asked about the keys of one column.
#[derive(Debug, Clone, PartialEq)]
pub enum Likely {
    /// A value between two others.
    Between,
    /// One of so many.
    OneOf(usize),
    /// One in a Bloom filter.
    Hashed {
        /// How many are in it.
        keys: usize,
        /// Its bits.
        bits: u64,
        /// The probability of a wrong yes that was asked for.
        wanted: f64,
        /// The one that fits.
        sent: f64,
    },
}

/// What is asked about keys.
#[derive(Debug, Clone, Default)]
pub struct Sent {
    /// The conditions.
    pub filters: Vec<Filter>,
    /// What they are, by column.
    pub columns: Vec<(String, Likely)>,
    /// Why nothing is asked about some columns.
    pub refused: Vec<(String, Why)>,
}

/// `bloom on k (27200 keys, 260715 bits, p = 0.01)`
impl fmt::Display for Sent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        for (column, likely) in &self.columns {
            parts.push(match likely {
                Likely::Between => format!("bounds on {column}"),
                Likely::OneOf(keys) => format!("list on {column} ({keys} keys)"),
                Likely::Hashed { keys, bits, wanted, sent } if wanted == sent => {
                    format!("bloom on {column} ({keys} keys, {bits} bits, p = {sent})")
                }
                Likely::Hashed { keys, bits, wanted, sent } => format!(
                    "bloom on {column} ({keys} keys, {bits} bits, p = {sent:.4}, {wanted} does not fit)"
                ),
            });
        }
        for (column, why) in &self.refused {
            parts.push(format!("nothing on {column}: {why}"));
        }
        f.write_str(&parts.join("; "))
    }
}

impl Sent {
    /// The share of the rows that pass, if the keys are `keys` of `domain` that the column has.
    #[must_use]
    pub fn share(&self, domain: Option<f64>) -> f64 {
        /// Of rows whose keys lie between those that are wanted, if nothing else is known.
        const BETWEEN: f64 = 0.9;
        /// Of rows whose key is wanted, if nobody knows how many there are.
        const UNKNOWN: f64 = 0.2;
        let of = |keys: usize| match domain {
            Some(domain) => (keys as f64 / domain.max(1.0)).min(1.0),
            None => UNKNOWN,
        };
        let shares = self.columns.iter().map(|(_, likely)| match likely {
            Likely::Between => BETWEEN,
            Likely::OneOf(keys) => of(*keys),
            Likely::Hashed { keys, sent, .. } => of(*keys) + (1.0 - of(*keys)) * sent,
        });
        shares.fold(1.0, f64::min)
    }
}

/// Conditions about the keys of some columns, by their index in the file's schema.
///
/// # Errors
///
/// If a condition cannot be evaluated here.
pub fn ask(asking: &Asking<'_>, keys: &BTreeMap<usize, ColumnKeys>, form: Form) -> Result<Sent> {
    let mut sent = Sent::default();
    let mut room = asking.room;
    // Few keys select most and need the least room.
    let mut columns: Vec<_> = keys.iter().collect();
    columns.sort_by_key(|(_, keys)| keys.values.as_ref().map_or(usize::MAX, HashSet::len));
    for (index, keys) in columns {
        let column = AskedColumn::new(asking, *index, keys, room);
        let name = asking.schema.field(*index).name().clone();
        let mut refused = None;
        let mut accepted = None;
        for form in column.forms(form) {
            match column.filter(form)? {
                Ok((filter, likely)) => {
                    let mut all = sent.filters.clone();
                    all.push(filter);
                    match (asking.takes)(&all) {
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
                sent.columns.push((name, likely));
            }
            None => {
                let why = refused.unwrap_or(Why::new("there is nothing to say about it"));
                sent.refused.push((name, why));
            }
        }
    }
    Ok(sent)
}

/// A column while its condition is made.
struct AskedColumn<'a> {
    asking: &'a Asking<'a>,
    column: Arc<dyn PhysicalExpr>,
    keys: &'a ColumnKeys,
    room: usize,
}

impl<'a> AskedColumn<'a> {
    fn new(asking: &'a Asking<'a>, index: usize, keys: &'a ColumnKeys, room: usize) -> Self {
        let column = Arc::new(Column::new(asking.schema.field(index).name(), index));
        Self { asking, column, keys, room }
    }

    /// The forms to try, the best first.
    fn forms(&self, wanted: Form) -> Vec<Form> {
        let few = self.keys.values.as_ref().is_some_and(|values| values.len() <= LISTED);
        match wanted {
            Form::Bounds => vec![Form::Bounds],
            Form::List => vec![Form::List, Form::Bounds],
            Form::Bloom(p) if few => vec![Form::List, Form::Bloom(p), Form::Bounds],
            Form::Bloom(p) => vec![Form::Bloom(p), Form::List, Form::Bounds],
        }
    }

    fn filter(&self, form: Form) -> Result<Result<(Filter, Likely), Why>> {
        Ok(match form {
            Form::Bounds => self.bounds()?,
            Form::List => self.list()?,
            Form::Bloom(p) => self.bloom(p)?,
        })
    }

    /// The same, with NULL if that is a key.
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
        likely: Likely,
    ) -> Result<(Filter, Likely), Why> {
        let here = self.or_null(condition);
        match self.asking.translator.filter(&here) {
            Some(there) => Ok((Filter { here, there }, likely)),
            None => Err(Why::new("the store may not be sent a comparison with its values")),
        }
    }

    fn bounds(&self) -> Result<Result<(Filter, Likely), Why>> {
        let bound = |op: Operator, value: &Option<ScalarValue>| {
            let value = value.clone()?;
            let column = Arc::clone(&self.column);
            Some(Arc::new(BinaryExpr::new(column, op, lit(value))) as Arc<dyn PhysicalExpr>)
        };
        let low = bound(Operator::GtEq, &self.keys.low);
        let high = bound(Operator::LtEq, &self.keys.high);
        let both = low.into_iter().chain(high).reduce(|low, high| {
            Arc::new(BinaryExpr::new(low, Operator::And, high)) as Arc<dyn PhysicalExpr>
        });
        Ok(match both {
            Some(both) => self.translated(both, Likely::Between),
            None => Err(Why::new("its keys are not known")),
        })
    }

    /// The keys in order, so that the same ones make the same statement.
    fn sorted(&self) -> Result<Vec<&ScalarValue>, Why> {
        let values = self.keys.values.as_ref();
        let values = values.ok_or("the build side has too many keys to hand them on")?;
        let mut values: Vec<_> = values.iter().collect();
        values.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
        Ok(values)
    }

    /// `column IN (…)`, as it is evaluated here.
    fn membership(&self, values: &[&ScalarValue]) -> Result<Arc<dyn PhysicalExpr>> {
        let column = Arc::clone(&self.column);
        // Only NULL is a key.
        if values.is_empty() {
            return Ok(lit(false));
        }
        let array = ScalarValue::iter_to_array(values.iter().map(|value| (*value).clone()))?;
        let list = InListExpr::try_new_from_array(column, array, false, self.asking.schema)?;
        Ok(Arc::new(list))
    }

    fn list(&self) -> Result<Result<(Filter, Likely), Why>> {
        let values = match self.sorted() {
            Ok(values) => values,
            Err(why) => return Ok(Err(why)),
        };
        // `1, ` is the shortest there is.
        if values.len().saturating_mul(3) > self.room {
            return Ok(Err(Why::new(format!("a list of {} keys does not fit", values.len()))));
        }
        if values.is_empty() {
            let here: Arc<dyn PhysicalExpr> = Arc::new(IsNullExpr::new(Arc::clone(&self.column)));
            return Ok(match self.asking.translator.filter(&here) {
                Some(there) => Ok((Filter { here, there }, Likely::OneOf(0))),
                None => Err(Why::new("the store may not be asked for NULL")),
            });
        }
        let likely = Likely::OneOf(values.len());
        Ok(self.translated(self.membership(&values)?, likely))
    }

    fn bloom(&self, wanted: f64) -> Result<Result<(Filter, Likely), Why>> {
        let values = match self.sorted() {
            Ok(values) => values,
            Err(why) => return Ok(Err(why)),
        };
        let Some(key) = self.asking.translator.hashable(&self.column) else {
            return Ok(Err(Why::new("a Bloom filter needs whole numbers and their arithmetic")));
        };
        let Some(ints) = values.iter().map(|value| as_int(value)).collect::<Option<Vec<_>>>()
        else {
            return Ok(Err(Why::new("a Bloom filter needs whole numbers")));
        };
        let Some(p) = fit(ints.len(), wanted, self.room, overhead(&key)) else {
            return Ok(Err(Why::new(format!(
                "a Bloom filter of {} keys fits only if it lets everything through (p = 1)",
                ints.len()
            ))));
        };
        let shape = Shape::new(ints.len(), p);
        let here = self.or_null(self.membership(&values)?);
        let condition = Bloom::new(&ints, shape, SEED).condition(&key);
        let Some(condition) = condition.and_then(|condition| self.or_null_there(condition)) else {
            return Ok(Err(Why::new("the store may not be asked for NULL")));
        };
        let there = Pushed { expr: condition, exactness: Exactness::Superset };
        let likely = Likely::Hashed { keys: ints.len(), bits: shape.total(), wanted, sent: p };
        Ok(Ok((Filter { here, there }, likely)))
    }

    fn or_null_there(&self, condition: Expr) -> Option<Expr> {
        if !self.keys.null {
            return Some(condition);
        }
        let null: Arc<dyn PhysicalExpr> = Arc::new(IsNullExpr::new(Arc::clone(&self.column)));
        Some(self.asking.translator.filter(&null)?.expr.or(condition))
    }
}

/// A whole number of at most 64 bits.
fn as_int(value: &ScalarValue) -> Option<i64> {
    match *value {
        ScalarValue::Int8(x) => x.map(i64::from),
        ScalarValue::Int16(x) => x.map(i64::from),
        ScalarValue::Int32(x) => x.map(i64::from),
        ScalarValue::Int64(x) => x,
        ScalarValue::UInt8(x) => x.map(i64::from),
        ScalarValue::UInt16(x) => x.map(i64::from),
        ScalarValue::UInt32(x) => x.map(i64::from),
        _ => None,
    }
}
