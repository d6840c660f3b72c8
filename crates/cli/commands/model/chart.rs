//! Seconds or dollars along an axis, a line for each way: as a picture and in a terminal.

use kuva::TerminalBackend;
use kuva::backend::svg::SvgBackend;
use kuva::prelude::{Figure, Layout, LinePlot, Palette, Plot};
use kuva::render::render::render_multiple;
use sluicegate_costmodel::Objective;
use sluicegate_costmodel::uncertainty::Output;

use super::modelled::{Case, Modelled, Swept, at, strategies};

/// Columns and rows of a chart in a terminal.
const TERMINAL: (usize, usize) = (96, 24);

/// A panel of a picture, in points.
const PANEL: (f64, f64) = (640.0, 420.0);

/// The longest title of a panel, in characters; of a longer one the middle is left out.
const TITLE: usize = 80;

/// All sweeps of all operators, one panel below the other.
pub(super) fn svg(all: &[Modelled]) -> String {
    let mut panels = Vec::new();
    for modelled in all {
        for case in &modelled.cases {
            for swept in &case.sweeps {
                for operator in 0..case.operators.len() {
                    panels.extend(panel(swept, modelled.objective, case, operator));
                }
            }
        }
    }
    let (plots, layouts): (Vec<_>, Vec<_>) = panels.into_iter().unzip();
    let figure = Figure::new(plots.len().max(1), 1)
        .with_cell_size(PANEL.0, PANEL.1)
        .with_plots(plots)
        .with_layouts(layouts);
    SvgBackend.render_scene(&figure.render()) + "\n"
}

/// The sweep of an operator in characters; nothing without ways that can be drawn.
pub(super) fn terminal(
    swept: &Swept,
    objective: Objective,
    case: &Case,
    operator: usize,
    colour: bool,
) -> String {
    let Some((plots, layout)) = panel(swept, objective, case, operator) else {
        return String::new();
    };
    let layout = layout.with_show_grid(false).with_legend_box(false);
    let scene = render_multiple(plots, layout.with_term_rows(TERMINAL.1 as u32));
    let drawn = TerminalBackend::new(TERMINAL.0, TERMINAL.1).render_scene(&scene);
    let drawn = if colour { drawn } else { plain(&drawn) };
    let lines: Vec<_> = drawn.lines().map(str::trim_end).collect();
    format!("{}\n", lines.join("\n").trim_end())
}

/// The lines of the ways with their intervals; none if no axis can be drawn.
fn panel(
    swept: &Swept,
    objective: Objective,
    case: &Case,
    operator: usize,
) -> Option<(Vec<Plot>, Layout)> {
    let shown = swept.shown(objective);
    let axis = &swept.sweep.axis;
    let (unit, size) = axis.unit();
    let is_logarithmic = swept.points.iter().all(|point| point.value > 0.0);
    let mut is_positive = true;
    let colours = Palette::okabe_ito();
    let mut plots: Vec<Plot> = Vec::new();
    for (strategy, colour) in strategies(&swept.points, operator).into_iter().zip(colours.iter()) {
        let mut line = Vec::new();
        let (mut low, mut high) = (Vec::new(), Vec::new());
        for point in swept.points.iter().filter(|point| point.value.is_finite()) {
            if let Some(way) = at(point, operator, strategy) {
                let (numbers, likely) = (&way.numbers, &way.likely);
                let (height, least, most) = match shown {
                    Output::Time => (
                        numbers.time.total().as_secs_f64(),
                        likely.time.p10.as_secs_f64(),
                        likely.time.p90.as_secs_f64(),
                    ),
                    Output::Dollars => {
                        (numbers.cost.total().0, likely.dollars.p10.0, likely.dollars.p90.0)
                    }
                };
                line.push((point.value / size, height));
                low.push(least);
                high.push(most);
            }
        }
        is_positive &=
            line.iter().all(|(_, height)| *height > 0.0) && low.iter().all(|it| *it > 0.0);
        if !line.is_empty() {
            let plot = LinePlot::new().with_data(line).with_band(low, high);
            plots.push(plot.with_color(colour.to_owned()).with_legend(strategy).into());
        }
    }
    if plots.is_empty() {
        return None;
    }
    let operator = &case.operators[operator];
    let title = format!("{} of {}", operator.operator, operator.subject);
    let mut title = shortened(&title);
    if let Some(what_if) = &case.assumed.what_if {
        title += &format!(" with {what_if}");
    }
    let label =
        if unit.is_empty() { axis.name().to_owned() } else { format!("{} ({unit})", axis.name()) };
    let layout = Layout::auto_from_plots(&plots)
        .with_title(literal(&title))
        .with_x_label(literal(&label))
        .with_y_label(match shown {
            Output::Time => "seconds",
            Output::Dollars => "dollars",
        });
    // What costs nothing has no logarithm.
    let layout = match (is_logarithmic, is_positive) {
        (true, true) => layout.with_log_scale(),
        (true, false) => layout.with_log_x(),
        (false, true) => layout.with_log_y(),
        (false, false) => layout,
    };
    Some((plots, layout))
}

/// A text as it is, or its beginning and its end.
fn shortened(text: &str) -> String {
    let all: Vec<char> = text.chars().collect();
    if all.len() <= TITLE {
        return text.to_owned();
    }
    let half = (TITLE - 1) / 2;
    let (first, last) = (&all[..half], &all[all.len() - half..]);
    first.iter().chain(&['…']).chain(last).collect()
}

/// A dollar begins mathematics.
fn literal(text: &str) -> String {
    text.replace('$', "\\$")
}

/// Without the escape sequences of colours.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character == '\u{1b}' {
            characters.by_ref().find(|it| it.is_ascii_alphabetic());
        } else {
            plain.push(character);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_title_keeps_its_end() {
        let bucket = "scan of s3://tpch/lineitem/";
        assert_eq!(shortened(bucket), bucket);
        let long =
            format!("aggregate of {} over s3://tpch/lineitem/", "sum(l_quantity), ".repeat(20));
        let short = shortened(&long);
        assert!(
            short.ends_with("over s3://tpch/lineitem/") && short.starts_with("aggregate of sum")
        );
        assert!(short.contains('…') && short.chars().count() <= TITLE);
    }
}
