//! Long chains of operators and deep nesting are answered up to a limit, and refused beyond it.

use super::Folder;

/// Returns a chain of so many operators.
fn chain(before: &str, operator: &str, operand: &str, operators: usize) -> String {
    format!("{before}{}", vec![operand; operators + 1].join(operator))
}

#[test]
fn chains_of_operators_never_overflow_the_stack() {
    let folder = Folder::new();
    std::thread::scope(|scope| {
        for (before, operator, operand, most) in [
            ("select ", "+", "1", 2000),
            ("select ", " or ", "true", 2000),
            ("select ", " and ", "true", 2000),
            ("select ", "||", "'a'", 2000),
            ("select 1", "::", "int", 2000),
            ("", " union all ", "select 1", 500),
        ] {
            let folder = &folder;
            scope.spawn(move || {
                // `1::int` begins with an operator, too.
                let most = if operator == "::" { most - 1 } else { most };
                let before = if operator == "::" { "select 1::" } else { before };
                let sql = chain(before, operator, operand, most);
                let output = folder.command(&["sql", "--format", "csv", "-c", &sql]).output();
                let output = output.unwrap();
                let said = String::from_utf8_lossy(&output.stderr);
                assert_eq!(output.status.code(), Some(0), "{operator}: {said}");
                let beyond = chain(before, operator, operand, most + 10);
                let output = folder.command(&["sql", "-c", &beyond]).output().unwrap();
                let said = String::from_utf8_lossy(&output.stderr);
                assert_eq!(output.status.code(), Some(1), "{operator}: {said}");
                let limit = "at most 2000, and 500 of UNION and JOIN; write a list as IN";
                assert!(said.contains(limit), "{operator}: {said}");
            });
        }
    });
}

#[test]
fn deep_nesting_is_named_and_never_a_syntax_error() {
    let folder = Folder::new();
    let nested = |before: &str, after: &str, levels: usize| {
        format!("select {}1{}", before.repeat(levels), after.repeat(levels))
    };
    let kinds = [
        ("case when true then ", " end"),
        ("case when ", " = 1 then 1 end"),
        ("case when true then 1 else ", " end"),
        ("(", ")"),
        ("abs(", ")"),
        ("[", "]"),
        ("- ", ""),
        ("not ", " = 1"),
    ];
    std::thread::scope(|scope| {
        for (before, after) in kinds {
            let folder = &folder;
            scope.spawn(move || {
                if before != "not " {
                    folder.rows(&nested(before, after, 50));
                }
                for levels in [51, 300] {
                    folder.fails(
                        &nested(before, after, levels),
                        &["nests deeper than 50 levels", "WITH part AS", "recursion_limit = 100"],
                    );
                }
            });
        }
    });
    // An operator before it counts as a level, too.
    for (before, after) in [
        ("case when 1 + 2 * 3 = 7 and 1 < 2 or ", " = 1 or false then 1 end"),
        ("1 + (", ")"),
        ("- abs(", ")"),
    ] {
        folder.rows(&nested(before, after, 25));
        folder.fails(&nested(before, after, 26), &["nests deeper than 50 levels"]);
    }
    // The parser reads these twice if there is an error inside them.
    for (before, after) in [("cast(", " as int)"), ("array[", "]")] {
        folder.rows(&nested(before, after, 16));
        folder
            .fails(&nested(before, after, 17), &["nests deeper than 50 levels", "CAST and ARRAY"]);
        folder.fails(&nested(before, " from", 40), &["nests deeper than 50 levels"]);
    }
    folder.rows(&format!("select {}true", "not ".repeat(50)));
    let raised = "set datafusion.sql_parser.recursion_limit = 100; ";
    folder.rows(&format!("{raised}{}", nested("case when true then ", " end", 90)));
    assert_eq!(folder.rows(&format!("select {}1{}", "(select ".repeat(12), ")".repeat(12))), ["1"]);
    for levels in [17, 24, 40] {
        let sql = format!("select {}1{}", "(select ".repeat(levels), ")".repeat(levels));
        folder.fails(&sql, &["nests deeper than 50 levels"]);
    }
    folder.fails(
        &format!("select * from {}(select 1){}", "(select * from ".repeat(40), ")".repeat(40)),
        &["nests deeper than 50 levels"],
    );
}
