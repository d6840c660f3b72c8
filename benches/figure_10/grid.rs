//! How good the choices of `auto` were, over all links and latencies.

use crate::report::{Cell, Compared, geometric_mean};
use crate::strategies::{AUTO, OFF};

/// What may be lost to a wrong choice, or to the noise of the machine.
const MARGIN: f64 = 1.05;

/// An item in a cell: what `auto` took, and what was possible.
struct Choice<'a> {
    best: &'a str,
    best_seconds: f64,
    off_seconds: f64,
    auto_seconds: f64,
}

impl<'a> Choice<'a> {
    fn of(compared: &'a Compared) -> Option<Self> {
        let auto_seconds = compared.auto()?.median();
        let others = compared.ways.iter().filter(|way| way.way.name != AUTO.name);
        // Pushdown off can be forced, too.
        let best = others
            .filter(|way| way.followed() || way.way.name == OFF.name)
            .min_by(|a, b| a.median().total_cmp(&b.median()))?;
        let (best, best_seconds) = (best.way.name, best.median());
        Some(Self { best, best_seconds, off_seconds: compared.off(), auto_seconds })
    }

    /// How much longer than the best way: 0 is as fast.
    fn regret(&self) -> f64 {
        self.auto_seconds / self.best_seconds - 1.0
    }
}

/// A line for each item and cell, and what all of them come to.
pub(crate) fn table(cells: &[Cell]) -> String {
    let mut text = format!(
        "\nRegret of auto\n{:<22} {:<9} {:>9} {:<9} {:>9} {:>9} {:>8}\n",
        "link, latency", "item", "off s", "best", "s", "auto s", "regret"
    );
    let (mut good, mut no_worse, mut all) = (0_usize, 0_usize, 0_usize);
    for cell in cells {
        let place = cell.settings.place();
        for compared in &cell.all {
            let Some(choice) = Choice::of(compared) else { continue };
            all += 1;
            good += usize::from(choice.auto_seconds <= MARGIN * choice.best_seconds);
            no_worse += usize::from(choice.auto_seconds <= MARGIN * choice.off_seconds);
            text += &format!(
                "{place:<22} {:<9} {:>9.3} {:<9} {:>9.3} {:>9.3} {:>6.0} %\n",
                compared.item.name,
                choice.off_seconds,
                choice.best,
                choice.best_seconds,
                choice.auto_seconds,
                100.0 * choice.regret(),
            );
        }
        let ratios = cell.all.iter().filter_map(|it| it.auto().map(|way| it.ratio(way)));
        text +=
            &format!("{place:<22} auto over off, geometric mean {:.2} x\n", geometric_mean(ratios));
    }
    text + &format!(
        "\nauto within 5 % of the best way: {good} of {all}; not slower than pushdown off by more than \
         5 %: {no_worse} of {all}. Measured: medians of the runs.\n"
    )
}
