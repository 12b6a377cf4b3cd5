#!/usr/bin/env python3
"""Several workers in PostgreSQL over many hosts: spread of the records, gaps at hosts and addresses, a worker that joins, one that leaves.

    benches/postgres_spread.py CRAWL_BINARY [--hosts 2000] [--a-address 2] [--workers 4] [--delay 10] [--pages 18] [--phase 50]

Needs Debian's package postgresql. All workers but one begin. The last one joins after a phase. The records of the third phase are compared by
worker. Then one worker is terminated, and the crawl goes on to its end. Exits with 1 if a page is lost or twice, or a gap is too short.
"""
import argparse, asyncio, collections, json, os, subprocess, sys, tempfile, threading, time
from postgres_faults import Database

SHARE = 0.25


class Hosts:
    """Generated hosts on loopback, `a_address` ports an address, with the times of their requests."""

    def __init__(self, hosts, a_address, pages):
        self.pages, self.times = pages, collections.defaultdict(list)
        self.names = [(f"127.1.{n // a_address // 200}.{n // a_address % 200 + 1}", 9000 + n % a_address) for n in range(hosts)]
        self.ready = threading.Event()
        threading.Thread(target=lambda: asyncio.run(self.serve()), daemon=True).start()
        self.ready.wait()

    async def serve(self):
        for name in self.names:
            await asyncio.start_server(lambda reader, writer, name=name: self.talk(name, reader, writer), *name)
        self.ready.set()
        await asyncio.Event().wait()

    async def talk(self, name, reader, writer):
        try:
            while True:
                path = (await reader.readuntil(b"\r\n\r\n")).split()[1].decode()
                self.times[name].append(time.monotonic())
                status, body = ("404 Not Found", b"") if path == "/robots.txt" else ("200 OK", self.page(name, int(path[1:] or 0)))
                head = f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n"
                writer.write(head.encode() + body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        writer.close()

    def page(self, name, number):
        links = "".join(f'<a href="/{n}">page {n}</a> ' for n in range(3 * number + 1, 3 * number + 4) if n < self.pages)
        words = " ".join(f"word{number}x{k} of the page number {number} of {name[0]} {name[1]}" for k in range(20))
        return f"<html><head><title>page {number}</title></head><body><main><p>{words}</p>{links}</main></body></html>".encode()

    def urls(self):
        return {f"http://{host}:{port}/{n or ''}" for host, port in self.names for n in range(self.pages)}

    def gaps(self, key):
        times = collections.defaultdict(list)
        for name, seen in list(self.times.items()):
            times[key(name)].extend(seen)
        return sorted(b - a for seen in map(sorted, times.values()) for a, b in zip(seen, seen[1:]))


class Crawl:
    def __init__(self, args, database, folder, hosts):
        self.args, self.database, self.folder = args, database, folder
        os.makedirs(f"{folder}/out")
        with open(f"{folder}/seeds", "w") as seeds:
            seeds.write("".join(f"http://{host}:{port}/\n" for host, port in hosts.names))

    def start(self, number):
        words = [os.path.abspath(self.args.binary), "--seed", f"{self.folder}/seeds", "--store", self.database.url, "--crawl", "c", "--delay", f"{self.args.delay}s",
                 "--allow-address", "127.0.0.0/8", "--state-dir", f"{self.folder}/w{number}", "-o", f"{self.folder}/out/*.jsonl", "--quiet"]
        variables = {"CRAWL_DEDUP_ENABLED": "false", "CRAWL_CRAWL_SOFT404": "false", "CRAWL_CRAWL_AI_OPTOUT_FILES": "false",
                     "CRAWL_POLITENESS_ADDRESS_SHARE": str(SHARE), "CRAWL_POLITENESS_JITTER": "0", "CRAWL_TRAPS_TEMPLATE_CREDIT": "1000000"}
        log = open(f"{self.folder}/w{number}.log", "ab")
        return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ, **variables})

    def records(self):
        rows = self.database.query("SELECT w.name, t.records FROM crawl_c.workers w JOIN crawl_c.tallies t ON t.worker = w.id ORDER BY w.id").splitlines()
        return {name: int(records) for name, records in (row.rsplit("|", 1) for row in rows)}

    def rates(self, seconds):
        before = self.records()
        time.sleep(seconds)
        return {name: records - before.get(name, 0) for name, records in self.records().items()}

    def written(self):
        words = [self.args.binary, "outputs", "--json", "--store", self.database.url, "--crawl", "c"]
        counts = collections.Counter()
        for part in json.loads(subprocess.run(words, check=True, capture_output=True).stdout):
            with open(part["path"], "rb") as file:
                counts.update(json.loads(line)["url"] for line in file.read(part["bytes"]).splitlines())
        return counts


def joined(crawl, workers):
    """Seconds until the newest worker has its share of the records."""
    began = time.monotonic()
    while time.monotonic() - began < 120:
        rates = list(crawl.rates(5).values())
        if len(rates) == workers and rates[-1] > 0.8 * sum(rates) / workers:
            return time.monotonic() - began
    return float("inf")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    for name, default in (("hosts", 2000), ("a-address", 2), ("workers", 4), ("delay", 10), ("pages", 18), ("phase", 50)):
        parser.add_argument(f"--{name}", type=int, default=default)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="postgres-spread-") as folder:
        os.chmod(folder, 0o755)
        os.makedirs(f"{folder}/pg")
        database, hosts = Database(f"{folder}/pg", "4g"), Hosts(args.hosts, args.a_address, args.pages)
        crawl = Crawl(args, database, folder, hosts)
        workers = [crawl.start(number) for number in range(args.workers - 1)]
        time.sleep(args.phase)
        workers.append(crawl.start(args.workers - 1))
        print(f"a worker that joined had its share after {joined(crawl, args.workers):.0f} s", flush=True)
        # hosts that the others gave back rest for their delay
        time.sleep(args.phase / 2)
        rates = list(crawl.rates(args.phase).values())
        mean = max(1, sum(rates)) / len(rates)
        print(f"records by worker in {args.phase} s: {rates}, {max(abs(rate - mean) for rate in rates) / mean:.1%} from the mean at most", flush=True)
        workers[0].terminate()
        print(f"a worker that was told to leave ended with {workers[0].wait()}", flush=True)
        codes = [worker.wait() for worker in workers[1:]]
        counts, want = crawl.written(), hosts.urls()
        lost, twice = len(want - counts.keys()), sum(n > 1 for n in counts.values())
        print(f"{len(want)} pages: {lost} lost, {twice} twice; the workers ended with {codes}")
        short = 0
        for what, key, least in (("host", lambda name: name, args.delay), ("address", lambda name: name[0], args.delay * SHARE)):
            gaps = hosts.gaps(key)
            early = [gap for gap in gaps if gap < 0.99 * least]
            short += len(early)
            print(f"gaps at a {what}: {len(gaps)}, least {gaps[0]:.3f} s, median {gaps[len(gaps) // 2]:.3f} s, {len(early)} below {least} s")
        database.stop()
    sys.exit(bool(lost or twice or short))


if __name__ == "__main__":
    main()
