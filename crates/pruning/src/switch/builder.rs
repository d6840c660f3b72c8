//! A builder that assembles a [`Program`] step by step.

use super::hash::Hash;
use super::program::{Cell, Field, FieldId, Program, Register, RegisterId, Stage, Table};

/// Collects the parts of a [`Program`] and returns their identifiers.
#[derive(Debug, Clone)]
pub struct Builder {
    program: Program,
}

impl Builder {
    /// Starts a program whose packets carry `values` values of 32 bits.
    #[must_use]
    pub fn new(name: impl Into<String>, values: u8) -> Self {
        let mut fields =
            vec![Field { name: "fid".into(), bits: 16 }, Field { name: "id".into(), bits: 32 }];
        fields.extend((0..values).map(|n| Field { name: format!("v{n}"), bits: 32 }));
        let program = Program {
            name: name.into(),
            values,
            shorter: Vec::new(),
            fields,
            registers: Vec::new(),
            hashes: Vec::new(),
            stages: Vec::new(),
            verdicts: Vec::new(),
            rewrites: Vec::new(),
            acknowledges: false,
            discards: None,
        };
        Self { program }
    }

    /// Adds a metadata field.
    pub fn field(&mut self, name: impl Into<String>, bits: u8) -> FieldId {
        self.program.fields.push(Field { name: name.into(), bits });
        FieldId((self.program.fields.len() - 1) as u16)
    }

    /// Adds the one-bit field that drops the next entry of the packet.
    pub fn verdict(&mut self, name: impl Into<String>) -> FieldId {
        let field = self.field(name, 1);
        self.program.verdicts.push(field);
        field
    }

    /// Adds a register array of zeros.
    pub fn register(&mut self, name: impl Into<String>, cell: Cell, size: u32) -> RegisterId {
        self.register_of(name, cell, size, [0, 0])
    }

    /// Adds a register array whose cells start as `initial`.
    pub fn register_of(
        &mut self,
        name: impl Into<String>,
        cell: Cell,
        size: u32,
        initial: [u32; 2],
    ) -> RegisterId {
        self.program.registers.push(Register { name: name.into(), cell, size, initial });
        RegisterId((self.program.registers.len() - 1) as u16)
    }

    /// Adds a hash unit and returns its number.
    pub fn hash(
        &mut self,
        name: impl Into<String>,
        polynomial: u32,
        inputs: impl Into<Vec<FieldId>>,
        bits: u8,
    ) -> u16 {
        self.hash_from(name, polynomial, u32::MAX, inputs, bits)
    }

    /// Like [`Builder::hash`], but with an initial value other than all ones.
    pub fn hash_from(
        &mut self,
        name: impl Into<String>,
        polynomial: u32,
        initial: u32,
        inputs: impl Into<Vec<FieldId>>,
        bits: u8,
    ) -> u16 {
        let hash = Hash { name: name.into(), polynomial, initial, inputs: inputs.into(), bits };
        self.program.hashes.push(hash);
        (self.program.hashes.len() - 1) as u16
    }

    /// Starts the next stage.
    pub fn stage(&mut self) {
        self.program.stages.push(Stage::default());
    }

    /// Adds a table to the current stage.
    pub fn table(&mut self, table: Table) {
        if self.program.stages.is_empty() {
            self.stage();
        }
        if let Some(stage) = self.program.stages.last_mut() {
            stage.tables.push(table);
        }
    }

    /// Returns the finished program.
    #[must_use]
    pub fn finish(self) -> Program {
        self.program
    }
}
