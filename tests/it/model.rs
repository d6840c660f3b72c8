//! `sluice model` on the command line: predictions of a query, for this hardware and for what-ifs.

use std::process::Command;

use serde_json::Value;

use crate::cli::{Served, bad, good};

const QUERY: &str = "SELECT name, price FROM 's3://bucket/fruit.csv' WHERE id < 3";

fn model(served: &Served, more: &[&str]) -> Command {
    let mut command = served.command(&["model", "--store", "sluice", "--draws", "200"]);
    command.args(["-c", QUERY]).args(more);
    command
}

fn json(served: &Served, more: &[&str]) -> Value {
    let text = good(model(served, more).args(["--format", "json"]));
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["version"], 1);
    value["statements"][0]["cases"].clone()
}

/// Returns the way of that name of the first operator.
fn way<'a>(case: &'a Value, strategy: &str) -> &'a Value {
    let ways = case["operators"][0]["ways"].as_array().unwrap();
    ways.iter().find(|way| way["strategy"] == strategy).unwrap()
}

fn seconds(case: &Value, strategy: &str) -> f64 {
    way(case, strategy)["seconds"].as_f64().unwrap()
}

#[test]
fn every_way_has_the_numbers_of_explain_and_an_interval() {
    let served = Served::start();
    let cases = json(&served, &[]);
    let case = &cases[0];
    let explained = good(&mut served.command(&["explain", "--store", "sluice", "-c", QUERY]));
    for strategy in ["get", "select"] {
        let way = way(case, strategy);
        let shown = format!("{:.3} s, $", way["seconds"].as_f64().unwrap());
        let line =
            explained.lines().find(|it| it.trim_start_matches([' ', '*']).starts_with(strategy));
        assert!(line.unwrap().contains(&shown), "{shown}: {explained}");
        for interval in ["seconds_p10_p50_p90", "dollars_p10_p50_p90"] {
            let [low, middle, high] = [0, 1, 2].map(|place| way[interval][place].as_f64().unwrap());
            assert!(0.0 < low && low < middle && middle < high, "{way}");
        }
    }
    let ways = case["operators"][0]["ways"].as_array().unwrap();
    let certain: f64 = ways.iter().map(|way| way["best_probability"].as_f64().unwrap()).sum();
    assert!((certain - 1.0).abs() < 1e-9);
    assert_eq!(ways.iter().filter(|way| way["taken"] == true).count(), 1);
    assert!(!case["operators"][0]["sensitivity"].as_array().unwrap().is_empty());
    // The same seed gives the same numbers, and another seed does not.
    assert_eq!(cases, json(&served, &[]));
    assert_ne!(cases, json(&served, &["--seed", "2"]));
}

#[test]
fn a_what_if_changes_what_it_names() {
    let served = Served::start();
    let cases = json(&served, &["--what-if", "latency=1s", "--what-if", "store=smart-ssd"]);
    let [here, far, smart] = [&cases[0], &cases[1], &cases[2]];
    // The profile local has a latency of 0.5 ms.
    let later = seconds(far, "get") - seconds(here, "get");
    assert!((later - 0.9995).abs() < 1e-6, "{later}");
    assert_eq!(far["what_if"], "latency=1s");
    assert_ne!(seconds(smart, "select"), seconds(here, "select"));
    assert_eq!(seconds(smart, "get"), seconds(here, "get"));
    assert!(smart["sources"][0].as_str().unwrap().contains("ICPE 2020"));
    // With prices of a store that does not sell Select, Select is impossible.
    let express = json(&served, &["--what-if", "prices=s3-express-us-east-1"]);
    assert_eq!(express[1]["operators"][0]["impossible"][0]["strategy"], "select");
}

#[test]
fn a_sweep_has_a_line_for_each_way_at_each_point() {
    let served = Served::start();
    let csv = |axis: &str| good(model(&served, &["--sweep", axis]).args(["--format", "csv"]));
    let column = |csv: &str, axis: &str, strategy: &str| -> Vec<f64> {
        let lines = csv.lines().filter(|it| it.contains(axis) && it.contains(strategy));
        lines.map(|line| line.split(',').nth(10).unwrap().parse().unwrap()).collect()
    };
    let bandwidth = csv("bandwidth=1kbit..1Gbit/4");
    let (get, select) =
        (column(&bandwidth, "bandwidth", ",get,"), column(&bandwidth, "bandwidth", ",select,"));
    assert_eq!((get.len(), select.len()), (4, 4), "{bandwidth}");
    assert!(get.is_sorted_by(|a, b| a >= b) && get[0] > 2.0 * get[3], "{get:?}");
    // More rows mean more bytes from Select, but whole objects keep their size.
    let selectivity = csv("selectivity=0,0.5,1");
    let select = column(&selectivity, "selectivity", ",select,");
    let get = column(&selectivity, "selectivity", ",get,");
    assert!(select.is_sorted() && select[0] < select[2], "{select:?}");
    assert!(get.len() == 3, "{selectivity}");
    let scale = csv("scale=1,1000");
    let get = column(&scale, "scale", ",get,");
    assert!(get[1] > get[0], "{get:?}");
}

/// The numbers without pushdown equal those of a session in which all pushdown is turned off.
#[test]
fn pushdown_is_compared_with_none() {
    let served = Served::start();
    fruits(&served);
    let from = "FROM 's3://bucket/fruits/'";
    let off = "SET sluice.scan = 'get'; SET sluice.aggregate = 'here'; SET sluice.group_by = 'server'; \
               SET sluice.top_k = 'server'; SET sluice.join = 'baseline'; ";
    for sql in [
        format!("SELECT id {from} WHERE price < 3"),
        format!("SELECT sum(price) {from}"),
        format!("SELECT name, sum(price) {from} GROUP BY name"),
        format!("SELECT name, price {from} ORDER BY price LIMIT 3"),
    ] {
        let more = ["--hardware", "local-1gbit", "--what-if", "bandwidth=10Mbit"];
        let (asked, told) =
            (cases_of(&served, &sql, &more), cases_of(&served, &(off.to_owned() + &sql), &more));
        for place in [0, 1] {
            let plain = &asked[place]["without_pushdown"];
            assert_eq!(*plain, told[place]["total"], "{sql}");
            assert!(plain["link_bytes"].as_f64() > asked[place]["total"]["link_bytes"].as_f64());
        }
    }
    let table = good(&mut model(&served, &[]));
    assert!(table.contains("without pushdown, all fetched by GET: "), "{table}");
}

/// The way that a setting forces is marked as taken, whatever it costs, and the total includes it.
#[test]
fn what_a_setting_says_is_taken() {
    let served = Served::start();
    fruits(&served);
    for strategy in ["server", "filtered", "s3"] {
        let mut command = served.command(&["model", "--store", "sluice", "--draws", "50"]);
        let sql = format!("SET sluice.group_by = '{strategy}'; {FRUITS}");
        let text = good(command.args(["-c", &sql, "--format", "json"]));
        let value: Value = serde_json::from_str(&text).unwrap();
        let statements = value["statements"].as_array().unwrap();
        let operator = &statements.last().unwrap()["cases"][0]["operators"][0];
        let ways = operator["ways"].as_array().unwrap();
        let taken: Vec<_> = ways.iter().filter(|way| way["taken"] == true).collect();
        assert_eq!(taken.len(), 1, "{operator}");
        assert_eq!(taken[0]["strategy"], strategy);
    }
}

/// Four machines, each with a link of its own, take a quarter of the time.
#[test]
fn more_machines_have_more_links() {
    let served = Served::start();
    fruits(&served);
    let model = |more: &[&str]| {
        let mut command = served.command(&["model", "--store", "sluice", "--draws", "50"]);
        command.args(["-c", "SELECT name FROM 's3://bucket/fruits/'", "--format", "json"]);
        let text = good(command.args(more));
        let value: Value = serde_json::from_str(&text).unwrap();
        value["statements"][0]["cases"].clone()
    };
    let slow = "bandwidth=1Mbit, connection=1Mbit";
    let cases = model(&["--what-if", slow, "--what-if", &format!("{slow}, workers=4")]);
    let (one, four) = (seconds(&cases[1], "get"), seconds(&cases[2], "get"));
    assert!((one / four - 4.0).abs() < 0.2, "{one} {four}");
    let cases = model(&["--workers", "2"]);
    assert_eq!(cases[1]["what_if"], "workers=2");
    assert!(seconds(&cases[1], "get") < seconds(&cases[0], "get"));
}

const FRUITS: &str = "SELECT name, sum(price) FROM 's3://bucket/fruits/' GROUP BY name";

/// Writes 40,000 rows with 50 names, in four objects.
fn fruits(served: &Served) {
    let folder = served.path().join("bucket/fruits");
    std::fs::create_dir(&folder).unwrap();
    for object in 0..4 {
        let row = |id: usize| format!("{id},name {},{}\n", id % 50, id % 977);
        let rows: String = (object * 10_000..(object + 1) * 10_000).map(row).collect();
        std::fs::write(folder.join(format!("{object}.csv")), format!("id,name,price\n{rows}"))
            .unwrap();
    }
}

fn cases_of(served: &Served, sql: &str, more: &[&str]) -> Value {
    let mut command = served.command(&["model", "--store", "sluice", "--draws", "100"]);
    command.args(["-c", sql, "--format", "json"]).args(more);
    let value: Value = serde_json::from_str(&good(&mut command)).unwrap();
    value["statements"][0]["cases"].clone()
}

/// Returns the operators of a case that are a switch.
fn switched(case: &Value) -> Vec<&Value> {
    case["operators"].as_array().unwrap().iter().filter(|it| it["operator"] == "switch").collect()
}

/// The what-if of a switch predicts each shape with and without it, in a session without a switch.
#[test]
fn a_switch_is_asked_about_without_having_one() {
    let served = Served::start();
    fruits(&served);
    let from = "FROM 's3://bucket/fruits/'";
    for (sql, subject, most) in [
        (format!("SELECT DISTINCT name {from}"), "DISTINCT on name", 0.1),
        (format!("SELECT name, max(price) {from} GROUP BY name"), "GROUP BY on name", 0.3),
        (format!("SELECT * {from} ORDER BY price DESC LIMIT 10"), "ORDER BY LIMIT on price", 0.9),
        (
            format!("SELECT a.id {from} a JOIN 's3://bucket/fruit.csv' b ON a.id = b.id"),
            "JOIN on id",
            0.2,
        ),
    ] {
        let cases = cases_of(&served, &sql, &["--what-if", "switch=tofino2"]);
        assert!(switched(&cases[0]).is_empty(), "{sql}: {}", cases[0]);
        let found = switched(&cases[1]);
        let [only] = found[..] else { panic!("{sql}: {found:?}") };
        assert!(only["subject"].as_str().unwrap().starts_with(subject), "{only}");
        let ways = only["ways"].as_array().unwrap();
        let mut names: Vec<_> = ways.iter().map(|way| way["strategy"].as_str().unwrap()).collect();
        names.sort_unstable();
        assert_eq!(names, ["off", "prune"], "{only}");
        assert!(ways.iter().all(|way| way["seconds"].as_f64().unwrap() > 0.0), "{only}");
        let prune = &only["switch"]["prune"];
        let [sent, handled] =
            ["sent_rows", "handled_rows"].map(|field| prune[field].as_f64().unwrap());
        assert!((30_000.0..50_000.0).contains(&sent), "{only}");
        assert!(handled > 0.0 && handled < most * sent, "{sql}: {only}");
        assert!(cases[1]["sources"][0].as_str().unwrap().contains("Cheetah"));
    }
    // A slower pipeline, or master, is never faster; in the end the rate of the master determines the time.
    let distinct = format!("SELECT DISTINCT name {from}");
    let more = ["--what-if", "switch=tofino2", "--sweep", "capacities.switch pipeline=1e3..1e9/4"];
    let cases = cases_of(&served, &distinct, &more);
    let points = cases[1]["sweeps"][0]["points"].as_array().unwrap();
    let seconds: Vec<f64> = points
        .iter()
        .map(|point| {
            let ways = switched(point)[0]["ways"].as_array().unwrap().iter();
            let prune = ways.clone().find(|way| way["strategy"] == "prune").unwrap();
            prune["seconds"].as_f64().unwrap()
        })
        .collect();
    assert!(seconds.is_sorted_by(|a, b| a >= b) && seconds[0] > 30.0, "{seconds:?}");
    // The settings are restored, and a session with a switch gets the same predictions of it.
    let both =
        format!("SET sluice.switch = 'tofino2'; SET sluice.group_by = 'filtered'; {distinct}");
    let own = cases_of(&served, &both, &[]);
    assert_eq!(switched(&own[0])[0]["switch"], switched(&cases[1])[0]["switch"]);
    let table = good(
        served
            .command(&["model", "--store", "sluice", "-c", &distinct])
            .args(["--what-if", "switch=tofino1"]),
    );
    assert!(table.contains("rows at the master") && table.contains("(modelled: "), "{table}");
}

#[test]
fn a_query_without_anything_to_prune_says_why() {
    let served = Served::start();
    fruits(&served);
    let why = |sql: &str| {
        let cases = cases_of(&served, sql, &["--what-if", "switch=tofino2"]);
        let found = switched(&cases[1]);
        let [only] = found[..] else { panic!("{sql}: {found:?}") };
        assert!(only["ways"].as_array().unwrap().is_empty(), "{only}");
        // The other operators are the same as without a switch.
        let others = |case: &Value| {
            let all = case["operators"].as_array().unwrap().clone();
            let all = all.into_iter().filter(|it| it["operator"] != "switch");
            let ways = all.flat_map(|it| it["ways"].as_array().unwrap().clone());
            // Intervals differ because they are drawn anew.
            let number = |way: &Value, name: &str| way[name].as_f64().unwrap();
            let ways = ways.map(|way| {
                let numbers = ["seconds", "dollars", "requests"].map(|name| number(&way, name));
                (way["strategy"].clone(), way["taken"].clone(), numbers)
            });
            ways.collect::<Vec<_>>()
        };
        assert_eq!(others(&cases[1]), others(&cases[0]), "{sql}");
        only["impossible"][0]["reason"].as_str().unwrap().to_owned()
    };
    let from = "FROM 's3://bucket/fruits/'";
    let all = why(&format!("SELECT id {from}"));
    assert!(all.contains("the master needs every row"), "{all}");
    let refused = why(&format!("SELECT id, avg(price) {from} GROUP BY id"));
    assert!(refused.contains("nothing but MIN and MAX, or with nothing but SUM"), "{refused}");
    let by_text = why(&format!("SELECT name, sum(price) {from} GROUP BY name"));
    assert!(by_text.contains("holds keys of whole numbers and dates"), "{by_text}");
    let by_store = why(&format!("SELECT id {from} WHERE price < 3"));
    assert!(by_store.contains("the store does the scan"), "{by_store}");
}

#[test]
fn simulated_runs_stand_beside_predictions() {
    let served = Served::start();
    fruits(&served);
    let sql = "SELECT name FROM 's3://bucket/fruits/' WHERE id < 1000";
    let times = |more: &[&str]| {
        let cases = cases_of(&served, sql, more);
        let ways = cases[0]["operators"][0]["ways"].as_array().unwrap().clone();
        let of = |way: &Value| {
            let times = &way["simulated"]["seconds_p10_p50_p90"];
            [0, 1, 2].map(|place| times[place].as_f64().unwrap())
        };
        ways.iter().map(of).collect::<Vec<_>>()
    };
    let calm = times(&["--simulate", "20", "--scatter", "0"]);
    let scattered = times(&["--simulate", "20"]);
    let slow = times(&["--simulate", "20", "--stragglers", "50%:100"]);
    for ((calm, scattered), slow) in calm.iter().zip(&scattered).zip(&slow) {
        assert!(calm[0] == calm[2] && calm[0] > 0.0, "{calm:?}");
        assert!(scattered[0] < scattered[1] && scattered[1] < scattered[2], "{scattered:?}");
        assert!(slow[1] > 3.0 * scattered[1], "{slow:?} {scattered:?}");
    }
    // The seed determines the runs.
    assert_eq!(scattered, times(&["--simulate", "20"]));
    assert_ne!(scattered, times(&["--simulate", "20", "--seed", "2"]));
    let refused = cases_of(&served, sql, &["--simulate", "5", "--throttle", "1"]);
    let ways = refused[0]["operators"][0]["ways"].as_array().unwrap();
    let refusals = |way: &Value| way["simulated"]["refused_requests"].as_f64().unwrap();
    assert!(ways.iter().any(|way| refusals(way) > 0.0), "{refused}");
    let command = || served.command(&["model", "--store", "sluice", "-c", sql, "--simulate", "5"]);
    let csv = good(command().args(["--format", "csv"]));
    let lines: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    let at = lines[0].iter().position(|name| *name == "simulated_p50").unwrap();
    assert!(lines[1][at].parse::<f64>().unwrap() > 0.0, "{csv}");
    let table = good(&mut command());
    assert!(table.contains("5 simulated runs (seed 1)") && table.contains("simulated"), "{table}");
}

/// The selectivity of a sweep also applies to the prediction of an index, instead of the index's own counts.
#[test]
fn a_selectivity_is_that_of_an_index_too() {
    let served = Served::start();
    let rows: String = (0..300_000).map(|id| format!("{id},name {id}\n")).collect();
    std::fs::write(served.path().join("bucket/many.csv"), format!("id,name\n{rows}")).unwrap();
    good(&mut served.command(&["index", "create", "s3://bucket/many.csv", "id"]));
    let sql = "SELECT name FROM 's3://bucket/many.csv' WHERE id < 1000";
    // With `auto`, a table of this size is too small to look for indexes.
    let asked = format!("SET sluice.scan = 'index'; {sql}");
    let cases = cases_of(&served, &asked, &["--sweep", "selectivity=1e-6,1e-4,1e-2,1"]);
    let points = cases[0]["sweeps"][0]["points"].as_array().unwrap();
    let of = |point: &Value, field: &str| {
        let ways = point["operators"][0]["ways"].as_array().unwrap().iter();
        let index = ways
            .clone()
            .find(|way| way["strategy"] == "index")
            .unwrap_or_else(|| panic!("{point}"));
        index[field].as_f64().unwrap()
    };
    let bytes: Vec<f64> = points.iter().map(|point| of(point, "link_bytes")).collect();
    let seconds: Vec<f64> = points.iter().map(|point| of(point, "seconds")).collect();
    assert!(bytes.is_sorted() && seconds.is_sorted(), "{bytes:?} {seconds:?}");
    assert!(bytes[3] > 2.0 * bytes[0], "{bytes:?}");
    let assumed = format!("SET sluice.selectivity = '0.01'; SET sluice.scan = 'index'; {sql}");
    let said = good(&mut served.command(&["explain", "--store", "sluice", "-c", &assumed]));
    assert!(said.contains("a share of 0.01 of the records is assumed"), "{said}");
}

#[test]
fn a_picture_is_a_file_of_its_own() {
    let served = Served::start();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sweep.svg");
    let output = ["--sweep", "bandwidth=0.1..10Gbit/3", "--output", path.to_str().unwrap()];
    assert_eq!(good(&mut model(&served, &output)), "");
    let svg = std::fs::read_to_string(&path).unwrap();
    assert!(svg.contains("<svg") && svg.contains("select") && svg.contains("bandwidth (Gbit/s)"));
    let table = good(&mut model(&served, &["--sweep", "bandwidth=0.1..10Gbit/3"]));
    // Output to a pipe has no colours.
    assert!(table.contains("316 Mbit/s") || table.contains("1 Gbit/s"), "{table}");
    assert!(!table.contains('\u{1b}'), "{table}");
    let best = "`*` is the cheapest way of those that take at most 5 % longer than the fastest";
    assert!(table.contains(best), "{table}");
}

#[test]
fn what_cannot_be_is_said_before_work_starts() {
    let served = Served::start();
    let refused = |more: &[&str], words: &str| {
        let output = model(&served, more).output().unwrap();
        let said = crate::cli::text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(words), "{said}");
        assert!(output.stdout.is_empty());
    };
    refused(&["--sweep", "speed=1..2"], "`speed`: is not a constant; there are bandwidth");
    refused(&["--sweep", "bandwidth=10..1Gbit"], "the first value must be below the last");
    refused(&["--what-if", "store=magic"], "there is no `magic`");
    refused(&["--what-if", "bandwidth=8Gb/s"], "write 8Gbit/s or 8GB/s");
    refused(&["--what-if", "bandwidth"], "a what-if is `name=value`");
    refused(&["--format", "svg"], "a picture needs an axis");
    refused(&["--what-if", "cores=8,hardware=local"], "hardware undoes it: name that first");
    let many = ["model", "--draws", "1000000", "--sweep", "bandwidth=1..9Gbit/1000", "-c", QUERY];
    let output = served.command(&many).output().unwrap();
    let said = crate::cli::text(&output.stderr);
    assert!(output.status.code() == Some(2) && said.contains("1001000000 draws"), "{said}");
    refused(&["--simulate", "0"], "0 is not in 1..=10000");
    refused(&["--simulate", "5", "--scatter", "nan"], "`nan` is not a number from 0 to 3");
    refused(&["--simulate", "5", "--stragglers", "2:5"], "is not a share and a factor");
    refused(&["--simulate", "5", "--throttle=-1"], "is not a number of requests per second");
    refused(&["--throttle", "5500"], "--simulate");
    refused(&["--what-if", "capacities.nope=1"], "is not a constant");
    refused(&["--what-if", "switch=tofino3"], "there is no `tofino3`; there are tofino1, tofino2");
    bad(&mut served.command(&["model", "-c", "SET sluice.scan = 'get'"]), "there is no query");
    let explain = format!("EXPLAIN {QUERY}");
    bad(&mut served.command(&["model", "-c", &explain]), "EXPLAIN reads nothing");
    let nothing =
        json(&served, &["--what-if", "capacities.switch rules=5", "--what-if", "latency=9ms"]);
    let says = |case: usize| nothing[case]["changes_nothing"].as_bool().unwrap();
    assert_eq!([says(0), says(1), says(2)], [false, true, false], "{nothing}");
    let table = good(&mut model(&served, &["--what-if", "capacities.switch rules=5"]));
    assert!(table.contains("nothing that it changes matters"), "{table}");
    let one = good(&mut served.command(&["model", "-c", "SELECT 1"]));
    assert!(one.contains("no operator of the query reads a table"), "{one}");
    let nowhere = ["model", "-c", "SELECT * FROM 's3://bucket/nothing.csv'"];
    bad(&mut served.command(&nowhere), "nothing.csv");
}

/// The number of requests in flight is limited by the slots, whatever the plan has.
#[test]
fn slots_bind_a_query() {
    let served = Served::start();
    fruits(&served);
    let sql = "SELECT name FROM 's3://bucket/fruits/' WHERE id < 1000";
    let more = ["--hardware", "aws-in-region", "--simulate", "3", "--what-if", "slots=1"];
    let cases = cases_of(&served, sql, &more);
    for strategy in ["get", "select"] {
        let (here, one) = (seconds(&cases[0], strategy), seconds(&cases[1], strategy));
        assert!(one > here + 0.027, "{strategy}: {here} s, {one} s");
        let in_flight = |case: &Value| way(case, strategy)["simulated"]["most_in_flight"].clone();
        assert_eq!(in_flight(&cases[1]), 1, "{}", cases[1]);
    }
    assert_eq!(cases[1]["changes_nothing"], false);
}

/// A sweep over a price shows dollars, and a sweep that changes nothing is reported as such.
#[test]
fn a_sweep_shows_what_its_axis_is_about() {
    let served = Served::start();
    let table = |more: &[&str]| good(&mut model(&served, more));
    let price = table(&["--sweep", "hour-price=$0.1..$10/3"]);
    let line = price.lines().find(|it| it.trim_start().starts_with("$10 ")).unwrap();
    assert!(line.matches('$').count() >= 3 && price.contains("dollars"), "{price}");
    let cheap = format!("SET sluice.objective = 'dollars'; {QUERY}");
    let cheap = ["model", "--store", "sluice", "-c", &cheap];
    let dollars = good(served.command(&cheap).args(["--sweep", "latency=1ms..5ms/3"]));
    assert!(dollars.lines().any(|it| it.contains("2.236ms") && it.contains('$')), "{dollars}");
    let scale = table(&["--sweep", "scale=1..100/3"]);
    assert!(scale.contains("along scale, of as many objects, which grow"), "{scale}");
    let all = ["model", "--store", "sluice", "-c", "SELECT * FROM 's3://bucket/fruit.csv'"];
    let nothing = good(served.command(&all).args(["--sweep", "selectivity=0.1,0.5"]));
    assert!(nothing.contains("no way of it depends on that"), "{nothing}");
    assert!(price.contains(" ± "), "{price}");
}

/// A key filter that passes all rows saves nothing.
#[test]
fn keys_of_all_rows_save_nothing() {
    let served = Served::start();
    fruits(&served);
    let sql = "SELECT a.name FROM 's3://bucket/fruit.csv' b JOIN 's3://bucket/fruits/' a ON a.id = b.id \
               WHERE b.price > 0";
    let cases = cases_of(&served, sql, &["--sweep", "selectivity=0.9,0.999,1"]);
    let points = cases[0]["sweeps"][0]["points"].as_array().unwrap();
    let mut bytes = Vec::new();
    for point in points {
        let operators = point["operators"].as_array().unwrap();
        for operator in operators.iter().filter(|it| it["operator"] == "join") {
            let ways = operator["ways"].as_array().unwrap().iter();
            let link = |name: &str| {
                let way = ways.clone().find(|way| way["strategy"] == name);
                way.map(|way| way["link_bytes"].as_f64().unwrap())
            };
            let (Some(bloom), Some(filtered)) = (link("bloom"), link("filtered")) else { continue };
            if point["value"] == 1.0 {
                assert!(bloom >= filtered, "{operator}");
            }
            bytes.push(bloom);
        }
    }
    assert!(bytes.len() == 3 && bytes.is_sorted(), "{bytes:?}");
}

#[test]
fn negative_numbers_get_an_error_of_their_own() {
    let served = Served::start();
    let refused = |arguments: &[&str], words: &str| {
        let output = served.command(arguments).output().unwrap();
        let said = crate::cli::text(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains(words), "{said}");
    };
    let throttle = ["model", "-c", QUERY, "--simulate", "5", "--throttle", "-5"];
    refused(&throttle, "`-5` is not a number of requests per second");
    refused(&["model", "-c", QUERY, "--draws", "1"], "1 is not in 10..=1000000");
    for (option, value, words) in [
        ("--scale", "-1", "`-1` is not a scale factor"),
        ("--latency", "-1ms", "`-1ms` is not a delay"),
    ] {
        let output = crate::cli::sluice(&["validate", option, value]).output().unwrap();
        let said = crate::cli::text(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains(words), "{said}");
    }
    refused(&["storage", "-c", "SELECT 1", "--slots", "-1"], "for '--slots <N>'");
    refused(&["generate", "tpch", "--scale", "-1", "--to", "x"], "for '--scale <FACTOR>'");
    let bucket = ["storage", "-c", "SELECT 1", "--model-tables", "s3://scratch"];
    refused(&bucket, "`s3://scratch` is not the name of a bucket");
}

/// The seconds of PushdownDB's Table II, for lineitem at scale factor 10, within 10 %.
#[test]
fn the_papers_filters_take_as_long_as_published() {
    const SIZE: &str = "s3://bucket/lineitem/=96,7775727688,59986052";
    let served = Served::start();
    let folder = served.path().join("bucket/lineitem");
    std::fs::create_dir(&folder).unwrap();
    let columns: Vec<_> = (0..16).map(|column| format!("c{column}")).collect();
    // As wide as a row of lineitem.
    let row = |number: u32| vec![format!("{}", 1_000_000 + number); 16].join(",");
    let rows: String = (0..2000).map(|number| row(number) + "\n").collect();
    for object in 0..2 {
        let text = format!("{}\n{rows}", columns.join(","));
        std::fs::write(folder.join(format!("{object}.csv")), text).unwrap();
    }
    good(&mut served.command(&["index", "create", "s3://bucket/lineitem/", "c5", "--csv"]));
    let more = ["--hardware", "paper", "--prices", "paper-2020-us-east-1", "--size", SIZE];
    for (strategy, selectivity, published) in [
        ("get", "1e-5", 21.7),
        ("select", "1e-5", 1.38),
        ("index_table", "1e-5", 1.74),
        ("get", "1e-3", 21.3),
        ("select", "1e-3", 1.82),
        ("index_table", "1e-3", 10.7),
    ] {
        let mut command = served.command(&["model", "--store", "sluice", "--draws", "50"]);
        let sql = format!(
            "SET sluice.scan = '{strategy}'; SET sluice.selectivity = {selectivity}; \
             SELECT * FROM 's3://bucket/lineitem/' WHERE c5 BETWEEN 1000007 AND 1000008"
        );
        let text = good(command.args(["-c", &sql, "--format", "json"]).args(more));
        let value: Value = serde_json::from_str(&text).unwrap();
        let case = value["statements"].as_array().unwrap().last().unwrap()["cases"][0].clone();
        let seconds = seconds(&case, strategy);
        let error = (seconds / published - 1.0).abs();
        assert!(error < 0.1, "{strategy} at {selectivity}: {seconds} s, published {published} s");
    }
    let mut wrong = model(&served, &["--size", "s3://bucket/other/=1,1,1"]);
    bad(&mut wrong, "no query scans s3://bucket/other/");
}
