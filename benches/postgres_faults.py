#!/usr/bin/env python3
"""Faults at random moments of crawls by several workers in PostgreSQL: each page once over all parts, and each host asked politely.

    benches/postgres_faults.py CRAWL_BINARY [--faults 200] [--minutes 30] [--workers 3] [--hosts 8] [--pages 300] [--kinds stop,hold] [--seed N]

Needs Debian's package postgresql. The faults: kill -9 of a worker, SIGSTOP beyond the lease and SIGCONT, kill -9 of the server and restart,
pg_terminate_backend. Each worker has a proxy before the server, which cuts its connections, holds its bytes back, or drops them. As root the
server is on a small tmpfs, which is filled. With Debian's package libfaketime every third start has a clock that is an hour off. Leases are
short (LEASE), so that stops and faults of the network outlast them. Crawls of a generated site follow one another until all faults are made
or the time is over. Exits with 1 if a page is lost or twice, a line is broken, or a host is asked before its time.
"""
import argparse, collections, glob, http.server, json, os, pwd, random, signal, socket, subprocess, sys, tempfile, threading, time

DELAY = 0.2
LEASE = 4


class Host(http.server.ThreadingHTTPServer):
    """A tree of pages on a port of its own, with the times and ports of its requests."""
    daemon_threads = True

    def __init__(self, pages):
        self.pages, self.times = pages, []
        super().__init__(("127.0.0.1", 0), Page)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_):
        """A killed worker resets its connections."""

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"

    def urls(self):
        return {f"{self.url}/"} | {f"{self.url}/{n}" for n in range(1, self.pages)}


class Page(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path == "/robots.txt":
            return self.answer(404, b"")
        self.server.times.append((time.monotonic(), self.client_address[1]))
        number = int(self.path[1:] or 0)
        children = [n for n in (3 * number + 1, 3 * number + 2, 3 * number + 3) if n < self.server.pages]
        links = "".join(f'<a href="/{n}">page {n}</a> ' for n in children)
        words = " ".join(f"word{number}x{k} of the page number {number}" for k in range(40))
        body = f"<html><head><title>page {number}</title></head><body><nav>home</nav><main><p>{words}</p>{links}</main></body></html>"
        self.answer(200, body.encode())

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Proxy:
    """A way to the server that one worker has for itself."""

    def __init__(self, target):
        self.target, self.mode, self.pairs = target, "pass", []
        self.door = socket.create_server(("127.0.0.1", 0))
        self.port = self.door.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.door.accept()
            server = socket.socket(socket.AF_UNIX)
            try:
                if self.mode == "cut":
                    raise OSError
                server.connect(self.target)
            except OSError:
                client.close()
                continue
            self.pairs.append((client, server))
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=self.pump, args=(source, sink), daemon=True).start()

    def pump(self, source, sink):
        try:
            while data := source.recv(1 << 16):
                while self.mode == "hold":
                    time.sleep(0.05)
                if self.mode != "drop":
                    sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def fail(self, mode, seconds):
        self.mode = mode
        if mode == "cut":
            self.reset()
        time.sleep(seconds)
        self.mode = "pass"
        if mode == "drop":
            # bytes are missing in the streams
            self.reset()

    def reset(self):
        for pair in self.pairs:
            for end in pair:
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
        self.pairs.clear()


class Database:
    """A server of its own on a Unix socket, in a file system of `size`, if given."""

    def __init__(self, folder, size="400m"):
        self.is_small = bool(size) and os.getuid() == 0 and subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], capture_output=True).returncode == 0
        if size and not self.is_small:
            print("the server is on no tmpfs: its disk is never full", flush=True)
        self.folder, self.bin = folder, sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
        self.user = pwd.getpwnam("postgres") if os.getuid() == 0 else None
        if self.user:
            os.chown(folder, self.user.pw_uid, self.user.pw_gid)
        self.call("initdb", "--auth=trust", "--username=crawl", "--encoding=UTF8", "--locale=C", "-D", f"{folder}/data")
        self.start()

    def as_user(self):
        return {"user": self.user.pw_uid, "group": self.user.pw_gid, "extra_groups": []} if self.user else {}

    def call(self, program, *words):
        subprocess.run([f"{self.bin}/{program}", *words], check=True, stdout=subprocess.DEVNULL, cwd="/", **self.as_user())

    def start(self):
        words = [f"{self.bin}/postgres", "-D", f"{self.folder}/data", "-k", self.folder, "-c", "listen_addresses=", "-c", "unix_socket_permissions=0777"]
        until = time.monotonic() + 60
        while True:
            with open(f"{self.folder}/log", "ab") as log:
                self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/", **self.as_user())
            while self.process.poll() is None:
                if self.query("SELECT 1", check=False) == "1":
                    return
                time.sleep(0.05)
            if time.monotonic() > until:
                sys.exit("the server does not start again")
            time.sleep(0.1)

    def fill(self, seconds):
        """Fills the disk of the server, which may end by itself."""
        ballast = f"{self.folder}/ballast"
        with open(ballast, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(1 << 16))
            except OSError:
                pass
        time.sleep(seconds)
        os.remove(ballast)
        time.sleep(0.5)
        if self.process.poll() is not None:
            self.start()

    def stop(self):
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait()
        if self.is_small:
            subprocess.run(["umount", "-l", self.folder], check=True)

    def crash(self):
        self.process.kill()
        self.process.wait()
        self.start()

    def query(self, text, check=True):
        words = [f"{self.bin}/psql", "-h", self.folder, "-U", "crawl", "-d", "postgres", "-Atqc", text]
        done = subprocess.run(words, capture_output=True, text=True)
        if check and done.returncode:
            sys.exit(done.stderr)
        return done.stdout.strip()

    @property
    def url(self):
        return f"postgres://crawl@/postgres?host={self.folder}"


class Crawl:
    """Workers on one crawl, which are started again until the crawl has ended."""

    def __init__(self, args, database, hosts, folder, name):
        self.database, self.folder, self.name = database, f"{folder}/{name}", name
        os.makedirs(f"{self.folder}/out")
        with open(f"{self.folder}/seeds", "w") as seeds:
            seeds.write("".join(f"{host.url}/\n" for host in hosts))
        self.binary, self.workers, self.starts, self.proxies, self.clocks = os.path.abspath(args.binary), {}, 0, {}, 0
        for number in range(args.workers):
            self.start(f"w{number}")

    def start(self, directory):
        if directory not in self.proxies:
            self.proxies[directory] = Proxy(f"{self.database.folder}/.s.PGSQL.5432")
        store = f"postgres://crawl@127.0.0.1:{self.proxies[directory].port}/postgres?lease={LEASE}"
        words = [self.binary, "--seed", f"{self.folder}/seeds", "--store", store, "--crawl", self.name, "--delay", f"{DELAY}s", "--allow-address", "127.0.0.0/8", "--state-dir", f"{self.folder}/{directory}", "-o", f"{self.folder}/out/*.jsonl", "--quiet"]
        variables = {"CRAWL_OUTPUT_BATCH": "8", "CRAWL_DEDUP_SETTLE_PAGES": "20", "CRAWL_CRAWL_SOFT404": "false",
                     "CRAWL_CRAWL_AI_OPTOUT_FILES": "false", "CRAWL_POLITENESS_ADDRESS_SHARE": "0", "CRAWL_TRAPS_TEMPLATE_CREDIT": "1000000"}
        libraries = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
        if libraries and self.starts % 3 == 2:
            self.clocks += 1
            variables |= {"LD_PRELOAD": libraries[0], "FAKETIME": "+3600s" if self.starts % 2 else "-3600s", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
        with open(f"{self.folder}/{directory}.log", "ab") as log:
            self.workers[directory] = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ, **variables})
        self.starts += 1

    def running(self):
        return [name for name, worker in self.workers.items() if worker.poll() is None]

    def kill(self, directory, dice):
        self.workers[directory].kill()
        self.workers[directory].wait()
        if dice.random() < 0.5:
            # the directory is lost with its machine
            self.start(f"w{self.starts}")
        else:
            self.start(directory)

    def pause(self, directory, seconds):
        self.workers[directory].send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        self.workers[directory].send_signal(signal.SIGCONT)

    def finish(self):
        """Waits for the workers. A worker that ended with an error is started again."""
        until = time.monotonic() + 300
        while True:
            for name, worker in list(self.workers.items()):
                if worker.poll() not in (None, 0, -9):
                    print(f"  {name} ended with {worker.returncode}: {self.tail(name)}", flush=True)
                    self.start(name)
            if not self.running():
                break
            if time.monotonic() > until:
                sys.exit(f"the crawl does not end: see {self.folder}")
            time.sleep(0.1)
        if all(worker.returncode != 0 for worker in self.workers.values()):
            self.start(f"w{self.starts}")
            self.finish()

    def tail(self, name):
        with open(f"{self.folder}/{name}.log") as log:
            return log.read()[-300:].strip()

    def counts(self):
        """Records of each URL over the listed parts, and broken lines."""
        words = [self.binary, "outputs", "--json", "--store", self.database.url, "--crawl", self.name]
        parts = json.loads(subprocess.run(words, check=True, capture_output=True).stdout)
        counts, broken = collections.Counter(), 0
        for part in parts:
            with open(part["path"], "rb") as file:
                for line in file.read(part["bytes"]).splitlines(keepends=True):
                    try:
                        counts[json.loads(line)["url"]] += line.endswith(b"\n")
                    except ValueError:
                        broken += 1
        return counts, broken


def is_over(crawl):
    return not crawl.running()


def fault(crawl, database, dice, chosen):
    kinds = {"kill": 4, "stop": 3, "terminate": 2, "crash": 2, "cut": 3, "hold": 3, "drop": 2, "full": 2 if database.is_small else 0}
    kinds = {kind: weight for kind, weight in kinds.items() if not chosen or kind in chosen.split(",")}
    kind = dice.choices(list(kinds), list(kinds.values()))[0]
    running = [name for name in crawl.running() if os.path.exists(f"{crawl.folder}/{name}/worker.json")]
    if not running:
        return None
    name = dice.choice(running)
    if kind == "kill":
        crawl.kill(name, dice)
    elif kind == "stop":
        crawl.pause(name, dice.uniform(0.2, 2) * LEASE)
    elif kind in ("cut", "hold", "drop"):
        crawl.proxies[name].fail(kind, dice.uniform(0.2, 2) * LEASE)
    elif kind == "full":
        database.fill(dice.uniform(0.5, 4))
    elif kind == "terminate":
        database.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'crawl'")
    else:
        database.crash()
    return kind


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--faults", type=int, default=200)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--hosts", type=int, default=8)
    parser.add_argument("--pages", type=int, default=300)
    parser.add_argument("--kinds")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    args = parser.parse_args()
    dice, made = random.Random(args.seed), collections.Counter()
    totals, until = collections.Counter(), time.monotonic() + 60 * args.minutes
    print(f"random seed {args.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="postgres-faults-") as folder:
        os.chmod(folder, 0o755)
        os.makedirs(f"{folder}/pg")
        database = Database(f"{folder}/pg")
        while made.total() < args.faults and time.monotonic() < until:
            hosts = [Host(args.pages) for _ in range(args.hosts)]
            crawl = Crawl(args, database, hosts, folder, f"c{totals['crawls']}")
            time.sleep(1)
            before, events = made.total(), []
            while not is_over(crawl) and made.total() < args.faults:
                time.sleep(dice.uniform(0.2, 2.5))
                begun = time.monotonic()
                kind = fault(crawl, database, dice, args.kinds)
                made.update(filter(None, [kind]))
                events.append((begun, time.monotonic(), kind))
            crawl.finish()
            counts, broken = crawl.counts()
            want = set().union(*(host.urls() for host in hosts))
            lost, twice = want - counts.keys(), [url for url, n in counts.items() if n > 1]
            pairs = [pair for host in hosts for pair in zip(host.times, host.times[1:])]
            early = [(first, second) for first, second in pairs if second[0] - first[0] < 0.9 * DELAY]
            fast = len(early)
            requests = sum(len(host.times) for host in hosts)
            print(f"crawl {totals['crawls']}: {made.total() - before} faults, {len(want)} pages, {requests} requests, {len(lost)} lost, {len(twice)} twice, "
                  f"{broken} broken lines, {fast} requests before their time", flush=True)
            for (earlier, port), (later, other) in early:
                near = [f"{kind} from {begun - later:.2f} to {ended - later:.2f} s" for begun, ended, kind in events if begun - 1 < later < ended + 10]
                print(f"  {later - earlier:.3f} s between two requests of {'one connection' if port == other else 'two connections'}: {near}", flush=True)
            for url in sorted(lost)[:3] + twice[:3]:
                print(f"  {url}")
            made["clock"] += crawl.clocks
            totals.update(crawls=1, pages=len(want), requests=requests, lost=len(lost), twice=len(twice), broken=broken, fast=fast)
            for host in hosts:
                host.shutdown()
        database.stop()
    print(f"{made.total()} faults of {args.faults} ({dict(made)}) in {totals['crawls']} crawls of {totals['pages']} pages with {totals['requests']} requests: "
          f"{totals['lost']} lost, {totals['twice']} twice, {totals['broken']} broken lines, {totals['fast']} requests before their time")
    sys.exit(bool(totals["lost"] or totals["twice"] or totals["broken"] or totals["fast"]))


if __name__ == "__main__":
    main()
