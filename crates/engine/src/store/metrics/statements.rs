//! Statements in EXPLAIN ANALYZE.

use std::any::Any;
use std::collections::HashSet;
use std::fmt;
use std::mem::{Discriminant, discriminant};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use datafusion::physical_plan::metrics::CustomMetricValue;
use sluicegate_s3select::dialect::ast::{Expr, Function, Projection};

use crate::pushdown::statement::Statement;

/// The maximum number of statements that are shown for a node.
const MOST: usize = 4;
/// The maximum number of characters of a statement that is shortened.
const LENGTH: usize = 240;

/// One statement of each kind that a node sent. Statements of one kind return the same columns, and their conditions
/// have the same form, such as a list or a Bloom filter; the first one is kept. The metric of all partitions shortens
/// statements. Those of single partitions, in `EXPLAIN ANALYZE VERBOSE`, show them whole.
#[derive(Debug)]
pub(super) struct StatementsMetric {
    sent: Mutex<Vec<SentStatement>>,
    whole: bool,
}

#[derive(Debug, Clone, PartialEq)]
struct SentStatement {
    kind: Kind,
    text: String,
}

/// The common part of statements of one kind.
#[derive(Debug, Clone, PartialEq)]
struct Kind {
    columns: Projection,
    condition: HashSet<ExprShape>,
}

/// An element of a condition without its values: a form of expression, or a function.
type ExprShape = (Discriminant<Expr>, Option<Function>);

impl Kind {
    fn classify(statement: &Statement) -> Self {
        let mut condition = HashSet::new();
        let mut left: Vec<&Expr> = statement.query.filter.iter().collect();
        while let Some(expr) = left.pop() {
            let function = match expr {
                Expr::Call { function, .. } => Some(*function),
                _ => None,
            };
            condition.insert((discriminant(expr), function));
            left.extend(expr.children());
        }
        Self { columns: statement.query.projection.clone(), condition }
    }
}

impl StatementsMetric {
    /// Returns the metric of a partition that has sent no statement.
    #[must_use]
    pub(super) fn first() -> Self {
        Self { sent: Mutex::default(), whole: true }
    }

    /// Adds a statement, if it is the first of its kind.
    pub(super) fn add(&self, statement: &Statement) {
        let mut sent = self.sent();
        if sent.len() == MOST {
            return;
        }
        let kind = Kind::classify(statement);
        if sent.iter().all(|known| known.kind != kind) {
            sent.push(SentStatement { kind, text: statement.sql() });
        }
    }

    fn sent(&self) -> MutexGuard<'_, Vec<SentStatement>> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Display for StatementsMetric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, SentStatement { text, .. }) in self.sent().iter().enumerate() {
            if number > 0 {
                f.write_str("; ")?;
            }
            match text.char_indices().nth(LENGTH) {
                Some((end, _)) if !self.whole => {
                    let more = text[end..].chars().count();
                    write!(f, "{}… ({more} more characters)", &text[..end])?;
                }
                _ => f.write_str(text)?,
            }
        }
        Ok(())
    }
}

impl CustomMetricValue for StatementsMetric {
    fn new_empty(&self) -> Arc<dyn CustomMetricValue> {
        Arc::new(Self { sent: Mutex::default(), whole: false })
    }

    fn aggregate(&self, other: Arc<dyn CustomMetricValue + 'static>) {
        let Some(other) = other.as_any().downcast_ref::<Self>() else { return };
        let others = other.sent().clone();
        let mut sent = self.sent();
        for other in others {
            if sent.len() < MOST && sent.iter().all(|known| known.kind != other.kind) {
                sent.push(other);
            }
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn is_eq(&self, other: &Arc<dyn CustomMetricValue>) -> bool {
        let Some(other) = other.as_any().downcast_ref::<Self>() else { return false };
        // `other` may be `self`, whose lock must be released first.
        let others = other.sent().clone();
        others == *self.sent()
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::{DataType, Field, Schema};
    use sluicegate_s3select::dialect::ast::{Expr, Literal};

    use super::*;

    fn statement(aggregate: i64, condition: &str) -> Statement {
        let column = Expr::Literal(Literal::Int(aggregate));
        let filter = Expr::Literal(Literal::String(condition.to_owned()));
        let answer = Schema::new(vec![Field::new("_1", DataType::Int64, true)]);
        Statement::aggregate(vec![column], Some(filter), Arc::new(answer))
    }

    #[test]
    fn one_statement_of_each_kind_is_shown() {
        let [one, two] = [(); 2].map(|()| Arc::new(StatementsMetric::first()));
        one.add(&statement(1, "a"));
        one.add(&statement(1, "b"));
        two.add(&statement(1, "c"));
        two.add(&statement(2, &"ü".repeat(1000)));
        let all = one.new_empty();
        all.aggregate(one as _);
        let whole = two.to_string();
        assert!(whole.ends_with('\'') && whole.chars().count() > 1000, "{whole}");
        all.aggregate(two as _);
        let text = all.to_string();
        let (first, second) = text.split_once("; ").unwrap();
        assert_eq!(first, statement(1, "a").sql());
        let shortened = second.split_once("… (").unwrap();
        assert!(shortened.0.starts_with("SELECT 2") && shortened.0.chars().count() == 240);
        assert!(shortened.1.ends_with(" more characters)"), "{text}");
        let mut bare = statement(1, "a");
        bare.query.filter = None;
        for number in 0..9 {
            all.as_any().downcast_ref::<StatementsMetric>().unwrap().add(&bare);
            all.as_any().downcast_ref::<StatementsMetric>().unwrap().add(&statement(number, "d"));
        }
        assert_eq!(all.to_string().matches("SELECT").count(), MOST);
        // A statement that returns the same columns of all rows is of another kind.
        assert!(all.to_string().contains(&format!("; {}", bare.sql())), "{all}");
    }
}
