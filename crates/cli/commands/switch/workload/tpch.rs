//! `sluice switch run --workload tpch-q3`: the two joins of TPC-H's query 3, which Cheetah offloads.

use std::collections::HashSet;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{Date32Type, Int64Type};
use sluicegate_pruning::algorithm::catalog::{Algorithm, Parameters};
use sluicegate_pruning::algorithm::join::{BUILD_A, PROBE_B};
use sluicegate_pruning::experiment::trial::{Run, Trial};
use sluicegate_workloads::tpch::Table;
use sluicegate_workloads::{DataTable, Share};

use super::{Case, Results, check_scale};
use crate::args::switch::RunArgs;
use crate::failure::{Failure, Result};
use crate::output::progress::print_line;

const NOTES: &str = "\
entries: rows that the workers' own filters let through (c_mktsegment, o_orderdate, l_shipdate), the small table
first; forwarded: of both tables, since the small one is not pruned while it builds the filter; optimum: those that
have a match. share: of all entries; the last row has every row of orders and lineitem as entries, as if the switch
filtered, too. Counted. answer: over what was forwarded, against that over everything.
";
/// 1995-03-15, in days since 1970.
const DATE: i32 = 9_204;

/// The rows that take part in query 3.
#[derive(Debug, Default)]
struct Columns {
    /// Keys of the customers of the segment BUILDING.
    customers: Vec<u32>,
    /// Customer and order of the orders before the date.
    orders: [Vec<u32>; 2],
    /// Orders of the lines that were shipped after the date.
    lines: Vec<u32>,
    /// All rows of orders and lineitem.
    rows: usize,
}

pub(super) fn run(args: &RunArgs) -> Result<()> {
    check_scale(args.scale, Table::LEAST_SCALE)?;
    print_line(&format!(
        "generating customer, orders and lineitem of TPC-H at scale {}",
        args.scale
    ));
    let columns = Columns::generate(args.scale)?;
    let mut results = Results::new(args.check);
    let case = |query| {
        let sizes = "M = 3 MiB, H = 3";
        Case::new(query, Algorithm::JoinBloom, Parameters::default(), sizes)
    };
    let sides = |build: Vec<u32>, probe: Vec<u32>| {
        [(BUILD_A, build), (PROBE_B, probe)].map(|(flow, keys)| Run { flow, columns: vec![keys] })
    };
    let [of_customer, keys] = &columns.orders;
    let first = sides(columns.customers.clone(), of_customer.clone());
    results.add(&case("Q3 customer ⋈ orders"), &first, 1)?;
    // The master joins first, so that only orders of these customers build the second filter.
    let customers: HashSet<u32> = columns.customers.iter().copied().collect();
    let matching =
        of_customer.iter().zip(keys).filter(|(customer, _)| customers.contains(customer));
    let second = sides(matching.map(|(_, order)| *order).collect(), columns.lines.clone());
    let joined = results.add(&case("Q3 orders ⋈ lineitem"), &second, 1)?;
    let paper = case("Q3 orders ⋈ lineitem, all rows").paper("the join is 67 % of the query");
    let all = Trial { entries: columns.rows, ..joined.trial };
    let program = Algorithm::JoinBloom.configure(&Parameters::default())?.program();
    results.together(&paper, &[all], &program, args.check.map(|_| 0));
    results.print(args, NOTES)
}

impl Columns {
    fn generate(scale: f64) -> Result<Self> {
        let mut columns = Self::default();
        let batches = |table| Table::batches(Share::whole(table, scale, ()));
        for batch in batches(Table::Customer) {
            let batch = batch?;
            let segments = column(&batch, "c_mktsegment")?.as_string_view();
            let is_building = |row: &usize| segments.value(*row) == "BUILDING";
            columns.customers.extend(keys(&batch, "c_custkey", is_building)?);
        }
        for batch in batches(Table::Orders) {
            let batch = batch?;
            let dates = dates(&batch, "o_orderdate")?;
            let is_early = |row: &usize| dates[*row] < DATE;
            columns.orders[0].extend(keys(&batch, "o_custkey", is_early)?);
            columns.orders[1].extend(keys(&batch, "o_orderkey", is_early)?);
            columns.rows += batch.num_rows();
        }
        for batch in batches(Table::Lineitem) {
            let batch = batch?;
            let dates = dates(&batch, "l_shipdate")?;
            columns.lines.extend(keys(&batch, "l_orderkey", |row| dates[*row] > DATE)?);
            columns.rows += batch.num_rows();
        }
        Ok(columns)
    }
}

fn column<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a dyn Array> {
    let found = batch.column_by_name(name);
    Ok(found.ok_or_else(|| Failure::new(format!("there is no column `{name}`")))?.as_ref())
}

fn dates<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a [i32]> {
    Ok(column(batch, name)?.as_primitive::<Date32Type>().values())
}

/// Returns the keys of some rows; those of TPC-H begin at 1 and fit 32 bits up to the largest scale.
fn keys(batch: &RecordBatch, name: &str, of: impl Fn(&usize) -> bool) -> Result<Vec<u32>> {
    let all = column(batch, name)?.as_primitive::<Int64Type>().values();
    Ok((0..batch.num_rows()).filter(of).map(|row| all[row] as u32).collect())
}
