//! PushdownDB's index: S3 Select over an index table in CSV, and a GET for each row.

use sluicegate_engine::config::Scan;
use sluicegate_engine::index_statements::{Kind, State};

use super::{create_table, files, key, list, numbers, table_indexes};
use crate::harness::{BUCKET, Store, rows};

const OBJECTS: usize = 2;
const RECORDS: usize = 2_000;
const NEIGHBOURS: &str = "SELECT v FROM n WHERE k BETWEEN 100 AND 119";

async fn engine(store: &Store) -> sluicegate_engine::Engine {
    let engine = store.engine(Scan::IndexTable).await;
    rows(&engine, "SET datafusion.execution.collect_statistics = false").await;
    numbers(store, &engine, OBJECTS, RECORDS).await;
    assert_eq!(create_table(&engine, "n", "k").await.unwrap(), OBJECTS);
    engine
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_finds_the_rows_and_each_is_fetched_by_a_request() {
    let store = Store::start().await;
    let engine = engine(&store).await;
    let written = files(&store.folder.path().join(BUCKET).join(".sluice-index"));
    let tables: Vec<_> = written.iter().filter(|it| it.extension().unwrap() == "csv").collect();
    assert_eq!((written.len(), tables.len()), (2 * OBJECTS, OBJECTS));
    let text = std::fs::read_to_string(tables[0]).unwrap();
    // The first record follows the header.
    let first = format!(
        "{},8,{}\n",
        key(0, 0, RECORDS),
        8 + format!("{},0-0,\n", key(0, 0, RECORDS)).len() - 1
    );
    assert!(text.starts_with(&first) && text.lines().count() == RECORDS, "{first}: {text:.100}");

    let explained = engine.explain(NEIGHBOURS).await.unwrap().to_string();
    assert!(explained.contains("* index_table"), "{explained}");
    assert!(explained.contains("over the index table of k, and one GET per row"), "{explained}");
    // Planning reads the samples of the objects, too.
    let before = engine.counted();
    engine.explain(NEIGHBOURS).await.unwrap();
    let planning = engine.counted().since(&before);
    let before = engine.counted();
    let found = rows(&engine, NEIGHBOURS).await;
    let wanted = (0..OBJECTS * RECORDS)
        .filter(|n| (100..120).contains(&key(n / RECORDS, n % RECORDS, RECORDS)))
        .count();
    assert!(found.len() == wanted && wanted > 10, "{found:?}");
    let counted = engine.counted().since(&before);
    assert_eq!((counted.select, counted.fallbacks), (OBJECTS as u64, 0), "{counted:?}");
    assert_eq!(counted.get, wanted as u64 + planning.get, "{counted:?} {planning:?}");
    let analyzed = rows(&engine, &format!("EXPLAIN ANALYZE {NEIGHBOURS}")).await.join("\n");
    assert!(analyzed.contains("index_table=k by"), "{analyzed}");

    // Without being forced, it is not a strategy.
    rows(&engine, "SET sluice.scan = 'auto'").await;
    assert!(!engine.explain(NEIGHBOURS).await.unwrap().to_string().contains("index_table"));
    assert_eq!(rows(&engine, NEIGHBOURS).await, found);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_that_cannot_be_used_is_reported() {
    let store = Store::start().await;
    let engine = engine(&store).await;
    let expected = rows(&engine, NEIGHBOURS).await;
    let unmet = async |sql: &str, why: &str| {
        let query = engine.plan(sql).await.unwrap();
        query.frame().clone().create_physical_plan().await.unwrap();
        let warnings = query.warnings().join("\n");
        assert!(warnings.contains(why), "{why}: {warnings}");
    };
    unmet("SELECT v FROM n WHERE v = '0-1'", "no column that has an index table (k)").await;
    unmet("SELECT v FROM n WHERE k IS NULL", "no column that has an index table (k)").await;
    assert!(create_table(&engine, "n", "v").await.unwrap_err().to_string().contains("not about"));

    // A table that leads elsewhere is noted, and its object is read whole.
    let of_table = |path: &std::path::PathBuf| path.extension().unwrap() == "csv";
    let tables: Vec<_> = files(&store.folder.path().join(BUCKET).join(".sluice-index"));
    let tables: Vec<_> = tables.into_iter().filter(of_table).collect();
    let sound = std::fs::read_to_string(&tables[0]).unwrap();
    for (wrong, why) in [
        (sound.replace(",8,", ",9,"), "leads into a record"),
        (sound.lines().map(|it| format!("{it}000000000\n")).collect(), "places outside"),
    ] {
        std::fs::write(&tables[0], wrong).unwrap();
        let _ = engine.take_notes();
        let all = rows(&engine, "SELECT v FROM n WHERE k >= 0").await;
        assert_eq!(all.len(), OBJECTS * RECORDS);
        let notes = engine.take_notes().join("\n");
        assert!(notes.contains(why), "{why}: {notes}");
    }
    std::fs::write(&tables[0], &sound).unwrap();
    assert_eq!(rows(&engine, NEIGHBOURS).await, expected);

    // Verification compares each line with the object.
    let first = sound.lines().next().unwrap();
    let (value, places) = first.split_once(',').unwrap();
    for (wrong, why) in [
        (sound.replacen(value, "77777", 1), "line 1 is not as the object has it"),
        (sound.replacen(places, "0,1", 1), "line 1 is not as the object has it"),
        (sound[..sound.len() - 1].to_owned(), "it ends before line"),
        (first.to_owned() + "\n", "it ends before line 2"),
        (sound.clone() + first, "it goes on after line"),
        (String::new(), "it ends before line 1"),
    ] {
        std::fs::write(&tables[0], wrong).unwrap();
        let indexes = table_indexes(&engine, "n").await;
        let mut found = Vec::new();
        for index in indexes.list().await.unwrap().iter().filter(|it| it.is_table()) {
            found.extend(indexes.verify(index).await.unwrap());
        }
        assert_eq!(found.len(), 1, "{why}: {found:?}");
        assert!(found[0].contains(why), "{why}: {found:?}");
    }
    std::fs::write(&tables[0], &sound).unwrap();

    // An object that is replaced makes its table stale; the other one is still used.
    let object = store.folder.path().join(BUCKET).join("n/0.csv");
    let replaced = std::fs::read_to_string(&object).unwrap();
    store.put("n/0.csv", replaced + "110,new,\n");
    assert_eq!(rows(&engine, NEIGHBOURS).await.len(), expected.len() + 1);
    let stale = |state| {
        move |it: &&sluicegate_engine::index_statements::Index| {
            it.name.kind() == Kind::Table && it.state == state
        }
    };
    let listed = list(&engine, "n").await;
    assert_eq!(listed.iter().filter(stale(State::Stale)).count(), 1);
    store.put("n/1.csv", "k,v,pad\n110,only,\n");
    unmet(NEIGHBOURS, "the objects have been replaced").await;
    assert_eq!(create_table(&engine, "n", "k").await.unwrap(), OBJECTS);
    let listed = list(&engine, "n").await;
    assert_eq!(listed.iter().filter(stale(State::Fresh)).count(), OBJECTS);
    assert!(rows(&engine, NEIGHBOURS).await.join("\n").contains("only"));
}
