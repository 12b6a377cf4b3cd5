#!/usr/bin/env python3
"""Loads the outputs of one crawl with common data libraries, and compares them with each other.

    tests/python/load_outputs.py FOLDER     # with out.jsonl, out.jsonl.gz, out.jsonl.zst, out.parquet and pages/
    tests/python/load_outputs.py --check    # only checks that the packages are installed
"""
import gzip, json, pathlib, sys, tempfile

import datasets, duckdb, pandas, pyarrow.parquet, yaml, zstandard
from datatrove.pipeline.readers import JsonlReader, ParquetReader


def adapter(reader, record, path, number):
    record["page_media"] = record.pop("media", [])
    return reader._default_adapter(record, path, number)


class PageReader(JsonlReader):
    """Reads whole records. The reader of datatrove takes `media` for its own field, with downloaded bytes."""

    def read_file(self, filepath):
        with self.data_folder.open(filepath, "r", compression=self.compression) as lines:
            for number, line in enumerate(lines):
                document = self.get_document_from_dict(json.loads(line), filepath, number)
                if document:
                    yield document


def main(folder):
    lines = [json.loads(line) for line in (folder / "out.jsonl").open()]
    texts = {record["id"]: record["text"] for record in lines}
    assert len(texts) == len(lines) > 50, len(lines)

    def same(name, pairs):
        found = list(pairs)
        assert len(found) == len(texts), f"{name}: {len(found)} of {len(texts)}"
        assert dict(found) == texts, f"{name}: other texts"
        print(f"{name}: {len(found)} records")

    same("gzip", ((r["id"], r["text"]) for r in map(json.loads, gzip.open(folder / "out.jsonl.gz", "rt"))))
    with open(folder / "out.jsonl.zst", "rb") as packed:
        whole = zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True).read().decode()
    same("zstandard", ((r["id"], r["text"]) for r in map(json.loads, whole.splitlines())))

    for name in ("out.jsonl", "out.jsonl.gz", "out.jsonl.zst"):
        table = pandas.read_json(folder / name, lines=True, dtype=False)
        same(f"pandas {name}", zip(table["id"], table["text"]))
        rows = duckdb.sql(f"select id, text from read_json('{folder / name}', maximum_object_size = 100000000)").fetchall()
        same(f"duckdb {name}", rows)
    table = pandas.read_parquet(folder / "out.parquet")
    same("pandas out.parquet", zip(table["id"], table["text"]))
    assert str(table["fetchedAt"].dtype) == "datetime64[ms, UTC]", table["fetchedAt"].dtype
    assert table["wordCount"].dtype == "int64" and table["isArticle"].dtype == "bool"
    links = {record["id"]: record["links"] for record in lines}
    assert all(list(row) == links[id] for id, row in zip(table["id"], table["links"])), "lists are lists"
    rows = duckdb.sql(f"select id, text, title, len(links), attempts from '{folder / 'out.parquet'}'").fetchall()
    same("duckdb out.parquet", ((row[0], row[1]) for row in rows))
    titles = {record["id"]: record["metadata"]["title"] for record in lines}
    assert all(row[2] == titles[row[0]] and row[3] == len(links[row[0]]) and json.loads(row[4]) for row in rows)

    with tempfile.TemporaryDirectory() as cache:
        for kind, name in (("json", "out.jsonl"), ("json", "out.jsonl.gz"), ("parquet", "out.parquet")):
            loaded = datasets.load_dataset(kind, data_files=str(folder / name), split="train", cache_dir=cache)
            same(f"datasets {name}", zip(loaded["id"], loaded["text"]))
    for reader, pattern in ((PageReader, "out.jsonl"), (PageReader, "out.jsonl.gz"), (ParquetReader, "out.parquet")):
        documents = reader(str(folder), glob_pattern=pattern, adapter=adapter)()
        # a record without text is no document there
        found = {document.id: document.text for document in documents}
        assert found == {id: text for id, text in texts.items() if text}, f"datatrove {pattern}: {len(found)}"
        print(f"datatrove {pattern}: {len(found)} documents")

    pages = {}
    for path in (folder / "pages").rglob("*.md"):
        _, front, text = path.read_text().split("---\n", 2)
        front = yaml.safe_load(front)
        pages[front["id"]] = text[1:]
        assert front.get("title") == titles[front["id"]], path
    assert {id: text.rstrip("\n") for id, text in pages.items()} == {id: text.rstrip("\n") for id, text in texts.items()}
    print(f"markdown: {len(pages)} pages")


if __name__ == "__main__":
    if sys.argv[1:] != ["--check"]:
        main(pathlib.Path(sys.argv[1]))
