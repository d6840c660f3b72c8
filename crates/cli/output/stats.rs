//! Statistics of statements, as lines for stderr.

use std::time::Duration;

use sluicegate_costmodel::{Bytes, Dollars, PriceBook, Requests, Rows};
use sluicegate_engine::{CounterSnapshot, Estimate};

/// Formats counted work, measured time and their cost. Each line names its kind of number. `machines` is the number
/// of machines that ran the statement; the price of an hour is for all of them.
pub(crate) fn lines(
    counted: &CounterSnapshot,
    wall: Duration,
    rows: u64,
    prices: &PriceBook,
    machines: u32,
) -> String {
    let link = counted.link_bytes() + counted.put_bytes;
    let work = counted.work(wall);
    let cost = prices.cost(&work);
    let store = match cost.store_compute {
        Dollars::ZERO => String::new(),
        _ => format!("modelled: {} of the store's cores\n", seconds(work.store)),
    };
    format!(
        "counted:  {}, {}, {}\n\
         counted:  {} scanned by the store, {} returned by it; {} fetched; {} over the link\n\
         measured: {}, {}\n\
         {store}\
         cost:     {cost} at the prices {}{}\n",
        requests(counted),
        count(counted.retries, "retry", "retries"),
        count(counted.fallbacks, "fallback", "fallbacks"),
        Bytes(counted.scanned_bytes),
        Bytes(counted.returned_bytes),
        Bytes(counted.got_bytes),
        Bytes(link),
        seconds(wall),
        rows_words(rows),
        book(prices),
        of_machines(machines),
    )
}

/// Formats the number of machines: `, 4 machines paid by the hour`, or nothing for one.
fn of_machines(machines: u32) -> String {
    if machines == 1 { String::new() } else { format!(", {machines} machines paid by the hour") }
}

/// Formats the requests: `3 requests (2 GET, 1 LIST)`
fn requests(counted: &CounterSnapshot) -> String {
    let kinds = [
        ("GET", counted.get),
        ("SELECT", counted.select),
        ("LIST", counted.list),
        ("HEAD", counted.head),
        ("PUT", counted.put),
    ];
    let kinds: Vec<_> =
        kinds.iter().filter(|(_, n)| *n > 0).map(|(kind, n)| format!("{n} {kind}")).collect();
    let kinds = if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) };
    format!("{}{kinds}", Requests(counted.requests()).in_words())
}

/// Describes the requests for planning a query, which its estimate does not include; `None` if there were none.
pub(crate) fn planning(counted: &CounterSnapshot) -> Option<String> {
    (counted.requests() > 0).then(|| {
        let (requests, got) = (requests(counted), Bytes(counted.got_bytes));
        format!("{requests}, {got} fetched (counted, not part of the estimate)")
    })
}

/// Formats the predicted work of a query, with the constants of the prediction.
pub(crate) fn prediction(estimate: &Estimate, hardware: &str, prices: &PriceBook) -> String {
    format!(
        "estimate: {}, {} scanned by the store, {} over the link, {}, {} \
         (modelled: hardware {hardware}, prices {})\n",
        estimate.work.requests.total().in_words(),
        estimate.work.scanned,
        estimate.work.link,
        seconds(estimate.time),
        estimate.cost,
        book(prices),
    )
}

/// Formats a number of rows: `1 row`, `7 rows`.
pub(crate) fn rows_words(rows: u64) -> String {
    format!("{} {}", Rows(rows), if rows == 1 { "row" } else { "rows" })
}

fn count(n: u64, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// Returns the name, region and date of a price book.
pub(crate) fn book(prices: &PriceBook) -> String {
    prices.introduction()
}

/// Formats seconds with two decimals, and three below one second: `1.23 s`, `0.012 s`.
pub(crate) fn seconds(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 1.0 { format!("{seconds:.3} s") } else { format!("{seconds:.2} s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_says_what_it_is() {
        let counted = CounterSnapshot {
            get: 2,
            select: 3,
            scanned_bytes: 1 << 30,
            returned_bytes: 2048,
            got_bytes: 100,
            received_bytes: 3000,
            ..CounterSnapshot::default()
        };
        let text = lines(&counted, Duration::from_millis(1500), 7, PriceBook::paper(), 1);
        let expected = "\
counted:  5 requests (2 GET, 3 SELECT), 0 retries, 0 fallbacks
counted:  1.00 GiB scanned by the store, 2.00 KiB returned by it; 100 B fetched; 3.03 KiB over the link
measured: 1.50 s, 7 rows
cost:     $";
        assert!(text.starts_with(expected), "{text}");
        assert!(
            text.ends_with("at the prices paper-2020-us-east-1 (us-east-1, 2020-01)\n"),
            "{text}"
        );
        let work = PriceBook::by_name("work-2020-us-east-1").unwrap();
        let busy = CounterSnapshot { store_nanos: 3_600_000_000, ..counted };
        let text = lines(&busy, Duration::ZERO, 7, work, 3);
        assert!(text.contains("modelled: 3.60 s of the store's cores\ncost:     $"), "{text}");
        assert!(text.contains("store compute $0.0000665)"), "{text}");
        assert!(text.ends_with(", 3 machines paid by the hour\n"), "{text}");
    }

    #[test]
    fn planning_is_told_if_it_asked_for_something() {
        assert_eq!(planning(&CounterSnapshot::default()), None);
        let counted =
            CounterSnapshot { list: 1, head: 1, got_bytes: 10, ..CounterSnapshot::default() };
        let expected =
            "2 requests (1 LIST, 1 HEAD), 10 B fetched (counted, not part of the estimate)";
        assert_eq!(planning(&counted).as_deref(), Some(expected));
    }
}
