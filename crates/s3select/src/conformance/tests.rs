use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use super::*;
use crate::error::{Origin, SelectError};
use crate::evaluate::{Evaluation, Sink, Stats};

#[derive(Default)]
struct Answer(Vec<u8>);

impl Sink for Answer {
    fn records(&mut self, bytes: bytes::Bytes) -> ControlFlow<()> {
        self.0.extend_from_slice(&bytes);
        ControlFlow::Continue(())
    }

    fn progress(&mut self, _: &Stats) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

fn run(case: &Case) -> Result<String, SelectError> {
    let object = Arc::new(case.bytes());
    let mut answer = Answer::default();
    Evaluation::prepare(&case.request(), object)?.run(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer.0).into_owned())
}

#[test]
fn our_evaluator_conforms() {
    let mut deviations = Vec::new();
    for case in Case::all() {
        let answer = run(&case);
        let conforms = match (&answer, case.expected) {
            (Ok(rows), Expected::Rows(expected)) => rows == expected,
            (Err(error), Expected::Error(code)) => error.code == code,
            _ => false,
        };
        if !conforms {
            let expected = case.expected;
            deviations.push(format!(
                "{}\n  {:?}: {answer:?} instead of {expected:?}",
                case.statement(),
                case.rule
            ));
        }
    }
    assert!(deviations.is_empty(), "{} deviations\n{}", deviations.len(), deviations.join("\n"));
}

#[test]
fn cases_are_many_and_distinct() {
    let cases: Vec<_> = Case::all().collect();
    let of = |case: &Case| (format!("{:?}", case.request()), case.bytes());
    let questions: HashSet<_> = cases.iter().map(of).collect();
    assert_eq!(questions.len(), cases.len());
    assert!(cases.len() > 300, "{}", cases.len());
    assert!(cases.iter().all(|case| !case.rule.is_empty()));
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
        // Its statement would have to be longer than 256 KiB; the parser's tests have it.
        let known = expected.contains(code) || *code == SelectErrorCode::ExpressionTooLong;
        assert!(known || !matches!(code.origin(), Origin::Statement | Origin::Both), "{code}");
    }
}
