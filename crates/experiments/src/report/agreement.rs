//! Our numbers beside the published ones, as a chart.

use sluicegate_costmodel::Provenance;

use super::Report;
use crate::chart::{Axis, Marks, PointSeries};
use crate::{Chart, ClaimClass};

/// Fewer points make no chart.
const FEWEST: usize = 8;
/// A point is labelled if its numbers differ by this factor.
const APART: f64 = 1.25;

/// Returns the chart of all claims whose published and found values are a number each; `None` if there are few.
pub(super) fn chart(report: &Report<'_>) -> Option<Chart> {
    let mut count = 0;
    let mut series = Vec::new();
    for class in [ClaimClass::Counted, ClaimClass::Modelled, ClaimClass::Measured] {
        let of = report.verdicts.iter().filter(|it| it.claim.class == class);
        let points: Vec<(f64, f64, String)> = of
            .filter_map(|it| {
                let (published, found) = both(&it.claim.published, it.found?)?;
                let is_apart = (found / published).ln().abs() > APART.ln();
                let label = if is_apart { it.claim.id.clone() } else { String::new() };
                Some((published, found, label))
            })
            .collect();
        count += points.len();
        if !points.is_empty() {
            series.push(PointSeries { name: class.name().to_owned(), points, is_published: false });
        }
    }
    (count >= FEWEST).then(|| Chart {
        title: format!("{count} claims of a single number: on the line, ours is the paper's"),
        x: Axis::logarithmic("published"),
        y: Axis::logarithmic("found"),
        marks: Marks::Points(series),
        provenance: Provenance::Published("the papers, on the horizontal axis".into()),
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
    let is_part = |c: char| c.is_ascii_digit() || ".-+e".contains(c);
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    let number = number.parse().ok()?;
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
            ("2.4e5", "244949", Some((240_000.0, 244_949.0))),
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
