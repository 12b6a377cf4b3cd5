#!/usr/bin/env python3
"""Extraction of the test pages of newspaper4k, beside trafilatura: F1 of words by page.

    benches/newspaper_pages.py CRAWL_BINARY [--source NEWSPAPER4K.tar.gz]

The source distribution of newspaper4k has pages in eight languages and their texts. It is fetched by `pip download` unless it is
given. trafilatura has to be installed. In scripts without spaces each character is a word.
"""
import argparse, base64, collections, json, pathlib, re, statistics, subprocess, sys, tarfile, tempfile

import trafilatura

WORD = re.compile(r"[\u0e00-\u0e7f\u1000-\u109f\u3040-\u30ff\u4e00-\u9fff]|[^\W_]+")


def f1(found, wanted):
    """F1 of the words of two texts."""
    found, wanted = (collections.Counter(WORD.findall(text.lower())) for text in (found, wanted))
    same = sum((found & wanted).values())
    return 2 * same / max(found.total() + wanted.total(), 1)


def fetched(folder):
    """The source distribution, by pip."""
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", "newspaper4k",
                    "--dest", folder], check=True)
    return next(pathlib.Path(folder).glob("newspaper4k-*.tar.gz"))


def pages(source):
    """Bytes and text of each page that has both, by name."""
    with tarfile.open(source) as archive:
        data = {pathlib.PurePath(member.name).parts[-2:]: archive.extractfile(member).read()
                for member in archive if member.isfile() and "/tests/data/" in member.name}
    texts = {name[:-len(".txt")]: text.decode() for (folder, name), text in data.items() if folder == "txt"}
    return {name: (data["html", name + ".html"], text) for name, text in sorted(texts.items()) if ("html", name + ".html") in data}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--source", help="source distribution of newspaper4k")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        wanted = pages(args.source or fetched(folder))
    lines = "".join(json.dumps({"id": name, "html_base64": base64.b64encode(html).decode()}) + "\n" for name, (html, _) in wanted.items())
    done = subprocess.run([args.binary, "extract", "--jsonl", "--format", "text"], input=lines, capture_output=True, text=True, check=True)
    texts = {record["id"]: record["text"] for record in map(json.loads, done.stdout.splitlines())}
    print(f"{'page':24s} {'crawl':>6s} {'trafilatura':>12s}")
    scores = []
    for name, (html, text) in wanted.items():
        ours, theirs = f1(texts[name], text), f1(trafilatura.extract(html, include_comments=False) or "", text)
        scores.append((ours, theirs))
        print(f"{name:24s} {ours:6.3f} {theirs:12.3f}")
    ours, theirs = (statistics.mean(column) for column in zip(*scores))
    print(f"{f'mean of {len(scores)}':24s} {ours:6.3f} {theirs:12.3f}")


if __name__ == "__main__":
    main()
