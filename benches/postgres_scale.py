#!/usr/bin/env python3
"""A crawl in PostgreSQL by its number of URLs: size, CPU of the server a page, time to join, time of `status`, and growth by updates.

    benches/postgres_scale.py CRAWL_BINARY [--urls 100000,1000000] [--pages 2000] [--updates 5000000] [--folder DIR]

Needs Debian's package postgresql. The URLs are seeds of 50 hosts on loopback. At each number a worker fetches some pages, then another one
joins while the first runs. The updates change rows of URLs as settlements do, in transactions of 10,000. The folder needs 2 KB a URL.
"""
import argparse, asyncio, multiprocessing, os, signal, subprocess, sys, tempfile, time
from postgres_faults import Database
from postgres_sites import server_cpu

HOSTS = 50
BATCH = 10_000


def page(path):
    words = " ".join(f"word{path[2:]}x{k} of the page" for k in range(60))
    return f"<html><head><title>page {path}</title></head><body><main><p>{words}</p></main></body></html>".encode()


async def answer(reader, writer):
    try:
        while line := await reader.readline():
            while (await reader.readline()).strip():
                pass
            path = line.split()[1].decode()
            status, body = ("404 Not Found", b"") if path == "/robots.txt" else ("200 OK", page(path))
            writer.write(f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
            await writer.drain()
    except (ConnectionError, IndexError):
        pass
    writer.close()


def serve(ready):
    async def run():
        server = await asyncio.start_server(answer, "0.0.0.0", 0)
        ready.put(server.sockets[0].getsockname()[1])
        await server.serve_forever()
    asyncio.run(run())


class Bed:
    """One crawl, which grows."""

    def __init__(self, binary, folder, port):
        self.binary, self.folder, self.port, self.urls, self.workers = os.path.abspath(binary), folder, port, 0, 0
        os.makedirs(f"{folder}/pg")
        os.makedirs(f"{folder}/out")
        self.database = Database(f"{folder}/pg", None)
        self.query("ALTER SYSTEM SET max_wal_size = '4GB'; ", "ALTER SYSTEM SET shared_buffers = '512MB'")
        self.database.crash()

    def query(self, *texts):
        return [self.database.query(text) for text in texts][-1]

    def number(self, text):
        return float(self.query(text) or 0)

    def grow(self, urls):
        with open(f"{self.folder}/seeds", "w") as seeds:
            seeds.writelines(f"http://127.0.1.{n % HOSTS + 1}:{self.port}/p{n}-an-article-of-a-usual-length\n" for n in range(self.urls, urls))
        self.urls = urls

    def worker(self, *more):
        self.workers += 1
        words = [self.binary, "--seed", f"{self.folder}/seeds", "--store", self.database.url, "--crawl", "c", "--delay", "0s", "--allow-address", "127.0.0.0/8",
                 "--state-dir", f"{self.folder}/w{self.workers}", "-o", f"{self.folder}/out/*.jsonl", "--quiet", *more]
        settings = {"CRAWL_CRAWL_SOFT404": "false", "CRAWL_CRAWL_AI_OPTOUT_FILES": "false", "CRAWL_TRAPS_TEMPLATE_CREDIT": "100000000",
                    "CRAWL_DEDUP_RELEASE": "early"}
        return subprocess.Popen(words, stdin=subprocess.DEVNULL, env={**os.environ, **settings})

    def run(self, *more):
        """Runs a worker to its end; returns seconds and CPU seconds of the server."""
        began, before = time.monotonic(), server_cpu(self.database.process.pid)
        status = self.worker(*more).wait()
        if status not in (0, 5, 130):
            sys.exit(f"a worker ended with {status}")
        return time.monotonic() - began, server_cpu(self.database.process.pid) - before

    def rows(self):
        return self.number("SELECT count(*) FROM crawl_c.urls")

    def size(self):
        return self.number("SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
                           "WHERE nspname = 'crawl_c' AND relkind = 'r'")

    def records(self):
        return self.number("SELECT sum(records) FROM crawl_c.tallies")

    def status(self):
        began = time.monotonic()
        subprocess.run([self.binary, "status", "--store", self.database.url, "--crawl", "c"], check=True, stdout=subprocess.DEVNULL)
        return time.monotonic() - began

    def join(self):
        """Seconds until a second worker has settled its first records."""
        first = self.worker()
        time.sleep(5)
        workers = self.number("SELECT max(id) FROM crawl_c.workers")
        began, second = time.monotonic(), self.worker()
        own = f"SELECT coalesce(sum(records), 0) FROM crawl_c.tallies WHERE worker > {workers:.0f}"
        while not self.number(own) and second.poll() is None and time.monotonic() - began < 120:
            time.sleep(0.1)
        taken = time.monotonic() - began
        for worker in (first, second):
            worker.send_signal(signal.SIGTERM)
            worker.wait()
        return taken

    def update(self, updates):
        done = 0
        most = self.number("SELECT max(id) FROM crawl_c.urls")
        while done < updates:
            first = done % most
            done += self.number(f"WITH done AS (UPDATE crawl_c.urls SET outcome = 0, status = 200, fetched_at = {done:.0f}, visits = 1, "
                                "content_hash = sha256(url::bytea), text_hash = sha256(url::bytea) "
                                f"WHERE id > {first:.0f} AND id <= {first + BATCH:.0f} RETURNING 1) SELECT greatest(count(*), 1) FROM done")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--urls", default="100000,1000000")
    parser.add_argument("--pages", type=int, default=2000)
    parser.add_argument("--updates", type=int, default=5_000_000)
    parser.add_argument("--folder")
    args = parser.parse_args()
    ready = multiprocessing.Queue()
    server = multiprocessing.Process(target=serve, args=(ready,), daemon=True)
    server.start()
    with tempfile.TemporaryDirectory(prefix="postgres-scale-", dir=args.folder) as folder:
        os.chmod(folder, 0o755)
        bed = Bed(args.binary, folder, ready.get())
        for urls in map(int, args.urls.split(",")):
            bed.grow(urls)
            planted, cpu = bed.run("--limit", "1")
            rows, size = bed.rows(), bed.size()
            print(f"{rows:.0f} URLs: {size / rows:.0f} bytes a URL, begun in {planted:.1f} s, server {cpu / urls * 1e6:.0f} µs a URL", flush=True)
            with open(f"{folder}/seeds", "w") as seeds:
                seeds.write(f"http://127.0.1.1:{bed.port}/p0-an-article-of-a-usual-length\n")
            opened, _ = bed.run("--limit", "1")
            before = bed.records()
            seconds, cpu = bed.run("--limit", str(args.pages))
            pages = max(bed.records() - before, 1)
            print(f"  {pages:.0f} pages in {seconds:.1f} s, server {cpu / pages * 1000:.2f} ms a page, a worker opens in {opened:.1f} s, "
                  f"status in {bed.status():.2f} s", flush=True)
            print(f"  a second worker has records after {bed.join():.1f} s", flush=True)
        if args.updates:
            bed.query("VACUUM ANALYZE")
            before, began = bed.size(), time.monotonic()
            bed.update(args.updates)
            after, dead = bed.size(), bed.number("SELECT sum(n_dead_tup) FROM pg_stat_user_tables WHERE relname LIKE 'urls%'")
            vacuums = bed.number("SELECT sum(autovacuum_count) FROM pg_stat_user_tables WHERE relname LIKE 'urls%'")
            print(f"{args.updates} updates in {time.monotonic() - began:.0f} s: {before / bed.rows():.0f} bytes a URL, then {after / bed.rows():.0f}; "
                  f"{dead:.0f} dead rows, {vacuums:.0f} runs of autovacuum")
        bed.database.stop()
    server.terminate()


if __name__ == "__main__":
    main()
