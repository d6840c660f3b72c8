//! The query behind JOIN.

use std::collections::{HashMap, HashSet};

use super::BUILD_A;
use crate::experiment::opt;
use crate::experiment::trial::{Answer, Question, Row, Rows};
use crate::protocol::Query;

/// The entries of flow [`PROBE_B`](super::PROBE_B) whose key also occurs in flow [`BUILD_A`].
#[derive(Debug)]
pub(super) struct Matches;

fn builds(row: &Row<'_>) -> bool {
    row.flow() == BUILD_A
}

impl Question for Matches {
    fn optimum(&self, rows: &Rows<'_>) -> usize {
        let built: Vec<u64> = rows.kept().filter(builds).map(|row| row.key()).collect();
        let keys: HashSet<u64> = built.iter().copied().collect();
        let probes = rows.kept().filter(|row| !builds(row)).map(|row| row.key());
        built.len() + opt::join(probes, &keys)
    }

    fn answer(&self, rows: &Rows<'_>) -> Answer {
        let mut matches: HashMap<u64, u64> = HashMap::new();
        rows.kept().filter(builds).for_each(|row| *matches.entry(row.key()).or_default() += 1);
        let mut answer = Answer::new();
        for row in rows.kept().filter(|row| !builds(row)) {
            if let Some(&times) = matches.get(&row.key()) {
                *answer.entry(vec![row.key()]).or_default() += times;
            }
        }
        answer
    }

    fn in_protocol(&self) -> Option<Query> {
        Some(Query::Join)
    }
}
