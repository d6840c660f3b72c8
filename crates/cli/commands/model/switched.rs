//! A switch in a query, as operators with two ways each: with and without it.

use sluicegate_costmodel::{Objective, Scenario, SwitchDemand, choose};
use sluicegate_engine::Explanation;
use sluicegate_engine::choice::{Decision, Reason, Verdict};
use sluicegate_engine::operators::switch::SwitchEstimate;

/// Name of the operator in the engine's decisions, where it also gives reasons against a switch.
pub(super) const SWITCH: &str = "switch";

/// Operators that the workers run if a switch prunes, with the way that leaves groups or top-k rows to them.
pub(super) const LEFT_TO_WORKERS: [(&str, &str); 2] =
    [("group_by", "filtered"), ("top_k", "filtered")];

/// Returns the decision between running without and with the switch.
pub(super) fn decision(
    switched: &SwitchEstimate,
    scenario: &Scenario,
    objective: Objective,
) -> Decision {
    let Scenario { hardware, prices } = scenario;
    let [off, prune] = switched.demand.candidates(hardware);
    let choice = choose(off, [prune], hardware, prices, objective);
    let way = |it: &sluicegate_costmodel::Alternative<&'static str>| Verdict {
        strategy: it.strategy,
        statement: None,
        outcome: Ok(it.clone()),
    };
    Decision {
        operator: SWITCH,
        subject: switched.subject.clone(),
        chosen: Some(0),
        forced: false,
        ways: choice.alternatives().map(way).collect(),
        unmet: None,
        notes: Vec::new(),
        basis: None,
    }
}

/// Returns the query with a switch. If no rows would cross it, returns the query as it is, with the reasons.
pub(super) fn or_as_it_is(switched: Explanation, as_it_is: &Explanation) -> Explanation {
    if !switched.switched.is_empty() {
        return switched;
    }
    let reasons = switched.decisions.into_iter().filter(|it| it.operator == SWITCH);
    let mut same = as_it_is.clone();
    same.decisions.retain(|it| it.operator != SWITCH);
    same.decisions.extend(reasons);
    same
}

/// Returns a decision with the reason why no rows cross the switch, unless the engine has given reasons.
pub(super) fn nothing(explanation: &Explanation) -> Option<Decision> {
    let gave_reasons = explanation.decisions.iter().any(|it| it.operator == SWITCH);
    if gave_reasons || !explanation.switched.is_empty() {
        return None;
    }
    let [_, prune] = SwitchDemand::STRATEGIES;
    let in_store = |it: &&Decision| {
        let strategy = it.strategy().unwrap_or_default();
        let statement = it.verdict(strategy).and_then(|way| way.statement.as_deref());
        let filters = || statement.is_some_and(|it| it.contains(" WHERE "));
        matches!(strategy, "store" | "s3" | "case" | "hybrid" | "sampling" | "late")
            || strategy == "select" && filters()
    };
    let why = match explanation.decisions.iter().find(in_store) {
        Some(it) => format!(
            "the store does the {} of {} by `{}`, which leaves nothing to prune",
            it.operator,
            it.subject,
            it.strategy().unwrap_or_default()
        ),
        None => "the master needs every row: a switch prunes for WHERE, DISTINCT, GROUP BY with one MIN or \
                 MAX, HAVING, ORDER BY with LIMIT, joins and skylines"
            .to_owned(),
    };
    Some(Decision::refused(SWITCH, prune, "the query", Reason::new(why)))
}
