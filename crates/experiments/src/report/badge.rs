//! Verdicts and counts as small pieces of markup.

use crate::markup::Markup;
use crate::{ClaimCounts, ClaimSource, ClaimState, ClaimVerdict, Paper};

/// Writes the state of a claim, as a symbol and a word.
pub(super) fn badge(html: &mut Markup, state: ClaimState) {
    html.raw(match state {
        ClaimState::Holds => {
            "<span class=\"badge holds\"><i aria-hidden=\"true\">✓</i> holds</span>"
        }
        ClaimState::Differs => {
            "<span class=\"badge differs\"><i aria-hidden=\"true\">≠</i> differs</span>"
        }
        ClaimState::External => {
            "<span class=\"badge external\"><i aria-hidden=\"true\">↗</i> external</span>"
        }
        ClaimState::Undecided => {
            "<span class=\"badge undecided\"><i aria-hidden=\"true\">?</i> undecided</span>"
        }
    });
}

/// Writes the published number, marked if it was restored.
pub(super) fn published(html: &mut Markup, verdict: &ClaimVerdict<'_>) {
    html.text(&verdict.claim.published);
    if verdict.claim.source == ClaimSource::Restored {
        html.raw(" <small>restored</small>");
    }
}

/// Writes a link to a claim in the index.
pub(super) fn link(html: &mut Markup, id: &str) {
    html.raw("<a class=\"id\" href=\"#").text(id).raw("\">").text(id).raw("</a>");
}

/// Writes the note of a verdict, if there is one.
pub(super) fn note(html: &mut Markup, verdict: &ClaimVerdict<'_>) {
    if let Some(note) = verdict.note {
        html.raw("<p class=\"note\">").raw(match verdict.state {
            ClaimState::Differs => "Why: ",
            _ => "Note: ",
        });
        html.text(note).raw("</p>");
    }
}

/// Draws the counts as a bar. It repeats numbers that are beside it.
pub(super) fn bar(html: &mut Markup, counts: ClaimCounts) {
    html.raw("<span class=\"share\" aria-hidden=\"true\">");
    for state in ClaimState::ALL {
        if counts.of(state) > 0 {
            html.raw("<span class=\"").raw(state.name()).raw("\" style=\"flex-grow:");
            html.text(counts.of(state)).raw("\"></span>");
        }
    }
    html.raw("</span>");
}

/// The name of a paper in the filters.
pub(super) const fn short_name(paper: Paper) -> &'static str {
    match paper {
        Paper::PushdownDb => "PushdownDB",
        Paper::Cheetah => "Cheetah",
        Paper::Icpe => "ICPE",
    }
}
