//! Tests of Parquet tables and their journals.

use super::*;
use crate::lines::tests::record;

fn rows(path: &Path) -> Vec<String> {
    let mut ids = Vec::new();
    let options = crawl_archive::ReadOptions { max_record: 1 << 20, keep_lines: false };
    crawl_archive::read_file(path, &options, &mut |item| {
        let crawl_archive::Item::Document(document) = item else { panic!("unreadable") };
        ids.push(document.id);
        std::ops::ControlFlow::Continue(())
    })
    .unwrap();
    ids
}

fn write(output: &mut ParquetRecords, ids: &[&str]) -> u64 {
    for id in ids {
        output.push(&record(id)).unwrap();
    }
    output.commit().unwrap().unwrap()
}

#[test]
fn runs_add_to_the_table_and_rounds_replace_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pages.parquet");
    let mut first = ParquetRecords::open(&path, Before::Unknown, None).unwrap();
    write(&mut first, &["a", "b"]);
    write(&mut first, &["c"]);
    assert!(!path.exists(), "a table without its end is none");
    first.finish().unwrap();
    drop(first);
    assert_eq!(rows(&path), ["a", "b", "c"]);
    let mut second = ParquetRecords::open(&path, Before::Unknown, None).unwrap();
    write(&mut second, &["d"]);
    second.finish().unwrap();
    drop(second);
    assert_eq!(rows(&path), ["a", "b", "c", "d"]);
    // a round that replaces and was cut off after its first batch
    let mut third = ParquetRecords::open(&path, Before::Replace, None).unwrap();
    assert!(third.stale);
    let settled = write(&mut third, &["e"]);
    write(&mut third, &["lost"]);
    drop(third);
    assert_eq!(rows(&path).len(), 4, "as it was until the round has come to an end");
    let mut again = ParquetRecords::open(&path, Before::CutOff(settled), None).unwrap();
    write(&mut again, &["f"]);
    again.finish().unwrap();
    drop(again);
    assert_eq!(rows(&path), ["e", "f"]);
    ParquetTables.replace_by_nothing(&path).unwrap();
    assert_eq!(rows(&path), [""; 0]);
}

#[test]
fn row_groups_of_many_runs_are_joined() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pages.parquet");
    let ids: Vec<String> = (0..70).map(|n| format!("{n:03}")).collect();
    for id in &ids {
        let mut output = ParquetRecords::open(&path, Before::Unknown, None).unwrap();
        write(&mut output, &[id]);
        output.finish().unwrap();
    }
    assert_eq!(rows(&path), ids);
    let table = table(&path).unwrap().unwrap();
    assert_eq!((table.rows(), table.is_fragmented()), (70, false));
}

#[test]
fn table_keeps_its_permissions() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pages.parquet");
    for id in ["a", "b"] {
        let mut output = ParquetRecords::open(&path, Before::Unknown, None).unwrap();
        write(&mut output, &[id]);
        if id == "b" {
            assert_eq!(mode(&part_of(&path)), 0o600, "the journal has records, too");
        }
        output.finish().unwrap();
        drop(output);
        std::fs::remove_file(part_of(&path)).unwrap();
        if id == "a" {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o400)).unwrap();
        }
    }
    assert_eq!(mode(&path), 0o400);
    assert_eq!(rows(&path), ["a", "b"]);
}

/// A file system without modes refuses to change them.
#[test]
fn refused_permissions_end_no_run() {
    let of = |wanted, has| {
        let calls = std::cell::Cell::new(0);
        let refuse = |_| {
            calls.set(calls.get() + 1);
            Err(io::ErrorKind::PermissionDenied.into())
        };
        (not_narrowed(wanted, has, refuse).is_some(), calls.get())
    };
    assert_eq!(of(0o755, 0o755), (false, 0), "nothing is to be set");
    assert_eq!(of(0o600, 0o644), (true, 1));
    assert_eq!(of(0o664, 0o644), (false, 1), "others can read the table, too");
}

#[test]
fn journal_already_in_the_table_is_not_added_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pages.parquet");
    let mut first = ParquetRecords::open(&path, Before::Unknown, None).unwrap();
    let settled = write(&mut first, &["a"]);
    let journal = std::fs::read(part_of(&path)).unwrap();
    first.finish().unwrap();
    drop(first);
    // killed after the rename, before the journal was emptied
    std::fs::write(part_of(&path), journal).unwrap();
    let mut again = ParquetRecords::open(&path, Before::CutOff(settled), None).unwrap();
    write(&mut again, &["b"]);
    again.finish().unwrap();
    assert_eq!(rows(&path), ["a", "b"]);
}

#[test]
fn unknown_journal_keeps_its_whole_records() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pages.parquet");
    let mut first = ParquetRecords::open(&path, Before::Unknown, None).unwrap();
    write(&mut first, &["a"]);
    write(&mut first, &["b"]);
    drop(first);
    let part = std::fs::read(part_of(&path)).unwrap();
    std::fs::write(part_of(&path), &part[..part.len() - 30]).unwrap();
    let mut again = ParquetRecords::open(&path, Before::Unknown, None).unwrap();
    write(&mut again, &["c"]);
    again.finish().unwrap();
    assert_eq!(rows(&path), ["a", "c"]);
    assert!(again.damage.as_ref().unwrap().contains("pages.parquet.part.damaged-1"), "{:?}", again.damage);
}

/// A journal of three batches, damaged at some byte: no way of opening it fails. Readable records become
/// rows, the rest is counted, and the next run reports nothing.
#[test]
fn damaged_journal_is_recovered() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pages.parquet");
    let mut made = ParquetRecords::open(&path, Before::Unknown, None).unwrap();
    let settled = ["a", "b", "c"].map(|id| write(&mut made, &[id]));
    drop(made);
    let whole = std::fs::read(part_of(&path)).unwrap();
    let end = *settled.last().unwrap();
    let harm = |bytes: Vec<u8>, before: Before| {
        let _ = std::fs::remove_file(&path);
        std::fs::write(part_of(&path), bytes).unwrap();
        let mut opened = ParquetRecords::open(&path, before, None).unwrap();
        let told = opened.damage.clone();
        write(&mut opened, &["d"]);
        let ended = opened.finish();
        drop(opened);
        let mut again = ParquetRecords::open(&path, Before::Unknown, None).unwrap();
        assert_eq!(again.damage, None);
        again.finish().unwrap();
        (rows(&path), told, ended.err().map(|error| error.to_string()))
    };
    let all = ["a", "b", "c", "d"];
    for at in (0..whole.len()).step_by(97) {
        let flipped: Vec<u8> = [&whole[..at], &[whole[at] ^ 0x55], &whole[at + 1..]].concat();
        for before in [Before::CutOff(end), Before::Unknown, Before::Replace] {
            let (rows, opened, ended) = harm(flipped.clone(), before);
            let lost = all.len() - if before == Before::Replace { rows.len() + 3 } else { rows.len() };
            assert!(lost <= 1 && rows.last().unwrap() == "d", "{at} {before:?}: {rows:?}");
            let told = opened.is_some() || ended.as_ref().is_some_and(|words| words.contains(".part: "));
            assert!(lost == 0 || told, "{at} {before:?}: {lost} lost in silence");
        }
        let (rows, told, _) = harm(whole[..at].to_vec(), Before::CutOff(end));
        let readable = settled.iter().filter(|end| **end <= at as u64).count();
        assert_eq!(rows.len(), readable + 1, "cut off at {at}: {rows:?}");
        assert!(told.unwrap().contains(".part"), "cut off at {at}");
    }
}

/// Killed between the two steps that end a run, or after them: its journal is known to be in the table.
#[test]
fn the_end_of_a_run_can_be_repeated() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pages.parquet");
    let mut first = ParquetRecords::open(&path, Before::Unknown, None).unwrap();
    let settled = write(&mut first, &["a"]);
    first.finish().unwrap();
    drop(first);
    let mut again = ParquetRecords::open(&path, Before::CutOff(settled), None).unwrap();
    assert_eq!(again.damage, None, "nothing is missing: the rows are in the table");
    write(&mut again, &["b"]);
    again.finish().unwrap();
    assert_eq!(rows(&path), ["a", "b"]);
}

#[test]
fn a_journal_is_removed_once_its_records_are_in_the_table() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pages.parquet");
    let mut first = ParquetRecords::open(&path, Before::Unknown, None).unwrap();
    write(&mut first, &["a"]);
    drop(first);
    let tidy = || {
        let mut noted = Vec::new();
        ParquetTables
            .tidy(&path, &mut |length| {
                assert!(part_of(&path).exists(), "noted before the journal is removed");
                noted.push(length);
                Ok(())
            })
            .unwrap();
        noted
    };
    assert_eq!(tidy(), [0; 0], "its record is not in a table yet");
    let mut again = ParquetRecords::open(&path, Before::Unknown, None).unwrap();
    again.finish().unwrap();
    drop(again);
    assert_eq!(tidy(), [0]);
    assert!(!part_of(&path).exists());
    let mut next = ParquetRecords::open(&path, Before::Closed(0), None).unwrap();
    write(&mut next, &["b"]);
    next.finish().unwrap();
    drop(next);
    assert_eq!(rows(&path), ["a", "b"]);
}

#[test]
fn unreadable_table_is_reported_and_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pages.parquet");
    let mut first = ParquetRecords::open(&path, Before::Unknown, None).unwrap();
    let settled = write(&mut first, &["a"]);
    drop(first);
    std::fs::write(&path, "no table").unwrap();
    for before in [Before::Unknown, Before::CutOff(settled)] {
        let refused = ParquetRecords::open(&path, before, None).err().unwrap();
        let OutputError::Damaged { name, what } = refused else { panic!("{refused}") };
        assert!(name.ends_with("pages.parquet") && what.contains("-O"), "{name}: {what}");
    }
    let mut again = ParquetRecords::open(&path, Before::Replace, None).unwrap();
    assert_eq!(std::fs::read(path.with_extension("parquet.damaged-1")).unwrap(), b"no table");
    assert_eq!(rows(&path), ["a"], "what was left is there until the round has a record");
    write(&mut again, &["b"]);
    again.finish().unwrap();
    assert_eq!(rows(&path), ["b"]);
}

#[test]
fn table_with_other_columns_is_refused_at_open() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pages.parquet");
    let some = || Fields::of(&["id".to_owned(), "text".to_owned()]).unwrap();
    let mut first = ParquetRecords::open(&path, Before::Unknown, some()).unwrap();
    write(&mut first, &["a"]);
    first.finish().unwrap();
    drop(first);
    let refused = ParquetRecords::open(&path, Before::Unknown, None).err().unwrap();
    let OutputError::Write { source, .. } = refused else { panic!("{refused}") };
    assert!(source.to_string().contains("other columns"), "{source}");
    assert!(ParquetRecords::open(&path, Before::Replace, None).is_ok());
    std::fs::write(&path, "no table").unwrap();
    assert!(ParquetRecords::open(&path, Before::Unknown, None).is_err());
}

/// Version 1 of the record has a content in each row, and no text where nothing is hidden.
#[test]
fn version_1_table_accepts_current_rows() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pages.parquet");
    let today = RecordColumns::of(None);
    let is_hidden_text = |name: &str| name.starts_with("hiddenText_") || name == "media";
    let mut columns = today.columns();
    for column in &mut columns {
        column.nullable = column.name != "content" && (column.nullable || is_hidden_text(&column.name));
    }
    let old: serde_json::Value = serde_json::from_str(include_str!("../../../tests/record.json")).unwrap();
    let row = today.row(&old).zip(&columns).map(|(value, column)| match is_hidden_text(&column.name) {
        true => crawl_archive::Value::Null,
        false => value,
    });
    let mut table = ParquetTable::with_notes(File::create(&path).unwrap(), &columns, &[]).unwrap();
    table.push(row).unwrap();
    table.finish().unwrap();
    let mut output = ParquetRecords::open(&path, Before::Unknown, None).unwrap();
    write(&mut output, &["new"]);
    output.finish().unwrap();
    assert_eq!(rows(&path), ["a5bce61afea0adb409cd37b98835b759", "new"]);
    let found = table_at(&path);
    assert!(found.has_columns(&today.columns()));
    let at = |name: &str| today.columns().iter().position(|column| column.name == name).unwrap();
    let mut seen = Vec::new();
    found
        .each_row(&mut |row| {
            seen.push((row[at("content")].clone(), row[at("hiddenText_words")].clone()));
            Ok(())
        })
        .unwrap();
    let content = crawl_archive::Value::Text("Some words about pears.".into());
    assert_eq!(seen[0], (content, crawl_archive::Value::Integer(0)));
}

/// A journal of the previous version lacks keys that every current record has.
#[test]
fn version_1_journal_becomes_current_rows() {
    let old: serde_json::Value = serde_json::from_str(include_str!("../../../tests/record.json")).unwrap();
    let columns = RecordColumns::of(None);
    let mut table = ParquetTable::with_notes(Vec::new(), &columns.columns(), &[]).unwrap();
    table.push(columns.row(&old)).unwrap();
    assert!(!table.finish().unwrap().is_empty());
}

/// The keys of lean records stand at the top, and are columns like those of whole records.
#[test]
fn lean_records_are_rows_with_their_title_and_language() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("out.parquet");
    let mut output = ParquetRecords::open(&path, Before::Unknown, Some(Fields::lean())).unwrap();
    let mut page = record("7");
    (page.metadata.language, page.metadata.language_detected) = (None, Some("en".to_owned()));
    output.push(&page).unwrap();
    output.commit().unwrap();
    output.finish().unwrap();
    let table = table_at(&path);
    let names: Vec<String> = table.columns().unwrap().into_iter().map(|column| column.name).collect();
    assert_eq!(names, ["id", "url", "title", "text", "language", "published"]);
    let mut seen = Vec::new();
    table
        .each_row(&mut |row| {
            seen.push(row);
            Ok(())
        })
        .unwrap();
    let text = |text: &str| crawl_archive::Value::Text(text.to_owned());
    assert_eq!((seen.len(), &seen[0][2], &seen[0][4]), (1, &text("Pears"), &text("en")));
}

fn table_at(path: &Path) -> ParquetFile {
    ParquetFile::open(File::open(path).unwrap()).unwrap()
}
