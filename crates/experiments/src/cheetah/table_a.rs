//! Appendix A: the guarantee of each algorithm, and the formulas of its ALUs and memory.

use sluicegate_costmodel::Provenance;
use sluicegate_pruning::algorithm::catalog::{Algorithm, Parameters};

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
    alus: [u64; 2],
    bits: [u64; 2],
}

fn counted() -> Vec<Counted> {
    let of = |formula: &'static Formula, size: (u32, u32)| {
        let (rows, columns) = (size.0, size.1);
        let rows_given = formula.has_rows.then_some(rows);
        let given = Parameters { rows: rows_given, columns: Some(columns), ..formula.given };
        let program = formula.algorithm.configure(&given).ok()?.program();
        let (d, w) = (u64::from(rows), u64::from(columns));
        Some(Counted {
            formula,
            size,
            alus: [(formula.alus)(w), program.registers.len() as u64],
            bits: [(formula.cells)(d, w) * formula.cell_bits, program.register_bits()],
        })
    };
    FORMULAS.iter().flat_map(|formula| SIZES.map(|size| of(formula, size))).flatten().collect()
}

fn compute() -> Outcome {
    let all = counted();
    let is_equal = |it: &&Counted| it.alus[0] == it.alus[1] && it.bits[0] == it.bits[1];
    let equal = all.iter().filter(is_equal).count();
    let mut outcome = Outcome::default();
    outcome.decide("C45", format!("{equal} of {} programs", all.len()), equal == all.len());
    if equal < all.len() {
        let mut differing: Vec<&str> =
            all.iter().filter(|it| !is_equal(it)).map(|it| it.formula.algorithm.name()).collect();
        differing.dedup();
        outcome.note(format!(
            "{} takes one register and one ALU more: it counts the first N entries, for which the formula has no counter",
            differing.join(" and ")
        ));
    }
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
        title: "ALUs and registers of our programs, beside the formulas of A.2 for our cells"
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

fn row(it: &Counted) -> Vec<String> {
    let (rows, columns) = it.size;
    let size =
        if it.formula.has_rows { format!("{rows} × {columns}") } else { format!("w = {columns}") };
    let mut row = vec![it.formula.section.to_owned(), it.formula.algorithm.name().to_owned(), size];
    row.extend([it.alus[0], it.alus[1], it.bits[0], it.bits[1]].map(|it| it.to_string()));
    row
}
