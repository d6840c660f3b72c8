//! Questions about statements that stores interpret differently.

use super::question::{ALL_KEYS, Question, Right, Topic};
use sluicegate_s3select::capabilities::{EmptyField, FailedCast, NullLogic};

const T: Topic = Topic::Meaning;

pub(super) const TABLE: &[Question] = &[
    Question::keys(T, "NULL != 1 is not TRUE", "NULL != 1", "", |l, way| {
        l.profile.null_logic =
            if way.is_some() { NullLogic::ThreeValued } else { NullLogic::TwoValued };
    }),
    Question::keys(T, "NOT (NULL = 1) is not TRUE", "NOT (NULL = 1)", "", |l, way| {
        if way.is_none() {
            l.profile.null_logic = NullLogic::TwoValued;
        }
    }),
    Question::keys(T, "NULL OR TRUE is TRUE", "(NULL = 1) OR (1 = 1)", ALL_KEYS, |l, way| {
        l.nulls.also(way.is_some());
    }),
    Question::keys(T, "an absent field does not equal text", "s._9 = 'a'", "", |l, way| {
        l.nulls.also(way.is_some());
    }),
    Question::keys(T, "NULL < 1 is not TRUE, and no error", "NULL < 1", "", |l, way| {
        l.profile.null_operands_fail = way.is_none();
    }),
    Question::keys(
        T,
        "NULL LIKE 'a%' is not TRUE, and no error",
        "s._9 LIKE 'a%'",
        "",
        |l, way| {
            l.profile.null_operands_fail |= way.is_none();
        },
    ),
    Question::keys(
        T,
        "CAST of NULL is NULL, and no error",
        "CAST(s._9 AS INT) IS NULL",
        ALL_KEYS,
        |l, way| {
            l.profile.null_operands_fail |= way.is_none();
        },
    ),
    Question::keys(T, "an empty CSV field", "s._3 = ''", "", |l, way| {
        l.profile.empty_field = match way {
            Some(0) => EmptyField::EmptyString,
            Some(_) => EmptyField::Null,
            None => EmptyField::Unknown,
        };
    })
    .right(Right::Ways(&[("1", "it is the text ''"), ("", "it is not the text ''")])),
    Question::keys(T, "IS NULL of an empty CSV field", "s._3 IS NULL", "", |l, way| {
        // An empty field is NULL if it counts as NULL here and did not count as text in the question before.
        // Otherwise it is unknown.
        let null = way == Some(1);
        if null != (l.profile.empty_field == EmptyField::Null) {
            l.profile.empty_field = EmptyField::Unknown;
        }
    })
    .right(Right::Ways(&[("", "it is not NULL"), ("1", "it is NULL")])),
    Question::keys(T, "a CAST that fails", "CAST(s._2 AS INT) = 5", "", |l, way| {
        l.profile.failed_cast = match way {
            Some(_) => FailedCast::Error,
            None => FailedCast::SkipsRow,
        };
    })
    .right(Right::Error),
    Question::keys(T, "a CAST of '' fails", "CAST(s._3 AS INT) = 5", "", |_, _| {})
        .right(Right::Error),
    Question::keys(T, "text compares bytewise", "'B' < 'a' AND s._2 > 'b'", "3", |l, way| {
        l.text.also(way.is_some());
    }),
    Question::keys(T, "text does not compare as numbers", "s._1 < '10'", "1", |l, way| {
        l.text.also(way.is_some());
    }),
    Question::keys(T, "text beyond ASCII", "s._2 = 'éaXXX'", "3", |l, way| {
        l.text.also(way.is_some());
    }),
    Question::keys(
        T,
        "whole numbers beyond 2^31",
        "CAST('2147483653' AS INT) = 2147483653",
        ALL_KEYS,
        |l, way| {
            l.profile.max_exact_int =
                Some(if way.is_some() { (1 << 53) - 1 } else { (1 << 31) - 1 });
        },
    ),
    Question::keys(
        T,
        "whole numbers beyond 2^53",
        "CAST(s._4 AS INT) = 9007199254740993",
        "2",
        |l, way| {
            l.wide_ints.also(way.is_some());
        },
    ),
    Question::keys(
        T,
        "whole numbers beyond 2^53 are told apart",
        "CAST(s._4 AS INT) = 9007199254740992",
        "",
        |l, way| {
            l.wide_ints.also(way.is_some());
        },
    ),
    Question::keys(
        T,
        "IN tells whole numbers apart",
        "CAST(s._4 AS INT) IN (9007199254740992, 5)",
        "1",
        |l, way| {
            l.wide_ints.also(way.is_some());
        },
    ),
    Question::keys(
        T,
        "a sum beyond 64 bits is an error",
        "CAST('9223372036854775807' AS INT) + 1 < 0",
        "",
        |l, way| {
            l.profile.syntax.arithmetic &= way.is_some();
        },
    )
    .right(Right::Error),
    Question::keys(
        T,
        "floats are equal if they are",
        "CAST('0.0000001' AS FLOAT) = CAST('0' AS FLOAT)",
        "",
        |l, way| {
            l.beyond.also(way.is_some());
        },
    ),
    Question::keys(
        T,
        "decimals compare by value",
        "CAST('0.3' AS DECIMAL) = CAST('0.1' AS DECIMAL) + CAST('0.2' AS DECIMAL)",
        ALL_KEYS,
        |l, way| {
            l.beyond.also(way.is_some());
        },
    ),
    Question::keys(
        T,
        "AND is decided from the left",
        "s._2 = 'none' AND CAST(s._2 AS INT) = 1",
        "",
        |l, way| {
            l.nulls.also(way.is_some());
        },
    ),
];
