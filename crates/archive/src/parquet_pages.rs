//! Checks of Parquet pages before the library decodes them.
//!
//! The library reserves memory for the stated number of values of a dictionary or a delta encoding, up to 2³¹
//! for any page size. A process without that memory ends, so such pages are refused here.

use crate::parquet_bounds::BoundedFile;
use parquet::{
    basic::Encoding,
    bloom_filter::Sbbf,
    column::page::{Page, PageMetadata, PageReader},
    errors::{ParquetError, Result},
    file::{
        metadata::{ParquetMetaData, RowGroupMetaData},
        reader::{FileReader, RowGroupReader},
        serialized_reader::SerializedFileReader,
    },
    record::reader::RowIter,
    schema::types::Type,
};

/// Maximum values of a page in a delta encoding of strings. Writers end a page at 20,000 rows or 1 MiB; a
/// page of equal strings may hold the million rows of a row group.
const MAX_VALUES: u64 = 1 << 22;

/// Reader of a file with checked pages.
pub(crate) struct BoundedReader(pub(crate) SerializedFileReader<BoundedFile>);

impl FileReader for BoundedReader {
    fn metadata(&self) -> &ParquetMetaData {
        self.0.metadata()
    }

    fn num_row_groups(&self) -> usize {
        self.0.num_row_groups()
    }

    fn get_row_group(&self, i: usize) -> Result<Box<dyn RowGroupReader + '_>> {
        Ok(Box::new(BoundedGroup(self.0.get_row_group(i)?)))
    }

    fn get_row_iter(&self, projection: Option<Type>) -> Result<RowIter<'_>> {
        RowIter::from_file(projection, self)
    }
}

struct BoundedGroup<'a>(Box<dyn RowGroupReader + 'a>);

impl RowGroupReader for BoundedGroup<'_> {
    fn metadata(&self) -> &RowGroupMetaData {
        self.0.metadata()
    }

    fn num_columns(&self) -> usize {
        self.0.num_columns()
    }

    fn get_column_page_reader(&self, i: usize) -> Result<Box<dyn PageReader>> {
        let pages = self.0.get_column_page_reader(i)?;
        let column = self.metadata().schema_descr().column(i);
        let levels = [column.max_rep_level(), column.max_def_level()];
        Ok(Box::new(BoundedPages { pages, levels }))
    }

    fn get_column_bloom_filter(&self, i: usize) -> Option<&Sbbf> {
        self.0.get_column_bloom_filter(i)
    }

    fn get_row_iter(&self, projection: Option<Type>) -> Result<RowIter<'_>> {
        RowIter::from_row_group(projection, self)
    }
}

struct BoundedPages {
    pages: Box<dyn PageReader>,
    /// Highest repetition and definition level of the column.
    levels: [i16; 2],
}

impl Iterator for BoundedPages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Result<Page>> {
        self.get_next_page().transpose()
    }
}

impl PageReader for BoundedPages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.pages.get_next_page()?;
        if let Some(page) = &page
            && !is_bounded(page, self.levels)
        {
            return Err(ParquetError::General("a page states more values than it can hold".into()));
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.pages.skip_next_page()
    }
}

/// Returns true if the memory that the library reserves for a page is bounded.
fn is_bounded(page: &Page, levels: [i16; 2]) -> bool {
    match page {
        // a value takes at least a byte: booleans have no dictionary
        Page::DictionaryPage { buf, num_values, .. } => *num_values as usize <= buf.len(),
        Page::DataPage { buf, encoding, num_values, def_level_encoding, rep_level_encoding, .. } => {
            let encodings = [*rep_level_encoding, *def_level_encoding];
            let values = levels.into_iter().zip(encodings).try_fold(&buf[..], |bytes, (most, encoding)| {
                if most > 0 { after_levels(bytes, encoding, most, *num_values) } else { Some(bytes) }
            });
            has_bounded_values(values, *encoding)
        }
        Page::DataPageV2 { buf, encoding, def_levels_byte_len, rep_levels_byte_len, .. } => {
            let levels = u64::from(*def_levels_byte_len) + u64::from(*rep_levels_byte_len);
            let start = usize::try_from(levels).unwrap_or(usize::MAX);
            has_bounded_values(buf.get(start..), *encoding)
        }
    }
}

/// Bytes after the levels of a data page of version 1: Parquet, "Data Pages" and "RLE/Bit-Packing Hybrid".
fn after_levels(bytes: &[u8], encoding: Encoding, most: i16, values: u32) -> Option<&[u8]> {
    if encoding == Encoding::RLE {
        let (length, rest) = bytes.split_first_chunk::<4>()?;
        return rest.get(usize::try_from(u32::from_le_bytes(*length)).ok()?..);
    }
    let bits = u64::from(u16::BITS - most.cast_unsigned().leading_zeros());
    let length = (u64::from(values) * bits).div_ceil(8);
    bytes.get(usize::try_from(length).ok()?..)
}

/// Returns true if the string lengths number at most [`MAX_VALUES`]. `None` is a truncated page.
fn has_bounded_values(values: Option<&[u8]>, encoding: Encoding) -> bool {
    let count = |bytes| Delta::read(bytes).map(|(delta, _)| delta.count);
    let most = match encoding {
        Encoding::DELTA_LENGTH_BYTE_ARRAY => values.and_then(count),
        // lengths of prefixes, then those of suffixes
        Encoding::DELTA_BYTE_ARRAY => values.and_then(|bytes| {
            let (prefixes, blocks) = Delta::read(bytes)?;
            let suffixes = count(prefixes.skip(blocks)?)?;
            Some(prefixes.count.max(suffixes))
        }),
        _ => Some(0),
    };
    most.is_some_and(|most| most <= MAX_VALUES)
}

/// Header of numbers in `DELTA_BINARY_PACKED`: Parquet, "Delta Encoding".
struct Delta {
    /// Numbers of a miniblock.
    miniblock: u64,
    /// Miniblocks of a block.
    miniblocks: usize,
    /// Number of values, including the first one in the header.
    count: u64,
}

impl Delta {
    /// Reads a header. Returns it with the following blocks.
    fn read(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (block, bytes) = number(bytes)?;
        let (miniblocks, bytes) = number(bytes)?;
        let (count, bytes) = number(bytes)?;
        let (_, bytes) = number(bytes)?;
        let miniblock = block.checked_div(miniblocks)?;
        Some((Self { miniblock, miniblocks: usize::try_from(miniblocks).ok()?, count }, bytes))
    }

    /// Bytes after the blocks, each of which takes at least two bytes.
    fn skip<'a>(&self, mut bytes: &'a [u8]) -> Option<&'a [u8]> {
        let mut left = self.count.saturating_sub(1);
        while left > 0 {
            let (_, after) = number(bytes)?;
            let (widths, mut rest) = after.split_at_checked(self.miniblocks)?;
            for width in widths {
                // the width of a miniblock without numbers has no meaning
                if left > 0 {
                    let length = u64::from(*width).checked_mul(self.miniblock)? / 8;
                    rest = rest.get(usize::try_from(length).ok()?..)?;
                }
                left = left.saturating_sub(self.miniblock);
            }
            bytes = rest;
        }
        Some(bytes)
    }
}

/// Reads a number in groups of seven bits. Returns it with the following bytes.
fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let end = bytes.iter().take(10).position(|byte| byte & 0x80 == 0)?;
    let (groups, rest) = bytes.split_at_checked(end + 1)?;
    Some((groups.iter().rev().fold(0, |number, byte| (number << 7) | u64::from(byte & 0x7f)), rest))
}
