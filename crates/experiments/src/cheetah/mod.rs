//! Cheetah (Tirmazi et al., SIGMOD 2020).

pub mod fig5;
pub mod fig7;
pub mod fig8;
pub mod theory;

use sluicegate_costmodel::Provenance;
use sluicegate_costmodel::completion::{Case, Completion, Figure, Testbed};

use crate::{Experiment, Table};

/// The experiments of this paper.
pub static EXPERIMENTS: &[Experiment] =
    &[theory::EXPERIMENT, fig5::EXPERIMENT, fig7::EXPERIMENT, fig8::EXPERIMENT];

/// Returns the points of a figure as a table.
fn table(figure: Figure, cases: &[Case]) -> Table {
    let row = |Case { query, system, value, completion }: &Case| {
        let Completion { rules, workers, network, master, drain } = *completion;
        let parts = [rules, workers, network, master, drain, completion.total()];
        let mut row = vec![query.clone(), system.name().to_owned(), value.to_string()];
        row.extend(parts.map(|part| format!("{:.3}", part.as_secs_f64())));
        row
    };
    Table {
        title: format!("Seconds of Figure {}", figure.number()),
        columns: vec![
            "query",
            "system",
            figure.axis(),
            "rules",
            "workers",
            "network",
            "master",
            "drain",
            "seconds",
        ],
        rows: cases.iter().map(row).collect(),
        provenance: Provenance::Modelled(Testbed::cheetah().name.clone().into()),
    }
}

/// Returns the points of a figure on the paper's testbed.
fn cases(figure: Figure) -> Vec<Case> {
    let testbed = Testbed::cheetah();
    figure.cases(testbed, &testbed.setup())
}
