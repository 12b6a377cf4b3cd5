//! Credit of a TLS connection, which a server earns by sending content. HTTP/2 allows a peer to send endless pings,
//! settings and empty frames, each of which costs CPU.

use std::time::{Duration, Instant};

/// Price of a frame, in bytes of content.
const FRAME_PRICE: i64 = 64;
/// Price of a TLS record: low, since servers write one line of a page per record.
const RECORD_PRICE: i64 = 16;
/// Bytes of a frame without content that cancel one byte of content.
const OVERHEAD_PER_BYTE: i64 = 4;
/// Initial and maximum credit of a connection: 4,096 frames.
const CREDIT: i64 = 4_096 * FRAME_PRICE;
/// Credit per second: 2,048 frames, enough for a thousand answers without a body.
const CREDIT_PER_SECOND: i64 = 2_048 * FRAME_PRICE;

/// Length of the head of a frame (RFC 9113 §4.1).
const HEAD: usize = 9;
const DATA: u8 = 0;
const PADDED: u8 = 8;

/// Credit of a connection.
#[derive(Debug)]
pub(super) struct Account {
    credit: i64,
    refilled: Instant,
    protocol: Option<Protocol>,
}

#[derive(Debug)]
enum Protocol {
    Http1,
    Http2(Frames),
}

/// Position in a stream of frames.
#[derive(Debug, Default)]
struct Frames {
    head: [u8; HEAD],
    /// Bytes of the head received so far.
    filled: usize,
    /// Bytes of the payload still to come.
    left: usize,
    /// True if the next byte of the payload is the length of its padding.
    is_padding_next: bool,
}

impl Account {
    pub(super) fn new() -> Self {
        Self { credit: CREDIT, refilled: Instant::now(), protocol: None }
    }

    /// Charges a TLS record without content. Returns false if the credit is used up.
    pub(super) fn charge_record(&mut self) -> bool {
        self.refill(Instant::now());
        self.credit -= RECORD_PRICE;
        self.credit >= 0
    }

    /// Charges a TLS record and the frames in it. Returns false if the credit is used up.
    pub(super) fn charge(&mut self, content: &[u8]) -> bool {
        let has_credit = self.charge_record();
        let Some(first) = content.first() else { return has_credit };
        // an HTTP/2 frame begins with a zero byte, since its length is at most 16 KiB; an HTTP/1 response
        // begins with a letter
        let protocol = self.protocol.get_or_insert_with(|| match first {
            0 => Protocol::Http2(Frames::default()),
            _ => Protocol::Http1,
        });
        let balance = match protocol {
            Protocol::Http1 => signed(content.len()),
            Protocol::Http2(frames) => frames.balance(content),
        };
        self.credit = (self.credit + balance).min(CREDIT);
        self.credit >= 0
    }

    fn refill(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.refilled).min(Duration::from_secs(60));
        let earned = CREDIT_PER_SECOND * i64::try_from(passed.as_millis()).unwrap_or(0) / 1_000;
        if earned > 0 {
            self.refilled = now;
            self.credit = (self.credit + earned).min(CREDIT);
        }
    }
}

impl Frames {
    /// Bytes of content in frames minus the price of the frames.
    fn balance(&mut self, mut bytes: &[u8]) -> i64 {
        let mut balance = 0;
        while let Some((&byte, rest)) = bytes.split_first() {
            if self.filled < HEAD {
                if let Some(place) = self.head.get_mut(self.filled) {
                    *place = byte;
                }
                self.filled += 1;
                bytes = rest;
                if self.filled == HEAD {
                    balance += self.begin();
                }
            } else if self.is_padding_next {
                self.is_padding_next = false;
                balance -= i64::from(byte) + 1;
            } else {
                let part = self.left.min(bytes.len());
                bytes = bytes.get(part..).unwrap_or_default();
                self.left -= part;
            }
            if self.filled == HEAD && self.left == 0 {
                self.filled = 0;
            }
        }
        balance
    }

    /// Begins the payload of a frame.
    fn begin(&mut self) -> i64 {
        let [a, b, c, kind, flags, ..] = self.head;
        self.left = usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c);
        let length = signed(self.left);
        if kind == DATA {
            self.is_padding_next = flags & PADDED != 0 && self.left > 0;
            length - FRAME_PRICE
        } else {
            -length / OVERHEAD_PER_BYTE - FRAME_PRICE
        }
    }
}

fn signed(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        [&length[1..], &[kind, flags, 0, 0, 0, 1], payload].concat()
    }

    /// Sends frames of one kind, in records of the given size, until the account is closed; `most` at the
    /// most. Returns their number.
    fn sent(frame: &[u8], record: usize, most: usize) -> usize {
        let mut account = Account::new();
        assert!(account.charge(&self::frame(4, 0, &[])));
        let stream = frame.repeat(record.div_ceil(frame.len()) + 1);
        let mut sent = 0;
        while sent < most {
            // each record begins within a frame
            let offset = sent % frame.len();
            if !account.charge(&stream[offset..offset + record]) {
                break;
            }
            sent += record;
        }
        sent / frame.len()
    }

    #[test]
    fn http2_frames_without_content_exhaust_the_credit() {
        let most = 1 << 22;
        for (name, flood) in [
            ("settings", frame(4, 0, &[])),
            ("ping", frame(6, 0, &[0; 8])),
            ("window update", frame(8, 0, &[0, 0, 0, 1])),
            ("reset", frame(3, 0, &[0; 4])),
            ("priority", frame(2, 0, &[0; 5])),
            ("unknown", frame(0xfa, 0, &[7; 100])),
            ("continuation", frame(9, 0, &[0; 16_000])),
            ("empty data", frame(0, 0, &[])),
            ("padding", frame(0, PADDED, &[&[255][..], &[0; 255]].concat())),
            ("small data", frame(0, 0, b"x")),
        ] {
            for record in [1_000, 16_384] {
                let frames = sent(&flood, record, most);
                assert!(frames < 12_000 && frames * flood.len() < most / 2, "{name}: {frames}");
            }
        }
    }

    #[test]
    fn http2_content_frames_cost_no_credit() {
        for data in [vec![0; 16_384], vec![1; 200], [&[10][..], &[2; 300]].concat()] {
            let flags = if data[0] == 10 { PADDED } else { 0 };
            let most = 1 << 22;
            let data = frame(0, flags, &data);
            assert_eq!(sent(&data, 5_000, most), most.div_ceil(5_000) * 5_000 / data.len());
        }
        let mut account = Account::new();
        assert!((0..100_000).all(|_| account.charge(b"HTTP/1.1 200 OK, and lines of a body")));
    }

    #[test]
    fn http2_frame_credit_refills_over_time() {
        let mut account = Account::new();
        while account.charge_record() {}
        let spent = account.credit;
        let later = account.refilled + Duration::from_secs(1);
        account.refill(later);
        assert_eq!(account.credit, spent + CREDIT_PER_SECOND);
        account.refill(later + Duration::from_secs(600));
        assert_eq!(account.credit, CREDIT);
    }
}
