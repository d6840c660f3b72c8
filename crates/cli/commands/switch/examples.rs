//! `sluice switch examples`: the six examples of the paper's section 4 over its table 1.

use std::collections::BTreeMap;

use serde_json::Value;
use sluicegate_pruning::algorithm::catalog::{Algorithm, Configured, Parameters};
use sluicegate_pruning::algorithm::filter::{self, Formula, Leaf};
use sluicegate_pruning::algorithm::join::{BUILD_A, PROBE_B};
use sluicegate_pruning::encoding::{fingerprint, nonzero_bits};
use sluicegate_pruning::experiment::trial::{Run, through_fast_path, through_program};
use sluicegate_pruning::switch::Relation;

use crate::args::switch::ExamplesArgs;
use crate::failure::{Failure, Result};
use crate::output::listing::Listing;

const HEADER: [&str; 8] =
    ["example", "query", "algorithm", "entries", "pruned", "answer", "published", "same"];
const NOTES: &str = "\
pruned: the rows that the switch drops, by fast path and by program. answer: of the query over the rows that are
left; published: the answer in the paper's section 4. Counted.
";

/// Name, seller and price.
type Product = (&'static str, &'static str, u32);
/// Name, taste and texture.
type Rating = (&'static str, u32, u32);

const PRODUCTS: [Product; 4] = [
    ("Burger", "McCheetah", 4),
    ("Pizza", "Papizza", 7),
    ("Fries", "McCheetah", 2),
    ("Jello", "JellyFish", 5),
];
const RATINGS: [Rating; 5] =
    [("Pizza", 7, 5), ("Cheetos", 8, 6), ("Jello", 9, 4), ("Burger", 5, 7), ("Fries", 3, 3)];

/// One of the paper's examples.
struct Example {
    query: &'static str,
    configured: Configured,
    stream: Vec<Run>,
    /// The names of the entries, in the order of the stream.
    names: Vec<&'static str>,
    /// Completes the query over the positions that are left, as text.
    answer: fn(&[usize]) -> Vec<String>,
    /// The published answer, in any order.
    published: &'static [&'static str],
}

pub(super) fn run(args: &ExamplesArgs) -> Result<()> {
    let mut listing = Listing::new(&HEADER);
    for (number, example) in (1..).zip(examples()?) {
        let Example { query, configured, stream, names, answer, published } = example;
        let keep = through_fast_path(configured.pruner().as_mut(), &stream)?;
        if keep != through_program(configured.program(), &stream)? {
            return Err(Failure::new("the fast path is not the program")
                .with_hint("This is a bug: please report it with the command."));
        }
        let keep: Vec<bool> = keep.concat();
        let left: Vec<usize> = (0..keep.len()).filter(|&at| keep[at]).collect();
        let pruned: Vec<&str> =
            names.iter().zip(&keep).filter(|(_, keep)| !**keep).map(|(name, _)| *name).collect();
        let mut found = answer(&left);
        found.sort_unstable();
        let mut expected: Vec<&str> = published.to_vec();
        expected.sort_unstable();
        listing.push(vec![
            number.into(),
            query.into(),
            configured.entry().name.into(),
            keep.len().into(),
            pruned.join(", ").into(),
            found.join(", ").into(),
            expected.join(", ").into(),
            Value::from(if found == expected { "yes" } else { "no" }),
        ]);
    }
    listing.print(args.format, NOTES)
}

fn examples() -> Result<Vec<Example>> {
    let default = Parameters::default();
    let narrow = Parameters { key_bits: Some(32), ..default };
    let sellers = || PRODUCTS.map(|(_, seller, _)| code(seller)).to_vec();
    let products = || PRODUCTS.map(|(name, ..)| name).to_vec();
    let ratings = || RATINGS.map(|(name, ..)| name).to_vec();
    let taste = || RATINGS.map(|(_, taste, _)| taste).to_vec();
    let texture = || RATINGS.map(|(_, _, texture)| texture).to_vec();
    let one = |columns| vec![Run { flow: 0, columns }];
    let keys = |flow, names: &[&str]| {
        let codes = names.iter().map(|name| code(name)).collect();
        Run { flow, columns: vec![codes] }
    };
    // name LIKE 'e%s' is for the master.
    let decomposed = Formula::Or(vec![
        Formula::compare(0, Relation::Gt, 5),
        Formula::And(vec![Formula::compare(1, Relation::Gt, 4), Formula::Leaf(Leaf::Opaque)]),
    ]);
    let [top, above] = [
        Parameters { n: Some(3), columns: Some(3), rows: Some(2), ..default },
        Parameters { threshold: Some(5), ..default },
    ];
    Ok(vec![
        Example {
            query: "SELECT * FROM Ratings WHERE (taste > 5) OR (texture > 4 AND name LIKE 'e%s')",
            configured: Configured::Filter(filter::Config::new(&decomposed, 2, None)?),
            stream: one(vec![taste(), texture()]),
            names: ratings(),
            answer: |left| {
                let like = |name: &str| name.starts_with('e') && name.ends_with('s');
                let rows = left.iter().map(|&at| RATINGS[at]);
                let kept =
                    rows.filter(|&(name, taste, texture)| taste > 5 || (texture > 4 && like(name)));
                kept.map(|(name, ..)| name.to_owned()).collect()
            },
            published: &["Pizza", "Cheetos", "Jello"],
        },
        Example {
            query: "SELECT DISTINCT seller FROM Products",
            configured: Algorithm::Distinct.configure(&narrow)?,
            stream: one(vec![sellers()]),
            names: products(),
            answer: |left| {
                let sellers: BTreeMap<&str, ()> =
                    left.iter().map(|&at| (PRODUCTS[at].1, ())).collect();
                sellers.into_keys().map(str::to_owned).collect()
            },
            published: &["Papizza", "McCheetah", "JellyFish"],
        },
        Example {
            query: "SELECT TOP 3 name, texture FROM Ratings ORDER BY taste",
            configured: Algorithm::TopNRandomized.configure(&top)?,
            stream: one(vec![taste()]),
            names: ratings(),
            answer: |left| {
                let mut rows: Vec<Rating> = left.iter().map(|&at| RATINGS[at]).collect();
                rows.sort_unstable_by_key(|(_, taste, _)| std::cmp::Reverse(*taste));
                let best = rows.into_iter().take(3);
                best.map(|(name, _, texture)| format!("{name} {texture}")).collect()
            },
            published: &["Jello 4", "Cheetos 6", "Pizza 5"],
        },
        Example {
            query: "SELECT * FROM Products JOIN Ratings ON Products.name = Ratings.name",
            configured: Algorithm::JoinBloom
                .configure(&Parameters { rows: Some(1 << 10), ..default })?,
            stream: vec![keys(BUILD_A, &products()), keys(PROBE_B, &ratings())],
            names: [products(), ratings()].concat(),
            answer: |left| {
                let (products, ratings): (Vec<usize>, Vec<usize>) =
                    left.iter().partition(|&&at| at < PRODUCTS.len());
                let product = |at: usize| PRODUCTS[at];
                let rating = |at: usize| RATINGS[at - PRODUCTS.len()];
                let pairs = products.iter().flat_map(|&a| ratings.iter().map(move |&b| (a, b)));
                let joined = pairs.filter(|&(a, b)| product(a).0 == rating(b).0);
                let text = |(a, b)| {
                    let ((name, seller, price), (_, taste, texture)) = (product(a), rating(b));
                    format!("{name} {seller} {price} {taste} {texture}")
                };
                joined.map(text).collect()
            },
            published: &[
                "Burger McCheetah 4 5 7",
                "Pizza Papizza 7 7 5",
                "Fries McCheetah 2 3 3",
                "Jello JellyFish 5 9 4",
            ],
        },
        Example {
            query: "SELECT seller FROM Products GROUP BY seller HAVING SUM(price) > 5",
            configured: Algorithm::Having.configure(&above)?,
            stream: one(vec![sellers(), PRODUCTS.map(|(.., price)| price).to_vec()]),
            names: products(),
            answer: |left| {
                // The second pass has all rows of the sellers that were forwarded.
                let asked = |seller: &str| left.iter().any(|&at| PRODUCTS[at].1 == seller);
                let mut sums: BTreeMap<&str, u32> = BTreeMap::new();
                for (_, seller, price) in PRODUCTS.into_iter().filter(|it| asked(it.1)) {
                    *sums.entry(seller).or_default() += price;
                }
                sums.retain(|_, sum| *sum > 5);
                sums.into_keys().map(str::to_owned).collect()
            },
            published: &["McCheetah", "Papizza"],
        },
        Example {
            query: "SELECT name FROM Ratings SKYLINE OF taste, texture",
            configured: Algorithm::SkylineProduct.configure(&default)?,
            stream: one(vec![taste(), texture()]),
            names: ratings(),
            answer: |left| {
                let dominates = |a: Rating, b: Rating| a != b && a.1 >= b.1 && a.2 >= b.2;
                let rows = left.iter().map(|&at| RATINGS[at]);
                let best =
                    rows.filter(|&row| !left.iter().any(|&other| dominates(RATINGS[other], row)));
                best.map(|(name, ..)| name.to_owned()).collect()
            },
            published: &["Cheetos", "Jello", "Burger"],
        },
    ])
}

/// Returns a fingerprint of 32 bits, not 0.
fn code(text: &str) -> u32 {
    nonzero_bits(fingerprint(text.as_bytes(), 0), 32) as u32
}
