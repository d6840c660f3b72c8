//! Appendix A: the guarantee of each algorithm, and the formulas of its ALUs and memory.

use sluicegate_costmodel::Provenance;
use sluicegate_pruning::algorithm::catalog::{Algorithm, Parameters};
use sluicegate_pruning::switch::fit;

use super::table2::long_tofino;
use crate::experiment::Method;
use crate::{Experiment, Outcome, Table};

/// The formulas of A.2 beside our programs of several sizes.
pub const EXPERIMENT: Experiment = Experiment {
    id: "cheetah/tableA",
    title: "Guarantees of the algorithms, and formulas of their resources",
    place: "Cheetah appendix A",
    method: Method::Computed(compute),
};

/// Algorithm, whether it is always right, and the meaning of its parameters.
const GUARANTEES: [(&str, bool, &str); 8] = [
    ("filtering", true, "comparisons and their truth table"),
    ("DISTINCT", false, "a d × w matrix used as a w-way cache; right but for equal fingerprints"),
    ("SKYLINE", true, "w points stored on the switch"),
    ("TOP N, deterministic", true, "w counters stored on the switch"),
    ("TOP N, randomized", false, "a d × w matrix where each row uses a rolling minimum"),
    ("GROUP BY", true, "a d × w matrix with one hash per row"),
    ("JOIN", true, "M filter bits, H hash functions"),
    ("HAVING", true, "a Count-Min sketch with d rows and w columns"),
];

/// The formulas of an algorithm in A.2, and the bits of one of our cells.
struct Formula {
    section: &'static str,
    algorithm: Algorithm,
    /// The ALUs for w columns.
    alus: fn(u64) -> u64,
    /// The registers for d rows and w columns.
    cells: fn(u64, u64) -> u64,
    cell_bits: u64,
    /// Parameters beside d and w.
    given: Parameters,
    has_rows: bool,
}

const NONE: Parameters = Parameters {
    rows: None,
    columns: None,
    hashes: None,
    filter_bits: None,
    n: None,
    key_bits: None,
    dimensions: None,
    threshold: None,
    relation: None,
    extreme: None,
    ties: None,
    row_value: None,
    hash_seed: None,
    linear_hash: None,
};

const FORMULAS: [Formula; 4] = [
    Formula {
        section: "A.2.3",
        algorithm: Algorithm::Distinct,
        alus: |w| w,
        cells: |d, w| d * w,
        cell_bits: 32,
        given: Parameters { key_bits: Some(32), ..NONE },
        has_rows: true,
    },
    Formula {
        section: "A.2.4",
        algorithm: Algorithm::GroupBy,
        alus: |w| w,
        cells: |d, w| d * w,
        cell_bits: 64,
        given: NONE,
        has_rows: true,
    },
    Formula {
        section: "A.2.5",
        algorithm: Algorithm::TopNDeterministic,
        alus: |w| w + 1,
        cells: |_, w| w + 1,
        cell_bits: 32,
        given: NONE,
        has_rows: false,
    },
    Formula {
        section: "A.2.6",
        algorithm: Algorithm::TopNRandomized,
        alus: |w| w,
        cells: |d, w| d * w,
        cell_bits: 32,
        given: NONE,
        has_rows: true,
    },
];

/// Rows and columns.
const SIZES: [(u32, u32); 4] = [(1024, 1), (4096, 2), (4096, 4), (65_536, 8)];

/// The resources of a program, by the formula and counted.
struct Counted {
    formula: &'static Formula,
    size: (u32, u32),
    /// Stateful ALUs and bits of registers by the formula.
    expected: [u64; 2],
    /// Those of the program as it is placed, unless it has no placement.
    placed: Option<[u64; 2]>,
}

impl Counted {
    fn is_equal(&self) -> bool {
        self.placed == Some(self.expected)
    }
}

fn counted() -> Vec<Counted> {
    let of = |formula: &'static Formula, size: (u32, u32)| {
        let (rows, columns) = (size.0, size.1);
        let rows_given = formula.has_rows.then_some(rows);
        let given = Parameters { rows: rows_given, columns: Some(columns), ..formula.given };
        let placed = || {
            let program = formula.algorithm.configure(&given).ok()?.program();
            let placed = fit(&program, &long_tofino()).ok()?;
            Some([placed.stateful_alus() as u64, placed.register_bits])
        };
        let (d, w) = (u64::from(rows), u64::from(columns));
        let expected = [(formula.alus)(w), (formula.cells)(d, w) * formula.cell_bits];
        Counted { formula, size, expected, placed: placed() }
    };
    FORMULAS.iter().flat_map(|formula| SIZES.map(|size| of(formula, size))).collect()
}

fn compute() -> Outcome {
    let all = counted();
    let equal = all.iter().filter(|it| it.is_equal()).count();
    let mut outcome = Outcome::default();
    let found = format!("{equal} of {} programs as the formulas", all.len());
    outcome.decide("C45", found, equal == all.len());
    let differing: Vec<String> = all.iter().filter(|it| !it.is_equal()).map(difference).collect();
    let cells = "The formulas are evaluated for our cells, of 32 bits or of a pair of 32";
    outcome.note(match differing.as_slice() {
        [] => cells.to_owned(),
        differing => format!(
            "TOP N also counts the first N entries, for which the formula has no counter: {}. {cells}",
            differing.join(", ")
        ),
    });
    let guarantee = |(name, is_certain, parameters): (&str, bool, &str)| {
        vec![
            name.to_owned(),
            if is_certain { "deterministic" } else { "probabilistic" }.to_owned(),
            parameters.to_owned(),
        ]
    };
    outcome.tables.push(Table {
        title: "Guarantees and parameters, A.1".to_owned(),
        columns: vec!["algorithm", "guarantee", "parameters"],
        rows: GUARANTEES.map(guarantee).to_vec(),
        provenance: Provenance::Published("Cheetah, appendix A.1".into()),
    });
    outcome.tables.push(Table {
        title:
            "Stateful ALUs and registers of our programs, beside the formulas of A.2 for our cells"
                .to_owned(),
        columns: vec![
            "section",
            "algorithm",
            "d × w",
            "ALUs, formula",
            "ALUs",
            "bits, formula",
            "bits",
        ],
        rows: all.iter().map(row).collect(),
        provenance: Provenance::Counted,
    });
    outcome
}

fn size(it: &Counted) -> String {
    let (rows, columns) = it.size;
    if it.formula.has_rows { format!("{rows} × {columns}") } else { format!("w = {columns}") }
}

/// Returns what a program takes instead of the formula's resources.
fn difference(it: &Counted) -> String {
    let name = format!("{} {}", it.formula.algorithm.name(), size(it));
    match (it.placed, it.expected) {
        (Some([alus, bits]), [expected, expected_bits]) => {
            format!("{name} takes {alus} ALUs for {expected} and {bits} bits for {expected_bits}")
        }
        (None, _) => format!("{name} has no placement"),
    }
}

fn row(it: &Counted) -> Vec<String> {
    let mut row =
        vec![it.formula.section.to_owned(), it.formula.algorithm.name().to_owned(), size(it)];
    for (at, expected) in it.expected.iter().enumerate() {
        row.push(expected.to_string());
        row.push(it.placed.map_or_else(|| "-".to_owned(), |placed| placed[at].to_string()));
    }
    row
}
