//! The structure of Parquet's headers, as its format declares it: the number and type of each field.

/// The type of a field.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shape {
    Bool,
    Byte,
    /// An integer of 16, 32 or 64 bits, or an enumeration.
    Int,
    Double,
    /// A string of bytes or text.
    Binary,
    /// A list of booleans, one byte each.
    Flags,
    List(&'static Self),
    Struct(Fields),
    /// An element of the schema's tree, which has a name and a number of children.
    Element(Fields),
    /// The description of a column chunk.
    Chunk(Fields),
    Name,
    Children,
}

/// The fields of a struct or union: their numbers and types.
pub(super) type Fields = &'static [(i16, Shape)];

use Shape::{Binary, Bool, Byte, Double, Flags, Int, List, Struct};

const NOTHING: Shape = Struct(&[]);

/// The footer: Parquet's `FileMetaData`.
pub(super) const FOOTER: Fields = &[
    (1, Int),
    (2, List(&Shape::Element(SCHEMA_ELEMENT))),
    (3, Int),
    (4, List(&Struct(ROW_GROUP))),
    (5, List(&Struct(KEY_VALUE))),
    (6, Binary),
    (7, List(&Struct(&[(1, NOTHING)]))),
    (8, Struct(&[(1, Struct(ENCRYPTION)), (2, Struct(ENCRYPTION))])),
    (9, Binary),
];

/// The header of a page: Parquet's `PageHeader`.
pub(super) const PAGE: Fields = &[
    (1, Int),
    (2, Int),
    (3, Int),
    (4, Int),
    (5, Struct(&[(1, Int), (2, Int), (3, Int), (4, Int), (5, Struct(STATISTICS))])),
    (6, NOTHING),
    (7, Struct(&[(1, Int), (2, Int), (3, Bool)])),
    (8, Struct(DATA_PAGE_V2)),
];

/// The statistics of a chunk's pages: Parquet's `ColumnIndex`.
pub(super) const COLUMN_INDEX: Fields = &[
    (1, Flags),
    (2, List(&Binary)),
    (3, List(&Binary)),
    (4, Int),
    (5, List(&Int)),
    (6, List(&Int)),
    (7, List(&Int)),
];

/// The locations of a chunk's pages: Parquet's `OffsetIndex`.
pub(super) const OFFSET_INDEX: Fields =
    &[(1, List(&Struct(&[(1, Int), (2, Int), (3, Int)]))), (2, List(&Int))];

/// The header of a Bloom filter: Parquet's `BloomFilterHeader`.
pub(super) const BLOOM_FILTER: Fields = &[
    (1, Int),
    (2, Struct(&[(1, NOTHING)])),
    (3, Struct(&[(1, NOTHING)])),
    (4, Struct(&[(1, NOTHING)])),
];

const SCHEMA_ELEMENT: Fields = &[
    (1, Int),
    (2, Int),
    (3, Int),
    (4, Shape::Name),
    (5, Shape::Children),
    (6, Int),
    (7, Int),
    (8, Int),
    (9, Int),
    (10, Struct(LOGICAL_TYPE)),
];

const LOGICAL_TYPE: Fields = &[
    (1, NOTHING),
    (2, NOTHING),
    (3, NOTHING),
    (4, NOTHING),
    (5, Struct(&[(1, Int), (2, Int)])),
    (6, NOTHING),
    (7, Struct(TIME)),
    (8, Struct(TIME)),
    (10, Struct(&[(1, Byte), (2, Bool)])),
    (11, NOTHING),
    (12, NOTHING),
    (13, NOTHING),
    (14, NOTHING),
    (15, NOTHING),
    (16, Struct(&[(1, Byte)])),
    (17, Struct(&[(1, Binary)])),
    (18, Struct(&[(1, Binary), (2, Int)])),
];

const TIME: Fields = &[(1, Bool), (2, Struct(&[(1, NOTHING), (2, NOTHING), (3, NOTHING)]))];

const ROW_GROUP: Fields = &[
    (1, List(&Shape::Chunk(COLUMN_CHUNK))),
    (2, Int),
    (3, Int),
    (4, List(&Struct(&[(1, Int), (2, Bool), (3, Bool)]))),
    (5, Int),
    (6, Int),
    (7, Int),
];

const COLUMN_CHUNK: Fields = &[
    (1, Binary),
    (2, Int),
    (3, Struct(COLUMN_META_DATA)),
    (4, Int),
    (5, Int),
    (6, Int),
    (7, Int),
    (8, Struct(&[(1, NOTHING), (2, Struct(&[(1, List(&Binary)), (2, Binary)]))])),
    (9, Binary),
];

const COLUMN_META_DATA: Fields = &[
    (1, Int),
    (2, List(&Int)),
    (3, List(&Binary)),
    (4, Int),
    (5, Int),
    (6, Int),
    (7, Int),
    (8, List(&Struct(KEY_VALUE))),
    (9, Int),
    (10, Int),
    (11, Int),
    (12, Struct(STATISTICS)),
    (13, List(&Struct(&[(1, Int), (2, Int), (3, Int)]))),
    (14, Int),
    (15, Int),
    (16, Struct(&[(1, Int), (2, List(&Int)), (3, List(&Int))])),
    (17, Struct(&[(1, Struct(BOUNDING_BOX)), (2, List(&Int))])),
];

const BOUNDING_BOX: Fields = &[
    (1, Double),
    (2, Double),
    (3, Double),
    (4, Double),
    (5, Double),
    (6, Double),
    (7, Double),
    (8, Double),
];

const STATISTICS: Fields =
    &[(1, Binary), (2, Binary), (3, Int), (4, Int), (5, Binary), (6, Binary), (7, Bool), (8, Bool)];

const DATA_PAGE_V2: Fields = &[
    (1, Int),
    (2, Int),
    (3, Int),
    (4, Int),
    (5, Int),
    (6, Int),
    (7, Bool),
    (8, Struct(STATISTICS)),
];

const KEY_VALUE: Fields = &[(1, Binary), (2, Binary)];

const ENCRYPTION: Fields = &[(1, Binary), (2, Binary), (3, Bool)];
