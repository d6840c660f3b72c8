//! Generates statements and rows from a seed.

use sluicegate_s3select::dialect::ast::{
    Aggregate, BinaryOp, Expr, From, Function, IsTest, Literal, Projection, ProjectionItem, Query,
    TrimSide, Type, UnaryOp,
};

use super::interpreter::Row;

/// Generates expressions of a given type; the same seed gives the same ones.
pub(super) struct Generator {
    state: u64,
    /// Earlier expressions, which are reused so that items share subexpressions.
    known: Vec<(Kind, Expr)>,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Kind {
    Bool,
    Int,
    Float,
    Decimal,
    Text,
    Timestamp,
}

/// Numbers of 38 digits: a whole one, and one with 38 decimal places.
const NINES: &str = "99999999999999999999999999999999999999";
const THIRD: &str = "0.33333333333333333333333333333333333333";

impl Generator {
    pub(super) fn new(seed: u64) -> Self {
        Self { state: seed, known: Vec::new() }
    }

    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.state = self
            .state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) % n
    }

    pub(super) fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize].clone()
    }

    fn field(&mut self) -> String {
        self.pick(&[
            "",
            "0",
            "1",
            "1",
            "2",
            "-7",
            "x",
            "9223372036854775807",
            "1.5",
            " 3 ",
            "2020-02-29",
            "é",
            "true",
            "a%b",
            "abc",
            "1e3",
            "0.10",
            "2020-01-01",
            "-9223372036854775808",
            "-2.5",
            "1e-40",
            THIRD,
            NINES,
        ])
        .to_owned()
    }

    /// Returns a field value that many rows share.
    fn group(&mut self) -> String {
        self.pick(&["a", "b", "c", "1", "2"]).to_owned()
    }

    fn kind(&mut self) -> Kind {
        self.pick(&[Kind::Bool, Kind::Int, Kind::Float, Kind::Decimal, Kind::Text, Kind::Timestamp])
    }

    fn boxed(&mut self, kind: Kind, depth: u32) -> Box<Expr> {
        Box::new(self.expr(kind, depth))
    }

    /// Returns a column, in most cases guarded against values that do not convert.
    fn column_as(&mut self, kind: Kind) -> Expr {
        let column = Expr::column(1 + self.below(4) as usize);
        let cast = |expr: Expr, to| Expr::Cast { expr: Box::new(expr), to };
        let to = match kind {
            Kind::Text => return column,
            Kind::Bool => Type::Bool,
            Kind::Int => Type::Int,
            Kind::Float => Type::Float,
            Kind::Decimal => self.pick(&[Type::Decimal(None), Type::Decimal(Some((12, 2)))]),
            Kind::Timestamp => Type::Timestamp,
        };
        let fits: &[&str] = match kind {
            Kind::Bool => &["true"],
            Kind::Int => {
                &["0", "1", "2", "-7", " 3 ", "9223372036854775807", "-9223372036854775808"]
            }
            Kind::Timestamp => &["2020-02-29", "2020-01-01"],
            Kind::Decimal if to == Type::Decimal(None) => {
                &["0", "1", "2", "-7", "1.5", "1e3", "0.10", "-2.5", "1e-40", THIRD, NINES]
            }
            _ => &["0", "1", "2", "-7", "1.5", "1e3", "0.10", "-2.5"],
        };
        if self.below(6) == 0 {
            return cast(column, to);
        }
        let list = fits.iter().map(|text| Expr::string(*text)).collect();
        let guard = Expr::In { expr: Box::new(column.clone()), list, negated: false };
        let value = if self.below(2) == 0 {
            cast(column, to)
        } else {
            let args = vec![column, Expr::string("")];
            cast(Expr::Call { function: Function::NullIf, args }, to)
        };
        Expr::Case { operand: None, branches: vec![(guard, value)], otherwise: None }
    }

    fn literal(&mut self, kind: Kind) -> Expr {
        if self.below(12) == 0 {
            return Expr::Literal(self.pick(&[Literal::Null, Literal::Missing]));
        }
        Expr::Literal(match kind {
            Kind::Bool => Literal::Bool(self.below(2) == 0),
            Kind::Int => Literal::Int(self.pick(&[0, 1, 2, -3, i64::MAX])),
            Kind::Float => Literal::Float(self.pick(&[0.5, 1e3, 1e-7])),
            Kind::Decimal => {
                let (unscaled, scale) = if self.below(4) > 0 {
                    self.pick(&[(15, 1), (100, 2), (7, 3), (-3, 0)])
                } else {
                    let nines = 10_i128.pow(38) - 1;
                    self.pick(&[(nines, 0), (nines / 3, 38), (nines, 19), (1, 38), (5, 37)])
                };
                Literal::Decimal { unscaled, scale }
            }
            Kind::Text => Literal::String(self.field()),
            Kind::Timestamp => {
                let expr = Box::new(Expr::string("2020-01-01"));
                return Expr::Cast { expr, to: Type::Timestamp };
            }
        })
    }

    pub(super) fn expr(&mut self, kind: Kind, depth: u32) -> Expr {
        const MOST_KNOWN: usize = 24;
        if self.below(5) == 0 {
            let known = self.known.iter().filter(|known| known.0 == kind);
            let known: Vec<_> = known.map(|known| known.1.clone()).collect();
            if !known.is_empty() {
                return self.pick(&known);
            }
        }
        let expr = self.new_expr(kind, depth);
        if self.known.len() < MOST_KNOWN {
            self.known.push((kind, expr.clone()));
        }
        expr
    }

    fn new_expr(&mut self, kind: Kind, depth: u32) -> Expr {
        if depth == 0 {
            return if self.below(3) == 0 { self.literal(kind) } else { self.column_as(kind) };
        }
        let d = depth - 1;
        match self.below(8) {
            0 => {
                let branches =
                    (0..1 + self.below(3)).map(|_| (self.expr(Kind::Bool, d), self.expr(kind, d)));
                let branches = branches.collect();
                let otherwise = (self.below(2) == 0).then(|| self.boxed(kind, d));
                Expr::Case { operand: None, branches, otherwise }
            }
            1 => {
                let operand = self.kind();
                let branches = (0..1 + self.below(2))
                    .map(|_| (self.expr(operand, d), self.expr(kind, d)))
                    .collect();
                let operand = Some(self.boxed(operand, d));
                Expr::Case { operand, branches, otherwise: None }
            }
            2 => {
                let args = (0..2).map(|_| self.expr(kind, d)).collect();
                let function = self.pick(&[Function::Coalesce, Function::NullIf]);
                Expr::Call { function, args }
            }
            _ => self.own(kind, d),
        }
    }

    /// Returns an operator specific to the type.
    fn own(&mut self, kind: Kind, d: u32) -> Expr {
        use BinaryOp::{
            Add, And, Divide, Eq, Gt, GtEq, Lt, LtEq, Modulo, Multiply, NotEq, Or, Subtract,
        };
        match kind {
            Kind::Bool => {
                let negated = self.below(2) == 0;
                match self.below(9) {
                    8 => {
                        let kind = self.kind();
                        let (bits, hashes) = self.pick(&[
                            ("/w==", 3),
                            ("iQJQ", 1),
                            ("qpUqlQ==", 2),
                            ("u+7d77vu/fc=", 4),
                            ("AAAA", 32),
                        ]);
                        let seed = self.pick(&[0, 7, -1]);
                        let args = vec![
                            Expr::string(bits),
                            Expr::int(hashes),
                            Expr::int(seed),
                            self.expr(kind, d),
                        ];
                        Expr::Call { function: Function::BloomContains, args }
                    }
                    0 => Expr::Unary { op: UnaryOp::Not, expr: self.boxed(Kind::Bool, d) },
                    1 | 2 => Expr::Binary {
                        left: self.boxed(Kind::Bool, d),
                        op: self.pick(&[And, Or]),
                        right: self.boxed(Kind::Bool, d),
                    },
                    3 => {
                        let kind = self.kind();
                        let [expr, low, high] = [0; 3].map(|_| self.boxed(kind, d));
                        Expr::Between { expr, low, high, negated }
                    }
                    4 => {
                        let pattern = self.pick(&["%", "_", "a%", "%b%", "1", "%.%_", ""]);
                        let pattern = Box::new(Expr::string(pattern));
                        Expr::Like {
                            expr: self.boxed(Kind::Text, d),
                            pattern,
                            escape: None,
                            negated,
                        }
                    }
                    5 => {
                        let kind = self.kind();
                        let members = if self.below(2) == 0 { 0 } else { d.min(1) };
                        let list = (0..1 + self.below(4)).map(|_| {
                            let kind = if self.below(4) == 0 { self.kind() } else { kind };
                            self.expr(kind, members)
                        });
                        let list = list.collect();
                        Expr::In { expr: self.boxed(kind, d), list, negated }
                    }
                    6 => {
                        let kind = self.kind();
                        let test = self.pick(&[IsTest::Null, IsTest::Missing]);
                        Expr::Is { expr: self.boxed(kind, d), test, negated }
                    }
                    _ => {
                        let numbers = [Kind::Int, Kind::Float, Kind::Decimal];
                        let left = self.kind();
                        let right =
                            if numbers.contains(&left) { self.pick(&numbers) } else { left };
                        Expr::Binary {
                            left: self.boxed(left, d),
                            op: self.pick(&[Eq, NotEq, Lt, LtEq, Gt, GtEq]),
                            right: self.boxed(right, d),
                        }
                    }
                }
            }
            Kind::Int if self.below(6) == 0 => {
                let args = vec![self.expr(Kind::Text, d)];
                Expr::Call { function: Function::CharLength, args }
            }
            Kind::Int | Kind::Decimal | Kind::Float => {
                let other = match kind {
                    Kind::Int => Kind::Int,
                    Kind::Decimal => self.pick(&[Kind::Int, Kind::Decimal]),
                    _ => self.pick(&[Kind::Int, Kind::Decimal, Kind::Float]),
                };
                if self.below(6) == 0 {
                    return Expr::Unary { op: UnaryOp::Negate, expr: self.boxed(kind, d) };
                }
                Expr::Binary {
                    left: self.boxed(kind, d),
                    op: self.pick(&[Add, Subtract, Multiply, Multiply, Divide, Modulo]),
                    right: self.boxed(other, d),
                }
            }
            Kind::Text => match self.below(4) {
                0 => Expr::Cast {
                    expr: {
                        let kind = self.kind();
                        self.boxed(kind, d)
                    },
                    to: Type::String,
                },
                1 => {
                    let mut args = vec![self.expr(Kind::Text, d), self.expr(Kind::Int, 0)];
                    if self.below(2) == 0 {
                        args.push(Expr::int(self.below(4) as i64));
                    }
                    Expr::Call { function: Function::Substring, args }
                }
                _ => {
                    let function = self.pick(&[
                        Function::Lower,
                        Function::Upper,
                        Function::Trim(TrimSide::Both),
                    ]);
                    Expr::Call { function, args: vec![self.expr(Kind::Text, d)] }
                }
            },
            Kind::Timestamp => self.column_as(kind),
        }
    }

    /// Returns the condition of a group: on a text, an integer, or two texts.
    fn membership(&mut self) -> Expr {
        let [first, second] = [Expr::column(1), Expr::column(2)];
        match self.below(4) {
            0 => {
                let number = Box::new(self.column_as(Kind::Int));
                let group = Expr::int(self.pick(&[0, 1, 2, -7]));
                number.binary(BinaryOp::Eq, group)
            }
            1 => {
                let texts = [self.group(), self.field()].map(Expr::string);
                let [left, right] = texts;
                let right = second.binary(BinaryOp::Eq, right);
                first.binary(BinaryOp::Eq, left).binary(BinaryOp::And, right)
            }
            _ => {
                let group = Expr::string(self.group());
                first.binary(BinaryOp::Eq, group)
            }
        }
    }

    /// Returns an aggregate over all rows or over one group.
    fn aggregate(&mut self) -> Expr {
        use Aggregate::{Avg, Count, Max, Min, Sum};
        let function = self.pick(&[Avg, Count, Max, Min, Sum, Sum]);
        if function == Count && self.below(3) == 0 {
            return Expr::Aggregate { function, arg: None };
        }
        let numbers = [Kind::Int, Kind::Int, Kind::Decimal, Kind::Float];
        let kind = match function {
            Avg | Sum => self.pick(&numbers),
            _ => self.kind(),
        };
        let depth = self.below(3) as u32;
        let mut arg = self.expr(kind, depth);
        if self.below(4) > 0 {
            let zero = numbers.contains(&kind) && self.below(3) == 0;
            let mut otherwise = zero.then(|| Box::new(Expr::int(0)));
            if matches!(function, Min | Max) && self.below(4) == 0 {
                // Use any type, so that the types of batches may differ.
                let kind = self.kind();
                otherwise = Some(self.boxed(kind, 0));
            }
            arg = Expr::Case { operand: None, branches: vec![(self.membership(), arg)], otherwise };
        }
        Expr::Aggregate { function, arg: Some(Box::new(arg)) }
    }

    /// Returns the keys of GROUP BY, mostly columns whose values many rows share.
    fn keys(&mut self) -> Vec<Expr> {
        let key = |this: &mut Self| match this.below(3) {
            0 => {
                let kind = this.kind();
                let depth = this.below(3) as u32;
                this.expr(kind, depth)
            }
            _ => Expr::column(1 + this.below(2) as usize),
        };
        (0..1 + self.below(3)).map(|_| key(self)).collect()
    }

    /// Returns an aggregate whose results over parts of the rows combine to the result over all of them.
    fn aggregate_of_group(&mut self) -> Expr {
        loop {
            let aggregate = self.aggregate();
            if !matches!(aggregate, Expr::Aggregate { function: Aggregate::Avg, .. }) {
                return aggregate;
            }
        }
    }

    /// Returns a statement over columns 1 to 4.
    pub(super) fn query(&mut self) -> Query {
        let is_aggregate = self.below(2) == 0;
        let group_by = if self.below(3) == 0 { self.keys() } else { Vec::new() };
        let items = (0..1 + self.below(6)).map(|_| {
            let expr = if !group_by.is_empty() {
                match self.below(2) {
                    0 => self.pick(&group_by),
                    _ => self.aggregate_of_group(),
                }
            } else if is_aggregate {
                self.aggregate()
            } else {
                let kind = self.kind();
                self.expr(kind, 3)
            };
            ProjectionItem { expr, alias: None }
        });
        let projection = Projection::Items(items.collect());
        let filter = (self.below(3) > 0).then(|| self.expr(Kind::Bool, 3));
        let limit = (group_by.is_empty() && self.below(4) == 0).then(|| self.below(6));
        let from = From { path: Vec::new(), alias: Some("s".to_owned()) };
        Query { projection, from, filter, group_by, limit }
    }

    /// Returns rows of one to four fields.
    pub(super) fn rows(&mut self) -> Vec<Row> {
        (0..self.below(24))
            .map(|_| {
                let first = if self.below(3) > 0 { self.group() } else { self.field() };
                let mut row = vec![first];
                row.extend((0..self.below(4)).map(|_| self.field()));
                // A record of one empty field would be a blank line, which is not a record.
                if row.len() == 1 && row[0].is_empty() {
                    row.push(String::new());
                }
                row
            })
            .collect()
    }
}

/// Writes these rows as CSV, or as JSON lines.
pub(super) fn object(rows: &[Row], json: bool) -> String {
    let line = |row: &Row| {
        if !json {
            return row.join(",") + "\n";
        }
        let fields = row.iter().enumerate().map(|(at, field)| {
            format!("\"_{}\":{}", at + 1, serde_json::to_string(field).unwrap())
        });
        format!("{{{}}}\n", fields.collect::<Vec<_>>().join(","))
    };
    rows.iter().map(line).collect()
}
