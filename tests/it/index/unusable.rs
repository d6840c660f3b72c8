//! Indexes that are stale, damaged or of an earlier version: the answer is right without them.

use sluicegate_engine::config::Scan;
use sluicegate_engine::index_statements::{FreshnessCheck, State};
use sluicegate_engine::internals::csv_text::CsvText;
use sluicegate_engine::internals::format::Format;
use sluicegate_index::layout::{Blocks, MAGIC, RecordLocation, TopMessage, entries};

use super::{FEW, create, create_after, files, is_indexed, list, numbers, table_indexes};
use crate::harness::{BUCKET, Store, rows};

/// An index that is stale, cut short, damaged, of another object, no index at all, or missing is noted, and not used.
#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_cannot_be_relied_on_is_not_used() {
    let store = Store::start().await;
    let engine = store.engine(Scan::Index).await;
    numbers(&store, &engine, 2, 5_000).await;
    let expected = rows(&engine, FEW).await;
    assert!(!expected.is_empty());
    let _ = engine.take_notes();
    let indexes = files(&store.folder.path().join(BUCKET).join(".sluice-index"));
    assert_eq!(indexes.len(), 2);
    let sound = std::fs::read(&indexes[0]).unwrap();
    let other = std::fs::read(&indexes[1]).unwrap();
    let mut damaged = vec![
        ("cut short", sound[..sound.len() / 2].to_vec()),
        ("cut short", sound[..10].to_vec()),
        ("cut short", Vec::new()),
        ("it is about n/1.csv", other),
        ("no index at all", vec![b'x'; sound.len()]),
        ("damaged", {
            let mut longer = sound.clone();
            let middle = sound.len() / 2;
            longer.iter_mut().skip(middle).take(20).for_each(|byte| *byte ^= 1);
            longer
        }),
    ];
    // One wrong bit at many places.
    damaged.extend((8..sound.len()).step_by(sound.len() / 40).map(|at| {
        let mut wrong = sound.clone();
        wrong[at] ^= 4;
        ("", wrong)
    }));
    for (why, bytes) in damaged {
        std::fs::write(&indexes[0], &bytes).unwrap();
        assert_eq!(rows(&engine, FEW).await, expected, "{why}");
        let notes = engine.take_notes().join("\n");
        assert!(notes.contains(why), "{why}: {notes}");
        if !why.is_empty() {
            assert!(notes.contains("the index of k for n/0.csv is not used: "), "{notes}");
        }
        let table = table_indexes(&engine, "n").await;
        let listed = table.list().await.unwrap();
        assert!(table.verify(&listed[0]).await.unwrap().is_some(), "{why}");
        assert_eq!(table.verify(&listed[1]).await.unwrap(), None);
        let too_short = bytes.len() < 24;
        assert_eq!(listed[0].state == State::Damaged, too_short, "{why}");
        // The commands in the notes work.
        let unnoticed = create(&engine, "n", "k").await.unwrap() == 0;
        assert!(!unnoticed || why.is_empty() || why == "damaged", "{why}");
        let repaired = create_after(&engine, "n", "k", FreshnessCheck::Whole).await.unwrap();
        assert_eq!(repaired, usize::from(unnoticed), "{why}");
        assert_eq!(rows(&engine, FEW).await, expected, "{why}");
        assert!(engine.take_notes().is_empty(), "{why}");
    }
    // First one index is missing, then both: the table is read as if it had none.
    std::fs::remove_file(&indexes[0]).unwrap();
    assert_eq!(rows(&engine, FEW).await, expected);
    assert!(is_indexed(&engine, FEW).await);
    std::fs::remove_file(&indexes[1]).unwrap();
    let query = engine.plan(FEW).await.unwrap();
    assert_eq!(
        query.collect().await.unwrap().iter().map(|it| it.num_rows()).sum::<usize>(),
        expected.len()
    );
    let warning = query.warnings().join("\n");
    assert!(
        warning.contains("the table has no index; `sluice index create` makes one"),
        "{warning}"
    );
}

/// Returns the index with all places of records moved by so many bytes.
fn later(sound: &[u8], by: u64) -> Vec<u8> {
    let top = TopMessage::of_tail(sound, sound.len() as u64).unwrap();
    let (mut at, mut blocks, mut bytes) = (MAGIC.len(), Blocks::default(), MAGIC.to_vec());
    for block in &top.blocks {
        let end = at + block.bytes as usize;
        entries(&sound[at..end], block, |key, RecordLocation { first, bytes: length }| {
            let place = RecordLocation { first: first + by, bytes: length - by };
            bytes.extend(blocks.push(key, place).unwrap_or_default());
        })
        .unwrap();
        at = end;
    }
    bytes.extend(blocks.end().unwrap_or_default());
    let top = TopMessage { blocks: blocks.done(), ..top };
    [bytes, top.to_tail()].concat()
}

/// An index with wrong places and right checksums points into records: no row is made of their parts.
#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_leads_into_records_is_not_used() {
    let store = Store::start().await;
    let engine = store.engine(Scan::Index).await;
    numbers(&store, &engine, 2, 5_000).await;
    let expected = rows(&engine, FEW).await;
    let _ = engine.take_notes();
    let indexes = files(&store.folder.path().join(BUCKET).join(".sluice-index"));
    let sound = std::fs::read(&indexes[0]).unwrap();
    std::fs::write(&indexes[0], later(&sound, 0)).unwrap();
    assert_eq!(rows(&engine, FEW).await, expected);
    assert!(engine.take_notes().is_empty());
    for by in 1..4 {
        std::fs::write(&indexes[0], later(&sound, by)).unwrap();
        assert_eq!(rows(&engine, FEW).await, expected);
        let notes = engine.take_notes().join("\n");
        let why = "the index of k for n/0.csv is not used: it leads into a record, to byte ";
        assert!(notes.contains(why), "{notes}");
        let table = table_indexes(&engine, "n").await;
        let listed = table.list().await.unwrap();
        let found = table.verify(&listed[0]).await.unwrap();
        assert_eq!(found.as_deref(), Some("its records do not follow each other"));
        assert_eq!(table.verify(&listed[1]).await.unwrap(), None);
        assert_eq!(create_after(&engine, "n", "k", FreshnessCheck::Whole).await.unwrap(), 1);
        assert_eq!(rows(&engine, FEW).await, expected);
        assert!(engine.take_notes().is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_of_a_former_version_is_stale_until_it_is_made_again() {
    let store = Store::start().await;
    let engine = store.engine(Scan::Index).await;
    numbers(&store, &engine, 2, 500).await;
    store.put("n/0.csv", "k,v,pad\n1,new,\n40,new,\n");
    let states: Vec<_> = list(&engine, "n").await.iter().map(|index| index.state).collect();
    assert_eq!(states, [State::Stale, State::Fresh]);
    let found = rows(&engine, "SELECT v FROM n WHERE k = 40").await;
    assert!(found.contains(&"\"new\"".to_owned()), "{found:?}");
    store.put("n/1.csv", "k,v,pad\n2,newer,\n40,newer,\n");
    let query = engine.plan("SELECT v FROM n WHERE k = 40").await.unwrap();
    query.collect().await.unwrap();
    let warning = query.warnings().join("\n");
    assert!(warning.contains("since the index of k was created"), "{warning}");
    assert_eq!(create(&engine, "n", "k").await.unwrap(), 2);
    // The former indexes are gone.
    let states: Vec<_> = list(&engine, "n").await.iter().map(|index| index.state).collect();
    assert_eq!(states, [State::Fresh, State::Fresh]);
    assert_eq!(create(&engine, "n", "k").await.unwrap(), 0);
    assert!(is_indexed(&engine, "SELECT v FROM n WHERE k = 40").await);
    assert_eq!(rows(&engine, "SELECT v FROM n WHERE k = 2").await, ["\"newer\""]);
    // Another table over the same objects has its own indexes.
    rows(
        &engine,
        &format!(
            "CREATE EXTERNAL TABLE m (k VARCHAR, v VARCHAR, pad VARCHAR) STORED AS CSV \
             LOCATION 's3://{BUCKET}/n/' OPTIONS ('format.has_header' 'true')"
        ),
    )
    .await;
    assert_eq!(rows(&engine, "SELECT v FROM m WHERE k = '2'").await, ["\"newer\""]);
    assert!(!is_indexed(&engine, "SELECT v FROM m WHERE k = '2'").await);
    assert_eq!(create(&engine, "m", "k").await.unwrap(), 2);
    assert!(is_indexed(&engine, "SELECT v FROM m WHERE k = '2'").await);
    assert!(is_indexed(&engine, "SELECT v FROM n WHERE k = 2").await);
}

/// The layout of earlier versions is not read, which is noted; such indexes are replaced.
#[tokio::test(flavor = "multi_thread")]
async fn an_index_of_a_former_program_is_not_used() {
    let store = Store::start().await;
    let engine = store.engine(Scan::Index).await;
    numbers(&store, &engine, 1, 500).await;
    let indexes = files(&store.folder.path().join(BUCKET).join(".sluice-index"));
    let name = indexes[0].file_name().unwrap().to_str().unwrap().to_owned();
    let text = CsvText {
        columns: 3,
        header: true,
        delimiter: b',',
        quote: b'"',
        escape: None,
        comment: None,
        terminator: None,
        truncated_rows: false,
    };
    let format = Format::Csv(text);
    let (now, former) = (format.tag(0, "Int64"), format.tag_of_version(0, "Int64", 1));
    assert!(name.contains(&now.to_string()), "{name}");
    let renamed = indexes[0].with_file_name(name.replace(&now.to_string(), &former.to_string()));
    std::fs::rename(&indexes[0], renamed).unwrap();
    let states: Vec<_> = list(&engine, "n").await.iter().map(|index| index.state).collect();
    assert_eq!(states, [State::FormerVersion]);
    let query = engine.plan(FEW).await.unwrap();
    query.collect().await.unwrap();
    let warning = query.warnings().join("\n");
    assert!(warning.contains("another version of this program made the index of k"), "{warning}");
    assert_eq!(create(&engine, "n", "k").await.unwrap(), 1);
    let states: Vec<_> = list(&engine, "n").await.iter().map(|index| index.state).collect();
    assert_eq!(states, [State::Fresh]);
    assert!(is_indexed(&engine, FEW).await);
}
