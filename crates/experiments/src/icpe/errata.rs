//! The arithmetic of the paper: printed ratios beside those of the printed numbers.

use sluicegate_costmodel::Provenance;

use super::paper::{PRESTO, SPARK, SPARK_DRIVES};
use crate::experiment::Method;
use crate::{Experiment, Outcome, Table};

/// The printed numbers that others contradict.
pub const EXPERIMENT: Experiment = Experiment {
    id: "icpe/errata",
    title: "Printed ratios beside those of the printed numbers",
    place: "ICPE §4.3, §6, Tables 2 and 3",
    method: Method::Computed(compute),
};

/// A printed ratio of two printed numbers.
struct Ratio {
    name: String,
    printed: f64,
    /// The numerator and the denominator, each with half a unit of its last digit.
    of: [(f64, f64); 2],
}

impl Ratio {
    fn new(name: impl Into<String>, printed: f64, of: [(f64, f64); 2]) -> Self {
        Self { name: name.into(), printed, of }
    }

    fn ratio(&self) -> f64 {
        self.of[0].0 / self.of[1].0
    }

    /// The ratios that the rounded numbers allow.
    fn range(&self) -> [f64; 2] {
        let [(above, above_off), (below, below_off)] = self.of;
        [(above - above_off) / (below + below_off), (above + above_off) / (below - below_off)]
    }

    fn agrees(&self) -> bool {
        let [least, most] = self.range();
        let digits = self.printed.to_string().split_once('.').map_or(0, |(_, it)| it.len());
        // The printed ratio is rounded, too.
        let off = 0.5 * (0..digits).fold(1.0, |unit, _| unit / 10.0);
        (least - off..=most + off).contains(&self.printed)
    }

    fn row(&self) -> Vec<String> {
        let [least, most] = self.range();
        vec![
            self.name.clone(),
            self.printed.to_string(),
            format!("{:.2}", self.ratio()),
            format!("{least:.2} to {most:.2}"),
            if self.agrees() { "agrees" } else { "differs" }.to_owned(),
        ]
    }
}

/// A whole number, which may be off by a half.
const fn whole(number: f64) -> (f64, f64) {
    (number, 0.5)
}

fn ratios() -> Vec<Ratio> {
    let mut ratios = Vec::new();
    for it in &SPARK {
        let name = format!("speed-up of Q{} in Table 2", it.query);
        ratios.push(Ratio::new(name, it.speedup, [whole(it.seconds), whole(it.offloaded)]));
    }
    for it in &PRESTO {
        let name = format!("speed-up of Q{} in Table 3", it.query);
        ratios.push(Ratio::new(name, it.speedup, [whole(it.seconds), whole(it.model_seconds)]));
    }
    for (query, printed) in [(9, 1.54), (49, 4.5), (75, 1.5), (76, 62.66)] {
        if let Some(it) = PRESTO.iter().find(|it| it.query == query) {
            let small = if it.model_read < 1.0 { 0.005 } else { 0.5 };
            let of = [whole(it.read), (it.model_read, small)];
            ratios.push(Ratio::new(format!("bytes of Q{query} in §6.4"), printed, of));
        }
    }
    ratios.push(bytes_of_q44());
    ratios
}

fn bytes_of_q44() -> Ratio {
    Ratio::new("bytes of Q44 in §6.4", 530.0, [whole(63.0), (0.12, 0.005)])
}

fn compute() -> Outcome {
    let mut outcome = Outcome::default();
    let bytes = bytes_of_q44();
    let [least, most] = bytes.range();
    outcome.decide("I22", format!("{:.0} times", bytes.ratio()), bytes.agrees());
    outcome.note(format!("the rounded 63 and 0.12 GB allow {least:.0} to {most:.0} times"));
    outcome.tables.push(Table {
        title: "Ratios of printed numbers".to_owned(),
        columns: vec!["ratio", "published", "of the printed numbers", "rounding allows", "verdict"],
        rows: ratios().iter().map(Ratio::row).collect(),
        provenance: Provenance::Counted,
    });
    outcome.tables.push(Table {
        title: "GB read in Table 2, beside bandwidth × seconds × 16 drives".to_owned(),
        columns: vec!["query", "published", "of bandwidth and time"],
        rows: SPARK
            .iter()
            .map(|it| {
                let read = it.bandwidth[0] * it.seconds * SPARK_DRIVES / 1000.0;
                vec![format!("Q{}", it.query), it.read.to_string(), format!("{read:.0}")]
            })
            .collect(),
        provenance: Provenance::Counted,
    });
    let texts = [
        ["GB that Q9 reads", "§4.3: 105", "Table 2: 1276"],
        ["joins of Q44 in Spark", "Figure 12: 5", "Table 2: 3"],
        ["time of a stage with the device", "§5.2: set-up + S/F/P", "Figure 5: the rest + set-up"],
    ];
    outcome.tables.push(Table {
        title: "Statements that contradict each other".to_owned(),
        columns: vec!["number", "one place", "another"],
        rows: texts.iter().map(|row| row.map(str::to_owned).to_vec()).collect(),
        provenance: Provenance::Published("ICPE 2020".into()),
    });
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_speedups_are_no_ratios_of_the_printed_seconds() {
        let all = ratios();
        let differing: Vec<_> =
            all.iter().filter(|it| !it.agrees()).map(|it| it.name.as_str()).collect();
        assert_eq!(differing, ["speed-up of Q49 in Table 3", "speed-up of Q75 in Table 3"]);
        let ratio = |at: usize| format!("{:.2}", all[at].ratio());
        assert_eq!((ratio(7), ratio(8)), ("5.75".to_owned(), "1.89".to_owned()));
    }
}
