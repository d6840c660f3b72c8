//! Questions about statements that a store parses, and the values it computes.

use super::question::{ALL_KEYS, Question, Shape, Topic};
use super::samples::Sample;
use sluicegate_s3select::capabilities::{LikePatterns, TypeClass};
use sluicegate_s3select::dialect::Extras;

const T: Topic = Topic::Syntax;

pub(super) const TABLE: &[Question] = &[
    Question::keys(
        T,
        "=, !=, AND, OR, NOT",
        "(s._1 = '1' OR s._2 = 'aXaYb') AND NOT (s._1 != '2')",
        "2",
        |l, way| {
            l.text.also(way.is_some());
        },
    ),
    Question::keys(T, "<, BETWEEN", "s._1 < '2' OR s._1 BETWEEN '3' AND '4'", "1 3", |l, way| {
        l.text.also(way.is_some());
    }),
    Question::keys(T, "IN", "s._1 IN ('1', '3')", "1 3", |l, way| l.text.also(way.is_some())),
    Question::keys(T, "<>", "1 <> 2", ALL_KEYS, |l, way| {
        l.profile.syntax.angle_not_equal = way.is_some();
    }),
    Question::keys(T, "NOT IN", "3 NOT IN (1, 2)", ALL_KEYS, |l, way| {
        l.profile.syntax.not_in = way.is_some();
    }),
    Question::keys(T, "NOT BETWEEN", "3 NOT BETWEEN 1 AND 2", ALL_KEYS, |l, way| {
        l.profile.syntax.not_between = way.is_some();
    }),
    Question::keys(T, "NOT LIKE", "'abc' NOT LIKE 'b%'", ALL_KEYS, |l, way| {
        l.profile.syntax.not_like = way.is_some();
    }),
    Question::keys(T, "CASE", "CASE WHEN 1 = 1 THEN 1 ELSE 0 END = 1", ALL_KEYS, |l, way| {
        l.profile.syntax.case = way.is_some();
    }),
    Question::keys(
        T,
        "CASE with an operand",
        "CASE 2 WHEN 1 THEN 0 WHEN 2 THEN 5 ELSE 0 END = 5",
        ALL_KEYS,
        |l, way| {
            l.profile.syntax.case &= way.is_some();
        },
    ),
    Question::keys(
        T,
        "CASE without ELSE",
        "CASE WHEN 1 = 2 THEN 1 END IS NULL",
        ALL_KEYS,
        |l, way| {
            l.profile.syntax.case_without_else = way.is_some();
        },
    ),
    Question::keys(T, "COALESCE", "COALESCE(NULL, 5) = 5", ALL_KEYS, |l, way| {
        l.profile.syntax.coalesce = way.is_some();
    }),
    Question::keys(
        T,
        "COALESCE of an absent field",
        "COALESCE(s._9, 'z') = 'z'",
        ALL_KEYS,
        |l, way| {
            l.profile.syntax.coalesce &= way.is_some();
        },
    ),
    Question::keys(T, "NULLIF", "NULLIF(s._3, '') IS NULL", "1", |l, way| {
        l.profile.syntax.null_if = way.is_some();
    }),
    Question::keys(T, "NULLIF of what differs", "NULLIF('a', 'b') = 'a'", ALL_KEYS, |l, way| {
        l.profile.syntax.null_if &= way.is_some();
    }),
    Question::keys(T, "CAST to INT", "CAST(s._4 AS INT) < 6", "1 3", |l, way| {
        l.cast(TypeClass::Int, way);
    }),
    Question::keys(T, "CAST to FLOAT", "CAST(s._5 AS FLOAT) < 2", "1 3", |l, way| {
        l.cast(TypeClass::Float, way);
    }),
    Question::keys(
        T,
        "CAST to DECIMAL",
        "CAST('1.50' AS DECIMAL) = CAST('1.5' AS DECIMAL)",
        ALL_KEYS,
        |l, way| {
            l.cast(TypeClass::Decimal, way);
        },
    ),
    Question::keys(T, "CAST to BOOL", "CAST('true' AS BOOL) = TRUE", ALL_KEYS, |l, way| {
        l.cast(TypeClass::Bool, way);
    }),
    Question::keys(T, "CAST to STRING", "CAST(5 AS STRING) = '5'", ALL_KEYS, |l, way| {
        l.cast(TypeClass::String, way);
    }),
    Question::keys(
        T,
        "CAST of a day to TIMESTAMP",
        "CAST(s._6 AS TIMESTAMP) < CAST('2020-02-01' AS TIMESTAMP)",
        "1 3",
        |l, way| l.cast(TypeClass::Timestamp, way),
    ),
    Question::keys(T, "LIKE 'abc%'", "s._2 LIKE 'a%'", "1 2", |l, way| {
        l.profile.syntax.like =
            if way.is_some() { LikePatterns::Affix } else { LikePatterns::None };
    }),
    Question::keys(
        T,
        "LIKE '%abc', '%abc%'",
        "s._2 LIKE '%b' OR s._2 LIKE '%XX%'",
        "2 3",
        |l, way| {
            if way.is_none() {
                l.profile.syntax.like = LikePatterns::None;
            }
        },
    ),
    Question::keys(T, "LIKE that must backtrack", "s._2 LIKE '%a_b'", "2", |l, way| {
        l.like_full.also(way.is_some())
    }),
    Question::keys(T, "LIKE beyond ASCII", "s._2 LIKE 'éa%b'", "", |l, way| {
        l.like_full.also(way.is_some())
    }),
    Question::keys(T, "LIKE beyond ASCII, _", "s._2 LIKE '_aXXX'", "3", |l, way| {
        l.like_full.also(way.is_some())
    }),
    Question::keys(T, "LIKE with ESCAPE", "'50%' LIKE '50!%' ESCAPE '!'", ALL_KEYS, |l, way| {
        l.profile.syntax.like_escape = way.is_some();
    }),
    Question::keys(
        T,
        "LIKE with ESCAPE, no wildcard",
        "'501' LIKE '50!%' ESCAPE '!'",
        "",
        |l, way| {
            l.profile.syntax.like_escape &= way.is_some();
        },
    ),
    Question::keys(T, "SUBSTRING", "SUBSTRING(s._2, 2, 3) = 'XaY'", "2", |l, way| {
        l.profile.syntax.substring = way.is_some();
    }),
    Question::keys(
        T,
        "SUBSTRING from before the start",
        "SUBSTRING('123456789' FROM 0 FOR 3) = '12'",
        ALL_KEYS,
        |l, way| {
            l.profile.syntax.substring &= way.is_some();
        },
    ),
    Question::keys(T, "TRIM", "TRIM('  a ') = 'a'", ALL_KEYS, |l, way| {
        l.profile.syntax.trim = way.is_some();
    }),
    Question::keys(
        T,
        "TRIM of characters",
        "TRIM(LEADING 'x' FROM 'xxa') = 'a'",
        ALL_KEYS,
        |l, way| {
            l.profile.syntax.trim &= way.is_some();
        },
    ),
    Question::keys(
        T,
        "LOWER, UPPER",
        "UPPER('aé') = 'AÉ' AND LOWER('AB') = 'ab'",
        ALL_KEYS,
        |l, way| {
            l.profile.syntax.letter_case = way.is_some();
        },
    ),
    Question::keys(
        T,
        "CHAR_LENGTH",
        "CHAR_LENGTH(s._2) = 5 AND CHAR_LENGTH('é') = 1",
        "2 3",
        |l, way| {
            l.profile.syntax.char_length = way.is_some();
        },
    ),
    Question::keys(
        T,
        "EXTRACT",
        "EXTRACT(YEAR FROM CAST(s._6 AS TIMESTAMP)) = 2020",
        "1 2",
        |l, way| {
            l.profile.syntax.dates = way.is_some();
        },
    ),
    Question::keys(
        T,
        "TO_TIMESTAMP, TO_STRING",
        "TO_STRING(TO_TIMESTAMP('1996-03-13T'), 'yyyy-MM-dd') = '1996-03-13'",
        ALL_KEYS,
        |l, way| {
            l.profile.syntax.dates &= way.is_some();
        },
    ),
    Question::keys(
        T,
        "DATE_ADD, DATE_DIFF",
        "DATE_DIFF(DAY, TO_TIMESTAMP('2020-01-31T'), DATE_ADD(DAY, 2, TO_TIMESTAMP('2020-01-31T'))) = 2",
        ALL_KEYS,
        |l, way| {
            l.profile.syntax.dates &= way.is_some();
        },
    ),
    Question::keys(T, "UTCNOW", "UTCNOW() > TO_TIMESTAMP('2020-01-01T')", ALL_KEYS, |l, way| {
        l.profile.syntax.dates &= way.is_some();
    }),
    Question::keys(
        T,
        "timestamps in backticks",
        "`2020-01-02T` > `2020-01-01T`",
        ALL_KEYS,
        |l, way| {
            l.profile.syntax.ion_timestamps = way.is_some();
        },
    ),
    Question::keys(
        T,
        "+ - * / %",
        "1 + 2 * 3 = 7 AND 7 / 2 = 3 AND 7 % 4 = 3",
        ALL_KEYS,
        |l, way| {
            l.profile.syntax.arithmetic = way.is_some();
        },
    ),
    Question::keys(
        T,
        "numbers with a point or an exponent",
        "1.5 > 1.25 AND 1e1 = 10",
        ALL_KEYS,
        |l, way| {
            l.profile.syntax.fractions = way.is_some();
        },
    ),
    Question::keys(T, "IS MISSING", "s._9 IS MISSING", ALL_KEYS, |l, way| {
        l.profile.syntax.missing = way.is_some();
    }),
    Question::keys(T, "'' for a quote in text", "s._3 = 'it''s'", "2", |l, way| {
        l.profile.syntax.doubled_quotes = way.is_some();
    }),
    Question::statement(
        T,
        "AS",
        Sample::Table,
        "SELECT s._1 AS k FROM S3Object s LIMIT 1",
        "{\"k\":\"1\"}",
        |l, way| {
            l.profile.syntax.aliases = way.is_some();
        },
    )
    .shaped(Shape { json: true, ..Shape::PLAIN }),
    Question::keys(T, "BLOOM_CONTAINS", "BLOOM_CONTAINS('QACB', 3, 2, s._1)", "2", |l, way| {
        l.profile.syntax.bloom = way.is_some()
    })
    .shaped(Shape { extras: Extras { groups: false, bloom: true }, ..Shape::PLAIN }),
    Question::statement(
        T,
        "LIMIT",
        Sample::Table,
        "SELECT s._1 FROM S3Object s LIMIT 2",
        "1 / 2",
        |l, way| {
            l.project.also(way.is_some());
        },
    ),
    Question::statement(
        T,
        "a semicolon at the end",
        Sample::Table,
        "SELECT s._1 FROM S3Object s LIMIT 1;",
        "1",
        |_, _| {},
    ),
    Question::statement(
        T,
        "line breaks in the statement",
        Sample::Table,
        "SELECT s._1\nFROM S3Object s\nLIMIT 1",
        "1",
        |_, _| {},
    ),
];
