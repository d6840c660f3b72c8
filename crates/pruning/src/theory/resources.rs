//! What a configuration asks of a switch: table 2 of the paper, and what compilers really need.

use serde::Serialize;

use super::bloom;
use super::limits::{Accounting, Limits};
use super::plan::PlanError;

/// The two kinds of Bloom filter for JOIN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum JoinFilter {
    /// H bits anywhere: one array and one ALU for each.
    Bloom,
    /// H bits of one register: one array and one ALU, and a table of masks.
    RegisterBloom,
}

/// How SKYLINE maps a point to a score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Projection {
    /// The sum of the coordinates.
    Sum,
    /// The approximate product: a sum of logarithms from a table of 2^16, with TCAM rules for the
    /// leading bit.
    ApproximateProduct,
}

/// An algorithm with its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub enum Configuration {
    /// WHERE: `predicates` comparisons and a truth table of their results.
    Filter {
        /// Comparisons on the switch.
        predicates: u32,
    },
    /// DISTINCT: a cache of `rows` d × `columns` w.
    Distinct {
        /// d.
        rows: u64,
        /// w.
        columns: u64,
        /// Bits of a cell: of the key, or of its fingerprint.
        cell_bits: u32,
        /// Least recently used replacement; otherwise first in, first out, in ALUs that share
        /// memory in one stage.
        lru: bool,
    },
    /// TOP N by `thresholds` that double.
    TopNDeterministic {
        /// w, not counting the first, t0.
        thresholds: u32,
        /// Bits of a value.
        value_bits: u32,
    },
    /// TOP N by the largest values of random rows.
    TopNRandomized {
        /// d.
        rows: u64,
        /// w.
        columns: u64,
        /// Bits of a value.
        value_bits: u32,
    },
    /// GROUP BY MAX or MIN: `tables` w of `rows` d pairs.
    GroupBy {
        /// d.
        rows: u64,
        /// w.
        tables: u64,
        /// Bits of key and value together.
        pair_bits: u32,
    },
    /// JOIN: filters of `bits` in all.
    Join {
        /// Which filter.
        filter: JoinFilter,
        /// M.
        bits: u64,
        /// H.
        hashes: u32,
    },
    /// HAVING SUM or COUNT: a Count-Min sketch of `rows` d × `counters` w.
    Having {
        /// w.
        counters: u64,
        /// d.
        rows: u64,
        /// Bits of a counter.
        counter_bits: u32,
    },
    /// SKYLINE: `points` w of `dimensions` D.
    Skyline {
        /// D.
        dimensions: u32,
        /// w.
        points: u32,
        /// The score.
        projection: Projection,
        /// Bits of a coordinate and of the score.
        value_bits: u32,
    },
}

/// Resources that a configuration needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Demand {
    /// Pipeline stages.
    pub stages: u64,
    /// Stateful ALUs in all.
    pub alus: u64,
    /// Memory for registers and lookup tables, bits.
    pub sram_bits: u64,
    /// Ternary entries.
    pub tcam_entries: u64,
    /// ALUs in the fullest stage.
    pub stage_alus: u64,
    /// Register memory in the fullest stage, bits.
    pub stage_sram_bits: u64,
    /// The largest register array, bits.
    pub array_bits: u64,
    /// The widest register, bits.
    pub register_bits: u32,
}

/// Register arrays of equal size, in a chain (each in a later stage) or side by side.
#[derive(Clone, Copy)]
struct Arrays {
    count: u64,
    bits: u64,
    chained: bool,
}

impl Configuration {
    /// Resources by table 2, or as compiled, whichever `limits` asks for.
    ///
    /// # Example
    /// The defaults of table 2: 64 KiB for DISTINCT, 128 KiB for TOP N, 256 KiB for GROUP BY.
    /// ```
    /// use sluicegate_pruning::theory::{Configuration, Limits};
    /// let need = |configuration: Configuration| {
    ///     let demand = configuration.demand(&Limits::paper());
    ///     (demand.stages, demand.alus, demand.sram_bits / 8 / 1024)
    /// };
    /// assert_eq!(need(Configuration::Distinct { rows: 4096, columns: 2, cell_bits: 64, lru: true }), (2, 2, 64));
    /// assert_eq!(need(Configuration::Distinct { rows: 4096, columns: 2, cell_bits: 64, lru: false }), (1, 2, 64));
    /// assert_eq!(need(Configuration::TopNRandomized { rows: 4096, columns: 4, value_bits: 64 }), (4, 4, 128));
    /// assert_eq!(need(Configuration::GroupBy { rows: 4096, tables: 8, pair_bits: 64 }), (8, 8, 256));
    /// ```
    pub fn demand(&self, limits: &Limits) -> Demand {
        let compiled = limits.accounting == Accounting::Compiled;
        // Stages that table 2 leaves out: the mixing of the hash, the drop, and for DISTINCT and TOP N
        // before it the comparison of what the last ALU returned.
        let extra = |stages: u64| if compiled { stages } else { 0 };
        let (arrays, register_bits, stages, tables_bits, tcam_entries) = match *self {
            Self::Filter { predicates } => {
                let arrays = Arrays { count: predicates.into(), bits: 32, chained: false };
                (arrays, 32, arrays.stages(limits) + 1, 0, 0)
            }
            Self::Distinct { rows, columns, cell_bits, lru } => {
                // A gateway compares 44 bits: a wider cell is two halves, and the comparison has a
                // stage of its own.
                let halves = if compiled && cell_bits > 32 { 2 } else { 1 };
                let register_bits = register(cell_bits);
                let bits = rows * u64::from(register_bits.div_ceil(halves));
                if lru {
                    let arrays = Arrays { count: columns * u64::from(halves), bits, chained: true };
                    (arrays, register_bits, columns * u64::from(halves) + extra(3), 0, 0)
                } else {
                    let arrays =
                        Arrays { count: columns * u64::from(halves), bits, chained: false };
                    (arrays, register_bits, arrays.stages(limits) + extra(3), 0, 0)
                }
            }
            Self::TopNDeterministic { thresholds, value_bits } => {
                let bits = register(value_bits);
                let thresholds = u64::from(thresholds);
                if compiled {
                    // Count and minimum in front; each threshold is the double of the one before.
                    let arrays = Arrays { count: thresholds + 2, bits: bits.into(), chained: true };
                    (arrays, bits, thresholds + 5, 0, 0)
                } else {
                    let arrays = Arrays { count: thresholds + 1, bits: bits.into(), chained: true };
                    (arrays, bits, thresholds + 1, 0, 0)
                }
            }
            Self::TopNRandomized { rows, columns, value_bits } => {
                let bits = register(value_bits);
                let arrays = Arrays { count: columns, bits: rows * u64::from(bits), chained: true };
                (arrays, bits, columns + extra(3), 0, 0)
            }
            Self::GroupBy { rows, tables, pair_bits } => {
                let bits = register(pair_bits);
                let arrays = Arrays { count: tables, bits: rows * u64::from(bits), chained: true };
                (arrays, bits, tables + extra(2), 0, 0)
            }
            Self::Join { filter: JoinFilter::Bloom, bits, hashes } => {
                let hashes = u64::from(hashes.max(1));
                let arrays = Arrays { count: hashes, bits: bits.div_ceil(hashes), chained: false }
                    .split(limits);
                (arrays, 1, if compiled { arrays.stages(limits) + 2 } else { 2 }, 0, 0)
            }
            Self::Join { filter: JoinFilter::RegisterBloom, bits, hashes } => {
                let arrays = Arrays { count: 1, bits, chained: false }.split(limits);
                let masks = bloom::masks(hashes) as u64 * u64::from(bloom::REGISTER_BITS);
                let stages = if compiled { arrays.stages(limits) + 5 } else { 1 };
                (arrays, bloom::REGISTER_BITS, stages, masks, 0)
            }
            Self::Having { counters, rows, counter_bits } => {
                let bits = register(counter_bits);
                let arrays =
                    Arrays { count: rows, bits: counters * u64::from(bits), chained: false };
                (arrays, bits, arrays.stages(limits) + extra(2), 0, 0)
            }
            Self::Skyline { dimensions, points, projection, value_bits } => {
                let bits = register(value_bits);
                let (d, w) = (u64::from(dimensions), u64::from(points));
                let levels = u64::from(dimensions.max(1).next_power_of_two().ilog2());
                let (own, table, tcam) = match projection {
                    Projection::Sum => (0, 0, 0),
                    Projection::ApproximateProduct => (2, (1 << 16) * 32, 64 * d),
                };
                // The coordinates of a point share a stage with the score of the next one.
                let stages =
                    if compiled { levels + w + 1 + own * 3 / 2 } else { levels + 2 * w + own };
                let arrays = Arrays { count: w * (d + 1), bits: bits.into(), chained: false };
                (arrays, bits, stages + extra(1), table, tcam)
            }
        };
        // Adders for the score are plain ALUs in table 2's sum: 2·log2 D - 1 of them.
        let adders = match *self {
            Self::Skyline { dimensions, .. } => {
                (2 * u64::from(dimensions.max(1).next_power_of_two().ilog2())).saturating_sub(1)
            }
            _ => 0,
        };
        let stage_arrays = match *self {
            Self::Skyline { dimensions, .. } => u64::from(dimensions),
            Self::Distinct { cell_bits, lru: true, .. } if compiled && cell_bits > 32 => 2,
            _ if arrays.chained => 1,
            _ => arrays.per_stage(limits).min(arrays.count),
        };
        Demand {
            stages,
            alus: arrays.count + adders,
            sram_bits: arrays.count * arrays.bits + tables_bits,
            tcam_entries,
            stage_alus: stage_arrays,
            stage_sram_bits: stage_arrays * arrays.bits,
            array_bits: arrays.bits,
            register_bits,
        }
    }
}

impl Arrays {
    /// How many fit side by side in one stage; at least one, so that a misfit shows as too much
    /// memory.
    fn per_stage(self, limits: &Limits) -> u64 {
        let by_memory = limits.sram_bits_per_stage / self.bits.max(1);
        by_memory.min(limits.alus_per_stage.into()).max(1)
    }

    fn stages(self, limits: &Limits) -> u64 {
        self.count.div_ceil(self.per_stage(limits))
    }

    /// Cuts arrays that exceed the largest one into equal parts.
    fn split(self, limits: &Limits) -> Self {
        let parts = self.bits.div_ceil(limits.array_bits.min(limits.sram_bits_per_stage).max(1));
        Self { count: self.count * parts, bits: self.bits.div_ceil(parts.max(1)), ..self }
    }
}

/// The register that holds `bits`: 8, 16, 32 or 64; more stays as it is and will not fit.
fn register(bits: u32) -> u32 {
    [8, 16, 32, 64].into_iter().find(|&width| bits <= width).unwrap_or(bits)
}

impl Demand {
    /// Whether `limits` allow it, and if not the first thing that is missing.
    pub fn fits(&self, limits: &Limits) -> Result<(), PlanError> {
        let check = |what, needed: u64, available: u64| {
            if needed <= available {
                Ok(())
            } else {
                Err(PlanError::Exceeds { what, needed, available })
            }
        };
        check("bits in a register", self.register_bits.into(), limits.register_bits.into())?;
        check("bits in a register array", self.array_bits, limits.array_bits)?;
        check("stateful ALUs in a stage", self.stage_alus, limits.alus_per_stage.into())?;
        check(
            "bits of register memory in a stage",
            self.stage_sram_bits,
            limits.sram_bits_per_stage,
        )?;
        check("stages", self.stages, limits.stages.into())?;
        check("ternary entries", self.tcam_entries, limits.tcam_entries)?;
        check(
            "bits of memory",
            self.sram_bits,
            limits.sram_bits_per_stage * u64::from(limits.stages),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOIN_BITS: u64 = 4 << 23;

    fn check(
        configuration: Configuration,
        limits: Limits,
        stages: u64,
        alus: u64,
        sram_bits: u64,
        tcam: u64,
    ) {
        let demand = configuration.demand(&limits);
        let found = (demand.stages, demand.alus, demand.sram_bits, demand.tcam_entries);
        assert_eq!(found, (stages, alus, sram_bits, tcam), "{configuration:?}");
    }

    #[test]
    fn table_2_at_its_defaults() {
        let paper = Limits::paper();
        let skyline = |projection| Configuration::Skyline {
            dimensions: 2,
            points: 10,
            projection,
            value_bits: 64,
        };
        check(skyline(Projection::Sum), paper, 21, 31, 30 * 64, 0);
        check(skyline(Projection::ApproximateProduct), paper, 23, 31, 30 * 64 + (32 << 16), 128);
        check(
            Configuration::TopNDeterministic { thresholds: 4, value_bits: 64 },
            paper,
            5,
            5,
            5 * 64,
            0,
        );
        let join = |filter| Configuration::Join { filter, bits: JOIN_BITS, hashes: 3 };
        let roomy = Limits { array_bits: JOIN_BITS, sram_bits_per_stage: JOIN_BITS, ..paper };
        check(join(JoinFilter::Bloom), roomy, 2, 3, JOIN_BITS.div_ceil(3) * 3, 0);
        check(join(JoinFilter::RegisterBloom), roomy, 1, 1, JOIN_BITS + 41_664 * 64, 0);
        check(
            Configuration::Having { counters: 1024, rows: 3, counter_bits: 64 },
            paper,
            1,
            3,
            3 * 1024 * 64,
            0,
        );
    }

    #[test]
    fn stages_as_measured_with_the_open_compiler() {
        let tofino = Limits::tofino1();
        let stages = |configuration: Configuration| configuration.demand(&tofino).stages;
        assert_eq!(stages(Configuration::Filter { predicates: 1 }), 2);
        // Measured without the stage that mixes the hash.
        for (columns, measured) in [(4, 6), (8, 10), (11, 13)] {
            assert_eq!(
                stages(Configuration::TopNRandomized { rows: 4096, columns, value_bits: 32 }),
                measured + 1
            );
        }
        for (tables, measured) in [(5, 6), (11, 12)] {
            assert_eq!(
                stages(Configuration::GroupBy { rows: 4096, tables, pair_bits: 64 }),
                measured + 1
            );
        }
        let distinct = Configuration::Distinct { rows: 4096, columns: 4, cell_bits: 64, lru: true };
        assert_eq!((stages(distinct), distinct.demand(&tofino).alus), (10 + 1, 8));
    }

    #[test]
    fn misfits_are_named() {
        let wide = Configuration::GroupBy { rows: 4096, tables: 1, pair_bits: 96 };
        let misfit = wide.demand(&Limits::tofino1()).fits(&Limits::tofino1());
        assert_eq!(
            misfit,
            Err(PlanError::Exceeds { what: "bits in a register", needed: 96, available: 64 })
        );
        let long = Configuration::TopNRandomized { rows: 4096, columns: 11, value_bits: 32 };
        let misfit = long.demand(&Limits::tofino1()).fits(&Limits::tofino1());
        assert_eq!(misfit, Err(PlanError::Exceeds { what: "stages", needed: 14, available: 12 }));
        let large = |rows| {
            Configuration::TopNRandomized { rows, columns: 1, value_bits: 32 }
                .demand(&Limits::tofino1())
        };
        assert_eq!(large(131_072).fits(&Limits::tofino1()), Ok(()));
        assert!(large(147_456).fits(&Limits::tofino1()).is_err());
    }
}
