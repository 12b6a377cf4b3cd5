#!/usr/bin/env python3
"""A recrawl by several workers over a crawl that one made, and a crawl that moves: the records of one process with SQLite.

    benches/postgres_nights.py CRAWL_BINARY [--workers 3] [--hosts 20] [--pages 200]

Needs Debian's package postgresql. Each night a tenth of the pages of a generated site changes, some are new and some are gone. A process with
SQLite makes all nights. In PostgreSQL one worker makes the first night, and several workers make the second one. `crawl state copy` then
brings the crawl into a directory, where a process makes the third night. Exits with 1 if a night has other records.
"""
import argparse, collections, http.server, json, os, subprocess, sys, tempfile, threading, time
from postgres_faults import Database, Page


class Host(http.server.ThreadingHTTPServer):
    """A tree of pages by night."""
    daemon_threads, night = True, 0

    def __init__(self, pages):
        self.pages = pages
        super().__init__(("127.0.0.1", 0), Night)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_):
        """Connections end with their process."""


class Night(Page):
    def do_GET(self):
        night, pages = Host.night, self.server.pages + 10 * Host.night
        number = int(self.path[1:] or 0) if self.path != "/robots.txt" else -1
        # a page that is gone has no page below it
        if not 0 <= number < pages or (number > pages // 2 and number % 37 == night > 0):
            return self.answer(404, b"")
        version = sum((number + earlier) % 10 == 0 for earlier in range(1, night + 1))
        links = "".join(f'<a href="/{n}">page {n}</a> ' for n in range(3 * number + 1, 3 * number + 4) if n < pages)
        words = " ".join(f"word{number}x{k}v{version} of the page number {number}" for k in range(40))
        self.answer(200, f"<html><head><title>page {number}</title></head><body><main><p>{words}</p>{links}</main></body></html>".encode())


def start(args, folder, state, output, *more):
    words = [os.path.abspath(args.binary), "--seed", f"{folder}/seeds", "--delay", "0s", "--allow-address", "127.0.0.0/8", "--recrawl", "all",
             "--state-dir", f"{folder}/{state}", "-o", output, "--quiet", *more]
    settings = {"CRAWL_CRAWL_SOFT404": "false", "CRAWL_CRAWL_AI_OPTOUT_FILES": "false", "CRAWL_TRAPS_TEMPLATE_CREDIT": "1000000",
                "CRAWL_RECRAWL_CONFIRM_GONE": "500ms", "CRAWL_FETCH_ROBOTS_MAX_AGE": "1h", "CRAWL_DEDUP_RELEASE": "settled"}
    return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env={**os.environ, **settings})


def finish(processes):
    """Waits for processes; returns seconds."""
    began = time.monotonic()
    for process in processes:
        if process.wait():
            sys.exit(f"a process ended with {process.returncode}")
    return time.monotonic() - began


class Records:
    """Records of the files of a crawl, each read once."""

    def __init__(self):
        self.read = collections.Counter()

    def new(self, paths):
        records = collections.Counter()
        for path in paths:
            with open(path, "rb") as file:
                file.seek(self.read[path])
                for line in file:
                    record = json.loads(line)
                    records[record["url"], record["metadata"].get("change"), record.get("text")] += 1
                self.read[path] = file.tell()
        return records


def parts(args, store):
    listed = subprocess.run([args.binary, "outputs", "--json", *store], check=True, capture_output=True).stdout
    return [part["path"] for part in json.loads(listed)]


def compare(name, alone, found, seconds):
    changes = collections.Counter(change for _, change, _ in found.elements())
    differ = (alone - found) + (found - alone)
    print(f"{name}: {found.total()} records ({dict(changes)}) in {seconds:.1f} s, {differ.total()} others than SQLite's", flush=True)
    for url, change, _ in list(differ)[:5]:
        print(f"  {url} {change}")
    return differ.total()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--hosts", type=int, default=20)
    parser.add_argument("--pages", type=int, default=200)
    args = parser.parse_args()
    hosts, others = [Host(args.pages) for _ in range(args.hosts)], 0
    with tempfile.TemporaryDirectory(prefix="postgres-nights-") as folder:
        os.chmod(folder, 0o755)
        for name in ("pg", "out"):
            os.makedirs(f"{folder}/{name}")
        with open(f"{folder}/seeds", "w") as seeds:
            seeds.writelines(f"http://127.0.0.1:{host.server_port}/\n" for host in hosts)
        database = Database(f"{folder}/pg")
        store, output = ["--store", database.url, "--crawl", "c"], f"{folder}/out/*.jsonl"
        alone, shared, alone_path = Records(), Records(), f"{folder}/alone.jsonl"
        for night, workers in enumerate((1, args.workers)):
            Host.night = night
            taken = finish([start(args, folder, "alone", alone_path)])
            wanted = alone.new([alone_path])
            print(f"night {night + 1} with SQLite: {wanted.total()} records in {taken:.1f} s", flush=True)
            seconds = finish([start(args, folder, f"w{n}", output, *store) for n in range(workers)])
            others += compare(f"night {night + 1}, workers {workers}", wanted, shared.new(parts(args, store)), seconds)
        Host.night = 2
        finish([start(args, folder, "alone", alone_path)])
        wanted = alone.new([alone_path])
        words = [args.binary, "state", "copy", database.url, f"sqlite:{folder}/copy", "--crawl", "c"]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        seconds = finish([start(args, folder, "copy", f"{folder}/copy.jsonl", "--emit", "changes")])
        others += compare("night 3 of the copy with SQLite", wanted, Records().new([f"{folder}/copy.jsonl"]), seconds)
        database.stop()
    sys.exit(bool(others))


if __name__ == "__main__":
    main()
