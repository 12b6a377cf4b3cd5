//! Password files, as `libpq` reads them: lines of `host:port:database:user:password`.

use crawl_model::StoreError;
use std::{fs, io, path::Path};

/// The password of the first line that fits an account. A file that other users can read is refused; one that `PGPASSFILE`
/// has not `named` may be missing.
pub(super) fn in_file(path: &Path, named: bool, account: &[String; 4]) -> Result<Option<String>, StoreError> {
    let origin = if named { "PGPASSFILE names " } else { "" };
    let shown = path.display();
    let text = match fs::read_to_string(path) {
        Err(error) if is_missing(&error) && !named => return Ok(None),
        read => read.map_err(|error| {
            StoreError::Other(format!("{origin}{shown}, and no password can be read of it: {error}"))
        })?,
    };
    if is_open_to_others(path) {
        return Err(StoreError::Other(format!(
            "{origin}{shown}, whose passwords other users can read: run chmod 0600 {shown}"
        )));
    }
    Ok(text.lines().find_map(|line| password_of(line, account)))
}

/// Returns true if a file does not exist. The home of a service may be `/dev/null`, which has no files.
fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(unix)]
fn is_open_to_others(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.mode() & 0o077 != 0)
}

#[cfg(not(unix))]
fn is_open_to_others(_: &Path) -> bool {
    false
}

fn password_of(line: &str, account: &[String; 4]) -> Option<String> {
    if line.starts_with('#') {
        return None;
    }
    let fields = fields(line);
    let (wanted, password) = fields.split_at_checked(4)?;
    let fits = wanted.iter().zip(account).all(|(wanted, given)| wanted == "*" || wanted == given);
    fits.then(|| password.first().cloned()).flatten()
}

/// Fields between colons; a backslash protects the next character.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut characters = line.chars();
    while let Some(c) = characters.next() {
        let last = fields.len() - 1;
        match c {
            ':' if fields.len() < 5 => fields.push(String::new()),
            '\\' => fields[last].extend(characters.next()),
            c => fields[last].push(c),
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_matching_pgpass_line_applies() {
        let account = ["db.example", "5432", "crawls", "me"].map(str::to_owned);
        assert_eq!(password_of("*:*:*:me:a:b\\:c", &account).as_deref(), Some("a:b:c"));
        assert_eq!(password_of("db.example:5432:crawls:me:pw", &account).as_deref(), Some("pw"));
        assert_eq!(password_of("other:*:*:me:pw", &account), None);
        assert_eq!(password_of("#*:*:*:*:pw", &account), None);
        assert_eq!(password_of("*:*:*", &account), None);
    }

    #[cfg(unix)]
    #[test]
    fn pgpass_file_readable_by_others_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pgpass");
        let account = ["h", "1", "d", "u"].map(str::to_owned);
        assert_eq!(in_file(&path, false, &account).unwrap(), None);
        assert_eq!(in_file(Path::new("/dev/null/.pgpass"), false, &account).unwrap(), None);
        let missing = in_file(&path, true, &account).unwrap_err().to_string();
        assert!(missing.contains("PGPASSFILE names ") && missing.contains("pgpass, and"), "{missing}");
        fs::write(&path, "h:1:d:u:secret\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let error = in_file(&path, true, &account).unwrap_err().to_string();
        assert!(error.contains("PGPASSFILE names ") && error.contains("chmod 0600"), "{error}");
        assert!(!error.contains("secret"), "{error}");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(in_file(&path, true, &account).unwrap().as_deref(), Some("secret"));
    }
}
