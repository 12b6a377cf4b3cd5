//! Restores an index that was emptied or removed, from the front matter of the pages.

use super::{
    Entry,
    front_matter::{FrontMatter, each_file, has_page_name},
};
use crate::{error::OutputError, fields::Fields, file::FileOutput, lines::push_line, output::Output as _};
use crawl_model::UrlKey;
use std::{io, path::Path};

/// Writes a line for each page of the folder into an empty index. Without it the pages that a round does not write again would have no
/// line, and after a kill their files would be removed.
pub(super) fn restore(
    folder: &Path,
    index: &mut FileOutput,
    fields: Option<&Fields>,
) -> Result<(), OutputError> {
    let mut pages = pages_of(folder, fields).map_err(|e| index.fail(e))?;
    if pages.is_empty() {
        return Ok(());
    }
    pages.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    let mut lines = Vec::new();
    for page in &pages {
        push_line(&mut lines, page)?;
    }
    index.write(&lines)?;
    // the state of the crawl notes the length next
    index.sync()?;
    let (file, pages) = (index.name(), pages.len());
    tracing::warn!(file, pages, "the index was empty; its lines were made again from the files of the pages");
    Ok(())
}

fn pages_of(folder: &Path, fields: Option<&Fields>) -> io::Result<Vec<Entry>> {
    let mut pages = Vec::new();
    each_file(folder, &mut |path, kind| {
        let Some(name) = path.to_str().filter(|_| has_page_name(path, kind)) else { return Ok(()) };
        if let Some(FrontMatter { id, url, title }) = FrontMatter::read(folder, path, fields)? {
            let url = url.unwrap_or_default();
            let key = || if url.is_empty() { String::new() } else { UrlKey::of(&url).to_string() };
            pages.push(Entry { path: name.to_owned(), id: id.unwrap_or_else(key), url, title });
        }
        Ok(())
    })?;
    Ok(pages)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        file::Before, formats::markdown_folder::MarkdownFolder, lines::tests::record_at,
        output::RecordOutput as _,
    };
    use std::fs;

    #[test]
    fn index_that_was_emptied_is_made_again() {
        let directory = tempfile::tempdir().unwrap();
        let folder = directory.path().join("pages");
        let index = folder.join("index.jsonl");
        let mut output = MarkdownFolder::open(&folder, Before::Unknown, None).unwrap();
        for url in ["https://a.test/b", "https://a.test/a/"] {
            output.push(&record_at(url, &UrlKey::of(url).to_string())).unwrap();
        }
        let length = output.commit().unwrap().unwrap();
        drop(output);
        let lines = |text: &str| {
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            lines.sort_unstable();
            lines
        };
        let before = lines(&fs::read_to_string(&index).unwrap());
        fs::write(folder.join("notes.md"), "---\ntitle: mine\n---\n").unwrap();
        for harm in [|index: &Path| fs::write(index, ""), |index: &Path| fs::remove_file(index)] {
            harm(&index).unwrap();
            drop(MarkdownFolder::open(&folder, Before::Closed(length), None).unwrap());
            assert_eq!(lines(&fs::read_to_string(&index).unwrap()), before);
        }
        // lines that a user has removed stay away, and a folder without a round has no index to restore
        let kept = before[0].clone() + "\n";
        fs::write(&index, &kept).unwrap();
        drop(MarkdownFolder::open(&folder, Before::Closed(length), None).unwrap());
        assert_eq!(fs::read_to_string(&index).unwrap(), kept);
        fs::write(&index, "").unwrap();
        drop(MarkdownFolder::open(&folder, Before::Unknown, None).unwrap());
        assert_eq!(fs::read_to_string(&index).unwrap(), "");
    }
}
