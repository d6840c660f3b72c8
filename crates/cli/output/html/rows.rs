//! The layout of a picture's boxes.

use sluicegate_engine::plan_graph::{ExecutionSite, PlanGraph};

/// A row of a picture, which reads from top to bottom.
///
/// The output of an operator flows down to the operator that consumes it, on a track of its own, past all operators
/// between them. Tracks are counted from the right. Those that pass an operator are to the right of its own, so that
/// no two tracks cross.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    /// Index of the operator.
    pub(crate) operator: usize,
    /// Index of the switch that the rows of a scan pass on their way to the client, if it is the next operator.
    pub(crate) switch: Option<usize>,
    /// Operators whose output passes this row, from the right.
    pub(crate) past: Vec<usize>,
    /// Operators whose output this row consumes, from the right. Their tracks follow those that pass; the row's own
    /// output takes the first of them.
    pub(crate) inputs: Vec<usize>,
}

impl Row {
    /// Returns the operator whose rows leave this row.
    pub(crate) fn puts_out(&self) -> usize {
        self.switch.unwrap_or(self.operator)
    }
}

/// Computes the rows of a picture.
pub(crate) fn rows(picture: &PlanGraph) -> Vec<Row> {
    let operators = &picture.operators;
    let mut rows: Vec<Row> = Vec::with_capacity(operators.len());
    let mut waiting: Vec<usize> = Vec::new();
    for (index, operator) in operators.iter().enumerate() {
        let past = waiting.len().saturating_sub(operator.inputs.len());
        let inputs = waiting.split_off(past);
        let from = rows.last_mut().filter(|row| {
            let is_scan = operators[row.operator].place == ExecutionSite::Store;
            is_scan && row.switch.is_none() && inputs == [row.operator]
        });
        match from {
            Some(scan) if operator.place == ExecutionSite::Switch => scan.switch = Some(index),
            _ => rows.push(Row { operator: index, switch: None, past: waiting.clone(), inputs }),
        }
        waiting.push(index);
    }
    rows
}

/// Returns the most tracks that lie next to each other.
pub(crate) fn tracks(rows: &[Row]) -> usize {
    rows.iter().map(|row| row.past.len() + row.inputs.len().max(1)).max().unwrap_or(1)
}

#[cfg(test)]
pub(super) mod tests {
    use sluicegate_engine::plan_graph::Operator;

    use super::*;

    /// Builds an operator that consumes the rows of others.
    pub(crate) fn operator(place: ExecutionSite, title: &str, inputs: &[usize]) -> Operator {
        Operator {
            place,
            title: title.to_owned(),
            subject: (place == ExecutionSite::Store).then(|| format!("s3://b/{title}")),
            detail: String::new(),
            inputs: inputs.to_vec(),
            decision: None,
            flow: None,
        }
    }

    /// Builds two scans, one of them through a switch, and a third scan that is joined with both.
    pub(crate) fn joins() -> PlanGraph {
        let operators = vec![
            operator(ExecutionSite::Store, "a", &[]),
            operator(ExecutionSite::Store, "b", &[]),
            operator(ExecutionSite::Switch, "Prune", &[1]),
            operator(ExecutionSite::Client, "Join", &[0, 2]),
            operator(ExecutionSite::Store, "c", &[]),
            operator(ExecutionSite::Client, "Join", &[3, 4]),
            operator(ExecutionSite::Switch, "Prune", &[5]),
            operator(ExecutionSite::Client, "Top 10", &[6]),
        ];
        PlanGraph { operators, left_out: 1 }
    }

    #[test]
    fn what_goes_past_keeps_its_track() {
        let rows = rows(&joins());
        let shape: Vec<_> = rows
            .iter()
            .map(|row| (row.operator, row.switch, row.past.clone(), row.inputs.clone()))
            .collect();
        let expected = [
            (0, None, vec![], vec![]),
            (1, Some(2), vec![0], vec![]),
            (3, None, vec![], vec![0, 2]),
            (4, None, vec![3], vec![]),
            (5, None, vec![], vec![3, 4]),
            (6, None, vec![], vec![5]),
            (7, None, vec![], vec![6]),
        ];
        assert_eq!(shape, expected);
        assert_eq!(tracks(&rows), 2);
        // An output passes the next row, or enters it, on the same track.
        for (row, next) in rows.iter().zip(&rows[1..]) {
            let mut leaving = row.past.clone();
            leaving.push(row.puts_out());
            let mut arriving = next.past.clone();
            arriving.extend(&next.inputs);
            assert_eq!(leaving, arriving);
        }
    }

    #[test]
    fn an_empty_picture_has_no_lines() {
        assert_eq!((rows(&PlanGraph::default()), tracks(&[])), (Vec::new(), 1));
    }
}
