//! Our numbers beside the published ones, as a chart.

use sluicegate_costmodel::Provenance;

use super::Report;
use crate::Chart;
use crate::chart::{Axis, Bar, Marks};

/// Fewer claims make no chart.
const FEWEST: usize = 8;
/// Numbers that differ by no more than this share are not drawn, but counted.
const EQUAL: f64 = 0.02;
/// Returns the chart of all claims whose published and found values are a number each; `None` if there are few. A bar is
/// ours divided by the paper's, so that claims of different units have one axis.
pub(super) fn chart(report: &Report<'_>) -> Option<Chart> {
    let ratio = |it: &crate::ClaimVerdict<'_>| {
        let (published, found) = both(&it.claim.published, it.found?)?;
        let name = format!("{}, {}: {}", it.claim.id, it.claim.class.name(), it.claim.published);
        Some((found / published, name))
    };
    let all: Vec<(f64, String)> = report.verdicts.iter().filter_map(ratio).collect();
    let is_equal = |ratio: f64| ratio.ln().abs() <= EQUAL.ln_1p();
    let mut apart: Vec<&(f64, String)> = all.iter().filter(|it| !is_equal(it.0)).collect();
    if all.len() < FEWEST || apart.is_empty() {
        return None;
    }
    apart.sort_by(|one, other| one.0.total_cmp(&other.0));
    let bar = |(ratio, name): &(f64, String)| Bar { name: name.clone(), lengths: vec![*ratio] };
    Some(Chart {
        title: format!(
            "Ours divided by the paper's, of {} claims of a single number; {} others are within {:.0} %",
            apart.len(),
            all.len() - apart.len(),
            100.0 * EQUAL
        ),
        x: Axis::logarithmic("times the paper's number; 1 is equal"),
        y: Axis::linear("claim, its evidence, and the published number"),
        marks: Marks::Bars {
            parts: vec!["ours / paper's".to_owned()],
            bars: apart.into_iter().map(bar).collect(),
            is_stacked: false,
        },
        provenance: Provenance::Published("the papers, in the names of the bars".into()),
    })
}

/// Returns both numbers if each text is a positive number and they have the same unit.
fn both(published: &str, found: &str) -> Option<(f64, f64)> {
    let ((published, unit), (found, other)) = (number(published)?, number(found)?);
    (unit == other && published > 0.0 && found > 0.0).then_some((published, found))
}

/// Returns the number at the start of a text that has no other digits, and its unit.
fn number(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let text = text.strip_prefix('$').unwrap_or(text);
    let is_part = |c: char| c.is_ascii_digit() || ".-+e,".contains(c);
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    let number = number.replace(',', "").parse().ok()?;
    let unit = rest.split_whitespace().next().unwrap_or_default();
    (!rest.contains(|c: char| c.is_ascii_digit())).then_some((number, unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_compared_if_they_have_the_same_unit() {
        for (published, found, expected) in [
            ("21.7 s", "21.93 s", Some((21.7, 21.93))),
            ("240,000 rows", "244949 rows", Some((240_000.0, 244_949.0))),
            ("$0.022", "$0.022", Some((0.022, 0.022))),
            ("+24 %", "19 % on average", Some((24.0, 19.0))),
            ("64 bits", "499649410 values", None),
            ("31 %", "1.80", None),
            ("-30 %", "-20 %", None),
            ("16, 5, 288", "16, 5, 288", None),
            ("481 × 19", "481 × 19", None),
            ("most", "94 %", None),
        ] {
            assert_eq!(both(published, found), expected, "{published} {found}");
        }
    }
}
