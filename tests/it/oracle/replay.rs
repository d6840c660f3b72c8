//! Runs the recorded statements, each with `auto` and with a forced way.
//!
//! `tests/oracle/corpus` has for each name its tables (`.json`) and its statements with DuckDB's answers (`.slt`). A
//! statement runs twice, over tables that are stored in two of three forms. Those that fail are listed in
//! `known_failures.txt`, which may only name statements that do.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use sqllogictest::{QueryExpect, Record, SortMode};

use super::compare::{Kind, difference};
use super::inputs::{FORMS, Input};
use super::sessions::Sessions;
use crate::harness::BUCKET;

/// Number of failures that are shown in full.
const SHOWN: usize = 20;

fn read(name: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/oracle");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

/// Returns the ways to run a statement; the first is `auto`.
fn ways() -> Vec<(String, Vec<String>)> {
    let text = read("ways.txt");
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let (name, settings) = line.split_once(':').unwrap();
            let settings = settings.split(';').map(|it| it.trim().to_owned());
            (name.to_owned(), settings.filter(|it| !it.is_empty()).collect())
        })
        .collect()
}

/// Returns the labels of the statements that are known to fail.
fn known_failures(name: &str) -> BTreeSet<String> {
    let text = read("corpus/known_failures.txt");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let labels = lines.filter_map(|line| line.split_whitespace().next()?.strip_prefix(name));
    labels.filter_map(|label| label.strip_prefix('/')).map(str::to_owned).collect()
}

/// Returns parts of intended errors, of statements that are refused on purpose.
fn intended_errors() -> Vec<String> {
    let table: toml::Table = read("differences.toml").parse().unwrap();
    let entries = table["difference"].as_array().unwrap();
    let errors = entries.iter().filter_map(|entry| entry.get("errors")?.as_array());
    errors.flatten().map(|words| words.as_str().unwrap().to_owned()).collect()
}

/// Runs one of `parts` parts of a file's statements.
async fn replay(name: &str, (part, parts): (usize, usize)) {
    let mut sessions = Sessions::start().await;
    let inputs = Input::all(&read(&format!("corpus/{name}.json")));
    let forms: Vec<&str> = match inputs.iter().any(Input::has_empty_text) {
        true => FORMS[1..].to_vec(),
        false => FORMS.to_vec(),
    };
    let mut definitions = BTreeMap::new();
    for form in &forms {
        for (key, bytes) in inputs.iter().flat_map(|input| input.objects(form)) {
            sessions.store.put(&format!("{form}/{key}"), bytes);
        }
        let location = format!("s3://{BUCKET}/{form}/");
        let made: Vec<String> = inputs.iter().map(|input| input.ddl(form, &location)).collect();
        definitions.insert(*form, made);
    }
    let (ways, known, intended) = (ways(), known_failures(name), intended_errors());
    let mut opened = BTreeSet::new();
    let (mut failures, mut failed, mut labels) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    let records = sqllogictest::parse::<Kind>(&read(&format!("corpus/{name}.slt"))).unwrap();
    let queries = records.into_iter().filter_map(|record| match record {
        Record::Query { sql, expected, .. } => Some((sql, expected)),
        _ => None,
    });
    for (at, (sql, expected)) in queries.enumerate() {
        let QueryExpect::Results { types, sort_mode, label, results, .. } = expected else {
            panic!("{sql}: rows are expected")
        };
        if at % parts != part {
            continue;
        }
        let label = label.unwrap();
        assert!(labels.insert(label.clone()), "two statements are {name}/{label}");
        // A forced way uses one form here and the others in other files: opening sessions takes as long as
        // statements.
        let forced = 1 + at % (ways.len() - 1);
        let turn = forced + name.bytes().map(usize::from).sum::<usize>();
        for (way, form) in [(0, forms[at % forms.len()]), (forced, forms[turn % forms.len()])] {
            let (way, settings) = &ways[way];
            let session = format!("{way} over {form}");
            if opened.insert(session.clone()) {
                let statements = [settings.clone(), definitions[form].clone()].concat();
                sessions.open(&session, &statements).await.unwrap();
            }
            let is_ordered = sort_mode == Some(SortMode::NoSort);
            let wrong = match sessions.run(&session, &sql).await {
                Ok(answer) => difference(&answer, &types, &results, is_ordered),
                Err(error) if intended.iter().any(|words| error.contains(words)) => None,
                Err(error) => Some(error),
            };
            if let Some(wrong) = wrong
                && failed.insert(label.clone())
                && !known.contains(&label)
            {
                failures.push(format!("{name}/{label} ({session}): {sql}\n  {wrong}"));
            }
        }
    }
    assert!(!labels.is_empty());
    if let Some(path) = std::env::var_os("SLUICE_ORACLE_FAILURES") {
        let lines: String = failed.iter().map(|label| format!("{name}/{label}\n")).collect();
        std::fs::write(PathBuf::from(path).join(format!("{name}.{part}")), lines).unwrap();
    }
    let count = failures.len();
    failures.truncate(SHOWN);
    assert!(count == 0, "{count} of {} statements:\n{}", labels.len(), failures.join("\n"));
    let mended: Vec<_> = known.intersection(&labels).filter(|it| !failed.contains(*it)).collect();
    assert!(mended.is_empty(), "right now; strike them from known_failures.txt: {mended:?}");
}

macro_rules! corpus {
    ($($name:ident),+ $(,)?) => {
        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                Box::pin(replay(stringify!($name), (0, 1))).await;
            }
        )+

        #[test]
        fn every_recorded_file_is_replayed() {
            let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/oracle/corpus");
            let mut files: Vec<_> = std::fs::read_dir(folder)
                .unwrap()
                .filter_map(|file| file.unwrap().file_name().into_string().unwrap().strip_suffix(".slt").map(str::to_owned))
                .collect();
            files.sort();
            let mut names = vec!["classes", $(stringify!($name)),+];
            names.sort_unstable();
            assert_eq!(files, names);
        }
    };
}

/// Large files run in parts.
macro_rules! classes {
    ($($name:ident = $part:literal),+ $(,)?) => {
        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                Box::pin(replay("classes", ($part, CLASSES))).await;
            }
        )+
    };
}

const CLASSES: usize = 5;

classes!(classes_1 = 0, classes_2 = 1, classes_3 = 2, classes_4 = 3, classes_5 = 4);
corpus!(r01, r02, r03, r04, r05, r06, r07, r08, r09, r10, r11, r12, r13, r14, r15, r16);
