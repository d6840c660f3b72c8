//! Runs the table of S3 Select's answers against this evaluator.

use sluicegate_conformance::table::{Case, Expected};

use super::run;

#[test]
fn our_evaluator_conforms() {
    let mut deviations = Vec::new();
    for case in Case::all() {
        let answer = run(&case.request(), case.bytes())
            .map(|(bytes, _)| String::from_utf8_lossy(&bytes).into_owned());
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
