"""Attacks on slots: of connections at `crawl serve` and at the metrics listener, and of requests in a crawl."""
import concurrent.futures, os, pathlib, re, socket, subprocess, threading, time

from attempt import Attempt

TOKEN = "a-token-for-the-attack"
# seconds for an answer to a caller with the token, or to a metrics collector, during the attack
PATIENCE = 4
MEMORY_MB = 250
DESCRIPTORS = 200
HOLD = 1.5
# servers under attack at the same time
AT_A_TIME = 3
HEALTH = b"GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n"
DOCUMENT = b"GET /api/v1/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
METRICS = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
WRONG = b"GET /api/v1/projects HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer wrong-token-of-an-attack\r\n\r\n"
POST = b"POST /api/v1/projects HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


def at_once(threads, work):
    """Calls `work` in `count` threads, and waits for each, at most 5 s."""
    workers = [threading.Thread(target=work, daemon=True) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(5)


def held(count, piece=b"", again=b"", every=0.0, source=None, unread=True, read_slowly=False):
    """An attack: connections that send `piece`, then `again` periodically, and never read."""
    def attack(address, stop):
        open_ones = []
        for number in range(count):
            connection = socket.socket()
            connection.settimeout(2)
            try:
                if source:
                    connection.bind((source[number % len(source)], 0))
                connection.connect(address)
                connection.setblocking(False)
                while piece and connection.send(piece) and unread and len(piece) > 1_000:
                    pass
            except OSError:
                pass  # refused, or its buffers are full
            open_ones.append(connection)
        while not stop.wait(every or 0.2):
            for connection in open_ones:
                try:
                    if read_slowly:
                        connection.recv(1)
                    elif again:
                        connection.send(again)
                except OSError:
                    pass
        for connection in open_ones:
            connection.close()
    return attack


def requests(piece, threads=8):
    """An attack: requests at the maximum rate."""
    def attack(address, stop):
        def ask():
            while not stop.is_set():
                try:
                    with socket.create_connection(address, 2) as connection:
                        connection.settimeout(1)
                        for _ in range(50):
                            connection.sendall(piece)
                            if not connection.recv(65536) or stop.is_set():
                                break
                except OSError:
                    pass
        at_once(threads, ask)
    return attack


def opened(threads=4):
    """An attack: connections that are opened and closed at once."""
    def attack(address, stop):
        def ask():
            while not stop.is_set():
                try:
                    socket.create_connection(address, 2).close()
                except OSError:
                    pass
        at_once(threads, ask)
    return attack


OTHERS = [f"127.0.0.{n}" for n in range(2, 10)]
SERVE = {
    "300 connections without a request": held(300),
    "300 of other addresses": held(300, source=OTHERS),
    "200 that have asked and stay": held(200, HEALTH),
    "200 heads that never end": held(200, HEALTH[:-2] + b"X: ", b"x", 0.3),
    "100 that pipeline and never read": held(100, DOCUMENT * 200),
    "100 that pipeline wrong tokens and never read": held(100, WRONG * 500),
    "100 that read a byte at a time": held(100, DOCUMENT * 50, read_slowly=True, every=0.3),
    "32 bodies of a gigabyte": held(32, POST + b"Content-Length: 1000000000\r\n\r\n", b"x" * 60_000, 0.05, unread=False),
    "32 bodies of chunks": held(32, POST + b"Transfer-Encoding: chunked\r\n\r\n", b"8\r\nxxxxxxxx\r\n" * 4_000, 0.05, unread=False),
    "100 bodies that drip": held(100, POST + b"Content-Length: 1000\r\n\r\n", b"x", 0.3, unread=False),
    "100 bodies that drip, with wrong tokens": held(100, POST + b"Authorization: Bearer wrong-token-of-an-attack\r\nContent-Length: 1000\r\n\r\n", b"x", 0.3, unread=False),
    "100 heads of 30 KB": held(100, b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 30_000, unread=False),
    "100 heads of a megabyte": held(100, b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 1_000_000),
    "100 with thousands of headers": held(100, b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 4_000),
    "100 that speak HTTP/2": held(100, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(1_000)),
    "100 that speak TLS": held(100, b"\x16\x03\x01\x02\x00\x01\x00" + bytes(500)),
    "100 that upgrade": held(100, b"GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"),
    "wrong tokens without a pause": requests(WRONG),
    "health without a pause": requests(HEALTH),
    "documents without a pause": requests(DOCUMENT),
    "connections without a pause": opened(),
}
SHOWN = {
    "64 connections without a request": held(64),
    "64 of other addresses": held(64, source=OTHERS),
    "64 that have asked and stay": held(64, METRICS),
    "64 heads that never end": held(64, METRICS[:-2] + b"X: ", b"x", 0.3),
    "32 that pipeline and never read": held(32, METRICS * 300),
    "32 bodies that drip": held(32, b"POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n", b"x", 0.3, unread=False),
    "questions without a pause": requests(METRICS),
    "connections without a pause": opened(),
}


def ask(address, request):
    """Seconds until a whole answer with status 200; infinite without one."""
    started = time.monotonic()
    try:
        with socket.create_connection(address, PATIENCE) as connection:
            connection.settimeout(PATIENCE)
            connection.sendall(request.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
            answer = b""
            while part := connection.recv(65536):
                answer += part
                if time.monotonic() - started > 2 * PATIENCE:
                    return float("inf")
    except OSError:
        return float("inf")
    return time.monotonic() - started if answer.startswith(b"HTTP/1.1 200") else float("inf")


def held_by(process):
    """MB of memory and descriptors of a process."""
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024, len(os.listdir(f"/proc/{process.pid}/fd"))


def said(process, pattern, patience=20):
    """Standard error of a process, once it matches."""
    found, ended = [], time.monotonic() + patience
    def read():
        for line in process.stderr:
            if match := re.search(pattern, line):
                found.append(match)
    threading.Thread(target=read, daemon=True).start()
    while not found and time.monotonic() < ended and process.poll() is None:
        time.sleep(0.05)
    return found[0][1] if found else None


def attacked(vector, name, attack, start, request):
    process, address = start()
    try:
        if address is None:
            return Attempt(vector, name, True, "the server did not begin")
        stop = threading.Event()
        worker = threading.Thread(target=attack, args=(address, stop), daemon=True)
        worker.start()
        time.sleep(HOLD)
        took = ask(address, request)
        try:
            memory, descriptors = held_by(process)
        except (OSError, TypeError):
            memory, descriptors = float("inf"), 0
        stop.set()
        worker.join(10)
    finally:
        process.kill()
        process.wait()
    leaked = took > PATIENCE or memory > MEMORY_MB or descriptors > DESCRIPTORS
    return Attempt(vector, name, leaked, f"answer after {took:.2f} s (< {PATIENCE}), {memory:.0f} MB (< {MEMORY_MB}), "
                                         f"{descriptors} descriptors (< {DESCRIPTORS})")


def attacks(vector, start, table, request):
    with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
        yield from pool.map(lambda item: attacked(vector, *item, start, request), table.items())


def slow_hosts(binary, folder, base):
    """Slow hosts beside a good one, whose pages must be fetched."""
    port = base.rsplit(":", 1)[1]
    (folder / "seeds").write_text("".join(f"http://127.0.3.{n + 1}:{port}/\n" for n in range(24)) + "".join(f"{base}/static/ok{n}\n" for n in range(60)))
    words = [binary, "--seed", "seeds", "--state-dir", "slow-state", "-O", "slow.jsonl", "--delay", "0s", "--depth", "0", "--quiet",
             "--allow-address", "127.0.0.0/8", "--max-time", "20s", "-c", "16"]
    started = time.monotonic()
    crawl = subprocess.Popen(words, cwd=folder, stderr=subprocess.DEVNULL, env={**os.environ, "CRAWL_FETCH_STRATEGY": "static"})
    try:
        crawl.wait(40)
    except subprocess.TimeoutExpired:
        crawl.kill()
        crawl.wait()
    took, output = time.monotonic() - started, folder / "slow.jsonl"
    good = sum("static/ok" in line for line in output.read_text().splitlines()) if output.exists() else 0
    yield Attempt("exhaustion: places of a crawl", "24 hosts at a byte a second", good < 60 or took > 30,
                  f"{good} of 60 pages of the good host, ends after {took:.0f} s (< 30)")


def run(binary, folder, base):
    environment = {**os.environ, "CRAWL_SERVE_TOKEN": TOKEN, "CRAWL_FETCH_STRATEGY": "static"}
    number = iter(range(1000))

    def start(words, pattern):
        process = subprocess.Popen([binary, *words], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True, env=environment)
        place = said(process, pattern)
        host, port = place.rsplit(":", 1) if place else ("", 0)
        return process, (host, int(port)) if place else None

    serve = lambda: start(["serve", "--listen", "127.0.0.1:0", "--database", f"p{next(number)}.sqlite"], r"listening on http://([\d.:]+)")
    with_token = f"GET /api/v1/projects HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode()
    yield from attacks("exhaustion: places of serve", serve, SERVE, with_token)
    crawl = lambda: start(["--seed", base + "/slow/never", "--state-dir", f"shown{(n := next(number))}", "-O", f"{n}.jsonl", "--allow-address", "127.0.0.0/8",
                           "--metrics-listen", "127.0.0.1:0", "--max-time", "30s"], r"metrics at http://([\d.:]+)")
    yield from attacks("exhaustion: places of metrics", crawl, SHOWN, METRICS)
    yield from slow_hosts(binary, folder, base)
