//! CSV files without a header in tables that declare their columns.

use sluicegate_engine::config::Scan;

use crate::bad_input::says;
use crate::harness::{BUCKET, Store, rows, try_rows};

const COLUMNS: &str = "(id INT, name VARCHAR, day DATE) STORED AS CSV LOCATION";

/// The first record is a row if it has values and none of the declared names; options override this.
#[tokio::test(flavor = "multi_thread")]
async fn a_first_row_is_no_header() {
    let store = Store::start().await;
    let here = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| {
        store.put(name, text);
        let path = here.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let plain = "1,alpha,2024-01-01\n2,beta,2024-01-02\n";
    put("plain/a.csv", plain);
    put("plain/b.csv", "3,gamma,2024-01-03\n");
    put("named/a.csv", &format!("id,name,day\n{plain}"));
    put("other/a.csv", &format!("Nr,Name of it,Day\n{plain}"));
    put("years/a.csv", "2019,2020,2021\n1,x,2024-01-01\n2,y,2024-01-02\n");
    put("mixed/a.csv", &format!("id,name,day\n{plain}"));
    put("mixed/b.csv", "3,gamma,2024-01-03\n");
    for scan in [Scan::Get, Scan::Select] {
        for place in [format!("s3://{BUCKET}"), here.path().display().to_string()] {
            for (folder, options, count) in [
                ("plain/", "", "3"),
                ("plain/", "OPTIONS ('format.has_header' 'true')", "1"),
                ("named/", "", "2"),
                ("other/", "", "2"),
                ("years/", "", "2"),
            ] {
                let engine = store.engine(scan).await;
                rows(
                    &engine,
                    &format!("CREATE EXTERNAL TABLE t {COLUMNS} '{place}/{folder}' {options}"),
                )
                .await;
                let counted = rows(&engine, "SELECT count(id) FROM t").await;
                assert_eq!(counted, [format!("\"{count}\"")], "{place}/{folder} {options}");
            }
            let engine = store.engine(scan).await;
            let table = format!("CREATE EXTERNAL TABLE t {COLUMNS} '{place}/mixed/'");
            says(
                try_rows(&engine, &table).await,
                &["b.csv` begins with a row (3, gamma", "has_header"],
            );
        }
    }
}

/// Invalid dates in the first records make their column text.
#[tokio::test(flavor = "multi_thread")]
async fn days_that_there_are_not_are_text() {
    let store = Store::start().await;
    store.put("days.csv", "d,t\n2024-01-31,2024-01-31T10:00:00\n0000-00-00,2024-02-31T10:00:00\n");
    let engine = store.engine(Scan::Get).await;
    assert_eq!(
        rows(&engine, &format!("SELECT d, t FROM 's3://{BUCKET}/days.csv'")).await,
        [r#""0000-00-00" | "2024-02-31T10:00:00""#, r#""2024-01-31" | "2024-01-31T10:00:00""#]
    );
}

/// If all objects are in subfolders, the message names these.
#[tokio::test(flavor = "multi_thread")]
async fn subfolders_that_have_all_files_are_named() {
    let store = Store::start().await;
    store.put("only/2024/01/a.csv", "a\n1\n");
    let engine = store.engine(Scan::Get).await;
    let sql = format!("CREATE EXTERNAL TABLE t STORED AS CSV LOCATION 's3://{BUCKET}/only/'");
    says(
        try_rows(&engine, &sql).await,
        &["only in its subfolders", "listing_table_ignore_subdirectory"],
    );
}
