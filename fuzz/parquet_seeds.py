"""Writes the seeds of the target parquet: small tables with each codec and encoding. Needs pyarrow.

python3 fuzz/parquet_seeds.py
"""

import pathlib

import pyarrow as pa
import pyarrow.parquet as pq

FOLDER = pathlib.Path(__file__).parent / "seeds" / "parquet"
PLAIN = {"compression": "none", "use_dictionary": False, "write_statistics": False, "store_schema": False}
TABLE = {"url": ["https://h.test/a", "https://h.test/b"], "text": ["Text.", None]}


def write(name: str, table: dict, **options) -> None:
    pq.write_table(pa.table(table), FOLDER / name, **(PLAIN | options))


FOLDER.mkdir(exist_ok=True)
for codec in ["none", "snappy", "gzip", "brotli", "lz4", "zstd"]:
    write(f"codec-{codec}", TABLE, compression=codec)
write("dictionary", {"text": ["a", "b"] * 20}, use_dictionary=True)
write("pages-v2", TABLE, data_page_version="2.0", compression="zstd")
for encoding in ["DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"]:
    write(encoding.lower(), TABLE, column_encoding=dict.fromkeys(TABLE, encoding))
write("html-bytes", {"id": [1, 2], "html": [b"<p>caf\xe9</p>", b""]})
write("nested", {"text": ["a", "b"], "links": [["x", None], []], "meta": [{"a": 1}, None]})
write("groups", {"text": list("abcdef")}, row_group_size=2, write_statistics=True, write_page_checksum=True)
write("no-text", {"number": [1, 2, 3]})
