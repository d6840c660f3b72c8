//! The quality of the choices of `auto`, over all links and latencies.

use crate::measure::{Measured, median};
use crate::report::{Cell, Compared, geometric_mean};
use crate::strategies::{AUTO, OFF};

/// Factor by which `auto` may be slower, for wrong choices or the machine's noise.
const MARGIN: f64 = 1.05;

/// The ways of an item in a cell: the best, pushdown off, and `auto`.
struct Choice<'a> {
    best: &'a Measured,
    off: &'a Measured,
    auto: &'a Measured,
}

impl<'a> Choice<'a> {
    fn from_compared(compared: &'a Compared) -> Option<Self> {
        let auto = compared.auto()?;
        let others = compared.ways.iter().filter(|way| way.way.name != AUTO.name);
        // Pushdown off can always be forced.
        let best = others
            .filter(|way| way.followed() || way.way.name == OFF.name)
            .min_by(|a, b| a.median().total_cmp(&b.median()))?;
        Some(Self { best, off: compared.ways.first()?, auto })
    }

    /// Returns the time of `auto` divided by that of the best way.
    fn over_best(&self) -> f64 {
        self.auto.times_of(self.best)
    }
}

/// Formats a line for each item and cell, and a summary.
pub(crate) fn table(cells: &[Cell]) -> String {
    let mut text = format!(
        "\nRegret of auto\n{:<22} {:<9} {:>9} {:<9} {:>9} {:>9} {:>8}\n",
        "link, latency", "item", "off s", "best", "s", "auto s", "regret"
    );
    let (mut good, mut no_worse, mut all) = (0_usize, 0_usize, 0_usize);
    let mut scatter = Vec::new();
    for cell in cells {
        let place = cell.settings.place();
        for compared in &cell.all {
            let Some(choice) = Choice::from_compared(compared) else { continue };
            all += 1;
            good += usize::from(choice.over_best() <= MARGIN);
            no_worse += usize::from(choice.auto.times_of(choice.off) <= MARGIN);
            scatter.extend(compared.ways.iter().flat_map(Measured::scatter));
            text += &format!(
                "{place:<22} {:<9} {:>9.3} {:<9} {:>9.3} {:>9.3} {:>6.0} %\n",
                compared.item.name,
                choice.off.median(),
                choice.best.way.name,
                choice.best.median(),
                choice.auto.median(),
                100.0 * (choice.over_best() - 1.0),
            );
        }
        let ratios = cell.all.iter().filter_map(|it| it.auto().map(|way| it.ratio(way)));
        text +=
            &format!("{place:<22} auto over off, geometric mean {:.2} x\n", geometric_mean(ratios));
    }
    text + &format!(
        "\nauto within 5 % of the best way: {good} of {all}; not slower than pushdown off by more than \
         5 %: {no_worse} of {all}. Measured: seconds are medians of the runs; regret is the median \
         over the rounds, in each of which auto and the best way ran one after the other. A run was off \
         the median of its way by {:.1} % in the median.\n",
        100.0 * median(&scatter)
    )
}
