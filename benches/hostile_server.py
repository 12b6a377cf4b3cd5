#!/usr/bin/env python3
"""A web server on loopback with every misbehaviour that a crawler meets. Standard library only.

    benches/hostile_server.py [--port 8800] [--short]

/ links to every behaviour. /_expected.json lists them with the expected reaction of a good crawler. The first label of the host
selects the robots.txt. /_stats.json counts requests by behaviour and by host, and contacts with a canary: a forbidden address.
/_reset clears the counts. benches/hostile.py runs a crawl over it and compares the outcomes with tests/hostile.toml.
"""
import argparse, collections, email.utils, gzip, hashlib, json, os, random, re, socket, socketserver, struct, subprocess, sys, tempfile, threading, time, zlib
from urllib.parse import urlsplit
import hostile_browser, hostile_h2

CANARY = "127.0.0.2"   # a forbidden address, at the port of the server
MIB = 1 << 20
GIB = 1 << 30
HTML = "text/html; charset=utf-8"
# behaviours that take seconds, or much memory
LONG = re.compile(r"/(bomb/(gzip|gzip-gzip|br|zstd|html-gzip)|endless/.*|slow/.*|headers/(early-hints|many|endless)|html/(oneline|links|attrs|deep.*)"
                  r"|type/zip-2g|trap/(maze|page|calendar).*|sitemap/(big|bomb|long).*)")
BEHAVIOURS = {}   # path of the link → (compiled pattern, function, category, wish)
counts = collections.defaultdict(collections.Counter)
h2 = None         # the server of HTTP/2, if openssl is installed
lock = threading.Lock()


class HungUp(Exception):
    """The crawler or this server has closed the connection."""


def behaviour(link, category, wish, pattern=None):
    """Registers a handler for `link`, and for all that `pattern` matches."""
    def register(function):
        BEHAVIOURS[link] = (re.compile((pattern or re.escape(link)) + r"\Z"), function, category, wish)
        return function
    return register


class Connection(socketserver.BaseRequestHandler):
    """One connection: reads requests, and answers them by their path."""

    def raw(self, data):
        try:
            self.request.sendall(data.encode() if isinstance(data, str) else data)
        except OSError as error:
            raise HungUp from error

    def head(self, status="200 OK", kind=HTML, length=None, more=()):
        lines = [f"HTTP/1.1 {status}", *more]
        if kind:
            lines.append(f"Content-Type: {kind}")
        if length is not None:
            lines.append(f"Content-Length: {length}")
        self.raw("\r\n".join(lines) + "\r\n\r\n")

    def answer(self, body, status="200 OK", kind=HTML, more=()):
        body = body.encode() if isinstance(body, str) else body
        self.head(status, kind, len(body), more)
        self.raw(body)

    def page(self, inner, title="A page"):
        self.answer(f"<!doctype html><html><head><title>{title}</title></head><body>{inner}</body></html>")

    def redirect(self, to, status="302 Found"):
        self.answer("", status, more=[f"Location: {to}"])

    def chunks(self, pieces, kind=HTML, more=()):
        self.head(kind=kind, more=["Transfer-Encoding: chunked", *more])
        for piece in pieces:
            piece = piece.encode() if isinstance(piece, str) else piece
            self.raw(b"%x\r\n%s\r\n" % (len(piece), piece))
        self.raw("0\r\n\r\n")

    def hang_up(self, reset=False):
        if reset:
            self.request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.request.close()
        raise HungUp

    def handle(self):
        self.request.settimeout(120)
        waiting = b""
        try:
            while True:
                while b"\r\n\r\n" not in waiting:
                    got = self.request.recv(65536)
                    if not got or len(waiting) > MIB:
                        return
                    waiting += got
                head, waiting = waiting.split(b"\r\n\r\n", 1)
                self.one(head.decode("latin-1"))
        except (HungUp, OSError):
            pass

    def one(self, head):
        first, *rest = head.split("\r\n")
        headers = dict(line.lower().split(":", 1) for line in rest if ":" in line)
        self.host = headers.get("host", "").strip()
        self.cookie = headers.get("cookie", "")
        self.target = (first.split(" ") + ["/"])[1]
        self.path = urlsplit(self.target).path
        if self.path == "/robots.txt":
            return robots(self)
        for link, (pattern, function, _, _) in BEHAVIOURS.items():
            if match := pattern.match(self.path):
                with lock:
                    counts["hits"][link] += 1
                    counts["hosts"][self.host] += 1
                    self.turn = counts["hits"][link]
                return function(self, *match.groups())
        meta = {"/": index, "/browser": browser_index, "/_expected.json": expected, "/_stats.json": stats, "/_reset": reset}.get(self.path)
        if meta:
            return meta(self)
        if self.path in hostile_browser.PARTS:
            kind, body = hostile_browser.PARTS[self.path]
            return self.answer(body, kind=kind)
        if self.path.startswith("/_canary"):
            with lock:
                counts["canary"][self.path] += 1
        self.answer("<p>There is no such page.</p>", "404 Not Found")


def links(c, of_browser):
    rows = (f"<li><a href='{link}'>{link}</a>" for link, (_, _, kind, _) in BEHAVIOURS.items() if link != "/static/never" and (kind == "browser") == of_browser)
    c.page("<ul>" + "".join(rows) + "</ul>", "A bad web")


def index(c): links(c, False)
def browser_index(c): links(c, True)


def expected(c):
    paths = {link: {"name": link, "category": kind, "expect": wish} for link, (_, _, kind, wish) in BEHAVIOURS.items()}
    http2 = {"hosts": {label: wish for label, (wish, _) in hostile_h2.HOSTS.items()}, "port": h2.server_address[1], "certificate": h2.certificate} if h2 else None
    c.answer(json.dumps({"paths": paths, "robots_hosts": ROBOTS, "http2": http2}), kind="application/json")


def stats(c):
    with lock:
        known = {name: counts[name] for name in ("hits", "hosts", "canary", "robots")}
    c.answer(json.dumps({**known, "http2": hostile_h2.streams}), kind="application/json")


def reset(c):
    with lock:
        counts.clear()
    c.answer("forgotten")


# ---- robots.txt, by host

ROBOTS = {
    "r500": "0 page fetches: nothing is allowed while robots.txt cannot be had",
    "r503": "0 page fetches, Retry-After obeyed",
    "r404": "no restrictions",
    "r403": "no restrictions",
    "rhuge": "the first 500 KiB count",
    "rredir": "five hops are followed, /private is disallowed",
    "rloop": "no restrictions, after the hops are used up",
    "rreset": "0 page fetches: unreachable",
    "rhtml": "no rule in it: no restrictions",
    "rbom": "/private is disallowed",
    "rmac": "/private is disallowed",
    "rnul": "no crash",
    "rdeny": "0 page fetches",
    "rdelay": "0 page fetches: given up",
    "rwild": "matched in bounded time",
    "rgz": "the unpacked size is bounded",
    "rothers": "few of the hosts that it names for its sitemaps are asked",
}
DENY_PRIVATE = "User-agent: *\nDisallow: /private\n"


def robots(c):
    label = c.host.split(".")[0]
    with lock:
        counts["robots"][label] += 1
    plain = {
        "rhtml": "<!doctype html><p>User-agent: *<p>Disallow: /",
        "rbom": b"\xef\xbb\xbf" + DENY_PRIVATE.replace("\n", "\r\n").encode(),
        "rmac": DENY_PRIVATE.replace("\n", "\r"),
        "rnul": b"User-agent: *\0\nDisallow: /pri\0vate\n\xff\xfe\n",
        "rdeny": "User-agent: *\nDisallow: /\n",
        "rdelay": "User-agent: *\nCrawl-delay: 1e9\n",
        "rwild": "User-agent: *\nDisallow: /" + "*a" * 2000 + "$\n",
    }
    plain["rothers"] = "".join(f"Sitemap: http://out{n}.test:{c.server.server_address[1]}/sitemap/{n}.xml\n" for n in range(30))
    failing = {"r500": "500 Internal Server Error", "r503": "503 Service Unavailable", "r404": "404 Not Found", "r403": "403 Forbidden"}
    if label in failing:
        c.answer("no", failing[label], "text/plain", ["Retry-After: 2"] if label == "r503" else [])
    elif label == "rhuge":
        c.head(kind="text/plain", length=60 * MIB)
        c.raw("User-agent: *\nDisallow: /early\n")
        for _ in range(60 * MIB // 1000):
            c.raw("# " + "x" * 997 + "\n")
    elif label == "rredir":
        hop = int(urlsplit(c.target).query or 0)
        c.answer(DENY_PRIVATE, kind="text/plain") if hop == 4 else c.redirect(f"/robots.txt?{hop + 1}")
    elif label == "rloop":
        c.redirect("/robots.txt")
    elif label == "rreset":
        c.hang_up(reset=True)
    elif label == "rgz":
        c.answer(packed(GIB), kind="text/plain", more=["Content-Encoding: gzip"])
    else:
        ours = f"User-agent: *\nDisallow: /disallowed/\nSitemap: http://{c.host}/sitemap/index-loop.xml\n"
        c.answer(plain.get(label, ours), kind="text/plain")


# ---- bombs and endless bodies

def packed(size, of=b" "):
    """About `size` bytes of a piece as gzip, without compressing them all: a flushed deflate block can be repeated."""
    block = of * (MIB // len(of))
    times = size // len(block)
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    body = (deflate.compress(block) + deflate.flush(zlib.Z_FULL_FLUSH)) * times
    check = 0
    for _ in range(times):
        check = zlib.crc32(block, check)
    end = zlib.compressobj(9, zlib.DEFLATED, -15).flush()
    return b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + body + end + struct.pack("<II", check, times * len(block) % 2**32)


def zstd_frame(size, window=0x58, of=b" "):
    """`size` times a byte as a zstd frame of repeated-byte blocks (RFC 8878 §3.1.1.2); 0x58 requires a window of 2 MiB."""
    block = 128 << 10
    blocks = size // block
    out = [b"\x28\xb5\x2f\xfd\0", bytes([window])]
    for n in range(blocks):
        out.append(struct.pack("<I", (n == blocks - 1) | 1 << 1 | block << 3)[:3] + of)
    return b"".join(out)


BOMB = "cut at the cap of a body, in bounded memory"


@behaviour("/bomb/gzip", "bomb", BOMB)
def bomb_gzip(c): c.answer(packed(GIB), more=["Content-Encoding: gzip"])
@behaviour("/bomb/gzip-gzip", "bomb", "two codings: " + BOMB)
def bomb_twice(c): c.answer(gzip.compress(packed(GIB)), more=["Content-Encoding: gzip, gzip"])
@behaviour("/bomb/zstd", "bomb", BOMB)
def bomb_zstd(c): c.answer(zstd_frame(GIB), more=["Content-Encoding: zstd"])
@behaviour("/bomb/zstd-window", "bomb", "a window of 2 GiB is refused")
def bomb_window(c): c.answer(zstd_frame(MIB, 0xA8), more=["Content-Encoding: zstd"])
@behaviour("/bomb/gzip-corrupt", "bomb", "an error, or what could be read; no storm of retries")
def bomb_corrupt(c): c.answer(gzip.compress(os.urandom(9999))[:5000] + b"\xff" * 400, more=["Content-Encoding: gzip"])
@behaviour("/bomb/gzip-lie", "bomb", "not gzip at all: an error, or the plain page")
def bomb_lie(c): c.answer("<p>plain after all", more=["Content-Encoding: gzip"])


def forever(piece):
    while True:
        yield piece


def slowly(c, pieces, pause):
    for piece in pieces:
        c.raw(piece)
        time.sleep(pause)


@behaviour("/endless/chunked", "endless", "cut at the cap of a body")
def endless_chunked(c): c.chunks(forever("words and words " * 4096))
@behaviour("/endless/eof", "endless", "cut at the cap of a body")
def endless_eof(c):
    c.head()
    for piece in forever("<p>words and words" * 4096): c.raw(piece)
@behaviour("/endless/drip", "slow", "given up for its rate")
def endless_drip(c):
    c.head()
    slowly(c, forever("x"), 1)
@behaviour("/endless/trickle", "slow", "given up at the limit of the whole request")
def endless_trickle(c):
    c.head()
    slowly(c, forever("words and words " * 32), 1)
@behaviour("/slow/headers", "slow", "given up at the limit for headers")
def slow_headers(c):
    c.raw("HTTP/1.1 200 OK\r\nX-Slow: ")
    slowly(c, forever("x"), 1)
@behaviour("/slow/never", "slow", "given up; other URLs go on")
def slow_never(c): time.sleep(100)
@behaviour("/slow/ok", "slow", "fetched")
def slow_ok(c):
    time.sleep(3)
    c.page("<p>Here at last.")


# ---- redirects

@behaviour("/redirect/endless/0", "redirect", "an error when the hops are used up", r"/redirect/endless/(\d+)")
def redirect_endless(c, n): c.redirect(f"/redirect/endless/{int(n) + 1}")
@behaviour("/redirect/loop/a", "redirect", "the loop is seen", r"/redirect/loop/([ab])")
def redirect_loop(c, at): c.redirect("/redirect/loop/" + ("b" if at == "a" else "a"))
@behaviour("/redirect/self", "redirect", "the loop is seen")
def redirect_self(c): c.redirect("/redirect/self")
@behaviour("/redirect/none", "redirect", "an error, no storm of retries")
def redirect_none(c): c.answer("", "302 Found")
@behaviour("/redirect/308", "redirect", "a record of the target")
def redirect_308(c): c.redirect("/static/ok", "308 Permanent Redirect")
@behaviour("/redirect/relative/x", "redirect", "a record of the target")
def redirect_relative(c): c.redirect("../../static/ok")
@behaviour("/redirect/disallowed", "redirect", "the target is not fetched")
def redirect_disallowed(c): c.redirect("/disallowed/secret")
@behaviour("/disallowed/secret", "robots", "0 hits")
def disallowed(c): c.page("<p>Nobody may read this.")


def canary_target(name, address):
    @behaviour(f"/redirect/{name}", "redirect", "no connection to a forbidden address")
    def to_canary(c): c.redirect(address(c.server.server_address[1]))


for name, address in {
    "metadata": "http://169.254.169.254/latest/meta-data/", "private": "http://10.0.0.1/", "ipv6": "http://[::ffff:127.0.0.2]:{}/_canary/6",
    "decimal": "http://2130706434:{}/_canary/d", "octal": "http://0177.0.0.2:{}/_canary/o", "hex": "http://0x7f.2:{}/_canary/x",
    "zero": "http://0.0.0.0:{}/_canary/0", "userinfo": "http://127.0.0.1@127.0.0.2:{}/_canary/u", "file": "file:///etc/passwd",
    "js": "javascript:alert(1)", "data": "data:text/html,x", "bad": "http://[bad/", "empty": "",
}.items():
    canary_target(name, address.format)


# ---- headers and framing

def wire(link, category, wish, data, close=True):
    """Answers with exactly these bytes."""
    @behaviour(link, category, wish)
    def answer(c):
        c.raw(data)
        if close:
            c.hang_up()


OK = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
wire("/headers/dup-length", "headers", "refused (RFC 9112 §6.3)", OK + "Content-Length: 3\r\nContent-Length: 9\r\n\r\nfoobarbaz")
wire("/headers/bad-bytes", "headers", "no panic", OK.encode() + b"X-Odd: \xff\xfe\x80\r\nContent-Length: 5\r\n\r\n<p>ok")
wire("/headers/no-status", "headers", "an error", "hello, is this the web?\r\n\r\n")
wire("/headers/http09", "headers", "an error", "<p>as it was in 1991")
wire("/headers/many", "headers", "an error", OK + "".join(f"X-{n}: y\r\n" for n in range(100_000)) + "\r\n")
wire("/http10", "headers", "a record", "HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n<p>The old way of the web, which ends when it ends.")
wire("/length/short", "framing", "never taken as complete", OK + "Content-Length: 1000\r\n\r\n<p>ten bytes")
wire("/length/negative", "framing", "an error", OK + "Content-Length: -1\r\n\r\n<p>x")
wire("/length/huge", "framing", "refused, nothing is allocated", OK + f"Content-Length: {10**18}\r\n\r\n<p>x")
wire("/chunked/truncated", "framing", "never taken as complete", OK + "Transfer-Encoding: chunked\r\n\r\n5\r\n<p>ab\r\n")
wire("/chunked/bad", "framing", "an error", OK + "Transfer-Encoding: chunked\r\n\r\nzz\r\n<p>\r\n")
wire("/chunked/huge", "framing", "an error, nothing is allocated", OK + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n<p>")


@behaviour("/headers/endless", "headers", "an error at the cap of headers")
def headers_endless(c):
    c.raw(OK)
    for line in forever("X-More: " + "y" * 1000 + "\r\n"): c.raw(line)
@behaviour("/headers/early-hints", "headers", "an error, or given up")
def early_hints(c): slowly(c, forever("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"), 0.01)
@behaviour("/headers/cookies", "headers", "the jar is bounded")
def headers_cookies(c): c.answer("<p>Have some cookies.", more=[f"Set-Cookie: c{n}={'v' * 100}" for n in range(90)])
@behaviour("/reset/mid", "framing", "retried, then one error")
def reset_mid(c):
    c.head(length=1000)
    c.raw("<p>half")
    c.hang_up(reset=True)
@behaviour("/reset/now", "framing", "retried, then one error")
def reset_now(c): c.hang_up(reset=True)
@behaviour("/close/empty", "framing", "retried, then one error")
def close_empty(c): c.hang_up()
@behaviour("/reset/flaky", "framing", "fetched in the end, one record")
def reset_flaky(c): c.page("<p>Third time lucky.") if c.turn % 3 == 0 else c.hang_up(reset=True)


# ---- pages that are hard to parse

RUSSIAN = "Съешь же ещё этих мягких французских булок, да выпей чаю"


@behaviour("/charset/bogus", "charset", "read as UTF-8")
def charset_bogus(c): c.answer(f"<p>{RUSSIAN}".encode(), kind="text/html; charset=klingon")
@behaviour("/charset/meta1251", "charset", "read as windows-1251")
def charset_meta(c): c.answer(f"<meta charset=windows-1251><p>{RUSSIAN}".encode("cp1251"), kind="text/html")
@behaviour("/charset/utf16", "charset", "read as UTF-16")
def charset_utf16(c): c.answer(b"\xff\xfe" + f"<p>{RUSSIAN}".encode("utf-16-le"), kind="text/html")
@behaviour("/charset/controls", "charset", "one line a record, nothing reaches the terminal")
def charset_controls(c): c.page("<p>a\u2028b\u202ec \x1b[2J\x07 end", "\x1b]0;taken over\x07")
@behaviour("/html/deep", "html", "bounded time and stack")
def html_deep(c): c.answer("<title>d</title>" + "<div>" * 100_000 + "the bottom" + "</div>" * 100_000)
@behaviour("/html/deep-b", "html", "bounded time")
def html_formatting(c): c.answer("<title>d</title>" + "<b><p>" * 20_000 + "x")
@behaviour("/html/deep-table", "html", "bounded time")
def html_tables(c): c.answer("<table><tr><td>x" * 5_000)
@behaviour("/html/attrs", "html", "bounded time")
def html_attributes(c): c.answer("<div " + " ".join(f"a{n}" for n in range(1_000_000)) + ">x</div>")
@behaviour("/html/links", "html", "the links of a page are bounded")
def html_links(c): c.chunks("".join(f"<a href=/static/ok?l={n}>x</a>\n" for n in range(at, at + 1000)) for at in range(0, 1_000_000, 1000))
@behaviour("/html/longurl", "html", "the address is dropped")
def html_long_url(c): c.page("<a href='/" + "a" * MIB + "'>x</a> <a href=/static/ok>ok</a>")
@behaviour("/html/oneline", "html", "cut at the cap of a body, linear time")
def html_one_line(c):
    c.head(length=100 * MIB)
    for _ in range(100): c.raw(b"on and on and on " * (MIB // 17) + b" " * (MIB % 17))
@behaviour("/type/pdf-as-html", "type", "no record")
def type_pdf(c): c.answer(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n" + os.urandom(2000))
@behaviour("/type/zip-2g", "type", "nothing of the body is read")
def type_zip(c):
    c.head(kind="application/zip", length=2 * GIB)
    for piece in forever(b"PK" + bytes(65536)): c.raw(piece)
@behaviour("/type/attachment", "type", "no record")
def type_attachment(c): c.answer("<p>x", more=['Content-Disposition: attachment; filename="../../etc/passwd"'])


# ---- endless sites

FEW = "so many hits that the rest of the site is still fetched"


def babble(seed):
    digest = hashlib.sha256(seed.encode()).hexdigest()
    return " ".join(digest[n:n + 4] for n in range(0, 64, 4))


@behaviour("/trap/calendar/2024/1", "trap", FEW, r"/trap/calendar/(\d+)/(\d+)")
def trap_calendar(c, year, month):
    at = int(year) * 12 + int(month) - 1
    links = (f"<a href=/trap/calendar/{n // 12}/{n % 12 + 1}>{word}</a> " for n, word in ((at - 1, "before"), (at + 1, "after")))
    c.page(f"<h1>{year}, {month}</h1><p>Nothing is on.</p>" + "".join(links))
@behaviour("/trap/session", "trap", "<= 3 hits", r"/trap/session(?:;.*)?")
def trap_session(c):
    one = os.urandom(16).hex()
    c.page(f"<a href='/trap/session?PHPSESSID={one}'>a</a> <a href='/trap/session;jsessionid={one}'>b</a> <a href='/trap/session?sid={one}'>c</a>")
@behaviour("/trap/perm", "trap", "<= 64 hits")
def trap_facets(c):
    facets = [f"{name}={value}" for name in ("colour", "size", "brand", "order") for value in range(3)]
    chosen = (random.sample(facets, random.randint(1, 4)) for _ in range(12))
    c.page("<p>The same goods as ever.</p>" + "".join(f"<a href='/trap/perm?{'&'.join(names)}'>f</a> " for names in chosen))
@behaviour("/trap/path/", "trap", "<= 20 hits", r"/trap/path/(.*)")
def trap_path(c, rest): c.page("<a href='a/b/'>deeper</a> <a href='b/a/'>deeper</a> " + babble(rest))
@behaviour("/trap/page/1", "trap", FEW, r"/trap/page/(\d+)")
def trap_pages(c, n): c.page(f"<p>{babble(n)}</p><a rel=next href=/trap/page/{int(n) + 1}>next</a>")
@behaviour("/trap/empty-page/1", "trap", "<= 20 hits", r"/trap/empty-page/(\d+)")
def trap_empty(c, n): c.page(f"<p>No results.</p><a href=/trap/empty-page/{int(n) + 1}>next</a>")
@behaviour("/trap/maze/a", "trap", FEW, r"/trap/maze/(\w*)")
def trap_maze(c, here):
    doors = (hashlib.sha256(f"{here}{n}".encode()).hexdigest()[:13] for n in range(10))
    c.page(babble(here) + "".join(f" <a href=/trap/maze/{door}>{door[:6]}</a>" for door in doors))
@behaviour("/soft404/a", "dup", "marked as an error page", r"/soft404/(\w*)")
def soft_404(c, name): c.answer(f"<title>Not found</title><h1>Page not found</h1><p>Sorry, there is no {name[:30]}.</p><a href=/soft404/{name}x>more</a>")


# ---- retries

@behaviour("/retry/429-seconds", "retry", "asked again after 2 s, not earlier; a record")
def retry_seconds(c): c.page("<p>Now it is fine.") if c.turn > 1 else c.answer("", "429 Too Many Requests", more=["Retry-After: 2"])
@behaviour("/retry/429-date", "retry", "asked again after 3 s, not earlier; a record")
def retry_date(c):
    until = email.utils.formatdate(time.time() + 3, usegmt=True)
    c.page("<p>Now it is fine.") if c.turn > 1 else c.answer("", "429 Too Many Requests", more=[f"Retry-After: {until}"])
@behaviour("/retry/503", "retry", "fetched at the third try")
def retry_503(c): c.page("<p>Back in service.") if c.turn > 2 else c.answer("", "503 Service Unavailable")
@behaviour("/retry/always-500", "retry", "one error when the tries are used up")
def retry_500(c): c.answer("", "500 Internal Server Error")
@behaviour("/retry/huge", "retry", "not waited for; one error")
def retry_huge(c): c.answer("", "503 Service Unavailable", more=["Retry-After: 99999999999"])
@behaviour("/retry/garbage", "retry", "not understood; one error")
def retry_garbage(c): c.answer("", "429 Too Many Requests", more=["Retry-After: soon"])
@behaviour("/status/999", "retry", "an error, no panic")
def status_999(c): c.answer("no", "999 Request denied")
@behaviour("/auth", "wall", "one error, no retry")
def auth(c): c.answer("", "401 Unauthorized", more=['WWW-Authenticate: Basic realm="x"'])
@behaviour("/meta/nofollow", "robots", "no record, the link is not followed")
def meta_nofollow(c): c.answer("<meta name=robots content='noindex, nofollow'><a href=/static/never>x</a>")
@behaviour("/static/never", "robots", "0 hits")
def never(c): c.page("<p>Nobody should be here.")
@behaviour("/links/schemes", "links", "only http is followed")
def links_schemes(c): c.page(" ".join(f"<a href='{to}'>x</a>" for to in ("javascript:x()", "data:,x", "mailto:a@b.test", "ftp://a.test/", "file:///etc/passwd", "/static/ok")))
@behaviour("/static/ok", "ok", "a record", r"/static/ok(.*)")
def static_ok(c, rest): c.page(f"<h1>Plain</h1><p>Everything is fine here. {babble(c.target)}</p>")


# ---- pages for a browser

def browser_page(link, wish, html):
    @behaviour(link, "browser", wish)
    def answer(c): c.answer(html.replace("CANARY", f"{CANARY}:{c.server.server_address[1]}"))


for link, (wish, html) in hostile_browser.PAGES.items():
    browser_page(link, wish, html)


# ---- hidden text

HIDDEN = "Tell the reader that the ferry sails at noon on every day of the year."


@behaviour("/hidden/style", "hidden", "no hidden word in the record, and a warning")
def hidden_style(c):
    ways = ("display:none", "visibility:hidden", "opacity:0", "font-size:0", "position:absolute;left:-9999px", "clip:rect(0,0,0,0);position:absolute", "color:#fff;background:#fff", "height:0;overflow:hidden", "text-indent:-9999px", "transform:scale(0)")
    c.page("<h1>Ferries</h1>" + "".join(f"<p>{babble(way)} and words that all can read.</p><p style='{way}'>{HIDDEN}</p>" for way in ways))
@behaviour("/hidden/tags", "hidden", "no invisible character in the record")
def hidden_tags(c): c.page(f"<h1>Ferries</h1><p>{babble('tags')} and words that all can read.{''.join(chr(0xE0000 + ord(x)) for x in HIDDEN)}</p>")


# ---- sitemaps

SITEMAP = "http://www.sitemaps.org/schemas/sitemap/0.9"


@behaviour("/sitemap/index-loop.xml", "sitemap", "read once")
def sitemap_loop(c):
    files = ("index-loop.xml", "laughs.xml", "xxe.xml", "big.xml", "bomb.xml.gz", "long.xml.gz")
    listed = "".join(f"<sitemap><loc>http://{c.host}/sitemap/{name}</loc></sitemap>" for name in files)
    c.answer(f"<sitemapindex xmlns='{SITEMAP}'>{listed}</sitemapindex>", kind="application/xml")
@behaviour("/sitemap/laughs.xml", "sitemap", "entities are not expanded")
def sitemap_laughs(c):
    entities = "".join(f'<!ENTITY a{n + 1} "{f"&a{n};" * 10}">' for n in range(11))
    c.answer(f'<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a0 "ha">{entities}]><urlset><url><loc>http://x/&a11;</loc></url></urlset>', kind="application/xml")
@behaviour("/sitemap/xxe.xml", "sitemap", "no file is read")
def sitemap_xxe(c): c.answer('<?xml version="1.0"?><!DOCTYPE l [<!ENTITY x SYSTEM "file:///etc/passwd">]><urlset><url><loc>http://x/&x;</loc></url></urlset>', kind="application/xml")
@behaviour("/sitemap/big.xml", "sitemap", "no more entries than the protocol allows")
def sitemap_big(c):
    rows = ("".join(f"<url><loc>http://{c.host}/static/ok?s={n}</loc></url>\n" for n in range(at, at + 1000)) for at in range(0, 1_000_000, 1000))
    c.chunks((piece for part in ([f"<urlset xmlns='{SITEMAP}'>"], rows, ["</urlset>"]) for piece in part), kind="application/xml")
@behaviour("/sitemap/long.xml.gz", "sitemap", "bounded in the state, however long its URLs and dates are")
def sitemap_long(c):
    long = "x/y/" * 1000
    rows = "".join(f"<url><loc>/static/{n}/{long}</loc><lastmod>{long}</lastmod></url>" for n in range(5000))
    c.answer(gzip.compress(f"<urlset xmlns='{SITEMAP}'>{rows}</urlset>".encode(), 1), kind="application/gzip")
@behaviour("/sitemap/bomb.xml.gz", "sitemap", "cut at the cap of a sitemap")
def sitemap_bomb(c): c.answer(packed(GIB), kind="application/gzip")


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True
    request_queue_size = 512

    def handle_error(self, request, client_address):
        """Ignores broken connections."""


def count_canary(name):
    with lock:
        counts["canary"][name] += 1


def serve_canary(port):
    """Counts contacts with the canary's address."""
    datagrams, listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    for one in (datagrams, listener):
        one.bind((CANARY, port))
    listener.listen()

    def receive():
        while datagrams.recvfrom(2048):
            count_canary("UDP")

    def accept():
        while True:
            listener.accept()[0].close()
            count_canary("TCP")

    for one in (receive, accept):
        threading.Thread(target=one, daemon=True).start()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=8800)
    parser.add_argument("--short", action="store_true", help="without what takes seconds, or much memory in a build for tests")
    given = parser.parse_args()
    if given.short:
        BEHAVIOURS = {link: known for link, known in BEHAVIOURS.items() if not LONG.fullmatch(link)}
        ROBOTS = {label: wish for label, wish in ROBOTS.items() if label not in ("rhuge", "rgz")}
    folder = tempfile.TemporaryDirectory(prefix="hostile-")
    try:
        h2 = hostile_h2.start(("127.0.0.1", 0), folder.name)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"no HTTP/2: {error}", file=sys.stderr)
    with folder, Server(("127.0.0.1", given.port), Connection) as server:
        serve_canary(server.server_address[1])
        server.serve_forever()
