"""Output injection: text of a hostile site that takes effect outside of its field in the outputs.

A site on loopback serves pages with payloads in every source of a record, a log, a report or a file name. One crawl writes
each kind of output, and further commands read its records. Each output is searched for effects of the site: live HTML and URLs
in rendered Markdown, control characters for a terminal, formulas in tables, file names that collide or are devices, and
entries of a front matter.
"""
import csv, html, html.parser, http.server, io, json, os, pathlib, random, re, subprocess, threading, urllib.parse

from attempt import Attempt

try:
    import cmarkgfm
    from cmarkgfm.cmark import Options
except ImportError:
    cmarkgfm = None

PATIENCE = 150
TAG = "<img src=x onerror=alert(1)>"
EVIL = "http://evil.invalid/b.gif"
WORDS = ("ferry quay morning island keeper light boat ground harbour crane herring tide pilot rope anchor deck cargo winter storm "
         "signal tower gull bridge market letter captain north sail timber coal engine").split()

# name → text of a page; none of its marks may be live in rendered Markdown
MARKS = {
    "image with a handler": TAG,
    "script": "<script>alert(1)</script>",
    "frame": "<iframe src=http://evil.invalid/></iframe>",
    "drawing": "<svg onload=alert(1)>",
    "style": "<style>@import 'http://evil.invalid/'</style>",
    "comment": "<!-- x",
    "open tag": "<img src=x title=\"",
    "end of code": "</code></pre>" + TAG,
    "end of a link": "x](javascript:alert(1)) y",
    "link": "[x](javascript:alert(1))",
    "link with data": "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "image": f"![x]({EVIL})",
    "reference": "[y]: javascript:alert(1)\n\n[y] z",
    "footnote": f"[^1]: {TAG}",
    "autolink": "<javascript:alert(1)>",
    "backtick": f"` {TAG} ` x `",
    "backticks": f"``` {TAG} `` y ` {TAG}",
    "tight backtick": "`[x](javascript:alert(1))",
    "fence": f"```\n{TAG}\n```\n{TAG}",
    "fence of tildes": f"~~~\n{TAG}\n~~~\n{TAG}",
    "cell": f"| a | {TAG} |\n| --- | --- |\n| b | {TAG} |",
    "escaped cell": f"x\\| {TAG} \\\\| {TAG}",
    "carriage return": f"a\r\r{TAG}\r\r[x](javascript:alert(1))",
    "form feed": f"a\f\v\x85\u2028{TAG}",
    "backslash": f"\\{TAG} \\\\{TAG} \\",
    "entity": "&lt;img src=x onerror=alert(1)&gt; &#60;script>",
    "formula": f"${TAG}$ $$[x](javascript:alert(1))$$ \\({TAG}\\)",
    "pixel": f"![ `]({EVIL.replace('b.gif', 'pixel.gif')}) {TAG}` x",
    "front matter": f"---\nurl: javascript:alert(1)\n---\n{TAG}",
}
# name → HTML with `{}` for the escaped text, `{a}` for it in an attribute
PLACES = {
    "paragraph": "<p>Some {} words</p>",
    "heading": "<h2>Some {} words</h2>",
    "bold": "<p>a <b>{}</b><i>{}</i> b</p>",
    "item": "<ul><li>one<li>{}</ul>",
    "quotation": "<blockquote><p>{}</blockquote>",
    "cell": "<table><tr><th>a<th>b<tr><td>{}<td><code>{}</code></table>",
    "caption": "<table><caption>{}</caption><tr><th>a<th>b<tr><td>c<td>d</table>",
    "code": "<p>a <code>{}</code> b <code>{}</code></p>",
    "block of code": "<pre><code class='language-{a}'>{}</code></pre>",
    "quoted code": "<blockquote><pre>{}</pre></blockquote><ul><li><pre>{}</pre></ul>",
    "text of a link": "<p>See <a href='/known' title='{a}'>{}</a> there.</p>",
    "alternative text": "<p><img src='/known.png' width=400 height=300 alt='{a}' title='{a}'></p>",
    "formula": "<p>a \\({}\\) b</p><p>\\[{}\\]</p>",
    "source of a formula": "<p>a <math alttext='{a}'><mi>x</mi></math> <math><mtext>{}</mtext></math> b <code>{}</code></p>",
    "address": "<p>See <a href='{a}'>the report</a> and <img width=90 height=90 src='{a}'> <a href='#{a}'>x</a></p>",
    "query": "<p>See <a href='/?{a}'>the \\(a]b\\) report</a> or <img width=90 height=90 src='/?{a}'> <a href='mailto:a@{a}'>a@{}</a> "
             "<code>{}</code></p>",
}
ALLOWED = set("p h1 h2 h3 h4 h5 h6 a img em strong del code pre ul ol li blockquote table thead tbody tr th td br hr sup sub "
              "section input".split())

# name → control character, between two letters
CONTROLS = {
    "colour": "\x1b[31m", "title of the window": "\x1b]0;x\x07", "clear": "\x1b[2J", "C1 sequence": "\x9b31m", "C1 string": "\x90q\x9c",
    "delete": "\x7f", "backspace": "\x08\x08", "override": "\u202e", "isolate": "\u2066", "next line": "\x85",
}
FORMULAS = ["=cmd|' /C calc'!A0", "+1+cmd", "-2+3+cmd", "@SUM(1+1)", "\t=1+1", "\r=1+1", '=HYPERLINK("http://evil.invalid")', "＝1+1"]
NAMES = ["con", "CON", "nul", "aux.txt", "Aux.txt", "com1", "LPT9.log", "prn/x", "Docs/a", "docs/a", "DOCS/A", "Index", "index",
         "-rf", ".hidden/x", "trailing.", "trailing%20", "..%2f..%2fetc", "%C3%84", "%C3%A4", "e%CC%81", "%C3%A9", "x" * 300, "a%00b",
         "a%0Ab", "a:b", "a%5Cb", "~x", "conin$"]
HTML_TEXTS = [TAG, "</script><script>alert(1)</script>", "\"><svg onload=alert(1)>", "' onmouseover='alert(1)", "<!--<script>"]


def prose(seed):
    """A paragraph that is unique to its page."""
    rng = random.Random(seed)
    return "<p>" + " ".join(f"{' '.join(rng.choice(WORDS) for _ in range(12)).capitalize()}, as they say." for _ in range(6)) + "</p>"


def plain(seed):
    return re.sub("<.*?>", "", prose(seed))


def attribute(text):
    return html.escape(text).replace("\r", "&#13;").replace("\n", "&#10;")


class Site:
    """The pages by path: (status line, headers, body)."""

    def __init__(self):
        self.pages = {"/robots.txt": ("404 Not Found", [], b"")}
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                status, headers, body = outer.pages.get(self.path.split("#")[0], ("404 Not Found", [], b""))
                head = [f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(body)}"]
                if not any(line.lower().startswith("content-type") for line in headers):
                    head.append("Content-Type: text/html; charset=utf-8")
                self.wfile.write("\r\n".join(head).encode("latin-1", "replace") + b"\r\n\r\n" + body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.root = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def put(self, path, body, status="200 OK", headers=()):
        self.pages[path] = (status, list(headers), body if isinstance(body, bytes) else body.encode("utf-8", "surrogatepass"))

    def page(self, path, inner, title="A page", head="", headers=()):
        body = f"<!doctype html><html lang=en><head><title>{title}</title>{head}</head><body><article><h1>The harbour</h1>{prose(path)}" \
               f"{inner}{prose(path + '!')}</article></body></html>"
        self.put(path, body, headers=headers)


def command(args, folder, stdin=None, **environment):
    done = subprocess.run(args, cwd=folder, input=stdin, capture_output=True, timeout=PATIENCE, env={**os.environ, **environment})
    return done.stdout, done.stderr


def crawl(binary, folder, seeds, name, *flags):
    """Runs a crawl; returns standard output, standard error and the state directory."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "seeds.txt").write_text("\n".join(seeds) + "\n")
    (folder / "crawl.toml").write_text('[extract]\nlinks = "keep"\nimages = true\n')
    state = folder / "state"
    args = [binary, "--seed", "seeds.txt", "--config", "crawl.toml", "--state-dir", str(state), "-O", name, "--delay", "0s",
            "--host-concurrency", "8", "--allow-address", "127.0.0.0/8", "--no-dedup", "--strategy", "static", "--depth", "0", *flags]
    return (*command(args, folder), state)


def records(path):
    """Records of a file. Only line feeds end lines: a string may hold other line ends of Python."""
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line] if path.exists() else []


# Markdown

class Live(html.parser.HTMLParser):
    """Elements, attributes and URLs of rendered Markdown that its renderer did not write."""

    def __init__(self, root):
        super().__init__()
        self.root, self.found = root, []

    def handle_starttag(self, tag, attributes):
        if tag not in ALLOWED:
            self.found.append(tag)
        for name, value in attributes:
            value = (value or "").strip()
            if name.startswith("on") or name in ("style", "srcset"):
                self.found.append(f"{tag} {name}")
            if name in ("href", "src", "action", "data") and not self.is_known(value):
                self.found.append(f"{tag} {name}={value[:60]}")

    def is_known(self, address):
        return address.startswith(("#", self.root)) or (address.startswith("mailto:") and "@" in address)

    def handle_comment(self, data):
        # cmark writes none itself
        self.found.append("comment")


def live(markdown, root):
    options = Options.CMARK_OPT_UNSAFE | Options.CMARK_OPT_FOOTNOTES
    page = cmarkgfm.markdown_to_html_with_extensions(markdown, options=options, extensions=["table", "strikethrough", "tasklist"])
    parser = Live(root)
    parser.feed(page)
    parser.close()
    return parser.found


def markdown(binary, folder):
    site, wanted = Site(), []
    for number, (mark, text) in enumerate(MARKS.items()):
        for place, form in PLACES.items():
            if place in ("address", "query") and "\n" in text:
                continue
            path = f"/{number}/{re.sub('[^a-z]+', '-', place)}"
            shown = html.escape(text).replace("\r", "&#13;")
            site.page(path, form.replace("{a}", attribute(text)).replace("{}", shown), title=shown)
            wanted.append((mark, place, path))
        path = f"/{number}/plain"
        site.put(path, plain(path) + f"\n\n{text}\n\nend", headers=["Content-Type: text/plain; charset=utf-8"])
        wanted.append((mark, "plain text", path))
    for name, image in BEACONS.items():
        path = f"/beacon/{re.sub('[^a-z]+', '-', name)}"
        site.page(path, f"<p>Words {image.replace('EVIL', site.root + '/count/b.gif')} of the text.</p>")
        wanted.append((f"beacon: {name}", "image", path))
    seeds = [site.root + path for *_, path in wanted]
    _, errors, _ = crawl(binary, folder, seeds, "pages.jsonl")
    by_url = {record["url"]: record for record in records(folder / "pages.jsonl")}
    crawl(binary, folder / "files", seeds, "pages/")
    files = {}
    for file in (folder / "files/pages").rglob("*.md"):
        head, _, body = file.read_text("utf-8").removeprefix("---\n").partition("\n---\n")
        url = next((line[5:] for line in head.split("\n") if line.startswith("url: ")), "null")
        files[json.loads(url)] = (head, body)
    site.server.shutdown()
    for mark, place, path in wanted:
        url, name = site.root + path, f"{mark} in {place}"
        if url not in by_url:
            yield Attempt("Markdown", name, True, f"no record: {errors[-200:]!r}")
            continue
        text = by_url[url]["text"]
        if mark.startswith("beacon"):
            shown = text + json.dumps(by_url[url].get("media"))
            yield Attempt("Markdown, beacons", mark, "/count/" in shown, shown[-300:])
        elif cmarkgfm is None:
            yield Attempt("Markdown", name, False, "cmarkgfm cannot be imported", skipped=True)
        else:
            found = live(text, site.root)
            yield Attempt("Markdown", name, bool(found), f"{found} in {text!r}"[:700] if found else "")
        if place == "paragraph":
            yield front_matter(mark, files.get(url))


BEACONS = {
    "a pixel by attributes": "<img src=EVIL width=1 height=1>",
    "a pixel by style": "<img src=EVIL style='width:1px;height:1px'>",
    "no size": "<img src=EVIL width=0 height=0>",
    "hidden": "<img src=EVIL style='display:none'>",
    "invisible": "<img src=EVIL style='visibility:hidden' alt=''>",
    "without colour": "<img src=EVIL style='opacity:0'>",
    "for readers without scripts": "<noscript><img src=EVIL width=1 height=1 style='display:none'></noscript>",
    "in a link": "<a href=/known><img src=EVIL height=1 width=1></a>",
}


def front_matter(mark, file):
    """Checks that each line of a front matter is one of our keys with JSON, which YAML reads equally."""
    name = f"title: {mark}"
    if file is None:
        return Attempt("front matter", name, True, "no file")
    for line in file[0].split("\n"):
        key, _, value = line.partition(": ")
        try:
            json.loads(value)
        except ValueError:
            return Attempt("front matter", name, True, f"{line!r}")
        if not key.isidentifier() or re.search("[\x7f-\x9f\u2028-\u202e\u2066-\u2069]", line):
            return Attempt("front matter", name, True, f"{line!r}")
    return Attempt("front matter", name, False)


def cleaning(binary, folder):
    """Pages whose code begins or ends like that of other pages: the rest of it may not be live."""
    folder.mkdir(parents=True, exist_ok=True)
    shared = "the first line of an example that stands on every page of the site"
    forms = {
        "the first part of code": "```\n{s}\n\n{t}\n```",
        "the last part of code": "```\n{t}\n\n{s}\n```\n\n{t} in prose, after it".replace("{t} in", "words in"),
        "code in code": "````\n{s}\n\n```\n\n{t}\n\n```\n\n{s}\n````",
        "code of tildes": "~~~\n{s}\n\n{t}\n~~~",
        "code in a list": "- ```\n  {s}\n\n  {t}\n  ```",
        "code in a numbered list": "1. ```\n   {s}\n\n   {t}\n   ```",
    }
    for name, form in forms.items():
        lines = []
        for number in range(9):
            text = form.replace("{s}", shared).replace("{t}", f"{TAG} {number} {WORDS[number]}")
            text = f"{plain(f'{name}{number}')}\n\n{text}\n\n{plain(f'{number}{name}')}"
            lines.append({"id": str(number), "url": f"http://a.test/{number}", "text": text, "metadata": {"domain": "a.test"}})
        (folder / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        for mode in ("exact", "site"):
            out, errors = command([binary, "dedup", "in.jsonl", "--mode", mode], folder)
            texts = [json.loads(line)["text"] for line in out.decode().split("\n") if line]
            if cmarkgfm is None:
                yield Attempt("Markdown, cleaned", f"{name}, {mode}", False, "cmarkgfm cannot be imported", skipped=True)
                continue
            found = [part for text in texts for part in live(text, "http://a.test/")]
            yield Attempt("Markdown, cleaned", f"{name}, {mode}", bool(found) or len(texts) != 9, f"{found[:2]} {errors[-200:]!r}" if found else "")


# Controls

def marked(number, control, where):
    return f"mk{number}{where}{control}z"


def leaks(text, number, control):
    """Positions of raw control characters after their marker."""
    found = re.search(f"mk{number}[a-z]+({re.escape(control)}|{re.escape(control[0])})", text)
    return repr(text[max(0, found.start() - 30):found.end() + 10]) if found else ""


def controls(binary, folder):
    site = Site()
    robots, urls, bad = ["User-agent: *", "Disallow: /private"], [], []
    for number, control in enumerate(CONTROLS.values()):
        def m(where):
            return marked(number, control, where)
        def escaped(where):
            return json.dumps(m(where))[1:-1]
        path = f"/c/{number}"
        site.page(
            path,
            f"<p>{m('text')} <a href='/e/{number}/{attribute(m('href'))}'>{m('link')}</a> <code>{m('code')}</code> \\({m('tex')}\\)"
            f"<img width=90 height=90 src='/i.png' alt='{attribute(m('alt'))}'></p><pre>{m('pre')}</pre><table><tr><th>a<th>b<tr><td>{m('cell')}<td>c</table>"
            f"<div class='cookie-banner' id='cookie-consent'>{m('banner')} We use cookies, accept all cookies</div><footer>{m('footer')}</footer>",
            title=m("title"),
            head=f"<meta name=author content='{attribute(m('author'))}'><meta name=description content='{attribute(m('about'))}'>"
                 f"<meta property=og:site_name content='{attribute(m('site'))}'><link rel=alternate hreflang='{attribute(m('lang'))}' href='/x'>"
                 f"<script type=application/ld+json>{{\"@type\":\"Article\",\"headline\":\"{escaped('headline')}\",\"keywords\":\"{escaped('word')}\","
                 f"\"author\":{{\"name\":\"{escaped('name')}\"}},\"articleSection\":\"{escaped('section')}\"}}</script>",
            headers=[f"Content-Type: text/html; charset=utf-8; x={m('type')}", f"ETag: \"{m('etag')}\"", f"X-Robots-Tag: {m('tag')}"],
        )
        urls.append(site.root + path)
        site.put(f"/s/{number}", b"x", status=f"500 {m('reason')}")
        site.put(f"/l/{number}", b"", status="302 Found", headers=[f"Location: http://127.0.0.1:1/{m('location')}"])
        site.put(f"/h/{number}", b"", status="302 Found", headers=[f"Location: http://{m('host')}/"])
        site.put(f"/t/{number}", b"x", headers=[f"Content-Type: application/{m('media')}"])
        site.put(f"/d/{number}", b"x", headers=[f"Content-Encoding: {m('coding')}"])
        bad += [f"{site.root}/{kind}/{number}" for kind in "slhtd"] + [f"{site.root}/e/{number}/{urllib.parse.quote(m('missing'))}"]
        robots += [f"Sitemap: {m('sitemap')}", f"Sitemap: {site.root}/map{number}.xml?{m('query')}", f"Crawl-delay: {m('delay')}", f"Disallow: /{m('rule')}"]
        site.put(f"/map{number}.xml", f"<urlset><url><loc>{site.root}/{m('loc')}</loc><lastmod>{m('date')}</lastmod></url></urlset>")
    site.put("/robots.txt", "\n".join(robots) + "\n", headers=["Content-Type: text/plain"])
    outputs = dict(control_outputs(binary, folder, site, urls, bad))
    site.server.shutdown()
    for output, data in outputs.items():
        text = data if isinstance(data, str) else data.decode("utf-8", "replace")
        for number, (name, control) in enumerate(CONTROLS.items()):
            found = leaks(text, number, control)
            is_named = re.search(rf"mk{number}[a-z]", text)
            detail = found or ("" if is_named else "the output names nothing of the site")
            yield Attempt("controls", f"{name} in {output}", bool(found), detail, skipped=not is_named)


def control_outputs(binary, folder, site, urls, bad):
    """Bytes of each output for people and programs, by name."""
    seeds = urls + bad
    _, text_log, state = crawl(binary, folder, seeds, "out.jsonl", "--log-level", "trace", "--max-time", "60s")
    yield "text log and summary", text_log
    lines = records(folder / "out.jsonl")
    yield "strings of records", "\n".join(text for line in lines for text in strings(line))
    yield "JSONL", (folder / "out.jsonl").read_bytes()
    yield "error log", (state / "errors.jsonl").read_bytes()
    for report in ("report.html", "report.json"):
        yield report, (state / report).read_bytes() if (state / report).exists() else b""
    yield "status", command([binary, "status", "--errors", "200", "--state-dir", str(state)], folder)[0]
    yield "status as JSON", command([binary, "status", "--json", "--errors", "200", "--state-dir", str(state)], folder)[0]
    _, json_log, _ = crawl(binary, folder / "json", seeds, "pages/", "--log-level", "trace", "--log-format", "json", "--max-time", "60s")
    yield "JSON log", json_log
    pages = sorted((folder / "json/pages").rglob("*.md")) + [folder / "json/pages/index.jsonl"]
    yield "folder", b"\n".join(str(file).encode() + file.read_bytes() for file in pages if file.exists())
    for flags in (["--explain"], ["--explain", "--format", "json"], ["--explain=html"], [], ["--format", "markdown"], ["--format", "text"]):
        found = [command([binary, "extract", *flags, "-", "--url", url], folder, site.pages[url.removeprefix(site.root)][2]) for url in urls]
        yield "extract " + " ".join(flags), b"\n".join(out + err for out, err in found)
    robots = site.pages["/robots.txt"][2]
    yield "check robots", b"".join(command([binary, "check", "robots", "-", "--url", site.root + "/private/x"], folder, robots))
    given = "\n".join(f"{kind}{marked(number, control, 'url')}" for number, control in enumerate(CONTROLS.values())
                      for kind in ("http://127.0.0.1:x/", "nothing ", site.root + "/?")).encode()
    yield "check url", b"".join(command([binary, "check", "url", "-"], folder, given))
    maps = [command([binary, "check", "sitemap", "-", "--url", site.root + "/map.xml"], folder, site.pages[f"/map{n}.xml"][2])
            for n in range(len(CONTROLS))]
    yield "check sitemap", b"".join(out + err for out, err in maps)
    foreign = [{"id": marked(n, c, "id"), "url": "", "text": f"{marked(n, c, 'body')} short {marked(n, c, 'body')}",
                "metadata": {"domain": "a.test", "title": marked(n, c, "title"), "language": "en"}} for n, c in enumerate(CONTROLS.values())]
    (folder / "foreign.jsonl").write_text("".join(json.dumps(line) + "\n" for line in foreign))
    explained = [command([binary, "quality", "foreign.jsonl", "--explain", line["id"]], folder) for line in foreign]
    yield "quality --explain", b"".join(out + err for out, err in explained)
    yield "dedup --explain", b"".join(command([binary, "dedup", "foreign.jsonl", "--explain"], folder))


def strings(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from strings(key)
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)


# Tables, pages for a browser, names of files

def tables(binary, folder):
    folder.mkdir(parents=True, exist_ok=True)
    lines = [{"id": text, "url": text, "title": text, "text": f"{text} {plain(text)}"} for text in FORMULAS]
    (folder / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    _, errors = command([binary, "duplicates", "in.jsonl", "--table", "t.csv", "--terms", "t.tsv", "--min-df", "1"], folder)
    found = (folder / "t.csv").read_bytes().decode() if (folder / "t.csv").exists() else ""
    rows = list(csv.DictReader(io.StringIO(found, newline="")))
    start = tuple("=+-@\t\r\n＝＋－＠")
    for column in ("id", "url", "title", "text"):
        for number, text in enumerate(FORMULAS):
            cell = rows[number][column] if number < len(rows) else None
            yield Attempt("tables", f"{text!r} in {column}", cell is None or cell.startswith(start), f"{cell!r}"[:80] if cell else repr(errors[-200:]))
    numbers = all(re.fullmatch(r"-?\d+", row["len_text"]) for row in rows)
    yield Attempt("tables", "numbers stay numbers", not (rows and numbers), "")
    terms = (folder / "t.tsv").read_text("utf-8").splitlines() if (folder / "t.tsv").exists() else []
    yield Attempt("tables", "terms", not terms or any(line.startswith(start) for line in terms), repr(terms[:2]))


def pages(binary, folder):
    """Pages for a browser, with payloads as titles, ids, URLs and texts."""
    folder.mkdir(parents=True, exist_ok=True)
    site = Site()
    lines = []
    for number, text in enumerate(HTML_TEXTS):
        body = f"{text} {plain(text)}"
        lines += [{"id": f"{text}{copy}", "url": f"http://a.test/{text}", "title": text, "text": body, "metadata": {"domain": text}} for copy in "ab"]
        site.page(f"/{number}", f"<p>{html.escape(text)}</p>", title=html.escape(text))
        site.put(f"/bad/{number}", b"", status="302 Found", headers=[f"Location: http://a.invalid/{text}"])
    (folder / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    command([binary, "duplicates", "in.jsonl", "--html", "duplicates.html", "--report", "r.json"], folder)
    command([binary, "quality", "in.jsonl", "--html", "quality.html"], folder)
    seeds = [f"{site.root}/{kind}{number}" for kind in ("", "bad/") for number in range(len(HTML_TEXTS))]
    seeds += [f"{site.root}/missing/{urllib.parse.quote(text, safe='')}" for text in HTML_TEXTS]
    _, _, state = crawl(binary, folder, seeds, "out.jsonl")
    outputs = {"duplicates --html": folder / "duplicates.html", "quality --html": folder / "quality.html", "report": state / "report.html"}
    shown = {name: path.read_text("utf-8") if path.exists() else None for name, path in outputs.items()}
    for number, text in enumerate(HTML_TEXTS):
        source = site.pages[f"/{number}"][2]
        shown["extract --explain=html"] = command([binary, "extract", "--explain=html", "-"], folder, source)[0].decode()
        for name, page in shown.items():
            # without its own tag a payload is only one within an attribute
            leaked = page is None or (text in page if "<" in text else bool(re.search(r"<[^<>]*\sonmouseover=", page)))
            yield Attempt("pages for a browser", f"{text!r} in {name}", leaked, "not written" if page is None else "")
    site.server.shutdown()


DEVICES = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])(\..*)?", re.I)


def unquoted(address):
    return urllib.parse.unquote(address, errors="surrogateescape")


def names(binary, folder):
    site = Site()
    for name in NAMES:
        site.page(f"/{name}", "<p>x</p>")
    crawl(binary, folder, [f"{site.root}/{name}" for name in NAMES], "pages/")
    site.server.shutdown()
    index = records(folder / "pages/index.jsonl")
    by_path = {unquoted(line["url"].removeprefix(site.root + "/")): line["path"] for line in index}
    lower = [line["path"].lower() for line in index]
    for name in NAMES:
        path = by_path.get(unquoted(name))
        if path is None:
            yield Attempt("names of files", name[:40], False, f"no file is of the address: {sorted(by_path)}"[:300], skipped=True)
            continue
        parts = path.split("/")
        faults = [part for part in parts if DEVICES.fullmatch(part) or part[0] in ".-" or part[-1] in ". " or len(part.encode()) > 200
                  or re.search(r'[\x00-\x1f\x7f-\x9f<>:"|?*\\]', part)]
        collides = lower.count(path.lower()) > 1
        yield Attempt("names of files", name[:40], bool(faults) or collides, f"{path} collides" if collides else f"{path}: {faults}")


def run(binary, folder):
    for family in (markdown, cleaning, controls, tables, pages, names):
        yield from family(binary, pathlib.Path(folder) / family.__name__)
