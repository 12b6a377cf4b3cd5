//! The section `[output]`: names with a date, and the choice of fields.

use super::{ConfigError, OutputSection};
use crawl_output::{Fields, unknown_ending};
use std::path::Path;

impl OutputSection {
    /// Replaces the parts of a date in the names of outputs (`%Y-%m-%d`), in UTC. A round keeps the names of its start.
    ///
    /// # Errors
    /// When a name has a `%` that begins no part of a date.
    pub fn expand_dates(&mut self, at_ms: i64) -> Result<(), ConfigError> {
        for (key, name) in [("output.append", &mut self.append), ("output.replace", &mut self.replace)] {
            if name.contains('%') {
                *name = expanded(name, at_ms).map_err(|problem| fault(key, problem))?;
            }
        }
        Ok(())
    }

    /// The chosen fields; `None` for whole records.
    ///
    /// # Errors
    /// When a name is no field's, or `lean` and `fields` are both set.
    pub fn chosen_fields(&self) -> Result<Option<Fields>, ConfigError> {
        let chosen = Fields::of(&self.fields).map_err(|e| fault("output.fields", e.to_string()))?;
        match (self.lean, chosen) {
            (false, chosen) => Ok(chosen),
            (true, None) => Ok(Some(Fields::lean())),
            (true, Some(_)) => Err(fault(
                "output.lean",
                "output.fields is set too: name the fields, or leave them out".into(),
            )),
        }
    }

    /// Checks the ends of the names of outputs.
    ///
    /// # Errors
    /// When a suffix names a format that crawl does not write.
    pub fn check_endings(&self) -> Result<(), ConfigError> {
        for (key, name) in [("output.append", &self.append), ("output.replace", &self.replace)] {
            if let Some(ending) = unknown_ending(Path::new(name)) {
                let formats =
                    "jsonl, jsonl.gz, jsonl.zst, parquet, or a slash for a folder of Markdown files";
                return Err(fault(
                    key,
                    format!("\"{name}\": no format has the ending \".{ending}\"; write {formats}"),
                ));
            }
        }
        Ok(())
    }
}

fn expanded(name: &str, at_ms: i64) -> Result<String, String> {
    let at = jiff::Timestamp::from_millisecond(at_ms).map_err(|e| e.to_string())?;
    let at = at.to_zoned(jiff::tz::TimeZone::UTC);
    jiff::fmt::strtime::format(name, &at)
        .map_err(|e| format!("\"{name}\": {e}; a date is written %Y-%m-%d, a percent sign %%"))
}

fn fault(key: &str, problem: String) -> ConfigError {
    ConfigError { place: "settings".into(), key: key.to_owned(), problem, nearest: None }
}

#[cfg(test)]
mod tests {
    use crate::config::load;

    #[test]
    fn output_names_expand_dates_in_utc() {
        let mut output = load(None, std::iter::empty(), Vec::new()).unwrap().output;
        output.append = "a/pages-%Y-%m-%d-%H.jsonl".into();
        output.expand_dates(1_767_225_599_000).unwrap();
        assert_eq!(output.append, "a/pages-2025-12-31-23.jsonl");
        output.append = "100%%.jsonl".into();
        output.expand_dates(0).unwrap();
        assert_eq!(output.append, "100%.jsonl");
        output.replace = "50%!.jsonl".into();
        let error = output.expand_dates(0).unwrap_err().to_string();
        assert!(error.contains("output.append") || error.contains("output.replace"), "{error}");
    }

    #[test]
    fn unknown_file_extension_is_refused() {
        let mut output = load(None, std::iter::empty(), Vec::new()).unwrap().output;
        output.append = "a.csv".into();
        let error = output.check_endings().unwrap_err().to_string();
        assert!(error.contains("output.append: \"a.csv\": no format has the ending \".csv\""), "{error}");
        (output.lean, output.fields) = (true, vec!["id".into()]);
        assert!(output.chosen_fields().is_err());
    }
}
