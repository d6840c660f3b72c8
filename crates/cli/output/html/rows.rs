//! Where the boxes of a picture stand.

use sluicegate_engine::plan_graph::{Picture, Place};

/// A line of a picture, which reads from the top to the bottom.
///
/// What an operator puts out goes down to the operator that takes it, on a track of its own, past
/// all that stands between. Tracks are counted from the right. What goes past an operator is
/// further to the right than it, so that no two tracks cross.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    /// The operator.
    pub(crate) operator: usize,
    /// The switch that the rows of a scan pass on their way here, if it is the next operator.
    pub(crate) switch: Option<usize>,
    /// What goes past: operators that put it out, from the right.
    pub(crate) past: Vec<usize>,
    /// What goes in, from the right. It is on the tracks after those that go past; what comes out is on
    /// the first of these.
    pub(crate) inputs: Vec<usize>,
}

impl Row {
    /// The operator whose rows leave this line.
    pub(crate) fn puts_out(&self) -> usize {
        self.switch.unwrap_or(self.operator)
    }
}

/// The lines of a picture.
pub(crate) fn rows(picture: &Picture) -> Vec<Row> {
    let operators = &picture.operators;
    let mut rows: Vec<Row> = Vec::with_capacity(operators.len());
    let mut waiting: Vec<usize> = Vec::new();
    for (index, operator) in operators.iter().enumerate() {
        let past = waiting.len().saturating_sub(operator.inputs.len());
        let inputs = waiting.split_off(past);
        let from = rows.last_mut().filter(|row| {
            let is_scan = operators[row.operator].place == Place::Store;
            is_scan && row.switch.is_none() && inputs == [row.operator]
        });
        match from {
            Some(scan) if operator.place == Place::Switch => scan.switch = Some(index),
            _ => rows.push(Row { operator: index, switch: None, past: waiting.clone(), inputs }),
        }
        waiting.push(index);
    }
    rows
}

/// The most tracks that are beside each other anywhere.
pub(crate) fn tracks(rows: &[Row]) -> usize {
    rows.iter().map(|row| row.past.len() + row.inputs.len().max(1)).max().unwrap_or(1)
}

#[cfg(test)]
pub(super) mod tests {
    use sluicegate_engine::plan_graph::Operator;

    use super::*;

    /// An operator that takes the rows of others.
    pub(crate) fn operator(place: Place, title: &str, inputs: &[usize]) -> Operator {
        Operator {
            place,
            title: title.to_owned(),
            subject: (place == Place::Store).then(|| format!("s3://b/{title}")),
            detail: String::new(),
            inputs: inputs.to_vec(),
            decision: None,
            flow: None,
        }
    }

    /// Two scans, one of them through a switch, and a third one that is joined with both.
    pub(crate) fn joins() -> Picture {
        let operators = vec![
            operator(Place::Store, "a", &[]),
            operator(Place::Store, "b", &[]),
            operator(Place::Switch, "Prune", &[1]),
            operator(Place::Client, "Join", &[0, 2]),
            operator(Place::Store, "c", &[]),
            operator(Place::Client, "Join", &[3, 4]),
            operator(Place::Switch, "Prune", &[5]),
            operator(Place::Client, "Top 10", &[6]),
        ];
        Picture { operators, left_out: 1 }
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
        // What leaves a line goes past the next, or into it, on the same track.
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
        assert_eq!((rows(&Picture::default()), tracks(&[])), (Vec::new(), 1));
    }
}
