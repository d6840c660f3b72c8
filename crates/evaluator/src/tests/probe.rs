//! Runs the questions of a probe against this evaluator and against stores that deviate.

use sluicegate_conformance::probe::{Facts, Question, Report, Verdict};
use sluicegate_conformance::{NoAnswer, RawAnswer};
use sluicegate_s3select::capabilities::{
    DataFormat, Exactness, Extension, LikePatterns, Operation, StoreCapabilities, TypeClass,
};
use sluicegate_s3select::dialect;
use std::collections::BTreeSet;

use super::run;

fn refused(code: &str, every_statement: bool) -> NoAnswer {
    NoAnswer::Refused { code: code.to_owned(), message: "x".to_owned(), every_statement }
}

/// Answers a question with this evaluator.
fn own(question: &Question) -> Result<RawAnswer, NoAnswer> {
    run(&question.request(), question.sample.bytes())
        .map(|(records, _)| RawAnswer { records, ..RawAnswer::default() })
        .map_err(|error| refused(error.code.as_str(), false))
}

fn facts() -> Facts {
    Facts {
        names_version: Some(true),
        extensions: Extension::ALL.into(),
        progress_came: true,
        ends_records: Some(true),
    }
}

fn report(answer: impl Fn(&Question) -> Result<RawAnswer, NoAnswer>, facts: &Facts) -> Report {
    let outcomes = Question::all().map(|question| {
        let outcome = question.judge(answer(&question).as_ref());
        (question, outcome)
    });
    Report::new(outcomes.collect(), facts)
}

#[test]
fn our_own_evaluator_answers_everything_rightly_and_is_trusted_as_such() {
    let report = report(own, &facts());
    for finding in &report.findings {
        assert_eq!(finding.verdict, Verdict::Works, "{finding:?}");
    }
    let own = StoreCapabilities::sluice();
    assert_eq!(report.profile, StoreCapabilities { name: "probed".to_owned(), ..own });
}

#[test]
fn without_its_extensions_the_same_answers_are_trusted_as_those_of_aws() {
    let facts = Facts { extensions: BTreeSet::new(), ..facts() };
    let profile = report(own, &facts).profile;
    assert!(profile.relies_on.is_empty());
    let exactness = |operation, class| profile.exactness(DataFormat::Csv, operation, class);
    assert_eq!(exactness(Operation::Equal, TypeClass::Int), Exactness::Superset);
    assert_eq!(exactness(Operation::Equal, TypeClass::Float), Exactness::No);
    assert_eq!(exactness(Operation::Sum, TypeClass::Int), Exactness::Exact);
    assert_eq!(exactness(Operation::Sum, TypeClass::Decimal), Exactness::No);
    assert_eq!(exactness(Operation::Project, TypeClass::Decimal), Exactness::Exact);
}

#[test]
fn a_store_without_select_is_sent_nothing() {
    let refuse = |_: &Question| Err(refused("NotImplemented", true));
    let report = report(refuse, &Facts::default());
    assert!(!report.profile.has_select());
    // An error is the right answer to some questions, but a store that rejects everything supports no feature.
    assert!(report.profile.exactness.is_empty());
    assert!(report.count(Verdict::Wrong) == 0 && report.count(Verdict::Refused) > 50);
}

#[test]
fn what_goes_wrong_is_not_trusted() {
    // For each question that a feature rests on, test a store that answers it wrongly.
    let wrong = || Ok(RawAnswer { records: b"wrong\n".to_vec(), ..RawAnswer::default() });
    let right = report(own, &facts()).profile;
    for question in Question::all() {
        let deviating = |other: &Question| {
            let same = other.feature == question.feature;
            if same { wrong() } else { own(other) }
        };
        let report = report(deviating, &facts());
        assert_eq!(report.count(Verdict::Wrong), 1, "{}", question.feature);
        // One wrong answer is enough to distrust everything that rested on this crate's semantics.
        assert!(report.profile.relies_on.is_empty(), "{}", question.feature);
        assert_ne!(report.profile, right, "{}", question.feature);
    }
}

#[test]
fn single_deviations_take_away_what_rests_on_them() {
    let without = |feature: &str| {
        assert!(Question::all().any(|question| question.feature == feature), "{feature}");
        let refuse = |question: &Question| {
            if question.feature == feature {
                return Err(refused("InternalError", false));
            }
            own(question)
        };
        report(refuse, &facts()).profile
    };
    let csv = |profile: &StoreCapabilities, operation, class| {
        profile.exactness(DataFormat::Csv, operation, class)
    };
    assert!(!without("NOT IN").syntax.not_in);
    assert!(!without("CASE with an operand").syntax.case);
    assert_eq!(without("LIKE that must backtrack").syntax.like, LikePatterns::Affix);
    assert!(without("NULL < 1 is not TRUE, and no error").null_operands_fail);
    assert!(without("NOT IN").internal_error_is_final);
    assert!(!without("a ScanRange from the first byte").scan_ranges);
    assert_eq!(without("whole numbers beyond 2^53").max_exact_int, Some((1 << 53) - 1));
    assert_eq!(without("a statement of 256 KiB").max_expression_bytes, 64 << 10);
    let profile = without("SUM beyond 2^53");
    assert_eq!(csv(&profile, Operation::Sum, TypeClass::Int), Exactness::No);
    assert!(!profile.syntax.aggregates);
    let profile = without("CSV fields come back as they are");
    assert_eq!(csv(&profile, Operation::Project, TypeClass::String), Exactness::No);
    assert_eq!(csv(&profile, Operation::CountRows, TypeClass::String), Exactness::No);
    let profile = without("text compares bytewise");
    assert_eq!(csv(&profile, Operation::Order, TypeClass::String), Exactness::No);
}

#[test]
fn questions_about_foreign_objects_name_no_column_and_stop_at_one_row() {
    let input = Question::all().next().unwrap().request().input;
    let requests: Vec<_> =
        Question::all().filter_map(|question| question.request_about(&input, None)).collect();
    assert!(requests.len() > 20);
    for request in requests {
        let (_, condition) = request.expression.split_once(" WHERE ").unwrap();
        assert!(!condition.contains("s.") && condition.ends_with(" LIMIT 1"), "{condition}");
        dialect::parse(&request.expression).unwrap();
    }
}

#[test]
fn features_are_named_once() {
    let mut names: Vec<_> = Question::all().map(|question| question.feature).collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all);
}
