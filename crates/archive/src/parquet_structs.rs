//! Types of the fields of Parquet's Thrift structs, as numbered in the format's `parquet.thrift`.
//!
//! The library reads a known field by its number alone, and ignores the type in the file. A file with another
//! type makes the library read the following bytes differently from a reader of the stated types.

/// Type of a field, as far as it determines the number of following bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Type {
    Bool,
    Byte,
    /// An integer of 16 to 64 bits or an enum: a varint.
    Number,
    Double,
    Binary,
    List(&'static Self),
    Struct(Fields),
}

/// Fields of a struct or a union by number.
pub(crate) type Fields = &'static [(i16, Type)];

use Type::{Binary, Bool, Byte, Double, List, Number, Struct};

/// A struct without fields, which unions use as a choice.
const EMPTY: Type = Struct(&[]);

pub(crate) const PAGE_HEADER: Fields = &[
    (1, Number),
    (2, Number),
    (3, Number),
    (4, Number),
    (5, Struct(&[(1, Number), (2, Number), (3, Number), (4, Number), (5, STATISTICS)])),
    (6, EMPTY),
    (7, Struct(&[(1, Number), (2, Number), (3, Bool)])),
    (
        8,
        Struct(&[
            (1, Number),
            (2, Number),
            (3, Number),
            (4, Number),
            (5, Number),
            (6, Number),
            (7, Bool),
            (8, STATISTICS),
        ]),
    ),
];

pub(crate) const FILE_METADATA: Fields = &[
    (1, Number),
    (2, List(&SCHEMA_ELEMENT)),
    (3, Number),
    (4, List(&ROW_GROUP)),
    (5, List(&KEY_VALUE)),
    (6, Binary),
    (7, List(&COLUMN_ORDER)),
    (9, Binary),
];

const STATISTICS: Type = Struct(&[
    (1, Binary),
    (2, Binary),
    (3, Number),
    (4, Number),
    (5, Binary),
    (6, Binary),
    (7, Bool),
    (8, Bool),
    (9, Number),
]);

const SCHEMA_ELEMENT: Type = Struct(&[
    (1, Number),
    (2, Number),
    (3, Number),
    (4, Binary),
    (5, Number),
    (6, Number),
    (7, Number),
    (8, Number),
    (9, Number),
    (10, LOGICAL_TYPE),
]);

const LOGICAL_TYPE: Type = Struct(&[
    (1, EMPTY),
    (2, EMPTY),
    (3, EMPTY),
    (4, EMPTY),
    (5, Struct(&[(1, Number), (2, Number)])),
    (6, EMPTY),
    (7, TIME),
    (8, TIME),
    (10, Struct(&[(1, Byte), (2, Bool)])),
    (11, EMPTY),
    (12, EMPTY),
    (13, EMPTY),
    (14, EMPTY),
    (15, EMPTY),
    (16, Struct(&[(1, Byte)])),
    (17, Struct(&[(1, Binary)])),
    (18, Struct(&[(1, Binary), (2, Number)])),
    (19, EMPTY),
]);

const TIME: Type = Struct(&[(1, Bool), (2, Struct(&[(1, EMPTY), (2, EMPTY), (3, EMPTY)]))]);

const COLUMN_ORDER: Type = Struct(&[(1, EMPTY), (2, EMPTY), (3, EMPTY)]);

const KEY_VALUE: Type = Struct(&[(1, Binary), (2, Binary)]);

const ROW_GROUP: Type = Struct(&[
    (1, List(&COLUMN_CHUNK)),
    (2, Number),
    (3, Number),
    (4, List(&Struct(&[(1, Number), (2, Bool), (3, Bool)]))),
    (5, Number),
    (6, Number),
    (7, Number),
]);

const COLUMN_CHUNK: Type = Struct(&[
    (1, Binary),
    (2, Number),
    (3, COLUMN_METADATA),
    (4, Number),
    (5, Number),
    (6, Number),
    (7, Number),
    (9, Binary),
]);

const COLUMN_METADATA: Type = Struct(&[
    (1, Number),
    (2, List(&Number)),
    (3, List(&Binary)),
    (4, Number),
    (5, Number),
    (6, Number),
    (7, Number),
    (8, List(&KEY_VALUE)),
    (9, Number),
    (10, Number),
    (11, Number),
    (12, STATISTICS),
    (13, List(&Struct(&[(1, Number), (2, Number), (3, Number)]))),
    (14, Number),
    (15, Number),
    (16, Struct(&[(1, Number), (2, List(&Number)), (3, List(&Number))])),
    (17, Struct(&[(1, BOUNDING_BOX), (2, List(&Number))])),
]);

const BOUNDING_BOX: Type = Struct(&[
    (1, Double),
    (2, Double),
    (3, Double),
    (4, Double),
    (5, Double),
    (6, Double),
    (7, Double),
    (8, Double),
]);
