//! Compression of lines, one member of gzip or one frame of zstd at a time.

use crate::frames::{Packing, zstd_frames};
use flate2::{Compression, write::GzEncoder};
use std::io::{self, Write};
use zstd::bulk::Compressor;

/// Compressor of members or frames.
pub(super) enum Packer {
    Gzip,
    Zstd(Box<Compressor<'static>>),
}

impl Packer {
    /// # Errors
    /// When zstd cannot be set up.
    pub(super) fn of(packing: Packing) -> io::Result<Self> {
        Ok(match packing {
            Packing::Gzip => Self::Gzip,
            Packing::Zstd => Self::Zstd(Box::new(zstd_frames()?)),
        })
    }

    pub(super) fn pack(&mut self, lines: &[u8]) -> io::Result<Vec<u8>> {
        match self {
            Self::Gzip => {
                let mut encoder = GzEncoder::new(Vec::with_capacity(lines.len() / 3), Compression::default());
                encoder.write_all(lines)?;
                encoder.finish()
            }
            Self::Zstd(compressor) => compressor.compress(lines),
        }
    }
}
