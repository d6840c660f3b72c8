//! Bytes damaged in transit, and objects damaged in the store: never a wrong answer if the store offers a checksum,
//! and never a panic on a terminal.

use std::panic::AssertUnwindSafe;
use std::sync::OnceLock;

use futures::FutureExt;
use proptest::prelude::*;
use sluicegate_engine::config::Scan;
use sluicegate_engine::{Engine, ErrorKind};
use sluicegate_server::{Fault, Operation, Rule};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::cli::{Served, text as said};
use crate::harness::{BUCKET, Store, try_ordered};
use crate::wire::{Wire, WireFault};

/// Returns rows with numbers whose order as text differs, and where one damaged digit makes a number text.
fn table(rows: usize) -> String {
    let line = |k: usize| format!("{},{}.5,value {k}\n", (k * 7919) % rows, k % 13);
    (0..rows).fold("k,f,v\n".to_owned(), |text, k| text + &line(k))
}

const SMALL: usize = 300;
/// More rows than fit in an object that is checksummed or in a sample.
const LARGE: usize = 70_000;

fn sql(object: &str) -> String {
    format!("SELECT k, f, v FROM 's3://{BUCKET}/{object}' ORDER BY k, f LIMIT 40")
}

struct Damaged {
    runtime: Runtime,
    wire: Wire,
    /// One engine for GET and one for Select.
    engines: [Engine; 2],
    right: [Vec<Vec<String>>; 2],
    _store: Store,
}

/// Returns the store that all cases share.
fn shared() -> &'static Damaged {
    static SHARED: OnceLock<Damaged> = OnceLock::new();
    SHARED.get_or_init(|| {
        let runtime = Runtime::new().unwrap();
        let (store, wire, engines, right) = runtime.block_on(async {
            let store = Store::start().await;
            store.put("small.csv", table(SMALL));
            store.put("large.csv", table(LARGE));
            let wire = Wire::to(&store.server.endpoint()).await;
            let builder = || store.builder().endpoint(&wire.endpoint);
            let get = builder().scan(Scan::Get).build().await.unwrap();
            let select = builder().scan(Scan::Select).build().await.unwrap();
            let small = try_ordered(&get, &sql("small.csv")).await.unwrap();
            let large = try_ordered(&get, &sql("large.csv")).await.unwrap();
            assert_eq!((small[2][0].as_str(), large[39][0].as_str()), ("2", "39"));
            (store, wire, [get, select], [small, large])
        });
        Damaged { runtime, wire, engines, right, _store: store }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// A flipped bit in any answer about a whole object, of Select, or of a sample is detected. Not detectable are
    /// damaged ranges of a GET without TLS, two samples with the same damage, and listings, which have no checksum.
    #[test]
    fn a_flipped_bit_makes_no_wrong_answer(
        large in any::<bool>(),
        select in any::<bool>(),
        nth in 0_usize..4,
        times in 1_usize..3,
        place in 0.0..1.0_f64,
        // Samples for the schema are mostly taken from the beginning of an object.
        early in any::<bool>(),
        bit in 0_u8..8,
        of_get in any::<bool>(),
    ) {
        let Damaged { runtime, wire, engines, right, .. } = shared();
        // GETs of large objects are not checksummed, so only their samples may be damaged.
        let select = select || large;
        // The client cannot distinguish two samples with the same damage from the object.
        let times = if large && of_get { 1 } else { times };
        let object = if large { "large.csv" } else { "small.csv" };
        let request = match of_get || !select {
            true => format!("GET /{BUCKET}/{object}"),
            false => format!("POST /{BUCKET}/{object}"),
        };
        let place = if early { place / 100.0 } else { place };
        wire.mend();
        wire.harm(&request, nth, times, WireFault::Flip { place, bit });
        let engine = &engines[usize::from(select)];
        let before = engine.counted();
        let answer = runtime.block_on(try_ordered(engine, &sql(object)));
        wire.mend();
        // On a busy machine an answer of Select may be so late that GETs fetch the rest in ranges.
        let in_ranges = large && engine.counted().since(&before).fallbacks > 0;
        if let Ok(answer) = answer && !in_ranges {
            prop_assert_eq!(&answer, &right[usize::from(large)]);
        }
    }
}

/// A letter in place of a digit of a sample would turn a column of numbers into text.
#[tokio::test(flavor = "multi_thread")]
async fn one_damaged_sample_makes_no_schema() {
    let store = Store::start().await;
    store.put("small.csv", table(SMALL));
    store.put("large.csv", table(LARGE));
    let engine = store.engine(Scan::Select).await;
    for object in ["small.csv", "large.csv"] {
        let right = try_ordered(&engine, &sql(object)).await.unwrap();
        // Damage digits and separators of the first rows.
        let at =
            table(if object == "small.csv" { SMALL } else { LARGE }).find('\n').unwrap() as u64;
        let mut looks = 0;
        for at in at + 1..at + 60 {
            store.faults.inject(Rule::new(Operation::GetObject, Fault::FlipBody { at }));
            let before = engine.counted();
            let answer = try_ordered(&engine, &sql(object)).await;
            looks += engine.counted().since(&before).get;
            store.faults.clear();
            assert_eq!(answer.unwrap(), right, "{object}, byte {at}");
        }
        assert!(looks >= 59 * 2, "{object}: {looks}");
    }
}

/// The error names the object and the remedy.
#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_object_is_named() {
    let store = Store::start().await;
    store.put("t/small.csv", table(SMALL));
    let engine = store.engine(Scan::Get).await;
    let create = format!(
        "CREATE EXTERNAL TABLE t (k BIGINT, f DOUBLE, v VARCHAR) STORED AS CSV \
         LOCATION 's3://{BUCKET}/t/' OPTIONS ('format.has_header' 'true')"
    );
    engine.collect(&create).await.unwrap();
    engine.collect("SET datafusion.execution.collect_statistics = false").await.unwrap();
    let sum = "SELECT sum(k), max(v) FROM t";
    let right = try_ordered(&engine, sum).await.unwrap();
    let size = table(SMALL).len() as u64;
    for at in [10, size / 2, size - 2] {
        store.faults.inject(Rule::new(Operation::GetObject, Fault::FlipBody { at }));
        match engine.collect(sum).await {
            // Some damage is detected earlier, when a number is parsed.
            Err(error) if error.to_string().contains("damaged") => {
                let words =
                    "`t/small.csv` was damaged: its bytes are not those of the store's crc64nvme";
                assert_eq!(error.to_string(), words);
                assert_eq!(error.kind(), ErrorKind::Data);
                assert!(error.hint().unwrap().contains("Run the query again"), "{error:?}");
            }
            Err(error) => assert_eq!(error.kind(), ErrorKind::Data, "{error}"),
            Ok(_) => panic!("byte {at} was not missed"),
        }
        store.faults.clear();
        assert_eq!(try_ordered(&engine, sum).await.unwrap(), right);
    }
}

/// Parquet files with changed bytes in the footer or in pages.
struct Mutants {
    whole: Vec<u8>,
    footer: usize,
    random: u64,
}

impl Mutants {
    fn new(whole: Vec<u8>) -> Self {
        let end = whole.len() - 8;
        let footer = u32::from_le_bytes(whole[end..end + 4].try_into().unwrap());
        Self { footer: end - footer as usize, whole, random: 7 }
    }

    /// Returns a number below `end` (SplitMix64).
    fn below(&mut self, end: usize) -> usize {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % end as u64) as usize
    }

    fn next(&mut self, of_footer: bool) -> Vec<u8> {
        let mut mutant = self.whole.clone();
        let (start, length) = match of_footer {
            true => (self.footer, self.whole.len() - 4 - self.footer),
            false => (4, self.footer - 4),
        };
        for _ in 0..=self.below(3) {
            let at = start + self.below(length);
            mutant[at] = self.below(256) as u8;
        }
        mutant
    }
}

async fn parquet(folder: &TempDir) -> Vec<u8> {
    let store = Store::start().await;
    let engine = store.engine(Scan::Get).await;
    let path = folder.path().join("good.parquet");
    let sql = format!(
        "COPY (SELECT value AS k, value * 0.25 AS f, concat('value ', value % 50) AS v \
         FROM generate_series(1, 3000)) TO '{}'",
        path.display()
    );
    engine.collect(&sql).await.unwrap();
    std::fs::read(path).unwrap()
}

/// The server checks the pages that it reads. Its error fails the query, because a GET might not detect the damage.
#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_page_that_the_store_finds_is_not_read_in_another_way() {
    const SOUND: &[u8] = include_bytes!("../../crates/evaluator/src/parquet/checksums_v1.parquet");
    let store = Store::start().await;
    store.put("sound.parquet", SOUND);
    let engine = store.engine(Scan::Select).await;
    let queries = [
        "SELECT n, s FROM 't' WHERE n < 100",
        "SELECT sum(n), max(n) FROM 't'",
        "SELECT s, count(n) FROM 't' GROUP BY s",
    ];
    let mut found = [0; 3];
    for at in (4..SOUND.len() - 8).step_by(5) {
        let mut bytes = SOUND.to_vec();
        bytes[at] ^= 1;
        let object = format!("{at}.parquet");
        store.put(&object, bytes);
        for (query, found) in queries.iter().zip(&mut found) {
            let sql = query.replace("'t'", &format!("'s3://{BUCKET}/{object}'"));
            let before = engine.counted();
            let ran = engine.collect(&sql).await;
            let Err(error) = ran else { continue };
            if !error.to_string().contains("another checksum") {
                continue;
            }
            *found += 1;
            assert_eq!(engine.counted().since(&before).fallbacks, 0, "{sql}");
            assert_eq!(error.kind(), ErrorKind::Data);
            let words = format!("`{object}` in bucket `{BUCKET}` is damaged: ParquetParsingError");
            assert!(error.to_string().contains(&words), "{error}");
            assert!(error.hint().unwrap().contains("from a copy"), "{error:?}");
        }
    }
    assert!(found.iter().all(|found| *found > 5), "{found:?}");
}

const QUERIES: [&str; 4] = [
    "SELECT count(*) FROM t",
    "SELECT * FROM t WHERE k > 2900",
    "SELECT max(v), sum(f) FROM t",
    "SELECT v FROM t ORDER BY f DESC LIMIT 3",
];

/// A query over a damaged file returns an answer or an error: nothing panics, whichever operator reads it.
#[tokio::test(flavor = "multi_thread")]
async fn damaged_parquet_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let mut mutants = Mutants::new(parquet(&folder).await);
    let store = Store::start().await;
    let engine = store.engine(Scan::Get).await;
    let mut errors = 0;
    for number in 0..200 {
        let object = format!("{number}.parquet");
        store.put(&object, mutants.next(number % 4 > 0));
        for query in QUERIES {
            let sql = query.replace(" t", &format!(" 's3://{BUCKET}/{object}'"));
            let ran = AssertUnwindSafe(engine.collect(&sql)).catch_unwind().await;
            match ran {
                Ok(Ok(_)) => {}
                Ok(Err(_)) => errors += 1,
                Err(_) => panic!("{sql} panicked"),
            }
        }
    }
    assert!(errors > 50, "{errors}");
}

/// Pages with checksums, read from a local file, by GET and by Select: no flipped bit of a value changes an answer.
#[tokio::test(flavor = "multi_thread")]
async fn pages_are_compared_with_their_checksums() {
    const INTACT: &[u8] = include_bytes!("../../crates/evaluator/src/parquet/checksums_v1.parquet");
    let (store, folder) = (Store::start().await, TempDir::new().unwrap());
    let get = store.builder().scan(Scan::Get).build().await.unwrap();
    let select = store.builder().scan(Scan::Select).build().await.unwrap();
    for flipped in [None, Some(35), Some(43), Some(82), Some(98), Some(130)] {
        let mut bytes = INTACT.to_vec();
        if let Some(at) = flipped {
            bytes[at] ^= 2;
        }
        let name = format!("{}.parquet", flipped.unwrap_or_default());
        let file = folder.path().join(&name);
        std::fs::write(&file, &bytes).unwrap();
        store.put(&name, &bytes);
        let local = format!("SELECT n, s FROM '{}' ORDER BY n", file.display());
        let remote = format!("SELECT n, s FROM 's3://{BUCKET}/{name}' WHERE n < 100 ORDER BY n");
        for (engine, sql) in [(&get, &local), (&get, &remote), (&select, &remote)] {
            match (flipped, try_ordered(engine, sql).await) {
                (None, rows) => assert!(rows.unwrap().len() > 4, "{sql}"),
                (Some(_), Err(error)) => assert_eq!(error.kind(), ErrorKind::Data, "{error}"),
                (Some(at), Ok(rows)) => panic!("{sql}: byte {at} gives {rows:?}"),
            }
        }
    }
}

/// The Parquet reader panics over some footers. The panic becomes an error and is not printed.
#[test]
fn no_panic_reaches_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = Runtime::new().unwrap();
    let mut mutants = Mutants::new(runtime.block_on(parquet(&folder)));
    let served = Served::start();
    let engine = runtime.block_on(async { Store::start().await.engine(Scan::Get).await });
    // A file over which the reader panics, as its message shows.
    let path = folder.path().join("mutant.parquet");
    let sql = format!("SELECT count(*) FROM '{}'", path.display());
    let found = (0..4000).find(|_| {
        std::fs::write(&path, mutants.next(true)).unwrap();
        let error = runtime.block_on(engine.collect(&sql)).err().map(|error| error.to_string());
        error.is_some_and(|error| error.contains("it names bytes outside of the object"))
    });
    assert!(found.is_some(), "no mutant panics any more");
    std::fs::copy(&path, served.path().join("bucket/p.parquet")).unwrap();
    let url = "s3://bucket/p.parquet";
    let table = format!(
        "CREATE EXTERNAL TABLE t (k BIGINT, f DOUBLE, v VARCHAR) STORED AS PARQUET LOCATION '{url}'; "
    );
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let mut commands: Vec<Vec<String>> = Vec::new();
    for query in QUERIES {
        let by_url = query.replace(" t", &format!(" '{url}'"));
        for scan in ["get", "select", "auto"] {
            for sql in [&by_url, &format!("{table}{query}")] {
                commands.push(words(&["sql", "--scan", scan, "-c", sql]));
            }
        }
        commands.push(words(&["explain", "-c", &by_url]));
    }
    commands.push(words(&["sql", "-c", &format!("{table}ANALYZE TABLE t")]));
    commands.push(words(&["index", "create", url, "k"]));
    commands.push(words(&["index", "list", url]));
    let mut named = 0;
    for command in commands {
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        let ran = served.command(&words).output().unwrap();
        let told = said(&ran.stderr);
        assert!(
            !told.contains("panicked at") && !told.contains("RUST_BACKTRACE"),
            "{command:?}: {told}"
        );
        assert!(matches!(ran.status.code(), Some(0 | 1)), "{command:?}: {told}");
        if ran.status.code() == Some(1) {
            assert!(
                told.starts_with("error: ") || told.starts_with("note: "),
                "{command:?}: {told}"
            );
            named += u32::from(told.contains("p.parquet` cannot be read: it names bytes"));
        }
    }
    assert!(named >= 4, "{named}");
}
