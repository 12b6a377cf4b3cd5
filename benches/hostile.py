#!/usr/bin/env python3
"""A crawl of a misbehaving server, compared with tests/hostile.toml.

    benches/hostile.py CRAWL_BINARY [SERVER.py] [--port N] [--limit-seconds 120] [--keep DIR] [--browser] [--short] [crawl flags ...]

The server is our own benches/hostile_server.py, or another with the same pages about itself: an index of its paths at /, the
expected behaviour of a good crawler at /_expected.json, its request counts at /_stats.json. The first label of the host selects
its robots.txt. The crawl starts at the index and, for each robots host, at /static/ok and at a path that some of them forbid.
Outcomes are read from the records and the error log. Other hosts speak faulty HTTP/2 (benches/hostile_h2.py).

Prints each path with its outcome, its requests and the remark of tests/hostile.toml, differences first. Exits with 1 if there is a
difference, or if the crawl did not end in time, exceeded its memory, or contacted a canary: a forbidden address.
"""
import argparse, collections, json, os, pathlib, resource, shutil, socket, subprocess, sys, tempfile, time, tomllib, urllib.request
from urllib.parse import urlsplit

MEMORY_MB = 300
# hosts out of scope that the robots.txt of one host names for its sitemaps
OTHERS = 30
PATIENCE = 10
HERE = pathlib.Path(__file__).parent
TABLE = HERE.parent / "tests" / "hostile.toml"


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


BROWSERS = ("/usr/lib/chromium/chromium-headless-shell", "chrome-headless-shell", "chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")
# settings of a short run
SHORT = {"FETCH_READ_TIMEOUT": "3s", "FETCH_TOTAL_TIMEOUT": "10s", "FETCH_BACKOFF": "500ms", "POLITENESS_BREAK_FOR": "1s", "CHROME_SETTLE": "1s", "CHROME_NAVIGATE": "4s"}
# pages that take all available resources end sooner, with less
BROWSER = {"CHROME_MAX_PAGE_BYTES": "16 MiB", "CHROME_MAX_PAGE_MEMORY": "512 MiB", "FETCH_STRATEGY": "chrome", "CRAWL_SITEMAPS": "false",
           # tabs of one site may share a process, whose end affects each
           "CHROME_TABS": "1"}


def run(binary, start, port, hosts, http2, folder, flags, limit, settings):
    """Wall seconds, peak MB, exit code (None if it had to be stopped), and output of the crawl."""
    names = [f"{host}.test" for host in hosts]
    with open(f"{folder}/seeds.txt", "w") as seeds:
        print(start, file=seeds)
        for name in names:
            print(f"http://{name}:{port}/static/ok\nhttp://{name}:{port}/private", file=seeds)
        for label in http2["hosts"] if http2 else ():
            print(f"https://{label}.h2.test:{http2['port']}/", file=seeds)
    words = [binary, "--seed", f"{folder}/seeds.txt", "--state-dir", f"{folder}/state", "-O", f"{folder}/pages.jsonl",
             "--delay", "0s", "--allow-address", "127.0.0.1/32", *flags]
    if "--host-concurrency" not in flags:
        # nearly all paths are on one host, and some of them hold their slot until the timeout
        words += ["--host-concurrency", "16"]
    for name in [*names, "robots-elsewhere.test", *(f"out{number}.test" for number in range(OTHERS))]:
        words += ["--resolve", f"{name}:{port}:127.0.0.1"]
    if http2:
        settings = {**settings, "FETCH_CA_FILE": http2["certificate"]}
        for label in http2["hosts"]:
            words += ["--resolve", f"{label}.h2.test:{http2['port']}:127.0.0.1"]
    started = time.monotonic()
    with open(f"{folder}/messages.txt", "w") as messages:
        environment = {**os.environ, **{f"CRAWL_{name}": value for name, value in settings.items()}}
        crawl = subprocess.Popen(words, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=messages)
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
    # the largest of the reaped children is the crawl, since the server still runs
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    with open(f"{folder}/messages.txt") as messages:
        return took, peak, code, messages.read()


def lines(path):
    if os.path.exists(path):
        with open(path) as text:
            yield from (json.loads(line) for line in text if line.endswith("\n"))


def outcomes(folder):
    """Outcomes and warnings by (host, path), with counts; and the texts of the records."""
    ends, marks = collections.defaultdict(collections.Counter), collections.defaultdict(collections.Counter)
    texts = collections.defaultdict(str)
    for record in lines(f"{folder}/pages.jsonl"):
        for url in {record["url"], record["metadata"]["sourceURL"]}:
            parts = urlsplit(url)
            ends[parts.netloc, parts.path]["record" if url == record["url"] else "redirected"] += 1
            marks[parts.netloc, parts.path].update(record["warnings"])
            texts[parts.netloc, parts.path] += record["text"]
    for line in lines(f"{folder}/state/errors.jsonl"):
        parts = urlsplit(line["url"])
        ends[parts.netloc, parts.path][line["kind"]] += 1
    return ends, marks, texts


def differences(entry, ends, marks, requests, text):
    """Violations of the table, in words."""
    if entry is None:
        return ["is not in the table"]
    # skipped links to it, and variants of it, are no outcomes
    found = {kind for kind in ends if not kind.startswith("trap_")} or {"counted"}
    words = [f"{kind}, not {' or '.join(entry['ends'])}" for kind in sorted(found - set(entry["ends"]))]
    words += [f"its record does not say {mark}" for mark in entry.get("marks", []) if mark not in marks]
    words += [f"its text has {word!r}" for word in entry.get("lacks", []) if word in text]
    words += [f"its text does not have {word!r}" for word in entry.get("has", []) if word not in text]
    if requests == 0 and entry.get("requests", 1) > 0 and not entry.get("unasked"):
        words.append("never asked for")
    if requests > entry.get("requests", requests):
        words.append(f"{requests} requests, not at most {entry['requests']}")
    return words


def table(expected, stats, ended, port, of_browser):
    """Rows of path, outcome, requests, differences, remark; differing ones first."""
    ends, marks, texts = ended
    allowed = tomllib.loads(TABLE.read_text())
    rows = []

    def row(name, entry, kinds, warnings, requests, text=""):
        remark = entry and (entry.get("why") or f"waits for {entry['waits']}" if "why" in entry or "waits" in entry else "")
        shown = ", ".join(f"{kind} x{n}" if n > 1 else kind for kind, n in kinds.most_common(4)) or "counted"
        rows.append((name, shown, requests, differences(entry, kinds, warnings, requests, text), remark or ""))

    for path, wish in expected["paths"].items():
        if (wish["category"] == "browser") != of_browser:
            continue
        at = (f"127.0.0.1:{port}", urlsplit(path).path)
        row(path, allowed["paths"].get(path), ends[at], marks[at], stats["hits"].get(wish["name"], 0), texts[at])
    for label in () if of_browser else expected["robots_hosts"]:
        host = f"{label}.test:{port}"
        kinds = sum((found for (name, _), found in ends.items() if name == host), collections.Counter())
        row(label, allowed["robots"].get(label), kinds, {}, stats["hosts"].get(host, 0))
    if not of_browser:
        asked = sum(name.startswith("out") for name in stats["robots"])
        row("sitemaps of other hosts", allowed["robots"].get("rothers"), collections.Counter(), {}, asked)
    http2 = not of_browser and expected.get("http2")
    for label in http2["hosts"] if http2 else ():
        at = (f"{label}.h2.test:{http2['port']}", "/")
        row(f"HTTP/2 {label}", allowed["http2"].get(label), ends[at], marks[at], stats["http2"].get(label, 0), texts[at])
    return sorted(rows, key=lambda row: not row[3])


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary")
    parser.add_argument("server", nargs="?", default=str(HERE / "hostile_server.py"))
    parser.add_argument("--port", type=int, default=free_port(), help="port of the server (default: a free one)")
    parser.add_argument("--limit-seconds", type=float, default=120)
    parser.add_argument("--keep", help="folder for the outputs (default: a temporary one)")
    parser.add_argument("--browser", action="store_true", help="the pages that abuse a browser, instead of the others")
    parser.add_argument("--short", action="store_true", help="small limits of time, so that a run takes less than a minute")
    given, flags = parser.parse_known_args()
    base = f"http://127.0.0.1:{given.port}"
    settings = {**(SHORT if given.short else {}), **(BROWSER if given.browser else {})}
    if given.browser and not any(shutil.which(name) for name in BROWSERS):
        print("skipped: pages that abuse a browser: there is no Chromium")
        return
    if given.browser and os.geteuid() == 0:
        flags.append("--chrome-no-sandbox")
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.keep or temporary
        os.makedirs(folder, exist_ok=True)
        server = subprocess.Popen([sys.executable, given.server, "--port", str(given.port), *(["--short"] if given.short else [])],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            expected = json.loads(wait_for(base, server))
            get(base, "/_reset")
            hosts = [] if given.browser else expected["robots_hosts"]
            http2 = None if given.browser else expected.get("http2")
            if not http2 and not given.browser:
                print("skipped: hosts of HTTP/2: there is no openssl, or another server")
            start = f"{base}/browser" if given.browser else f"{base}/"
            took, peak, code, messages = run(given.binary, start, given.port, hosts, http2, folder, flags, given.limit_seconds, settings)
            stats = json.loads(get(base, "/_stats.json"))
        finally:
            server.kill()
            server.wait()
        rows = table(expected, stats, outcomes(folder), given.port, given.browser)
    for path, outcome, hits, differs, remark in rows:
        print(f"{'DIFF' if differs else '    '} {path:24} {hits:4} requests  {outcome:52} {'; '.join(differs) or remark}")
    print(messages)
    canaries = sum(stats["canary"].values())
    different = sum(bool(row[3]) for row in rows)
    print(f"exit {'none: stopped' if code is None else code}, {took:.1f} s, {peak:.0f} MB at most, {canaries} canary hits, "
          f"{different} of {len(rows)} outcomes differ from {TABLE.name}")
    sys.exit(code is None or peak > MEMORY_MB or canaries > 0 or different > 0)


main()
