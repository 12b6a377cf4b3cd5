//! Outputs that would replace an input, or each other.

use crawl_engine::exit::Failure;
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

/// Refuses an output that names an input, and two outputs of one name. `outputs` have their flag or setting. Links and `..` in
/// names are resolved; devices and pipes are never the same file.
///
/// # Errors
/// When two of the names are one file.
pub fn check(inputs: &[&Path], outputs: &[(&str, Option<&Path>)]) -> Result<(), Failure> {
    let mut taken: HashMap<PathBuf, Option<&str>> =
        inputs.iter().filter_map(|input| Some((resolved(input)?, None))).collect();
    for (flag, path) in outputs {
        let Some(path) = path else { continue };
        let Some(whole) = resolved(path) else { continue };
        match taken.insert(whole, Some(flag)) {
            None => {}
            Some(None) => {
                return Err(Failure::usage(format!(
                    "{flag} {}: this file is an input and would be overwritten; name another file",
                    path.display()
                )));
            }
            Some(Some(other)) => {
                return Err(Failure::usage(format!(
                    "{flag} {}: this file is also the file of {other}; name another file",
                    path.display()
                )));
            }
        }
    }
    Ok(())
}

/// Returns true if the output is the input.
#[must_use]
pub fn is_same(input: Option<&Path>, output: Option<&Path>) -> bool {
    let pair = input.zip(output).and_then(|(input, output)| resolved(input).zip(resolved(output)));
    pair.is_some_and(|(input, output)| input == output)
}

/// Returns true for the names of open streams, such as `/dev/stdout`. Two streams may go to one log.
fn is_stream(path: &Path) -> bool {
    ["/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/fd", "/proc"].iter().any(|name| path.starts_with(name))
}

/// The whole name of a file or folder, or of a file that does not exist yet; none for standard streams, pipes and devices.
fn resolved(path: &Path) -> Option<PathBuf> {
    if path.as_os_str().is_empty() || path.as_os_str() == "-" || is_stream(path) {
        return None;
    }
    if let Ok(found) = path.metadata() {
        return (found.is_file() || found.is_dir()).then(|| path.canonicalize().ok()).flatten();
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Some(folder.canonicalize().ok()?.join(path.file_name()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::symlink};

    #[test]
    fn an_output_is_neither_an_input_nor_another_output() {
        let dir = tempfile::tempdir().unwrap();
        let [input, link, new] = ["in.jsonl", "link", "new"].map(|name| dir.path().join(name));
        fs::write(&input, "{}").unwrap();
        symlink(&input, &link).unwrap();
        let dotted = dir.path().join("./in.jsonl");
        let refused =
            |path: &Path| check(&[&input], &[("--stats", Some(path))]).unwrap_err().error.to_string();
        for path in [&input, &link, &dotted] {
            assert!(refused(path).starts_with("--stats ") && refused(path).contains("is an input"));
        }
        check(&[&input], &[("--stats", Some(&new)), ("--html", None)]).unwrap();
        let twice = check(&[], &[("--stats", Some(&new)), ("--html", Some(&dir.path().join("./new")))]);
        assert!(twice.unwrap_err().error.to_string().contains("this file is also the file of --stats"));
        let device = Path::new("/dev/null");
        check(&[device, Path::new("-")], &[("--stats", Some(device)), ("-o", Some(Path::new("-")))]).unwrap();
        let streams = [("-o", Some(Path::new("/dev/stdout"))), ("--stats", Some(Path::new("/dev/stderr")))];
        check(&[Path::new("/dev/stdin")], &streams).unwrap();
        assert!(is_stream(Path::new("/dev/fd/63")) && !is_stream(Path::new("/dev/shm/pages.jsonl")));
        assert!(is_same(Some(&input), Some(&link)) && !is_same(Some(&input), Some(&new)));
        assert!(!is_same(None, Some(&new)) && !is_same(Some(device), Some(device)));
    }
}
