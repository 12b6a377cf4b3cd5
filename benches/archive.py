#!/usr/bin/env python3
"""Cost of `--warc`, a check of its archive by warcio, and a comparison of `crawl replay` with the crawl's records.

    BED=DIR benches/archive.py CRAWL_BINARY [--rounds 3] [--limit N]

BED is a folder as for compare_sites.py. The sites are crawled with and without --warc in turn; the first one alternates
between rounds. CPU seconds are the kernel's (wait4). The cost is the median of the rounds' ratios. Needs the package warcio
(tests/python/requirements-data.txt). Exits with 1 if a digest is wrong, a record is unreadable, or a replayed record differs.
"""
import argparse, collections, glob, json, os, shutil, statistics, subprocess, sys, tempfile, time

from warcio.archiveiterator import ArchiveIterator

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from compare_sites import check, ours


def measure(command, log):
    """Runs a command; wall seconds, user CPU seconds, exit code."""
    start = time.monotonic()
    with open(log, "wb") as messages:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=messages)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return {"wall": time.monotonic() - start, "user": usage.ru_utime, "sys": usage.ru_stime, "code": process.returncode}


def cost(times, parts):
    """Median over the rounds of the ratio of a run with an archive to one without."""
    sums = {name: [sum(run[part] for part in parts) for run in runs] for name, runs in times.items()}
    return statistics.median(a / b for a, b in zip(sums["with"], sums["without"]))


def records(path):
    """Records of a file by URL; a duplicate is an error."""
    found = {}
    with open(path) as lines:
        for line in lines:
            record = json.loads(line)
            assert record["url"] not in found, record["url"]
            found[record["url"]] = record
    return found


def read(folder):
    """Reads an archive with warcio; returns records by type, those with a wrong digest, and bytes."""
    types, wrong, size = collections.Counter(), 0, 0
    for path in sorted(glob.glob(f"{folder}/*")):
        size += os.path.getsize(path)
        assert path.endswith(".warc.gz"), f"{path} was left open"
        with open(path, "rb") as stream:
            for record in ArchiveIterator(stream, check_digests=True):
                while record.content_stream().read(1 << 20):
                    pass
                types[record.rec_type] += 1
                if record.digest_checker.passed is False:
                    wrong += 1
                    print("wrong:", record.rec_headers.get_header("WARC-Record-ID"), record.digest_checker.problems)
    return types, wrong, size


def differences(crawled, replayed):
    """Differing fields, by count; times of fetching are left out."""
    found = collections.Counter()
    for url in crawled.keys() | replayed.keys():
        a, b = crawled.get(url), replayed.get(url)
        if a is None or b is None:
            found["missing" if b is None else "extra"] += 1
            continue
        for record in (a, b):
            record["metadata"].pop("fetchedAt")
        for key in a.keys() | b.keys():
            if a.get(key) != b.get(key):
                parts = [""] if not isinstance(a.get(key), dict) else [f".{k}" for k in a[key].keys() | b[key].keys() if a[key].get(k) != b[key].get(k)]
                for part in parts:
                    found[key + part] += 1
                    if found[key + part] <= 3:
                        print("differs:", url, key + part)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=int, default=0, help="stop after so many records")
    args = parser.parse_args()
    bed = os.environ.get("BED") or sys.exit("BED is not set: the folder with seeds.txt")
    binary, times = os.path.abspath(args.binary), {"without": [], "with": []}
    with tempfile.TemporaryDirectory(prefix="bench-archive-") as folder:
        log = f"{folder}/log"
        for n in range(args.rounds):
            turns = [("without", []), ("with", ["--warc", f"{folder}/with/warc"])]
            for name, flags in turns if n % 2 == 0 else reversed(turns):
                shutil.rmtree(f"{folder}/{name}", ignore_errors=True)
                os.makedirs(f"{folder}/{name}")
                result = measure(ours(binary, bed, f"{folder}/{name}", args.limit) + flags, log)
                check(name, result, log, (5,) if args.limit else (0,))
                times[name].append(result)
                print(f"{name:8s} user {result['user']:6.1f} s  system {result['sys']:6.1f} s  wall {result['wall']:6.1f} s", flush=True)
        print(f"CPU with --warc / without: user {cost(times, ['user']):.3f}, user and system {cost(times, ['user', 'sys']):.3f}")
        types, wrong, size = read(f"{folder}/with/warc")
        print(f"warcio: {sum(types.values())} records {dict(types)}, {wrong} wrong digests, {size / 1e6:.1f} MB")
        result = measure([binary, "replay", f"{folder}/with/warc", "-O", f"{folder}/again.jsonl", "--quiet"], log)
        check("replay", result, log, (0,))
        crawled, replayed = records(f"{folder}/with/pages.jsonl"), records(f"{folder}/again.jsonl")
        found = differences(crawled, replayed)
        print(f"replay: {len(replayed)} of {len(crawled)} records, user {result['user']:.1f} s; differences: {dict(found) or 'none'}")
    sys.exit(1 if wrong or found else 0)


if __name__ == "__main__":
    main()
