//! Queries for the operators that can run in several ways.

use std::iter;

/// A query over TPC-H with a filter on `l_partkey`, whose values are spread evenly.
#[derive(Debug, Clone, Copy)]
pub(super) struct Query {
    pub(super) name: &'static str,
    /// The option of its operator, without `sluice.`.
    pub(super) option: &'static str,
    /// The values of the option that force a way.
    ways: &'static [&'static str],
    before: &'static str,
    after: &'static str,
}

/// The value of the option that leaves the choice to the cost model.
pub(super) const AUTO: &str = "auto";

/// Number of parts at scale factor 1 (TPC-H §1.4.1).
const PARTS: f64 = 200_000.0;

pub(super) const QUERIES: [Query; 5] = [
    Query {
        name: "filter",
        option: "scan",
        ways: &["get", "select"],
        before: "SELECT l_orderkey, l_linenumber, l_extendedprice FROM lineitem",
        after: "",
    },
    Query {
        name: "aggregate",
        option: "aggregate",
        ways: &["here", "store"],
        before: "SELECT sum(l_extendedprice), count(*), max(l_shipdate) FROM lineitem",
        after: "",
    },
    Query {
        name: "group-by",
        option: "group_by",
        ways: &["server", "filtered", "case", "s3", "hybrid"],
        before: "SELECT l_shipmode, sum(l_quantity), count(*) FROM lineitem",
        after: "GROUP BY l_shipmode",
    },
    Query {
        name: "top-k",
        option: "top_k",
        ways: &["server", "filtered", "sampling", "late"],
        before: "SELECT * FROM lineitem",
        after: "ORDER BY l_extendedprice DESC, l_orderkey, l_linenumber LIMIT 100",
    },
    Query {
        name: "join",
        option: "join",
        ways: &["baseline", "filtered", "bloom"],
        before: "SELECT o_orderpriority, sum(o_totalprice) FROM lineitem JOIN orders ON l_orderkey = o_orderkey",
        after: "GROUP BY o_orderpriority",
    },
];

impl Query {
    /// Returns the query that lets this share of lineitem's rows pass.
    pub(super) fn sql(&self, share: f64, scale: f64) -> String {
        let last = (share * PARTS * scale).round();
        format!("{} WHERE l_partkey <= {last} {}", self.before, self.after)
    }

    /// Iterates over the forced ways, and `auto` at the end.
    pub(super) fn strategies(&self) -> impl Iterator<Item = &'static str> {
        self.ways.iter().copied().chain(iter::once(AUTO))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_the_parts_passes() {
        let sql = QUERIES[0].sql(0.01, 0.1);
        assert!(sql.ends_with("FROM lineitem WHERE l_partkey <= 200 "), "{sql}");
    }
}
