use super::*;
use crate::dialect::ast::ProjectionItem;
use crate::dialect::{Extras, parse, parse_with};
use proptest::collection::vec;
use proptest::prelude::*;

fn name() -> impl Strategy<Value = Name> {
    prop_oneof![
        "[ab_][a-z0-9_$]{0,3}z".prop_map(|text| Name { text, quoted: false }),
        "[ -~é\n]{0,5}".prop_map(|text| Name { text, quoted: true }),
    ]
}

fn step() -> impl Strategy<Value = PathStep> {
    prop_oneof![name().prop_map(PathStep::Field), any::<u64>().prop_map(PathStep::Index)]
}

fn path() -> impl Strategy<Value = Vec<PathStep>> {
    (name(), vec(step(), 0..3))
        .prop_map(|(first, rest)| std::iter::once(PathStep::Field(first)).chain(rest).collect())
}

fn literal() -> impl Strategy<Value = Literal> {
    prop_oneof![
        Just(Literal::Null),
        Just(Literal::Missing),
        any::<bool>().prop_map(Literal::Bool),
        any::<i64>().prop_map(Literal::Int),
        (any::<i64>(), 1i8..=38)
            .prop_map(|(n, scale)| Literal::Decimal { unscaled: i128::from(n), scale }),
        (1i128 << 64..1 << 100).prop_map(|unscaled| Literal::Decimal { unscaled, scale: 0 }),
        (-1e300..1e300f64).prop_map(Literal::Float),
        "[ -~é'\n]{0,6}".prop_map(Literal::String),
        (-700_000i64..2_900_000).prop_map(|days| {
            let day = crate::value::Timestamp::from_days(days).map(|day| day.to_string());
            Literal::Timestamp(day.unwrap_or_default())
        }),
        "20[0-9]{2}-0[1-9]-1[0-9]T1[0-9]:[0-5][0-9](:[0-5][0-9](\\.[0-9]{1,12})?)?(Z|[+]07:30)?"
            .prop_map(Literal::Timestamp),
    ]
}

fn binary_op() -> impl Strategy<Value = BinaryOp> {
    use BinaryOp::*;
    prop::sample::select(vec![
        And, Or, Eq, NotEq, Lt, LtEq, Gt, GtEq, Add, Subtract, Multiply, Divide, Modulo,
    ])
}

fn date_part() -> impl Strategy<Value = DatePart> {
    use DatePart::*;
    prop::sample::select(vec![Year, Month, Day, Hour, Minute, Second])
}

fn cast_type() -> impl Strategy<Value = Type> {
    prop_oneof![
        prop::sample::select(vec![
            Type::Bool,
            Type::Int,
            Type::Float,
            Type::Decimal(None),
            Type::String,
            Type::Timestamp,
        ]),
        (1u8..=38).prop_flat_map(|precision| {
            (0..=precision as i8).prop_map(move |scale| Type::Decimal(Some((precision, scale))))
        }),
    ]
}

fn call(inner: BoxedStrategy<Expr>) -> impl Strategy<Value = Expr> {
    use Function::*;
    let side = prop::sample::select(vec![TrimSide::Both, TrimSide::Leading, TrimSide::Trailing]);
    let function = prop_oneof![
        (prop::sample::select(vec![CharLength, Lower, Upper, ToTimestamp]), Just(1..=1)),
        (prop::sample::select(vec![NullIf, ToString]), Just(2..=2)),
        (Just(Coalesce), Just(1..=3)),
        (Just(List), Just(0..=3)),
        (Just(Substring), Just(2..=3)),
        (Just(UtcNow), Just(0..=0)),
        (Just(BloomContains), Just(4..=4)),
        (side.prop_map(Trim), Just(1..=2)),
        (date_part().prop_map(DateAdd), Just(2..=2)),
        (date_part().prop_map(DateDiff), Just(2..=2)),
        (date_part().prop_map(Extract), Just(1..=1)),
    ];
    function.prop_flat_map(move |(function, arity)| {
        vec(inner.clone(), arity).prop_map(move |args| Expr::Call { function, args })
    })
}

fn expr() -> impl Strategy<Value = Expr> {
    let leaf = prop_oneof![literal().prop_map(Expr::Literal), path().prop_map(Expr::Path)];
    leaf.prop_recursive(5, 40, 4, |inner| {
        let boxed = inner.clone().prop_map(Box::new);
        let unary = prop::sample::select(vec![UnaryOp::Negate, UnaryOp::Plus, UnaryOp::Not]);
        let test = prop::sample::select(vec![IsTest::Null, IsTest::Missing]);
        let aggregate = prop::sample::select(vec![
            Aggregate::Avg,
            Aggregate::Count,
            Aggregate::Max,
            Aggregate::Min,
            Aggregate::Sum,
        ]);
        prop_oneof![
            (unary, boxed.clone()).prop_map(|(op, expr)| Expr::Unary { op, expr }),
            (boxed.clone(), binary_op(), boxed.clone())
                .prop_map(|(left, op, right)| Expr::Binary { left, op, right }),
            (boxed.clone(), boxed.clone(), boxed.clone(), any::<bool>())
                .prop_map(|(expr, low, high, negated)| Expr::Between { expr, low, high, negated }),
            (boxed.clone(), boxed.clone(), prop::option::of(boxed.clone()), any::<bool>())
                .prop_map(|(expr, pattern, escape, negated)| {
                    Expr::Like { expr, pattern, escape, negated }
                }),
            (boxed.clone(), vec(inner.clone(), 1..4), any::<bool>())
                .prop_map(|(expr, list, negated)| Expr::In { expr, list, negated }),
            (boxed.clone(), test, any::<bool>()).prop_map(|(expr, test, negated)| Expr::Is {
                expr,
                test,
                negated
            }),
            (
                prop::option::of(boxed.clone()),
                vec((inner.clone(), inner.clone()), 1..3),
                prop::option::of(boxed.clone())
            )
                .prop_map(|(operand, branches, otherwise)| {
                    Expr::Case { operand, branches, otherwise }
                }),
            (boxed.clone(), cast_type()).prop_map(|(expr, to)| Expr::Cast { expr, to }),
            call(inner.clone().boxed()),
            (aggregate, boxed)
                .prop_map(|(function, arg)| { Expr::Aggregate { function, arg: Some(arg) } }),
            Just(Expr::count_star()),
        ]
    })
}

fn query() -> impl Strategy<Value = Query> {
    let alias = || prop::option::of("[ -~é]{1,5}");
    let item = (expr(), alias()).prop_map(|(expr, alias)| ProjectionItem { expr, alias });
    let projection =
        prop_oneof![1 => Just(Projection::Star), 9 => vec(item, 1..3).prop_map(Projection::Items)];
    let wild = prop_oneof![Just(PathStep::AnyIndex), Just(PathStep::AnyField), step()];
    let path = prop_oneof![
        Just(Vec::new()),
        vec(wild, 0..3).prop_map(|rest| std::iter::once(PathStep::AnyIndex).chain(rest).collect())
    ];
    let from = (path, alias()).prop_map(|(path, alias)| From { path, alias });
    let limit = prop::option::of(any::<u64>());
    let groups = prop_oneof![3 => Just(Vec::new()), 1 => vec(expr(), 1..3)];
    (projection, from, prop::option::of(expr()), groups, limit).prop_map(
        |(projection, from, filter, group_by, limit)| Query {
            projection,
            from,
            filter,
            group_by,
            limit,
        },
    )
}

proptest! {
    #[test]
    fn parse_undoes_print(query in query()) {
        let text = query.to_string();
        prop_assert!(!text.contains(';') || query.to_string() == text);
        let extras = Extras::from_query(&query);
        prop_assert_eq!(extras == Extras::NONE, parse(&text).is_ok(), "{}", text);
        match parse_with(&text, extras) {
            Ok(read) => prop_assert_eq!(read, query, "{}", text),
            Err(error) => prop_assert!(false, "{}: {}", text, error),
        }
    }

    /// A chain of operators without parentheses is grouped by the table of precedences.
    #[test]
    fn chains_group_by_their_operators(ops in vec(binary_op(), 1..12)) {
        let text = ops.iter().enumerate().fold("a0".to_owned(), |text, (i, op)| format!("{text} {op} a{}", i + 1));
        let read = parse(&format!("SELECT {text} FROM S3Object")).unwrap();
        let Projection::Items(items) = &read.projection else { unreachable!() };
        prop_assert_eq!(items[0].expr.to_string(), grouped(&ops, 0).to_string(), "{}", text);
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,60}") {
        let _ = parse(&text);
        let _ = parse(&format!("SELECT {text} FROM S3Object WHERE {text}"));
    }

    #[test]
    fn no_heap_of_tokens_panics(tokens in vec(prop::sample::select(vec![
        "SELECT", "FROM", "S3Object", "WHERE", "LIMIT", "AS", "CASE", "WHEN", "THEN", "END", "CAST",
        "(", ")", "[", "]", "*", ".", ",", "'a'", "1", "a", "-", "NOT", "IN", "LIKE", "IS", "NULL",
        "AND", "SUM", "TRIM", "SUBSTRING", "DATE_ADD", "day", ";", "\"q\"", "=", "GROUP", "BY",
    ]), 0..25)) {
        let _ = parse(&format!("SELECT {} FROM S3Object", tokens.join(" ")));
        let grouped = format!("SELECT a FROM S3Object GROUP {}", tokens.join(" "));
        let _ = parse_with(&grouped, Extras::ALL);
        let _ = parse(&tokens.join(" "));
    }
}

/// Groups `a0 ops[0] a1 ops[1] …` at the operator with the lowest precedence: of several equal ones at the first if
/// they group from the right, otherwise at the last.
fn grouped(ops: &[BinaryOp], first: usize) -> Expr {
    let level = |op: &BinaryOp| match op {
        BinaryOp::Or => 0,
        BinaryOp::And => 1,
        BinaryOp::Eq | BinaryOp::NotEq => 2,
        BinaryOp::Lt | BinaryOp::LtEq | BinaryOp::Gt | BinaryOp::GtEq => 3,
        BinaryOp::Add | BinaryOp::Subtract => 4,
        BinaryOp::Multiply | BinaryOp::Divide | BinaryOp::Modulo => 5,
    };
    let Some(least) = ops.iter().map(level).min() else {
        let text = format!("a{first}");
        return Expr::Path(vec![PathStep::Field(Name { text, quoted: false })]);
    };
    let mut places = ops.iter().enumerate().filter(|(_, op)| level(op) == least).map(|(at, _)| at);
    let at = if least == 2 { places.next() } else { places.next_back() }.unwrap();
    grouped(&ops[..at], first).binary(ops[at], grouped(&ops[at + 1..], first + at + 1))
}

#[test]
fn what_has_no_literal_is_a_cast() {
    assert_eq!(Expr::float(f64::NAN).to_string(), "CAST('NaN' AS FLOAT)");
    assert_eq!(
        Expr::Literal(Literal::Float(f64::NEG_INFINITY)).to_string(),
        "CAST('-inf' AS FLOAT)"
    );
    assert_eq!(Expr::Literal(Literal::Decimal { unscaled: 5, scale: 0 }).to_string(), "5.");
    assert_eq!(Expr::Literal(Literal::Decimal { unscaled: 5, scale: -2 }).to_string(), "500.");
}

#[test]
fn constructors_print_as_documented() {
    let filter = Expr::column(5)
        .null_if(Expr::string(""))
        .cast(Type::Int)
        .gt_eq(Expr::int(-3))
        .and(Expr::named_column("a\"b").is_not_null().not());
    assert_eq!(
        filter.to_string(),
        "(CAST(NULLIF(s._5, '') AS INT) >= -3) AND (NOT (s.\"a\"\"b\" IS NOT NULL))"
    );
}

#[test]
fn a_long_chain_built_by_hand_prints() {
    let chain = (0..2_000).fold(Expr::bool(true), |chain, n| chain.and(Expr::column(n)));
    assert!(chain.to_string().ends_with(" AND s._1998 AND s._1999"));
}
