//! `sluice reproduce`: the papers' experiments and the verdicts on their claims.

use serde_json::Value;

use crate::cli::{ends, good, sluice};

#[test]
fn each_claim_has_a_verdict_or_the_reason_why_not() {
    let results: Value =
        serde_json::from_str(&good(&mut sluice(&["reproduce", "--format", "json"]))).unwrap();
    let claims = results["claims"].as_array().unwrap();
    assert_eq!(claims.len(), 148);
    for claim in claims {
        let is_decided = matches!(claim["verdict"].as_str(), Some("holds" | "differs"));
        assert_eq!(is_decided, claim["found"].is_string(), "{claim}");
        let is_external = claim["class"] == "external";
        assert_eq!(claim["verdict"] == "external", is_external, "{claim}");
        assert!(claim["verdict"] != "differs" || claim["note"].is_string(), "{claim}");
    }
}

#[test]
fn one_experiment_prints_its_numbers_and_claims() {
    let text = good(&mut sluice(&["reproduce", "pushdowndb/table2"]));
    for part in ["modelled for paper", "published cents", "P17", "14 claims: 14 hold, 0 differ"] {
        assert!(text.contains(part), "no {part} in {text}");
    }
    let rules = good(&mut sluice(&["reproduce", "--claims", "icpe", "--format", "csv"]));
    assert_eq!(rules.lines().count(), 28);
}

#[test]
fn an_unknown_experiment_is_refused_with_those_that_there_are() {
    let none = "there is no experiment `fig1`; there are pushdowndb/";
    ends(&mut sluice(&["reproduce", "fig1"]), 2, none);
    ends(&mut sluice(&["reproduce", "--claims", "fig1"]), 2, "no claim is of `fig1`");
}
