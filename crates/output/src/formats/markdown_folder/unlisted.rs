//! Removal of pages that a killed process wrote and did not settle. Files of others stay.

use super::{
    INDEX, TEMPORARY_NAME,
    front_matter::{FrontMatter, each_file, has_page_name, one_case},
    page_of, remove_empty_parents,
};
use crate::fields::Fields;
use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader},
    path::Path,
};

/// Removes pages without a line of the index, and a file that was being written. `fields` are those of the pages. Links are not
/// followed.
pub(super) fn remove_unlisted(folder: &Path, fields: Option<&Fields>) -> io::Result<()> {
    let mut listed: Vec<[u8; 16]> = Vec::new();
    for line in BufReader::new(File::open(folder.join(INDEX))?).split(b'\n') {
        let page = std::str::from_utf8(&line?).ok().and_then(page_of);
        listed.extend(page.map(|page| one_case(&page)));
    }
    listed.sort_unstable();
    each_file(folder, &mut |path, kind| {
        let is_unlisted = || listed.binary_search(&one_case(&path.to_string_lossy())).is_err();
        if path == Path::new(TEMPORARY_NAME)
            || has_page_name(path, kind)
                && is_unlisted()
                && FrontMatter::read(folder, path, fields)?.is_some()
        {
            fs::remove_file(folder.join(path))?;
            remove_empty_parents(folder, path);
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        file::Before,
        file_name::page_path,
        format::Format as _,
        formats::markdown_folder::{MarkdownFolder, MarkdownFolders},
        lines::tests::record_at,
        output::RecordOutput as _,
    };
    use crawl_model::UrlKey;

    fn open(path: &Path, before: Before, fields: Option<Fields>) -> MarkdownFolder {
        MarkdownFolder::open(path, before, fields).unwrap()
    }

    fn push(output: &mut MarkdownFolder, url: &str) -> String {
        let id = UrlKey::of(url).to_string();
        output.push(&record_at(url, &id)).unwrap();
        page_path(url, &id)
    }

    /// Names of all files and folders.
    fn names(folder: &Path) -> Vec<String> {
        let (mut names, mut folders) = (Vec::new(), vec![folder.to_owned()]);
        while let Some(inside) = folders.pop() {
            for entry in fs::read_dir(inside).unwrap() {
                let path = entry.unwrap().path();
                names.push(path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned());
                folders.extend(path.is_dir().then_some(path));
            }
        }
        names.sort_unstable();
        names
    }

    #[test]
    fn files_of_pages_that_were_not_settled_are_removed() {
        for names_of_fields in [&[][..], &["url", "text"], &["metadata.title", "boilerplate.status", "text"]]
        {
            let fields = Fields::of(&names_of_fields.iter().map(|&name| name.to_owned()).collect::<Vec<_>>());
            let fields = fields.unwrap();
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("pages");
            let mut output = open(&path, Before::Unknown, fields.clone());
            push(&mut output, "https://a.test/settled");
            let settled = output.commit().unwrap().unwrap();
            for url in ["https://a.test/cut", "https://b.test/deep/er/cut", "https://a.test/List?page=2"] {
                push(&mut output, url);
            }
            output.commit().unwrap();
            push(&mut output, "https://a.test/unlisted");
            drop(output);
            fs::write(path.join(TEMPORARY_NAME), "---").unwrap();
            let foreign = [
                ("README.md", "# Pears\n"),
                ("a.test/empty.md", ""),
                ("a.test/mine.md", "---\ntitle: Pears\n---\n\nmine\n"),
                ("a.test/noted.md", "---\nurl: \"https://a.test/cut\"\n---\n\nmine\n"),
                ("a.test/open.md", "---\ntitle: \"Pears\"\n"),
                ("a.test/tagged.md", "---\ntitle: \"Pears\"\ncategory: \"fruit\"\n---\n\nmine\n"),
                ("c.test/notes.md", "---\n\n---\n\nmine\n"),
                ("c.test/notes.txt", "mine"),
            ];
            fs::create_dir(path.join("c.test")).unwrap();
            for (name, text) in foreign {
                fs::write(path.join(name), text).unwrap();
            }
            drop(open(&path, Before::CutOff(settled), fields.clone()));
            assert!(path.join("a.test/unlisted.md").exists() && path.join("b.test").exists());
            MarkdownFolders.remove_unsettled(&path, fields.as_ref()).unwrap();
            let mut expected: Vec<&str> = foreign.iter().map(|(name, _)| *name).collect();
            expected.extend(["a.test", "c.test", "a.test/settled.md", INDEX]);
            expected.sort_unstable();
            assert_eq!(names(&path), expected, "{names_of_fields:?}");
        }
    }

    #[test]
    fn settled_page_stays_if_folders_differ_by_case() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pages");
        let mut output = open(&path, Before::Unknown, None);
        let folders = [("docs", "Docs"), ("%CF%83%CF%82-%C3%A4", "%CE%A3%CE%A3-%C3%84")];
        let mut there = Vec::new();
        for (small, capital) in folders {
            let settled = push(&mut output, &format!("https://a.test/{small}/b"));
            let first = push(&mut output, &format!("https://a.test/{capital}/a"));
            there.push((settled, first));
        }
        let settled = output.commit().unwrap().unwrap();
        for (small, _) in folders {
            push(&mut output, &format!("https://a.test/{small}/c"));
        }
        drop(output);
        // as a file system without case has them
        for (settled, first) in &there {
            let (from, into) = (path.join(settled), path.join(first));
            let (from, into) = (from.parent().unwrap(), into.parent().unwrap());
            for file in fs::read_dir(from).unwrap() {
                let file = file.unwrap();
                fs::rename(file.path(), into.join(file.file_name())).unwrap();
            }
            fs::remove_dir(from).unwrap();
        }
        let before = names(&path);
        assert!(before.contains(&"a.test/Docs/b.md".to_owned()), "{before:?}");
        drop(open(&path, Before::CutOff(settled), None));
        MarkdownFolders.remove_unsettled(&path, None).unwrap();
        let unsettled = |name: &&String| name.contains("/c.md") || name.contains("/c~");
        assert_eq!(before.iter().filter(unsettled).count(), 2, "{before:?}");
        let expected: Vec<&String> = before.iter().filter(|name| !unsettled(name)).collect();
        assert_eq!(names(&path).iter().collect::<Vec<_>>(), expected);
    }
}
