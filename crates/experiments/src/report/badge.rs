//! Verdicts and counts as small pieces of markup.

use crate::markup::Markup;
use crate::wording::{readable, sentence};
use crate::{Basis, ClaimCounts, ClaimSource, ClaimState, ClaimVerdict, Paper};

/// The verdict of claims that hold because their number is an input or fitted, in filters and columns.
pub(super) const BY_CONSTRUCTION: &str = "by construction";

/// Returns the verdict as the filters name it.
pub(super) fn name(verdict: &ClaimVerdict<'_>) -> &'static str {
    if verdict.is_by_construction() { BY_CONSTRUCTION } else { verdict.state.name() }
}

/// Writes the verdict on a claim, as a symbol and a word.
pub(super) fn badge(html: &mut Markup, verdict: &ClaimVerdict<'_>) {
    let basis = verdict.claim.basis;
    html.raw(match (verdict.state, basis) {
        (ClaimState::Holds, None) => {
            "<span class=\"badge holds\"><i aria-hidden=\"true\">✓</i> holds</span>"
        }
        (ClaimState::Holds, Some(Basis::Fitted)) => {
            "<span class=\"badge given\"><i aria-hidden=\"true\">=</i> holds (fitted)</span>"
        }
        (ClaimState::Holds, Some(Basis::Input)) => {
            "<span class=\"badge given\"><i aria-hidden=\"true\">=</i> holds (input)</span>"
        }
        (ClaimState::Differs, _) => {
            "<span class=\"badge differs\"><i aria-hidden=\"true\">≠</i> differs</span>"
        }
        (ClaimState::External, _) => {
            "<span class=\"badge external\"><i aria-hidden=\"true\">↗</i> external</span>"
        }
        (ClaimState::Undecided, _) => {
            "<span class=\"badge undecided\"><i aria-hidden=\"true\">?</i> undecided</span>"
        }
    });
}

/// Writes the published number, marked if it was restored.
pub(super) fn published(html: &mut Markup, verdict: &ClaimVerdict<'_>) {
    html.text(readable(&verdict.claim.published));
    if verdict.claim.source == ClaimSource::Restored {
        html.raw(" <small><a href=\"#reading\">restored</a></small>");
    }
}

/// Writes the number that was found, or a dash.
pub(super) fn found(html: &mut Markup, verdict: &ClaimVerdict<'_>) {
    html.text(readable(verdict.found.unwrap_or("–")));
}

/// Writes a link to a claim in the index.
pub(super) fn link(html: &mut Markup, id: &str) {
    html.raw("<a class=\"id\" href=\"#").text(id).raw("\">").text(id).raw("</a>");
}

/// Writes the note of a verdict, if there is one, behind the cause of a difference.
pub(super) fn note(html: &mut Markup, verdict: &ClaimVerdict<'_>) {
    let cause = verdict.claim.cause.filter(|_| verdict.state == ClaimState::Differs);
    if verdict.note.is_none() && cause.is_none() {
        return;
    }
    html.raw("<p class=\"note\">").raw(match verdict.state {
        ClaimState::Differs if cause.is_none() => "Why: ",
        ClaimState::Differs => "",
        _ => "Note: ",
    });
    if let Some(cause) = cause {
        html.raw("<b>Why: ").text(cause.name()).raw(".</b> ");
    }
    html.text(sentence(verdict.note.unwrap_or_default())).raw("</p>");
}

/// Draws the counts as a bar. It repeats numbers that are beside it.
pub(super) fn bar(html: &mut Markup, counts: ClaimCounts) {
    html.raw("<span class=\"share\" aria-hidden=\"true\">");
    let mut part = |name: &'static str, count: usize| {
        if count > 0 {
            html.raw("<span class=\"").raw(name).raw("\" style=\"flex-grow:");
            html.text(count).raw("\"></span>");
        }
    };
    part("holds", counts.found());
    part("given", counts.by_construction());
    for state in ClaimState::ALL.into_iter().filter(|it| *it != ClaimState::Holds) {
        part(state.name(), counts.of(state));
    }
    html.raw("</span>");
}

/// The name of a paper in the navigation and the filters.
pub(super) const fn short_name(paper: Paper) -> &'static str {
    match paper {
        Paper::PushdownDb => "PushdownDB",
        Paper::Cheetah => "Cheetah",
        Paper::Icpe => "Computational storage",
    }
}
