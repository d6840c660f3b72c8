//! Turns a WHERE condition into ranges of keys.
//!
//! Conditions joined by AND are examined from left to right, in the order in which the evaluator stops at the first
//! FALSE one. A condition can be looked up if no condition before it can fail. Conditions after it do not matter: it
//! is FALSE for a record with any other key, so that record does not match and nothing after it is evaluated.
//!
//! Records without a value are always looked up, because the condition need not be FALSE for them. Converting a
//! column without NULLIF even fails for them, as empty text is not a number. All such records must then be read, so
//! later conditions are looked up only on the same column.
//!
//! | keys | conditions that are looked up |
//! |---|---|
//! | text | `_n`, `NULLIF(_n, '')` or `CAST(_n AS STRING)` compared with text by `=`, `<`, `<=`, `>`, `>=`, BETWEEN and IN |
//! | whole numbers | `CAST(_n AS INT)`, also of `NULLIF(_n, '')`, compared likewise with whole numbers; the text of the column by `=` and IN with the text of whole numbers |
//!
//! AND and OR of such conditions on one column are looked up too.

use std::fmt;

use sluicegate_s3select::dialect::ast::{
    BinaryOp, Expr, Function, Literal, PathStep, Type, UnaryOp,
};
use sluicegate_s3select::value::cast::parse_int;

use super::input::{Keys, UsableIndex};
use crate::key;
use crate::span::{Span, Spans};

/// The keys to look up in one index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyLookup {
    /// The position of the index in the list given to [`Conditions::new`].
    pub index: usize,
    /// The keys to look up, including that of NULL.
    pub spans: Spans,
}

/// Finds the look-ups for conditions on an object with indexes.
pub struct Conditions<'a> {
    /// Returns the position of the column that a path names.
    position: &'a dyn Fn(&[PathStep]) -> Option<usize>,
    indexes: Vec<UsableIndex>,
}

impl fmt::Debug for Conditions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conditions").field("indexes", &self.indexes).finish_non_exhaustive()
    }
}

/// The side of a comparison that is an indexed column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Operand {
    /// The position of the column's index.
    index: usize,
    keys: Keys,
    /// True if the column is converted to a whole number.
    is_number: bool,
    /// True if the operand is NULL where the column is empty.
    is_nullable: bool,
}

impl<'a> Conditions<'a> {
    /// Takes the indexes of an object and a function that returns the position of the column that a path names.
    #[must_use]
    pub fn new(
        position: &'a dyn Fn(&[PathStep]) -> Option<usize>,
        indexes: Vec<UsableIndex>,
    ) -> Self {
        Self { position, indexes }
    }

    /// Returns the look-ups for a WHERE condition, at most one for each index. Each of them covers every matching
    /// record.
    #[must_use]
    pub fn lookups(&self, filter: &Expr) -> Vec<KeyLookup> {
        let mut lookups: Vec<KeyLookup> = Vec::new();
        // The index whose records without a value must all be read.
        let mut bound = None;
        let mut conjuncts = vec![filter];
        // Conjuncts are popped in the order of the statement.
        while let Some(conjunct) = conjuncts.pop() {
            if let Expr::Binary { left, op: BinaryOp::And, right } = conjunct {
                conjuncts.extend([&**right, &**left]);
                continue;
            }
            let lookup = self.looked_up(conjunct);
            if lookup.is_none() && !self.cannot_fail(conjunct) {
                break;
            }
            let lookup = lookup.filter(|it| bound.is_none_or(|bound| bound == it.index));
            if let Some(KeyLookup { index, spans }) = lookup {
                match lookups.iter_mut().find(|known| known.index == index) {
                    Some(known) => known.spans = known.spans.intersect(&spans),
                    None => lookups.push(KeyLookup { index, spans }),
                }
            }
            let mut failing = Vec::new();
            self.fails_where_empty(conjunct, &mut failing);
            if failing.iter().any(|index| *bound.get_or_insert(*index) != *index) {
                break;
            }
        }
        let null = Spans::from(Span::point(key::NULL.to_vec()));
        for lookup in &mut lookups {
            lookup.spans = std::mem::take(&mut lookup.spans).union(null.clone());
        }
        lookups
    }

    /// Returns the look-up for a condition on one column that cannot fail and is FALSE for every value outside the
    /// returned keys.
    fn looked_up(&self, condition: &Expr) -> Option<KeyLookup> {
        match condition {
            Expr::Binary { left, op: op @ (BinaryOp::And | BinaryOp::Or), right } => {
                let (left, right) = (self.looked_up(left)?, self.looked_up(right)?);
                let both = || match op {
                    BinaryOp::And => left.spans.intersect(&right.spans),
                    _ => left.spans.clone().union(right.spans.clone()),
                };
                (left.index == right.index).then(|| KeyLookup { index: left.index, spans: both() })
            }
            Expr::Binary { left, op, right } => match self.operand(left) {
                Some(operand) => lookup(operand, compared(operand, *op, right)?),
                None => {
                    let operand = self.operand(right)?;
                    lookup(operand, compared(operand, mirrored(*op), left)?)
                }
            },
            Expr::Between { expr, low, high, negated: false } => {
                let operand = self.operand(expr)?;
                let low = compared(operand, BinaryOp::GtEq, low)?;
                lookup(operand, low.intersect(&compared(operand, BinaryOp::LtEq, high)?))
            }
            Expr::In { expr, list, negated: false } => {
                let operand = self.operand(expr)?;
                let points = list.iter().map(|it| Some(Span::point(key_of(operand, it, true)?)));
                lookup(operand, Spans::sorted(points.collect::<Option<_>>()?))
            }
            _ => None,
        }
    }

    /// Returns the operand if the expression is an indexed column, possibly converted.
    fn operand(&self, expr: &Expr) -> Option<Operand> {
        match expr {
            Expr::Path(path) => {
                let column = (self.position)(path)?;
                let index = self.indexes.iter().position(|index| index.column == column)?;
                let keys = self.indexes[index].keys;
                Some(Operand { index, keys, is_number: false, is_nullable: false })
            }
            Expr::Cast { expr, to: Type::String } => {
                self.operand(expr).filter(|operand| !operand.is_number)
            }
            Expr::Cast { expr, to: Type::Int } => {
                let operand = self.operand(expr)?;
                (operand.keys == Keys::Integers).then_some(Operand { is_number: true, ..operand })
            }
            Expr::Call { function: Function::NullIf, args } => match &args[..] {
                [expr, Expr::Literal(Literal::String(text))] if text.is_empty() => {
                    let operand = self.operand(expr).filter(|operand| !operand.is_number)?;
                    Some(Operand { is_nullable: true, ..operand })
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// Adds the indexes of columns that an expression converts even where they are empty.
    fn fails_where_empty(&self, expr: &Expr, found: &mut Vec<usize>) {
        if let Expr::Cast { to: Type::Int, .. } = expr
            && let Some(Operand { index, is_nullable: false, .. }) = self.operand(expr)
        {
            found.push(index);
        }
        expr.children().into_iter().for_each(|child| self.fails_where_empty(child, found));
    }

    /// Returns whether a condition has a truth value for every indexed record. Those reported by
    /// [`Self::fails_where_empty`] are excepted.
    fn cannot_fail(&self, condition: &Expr) -> bool {
        match condition {
            Expr::Literal(Literal::Bool(_) | Literal::Null) => true,
            Expr::Unary { op: UnaryOp::Not, expr } => self.cannot_fail(expr),
            Expr::Binary { left, op: BinaryOp::And | BinaryOp::Or, right } => {
                self.cannot_fail(left) && self.cannot_fail(right)
            }
            Expr::Binary { left, op, right } => {
                is_comparison(*op) && self.is_safe(left) && self.is_safe(right)
            }
            Expr::Between { expr, low, high, .. } => {
                [expr, low, high].into_iter().all(|it| self.is_safe(it))
            }
            Expr::In { expr, list, .. } => {
                self.is_safe(expr) && list.iter().all(|it| self.is_safe(it))
            }
            Expr::Like { expr, pattern, escape: None, .. } => {
                self.is_text(expr) && matches!(**pattern, Expr::Literal(Literal::String(_)))
            }
            Expr::Is { expr, .. } => self.is_safe(expr),
            _ => false,
        }
    }

    /// Returns whether an expression evaluates to a value or NULL for every record.
    fn is_safe(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Literal(_) => true,
            Expr::Unary { op: UnaryOp::Negate | UnaryOp::Plus, .. } => whole(expr).is_some(),
            // All values of an indexed column were parsed as numbers.
            Expr::Cast { to: Type::Int, .. } => self.operand(expr).is_some(),
            _ => self.is_text(expr),
        }
    }

    /// Returns whether an expression is the text of a column, or NULL.
    fn is_text(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Path(path) => (self.position)(path).is_some(),
            Expr::Cast { expr, to: Type::String } => self.is_text(expr),
            Expr::Call { function: Function::NullIf, args } => match &args[..] {
                [expr, Expr::Literal(Literal::String(_))] => self.is_text(expr),
                _ => false,
            },
            _ => false,
        }
    }
}

fn lookup(operand: Operand, spans: Spans) -> Option<KeyLookup> {
    Some(KeyLookup { index: operand.index, spans })
}

/// Returns the keys of the values for which a comparison with a constant holds.
fn compared(operand: Operand, op: BinaryOp, constant: &Expr) -> Option<Spans> {
    let key = key_of(operand, constant, op == BinaryOp::Eq)?;
    let span = match op {
        BinaryOp::Eq => Span::point(key),
        BinaryOp::Lt => Span::below(key),
        BinaryOp::LtEq => Span::up_to(&key),
        BinaryOp::Gt => Span::above(&key),
        BinaryOp::GtEq => Span::at_least(key),
        _ => return None,
    };
    Some(span.into())
}

/// Returns the key of a constant. Values compare with the constant as their keys do with the returned key; with
/// `for_equality`, only equality has to agree.
fn key_of(operand: Operand, constant: &Expr, for_equality: bool) -> Option<Vec<u8>> {
    let number = |number: i64| key::of_number(i128::from(number));
    match (operand.keys, constant) {
        (Keys::Text, Expr::Literal(Literal::String(text))) => Some(text.as_bytes().to_vec()),
        (Keys::Integers, _) if operand.is_number => whole(constant).map(number),
        // A text equals an integer key only if it is a whole number.
        (Keys::Integers, Expr::Literal(Literal::String(text))) if for_equality => {
            parse_int(text.as_bytes()).map(number)
        }
        (Keys::Integers, _) if for_equality => whole(constant).map(number),
        _ => None,
    }
}

/// Returns the value of a constant that is a whole number.
fn whole(constant: &Expr) -> Option<i64> {
    match constant {
        Expr::Literal(Literal::Int(number)) => Some(*number),
        Expr::Unary { op: UnaryOp::Negate, expr } => whole(expr)?.checked_neg(),
        Expr::Unary { op: UnaryOp::Plus, expr } => whole(expr),
        _ => None,
    }
}

fn is_comparison(op: BinaryOp) -> bool {
    use BinaryOp::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq)
}

/// Returns the comparison for swapped sides.
fn mirrored(op: BinaryOp) -> BinaryOp {
    match op {
        BinaryOp::Lt => BinaryOp::Gt,
        BinaryOp::LtEq => BinaryOp::GtEq,
        BinaryOp::Gt => BinaryOp::Lt,
        BinaryOp::GtEq => BinaryOp::LtEq,
        op => op,
    }
}

#[cfg(test)]
mod tests {
    use sluicegate_s3select::dialect::parse;

    use super::*;

    /// Returns the numbers from 0 to 9 looked up in column 1 and the texts from a to e looked up in column 2. Other
    /// columns have no index.
    fn looked_up(condition: &str) -> (Option<Vec<i64>>, Option<String>) {
        let query = parse(&format!("SELECT * FROM S3Object s WHERE {condition}")).unwrap();
        let position = |path: &[PathStep]| {
            let [PathStep::Field(name)] = query.from.within_row(path) else { return None };
            let named = ["k", "t", "x"].iter().position(|column| name.matches(column));
            named.or_else(|| name.position()?.checked_sub(1))
        };
        let index = |column, keys| UsableIndex { column, keys };
        let indexes = vec![index(0, Keys::Integers), index(1, Keys::Text)];
        let filter = query.filter.as_ref().unwrap();
        let lookups = Conditions::new(&position, indexes).lookups(filter);
        let of = |index| lookups.iter().find(|it| it.index == index).map(|it| &it.spans);
        assert!(lookups.iter().all(|it| it.spans.contains(&key::NULL)), "{condition}");
        let numbers = of(0).map(|spans| {
            (0..10).filter(|n| spans.contains(&key::of_number(i128::from(*n)))).collect()
        });
        let texts =
            of(1).map(|spans| ('a'..='e').filter(|c| spans.contains(&[*c as u8])).collect());
        (numbers, texts)
    }

    #[track_caller]
    fn numbers(condition: &str, expected: Option<&[i64]>) {
        assert_eq!(looked_up(condition), (expected.map(<[i64]>::to_vec), None), "{condition}");
    }

    #[track_caller]
    fn texts(condition: &str, expected: Option<&str>) {
        assert_eq!(looked_up(condition), (None, expected.map(ToOwned::to_owned)), "{condition}");
    }

    #[test]
    fn numbers_are_looked_up() {
        numbers("CAST(s._1 AS INT) = 4", Some(&[4]));
        numbers("CAST(NULLIF(s._1, '') AS INT) < 2", Some(&[0, 1]));
        numbers("CAST(k AS INT) <= 2", Some(&[0, 1, 2]));
        numbers("7 < CAST(s.k AS INT)", Some(&[8, 9]));
        numbers("CAST(s.\"k\" AS INT) BETWEEN 3 AND 4", Some(&[3, 4]));
        numbers("CAST(k AS INT) IN (9, 5, -1)", Some(&[5, 9]));
        numbers("CAST(k AS INT) >= -3 AND CAST(k AS INT) < 1", Some(&[0]));
        numbers("CAST(k AS INT) = 1 OR CAST(k AS INT) = 3 OR k = '5'", Some(&[1, 3, 5]));
        numbers("CAST(k AS INT) = 1 AND CAST(k AS INT) = 2", Some(&[]));
        // Text that is a number is looked up by its value.
        numbers("k = 4", Some(&[4]));
        numbers("k = '04'", Some(&[4]));
        numbers("k IN ('1', 2)", Some(&[1, 2]));
    }

    #[test]
    fn what_does_not_compare_as_keys_do_is_not_looked_up() {
        for condition in [
            "k < 4",
            "k < '4'",
            "k = 'x'",
            "CAST(k AS INT) != 4",
            "CAST(k AS INT) = 4.0",
            "CAST(k AS INT) = '4'",
            "CAST(k AS FLOAT) = 4",
            "CAST(k AS INT) NOT BETWEEN 3 AND 4",
            "CAST(k AS INT) NOT IN (3)",
            "NOT CAST(k AS INT) = 3",
            "CAST(k AS INT) + 1 = 3",
            "CAST(k AS INT) = CAST(x AS INT)",
            "CAST(k AS INT) = 3 OR x = 'a'",
            "CAST(x AS INT) = 3",
            "NULLIF(k, '3') = '3'",
            "t = 4",
            "CAST(t AS INT) = 4",
            "t LIKE 'a%'",
        ] {
            numbers(condition, None);
        }
    }

    #[test]
    fn texts_are_looked_up() {
        texts("t = 'b'", Some("b"));
        texts("s._2 >= 'd'", Some("de"));
        texts("NULLIF(t, '') BETWEEN 'b' AND 'd'", Some("bcd"));
        texts("CAST(t AS STRING) IN ('a', 'e', 'ee')", Some("ae"));
        texts("t < 'b' OR 'd' < t", Some("ae"));
    }

    #[test]
    fn what_stands_before_must_not_fail() {
        let both = (Some(vec![4]), Some("b".to_owned()));
        assert_eq!(looked_up("CAST(NULLIF(k, '') AS INT) = 4 AND t = 'b'"), both);
        assert_eq!(looked_up("t = 'b' AND CAST(k AS INT) = 4"), both);
        assert_eq!(looked_up("x LIKE 'a%' AND k = 4 AND x IS NULL AND t = 'b'"), both);
        let either =
            "(NOT (x > 'a' OR x IN ('b')) AND k = 4) AND (t BETWEEN x AND 'z' AND t = 'b')";
        assert_eq!(looked_up(either), both);
        numbers("k = 4 AND CAST(x AS INT) = 1 AND t = 'b'", Some(&[4]));
        // The condition fails where k is empty, whatever t is.
        numbers("CAST(k AS INT) > 3 AND t = 'b' AND CAST(k AS INT) < 5", Some(&[4]));
        numbers("CAST(k AS INT) != 3 AND t = 'b'", None);
        for fails in ["CAST(x AS INT) = 1", "CAST(k AS FLOAT) = 4", "x", "1", "LOWER(x) = 'a'"] {
            numbers(&format!("{fails} AND CAST(k AS INT) = 4"), None);
        }
    }
}
