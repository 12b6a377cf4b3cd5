//! Lines on standard output.

use crate::OutputError;
use crate::output::Output;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};
use std::{
    fs::File,
    io,
    os::fd::AsFd,
    sync::OnceLock,
    time::{Duration, Instant},
};
use tokio_util::sync::CancellationToken;

/// Function that runs a write to standard output.
type WriteWrapper = fn(&mut dyn FnMut());

/// Function that each write of a batch runs within.
static WRITE_WRAPPER: OnceLock<WriteWrapper> = OnceLock::new();

/// Runs each write of records to standard output within `around`, which calls its argument once. A program that draws on the same
/// terminal clears its drawing there. The first call counts.
pub fn write_stdout_within(around: WriteWrapper) {
    let _ = WRITE_WRAPPER.set(around);
}

/// Bytes of one write: a pipe that is ready takes as many without making the writer wait (`PIPE_BUF`).
const WRITE_BYTES: usize = 4096;
/// Interval of the check for cancellation while the reader is blocked.
const CANCEL_CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// Maximum wait for a blocked reader after the run was cancelled.
const MAX_BLOCKED_AFTER_STOP: Duration = Duration::from_secs(1);

/// Standard output. It cannot be truncated: a resumed run may repeat the last batch. A reader that has stopped
/// reading cannot keep the run from being stopped.
pub struct StdoutOutput {
    file: io::Result<File>,
    cancel: CancellationToken,
}

impl StdoutOutput {
    /// Standard output of a run that `cancel` stops.
    #[must_use]
    pub fn new(cancel: CancellationToken) -> Self {
        let file = io::stdout().as_fd().try_clone_to_owned().map(File::from);
        Self { file, cancel }
    }

    fn write_all(&self, mut bytes: &[u8]) -> Result<(), OutputError> {
        let file = self.file.as_ref().map_err(|e| failed(e.kind().into()))?;
        let mut stopped_since = None;
        while !bytes.is_empty() {
            if !is_ready(file).map_err(failed)? {
                if self.cancel.is_cancelled()
                    && stopped_since.get_or_insert_with(Instant::now).elapsed() >= MAX_BLOCKED_AFTER_STOP
                {
                    return Err(OutputError::Abandoned);
                }
                continue;
            }
            match rustix::io::write(file, &bytes[..bytes.len().min(WRITE_BYTES)]) {
                Ok(written) => (bytes, stopped_since) = (&bytes[written..], None),
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(error) => return Err(failed(error.into())),
            }
        }
        Ok(())
    }
}

/// Waits for a while until something can be written. The write itself reports errors.
fn is_ready(file: &File) -> io::Result<bool> {
    let mut polled = [PollFd::new(file, PollFlags::OUT)];
    let wait = Timespec::try_from(CANCEL_CHECK_INTERVAL).map_err(io::Error::other)?;
    match poll(&mut polled, Some(&wait)) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn failed(source: io::Error) -> OutputError {
    match source.kind() {
        io::ErrorKind::BrokenPipe => OutputError::ClosedPipe,
        _ => OutputError::Write { name: "standard output".into(), source },
    }
}

impl Output for StdoutOutput {
    fn write(&mut self, lines: &[u8]) -> Result<(), OutputError> {
        let Some(around) = WRITE_WRAPPER.get() else { return self.write_all(lines) };
        let mut outcome = Ok(());
        around(&mut || outcome = self.write_all(lines));
        outcome
    }

    fn sync(&mut self) -> Result<Option<u64>, OutputError> {
        Ok(None)
    }

    fn name(&self) -> &'static str {
        "standard output"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn piped(cancel: &CancellationToken) -> (io::PipeReader, StdoutOutput) {
        let (reader, writer) = io::pipe().unwrap();
        let file = Ok(File::from(std::os::fd::OwnedFd::from(writer)));
        (reader, StdoutOutput { file, cancel: cancel.clone() })
    }

    #[test]
    fn blocked_reader_is_abandoned_after_cancellation() {
        let cancel = CancellationToken::new();
        let (mut reader, mut output) = piped(&cancel);
        output.write(b"one\n").unwrap();
        cancel.cancel();
        assert!(matches!(output.write(&vec![b'x'; 1 << 20]), Err(OutputError::Abandoned)));
        drop(output);
        let mut taken = String::new();
        reader.read_to_string(&mut taken).unwrap();
        assert!(taken.starts_with("one\nxx"));
    }

    #[test]
    fn a_slow_reader_gets_everything() {
        let cancel = CancellationToken::new();
        cancel.cancel();
        let (mut reader, mut output) = piped(&cancel);
        let taken = std::thread::Builder::new()
            .spawn(move || {
                let mut taken = Vec::new();
                reader.read_to_end(&mut taken).unwrap();
                taken.len()
            })
            .unwrap();
        output.write(&vec![b'x'; 3 << 20]).unwrap();
        drop(output);
        assert_eq!(taken.join().unwrap(), 3 << 20);
        let (reader, mut output) = piped(&cancel);
        drop(reader);
        assert!(matches!(output.write(b"x"), Err(OutputError::ClosedPipe)));
    }
}
