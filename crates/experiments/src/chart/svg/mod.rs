//! Charts as SVG.
//!
//! `scale` maps values to places, `canvas` draws elements, and `frame` draws axes and legends. Each kind of marks has a
//! file: `lines`, `bars`, `points`, `gantt` and `map`. `describe` puts a chart into words.
//!
//! kuva, which draws charts for terminals, is not used here. It writes fixed colours, so its pictures cannot follow a
//! page's theme. It has no names at the ends of lines, puts legends beside the plot, and gives Gantt charts and maps
//! styles that series of other charts do not share.

mod bars;
mod canvas;
mod describe;
mod frame;
mod gantt;
mod lines;
mod map;
mod number;
mod points;
mod scale;
mod text;

use self::bars::Bars;
use self::canvas::{Canvas, LINE, SIZE};
use super::look::COLOURS;
use super::{Chart, Marks};
use crate::markup::Markup;

/// The space around and between the panels of a file.
const MARGIN: f64 = 16.0;

/// The width of a picture on a screen, and on a phone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Width {
    Wide,
    Narrow,
}

impl Width {
    const fn points(self) -> f64 {
        match self {
            Self::Wide => 600.0,
            Self::Narrow => 340.0,
        }
    }
}

/// The rules for charts, without the variables of colours.
pub(crate) const RULES: &str = include_str!("chart.css");

/// Returns the variables of colours for a light or a dark page.
pub(crate) fn variables(is_dark: bool) -> String {
    let mut css = String::new();
    for colour in COLOURS {
        let value = if is_dark { colour.dark } else { colour.light };
        css += &format!("--{}:{value};", colour.class);
    }
    css
}

/// Draws charts below each other, as an SVG file that needs no page.
pub(super) fn file(charts: &[Chart]) -> String {
    let panels: Vec<Canvas> = charts.iter().map(|chart| panel(chart, Width::Wide, true)).collect();
    let height = panels.iter().map(|it| it.height + MARGIN).sum::<f64>() + MARGIN;
    let width = Width::Wide.points() + 2.0 * MARGIN;
    let mut svg = Markup::default();
    svg.raw("<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" role=\"img\"");
    svg.attribute("width", width).attribute("height", height);
    open(&mut svg, charts, [width, height]);
    svg.raw("<style>.chart{").raw("--ink:#1c2128;--muted:#59636e;--page:#fff;");
    svg.text(variables(false)).raw("}@media (prefers-color-scheme:dark){.chart{");
    svg.raw("--ink:#e6e9ee;--muted:#a3adb8;--page:#14171c;").text(variables(true)).raw("}}\n");
    svg.raw(RULES)
        .raw("</style><rect class=\"page\" fill=\"#fff\" width=\"100%\" height=\"100%\"/>\n");
    let mut top = MARGIN;
    for panel in panels {
        svg.raw("<g transform=\"translate(").number(MARGIN).raw(" ").number(top).raw(")\">");
        svg.append(&panel.markup).raw("</g>\n");
        top += panel.height + MARGIN;
    }
    svg.raw("</svg>\n");
    svg.into_string()
}

/// Draws a chart without its title as a part of a page, which has [`RULES`] and [`variables`].
pub(crate) fn inline(chart: &Chart, width: Width) -> Markup {
    let panel = panel(chart, width, false);
    let mut svg = Markup::default();
    svg.raw(match width {
        Width::Wide => "<svg class=\"chart wide\" role=\"img\"",
        Width::Narrow => "<svg class=\"chart narrow\" role=\"img\"",
    });
    open(&mut svg, std::slice::from_ref(chart), [panel.width, panel.height]);
    svg.append(&panel.markup).raw("</svg>");
    svg
}

fn open(svg: &mut Markup, charts: &[Chart], [width, height]: [f64; 2]) {
    let titles: Vec<&str> = charts.iter().map(|chart| chart.title.as_str()).collect();
    let words: Vec<String> = charts.iter().map(describe::describe).collect();
    svg.raw(" viewBox=\"0 0 ").number(width).raw(" ").number(height).raw("\"");
    svg.attribute("font-size", SIZE);
    svg.raw(" font-family=\"system-ui, sans-serif\" fill=\"currentColor\">");
    svg.raw("<title>").text(titles.join("; ")).raw("</title>");
    svg.raw("<desc>").text(words.join(" ")).raw("</desc>");
}

/// Draws a chart, with or without its title.
fn panel(chart: &Chart, width: Width, is_titled: bool) -> Canvas {
    let mut canvas = Canvas::new(width.points());
    let mut top = 0.0;
    if is_titled {
        // Bold text is wider.
        for line in text::wrap(&chart.title, 1.1 * SIZE, canvas.width) {
            canvas.title((0.0, top + SIZE), &line);
            top += LINE;
        }
        top += 6.0;
    }
    match &chart.marks {
        Marks::Lines(series) => lines::draw(&mut canvas, top, chart, series),
        Marks::Bars { parts, bars, is_stacked } => {
            let bars = Bars { parts, bars, is_stacked: *is_stacked };
            bars::draw(&mut canvas, top, chart, &bars);
        }
        Marks::Points(series) => points::draw(&mut canvas, top, chart, series),
        Marks::Gantt(tasks) => gantt::draw(&mut canvas, top, chart, tasks),
        Marks::Map(map) => map::draw(&mut canvas, top, chart, map),
    }
    canvas
}

#[cfg(test)]
pub(crate) mod tests;
