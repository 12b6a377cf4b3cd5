#!/usr/bin/env python3
"""A crawl of a server that misbehaves in every way it knows: how long, how much memory, and what differs from its wishes.

    benches/hostile.py CRAWL_BINARY HOSTILE_SERVER.py [--port 8800] [--limit-seconds 120] [--keep DIR] [crawl flags ...]

The server serves an index of its paths at /, what a good crawler does with each at /_expected.json, and what was asked of
it at /_stats.json; which robots.txt it gives is said by the first label of the host. The crawl starts at the index and,
for each robots host, at /static/ok and at a path that some of them forbid. Outcomes are read from the records and the error
log; the table lists each path with its outcome, its requests and the wish, those first that break a number in the wish.
Ends with 1 if the crawl did not end by itself in time, took more memory than allowed, or touched a canary: an address that no
crawl may contact.
"""
import argparse, collections, json, os, re, resource, subprocess, sys, tempfile, time, urllib.request
from urllib.parse import urlsplit

MEMORY_MB = 300
PATIENCE = 10
# Wishes in numbers: at most so many requests of a path.
AT_MOST = re.compile(r"<= (\d+) hits|at most (\d+) hits|\((0) hits\)|^(0) hits")


def get(base, path):
    with urllib.request.urlopen(base + path, timeout=PATIENCE) as answer:
        return answer.read()


def wait_for(base, server):
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return get(base, "/_expected.json")
        except OSError:
            if time.monotonic() > deadline or server.poll() is not None:
                sys.exit("the server does not answer")
            time.sleep(0.1)


def run(binary, base, port, hosts, folder, flags, limit):
    """Wall seconds, peak MB, exit code (None if it had to be stopped), and what the crawl said."""
    names = [f"{host}.test" for host in hosts]
    with open(f"{folder}/seeds.txt", "w") as seeds:
        print(f"{base}/", file=seeds)
        for name in names:
            print(f"http://{name}:{port}/static/ok\nhttp://{name}:{port}/private", file=seeds)
    words = [binary, "--seed", f"{folder}/seeds.txt", "--state-dir", f"{folder}/state", "-O", f"{folder}/pages.jsonl",
             "--delay", "0s", "--allow-address", "127.0.0.1/32", *flags]
    if "--host-concurrency" not in flags:
        # nearly all paths are those of one host, and some of them hold their place until it is timed out
        words += ["--host-concurrency", "16"]
    for name in [*names, "robots-elsewhere.test"]:
        words += ["--resolve", f"{name}:{port}:127.0.0.1"]
    started = time.monotonic()
    with open(f"{folder}/messages.txt", "w") as messages:
        crawl = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=messages)
        try:
            code = crawl.wait(limit)
        except subprocess.TimeoutExpired:
            crawl.terminate()
            code = None
            try:
                crawl.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                crawl.kill()
                crawl.wait()
    took = time.monotonic() - started
    # of the children that were waited for the largest: the server is still on, so it is the crawl
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    with open(f"{folder}/messages.txt") as messages:
        return took, peak, code, messages.read()


def lines(path):
    if os.path.exists(path):
        with open(path) as text:
            yield from (json.loads(line) for line in text if line.endswith("\n"))


def outcomes(folder):
    """(host, path without query) → how its URLs ended, with how often."""
    out = collections.defaultdict(collections.Counter)
    for record in lines(f"{folder}/pages.jsonl"):
        kind = "+".join(["record", *record["warnings"]])
        for url in {record["url"], record["metadata"]["sourceURL"]}:
            parts = urlsplit(url)
            out[parts.netloc, parts.path][kind if url == record["url"] else "redirected to a record"] += 1
    for line in lines(f"{folder}/state/errors.jsonl"):
        parts = urlsplit(line["url"])
        out[parts.netloc, parts.path][line["kind"]] += 1
    return out


def shown(counter):
    return ", ".join(f"{kind} x{n}" if n > 1 else kind for kind, n in counter.most_common(4)) or "-"


def table(expected, stats, ended, port):
    """Rows of path, outcome, requests, wish; those that break a number in the wish first."""
    rows = []
    here = f"127.0.0.1:{port}"
    for path, wish in expected["paths"].items():
        hits = stats["hits"].get(wish["name"], 0)
        prefix = re.sub(r"[^/]*$", "", path) if wish["category"] in ("trap", "dup") else None
        counter = collections.Counter()
        for (host, asked), kinds in ended.items():
            if host == here and (asked == path or (prefix not in (None, "/") and asked.startswith(prefix))):
                counter += kinds
        limits = [int(n) for groups in AT_MOST.findall(wish["expect"]) for n in groups if n]
        rows.append((not any(hits > n for n in limits), path, shown(counter), hits, wish["expect"]))
    for label, wish in expected["robots_hosts"].items():
        host = f"{label}.test:{port}"
        counter = sum((kinds for (name, _), kinds in ended.items() if name == host), collections.Counter())
        hits = stats["hosts"].get(host, 0)
        nothing = wish.startswith("0 page fetches") or "0 page fetches" in wish
        rows.append((not (nothing and hits), host, shown(counter), hits, wish))
    return sorted(rows, key=lambda row: row[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary")
    parser.add_argument("server")
    parser.add_argument("--port", type=int, default=8800)
    parser.add_argument("--limit-seconds", type=float, default=120)
    parser.add_argument("--keep", help="folder for the outputs (default: a temporary one)")
    given, flags = parser.parse_known_args()
    base = f"http://127.0.0.1:{given.port}"
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.keep or temporary
        os.makedirs(folder, exist_ok=True)
        server = subprocess.Popen([sys.executable, given.server, "--port", str(given.port)],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            expected = json.loads(wait_for(base, server))
            get(base, "/_reset")
            took, peak, code, messages = run(given.binary, base, given.port, expected["robots_hosts"], folder, flags,
                                             given.limit_seconds)
            stats = json.loads(get(base, "/_stats.json"))
        finally:
            server.kill()
            server.wait()
        rows = table(expected, stats, outcomes(folder), given.port)
    for agrees, path, outcome, hits, wish in rows:
        print(f"{'    ' if agrees else 'DIFF'} {path:32} {hits:5} requests  {outcome:60} | {wish[:110]}")
    print(messages)
    canaries = sum(stats["canary"].values())
    print(f"exit {'none: stopped' if code is None else code}, {took:.1f} s, {peak:.0f} MB at most, {canaries} canary hits, "
          f"{sum(not row[0] for row in rows)} of {len(rows)} wishes in numbers broken")
    sys.exit(code is None or peak > MEMORY_MB or canaries > 0)


main()
