//! Random tables, and random queries over them.

use super::naive::{
    Aggregate, Column, Compare, Condition, Constraint, Database, From, Kind, Output, Query,
    Relation, Scalar, SetOperator, Value,
};

/// Random numbers from a seed (`SplitMix64`).
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(super) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).unwrap()
    }

    fn one_in(&mut self, number: usize) -> bool {
        self.below(number) == 0
    }

    fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }

    fn value(&mut self) -> Value {
        match self.below(5) {
            0 => None,
            number => i64::try_from(number).ok(),
        }
    }
}

/// The tables. All have the column `k`.
pub(super) const TABLES: [(&str, [&str; 2]); 3] =
    [("r1", ["k", "x"]), ("r2", ["y", "k"]), ("r3", ["k", "z"])];

pub(super) fn database(random: &mut Random) -> Database {
    let tables = TABLES.iter().map(|(name, columns)| {
        let columns = columns.iter().map(|column| Column {
            table: (*name).to_owned(),
            name: (*column).to_owned(),
            shown: true,
        });
        let rows = (0..random.below(7)).map(|_| vec![random.value(), random.value()]).collect();
        ((*name).to_owned(), Relation { columns: columns.collect(), rows })
    });
    tables.collect()
}

type Named = (String, String);

/// Generates queries; no two tables in one have the same alias.
pub(super) struct QueryGenerator<'a> {
    random: &'a mut Random,
    aliases: usize,
}

fn column((table, name): &Named) -> Scalar {
    Scalar::Column(Some(table.clone()), name.clone())
}

impl<'a> QueryGenerator<'a> {
    pub(super) fn new(random: &'a mut Random) -> Self {
        Self { random, aliases: 0 }
    }

    pub(super) fn query(&mut self) -> Query {
        match self.random.below(6) {
            0 | 1 => self.with_subqueries(),
            2 => self.using(),
            3 => self.set_operation(),
            4 => self.limited(),
            _ => self.joined(),
        }
    }

    fn alias(&mut self) -> String {
        self.aliases += 1;
        // The alphabetical order of aliases differs from their order in the statement.
        format!("{}{}", self.random.pick(&["t", "b"]), self.aliases)
    }

    fn table(&mut self) -> (From, Vec<Named>) {
        let (name, columns) = self.random.pick(&TABLES);
        let alias = self.alias();
        let named = columns.iter().map(|column| (alias.clone(), (*column).to_owned())).collect();
        (From::Table(name.to_owned(), alias), named)
    }

    fn compare(&mut self) -> Compare {
        self.random.pick(&[Compare::Eq, Compare::Eq, Compare::Lt, Compare::Ne, Compare::Le])
    }

    fn scalar(&mut self, columns: &[Named]) -> Scalar {
        match self.random.below(8) {
            0 => Scalar::Number(self.random.value()),
            1 => Scalar::Plus(Box::new(column(&self.random.pick(columns))), 1),
            _ => column(&self.random.pick(columns)),
        }
    }

    fn plain(&mut self, columns: &[Named]) -> Condition {
        let scalar = self.scalar(columns);
        match self.random.below(5) {
            0 => Condition::IsNull(scalar),
            _ => Condition::Compare(scalar, self.compare(), self.scalar(columns)),
        }
    }

    /// Generates a condition with subqueries up to a depth.
    fn condition(&mut self, columns: &[Named], depth: usize) -> Condition {
        let inner = |this: &mut Self| Box::new(this.condition(columns, depth));
        match self.random.below(12) {
            0 => Condition::And(inner(self), inner(self)),
            1 => Condition::Or(inner(self), inner(self)),
            2 => Condition::Not(inner(self)),
            3 => Condition::Unknown(inner(self)),
            4..=6 if depth > 0 => {
                let value = self.scalar(columns);
                let negated = self.random.one_in(2);
                Condition::In(value, Box::new(self.subquery(columns, depth - 1)), negated)
            }
            7 | 8 if depth > 0 => {
                let negated = self.random.one_in(2);
                Condition::Exists(Box::new(self.subquery(columns, depth - 1)), negated)
            }
            9 if depth > 0 => {
                let query = Box::new(self.single(columns, depth - 1));
                Condition::Compare(self.scalar(columns), self.compare(), Scalar::Query(query))
            }
            _ => self.plain(columns),
        }
    }

    /// Generates a condition that also names columns of the outer query.
    fn correlated(
        &mut self,
        columns: &[Named],
        outer: &[Named],
        depth: usize,
    ) -> Option<Condition> {
        let mut conditions = Vec::new();
        if self.random.below(4) > 0 {
            let compare = match self.random.one_in(3) {
                true => self.compare(),
                false => Compare::Eq,
            };
            let (own, theirs) = (self.random.pick(columns), self.random.pick(outer));
            conditions.push(Condition::Compare(column(&own), compare, column(&theirs)));
        }
        if self.random.one_in(2) {
            // Inner queries may name the columns of any query around them.
            let both: Vec<Named> = columns.iter().chain(outer).cloned().collect();
            let named = if self.random.one_in(3) { both.as_slice() } else { columns };
            conditions.push(self.condition(named, depth));
        }
        let and = |left, right| Condition::And(Box::new(left), Box::new(right));
        conditions.into_iter().reduce(and)
    }

    /// Generates a query with one column.
    fn subquery(&mut self, outer: &[Named], depth: usize) -> Query {
        let (from, columns) = self.table();
        let condition = self.correlated(&columns, outer, depth);
        let simple = |output, condition, from| Query {
            from,
            condition,
            output,
            distinct: false,
            with: None,
            limit: None,
            width: 1,
        };
        let output = vec![column(&self.random.pick(&columns))];
        match self.random.below(9) {
            0 => {
                let aggregate =
                    self.random.pick(&[Aggregate::Rows, Aggregate::Max, Aggregate::Sum]);
                let output = Output::Grouped(vec![], vec![(aggregate, output[0].clone())]);
                simple(output, condition, from)
            }
            1 => {
                let limit = Some((self.random.below(2), Some(self.random.below(3))));
                Query { limit, ..simple(Output::Scalars(output), condition, from) }
            }
            2 => Query { distinct: true, ..simple(Output::Scalars(output), condition, from) },
            3 => {
                let other = Box::new(self.subquery(outer, 0));
                let all = self.random.one_in(2);
                let operator = self.random.pick(&[
                    SetOperator::Union,
                    SetOperator::Except,
                    SetOperator::Intersect,
                ]);
                let with = Some((operator, all, other));
                Query { with, ..simple(Output::Scalars(output), condition, from) }
            }
            4 => {
                // Rows are numbered after the condition.
                let inner = Query { width: 2, ..simple(Output::Numbered(output), condition, from) };
                let alias = self.alias();
                let number = (alias.clone(), "c1".to_owned());
                let from = From::Derived(Box::new(inner), alias);
                let condition =
                    Condition::Compare(column(&number), self.compare(), Scalar::Number(Some(1)));
                simple(Output::Scalars(vec![column(&number)]), Some(condition), from)
            }
            5 => {
                let (other, others) = self.table();
                let inner = Query {
                    width: 2,
                    ..simple(
                        Output::Scalars(others.iter().map(column).collect()),
                        self.correlated(&others, outer, 0),
                        other,
                    )
                };
                let alias = self.alias();
                let kind = self.random.pick(&[Kind::Inner, Kind::Left]);
                let on = Condition::Compare(
                    column(&self.random.pick(&columns)),
                    Compare::Eq,
                    column(&(alias.clone(), "c0".to_owned())),
                );
                let right = From::Derived(Box::new(inner), alias);
                let from = From::Join(Box::new(from), kind, Box::new(right), Constraint::On(on));
                simple(Output::Scalars(output), None, from)
            }
            _ => simple(Output::Scalars(output), condition, from),
        }
    }

    /// Generates a query with one column and at most one row.
    fn single(&mut self, outer: &[Named], depth: usize) -> Query {
        let query = self.subquery(outer, depth);
        if query.limit.is_none() && self.random.one_in(3) {
            return Query { limit: Some((self.random.below(2), Some(1))), ..query };
        }
        let alias = self.alias();
        let value = (alias.clone(), "c0".to_owned());
        let aggregate = self.random.pick(&[Aggregate::Rows, Aggregate::Count, Aggregate::Max]);
        Query {
            from: From::Derived(Box::new(query), alias),
            condition: None,
            output: Output::Grouped(vec![], vec![(aggregate, column(&value))]),
            distinct: false,
            with: None,
            limit: None,
            width: 1,
        }
    }

    fn with_subqueries(&mut self) -> Query {
        let (from, columns) = self.table();
        let mut scalars: Vec<Scalar> = columns.iter().map(column).collect();
        if self.random.one_in(2) {
            scalars.push(match self.random.one_in(2) {
                true => Scalar::Query(Box::new(self.single(&columns, 0))),
                false => Scalar::Truth(Box::new(self.condition(&columns, 1))),
            });
        }
        let condition = self.random.below(3) > 0;
        Query {
            from,
            condition: condition.then(|| self.condition(&columns, 2)),
            width: scalars.len(),
            output: Output::Scalars(scalars),
            distinct: false,
            with: None,
            limit: None,
        }
    }

    fn kind(&mut self) -> Kind {
        self.random.pick(&[Kind::Inner, Kind::Left, Kind::Right, Kind::Full])
    }

    fn using(&mut self) -> Query {
        // Without other columns of the same name.
        let first = self.random.below(3);
        let table = |this: &mut Self, at: usize| {
            let (name, columns) = TABLES[at % 3];
            let alias = this.alias();
            let named = columns.iter().map(|column| (alias.clone(), (*column).to_owned()));
            (From::Table(name.to_owned(), alias.clone()), named.collect::<Vec<Named>>())
        };
        let (mut from, mut columns) = table(self, first);
        let mut names = 1;
        for at in 1..2 + self.random.below(2) {
            let (right, more) = table(self, first + at);
            let constraint = match self.random.one_in(4) {
                true => Constraint::Natural,
                false => Constraint::Using(vec!["k".to_owned()]),
            };
            from = From::Join(Box::new(from), self.kind(), Box::new(right), constraint);
            columns.extend(more);
            names += 1;
        }
        let merged = Scalar::Column(None, "k".to_owned());
        let condition = match self.random.below(4) {
            0 => None,
            1 => Some(Condition::IsNull(column(&self.random.pick(&columns)))),
            2 => {
                let number = Scalar::Number(self.random.value());
                Some(Condition::Compare(merged.clone(), self.compare(), number))
            }
            _ => {
                let query = Box::new(self.subquery(&columns, 0));
                Some(Condition::In(merged.clone(), query, self.random.one_in(2)))
            }
        };
        let (output, width) = match self.random.below(4) {
            0 => (Output::Star, names + 1),
            1 => {
                let count = (Aggregate::Rows, Scalar::Number(Some(1)));
                (Output::Grouped(vec![merged], vec![count]), 2)
            }
            2 => (Output::Scalars(vec![merged, self.scalar(&columns)]), 2),
            _ => (Output::Scalars(vec![Scalar::Plus(Box::new(merged), 1)]), 1),
        };
        Query { from, condition, output, distinct: false, with: None, limit: None, width }
    }

    fn simple(&mut self, width: usize) -> Query {
        let (from, columns) = self.table();
        let condition = self.random.one_in(3).then(|| self.plain(&columns));
        let scalars = (0..width).map(|_| self.scalar(&columns)).collect();
        Query {
            from,
            condition,
            output: Output::Scalars(scalars),
            distinct: false,
            with: None,
            limit: None,
            width,
        }
    }

    fn set_operation(&mut self) -> Query {
        let width = 1 + self.random.below(2);
        let operator =
            self.random.pick(&[SetOperator::Union, SetOperator::Except, SetOperator::Intersect]);
        let mut other = self.simple(width);
        if self.random.one_in(4) {
            other.limit = Some((self.random.below(3), Some(self.random.below(4))));
        }
        let with = Some((operator, self.random.below(3) > 0, Box::new(other)));
        let limit = self.random.one_in(3);
        let limit = limit.then(|| (self.random.below(3), Some(self.random.below(5))));
        Query { with, limit, ..self.simple(width) }
    }

    fn limit(&mut self) -> (usize, Option<usize>) {
        let fetch = self.random.below(4) > 0;
        (self.random.below(4), fetch.then(|| self.random.below(5)))
    }

    /// Generates limits inside limits, joins, windows and aggregates.
    fn limited(&mut self) -> Query {
        let mut inner = self.simple(2);
        inner.limit = Some(self.limit());
        for _ in 0..self.random.below(3) {
            let alias = self.alias();
            let columns: Vec<Named> =
                (0..inner.width).map(|at| (alias.clone(), format!("c{at}"))).collect();
            let mut from = From::Derived(Box::new(inner), alias);
            if self.random.one_in(3) {
                let mut other = self.simple(1);
                other.limit = Some(self.limit());
                let alias = self.alias();
                let right = From::Derived(Box::new(other), alias.clone());
                let other = column(&(alias, "c0".to_owned()));
                let on = Condition::Compare(column(&columns[0]), Compare::Eq, other);
                let kind = self.kind();
                from = From::Join(Box::new(from), kind, Box::new(right), Constraint::On(on));
            }
            let scalars: Vec<Scalar> = match self.random.one_in(2) {
                true => columns.iter().rev().map(column).collect(),
                false => columns.iter().map(column).collect(),
            };
            let condition = self.random.one_in(4).then(|| self.plain(&columns));
            let (output, width) = match self.random.below(4) {
                0 => (Output::Numbered(scalars), 3),
                1 => {
                    let sum = (Aggregate::Sum, scalars[0].clone());
                    (Output::Grouped(vec![scalars[1].clone()], vec![sum]), 2)
                }
                _ => (Output::Scalars(scalars), 2),
            };
            let limit = self.random.below(3) > 0;
            let limit = limit.then(|| self.limit());
            inner = Query { from, condition, output, distinct: false, with: None, limit, width };
        }
        inner
    }

    /// Generates joins of up to three tables whose conditions treat NULL in different ways.
    fn joined(&mut self) -> Query {
        let (mut from, mut columns) = self.table();
        // Plans with several subqueries in conditions multiply, and are refused.
        let mut asked = false;
        for _ in 0..1 + self.random.below(2) {
            let (right, more) = self.table();
            let mut on = Vec::new();
            for _ in 0..1 + self.random.below(2) {
                let compare = self.random.pick(&[
                    Compare::Eq,
                    Compare::Eq,
                    Compare::Same,
                    Compare::Same,
                    Compare::Distinct,
                    Compare::Lt,
                ]);
                let (left, right) = (self.random.pick(&columns), self.random.pick(&more));
                on.push(Condition::Compare(column(&left), compare, column(&right)));
            }
            if !asked && self.random.one_in(4) {
                asked = true;
                let both: Vec<Named> = columns.iter().chain(&more).cloned().collect();
                on.push(self.condition(&both, 1));
            }
            let and = |left, right| Condition::And(Box::new(left), Box::new(right));
            let on = on.into_iter().reduce(and).unwrap();
            let kind = match self.random.one_in(2) {
                true => Kind::Inner,
                false => self.kind(),
            };
            from = From::Join(Box::new(from), kind, Box::new(right), Constraint::On(on));
            columns.extend(more);
        }
        let condition = self.random.one_in(2).then(|| {
            let (left, right) = (self.random.pick(&columns), self.random.pick(&columns));
            let compare = self.random.pick(&[Compare::Eq, Compare::Same]);
            Condition::Compare(column(&left), compare, column(&right))
        });
        let width = columns.len();
        let output = Output::Scalars(columns.iter().map(column).collect());
        Query { from, condition, output, distinct: false, with: None, limit: None, width }
    }
}
