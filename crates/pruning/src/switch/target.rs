//! Switch targets: the limits that [`fit`](super::fit()) checks a program against.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The limits of one pipeline. Unless a unit is given, a number is a count per stage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// The name of the target.
    pub name: String,
    /// Stages of the pipeline.
    pub stages: usize,
    /// Stateful ALUs; each serves one register array.
    pub stateful_alus: usize,
    /// Logical tables of all kinds.
    pub tables: usize,
    /// Logical tables that match in TCAM.
    pub ternary_tables: usize,
    /// Gateways, one for each conditional table.
    pub gateways: usize,
    /// SRAM blocks, for registers and exact tables.
    pub sram_blocks: u64,
    /// Bits of an SRAM block.
    pub sram_block_bits: u64,
    /// Map RAMs: one for each SRAM block of a register array.
    pub map_rams: u64,
    /// SRAM blocks that one register array may take.
    pub register_blocks: u64,
    /// TCAM blocks, for ternary tables.
    pub tcam_blocks: u64,
    /// Entries of a TCAM block.
    pub tcam_block_entries: u64,
    /// Bits of a TCAM entry.
    pub tcam_block_bits: u64,
    /// Hash distribution slices of 16 bits, for register indexes and hashed fields.
    pub hash_slices: usize,
    /// Bytes that the exact match crossbar takes to keys, gateways, hash units and stateful ALUs.
    pub exact_crossbar_bytes: usize,
    /// Bytes that the ternary match crossbar takes to keys.
    pub ternary_crossbar_bytes: usize,
    /// Packet header vector containers of 8, 16 and 32 bits, for the whole pipeline.
    pub phv: [usize; 3],
    /// Bits that a gateway compares with another field or a constant in whole bytes.
    pub gateway_wide_bits: usize,
    /// Further bits that a gateway matches.
    pub gateway_narrow_bits: usize,
    /// Output words of a stateful ALU.
    pub alu_outputs: usize,
    /// Fields that a stateful ALU reads.
    pub alu_inputs: usize,
    /// Least and greatest constant that an ALU's instruction holds.
    pub alu_constants: [i64; 2],
    /// Rows of the register file, for other constants.
    pub alu_register_file: usize,
    /// Instructions of a stateful ALU, of which each access runs one.
    pub alu_instructions: usize,
    /// The widest cell of a register array, bits.
    pub cell_bits: u64,
}

/// The reason why a target file is refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TargetError {
    /// The text is not TOML, or has a value of the wrong type or an unknown name.
    #[error("target file: {0}")]
    Syntax(String),
    /// The `base` is not the name of a built-in target.
    #[error("`{0}` is not a target; known are tofino1, tofino2 and paper")]
    UnknownBase(String),
    /// A block of memory has no capacity.
    #[error("target file: {0} must be 1 or more")]
    Empty(&'static str),
}

impl Target {
    /// Returns one ingress pipeline of Tofino 1. The limits follow the device specification in p4c's open backend and
    /// that compiler's behaviour (it accepts 131,072 cells of 32 bits in an array, but not 147,456).
    #[must_use]
    pub fn tofino1() -> Self {
        Self {
            name: "tofino1".into(),
            stages: 12,
            stateful_alus: 4,
            tables: 16,
            ternary_tables: 8,
            gateways: 16,
            sram_blocks: 80,
            sram_block_bits: 1024 * 128,
            map_rams: 48,
            register_blocks: 32,
            tcam_blocks: 24,
            tcam_block_entries: 512,
            tcam_block_bits: 44,
            hash_slices: 6,
            exact_crossbar_bytes: 128,
            ternary_crossbar_bytes: 66,
            phv: [64, 96, 64],
            gateway_wide_bits: 32,
            gateway_narrow_bits: 12,
            alu_outputs: 1,
            alu_inputs: 2,
            alu_constants: [-8, 7],
            alu_register_file: 4,
            alu_instructions: 4,
            cell_bits: 64,
        }
    }

    /// Returns one ingress pipeline of Tofino 2: 20 stages and four output words of a stateful ALU. Where p4c's
    /// specification gives no other number, Tofino 1's is used.
    ///
    /// Its comparators can mask their operands, which Tofino 1's cannot, but no program here gains by it. In p4c's
    /// assembler a mask is a constant, either in the instruction or in a row of the register file that both operands
    /// share. The one comparison that needs a mask, a register Bloom filter's `(word & mask) == mask`, has a mask
    /// that comes with each packet.
    #[must_use]
    pub fn tofino2() -> Self {
        Self { name: "tofino2".into(), stages: 20, alu_outputs: 4, ..Self::tofino1() }
    }

    /// Returns the machine of the paper's §2.2: at most 60 stages, ten comparisons in a stage, 100 MB of SRAM and
    /// 300,000 TCAM entries in all, and no other limit.
    #[must_use]
    pub fn paper() -> Self {
        Self {
            name: "paper".into(),
            stages: 60,
            stateful_alus: 10,
            tables: 64,
            ternary_tables: 64,
            gateways: 64,
            sram_blocks: 100_000_000 * 8 / (1024 * 128) / 60,
            sram_block_bits: 1024 * 128,
            map_rams: 100_000_000 * 8 / (1024 * 128) / 60,
            register_blocks: 100_000_000 * 8 / (1024 * 128) / 60,
            tcam_blocks: 10,
            tcam_block_entries: 500,
            tcam_block_bits: 64,
            hash_slices: 64,
            exact_crossbar_bytes: 1024,
            ternary_crossbar_bytes: 1024,
            phv: [256, 256, 256],
            gateway_wide_bits: 64,
            gateway_narrow_bits: 64,
            alu_outputs: 4,
            alu_inputs: 4,
            alu_constants: [i32::MIN as i64, u32::MAX as i64],
            alu_register_file: 4,
            alu_instructions: 16,
            cell_bits: 64,
        }
    }

    /// Returns the built-in target with that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [Self::tofino1(), Self::tofino2(), Self::paper()]
            .into_iter()
            .find(|target| target.name == name)
    }

    /// Parses a target file: TOML with a `base` (a built-in target; `tofino1` if left out) and the limits that differ
    /// from it.
    ///
    /// ```
    /// use sluicegate_pruning::switch::Target;
    ///
    /// let target = Target::from_toml("base = 'tofino2'\nname = 'half'\nstages = 10").unwrap();
    /// assert_eq!((target.stages, target.alu_outputs), (10, 4));
    /// assert!(Target::from_toml("stagez = 10").is_err());
    /// assert!(Target::from_toml("tcam_block_bits = 0").is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// If the text is not such a file.
    pub fn from_toml(text: &str) -> Result<Self, TargetError> {
        let syntax = |error: &dyn std::fmt::Display| TargetError::Syntax(error.to_string());
        let mut given: toml::Table = text.parse().map_err(|e: toml::de::Error| syntax(&e))?;
        let base = match given.remove("base") {
            None => Self::tofino1(),
            Some(toml::Value::String(name)) => {
                Self::named(&name).ok_or(TargetError::UnknownBase(name))?
            }
            Some(other) => return Err(TargetError::UnknownBase(other.type_str().into())),
        };
        let mut table = toml::Table::try_from(base).map_err(|e| syntax(&e))?;
        table.extend(given);
        let target: Self = table.try_into().map_err(|e: toml::de::Error| syntax(&e))?;
        let blocks = [
            ("sram_block_bits", target.sram_block_bits),
            ("tcam_block_entries", target.tcam_block_entries),
            ("tcam_block_bits", target.tcam_block_bits),
        ];
        match blocks.into_iter().find(|(_, size)| *size == 0) {
            Some((name, _)) => Err(TargetError::Empty(name)),
            None => Ok(target),
        }
    }
}
