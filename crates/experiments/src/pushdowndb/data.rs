//! The data sets of the live experiments.

use crate::{Data, Setting};

/// The name of the program's option for a size, and the size.
fn scale(scale: f64) -> [String; 2] {
    ["--scale".to_owned(), scale.to_string()]
}

fn generated(name: &str, set: &str, size: f64, more: &[&str]) -> Data {
    let [option, size] = scale(size);
    let mut arguments = vec![set, option.as_str(), size.as_str()];
    arguments.extend(more);
    Data::new(name, &arguments)
}

/// The scale factor of [`all_of_tpch`].
pub(super) const ALL_SCALE: f64 = 0.05;

/// All eight tables of TPC-H.
pub(super) fn all_of_tpch() -> Data {
    generated("pushdowndb-sizes", "tpch", ALL_SCALE, &[])
}

/// The tables of TPC-H that the ten items of Figure 10 read, four objects each.
pub(super) fn tpch(setting: &Setting) -> Data {
    let tables = ["--tables", "customer,lineitem,orders,part", "--objects", "4"];
    generated("pushdowndb-tpch", "tpch", setting.scale, &tables)
}

/// The same as Parquet.
pub(super) fn tpch_parquet(setting: &Setting) -> Data {
    let tables = ["--tables", "customer,lineitem,orders,part", "--objects", "4"];
    let more = [&tables[..], &["--format", "parquet"]].concat();
    generated("pushdowndb-tpch-parquet", "tpch", setting.scale, &more)
}

/// lineitem with indexes of the columns that are filtered.
pub(super) fn indexed(setting: &Setting) -> Data {
    let name = "pushdowndb-indexed";
    let more = ["--tables", "lineitem", "--objects", "4"];
    let definitions = format!("{name}.sql");
    generated(name, "tpch", setting.scale, &more)
        .then(&["index", "create", "-f", &definitions, "lineitem", "l_extendedprice"])
        .then(&["index", "create", "-f", &definitions, "lineitem", "l_orderkey"])
}

/// The scale factor of [`joins`].
pub(super) fn join_scale(setting: &Setting) -> f64 {
    5.0_f64.min(1.0 / setting.scale) * setting.scale
}

/// customer and orders, with more customers than a list of keys takes.
pub(super) fn joins(setting: &Setting) -> Data {
    let more = ["--tables", "customer,orders", "--objects", "4"];
    generated("pushdowndb-joins", "tpch", join_scale(setting), &more)
}

/// 150,000 customers, so that as many keys can be selected as in the paper.
pub(super) fn customers() -> Data {
    generated("pushdowndb-customers", "tpch", 1.0, &["--tables", "customer"])
}

/// The scale factor of [`groups`].
pub(super) fn group_scale(setting: &Setting) -> f64 {
    setting.scale.min(0.25)
}

/// The tables of the group-bys.
pub(super) fn groups(setting: &Setting) -> Data {
    let more = ["--tables", "skewed,uniform", "--objects", "4"];
    generated("pushdowndb-groups", "pushdowndb", group_scale(setting), &more)
}

/// The table of Figure 10's group-by as Parquet.
pub(super) fn groups_parquet(setting: &Setting) -> Data {
    let more = ["--tables", "skewed", "--objects", "4", "--format", "parquet"];
    generated("pushdowndb-groups-parquet", "pushdowndb", group_scale(setting), &more)
}

/// The scale factor of [`floats`].
pub(super) fn float_scale(setting: &Setting) -> f64 {
    setting.scale.min(0.25)
}

/// The tables of floats, as CSV or as Parquet.
pub(super) fn floats(setting: &Setting, format: &str) -> Data {
    let name = format!("pushdowndb-floats-{format}");
    let more = ["--tables", "floats_1,floats_10,floats_20", "--format", format];
    generated(&name, "pushdowndb", float_scale(setting), &more)
}
