//! The data, the link and the repetitions of an experiment's runs, in words.

use crate::{Run, RunOutput, UNLIMITED};

/// Returns the conditions of runs: `TPC-H at scale factor 1. Link to the store: 1 Gbit/s. …`; `None` without runs.
pub(super) fn conditions(runs: &[Run]) -> Option<String> {
    let mut sentences = Vec::new();
    let mut data: Vec<(String, Vec<String>)> = Vec::new();
    for run in runs {
        let sets = run.data.iter().map(|it| it.arguments.as_slice());
        let own = scale(&run.arguments).map(|_| run.arguments.as_slice());
        for arguments in sets.chain(own) {
            let Some(scale) = scale(arguments) else { continue };
            let name = name(arguments.first().map_or("", String::as_str)).to_owned();
            let at = data.iter().position(|it| it.0 == name).unwrap_or_else(|| {
                data.push((name, Vec::new()));
                data.len() - 1
            });
            add(&mut data[at].1, scale.to_owned());
        }
    }
    let of = |(name, scales): &(String, Vec<String>)| {
        format!("{name} at scale factor {}", scales.join(" and "))
    };
    let data: Vec<String> = data.iter().map(of).collect();
    sentences.extend((!data.is_empty()).then(|| format!("Data: {}.", data.join(", "))));
    let mut links = Vec::new();
    for link in runs.iter().filter_map(|run| run.link) {
        add(&mut links, self::link(link));
    }
    sentences.extend(
        (!links.is_empty()).then(|| format!("Link to the store: {}.", links.join(" and "))),
    );
    let mut rounds: Vec<usize> = runs.iter().filter_map(rounds_of).collect();
    rounds.sort_unstable();
    rounds.dedup();
    if rounds.last().is_some_and(|it| *it > 1) {
        let rounds: Vec<String> = rounds.into_iter().map(times).collect();
        sentences.push(format!("A query runs {}; its median counts.", rounds.join(" or ")));
    }
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

fn add(all: &mut Vec<String>, one: String) {
    if !all.contains(&one) {
        all.push(one);
    }
}

/// Returns the scale factor in the arguments of a command.
fn scale(arguments: &[String]) -> Option<&str> {
    let at = arguments.iter().position(|it| it == "--scale")?;
    arguments.get(at + 1).map(String::as_str)
}

/// The name of a data set in words, or of the command that makes data of its own.
fn name(word: &str) -> &str {
    match word {
        "tpch" => "TPC-H",
        "tpcds" => "TPC-DS",
        "bigdata" => "Big Data benchmark",
        "pushdowndb" => "tables of PushdownDB",
        "validate" => "TPC-H",
        _ => "generated tables",
    }
}

fn link(name: &str) -> String {
    let units = [("gbit", "Gbit/s"), ("mbit", "Mbit/s")];
    let number = units.iter().find_map(|(end, unit)| Some((name.strip_suffix(end)?, unit)));
    match number {
        Some((number, unit)) => format!("{number} {unit}"),
        None if name == UNLIMITED => "not limited".to_owned(),
        None => name.to_owned(),
    }
}

fn times(count: usize) -> String {
    match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        count => format!("{count} times"),
    }
}

/// Returns how often a run repeats its queries; `None` if it has none.
fn rounds_of(run: &Run) -> Option<usize> {
    if run.output != RunOutput::Statements {
        return None;
    }
    let is_query = |it: &&String| {
        let text = it.to_ascii_lowercase();
        text.starts_with("select ") || text.starts_with("with ")
    };
    let last = run.arguments.iter().rfind(is_query)?;
    Some(run.arguments.iter().filter(|it| *it == last).count())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Data;

    #[test]
    fn conditions_are_those_of_the_commands() {
        let data = Data::new("a", &["tpch", "--scale", "0.25"]);
        let query = ["select 1".to_owned()];
        let runs = [
            Run::sql("a", &data, "1gbit", &[], &query, 2),
            Run::sql("b", &data, "100mbit", &[], &query, 5),
            Run::command("c", &["validate", "--scale", "0.1"]),
        ];
        let expected = "Data: TPC-H at scale factor 0.25 and 0.1. \
            Link to the store: 1 Gbit/s and 100 Mbit/s. A query runs twice or 5 times; its median counts.";
        assert_eq!(conditions(&runs).as_deref(), Some(expected));
        assert_eq!(conditions(&[Run::command("c", &["switch", "theory"])]), None);
    }
}
