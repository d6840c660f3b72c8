use super::*;
use crate::dialect::ast::*;

#[track_caller]
fn refused(text: &str, code: Code) {
    match parse(text) {
        Ok(query) => panic!("{text} was read as {query}"),
        Err(error) => assert_eq!(error.code, code, "{text}: {error}"),
    }
}

/// Checks the canonical text of a statement.
#[track_caller]
fn reads(text: &str, canonical: &str) {
    match parse(text) {
        Ok(query) => assert_eq!(query.to_string(), canonical),
        Err(error) => panic!("{text}: {error}"),
    }
}

/// Checks the canonical text of an expression.
#[track_caller]
fn reads_expr(text: &str, canonical: &str) {
    reads(&format!("SELECT {text} FROM S3Object"), &format!("SELECT {canonical} FROM S3Object"));
}

#[track_caller]
fn refused_expr(text: &str, code: Code) {
    refused(&format!("SELECT {text} FROM S3Object"), code);
}

/// GROUP BY is parsed only if the request enables it.
#[test]
fn groups() {
    let reads = |text: &str| parse_with(text, Extras::ALL).map(|query| query.to_string());
    for (text, canonical) in [
        (
            "select s.a, count(*) from s3object s where b = 1 group by s.a , upper(c);",
            "SELECT s.a, COUNT(*) FROM S3Object s WHERE b = 1 GROUP BY s.a, UPPER(c)",
        ),
        ("SELECT a FROM S3Object GROUP BY a LIMIT 5", "SELECT a FROM S3Object GROUP BY a LIMIT 5"),
        ("SELECT a FROM S3Object LIMIT 5", "SELECT a FROM S3Object LIMIT 5"),
    ] {
        assert_eq!(reads(text).unwrap(), canonical);
        let code = parse(text).map(|query| query.to_string()).map_err(|error| error.code);
        let grouped = canonical.contains("GROUP");
        assert_eq!(code.err(), grouped.then_some(Code::ParseUnsupportedSyntax), "{text}");
    }
    for (text, code) in [
        ("SELECT a FROM S3Object GROUP a", Code::ParseExpectedKeyword),
        ("SELECT a FROM S3Object GROUP BY", Code::ParseExpectedExpression),
        ("SELECT a FROM S3Object GROUP BY a,", Code::ParseExpectedExpression),
        ("SELECT a FROM S3Object GROUP BY a HAVING b", Code::ParseUnsupportedSyntax),
        ("SELECT a FROM S3Object GROUP BY a WHERE b", Code::ParseUnExpectedKeyword),
        ("SELECT a FROM S3Object GROUP BY a GROUP BY a", Code::ParseUnsupportedSyntax),
        ("SELECT a FROM S3Object LIMIT 1 GROUP BY a", Code::ParseUnsupportedSyntax),
    ] {
        assert_eq!(reads(text).unwrap_err().code, code, "{text}");
    }
}

/// `BLOOM_CONTAINS` is parsed only if the request enables it.
#[test]
fn bloom_filters() {
    let text = "SELECT a FROM S3Object WHERE bloom_contains('AA==', 1, -2, b)";
    let read = parse_with(text, Extras { bloom: true, groups: false }).unwrap();
    let canonical = "SELECT a FROM S3Object WHERE BLOOM_CONTAINS('AA==', 1, -2, b)";
    assert_eq!(read.to_string(), canonical);
    let without = Extras { bloom: false, groups: true };
    assert_eq!(parse_with(text, without).unwrap_err().code, Code::UnsupportedFunction);
    refused(text, Code::UnsupportedFunction);
    reads("SELECT bloom_contains FROM S3Object", "SELECT bloom_contains FROM S3Object");
    let with = |args: &str| {
        let text = format!("SELECT BLOOM_CONTAINS({args}) FROM S3Object");
        parse_with(&text, Extras::ALL).unwrap_err().code
    };
    assert_eq!(with("'AA==', 1, 2"), Code::EvaluatorInvalidArguments);
    assert_eq!(with("*"), Code::ParseUnsupportedCallWithStar);
}

#[test]
fn whole_statements() {
    for (text, canonical) in [
        ("select * from s3object", "SELECT * FROM S3Object"),
        ("SELECT * FROM S3OBJECT ;", "SELECT * FROM S3Object"),
        ("SELECT s.* FROM S3Object s", "SELECT * FROM S3Object s"),
        ("SELECT S3Object.* FROM S3Object", "SELECT * FROM S3Object"),
        ("SELECT\n_1\tFROM\r\nS3Object", "SELECT _1 FROM S3Object"),
        ("SELECT a AS b, c d FROM S3Object AS t", "SELECT a AS b, c AS d FROM S3Object t"),
        ("SELECT a AS \"x y\" FROM S3Object", "SELECT a AS \"x y\" FROM S3Object"),
        (
            "SELECT a FROM S3Object WHERE a = 1 LIMIT 5",
            "SELECT a FROM S3Object WHERE a = 1 LIMIT 5",
        ),
        ("SELECT a FROM S3Object LIMIT 0", "SELECT a FROM S3Object LIMIT 0"),
        ("SELECT a FROM S3Object[*].x['y'][0].* r", "SELECT a FROM S3Object[*].x.\"y\"[0].* r"),
        ("SELECT count(*) FROM S3Object", "SELECT COUNT(*) FROM S3Object"),
    ] {
        reads(text, canonical);
    }
}

#[test]
fn precedence() {
    for (text, canonical) in [
        ("1 + 2 * 3", "1 + (2 * 3)"),
        ("1 - 2 - 3", "(1 - 2) - 3"),
        ("a OR b AND c", "a OR (b AND c)"),
        ("NOT a = b AND c", "(NOT (a = b)) AND c"),
        ("NOT NOT a", "NOT (NOT a)"),
        ("a = b < c", "a = (b < c)"),
        ("a = b = c = d", "a = (b = (c = d))"),
        ("a = b != c", "a = (b != c)"),
        ("a != b = c", "a != (b = c)"),
        ("(a = b) = c", "(a = b) = c"),
        ("a < b < c", "(a < b) < c"),
        ("a = b AND c = d = e", "(a = b) AND (c = (d = e))"),
        ("NOT a = b = c", "NOT (a = (b = c))"),
        ("a + 1 < b AND c LIKE 'x%'", "((a + 1) < b) AND (c LIKE 'x%')"),
        ("a BETWEEN 1 AND 2 AND b", "(a BETWEEN 1 AND 2) AND b"),
        ("a NOT BETWEEN 1 + 1 AND 2", "a NOT BETWEEN (1 + 1) AND 2"),
        ("a + 1 IN (1, 2)", "(a + 1) IN (1, 2)"),
        ("a NOT IN (1)", "a NOT IN (1)"),
        ("a NOT LIKE b ESCAPE '!'", "a NOT LIKE b ESCAPE '!'"),
        ("a IS NULL = TRUE", "(a IS NULL) = TRUE"),
        ("a IS NOT MISSING", "a IS NOT MISSING"),
        ("-a * b", "(-a) * b"),
        ("-(5)", "-(5)"),
        ("- -5", "-(-5)"),
        ("2 -5", "2 - 5"),
        ("+a", "+a"),
        ("a <> b", "a != b"),
    ] {
        reads_expr(text, canonical);
    }
}

#[test]
fn literals() {
    for (text, literal) in [
        ("-9223372036854775808", Literal::Int(i64::MIN)),
        ("9223372036854775808", Literal::Decimal { unscaled: 1 << 63, scale: 0 }),
        ("1.50", Literal::Decimal { unscaled: 150, scale: 2 }),
        ("-.5", Literal::Decimal { unscaled: -5, scale: 1 }),
        ("1e3", Literal::Float(1e3)),
        ("1.5E-3", Literal::Float(1.5e-3)),
        ("'it''s'", Literal::String("it's".into())),
        ("''", Literal::String(String::new())),
        ("tRuE", Literal::Bool(true)),
        ("null", Literal::Null),
        ("MISSING", Literal::Missing),
        ("`2010-01-01T`", Literal::Timestamp("2010-01-01T".into())),
    ] {
        let query = parse(&format!("SELECT {text} FROM S3Object")).unwrap();
        let item = ProjectionItem { expr: Expr::Literal(literal), alias: None };
        assert_eq!(query.projection, Projection::Items(vec![item]), "{text}");
    }
}

#[test]
fn functions_in_all_their_forms() {
    for (text, canonical) in [
        ("CAST(a AS int)", "CAST(a AS INT)"),
        ("CAST(a AS numeric(10, 2))", "CAST(a AS DECIMAL(10, 2))"),
        ("CAST(a AS DECIMAL(5))", "CAST(a AS DECIMAL(5, 0))"),
        ("substring(a from 2 for 3)", "SUBSTRING(a, 2, 3)"),
        ("SUBSTRING(a FROM 2)", "SUBSTRING(a, 2)"),
        ("SUBSTRING(a, 2, 3)", "SUBSTRING(a, 2, 3)"),
        ("TRIM(a)", "TRIM(a)"),
        ("TRIM(FROM a)", "TRIM(a)"),
        ("TRIM('x' FROM a)", "TRIM(BOTH 'x' FROM a)"),
        ("TRIM(LEADING FROM a)", "TRIM(LEADING FROM a)"),
        ("TRIM(TRAILING 'x' FROM a)", "TRIM(TRAILING 'x' FROM a)"),
        ("EXTRACT(year FROM a)", "EXTRACT(YEAR FROM a)"),
        ("EXTRACT(timezone_hour FROM a)", "EXTRACT(TIMEZONE_HOUR FROM a)"),
        ("DATE_ADD(day, -1, a)", "DATE_ADD(DAY, -1, a)"),
        ("DATE_DIFF(month, a, b)", "DATE_DIFF(MONTH, a, b)"),
        ("character_length(a)", "CHAR_LENGTH(a)"),
        ("COALESCE(a)", "COALESCE(a)"),
        ("UTCNOW()", "UTCNOW()"),
        ("CASE a WHEN 1 THEN 2 END", "CASE a WHEN 1 THEN 2 END"),
        (
            "CASE WHEN a THEN 1 WHEN b THEN 2 ELSE 3 END",
            "CASE WHEN a THEN 1 WHEN b THEN 2 ELSE 3 END",
        ),
        ("SUM(a) / COUNT(*)", "SUM(a) / COUNT(*)"),
        ("[]", "[]"),
        ("[1,[a],'b'] = c", "[1, [a], 'b'] = c"),
    ] {
        reads_expr(text, canonical);
    }
}

#[test]
fn names() {
    reads_expr("\"Date\"", "\"Date\"");
    reads_expr("\"a\"\"b\".c[0]", "\"a\"\"b\".c[0]");
    reads_expr("s.\"date\"", "s.\"date\"");
    reads_expr("s['a b']", "s.\"a b\"");
    reads_expr("date_add", "date_add");
}

#[test]
fn a_reserved_word_is_a_name_only_in_quotes() {
    for word in crate::dialect::keyword::RESERVED_WORDS.lines() {
        let statement = |name: &str| {
            [
                format!("SELECT {name} FROM S3Object"),
                format!("SELECT s.{name} FROM S3Object s"),
                format!("SELECT s.a.{name} FROM S3Object s"),
                format!("SELECT 1 AS {name} FROM S3Object"),
                format!("SELECT 1 FROM S3Object AS {name}"),
                format!("SELECT 1 FROM S3Object[*].{name} s"),
            ]
        };
        for (i, text) in statement(word).into_iter().enumerate() {
            // These words are values and not names.
            let value = i == 0 && ["true", "false", "null", "missing"].contains(&word);
            assert_eq!(parse(&text).is_ok(), value, "{text}");
        }
        for name in [format!("\"{word}\""), format!("\"{}\"", word.to_uppercase())] {
            for text in statement(&name) {
                let query = parse(&text).unwrap();
                assert_eq!(parse(&query.to_string()).unwrap(), query, "{text}");
            }
        }
    }
}

/// Covers every code that the grammar can return.
#[test]
fn what_is_wrong_has_its_code() {
    use Code::*;
    for (text, code) in [
        ("", ParseExpectedKeyword),
        ("DELETE FROM S3Object", ParseExpectedKeyword),
        ("SELECT DISTINCT a FROM S3Object", ParseUnsupportedSelect),
        ("SELECT ALL a FROM S3Object", ParseUnsupportedSelect),
        ("SELECT VALUE a FROM S3Object", ParseUnsupportedSelect),
        ("SELECT", ParseEmptySelect),
        ("SELECT FROM S3Object", ParseEmptySelect),
        ("SELECT *, a FROM S3Object", ParseAsteriskIsNotAloneInSelectList),
        ("SELECT a, * FROM S3Object", ParseAsteriskIsNotAloneInSelectList),
        ("SELECT s.*, a FROM S3Object s", ParseAsteriskIsNotAloneInSelectList),
        ("SELECT t.* FROM S3Object s", InvalidTableAlias),
        ("SELECT s[0].* FROM S3Object s", ParseCannotMixSqbAndWildcardInSelectList),
        ("SELECT s.a.* FROM S3Object s", ParseInvalidContextForWildcardInSelectList),
        ("SELECT s[*] FROM S3Object s", ParseInvalidContextForWildcardInSelectList),
        ("SELECT s.* + 1 FROM S3Object s", ParseUnexpectedOperator),
        ("SELECT * AS a FROM S3Object", ParseUnsupportedAlias),
        ("SELECT a", ParseSelectMissingFrom),
        ("SELECT a;", ParseSelectMissingFrom),
        ("SELECT a WHERE b", ParseSelectMissingFrom),
        ("SELECT a AS 1 FROM S3Object", ParseExpectedIdentForAlias),
        ("SELECT a AS count FROM S3Object", ParseExpectedIdentForAlias),
        ("SELECT a 1 FROM S3Object", ParseUnexpectedTerm),
        ("SELECT a,, b FROM S3Object", ParseExpectedExpression),
        ("SELECT a FROM", ParseExpectedTokenType),
        ("SELECT a FROM table1", InvalidDataSource),
        ("SELECT a FROM 'S3Object'", InvalidDataSource),
        ("SELECT a FROM (SELECT b FROM S3Object)", ParseUnsupportedSelect),
        ("SELECT (SELECT b FROM S3Object) FROM S3Object", ParseUnsupportedSelect),
        ("SELECT a FROM S3Object, S3Object", MultipleDataSourcesUnsupported),
        ("SELECT a FROM S3Object JOIN S3Object", ParseMalformedJoin),
        ("SELECT a FROM S3Object s LEFT JOIN S3Object t", ParseMalformedJoin),
        ("SELECT a FROM S3Object.x", ParseInvalidPathComponent),
        ("SELECT a FROM S3Object[*].1", ParseUnexpectedTerm),
        ("SELECT a FROM S3Object[*]. 1", ParseInvalidPathComponent),
        ("SELECT a FROM S3Object[*][x]", ParseInvalidPathComponent),
        ("SELECT a FROM S3Object[*", ParseExpectedTokenType),
        ("SELECT a FROM S3Object AT x", ParseUnsupportedSyntax),
        ("SELECT a FROM S3Object GROUP BY a", ParseUnsupportedSyntax),
        ("SELECT a FROM S3Object ORDER BY a", ParseUnsupportedSyntax),
        ("SELECT a FROM S3Object LIMIT 5 OFFSET 5", ParseUnsupportedSyntax),
        ("SELECT a FROM S3Object UNION SELECT b FROM S3Object", ParseUnsupportedSyntax),
        ("SELECT a FROM S3Object LIMIT", ParseExpectedNumber),
        ("SELECT a FROM S3Object LIMIT x", ParseExpectedNumber),
        ("SELECT a FROM S3Object LIMIT 1.5", ParseExpectedNumber),
        ("SELECT a FROM S3Object LIMIT 99999999999999999999", ParseExpectedNumber),
        ("SELECT a FROM S3Object LIMIT -1", EvaluatorNegativeLimit),
        ("SELECT a FROM S3Object LIMIT 1 WHERE b", ParseUnExpectedKeyword),
        ("SELECT a FROM S3Object; SELECT b FROM S3Object", ParseUnExpectedKeyword),
        ("SELECT a FROM S3Object s )", ParseUnexpectedToken),
        ("SELECT a FROM S3Object WHERE", ParseExpectedExpression),
    ] {
        refused(text, code);
    }
}

#[test]
fn what_is_wrong_in_expressions_has_its_code() {
    use Code::*;
    let long_number = "9".repeat(39);
    for (text, code) in [
        ("date", ParseUnExpectedKeyword),
        ("user", ParseUnExpectedKeyword),
        ("a + * b", ParseUnexpectedOperator),
        ("a || b", ParseUnknownOperator),
        ("|| b", ParseUnknownOperator),
        ("a ? b", ParseUnsupportedToken),
        ("{}", ParseUnsupportedToken),
        ("[1, 2", ParseExpectedTokenType),
        ("[1 2]", ParseExpectedTokenType),
        ("[,]", ParseExpectedExpression),
        ("a.date", ParseUnExpectedKeyword),
        ("a.b.Count[0]", ParseUnExpectedKeyword),
        ("(a, b)", ParseUnsupportedSyntax),
        ("(a", ParseExpectedTokenType),
        ("a = ", ParseUnExpectedKeyword),
        ("()", ParseExpectedExpression),
        ("a IS 5", ParseExpected2TokenTypes),
        ("a IN 5", ParseExpectedLeftParenValueConstructor),
        ("a IN ()", ParseExpectedExpression),
        ("a BETWEEN 1", ParseExpectedKeyword),
        ("a NOT b", ParseSelectMissingFrom),
        ("a.'b'", ParseInvalidPathComponent),
        ("a[-1]", ParseInvalidPathComponent),
        ("`hello`", LexerInvalidIONLiteral),
        (&long_number, NumberFormatError),
        ("1e999", NumberFormatError),
        ("CASE END", ParseExpectedWhenClause),
        ("CASE ELSE 1 END", ParseExpectedWhenClause),
        ("CASE a END", ParseExpectedWhenClause),
        ("CASE WHEN a ELSE 1 END", ParseExpectedKeyword),
        ("CASE WHEN a THEN 1", ParseExpectedKeyword),
        ("CASE WHEN a THEN 1 ELSE 2 WHEN b THEN 3 END", ParseUnsupportedCaseClause),
        ("CAST a AS INT", ParseExpectedLeftParenAfterCast),
        ("CAST(a INT)", ParseExpectedKeyword),
        ("CAST(a)", ParseCastArity),
        ("CAST()", ParseCastArity),
        ("CAST(a, b)", ParseCastArity),
        ("CAST(a AS INT, b)", ParseCastArity),
        ("CAST(a AS )", ParseExpectedTypeName),
        ("CAST(a AS DATE)", ParseExpectedTypeName),
        ("CAST(a AS INT(4))", ParseInvalidTypeParam),
        ("CAST(a AS DECIMAL(39, 0))", ParseInvalidTypeParam),
        ("CAST(a AS DECIMAL(4, 5))", ParseInvalidTypeParam),
        ("CAST(a AS DECIMAL(4, 2, 1))", ParseInvalidTypeParam),
        ("CAST(a AS DECIMAL(x))", ParseExpectedNumber),
        ("CAST(a AS INT", ParseExpectedRightParenBuiltinFunctionCall),
        ("count", ParseExpectedLeftParenBuiltinFunctionCall),
        ("UPPER a", ParseExpectedLeftParenBuiltinFunctionCall),
        ("UPPER(a", ParseExpectedRightParenBuiltinFunctionCall),
        ("UPPER(a 'b')", ParseExpectedArgumentDelimiter),
        ("NULLIF(a 5)", ParseExpectedArgumentDelimiter),
        ("UPPER(a, b)", EvaluatorInvalidArguments),
        ("NULLIF(a)", EvaluatorInvalidArguments),
        ("UTCNOW(1)", EvaluatorInvalidArguments),
        ("COALESCE()", EvaluatorInvalidArguments),
        ("UPPER(*)", ParseUnsupportedCallWithStar),
        ("SUM(*)", ParseUnsupportedCallWithStar),
        ("SUM()", ParseNonUnaryAgregateFunctionCall),
        ("SUM(a, b)", ParseNonUnaryAgregateFunctionCall),
        ("COUNT(DISTINCT a)", ParseUnsupportedSyntax),
        ("SUBSTRING(a)", EvaluatorInvalidArguments),
        ("SUBSTRING(a, 1, 2, 3)", EvaluatorInvalidArguments),
        ("SUBSTRING(a b)", ParseExpected2TokenTypes),
        ("TRIM(LEADING a)", ParseExpectedKeyword),
        ("TRIM(a, b)", EvaluatorInvalidArguments),
        ("EXTRACT(week FROM a)", ParseExpectedDatePart),
        ("EXTRACT(year, a)", ParseExpectedKeyword),
        ("DATE_ADD('day', 1, a)", ParseExpectedDatePart),
        ("DATE_ADD(timezone_hour, 1, a)", ParseExpectedDatePart),
        ("DATE_ADD(day 1, a)", ParseExpectedArgumentDelimiter),
        ("DATE_ADD(day, 1)", EvaluatorInvalidArguments),
        ("SQRT(a)", UnsupportedFunction),
    ] {
        refused_expr(text, code);
    }
}

#[test]
fn errors_name_line_and_column() {
    let error = parse("SELECT a\nFROM S3Object\nWHERE a == 1").unwrap_err();
    assert_eq!(error.message, "an operator cannot stand here, at line 3, column 10");
}

#[test]
fn statements_have_a_length() {
    let statement = |length: usize| {
        let text = "SELECT '' FROM S3Object";
        text.replace("''", &format!("'{}'", "x".repeat(length - text.len())))
    };
    assert!(parse(&statement(MAX_LENGTH)).is_ok());
    refused(&statement(MAX_LENGTH + 1), Code::ExpressionTooLong);
}

#[test]
fn hostile_nesting_is_refused() {
    let wraps: [(&str, &str); 11] = [
        ("[", "]"),
        ("a = ", ""),
        ("(", ")"),
        ("-", ""),
        ("NOT ", ""),
        ("CASE WHEN ", " THEN 1 END"),
        ("UPPER(", ")"),
        ("CAST(", " AS INT)"),
        ("a IN (", ")"),
        ("a BETWEEN 1 AND ", ""),
        ("COALESCE(1, ", ")"),
    ];
    for (open, close) in wraps {
        let count = 20_000.min(MAX_LENGTH / (open.len() + close.len()) - 10);
        let text = format!("{}a{}", open.repeat(count), close.repeat(count));
        refused_expr(&text, Code::MaxOperatorsExceeded);
    }
    refused_expr(&format!("a{}", ".a".repeat(10_000)), Code::MaxOperatorsExceeded);
    refused_expr(&format!("a{}", " + a".repeat(10_000)), Code::MaxOperatorsExceeded);
    refused_expr(&format!("a{}", "+a".repeat(100_000)), Code::MaxOperatorsExceeded);
    // Nested chains: each is short and shallow for the parser, but the tree would be high.
    let text = (0..100).fold("a".to_owned(), |inner, _| format!("({inner}){}", "+a".repeat(100)));
    refused_expr(&text, Code::MaxOperatorsExceeded);
}

#[test]
fn long_chains_are_balanced() {
    let text = format!("a = 0{}", " OR a = 1".repeat(5_000));
    let query = parse(&format!("SELECT {text} FROM S3Object")).unwrap();
    let canonical = query.to_string();
    assert_eq!(parse(&canonical).unwrap(), query);
    let order = |text: &str| text.matches("a = 1").count();
    assert_eq!(order(&canonical), 5_000);
    refused_expr(&format!("a{}", " OR a".repeat(MAX_OPERATORS + 1)), Code::MaxOperatorsExceeded);
}
