use std::collections::HashSet;

use sluicegate_s3select::error::{Origin, SelectErrorCode};

use super::*;

#[test]
fn cases_are_many_and_distinct() {
    let cases: Vec<_> = Case::all().collect();
    let of = |case: &Case| (format!("{:?}", case.request()), case.bytes());
    let mut questions = HashSet::new();
    let twice = cases.iter().filter(|case| !questions.insert(of(case)));
    assert_eq!(twice.map(|case| case.rule).collect::<Vec<_>>(), Vec::<&str>::new());
    assert!(cases.len() > 300, "{}", cases.len());
    assert!(cases.iter().all(|case| !case.rule.is_empty()));
}

#[test]
fn rules_are_marked_as_the_module_says() {
    for Case { rule, .. } in Case::all() {
        let marks = ["documented", "ours", "extension", "deviation"];
        let marked: Vec<_> = marks.iter().filter(|mark| rule.contains(**mark)).collect();
        let in_place = match marked[..] {
            [] => true,
            [mark] if *mark == "documented" => rule.starts_with("documented: "),
            [mark] => rule.ends_with(&format!(", {mark}")),
            _ => false,
        };
        assert!(in_place, "{rule}");
    }
}

#[test]
fn no_case_expects_what_never_happens() {
    for case in Case::all() {
        if let Expected::Error(code) = case.expected {
            assert!(!matches!(code.origin(), Origin::Never(_)), "{code}");
        }
    }
}

#[test]
fn every_error_of_statements_has_a_case() {
    let expected: HashSet<_> = Case::all()
        .filter_map(|case| match case.expected {
            Expected::Error(code) => Some(code),
            Expected::Rows(_) => None,
        })
        .collect();
    for code in SelectErrorCode::ALL {
        // A case would need a statement longer than 256 KiB; the tests of the parser have one.
        let known = expected.contains(code) || *code == SelectErrorCode::ExpressionTooLong;
        assert!(known || !matches!(code.origin(), Origin::Statement | Origin::Both), "{code}");
    }
}
