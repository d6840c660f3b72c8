//! Conditions, and their values by the model.

use std::cmp::Ordering;

use super::columns::{COLUMNS, DATES, Kind, NUMBERS, TIMES};
use super::digits::{by_digits, by_value, instant, plain, rounded, shifted};
use super::random::Random;

/// One side of a comparison, with its value in each row.
#[derive(Debug, Clone)]
struct Side {
    sql: String,
    kind: Kind,
    value: Option<String>,
}

fn compare(one: &Side, other: &Side) -> Option<Ordering> {
    let (a, b) = (one.value.as_deref()?, other.value.as_deref()?);
    Some(match (one.kind, other.kind) {
        (Kind::Exact, Kind::Exact) => by_digits(a, b),
        (Kind::Double | Kind::Exact, Kind::Double | Kind::Exact) => {
            by_value(a.parse().unwrap(), b.parse().unwrap())
        }
        _ => instant(a).cmp(&instant(b)),
    })
}

const OPERATORS: [&str; 8] =
    ["=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"];

fn holds(one: &Side, operator: &str, other: &Side) -> Option<bool> {
    let order = compare(one, other);
    match operator {
        "IS DISTINCT FROM" | "IS NOT DISTINCT FROM" => {
            let same = match order {
                Some(order) => order.is_eq(),
                None => one.value.is_none() && other.value.is_none(),
            };
            return Some(same == (operator == "IS NOT DISTINCT FROM"));
        }
        _ => {}
    }
    let order = order?;
    Some(match operator {
        "=" => order.is_eq(),
        "<>" => order.is_ne(),
        "<" => order.is_lt(),
        "<=" => order.is_le(),
        ">" => order.is_gt(),
        _ => order.is_ge(),
    })
}

/// A condition that has SQL and a value in the model.
pub(super) enum Condition {
    Compare { left: Operand, operator: &'static str, right: Operand },
    Between { operand: Operand, low: Operand, high: Operand, negated: bool },
    In { operand: Operand, list: Vec<Operand>, negated: bool },
    Case { operand: Operand, when: Operand },
    Not(Box<Condition>),
    Both { and: bool, left: Box<Condition>, right: Box<Condition> },
}

/// One side of a comparison, independent of the row.
#[derive(Clone)]
pub(super) enum Operand {
    Literal(Kind, String),
    Column(usize),
    /// A cast to fewer decimals.
    Rounded(usize, &'static str, usize),
    /// TRY_CAST to a narrower integer type: its name, minimum and maximum.
    Narrowed(usize, &'static str, i128, i128),
    /// A double minus itself, which is NaN if it is not finite.
    Difference(usize),
    /// A decimal plus so many tenths.
    Shifted(usize, &'static str, i128),
    /// A cast to whole seconds.
    Whole(usize),
}

impl Operand {
    fn side(&self, row: &[Option<&'static str>]) -> Side {
        match self {
            Self::Literal(kind, text) => match kind {
                Kind::Exact | Kind::Double => {
                    Side { sql: text.clone(), kind: *kind, value: Some(plain(text)) }
                }
                Kind::Timestamp(_) | Kind::Date => {
                    let sql = match kind {
                        Kind::Date => format!("DATE '{text}'"),
                        _ => format!("TIMESTAMP '{text}'"),
                    };
                    Side { sql, kind: *kind, value: Some(text.clone()) }
                }
            },
            Self::Column(at) => Side {
                sql: COLUMNS[*at].name.to_owned(),
                kind: COLUMNS[*at].kind,
                value: row[*at].map(str::to_owned),
            },
            Self::Rounded(at, data_type, places) => Side {
                sql: format!("CAST({} AS {data_type})", COLUMNS[*at].name),
                kind: Kind::Exact,
                value: row[*at].map(|text| rounded(text, *places)),
            },
            Self::Narrowed(at, data_type, least, greatest) => {
                let fits =
                    |text: &&str| (*least..=*greatest).contains(&text.parse::<i128>().unwrap());
                Side {
                    sql: format!("TRY_CAST({} AS {data_type})", COLUMNS[*at].name),
                    kind: Kind::Exact,
                    value: row[*at].filter(fits).map(str::to_owned),
                }
            }
            Self::Difference(at) => {
                let name = COLUMNS[*at].name;
                let difference = |text: &str| {
                    let finite = text.parse::<f64>().unwrap().is_finite();
                    if finite { "0.0" } else { "NaN" }.to_owned()
                };
                Side {
                    sql: format!("{name} - {name}"),
                    kind: Kind::Double,
                    value: row[*at].map(difference),
                }
            }
            Self::Shifted(at, sql, tenths) => Side {
                sql: format!("{} {sql}", COLUMNS[*at].name),
                kind: Kind::Exact,
                value: row[*at].map(|text| shifted(text, *tenths)),
            },
            Self::Whole(at) => Side {
                sql: format!("CAST({} AS TIMESTAMP(0))", COLUMNS[*at].name),
                kind: Kind::Timestamp(0),
                value: row[*at].map(|text| text.split('.').next().unwrap().to_owned()),
            },
        }
    }

    fn sql(&self) -> String {
        self.side(&[None; 13]).sql
    }
}

impl Condition {
    pub(super) fn sql(&self) -> String {
        let not = |negated: bool| if negated { "NOT " } else { "" };
        match self {
            Self::Compare { left, operator, right } => {
                format!("{} {operator} {}", left.sql(), right.sql())
            }
            Self::Between { operand, low, high, negated } => {
                let not = not(*negated);
                format!("{} {not}BETWEEN {} AND {}", operand.sql(), low.sql(), high.sql())
            }
            Self::In { operand, list, negated } => {
                let list: Vec<String> = list.iter().map(Operand::sql).collect();
                format!("{} {}IN ({})", operand.sql(), not(*negated), list.join(", "))
            }
            Self::Case { operand, when } => {
                format!("CASE {} WHEN {} THEN TRUE ELSE FALSE END", operand.sql(), when.sql())
            }
            Self::Not(inner) => format!("NOT ({})", inner.sql()),
            Self::Both { and, left, right } => {
                let operator = if *and { "AND" } else { "OR" };
                format!("({}) {operator} ({})", left.sql(), right.sql())
            }
        }
    }

    pub(super) fn verdict(&self, row: &[Option<&'static str>]) -> Option<bool> {
        let holds = |one: &Operand, operator: &str, other: &Operand| {
            holds(&one.side(row), operator, &other.side(row))
        };
        match self {
            Self::Compare { left, operator, right } => holds(left, operator, right),
            Self::Between { operand, low, high, negated } => {
                let within = and(holds(operand, ">=", low), holds(operand, "<=", high));
                within.map(|within| within != *negated)
            }
            Self::In { operand, list, negated } => {
                let any = list.iter().map(|item| holds(operand, "=", item));
                any.fold(Some(false), or).map(|any| any != *negated)
            }
            Self::Case { operand, when } => Some(holds(operand, "=", when) == Some(true)),
            Self::Not(inner) => inner.verdict(row).map(|verdict| !verdict),
            Self::Both { and: all, left, right } => {
                let (left, right) = (left.verdict(row), right.verdict(row));
                if *all { and(left, right) } else { or(left, right) }
            }
        }
    }
}

fn and(one: Option<bool>, other: Option<bool>) -> Option<bool> {
    match (one, other) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

fn or(one: Option<bool>, other: Option<bool>) -> Option<bool> {
    and(one.map(|it| !it), other.map(|it| !it)).map(|it| !it)
}

pub(super) fn condition(random: &mut Random, depth: usize) -> Condition {
    if depth > 0 && random.below(4) == 0 {
        let left = Box::new(condition(random, depth - 1));
        if random.below(3) == 0 {
            return Condition::Not(left);
        }
        let right = Box::new(condition(random, depth - 1));
        return Condition::Both { and: random.below(2) == 0, left, right };
    }
    let at = random.below(COLUMNS.len());
    let operand = operand(random, at);
    let negated = random.below(2) == 0;
    match random.below(8) {
        0 => Condition::Between {
            low: beside(random, at),
            high: beside(random, at),
            operand,
            negated,
        },
        1 | 2 => {
            let list = (0..=random.below(6)).map(|_| beside(random, at)).collect();
            Condition::In { operand, list, negated }
        }
        3 => Condition::Case { operand, when: beside(random, at) },
        swapped => {
            let right = beside(random, at);
            let operator = random.one(&OPERATORS);
            match swapped {
                4 => Condition::Compare { left: right, operator, right: operand },
                _ => Condition::Compare { left: operand, operator, right },
            }
        }
    }
}

/// Returns a column or a cast of it.
fn operand(random: &mut Random, at: usize) -> Operand {
    if random.below(3) > 0 {
        return Operand::Column(at);
    }
    match COLUMNS[at].name {
        "i" => Operand::Narrowed(at, "SMALLINT", i128::from(i16::MIN), i128::from(i16::MAX)),
        "b" => Operand::Narrowed(at, "INT", i128::from(i32::MIN), i128::from(i32::MAX)),
        "d1" => Operand::Shifted(at, "- 0.3", -3),
        "d2" if random.below(2) == 0 => Operand::Shifted(at, "+ 0.1", 1),
        "d2" => Operand::Rounded(at, "DECIMAL(15,1)", 1),
        "f" => Operand::Difference(at),
        "t9" => Operand::Whole(at),
        "d4" => Operand::Rounded(at, "DECIMAL(18,2)", 2),
        "w" => Operand::Rounded(at, "DECIMAL(38,1)", 1),
        _ => Operand::Column(at),
    }
}

/// Returns an operand that a column may be compared with.
fn beside(random: &mut Random, at: usize) -> Operand {
    let kind = COLUMNS[at].kind;
    let numeric = matches!(kind, Kind::Exact | Kind::Double);
    if random.below(4) == 0 {
        let other = random.below(COLUMNS.len());
        let alike = matches!(COLUMNS[other].kind, Kind::Exact | Kind::Double) == numeric;
        if alike {
            return Operand::Column(other);
        }
    }
    if numeric {
        let own = random.one(COLUMNS[at].values);
        let text = if random.below(2) == 0 && own.parse::<f64>().unwrap().is_finite() {
            own
        } else {
            random.one(&NUMBERS)
        };
        let kind = if kind == Kind::Double { Kind::Double } else { Kind::Exact };
        return Operand::Literal(kind, text.to_owned());
    }
    let date = random.one(&DATES);
    if random.below(3) == 0 {
        return Operand::Literal(Kind::Date, date.to_owned());
    }
    let time = random.one(&TIMES);
    // An instant outside of the range of nanoseconds cannot be compared with values in nanoseconds.
    Operand::Literal(Kind::Timestamp(9), format!("{date}{time}"))
}
