//! Finds the requested fields of objects with the bitmaps of their block, without parsing values.
//!
//! Most objects of a file have the same names in the same order and the same spelling. The text before a value, such
//! as `,"name": `, is therefore stored as a head, with its meaning and the head that followed it last. One comparison
//! of bytes mostly confirms that the same head comes again. Only new or unexpected names are parsed.

use std::collections::HashMap;

use super::parser::{MARK_BYTES, MAX_DEPTH, ParseFailure, Parser, first_byte};
use super::structure::{Marks, Structure};
use crate::vector::Span;
use sluicegate_s3select::dialect::ast::{Name, PathStep};

/// The most heads that are stored, and the longest in bytes.
const MAX_HEADS: usize = 1024;
const MAX_HEAD_BYTES: usize = 256;

/// Heads up to this length in bytes are compared word by word.
const SHORT: usize = 8 * WORDS;
const WORDS: usize = 4;

/// The most fields that are searched for.
const MAX_ROOTS: usize = 64;

/// Numbers that stand for no head: an unknown one, and the start of an object.
const UNKNOWN: u32 = u32::MAX;
const START: u32 = u32::MAX - 1;

/// Finds fields by their names.
#[derive(Debug)]
pub(super) struct Objects {
    roots: Vec<Name>,
    /// For each root, the number of columns that begin with it.
    columns: Vec<usize>,
    /// True if no path leads into rows, so that arrays are accepted like objects.
    any: bool,
    /// The most memory that arrays and objects in the fields of the last object take as values.
    value_bytes: usize,
    /// The heads found so far.
    heads: Vec<Head>,
    known: HashMap<Box<[u8]>, u32>,
    /// The first head of the last object.
    first: u32,
}

/// The text between a bracket or comma and a value: a name with its colon, and spaces.
#[derive(Debug)]
struct Head {
    bytes: Box<[u8]>,
    /// For a short head, its bytes padded with zeros, and a mask with ones for its bits.
    short: Option<([u64; WORDS], [u64; WORDS])>,
    /// The roots with this name, as a set of bits.
    wanted: u64,
    /// The head that followed this one last.
    next: u32,
}

impl Head {
    fn new(bytes: &[u8], wanted: u64) -> Self {
        let words = |byte: &dyn Fn(&u8) -> u8| {
            let mut words = [[0; 8]; WORDS];
            words.as_flattened_mut().iter_mut().zip(bytes).for_each(|(to, from)| *to = byte(from));
            words.map(u64::from_le_bytes)
        };
        let is_short = bytes.len() <= SHORT;
        let short = is_short.then(|| (words(&|byte| *byte), words(&|_| u8::MAX)));
        Self { bytes: bytes.into(), short, wanted, next: UNKNOWN }
    }

    /// Returns whether the text begins with this head.
    #[inline(always)]
    fn begins(&self, text: &[u8]) -> bool {
        // Comparing a few words is faster than calling a function for any length.
        let (Some((words, ones)), Some(text)) = (&self.short, text.first_chunk::<SHORT>()) else {
            return text.starts_with(&self.bytes);
        };
        let mut differs = 0;
        for (word, (bytes, ones)) in text.as_chunks().0.iter().zip(words.iter().zip(ones)) {
            differs |= (u64::from_le_bytes(*word) ^ bytes) & ones;
        }
        differs == 0
    }
}

/// The kind of text at a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ObjectScan {
    /// An object that ends before this position.
    Object(usize),
    /// Text that must be parsed, or rejected.
    Unusual,
    /// The block ends first.
    Incomplete,
}

impl Objects {
    /// Searches for the fields that these paths begin with. Returns `None` if the paths read more than fields. The
    /// second list holds the root that each path begins with, or `None` if the path cannot lead into an object.
    pub(super) fn new(paths: &[Vec<PathStep>]) -> Option<(Self, Vec<Option<usize>>)> {
        let mut roots: Vec<Name> = Vec::new();
        let mut columns: Vec<usize> = Vec::new();
        let mut root_of = Vec::with_capacity(paths.len());
        for path in paths {
            if roots.len() > MAX_ROOTS {
                return None;
            }
            root_of.push(match path.first()? {
                PathStep::Field(name) => {
                    let known = roots.iter().position(|root| root == name);
                    let root = known.unwrap_or_else(|| {
                        roots.push(name.clone());
                        columns.push(0);
                        roots.len() - 1
                    });
                    columns[root] += 1;
                    Some(root)
                }
                _ => None,
            });
        }
        let objects = Self { any: paths.is_empty(), ..Self::with_roots(roots, columns) };
        (objects.roots.len() <= MAX_ROOTS).then_some((objects, root_of))
    }

    /// Searches for one field.
    pub(super) fn with_root(root: &Name) -> Self {
        Self::with_roots(vec![root.clone()], vec![1])
    }

    fn with_roots(roots: Vec<Name>, columns: Vec<usize>) -> Self {
        let (heads, known) = (Vec::new(), HashMap::new());
        Self { roots, columns, any: false, value_bytes: 0, heads, known, first: UNKNOWN }
    }

    /// Returns the most memory that the columns of the last object take, without plain values.
    pub(super) fn value_bytes(&self) -> usize {
        self.value_bytes
    }

    /// Returns the number of fields to search for.
    pub(super) fn roots(&self) -> usize {
        self.roots.len()
    }

    /// Scans the object at `start`, which must end before `limit`. Appends the value of each root to `fields`, or
    /// MISSING. If no object is found, the appended spans are meaningless.
    #[inline]
    pub(super) fn find(
        &mut self,
        block: &[u8],
        structure: &Structure,
        start: usize,
        limit: usize,
        fields: &mut [Vec<Span>],
    ) -> ObjectScan {
        self.value_bytes = 0;
        if self.roots.is_empty() {
            return pass(block, structure, start, limit, self.any);
        }
        fields.iter_mut().for_each(|field| field.push(Span::MISSING));
        self.members(block, structure, start, limit, fields)
    }

    fn members(
        &mut self,
        block: &[u8],
        structure: &Structure,
        start: usize,
        limit: usize,
        fields: &mut [Vec<Span>],
    ) -> ObjectScan {
        if block.get(start) != Some(&b'{') {
            return ObjectScan::Unusual;
        }
        let mut marks = structure.marks::<true>(start + 1);
        let mut at = start + 1;
        let mut before = START;
        let row = fields[0].len() - 1;
        loop {
            let expected = match before {
                START => self.first,
                before => self.heads.get(before as usize).map_or(UNKNOWN, |head| head.next),
            };
            let is_next = |head: &Head| head.begins(&block[at..limit]);
            let known = self.heads.get(expected as usize).filter(|head| is_next(head));
            let (length, mut roots) = if let Some(head) = known {
                before = expected;
                (head.bytes.len(), head.wanted)
            } else if before == START && first_byte(&block[at..limit]) == Some(b'}') {
                return marks.next().map_or(ObjectScan::Unusual, |end| ObjectScan::Object(end + 1));
            } else {
                match self.parse_head(&block[at..limit], before) {
                    Ok((head, length, wanted)) => {
                        before = head;
                        (length, wanted)
                    }
                    Err(found) => return found,
                }
            };
            let start = at + length;
            let Some(mut mark) = marks.next() else { return ObjectScan::Incomplete };
            let mut end = mark;
            let mut value_bytes = 0;
            if mark == start {
                let passed;
                (end, passed) = match close(&mut marks, block, mark) {
                    Ok((close, passed)) => (close + 1, passed),
                    Err(found) => return found,
                };
                value_bytes = passed * MARK_BYTES + (end - start);
                let Some(behind) = marks.next() else { return ObjectScan::Incomplete };
                mark = behind;
                if mark >= limit || first_byte(&block[end..mark]).is_some() {
                    return ObjectScan::Unusual;
                }
            }
            if mark >= limit {
                return ObjectScan::Unusual;
            }
            while roots != 0 {
                let root = roots.trailing_zeros() as usize;
                let field = &mut fields[root][row];
                self.value_bytes += value_bytes * self.columns[root];
                roots &= roots - 1;
                // A name is repeated, or several names match one root.
                if *field != Span::MISSING {
                    return ObjectScan::Unusual;
                }
                let is_space = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
                let mut length = end - start;
                while length > 0 && is_space(&block[start + length - 1]) {
                    length -= 1;
                }
                *field = Span::new(start as u32, length as u32);
            }
            match block[mark] {
                b',' => at = mark + 1,
                b'}' => return ObjectScan::Object(mark + 1),
                _ => return ObjectScan::Unusual,
            }
        }
    }

    /// Parses a name and stores it as the expected successor of the head before. Returns the number of the head if it
    /// is stored, its length and the roots with this name.
    #[cold]
    fn parse_head(&mut self, text: &[u8], before: u32) -> Result<(u32, usize, u64), ObjectScan> {
        let mut parser = Parser::new(text, false);
        let key = parser.key().map_err(|problem| match problem {
            ParseFailure::Incomplete => ObjectScan::Incomplete,
            _ => ObjectScan::Unusual,
        })?;
        let wanted = match parser.unescape(key) {
            // No statement can contain this name.
            Err(ParseFailure::Surrogate(_)) => 0,
            Err(_) => return Err(ObjectScan::Unusual),
            Ok(name) => (0..).zip(&self.roots).fold(0, |wanted, (bit, root): (u32, _)| {
                wanted | u64::from(root.matches(&name)) << bit
            }),
        };
        parser.skip_space();
        let bytes = &text[..parser.position()];
        let head = match self.known.get(bytes) {
            Some(head) => *head,
            None if bytes.len() > MAX_HEAD_BYTES || self.heads.len() >= MAX_HEADS => UNKNOWN,
            None => {
                let number = self.heads.len() as u32;
                self.heads.push(Head::new(bytes, wanted));
                self.known.insert(bytes.into(), number);
                number
            }
        };
        if before == START {
            self.first = head;
        } else if let Some(before) = self.heads.get_mut(before as usize) {
            before.next = head;
        }
        Ok((head, bytes.len(), wanted))
    }
}

/// Skips an object, or an array if no field is read of it: paths by index lead into arrays.
fn pass(
    block: &[u8],
    structure: &Structure,
    start: usize,
    limit: usize,
    arrays: bool,
) -> ObjectScan {
    match block.get(start) {
        Some(b'{') => {}
        Some(b'[') if arrays => {}
        _ => return ObjectScan::Unusual,
    }
    let mut marks = structure.marks::<false>(start + 1);
    match close(&mut marks, block, start) {
        Ok((end, _)) if end < limit => ObjectScan::Object(end + 1),
        Ok(_) => ObjectScan::Unusual,
        Err(found) => found,
    }
}

/// Returns the bracket that closes the one at `open`, and the number of marks up to it. All brackets in between must
/// match.
#[inline]
fn close<const COMMAS: bool>(
    marks: &mut Marks<'_, COMMAS>,
    block: &[u8],
    open: usize,
) -> Result<(usize, usize), ObjectScan> {
    // One bit for each open bracket, set for braces; the innermost is the lowest bit.
    let mut braces = match block[open] {
        b'{' => 1_u128,
        b'[' => 0,
        _ => return Err(ObjectScan::Unusual),
    };
    let (mut depth, mut passed) = (1, 0);
    for mark in marks {
        passed += 1;
        match block[mark] {
            b'{' | b'[' if depth + 1 >= MAX_DEPTH => return Err(ObjectScan::Unusual),
            b'{' => (braces, depth) = (braces << 1 | 1, depth + 1),
            b'[' => (braces, depth) = (braces << 1, depth + 1),
            b'}' | b']' => {
                if (block[mark] == b'}') != (braces & 1 == 1) {
                    return Err(ObjectScan::Unusual);
                }
                (braces, depth) = (braces >> 1, depth - 1);
                if depth == 0 {
                    return Ok((mark, passed));
                }
            }
            _ => {}
        }
    }
    Err(ObjectScan::Incomplete)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn heads_begin_the_texts_that_they_begin(
            head in prop::collection::vec(any::<u8>(), 0..2 * SHORT),
            behind in prop::collection::vec(any::<u8>(), 0..2 * SHORT),
            changed in prop::option::of((any::<prop::sample::Index>(), any::<u8>())),
        ) {
            let mut text = [&head[..], &behind].concat();
            if let (Some((at, byte)), false) = (changed, text.is_empty()) {
                let at = at.index(text.len());
                text[at] = byte;
            }
            prop_assert_eq!(Head::new(&head, 0).begins(&text), text.starts_with(&head));
            let cut = &text[..head.len().saturating_sub(1)];
            prop_assert_eq!(Head::new(&head, 0).begins(cut), cut.starts_with(&head));
        }
    }
}
