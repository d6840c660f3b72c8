//! The number of groups that the store aggregates, as `sluice.group_by_pushed` sets it.

use sluicegate_s3select::capabilities::StoreCapabilities;

use super::{analyzed, both, engine, force, skewed};
use crate::harness::{rows, stock_rows};

/// PushdownDB varies the number of groups (Figure 6).
#[tokio::test(flavor = "multi_thread")]
async fn the_largest_groups_are_computed_in_the_store_as_many_as_are_given() {
    let (store, stock) = both(&[skewed(0, 1000)]).await;
    let engine = engine(&store, StoreCapabilities::sluice()).await;
    force(&engine, "hybrid").await;
    let sql = "SELECT g, sum(x), count(*) FROM t GROUP BY g";
    let expected = stock_rows(&stock, sql).await.unwrap();
    for (given, rows_left) in [(1, 500), (2, 250), (4, 62), (200, 0)] {
        rows(&engine, &format!("SET sluice.group_by_pushed = {given}")).await;
        assert_eq!(rows(&engine, sql).await, expected, "{given}");
        let [pushed, left, rows, _] = analyzed(&engine, sql).await;
        assert_eq!((pushed, left, rows), (given.min(5), 5 - given.min(5), rows_left));
    }
}
