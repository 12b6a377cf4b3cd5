//! The token that clients must send.

use crawl_engine::{
    config::ServeSection,
    exit::{Exit, Failure},
};
use crawl_store::private;
use secrecy::{ExposeSecret, SecretString};
use std::{
    fs,
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
};
use subtle::ConstantTimeEq;

/// Shortest token, in bytes: shorter ones can be tried out.
const LEAST: usize = 16;

/// The setting that names the file of the token.
const FILE_KEY: &str = "the file of serve.token_file";

/// A secret that a caller must know.
pub struct Token(SecretString);

impl Token {
    /// Returns the token of the configuration; else that of its file; else that of the first start, or a new
    /// one. `print` is called with a new one.
    ///
    /// # Errors
    /// When it is too short, or its file cannot be read or written.
    pub fn of(serve: &ServeSection, print: &dyn Fn(&str)) -> Result<Self, Failure> {
        match (serve.token.expose_secret(), serve.token_file.as_str()) {
            ("", "") => made(&default_file()?, print),
            (token, "") => checked(token, "serve.token"),
            ("", file) => {
                // the given file name may be the token itself, so it is not printed
                let text = fs::read_to_string(file).map_err(|e| Failure::input(Path::new(FILE_KEY), &e))?;
                checked(text.trim(), FILE_KEY)
            }
            _ => Err(Failure::usage("serve.token and serve.token_file are both set: name one token")),
        }
    }

    /// Returns true if this is the token. Takes as long for every token of its length.
    #[must_use]
    pub fn is(&self, given: &[u8]) -> bool {
        self.0.expose_secret().as_bytes().ct_eq(given).into()
    }
}

fn checked(token: &str, place: &str) -> Result<Token, Failure> {
    if token.len() < LEAST || !token.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(Failure::usage(format!(
            "{place}: a token has {LEAST} characters or more, which are printable ASCII without spaces"
        )));
    }
    Ok(Token(token.into()))
}

fn default_file() -> Result<PathBuf, Failure> {
    std::env::var_os("XDG_STATE_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| std::env::home_dir().filter(|h| h.is_absolute()).map(|home| home.join(".local/state")))
        .map(|base| base.join("crawl").join("serve-token"))
        .ok_or_else(|| Failure::usage("no home directory is known: name a file with --token-file"))
}

/// Reads the token of a file that is ours, or makes both; a new one is shown once.
fn made(file: &Path, print: &dyn Fn(&str)) -> Result<Token, Failure> {
    let at = |e: &dyn std::fmt::Display| Failure::new(Exit::Storage, format!("{}: {e}", file.display()));
    if let Some(folder) = file.parent() {
        private::create_dir_all(folder).map_err(|e| at(&e))?;
        private::tighten(folder);
    }
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|e| at(&e))?;
    let token: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    // created with the mode of its owner alone
    match private::options().write(true).create_new(true).open(file) {
        Ok(mut made) => {
            writeln!(made, "{token}").and_then(|()| made.sync_all()).map_err(|e| at(&e))?;
            print(&format!("token (shown once, kept in {}): {token}", file.display()));
            checked(&token, "token")
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            private::tighten(file);
            let text = fs::read_to_string(file).map_err(|e| at(&e))?;
            checked(text.trim(), &file.display().to_string())
        }
        Err(error) => Err(at(&error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_is_created_once_with_owner_only_permissions() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("deeper/serve-token");
        let first = made(&file, &|_| {}).unwrap_or_else(|_| panic!("cannot be made"));
        let text = fs::read_to_string(&file).unwrap();
        assert_eq!(
            (text.trim().len(), fs::metadata(&file).unwrap().permissions().mode() & 0o777),
            (64, 0o600)
        );
        assert!(first.is(text.trim().as_bytes()));
        let again = made(&file, &|_| {}).unwrap_or_else(|_| panic!("cannot be read"));
        assert!(again.is(text.trim().as_bytes()) && !again.is(b"") && !again.is(&text.as_bytes()[..63]));
        fs::write(&file, "short").unwrap();
        assert!(made(&file, &|_| {}).is_err());
    }
}
