#!/usr/bin/env python3
"""Servers that exhaust a crawler: benches/hostile_server.py with further paths, and floods of HTTP/2 frames.

    server.py KEY CERTIFICATE

Prints its ports as a line of JSON, and serves until it is killed.
"""
import json, pathlib, socket, ssl, struct, sys, threading, time

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent.parent))
import hostile_server
from bombs import brotli_of
from hostile_server import GIB, MIB, Connection, Server, behaviour, packed

ROBOTS = {"huge": 1, "endless": 2, "slow": 3, "loop": 4, "never": 5}
SITEMAPS = {"index": 1, "entries": 2, "bomb": 3, "long": 4}
SLOW = 24
LONG = "x" * 3_800


class Exhausting(Connection):
    """The paths of the hostile server, with a robots.txt and sitemaps by address."""

    def one(self, head):
        host = dict(line.lower().split(":", 1) for line in head.split("\r\n")[1:] if ":" in line).get("host", "").strip()
        address = host.split(":")[0].split(".")
        path = head.split(" ")[1].split("?")[0]
        if address[:3] == ["127", "0", "1"] and path == "/robots.txt":
            return robots(self, int(address[3]))
        if address[:3] == ["127", "0", "2"] and path != "/static/ok":
            return sitemap(self, int(address[3]), host, path)
        if address[:3] == ["127", "0", "3"] and path != "/robots.txt":
            return self.drip()
        super().one(head)

    def drip(self):
        self.head(more=["Connection: close"])
        while True:
            self.raw("x")
            time.sleep(1)

    def forever(self, piece):
        while True:
            self.raw(piece)


def robots(c, kind):
    if kind == ROBOTS["huge"]:
        c.head(kind="text/plain", length=100 * MIB)
        for _ in range(100 * MIB // 1000):
            c.raw("# " + "x" * 997 + "\n")
    elif kind == ROBOTS["endless"]:
        c.head(kind="text/plain", more=["Connection: close"])
        c.forever("Disallow: /" + "x" * 80 + "\n")
    elif kind == ROBOTS["slow"]:
        c.drip()
    elif kind == ROBOTS["loop"]:
        c.redirect("/robots.txt")
    else:
        time.sleep(100)


def sitemap(c, kind, host, path):
    base = f"http://{host}"
    if path == "/robots.txt":
        return c.answer(f"User-agent: *\nSitemap: {base}/map.xml\n", kind="text/plain")
    if not path.startswith("/map"):
        return c.answer("<p>words of a page", "404 Not Found")
    xml = "application/xml"
    if kind == SITEMAPS["index"]:
        listed = "".join(f"<sitemap><loc>{base}/map{n}{path[4:-4]}.xml</loc></sitemap>" for n in range(1_000))
        return c.answer(f"<sitemapindex>{listed}</sitemapindex>", kind=xml)
    if kind == SITEMAPS["bomb"]:
        return c.answer(packed(GIB), kind="application/gzip")
    long = "x/y/" * 900 if kind == SITEMAPS["long"] else ""
    entries = 10_000 if kind == SITEMAPS["long"] else 200_000
    rows = "".join(f"<url><loc>{base}/static/{n}/{long}</loc></url>" for n in range(entries))
    c.answer(f"<urlset>{rows}</urlset>", kind=xml)


def at(name, pattern=None):
    return behaviour(f"/exhaust/{name}", "exhaust", "", pattern and f"/exhaust/{pattern}")


@at("one-header")
def one_header(c): c.answer("<p>words", more=["X: " + "x" * (10 << 20)])
@at("many-headers")
def many_headers(c): c.answer("<p>words", more=["X: y"] * 100_000)
@at("small-chunks")
def small_chunks(c): c.head(more=["Transfer-Encoding: chunked"]), c.forever("1\r\nx\r\n" * 1_000)
@at("chunk-extension")
def chunk_extension(c): c.head(more=["Transfer-Encoding: chunked"]), c.raw("1;"), c.forever("x" * 10_000)
@at("trailers")
def trailers(c): c.head(more=["Transfer-Encoding: chunked"]), c.raw("1\r\nx\r\n0\r\n"), c.forever("X: y\r\n" * 1_000)
@at("codings")
def codings(c): c.answer("<p>words", more=["Content-Encoding: " + "gzip, " * 5_000 + "gzip"])
@at("hints")
def hints(c): c.forever("HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\n" * 100)
@at("status-line")
def status_line(c): c.raw("HTTP/1.1 200 "), c.forever("x" * 10_000)
@at("long-redirect")
def long_redirect(c): c.redirect("/exhaust/long-redirect?" + "x" * 5_000)
@at("location")
def location(c): c.redirect("/" + "x" * 5_000_000)
@at("refresh/0", r"refresh/(\d+)")
def refresh(c, n): c.page(f"<meta http-equiv=refresh content='0;url=/exhaust/refresh/{int(n) + 1}'>")
@at("canonical/0", r"canonical/(\d+)")
def canonical(c, n): c.page(f"<link rel=canonical href=/exhaust/canonical/{int(n) + 1}><a href=/exhaust/canonical/{int(n) + 1}>on</a>")
@at("garbage")
def garbage(c): c.page("<p>words"), c.forever("\0" * 10_000)
@at("brotli")
def brotli(c): c.answer(brotli_of(b"x", GIB), more=["Content-Encoding: br"])
@at("link-header")
def link_header(c): c.answer("<p>words", more=["Link: " + ", ".join(f"</l{n}>; rel=alternate" for n in range(5_000))])
@at("feeds", r"feeds?(\d*)")
def feeds(c, n):
    if n:
        return c.answer("<rss><channel>" + f"<item><link>/exhaust/feeds?{n}</link></item>" * 100, kind="application/rss+xml")
    c.page("".join(f"<link rel=alternate type=application/rss+xml href=/exhaust/feed{n}>" for n in range(2_000)))
@at("feed-page")
def feed_page(c): c.page("<link rel=alternate type=application/rss+xml href=/exhaust/large-feed>")
@at("large-feed")
def large_feed(c): c.answer("<rss><channel>" + "".join(f"<item><link>/static/ok{n}?{LONG[:500]}</link></item>" for n in range(100_000)), kind="application/rss+xml")
@at("maze/", r"maze/(\w*)")
def maze(c, here): c.page("".join(f"<a href='/exhaust/maze/{here[-8:]}{n}?{LONG}'>w</a> " for n in range(100)))
@at("hosts")
def hosts(c): c.page("".join(f"<a href='http://127.{n % 50 + 100}.{n // 50}.9:9/'>w</a> " for n in range(5_000)))
@at("cookies/0", r"cookies/(\d+)")
def cookies(c, n):
    c.answer(f"<a href=/exhaust/cookies/{int(n) + 1}>on</a>", more=[f"Set-Cookie: c{n}-{k}={'x' * 3_000}" for k in range(90)])
@at("errors")
def errors(c): c.page("".join(f"<a href='/exhaust/error/{n}?{LONG}'>w</a> " for n in range(1_000)))
@at("error/0", r"error/(\d+)")
def error(c, n): c.answer("x" * 100_000, "500 " + "Very " * 1_000)
@at("names")
def names(c): c.page("".join(f"<a href='/exhaust/name/{n}'>w</a> " for n in range(1_000)))
@at("name/0", r"name/(\d+)")
def name(c, n): c.answer("<title>" + "x" * 200_000 + "</title>" + "<meta name=keywords content='" + "a," * 100_000 + "'><p>words " + n)


# ---- HTTP/2

HEADERS, DATA, RESET, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION = 1, 0, 3, 4, 5, 6, 7, 8, 9
END_HEADERS, PADDED = 4, 8


def frame(kind, payload=b"", flags=0, stream=0):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


ANSWER = frame(HEADERS, b"\x88", END_HEADERS, 1)
# name → (answer to the request, endless frames)
FLOODS = {
    "settings": (b"", frame(SETTINGS)),
    "settings that change": (b"", frame(SETTINGS, struct.pack(">HI", 4, 65_535)) + frame(SETTINGS, struct.pack(">HI", 4, 70_000))),
    "ping": (b"", frame(PING, bytes(8))),
    "answers to no ping": (b"", frame(PING, bytes(8), 1)),
    "window update": (b"", frame(WINDOW, struct.pack(">I", 0))),
    "priority": (b"", frame(2, bytes(5), 0, 1)),
    "unknown frames": (b"", frame(0xfa, b"x")),
    "large unknown frames": (b"", frame(0xfa, bytes(16_000))),
    "empty data": (ANSWER, frame(DATA, b"", 0, 1)),
    "one byte of data": (ANSWER, frame(DATA, b"x", 0, 1)),
    "padding": (ANSWER, frame(DATA, b"\xfe" + bytes(254), PADDED, 1)),
    "continuation": (frame(HEADERS, b"\x88", 0, 1), frame(CONTINUATION, b"", 0, 1)),
    "early hints": (b"", frame(HEADERS, b"\x08\x03103", END_HEADERS, 1)),
    "large early hints": (b"", frame(HEADERS, b"\x08\x03103" + b"\x00\x01a\x7f\x81\x1f" + b"x" * 4_000, END_HEADERS, 1)),
    "push": (b"", frame(PUSH, struct.pack(">I", 2) + b"\x82\x84\x87\x41\x01a", END_HEADERS, 1)),
    "goodbye": (b"", frame(GOAWAY, struct.pack(">II", 2**31 - 1, 0))),
    "reset of no stream": (b"", frame(RESET, bytes(4), 0, 3)),
    "data without end": (ANSWER, frame(DATA, b"<p>words of a page</p>" * 700, 0, 1)),
}


def flood_one(context, connection, begin, flood):
    try:
        with context.wrap_socket(connection, server_side=True) as stream:
            if stream.selected_alpn_protocol() != "h2":
                stream.recv(65536)
                return stream.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            stream.sendall(frame(SETTINGS))
            asked = b""
            # the preface, settings, possibly a window, and the request: its HEADERS frame ends them
            while len(asked) < 24 + 9 + 9 or not has_request(asked[24:]):
                got = stream.recv(65536)
                if not got:
                    return None
                asked += got
            stream.sendall(begin)
            # the client's frames are not read: answers to them would fill both buffers
            reader = threading.Thread(target=swallow, args=(stream,), daemon=True)
            reader.start()
            pieces = flood * max(1, 60_000 // len(flood))
            while True:
                stream.sendall(pieces)
    except OSError:
        return None


def has_request(asked):
    while len(asked) >= 9:
        length, kind = int.from_bytes(asked[:3], "big"), asked[3]
        if kind == HEADERS:
            return True
        asked = asked[9 + length:]
    return False


def swallow(stream):
    try:
        while stream.recv(1 << 20):
            pass
    except (OSError, ValueError):
        pass


def flood_server(context, begin, flood):
    listener = socket.create_server(("127.0.0.1", 0))

    def accept():
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=flood_one, args=(context, connection, begin, flood), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return listener.getsockname()[1]


def main():
    key, certificate = sys.argv[1:]
    first = Server(("127.0.0.1", 0), Exhausting)
    port = first.server_address[1]
    addresses = [f"127.0.1.{n}" for n in ROBOTS.values()] + [f"127.0.2.{n}" for n in SITEMAPS.values()]
    addresses += [f"127.0.3.{n + 1}" for n in range(SLOW)]
    for server in [first, *(Server((address, port), Exhausting) for address in addresses)]:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    ports = {"http": port, "robots": ROBOTS, "sitemaps": SITEMAPS, "slow": SLOW}
    if pathlib.Path(key).exists():
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        context.set_alpn_protocols(["h2", "http/1.1"])
        ports["https"] = {name: flood_server(context, *flood) for name, flood in FLOODS.items()}
    print(json.dumps(ports), flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
