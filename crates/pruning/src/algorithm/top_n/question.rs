//! The query behind TOP N.

use crate::experiment::opt;
use crate::experiment::question::counted;
use crate::experiment::trial::{Answer, Question, Rows};
use crate::protocol::Query;

/// The given number of greatest values.
#[derive(Debug)]
pub(super) struct Greatest(pub(super) u32);

impl Question for Greatest {
    fn optimum(&self, rows: &Rows<'_>) -> usize {
        opt::top_n(rows.kept().map(|row| row.value()), self.0 as usize)
    }

    fn answer(&self, rows: &Rows<'_>) -> Answer {
        let mut values: Vec<u32> = rows.kept().map(|row| row.value()).collect();
        values.sort_unstable_by(|a, b| b.cmp(a));
        counted(values.into_iter().take(self.0 as usize).map(|value| vec![value.into()]))
    }

    fn in_protocol(&self) -> Option<Query> {
        Some(Query::TopN { n: self.0 as usize })
    }
}
