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
        ("Version", format!("Sluicegate {} (command sluice)", input.version)),
        ("Date", input.date.clone()),
        (
            "Setting",
            format!(
                "{kind}, TPC-H scale factor {} unless an experiment names another",
                setting.scale
            ),
        ),
        ("Command", input.command.clone()),
        (
            "Experiments",
            format!("{computed} are computed, {} run sluice", input.experiments.len() - computed),
        ),
    ] {
        html.raw("<div><dt>").raw(name).raw("<dd>").text(value).raw("</div>\n");
    }
    html.raw("</dl>\n").raw(METHOD);
    glossary(html);
    missing(html, report);
    html.raw("</section>\n");
}

const METHOD: &str = "<h2>How a claim gets its verdict</h2>
<p>Each claim has a rule, which the <a href=\"#claims\">index</a> shows. A claim holds if its rule is satisfied. A \
claim that differs has a cause and a reason.</p>
<p>A claim that states a number is compared with it both ways. Counts and formulas must agree to the printed digits; a time or \
a model may differ by a quarter, unless the rule names another share. Much faster is at least twice as fast. A rule with a \
bound on one side says why.</p>
<p>Live experiments run <code>sluice</code> beside its own store on one machine. The store's link is limited to the rate \
that the command names. Each experiment states its data, its link, and how often a query runs. The median of the rounds \
counts. Bands and whiskers in charts span the least to the greatest round. For simulated switches they are intervals of \
95 %, over several seeds.</p>
<p>Times of this machine are compared with each other, not with the seconds of the papers. Predictions for the papers' \
hardware are compared with the papers' seconds.</p>
<h2>How claims are counted</h2>
<p>A claim <em>holds</em> by what an experiment found. It holds <em>by construction</em> if its number is an input of the \
experiment, or if a constant of the model is fitted to it; this is counted apart. It is <em>undecided</em> if its experiment \
did not run or failed, and <em>external</em> if other hardware or software decides it.</p>
";

/// Terms of the papers and of this report.
const GLOSSARY: &[(&str, &str)] = &[
    (
        "aws-in-region, local, local-1gbit",
        "Hardware profiles: a client in the store's region; this machine; Sluicegate's own server behind 1 Gbit/s.",
    ),
    ("α (alpha)", "PushdownDB: the share of a row that the column of a top-K takes."),
    (
        "APH",
        "Cheetah: the approximate product heuristic, a sum of scaled logarithms of the coordinates of a point, by which SKYLINE ranks points.",
    ),
    (
        "baseline, server-side",
        "PushdownDB: all rows are fetched with GET, and the client does the work.",
    ),
    (
        "Bloom join",
        "PushdownDB: the keys of one table are sent to the scan of the other as a Bloom filter.",
    ),
    (
        "by CASE, hybrid",
        "PushdownDB: the store adds up each group by SUM(CASE …); the hybrid does so for the largest groups only.",
    ),
    ("copies", "Cheetah: packets that arrive more than once, because they were sent again."),
    (
        "critical path",
        "Computational storage: the stages that follow each other and take the time of the query.",
    ),
    ("drain", "Cheetah, NetAccel: the time to read a result out of the switch at the end."),
    ("filtered", "PushdownDB: S3 Select filters rows and columns, and the client does the rest."),
    (
        "icpe-2020",
        "The device of the computational storage paper: a second to set it up, and results at the rate of its drive.",
    ),
    ("items", "PushdownDB: the four operators and six queries of TPC-H in Figure 10."),
    (
        "model tables",
        "Computational storage: tables with only the rows and columns that the scans of a query return, over which the query runs again. The saved time is the most that a device can save.",
    ),
    ("OPT, optimum", "Cheetah: the fewest entries that a switch without limits would forward."),
    ("p, false-positive rate", "The share of wrong keys that pass a Bloom filter."),
    (
        "paper, paper-2018, paper-2018-nic",
        "Hardware profiles of PushdownDB's client and of S3, fitted to the paper of 2020 or its excerpt of 2018; with nic, the client is as fast as its network card.",
    ),
    ("S*", "PushdownDB: the best number of rows to sample for a top-K, √(K·N/α)."),
    (
        "S/F/P",
        "Computational storage: scan, filter and project, the work that the device takes off a stage.",
    ),
    ("Scan Ratio", "Computational storage: the share of a query's time that its scans take."),
    (
        "serial attempt",
        "PushdownDB: if no Bloom filter fits into a statement, the tables have already been read one after the other, and the join is then filtered.",
    ),
    (
        "SUM",
        "Cheetah: the sum of the coordinates of a point, by which SKYLINE ranks points; also the aggregate.",
    ),
    ("superfluous entries", "Cheetah: those that the optimum drops."),
    (
        "θ (theta)",
        "PushdownDB: the exponent of Zipf's law for the sizes of groups. At 0 all groups are equal.",
    ),
    (
        "top_k late",
        "A sample excludes rows, then the columns of the order are fetched, and last the rows of the answer.",
    ),
    (
        "with its values",
        "Figure 4: the profile paper, with the time that it has for each returned value.",
    ),
];

fn glossary(html: &mut Markup) {
    html.raw("<h2 id=\"glossary\">Glossary</h2>\n<dl class=\"reading\">\n");
    for (term, meaning) in GLOSSARY {
        html.raw("<div><dt>").raw(term).raw("<dd>").raw(meaning).raw("</div>\n");
    }
    html.raw("</dl>\n");
}

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
