//! Queries as trees, with their SQL, and their rows by nested loops and three-valued logic.

use std::fmt::{self, Display};

/// A whole number or NULL.
pub(super) type Value = Option<i64>;
pub(super) type Row = Vec<Value>;

/// A column of a relation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) table: String,
    pub(super) name: String,
    /// True if `*` includes the column and its name alone refers to it. Columns that USING has merged are hidden.
    pub(super) shown: bool,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Relation {
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Row>,
}

/// Tables with their names.
pub(super) type Database = Vec<(String, Relation)>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compare {
    Eq,
    Ne,
    Lt,
    Le,
    Same,
    Distinct,
}

#[derive(Debug, Clone)]
pub(super) enum Scalar {
    /// A column by its name, with or without a table.
    Column(Option<String>, String),
    Number(Value),
    Plus(Box<Scalar>, i64),
    /// The value of a scalar subquery.
    Query(Box<Query>),
    /// The truth value of a condition: 1, 0 or NULL.
    Truth(Box<Condition>),
}

#[derive(Debug, Clone)]
pub(super) enum Condition {
    Compare(Scalar, Compare, Scalar),
    IsNull(Scalar),
    Unknown(Box<Condition>),
    In(Scalar, Box<Query>, bool),
    Exists(Box<Query>, bool),
    And(Box<Condition>, Box<Condition>),
    Or(Box<Condition>, Box<Condition>),
    Not(Box<Condition>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Inner,
    Left,
    Right,
    Full,
}

#[derive(Debug, Clone)]
pub(super) enum Constraint {
    On(Condition),
    Using(Vec<String>),
    Natural,
}

#[derive(Debug, Clone)]
pub(super) enum From {
    Table(String, String),
    Derived(Box<Query>, String),
    Join(Box<From>, Kind, Box<From>, Constraint),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Aggregate {
    Rows,
    Count,
    Sum,
    Max,
}

#[derive(Debug, Clone)]
pub(super) enum Output {
    Star,
    Scalars(Vec<Scalar>),
    /// Columns and `row_number()` in the order of all of them.
    Numbered(Vec<Scalar>),
    /// Aggregates by groups, or of all rows.
    Grouped(Vec<Scalar>, Vec<(Aggregate, Scalar)>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SetOperator {
    Union,
    Except,
    Intersect,
}

/// A SELECT, or two with a set operator.
#[derive(Debug, Clone)]
pub(super) struct Query {
    pub(super) from: From,
    pub(super) condition: Option<Condition>,
    pub(super) output: Output,
    pub(super) distinct: bool,
    /// The set operator, true for ALL, and the other side.
    pub(super) with: Option<(SetOperator, bool, Box<Query>)>,
    /// OFFSET and LIMIT after ORDER BY all columns.
    pub(super) limit: Option<(usize, Option<usize>)>,
    /// Number of columns to sort by.
    pub(super) width: usize,
}

/// A row for expressions, and the rows of the outer queries.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    columns: &'a [Column],
    row: &'a [Value],
    outer: Option<&'a Scope<'a>>,
}

impl Scope<'_> {
    fn value(&self, table: Option<&str>, name: &str) -> Value {
        let named = |column: &&(usize, &Column)| match table {
            Some(table) => column.1.table == table && column.1.name == name,
            None => column.1.shown && column.1.name == name,
        };
        let columns: Vec<_> = self.columns.iter().enumerate().collect();
        match columns.iter().find(named) {
            Some((at, _)) => self.row[*at],
            None => self
                .outer
                .unwrap_or_else(|| panic!("no column {table:?}.{name}"))
                .value(table, name),
        }
    }
}

impl Scalar {
    fn value(&self, database: &Database, scope: &Scope<'_>) -> Value {
        match self {
            Self::Column(table, name) => scope.value(table.as_deref(), name),
            Self::Number(value) => *value,
            Self::Plus(scalar, number) => Some(scalar.value(database, scope)? + number),
            Self::Query(query) => {
                let rows = query.rows(database, Some(scope)).rows;
                assert!(rows.len() <= 1, "several rows are an error");
                rows.first().and_then(|row| row[0])
            }
            Self::Truth(condition) => condition.truth(database, scope).map(i64::from),
        }
    }
}

fn compared(left: Value, compare: Compare, right: Value) -> Option<bool> {
    match compare {
        Compare::Same => Some(left == right),
        Compare::Distinct => Some(left != right),
        Compare::Eq => Some(left? == right?),
        Compare::Ne => Some(left? != right?),
        Compare::Lt => Some(left? < right?),
        Compare::Le => Some(left? <= right?),
    }
}

fn or(left: Option<bool>, right: Option<bool>) -> Option<bool> {
    match (left, right) {
        (Some(true), _) | (_, Some(true)) => Some(true),
        (Some(false), Some(false)) => Some(false),
        _ => None,
    }
}

impl Condition {
    fn truth(&self, database: &Database, scope: &Scope<'_>) -> Option<bool> {
        match self {
            Self::Compare(left, compare, right) => {
                compared(left.value(database, scope), *compare, right.value(database, scope))
            }
            Self::IsNull(scalar) => Some(scalar.value(database, scope).is_none()),
            Self::Unknown(condition) => Some(condition.truth(database, scope).is_none()),
            Self::In(scalar, query, negated) => {
                let value = scalar.value(database, scope);
                let rows = query.rows(database, Some(scope)).rows;
                let found = rows
                    .iter()
                    .map(|row| compared(value, Compare::Eq, row[0]))
                    .fold(Some(false), or);
                found.map(|found| found != *negated)
            }
            Self::Exists(query, negated) => {
                Some(query.rows(database, Some(scope)).rows.is_empty() == *negated)
            }
            Self::And(left, right) => {
                let not = |truth: Option<bool>| truth.map(|truth| !truth);
                let (left, right) = (left.truth(database, scope), right.truth(database, scope));
                not(or(not(left), not(right)))
            }
            Self::Or(left, right) => or(left.truth(database, scope), right.truth(database, scope)),
            Self::Not(condition) => condition.truth(database, scope).map(|truth| !truth),
        }
    }
}

impl From {
    fn rows(&self, database: &Database, outer: Option<&Scope<'_>>) -> Relation {
        match self {
            Self::Table(name, alias) => {
                let found = database.iter().find(|(table, _)| table == name);
                let mut relation = found.map(|(_, relation)| relation.clone()).unwrap_or_default();
                relation.columns.iter_mut().for_each(|column| column.table.clone_from(alias));
                relation
            }
            Self::Derived(query, alias) => {
                let mut relation = query.rows(database, outer);
                for (at, column) in relation.columns.iter_mut().enumerate() {
                    *column = Column { table: alias.clone(), name: format!("c{at}"), shown: true };
                }
                relation
            }
            Self::Join(left, kind, right, constraint) => {
                let (left, right) = (left.rows(database, outer), right.rows(database, outer));
                joined(&left, *kind, &right, constraint, database, outer)
            }
        }
    }
}

fn shown(relation: &Relation, name: &str) -> usize {
    let found = relation.columns.iter().position(|column| column.shown && column.name == name);
    found.unwrap_or_else(|| panic!("no column {name}"))
}

/// Returns a column's value from a pair of joined rows.
type Source<'a> = Box<dyn Fn(Option<&Row>, Option<&Row>) -> Value + 'a>;

fn joined(
    left: &Relation,
    kind: Kind,
    right: &Relation,
    constraint: &Constraint,
    database: &Database,
    outer: Option<&Scope<'_>>,
) -> Relation {
    let mut columns = left.columns.clone();
    columns.extend(right.columns.iter().cloned());
    let names: Vec<String> = match constraint {
        Constraint::On(_) => Vec::new(),
        Constraint::Using(names) => names.clone(),
        Constraint::Natural => {
            let shown = |relation: &Relation| -> Vec<String> {
                let columns = relation.columns.iter().filter(|column| column.shown);
                columns.map(|column| column.name.clone()).collect()
            };
            let theirs = shown(right);
            shown(left).into_iter().filter(|name| theirs.contains(name)).collect()
        }
    };
    let keys: Vec<(usize, usize)> =
        names.iter().map(|name| (shown(left, name), shown(right, name))).collect();
    let holds = |one: &Row, other: &Row| match constraint {
        Constraint::On(condition) => {
            let row: Row = one.iter().chain(other).copied().collect();
            let scope = Scope { columns: &columns, row: &row, outer };
            condition.truth(database, &scope) == Some(true)
        }
        _ => keys.iter().all(|(l, r)| compared(one[*l], Compare::Eq, other[*r]) == Some(true)),
    };
    let mut pairs: Vec<(Option<&Row>, Option<&Row>)> = Vec::new();
    for one in &left.rows {
        let partners: Vec<_> = right.rows.iter().filter(|other| holds(one, other)).collect();
        if partners.is_empty() && matches!(kind, Kind::Left | Kind::Full) {
            pairs.push((Some(one), None));
        }
        pairs.extend(partners.into_iter().map(|other| (Some(one), Some(other))));
    }
    if matches!(kind, Kind::Right | Kind::Full) {
        let alone =
            right.rows.iter().filter(|other| !left.rows.iter().any(|one| holds(one, other)));
        pairs.extend(alone.map(|other| (None, Some(other))));
    }
    let cell = |row: Option<&Row>, at: usize| row.and_then(|row| row[at]);
    // The merged column takes the place of the left one.
    let mut relation = Relation::default();
    let mut sources: Vec<Source<'_>> = Vec::new();
    for (at, column) in left.columns.iter().enumerate() {
        let key = keys.iter().find(|(l, _)| *l == at).copied();
        if let Some((l, r)) = key {
            relation.columns.push(Column {
                table: String::new(),
                name: column.name.clone(),
                shown: true,
            });
            sources.push(Box::new(move |one, other| cell(one, l).or_else(|| cell(other, r))));
        }
        let shown = column.shown && key.is_none();
        relation.columns.push(Column { shown, ..column.clone() });
        sources.push(Box::new(move |one, _| cell(one, at)));
    }
    for (at, column) in right.columns.iter().enumerate() {
        let shown = column.shown && !keys.iter().any(|(_, r)| *r == at);
        relation.columns.push(Column { shown, ..column.clone() });
        sources.push(Box::new(move |_, other| cell(other, at)));
    }
    relation.rows = pairs
        .into_iter()
        .map(|(one, other)| sources.iter().map(|source| source(one, other)).collect())
        .collect();
    relation
}

/// Sorts rows like ORDER BY … NULLS LAST.
pub(super) fn sort(rows: &mut [Row]) {
    let key = |row: &Row| -> Vec<(bool, i64)> {
        row.iter().map(|value| (value.is_none(), value.unwrap_or(0))).collect()
    };
    rows.sort_by_key(key);
}

fn without_copies(rows: Vec<Row>) -> Vec<Row> {
    let mut kept: Vec<Row> = Vec::new();
    for row in rows {
        if !kept.contains(&row) {
            kept.push(row);
        }
    }
    kept
}

impl Query {
    pub(super) fn rows(&self, database: &Database, outer: Option<&Scope<'_>>) -> Relation {
        let mut relation = self.selected(database, outer);
        if let Some((operator, all, other)) = &self.with {
            let mut others = other.rows(database, outer).rows;
            let mut rows = std::mem::take(&mut relation.rows);
            if !all {
                rows = without_copies(rows);
                others = without_copies(others);
            }
            let mut taken = |row: &Row| {
                let at = others.iter().position(|other| other == row);
                at.map(|at| others.remove(at)).is_some()
            };
            match operator {
                SetOperator::Except => rows.retain(|row| !taken(row)),
                SetOperator::Intersect => rows.retain(|row| taken(row)),
                SetOperator::Union => {
                    rows.extend(others);
                    if !all {
                        rows = without_copies(rows);
                    }
                }
            }
            relation.rows = rows;
        }
        if let Some((skip, fetch)) = self.limit {
            sort(&mut relation.rows);
            let rows = std::mem::take(&mut relation.rows).into_iter().skip(skip);
            relation.rows = rows.take(fetch.unwrap_or(usize::MAX)).collect();
        }
        relation
    }

    fn selected(&self, database: &Database, outer: Option<&Scope<'_>>) -> Relation {
        let Relation { columns, mut rows } = self.from.rows(database, outer);
        if let Some(condition) = &self.condition {
            rows.retain(|row| {
                let scope = Scope { columns: &columns, row, outer };
                condition.truth(database, &scope) == Some(true)
            });
        }
        let values = |row: &Row, scalars: &[Scalar]| -> Row {
            let scope = Scope { columns: &columns, row, outer };
            scalars.iter().map(|scalar| scalar.value(database, &scope)).collect()
        };
        let (named, mut rows): (Vec<Column>, Vec<Row>) = match &self.output {
            Output::Star => {
                let shown: Vec<usize> =
                    (0..columns.len()).filter(|at| columns[*at].shown).collect();
                let named = shown.iter().map(|at| columns[*at].clone()).collect();
                let rows = rows.iter().map(|row| shown.iter().map(|at| row[*at]).collect());
                (named, rows.collect())
            }
            Output::Scalars(scalars) => {
                (Vec::new(), rows.iter().map(|row| values(row, scalars)).collect())
            }
            Output::Numbered(scalars) => {
                let mut rows: Vec<Row> = rows.iter().map(|row| values(row, scalars)).collect();
                sort(&mut rows);
                for (at, row) in rows.iter_mut().enumerate() {
                    row.push(i64::try_from(at + 1).ok());
                }
                (Vec::new(), rows)
            }
            Output::Grouped(groups, aggregates) => {
                let keys = without_copies(rows.iter().map(|row| values(row, groups)).collect());
                let keys = if groups.is_empty() { vec![Vec::new()] } else { keys };
                let rows = keys.into_iter().map(|key| {
                    let of = rows.iter().filter(|row| values(row, groups) == key);
                    let of: Vec<&Row> = of.collect();
                    let results = aggregates.iter().map(|(aggregate, scalar)| {
                        let cells =
                            of.iter().map(|row| values(row, std::slice::from_ref(scalar))[0]);
                        let known: Vec<i64> = cells.flatten().collect();
                        match aggregate {
                            Aggregate::Rows => i64::try_from(of.len()).ok(),
                            Aggregate::Count => i64::try_from(known.len()).ok(),
                            Aggregate::Sum if known.is_empty() => None,
                            Aggregate::Sum => Some(known.iter().sum()),
                            Aggregate::Max => known.iter().copied().max(),
                        }
                    });
                    let results: Row = results.collect();
                    key.into_iter().chain(results).collect()
                });
                (Vec::new(), rows.collect())
            }
        };
        if self.distinct {
            rows = without_copies(rows);
        }
        let width = rows.first().map_or(0, Vec::len);
        let named = match named.is_empty() {
            true => vec![
                Column { table: String::new(), name: String::new(), shown: true };
                width.max(self.width)
            ],
            false => named,
        };
        Relation { columns: named, rows }
    }
}

impl Display for Compare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Eq => "=",
            Self::Ne => "<>",
            Self::Lt => "<",
            Self::Le => "<=",
            Self::Same => "IS NOT DISTINCT FROM",
            Self::Distinct => "IS DISTINCT FROM",
        })
    }
}

impl Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Column(Some(table), name) => write!(f, "{table}.{name}"),
            Self::Column(None, name) => f.write_str(name),
            Self::Number(Some(number)) => write!(f, "{number}"),
            Self::Number(None) => f.write_str("CAST(NULL AS BIGINT)"),
            Self::Plus(scalar, number) => write!(f, "({scalar} + {number})"),
            Self::Query(query) => write!(f, "({query})"),
            Self::Truth(condition) => write!(f, "CAST(({condition}) AS BIGINT)"),
        }
    }
}

impl Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let not = |negated: &bool| if *negated { "NOT " } else { "" };
        match self {
            Self::Compare(left, compare, right) => write!(f, "({left} {compare} {right})"),
            Self::IsNull(scalar) => write!(f, "({scalar} IS NULL)"),
            Self::Unknown(condition) => write!(f, "(({condition}) IS NULL)"),
            Self::In(scalar, query, negated) => write!(f, "{scalar} {}IN ({query})", not(negated)),
            Self::Exists(query, negated) => write!(f, "{}EXISTS ({query})", not(negated)),
            Self::And(left, right) => write!(f, "({left} AND {right})"),
            Self::Or(left, right) => write!(f, "({left} OR {right})"),
            Self::Not(condition) => write!(f, "(NOT ({condition}))"),
        }
    }
}

impl Display for From {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Table(name, alias) => write!(f, "{name} AS {alias}"),
            Self::Derived(query, alias) => {
                let names: Vec<String> = (0..query.width).map(|at| format!("c{at}")).collect();
                write!(f, "({query}) AS {alias}({})", names.join(", "))
            }
            Self::Join(left, kind, right, constraint) => {
                let natural =
                    if matches!(constraint, Constraint::Natural) { "NATURAL " } else { "" };
                let kind = match kind {
                    Kind::Inner => "JOIN",
                    Kind::Left => "LEFT JOIN",
                    Kind::Right => "RIGHT JOIN",
                    Kind::Full => "FULL JOIN",
                };
                write!(f, "{left} {natural}{kind} {right}")?;
                match constraint {
                    Constraint::On(condition) => write!(f, " ON {condition}"),
                    Constraint::Using(names) => write!(f, " USING ({})", names.join(", ")),
                    Constraint::Natural => Ok(()),
                }
            }
        }
    }
}

impl Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |scalars: &[Scalar]| {
            let scalars = scalars.iter().enumerate();
            scalars.map(|(at, scalar)| format!("{scalar} AS o{at}")).collect::<Vec<_>>()
        };
        let plain = |scalars: &[Scalar]| scalars.iter().map(Scalar::to_string).collect::<Vec<_>>();
        let distinct = if self.distinct { "DISTINCT " } else { "" };
        let items = match &self.output {
            Output::Star => vec!["*".to_owned()],
            Output::Scalars(scalars) => list(scalars),
            Output::Numbered(scalars) => {
                let mut items = list(scalars);
                let order: Vec<String> =
                    plain(scalars).iter().map(|it| format!("{it} NULLS LAST")).collect();
                items.push(format!(
                    "CAST(row_number() OVER (ORDER BY {}) AS BIGINT) AS o{}",
                    order.join(", "),
                    scalars.len()
                ));
                items
            }
            Output::Grouped(groups, aggregates) => {
                let mut items = list(groups);
                items.extend(aggregates.iter().enumerate().map(|(at, (aggregate, scalar))| {
                    let at = at + groups.len();
                    match aggregate {
                        Aggregate::Rows => format!("count(*) AS o{at}"),
                        Aggregate::Count => format!("count({scalar}) AS o{at}"),
                        Aggregate::Sum => format!("sum({scalar}) AS o{at}"),
                        Aggregate::Max => format!("max({scalar}) AS o{at}"),
                    }
                }));
                items
            }
        };
        write!(f, "SELECT {distinct}{} FROM {}", items.join(", "), self.from)?;
        if let Some(condition) = &self.condition {
            write!(f, " WHERE {condition}")?;
        }
        if let Output::Grouped(groups, _) = &self.output
            && !groups.is_empty()
        {
            write!(f, " GROUP BY {}", plain(groups).join(", "))?;
        }
        if let Some((operator, all, other)) = &self.with {
            let operator = match operator {
                SetOperator::Union => "UNION",
                SetOperator::Except => "EXCEPT",
                SetOperator::Intersect => "INTERSECT",
            };
            let all = if *all { "ALL " } else { "" };
            match other.limit.is_some() || other.with.is_some() {
                true => write!(f, " {operator} {all}({other})")?,
                false => write!(f, " {operator} {all}{other}")?,
            }
        }
        if let Some((skip, fetch)) = self.limit {
            let order: Vec<String> =
                (1..=self.width).map(|at| format!("{at} NULLS LAST")).collect();
            write!(f, " ORDER BY {}", order.join(", "))?;
            if let Some(fetch) = fetch {
                write!(f, " LIMIT {fetch}")?;
            }
            if skip > 0 {
                write!(f, " OFFSET {skip}")?;
            }
        }
        Ok(())
    }
}
