//! Machine, versions, setting, and the experiments that have no outcome.

use super::{Report, ReportedExperiment, ReportedResult};
use crate::markup::Markup;

pub(super) fn write(html: &mut Markup, report: &Report<'_>) {
    let input = report.input;
    html.raw("<section id=\"method\" class=\"page\" aria-labelledby=\"method-title\">\n");
    html.raw("<h1 id=\"method-title\">Machine and method</h1>\n<dl class=\"facts\">\n");
    let machine = &input.machine;
    let unknown = || "unknown".to_owned();
    let memory = |bytes: u64| format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30));
    let setting = &input.setting;
    let kind = if setting.is_quick { "quick" } else { "full" };
    let computed = input.experiments.iter().filter(|it| it.experiment.is_computed()).count();
    for (name, value) in [
        ("Processor", machine.processor.clone().unwrap_or_else(unknown)),
        ("Cores", machine.cores.map_or_else(unknown, |it| it.to_string())),
        ("Memory", machine.memory.map_or_else(unknown, memory)),
        ("System", machine.system.clone().unwrap_or_else(unknown)),
        ("Version", format!("sluice {}", input.version)),
        ("Date", input.date.clone()),
        ("Setting", format!("{kind}, TPC-H scale factor {}", setting.scale)),
        ("Command", input.command.clone()),
        (
            "Experiments",
            format!("{computed} are computed, {} run sluice", input.experiments.len() - computed),
        ),
    ] {
        html.raw("<div><dt>").raw(name).raw("<dd>").text(value).raw("</div>\n");
    }
    html.raw("</dl>\n").raw(METHOD);
    missing(html, report);
    html.raw("</section>\n");
}

const METHOD: &str = "<h2>How a claim gets its verdict</h2>
<p>The rule of each claim was written down before its experiment ran. The <a href=\"#claims\">index</a> shows it. \
A claim holds if its rule is satisfied; a claim that differs has a reason.</p>
<p>Live experiments run <code>sluice</code> beside its own store on one machine. The store's link is limited to the rate \
that the command names. A query runs three times, and its median counts. Times of this machine are compared with each \
other, not with the seconds of the papers. Predictions for the papers' hardware are compared with the papers' seconds.</p>
";

fn missing(html: &mut Markup, report: &Report<'_>) {
    html.raw("<h2 id=\"not-run\">Experiments without an outcome</h2>\n");
    let all = || report.input.experiments.iter().filter(|it| it.outcome().is_none());
    let known = |id: &str| report.input.experiments.iter().any(|it| it.experiment.id == id);
    let mut absent: Vec<&str> = Vec::new();
    for id in crate::claims().iter().filter_map(|claim| claim.experiment.as_deref()) {
        if !known(id) && !absent.contains(&id) {
            absent.push(id);
        }
    }
    if all().next().is_none() && absent.is_empty() {
        html.raw("<p>Every experiment ran to its end.</p>\n");
        return;
    }
    html.raw("<ul>\n");
    all().for_each(|it| entry(html, it));
    for id in absent {
        html.raw("<li><code>").text(id).raw("</code>: not part of this report\n");
    }
    html.raw("</ul>\n");
}

fn entry(html: &mut Markup, it: &ReportedExperiment) {
    html.raw("<li><a href=\"#")
        .text(it.experiment.id)
        .raw("\">")
        .text(it.experiment.id)
        .raw("</a>: ");
    match &it.result {
        ReportedResult::Failed(reason) => html.text(reason),
        ReportedResult::NotRun | ReportedResult::Outcome(_) => html.raw("not run"),
    };
    html.raw("\n");
}
