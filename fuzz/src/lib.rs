//! Shared code of the fuzz targets.

mod network;
mod page;
mod scratch;

pub use network::{MAX_BODY, Scripted, client, request};
pub use page::{PAGE, only_words_of_the_page};
pub use scratch::{Read, Scratch};

use std::{fs, time::Duration};

/// CPU time of this thread: wall time would depend on the machine's load.
fn cpu_time() -> Duration {
    let text =
        fs::read_to_string("/proc/thread-self/schedstat").expect("Linux tells the CPU time of a thread");
    let nanos = text.split(' ').next().and_then(|field| field.parse().ok());
    Duration::from_nanos(nanos.expect("the first field of schedstat is nanoseconds"))
}

/// Runs a function that must take time proportional to `bytes`, and panics otherwise.
///
/// The bound is 50 ms plus 20 µs per byte. That is about a hundred times the real cost (about 0.02 µs per
/// byte of a page). So instrumentation and a cold cache pass, while a quadratic step fails from a few
/// kilobytes on.
pub fn in_linear_time<T>(bytes: usize, run: impl FnOnce() -> T) -> T {
    let limit =
        Duration::from_millis(50) + Duration::from_micros(20) * u32::try_from(bytes).unwrap_or(u32::MAX);
    let start = cpu_time();
    let result = run();
    let spent = cpu_time().saturating_sub(start);
    assert!(spent <= limit, "{bytes} bytes took {spent:?} of CPU time, allowed are {limit:?}");
    result
}

/// First line of an input, which holds the parameters of a target, and the rest.
#[must_use]
pub fn first_line(data: &[u8]) -> (&[u8], &[u8]) {
    match data.iter().position(|byte| *byte == b'\n') {
        Some(end) => (&data[..end], &data[end + 1..]),
        None => (&[], data),
    }
}

/// Lines up to the first empty one, and the rest of the bytes.
#[must_use]
pub fn head_and_body(data: &[u8]) -> (Vec<&[u8]>, &[u8]) {
    let (mut lines, mut rest) = (Vec::new(), data);
    while !rest.is_empty() {
        let (line, behind) = match rest.iter().position(|byte| *byte == b'\n') {
            Some(end) => (&rest[..end], &rest[end + 1..]),
            None => (rest, &[][..]),
        };
        rest = behind;
        if line.is_empty() {
            break;
        }
        lines.push(line);
    }
    (lines, rest)
}
