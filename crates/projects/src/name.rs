//! Names of projects.

use crate::error::ProjectError;
use regex::Regex;
use std::sync::LazyLock;
use uuid::Uuid;

/// Names of projects: 1 to 200 characters, no control characters, no space at either end. As a regular expression that
/// ECMA 262 reads the same way, since it stands in the OpenAPI document.
pub const NAME_PATTERN: &str =
    r"^[^\u0000-\u0020\u007F-\u00A0]([^\u0000-\u001F\u007F-\u009F]{0,198}[^\u0000-\u0020\u007F-\u00A0])?$";

static NAME: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(NAME_PATTERN).ok());

/// Checks a project's name.
///
/// # Errors
/// When it cannot be used.
pub fn check_name(name: &str) -> Result<(), ProjectError> {
    let invalid = |problem: &str| Err(ProjectError::Invalid { field: "name", problem: problem.into() });
    if !NAME.as_ref().is_some_and(|pattern| pattern.is_match(name)) {
        return invalid(
            "must be 1 to 200 characters without control characters, and without space at either end",
        );
    }
    if Uuid::try_parse(name).is_ok() {
        return invalid("must not look like the id of a project");
    }
    Ok(())
}
