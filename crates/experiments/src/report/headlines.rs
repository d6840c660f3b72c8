//! The claims that the first page shows.

use super::badge::short_name;
use crate::Paper;

/// A number of the papers that readers ask for first.
pub(super) struct Headline {
    pub(super) title: &'static str,
    /// The claims that decide it. The numbers of a single claim are shown; of several, how many hold.
    pub(super) claims: &'static [&'static str],
    /// What holding means, of several claims.
    pub(super) rule: &'static str,
}

impl Headline {
    const fn of(title: &'static str, claims: &'static [&'static str]) -> Self {
        Self { title, claims, rule: "" }
    }
}

pub(super) const HEADLINES: &[Headline] = &[
    Headline::of("Ten items with pushdown, times as fast", &["P01"]),
    Headline::of("Cost of ten items with pushdown", &["P02"]),
    Headline {
        title: "Seconds and cents of three filters, Table II",
        claims: &[
            "P17", "P18", "P19", "P20", "P21", "P22", "P23", "P24", "P25", "P26", "P27", "P28",
        ],
        rule: "A time holds within 10 %, a cost to the printed digit.",
    },
    Headline::of("Best false-positive rate of a Bloom join", &["P38"]),
    Headline::of("Group-by in the store, few groups, times as fast", &["P44"]),
    Headline::of("Rows in four of 100 groups", &["P47"]),
    Headline::of("Best sample for top-K", &["P53"]),
    Headline {
        title: "Cheetah prunes what Figure 10 shows",
        claims: &["C30", "C31", "C32", "C33", "C34", "C35"],
        rule: "Each claim has a rule of its own.",
    },
    Headline::of("Cheetah faster at twice the link rate", &["C26"]),
    Headline::of("Six stages without and with a device, seconds", &["I05"]),
    Headline::of("Speed-ups of queries in Spark", &["I10"]),
];

/// A paper on the first page.
pub(super) struct About {
    pub(super) paper: Paper,
    /// The fragment of its page, which is also the folder of its experiments.
    pub(super) page: &'static str,
    /// The name in headings, in the navigation and in filters.
    pub(super) name: &'static str,
    pub(super) citation: &'static str,
    /// What the paper does.
    pub(super) idea: &'static str,
    /// The claims that sum up its results.
    pub(super) results: &'static [&'static str],
}

pub(super) const PAPERS: [About; 3] = [
    About {
        paper: Paper::PushdownDb,
        page: "pushdowndb",
        name: short_name(Paper::PushdownDb),
        citation: "Yu, Youill, Woicik, Ghanem, Serafini, Aboulnaga, Stonebraker: PushdownDB: Accelerating a DBMS \
                   Using S3 Computation. ICDE 2020.",
        idea: "Filters, joins, group-by and top-K run partly in the object store, through S3 Select.",
        results: &["P01", "P02", "P11"],
    },
    About {
        paper: Paper::Cheetah,
        page: "cheetah",
        name: short_name(Paper::Cheetah),
        citation: "Tirmazi, Ben Basat, Gao, Yu: Cheetah: Accelerating Database Queries with Switch Pruning. \
                   SIGMOD 2020.",
        idea: "A programmable switch drops entries that cannot change the answer, before they reach the master.",
        results: &["C21", "C22", "C48"],
    },
    About {
        paper: Paper::Icpe,
        page: "icpe",
        name: short_name(Paper::Icpe),
        citation: "Lagrange, Li, Shayesteh: Modeling Analytics for Computational Storage. ICPE 2020.",
        idea: "A model estimates how much faster queries become if a storage device scans and filters their tables.",
        results: &["I10", "I11", "I25"],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims;

    #[test]
    fn every_named_claim_exists() {
        let named = HEADLINES.iter().flat_map(|it| it.claims);
        for id in named.chain(PAPERS.iter().flat_map(|it| it.results)) {
            assert!(claims().iter().any(|claim| claim.id == *id), "{id}");
        }
    }
}
