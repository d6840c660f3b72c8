//! Long chains of operators are answered up to a limit, and refused beyond it.

use super::Folder;

/// A chain of so many operators, which takes a statement of its own.
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
