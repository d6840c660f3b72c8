//! Scales: from values to places on the page.

use super::number::{number, power, tick};

/// The part of a logarithmic axis that is left to zeros.
const ZERO: f64 = 0.08;

/// A scale with its ticks.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Scale {
    low: f64,
    high: f64,
    /// The places of both ends, in points.
    range: [f64; 2],
    kind: Kind,
    /// Values and labels.
    pub(super) ticks: Vec<(f64, String)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Linear,
    /// True if zeros have a place of their own at the lower end.
    Logarithmic {
        zeros: bool,
    },
}

impl Scale {
    /// A scale on which all of these values have a place.
    pub(super) fn new(
        values: impl IntoIterator<Item = f64>,
        is_logarithmic: bool,
        is_padded: bool,
        range: [f64; 2],
    ) -> Self {
        let values: Vec<f64> = values.into_iter().filter(|it| it.is_finite()).collect();
        match is_logarithmic && values.iter().any(|&it| it > 0.0) {
            true => Self::logarithmic(&values, is_padded, range),
            false => Self::linear(&values, is_padded, range),
        }
    }

    /// A linear scale from a round number to a round number if padded, else from the least to the greatest value.
    fn linear(values: &[f64], is_padded: bool, range: [f64; 2]) -> Self {
        let (mut low, mut high) = ends(values);
        // Small numbers are compared with 0; numbers that hardly differ are compared with each other.
        if is_padded && low > 0.0 && low < 0.6 * high {
            low = 0.0;
        }
        if high <= low {
            high = low.max(0.0) + if low == 0.0 { 1.0 } else { 0.2 * low.abs() };
            low = low.min(0.0);
        }
        let step = round_step(high - low);
        if is_padded {
            low = (low / step + 1e-9).floor() * step;
            high = (high / step - 1e-9).ceil() * step;
        }
        let first = (low / step - 1e-9).ceil();
        let steps = (0..12).map(|at| (first + f64::from(at)) * step);
        let ticks = steps.take_while(|it| *it <= high + step * 1e-6);
        let ticks = ticks.map(|it| (it, tick(it, step))).collect();
        Self { low, high, range, kind: Kind::Linear, ticks }
    }

    fn logarithmic(values: &[f64], is_padded: bool, range: [f64; 2]) -> Self {
        let above: Vec<f64> = values.iter().copied().filter(|it| *it > 0.0).collect();
        let zeros = above.len() < values.len();
        let (mut low, mut high) = ends(&above);
        if is_padded || high <= low {
            let [least, most] = [round_down(low), round_up(high)];
            (low, high) = if most > least { (least, most) } else { (low / 2.0, high * 2.0) };
        }
        let mut ticks = logarithmic_ticks(low, high);
        if zeros {
            ticks.insert(0, (0.0, "0".to_owned()));
        }
        Self { low, high, range, kind: Kind::Logarithmic { zeros }, ticks }
    }

    /// Puts the ticks at the values themselves, if these are few.
    pub(super) fn with_ticks_at(mut self, values: impl IntoIterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.into_iter().filter(|it| it.is_finite()).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        if (2..=8).contains(&values.len()) && self.kind != Kind::Linear {
            let is_power = |it: &f64| *it > 0.0 && (it.log10() - it.log10().round()).abs() < 1e-9;
            let label = if values.iter().all(is_power) { power } else { number };
            self.ticks = values.into_iter().map(|it| (it, label(it))).collect();
        }
        self
    }

    /// Returns the place of a value, within the range.
    pub(super) fn at(&self, value: f64) -> f64 {
        let [start, end] = self.range;
        let share = match self.kind {
            Kind::Linear => (value - self.low) / (self.high - self.low),
            Kind::Logarithmic { zeros } => {
                let rest = if zeros { ZERO } else { 0.0 };
                let share = (value / self.low).ln() / (self.high / self.low).ln();
                if value > 0.0 { rest + (1.0 - rest) * share } else { 0.0 }
            }
        };
        start + (end - start) * share.clamp(0.0, 1.0)
    }

    /// Removes ticks whose labels, this wide each, come too close to each other. On a linear scale, the others stay
    /// evenly spaced.
    pub(super) fn thin(&mut self, wide: impl Fn(&str) -> f64) {
        let ticks = std::mem::take(&mut self.ticks);
        let are_apart = |(one, text): &(f64, String), (other, label): &(f64, String)| {
            let apart = (self.at(*one) - self.at(*other)).abs();
            apart >= f64::midpoint(wide(text), wide(label))
        };
        if self.kind == Kind::Linear {
            let fits = |step: &usize| {
                let mut pairs =
                    ticks.iter().step_by(*step).zip(ticks.iter().step_by(*step).skip(1));
                pairs.all(|(one, next)| are_apart(one, next))
            };
            let step = (1..=ticks.len()).find(fits).unwrap_or(1);
            self.ticks = ticks.into_iter().step_by(step).collect();
            return;
        }
        let mut kept: Vec<(f64, String)> = Vec::new();
        let last = ticks.len().saturating_sub(1);
        for (at, tick) in ticks.into_iter().enumerate() {
            // The last label stays instead of those before it.
            while at == last
                && kept.len() > 1
                && kept.last().is_some_and(|it| !are_apart(it, &tick))
            {
                kept.pop();
            }
            if kept.last().is_none_or(|before| are_apart(before, &tick)) {
                kept.push(tick);
            }
        }
        self.ticks = kept;
    }
}

fn ends(values: &[f64]) -> (f64, f64) {
    let fold = |by: fn(f64, f64) -> f64| values.iter().copied().reduce(by).unwrap_or(0.0);
    (fold(f64::min), fold(f64::max))
}

/// Returns 1, 2 or 5 times a power of ten, about a fifth of a span.
fn round_step(span: f64) -> f64 {
    let rough = span / 5.0;
    let power = 10_f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|it| rough <= it * power * 1.0001);
    factor.unwrap_or(10.0) * power
}

const MANTISSAS: [f64; 3] = [1.0, 2.0, 5.0];

fn power_below(value: f64) -> i32 {
    // Powers of f64 are within i32.
    (value.log10() + 1e-9).floor() as i32
}

fn round_down(value: f64) -> f64 {
    let power = 10_f64.powi(power_below(value));
    MANTISSAS.iter().map(|it| it * power).rfind(|it| *it <= value * 1.0001).unwrap_or(power)
}

fn round_up(value: f64) -> f64 {
    let power = 10_f64.powi(power_below(value));
    let all = MANTISSAS.iter().map(|it| it * power);
    all.into_iter().find(|it| *it >= value * 0.9999).unwrap_or(10.0 * power)
}

fn logarithmic_ticks(low: f64, high: f64) -> Vec<(f64, String)> {
    let (first, last) = (power_below(low), power_below(high) + 1);
    let is_within = |it: &f64| *it >= low * 0.9999 && *it <= high * 1.0001;
    let decades = f64::from(last - first);
    let mantissas = if (high / low).log10() <= 2.5 { &MANTISSAS[..] } else { &MANTISSAS[..1] };
    let step = usize::try_from((decades / 7.0).ceil() as i32).unwrap_or(1).max(1);
    let powers = (first..=last).step_by(step);
    let values = powers.flat_map(|power| mantissas.iter().map(move |it| it * 10_f64.powi(power)));
    let label = |it| match mantissas.len() {
        1 => power(it),
        _ => number(it),
    };
    values.filter(is_within).map(|it| (it, label(it))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: &Scale) -> Vec<&str> {
        scale.ticks.iter().map(|(_, label)| label.as_str()).collect()
    }

    #[test]
    fn a_linear_scale_has_round_ticks() {
        let scale = Scale::new([3.0, 21.7], false, true, [100.0, 0.0]);
        assert_eq!(labels(&scale), ["0", "5", "10", "15", "20", "25"]);
        assert_eq!((scale.at(0.0), scale.at(25.0), scale.at(12.5)), (100.0, 0.0, 50.0));
        // Numbers that hardly differ are not compared with 0.
        let scale = Scale::new([90.0, 100.0], false, true, [0.0, 1.0]);
        assert_eq!(labels(&scale), ["90", "92", "94", "96", "98", "100"]);
        assert_eq!(labels(&Scale::new([], false, true, [0.0, 1.0]))[0], "0");
    }

    #[test]
    fn a_logarithmic_scale_has_powers_of_ten() {
        let scale = Scale::new([1e-7, 1e-2], true, false, [0.0, 100.0]);
        assert_eq!(labels(&scale), ["10⁻⁷", "10⁻⁶", "10⁻⁵", "10⁻⁴", "10⁻³", "10⁻²"]);
        assert_eq!((scale.at(1e-7), scale.at(1e-2)), (0.0, 100.0));
        let scale = Scale::new([0.3, 4.0], true, true, [0.0, 1.0]);
        assert_eq!(labels(&scale), ["0.2", "0.5", "1", "2", "5"]);
        let scale = Scale::new([2.0, 4.0, 8.0], true, false, [0.0, 1.0]);
        assert_eq!(labels(&scale.with_ticks_at([2.0, 8.0, 4.0])), ["2", "4", "8"]);
    }

    #[test]
    fn labels_without_space_are_left_out() {
        let mut scale = Scale::new([0.0, 0.1], false, true, [0.0, 100.0]);
        assert_eq!(labels(&scale), ["0", "0.02", "0.04", "0.06", "0.08", "0.10"]);
        scale.thin(|_| 30.0);
        assert_eq!(labels(&scale), ["0", "0.04", "0.08"]);
        let rates = [0.001, 0.01, 0.1, 0.3, 0.5];
        let mut scale = Scale::new(rates, true, false, [0.0, 100.0]).with_ticks_at(rates);
        scale.thin(|_| 20.0);
        assert_eq!(labels(&scale), ["0.001", "0.01", "0.1", "0.5"]);
    }

    #[test]
    fn zeros_have_a_place_on_a_logarithmic_scale() {
        let scale = Scale::new([0.0, 0.01, 1.0], true, true, [0.0, 100.0]);
        assert_eq!(labels(&scale)[0], "0");
        assert_eq!((scale.at(0.0), scale.at(0.01), scale.at(1.0)), (0.0, 8.0, 100.0));
    }
}
