//! Every theorem with its formula and the paper's worked examples, as data.

use std::f64::consts::E;

use serde::Serialize;

use super::{bloom, count_min, distinct, lambert_w, line_rate, max_load_bound, skyline, top_n};

/// A theorem at one set of inputs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Statement {
    /// A short name; the examples of one theorem share it.
    pub theorem: &'static str,
    /// The section of the paper that has the theorem.
    pub place: &'static str,
    /// The statement of the theorem.
    pub says: &'static str,
    /// The formula of the theorem.
    pub formula: &'static str,
    /// The inputs of the example.
    pub inputs: String,
    /// The value of the formula.
    pub value: String,
    /// The paper's number for these inputs, empty if it gives none. The paper's formulas and most inputs were
    /// restored, because they are missing from its text.
    pub paper: &'static str,
    /// The value of an exact computation, if the formula is a bound.
    pub exact: Option<String>,
}

struct Theorem {
    theorem: &'static str,
    place: &'static str,
    says: &'static str,
    formula: &'static str,
}

impl Theorem {
    fn at(
        &self,
        inputs: impl Into<String>,
        value: impl Into<String>,
        paper: &'static str,
        exact: Option<String>,
    ) -> Statement {
        Statement {
            theorem: self.theorem,
            place: self.place,
            says: self.says,
            formula: self.formula,
            inputs: inputs.into(),
            value: value.into(),
            paper,
            exact,
        }
    }
}

fn percent(fraction: f64) -> String {
    format!("{:.2} %", 100.0 * fraction)
}

/// Returns all statements, in the paper's order.
#[must_use]
pub fn statements() -> Vec<Statement> {
    let mut all = distinct_statements();
    all.extend(top_n_statements());
    all.extend(other_statements());
    all
}

fn distinct_statements() -> Vec<Statement> {
    let pruning = Theorem {
        theorem: "distinct-pruning",
        place: "§4.2 theorem 1, appendix C theorem 6",
        says: "of the duplicates at least this fraction is pruned, if D > d·ln(200·d)",
        formula: "0.99·min(w·d/(D·e), 1)",
    };
    let by_entries = Theorem {
        theorem: "distinct-fingerprints-by-entries",
        place: "appendix C theorem 1",
        says: "so many bits lose no key with probability 1 - δ",
        formula: "⌈log2(w·m/δ)⌉",
    };
    let by_distinct = Theorem {
        theorem: "distinct-fingerprints",
        place: "§5 theorem 3, appendix C theorems 2 and 3",
        says: "so many bits lose no key with probability 1 - δ, M the load bound",
        formula: "⌈log2(d·M²/δ)⌉",
    };
    let load = Theorem {
        theorem: "distinct-load",
        place: "appendix C theorem 3",
        says: "no row has more distinct keys, with probability 1 - δ; L = ln(2d/δ)",
        formula: "e·D/d; e·L; 1.3·L/ln(d·L/(D·e)), by the size of D",
    };
    let bound = distinct::pruned_duplicates_bound(15_000, 1000, 24).unwrap_or(0.0);
    let expected = distinct::expected_hit_ratio(15_000, 1000, 24);
    let distinct = 499_649_410;
    let exact_bits = distinct::fingerprint_bits(distinct, 1000, 1e-4);
    vec![
        pruning.at("D = 15000, d = 1000, w = 24", percent(bound), "58 %", Some(percent(expected))),
        by_entries.at(
            "m = 10^9, w = 24, δ = 0.01 %",
            distinct::fingerprint_bits_by_entries(1_000_000_000, 24, 1e-4).to_string(),
            "",
            None,
        ),
        load.at(
            "D = 15000, d = 1000, δ = 1 %",
            format!("{:.1}", max_load_bound(15_000, 1000, 0.01)),
            "",
            Some(super::max_load_exact(15_000, 1000, 0.01).to_string()),
        ),
        by_distinct.at(
            "D = 499649410, d = 1000, δ = 0.01 %",
            distinct::fingerprint_bits_by_distinct(distinct, 1000, 1e-4).to_string(),
            "64 bits for 500 million",
            Some(exact_bits.to_string()),
        ),
        by_distinct.at(
            "64 bits, d = 1000, δ = 0.01 %",
            format!("D = {}", distinct::max_distinct(64, 1000, 1e-4)),
            "500 million",
            None,
        ),
    ]
}

fn top_n_statements() -> Vec<Statement> {
    let width = Theorem {
        theorem: "top-n-width",
        place: "§5 theorem 1, appendix E theorem 1",
        says: "so many columns keep the N greatest with probability 1 - δ",
        formula: "⌊1.3·ln(d/δ) / ln((d/(N·e))·ln(d/δ))⌋",
    };
    let pruning = Theorem {
        theorem: "top-n-pruning",
        place: "§5 theorem 2, appendix E theorem 2",
        says: "at least this fraction of m entries in random order is pruned",
        formula: "1 - (w·d/m)·ln(m·e/(w·d))",
    };
    let optimum = Theorem {
        theorem: "top-n-optimum",
        place: "§5, appendix E",
        says: "the fewest cells w·d are at this d",
        formula: "δ·e^W(N·e²/δ), W Lambert's",
    };
    let mut all = Vec::new();
    for (n, rows, paper) in [
        (1000, 600, "16"),
        (1000, 481, "19"),
        (1000, 8000, "5"),
        (1000, 200, "288"),
        (250, 4096, "4 (table 2)"),
    ] {
        let formula = top_n::paper_width(n, rows, 1e-4);
        all.push(width.at(
            format!("N = {n}, d = {rows}, δ = 0.01 %"),
            formula.map_or("no width".to_owned(), |w| w.to_string()),
            paper,
            Some(top_n::exact_width(n, rows, 1e-4).to_string()),
        ));
    }
    let shape = top_n::Shape { rows: 600, columns: 16 };
    for (entries, paper) in [(8_000_000, "99 %"), (100_000_000, "over 99.9 %")] {
        all.push(pruning.at(
            format!("d = 600, w = 16, m = {entries}"),
            percent(top_n::pruned_bound(entries, shape)),
            paper,
            Some(percent(top_n::expected_pruned(entries, shape))),
        ));
    }
    let (rows, columns) = top_n::continuous_optimum(1000, 1e-4);
    let whole = top_n::paper_optimum(1000, 1e-4);
    let best = top_n::exact_optimum(1000, 1e-4, 100_000, 64);
    all.push(optimum.at(
        "N = 1000, δ = 0.01 %",
        format!(
            "d = {rows:.2}, w = {columns:.1}; whole: {}",
            whole.map_or("none".to_owned(), |s| format!("{}×{}", s.rows, s.columns))
        ),
        "481×19",
        best.map(|s| format!("{}×{}", s.rows, s.columns)),
    ));
    all.push(optimum.at(
        "W(N·e²/δ) for N = 1000, δ = 0.01 %",
        format!("{:.4}", lambert_w(1000.0 * E * E / 1e-4)),
        "",
        None,
    ));
    all
}

fn other_statements() -> Vec<Statement> {
    const MIB: u64 = 8 << 20;
    let plain = Theorem {
        theorem: "join-bloom",
        place: "§4.3, figure 10e",
        says: "this fraction of unmatched keys passes a Bloom filter of M bits",
        formula: "(1 - e^(-H·n/M))^H",
    };
    let register = Theorem {
        theorem: "join-register-bloom",
        place: "§4.3, figure 10e",
        says: "the same for a filter whose H bits lie in one 64-bit word",
        formula: "Σj Poisson(j; 64·n/M)·P[H given bits are set | j keys]",
    };
    let sketch = Theorem {
        theorem: "having-count-min",
        place: "§4.3",
        says: "a sum is over by more than ε of the total with probability δ at most",
        formula: "ε = e/w, δ = e^-d",
    };
    let product = Theorem {
        theorem: "skyline-product",
        place: "appendix D",
        says: "the approximate product is off by this at most, in log2",
        formula: "1/(2β) + log2(1 + 2^-15)",
    };
    let wire = Theorem {
        theorem: "line-rate",
        place: "§7.1",
        says: "bits per second of packets of one entry",
        formula: "packets·64·8",
    };
    let mut all = Vec::new();
    for (keys, mib) in
        [(1_000_000, 1), (1_000_000, 4), (5_000_000, 1), (5_000_000, 4), (5_000_000, 16)]
    {
        let inputs = format!("n = {keys}, M = {mib} MiB, H = 3");
        let paper = match mib {
            1 => "at least 1 MB is needed",
            16 => "near optimal",
            _ => "",
        };
        let (bf, rbf) =
            (bloom::bloom_rate(mib * MIB, 3, keys), bloom::register_bloom_rate(mib * MIB, 3, keys));
        all.push(plain.at(inputs.clone(), percent(bf), paper, None));
        all.push(register.at(inputs, percent(rbf), "as good as a Bloom filter", None));
    }
    let (epsilon, delta) = count_min::guarantee(1024, 3);
    let collision = percent(count_min::collision(25, 1024, 3));
    all.push(sketch.at(
        "w = 1024, d = 3",
        format!("ε = {epsilon:.5}, δ = {delta:.4}"),
        "",
        Some(format!("one of 25 groups shares all its counters: {collision}")),
    ));
    let beta = f64::from(1 << 26);
    all.push(product.at(
        "β = 2^26, 64-bit values",
        format!("{:.1e}", skyline::log_error(beta, true)),
        "",
        None,
    ));
    all.push(wire.at(
        "10 million packets per second",
        format!("{:.2} Gbit/s", line_rate::throughput(10e6, line_rate::MIN_FRAME_BYTES) / 1e9),
        "5.1 Gbps",
        None,
    ));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_numbers_come_out() {
        let all = statements();
        let value = |theorem: &str, inputs: &str| {
            let found = all.iter().find(|s| s.theorem == theorem && s.inputs.starts_with(inputs));
            found.map(|s| (s.value.as_str(), s.exact.as_deref())).unwrap()
        };
        assert_eq!(value("distinct-pruning", "D = 15000").0, "58.27 %");
        assert_eq!(value("distinct-fingerprints-by-entries", "m = 10^9").0, "48");
        assert_eq!(value("distinct-fingerprints", "D = 499649410").0, "64");
        assert_eq!(value("distinct-fingerprints", "64 bits").0, "D = 499649410");
        assert_eq!(value("top-n-width", "N = 1000, d = 600"), ("16", Some("12")));
        assert_eq!(value("top-n-width", "N = 1000, d = 481"), ("19", Some("13")));
        assert_eq!(value("top-n-width", "N = 1000, d = 200"), ("288", Some("19")));
        assert_eq!(value("top-n-width", "N = 250"), ("4", Some("4")));
        assert_eq!(value("top-n-pruning", "d = 600, w = 16, m = 8000000").0, "99.07 %");
        assert_eq!(value("top-n-pruning", "d = 600, w = 16, m = 100000000").0, "99.90 %");
        assert_eq!(value("top-n-optimum", "N = 1000").0, "d = 480.29, w = 20.0; whole: 481×19");
        assert_eq!(value("join-bloom", "n = 5000000, M = 4 MiB").0, "4.68 %");
        assert_eq!(value("join-register-bloom", "n = 1000000, M = 1 MiB").0, "3.21 %");
        assert_eq!(value("line-rate", "10 million").0, "5.12 Gbit/s");
    }
}
