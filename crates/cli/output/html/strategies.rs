//! The ways to run an operator, each with its prediction or the reason why it is not possible.

use sluicegate_engine::choice::Decision;

use crate::output::stats::seconds;
use sluicegate_experiments::Markup as Html;

/// Writes a table of the ways, with the chosen one marked, and their statements below.
pub(super) fn table(html: &mut Html, decision: &Decision) {
    if decision.ways.iter().all(|way| way.outcome.is_err()) {
        for way in &decision.ways {
            if let Err(why) = &way.outcome {
                html.raw("<p class=\"why\">").text(way.strategy).raw(": not possible: ");
                html.text(why).raw("</p>");
            }
        }
    } else {
        numbers(html, decision);
    }
    for note in decision.unmet.iter().chain(&decision.notes) {
        html.raw("<p class=\"note\">").text(note).raw("</p>");
    }
    statements(html, decision);
}

fn numbers(html: &mut Html, decision: &Decision) {
    html.raw("<table class=\"ways\"><thead><tr><th scope=\"col\">");
    html.text(decision.operator).raw("<th scope=\"col\">time<th scope=\"col\">cost");
    html.raw("<th scope=\"col\">link<th scope=\"col\" class=\"more\">scanned");
    html.raw("<th scope=\"col\" class=\"more\">requests</thead><tbody>");
    for (index, way) in decision.ways.iter().enumerate() {
        let taken = decision.chosen == Some(index);
        html.raw(if taken { "<tr class=\"taken\">" } else { "<tr>" });
        html.raw("<th scope=\"row\">").text(way.strategy);
        if taken {
            html.raw(" <span class=\"mark\">taken</span>");
        }
        match &way.outcome {
            Ok(numbers) => {
                html.raw("<td>").text(seconds(numbers.time.total()));
                html.raw("<td>").text(numbers.cost.total());
                html.raw("<td>").text(numbers.work.link);
                html.raw("<td class=\"more\">").text(numbers.work.scanned);
                html.raw("<td class=\"more\">").text(numbers.work.requests.total());
            }
            Err(why) => {
                html.raw("<td colspan=\"5\" class=\"why\">not possible: ").text(why);
            }
        }
    }
    html.raw("</tbody></table>");
}

fn statements(html: &mut Html, decision: &Decision) {
    let asked = || decision.ways.iter().filter(|way| way.statement.is_some());
    match asked().count() {
        0 => return,
        1 => html.raw("<details><summary>The statement</summary>"),
        _ => html.raw("<details><summary>The statements</summary>"),
    };
    html.raw("<dl class=\"statements\">");
    for way in asked() {
        html.raw("<dt>").text(way.strategy);
        html.raw("<dd><code>").text(way.statement.as_deref().unwrap_or_default()).raw("</code>");
    }
    html.raw("</dl></details>");
}
