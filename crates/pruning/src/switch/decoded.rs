//! A program in the form that the interpreter runs.
//!
//! All that a table can read lies in one array of words: fields, constants, action data, hashes, the cell of a
//! register and the ALU's results. An operand is a position in that array, so all kinds of operands are read alike.

use std::collections::HashMap;
use std::sync::Arc;

use super::hash::{HashTable, input_bytes};
use super::matcher::Matcher;
use super::program::{
    Action, Cell, Comparand, FieldId, Operand, Operation, Program, RegisterId, Table, Test,
};
use super::stateful::{
    AluOperand, Compare, ComparePredicate, Half, Index, Sign, Source, Stateful, Update,
};
use super::validate::ProgramError;

/// A position in the array of words. It is small so that a program fits the first-level cache beside its data.
pub(super) type Word = u16;
/// The greatest number of words that positions can address.
const MOST_WORDS: usize = 1 << Word::BITS;

/// The words that follow the fields: the cell before the access (a pair's high number after the low one), the ALU's
/// results for both, its predicate, and the complement of the cell.
const MEM_LO: usize = 0;
const MEM_HI: usize = 1;
const ALU_LO: usize = 2;
const ALU_HI: usize = 3;
const PREDICATE: usize = 4;
const NOT_MEM_LO: usize = 5;
/// The number of words that the ALU uses.
const ALU_WORDS: usize = 6;

/// The predicate of an absent update: it never runs.
const NEVER: ComparePredicate = ComparePredicate(0);

/// The program's tables in order, and the words that they read.
#[derive(Debug, Clone)]
pub(super) struct Decoded {
    pub(super) tables: Vec<DecodedTable>,
    /// The greatest number that each field holds.
    pub(super) masks: Vec<u32>,
    /// The words before a packet enters.
    pub(super) words: Vec<u32>,
    /// The first of [`ALU_WORDS`].
    alu: usize,
    /// The first word of action data.
    args: usize,
    hashes: Vec<HashUnit>,
}

/// A hash unit, and the words that it hashes, with their bytes.
#[derive(Debug, Clone)]
struct HashUnit {
    table: HashTable,
    inputs: Vec<(Word, usize)>,
    to: usize,
}

/// One table with its gateway, matcher and actions.
#[derive(Debug, Clone)]
pub(super) struct DecodedTable {
    /// The least and greatest number of values in the packets that the table runs for.
    pub(super) carried: [u8; 2],
    gateway: Gate,
    matcher: Matcher,
    pub(super) actions: Box<[DecodedAction]>,
}

#[derive(Debug, Clone)]
enum Gate {
    Open,
    One(DecodedTest),
    AllOf(Box<[Vec<DecodedTest>]>),
}

#[derive(Debug, Clone, Copy)]
struct DecodedTest {
    left: Word,
    right: Word,
    mask: u32,
    equal: bool,
}

/// An action: the hashes it needs, its register access, and its operations.
#[derive(Debug, Clone)]
pub(super) struct DecodedAction {
    hashes: Box<[u16]>,
    pub(super) access: Option<DecodedAccess>,
    ops: Box<[DecodedOp]>,
    /// The fields that the access and then the operations write.
    pub(super) to: Box<[FieldId]>,
}

#[derive(Debug, Clone, Copy)]
struct DecodedOp {
    operation: Operation,
    bits: u8,
    a: Word,
    b: Word,
}

/// One read-modify-write of one register cell.
#[derive(Debug, Clone)]
pub(super) struct DecodedAccess {
    pub(super) register: RegisterId,
    index: Word,
    /// The first cell of the part of the array that the index counts in.
    first: u32,
    bits: u8,
    pair: bool,
    compare: [DecodedCompare; 2],
    /// Two updates of each half.
    update: [[DecodedUpdate; 2]; 2],
    outputs: Box<[(ComparePredicate, Word)]>,
}

/// The comparison of `± left ± right − constant` with zero. `holds` has a bit for each sign of the result: bit 0 if
/// negative, 1 if zero, 2 if positive.
#[derive(Debug, Clone, Copy, Default)]
struct DecodedCompare {
    constant: i64,
    left: Word,
    right: Word,
    left_sign: i8,
    right_sign: i8,
    holds: u8,
}

#[derive(Debug, Clone, Copy)]
struct DecodedUpdate {
    when: ComparePredicate,
    operation: Operation,
    a: Word,
    b: Word,
}

/// The result of an access: the cell's index, and its content before and after.
#[derive(Debug, Clone, Copy)]
pub(super) struct Accessed {
    pub(super) index: u32,
    pub(super) before: [u32; 2],
    pub(super) after: [u32; 2],
}

impl Decoded {
    /// Decodes a valid program.
    pub(super) fn decode(program: &Program) -> Result<Self, ProgramError> {
        let fields = program.fields.len();
        let entries = program.tables().flat_map(|(_, table)| &table.entries);
        let calls = entries.map(|entry| &entry.call);
        let defaults = program.tables().filter_map(|(_, table)| table.default.as_ref());
        let args = calls.chain(defaults).map(|call| call.args.len()).max().unwrap_or(0);
        let hashed = fields + ALU_WORDS;
        let first_arg = hashed + program.hashes.len();
        let bytes = |f: &FieldId| input_bytes(program.fields[f.index()].bits);
        let unit = |(number, hash): (usize, &super::Hash)| HashUnit {
            table: HashTable::new(
                hash.polynomial,
                hash.initial,
                hash.inputs.iter().map(bytes).sum(),
                hash.bits,
            ),
            inputs: hash.inputs.iter().map(|f| (f.index() as Word, bytes(f))).collect(),
            to: hashed + number,
        };
        let mut decoder = Decoder {
            program,
            alu: fields,
            hashed,
            args: first_arg,
            words: vec![0; first_arg + args],
            constants: HashMap::new(),
            data: Vec::new(),
        };
        let tables = program.tables().map(|(_, table)| decoder.table(table)).collect();
        if decoder.words.len() > MOST_WORDS {
            return Err(ProgramError::Words(decoder.words.len()));
        }
        Ok(Self {
            tables,
            masks: program.fields.iter().map(|field| field.mask()).collect(),
            words: decoder.words,
            alu: fields,
            args: first_arg,
            hashes: program.hashes.iter().enumerate().map(unit).collect(),
        })
    }

    /// Returns the action of a table that runs, if any, and copies its data to the words.
    #[inline(always)]
    pub(super) fn choose<'a>(
        &self,
        table: &'a DecodedTable,
        words: &mut [u32],
    ) -> Option<(usize, &'a DecodedAction)> {
        let holds = |test: &DecodedTest| {
            let differs =
                (words[usize::from(test.left)] ^ words[usize::from(test.right)]) & test.mask != 0;
            differs != test.equal
        };
        let open = match &table.gateway {
            Gate::Open => true,
            Gate::One(test) => holds(test),
            Gate::AllOf(clauses) => clauses.iter().all(|clause| clause.iter().any(holds)),
        };
        if !open {
            return None;
        }
        let (action, args) = table.matcher.choose(words);
        words[self.args..].iter_mut().zip(args).for_each(|(to, arg)| *to = *arg);
        let number = action as usize;
        table.actions.get(number).map(|action| (number, action))
    }

    /// Runs an action and writes its results, in the order of [`DecodedAction::to`].
    #[inline(always)]
    pub(super) fn run(
        &self,
        action: &DecodedAction,
        words: &mut [u32],
        registers: &mut [Vec<[u32; 2]>],
        results: &mut [u32],
    ) -> Option<Accessed> {
        for number in &action.hashes {
            let unit = &self.hashes[usize::from(*number)];
            let inputs = unit.inputs.iter().map(|(at, bytes)| (words[usize::from(*at)], *bytes));
            words[unit.to] = unit.table.hash(inputs);
        }
        let mut results = results.iter_mut();
        let mut accessed = None;
        if let Some(access) = &action.access {
            let index = access.first + words[usize::from(access.index)];
            let cell = &mut registers[usize::from(access.register.0)][index as usize];
            let before = *cell;
            *cell = access.run(before, words, self.alu, &mut results);
            accessed = Some(Accessed { index, before, after: *cell });
        }
        for (op, result) in action.ops.iter().zip(results) {
            let (a, b) = (words[usize::from(op.a)], words[usize::from(op.b)]);
            *result = op.operation.apply(a, b, op.bits);
        }
        accessed
    }
}

impl DecodedAccess {
    /// Returns the new cell. The semantics are those of the open Tofino backend of p4c: two comparators without
    /// wrap-around, and up to two updates for each half that run if their predicate holds and are OR-ed if both do.
    /// An output is 0 unless its predicate holds. In a single-width register the high half is a scratch result that
    /// starts at 0.
    #[inline(always)]
    fn run(
        &self,
        old: [u32; 2],
        words: &mut [u32],
        alu: usize,
        results: &mut std::slice::IterMut<'_, u32>,
    ) -> [u32; 2] {
        words[alu + MEM_LO] = old[0];
        words[alu + MEM_HI] = old[1];
        let case = self.compare[0].holds(words) | self.compare[1].holds(words) << 1;
        let lo = self.update(0, case, old[0], words);
        let hi = self.update(1, case, if self.pair { old[1] } else { 0 }, words);
        words[alu + ALU_LO] = lo;
        words[alu + ALU_HI] = hi;
        words[alu + PREDICATE] = 1 << case;
        words[alu + NOT_MEM_LO] = u32::from(old[0] == 0);
        for ((when, source), result) in self.outputs.iter().zip(results) {
            *result = words[usize::from(*source)] * u32::from(when.holds(case));
        }
        [lo, if self.pair { hi } else { old[1] }]
    }

    /// Returns the new value of one half. The case is unpredictable, so no branch depends on it.
    #[inline(always)]
    fn update(&self, half: usize, case: u8, old: u32, words: &[u32]) -> u32 {
        let (mut result, mut updated) = (0, false);
        for update in &self.update[half] {
            if update.when != NEVER {
                let runs = update.when.holds(case);
                let (a, b) = (words[usize::from(update.a)], words[usize::from(update.b)]);
                result |= update.operation.apply(a, b, self.bits) * u32::from(runs);
                updated |= runs;
            }
        }
        if updated { result } else { old }
    }
}

impl DecodedCompare {
    /// Returns 1 if the comparison holds, else 0.
    #[inline(always)]
    fn holds(&self, words: &[u32]) -> u8 {
        if self.holds == 0 {
            return 0;
        }
        let left = i64::from(self.left_sign) * i64::from(words[usize::from(self.left)]);
        let right = i64::from(self.right_sign) * i64::from(words[usize::from(self.right)]);
        self.holds >> ((left + right - self.constant).signum() + 1) & 1
    }
}

/// The decoder's input, and the constants and action data collected so far.
struct Decoder<'a> {
    program: &'a Program,
    alu: usize,
    hashed: usize,
    args: usize,
    words: Vec<u32>,
    constants: HashMap<u32, Word>,
    data: Vec<Arc<[u32]>>,
}

impl Decoder<'_> {
    fn constant(&mut self, value: u32) -> Word {
        let next = self.words.len() as Word;
        let at = *self.constants.entry(value).or_insert(next);
        if at == next {
            self.words.push(value);
        }
        at
    }

    fn table(&mut self, table: &Table) -> DecodedTable {
        let mut clauses: Vec<Vec<DecodedTest>> = Vec::new();
        let mut carried = [self.program.needs(table), u8::MAX];
        for clause in &table.gateway.all_of {
            if let Some(test) = clause.iter().find(|test| test.is_of_presence()) {
                let below = test.field.index().saturating_sub(2) as u8;
                if test.equal {
                    carried[0] = carried[0].max(below.saturating_add(1));
                } else {
                    carried[1] = carried[1].min(below);
                }
                continue;
            }
            clauses.push(clause.iter().map(|test| self.test(test)).collect());
        }
        let gateway = match clauses.as_slice() {
            [] => Gate::Open,
            [clause] if clause.len() == 1 => Gate::One(clause[0]),
            _ => Gate::AllOf(clauses.into()),
        };
        let actions = table.actions.iter().map(|action| self.action(action)).collect();
        let mut matcher = Matcher::compile(table);
        match self.data.iter().find(|data| **data == matcher.args) {
            Some(data) => matcher.args = Arc::clone(data),
            None => self.data.push(Arc::clone(&matcher.args)),
        }
        DecodedTable { carried, gateway, matcher, actions }
    }

    fn test(&mut self, test: &Test) -> DecodedTest {
        let right = match test.with {
            Comparand::Field(field) => field.index() as Word,
            Comparand::Const(constant) => self.constant(constant),
        };
        let left = test.field.index() as Word;
        DecodedTest { left, right, mask: test.mask, equal: test.equal }
    }

    fn action(&mut self, action: &Action) -> DecodedAction {
        let mut hashes = Vec::new();
        if let Some(Stateful { index: Index::Hash(number), .. }) = &action.stateful {
            hashes.push(*number);
        }
        let operands = action.ops.iter().flat_map(|op| [op.a, op.b]);
        hashes.extend(operands.filter_map(|operand| match operand {
            Operand::Hash(number) => Some(number),
            _ => None,
        }));
        hashes.dedup();
        let outputs = action.stateful.iter().flat_map(|access| &access.outputs);
        let to = outputs.map(|o| o.to).chain(action.ops.iter().map(|op| op.to)).collect();
        let mut ops = Vec::new();
        for op in &action.ops {
            let bits = self.program.fields[op.to.index()].bits;
            let (a, b) = (self.operand(op.a), self.operand(op.b));
            ops.push(DecodedOp { operation: op.operation, bits, a, b });
        }
        let access = action.stateful.as_ref().map(|access| self.access(access));
        DecodedAction { hashes: hashes.into(), access, ops: ops.into(), to }
    }

    fn operand(&mut self, operand: Operand) -> Word {
        match operand {
            Operand::Field(field) => field.index() as Word,
            Operand::Const(constant) => self.constant(constant),
            Operand::Arg(number) => (self.args + usize::from(number)) as Word,
            Operand::Hash(number) => (self.hashed + usize::from(number)) as Word,
        }
    }

    fn access(&mut self, access: &Stateful) -> DecodedAccess {
        let cell = self.program.registers[usize::from(access.register.0)].cell;
        let index = match access.index {
            Index::Zero => self.constant(0),
            Index::Field(field) => field.index() as Word,
            Index::Hash(number) => self.operand(Operand::Hash(number)),
        };
        let source = |source| match source {
            Source::MemLo => MEM_LO,
            Source::MemHi => MEM_HI,
            Source::AluLo => ALU_LO,
            Source::AluHi => ALU_HI,
            Source::Predicate => PREDICATE,
            Source::NotMemLo => NOT_MEM_LO,
        };
        let output = |o: &super::Output| (o.when, (self.alu + source(o.source)) as Word);
        let outputs = access.outputs.iter().map(output).collect();
        DecodedAccess {
            register: access.register,
            index,
            first: access.first,
            bits: cell.bits(),
            pair: cell == Cell::Pair32,
            compare: [access.lo, access.hi]
                .map(|compare| compare.map_or_else(DecodedCompare::default, |c| self.compare(c))),
            update: [&access.update_lo, &access.update_hi].map(|updates| {
                let never = DecodedUpdate { when: NEVER, operation: Operation::Set, a: 0, b: 0 };
                let mut both = [never; 2];
                for (to, update) in both.iter_mut().zip(updates) {
                    *to = self.update(*update);
                }
                both
            }),
            outputs,
        }
    }

    fn compare(&self, compare: Compare) -> DecodedCompare {
        let sign = |sign| if sign == Sign::Plus { 1 } else { -1 };
        let (left, left_sign) = compare.mem.map_or((0, 0), |(half, s)| {
            (self.alu + if half == Half::Lo { MEM_LO } else { MEM_HI }, sign(s))
        });
        let (right, right_sign) = compare.field.map_or((0, 0), |(f, s)| (f.index(), sign(s)));
        DecodedCompare {
            constant: compare.constant,
            left: left as Word,
            right: right as Word,
            left_sign,
            right_sign,
            holds: (0..3).fold(0, |holds, sign| {
                holds | u8::from(compare.relation.holds(sign - 1, 0)) << sign
            }),
        }
    }

    fn update(&mut self, update: Update) -> DecodedUpdate {
        let mut operand = |operand| match operand {
            AluOperand::MemLo => (self.alu + MEM_LO) as Word,
            AluOperand::MemHi => (self.alu + MEM_HI) as Word,
            AluOperand::Field(field) => field.index() as Word,
            AluOperand::Const(constant) => self.constant(constant as u32),
        };
        let (a, b) = (operand(update.a), operand(update.b));
        DecodedUpdate { when: update.when, operation: update.operation, a, b }
    }
}
