//! Tests aggregates over groups that are found by one look-up per row.

use super::{check, request};

#[test]
fn groups_that_share_subexpressions_keep_their_values() {
    let count = "COUNT(CASE WHEN _1='a' THEN CAST(NULLIF(_2,'') AS INT) END)";
    let sum = "SUM(CASE WHEN _1='b' THEN CAST(NULLIF(_2,'') AS INT)+1 END)";
    let query = |items: &[&str]| request(&format!("SELECT {} FROM S3Object", items.join(", ")));
    check(&query(&[count, sum]), "a,1\na,\nb,5\n", "1,6\n");
    check(&query(&[sum, count]), "a,1\na,\nb,5\n", "6,1\n");

    let half = |a: &str| format!("{a}\nb,1\n").repeat(5000);
    let object = half("a,7") + &half("a,");
    let [a, b] = ["a", "b"]
        .map(|group| format!("SUM(CASE WHEN _1='{group}' THEN CAST(NULLIF(_2,'') AS INT) END)"));
    let more = b.replace("INT)", "INT)+1");
    check(&query(&[&more, &a]), &object, "20000,35000\n");
    check(&query(&[&a, &more]), &object, "35000,20000\n");
    check(&query(&[&a, &b, &more]), &object, "35000,10000,20000\n");

    let text = "MIN(CASE WHEN _1='a' THEN CAST(CAST(_2 AS INT) AS STRING) END)";
    let length = "SUM(CASE WHEN _1='b' THEN CHAR_LENGTH(CAST(CAST(_2 AS INT) AS STRING)) END)";
    check(&query(&[text, length]), "b,55555\na,17\n", "17,5\n");
}

#[test]
fn equal_constants_are_those_that_print_alike() {
    let zeros = "SELECT CAST(_1 AS FLOAT) * 0e0, CAST(_1 AS FLOAT) * -0e0, 1.0, 1.00 FROM S3Object";
    check(&request(zeros), "1\n", "0.0,-0.0,1.0,1.00\n");
}
