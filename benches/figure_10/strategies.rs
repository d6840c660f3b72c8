//! The strategies of each item, as settings.

use sluicegate_workloads::pushdowndb::Operator;

/// A way to run an item: options of the session, without their prefix `sluice.`. Options that are not listed are
/// 'auto'.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Strategy {
    pub(crate) name: &'static str,
    pub(crate) settings: &'static [(&'static str, &'static str)],
}

/// The options that a way may set.
pub(crate) const OPTIONS: [&str; 5] = ["scan", "aggregate", "group_by", "join", "top_k"];

/// The way that fetches everything and computes locally.
pub(crate) const OFF: Strategy = Strategy {
    name: "off",
    settings: &[("scan", "get"), ("group_by", "server"), ("join", "baseline"), ("top_k", "server")],
};

/// The way that leaves every choice to the cost model.
pub(crate) const AUTO: Strategy = Strategy { name: "auto", settings: &[] };

/// Returns the strategies that an item can be forced to follow.
pub(crate) fn forced(operator: Operator) -> &'static [Strategy] {
    match operator {
        Operator::Filter => &[Strategy { name: "select", settings: &[("scan", "select")] }],
        Operator::Aggregate => &[
            Strategy { name: "select", settings: &[("scan", "select"), ("aggregate", "here")] },
            Strategy { name: "store", settings: &[("aggregate", "store")] },
        ],
        Operator::GroupBy => &[
            Strategy { name: "filtered", settings: &[("group_by", "filtered")] },
            Strategy { name: "s3", settings: &[("group_by", "s3")] },
            Strategy { name: "case", settings: &[("group_by", "case")] },
            Strategy { name: "hybrid", settings: &[("group_by", "hybrid")] },
        ],
        Operator::TopK => &[
            Strategy { name: "filtered", settings: &[("top_k", "filtered")] },
            Strategy { name: "sampling", settings: &[("top_k", "sampling")] },
            Strategy { name: "late", settings: &[("top_k", "late")] },
        ],
        Operator::Join => &[
            Strategy { name: "filtered", settings: &[("join", "filtered")] },
            Strategy { name: "bloom", settings: &[("join", "bloom")] },
        ],
    }
}

/// Returns the statements that make a session follow a way.
pub(crate) fn statements(way: Strategy) -> Vec<String> {
    let value = |option: &str| {
        let set = way.settings.iter().find(|(name, _)| *name == option);
        set.map_or("auto", |(_, value)| value)
    };
    OPTIONS.iter().map(|option| format!("SET sluice.{option} = '{}'", value(option))).collect()
}
