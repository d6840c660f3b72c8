//! The bill of a statement: dollars by kind.

use sluicegate_costmodel::{Cost, Dollars};

use sluicegate_experiments::Markup as Html;

/// Draws a bar that is divided by the kinds of cost, with the sum of each kind.
pub(super) fn bill(html: &mut Html, cost: &Cost, prices: &str, provenance: &'static str) {
    let terms: Vec<_> = cost.terms().into_iter().enumerate().collect();
    let paid = || terms.iter().filter(|(_, (_, dollars))| *dollars > Dollars::ZERO);
    html.raw("<h3>Dollars by kind</h3><p class=\"about\">").raw(provenance);
    html.raw(", at the prices ").text(prices).raw("</p>");
    let total = cost.total();
    if total <= Dollars::ZERO {
        html.raw("<p>Nothing is paid for.</p>");
        return;
    }
    html.raw("<div class=\"bill\" aria-hidden=\"true\">");
    for (index, (_, dollars)) in paid() {
        html.raw("<i class=\"kind k").number(*index as f64).raw("\" style=\"width:");
        html.number(share(*dollars, total)).raw("%\"></i>");
    }
    html.raw("</div><table class=\"sums\"><tbody>");
    for (index, (name, dollars)) in paid() {
        html.raw("<tr><th scope=\"row\"><i class=\"swatch k").number(*index as f64);
        html.raw("\"></i>").text(name).raw("<td>").text(dollars).raw("<td>");
        html.text(format!("{:.0} %", share(*dollars, total)));
    }
    html.raw("<tr class=\"total\"><th scope=\"row\">total<td>").text(total);
    html.raw("<td></tbody></table>");
}

fn share(dollars: Dollars, total: Dollars) -> f64 {
    100.0 * dollars.0 / total.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_that_is_paid_for_is_shown() {
        let cost = Cost { requests: Dollars(0.25), compute: Dollars(0.75), ..Cost::default() };
        let mut html = Html::default();
        bill(&mut html, &cost, "<book>", "modelled");
        let html = html.as_str();
        for expected in ["requests<td>$0.25<td>25 %", "compute<td>$0.75<td>75 %", "&lt;book&gt;"] {
            assert!(html.contains(expected), "{html}");
        }
        assert!(!html.contains("scanned"), "{html}");
        let mut html = Html::default();
        bill(&mut html, &Cost::default(), "free", "counted");
        assert!(html.as_str().ends_with("<p>Nothing is paid for.</p>"));
    }
}
