"""Pages, files, settings and URLs that exhaust a crawler, with the bounds for each."""
import base64, dataclasses, gzip, json, os, pathlib, random, shutil, struct, subprocess, sys, typing

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent.parent))
from hostile_server import GIB, packed

KEY = CERTIFICATE = pathlib.Path()
WORDS = "The council met on Monday and spoke for two hours about the new bridge across the river. "


@dataclasses.dataclass
class Case:
    name: str
    make: typing.Callable = None
    bounds: dict = dataclasses.field(default_factory=dict)
    vector: str = ""
    wanted: typing.Callable = None
    env: dict = dataclasses.field(default_factory=dict)
    path: str = ""
    flags: tuple = ()


def make_certificate(folder):
    """Creates a self-signed certificate for 127.0.0.1; none without openssl."""
    global KEY, CERTIFICATE
    KEY, CERTIFICATE = folder / "key.pem", folder / "certificate.pem"
    CERTIFICATE.touch()
    if shutil.which("openssl"):
        words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                 "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE", "-keyout", str(KEY), "-out", str(CERTIFICATE)]
        subprocess.run(words, check=True, capture_output=True)


# ---- pages

ARTICLE = f"<article><h1>Bridge</h1>{f'<p>{WORDS * 3}</p>' * 8}</article>"


def body(inner, head=""):
    return lambda: f"<!doctype html><html><head><title>A page</title>{head}</head><body>{ARTICLE}{inner}</body></html>".encode()


def numbered(pattern, count):
    return "".join(pattern.replace("#", str(n)) for n in range(count))


def css(rules, inner=""):
    return body(inner, f"<style>{rules}</style>")


def ld(text):
    return body("", f"<script type='application/ld+json'>{text}</script>")


def page(name, make, **bounds):
    return Case(name, make, {"cpu": 8, **bounds})


PAGES = [
    page("100,000 nested div", body("<div>" * 100_000)),
    page("50,000 nested b", body("<b>" * 50_000 + "words")),
    page("20,000 nested lists", body("<ul><li>" * 20_000)),
    page("10,000 nested tables", body("<table><tr><td>" * 10_000)),
    page("misnested formatting", body("<a><b><i><p>" * 5_000)),
    page("form feeds of font", body("<font size=1><p>" * 10_000)),
    page("nested blockquotes", body("<blockquote>" * 50_000 + "words")),
    page("nested details", body("<details><summary>x</summary>" * 20_000)),
    page("nested templates", body("<template>" * 20_000)),
    page("nested svg", body("<svg><g>" * 30_000)),
    page("nested math", body("<math><mrow>" * 20_000)),
    page("nested select", body("<select><option>" * 30_000)),
    page("200,000 attributes", body(f"<p {numbered('a#=# ', 200_000)}>words</p>")),
    page("one attribute of 4 MB", body(f"<p title='{'x' * 4_000_000}'>words</p>")),
    page("5,000 classes on 2,000 elements", body(f"<p class='{numbered('c# ', 500)}'>words</p>" * 2_000)),
    page("300,000 identical ids", body("<p id=a>w" * 200_000)),
    page("an open comment", body("<!-- " + "x-" * 1_000_000)),
    page("two million <", body("<" * 2_000_000)),
    page("a million &", body("&" * 1_000_000)),
    page("a million entities", body("&NotEqualTilde;" * 200_000)),
    page("a million NUL", lambda: b"<p>words</p>" + b"\0" * 1_000_000),
    page("invalid UTF-8", lambda: b"<meta charset=utf-8><p>" + b"\xff\xc0" * 1_000_000),
    page("bytes of no charset", lambda: b"<p>" + random.Random(1).randbytes(1_000_000)),
    page("a million combining marks", body("<p>a" + "\u0301" * 500_000)),
    page("a million marks of direction", body("<p>" + "\u202e\u2066" * 300_000)),
    page("a word of 2 MB", body("<p>" + "x" * 2_000_000)),
    page("2 MB of spaces", body("<p>a" + " \n" * 1_000_000 + "b")),
    page("100,000 titles", lambda: b"<title>a</title>" * 100_000),
    page("a title of 2 MB", lambda: b"<title>" + b"word " * 400_000 + b"</title><p>words"),
    page("100,000 h1", body("<h1>a</h1>" * 50_000)),
    page("200,000 links", body(numbered("<a href='/x?#'>w</a> ", 100_000))),
    page("long base, 100,000 relative links",
         body(numbered("<a href='?#'>w</a> ", 60_000), f"<base href='/{'%C3%A9/' * 600}'>")),
    page("srcset of 1 MB", body(f"<img srcset='{numbered('/i#.png #w, ', 50_000)}'>")),
    page("100,000 pictures", body(numbered("<img src=/i#.png alt='a picture'>", 50_000))),
    page("a table of a million cells", body(f"<table>{'<tr>' + '<td>x' * 300}" * 1 + ("<tr>" + "<td>x" * 300) * 600)),
    page("cells over 65,534 columns", body(f"<table>{'<tr><td colspan=65534 rowspan=65534>x' * 300}</table>")),
    page("100,000 definition terms", body("<dl>" + "<dt>a<dd>b" * 50_000)),
    page("ruby without end", body("<ruby>" + "a<rt>b" * 100_000)),
    page("20,000 footnotes", body(numbered("<sup id=r#><a href='#n#'>#</a></sup>", 10_000) + numbered("<li id=n#>note</li>", 10_000))),
    page("100,000 br", body("<p>a" + "<br>" * 200_000)),
    page("100,000 meta refresh", body("", "<meta http-equiv=refresh content='1;url=/x'>" * 50_000)),
    page("100,000 meta charset", body("", "<meta charset=x-unknown>" * 50_000)),
    page("100,000 og:title", body("", numbered("<meta property='og:title' content='t#'>", 60_000))),
    page("100,000 authors", body("", numbered("<meta name=author content='By A# B#'>", 50_000))),
    page("digits for dates", body("<p>" + "2024-01-" * 100_000 + "<time datetime='" + "1" * 500_000 + "'>")),
    page("by, and by, and by", body("<p class=byline>" + "By A. and " * 100_000)),
    page("100,000 feeds", body("", numbered("<link rel=alternate type='application/rss+xml' href='/f#'>", 50_000))),
    page("100,000 alternates", body("", numbered("<link rel=alternate hreflang=x# href='/l#'>", 50_000))),
    page("30,000 CSS rules", css(numbered(".c#{display:none}", 30_000), numbered("<p class=c#>words", 2_000))),
    page("CSS of many classes", css(numbered(".a.b.c.d#,", 20_000) + "x{display:none}", "<p class='a b c'>w" * 5_000)),
    page("CSS descendants in depth", css(numbered(" div" * 30 + "{opacity:0}", 300), "<div>" * 3_000 + "words")),
    page("CSS siblings", css("p~p~p~p~p~p~i{display:none}" * 50, "<p>w</p>" * 20_000)),
    page("CSS :not in depth", css(":not(" * 20_000 + "p" + ")" * 20_000 + "{display:none}")),
    page("CSS :is that multiplies", css(":is(a,b,:is(a,b,:is(a,b,:is(a,b," + "c" + "))))" * 1 + " " * 10 + "{display:none}" * 1_000)),
    page("CSS :nth-child", css(":nth-child(2n+1):nth-last-child(3n) p{opacity:0}" * 200, "<div>w</div>" * 10_000)),
    page("CSS :has", css("div:has(div:has(p)){display:none}" * 200, "<div>" * 500 + "<p>w</p>" * 2_000)),
    page("CSS braces in depth", css("{" * 500_000)),
    page("CSS @media in depth", css("@media screen{" * 50_000)),
    page("CSS variables that refer on", css(":root{" + numbered("--a#:var(--b#);", 50_000) + "}")),
    page("CSS open string", css("a{content:'" + "x" * 1_000_000)),
    page("CSS comments", css("/*" * 500_000)),
    page("style attributes of 1 MB", body("<p style='" + "opacity:1;" * 100_000 + "'>words</p>")),
    page("20,000 style attributes", body(numbered("<p style='clip:rect(0,0,0,#px)'>w", 20_000))),
    page("JSON-LD of 100,000 keys", ld("{" + ",".join(f'"k{n}":{n}' for n in range(100_000)) + "}")),
    page("JSON-LD of the same key", ld("{" + '"headline":"x",' * 100_000 + '"@type":"Article"}')),
    page("JSON-LD arrays in depth", ld("[" * 500_000)),
    page("JSON-LD objects in depth", ld('{"@graph":' * 100_000 + "1" + "}" * 100_000)),
    page("JSON-LD of 50,000 articles", ld("[" + ",".join(['{"@type":"Article","headline":"h"}'] * 50_000) + "]")),
    page("20,000 JSON-LD scripts", body("<script type='application/ld+json'>{\"@type\":\"Article\"}</script>" * 10_000)),
    page("JSON-LD references in circles",
         ld('{"@graph":[' + ",".join(f'{{"@id":"#{n}","author":{{"@id":"#{(n + 1) % 5000}"}}}}' for n in range(5_000)) + "]}")),
    page("microdata in depth", body("<div itemscope itemprop=a>" * 20_000)),
    page("microdata that refers in circles", body(numbered("<div itemscope id=i# itemref='i# i0 i1 i2'>w</div>", 10_000))),
    page("a payload of 2 MB", body(f"<script id=__NEXT_DATA__ type='application/json'>{json.dumps({'a': ['x'] * 300_000})}</script>")),
    page("a payload in depth", body("<script id=__NEXT_DATA__ type='application/json'>" + '{"a":' * 100_000)),
    page("30,000 pushes of a payload", body(numbered("<script>self.__next_f.push([1,\"#:x\"])</script>", 20_000))),
    page("script of braces", body("<script>window.__STATE__=" + "{" * 500_000 + "</script>")),
    page("aria labels in circles", body(numbered("<button aria-controls=b#>w</button><div id=b# aria-labelledby=b# hidden>x</div>", 10_000))),
]


# ---- files

def endless_line(folder, last, mebibytes=300):
    """Standard input: a very long line, and a good one."""
    with open(folder / "stdin", "wb") as file:
        file.truncate(mebibytes << 20)
        file.seek(0, os.SEEK_END)
        file.write(b"\n" + json.dumps(last).encode() + b"\n")


def jsonl(words, last, **wanted):
    def make(folder):
        endless_line(folder, last)
        return words
    return make


def sparse(name, mebibytes, words, head=b""):
    def make(folder):
        with open(folder / name, "wb") as file:
            file.write(head)
            file.truncate(mebibytes << 20)
        return words
    return make


def text(name, content, words):
    def make(folder):
        data = content() if callable(content) else content
        (folder / name).write_bytes(data.encode() if isinstance(data, str) else data)
        return words
    return make


def went_on(use):
    """True if the line after the bad one is answered."""
    return use.code == 0 and len(use.stdout.strip().splitlines()) >= 1 and "line 1" in use.stderr


def lines_cases():
    html = {"id": "good", "url": "https://example.org/", "html": "<p>words"}
    record = {"id": "good", "url": "https://example.org/", "content": WORDS}
    cases = [
        ("extract", ["extract", "--jsonl"], html),
        ("classify", ["classify", "--jsonl"], html),
        ("check robots", ["check", "robots", "--jsonl"], {"robots": "User-agent: *", "url": "https://example.org/"}),
        ("check url", ["check", "url", "--jsonl"], {"in": "https://example.org/"}),
        ("check charset", ["check", "charset", "--jsonl"], {"bytes_b64": "YQ=="}),
        ("check sitemap", ["check", "sitemap", "--jsonl"], {"url": "https://example.org/", "bytes_b64": "YQ=="}),
    ]
    for name, words, last in cases:
        yield Case(f"a line of 300 MB: {name}", jsonl(words, last), {"memory": 250, "disk": 310}, "lines", went_on)
    def dedup(folder):
        endless_line(folder, record)
        os.rename(folder / "stdin", folder / "in.jsonl")
        return ["dedup", "in.jsonl"]
    yield Case("a line of 300 MB: dedup", dedup, {"memory": 250, "disk": 310}, "lines", lambda use: use.code == 0)
    for name in ("duplicates", "quality"):
        def make(folder, name=name):
            endless_line(folder, {"id": "a", "text": WORDS})
            os.rename(folder / "stdin", folder / "in.jsonl")
            return [name, "in.jsonl", *(["--report", "r.json"] if name == "duplicates" else [])]
        yield Case(f"a line of 300 MB: {name}", make, {"memory": 250, "disk": 310}, "lines")
    yield Case("deep JSON: extract", text("stdin", b'{"id":' + b"[" * 1_000_000 + b"\n", ["extract", "--jsonl"]), vector="lines")
    yield Case("200,000 keys: extract", text("stdin", lambda: json.dumps({f"k{n}": n for n in range(200_000)} | html), ["extract", "--jsonl"]), vector="lines")
    many = lambda: json.dumps({f"k{n}": n for n in range(60_000)} | record) + "\n"
    for name in ("dedup", "quality"):
        words = [name, "in.jsonl", *(["-o", "out.jsonl"] if name == "quality" else [])]
        yield Case(f"60,000 keys: {name}", text("in.jsonl", many, words), {"cpu": 12}, "lines")
    yield Case("deep JSON: dedup", text("in.jsonl", b'{"content":"x","a":' + b"[" * 500_000 + b"\n", ["dedup", "in.jsonl"]), vector="lines")
    encoded = lambda: json.dumps({"id": 1, "html_base64": base64.b64encode(b"<p>" + b"x" * (10 << 20)).decode()})
    yield Case("a page of 10 MB in base64", text("stdin", encoded, ["extract", "--jsonl"]), {"memory": 600, "disk": 80}, "lines")


def document_cases():
    large = {"memory": 500, "disk": 1100}
    for name, words in [("extract", ["extract", "in"]), ("classify", ["classify", "in"]), ("check robots", ["check", "robots", "in", "--url", "https://example.org/"]),
                        ("check url", ["check", "url", "in"]), ("check charset", ["check", "charset", "in"]),
                        ("check sitemap", ["check", "sitemap", "in", "--url", "https://example.org/"])]:
        yield Case(f"a document of 1 GB: {name}", sparse("in", 1_000, words), large, "documents", lambda use: "larger than" in use.stderr)
    page_bomb = lambda: packed(GIB, b"<p>words</p>")
    yield Case("a page of 1 GB packed", text("in.gz", page_bomb, ["extract", "in.gz"]), {"memory": 750}, "documents")
    sitemap = ["check", "sitemap", "in", "--url", "https://example.org/sitemap.xml"]
    rows = lambda: "<urlset>" + numbered("<url><loc>https://example.org/#</loc></url>", 300_000)
    entities = "".join(f'<!ENTITY a{n + 1} "{f"&a{n};" * 10}">' for n in range(11))
    laughs = f'<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a0 "ha">{entities}]><urlset><url><loc>http://x/&a11;</loc></url></urlset>'
    for name, content in [("300,000 entries", rows), ("1 GB packed", lambda: packed(GIB)), ("entities", laughs), ("depth", "<urlset>" + "<a>" * 500_000),
                          ("attributes", "<urlset " + numbered("a#='1' ", 100_000) + ">"), ("long URLs", lambda: "<urlset>" + f"<url><loc>https://example.org/{'x' * 100_000}</loc></url>" * 100),
                          ("open CDATA", "<urlset><![CDATA[" + "x" * 2_000_000), ("a feed of 200,000 entries", lambda: "<rss><channel>" + numbered("<item><link>https://example.org/#</link></item>", 200_000)),
                          ("lines of text", lambda: numbered("https://example.org/#\n", 300_000))]:
        yield Case(f"sitemap: {name}", text("in", content, sitemap), {"memory": 400}, "documents")
    robots = ["check", "robots", "in", "--url", "https://example.org/" + "a" * 2_000]
    for name, content in [("100 MB", lambda: b"Disallow: /a\n" * 8_000_000), ("stars", "User-agent: *\nDisallow: /" + "*a" * 5_000 + "$\n"),
                          ("500,000 agents", lambda: numbered("User-agent: a#\n", 500_000)), ("many stars", "User-agent: *\n" + ("Disallow: /" + "*a*b" * 200 + "$\n") * 2_000),
                          ("100,000 sitemaps", lambda: numbered("Sitemap: https://example.org/#\n", 100_000))]:
        yield Case(f"robots.txt: {name}", text("in", content, robots), {"memory": 400, "disk": 120}, "documents")
    yield Case("a URL of 8 MB", text("in", b"https://example.org/" + b"a/../" * 1_600_000, ["check", "url", "in"]), vector="documents")
    yield Case("200,000 URLs", text("in", lambda: numbered("https://example.org/?b=#&a=#\n", 100_000), ["check", "url", "in"]), vector="documents")


def refused(use):
    return use.code == 2 and 0 < len(use.stderr) < 20_000


def settings_cases():
    run = ["--config", "c.toml", "--seed", "http://127.0.0.1:9/", "--state-dir", "state", "-O", "o.jsonl", "--quiet"]
    def case(name, content, **more):
        return Case(name, text("c.toml", content, run), {"cpu": 10, "seconds": 40}, "settings", more.get("wanted", refused))
    yield case("300,000 unknown keys", lambda: "[fetch]\n" + numbered("k# = 1\n", 300_000))
    yield case("100,000 unknown sections", lambda: numbered("[s#]\n", 100_000))
    yield case("8 MB of comments", lambda: "# comment\n" * 800_000)
    yield case("keys in depth", "[fetch]\n" + "a." * 100_000 + "b = 1\n")
    yield case("arrays in depth", "[politeness]\ndelay = " + "[" * 500_000)
    yield case("tables in depth", "[politeness]\ndelay = " + "{a=" * 200_000)
    yield case("a string of 3 MB", lambda: f"[politeness]\ndelay = \"{'x' * 3_000_000}\"\n")
    yield case("an expression that multiplies", "[crawl]\ninclude = ['((((a{1000}){1000}){1000}){1000})']\n")
    yield case("dates that are none", "[politeness]\ndelay = 9999-99-99\n")
    for key in ("fetch.concurrency", "politeness.host_concurrency", "chrome.tabs", "extract.threads", "dedup.shards", "output.batch"):
        section, name = key.split(".")
        for number in (10**6 if name not in ("output.batch",) else 10**9, 2**62):
            yield Case(f"{key} = {number}", text("c.toml", f"[{section}]\n{name} = {number}\n", run), {"cpu": 10, "seconds": 40}, "settings",
                       lambda use, key=key: refused(use) and key in use.stderr)
    yield Case("2^62 in the environment", text("c.toml", "", run), {"cpu": 10, "seconds": 40}, "settings", refused, {"CRAWL_FETCH_CONCURRENCY": str(2**62)})
    for name in ("connections", "analyses"):
        words = ["serve", "--config", "c.toml", "--listen", "127.0.0.1:0", "--database", "p.sqlite"]
        yield Case(f"serve.{name} = 2^62", text("c.toml", f"[serve]\n{name} = {2**62}\n", words), {"cpu": 10, "seconds": 25}, "settings",
                   refused, {"CRAWL_SERVE_TOKEN": "a-token-for-the-attack"})


# ---- archives and tables

def warc(head, content=b""):
    return b"WARC/1.0\r\n" + head + b"\r\n" + content + b"\r\n\r\n"


RESPONSE = b"WARC-Type: response\r\nWARC-Target-URI: https://example.org/\r\nWARC-Date: 2024-01-01T00:00:00Z\r\nContent-Type: application/http; msgtype=response\r\n"


def archive_cases(binary, folder, base):
    many = b"".join(gzip.compress(warc(b"WARC-Type: metadata\r\nContent-Length: 0\r\n")) for _ in range(1))
    http = lambda body, head=b"": b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n" + head + b"\r\n" + body
    record = lambda content: warc(RESPONSE + b"Content-Length: %d\r\n" % len(content), content)
    files = {
        "a length of 10^18": warc(RESPONSE + b"Content-Length: 1000000000000000000\r\n", b"x" * 1000),
        "a length of 10^30": warc(RESPONSE + b"Content-Length: 1" + b"0" * 30 + b"\r\n", b"x" * 1000),
        "a head without an end": b"WARC/1.0\r\n" + b"A: b\r\n" * 2_000_000,
        "a line without an end": b"WARC/1.0\r\nA: " + b"x" * 30_000_000,
        "no version": b"x" * 30_000_000,
        "15,000 small members": None,
        "chunks without an end": record(http(b"1\r\nx\r\n" * 500_000, b"Transfer-Encoding: chunked\r\n")),
        "a bomb in a record": record(http(packed(GIB, b"x"), b"Content-Encoding: gzip\r\n")),
        "codings in depth": record(http(b"x" * 1000, b"Content-Encoding: " + b"gzip, " * 10_000 + b"gzip\r\n")),
        "100,000 headers": record(http(b"x", b"A: b\r\n" * 100_000)),
    }
    for name, content in files.items():
        if content is None:
            make = text("in.warc.gz", lambda: many * 15_000, ["duplicates", "in.warc.gz", "--report", "r.json"])
        else:
            make = text("in.warc", content, ["duplicates", "in.warc", "--report", "r.json"])
        yield Case(f"WARC: {name}", make, {"disk": 70}, "archives")
    yield Case("WARC: 128 MB packed", text("in.warc.gz", lambda: packed(GIB // 8, b"x"), ["duplicates", "in.warc.gz", "--report", "r.json"]), {}, "archives")
    yield Case("CSV: an open quotation", text("in.csv", b"id,text\n1,\"" + b"x\n" * 20_000_000, ["duplicates", "in.csv", "--report", "r.json"]), {"disk": 60}, "archives")
    yield Case("CSV: a million columns", text("in.csv", b"id,text" + b",a" * 1_000_000 + b"\n" + b"1,2" * 1000, ["duplicates", "in.csv", "--report", "r.json"]), {}, "archives")
    whole = parquet(binary, folder, base)
    if whole is None:
        return
    damage = random.Random(7)
    for number in range(12):
        content = bytearray(whole)
        if number < 4:
            # length of the footer, before the last four bytes
            content[-8:-4] = struct.pack("<I", [0, len(whole), 2**31, 2**32 - 1][number])
        else:
            length = struct.unpack("<I", whole[-8:-4])[0]
            for _ in range(30):
                # the footer holds sizes and counts
                content[len(whole) - 8 - damage.randrange(length) - 1] = damage.choice([0xff, 0x7f, 0x80, damage.randrange(256)])
        yield Case(f"Parquet: damage {number}", text("in.parquet", bytes(content), ["duplicates", "in.parquet", "--report", "r.json"]), {}, "archives")


def parquet(binary, folder, base):
    """A table written by the crawl itself."""
    made = folder / "made"
    made.mkdir(exist_ok=True)
    words = [binary, "--seed", base + "/static/ok", "--state-dir", "state", "-O", "whole.parquet", "--delay", "0s", "--depth", "0", "--quiet",
             "--allow-address", "127.0.0.0/8"]
    subprocess.run(words, cwd=made, capture_output=True, timeout=60, env={**os.environ, "CRAWL_FETCH_STRATEGY": "static"})
    file = made / "whole.parquet"
    return file.read_bytes() if file.exists() else None


def mcp_cases():
    hello = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}})
    ready = json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"})
    begin = f"{hello}\n{ready}\n".encode()
    call = lambda arguments: json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": arguments})
    words = ["mcp", "--database", "p.sqlite"]
    contents = {
        "a frame of 300 MB": None,
        "a first frame of 300 MB": None,
        "frames in depth": begin + b'{"jsonrpc":"2.0","id":2,"method":' + b"[" * 1_000_000 + b"\n",
        "30,000 pings": begin + b'{"jsonrpc":"2.0","id":3,"method":"ping"}\n' * 30_000,
        "100,000 empty lines": begin + b"\n" * 100_000,
        "a page of 20 MB": begin + call({"name": "extract_page", "arguments": {"html": "<p>x" * 5_000_000}}).encode() + b"\n",
        "a name of 10 MB": begin + call({"name": "x" * 10_000_000, "arguments": {}}).encode() + b"\n",
        "200,000 arguments": begin + call({"name": "list_projects", "arguments": {f"k{n}": n for n in range(200_000)}}).encode() + b"\n",
        "a page in depth": begin + call({"name": "extract_page", "arguments": {"html": "<b>" * 100_000}}).encode() + b"\n",
    }
    for name, content in contents.items():
        def make(folder, content=content, name=name):
            if content is None:
                with open(folder / "stdin", "wb") as file:
                    file.write(b"" if "first" in name else begin)
                    for _ in range(300):
                        file.write(b"x" * (1 << 20))
            else:
                (folder / "stdin").write_bytes(content)
            return words
        yield Case(f"MCP: {name}", make, {"memory": 250, "disk": 330}, "MCP")


def files(binary, folder, base):
    yield from lines_cases()
    yield from document_cases()
    yield from settings_cases()
    yield from archive_cases(binary, folder, base)
    yield from mcp_cases()


# ---- servers

# paths of benches/hostile_server.py and of exhausting/server.py
PATHS = ["/bomb/gzip", "/bomb/gzip-gzip", "/bomb/zstd", "/bomb/zstd-window", "/bomb/gzip-corrupt", "/endless/chunked", "/endless/eof", "/endless/drip",
         "/endless/trickle", "/slow/headers", "/slow/never", "/redirect/endless/0", "/redirect/loop/a", "/redirect/self", "/headers/endless",
         "/headers/early-hints", "/html/deep", "/html/attrs", "/html/links", "/html/longurl", "/html/oneline", "/type/zip-2g", "/retry/huge",
         "/exhaust/one-header", "/exhaust/many-headers", "/exhaust/small-chunks", "/exhaust/chunk-extension", "/exhaust/trailers", "/exhaust/codings",
         "/exhaust/hints", "/exhaust/status-line", "/exhaust/long-redirect", "/exhaust/location", "/exhaust/refresh/0", "/exhaust/canonical/0",
         "/exhaust/garbage", "/exhaust/brotli", "/exhaust/link-header"]


def servers(ports):
    base = f"http://127.0.0.1:{ports['http']}"
    for path in PATHS:
        yield Case(path, vector="servers", path=path, flags=("--depth", "3" if "refresh" in path or "canonical" in path else "0"),
                   bounds={"seconds": 20 if "hints" in path else 35, "memory": 400})
    for name in ("huge", "endless", "slow", "loop", "never"):
        yield Case(f"robots.txt: {name}", vector="servers", path=f"http://127.0.1.{ports['robots'][name]}:{ports['http']}/static/ok", flags=("--depth", "0"))
    for name in ("index", "entries", "bomb", "long"):
        yield Case(f"sitemap: {name}", vector="disk", path=f"http://127.0.2.{ports['sitemaps'][name]}:{ports['http']}/static/ok", bounds={"seconds": 45, "cpu": 30, "memory": 400})
    yield Case("feeds by the thousand", vector="disk", path="/exhaust/feeds", flags=("--depth", "2"), bounds={"memory": 400})
    yield Case("a feed of 100,000 entries", vector="disk", path="/exhaust/feed-page", flags=("--depth", "1"), bounds={"seconds": 45, "cpu": 40, "memory": 400, "disk": 80})
    yield Case("a maze of long URLs", vector="disk", path="/exhaust/maze/", flags=(), bounds={"cpu": 40, "seconds": 45, "memory": 400, "disk": 60})
    yield Case("links to 5,000 hosts", vector="descriptors", path="/exhaust/hosts", flags=("--scope", "any", "-c", "64"),
               bounds={"cpu": 60, "seconds": 45})
    yield Case("cookies by the thousand", vector="memory", path="/exhaust/cookies/0", flags=("--cookies",), bounds={"cpu": 30})
    for path in ("/exhaust/errors", "/exhaust/names"):
        yield Case(path, vector="disk", path=path, flags=("--depth", "1"), bounds={"cpu": 40, "seconds": 45, "memory": 400, "disk": 60})
    if not ports.get("https"):
        return
    for name, port in ports["https"].items():
        slow = {"CRAWL_FETCH_READ_TIMEOUT": "15s", "CRAWL_FETCH_TOTAL_TIMEOUT": "20s"}
        yield Case(f"HTTP/2: {name}", vector="HTTP/2", path=f"https://127.0.0.1:{port}/", flags=("--depth", "0"), env=slow,
                   bounds={"cpu": 1, "seconds": 40})
