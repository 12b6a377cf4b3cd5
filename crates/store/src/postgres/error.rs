//! Conversion of PostgreSQL errors to [`StoreError`].

use super::url::chain;
use crawl_model::StoreError;
use tokio_postgres::error::{Error, SqlState};

/// Converts an error of the server or of the connection. The kinds differ by the user's remedy.
#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err takes")]
pub(super) fn sql(error: Error) -> StoreError {
    match error.as_db_error() {
        Some(answer) => of_state(answer.code(), answer.message(), answer.hint()),
        None if is_conversion(&error) => StoreError::Corrupt(chain(&error)),
        // the same command may continue later
        None => StoreError::Unavailable(format!("the connection to PostgreSQL failed: {}", chain(&error))),
    }
}

fn of_state(state: &SqlState, message: &str, hint: Option<&str>) -> StoreError {
    let code = state.code();
    let text = match hint {
        Some(hint) => format!("PostgreSQL reports {code}: {message} ({hint})"),
        None => format!("PostgreSQL reports {code}: {message}"),
    };
    match code {
        // disk full, out of memory, limits of the configuration, a file that the server cannot write (internal)
        "53100" | "53200" | "53400" | "XX000" => StoreError::Full(text),
        // a connection that a proxy or a pooler ends
        "08000" | "08003" | "08006" | "08P01" => StoreError::Unavailable(text),
        // a database that is read-only, an input or output error
        "25006" | "58030" => StoreError::Full(text),
        // missing rights
        "42501" => StoreError::Unavailable(text),
        // no such user, wrong password, no such database, no such schema
        "28000" | "28P01" | "3D000" | "3F000" => StoreError::Unavailable(text),
        // terminated by an administrator, shut down, starting
        "57P01" | "57P02" | "57P03" | "57P05" | "25P03" => StoreError::Unavailable(text),
        // too many connections, locks, deadlocks, serialization, a statement that an administrator cancels
        "53300" | "55P03" | "40001" | "40P01" | "57014" => StoreError::Busy(text),
        // damaged data or index
        "XX001" | "XX002" => StoreError::Corrupt(text),
        _ => StoreError::Other(text),
    }
}

/// Returns true if the value of a column does not have the expected type.
fn is_conversion(error: &Error) -> bool {
    let text = error.to_string();
    text.starts_with("error deserializing") || text.starts_with("invalid column")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sqlstates_map_to_errors_with_advice() {
        let kind = |code: &str| match of_state(&SqlState::from_code(code), "words", Some("advice")) {
            StoreError::Full(text) => ("full", text),
            StoreError::Unavailable(text) => ("unavailable", text),
            StoreError::Busy(text) => ("busy", text),
            StoreError::Corrupt(text) => ("corrupt", text),
            error => ("other", error.to_string()),
        };
        for code in ["53100", "25006", "58030", "XX000"] {
            assert_eq!(kind(code).0, "full", "{code}");
        }
        for code in ["42501", "28P01", "3D000", "57P01", "08006"] {
            assert_eq!(kind(code).0, "unavailable", "{code}");
        }
        assert_eq!([kind("40P01").0, kind("57014").0], ["busy", "busy"]);
        assert_eq!(kind("XX001").0, "corrupt");
        assert_eq!(kind("42P01").0, "other");
        assert_eq!(kind("53100").1, "PostgreSQL reports 53100: words (advice)");
    }
}
