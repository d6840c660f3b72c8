//! Table I of the excerpt of 2018, and §II-B: prices.

use sluicegate_costmodel::{PriceBook, Provenance};

use crate::experiment::Method;
use crate::{Experiment, Outcome, Table};

/// The prices of the paper, beside those of the price book.
pub const EXPERIMENT: Experiment = Experiment {
    id: "pushdowndb/table1",
    title: "The prices of storage, transfer, S3 Select, requests and the client",
    place: "PushdownDB §II-B, Table I (2018)",
    method: Method::Computed(compute),
};

fn compute() -> Outcome {
    let book = PriceBook::paper();
    let outside = PriceBook::by_name("paper-2020-us-east-1-internet").unwrap_or(book);
    let select = book.select.unwrap_or_default();
    let prices = [
        ("P03", "storage, GiB and month", book.storage_month.0, 0.022),
        ("P04", "transfer out of the region, GiB", outside.transfer.out.0, 0.09),
        ("P05", "scanned by S3 Select, GiB", select.scanned.0, 0.002),
        ("P06", "returned by S3 Select, GiB", select.returned.0, 0.0007),
        ("P07", "1,000 requests", book.requests.get.0, 0.0004),
        ("P08", "client, hour", book.compute.per_hour.0, 2.128),
    ];
    let mut outcome = Outcome::default();
    let mut rows = Vec::new();
    for (claim, name, ours, published) in prices {
        rows.push(vec![name.to_owned(), ours.to_string(), published.to_string()]);
        outcome.decide(claim, format!("${ours}"), ours == published);
    }
    let within = book.transfer.out.0;
    if let Some(transfer) = outcome.verdicts.get_mut(1) {
        transfer.found = format!("${within} and {}", transfer.found);
        transfer.holds &= within == 0.0;
    }
    outcome.tables.push(Table {
        title: "Dollars".to_owned(),
        columns: vec!["price", "price book", "published"],
        rows,
        provenance: Provenance::Published(book.source.clone().into()),
    });
    outcome
}
