//! Table 1: the six examples of section 4 over two small tables.

use sluicegate_costmodel::Provenance;
use sluicegate_pruning::algorithm::catalog::{Algorithm, Parameters};
use sluicegate_pruning::algorithm::filter::{self, Formula};
use sluicegate_pruning::algorithm::join::{BUILD_A, PROBE_B};
use sluicegate_pruning::experiment::trial::{Run, through_fast_path};
use sluicegate_pruning::switch::Relation;
use sluicegate_pruning::{Pruner, Ties};

use crate::experiment::Method;
use crate::{Experiment, Outcome, Table};

/// Each query over the rows that its algorithm forwards.
pub const EXPERIMENT: Experiment = Experiment {
    id: "cheetah/table1",
    title: "The answers of the six examples, completed behind the pruned tables",
    place: "Cheetah §4, Table 1",
    method: Method::Computed(compute),
};

/// Names, sellers and prices.
const PRODUCTS: [(&str, &str, u32); 4] = [
    ("Burger", "McCheetah", 4),
    ("Pizza", "Papizza", 7),
    ("Fries", "McCheetah", 2),
    ("Jello", "JellyFish", 5),
];
/// Names, tastes and textures. Those of Cheetos are restored: no printed answer has its taste.
const RATINGS: [(&str, u32, u32); 5] =
    [("Pizza", 7, 5), ("Cheetos", 8, 6), ("Jello", 9, 4), ("Burger", 5, 7), ("Fries", 3, 3)];

/// An example with its answer.
struct Example {
    query: &'static str,
    published: &'static str,
    /// The answer over the forwarded rows, and how many of the rows these are.
    found: Option<(String, usize, usize)>,
}

fn compute() -> Outcome {
    let examples = examples();
    let is_right = |it: &&Example| {
        it.found.as_ref().is_some_and(|(answer, ..)| sorted(answer) == sorted(it.published))
    };
    let right = examples.iter().filter(is_right).count();
    let mut outcome = Outcome::default();
    outcome.decide(
        "C05",
        format!("{right} of {} answers equal", examples.len()),
        right == examples.len(),
    );
    outcome.note("the taste and texture of Cheetos are restored");
    let row = |it: Example| {
        let (answer, forwarded, rows) = it.found.unwrap_or_default();
        let share = format!("{forwarded} of {rows}");
        vec![it.query.to_owned(), share, answer, it.published.to_owned()]
    };
    outcome.tables.push(Table {
        title: "Answers over the forwarded rows".to_owned(),
        columns: vec!["query", "rows forwarded", "answer", "published"],
        rows: examples.into_iter().map(row).collect(),
        provenance: Provenance::Counted,
    });
    outcome
}

/// Returns the rows of an answer in the order of their text, because most queries leave it open.
fn sorted(answer: &str) -> Vec<&str> {
    let mut rows: Vec<&str> = answer.split(", ").collect();
    rows.sort_unstable();
    rows
}

fn examples() -> Vec<Example> {
    let example = |query, published, found| Example { query, published, found };
    vec![
        example(
            "WHERE taste > 5 OR (texture > 4 AND name LIKE 'e%s')",
            "Pizza, Cheetos, Jello",
            filtered(),
        ),
        example("DISTINCT seller", "Papizza, McCheetah, JellyFish", distinct()),
        example("TOP 3 name, texture ORDER BY taste", "Jello 4, Cheetos 6, Pizza 5", top_3()),
        example(
            "Products JOIN Ratings",
            "Burger McCheetah 4 5 7, Pizza Papizza 7 7 5, Fries McCheetah 2 3 3, Jello JellyFish 5 9 4",
            joined(),
        ),
        example("GROUP BY seller HAVING SUM(price) > 5", "McCheetah, Papizza", having()),
        example("SKYLINE OF taste, texture", "Cheetos, Jello, Burger", skyline()),
    ]
}

type Answer = Option<(String, usize, usize)>;

/// Sends runs of entries through a pruner, and returns the positions that are forwarded of the last run.
fn forwarded(pruner: &mut dyn Pruner, stream: &[Run]) -> Option<Vec<usize>> {
    let keep = through_fast_path(pruner, stream).ok()?;
    Some(keep.last()?.iter().enumerate().filter(|(_, keep)| **keep).map(|(at, _)| at).collect())
}

/// Sends columns through an algorithm with these parameters.
fn through(algorithm: Algorithm, given: &Parameters, columns: Vec<Vec<u32>>) -> Option<Vec<usize>> {
    let configured = algorithm.configure(given).ok()?;
    forwarded(configured.pruner().as_mut(), &[Run { flow: 0, columns }])
}

/// Returns a key of a name: its place among all names, from 1.
fn key(name: &str) -> u32 {
    let names = RATINGS.iter().map(|it| it.0).chain(PRODUCTS.iter().map(|it| it.1));
    (1..).zip(names).find(|(_, it)| *it == name).map_or(0, |(number, _)| number)
}

fn sellers() -> Vec<u32> {
    PRODUCTS.iter().map(|(_, seller, _)| key(seller)).collect()
}

fn tastes() -> Vec<u32> {
    RATINGS.iter().map(|it| it.1).collect()
}

fn textures() -> Vec<u32> {
    RATINGS.iter().map(|it| it.2).collect()
}

/// The switch cannot match names, so the text of the predicate is true there.
fn filtered() -> Answer {
    let parts =
        [Formula::compare(0, Relation::Gt, 5), Formula::compare(1, Relation::Gt, 4)].to_vec();
    let config = filter::Config::new(&Formula::Or(parts), 2, None).ok()?;
    let columns = vec![tastes(), textures()];
    let kept = forwarded(&mut config.pruner(), &[Run { flow: 0, columns }])?;
    let matches = |name: &str| name.starts_with('e') && name.ends_with('s');
    let holds = |at: &&usize| {
        let (name, taste, texture) = RATINGS[**at];
        taste > 5 || (texture > 4 && matches(name))
    };
    let answer: Vec<&str> = kept.iter().filter(holds).map(|&at| RATINGS[at].0).collect();
    Some((answer.join(", "), kept.len(), RATINGS.len()))
}

fn distinct() -> Answer {
    let given = Parameters { key_bits: Some(32), ..Parameters::default() };
    let kept = through(Algorithm::Distinct, &given, vec![sellers()])?;
    let mut answer: Vec<&str> = Vec::new();
    for &at in &kept {
        if !answer.contains(&PRODUCTS[at].1) {
            answer.push(PRODUCTS[at].1);
        }
    }
    Some((answer.join(", "), kept.len(), PRODUCTS.len()))
}

fn top_3() -> Answer {
    let given = Parameters { n: Some(3), ..Parameters::default() };
    let kept = through(Algorithm::TopNDeterministic, &given, vec![tastes()])?;
    let mut rows: Vec<_> = kept.iter().map(|&at| RATINGS[at]).collect();
    rows.sort_by_key(|it| std::cmp::Reverse(it.1));
    let answer: Vec<String> =
        rows.iter().take(3).map(|(name, _, texture)| format!("{name} {texture}")).collect();
    Some((answer.join(", "), kept.len(), RATINGS.len()))
}

fn joined() -> Answer {
    let configured = Algorithm::JoinBloom.configure(&Parameters::default()).ok()?;
    let products = PRODUCTS.iter().map(|it| key(it.0)).collect();
    let ratings = RATINGS.iter().map(|it| key(it.0)).collect();
    let stream = [(BUILD_A, products), (PROBE_B, ratings)]
        .map(|(flow, keys)| Run { flow, columns: vec![keys] });
    let kept = forwarded(configured.pruner().as_mut(), &stream)?;
    let rows = PRODUCTS.iter().flat_map(|product| {
        let ratings = kept.iter().map(|&at| RATINGS[at]).filter(|rating| rating.0 == product.0);
        ratings.map(|(_, taste, texture)| {
            format!("{} {} {} {taste} {texture}", product.0, product.1, product.2)
        })
    });
    Some((rows.collect::<Vec<_>>().join(", "), kept.len(), RATINGS.len()))
}

/// The second pass sums all prices of the sellers that are forwarded.
fn having() -> Answer {
    let given = Parameters { threshold: Some(5), ..Parameters::default() };
    let prices = PRODUCTS.iter().map(|it| it.2).collect();
    let kept = through(Algorithm::Having, &given, vec![sellers(), prices])?;
    let sum =
        |seller: &str| -> u32 { PRODUCTS.iter().filter(|it| it.1 == seller).map(|it| it.2).sum() };
    let mut answer: Vec<&str> = Vec::new();
    for (_, seller, _) in PRODUCTS {
        let is_forwarded = kept.iter().any(|&at| PRODUCTS[at].1 == seller);
        if is_forwarded && sum(seller) > 5 && !answer.contains(&seller) {
            answer.push(seller);
        }
    }
    Some((answer.join(", "), kept.len(), PRODUCTS.len()))
}

fn skyline() -> Answer {
    let given = Parameters { ties: Some(Ties::Prune), ..Parameters::default() };
    let kept = through(Algorithm::SkylineSum, &given, vec![tastes(), textures()])?;
    let dominates = |(_, a, b): (&str, u32, u32), (_, c, d): (&str, u32, u32)| {
        a >= c && b >= d && (a, b) != (c, d)
    };
    let is_free = |at: &&usize| !kept.iter().any(|&other| dominates(RATINGS[other], RATINGS[**at]));
    let answer: Vec<&str> = kept.iter().filter(is_free).map(|&at| RATINGS[at].0).collect();
    Some((answer.join(", "), kept.len(), RATINGS.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_answer_is_the_printed_one() {
        for example in examples() {
            let (answer, forwarded, rows) = example.found.unwrap();
            assert_eq!(sorted(&answer), sorted(example.published), "{}", example.query);
            assert!(forwarded <= rows);
        }
        // The switch drops only the fries: of burgers it knows the texture, not the name.
        assert_eq!(filtered().unwrap().1, 4);
    }
}
