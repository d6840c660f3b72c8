//! Expected number of distinct values among some rows.

/// Returns the expected number of distinct values among `rows` rows that are drawn at random from `all` rows with
/// `distinct` values, all equally frequent (Cardenas 1975, "Analysis and performance of inverted data base
/// structures").
pub(crate) fn distinct_of(rows: f64, all: f64, distinct: f64) -> f64 {
    if !(all > 0.0 && distinct > 0.0) {
        return 0.0;
    }
    let share = (rows / all).clamp(0.0, 1.0);
    distinct * (1.0 - (1.0 - share).powf((all / distinct).max(1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_rows_have_some_of_the_values() {
        for (rows, all, distinct, expected) in [
            (100.0, 100.0, 10.0, 10.0),
            (1000.0, 100.0, 10.0, 10.0),
            (30.0, 100.0, 100.0, 30.0),
            (0.0, 100.0, 10.0, 0.0),
            (10.0, 0.0, 0.0, 0.0),
            // Three tenths of the lines have three quarters of the orders.
            (300.0, 1000.0, 250.0, 189.975),
        ] {
            let values = distinct_of(rows, all, distinct);
            assert!((values - expected).abs() < 1e-9, "{rows} of {all}: {values}");
        }
    }
}
