//! Conditions in SQL, and the conditions that are sent for them.

use arrow::datatypes::{DataType, Field};
use datafusion::common::DFSchema;
use datafusion::prelude::SessionContext;

use super::*;

fn schema() -> Schema {
    Schema::new(vec![
        Field::new("id", DataType::Int64, false),
        Field::new("s", DataType::Utf8View, true),
        Field::new("n", DataType::Int32, true),
        Field::new("d", DataType::Decimal128(10, 2), true),
        Field::new("t", DataType::Date32, true),
        Field::new("u", DataType::Date32, true),
        Field::new("f", DataType::Float64, true),
        Field::new("b", DataType::Boolean, true),
        Field::new("w", DataType::Decimal128(38, 10), true),
    ])
}

/// Returns the condition that is sent to a store of a profile, with its exactness.
fn pushed(
    profile: &StoreCapabilities,
    style: ColumnStyle,
    sql: &str,
) -> Option<(String, Exactness)> {
    let context = SessionContext::new();
    let schema = schema();
    let names = DFSchema::try_from(schema.clone()).unwrap();
    let expr = context.parse_sql_expr(sql, &names).unwrap();
    let expr = context.create_physical_expr(expr, &names).unwrap();
    let pushed = Translator::new(profile, style, &schema).filter(&expr)?;
    Some((pushed.expr.to_string(), pushed.exactness))
}

#[track_caller]
fn exact(sql: &str, expected: &str) {
    let found = pushed(&StoreCapabilities::sluice(), ColumnStyle::Positional, sql);
    assert_eq!(found, Some((expected.to_owned(), Exactness::Exact)), "{sql}");
}

#[track_caller]
fn superset(sql: &str, expected: &str) {
    let found = pushed(&StoreCapabilities::sluice(), ColumnStyle::Positional, sql);
    assert_eq!(found, Some((expected.to_owned(), Exactness::Superset)), "{sql}");
}

#[track_caller]
fn nothing(sql: &str) {
    let found = pushed(&StoreCapabilities::sluice(), ColumnStyle::Positional, sql);
    assert_eq!(found, None, "{sql}");
}

#[test]
fn comparisons_carry_the_declared_type() {
    exact("id = 3", "CAST(s._1 AS INT) = 3");
    exact("s = 'a'", "NULLIF(s._2, '') = 'a'");
    exact("s < 'it''s'", "NULLIF(s._2, '') < 'it''s'");
    exact("f > 1.5", "CAST(NULLIF(s._7, '') AS FLOAT) > 1.5e0");
    exact("f <= 0.0", "CAST(NULLIF(s._7, '') AS FLOAT) <= 0e0");
    exact("b", "CAST(NULLIF(s._8, '') AS BOOL)");
}

#[test]
fn what_could_need_rounding_must_fit_its_type() {
    let d = "CAST(NULLIF(s._4, '') AS DECIMAL(10, 2))";
    let w = "CAST(NULLIF(s._9, '') AS DECIMAL(38, 10))";
    exact("d * d > d + d", &format!("({d} * {d}) > ({d} + {d})"));
    exact("w - w = w", &format!("CAST({w} - {w} AS DECIMAL(38, 10)) = {w}"));
    exact(
        "w * d = w * d",
        &format!("CAST({w} * {d} AS DECIMAL(38, 12)) = CAST({w} * {d} AS DECIMAL(38, 12))"),
    );
}

/// The store compares each row with each member of a list.
#[test]
fn long_lists_are_not_sent_to_a_store_that_compares_them_one_by_one() {
    let minio = StoreCapabilities::minio();
    let most = minio.max_in_list.unwrap();
    let numbers = |members: usize| {
        let members: Vec<_> = (0..members).map(|n| n.to_string()).collect();
        format!("id IN ({})", members.join(", "))
    };
    let sent = |profile: &StoreCapabilities, sql: String| {
        pushed(profile, ColumnStyle::Positional, &sql).is_some()
    };
    assert!(sent(&minio, numbers(most)) && !sent(&minio, numbers(most + 1)));
    assert!(sent(&StoreCapabilities::sluice(), numbers(100 * most)));
    // The rest of a condition is sent.
    let both =
        pushed(&minio, ColumnStyle::Positional, &format!("id > 5 AND {}", numbers(most + 1)));
    assert_eq!(both.unwrap().0, "CAST(s._1 AS INT) > 5");
}

#[test]
fn what_the_two_sides_order_differently_is_not_sent() {
    nothing("f > CAST('NaN' AS DOUBLE)");
    nothing("s ILIKE 'a%'");
    nothing("s LIKE 'a\\%'");
    nothing("upper(s) = 'A'");
    nothing("s = 'a\u{1}'");
}

#[test]
fn a_conjunction_may_be_sent_in_part_and_a_disjunction_only_whole() {
    superset("id = 1 AND upper(s) = 'A'", "CAST(s._1 AS INT) = 1");
    superset("upper(s) = 'A' AND id = 1", "CAST(s._1 AS INT) = 1");
    nothing("id = 1 OR upper(s) = 'A'");
    superset(
        "id = 2 OR (id = 1 AND upper(s) = 'A')",
        "(CAST(s._1 AS INT) = 2) OR (CAST(s._1 AS INT) = 1)",
    );
    // A superset must not be negated.
    nothing("NOT (id = 1 AND upper(s) = 'A')");
}

#[test]
fn dates_of_two_columns_are_a_superset_in_strict_order_only() {
    assert_eq!(
        pushed(&StoreCapabilities::sluice(), ColumnStyle::Positional, "t < u").map(|it| it.1),
        Some(Exactness::Superset)
    );
    nothing("t = u");
    nothing("t <= u");
}

#[test]
fn presence_needs_no_conversion() {
    exact("n IS NULL", "NULLIF(s._3, '') IS NULL");
    exact("n IS NOT NULL", "NULLIF(s._3, '') IS NOT NULL");
}

#[test]
fn columns_are_addressed_as_the_format_does() {
    let sluice = StoreCapabilities::sluice();
    let sent = |style| pushed(&sluice, style, "n = 1").unwrap().0;
    assert_eq!(sent(ColumnStyle::Named), "CAST(s.\"n\" AS INT) = 1");
    assert_eq!(sent(ColumnStyle::Member), "CAST(CAST(s.\"n\" AS STRING) AS INT) = 1");
}

#[test]
fn a_foreign_store_filters_roughly_and_guards_empty_fields() {
    let minio = StoreCapabilities::minio();
    let sent = |sql| pushed(&minio, ColumnStyle::Positional, sql);
    let (sql, exactness) = sent("s = 'a'").unwrap();
    assert_eq!((sql.as_str(), exactness), ("(s._2 != '') AND (s._2 = 'a')", Exactness::Superset));
    // A guard must not be negated.
    assert_eq!(sent("NOT (s = 'a')"), None);
    // For a store without NULLIF, an empty field is tested as text.
    let roughly = |sql: &str| Some((sql.to_owned(), Exactness::Superset));
    assert_eq!(sent("s IS NULL"), roughly("s._2 = ''"));
    assert_eq!(sent("s IS NOT NULL"), roughly("s._2 != ''"));
    assert_eq!(sent("NOT (s IS NULL AND s = 'a')"), None);
    assert_eq!(pushed(&StoreCapabilities::get_only(), ColumnStyle::Positional, "id = 1"), None);
}
