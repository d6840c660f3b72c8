use std::collections::{HashMap, HashSet};
use std::io::Cursor;
use std::num::NonZeroUsize;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::compute::concat_batches;
use arrow::datatypes::{Decimal128Type, Int32Type};
use futures::TryStreamExt;
use object_store::memory::InMemory;
use object_store::{ObjectStore, ObjectStoreExt};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::*;
use crate::{DataTable, Format, Share, generate};

fn table(table: Table, scale: f64, seed: u64) -> RecordBatch {
    let batches: Vec<_> =
        Table::batches(Share::whole(table, scale, Seed(seed))).map(Result::unwrap).collect();
    concat_batches(&table.schema(), &batches).unwrap()
}

fn strings<'a>(batch: &'a RecordBatch, column: &str) -> Vec<&'a str> {
    let column = batch.column_by_name(column).unwrap().as_string_view();
    (0..column.len()).map(|row| column.value(row)).collect()
}

/// Returns the bytes of all objects of a request, by path.
fn objects(request: &Generate) -> Vec<(String, bytes::Bytes)> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let store = InMemory::new();
        generate(request, &store, &|_| ()).await.unwrap();
        let mut listed: Vec<_> = store.list(None).try_collect().await.unwrap();
        listed.sort_by(|a, b| a.location.cmp(&b.location));
        let mut objects = Vec::new();
        for object in listed {
            let bytes = store.get(&object.location).await.unwrap().bytes().await.unwrap();
            objects.push((object.location.to_string(), bytes));
        }
        objects
    })
}

fn request(format: Format, objects: usize) -> Generate {
    Generate {
        scale: 0.001,
        format,
        objects_per_table: NonZeroUsize::new(objects).unwrap(),
        ..Generate::default()
    }
}

#[test]
fn the_sample_of_the_paper_is_scale_1() {
    assert_eq!((Table::Rankings.rows(1.0), Table::Uservisits.rows(1.0)), (18_000_000, 31_700_000));
    assert_eq!(table(Table::Uservisits, 0.001, 1).num_rows(), 31_700);
    assert_eq!(table(Table::Rankings, Table::LEAST_SCALE, 1).num_rows(), 180);
}

#[test]
fn pages_have_addresses_of_their_own_and_are_nearly_sorted() {
    let rankings = table(Table::Rankings, 0.002, 7);
    let urls: HashSet<&str> = strings(&rankings, "pageurl").into_iter().collect();
    assert_eq!(urls.len(), rankings.num_rows());
    let ranks = rankings.column(1).as_primitive::<Int32Type>().values();
    let sorted = ranks.windows(2).filter(|pair| pair[0] >= pair[1]).count();
    assert!(sorted < ranks.len() - 1, "not a row is out of order");
    // No row is far from its place: ranks fall from one tenth of the table to the next but one.
    let tenth = ranks.len() / 10;
    for start in (0..ranks.len() - 3 * tenth).step_by(tenth) {
        let least = ranks[start..start + tenth].iter().min().unwrap();
        let greatest = ranks[start + 2 * tenth..start + 3 * tenth].iter().max().unwrap();
        assert!(least >= greatest, "{least} before {greatest}");
    }
    // A Pareto variable: one in 31.6 is above 100.
    let above = ranks.iter().filter(|rank| **rank >= 100).count() as f64 / ranks.len() as f64;
    assert!((0.028..0.036).contains(&above), "{above}");
}

#[test]
fn visits_are_skewed_and_some_go_nowhere() {
    let visits = table(Table::Uservisits, 0.002, 7);
    let rankings = table(Table::Rankings, 0.002, 7);
    let urls: HashSet<&str> = strings(&rankings, "pageurl").into_iter().collect();
    let destinations = strings(&visits, "desturl");
    let known = destinations.iter().filter(|url| urls.contains(*url)).count();
    let fraction = known as f64 / destinations.len() as f64;
    assert!((0.89..0.91).contains(&fraction), "{fraction} of the visits match");
    let mut agents: HashMap<&str, usize> = HashMap::new();
    for agent in strings(&visits, "useragent") {
        *agents.entry(agent).or_default() += 1;
    }
    let commonest = *agents.values().max().unwrap() as f64 / visits.num_rows() as f64;
    // 1 / H(1800) = 0.124
    assert!((0.115..0.133).contains(&commonest), "{commonest}");
    assert!(agents.len() > 1700);
    let revenue = visits.column(3).as_primitive::<Decimal128Type>().values();
    let mean = revenue.iter().sum::<i128>() as f64 / revenue.len() as f64;
    assert!((490_000.0..510_000.0).contains(&mean), "{mean}");
}

/// Each visitor has one address and one locale.
#[test]
fn an_address_has_one_locale() {
    let visits = table(Table::Uservisits, 0.001, 7);
    let mut locales: HashMap<&str, &str> = HashMap::new();
    let places = strings(&visits, "sourceip").into_iter().zip(strings(&visits, "languagecode"));
    let moved = places.filter(|(ip, place)| locales.insert(ip, place).is_some_and(|p| p != *place));
    // Two visitors may share an address by chance.
    assert!(moved.count() < 20);
}

#[test]
fn query_7_has_an_answer_at_every_scale() {
    for scale in [0.001, 0.01] {
        let visits = table(Table::Uservisits, scale, 42);
        let revenue = visits.column(3).as_primitive::<Decimal128Type>().values();
        let mut sums: HashMap<&str, i128> = HashMap::new();
        for (language, value) in strings(&visits, "languagecode").into_iter().zip(revenue) {
            *sums.entry(language).or_default() += value;
        }
        let threshold = (1e12 * scale) as i128;
        let above = sums.values().filter(|sum| **sum > threshold).count();
        assert!((1..sums.len() / 2).contains(&above), "{above} of {}", sums.len());
    }
}

#[test]
fn seeds_differ_and_repeat() {
    for t in Table::ALL {
        assert_eq!(table(t, 0.0001, 1), table(t, 0.0001, 1));
        assert_ne!(table(t, 0.0001, 1), table(t, 0.0001, 2));
    }
}

#[test]
fn csv_and_parquet_hold_the_rows_in_any_number_of_objects() {
    for format in [Format::Csv { header: false }, Format::csv(), Format::parquet()] {
        let mut read: HashMap<Table, Vec<RecordBatch>> = HashMap::new();
        for (path, bytes) in objects(&request(format.clone(), 3)) {
            let name = path.split('/').nth(3).unwrap();
            let t: Table = name.parse().unwrap();
            let batches = read.entry(t).or_default();
            if let Format::Csv { header } = format {
                let reader = arrow::csv::ReaderBuilder::new(t.schema()).with_header(header);
                let reader = reader.build(Cursor::new(bytes)).unwrap();
                batches.extend(reader.map(Result::unwrap));
            } else {
                let reader = ParquetRecordBatchReaderBuilder::try_new(bytes).unwrap();
                batches.extend(reader.build().unwrap().map(|batch| {
                    let (batch, schema) = (batch.unwrap(), t.schema());
                    let columns = batch
                        .columns()
                        .iter()
                        .zip(schema.fields())
                        .map(|(c, f)| arrow::compute::cast(c, f.data_type()).unwrap());
                    RecordBatch::try_new(schema.clone(), columns.collect()).unwrap()
                }));
            }
        }
        for t in Table::ALL {
            let whole = concat_batches(&t.schema(), &read[&t]).unwrap();
            assert_eq!(whole, table(t, 0.001, 42), "{t} {format:?}");
        }
    }
}

#[test]
fn objects_are_where_one_looks_for_them() {
    let request = request(Format::csv(), 2);
    let paths: Vec<String> =
        request.objects(Table::Rankings).into_iter().map(String::from).collect();
    assert_eq!(
        paths,
        [
            "bigdata/sf0.001/csv/rankings/rankings.00.csv",
            "bigdata/sf0.001/csv/rankings/rankings.01.csv"
        ]
    );
    assert!("visits".parse::<Table>().is_err());
}
