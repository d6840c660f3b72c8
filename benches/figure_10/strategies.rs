//! The strategies of each item, as settings.

use sluicegate_workloads::pushdowndb::Operator;

/// A way to run an item: options of the session, without their prefix `sluice.`. Options that are not listed are
/// 'auto'.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Way {
    pub(crate) name: &'static str,
    pub(crate) settings: &'static [(&'static str, &'static str)],
}

/// The options that a way may set.
pub(crate) const OPTIONS: [&str; 5] = ["scan", "aggregate", "group_by", "join", "top_k"];

/// The way that fetches everything and computes locally.
pub(crate) const OFF: Way = Way {
    name: "off",
    settings: &[("scan", "get"), ("group_by", "server"), ("join", "baseline"), ("top_k", "server")],
};

/// The way that leaves every choice to the cost model.
pub(crate) const AUTO: Way = Way { name: "auto", settings: &[] };

/// Returns the strategies that an item can be forced to follow.
pub(crate) fn forced(operator: Operator) -> &'static [Way] {
    match operator {
        Operator::Filter => &[Way { name: "select", settings: &[("scan", "select")] }],
        Operator::Aggregate => &[
            Way { name: "select", settings: &[("scan", "select"), ("aggregate", "here")] },
            Way { name: "store", settings: &[("aggregate", "store")] },
        ],
        Operator::GroupBy => &[
            Way { name: "filtered", settings: &[("group_by", "filtered")] },
            Way { name: "s3", settings: &[("group_by", "s3")] },
            Way { name: "case", settings: &[("group_by", "case")] },
            Way { name: "hybrid", settings: &[("group_by", "hybrid")] },
        ],
        Operator::TopK => &[
            Way { name: "filtered", settings: &[("top_k", "filtered")] },
            Way { name: "sampling", settings: &[("top_k", "sampling")] },
            Way { name: "late", settings: &[("top_k", "late")] },
        ],
        Operator::Join => &[
            Way { name: "filtered", settings: &[("join", "filtered")] },
            Way { name: "bloom", settings: &[("join", "bloom")] },
        ],
    }
}

/// Returns the statements that make a session follow a way.
pub(crate) fn statements(way: Way) -> Vec<String> {
    let value = |option: &str| {
        let set = way.settings.iter().find(|(name, _)| *name == option);
        set.map_or("auto", |(_, value)| value)
    };
    OPTIONS.iter().map(|option| format!("SET sluice.{option} = '{}'", value(option))).collect()
}
