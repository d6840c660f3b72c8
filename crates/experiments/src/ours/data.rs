//! The data sets of these experiments.

use crate::{Data, Setting};

/// Settings without any pushdown.
pub(super) const PLAIN: [(&str, &str); 6] = [
    ("scan", "get"),
    ("aggregate", "here"),
    ("group_by", "server"),
    ("join", "baseline"),
    ("top_k", "server"),
    ("transfer", "false"),
];

/// All tables of TPC-H as CSV, with an index of the keys of lineitem.
pub(super) fn tpch(setting: &Setting) -> Data {
    let name = "ours-tpch";
    let scale = setting.scale.to_string();
    let index = ["index", "create", "-f", "ours-tpch.sql", "lineitem", "l_orderkey"];
    Data::new(name, &["tpch", "--scale", &scale, "--objects", "4"]).then(&index)
}

/// lineitem as Parquet.
pub(super) fn parquet(setting: &Setting) -> Data {
    let scale = setting.scale.to_string();
    let arguments = [
        "tpch",
        "--scale",
        &scale,
        "--tables",
        "lineitem",
        "--objects",
        "4",
        "--format",
        "parquet",
    ];
    Data::new("ours-tpch-parquet", &arguments)
}
