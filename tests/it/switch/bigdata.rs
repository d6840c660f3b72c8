//! The seven queries of Cheetah's evaluation, with the switch and without.

use std::num::NonZeroUsize;

use object_store::local::LocalFileSystem;
use sluicegate_workloads::bigdata::{Generate, Table, query_at_scale};
use sluicegate_workloads::{DataTable as _, Format, generate};

use super::{engine, switch_lines};
use crate::harness::rows;

/// Scale of 3600 rankings and 6340 visits.
const SCALE: f64 = 0.0002;

/// Returns the query itself, and in the form that the switch supports.
fn texts(number: usize) -> [String; 2] {
    let text = query_at_scale(number, SCALE).unwrap().into_owned();
    let skyline = "SELECT * FROM rankings QUALIFY skyline(pageRank, avgDuration) OVER ()";
    let served = if number == 3 { skyline.to_owned() } else { text.clone() };
    [text, served]
}

#[tokio::test(flavor = "multi_thread")]
async fn all_seven_queries_give_the_same_rows() {
    let folder = tempfile::tempdir().unwrap();
    let local = LocalFileSystem::new_with_prefix(folder.path()).unwrap();
    let data = Generate {
        scale: SCALE,
        format: Format::csv(),
        objects_per_table: NonZeroUsize::new(3).unwrap(),
        ..Generate::default()
    };
    generate(&data, &local, &|_| ()).await.unwrap();
    let engine = engine("off").await;
    for table in Table::ALL {
        let location = format!("{}/{}/", folder.path().display(), data.folder(table));
        rows(&engine, &table.create_external_table(&data.format, &location)).await;
    }
    let programs =
        ["filter", "distinct", "skyline", "top_n", "group_by_max", "build join", "having"];
    for (number, program) in (1..).zip(programs) {
        let [text, served] = texts(number);
        rows(&engine, "SET sluice.switch = 'off'").await;
        let expected = rows(&engine, &text).await;
        assert!(!expected.is_empty(), "query {number} asks for nothing");
        for target in ["tofino1", "tofino2", "paper"] {
            rows(&engine, &format!("SET sluice.switch = '{target}'")).await;
            let lines = switch_lines(&engine, &served).await;
            let start = format!("SwitchPruneExec: {program}");
            assert!(lines.iter().any(|line| line.starts_with(&start)), "{number}: {lines:?}");
            assert_eq!(rows(&engine, &served).await, expected, "query {number} on {target}");
        }
    }
}
