use super::*;
use crate::lines::tests::{record, record_at};

fn open(path: &Path, before: Before) -> MarkdownFolder {
    MarkdownFolder::open(path, before, None).unwrap()
}

#[test]
fn a_page_is_a_file_with_front_matter() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pages");
    let mut output = open(&path, Before::Unknown);
    let mut made = record("0123456789abcdef0123456789abcdef");
    made.metadata.title = Some("Pears: \"a\" \u{85}\u{2028}— b".into());
    output.push(&made).unwrap();
    output.commit().unwrap();
    let page = fs::read_to_string(path.join("a.test/pears.md")).unwrap();
    assert!(
        page.starts_with("---\nid: \"0123456789abcdef0123456789abcdef\"\nurl: \"https://a.test/pears\"\n"),
        "{page}"
    );
    assert!(page.contains("\ntitle: \"Pears: \\\"a\\\" \\u0085\\u2028— b\"\n"), "{page}");
    assert!(page.ends_with(&format!("\n---\n\n{}\n", made.text.trim_end())), "{page}");
    assert!(!page.contains("canonical:"), "what is not known is not there: {page}");
    let index = fs::read_to_string(path.join(INDEX)).unwrap();
    assert!(index.starts_with("{\"path\":\"a.test/pears.md\",\"id\":\"0123"), "{index}");
}

#[test]
fn chosen_fields_form_the_front_matter() {
    let fields = |names: &[&str]| {
        Fields::of(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()).unwrap()
    };
    let made = record("1");
    let chosen = fields(&["metadata.title", "boilerplate.status", "content"]);
    let text = page(&made, chosen.as_ref()).unwrap();
    assert_eq!(
        text,
        format!("---\ntitle: \"Pears\"\nboilerplate_status: \"off\"\n---\n\n{}\n", made.content().trim_end())
    );
    assert_eq!(page(&made, fields(&["id"]).as_ref()).unwrap(), "---\nid: \"1\"\n---\n\n");
}

#[test]
fn round_replaces_only_files_of_earlier_rounds() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pages");
    let mut output = open(&path, Before::Unknown);
    output.push(&record_at("https://a.test/old/page", "1")).unwrap();
    output.commit().unwrap();
    drop(output);
    fs::write(path.join("a.test/mine.md"), "mine").unwrap();
    let outside = directory.path().join("outside.md");
    fs::write(&outside, "outside").unwrap();
    let mut index = fs::read_to_string(path.join(INDEX)).unwrap();
    index.push_str("{\"path\":\"../outside.md\"}\n{\"path\":\"/etc/none.md\"}\nnonsense\n");
    fs::write(path.join(INDEX), index).unwrap();
    let mut again = open(&path, Before::Replace);
    assert!(again.index.is_stale() && path.join("a.test/old/page.md").exists());
    again.push(&record_at("https://a.test/new", "2")).unwrap();
    again.commit().unwrap();
    assert!(!path.join("a.test/old").exists() && path.join("a.test/new.md").exists());
    assert!(path.join("a.test/mine.md").exists() && outside.exists());
    assert_eq!(fs::read_to_string(path.join(INDEX)).unwrap().lines().count(), 1);
}

#[test]
fn file_of_an_earlier_version_is_renamed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pages");
    let id = "0123456789abcdef0123456789abcdef";
    let mut made = record_at("https://a.test/Con", id);
    fs::create_dir_all(path.join("a.test")).unwrap();
    fs::write(path.join("a.test/Con.md"), format!("---\nid: \"{id}\"\n---\n\nPears\n")).unwrap();
    fs::write(path.join("a.test/Other.md"), "---\nid: \"7\"\n---\n\nmine\n").unwrap();
    made.metadata.change = Some(Change::Unchanged);
    let mut output = open(&path, Before::Unknown);
    output.push(&made).unwrap();
    made.url = "https://a.test/Other".into();
    output.push(&made).unwrap();
    output.commit().unwrap();
    let renamed = fs::read_to_string(path.join("a.test/_Con~0123456789abcdef.md")).unwrap();
    assert!(renamed.ends_with("Pears\n") && !path.join("a.test/Con.md").exists(), "{renamed}");
    assert!(path.join("a.test/Other.md").exists(), "the file of another page stays");
}

#[test]
fn tidied_index_has_the_newest_line_per_page() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pages");
    let mut output = open(&path, Before::Unknown);
    let of = |url: &str, id: &str, change| {
        let mut made = record_at(&format!("https://a.test/{url}"), id);
        made.metadata.change = change;
        made
    };
    for (url, id, change) in [
        ("stays", "1", None),
        ("changes", "2", None),
        ("goes", "3", None),
        ("changes", "4", Some(Change::Changed)),
        ("goes", "5", Some(Change::Gone)),
    ] {
        output.push(&of(url, id, change)).unwrap();
        output.commit().unwrap();
    }
    drop(output);
    let mut index = fs::read_to_string(path.join(INDEX)).unwrap();
    assert_eq!(index.lines().count(), 4);
    index.push_str("what somebody else wrote\n");
    fs::write(path.join(INDEX), &index).unwrap();
    tidy(&path, &mut |_| Ok(())).unwrap();
    let without_old_lines = fs::read_to_string(path.join(INDEX)).unwrap();
    let lines: Vec<&str> = index.lines().collect();
    assert_eq!(without_old_lines, format!("{}\n{}\n{}\n", lines[0], lines[3], lines[4]));
    assert!(lines[3].contains("changes.md") && lines[3].contains("\"id\":\"4\""), "{}", lines[3]);
    tidy(&path, &mut |_| Ok(())).unwrap();
    assert_eq!(fs::read_to_string(path.join(INDEX)).unwrap(), without_old_lines);
    assert_eq!(fs::read_dir(&path).unwrap().count(), 2, "nothing is left beside index and host");
}
