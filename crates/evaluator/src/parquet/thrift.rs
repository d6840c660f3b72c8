//! Scans the encoding of Parquet's headers (Thrift's compact protocol) to verify that reading them ends.
//!
//! The library skips unknown fields element by element, and treats booleans as elements without bytes. A list of two
//! billion booleans has eight bytes, so a file of a few kilobytes could occupy a server for days. The library reads
//! known fields by their number, whatever type the file gives them, so such a list may hide in any field.

use std::io::{self, ErrorKind, Read};

use super::headers::{Fields, Shape};
use super::tree::Tree;

/// The most levels that structs and lists nest.
const MAX_DEPTH: usize = 64;
/// The longest header of a page, in bytes.
const MAX_HEADER_BYTES: u64 = 16 << 20;

/// The fields of a page's header, by their numbers. Negative sizes count as larger than any other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct PageHeader {
    /// Field 2: the size of the page in bytes when decompressed; 0 if absent.
    pub(super) uncompressed: u64,
    /// Field 3: the number of bytes that follow the header; 0 if absent.
    pub(super) compressed: u64,
    /// Field 4: the CRC-32 of these bytes.
    pub(super) crc: Option<u32>,
    /// The length of the header in bytes.
    pub(super) length: u64,
}

/// The memory of an element of the schema and of a column chunk's description, in bytes, however short these are in
/// the footer.
const ELEMENT_BYTES: u64 = 1 << 10;
const CHUNK_BYTES: u64 = 1 << 9;
/// The memory of the names and statistics of such descriptions, and of other parts, as multiples of their bytes.
const DESCRIPTION_TIMES: u64 = 3;
const FOOTER_TIMES: u64 = 10;

/// Checks a footer, which may be longer than other headers. Returns the memory that the library's structures for it
/// take, in bytes.
///
/// # Errors
/// Those of [`check_struct`].
pub(super) fn check_footer(footer: &[u8], fields: Fields) -> io::Result<u64> {
    let bytes = footer.len() as u64;
    let Walk { tree, chunks, .. } = walk(footer, bytes, fields)?;
    let described = ELEMENT_BYTES * tree.elements + CHUNK_BYTES * chunks;
    Ok((bytes * FOOTER_TIMES).max(bytes * DESCRIPTION_TIMES + described))
}

/// Reads a struct and everything in it. Returns its fields if it is the header of a page.
///
/// # Errors
/// If it is not a struct, ends too early, is longer than 16 MiB, has a field of another type than in `fields`, or
/// contains elements that the library would read forever.
pub(super) fn check_struct(from: impl Read, fields: Fields) -> io::Result<PageHeader> {
    let walk = walk(from, MAX_HEADER_BYTES, fields)?;
    Ok(PageHeader { length: MAX_HEADER_BYTES - walk.from.limit(), ..walk.page })
}

fn walk<R: Read>(from: R, most: u64, fields: Fields) -> io::Result<Walk<R>> {
    let (page, tree) = (PageHeader::default(), Tree::default());
    let mut walk = Walk { from: from.take(most), page, tree, chunks: 0 };
    walk.fields(fields, MAX_DEPTH)?;
    Ok(walk)
}

mod kind {
    pub(super) const BOOLEANS: [u8; 2] = [1, 2];
    pub(super) const BYTE: u8 = 3;
    pub(super) const INTEGERS: [u8; 3] = [4, 5, 6];
    pub(super) const DOUBLE: u8 = 7;
    pub(super) const BINARY: u8 = 8;
    pub(super) const LISTS: [u8; 2] = [9, 10];
    pub(super) const MAP: u8 = 11;
    pub(super) const STRUCT: u8 = 12;
}

struct Walk<R> {
    from: io::Take<R>,
    /// The fields of the outermost struct.
    page: PageHeader,
    tree: Tree,
    /// The number of descriptions of column chunks.
    chunks: u64,
}

impl<R: Read> Walk<R> {
    /// Reads a value of the type given in the file, which must match the known shape, if there is one.
    fn value(&mut self, of: u8, shape: Option<Shape>, depth: usize) -> io::Result<()> {
        let Some(depth) = depth.checked_sub(1) else { return Err(invalid("nests too deeply")) };
        let fits = match shape {
            None => true,
            Some(Shape::Bool) => false,
            Some(Shape::Byte) => of == kind::BYTE,
            Some(Shape::Int | Shape::Children) => kind::INTEGERS.contains(&of),
            Some(Shape::Double) => of == kind::DOUBLE,
            Some(Shape::Binary | Shape::Name) => of == kind::BINARY,
            Some(Shape::Flags | Shape::List(_)) => kind::LISTS.contains(&of),
            Some(Shape::Struct(_) | Shape::Element(_) | Shape::Chunk(_)) => of == kind::STRUCT,
        };
        if !fits {
            return Err(invalid("has a field of another type than Parquet's"));
        }
        match of {
            kind::BYTE => self.byte().map(drop),
            kind::DOUBLE => self.pass(8),
            kind::BINARY => {
                let length = self.number()?;
                if matches!(shape, Some(Shape::Name)) {
                    self.tree.name_bytes = length;
                }
                self.pass(length)
            }
            kind::STRUCT => match shape {
                Some(Shape::Struct(fields)) => self.fields(fields, depth),
                Some(Shape::Element(fields)) => {
                    self.fields(fields, depth)?;
                    self.tree.end_element()
                }
                Some(Shape::Chunk(fields)) => {
                    self.chunks += 1;
                    self.fields(fields, depth)
                }
                _ => self.fields(&[], depth),
            },
            kind::MAP => {
                let size = self.number()?;
                let kinds = if size > 0 { self.byte()? } else { 0 };
                self.elements(size, &[kinds >> 4, kinds & 15], None, depth)
            }
            of if kind::INTEGERS.contains(&of) => {
                let number = self.number()?;
                if matches!(shape, Some(Shape::Children)) {
                    // Zigzag encoding; a negative number counts as zero.
                    self.tree.children = if number & 1 == 0 { number >> 1 } else { 0 };
                }
                Ok(())
            }
            of if kind::LISTS.contains(&of) => {
                let (size, of) = self.list()?;
                match shape {
                    Some(Shape::Flags) if size == 0 || kind::BOOLEANS.contains(&of) => {
                        self.pass(size)
                    }
                    Some(Shape::Flags) => Err(invalid("has a list of pages of another type")),
                    Some(Shape::List(shape)) => self.elements(size, &[of], Some(*shape), depth),
                    _ => self.elements(size, &[of], None, depth),
                }
            }
            _ => Err(invalid("has a value of no known type")),
        }
    }

    /// Reads the number of elements of a list, and their type.
    fn list(&mut self) -> io::Result<(u64, u8)> {
        let head = self.byte()?;
        let size = match head >> 4 {
            15 => self.number()?,
            size => u64::from(size),
        };
        Ok((size, head & 15))
    }

    fn fields(&mut self, known: Fields, depth: usize) -> io::Result<()> {
        let mut id = 0_i16;
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Ok(());
            }
            id = match head >> 4 {
                // The field's number in full: 0, -1, 1, -2, …
                0 => {
                    let number = self.number()?;
                    (number >> 1) as i16 ^ -((number & 1) as i16)
                }
                more => id.wrapping_add(i16::from(more)),
            };
            let shape = known.iter().find(|(known, _)| *known == id).map(|(_, shape)| *shape);
            let of = head & 15;
            // The type of a boolean field is its value.
            match (kind::BOOLEANS.contains(&of), shape) {
                (true, None | Some(Shape::Bool)) => {}
                (true, _) => return Err(invalid("has a boolean that should be none")),
                (false, None | Some(Shape::Int))
                    if depth == MAX_DEPTH
                        && (2..=4).contains(&id)
                        && kind::INTEGERS.contains(&of) =>
                {
                    let number = self.number()?;
                    // A negative size counts as larger than any other.
                    let size = if number & 1 == 0 { number >> 1 } else { u64::MAX };
                    match id {
                        2 => self.page.uncompressed = size,
                        3 => self.page.compressed = size,
                        // The library also uses the lower 32 bits only.
                        _ => {
                            self.page.crc =
                                Some((number >> 1) as u32 ^ (number as u32 & 1).wrapping_neg())
                        }
                    }
                }
                (false, shape) => self.value(of, shape, depth)?,
            }
        }
    }

    /// Reads `size` elements, each with one value of each of the types in `kinds`. Every element takes at least a
    /// byte.
    fn elements(
        &mut self,
        size: u64,
        kinds: &[u8],
        shape: Option<Shape>,
        depth: usize,
    ) -> io::Result<()> {
        for _ in 0..size {
            for of in kinds {
                self.value(*of, shape, depth)?;
            }
        }
        Ok(())
    }

    fn byte(&mut self) -> io::Result<u8> {
        let mut byte = [0];
        self.from.read_exact(&mut byte)?;
        Ok(byte[0])
    }

    fn number(&mut self) -> io::Result<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(invalid("has a number of more than 64 bits"))
    }

    fn pass(&mut self, bytes: u64) -> io::Result<()> {
        let passed = io::copy(&mut self.from.by_ref().take(bytes), &mut io::sink())?;
        if passed == bytes { Ok(()) } else { Err(ErrorKind::UnexpectedEof.into()) }
    }
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("a header {what}"))
}

#[cfg(test)]
mod tests {
    use super::super::headers::{COLUMN_INDEX, PAGE};
    use super::*;

    fn check(header: &[u8], fields: Fields) -> io::Result<()> {
        check_struct(header, fields).map(drop)
    }

    #[test]
    fn a_page_tells_how_many_bytes_it_has() {
        let bytes = |header: &[u8]| check_struct(header, PAGE).unwrap().uncompressed;
        assert_eq!(bytes(b"\x15\x00\x15\x80\x02\x15\x06\x00"), 128);
        // The fields' numbers are in full, and the last size counts; then a header without a size.
        assert_eq!(bytes(b"\x05\x04\x02\x05\x04\x04\x00"), 2);
        assert_eq!(bytes(b"\x15\x08\x00"), 0);
        // The library would use the lower 32 bits as the size.
        for size in [&b"\x01"[..], b"\xff\xff\xff\xff\x7f", b"\x81\x80\x80\x80\x80\x01"] {
            let header = [b"\x15\x00\x15", size, b"\x15\x06\x00"].concat();
            assert_eq!(bytes(&header), u64::MAX, "{size:?}");
        }
        // Fields of inner structs do not count.
        assert_eq!(bytes(b"\x25\x08\x3c\x25\x0a\x00\x00"), 4);
    }

    #[test]
    fn a_page_tells_its_checksum_and_its_header_its_length() {
        let read = |crc: &[u8]| {
            let header = [b"\x15\x00\x15\x06\x15\x04", crc, b"\x00and more"].concat();
            check_struct(header.as_slice(), PAGE).unwrap()
        };
        let length = 7;
        let without = PageHeader { uncompressed: 3, compressed: 2, crc: None, length };
        assert_eq!(read(b""), without);
        for (crc, number) in [
            (&b"\x15\x02"[..], 1),
            (b"\x15\x01", u32::MAX),
            (b"\x15\xfe\xff\xff\xff\x0f", i32::MAX as u32),
            (b"\x15\xff\xff\xff\xff\x0f", 1 << 31),
        ] {
            let length = length + crc.len() as u64;
            assert_eq!(read(crc), PageHeader { crc: Some(number), length, ..without });
        }
    }

    #[test]
    fn the_booleans_of_a_column_index_are_bytes() {
        let pages = b"\x19\x21\x01\x02\x19\x18\x01a\x00";
        check(pages, COLUMN_INDEX).unwrap();
        check(&pages[..8], COLUMN_INDEX).unwrap_err();
        let endless = b"\x19\xf1\xff\xff\xff\xff\x07\x01\x00";
        check(endless, COLUMN_INDEX).unwrap_err();
        check(b"\x19\x11\x01\x19\xf1\xff\xff\xff\xff\x07\x00", COLUMN_INDEX).unwrap_err();
        check(b"\x19\x15\x01\x00", COLUMN_INDEX).unwrap_err();
    }

    #[test]
    fn structs_are_read_to_their_end() {
        let text = b"\x18\x03abc\x00";
        let all = b"\x11\x12\x13\x07\x14\x8f\x01\x17\x01\x02\x03\x04\x05\x06\x07\x08\x18\x01x\x19\x25\x02\x04\x1b\x01\x85\x01x\x02\x1c\x00\x05\x22\x04\x00";
        for good in [&b"\x00"[..], text, all, b"\x19\x00\x00"] {
            check(good, &[]).unwrap();
        }
        // A map from text to integers.
        let map = b"\x1b\x01\x85\x01x\x02\x00";
        check(map, &[]).unwrap();
        for cut in 0..all.len() {
            check(&all[..cut], &[]).unwrap_err();
        }
        check(&text[..4], &[]).unwrap_err();
    }

    #[test]
    fn what_the_library_would_read_forever_is_refused() {
        // Lists of booleans; the outer list has as many lists.
        let list = b"\x19\xf1\xff\xff\xff\xff\x07\x00";
        let lists = b"\x19\xf9\xff\xff\xff\xff\x07\xf1\xff\xff\xff\xff\x07\x00";
        let map = b"\x1b\xff\xff\xff\xff\x07\x11\x00";
        for bad in [&list[..], lists, map, b"\x1e", &[0x1c; 100], &[0x19, 0x19].repeat(100)] {
            check(bad, &[]).unwrap_err();
        }
    }

    /// A field that Parquet declares as a struct is a text, a list or a number in the file. The library would read
    /// its bytes as a struct.
    #[test]
    fn fields_must_have_the_types_of_parquet() {
        let header = |field: &[u8]| [b"\x15\x00\x15\x02\x15\x02", field, b"\x00"].concat();
        check(&header(b"\x3c\x00"), PAGE).unwrap();
        check(&header(b"\x3c\x15\x00\x00"), PAGE).unwrap();
        for bad in [
            &b"\x38\x08\x19\xf1\xff\xff\xff\xff\x07\x00"[..],
            b"\x39\x08",
            b"\x35\x02",
            b"\x31",
            // A text, with the field's number in full.
            b"\x08\x0c\x00",
        ] {
            check(&header(bad), PAGE).unwrap_err();
        }
        // Unknown fields may be anything that ends.
        check(&header(b"\x98\x02ab\x11"), PAGE).unwrap();
    }
}
