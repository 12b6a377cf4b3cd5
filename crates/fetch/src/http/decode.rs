//! Decoding of content codings while the body streams, under a cap.

use super::content::{foreign_format, known_format};
use brotli_decompressor::DecompressorWriter;
use flate2::write::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use std::{
    borrow::Cow,
    io::{self, Write},
};

/// Maximum number of stacked codings; real servers use fewer.
const MAX_LAYERS: usize = 3;
/// log2 of the largest zstd window: 8 MiB, the limit that RFC 9659 sets for HTTP.
const ZSTD_WINDOW_LOG: u32 = 23;
/// Output buffer of brotli, in bytes.
const BROTLI_BUFFER: usize = 16 * 1024;
/// Value of `Accept-Encoding` for a client that uses [`Decoder`].
pub(crate) const ACCEPT_ENCODING: &str = "gzip, deflate, br, zstd";

/// Result of a push.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pushed {
    /// More may follow.
    More,
    /// The cap is reached; the bytes before it are kept.
    Full,
}

/// A coding that failed, and how.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DecodeError {
    pub(crate) coding: String,
    pub(crate) reason: String,
}

/// A chain of decoders. Every stage emits at most `cap` bytes, so that neither the body nor the data between
/// stages outgrows it. The same cap bounds the input.
pub(crate) struct Decoder {
    stages: Vec<Stage>,
    /// The body without stages; otherwise the sink of the last stage holds it.
    plain: Sink,
    wire: u64,
    cap: u64,
    /// A coding that is ignored because its name is unknown.
    unknown: Option<String>,
}

/// Name of a coding that was ignored because it is unknown.
pub(crate) struct UnknownCheck(Option<String>);

impl UnknownCheck {
    /// Checks that the body is a text or a known format, so that the ignored coding was none.
    ///
    /// # Errors
    /// When its first bytes are neither.
    pub(crate) fn of_body(&self, head: &[u8]) -> Result<(), DecodeError> {
        match &self.0 {
            Some(coding) if known_format(head).is_none() && foreign_format(head).is_some() => {
                Err(DecodeError { coding: coding.clone(), reason: "this coding is not known".into() })
            }
            _ => Ok(()),
        }
    }
}

/// Buffer that accepts up to `left` bytes, then fails and sets `full`.
#[derive(Default)]
struct Sink {
    bytes: Vec<u8>,
    left: u64,
    full: bool,
    wrote: bool,
}

impl Sink {
    const fn new(cap: u64) -> Self {
        Self { bytes: Vec::new(), left: cap, full: false, wrote: false }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let fits = usize::try_from(self.left).unwrap_or(usize::MAX).min(bytes.len());
        self.bytes.extend_from_slice(&bytes[..fits]);
        self.left -= fits as u64;
        self.wrote = true;
        if fits < bytes.len() {
            self.full = true;
            return Err(io::Error::other("the cap is reached"));
        }
        Ok(fits)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

enum Stage {
    Gzip(Box<MultiGzDecoder<Sink>>),
    Zlib(ZlibDecoder<Sink>),
    RawDeflate(DeflateDecoder<Sink>),
    /// `deflate` before its first byte, which distinguishes zlib (RFC 9110) from the raw form that some
    /// servers send.
    Deflate(Sink),
    Brotli(Box<DecompressorWriter<Sink>>),
    Zstd(Box<zstd::stream::write::Decoder<'static, Sink>>),
    /// The stream is complete; the rest is padding, which browsers ignore too.
    Ended(Sink),
}

impl Stage {
    /// Creates a stage; `None` for an unknown coding.
    fn new(coding: &str, cap: u64) -> Result<Option<Self>, DecodeError> {
        let sink = Sink::new(cap);
        Ok(Some(match coding {
            "gzip" | "x-gzip" => Self::Gzip(Box::new(MultiGzDecoder::new(sink))),
            "deflate" => Self::Deflate(sink),
            "br" => Self::Brotli(Box::new(DecompressorWriter::new(sink, BROTLI_BUFFER))),
            "zstd" => {
                let mut raw = zstd::stream::raw::Decoder::new().map_err(|e| fault("zstd", &e))?;
                raw.set_parameter(zstd::stream::raw::DParameter::WindowLogMax(ZSTD_WINDOW_LOG))
                    .map_err(|e| fault("zstd", &e))?;
                Self::Zstd(Box::new(zstd::stream::write::Decoder::with_decoder(sink, raw)))
            }
            _ => return Ok(None),
        }))
    }

    const fn coding(&self) -> &'static str {
        match self {
            Self::Gzip(_) => "gzip",
            Self::Zlib(_) | Self::RawDeflate(_) | Self::Deflate(_) => "deflate",
            Self::Brotli(_) => "br",
            Self::Zstd(_) => "zstd",
            Self::Ended(_) => "ended",
        }
    }

    fn sink(&mut self) -> &mut Sink {
        match self {
            Self::Gzip(d) => d.get_mut(),
            Self::Zlib(d) => d.get_mut(),
            Self::RawDeflate(d) => d.get_mut(),
            Self::Deflate(sink) | Self::Ended(sink) => sink,
            Self::Brotli(d) => d.get_mut(),
            Self::Zstd(d) => d.get_mut(),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let (Self::Deflate(sink), Some(&first)) = (&mut *self, bytes.first()) {
            let sink = std::mem::take(sink);
            // RFC 1950: the low nibble is the method, 8; the high one the window, at most 7
            *self = if first & 0x0f == 8 && first >> 4 <= 7 {
                Self::Zlib(ZlibDecoder::new(sink))
            } else {
                Self::RawDeflate(DeflateDecoder::new(sink))
            };
        }
        let result = match self {
            Self::Gzip(d) => d.write_all(bytes),
            Self::Zlib(d) => d.write_all(bytes),
            Self::RawDeflate(d) => d.write_all(bytes),
            Self::Deflate(_) | Self::Ended(_) => Ok(()),
            Self::Brotli(d) => d.write_all(bytes),
            Self::Zstd(d) => d.write_all(bytes),
        };
        match result {
            Err(error) if !self.sink().full && self.has_ended(&error) => {
                *self = Self::Ended(std::mem::take(self.sink()));
                Ok(())
            }
            result => result,
        }
    }

    /// Returns true if a failed write means that the stream was complete: the decoder accepts no more input,
    /// or gzip finds no further member.
    fn has_ended(&self, error: &io::Error) -> bool {
        match self {
            Self::Gzip(d) => d.header().is_none() && d.get_ref().wrote,
            _ => error.kind() == io::ErrorKind::WriteZero,
        }
    }

    /// Flushes; an error means truncated input.
    fn finish(&mut self) -> io::Result<()> {
        match self {
            Self::Gzip(d) => d.try_finish(),
            Self::Zlib(d) => d.try_finish(),
            Self::RawDeflate(d) => d.try_finish(),
            Self::Deflate(_) | Self::Ended(_) => Ok(()),
            Self::Brotli(d) => d.close(),
            Self::Zstd(d) => d.do_finish(),
        }
    }
}

fn fault(coding: &str, error: &io::Error) -> DecodeError {
    DecodeError { coding: coding.to_owned(), reason: error.to_string() }
}

impl Decoder {
    /// Creates a decoder for the value of `Content-Encoding` (all its fields joined by commas; empty for
    /// none). Unknown codings are ignored, as browsers ignore `utf-8` and `none`; see [`UnknownCheck`].
    ///
    /// # Errors
    /// When there are too many codings.
    pub(crate) fn new(encoding: &str, cap: u64) -> Result<Self, DecodeError> {
        let codings: Vec<String> = encoding
            .split(',')
            .map(|coding| coding.trim().to_ascii_lowercase())
            .filter(|coding| !coding.is_empty() && coding != "identity")
            .collect();
        if codings.len() > MAX_LAYERS {
            return Err(DecodeError { coding: encoding.to_owned(), reason: "too many codings".into() });
        }
        let (mut stages, mut unknown) = (Vec::new(), None);
        // the last coding of the list is decoded first
        for coding in codings.into_iter().rev() {
            match Stage::new(&coding, cap)? {
                Some(stage) => stages.push(stage),
                None => unknown = Some(coding),
            }
        }
        Ok(Self { stages, plain: Sink::new(cap), wire: 0, cap, unknown })
    }

    /// The check of a body whose unknown coding was ignored.
    pub(crate) fn unknown_check(&self) -> UnknownCheck {
        UnknownCheck(self.unknown.clone())
    }

    /// Returns true if bytes pass unchanged.
    pub(crate) fn is_identity(&self) -> bool {
        self.stages.is_empty()
    }

    /// Reserves space for a body of a known size.
    pub(crate) fn reserve(&mut self, bytes: u64) {
        self.plain.bytes.reserve_exact(usize::try_from(bytes.min(self.cap)).unwrap_or(0));
    }

    /// Decodes a chunk from the wire.
    ///
    /// # Errors
    /// When the chunk is invalid under the coding.
    pub(crate) fn push(&mut self, chunk: &[u8]) -> Result<Pushed, DecodeError> {
        self.wire += chunk.len() as u64;
        let full = self.through(0, Cow::Borrowed(chunk))?;
        // a stream of empty blocks decodes to nothing and may never end
        let endless = !self.is_identity() && self.wire > self.cap;
        Ok(if full || endless { Pushed::Full } else { Pushed::More })
    }

    /// Passes input through the stages from `first` on. Returns true if a stage is full; bytes up to the cap
    /// are kept.
    fn through(&mut self, first: usize, mut input: Cow<'_, [u8]>) -> Result<bool, DecodeError> {
        let mut full = false;
        let count = self.stages.len();
        for (index, stage) in self.stages.iter_mut().enumerate().skip(first) {
            let result = stage.write(&input);
            full |= stage.sink().full;
            if !full {
                result.map_err(|e| fault(stage.coding(), &e))?;
            }
            if index + 1 == count {
                return Ok(full);
            }
            input = Cow::Owned(std::mem::take(&mut stage.sink().bytes));
        }
        Ok(self.plain.write_all(&input).is_err())
    }

    fn sink(&mut self) -> &mut Sink {
        match self.stages.last_mut() {
            Some(last) => last.sink(),
            None => &mut self.plain,
        }
    }

    /// The bytes decoded so far.
    pub(crate) fn decoded(&mut self) -> &[u8] {
        &self.sink().bytes
    }

    /// Bytes received from the wire.
    pub(crate) const fn wire_bytes(&self) -> u64 {
        self.wire
    }

    /// Ends the input. Returns the body, and true if its coding shows that it is complete.
    pub(crate) fn finish(mut self) -> (Vec<u8>, bool) {
        let mut complete = true;
        for index in 0..self.stages.len() {
            let finished = self.wire == 0 || self.stages[index].finish().is_ok();
            complete &= finished && !self.stages[index].sink().full;
            if index + 1 < self.stages.len() {
                let rest = std::mem::take(&mut self.stages[index].sink().bytes);
                complete &= self.through(index + 1, Cow::Owned(rest)).is_ok_and(|full| !full);
            }
        }
        (std::mem::take(&mut self.sink().bytes), complete)
    }
}

/// Decodes a whole body as a client does, `cap` bytes at most. The second value is true if the body is
/// complete.
///
/// # Errors
/// When the bytes are invalid under a coding, or are no text and the coding is unknown.
pub fn decode_body(encoding: &str, bytes: &[u8], cap: u64) -> Result<(Vec<u8>, bool), crate::FetchError> {
    let fail = |e: DecodeError| crate::FetchError::Encoding { coding: e.coding, reason: e.reason };
    let mut decoder = Decoder::new(encoding, cap).map_err(fail)?;
    let pushed = decoder.push(bytes).map_err(fail)?;
    let check = decoder.unknown_check();
    let (bytes, complete) = decoder.finish();
    check.of_body(&bytes).map_err(fail)?;
    Ok((bytes, complete && pushed == Pushed::More))
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;
