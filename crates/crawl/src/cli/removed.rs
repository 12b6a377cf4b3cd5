//! Flags of earlier versions. The error for such a flag names the constant that replaces it.

use clap::{
    Command, Error,
    error::{ContextKind, ContextValue, ErrorKind},
};
use std::ffi::OsString;

/// Command, flag, and the constant in its place.
const REMOVED: &[(&str, &str, &str)] = &[
    ("duplicates", "--max-record", "a record of an input has at most 8 MiB"),
    ("duplicates", "--pairs-per-group", "a group lists at most 10,000 pairs"),
];

/// Returns the error of a removed flag in place of that of an unknown one. Other errors stay.
pub(super) fn explain(error: Error, arguments: &[OsString], command: &mut Command) -> Error {
    let given = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(given)) if error.kind() == ErrorKind::UnknownArgument => given.as_str(),
        _ => return error,
    };
    let given = given.split('=').next().unwrap_or(given);
    let job = arguments.get(1).and_then(|job| job.to_str()).unwrap_or_default();
    match REMOVED.iter().find(|(of, flag, _)| *of == job && *flag == given) {
        Some((_, flag, now)) => {
            Error::raw(ErrorKind::UnknownArgument, format!("{flag} was removed: {now}\n")).format(command)
        }
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;

    #[test]
    fn removed_flags_name_their_replacement() {
        for (job, flag, now) in REMOVED {
            let error =
                Cli::parse_from(&["crawl", job, "a.jsonl", flag, "7"].map(OsString::from)).unwrap_err();
            assert_eq!(error.exit_code(), 2);
            assert!(error.to_string().contains(&format!("{flag} was removed: {now}")), "{error}");
            let joined = format!("{flag}=7");
            let error = Cli::parse_from(&["crawl", job, "a.jsonl", &joined].map(OsString::from)).unwrap_err();
            assert!(error.to_string().contains("was removed"), "{error}");
        }
    }
}
