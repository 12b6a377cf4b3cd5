#!/usr/bin/env python3
"""Pages that are made to exhaust a crawler: the cost of each compared with a tiny page.

    benches/bombs.py CRAWL_BINARY [--only NAME] [--cpu SECONDS] [--memory MB] [crawl flags ...]

Serves the pages from this process, on loopback, and crawls each by itself. The pages are elements nested 100,000 deep, an
element of a million attributes, one GiB behind a few bytes of gzip, brotli and zstd, and endless bodies. Prints CPU seconds
(user and system) and the peak of resident memory, both also as the excess over the tiny page, and the outcome of the page.
Exits with 1 if a page exceeds the allowed CPU or memory, or has neither one record nor one line of the error log.
"""
import argparse, gzip, http.server, itertools, json, os, signal, subprocess, sys, tempfile, threading, urllib.request

from hostile_server import GIB, packed, zstd_frame

PATIENCE = 120
PARAGRAPH = b"<p>Some words of a paragraph, and <a href='/other'>a link</a> behind them.</p>\n"


def brotli_of(byte, size):
    """Meta-blocks of 16 MiB that are one literal and one copy from distance 1 (RFC 7932, 9.2 and 9.3)."""
    length = 1 << 24
    bits = [(0, 1)]  # WBITS: a window of 64 KiB
    for _ in range(size // length):
        bits += [(0, 1), (2, 2), (length - 1, 24), (0, 1)]  # not the last, six nibbles of length, compressed
        bits += [(0, 1)] * 3 + [(0, 6)]  # one block type each; no postfix bits, no direct distances
        bits += [(0, 2), (0, 1), (0, 1)]  # context mode; one tree for literals, one for distances
        bits += [(1, 2), (0, 2), (byte[0], 8)]  # simple prefix codes of one symbol: the literal,
        bits += [(1, 2), (0, 2), (399, 10)]  # insert one and copy 2118 and more,
        bits += [(1, 2), (0, 2), (16, 6)]  # a distance from 1 to 2
        bits += [(length - 1 - 2118, 24), (0, 1)]  # how much more; distance 1
    bits += [(1, 1), (1, 1)]  # the last one, and it is empty
    value, at = 0, 0
    out = bytearray()
    for number, width in bits:
        value |= number << at
        at += width
        while at >= 8:
            out.append(value & 255)
            value >>= 8
            at -= 8
    return bytes(out) + bytes([value])


def nested(tag):
    return b"<h1>Deep</h1>" + f"<{tag}>".encode() * 100_000 + b"at the bottom"


def attributes():
    return b"<p " + b" ".join(b"a%d=%d" % (n, n) for n in range(1_000_000)) + b">A paragraph of some words.</p>"


# Name → (content coding, body or, for bodies without end, a piece).
PAGES = {
    "tiny": ("", lambda: b"<title>Tiny</title><p>Some words of a paragraph.</p>"),
    "nested-div": ("", lambda: nested("div")),
    "nested-b": ("", lambda: nested("b")),
    "nested-list": ("", lambda: nested("ul><li")),
    "nested-table": ("", lambda: nested("table><tr><td")),
    "attributes": ("", attributes),
    "gzip-letters": ("gzip", lambda: packed(GIB, b"x")),
    "gzip-zeros": ("gzip", lambda: packed(GIB, b"\0")),
    "gzip-markup": ("gzip", lambda: packed(GIB, PARAGRAPH)),
    "gzip-gzip": ("gzip, gzip", lambda: gzip.compress(packed(GIB, b"x"))),
    "brotli-letters": ("br", lambda: brotli_of(b"x", GIB)),
    "zstd-letters": ("zstd", lambda: zstd_frame(GIB, of=b"x")),
    "endless-letters": ("endless", lambda: b"x" * 4096),
    "endless-markup": ("endless", lambda: PARAGRAPH * 50),
}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    bodies = {}

    def log_message(self, *_):
        pass

    def short(self, status, text):
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self):
        name, _, asked = self.path.lstrip("/").partition("?")
        if name not in PAGES:
            return self.short(404, b"")
        coding, make = PAGES[name]
        body = self.bodies[name] = self.bodies.get(name) or make()
        if asked == "size":
            return self.short(200, str(len(body)).encode())
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        if coding == "endless":
            self.send_header("Connection", "close")
        else:
            self.send_header("Content-Length", str(len(body)))
            if coding:
                self.send_header("Content-Encoding", coding)
        self.end_headers()
        try:
            if coding == "endless":
                for piece in itertools.repeat(body):
                    self.wfile.write(piece)
            else:
                self.wfile.write(body)
        except OSError:
            pass  # the crawler has closed the connection


def serve():
    """The address of a server in a separate process: a child begins with the peak of its parent's memory, so the parent
        of the crawls must be small.
    """
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    child = os.fork()
    if child == 0:
        server.serve_forever()
    server.server_close()
    return child, f"http://127.0.0.1:{server.server_port}/"


def lines(path):
    if not os.path.exists(path):
        return []
    with open(path) as text:
        return [json.loads(line) for line in text]


def crawl(binary, url, flags):
    """CPU seconds, peak MB, and outcome of the page."""
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/seeds.txt", "w") as seeds:
            print(url, file=seeds)
        words = [binary, "--seed", f"{folder}/seeds.txt", "--state-dir", f"{folder}/state", "-O", f"{folder}/pages.jsonl",
                 "--delay", "0s", "--depth", "0", "--allow-address", "127.0.0.1/32", *flags]
        with open(f"{folder}/messages.txt", "w") as messages:
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=messages)
        stop = threading.Timer(PATIENCE, process.kill)
        stop.start()
        _, _, used = os.wait4(process.pid, 0)
        stop.cancel()
        ends = ["record " + " ".join(record["warnings"]) for record in lines(f"{folder}/pages.jsonl")]
        ends += [error["kind"] for error in lines(f"{folder}/state/errors.jsonl") if error["url"] == url]
        return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, ends


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary")
    parser.add_argument("--only", help="one of the pages, besides the tiny one")
    parser.add_argument("--cpu", type=float, default=2, help="CPU seconds over the tiny page")
    parser.add_argument("--memory", type=float, default=100, help="MB over the tiny page")
    given, flags = parser.parse_known_args()
    names = [name for name in PAGES if name == "tiny" or given.only in (None, name)]
    server, base = serve()
    try:
        missed = measure(given, flags, names, base)
    finally:
        os.kill(server, signal.SIGKILL)
    sys.exit(bool(missed))


def measure(given, flags, names, base):
    """Prints the table; returns the names of the pages that exceed the bounds."""
    print(f"{'page':16} {'sent':>10} {'CPU s':>7} {'over':>6} {'peak MB':>8} {'over':>6}  how it ended")
    idle, missed = None, []
    for name in names:
        with urllib.request.urlopen(f"{base}{name}?size", timeout=PATIENCE) as answer:
            size = answer.read().decode()
        cpu, peak, ends = crawl(given.binary, base + name, flags)
        idle = idle or (cpu, peak)
        over = (cpu - idle[0], peak - idle[1])
        fine = over[0] <= given.cpu and over[1] <= given.memory and len(ends) == 1
        missed += [] if fine else [name]
        sent = "endless" if PAGES[name][0] == "endless" else size
        print(f"{name:16} {sent:>10} {cpu:7.2f} {over[0]:6.2f} {peak:8.1f} {over[1]:6.1f}  {'; '.join(ends)}"
              f"{'' if fine else '   <- missed'}", flush=True)
    print(f"{len(names) - len(missed)} of {len(names)} within {given.cpu:g} CPU s and {given.memory:g} MB over the tiny page")
    return missed


if __name__ == "__main__":
    main()
