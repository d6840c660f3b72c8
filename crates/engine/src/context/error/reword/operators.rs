//! Operators and joins that DataFusion does not have, by their names in the parser's syntax tree.

use super::super::ErrorKind;
use super::super::description::Description;
use super::super::description::description;

/// The texts before and after the name of an operator in DataFusion's messages.
const FRAMES: [(&str, &str); 5] = [
    ("Operator ", " is not yet supported"),
    ("Unsupported binary operator: ", ""),
    ("Binary operator '", "' is not supported in the physical expr"),
    ("Unsupported SQL unary operator ", ""),
    ("Unsupported JOIN operator ", ""),
];

const FIELD: &str = "A field is taken by its name: data['name']; read_json('…') reads the fields of JSON as columns, and their types.";
const ARRAYS: &str =
    "Write array_has(list, value), array_has_all(list, part) or array_has_any(list, other).";
const PATTERNS: &str =
    "Write LIKE 'text%', ILIKE, starts_with(a, b), or ~ for a regular expression.";
const APPLY: &str =
    "Write CROSS JOIN LATERAL (SELECT …) AS t, or LEFT JOIN LATERAL (SELECT …) AS t ON true.";

/// Operators: their names in the parser and DataFusion, their SQL form, and the alternative.
const OPERATORS: [(&[&str], &str, &str); 16] = [
    (&[":", "Colon"], ":", FIELD),
    (&["->", "Arrow"], "->", FIELD),
    (&["->>", "LongArrow"], "->>", FIELD),
    (&["#>", "HashArrow"], "#>", FIELD),
    (&["#>>", "HashLongArrow"], "#>>", FIELD),
    (&["@>", "AtArrow"], "@>", ARRAYS),
    (&["<@", "ArrowAt"], "<@", ARRAYS),
    (&["&&", "PGOverlap"], "&&", "Write AND; of lists, array_has_any(list, other)."),
    (&["?", "?|", "?&", "Question", "QuestionPipe", "QuestionAnd"], "?", FIELD),
    (&["@?", "@@", "AtQuestion", "AtAt"], "@@", FIELD),
    (&["^@", "PGStartsWith"], "^@", PATTERNS),
    (&["PGLikeMatch", "PGILikeMatch", "PGNotLikeMatch", "PGNotILikeMatch"], "~~", PATTERNS),
    (
        &["DIV", "IntegerDivide", "MyIntegerDivide", "DuckIntegerDivide"],
        "//",
        "Write a / b of whole numbers.",
    ),
    (&["BitwiseNot", "PGBitwiseNot"], "~", "Write -x - 1, which turns the bits of a whole number."),
    (&["PGSquareRoot", "PGCubeRoot"], "|/", "Write sqrt(x), or cbrt(x)."),
    (&["PGAbs"], "@", "Write abs(x)."),
];

/// Joins: their names in the parser, their SQL form, and the alternative.
const JOINS: [(&str, &str, &str); 7] = [
    ("Semi", "SEMI JOIN", "Write LEFT SEMI JOIN, or WHERE x IN (SELECT …)."),
    ("Anti", "ANTI JOIN", "Write LEFT ANTI JOIN, or WHERE x NOT IN (SELECT …)."),
    ("CrossApply", "CROSS APPLY", APPLY),
    ("OuterApply", "OUTER APPLY", APPLY),
    (
        "AsOf",
        "ASOF JOIN",
        "Join by <=, and keep the last row of each with row_number() OVER (PARTITION BY … ORDER BY …).",
    ),
    ("StraightJoin", "STRAIGHT_JOIN", "Write JOIN."),
    ("ArrayJoin", "ARRAY JOIN", "Write unnest(list) in the list of columns."),
];

/// Rewords `Operator ->> is not yet supported` and `Unsupported JOIN operator Semi(Using([ObjectName(…`.
pub(super) fn operator(text: &str) -> Option<Description> {
    let name = FRAMES.iter().find_map(|(before, behind)| {
        let (_, rest) = text.split_once(before)?;
        match *behind {
            "" => Some(rest),
            behind => rest.split_once(behind).map(|(name, _)| name),
        }
    })?;
    let is_join = text.contains("Unsupported JOIN operator ");
    let word =
        if is_join { name.split(|c: char| !c.is_alphanumeric()).next()? } else { name.trim() };
    let (written, hint) = match is_join {
        true => JOINS
            .iter()
            .find(|(known, ..)| *known == word)
            .map(|(_, written, hint)| (*written, *hint)),
        false => OPERATORS
            .iter()
            .find(|(known, ..)| known.contains(&word))
            .map(|(_, written, hint)| (*written, *hint)),
    }
    .unwrap_or((word, "SHOW FUNCTIONS lists the functions that there are."));
    let what = if is_join { written.to_owned() } else { format!("the operator {written}") };
    Some(description(ErrorKind::Unsupported, format!("{what} is not supported"), hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_are_named_as_they_are_written() {
        for (text, message, hint) in [
            (
                "Operator ->> is not yet supported",
                "the operator ->> is not supported",
                "data['name']",
            ),
            (
                "This feature is not implemented: Unsupported binary operator: PGStartsWith",
                "the operator ^@ is not supported",
                "starts_with",
            ),
            (
                "Binary operator 'AtArrow' is not supported in the physical expr",
                "the operator @> is not supported",
                "array_has",
            ),
            (
                "This feature is not implemented: Unsupported JOIN operator CrossApply",
                "CROSS APPLY is not supported",
                "LATERAL",
            ),
            (
                "This feature is not implemented: Unsupported JOIN operator Semi(Using([ObjectName([Identifier(Ident { \
                 value: \"id\"",
                "SEMI JOIN is not supported",
                "LEFT SEMI JOIN",
            ),
            (
                "Operator <-> is not yet supported",
                "the operator <-> is not supported",
                "SHOW FUNCTIONS",
            ),
        ] {
            let described = operator(text).unwrap();
            assert_eq!(described.message, message);
            assert!(described.hint.unwrap().contains(hint), "{text}");
        }
        assert!(operator("something else").is_none());
    }
}
