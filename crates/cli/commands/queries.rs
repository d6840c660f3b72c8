//! `sluice generate queries`: prints the queries of a data set.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};

use sluicegate_workloads::{bigdata, pushdowndb, tpcds, tpch};

use crate::args::{DataSet, QueriesArgs, QueryParameters};
use crate::failure::{Failure, Result};

pub(crate) fn run(args: &QueriesArgs) -> Result<()> {
    Ok(io::stdout().write_all(script(args)?.as_bytes())?)
}

/// Returns the statements, each under a comment with its name.
fn script(args: &QueriesArgs) -> Result<String> {
    let set = args.data_set;
    let count = count(set);
    if args.parameters == QueryParameters::Icpe2020 && set != DataSet::Tpcds {
        let message =
            format!("--parameters icpe-2020 is for tpcds, but these are of {}", title(set));
        return Err(Failure::Usage(message));
    }
    let numbers =
        if args.numbers.is_empty() { (1..=count).collect() } else { args.numbers.clone() };
    let mut script = String::new();
    for number in numbers {
        let query = text(args, number).ok_or_else(|| {
            let message = format!("{} has no query {number}", title(set));
            Failure::Usage(format!("{message}: the queries are 1 to {count}"))
        })?;
        let name = name(set, number);
        // Writing to a string cannot fail.
        let _ = writeln!(script, "-- {name}\n{};\n", query.trim_end());
    }
    script.truncate(script.trim_end().len());
    script.push('\n');
    Ok(script)
}

fn title(set: DataSet) -> &'static str {
    match set {
        DataSet::Tpch => "TPC-H",
        DataSet::Tpcds => "TPC-DS",
        DataSet::Bigdata => "the Big Data benchmark",
        DataSet::Pushdowndb => "PushdownDB",
    }
}

fn count(set: DataSet) -> usize {
    match set {
        DataSet::Tpch => tpch::QUERIES.len(),
        DataSet::Tpcds => tpcds::QUERIES.len(),
        DataSet::Bigdata => bigdata::QUERIES.len(),
        DataSet::Pushdowndb => pushdowndb::ITEMS.len(),
    }
}

fn name(set: DataSet, number: usize) -> String {
    match set {
        DataSet::Tpch => format!("TPC-H query {number}"),
        DataSet::Tpcds => format!("TPC-DS query {number}"),
        DataSet::Bigdata => format!("Big Data benchmark, Cheetah's query {number}"),
        DataSet::Pushdowndb => {
            let item = number.checked_sub(1).and_then(|at| pushdowndb::ITEMS.get(at));
            format!("PushdownDB, Figure 10: {}", item.map_or("", |item| item.name))
        }
    }
}

fn text(args: &QueriesArgs, number: usize) -> Option<Cow<'static, str>> {
    let parameters = match args.parameters {
        QueryParameters::Validation => tpcds::Parameters::Validation,
        QueryParameters::Icpe2020 => tpcds::Parameters::Icpe2020,
    };
    match args.data_set {
        DataSet::Tpch => tpch::query_at_scale(number, args.scale),
        DataSet::Tpcds => tpcds::query_with(number, parameters),
        DataSet::Bigdata => bigdata::query_at_scale(number, args.scale),
        DataSet::Pushdowndb => {
            pushdowndb::ITEMS.get(number.checked_sub(1)?).map(|item| Cow::Borrowed(item.sql))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::statements;

    fn args(data_set: DataSet, numbers: &[usize], scale: f64) -> QueriesArgs {
        let parameters = QueryParameters::Validation;
        QueriesArgs { data_set, numbers: numbers.to_vec(), scale, parameters }
    }

    #[test]
    fn all_queries_are_a_script_of_as_many_statements() {
        for (set, count) in [
            (DataSet::Tpch, 22),
            (DataSet::Tpcds, 99),
            (DataSet::Bigdata, 7),
            (DataSet::Pushdowndb, 10),
        ] {
            let script = script(&args(set, &[], 1.0)).unwrap();
            assert_eq!(statements::all(&script).len(), count, "{set:?}");
            assert!(script.starts_with("-- ") && script.ends_with(";\n"), "{script}");
        }
    }

    #[test]
    fn the_given_queries_are_printed_for_the_scale() {
        let text = |scale| script(&args(DataSet::Tpch, &[11], scale)).unwrap();
        assert!(text(1.0).starts_with("-- TPC-H query 11\n"));
        assert!(text(1.0) != text(10.0));
        let two = script(&args(DataSet::Pushdowndb, &[10, 1], 1.0)).unwrap();
        assert!(two.starts_with("-- PushdownDB, Figure 10: Q19\n"), "{two}");
        assert!(two.contains("\n-- PushdownDB, Figure 10: Filter\n"), "{two}");
    }

    #[test]
    fn papers_have_parameters_of_their_own() {
        let paper = |set| {
            let parameters = QueryParameters::Icpe2020;
            script(&QueriesArgs { parameters, ..args(set, &[], 1.0) })
        };
        let texts = paper(DataSet::Tpcds).unwrap();
        assert_eq!(texts.matches("ss_store_sk = 2\n").count(), 4);
        let refused = paper(DataSet::Tpch).unwrap_err();
        assert!(refused.words().0.starts_with("--parameters icpe-2020 is for tpcds"));
    }

    #[test]
    fn a_number_that_is_none_is_refused_with_those_that_are() {
        for number in [0, 23] {
            let failed = script(&args(DataSet::Tpch, &[number], 1.0)).unwrap_err();
            let expected = format!("TPC-H has no query {number}: the queries are 1 to 22");
            assert_eq!(failed.words().0, expected);
        }
    }
}
