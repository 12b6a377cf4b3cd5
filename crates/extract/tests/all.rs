//! Tests of the public interface in one binary, since each binary costs a link.

mod asides;
mod by_site;
mod choice;
mod choice_boxes;
mod cleaner;
mod declared;
mod explain;
mod fixtures;
mod forums;
mod hostile;
mod injection;
mod kept;
mod last_pass;
mod linear;
mod manuals;
mod media;
mod metadata;
mod metadata_data;
mod metadata_dates;
mod metadata_titles;
mod mutated;
mod ratchet;
mod score;
mod signals;
mod source_changes;
mod spec_cleaner;
mod spec_content;
mod spec_metadata;
mod spec_score;
mod spec_signals;
mod suite_charset;
mod switches;

#[test]
fn every_test_file_is_a_module() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .filter_map(|entry| {
            entry.unwrap().file_name().into_string().unwrap().strip_suffix(".rs").map(str::to_owned)
        })
        .filter(|name| name != "all")
        .collect();
    files.sort();
    let modules: Vec<&str> = include_str!("all.rs")
        .lines()
        .filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'))
        .collect();
    assert_eq!(files, modules);
}
