#!/usr/bin/env python3
"""Crawls of odd small sites, each compared with the pages that a person would want.

    benches/odd_sites.py CRAWL_BINARY [--only NAME] [--jobs N] [--keep DIR] [--all]

benches/odd_sites_data.py has the sites: pages, the paths that records have to have (`want`), paths that must not be asked for
(`avoid`), the most requests for pages, exit code, and words of messages or of the error log (`says`). benches/odd_sites_server.py
serves them on 127.0.0.1. Each site is a crawl of its own.

Prints each site that differs (with --all: each site) with wanted and found records. Exits with 1 if a site differs that has no
remark (`known`).
"""
import argparse, concurrent.futures, json, os, pathlib, re, subprocess, sys, tempfile, time
from urllib.parse import urlsplit

import odd_sites_more, odd_sites_servers  # noqa: F401 (they add sites)
from odd_sites_data import SITES
from odd_sites_server import Sites, serve

# requests that are not for pages
BESIDE = re.compile(r"/(robots\.txt|ai\.txt|\.well-known/tdmrep\.json)$|crawl-probe|[0-9a-f]{16}")
PATIENCE = 60


def crawl(binary, name, site, port, folder):
    """Seconds, exit code and messages of the crawl of a site."""
    seeds = [f"http://{name}.test:{port}{path}" if path.startswith("/") else path.format(port=port) for path in site.get("seeds", ["/"])]
    words = [binary, *seeds, "--state-dir", f"{folder}/state", "-o", f"{folder}/pages.jsonl",
             "--allow-address", "127.0.0.0/8", "--strategy", "static", *site.get("flags", [])]
    for host in [name, *site.get("hosts", [])]:
        words += ["--resolve", f"{host}.test:{port}:127.0.0.1"]
    settings = {"POLITENESS_DELAY": "20ms", "FETCH_BACKOFF": "300ms", "FETCH_READ_TIMEOUT": "3s", "FETCH_TOTAL_TIMEOUT": "8s", "POLITENESS_BREAK_FOR": "1s", **site.get("settings", {})}
    environment = {**os.environ, **{f"CRAWL_{key}": value for key, value in settings.items()}}
    began = time.monotonic()
    try:
        done = subprocess.run(words, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)
        code, messages = done.returncode, done.stderr
    except subprocess.TimeoutExpired as late:
        code, messages = None, (late.stderr or b"").decode()
    return time.monotonic() - began, code, messages


def lines(path):
    if os.path.exists(path):
        with open(path) as text:
            yield from (json.loads(line) for line in text if line.endswith("\n"))


def place(name, url):
    """The path of a URL; with its host if that is another one."""
    parts = urlsplit(url)
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    host = (parts.hostname or "").removesuffix(".test")
    return path if host == name else host + path


def compared(name, site, asked, folder, took, code, messages):
    """Differences, and a line of facts."""
    records = {place(name, record["url"]): record for record in lines(f"{folder}/pages.jsonl")}
    errors = list(lines(f"{folder}/state/errors.jsonl"))
    told = messages + "\n".join(f"{line['kind']} {line['message']}" for line in errors)
    want = set(site.get("want", "").split())
    paths = [path for path, _ in asked[name] if not BESIDE.search(path)]
    words = []
    if want - records.keys():
        words.append("lacks " + " ".join(sorted(want - records.keys())))
    if not site.get("more") and records.keys() - want:
        words.append("has " + " ".join(sorted(records.keys() - want)[:12]))
    if avoided := sorted(set(paths) & set(site.get("avoid", "").split())):
        words.append("asked for " + " ".join(avoided))
    if len(paths) > site.get("most", 3 * len(want) + 5):
        words.append(f"{len(paths)} requests, not at most {site.get('most', 3 * len(want) + 5)}")
    if code != site.get("code", 0):
        words.append(f"exit code {code}, not {site.get('code', 0)}")
    if took > site.get("seconds", 40):
        words.append(f"{took:.0f} seconds")
    words += [f"does not say {wish!r}" for wish in site.get("says", []) if not re.search(wish, told)]
    for path, test in site.get("record", {}).items():
        if path in records and not test(records[path], asked):
            words.append(f"record of {path} is not as wanted")
    if "check" in site and (problem := site["check"](asked[name], records)):
        words.append(problem)
    kinds = " ".join(sorted(f"{line['kind']}({place(name, line['url'])})" for line in errors))
    return words, f"{len(records)} records, {len(paths)} requests, code {code}, {took:.1f} s; {kinds[:300]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary")
    parser.add_argument("--only", help="sites whose names match this regular expression")
    parser.add_argument("--jobs", type=int, default=6, help="crawls at a time")
    parser.add_argument("--keep", help="folder for the outputs (default: a temporary one)")
    parser.add_argument("--all", action="store_true", help="print sites without differences too")
    given = parser.parse_args()
    chosen = {name: site for name, site in SITES.items() if not site.get("hidden") and (not given.only or re.search(given.only, name))}
    sites = Sites(SITES)
    server = serve(sites)
    port = server.server_address[1]
    bad = []
    with tempfile.TemporaryDirectory() as temporary:
        def one(name):
            folder = pathlib.Path(given.keep or temporary) / name
            folder.mkdir(parents=True, exist_ok=True)
            took, code, messages = crawl(given.binary, name, SITES[name], port, folder)
            (folder / "messages.txt").write_text(messages)
            (folder / "asked.txt").write_text("".join(f"{at:7.3f} {path}\n" for path, at in sites.asked[name]))
            return name, *compared(name, SITES[name], sites.asked, folder, took, code, messages)

        with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
            for name, words, facts in pool.map(one, chosen):
                known = chosen[name].get("known")
                if words and not known:
                    bad.append(name)
                if words or given.all:
                    print(f"{'ok   ' if not words else 'known' if known else 'DIFF '} {name}: {chosen[name]['why']}")
                    print(f"      {facts}")
                    for word in words:
                        print(f"      - {word}")
                    if words and known:
                        print(f"      ({known})")
                    sys.stdout.flush()
    print(f"{len(chosen)} sites, {len(bad)} differences: {' '.join(bad)}")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
