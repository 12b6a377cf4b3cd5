#!/usr/bin/env python3
"""Loads a file of records with the readers that people train and search with, and prints a table of them.

    crawl schema --datasets > features.py
    tests/python/load_records.py pages.jsonl features.py
    tests/python/load_records.py --check     # only checks that the packages are installed

Each reader also loads a copy of the file that begins with 12 MB of records without any optional value.
"""
import json, pathlib, sys, tempfile, time

import datasets, duckdb, pandas, polars
from datatrove.pipeline.readers import JsonlReader
from langchain_community.document_loaders import JSONLoader
from llama_index.readers.json import JSONReader
from pyspark.sql import SparkSession, functions

EMPTY_BYTES = 12 << 20
CHUNK = 200


def emptied(value):
    """A record without optional values: what may be null is null, and lists are empty."""
    if isinstance(value, dict):
        return {key: emptied(item) for key, item in value.items()}
    return [] if isinstance(value, list) else value


def with_empty_start(source, target, optional):
    """Writes a copy whose first records have none of the optional fields."""
    first = json.loads(source.open().readline())
    empty = emptied(first)
    for path in optional:
        *parents, name = path.split(".")
        place = empty
        for parent in parents:
            place = place.get(parent) or {}
        if name in place:
            place[name] = None
    rows = 0
    with target.open("w") as out:
        while out.tell() < EMPTY_BYTES:
            out.write(json.dumps({**empty, "id": f"{rows:032x}", "text": "word " * 400}, ensure_ascii=False) + "\n")
            rows += 1
        for line in source.open():
            out.write(line)
    return rows


def nullable(path):
    """Fields that are null in some record of a file."""
    found = set()

    def visit(value, within):
        for key, item in value.items():
            name = f"{within}.{key}" if within else key
            if item is None:
                found.add(name)
            elif isinstance(item, dict):
                visit(item, name)

    for line in path.open():
        visit(json.loads(line), "")
    return found


def readers(features, cache):
    """Name → function that returns the number of records and of characters of a file."""

    def of_pandas(path):
        parts = list(pandas.read_json(path, lines=True, chunksize=CHUNK, dtype=False))
        kinds = {tuple(part.columns) for part in parts}
        assert len(kinds) == 1, "the chunks have other columns"
        return sum(map(len, parts)), sum(int(part["text"].str.len().sum()) for part in parts)

    def of_duckdb(path):
        query = "select count(*), sum(length(text)) from read_json($1, maximum_object_size = 100000000)"
        return duckdb.execute(query, [str(path)]).fetchone()

    def of_polars(path):
        table = polars.scan_ndjson(path).select(polars.len(), polars.col("text").str.len_chars().sum().alias("text"))
        return table.collect().row(0)

    def of_polars_whole(path):
        table = polars.read_ndjson(path, infer_schema_length=None)
        return len(table), table["text"].str.len_chars().sum()

    def of_datasets(path):
        rows = datasets.load_dataset("json", data_files=str(path), features=features, split="train", cache_dir=cache)
        return len(rows), sum(len(text) for text in rows["text"])

    def of_datatrove(path):
        # its reader takes any key "media" for a field of its own (docs/outputs.md); --lean has none
        chosen = pathlib.Path(cache) / "chosen" / path.name
        chosen.parent.mkdir(exist_ok=True)
        with chosen.open("w") as out:
            for line in path.open():
                record = json.loads(line)
                out.write(json.dumps({key: record[key] for key in ("id", "url", "text", "metadata")}) + "\n")
        documents = JsonlReader(str(chosen.parent), glob_pattern=path.name)()
        texts = [document.text for document in documents]
        return len(texts), sum(map(len, texts))

    def of_spark(path):
        rows = spark.read.json(str(path))
        assert "_corrupt_record" not in rows.columns, "a line is no record"
        return tuple(rows.select(functions.count("*"), functions.sum(functions.length("text"))).first())

    def of_langchain(path):
        loader = JSONLoader(str(path), jq_schema=".", content_key="text", json_lines=True)
        texts = [document.page_content for document in loader.lazy_load()]
        return len(texts), sum(map(len, texts))

    def of_llama_index(path):
        documents = JSONReader(is_jsonl=True, levels_back=None, clean_json=False).load_data(str(path))
        return len(documents), None

    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return {
        "pandas, chunks": of_pandas,
        "DuckDB": of_duckdb,
        "Polars, lazy": of_polars,
        "Polars": of_polars_whole,
        "datasets": of_datasets,
        "datatrove": of_datatrove,
        "Spark": of_spark,
        "LangChain JSONLoader": of_langchain,
        "LlamaIndex JSONReader": of_llama_index,
    }


def main(source, types):
    scope = {}
    exec(types.read_text(), scope)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "empty-start.jsonl"
        empty = with_empty_start(source, copy, nullable(source))
        # a reader of documents leaves out those without text
        texts = [json.loads(line)["text"] for line in source.open()]
        full = sum(1 for text in texts if text)
        print(f"{len(texts)} records, {source.stat().st_size / 1e6:.1f} MB; copy: {copy.stat().st_size / 1e6:.1f} MB")
        print("| reader | file | records | seconds | result |\n|---|---|---|---|---|")
        for name, read in readers(scope["features"], folder).items():
            for path, more in ((source, 0), (copy, empty)):
                began = time.monotonic()
                try:
                    rows, _ = read(path)
                    result = "loads" if rows in (len(texts) + more, full + more) else f"{rows} of {len(texts) + more}"
                except Exception as error:  # every library has its own
                    rows, result = 0, f"{type(error).__name__}: {str(error).splitlines()[0][:120]}"
                failed += result != "loads"
                print(f"| {name} | {path.name} | {rows} | {time.monotonic() - began:.1f} | {result} |", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    if sys.argv[1:] != ["--check"]:
        sys.exit(main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])))
