//! The verdict on each claim by the outcomes of experiments, and the counts of verdicts.

use std::fmt;

use crate::{Claim, ClaimClass, Outcome};

/// The state of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClaimState {
    /// The rule of the claim is satisfied.
    Holds,
    /// The rule is not satisfied.
    Differs,
    /// Other hardware or software decides the claim, so only the published number is shown.
    External,
    /// The experiment has not run, or it failed.
    Undecided,
}

impl ClaimState {
    /// All states.
    pub const ALL: [Self; 4] = [Self::Holds, Self::Differs, Self::External, Self::Undecided];

    /// The name of the state in lists.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Differs => "differs",
            Self::External => "external",
            Self::Undecided => "undecided",
        }
    }
}

/// A claim with its verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClaimVerdict<'a> {
    /// The claim.
    pub claim: &'a Claim,
    /// Its state.
    pub state: ClaimState,
    /// The number or word that was found.
    pub found: Option<&'a str>,
    /// The reason why the claim does not hold, or a condition under which it does.
    pub note: Option<&'a str>,
}

impl<'a> ClaimVerdict<'a> {
    /// Returns the verdict on a claim by these outcomes.
    #[must_use]
    pub fn of(claim: &'a Claim, outcomes: impl IntoIterator<Item = &'a Outcome>) -> Self {
        let mut verdicts = outcomes.into_iter().flat_map(|outcome| &outcome.verdicts);
        let decided = verdicts.find(|verdict| verdict.claim == claim.id);
        let state = match decided {
            Some(verdict) if verdict.holds => ClaimState::Holds,
            Some(_) => ClaimState::Differs,
            None if claim.class == ClaimClass::External => ClaimState::External,
            None => ClaimState::Undecided,
        };
        Self {
            claim,
            state,
            found: decided.map(|verdict| verdict.found.as_str()),
            note: decided.and_then(|verdict| verdict.note.as_deref()),
        }
    }

    /// Returns true if the claim holds because its number is an input or a constant is fitted to it.
    #[must_use]
    pub fn is_by_construction(&self) -> bool {
        self.state == ClaimState::Holds && self.claim.basis.is_some()
    }
}

/// The number of claims in each state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClaimCounts {
    states: [usize; ClaimState::ALL.len()],
    by_construction: usize,
}

impl ClaimCounts {
    /// Returns the number of claims in a state.
    #[must_use]
    pub const fn of(&self, state: ClaimState) -> usize {
        self.states[state as usize]
    }

    /// Returns the number of claims that hold because their number is an input or fitted.
    #[must_use]
    pub const fn by_construction(&self) -> usize {
        self.by_construction
    }

    /// Returns the number of claims that hold by what was found.
    #[must_use]
    pub const fn found(&self) -> usize {
        self.of(ClaimState::Holds) - self.by_construction
    }

    /// Returns the number of all claims.
    #[must_use]
    pub fn total(&self) -> usize {
        self.states.iter().sum()
    }
}

impl<'a> FromIterator<&'a ClaimVerdict<'a>> for ClaimCounts {
    fn from_iter<I: IntoIterator<Item = &'a ClaimVerdict<'a>>>(verdicts: I) -> Self {
        let mut counts = Self::default();
        for verdict in verdicts {
            counts.states[verdict.state as usize] += 1;
            counts.by_construction += usize::from(verdict.is_by_construction());
        }
        counts
    }
}

/// Shown as `148 claims: 21 hold (3 by construction), 1 differs, 24 are external, 102 are undecided`.
impl fmt::Display for ClaimCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |count: usize, one: &'static str, many: &'static str| {
            if count == 1 { one } else { many }
        };
        let [holds, differs, external, undecided] = self.states;
        write!(
            f,
            "{} {}: {holds} {}",
            self.total(),
            word(self.total(), "claim", "claims"),
            word(holds, "holds", "hold"),
        )?;
        if self.by_construction > 0 {
            write!(f, " ({} by construction)", self.by_construction)?;
        }
        write!(
            f,
            ", {differs} {}, {external} {} external",
            word(differs, "differs", "differ"),
            word(external, "is", "are"),
        )?;
        match undecided {
            0 => Ok(()),
            count => write!(f, ", {count} {} undecided", word(count, "is", "are")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims;

    #[test]
    fn a_claim_is_decided_by_the_outcome_that_names_it() {
        let mut outcome = Outcome::default();
        outcome.decide("P01", "6.9", true);
        outcome.decide("P02", "0 %", false);
        outcome.note("slow");
        let verdicts: Vec<_> =
            claims().iter().map(|claim| ClaimVerdict::of(claim, [&outcome])).collect();
        assert_eq!(verdicts[0].state, ClaimState::Holds);
        assert_eq!((verdicts[1].state, verdicts[1].note), (ClaimState::Differs, Some("slow")));
        let counts: ClaimCounts = verdicts.iter().collect();
        let external = claims().iter().filter(|it| it.class == ClaimClass::External).count();
        assert_eq!(counts.of(ClaimState::External), external);
        assert_eq!(counts.total(), 148);
        let open = 146 - external;
        let expected = format!(
            "148 claims: 1 holds, 1 differs, {external} are external, {open} are undecided"
        );
        assert_eq!(counts.to_string(), expected);
    }

    #[test]
    fn claims_that_hold_by_construction_are_counted_apart() {
        let mut outcome = Outcome::default();
        outcome.decide("P03", "$0.022", true);
        outcome.decide("P47", "58.5 %", true);
        outcome.decide("P04", "$1", false);
        let verdicts: Vec<_> = ["P03", "P04", "P47"]
            .iter()
            .filter_map(|id| claims().iter().find(|claim| claim.id == *id))
            .map(|claim| ClaimVerdict::of(claim, [&outcome]))
            .collect();
        let counts: ClaimCounts = verdicts.iter().collect();
        assert_eq!((counts.by_construction(), counts.found()), (1, 1));
        let expected = "3 claims: 2 hold (1 by construction), 1 differs, 0 are external";
        assert_eq!(counts.to_string(), expected);
    }
}
