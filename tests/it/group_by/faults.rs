//! Group-bys in the store of which a statement fails, or answers something impossible.

use bytes::Bytes;
use sluicegate_s3select::capabilities::StoreCapabilities;
use sluicegate_server::{Fault, Operation, Rule};

use super::one_by_one::without_case;
use super::{both, engine, force, sample, skewed};
use crate::harness::{Grid, rows, stock_rows, try_rows};

#[tokio::test(flavor = "multi_thread")]
async fn groups_survive_faults_in_any_statement() {
    let mut grid = Grid::every(5, "each fault in each statement about groups");
    let (store, stock) = both(&[skewed(0, 300), skewed(300, 400)]).await;
    let engine = engine(&store, StoreCapabilities::sluice()).await;
    for sql in [
        "SELECT g, h, count(*), sum(x), max(g) FROM t GROUP BY g, h",
        "SELECT DISTINCT g, h FROM t",
    ] {
        let right = stock_rows(&stock, sql).await.unwrap();
        for strategy in ["case", "s3", "hybrid"] {
            force(&engine, strategy).await;
            for count in [2, 4096] {
                sample(&engine, count).await;
                for fault in [
                    Fault::SlowDown,
                    Fault::CutBeforeRecords(0),
                    Fault::CutInRecords(0),
                    Fault::MissingEnd,
                    Fault::ErrorFrame { records: 0, code: "CastFailed".to_owned() },
                    Fault::Records(Bytes::from("")),
                    Fault::Records(Bytes::from("{\"_1\":1}\n{\"_1\":2}\n")),
                    Fault::Records(Bytes::from("{\"_1\":9,\"_2\":9}\n")),
                ] {
                    for nth in (1..=6).filter(|_| grid.takes()) {
                        // Rows that a store invents cannot be detected.
                        let made_up = matches!(fault, Fault::Records(_));
                        store.faults.inject(
                            Rule::new(Operation::SelectObjectContent, fault.clone()).nth(nth),
                        );
                        match try_rows(&engine, sql).await {
                            Ok(answer) if !made_up => {
                                assert_eq!(
                                    answer, right,
                                    "{sql}: {strategy}, {count}, {fault:?}, {nth}"
                                );
                            }
                            Ok(_) => {}
                            Err(error) => panic!("{sql}: {strategy}, {fault:?}, {nth}: {error}"),
                        }
                        store.faults.clear();
                    }
                }
            }
        }
    }
}

/// Impossible answers about groups are not accepted as partial aggregates.
#[tokio::test(flavor = "multi_thread")]
async fn an_impossible_answer_has_no_groups() {
    let (store, stock) = both(&[skewed(0, 64)]).await;
    let engine = engine(&store, StoreCapabilities::sluice()).await;
    let sql = "SELECT h, count(*), sum(k) FROM t GROUP BY h";
    let right = stock_rows(&stock, sql).await.unwrap();
    force(&engine, "case").await;
    for answer in [
        "",
        "21,1,21,1,21,1,64\n21,1,21,1,21,1,64\n",
        "21,1,21,1,21,1\n",
        "-21,1,21,1,21,1,64\n",
        "21,1,21,1,21,1,-64\n",
        "21,1,21,1,,1,64\n",
        "30,1,30,1,30,1,64\n",
        "9223372036854775807,1,9223372036854775807,1,30,1,64\n",
    ] {
        let fault = Fault::Records(Bytes::from(answer));
        let struck = store.faults.struck();
        store.faults.inject(Rule::new(Operation::SelectObjectContent, fault).nth(2));
        assert_eq!(rows(&engine, sql).await, right, "{answer:?}");
        assert_eq!(store.faults.struck(), struck + 1, "{answer:?}");
    }
    force(&engine, "s3").await;
    for answer in
        ["1,-21,1\n", "1,,1\n", "1,x,1\n", "1,1\n", "1,1,1,1\n", "x,1,1\n", "1,1,1\n2,-1,5\n"]
    {
        let fault = Fault::Records(Bytes::from(answer));
        let struck = store.faults.struck();
        store.faults.inject(Rule::new(Operation::SelectObjectContent, fault).nth(1));
        assert_eq!(rows(&engine, sql).await, right, "{answer:?}");
        assert_eq!(store.faults.struck(), struck + 1, "{answer:?}");
    }
}

/// If an answer breaks off for good after some groups, no part of it is used.
#[tokio::test(flavor = "multi_thread")]
async fn groups_of_an_answer_that_breaks_off_are_not_doubled() {
    let (store, stock) = both(&[skewed(0, 40_000)]).await;
    let engine = engine(&store, StoreCapabilities::sluice()).await;
    force(&engine, "s3").await;
    let sql = "SELECT k, count(*), sum(x) FROM t GROUP BY k";
    let right = stock_rows(&stock, sql).await.unwrap();
    for fault in [
        Fault::CutInRecords(2),
        Fault::CutAfterRecords(3),
        Fault::MissingEnd,
        Fault::ErrorFrame { records: 3, code: "CastFailed".to_owned() },
    ] {
        for times in [1, 2] {
            let rule = Rule::new(Operation::SelectObjectContent, fault.clone()).times(times);
            store.faults.inject(rule);
            assert!(rows(&engine, sql).await == right, "{fault:?}, {times}");
            store.faults.clear();
        }
    }
}

/// Any of the statements for single groups may fail.
#[tokio::test(flavor = "multi_thread")]
async fn a_statement_about_one_group_that_fails_costs_no_row() {
    let mut grid = Grid::every(5, "each fault in each statement about one group");
    let (store, stock) = both(&[skewed(0, 300), skewed(300, 400)]).await;
    let frame = |code: &str| Fault::ErrorFrame { records: 0, code: code.to_owned() };
    for profile in [without_case(), StoreCapabilities::minio(), StoreCapabilities::aws()] {
        let engine = engine(&store, profile).await;
        let sql = "SELECT h, count(*) FROM t GROUP BY h";
        let expected = stock_rows(&stock, sql).await.unwrap();
        for strategy in ["case", "hybrid"] {
            force(&engine, strategy).await;
            let before = engine.counted();
            assert_eq!(rows(&engine, sql).await, expected);
            let sent = engine.counted().since(&before).select;
            assert!(sent >= 2 * 4, "{sent}");
            for fault in [
                Fault::SlowDown,
                Fault::CutInRecords(0),
                Fault::MissingEnd,
                Fault::WrongCrc(0),
                frame("CastFailed"),
                frame("InternalError"),
            ] {
                for nth in (1..=sent).filter(|_| grid.takes()) {
                    let rule = Rule::new(Operation::SelectObjectContent, fault.clone()).nth(nth);
                    store.faults.inject(rule);
                    let actual = rows(&engine, sql).await;
                    assert_eq!(actual, expected, "{strategy}: {fault:?} of statement {nth}");
                    store.faults.clear();
                }
            }
        }
    }
}
