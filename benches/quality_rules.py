#!/usr/bin/env python3
"""Compares the rules of Gopher, C4 and FineWeb with datatrove's, on the same words, document by document.

    python3 -m venv v && v/bin/pip install datatrove regex
    v/bin/python benches/quality_rules.py CORPUS.jsonl[.gz] [--documents 2000] [--language en]

CORPUS holds lines with `id` and `text`. `cargo run --release -p crawl-quality --example quality_scores` gives words, sentences,
stop words, values and failures. datatrove's filters get those words, and run twice: unchanged, for their decision, and with
recording thresholds that pass everything, for their values. Prints the differences; the exit code is 1 if there are any.
"""
import argparse
import gzip
import itertools
import json
import math
import subprocess
import sys
from collections import Counter

import datatrove.utils.text as datatrove_text
import datatrove.utils.word_tokenizers as tokenizers
from datatrove.data import Document
from datatrove.pipeline.filters.c4_filters import C4QualityFilter
from datatrove.pipeline.filters.fineweb_quality_filter import FineWebQualityFilter
from datatrove.pipeline.filters.gopher_quality_filter import GopherQualityFilter
from datatrove.pipeline.filters.gopher_repetition_filter import GopherRepetitionFilter

GRAMS_TOP = ((2, 0.2), (3, 0.18), (4, 0.16))
GRAMS_DUP = ((5, 0.15), (6, 0.14), (7, 0.13), (8, 0.12), (9, 0.11), (10, 0.10))


class Given:
    """A tokenizer that returns our program's results for the current document."""

    def __init__(self):
        self.words, self.sentences = [], {}

    def word_tokenize(self, text):
        return self.words

    def span_tokenize(self, line):
        # only their number counts
        return [(0, 0)] * self.sentences[line]


class Probe:
    """A threshold that records the compared values, and that nothing fails."""

    def __init__(self):
        self.seen = None

    def __lt__(self, value):  # value > probe
        self.seen = value
        return False

    def __gt__(self, value):  # value < probe
        self.seen = value
        return False


def probed(given):
    """Probes by names of our rules, and the filters that use them."""
    p = {}

    def probe(name):
        p[name] = Probe()
        return p[name]

    repetition = GopherRepetitionFilter(
        dup_line_frac=probe("gopher_repetition.dup_line_frac"),
        dup_para_frac=probe("gopher_repetition.dup_para_frac"),
        dup_line_char_frac=probe("gopher_repetition.dup_line_char_frac"),
        dup_para_char_frac=probe("gopher_repetition.dup_para_char_frac"),
        top_n_grams=tuple((n, probe(f"gopher_repetition.top_{n}_gram")) for n, _ in GRAMS_TOP),
        dup_n_grams=tuple((n, probe(f"gopher_repetition.duplicated_{n}_n_grams")) for n, _ in GRAMS_DUP),
    )
    # one setting of datatrove is the threshold of two rules: each has a separate filter
    hashes, ellipses = Probe(), Probe()
    p["gopher_quality.too_many_hashes"], p["gopher_quality.too_many_ellipsis"] = hashes, ellipses

    class Symbols(Probe):
        def __lt__(self, value):
            # the first comparison is about hashes, the second about ellipses
            (hashes if self.first else ellipses).seen = value
            self.first = not self.first
            return False

    symbols = Symbols()
    symbols.first = True
    quality = GopherQualityFilter(
        min_doc_words=probe("gopher_quality.short_doc"),
        max_doc_words=probe("gopher_quality.long_doc"),
        min_avg_word_length=probe("gopher_quality.below_avg_threshold"),
        max_avg_word_length=probe("gopher_quality.above_avg_threshold"),
        max_symbol_word_ratio=symbols,
        max_bullet_lines_ratio=probe("gopher_quality.too_many_bullets"),
        max_ellipsis_lines_ratio=probe("gopher_quality.too_many_end_ellipsis"),
        max_non_alpha_words_ratio=probe("gopher_quality.below_alpha_threshold"),
        min_stop_words=probe("gopher_quality.enough_stop_words"),
        stop_words=given,
    )
    c4 = C4QualityFilter(min_num_sentences=probe("c4.too_few_sentences"))
    fineweb = FineWebQualityFilter(
        line_punct_thr=probe("fineweb.line_punct_ratio"),
        short_line_thr=probe("fineweb.short_line_ratio"),
        char_duplicates_ratio=probe("fineweb.char_dup_ratio"),
        new_line_ratio=probe("fineweb.list_ratio"),
    )
    return p, (repetition, quality, c4, fineweb)


def reason(result):
    return None if result is True else result[1]


def compare(document, text, given, known, tell):
    """Compares one document; returns the number of decisions and values."""
    given.words, given.sentences = document["words"], document["sentences"]
    ours = {}
    for name in document["failed"]:
        ours.setdefault(name.split(".")[0], name.split(".")[1])
    stop_words = document["stop_words"]
    decisions = {
        "gopher_repetition": GopherRepetitionFilter(),
        "gopher_quality": GopherQualityFilter(stop_words=stop_words, min_stop_words=2 if stop_words else None),
        "c4": C4QualityFilter(),
        "fineweb": FineWebQualityFilter(),
    }
    if not given.words:
        return 0, 0
    for name, rules in decisions.items():
        known()
        theirs = reason(rules.filter(Document(text=text, id="")))
        theirs = theirs and theirs.removeprefix("gopher_")
        if theirs != ours.get(name):
            tell(f"{document['id']}: {name}: datatrove {theirs}, here {ours.get(name)}")
    probes, filters = probed(stop_words or [])
    for rules in filters:
        known()
        copy = Document(text=text, id="")
        rules.filter(copy)
    values = document["values"]
    # C4 returns at lorem ipsum and at a curly bracket, and its lines are counted up to there
    if values["c4.lorem_ipsum"] or values["c4.curly_bracket"]:
        del probes["c4.too_few_sentences"]
    else:
        stats = Counter({name: stat.total for name, stat in filters[2].stats.stats.items()})
        lines = stats["line-total"] or 1
        for ours_name, theirs_name in (("too_long_word", "filter-too_long_word"), ("no_terminal_punc", "filter-no_terminal_punc"),
                                       ("too_few_words", "filter-too_few_words"), ("javascript", "filter-javascript"),
                                       ("policy", "filter-policy"), ("line_kept", "kept")):
            probe = probes[f"c4.{ours_name}"] = Probe()
            probe.seen = stats[f"line-{theirs_name}"] / lines
    compared = 0
    for name, probe in probes.items():
        theirs, value = probe.seen, values[name]
        if theirs is None or (isinstance(theirs, float) and math.isnan(theirs)):
            continue  # no value: too few words for an n-gram, or no word for a mean
        if name == "gopher_quality.enough_stop_words" and stop_words is None:
            continue
        compared += 1
        if value is None or abs(float(theirs) - value) > 1e-12:
            tell(f"{document['id']}: {name}: datatrove {theirs}, here {value}")
    return len(decisions), compared


def documents(path, most):
    opened = gzip.open(path, "rt") if path.endswith(".gz") else open(path)
    with opened as lines:
        for line in itertools.islice(lines, most):
            yield json.loads(line)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus")
    parser.add_argument("--documents", type=int, default=2000)
    parser.add_argument("--language", default="en", help="whose stop words are asked (default: en)")
    parser.add_argument("--scores", help="the example, built (default: cargo runs it)")
    arguments = parser.parse_args()
    command = [arguments.scores] if arguments.scores else [
        "cargo", "run", "-q", "--release", "-p", "crawl-quality", "--example", "quality_scores"]
    given = Given()
    tokenizers.load_word_tokenizer = lambda language: given
    # datatrove caches the words of the last texts; its key has the language, but not the given words
    known = datatrove_text.split_into_parts.cache_clear
    texts = list(documents(arguments.corpus, arguments.documents))
    lines = "".join(json.dumps({"id": d["id"], "text": d["text"], "language": arguments.language}) + "\n" for d in texts)
    found = subprocess.run(command, input=lines.encode(), stdout=subprocess.PIPE, check=True).stdout.splitlines()
    different, decisions, values, dropped = [], 0, 0, Counter()
    for ours, theirs in zip(map(json.loads, found), texts, strict=True):
        some = compare(ours, theirs["text"], given, known, different.append)
        decisions, values = decisions + some[0], values + some[1]
        dropped.update({name.split(".")[0] for name in ours["failed"]})
    for line in different[:50]:
        print(line)
    print(f"{len(texts)} documents, language {arguments.language}: {decisions} decisions and {values} values compared, {len(different)} differences")
    print("documents that fail: " + ", ".join(f"{name} {count}" for name, count in sorted(dropped.items())))
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
