//! Files of the output in the list of a crawl.

use crate::*;
use crawl_model::RunStore;
use crawl_store::{OutputPart, Upkeep};

/// Settles bytes of a file without a star in its name, as a worker does.
fn write(store: &PgStore, path: &str, file: &str, bytes: u64) {
    for (note, value) in [("file", file), ("open", "0"), ("round", "1")] {
        store.put(&format!("{note}:{path}"), value).unwrap();
    }
    store.settle(&[], &[mark(path, bytes)]).unwrap();
}

#[test]
#[ignore = "needs PostgreSQL"]
fn output_files_of_a_worker_are_listed_once() {
    let (server, a) = begun("a");
    let b = open(&server, "b");
    write(&a, "/out.jsonl", "disk:1", 5);
    write(&b, "/out.jsonl", "disk:1", 9);
    write(&b, "/gone.jsonl", "disk:2", 4);
    write(&b, "/moved.jsonl", "disk:2", 7);
    write(&b, "/other-disk.jsonl", "", 2);
    write(&b, "/state/errors.jsonl", "disk:3", 3);
    write(&b, "/out/part-b-1-0.jsonl.zst", "disk:4", 13);
    write(&b, "/out/part-b-1-1.jsonl.zst", "disk:5", 80);
    b.add_part(&OutputPart {
        path: "/out/part-b-1-1.jsonl.zst".into(),
        bytes: 0,
        is_complete: false,
        worker: "b".into(),
        epoch: 1,
        seq: 1,
        round: 1,
        mark: "/out/part-b-1-1.jsonl.zst".into(),
    })
    .unwrap();
    let reader = PgStore::open_read_only(&server.options("c", "reader")).unwrap();
    let mut listed: Vec<_> =
        reader.outputs().unwrap().into_iter().map(|file| (file.path, file.worker, file.bytes)).collect();
    listed.sort_unstable();
    let expected =
        [("/moved.jsonl", 7), ("/other-disk.jsonl", 2), ("/out.jsonl", 9), ("/out/part-b-1-1.jsonl.zst", 80)];
    assert_eq!(listed, expected.map(|(path, bytes)| (path.to_owned(), "b".to_owned(), bytes)));
    assert_eq!(reader.parts().unwrap().len(), 1);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn moved_output_has_its_last_name() {
    let (server, a) = begun("a");
    let marks = [("/x/errors.jsonl", 9), ("/dir/errors.jsonl", 5), ("/old.jsonl", 10), ("/new.jsonl", 10)];
    a.settle(&[], &marks.map(|(name, reach)| mark(name, reach))).unwrap();
    let put = |notes: &[(&str, &str)]| notes.iter().for_each(|(name, value)| a.put(name, value).unwrap());
    let listed = || {
        let reader = PgStore::open_read_only(&server.options("c", "reader")).unwrap();
        let mut paths: Vec<String> = reader.outputs().unwrap().into_iter().map(|file| file.path).collect();
        paths.sort_unstable();
        paths
    };
    // an earlier program noted no error log, and no end of the file under its old name
    put(&[("file:/old.jsonl", "7"), ("file:/new.jsonl", "7"), ("open:/new.jsonl", "1")]);
    assert_eq!(listed(), ["/new.jsonl"]);
    put(&[("open:/old.jsonl", "0"), ("open:/new.jsonl", "0"), ("error_log:/dir/errors.jsonl", "1")]);
    put(&[("round:/old.jsonl", "9"), ("round:/new.jsonl", "10")]);
    a.settle(&[], &[mark("/old.jsonl", 20)]).unwrap();
    assert_eq!(listed(), ["/new.jsonl", "/x/errors.jsonl"], "the later round wins");
}
