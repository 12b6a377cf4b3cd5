"""More sites of benches/odd_sites.py: servers with odd answers. Keys as in benches/odd_sites_data.py."""
import email.utils, gzip, time, zlib

from odd_sites_data import A, leaves, site
from odd_sites_server import page, prose


def one(name, why, answer, want="/ /a", links=("/a",), **more):
    """A site whose page /a is odd."""
    site(name, why, {"/": page("/", *links), "/a": answer, **leaves("/b"), **more.pop("pages", {})}, want, **more)


def raw(head, body=b"", version="HTTP/1.1 200 OK"):
    body = body.encode() if isinstance(body, str) else body
    return f"{version}\r\n{head}\r\n".encode() + b"\r\n" + body


HTML = "Content-Type: text/html\r\nConnection: close"
P_AB = page("/a", "/b")
P = P_AB.encode()
BOTH = "/ /a /b"


def first(answer, then=page("/a", "/b")):
    """An answer to the first request only."""
    return lambda r: answer if not r.before else then


def dated(r):
    return A("slow down", 429, (f"Retry-After: {email.utils.formatdate(time.time() + 3, usegmt=True)}",)) if not r.before else page("/a", "/b")


def deflated(raw_stream):
    packer = zlib.compressobj(wbits=-15 if raw_stream else 15)
    return packer.compress(P) + packer.flush()


def encoded(name, body):
    return A(body, headers=(f"Content-Encoding: {name}",))


def held(*answer):
    """An answer whose connection stays open."""
    return lambda r: iter([(0, raw(*answer)), (12, b"")])


def outage(r):
    """No answer between the 2nd and the 6th second."""
    if 2 < r.seconds < 6:
        return b""
    return page(r.path, *(f"/{n}" for n in range(1, 30))) if r.path == "/" else A(page(r.path), wait=0.1)


# ---- refusals that pass
one("429-plain", "429 without Retry-After, once", first(A("no", 429)), BOTH, most=4)
one("429-date", "429 with a date", dated, BOTH, most=4, check=lambda asked, records: None if [at for p, at in asked if p == "/a"][1] - [at for p, at in asked if p == "/a"][0] >= 1.9 else "asked too early")
one("429-huge", "429 with a day", A("no", 429, ("Retry-After: 86400",)), "/", links=("/a", "/b"), most=2, says=["retry_after"])
one("503-html", "503 with a page, once", first(A(page("down"), 503)), BOTH, most=4)
one("503-always", "503 always", A(page("down"), 503), "/", most=5, says=["503"])
one("500-once", "500 once", first(A("error", 500)), BOTH, most=4)
one("408", "408 once", first(A("", 408)), BOTH, most=4)
one("404-page", "404 with a page", A(page("/a", "/b"), 404), "/", most=2)
one("410", "410", A("gone", 410), "/", most=2)
one("200-error", "a database error with 200", "<b>Warning</b>: mysql_connect(): Too many connections in /var/www/db.php on line 3", "/", more=True)
# ---- bodies
one("slow-head", "the head after 2 seconds", A(P, wait=2), BOTH)
one("drip", "a byte every 0.3 seconds", lambda r: ((0.3, bytes([b])) for b in raw(HTML, P)), "/", says=["too_slow|timeout"], most=3)
one("cut-length", "the connection ends before Content-Length, always", raw(f"Content-Length: {len(P) + 500}\r\n{HTML}", P), BOTH, most=3)
one("cut-length-once", "the same once", first(raw(f"Content-Length: {len(P)}\r\n{HTML}", P[:300])), BOTH, most=4)
one("cut-no-length", "no length: all that comes is the page", raw(HTML, P), BOTH, most=3)
one("cut-chunk", "chunks without an end, always", raw(f"Transfer-Encoding: chunked\r\n{HTML}", b"%x\r\n%s\r\n" % (len(P), P)), BOTH, most=3)
one("cut-chunk-once", "the same once", first(raw(f"Transfer-Encoding: chunked\r\n{HTML}", b"%x\r\n%s" % (len(P), P[:99]))), BOTH, most=4)
one("open-length", "Content-Length is too large, and the connection stays open, always", held(f"Content-Length: {len(P) + 500}\r\nContent-Type: text/html", P), BOTH, most=3)
one("open-no-length", "no length, and the connection stays open", held("Content-Type: text/html", P), BOTH, most=3)
one("open-chunk", "chunks without the last one, and the connection stays open", held("Transfer-Encoding: chunked\r\nContent-Type: text/html", b"%x\r\n%s\r\n" % (len(P), P)), BOTH, most=3)
one("cut-comment", "Content-Length is too large, and a comment follows the last tag", raw(f"Content-Length: {len(P) + 500}\r\n{HTML}", P + b"<!-- cached -->\n"), BOTH, most=3)
one("cut-sitemap", "Content-Length of the sitemap is too large", page("/a"), BOTH, most=4,
    pages={"/robots.txt": lambda r: A(f"Sitemap: {r.url('/map.xml')}\n", kind="text/plain"), "/map.xml": lambda r: raw("Content-Length: 9999\r\nContent-Type: text/xml\r\nConnection: close", f"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'><url><loc>{r.url('/b')}</loc></url></urlset>")})
one("robots-open-404", "robots.txt is missing, its Content-Length is too large, and the connection stays open", P_AB, BOTH, most=3,
    pages={"/robots.txt": held("Content-Length: 99\r\nContent-Type: text/html", b"no", "HTTP/1.1 404 Not Found")})
one("robots-cut-301", "robots.txt is a redirect whose Content-Length is too large", P_AB, BOTH, most=4,
    pages={"/robots.txt": raw("Location: /r.txt\r\nContent-Length: 99\r\nConnection: close", b"no", "HTTP/1.1 301 Moved"), "/r.txt": A("User-agent: *\n", kind="text/plain")})
one("robots-coding-404", "robots.txt is missing, and its body is not in its coding", P_AB, BOTH, most=3,
    pages={"/robots.txt": A("no", 404, ("Content-Encoding: br",))})
one("optout-html", "opt-out files are pages with a wrong Content-Length", P_AB, BOTH, most=3,
    pages={path: raw(f"Content-Length: {len(P) + 500}\r\n{HTML}", P) for path in ("/ai.txt", "/.well-known/tdmrep.json")})
one("length-short", "Content-Length is too small", raw(f"Content-Length: 200\r\n{HTML}", P), "/ /a", more=True)
one("length-garbage", "Content-Length is no number", raw(f"Content-Length: abc\r\n{HTML}", P), "/", more=True, most=3)
one("length-twice", "Content-Length twice, the same", raw(f"Content-Length: {len(P)}\r\nContent-Length: {len(P)}\r\n{HTML}", P), BOTH)
one("chunk-garbage", "chunked with garbage", raw(f"Transfer-Encoding: chunked\r\n{HTML}", b"zzz\r\nwords"), "/", most=5, more=True)
one("chunk-extension", "chunks with extensions, spaces and trailers", raw(f"Transfer-Encoding: chunked\r\n{HTML}", b"%x ;a=b\r\n%s\r\n0\r\nX-T: 1\r\n\r\n" % (len(P), P)), BOTH)
one("http-10", "HTTP/1.0", raw("Content-Type: text/html", P, "HTTP/1.0 200 OK"), BOTH)
one("http-10-chunked", "HTTP/1.0 with chunks", raw("Content-Type: text/html\r\nTransfer-Encoding: chunked", b"%x\r\n%s\r\n0\r\n\r\n" % (len(P), P), "HTTP/1.0 200 OK"), "/", more=True)
one("http-09", "no head at all", P, "/", most=4, more=True)
one("icy", "a status line of another name", raw(HTML, P, "ICY 200 OK"), "/", most=4, more=True)
one("no-reason", "no reason phrase", raw(HTML, P, "HTTP/1.1 200"), BOTH)
one("odd-reason", "a reason phrase in Latin-1", b"HTTP/1.1 200 Tr\xe8s bien\r\n" + raw(HTML, P)[17:], BOTH)
one("lf", "LF line ends", raw(HTML, P).replace(b"\r\n", b"\n"), BOTH)
one("fold", "folded headers", raw(f"X-Long: a\r\n b\r\n{HTML}", P), BOTH)
one("space-colon", "a space before the colon", raw(f"X-Odd : a\r\n{HTML}", P), BOTH)
one("no-value", "headers without value, without name, without colon", raw(f"X-Empty:\r\n{HTML}", P), BOTH)
one("no-colon", "a header line without colon", raw(f"nonsense\r\n{HTML}", P), BOTH)
one("early-hints", "103 and 100 before the answer", b"HTTP/1.1 103 Early Hints\r\nLink: </s>; rel=preload\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n" + raw(HTML, P), BOTH)
one("large-head", "60 KB of headers", raw("".join(f"X-{n}: {'a' * 1000}\r\n" for n in range(60)) + HTML, P), BOTH)
one("many-heads", "150 headers", raw("".join(f"X-{n}: a\r\n" for n in range(150)) + HTML, P), BOTH, known="the library of HTTP takes 100 headers")
one("huge-head", "600 KB of headers", raw("".join(f"X-{n}: {'a' * 10000}\r\n" for n in range(60)) + HTML, P), "/", more=True, most=4)
one("closes", "the connection is closed after each answer without notice", raw(f"Content-Type: text/html\r\nContent-Length: {len(P)}", P), BOTH)
one("reset-once", "no answer, once", first(b""), BOTH, most=4)
site("outage", "no answer for four seconds", {"*": outage}, "/ " + " ".join(f"/{n}" for n in range(1, 30)), settings={"POLITENESS_DELAY": "150ms", "FETCH_RETRIES": "6"}, most=60)
# ---- encodings
one("gzip-plain", "gzip declared, plain sent", encoded("gzip", P), BOTH, known="browsers show an error")
one("gzip-hidden", "gzip sent, none declared", A(gzip.compress(P)), BOTH, known="browsers show no page")
one("gzip-twice", "gzip twice, declared once", encoded("gzip", gzip.compress(gzip.compress(P))), BOTH, known="browsers show no page")
one("gzip-double", "gzip, gzip", encoded("gzip, gzip", gzip.compress(gzip.compress(P))), BOTH)
one("gzip-x", "x-gzip", encoded("x-gzip", gzip.compress(P)), BOTH)
one("gzip-upper", "GZIP", encoded("GZIP", gzip.compress(P)), BOTH)
one("gzip-tail", "gzip with garbage behind", encoded("gzip", gzip.compress(P) + b"\0\0garbage"), BOTH)
one("gzip-cut", "gzip that is cut", encoded("gzip", gzip.compress(P)[:-30]), "/ /a", more=True)
one("gzip-empty", "gzip declared on an empty body", encoded("gzip", b""), "/", most=2)
one("deflate-zlib", "deflate as zlib", encoded("deflate", deflated(False)), BOTH)
one("deflate-raw", "deflate raw", encoded("deflate", deflated(True)), BOTH)
one("encoding-utf8", "Content-Encoding: UTF-8", encoded("UTF-8", P), BOTH)
one("encoding-none", "Content-Encoding: none", encoded("none", P), BOTH)
one("encoding-identity", "Content-Encoding: identity", encoded("identity", P), BOTH)
one("encoding-unknown", "Content-Encoding: sdch", encoded("sdch", b"\x01\x02\x03" * 99), "/", most=2)
one("encoding-aws", "Content-Encoding: aws-chunked, gzip", encoded("aws-chunked, gzip", gzip.compress(P)), BOTH)
# ---- types
one("type-none", "no type", A(P, kind=None), BOTH)
one("type-two", "two types", A(P, kind="text/html", headers=("Content-Type: text/html; charset=utf-8",)), BOTH)
one("type-two-other", "two types, the first is plain text", A(P, kind="text/plain", headers=("Content-Type: text/html",)), "/ /a", more=True)
one("type-quotes", "charset in quotes", A(page("/a", "/b", body="<p>Grüße aus Köln</p>").encode("latin-1"), kind="text/html; charset='ISO-8859-1'"), BOTH, record={"/a": lambda r, a: "Grüße" in r["text"]})
one("type-octet", "HTML as application/octet-stream", A(P, kind="application/octet-stream"), BOTH, known="browsers save it as a file")
one("type-download", "HTML as application/x-download", A(P, kind="application/force-download"), "/", more=True)
one("type-binary", "binary data as application/octet-stream", A(bytes(range(256)) * 40, kind="application/octet-stream"), "/")
one("type-unknown", "unknown/unknown", A(P, kind="unknown/unknown"), BOTH)
one("type-html-only", "type 'html'", A(P, kind="html"), BOTH)
one("type-star", "type */*", A(P, kind="*/*"), BOTH)
one("type-xhtml", "XHTML with XML errors", A('<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><body><p>' + prose("x") + '<br><a href="/b">b</b></body>', kind="application/xhtml+xml"), BOTH)
one("type-pdf", "a PDF as text/html", A(b"%PDF-1.7\n" + bytes(999)), "/", most=2)
one("type-png", "an image as text/html", A(b"\x89PNG\r\n\x1a\n" + bytes(999)), "/", most=2)
one("type-vnd-wap", "application/vnd.wap.xhtml+xml", A(P, kind="application/vnd.wap.xhtml+xml"), BOTH, known="browsers save it as a file")
one("type-plain-html", "HTML as text/plain", A(P, kind="text/plain"), "/ /a", more=True)
one("type-markdown", "Markdown", A("# A\n\n" + prose("m") + "\n\n[b](/b)\n", kind="text/markdown"), BOTH)
one("attachment", "HTML as attachment", A(P, headers=("Content-Disposition: attachment; filename=a.html",)), "/", more=True)
one("text-5mb", "plain text of 5 MB", A((prose("t", 2000) + "\n\n") * 360, kind="text/plain"), "/ /a")
one("html-9mb", "a page of 9 MB", A(page("/a", "/b", body="".join(f"<p>{prose(str(n), 60)}</p>" for n in range(24_000)))), "/ /a", more=True)
one("bom-16", "UTF-16 with its mark, declared as UTF-8", A(page("/a", "/b").encode("utf-16")), BOTH)
one("empty", "an empty page", A(""), "/", most=2)
one("blank", "a page of blanks", A("  \n "), "/", more=True, most=2)
one("gzip-pdf", "a short PDF, encoded and called a page", A(gzip.compress(b"%PDF-1.7\n"), headers=("Content-Encoding: gzip",)), "/", most=2)
one("cut-files", "a wrong Content-Length on all answers", raw(f"Content-Length: {len(P) + 500}\r\n{HTML}", P), BOTH, most=3,
    pages={"/ai.txt": raw("Content-Length: 99\r\nConnection: close", b"no", "HTTP/1.1 404 Not Found"), "/.well-known/tdmrep.json": raw("Content-Length: 99\r\nConnection: close", b"no", "HTTP/1.1 404 Not Found")})
# ---- manners
site("language", "a host that answers only with Accept-Language", {"*": lambda r: page(r.path, "/a") if "accept-language" in r.headers else A("no", 406)}, "/ /a", code=0, known="no language is preferred; --header 'Accept-Language: en' sends one")
site("accept", "a host that answers only with Accept", {"*": lambda r: page(r.path, "/a") if "text/html" in r.headers.get("accept", "") else A("no", 406)}, "/ /a /a", more=True)
site("agents", "a host that refuses unknown agents with 406", {"*": A("no", 406)}, "", code=4, most=2, says=["406"])
site("referer", "pages that need a Referer", {"/": page("/", "/a"), "/a": lambda r: page("/a") if r.headers.get("referer") else A("hotlink", 403)}, "/", more=True)
site("dead-host", "one of two seeds does not exist", {"/": page("/", "/a"), "/a": page("/a")}, "/ /a", seeds=["/", "http://nowhere.invalid/"], says=["dns"])
site("dead-links", "links to dead hosts within the domain", {"/": page("/", "/a", "http://dead1.dead-links.invalid/", "http://x.dead-links.test:1/"), "/a": page("/a")}, "/ /a", flags=["--scope", "domain"], hosts=["x.dead-links"])
site("plain-tls", "https at a port of plain HTTP", {"/": page("/")}, "", seeds=["https://plain-tls.test:{port}/"], code=4, says=["tls|TLS"], most=1)
