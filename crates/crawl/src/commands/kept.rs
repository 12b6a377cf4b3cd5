//! Standard input or a pipe that is read more than once.

use crawl_engine::{captures::CaptureInput, exit::Failure};
use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::PathBuf,
};

/// Bytes of an input that are kept on disk.
const MAX_KEPT: u64 = 64 << 30;

/// A copy of an input in a file without a name.
pub struct Kept(File);

impl Kept {
    /// Copies an input.
    ///
    /// # Errors
    /// When the input is larger than 64 GiB, or the copy cannot be written.
    pub fn of(input: impl Read) -> Result<Self, Failure> {
        Self::within(input, MAX_KEPT)
    }

    fn within(input: impl Read, most: u64) -> Result<Self, Failure> {
        let failed =
            |e: io::Error| Failure::usage(format!("the input cannot be copied to a temporary file: {e}"));
        let mut file = tempfile::tempfile().map_err(failed)?;
        if io::copy(&mut input.take(most + 1), &mut file).map_err(failed)? > most {
            return Err(Failure::usage(format!(
                "standard input: larger than {}; save it to a file and name the file",
                bytesize::ByteSize(most)
            )));
        }
        Ok(Self(file))
    }

    /// Reads the copy from its first byte. Readers of one copy share their position.
    ///
    /// # Errors
    /// When the copy cannot be read.
    pub fn reader(&self) -> Result<File, Failure> {
        let failed = |e: io::Error| Failure::usage(format!("a temporary file cannot be read: {e}"));
        let mut file = self.0.try_clone().map_err(failed)?;
        file.seek(SeekFrom::Start(0)).map_err(failed)?;
        Ok(file)
    }
}

/// Inputs of captures by their names; `-` is a copy of standard input.
///
/// # Errors
/// When standard input is named twice, or cannot be kept.
pub fn inputs(names: &[PathBuf]) -> Result<Vec<CaptureInput>, Failure> {
    if names.iter().filter(|name| name.as_os_str() == "-").count() > 1 {
        return Err(Failure::usage("standard input (-) is named twice"));
    }
    let input = |name: &PathBuf| match name.as_os_str() == "-" {
        true => Ok(CaptureInput::Copy(Kept::of(io::stdin().lock())?.reader()?)),
        false => Ok(CaptureInput::Path(name.clone())),
    };
    names.iter().map(input).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_is_buffered_up_to_a_limit() {
        let kept = Kept::within(&b"lines"[..], 5).unwrap();
        for _ in 0..2 {
            let mut text = String::new();
            kept.reader().unwrap().read_to_string(&mut text).unwrap();
            assert_eq!(text, "lines");
        }
        // an input without an end
        assert!(Kept::within(io::repeat(b'x'), 1 << 20).is_err());
    }
}
