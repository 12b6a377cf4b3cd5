use super::*;
use flate2::{
    Compression,
    write::{DeflateEncoder, GzEncoder, ZlibEncoder},
};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Decodes in pieces of `step` bytes. Returns the body, true if it is complete, and true if the cap was
/// reached.
fn decode(encoding: &str, cap: u64, step: usize, wire: &[u8]) -> Result<(Vec<u8>, bool, bool), DecodeError> {
    let mut decoder = Decoder::new(encoding, cap)?;
    for piece in wire.chunks(step) {
        if decoder.push(piece)? == Pushed::Full {
            return Ok((decoder.finish().0, false, true));
        }
    }
    let (body, complete) = decoder.finish();
    Ok((body, complete, false))
}

fn text() -> Vec<u8> {
    (0..4000).flat_map(|i| format!("line {i} of the text\n").into_bytes()).collect()
}

/// `text()` in brotli, as a stream of uncompressed meta-blocks (RFC 7932 §9.2), since no encoder is available
/// here. Layout: window bits, then ISLAST 0, MNIBBLES 0, MLEN−1 in 16 bits, ISUNCOMPRESSED 1; at the end
/// ISLAST 1 and ISLASTEMPTY 1.
fn brotli_stored(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for (index, part) in bytes.chunks(1 << 16).enumerate() {
        let length = u32::try_from(part.len() - 1).unwrap();
        let header = length << 3 | 1 << 19;
        // one 0 bit before the first header selects a window of 16 bits
        let (header, bits) = if index == 0 { (header << 1, 21) } else { (header, 20) };
        out.extend_from_slice(&header.to_le_bytes()[..usize::div_ceil(bits, 8)]);
        out.extend_from_slice(part);
    }
    out.push(0b11);
    out
}

#[test]
fn every_encoding_decodes_in_chunks_of_any_size() {
    let text = text();
    let mut zlib = ZlibEncoder::new(Vec::new(), Compression::default());
    zlib.write_all(&text).unwrap();
    let mut raw = DeflateEncoder::new(Vec::new(), Compression::default());
    raw.write_all(&text).unwrap();
    let members = [gzip(&text[..1000]), gzip(&text[1000..])].concat();
    let cases = [
        ("", text.clone()),
        ("identity", text.clone()),
        ("gzip", gzip(&text)),
        ("X-GZIP", members),
        ("deflate", zlib.finish().unwrap()),
        ("deflate", raw.finish().unwrap()),
        ("br", brotli_stored(&text)),
        ("zstd", zstd::encode_all(&text[..], 3).unwrap()),
        ("gzip, gzip", gzip(&gzip(&text))),
        ("zstd , identity,gzip", gzip(&zstd::encode_all(&text[..], 3).unwrap())),
    ];
    for (encoding, wire) in &cases {
        for step in [1, 2, 7, 1000, usize::MAX] {
            let (body, complete, full) = decode(encoding, 1 << 20, step, wire).unwrap();
            assert!(complete && !full, "{encoding} by {step}");
            assert!(body == text, "{encoding} by {step}");
        }
        let (body, complete, _) = decode(encoding, 5000, 999, wire).unwrap();
        assert!(!complete, "{encoding} capped");
        assert!(text.starts_with(&body), "{encoding} capped");
        // data between two stages has the same cap, so the output may be shorter
        assert!(body.len() == 5000 || encoding.contains(','), "{encoding} capped at {}", body.len());
    }
}

#[test]
fn decompression_bomb_stops_at_the_body_limit() {
    let megabytes = vec![b' '; 64 << 20];
    let bombs = [
        ("gzip", gzip(&megabytes)),
        ("gzip, gzip", gzip(&gzip(&megabytes))),
        ("zstd", zstd::encode_all(&megabytes[..], 3).unwrap()),
    ];
    for (encoding, wire) in &bombs {
        let (body, _, full) = decode(encoding, 100_000, 16 * 1024, wire).unwrap();
        assert!(full, "{encoding}");
        assert_eq!(body.len(), 100_000, "{encoding}");
    }
}

#[test]
fn empty_compressed_members_stop_at_the_body_limit() {
    let nothing = gzip(b"").repeat(20_000);
    let (body, _, full) = decode("gzip", 100_000, 16 * 1024, &nothing).unwrap();
    assert!(full && body.is_empty());
    // between the two stages the members exceed the cap
    let hidden = gzip(&nothing);
    let (body, _, full) = decode("gzip, gzip", 100_000, 16 * 1024, &hidden).unwrap();
    assert!(full && body.is_empty());
}

#[test]
fn a_zstd_window_beyond_the_limit_is_refused() {
    // RFC 8878 §3.1.1: magic, descriptor without single segment, window 2 GiB, one last block of one repeated
    // byte
    let frame = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xa8, 0x0b, 0x00, 0x00, b' '];
    assert_eq!(decode("zstd", 1 << 20, 4, &frame).unwrap_err().coding, "zstd");
}

#[test]
fn broken_input_is_an_error_and_truncation_is_reported() {
    let mut wire = gzip(&text());
    let (body, complete, _) = decode("gzip", 1 << 20, 500, &wire[..wire.len() / 2]).unwrap();
    assert!(!complete && !body.is_empty());
    // after the header: a block of the reserved type 3
    wire[10..110].fill(0xff);
    assert!(decode("gzip", 1 << 20, 500, &wire).is_err());
    assert_eq!(decode("gzip", 1 << 20, 500, b"<p>not gzip</p>").unwrap_err().coding, "gzip");
    assert!(decode("br", 1 << 20, 500, &[0xff; 100]).is_err());
    assert_eq!(decode("none, utf-8", 9, 1, b"text").unwrap().0, b"text");
    assert!(decode_body("compress", b"text", 9).is_ok());
    assert!(decode_body("compress", b"\x1f\x9d\x90\x01", 9).is_err());
    assert!(decode("gzip,gzip,gzip,gzip", 9, 1, b"").is_err());
}

#[test]
fn padding_after_the_end_is_ignored_and_an_empty_body_is_complete() {
    let mut wire = gzip(b"hello");
    wire.extend_from_slice(&[0; 300]);
    assert_eq!(decode("gzip", 1000, 50, &wire).unwrap(), (b"hello".to_vec(), true, false));
    let mut zlib = ZlibEncoder::new(Vec::new(), Compression::default());
    zlib.write_all(b"hello").unwrap();
    let wire = [zlib.finish().unwrap(), b"junk".to_vec()].concat();
    assert_eq!(decode("deflate", 100, 50, &wire).unwrap(), (b"hello".to_vec(), true, false));
    for encoding in ["", "gzip", "br", "zstd", "deflate"] {
        assert_eq!(decode(encoding, 100, 1, b"").unwrap(), (vec![], true, false), "{encoding}");
    }
}
