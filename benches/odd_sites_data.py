"""The odd sites of benches/odd_sites.py: one entry a site, with the pages that a person would want of it.

Keys: `why` (the oddity), `pages` (answers by path, "*" for all others), `seeds` (paths or URLs), `flags`, `settings`, `hosts` (other
hosts of the crawl), `want` (paths of the records), `more` (other records are welcome), `avoid` (paths that must not be asked for),
`most` (requests for pages), `code`, `says` (regular expressions on messages and errors), `check` (of requests and records) and
`known` (why a difference is left).
"""
import gzip

from odd_sites_server import Answer, page

A = Answer
SITES = {}


def site(name, why, pages, want, **more):
    SITES[name] = {"why": why, "pages": pages, "want": want, **more}


def leaves(*paths):
    return {path: page(path) for path in paths}


def to(location, status=302, body=""):
    return A(body, status, (f"Location: {location}",))


def text(body):
    return A(body, kind="text/plain")


def xml(body, kind="application/xml"):
    return A(body, kind=kind)


def gap(least):
    """Check: at least so many seconds between the starts of two requests."""
    def check(asked, records):
        times = [at for path, at in asked]
        short = min((b - a for a, b in zip(times, times[1:])), default=least)
        return f"a pause of {short:.2f} s" if short < least else None
    return check


# ---- links
site("link-next", "the next pages in Link headers alone",
     {"/": A(page("/"), headers=('Link: </2>; rel="next"',)), "/2": A(page("/2"), headers=("Link: </style.css>; rel=preload, <3>; rel=next",)), "/3": page("/3")}, "/ /2 /3")
site("link-many", "Link headers that are no pages",
     {"/": A(page("/"), headers=("Link: </a>; rel=preload, </b>; rel=preconnect, </c>; rel=stylesheet, </wp-json/>; rel=\"https://api.w.org/\"",)), **leaves("/a", "/b", "/c")}, "/", avoid="/a /b /c /wp-json/")
site("hreflang-head", "languages as hreflang alternates in the head alone",
     {"/": page("/", head='<link rel="alternate" hreflang="de" href="/de"><link rel=alternate hreflang=x-default href="/">'), "/de": page("/de")}, "/ /de")
site("hreflang-own", "translations into the page's own language and x-default",
     {"/": page("/", head='<link rel="alternate" hreflang="en-GB" href="/gb"><link rel=alternate hreflang=x-default href="/x">').replace("<html>", "<html lang=en>"), **leaves("/gb", "/x")}, "/", avoid="/gb /x")
site("hreflang-limit", "a limit of pages with twenty translations of each",
     {"*": lambda r: page(r.path, *(f"/a/{n}" for n in range(20)), head="".join(f'<link rel=alternate hreflang={a}{b} href="/{a}{b}{r.path}">' for a in "bcdfg" for b in "aeiu"))}, "/ " + " ".join(f"/a/{n}" for n in range(9)), flags=["--limit", "10"], code=5, most=13)
site("hreflang-header", "languages in Link headers",
     {"/": A(page("/"), headers=('Link: </de>; rel="alternate"; hreflang="de"',)), "/de": page("/de")}, "/ /de")
site("hreflang-hosts", "hreflang alternates on hosts outside of the scope",
     {"/": page("/", head='<link rel="alternate" hreflang="de" href="http://elsewhere.test/de">')}, "/")
site("alternate-others", "alternates that are other forms of the page",
     {"/": page("/", head='<link rel=alternate media="only screen and (max-width: 640px)" href="/m"><link rel=alternate type="application/json+oembed" href="/oembed"><link rel="alternate stylesheet" href="/s"><link rel=alternate type="application/pdf" hreflang=de href=/pdf>'), **leaves("/m", "/oembed", "/s", "/pdf")}, "/", avoid="/m /oembed /s /pdf")
site("svg-links", "a map as inline SVG with links",
     {"/": page("/", body='<svg viewBox="0 0 9 9"><a href="/north"><text>N</text></a><a xlink:href="/south"><path d="M0"/></a></svg>'), **leaves("/north", "/south")}, "/ /north /south")
site("areas", "an image map", {"/": page("/", body='<map name=m><area href="/a" alt=a><area href="/b"></map>'), **leaves("/a", "/b")}, "/ /a /b")
site("iframes", "the text is in a frame of the page", {"/": page("/", body='<iframe src="/inner"></iframe>'), "/inner": page("/inner", "/deep"), "/deep": page("/deep")}, "/ /inner /deep")
site("frameset", "a site of frames", {"/": "<html><head><title>Home</title></head><frameset cols=20%,80%><frame src=menu.html><frame src=main.html><noframes><a href=/noframes.html>x</a></noframes></frameset></html>",
     "/menu.html": page("/menu", "one.html"), **leaves("/main.html", "/one.html", "/noframes.html")}, "/menu.html /main.html /one.html", more=True)
site("form-get", "a form with one select is not sent", {"/": page("/", "/a", body='<form action="/find" method=get><select name=q><option value=1>1</select><input type=submit></form>'), **leaves("/a", "/find", "/find?q=1")}, "/ /a", avoid="/find /find?q=1")
site("onclick", "rows and boxes that lead on by onclick",
     {"/": page("/", body='<table><tr onclick="window.location=\'/row\'"><td>r</table><div onclick="window.open(\'/window\')">w</div><a href="#" onclick="document.location=\'/anchor\'; return false">a</a>'), **leaves("/row", "/window", "/anchor")}, "/ /row /window /anchor")
site("actions", "buttons and clicks that act",
     {"/": page("/", body="<button onclick=\"location.href='/cart/add'\">b</button><form><div onclick=\"location='/delete'\">d</div></form><a href=# role=button onclick=\"location='/logout'\">l</a><td onclick=\"location='?sort=a'\"></td><a href=# onclick=\"window.open('/print', 'p', 'width=300')\">p</a>"), **leaves("/cart/add", "/delete", "/logout", "/?sort=a", "/print")}, "/", avoid="/cart/add /delete /logout /?sort=a /print")
site("onclick-not", "scripts of onclick that lead to no fixed page",
     {"/": page("/", body="<button onclick=\"location.href='/a?x=' + this.value\">b</button><button onclick=\"if (confirm('x')) location='/delete'\" >b</button><button onclick=\"submit('/c')\">c</button>"), **leaves("/a?x=", "/c")}, "/", avoid="/a?x= /c", more=True)
site("javascript-href", "links of the form javascript:", {"/": page("/", body="<a href=\"javascript:location='/js'\">a</a><a href=\"javascript:window.open('/pop','w')\">b</a><a href='javascript:void(0)'>c</a>"), **leaves("/js", "/pop")}, "/ /js /pop")
site("data-href", "rows with data-href", {"/": page("/", body='<tr data-href="/row"></tr><div data-href="/div">x</div><li data-url="/li">y</li>'), **leaves("/row", "/div", "/li")}, "/", more=True, known="attributes of scripts are not followed: their meaning is that of the site")
site("noscript", "links in noscript", {"/": page("/", body='<noscript><ul><li><a href="/plain">plain</a></ul></noscript>'), "/plain": page("/plain")}, "/ /plain")
site("template", "links in a template and in a comment", {"/": page("/", body='<template><a href="/t">t</a></template><!-- <a href="/c">c</a> -->'), **leaves("/t", "/c")}, "/", more=True, avoid="/c")
site("json-only", "links in JSON of the page alone", {"/": page("/", body='<script type="application/json">{"items":[{"url":"/j"}]}</script><script type="application/ld+json">{"@type":"ItemList","itemListElement":[{"@type":"ListItem","url":"/ld"}]}</script>'), **leaves("/j", "/ld")}, "/", more=True)
site("odd-hrefs", "hrefs with spaces, line ends, entities, an empty one", {"/": page("/", " /a ", "/b\n", "/c?x=1&amp;y=2", "", "?p=2", "#top", "/d&#47;e", "./f", "//odd-hrefs.test:{}/g".replace(":{}", ""), "mailto:a@b.test", "tel:1"), **leaves("/a", "/b", "/c?x=1&y=2", "/?p=2", "/d/e", "/f")}, "/ /a /b /c?x=1&y=2 /?p=2 /d/e /f")
site("base", "a base element", {"/": page("/", "one", head='<base href="/docs/">'), "/docs/one": page("/docs/one")}, "/ /docs/one")
site("refresh-empty", "a Refresh header on an empty body", {"/": A("", headers=("Refresh: 0; url=/home",)), "/home": page("/home")}, "/home")
site("refresh-inner", "an inner page that is only a Refresh header", {"/": page("/", "/x"), "/x": A("", headers=("Refresh: 0; url=/home",)), "/home": page("/home")}, "/ /home")
site("refresh-depth", "a refresh is no level of depth", {"/": '<meta http-equiv=refresh content="0;url=/home">', "/home": page("/home", "/a"), "/a": page("/a", "/b"), "/b": page("/b")}, "/home /a", flags=["--depth", "1"], more=True, avoid="/b")
site("refresh-polling", "an empty answer that refreshes itself", {"/": page("/", "/x"), "/x": A("", 204, headers=("Refresh: 5; url=/x",))}, "/", most=2)
site("refresh-loop", "two pages that refresh each other", {"/": '<title>x</title><meta http-equiv=refresh content="0;url=/b">', "/b": '<title>x</title><meta http-equiv=refresh content="0;url=/">'}, "", more=True, most=4)
site("refresh-self", "a page that refreshes itself", {"/": page("/", head='<meta http-equiv=refresh content="5">')}, "/", most=1)
site("refresh-spam", "a refresh with a new URL each time", {"*": lambda r: f'<title>x</title><meta http-equiv=refresh content="0;url=/{r.served}">'}, "", more=True, most=210)
site("xml-stylesheet", "XHTML by its namespace, declared as XML", {"/": page("/", "/x"), "/x": xml('<?xml version="1.0"?><?xml-stylesheet href="s.xsl"?><html xmlns="http://www.w3.org/1999/xhtml">' + page("/x", "/y")[21:]), "/y": page("/y")}, "/ /x /y")
site("head-next", "link rel=next in the head", {"/": page("/", head="<link rel=next href=/2>"), "/2": page("/2", head="<link rel='prev start' href=/>")}, "/ /2")
site("canonical-only", "a canonical URL on the same host that no link names", {"/": page("/", "/a?v=1"), "/a?v=1": page("/a", head='<link rel=canonical href="/a">'), "/a": page("/a", head='<link rel=canonical href="/a">')}, "/ /a?v=1", more=True, most=3)
site("many-seeds", "the same page as seed in four spellings", {"/": page("/")}, "/", seeds=["/", "/#a", "/?utm_source=x", "http://MANY-seeds.test:{port}"], most=1)

# ---- feeds and sitemaps
RSS = '<?xml version="1.0"?><rss version="2.0"><channel><title>F</title><link>/</link><item><title>i</title><link>/item</link></item></channel></rss>'
ATOM = '<feed xmlns="http://www.w3.org/2005/Atom"><title>F</title><entry><title>e</title><link rel="alternate" href="/item"/></entry></feed>'
JSON = '{"version":"https://jsonfeed.org/version/1.1","title":"F","items":[{"id":"1","url":"/item","content_text":"x"}]}'
for name, kind, body in (("rss", "application/rss+xml", RSS), ("atom", "application/atom+xml", ATOM), ("json", "application/feed+json", JSON)):
    site(f"feed-{name}", f"a feed ({name}) is the only entrance", {"/": page("/", head=f'<link rel=alternate type="{kind}" href="/feed">'), "/feed": A(body, kind=kind), "/item": page("/item")}, "/ /item")
    site(f"feed-{name}-header", f"the same, in a Link header", {"/": A(page("/"), headers=(f'Link: </feed>; rel="alternate"; type="{kind}"',)), "/feed": A(body, kind=kind), "/item": page("/item")}, "/ /item")
    site(f"feed-{name}-anchor", f"a link to a feed ({name})", {"/": page("/", "/feed"), "/feed": A(body, kind=kind), "/item": page("/item")}, "/", more=True)
    site(f"feed-{name}-seed", f"a feed ({name}) as seed", {"/feed": A(body, kind=kind), "/item": page("/item", "/other"), "/other": page("/other")}, "/item /other", seeds=["/feed"])
site("json-alternate", "the JSON of WordPress is no feed", {"/": page("/", head='<link rel=alternate type="application/json" href="/api/1">'), "/api/1": A("{}", kind="application/json")}, "/", avoid="/api/1")


def urlset(*paths, head='<?xml version="1.0" encoding="UTF-8"?>', space="http://www.sitemaps.org/schemas/sitemap/0.9", extra=""):
    return f'{head}<urlset xmlns="{space}">' + "".join(f"<url><loc>{path}</loc>{extra}</url>" for path in paths) + "</urlset>"


def index(*paths):
    return '<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">' + "".join(f"<sitemap><loc>{path}</loc></sitemap>" for path in paths) + "</sitemapindex>"


def mapped(name, why, answer, want="/ /a", files=None, line="/sitemap.xml", **more):
    site(f"sitemap-{name}", why, {"/robots.txt": text(f"User-agent: *\nDisallow:\nSitemap: {line}\n"), "/": page("/"), "/a": page("/a"), "/b": page("/b"), "/sitemap.xml": answer, **(files or {})}, want, **more)


mapped("plain", "a sitemap by a relative line of robots.txt", lambda r: xml(urlset(r.url("/a"))))
mapped("index", "an index in an index", xml(index("/i2.xml")), files={"/i2.xml": xml(index("/s.xml")), "/s.xml": xml(urlset("/a"))})
mapped("gz", "gzip without a header, by a name without .gz", A(gzip.compress(urlset("/a").encode()), kind="application/octet-stream"))
mapped("gz-twice", "gzip in gzip", A(gzip.compress(gzip.compress(urlset("/a").encode())), kind="application/x-gzip"))
mapped("gz-encoded", ".gz with Content-Encoding", A(gzip.compress(urlset("/a").encode()), headers=("Content-Encoding: gzip",), kind="application/xml"))
mapped("bom", "a byte order mark and blank lines", xml("\ufeff\n\n" + urlset("/a")))
mapped("namespace", "a wrong namespace", xml(urlset("/a", space="http://www.google.com/schemas/sitemap/0.84")))
mapped("html", "an HTML page in place of a sitemap", page("/sitemap", "/b"), want="/", more=True, says=["sitemap"])
mapped("html-links", "an HTML page of links in place of a sitemap is no sitemap", page("/sitemap", "/b"), want="/")
mapped("cdata", "locations in CDATA", xml(urlset("<![CDATA[/a]]>")))
mapped("news", "a news and video sitemap", xml(urlset("/a", extra="<news:news xmlns:news='n'><news:title>t</news:title><news:loc>/no</news:loc></news:news><video:video xmlns:video='v'><video:player_loc>/no2</video:player_loc></video:video>")), avoid="/no /no2")
mapped("text", "a list of URLs as text", lambda r: text("\ufeff" + r.url("/a") + "\r\n" + r.url("/b") + "\r\n"), want="/ /a /b")
mapped("future", "lastmod in the future", xml(urlset("/a", extra="<lastmod>2999-01-01</lastmod>")))
mapped("utf16", "UTF-16", A(urlset("/a", head='<?xml version="1.0" encoding="UTF-16"?>').encode("utf-16"), kind="application/xml"))
mapped("spaces", "locations with line ends and spaces", xml(urlset("\n   /a  \n")))
mapped("upper", "elements in upper case", xml(urlset("/a").upper().replace("/A<", "/a<")))
mapped("alternates", "languages as xhtml:link alone", xml(urlset("/a", extra='<xhtml:link xmlns:xhtml="http://www.w3.org/1999/xhtml" rel="alternate" hreflang="de" href="/b"/>')), want="/ /a /b", known="Google wants an entry of its own for each language, so most sites have one")
mapped("amp", "bare ampersands in locations", xml(urlset("/a?x=1&y=2")), files=leaves("/a?x=1&y=2"), want="/ /a?x=1&y=2")
mapped("cut", "a file that is cut off", xml(urlset("/a", "/b")[:-30]), want="/ /a", more=True)
mapped("missing", "a sitemap that is not there", A("no", 404), want="/", most=2)
mapped("error", "a sitemap that answers 500", A("no", 500), want="/", most=6)
mapped("loop", "an index that names itself", xml(index("/sitemap.xml", "/s.xml")), files={"/s.xml": xml(urlset("/a"))}, most=5)
mapped("moved", "a sitemap that has moved", to("/new.xml", 301), files={"/new.xml": xml(urlset("/a"))})
mapped("host", "a sitemap on another host", None, line="http://maps-host.test:PORT/s.xml", hosts=["maps-host"])
SITES["sitemap-host"]["pages"]["/robots.txt"] = lambda r: text(f"Sitemap: {r.url('/s.xml', 'maps-host')}\n")
SITES["maps-host"] = {"why": "other host", "pages": {"/s.xml": lambda r: xml(urlset(r.url("/a", "sitemap-host")))}, "want": "", "seeds": ["/s.xml"], "hidden": True}
mapped("rss", "a feed as sitemap", xml(RSS), files=leaves("/item"), want="/ /item")
mapped("other-hosts", "entries on other hosts", xml(urlset("http://evil.test/x", "/a")))
mapped("many", "5,000 entries, of which robots.txt allows none", xml(urlset(*(f"/no/{n}" for n in range(5_000)))), want="/", most=2)
SITES["sitemap-many"]["pages"]["/robots.txt"] = text("User-agent: *\nDisallow: /no\nSitemap: /sitemap.xml\n")
site("sitemap-seed", "a sitemap as seed", {"/sitemap.xml": xml(urlset("/a", "/b")), **leaves("/a", "/b")}, "/a /b", seeds=["/sitemap.xml"])
site("sitemap-unnamed", "a sitemap that robots.txt does not name", {"/": page("/"), "/sitemap.xml": xml(urlset("/a")), "/a": page("/a")}, "/", more=True)
